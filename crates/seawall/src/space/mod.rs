//! Stage 1. A space: features, hence a ground cost, and the points that a population may sit on.
//!
//! ```text
//! c(x, z) = Σ_k w_k c_k(x_k, z_k)
//! ```
//!
//! The layout is a **grid** (every combination of the features' levels) or **points** (those
//! listed). A radius is in the units of this cost: with the default weights, crossing the whole
//! range of one feature costs 1. It bounds a mean *squared* distance, not its root.
//!
//! Not here: reading columns, binning, or choosing a feature's kind.

mod bins;
mod checked;
mod extended;
mod feature;
mod grid;
mod level;
mod moments;
mod places;
mod points;
mod spread;

pub(crate) use bins::Bins;
pub use extended::{Extension, NewLevel};
pub use feature::{Feature, Kind};
pub use grid::Grid;
pub use moments::LevelMoments;
pub(crate) use places::Places;
pub use points::Points;
pub use spread::{mean_cost, mean_square};

use crate::error::{Error, Result};
use crate::kernel::metric::Metric;
use checked::{Checked, check_dearest};
use feature::check_features;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

/// More points than this cannot be indexed.
pub(crate) const MOST_POINTS: usize = u32::MAX as usize;

/// Features and the points they place.
///
/// ```
/// use seawall::{Feature, Space};
/// let space = Space::grid([
///     Feature::numeric("age").levels([25.0, 35.0, 45.0]),
///     Feature::nominal("sex", ["F", "M"]),
/// ])?;
/// assert_eq!(space.len(), 6);
/// // From age 25, F to age 45, M: the whole range, and one change of sex.
/// assert_eq!(space.cost(0, 5), 1.0 + 1.0);
/// # Ok::<(), seawall::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Space {
    features: Vec<Checked>,
    layout: Layout,
}

/// A point's value of a feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// The number of a numeric feature.
    Number(f64),
    /// The level of any other.
    Level(&'a str),
    /// Missing.
    Missing,
}

/// Where a population may sit.
#[derive(Clone, Debug)]
pub enum Layout {
    /// Every combination of the features' levels.
    Grid(Grid),
    /// The points listed.
    Points(Points),
}

/// Where each point's code of a feature is among the different ones in order, missing ones last.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    /// Each point's rank.
    pub of: Vec<u32>,
    /// How many different ones there are.
    pub count: usize,
}

impl Space {
    /// Every combination of the features' levels.
    pub fn grid(features: impl IntoIterator<Item = Feature>) -> Result<Self> {
        let features = check_features(features, |f| f.resolve_on_grid())?;
        let grid = Grid::new(features.iter().map(Checked::level_count).collect())?;
        Ok(Space { features, layout: Layout::Grid(grid) })
    }

    /// The points listed: one column per feature.
    ///
    /// The column of a numeric feature without levels holds its values, any other's the indices
    /// of its levels; NaN is a missing value. The same place may be listed more than once.
    pub fn points(
        features: impl IntoIterator<Item = Feature>,
        columns: Vec<Vec<f64>>,
    ) -> Result<Self> {
        let features: Vec<Feature> = features.into_iter().collect();
        if features.len() != columns.len() {
            return Err(Error::input(format!(
                "{} features but {} columns of coordinates",
                features.len(),
                columns.len()
            )));
        }
        let mut column = columns.iter();
        let features = check_features(features, |f| {
            f.resolve_on_points(column.next().map_or(&[], Vec::as_slice))
        })?;
        let points = Points::new(&features, columns)?;
        Ok(Space { features, layout: Layout::Points(points) })
    }

    /// Refuses a space that is another one, by the feature in which it differs.
    pub fn same_as(&self, other: &Space) -> Result<()> {
        if std::ptr::eq(self, other) {
            return Ok(());
        }
        let different = |what: String| Error::input(format!("the spaces differ: {what}"));
        for (k, name) in self.names().enumerate() {
            let Ok(at) = other.feature(name) else {
                return Err(different(format!("only the first has the feature {name:?}")));
            };
            let same = k == at
                && self.kind(k) == other.kind(k)
                && self.weight(k) == other.weight(k)
                && self.levels(k) == other.levels(k)
                && self.features[k].costs_like(&other.features[k]);
            if !same {
                return Err(different(format!("the feature {name:?} differs")));
            }
        }
        if let Some(name) = other.names().nth(self.names().len()) {
            return Err(different(format!("only the second has the feature {name:?}")));
        }
        let equal = self.len() == other.len()
            && (0..self.features.len()).all(|k| {
                let bits = |s: &Space, i: usize| s.code(i, k).to_bits();
                (0..self.len()).all(|i| bits(self, i) == bits(other, i))
            });
        if equal { Ok(()) } else { Err(different("their points differ".to_owned())) }
    }

    /// How many points the layout has.
    pub fn len(&self) -> usize {
        match &self.layout {
            Layout::Grid(grid) => grid.len(),
            Layout::Points(points) => points.len(),
        }
    }

    /// Whether the layout has no point; never true of a space that was made.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The features' names, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.features.iter().map(|f| f.name.as_str())
    }

    /// The place of a feature by name.
    pub fn feature(&self, name: &str) -> Result<usize> {
        self.names().position(|n| n == name).ok_or_else(|| {
            let all: Vec<&str> = self.names().collect();
            Error::config(format!("no feature named {name:?}; there are: {}", all.join(", ")))
        })
    }

    /// The kind of a feature.
    pub fn kind(&self, feature: usize) -> Kind {
        self.features[feature].kind
    }

    /// A feature's weight in the ground cost: what multiplies `(x − z)²`, the squared difference
    /// of two levels' positions, or the change of level.
    pub fn weight(&self, feature: usize) -> f64 {
        self.features[feature].weight
    }

    /// The levels' labels of a feature, the missing one last; none for a numeric feature off a
    /// grid.
    pub fn levels(&self, feature: usize) -> &[String] {
        &self.features[feature].labels
    }

    /// What a point holds for a feature: a level's index, or a number for a numeric feature off
    /// a grid (NaN if missing).
    pub fn code(&self, point: usize, feature: usize) -> f64 {
        match &self.layout {
            Layout::Grid(grid) => grid.level(point, feature) as f64,
            Layout::Points(points) => points.code(point, feature),
        }
    }

    /// A feature's codes by point, as far as they are listed: none on a grid.
    pub(crate) fn codes(&self, feature: usize) -> &[f64] {
        match &self.layout {
            Layout::Grid(_) => &[],
            Layout::Points(points) => points.codes(feature),
        }
    }

    /// Where a code of a feature is, in units of the feature's own: NaN for a missing value.
    pub(crate) fn coordinate(&self, feature: usize, code: f64) -> f64 {
        self.features[feature].coord(code)
    }

    /// The bins of a numeric feature off a grid; None for any other.
    pub(crate) fn bins(&self, feature: usize) -> Option<&Bins> {
        match &self.layout {
            Layout::Points(points) if self.levels(feature).is_empty() => points.bins(feature),
            _ => None,
        }
    }

    /// The ranks of a feature's codes, kept with the points: for those who ask at every fit.
    pub(crate) fn kept_ranks(&self, feature: usize) -> Cow<'_, Ranks> {
        match &self.layout {
            Layout::Grid(_) => Cow::Owned(self.ranks(feature)),
            Layout::Points(points) => Cow::Borrowed(points.ranks(feature, || self.ranks(feature))),
        }
    }

    /// The ranks of a feature's codes.
    pub(crate) fn ranks(&self, feature: usize) -> Ranks {
        let codes = || (0..self.len()).map(|i| self.code(i, feature));
        let is_level = |code: f64| !code.is_nan() && code.is_sign_positive();
        let levels = self.levels(feature).len();
        if levels > 0 && codes().all(is_level) {
            let mut present = vec![0; levels];
            codes().for_each(|code| present[code as usize] = 1);
            let mut count = 0;
            for rank in &mut present {
                (*rank, count) = (count, count + *rank);
            }
            let of = codes().map(|code| present[code as usize]).collect();
            return Ranks { of, count: count as usize };
        }
        let mut order: Vec<(u64, u32)> = codes().zip(0..).map(|(c, i)| (in_order(c), i)).collect();
        order.sort_unstable();
        let mut of = vec![0; order.len()];
        let mut count = 0;
        for same in order.chunk_by(|a, b| a.0 == b.0) {
            same.iter().for_each(|(_, i)| of[*i as usize] = count);
            count += 1;
        }
        Ranks { of, count: count as usize }
    }

    /// The space of some of the points, with the same features and the same ground cost.
    pub fn subset(&self, points: &[usize]) -> Result<Self> {
        if let Some(point) = points.iter().find(|&&i| i >= self.len()) {
            return Err(Error::input(format!("point {point} of a space of {}", self.len())));
        }
        let codes = |k: usize| points.iter().map(|&i| self.code(i, k)).collect();
        let codes = (0..self.features.len()).map(codes).collect();
        let points = Points::new(&self.features, codes)?;
        Ok(Space { features: self.features.clone(), layout: Layout::Points(points) })
    }

    /// The space of some of the points, where the numeric features for which `any` says so take any
    /// number and not their levels alone; costs stay as they are.
    pub fn with_any_number(&self, points: &[usize], any: impl Fn(usize) -> bool) -> Result<Self> {
        let smaller = self.subset(points)?;
        let is = |k: usize| self.kind(k) == Kind::Numeric && !self.levels(k).is_empty() && any(k);
        let features = self.features.iter().enumerate();
        let features: Vec<Checked> =
            features.map(|(k, f)| if is(k) { f.as_line() } else { f.clone() }).collect();
        let code = |i: usize, k: usize| {
            if is(k) { smaller.number_at(i, k).unwrap_or(f64::NAN) } else { smaller.code(i, k) }
        };
        let column = |k: usize| (0..points.len()).map(|i| code(i, k)).collect();
        let columns = (0..features.len()).map(column).collect();
        let points = Points::new(&features, columns)?;
        Ok(Space { features, layout: Layout::Points(points) })
    }

    /// The same points and then places beside them, on points alone; a list of points is shared.
    pub(crate) fn with_places(&self, places: Places) -> Result<Self> {
        let own = match &self.layout {
            Layout::Points(own) => own.clone(),
            Layout::Grid(grid) => {
                let all: Vec<usize> = (0..grid.len()).collect();
                match self.subset(&all)?.layout {
                    Layout::Points(own) => own,
                    Layout::Grid(_) => return Err(Error::internal("a subset that is a grid")),
                }
            }
        };
        let layout = Layout::Points(own.and(places)?);
        Ok(Space { features: self.features.clone(), layout })
    }

    /// The space of some of the features, in the order given, with the same costs; and where each
    /// point is in it.
    pub fn on_features(&self, features: &[usize]) -> Result<(Self, Vec<u32>)> {
        if let Some(k) = features.iter().find(|&&k| k >= self.features.len()) {
            return Err(Error::input(format!("feature {k} of {}", self.features.len())));
        }
        if features.is_empty() {
            return Err(Error::config("a space needs at least one feature"));
        }
        let kept: Vec<Checked> = features.iter().map(|&k| self.features[k].clone()).collect();
        if let Layout::Grid(grid) = &self.layout {
            let smaller = Grid::new(features.iter().map(|&k| grid.levels()[k]).collect())?;
            let place = |i| smaller.cell(features.iter().map(|&k| grid.level(i, k))) as u32;
            let places = (0..grid.len()).map(place).collect();
            return Ok((Space { features: kept, layout: Layout::Grid(smaller) }, places));
        }
        let mut known: HashMap<Vec<u64>, u32> = HashMap::new();
        let (mut columns, mut places) = (vec![Vec::new(); features.len()], Vec::new());
        for i in 0..self.len() {
            let codes = features.iter().map(|&k| self.code(i, k));
            let next = known.len() as u32;
            let place = *known.entry(codes.clone().map(bits).collect()).or_insert(next);
            if place == next {
                columns.iter_mut().zip(codes).for_each(|(column, code)| column.push(code));
            }
            places.push(place);
        }
        let points = Points::new(&kept, columns)?;
        Ok((Space { features: kept, layout: Layout::Points(points) }, places))
    }

    /// A point's value of a numeric feature; None if it is missing or the feature is no number.
    pub fn number_at(&self, point: usize, feature: usize) -> Option<f64> {
        self.features[feature].number_of(self.code(point, feature))
    }

    /// Mean and variance of the numbers that a point's value of a numeric feature stands for: of those
    /// in its bin where that is known ([`with_level_moments`](Self::with_level_moments)), else of its
    /// number alone. None if it is missing or the feature is no number.
    pub fn moments_at(&self, point: usize, feature: usize) -> Option<LevelMoments> {
        self.features[feature].moments_of(self.code(point, feature))
    }

    /// The same of one of the levels.
    pub fn level_moments(&self, feature: usize, level: usize) -> Option<LevelMoments> {
        self.features[feature].moments_of(level as f64)
    }

    /// The same space, where the levels of a numeric feature stand for numbers with these moments, by the
    /// level's number; where there are none, for that number alone. Costs do not change, means do.
    pub fn with_level_moments(
        &self,
        feature: usize,
        of: impl Fn(f64) -> Option<LevelMoments>,
    ) -> Result<Self> {
        let mut space = self.clone();
        space.features[feature] = self.features[feature].with_moments(of)?;
        Ok(space)
    }

    /// Something of every point's value of a feature, worked out once a level.
    pub fn each<T: Clone>(&self, feature: usize, of: impl Fn(Value<'_>) -> T) -> Vec<T> {
        let f = &self.features[feature];
        let points = (0..self.len()).map(|i| self.code(i, feature));
        if f.level_count() == 0 {
            return points.map(|code| of(f.value(code))).collect();
        }
        let levels: Vec<T> = (0..f.level_count()).map(|k| of(f.value(k as f64))).collect();
        let missing = of(Value::Missing);
        points
            .map(|code| if code.is_nan() { missing.clone() } else { levels[code as usize].clone() })
            .collect()
    }

    /// What a feature's levels are, in order; none for a numeric feature off a grid.
    pub fn level_values(&self, feature: usize) -> impl Iterator<Item = Value<'_>> {
        let f = &self.features[feature];
        (0..f.level_count()).map(|k| f.value(k as f64))
    }

    /// A point's value of a feature, as a person would write it.
    pub fn label(&self, point: usize, feature: usize) -> String {
        self.features[feature].label(self.code(point, feature))
    }

    /// What a point holds for a feature.
    pub(crate) fn value(&self, point: usize, feature: usize) -> Value<'_> {
        self.features[feature].value(self.code(point, feature))
    }

    /// A point in words: `age=35, sex=F`.
    pub fn describe(&self, point: usize) -> String {
        let mut words = String::new();
        for (k, name) in self.names().enumerate() {
            let comma = if k == 0 { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(words, "{comma}{name}={}", self.label(point, k));
        }
        words
    }

    /// The ground cost between two points; infinite where a fixed feature differs.
    pub fn cost(&self, from: usize, to: usize) -> f64 {
        if from == to {
            return 0.0;
        }
        let cost = |(k, f): (usize, &Checked)| {
            f.metric.cost(f.coord(self.code(from, k)), f.coord(self.code(to, k)))
        };
        self.features.iter().enumerate().map(cost).sum()
    }

    /// What the dearest move costs, walls apart.
    pub(crate) fn dearest(&self) -> f64 {
        self.features.iter().map(|f| f.dearest).sum()
    }

    /// What one feature adds to the ground cost between two points.
    pub fn feature_cost(&self, feature: usize, from: usize, to: usize) -> f64 {
        let f = &self.features[feature];
        f.metric.cost(f.coord(self.code(from, feature)), f.coord(self.code(to, feature)))
    }

    /// What a move from one level of a feature to another costs; the feature must have levels.
    pub fn level_cost(&self, feature: usize, from: usize, to: usize) -> f64 {
        let f = &self.features[feature];
        f.metric.cost(f.coords[from], f.coords[to])
    }

    /// The ground cost from a point to a place given by its codes, of the layout or not.
    pub(crate) fn cost_to(&self, from: usize, codes: &[f64]) -> f64 {
        let cost = |(k, f): (usize, &Checked)| {
            f.metric.cost(f.coord(self.code(from, k)), f.coord(codes[k]))
        };
        self.features.iter().enumerate().map(cost).sum()
    }

    /// The features' metrics, in order.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        self.features.iter().map(|f| f.metric).collect()
    }

    /// What turns a feature's numbers into coordinates: a power of two.
    pub(crate) fn scale(&self, feature: usize) -> f64 {
        self.features[feature].scale
    }

    /// The coordinates of a feature's levels.
    pub(crate) fn coords(&self, feature: usize) -> &[f64] {
        &self.features[feature].coords
    }

    /// Every point's coordinate along a feature.
    pub(crate) fn column(&self, feature: usize) -> Vec<f64> {
        let f = &self.features[feature];
        (0..self.len()).map(|i| f.coord(self.code(i, feature))).collect()
    }
}

/// Equal numbers have equal bits here: −0 is 0, and every NaN is the missing value.
pub(crate) fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { (x + 0.0).to_bits() }
}

/// Whole numbers in the order of [`f64::total_cmp`].
fn in_order(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}
