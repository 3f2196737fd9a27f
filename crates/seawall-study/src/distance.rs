//! How far one table's population is from another's, or a target sample from a study's.

use crate::bound::{Axis, Context};
use crate::load::Loaded;
use crate::read::{Order, Reading, Table, tables};
use crate::strata::{StrataShift, matched};
use seawall::distance::{Distance, distance, kl, sinkhorn_divergence, total_variation};
use seawall::{DistinctRows, Error, Kind, Population, Result, Space, Status, Watch};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// What came of it, as plain data.
#[derive(Clone, Debug, Serialize)]
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
    pub features: serde_json::Map<String, serde_json::Value>,
    /// How the strata of fixed columns shift, which the distance does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strata: Option<StrataShift>,
    /// Points of the first population.
    pub from_points: usize,
    /// Points of the second.
    pub to_points: usize,
    /// The entropic distance and the Sinkhorn divergence, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entropic: Option<EntropicDistance>,
    /// How long the solve took.
    pub seconds: f64,
    /// The plan.
    #[serde(skip)]
    pub plan: Distance,
    /// The space that it is on.
    #[serde(skip)]
    pub space: Arc<Space>,
}

/// An entropic distance, with what it says of the exact one.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EntropicDistance {
    /// The sharpness.
    pub eta: f64,
    /// The entropic distance.
    pub distance: f64,
    /// The exact distance is not below this.
    pub exact_lower: f64,
    /// The exact distance is not above this.
    pub exact_upper: f64,
    /// The Sinkhorn divergence.
    pub divergence: f64,
    /// Whether the potentials settled.
    pub settled: bool,
}

impl SampleDistance {
    /// Adds the entropic distance.
    fn with_eta(
        mut self,
        from: &Population,
        to: &Population,
        eta: Option<f64>,
        watch: Watch<'_>,
    ) -> Result<Self> {
        if let Some(eta) = eta {
            let found = sinkhorn_divergence(from, to, eta, watch)?;
            self.entropic = Some(EntropicDistance {
                eta,
                distance: found.distance,
                exact_lower: found.exact_lower,
                exact_upper: found.exact_upper,
                divergence: found.value,
                settled: found.settled,
            });
        }
        Ok(self)
    }
}

/// How far two populations are apart.
pub(crate) fn between(
    from: &Population,
    to: &Population,
    watch: Watch<'_>,
) -> Result<SampleDistance> {
    let start = Instant::now();
    let found = distance(from, to, watch)?;
    let seconds = start.elapsed().as_secs_f64();
    let space = from.space().clone();
    let (kl, kl_reason) = divergence(from, to)?;
    let costs = found.by_feature();
    let named = space.names().map(str::to_owned).zip(costs.iter().map(|c| (*c).into()));
    let points = |p: &Population| p.weights().iter().filter(|w| **w > 0.0).count();
    Ok(SampleDistance {
        distance: found.value,
        lower: found.lower,
        upper: found.upper,
        gap: found.gap(),
        status: found.status,
        kl,
        kl_reason,
        total_variation: total_variation(from, to)?,
        features: named.collect(),
        strata: None,
        from_points: points(from),
        to_points: points(to),
        entropic: None,
        seconds,
        plan: found,
        space,
    })
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

/// How far a study's target is from its log, strata of fixed columns apart.
pub fn to_target(loaded: &Loaded, eta: Option<f64>, watch: Watch<'_>) -> Result<SampleDistance> {
    let Some(target) = &loaded.target else {
        return Err(Error::config("there is no target to be far from"));
    };
    let (own, there) = (loaded.log().population()?, target.sample.population());
    let (from, to, strata) = matched(&own, there)?;
    let mut found = between(&from, &to, watch)?.with_eta(&from, &to, eta, watch)?;
    if strata.is_some() {
        // What is not a distance of moves knows nothing of strata.
        (found.kl, found.kl_reason) = divergence(&own, there)?;
        found.total_variation = total_variation(&own, there)?;
    }
    found.strata = strata;
    Ok(found)
}

/// How far apart two tables are.
pub fn between_tables(
    from: &Path,
    to: &Path,
    contexts: &[Context],
    weight: Option<&str>,
    eta: Option<f64>,
    watch: Watch<'_>,
) -> Result<SampleDistance> {
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
                "column {:?}: an ordinal column must hold numbers here; give a study for levels in \
                 another order",
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
        Population::from_weights(space.clone(), weights).map_err(|e| e.within(table.path.display()))
    };
    let (from, to) = (population(a, &tables[0])?, population(b, &tables[1])?);
    between(&from, &to, watch)?.with_eta(&from, &to, eta, watch)
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
