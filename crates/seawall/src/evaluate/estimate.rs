//! Estimates with standard errors, rows in clusters or weighed by a survey.
//!
//! An estimate is close to a weighted sum of one number per row, its influence `ψ`; with `w` what a
//! row weighs
//!
//! ```text
//! rows that stand for themselves   variance = Σ_i (w_i ψ_i)²                     normal quantile
//! rows in G clusters               variance = G/(G−1) Σ_g (Σ_{i in g} w_i ψ_i)²    Student's, G − 1
//! ```
//!
//! Where weights count rows, `w` is 1 for each of them.

use crate::kernel::quantile::{normal, student};
use crate::log::{Entry, Log};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The level of every interval of an estimate.
const LEVEL: f64 = 0.95;

/// An estimate with its standard error and 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
    /// The lower end of the 95% interval.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// Part of the rows of an entry of a log, and a number that they have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term<'e> {
    pub entry: &'e Entry,
    pub weight: f64,
    pub value: f64,
}

impl Estimate {
    /// What is not known.
    pub(crate) const NONE: Estimate =
        Estimate { value: f64::NAN, se: f64::NAN, lower: f64::NAN, upper: f64::NAN };

    /// With a 95% interval of so many clusters, or of rows that stand for themselves.
    pub(crate) fn new(value: f64, se: f64, clusters: Option<usize>) -> Self {
        Estimate { value, se, lower: value, upper: value }.at_level(LEVEL, clusters)
    }

    /// The same with an interval of another level, by so many clusters or by rows that stand for
    /// themselves.
    #[must_use]
    pub fn at_level(self, level: f64, clusters: Option<usize>) -> Self {
        let reach = critical(level, clusters) * self.se;
        Estimate { lower: self.value - reach, upper: self.value + reach, ..self }
    }

    /// The mean of a number over rows.
    pub(crate) fn mean(terms: &[Term<'_>], clusters: Option<usize>) -> Self {
        let total: f64 = terms.iter().map(|t| t.weight).sum();
        let squares: f64 = terms.iter().map(|t| t.weight * t.entry.unit).sum();
        let value = terms.iter().map(|t| t.weight * t.value).sum::<f64>() / total;
        let apart = terms.iter().map(|t| Term { value: (t.value - value) / total, ..*t });
        let effective = total * total / squares;
        let freedom = match clusters {
            Some(_) => 1.0,
            None => effective / (effective - 1.0).max(1.0),
        };
        Estimate::new(value, (freedom * variance(apart, clusters)).sqrt(), clusters)
    }
}

/// How many standard errors an interval of a level reaches to either side. One cluster says nothing
/// of the spread between them.
pub fn critical(level: f64, clusters: Option<usize>) -> f64 {
    let share = 0.5 + 0.5 * level;
    match clusters {
        None => normal(share),
        Some(count) if count > 1 => student(share, (count - 1) as f64),
        Some(_) => f64::INFINITY,
    }
}

/// The variance of the sum of influences.
pub(crate) fn variance<'e>(terms: impl Iterator<Item = Term<'e>>, clusters: Option<usize>) -> f64 {
    let Some(count) = clusters else {
        return terms.map(|t| t.weight * t.entry.unit * t.value * t.value).sum();
    };
    // Clusters in order of appearance: the sum must not hang on how a table is hashed.
    let (mut place, mut sums) = (HashMap::new(), Vec::<f64>::new());
    for t in terms {
        let at = *place.entry(t.entry.cluster).or_insert(sums.len());
        if at == sums.len() {
            sums.push(0.0);
        }
        sums[at] += t.weight * t.value;
    }
    let spread = count as f64 / (count as f64 - 1.0).max(1.0);
    spread * sums.iter().map(|s| s * s).sum::<f64>()
}

impl Log {
    /// How many standard errors an interval of a level reaches to either side: by the normal
    /// distribution, or by Student's where rows are in clusters.
    pub fn critical(&self, level: f64) -> f64 {
        critical(level, self.clusters())
    }
}
