//! How far one table's population is from another's, or a target sample from a study's.

use crate::bound::Context;
use crate::load::Loaded;
use crate::place::sample;
use crate::read::{Column, Table, Wanted, table};
use seawall::distance::{Distance, distance, entropic, kl, sinkhorn_divergence, total_variation};
use seawall::{Error, Feature, Kind, Population, Result, Space, Status, Watch};
use serde::Serialize;
use std::collections::HashMap;
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
            let found = entropic(from, to, eta, watch)?;
            let divergence = sinkhorn_divergence(from, to, eta, watch)?;
            self.entropic = Some(EntropicDistance {
                eta,
                distance: found.value,
                exact_lower: found.exact_lower,
                exact_upper: found.exact_upper,
                divergence: divergence.value,
                settled: divergence.settled,
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
    let (divergence, missing) = kl(from, to)?;
    let costs = found.by_feature();
    let named = space.names().map(str::to_owned).zip(costs.iter().map(|c| (*c).into()));
    let points = |p: &Population| p.weights().iter().filter(|w| **w > 0.0).count();
    Ok(SampleDistance {
        distance: found.value,
        lower: found.lower,
        upper: found.upper,
        gap: found.gap(),
        status: found.status,
        kl: Some(divergence).filter(|d| d.is_finite()),
        kl_reason: (missing > 0).then(|| {
            format!(
                "infinite: {missing} {} of the second population never {} in the first",
                if missing == 1 { "context" } else { "contexts" },
                if missing == 1 { "occurs" } else { "occur" }
            )
        }),
        total_variation: total_variation(from, to)?,
        features: named.collect(),
        from_points: points(from),
        to_points: points(to),
        entropic: None,
        seconds,
        plan: found,
        space,
    })
}

/// A target sample on a study's contexts. The study's conditions and weights hold for it as far as
/// it has their columns.
pub(crate) fn target(loaded: &Loaded, path: &Path) -> Result<Population> {
    let space = loaded.log().contexts();
    let placed = sample(path, &loaded.study, space)?;
    let mut weights = vec![0.0; space.len()];
    for (row, (context, weight)) in placed.iter().enumerate() {
        match context {
            Some(context) => weights[*context] += weight,
            None if *weight == 0.0 => {}
            None => {
                return Err(Error::input(format!(
                    "{}: row {}: its context is not among those that the study has; the grid of \
                     all levels is too large: bin more coarsely",
                    path.display(),
                    row + 1
                )));
            }
        }
    }
    Population::from_weights(space.clone(), weights).map_err(|e| e.within(path.display()))
}

/// How far a target sample is from a study's log.
pub fn to_target(
    loaded: &Loaded,
    path: &Path,
    eta: Option<f64>,
    watch: Watch<'_>,
) -> Result<SampleDistance> {
    let (from, to) = (loaded.log().population()?, target(loaded, path)?);
    between(&from, &to, watch)?.with_eta(&from, &to, eta, watch)
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
    let wanted: Vec<(&str, Wanted)> = contexts
        .iter()
        .map(|c| {
            let wanted = match c.kind {
                Some(Kind::Numeric) => Wanted::Numbers,
                Some(Kind::Nominal | Kind::Fixed) => Wanted::Levels,
                _ => Wanted::Either,
            };
            (c.name.as_str(), wanted)
        })
        .chain(weight.map(|name| (name, Wanted::Numbers)))
        .collect();
    let tables = [table(from, &wanted, watch)?, table(to, &wanted, watch)?];
    let mut features = Vec::new();
    let mut columns: Vec<[Vec<f64>; 2]> = Vec::new();
    for (k, context) in contexts.iter().enumerate() {
        let (feature, codes) = axis(context, &tables, k)?;
        features.push(feature);
        columns.push(codes);
    }
    // Every distinct place once, with both populations' weights.
    let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut merged: Vec<Vec<f64>> = vec![Vec::new(); contexts.len()];
    let mut weights = [Vec::new(), Vec::new()];
    for (which, table) in tables.iter().enumerate() {
        for row in 0..table.rows {
            let mass = mass(table, weight, contexts.len(), row)?;
            let at: Vec<f64> = columns.iter().map(|column| column[which][row]).collect();
            let next = places.len();
            let point = *places.entry(at.iter().map(|x| x.to_bits()).collect()).or_insert(next);
            if point == next {
                merged.iter_mut().zip(&at).for_each(|(m, x)| m.push(*x));
                weights.iter_mut().for_each(|w| w.push(0.0));
            }
            weights[which][point] += mass;
        }
    }
    let space = Arc::new(Space::points(features, merged)?);
    let [a, b] = weights;
    let population = |weights: Vec<f64>, table: &Table| {
        Population::from_weights(space.clone(), weights).map_err(|e| e.within(table.path.display()))
    };
    let (from, to) = (population(a, &tables[0])?, population(b, &tables[1])?);
    between(&from, &to, watch)?.with_eta(&from, &to, eta, watch)
}

/// A row's weight.
fn mass(table: &Table, weight: Option<&str>, column: usize, row: usize) -> Result<f64> {
    let (Some(name), Some(Column::Numbers(all))) = (weight, table.columns.get(column)) else {
        return Ok(1.0);
    };
    match all[row] {
        w if w >= 0.0 && w.is_finite() => Ok(w),
        w => Err(Error::input(format!(
            "{}: row {}, column {name:?}: {w}; expected a finite number ≥ 0",
            table.path.display(),
            row + 1
        ))),
    }
}

/// One feature over both tables: numbers if both hold numbers, else the union of the levels.
fn axis(context: &Context, tables: &[Table; 2], column: usize) -> Result<(Feature, [Vec<f64>; 2])> {
    let name = &context.name;
    let weighted = |feature: Feature| match context.weight {
        Some(weight) => feature.weight(weight),
        None => feature,
    };
    let kind = |usual| context.kind.unwrap_or(usual);
    if let [Column::Numbers(a), Column::Numbers(b)] =
        [&tables[0].columns[column], &tables[1].columns[column]]
        && kind(Kind::Numeric) == Kind::Numeric
    {
        for (table, all) in tables.iter().zip([a, b]) {
            if let Some(row) = all.iter().position(|x| x.is_infinite()) {
                return Err(Error::input(format!(
                    "{}: row {}, column {name:?}: {}; expected a finite number",
                    table.path.display(),
                    row + 1,
                    all[row]
                )));
            }
        }
        return Ok((weighted(Feature::numeric(name)), [a.clone(), b.clone()]));
    }
    let texts = |table: &Table| -> Vec<Option<String>> {
        match &table.columns[column] {
            Column::Numbers(all) => {
                all.iter().map(|x| (!x.is_nan()).then(|| x.to_string())).collect()
            }
            Column::Levels { labels, rows } => {
                rows.iter().map(|r| r.map(|l| labels[l as usize].clone())).collect()
            }
        }
    };
    let both = [texts(&tables[0]), texts(&tables[1])];
    let mut labels: Vec<String> = both.iter().flatten().flatten().cloned().collect();
    let numbers = labels.iter().map(|l| l.parse::<f64>().ok()).collect::<Option<Vec<f64>>>();
    if kind(Kind::Nominal) == Kind::Ordinal && numbers.is_none() {
        return Err(Error::config(format!(
            "column {name:?}: an ordinal column must hold numbers here; give a study for levels in \
             another order"
        )));
    }
    labels.sort_by(|a, b| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) if numbers.is_some() => x.total_cmp(&y),
        _ => a.cmp(b),
    });
    labels.dedup();
    let place: HashMap<&str, usize> =
        labels.iter().enumerate().map(|(k, l)| (l.as_str(), k)).collect();
    let codes = both.each_ref().map(|texts| {
        texts.iter().map(|t| t.as_deref().map_or(f64::NAN, |t| place[t] as f64)).collect()
    });
    let feature = match kind(Kind::Nominal) {
        Kind::Ordinal => Feature::ordinal(name, labels.clone()),
        Kind::Fixed => Feature::fixed(name, labels.clone()),
        _ => Feature::nominal(name, labels.clone()),
    };
    Ok((weighted(feature), codes))
}
