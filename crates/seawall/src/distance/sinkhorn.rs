//! The entropic distance, and the Sinkhorn divergence made of it.
//!
//! ```text
//! W_η(P, Q) = min Σ x_ij c_ij + KL(x ‖ P⊗Q)/η        W ≤ W_η ≤ W + min(H(P), H(Q))/η
//! S_η(P, Q) = W_η(P, Q) − ½ W_η(P, P) − ½ W_η(Q, Q)
//! ```
//!
//! `H` the entropy in nats. Solved by alternating the two soft minima in the log domain, which
//! neither overflows nor underflows at any η, from soft to sharp. A sharp η makes that slow: then
//! Newton's method on one population's potentials takes over, if it has at most a thousand points or
//! so. All pairs of points with mass are looked at, and their costs worked out once.

use super::same_space;
use crate::error::{Error, Field, Result};
use crate::kernel::cholesky::{Cholesky, dot};
use crate::kernel::log_sum::{log_sum_columns, log_sum_less};
use crate::population::Population;
use crate::progress::{Progress, Stage, Watch};
use rayon::prelude::*;

/// Pairs looked at in all rounds together, about; and rounds at least and at most.
const WORK: usize = 4_000_000_000;
const ROUNDS: (usize, usize) = (400, 50_000);
/// Pairs up to which one thread is faster than several.
const FEW_PAIRS: usize = 1 << 14;
/// Columns that are summed together.
const BLOCK: usize = 128;
/// Rounds at each softer stage, and before a step of Newton's method is tried.
const STAGE: usize = 10;
/// Points of the smaller population up to which Newton's method is worth its matrix.
const DENSE: usize = 1024;
/// The misplaced mass at which to stop, and at which a softer stage is good enough to start from.
const TOLERANCE: f64 = 1e-9;
const ROUGH: f64 = 1e-2;
/// What is added to the diagonal of Newton's matrix, as a share of it.
const RIDGES: [f64; 5] = [1e-13, 1e-11, 1e-9, 1e-7, 1e-5];
/// Steps of Newton's method at most: it takes some ten where it works.
const STEPS: usize = 60;
/// Times that a step of Newton's method is halved.
const HALVINGS: usize = 12;
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
    // The distance is the same both ways; the matrix of Newton's method is the second one's.
    let dual = if from.observed() >= to.observed() {
        SinkhornDual::new(from, to)?
    } else {
        SinkhornDual::new(to, from)?
    };
    let found = if from.weights() == to.weights() {
        dual.itself(eta, watch)?
    } else {
        dual.solve(eta, watch)?
    };
    let settled = found.lacking <= TOLERANCE;
    // The dual at these potentials: below W_η, and by no more than the mass that is wrong times
    // what a potential can still change.
    let value = dual.height(&found.f, &found.g);
    let entropy = |logs: &[f64]| -logs.iter().map(|log| log.exp() * log).sum::<f64>();
    let room = entropy(&dual.rows).min(entropy(&dual.columns)) / eta;
    let slack = 2.0 * dual.largest * found.lacking;
    Ok(Sinkhorn {
        value,
        exact_lower: (value - room).max(0.0),
        exact_upper: value + slack,
        settled,
    })
}

/// The dual problem: `max Σ p_i f_i + Σ q_j g_j` over potentials.
struct SinkhornDual {
    /// log p and log q of the points with mass.
    rows: Vec<f64>,
    columns: Vec<f64>,
    /// `c_ij`, row by row.
    costs: Vec<f64>,
    /// The largest cost there is.
    largest: f64,
}

/// Potentials of which g is the soft minimum against f, and the mass that their plan takes from the
/// wrong sources.
struct Potentials {
    f: Vec<f64>,
    g: Vec<f64>,
    lacking: f64,
}

impl SinkhornDual {
    fn new(from: &Population, to: &Population) -> Result<Self> {
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
        let largest = costs.iter().copied().filter(|c| c.is_finite()).fold(1e-300, f64::max);
        let logs = |points: &[(usize, f64)]| points.iter().map(|(_, w)| w.ln()).collect();
        Ok(SinkhornDual { rows: logs(&a), columns: logs(&b), costs, largest })
    }

    fn few(&self) -> bool {
        self.costs.len() <= FEW_PAIRS
    }

    /// `f_i = −(1/η) log Σ_j q_j exp(η (g_j − c_ij))`.
    fn soft_rows(&self, g: &[f64], eta: f64) -> Vec<f64> {
        let h: Vec<f64> = self.columns.iter().zip(g).map(|(log, g)| log + eta * g).collect();
        let each = |row: &[f64]| -log_sum_less(&h, eta, row) / eta;
        if self.few() {
            self.costs.chunks_exact(h.len()).map(each).collect()
        } else {
            self.costs.par_chunks_exact(h.len()).map(each).collect()
        }
    }

    /// The same for g.
    fn soft_columns(&self, f: &[f64], eta: f64) -> Vec<f64> {
        let h: Vec<f64> = self.rows.iter().zip(f).map(|(log, f)| log + eta * f).collect();
        let columns = self.columns.len();
        let mut g = vec![0.0; columns];
        let block = |(at, out): (usize, &mut [f64])| {
            log_sum_columns(&h, eta, &self.costs, columns, at * BLOCK, out);
            out.iter_mut().for_each(|g| *g /= -eta);
        };
        if self.few() {
            g.chunks_mut(BLOCK).enumerate().for_each(block)
        } else {
            g.par_chunks_mut(BLOCK).enumerate().for_each(block)
        }
        g
    }

    /// How much mass a plan takes from the wrong sources, if f should be `next`.
    fn lacking(&self, f: &[f64], next: &[f64], eta: f64) -> f64 {
        let wrong = |(log, (old, new)): (&f64, (&f64, &f64))| {
            log.exp() * (eta * (old - new)).exp_m1().abs()
        };
        self.rows.iter().zip(f.iter().zip(next)).map(wrong).sum()
    }

    /// A population's distance to itself has one potential, `f = g`: the mean of it and its soft
    /// minimum halves what is wrong, whatever η.
    fn itself(&self, eta: f64, watch: Watch<'_>) -> Result<Potentials> {
        let mut f = vec![0.0; self.rows.len()];
        let mut lacking = f64::INFINITY;
        for round in 0..ROUNDS.0 {
            watch.tell(Progress::at(Stage::Distance).done(round).out_of(ROUNDS.0))?;
            let next = self.soft_rows(&f, eta);
            lacking = self.lacking(&f, &next, eta);
            if lacking <= TOLERANCE {
                return Ok(Potentials { g: next, f, lacking });
            }
            f.iter_mut().zip(next).for_each(|(f, next)| *f = 0.5 * (*f + next));
        }
        Ok(Potentials { g: self.soft_rows(&f, eta), f, lacking })
    }

    /// From soft to sharp: the potentials of a softer problem are a good start.
    fn solve(&self, eta: f64, watch: Watch<'_>) -> Result<Potentials> {
        let mut g = vec![0.0; self.columns.len()];
        let mut softer = 10.0 / self.largest;
        while softer < eta {
            g = self.settle(&g, softer, ROUGH, 3 * STAGE, watch)?.g;
            softer *= 2.0;
        }
        let rounds = (WORK / self.costs.len().max(1)).clamp(ROUNDS.0, ROUNDS.1);
        self.settle(&g, eta, TOLERANCE, rounds, watch)
    }

    /// Alternates the two soft minima until no more than so much mass is wrong. Where that is slow
    /// and the matrix is not too large, each round is followed by a step of Newton's method.
    fn settle(
        &self,
        g: &[f64],
        eta: f64,
        tolerance: f64,
        rounds: usize,
        watch: Watch<'_>,
    ) -> Result<Potentials> {
        let mut f = self.soft_rows(g, eta);
        let (mut found, mut before) = (Vec::new(), f64::INFINITY);
        let (mut lacking, mut slow, mut steps) = (f64::INFINITY, false, 0);
        for round in 0..rounds {
            watch.tell(Progress::at(Stage::Distance).done(round).out_of(rounds))?;
            found = self.soft_columns(&f, eta);
            let next = self.soft_rows(&found, eta);
            lacking = self.lacking(&f, &next, eta);
            if lacking <= tolerance {
                break;
            }
            f = next;
            if round % STAGE == STAGE - 1 {
                slow = self.columns.len() <= DENSE && lacking > 0.1 * before && steps < STEPS;
                before = lacking;
            }
            if slow {
                steps += 1;
                match self.newton(&f, &found, eta) {
                    Some(ahead) => f = ahead,
                    None => slow = false,
                }
            }
        }
        Ok(Potentials { f, g: found, lacking })
    }

    /// A step of Newton's method on `Φ(g) = Σ p_i f_i(g) + Σ q_j g_j`: the f of where it leads. With
    /// the plan `x` of f and g, whose rows are right,
    ///
    /// ```text
    /// ∇Φ = q − Σ_i x_i·      −∇²Φ = η (diag(Σ_i x_i·) − Σ_i x_i·ᵀ x_i· / p_i)
    /// ```
    ///
    /// None if Φ does not rise that way: rounding has the last word.
    fn newton(&self, f: &[f64], g: &[f64], eta: f64) -> Option<Vec<f64>> {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        // The plan turned on its side, each source's share of it divided by the root of p.
        let mut plan = vec![0.0; rows * columns];
        plan.par_chunks_exact_mut(rows).enumerate().for_each(|(j, column)| {
            for (i, x) in column.iter_mut().enumerate() {
                let rate = eta * (f[i] + g[j] - self.costs[i * columns + j]);
                *x = (0.5 * self.rows[i] + self.columns[j] + rate).exp();
            }
        });
        let roots: Vec<f64> = self.rows.iter().map(|log| (0.5 * log).exp()).collect();
        let arrived: Vec<f64> = plan.chunks_exact(rows).map(|x| dot(x, &roots)).collect();
        let mut matrix = vec![0.0; columns * columns];
        matrix.par_chunks_exact_mut(columns).enumerate().for_each(|(j, row)| {
            let own = &plan[j * rows..][..rows];
            for (k, entry) in row[..=j].iter_mut().enumerate() {
                *entry = -dot(own, &plan[k * rows..][..rows]);
            }
            row[j] += arrived[j];
        });
        let missing: Vec<f64> =
            self.columns.iter().zip(&arrived).map(|(log, x)| log.exp() - x).collect();
        // Potentials are known up to a constant, and a sharp plan falls into parts that hardly
        // touch: a little more on the diagonal picks one, as little as will do.
        RIDGES.iter().find_map(|ridge| {
            let mut ridged = matrix.clone();
            (0..columns).for_each(|j| ridged[j * columns + j] += ridge * arrived[j]);
            let mut step: Vec<f64> = missing.iter().map(|m| m / eta).collect();
            Cholesky::new(columns, ridged)?.solve(&mut step);
            self.climb(f, g, &step, dot(&missing, &step), eta)
        })
    }

    /// The f of the farthest of some points along a step where Φ rises as it should; None if it does
    /// nowhere.
    fn climb(&self, f: &[f64], g: &[f64], step: &[f64], slope: f64, eta: f64) -> Option<Vec<f64>> {
        let here = self.height(f, g);
        let mut share = 1.0;
        for _ in 0..HALVINGS {
            let there: Vec<f64> = g.iter().zip(step).map(|(g, s)| g + share * s).collect();
            let ahead = self.soft_rows(&there, eta);
            if self.height(&ahead, &there) >= here + 1e-4 * share * slope {
                return Some(ahead);
            }
            share *= 0.5;
        }
        None
    }

    /// `Σ p_i f_i + Σ q_j g_j`.
    fn height(&self, f: &[f64], g: &[f64]) -> f64 {
        let mean = |logs: &[f64], values: &[f64]| -> f64 {
            logs.iter().zip(values).map(|(log, v)| log.exp() * v).sum()
        };
        mean(&self.rows, f) + mean(&self.columns, g)
    }
}

/// A Sinkhorn divergence and what it says of the exact distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Divergence {
    /// S_η.
    pub value: f64,
    /// W_η, which it is made of.
    pub distance: f64,
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
        distance: cross.value,
        exact_lower: cross.exact_lower,
        exact_upper: cross.exact_upper,
        settled: cross.settled && first.settled && second.settled,
    })
}
