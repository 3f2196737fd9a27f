//! How far one table's population is from another's, or a target sample from a study's.

use crate::bound::{Axis, Context};
use crate::forecast::{self, Forecast};
use crate::prepare::PreparedStudy;
use seawall::distance::{Distance, StrataShift, distance, kl, matched, total_variation};
use seawall::{DistinctRows, Error, Kind, Population, Result, Space, Status, Watch};
use seawall_table::read::{Order, Reading, Table, tables};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// What came of it, as plain data.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SampleDistance {
    /// The transport distance, in units of the ground cost.
    pub distance: f64,
    /// The truth is not below this.
    pub lower: f64,
    /// The truth is not above this.
    pub upper: f64,
    /// How far apart the bounds are.
    pub gap: f64,
    /// How it ended.
    pub status: Status,
    /// The divergence of the second population from the first, in nats; None if it is infinite.
    pub kl: Option<f64>,
    /// Why it is infinite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kl_reason: Option<String>,
    /// Half the sum of the differences of shares.
    pub total_variation: f64,
    /// What each feature contributes to the distance.
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, f64>"))]
    pub features: serde_json::Map<String, serde_json::Value>,
    /// How the strata of fixed columns shift, which the distance does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strata: Option<StrataShift>,
    /// Points of the first population.
    pub from_points: usize,
    /// Points of the second.
    pub to_points: usize,
    /// How long the solve took.
    pub seconds: f64,
    /// The plan.
    #[serde(skip)]
    pub plan: Distance,
    /// The space that it is on.
    #[serde(skip)]
    pub space: Arc<Space>,
}

/// Two populations to be told apart, on one space.
pub struct Samples {
    from: Population,
    to: Population,
    /// Where columns are fixed: both before their strata were matched, and how those shift.
    whole: Option<(Population, Population, StrataShift)>,
}

impl Samples {
    /// A study's log and its target, strata of fixed columns apart.
    pub fn of_target(prepared: &PreparedStudy) -> Result<Self> {
        let Some(target) = &prepared.target else {
            return Err(Error::config("there is no target to be far from"));
        };
        let (own, there) = (prepared.log().population()?, target.sample.population());
        let (from, to, strata) = matched(&own, there)?;
        let whole = strata.map(|shift| (own, there.clone(), shift));
        Ok(Samples { from, to, whole })
    }

    /// The rows of two tables, by some of their columns.
    pub fn of_tables(
        from: &Path,
        to: &Path,
        contexts: &[Context],
        weight: Option<&str>,
        watch: Watch<'_>,
    ) -> Result<Self> {
        let readings = contexts.iter().map(|c| (c.name.as_str(), Reading::Values));
        let wanted: Vec<(&str, Reading)> =
            readings.chain(weight.map(|name| (name, Reading::Numbers))).collect();
        let (tables, distinct) = tables(&[from, to], &wanted, watch)?;
        let mut features = Vec::new();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for (k, context) in contexts.iter().enumerate() {
            let axis = Axis::new(context, &tables, k, &distinct[k], Order::Text)?;
            if axis.kind == Kind::Ordinal && !distinct[k].all_numbers() {
                return Err(Error::config(format!(
                    "column {:?}: an ordinal column must hold numbers here; give a study for levels \
                     in another order",
                    context.name
                )));
            }
            features.push(axis.feature(false));
            columns.push(tables.iter().flat_map(|t| axis.column(&t.codes[k])).collect());
        }
        // Every distinct place once, with both populations' weights.
        let rows = DistinctRows::new(&columns)?;
        let (a, b) = (masses(&tables[0], weight)?, masses(&tables[1], weight)?);
        let b = [vec![0.0; a.len()], b].concat();
        let (a, b) = (rows.totals(&a), rows.totals(&b));
        let space = Arc::new(Space::points(features, rows.columns)?);
        let population = |weights: Vec<f64>, table: &Table| {
            Population::from_weights(space.clone(), weights)
                .map_err(|e| e.within(table.path.display()))
        };
        let (from, to) = (population(a, &tables[0])?, population(b, &tables[1])?);
        Ok(Samples { from, to, whole: None })
    }

    /// What their distance will take, if that is long.
    pub fn forecast(&self) -> Option<Forecast> {
        forecast::transport(&self.from, &self.to)
    }

    /// How far apart they are.
    pub fn distance(&self, watch: Watch<'_>) -> Result<SampleDistance> {
        let (from, to) = (&self.from, &self.to);
        let start = Instant::now();
        let plan = distance(from, to, watch)?;
        let seconds = start.elapsed().as_secs_f64();
        // What is not a distance of moves knows nothing of strata.
        let (first, second) = self.whole.as_ref().map_or((from, to), |(a, b, _)| (a, b));
        let (kl, kl_reason) = divergence(first, second)?;
        let space = from.space().clone();
        let costs = plan.by_feature();
        let named = space.names().map(str::to_owned).zip(costs.iter().map(|c| (*c).into()));
        Ok(SampleDistance {
            distance: plan.value,
            lower: plan.lower,
            upper: plan.upper,
            gap: plan.gap(),
            status: plan.status,
            kl,
            kl_reason,
            total_variation: total_variation(first, second)?,
            features: named.collect(),
            strata: self.whole.as_ref().map(|(_, _, shift)| shift.clone()),
            from_points: from.observed(),
            to_points: to.observed(),
            seconds,
            plan,
            space,
        })
    }
}

/// The divergence of one population from another, or why it is infinite.
fn divergence(from: &Population, to: &Population) -> Result<(Option<f64>, Option<String>)> {
    let (value, missing) = kl(from, to)?;
    let reason = (missing > 0).then(|| {
        format!(
            "infinite: {missing} {} of the second population never {} in the first",
            if missing == 1 { "context" } else { "contexts" },
            if missing == 1 { "occurs" } else { "occur" }
        )
    });
    Ok((Some(value).filter(|d| d.is_finite()), reason))
}

/// The weight of each row; the column of weights, if there is one, was read last.
fn masses(table: &Table, weight: Option<&str>) -> Result<Vec<f64>> {
    let (Some(name), Some(column)) = (weight, table.numbers.len().checked_sub(1)) else {
        return Ok(vec![1.0; table.rows]);
    };
    let fits = |w: f64| w >= 0.0 && w.is_finite();
    table.check_numbers(column, name, "a finite number ≥ 0", fits)?;
    Ok(table.numbers[column].clone())
}
