//! Populations compared within the strata of fixed columns.
//!
//! No ball with a column fixed contains a population in which that column is shared out otherwise, so
//! distances are taken within the strata, weighed by the first population's shares, and the strata's
//! own shift is told apart.

use seawall::{Error, Kind, Population, Result, Space};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;

/// How the strata of fixed columns shift.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StrataShift {
    /// The fixed columns.
    pub columns: Vec<String>,
    /// Half the sum of the differences of the strata's shares.
    pub total_variation: f64,
    /// The share of the second population in strata that the first does not have.
    pub unmatched: f64,
}

/// The second population with the first one's strata, the first without those that the second lacks,
/// and how the strata shift; as they are where no column is fixed.
pub(crate) fn matched(
    from: &Population,
    to: &Population,
) -> Result<(Population, Population, Option<StrataShift>)> {
    let space = from.space();
    let fixed: Vec<usize> =
        (0..space.names().len()).filter(|&k| space.kind(k) == Kind::Fixed).collect();
    if fixed.is_empty() {
        return Ok((from.clone(), to.clone(), None));
    }
    let strata = strata(space, &fixed);
    let count = strata.iter().max().map_or(0, |s| s + 1);
    let shares = |population: &Population| {
        let mut shares = vec![0.0; count];
        let weights = population.weights().iter().zip(&strata);
        weights.for_each(|(w, s)| shares[*s] += w);
        shares
    };
    let (p, q) = (shares(from), shares(to));
    let both = |s: usize| p[s] > 0.0 && q[s] > 0.0;
    let names: Vec<&str> = space.names().collect();
    if !(0..count).any(both) {
        let columns: Vec<&str> = fixed.iter().map(|&k| names[k]).collect();
        return Err(Error::input(format!(
            "the two populations share no stratum of the fixed columns {}: nobody of one can become \
             anybody of the other",
            columns.join(", ")
        )));
    }
    let scaled = |population: &Population, factor: &dyn Fn(usize) -> f64| {
        let weights = population.weights().iter().zip(&strata);
        let weights = weights.map(|(w, &s)| if both(s) { w * factor(s) } else { 0.0 }).collect();
        Population::from_weights(space.clone(), weights)
    };
    let shift = StrataShift {
        columns: fixed.iter().map(|&k| names[k].to_owned()).collect(),
        total_variation: 0.5 * p.iter().zip(&q).map(|(a, b)| (a - b).abs()).sum::<f64>(),
        unmatched: (0..count).filter(|&s| p[s] == 0.0).map(|s| q[s]).sum(),
    };
    Ok((scaled(from, &|_| 1.0)?, scaled(to, &|s| p[s] / q[s])?, Some(shift)))
}

/// The stratum of each point.
fn strata(space: &Space, fixed: &[usize]) -> Vec<usize> {
    let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
    let stratum = |i: usize| {
        let next = known.len();
        let key = fixed.iter().map(|&k| space.code(i, k).to_bits()).collect();
        *known.entry(key).or_insert(next)
    };
    (0..space.len()).map(stratum).collect()
}

/// Populations on some features of their space.
pub(crate) fn on_features<const N: usize>(
    populations: [&Population; N],
    features: &[usize],
) -> Result<Vec<Population>> {
    let Some(first) = populations.first() else { return Ok(Vec::new()) };
    let (space, places) = first.space().on_features(features)?;
    let space = Arc::new(space);
    let each = populations.iter().map(|population| {
        let mut weights = vec![0.0; space.len()];
        let all = population.weights().iter().zip(&places);
        all.for_each(|(w, place)| weights[*place as usize] += w);
        Population::from_weights(space.clone(), weights)
    });
    each.collect()
}
