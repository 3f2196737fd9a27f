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

use crate::ambiguity::Direction;
use crate::kernel::quantile::{normal, student};
use crate::log::{Entry, Log};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The level of every interval of an estimate.
const LEVEL: f64 = 0.95;

/// An estimate with its standard error and confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "EstimateFields", into = "EstimateFields")]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
    /// The confidence interval; None where rows are too few for one.
    pub interval: Option<Interval>,
}

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// An estimate as it is written.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct EstimateFields {
    /// The estimate.
    value: f64,
    /// Its standard error.
    se: f64,
    /// The lower end of the confidence interval; None where rows are too few for one.
    lower: Option<f64>,
    /// The upper end of the confidence interval; None where rows are too few for one.
    upper: Option<f64>,
}

impl From<Estimate> for EstimateFields {
    fn from(Estimate { value, se, interval }: Estimate) -> Self {
        EstimateFields {
            value,
            se,
            lower: interval.map(|i| i.lower),
            upper: interval.map(|i| i.upper),
        }
    }
}

impl From<EstimateFields> for Estimate {
    fn from(EstimateFields { value, se, lower, upper }: EstimateFields) -> Self {
        let interval = lower.zip(upper).map(|(lower, upper)| Interval { lower, upper });
        Estimate { value, se, interval }
    }
}

impl Interval {
    /// Whether a value is within the interval.
    pub fn contains(&self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }
}

/// Part of the rows of an entry of a log, and a number that they have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term<'e> {
    pub entry: &'e Entry,
    pub weight: f64,
    pub value: f64,
}

impl Estimate {
    /// With a 95% interval of so many clusters, or of rows that stand for themselves.
    pub(crate) fn new(value: f64, se: f64, clusters: Option<usize>) -> Self {
        Estimate { value, se, interval: None }.at_level(LEVEL, clusters)
    }

    /// The same with an interval of another level, by so many clusters or by rows that stand for
    /// themselves.
    #[must_use]
    pub fn at_level(self, level: f64, clusters: Option<usize>) -> Self {
        let reach = critical(level, clusters) * self.se;
        let (lower, upper) = (self.value - reach, self.value + reach);
        Estimate { interval: reach.is_finite().then_some(Interval { lower, upper }), ..self }
    }

    /// Whether there is an interval and a value is within it.
    pub fn covers(&self, value: f64) -> bool {
        self.interval.is_some_and(|interval| interval.contains(value))
    }

    /// The end of the interval on the bad side; infinitely bad without one.
    pub fn limit(&self, direction: Direction) -> f64 {
        match (self.interval, direction) {
            (Some(interval), Direction::Cost) => interval.upper,
            (Some(interval), Direction::Reward) => interval.lower,
            (None, direction) => direction.sign() * f64::INFINITY,
        }
    }

    /// The same without an interval.
    #[must_use]
    pub fn without_interval(self) -> Self {
        Estimate { interval: None, ..self }
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
