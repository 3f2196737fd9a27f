//! The entropic distance, and the Sinkhorn divergence made of it.
//!
//! ```text
//! W_η(P, Q) = min Σ x_ij c_ij + KL(x ‖ P⊗Q)/η        W ≤ W_η ≤ W + min(H(P), H(Q))/η
//! S_η(P, Q) = W_η(P, Q) − ½ W_η(P, P) − ½ W_η(Q, Q)
//! ```
//!
//! `H` the entropy in nats. Solved by alternating the two soft minima in the log domain, which
//! neither overflows nor underflows at any η. All pairs of points with mass are looked at.

use super::same_space;
use crate::error::{Error, Field, Result};
use crate::population::Population;
use crate::progress::{Progress, Stage, Watch};
use rayon::prelude::*;

/// Pairs looked at in all rounds together, about; and rounds at least and at most.
const WORK: usize = 4_000_000_000;
const ROUNDS: (usize, usize) = (400, 50_000);
/// Pairs up to which one thread is faster than several.
const FEW_PAIRS: usize = 1 << 14;
/// Rounds at each softer stage.
const STAGE: usize = 10;
/// The misplaced mass at which to stop.
const TOLERANCE: f64 = 1e-9;
/// Pairs at most.
const MOST_PAIRS: usize = 400_000_000;

/// An entropic distance and what it says of the exact one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sinkhorn {
    /// W_η.
    pub value: f64,
    /// The exact distance is not below this.
    pub exact_lower: f64,
    /// The exact distance is not above this.
    pub exact_upper: f64,
    /// Whether the potentials settled.
    pub settled: bool,
}

/// The entropic distance between two populations on the same space.
pub fn entropic(
    from: &Population,
    to: &Population,
    eta: f64,
    watch: Watch<'_>,
) -> Result<Sinkhorn> {
    same_space(from, to)?;
    if !(eta > 0.0 && eta.is_finite()) {
        let what = format!("is {eta}; expected a finite number > 0");
        return Err(Error::field(Field::Eta, what));
    }
    let points = |p: &Population| -> Vec<(usize, f64)> {
        let all = p.weights().iter().copied().enumerate();
        all.filter(|(_, w)| *w > 0.0).collect()
    };
    let (a, b) = (points(from), points(to));
    if a.len() * b.len() > MOST_PAIRS {
        return Err(Error::config(format!(
            "{} × {} pairs are too many for an entropic distance; the exact one looks at few",
            a.len(),
            b.len()
        )));
    }
    let space = from.space();
    let costs: Vec<f64> = a
        .par_iter()
        .flat_map_iter(|&(i, _)| b.iter().map(move |&(j, _)| space.cost(i, j)))
        .collect();
    let columns = b.len();
    let row = |i: usize| &costs[i * columns..][..columns];
    let largest = costs.iter().copied().filter(|c| c.is_finite()).fold(1e-300, f64::max);
    let few = costs.len() <= FEW_PAIRS;
    let mut g = vec![0.0; b.len()];
    let soft_rows = |g: &[f64], eta: f64| -> Vec<f64> {
        let each = |i: usize| -log_sum(columns, |j| b[j].1.ln() + eta * (g[j] - row(i)[j])) / eta;
        collected(a.len(), few, each)
    };
    let soft_columns = |f: &[f64], eta: f64| -> Vec<f64> {
        let each = |j: usize| {
            let term = |i: usize| a[i].1.ln() + eta * (f[i] - costs[i * columns + j]);
            -log_sum(a.len(), term) / eta
        };
        collected(columns, few, each)
    };
    // From soft to sharp: the potentials of a softer problem are a good start.
    let mut softer = 10.0 / largest;
    while softer < eta {
        for _ in 0..STAGE {
            watch.tell(Progress::at(Stage::Distance))?;
            g = soft_columns(&soft_rows(&g, softer), softer);
        }
        softer *= 2.0;
    }
    let mut f = soft_rows(&g, eta);
    let mut lacking = f64::INFINITY;
    let rounds = (WORK / costs.len().max(1)).clamp(ROUNDS.0, ROUNDS.1);
    for round in 0..rounds {
        watch.tell(Progress::at(Stage::Distance).done(round).out_of(rounds))?;
        g = soft_columns(&f, eta);
        let next = soft_rows(&g, eta);
        // How much mass the plan of (f, g) leaves from the wrong sources.
        let wrong = |((_, p), (old, new)): (&(usize, f64), (&f64, &f64))| {
            p * (eta * (old - new)).exp_m1().abs()
        };
        lacking = a.iter().zip(f.iter().zip(&next)).map(wrong).sum();
        if lacking <= TOLERANCE {
            break;
        }
        f = next;
    }
    let settled = lacking <= TOLERANCE;
    let mean = |weights: &[(usize, f64)], values: &[f64]| -> f64 {
        weights.iter().zip(values).map(|((_, p), v)| p * v).sum()
    };
    // The dual at these potentials: below W_η, and by no more than the mass that is wrong times
    // what a potential can still change.
    let value = mean(&a, &f) + mean(&b, &g);
    let entropy = |weights: &[(usize, f64)]| -weights.iter().map(|(_, p)| p * p.ln()).sum::<f64>();
    let room = entropy(&a).min(entropy(&b)) / eta;
    let slack = 2.0 * largest * lacking;
    Ok(Sinkhorn {
        value,
        exact_lower: (value - room).max(0.0),
        exact_upper: value + slack,
        settled,
    })
}

/// A Sinkhorn divergence and what it says of the exact distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Divergence {
    /// S_η.
    pub value: f64,
    /// The exact distance is not below this.
    pub exact_lower: f64,
    /// The exact distance is not above this.
    pub exact_upper: f64,
    /// Whether the potentials of all three distances settled.
    pub settled: bool,
}

/// The Sinkhorn divergence: 0 between equal populations, and above it otherwise. A population's
/// entropic distance to itself is between 0 and `H/η`, so the exact distance is within
/// `min(H(P), H(Q))/η` below and `(H(P) + H(Q))/2η` above it; the entropic distance's own bounds are
/// at least as tight, and are the ones given.
pub fn sinkhorn_divergence(
    from: &Population,
    to: &Population,
    eta: f64,
    watch: Watch<'_>,
) -> Result<Divergence> {
    let cross = entropic(from, to, eta, watch)?;
    let (first, second) = (entropic(from, from, eta, watch)?, entropic(to, to, eta, watch)?);
    let own = 0.5 * first.value + 0.5 * second.value;
    Ok(Divergence {
        value: cross.value - own,
        exact_lower: cross.exact_lower,
        exact_upper: cross.exact_upper,
        settled: cross.settled && first.settled && second.settled,
    })
}

/// Each of so many numbers, on one thread or on all.
fn collected(count: usize, alone: bool, each: impl Fn(usize) -> f64 + Sync + Send) -> Vec<f64> {
    match alone {
        true => (0..count).map(each).collect(),
        false => (0..count).into_par_iter().map(each).collect(),
    }
}

/// `log Σ exp(term)`, without overflow.
fn log_sum(count: usize, term: impl Fn(usize) -> f64) -> f64 {
    let most = (0..count).map(&term).fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + (0..count).map(|k| (term(k) - most).exp()).sum::<f64>().ln()
}
