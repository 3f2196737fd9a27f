//! What past groups say: how much to add to a centre so that the next group's cost is below it.
//!
//! Group g was left out, transported to, and cost `s_g` more than its centre. Costs: more is worse.
//!
//! ```text
//! rank         s_(k),  k = ⌈level (K + 1)⌉                       refused if k > K: K/(K + 1) is attainable
//! prediction   max(μ̂, 0) + t_{K−1} √(τ̂²/k + se² + sampling)      k groups at once
//! between-group variance (Paule–Mandel)   Σ_g (s_g − μ̂)²/(v_g + τ̂²) = K − 1,   μ̂ weighted by 1/(v_g + τ̂²)
//! ```
//!
//! The rank needs nothing but that the next group is like the past ones (exchangeable), and holds on
//! average over such groups, not for the one at hand. The prediction needs effects that are about
//! normal, and is weak where they are skewed or the groups are few. Groups that weigh less than 1
//! (old ones) count for less: the rank is the smallest `s` with `Σ w 1{s_g ≤ s} ≥ level (Σ w + 1)`,
//! and K becomes `(Σ w)²/Σ w²`.
//!
//! Neither covers a shift of another kind than those between the past groups.

use crate::error::{Error, Field, Result};
use crate::kernel::quantile::student;
use serde::{Deserialize, Serialize};

/// Rounding of a level times a count.
const ROUNDING: f64 = 1e-9;

/// A past group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Past {
    /// What it cost more than its centre.
    pub score: f64,
    /// The variance of that: of the group's own estimate, and of the centre.
    pub variance: f64,
    /// What it counts for: 1, or less for an old group.
    pub weight: f64,
}

/// How an allowance is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// A rank of the past scores.
    Rank,
    /// A prediction bound with variance between groups.
    Prediction,
}

/// What to add to a centre.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Allowance {
    /// How it was made.
    pub method: Method,
    /// How often the bound is to hold.
    pub level: f64,
    /// What to add.
    pub total: f64,
    /// The part of the total that is for groups that differ, by its share of the variance.
    pub between: f64,
    /// The rest, for noise.
    pub sampling: f64,
    /// `τ̂`: the standard deviation between groups.
    pub heterogeneity: f64,
    /// The highest level that a rank of so many groups supports, `K/(K + 1)`.
    pub attainable: f64,
}

impl Allowance {
    /// By a rank of the past scores.
    pub fn rank(past: &[Past], level: f64) -> Result<Self> {
        let weight = check(past, level)?;
        let attainable = weight / (weight + 1.0);
        let needed = level * (weight + 1.0) * (1.0 - ROUNDING);
        if needed > weight {
            let count = past.len();
            return Err(Error::field(
                Field::Level,
                format!(
                    "is {level}; the ranks of {count} past groups support at most {:.4}",
                    (attainable * 1e4).floor() / 1e4
                ),
            ));
        }
        let mut order: Vec<&Past> = past.iter().collect();
        order.sort_by(|a, b| a.score.total_cmp(&b.score));
        let mut below = 0.0;
        let reached = order.iter().find(|p| {
            below += p.weight;
            below >= needed
        });
        // Sums of weights in another order may differ in the last digit.
        let total = reached.or(order.last()).map_or(f64::NAN, |p| p.score);
        let spread = Spread::new(past);
        let noise = past.iter().map(|p| p.weight * p.variance).sum::<f64>() / weight;
        let between = total * spread.share_of(spread.between, noise);
        Ok(Allowance {
            method: Method::Rank,
            level,
            total,
            between,
            sampling: total - between,
            heterogeneity: spread.between.sqrt(),
            attainable,
        })
    }

    /// By a prediction bound. `se` is the standard error of the centre, `sampling_variance` that of
    /// the target's own mean around its expectation (0 if its size is unknown), `groups_at_once` of
    /// how many groups the target is made.
    pub fn prediction(
        past: &[Past],
        level: f64,
        se: f64,
        sampling_variance: f64,
        groups_at_once: f64,
    ) -> Result<Self> {
        let weight = check(past, level)?;
        for (what, number) in [("standard error", se), ("sampling variance", sampling_variance)] {
            if !(number >= 0.0 && number.is_finite()) {
                return Err(Error::input(format!(
                    "the {what} of the target is {number}; expected a finite number ≥ 0"
                )));
            }
        }
        if !(groups_at_once >= 1.0 && groups_at_once.is_finite()) {
            return Err(Error::input(format!(
                "the target is {groups_at_once} groups at once; expected a number ≥ 1"
            )));
        }
        let spread = Spread::new(past);
        let squares: f64 = past.iter().map(|p| p.weight * p.weight).sum();
        let freedom = weight * weight / squares - 1.0;
        if freedom < ROUNDING {
            return Err(Error::input("one group only weighs anything; expected at least 2"));
        }
        let (between, noise) = (spread.between / groups_at_once, se * se + sampling_variance);
        let reach = student(level, freedom) * (between + noise).sqrt();
        let sampling = reach * (1.0 - spread.share_of(between, noise));
        let total = spread.mean.max(0.0) + reach;
        Ok(Allowance {
            method: Method::Prediction,
            level,
            total,
            between: total - sampling,
            sampling,
            heterogeneity: spread.between.sqrt(),
            attainable: weight / (weight + 1.0),
        })
    }
}

/// The mean of scores that differ by more than their noise, and the variance between them, by Paule
/// and Mandel: `(μ̂, τ̂²)`.
///
/// ```
/// use seawall::transfer::paule_mandel;
/// let (mean, between) = paule_mandel(&[0.0, 1.0, 2.0], &[0.5, 0.5, 0.5]);
/// assert!((mean - 1.0).abs() < 1e-12 && (between - 0.5).abs() < 1e-12);
/// ```
pub fn paule_mandel(scores: &[f64], variances: &[f64]) -> (f64, f64) {
    let past = scores.iter().zip(variances);
    let past = past.map(|(&score, &variance)| Past { score, variance, weight: 1.0 });
    let spread = Spread::new(&past.collect::<Vec<_>>());
    (spread.mean, spread.between)
}

/// The mean of the scores, and the variance between groups.
struct Spread {
    mean: f64,
    between: f64,
}

impl Spread {
    fn new(past: &[Past]) -> Self {
        let weight: f64 = past.iter().map(|p| p.weight).sum();
        let squares: f64 = past.iter().map(|p| p.weight * p.weight).sum();
        let plain = past.iter().map(|p| p.weight * p.score).sum::<f64>() / weight;
        let apart: f64 = past.iter().map(|p| p.weight * (p.score - plain).powi(2)).sum();
        // What the sum of squares is expected to be; K − 1 where every group counts for 1.
        let freedom = weight - squares / weight;
        // Groups without noise are weighed by what little is left of it.
        let least = (1e-12 * apart / weight).max(1e-150);
        let at = |between: f64| {
            let each = || past.iter().map(|p| (p.weight / (p.variance + between).max(least), p));
            let (mut mass, mut sum) = (0.0, 0.0);
            each().for_each(|(w, p)| (mass, sum) = (mass + w, sum + w * p.score));
            let mean = sum / mass;
            (mean, each().map(|(w, p)| w * (p.score - mean).powi(2)).sum::<f64>())
        };
        if freedom.is_nan() || freedom <= 0.0 || at(0.0).1 <= freedom {
            return Spread { mean: if weight > 0.0 { at(0.0).0 } else { plain }, between: 0.0 };
        }
        // With nothing but the variance between groups the squares are too few.
        let (mut low, mut high) = (0.0, apart / freedom);
        while high - low > 1e-15 * high {
            let middle = 0.5 * (low + high);
            if middle == low || middle == high {
                break;
            }
            if at(middle).1 > freedom { low = middle } else { high = middle }
        }
        Spread { mean: at(high).0, between: high }
    }

    fn share_of(&self, between: f64, noise: f64) -> f64 {
        if between + noise > 0.0 { between / (between + noise) } else { 0.0 }
    }
}

/// The sum of the weights.
fn check(past: &[Past], level: f64) -> Result<f64> {
    if !(level > 0.5 && level < 1.0) {
        let expected = "expected a number above 0.5 and below 1";
        return Err(Error::field(Field::Level, format!("is {level}; {expected}")));
    }
    for (place, group) in past.iter().enumerate() {
        let Past { score, variance, weight } = *group;
        let fits = score.is_finite() && variance >= 0.0 && variance.is_finite();
        if !(fits && weight > 0.0 && weight <= 1.0) {
            return Err(Error::input(format!(
                "past group {}: score {score}, variance {variance}, weight {weight}; expected finite \
                 numbers, a variance ≥ 0 and a weight above 0 and at most 1",
                place + 1
            )));
        }
    }
    match past.len() {
        0 => Err(Error::input("no past group; expected at least 2")),
        1 => Err(Error::input("one group only; expected at least 2")),
        _ => Ok(past.iter().map(|p| p.weight).sum()),
    }
}
