//! One coordinate of a context: its kind, its levels, and what a move along it costs.
//!
//! - numeric: `w (x − z)²`, by default `w = 1/range²`;
//! - ordinal: levels placed evenly on [0, 1] unless positions are given, squared difference;
//! - nominal: `w` if the levels differ;
//! - fixed: infinite if the levels differ;
//! - a missing value is a level of its own, as far from every other as crossing the whole
//!   feature: `w · range²` for a numeric one, `w` otherwise, unless a cost is given.
//!
//! Positions are held scaled by a power of two so that their range is in [1, 2): differences of
//! whole numbers stay exact (ties stay ties) and no square overflows.

use super::checked::{Checked, check_dearest, range};
use crate::error::{Error, Result};
use crate::kernel::metric::Metric;
use serde::{Deserialize, Serialize};

/// What moves along a feature cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The squared difference.
    Numeric,
    /// The squared difference of the levels' positions.
    Ordinal,
    /// The same for any change.
    Nominal,
    /// No change is possible.
    Fixed,
}

impl Kind {
    /// The kind's name, as it is written everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Numeric => "numeric",
            Kind::Ordinal => "ordinal",
            Kind::Nominal => "nominal",
            Kind::Fixed => "fixed",
        }
    }
}

/// One feature, as described by the user and not yet checked.
///
/// ```
/// use seawall::Feature;
/// let consciousness = Feature::ordinal("RCONSC", ["alert", "drowsy", "unconscious"])
///     .positions([0.0, 0.3, 1.0])
///     .weight(2.0);
/// let age = Feature::numeric("AGE").levels([45.0, 55.0, 65.0]).with_missing();
/// ```
#[derive(Clone, Debug)]
pub struct Feature {
    name: String,
    kind: Kind,
    levels: Levels,
    positions: Option<Vec<f64>>,
    weight: Option<f64>,
    missing: bool,
    missing_cost: Option<f64>,
}

#[derive(Clone, Debug)]
enum Levels {
    /// Any real number.
    Line,
    Numbers(Vec<f64>),
    Labels(Vec<String>),
}

impl Feature {
    fn new(name: impl Into<String>, kind: Kind, levels: Levels) -> Self {
        Feature {
            name: name.into(),
            kind,
            levels,
            positions: None,
            weight: None,
            missing: false,
            missing_cost: None,
        }
    }

    /// A numeric feature: any number on a layout of points; give it [`levels`](Self::levels)
    /// for a grid.
    pub fn numeric(name: impl Into<String>) -> Self {
        Self::new(name, Kind::Numeric, Levels::Line)
    }

    /// A feature with levels in order.
    pub fn ordinal<L: Into<String>>(
        name: impl Into<String>,
        levels: impl IntoIterator<Item = L>,
    ) -> Self {
        Self::new(name, Kind::Ordinal, labels(levels))
    }

    /// A feature with levels in no order.
    pub fn nominal<L: Into<String>>(
        name: impl Into<String>,
        levels: impl IntoIterator<Item = L>,
    ) -> Self {
        Self::new(name, Kind::Nominal, labels(levels))
    }

    /// A feature that mass may not cross.
    pub fn fixed<L: Into<String>>(
        name: impl Into<String>,
        levels: impl IntoIterator<Item = L>,
    ) -> Self {
        Self::new(name, Kind::Fixed, labels(levels))
    }

    /// The numbers a numeric feature takes.
    #[must_use]
    pub fn levels(mut self, levels: impl IntoIterator<Item = f64>) -> Self {
        self.levels = Levels::Numbers(levels.into_iter().collect());
        self
    }

    /// Where an ordinal feature's levels are, in place of evenly on [0, 1].
    #[must_use]
    pub fn positions(mut self, positions: impl IntoIterator<Item = f64>) -> Self {
        self.positions = Some(positions.into_iter().collect());
        self
    }

    /// What multiplies this feature's cost.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = Some(weight);
        self
    }

    /// Adds a level for missing values, after all others.
    #[must_use]
    pub fn with_missing(mut self) -> Self {
        self.missing = true;
        self
    }

    /// What a move to or from a missing value costs, weight included.
    #[must_use]
    pub fn missing_cost(mut self, cost: f64) -> Self {
        self.missing_cost = Some(cost);
        self
    }

    /// The feature's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks a feature that must have levels.
    pub(super) fn resolve_on_grid(self) -> Result<Checked> {
        if let Levels::Line = self.levels {
            let name = &self.name;
            return Err(Error::config(format!(
                "feature {name:?}: a grid needs its levels; give them, or use points"
            )));
        }
        self.resolve(&[])
    }

    /// Checks a feature against the coordinates that points have along it.
    pub(super) fn resolve_on_points(self, column: &[f64]) -> Result<Checked> {
        let checked = self.resolve(column)?;
        let levels = checked.labels.len();
        for (row, &x) in column.iter().enumerate() {
            let fits = match checked.line {
                Some(_) => x.is_nan() || x.is_finite(),
                None => x.is_nan() || (x.fract() == 0.0 && x >= 0.0 && (x as usize) < levels),
            };
            if !fits {
                let expected = match checked.line {
                    Some(_) => "a finite number, or NaN if missing".to_owned(),
                    None => format!("the index of one of its {levels} levels, or NaN if missing"),
                };
                return Err(checked.error(format!("point {row} has {x}; expected {expected}")));
            }
        }
        Ok(checked)
    }

    fn resolve(self, column: &[f64]) -> Result<Checked> {
        let mut labels = match &self.levels {
            Levels::Line => Vec::new(),
            Levels::Numbers(numbers) => numbers.iter().map(f64::to_string).collect(),
            Levels::Labels(labels) => labels.clone(),
        };
        let positions = self.raw_positions(labels.len())?;
        let line = matches!(self.levels, Levels::Line);
        let range = if line { range(column) } else { range(&positions) };
        // A range of 0 leaves nothing to scale.
        let scale =
            if range > 0.0 { (-range.log2().floor()).clamp(-1000.0, 1000.0).exp2() } else { 1.0 };
        let unit = if range > 0.0 { 1.0 / (range * scale).powi(2) } else { 1.0 };
        let weight = self.checked_weight()?;
        let squared = match (self.kind, weight) {
            // The weight multiplies the squared difference of the numbers themselves.
            (Kind::Numeric, Some(w)) => w / scale / scale,
            // The positions are on [0, 1] unless given: the same rule once they are.
            (Kind::Ordinal, w) if self.positions.is_some() => w.unwrap_or(1.0) / scale / scale,
            (_, w) => w.unwrap_or(1.0) * unit,
        };
        let span = if range > 0.0 { (range * scale).powi(2) } else { 1.0 };
        let flat = weight.unwrap_or(1.0);
        let whole = match self.kind {
            Kind::Numeric | Kind::Ordinal => squared * span,
            Kind::Nominal | Kind::Fixed => flat,
        };
        if !whole.is_finite() {
            return Err(self.error(format!(
                "weight {flat} times the squared range {range} is beyond what a number can hold"
            )));
        }
        let missing = self.missing_cost.unwrap_or(whole);
        if !(missing >= 0.0 && missing.is_finite()) {
            return Err(self.error(format!(
                "the cost of a missing value is {missing}; expected a finite number ≥ 0"
            )));
        }
        let metric = match self.kind {
            Kind::Numeric | Kind::Ordinal => Metric::Square { weight: squared, missing },
            Kind::Nominal => Metric::Flat { weight: flat, missing },
            Kind::Fixed => Metric::Wall,
        };
        let mut coords: Vec<f64> = match self.kind {
            Kind::Numeric | Kind::Ordinal => positions.iter().map(|x| x * scale).collect(),
            Kind::Nominal | Kind::Fixed => (0..labels.len()).map(|k| k as f64).collect(),
        };
        let missing_level = (self.missing && !line).then_some(labels.len());
        if missing_level.is_some() {
            labels.push("(missing)".to_owned());
            coords.push(f64::NAN);
        }
        let reported = match self.kind {
            Kind::Numeric => squared * scale * scale,
            Kind::Ordinal => flat,
            Kind::Nominal => flat,
            Kind::Fixed => f64::INFINITY,
        };
        let line = line.then_some(scale);
        let Feature { name, kind, levels, .. } = self;
        let numbers = if let Levels::Numbers(numbers) = levels { numbers } else { Vec::new() };
        Ok(Checked {
            name,
            kind,
            labels,
            coords,
            line,
            scale,
            metric,
            dearest: if kind == Kind::Fixed { 0.0 } else { whole.max(missing) },
            weight: reported,
            missing_level,
            numbers,
            moments: Vec::new(),
        })
    }

    /// Where the levels are, before scaling.
    fn raw_positions(&self, count: usize) -> Result<Vec<f64>> {
        let positions: Vec<f64> = match (&self.levels, &self.positions) {
            (Levels::Numbers(numbers), None) => numbers.clone(),
            (Levels::Labels(_), Some(given)) if self.kind == Kind::Ordinal => given.clone(),
            (_, Some(_)) => {
                let kind = self.kind.name();
                return Err(self.error(format!("a {kind} feature takes no positions")));
            }
            // Whole numbers, so that equal steps stay equal; the weight puts them on [0, 1].
            (Levels::Labels(_), None) => (0..count).map(|k| k as f64).collect(),
            (Levels::Line, None) => return Ok(Vec::new()),
        };
        if count == 0 && !self.missing {
            return Err(self.error("it has no levels"));
        }
        if positions.len() != count {
            return Err(self.error(format!("{} positions for {count} levels", positions.len())));
        }
        if let Some(x) = positions.iter().find(|x| !x.is_finite()) {
            return Err(self.error(format!("a level is at {x}; expected a finite number")));
        }
        Ok(positions)
    }

    fn checked_weight(&self) -> Result<Option<f64>> {
        match self.weight {
            Some(w) if !(w >= 0.0 && w.is_finite()) => {
                Err(self.error(format!("its weight is {w}; expected a finite number ≥ 0")))
            }
            weight => Ok(weight),
        }
    }

    fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::config(format!("feature {:?}: {message}", self.name))
    }
}

fn labels<L: Into<String>>(levels: impl IntoIterator<Item = L>) -> Levels {
    Levels::Labels(levels.into_iter().map(Into::into).collect())
}

/// Checks each feature, and that no two have the same name.
pub(super) fn check_features(
    features: impl IntoIterator<Item = Feature>,
    mut check: impl FnMut(Feature) -> Result<Checked>,
) -> Result<Vec<Checked>> {
    let mut checked: Vec<Checked> = Vec::new();
    for feature in features {
        if checked.iter().any(|f| f.name == feature.name()) {
            return Err(Error::config(format!("two features are named {:?}", feature.name())));
        }
        checked.push(check(feature)?);
    }
    if checked.is_empty() {
        return Err(Error::config("a space needs at least one feature"));
    }
    check_dearest(&checked)?;
    Ok(checked)
}
