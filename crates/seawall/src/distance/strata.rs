//! Populations compared within the strata of fixed columns.
//!
//! No ball with a column fixed contains a population in which that column is shared out otherwise, so
//! distances are taken within the strata, weighed by the first population's shares, and the strata's
//! own shift is told apart:
//!
//! ```text
//! q'(x) = q(x) p(S)/q(S),   S the stratum of x;   shift of the strata  ½ Σ_S |p(S) − q(S)|
//! ```

use crate::error::{Error, Result};
use crate::population::Population;
use crate::space::{Kind, Space};
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
pub fn matched(
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
pub fn on_features<const N: usize>(
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::space::Feature;

    /// Two ages in three sites.
    fn space() -> Arc<Space> {
        let site = Feature::fixed("site", ["A", "B", "C"]);
        Arc::new(Space::grid([site, Feature::numeric("age").levels([40.0, 60.0])]).unwrap())
    }

    /// Weights by site and age, in the order of a space's points.
    fn population(space: &Arc<Space>, weights: [[f64; 2]; 3]) -> Population {
        let at = |i: usize| {
            let old = space.number_at(i, 1) == Some(60.0);
            weights[space.code(i, 0) as usize][usize::from(old)]
        };
        Population::from_weights(space.clone(), (0..space.len()).map(at).collect()).unwrap()
    }

    fn near(a: &Population, b: &Population) -> bool {
        a.weights().iter().zip(b.weights()).all(|(a, b)| (a - b).abs() < 1e-12)
    }

    #[test]
    fn strata_get_the_first_populations_shares_and_their_own_shift_is_told() {
        let space = space();
        let from = population(&space, [[0.3, 0.3], [0.2, 0.2], [0.0, 0.0]]);
        // The third site is the second population's alone.
        let to = population(&space, [[0.1, 0.3], [0.2, 0.0], [0.4, 0.0]]);
        let (p, q, shift) = matched(&from, &to).unwrap();
        assert!(near(&p, &from));
        let expected = population(&space, [[0.15, 0.45], [0.4, 0.0], [0.0, 0.0]]);
        assert!(near(&q, &expected), "{:?}", q.weights());
        let shift = shift.unwrap();
        assert_eq!(shift.columns, ["site"]);
        assert!((shift.total_variation - 0.4).abs() < 1e-12);
        assert!((shift.unmatched - 0.4).abs() < 1e-12);
    }

    #[test]
    fn populations_without_a_common_stratum_are_refused() {
        let space = space();
        let from = population(&space, [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]);
        let to = population(&space, [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]);
        let error = matched(&from, &to).unwrap_err().to_string();
        assert!(error.contains("share no stratum") && error.contains("site"), "{error}");
    }

    #[test]
    fn mass_of_columns_left_out_is_summed() {
        let space = space();
        let all = population(&space, [[0.1, 0.2], [0.3, 0.1], [0.2, 0.1]]);
        let ages = on_features([&all], &[1]).unwrap();
        let weights = ages[0].weights();
        assert!((weights[0] - 0.6).abs() < 1e-12 && (weights[1] - 0.4).abs() < 1e-12);
    }
}
