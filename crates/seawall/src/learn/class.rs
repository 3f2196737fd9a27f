//! Policies whose cost is convex in their parameters, linear as a rule: `l_θ(x) = Σ_j θ_j c_j(x)`, θ in
//! a product of simplices (blocks), with bounds and budgets.

use crate::error::{Error, Result};
use rayon::prelude::*;

/// Sums that one core takes at a time.
const STRETCH: usize = 1 << 13;

/// How a class makes costs of its parameters.
pub(super) trait Convex: Sync {
    /// `l_θ` at every point.
    fn costs(&self, theta: &[f64]) -> Vec<f64>;

    /// A subgradient of `θ ↦ Σ_x q(x) l_θ(x)` at θ; `Σ_x q(x) c_j(x)` for a linear class, wherever.
    fn slopes(&self, theta: &[f64], population: &[f64]) -> Vec<f64>;
}

/// `Σ_j row_j θ_j ≤ most`.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) row: Vec<f64>,
    pub(super) most: f64,
}

/// Bounds of each parameter, and rows that must hold.
#[derive(Clone, Debug)]
pub(super) struct Polytope {
    pub(super) blocks: Vec<usize>,
    pub(super) least: Vec<f64>,
    pub(super) most: Vec<f64>,
    pub(super) rows: Vec<Row>,
}

impl Polytope {
    /// The product of whole simplices.
    pub(super) fn simplices(blocks: &[usize]) -> Self {
        let count = blocks.iter().sum();
        Polytope {
            blocks: blocks.to_vec(),
            least: vec![0.0; count],
            most: vec![1.0; count],
            rows: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.least.len()
    }

    /// The parameters within the bounds that make `Σ cost_j θ_j` least; rows are not looked at.
    /// Each block takes its least shares, then fills up the cheapest first.
    pub(super) fn cheapest(&self, cost: &[f64]) -> Vec<f64> {
        let mut theta = self.least.clone();
        let mut first = 0;
        for &size in &self.blocks {
            let block = first..first + size;
            let mut left = 1.0 - theta[block.clone()].iter().sum::<f64>();
            let mut order: Vec<usize> = block.collect();
            order.sort_by(|&a, &b| cost[a].total_cmp(&cost[b]));
            for j in order {
                let more = (self.most[j] - theta[j]).min(left).max(0.0);
                theta[j] += more;
                left -= more;
            }
            first += size;
        }
        theta
    }

    /// `min Σ cost_j θ_j + Σ_r price_r (row_r θ − most_r)` over the bounds: below the least cost
    /// over the whole polytope for any prices ≥ 0.
    pub(super) fn lower_bound(&self, cost: &[f64], prices: &[f64]) -> f64 {
        let mut total = cost.to_vec();
        let mut constant = 0.0;
        for (row, price) in self.rows.iter().zip(prices) {
            let price = price.max(0.0);
            total.iter_mut().zip(&row.row).for_each(|(t, r)| *t += price * r);
            constant -= price * row.most;
        }
        let theta = self.cheapest(&total);
        constant + dot(&total, &theta)
    }

    /// Back into the simplices and bounds, after a solver that is right to a few digits less.
    pub(super) fn tidy(&self, theta: &[f64]) -> Vec<f64> {
        let mut theta: Vec<f64> = theta
            .iter()
            .zip(self.least.iter().zip(&self.most))
            .map(|(t, (least, most))| t.clamp(*least, *most))
            .collect();
        let mut first = 0;
        for &size in &self.blocks {
            let block = first..first + size;
            let mut lacking = 1.0 - theta[block.clone()].iter().sum::<f64>();
            for j in block {
                let room =
                    if lacking > 0.0 { self.most[j] - theta[j] } else { self.least[j] - theta[j] };
                let step = if lacking > 0.0 { lacking.min(room) } else { lacking.max(room) };
                theta[j] += step;
                lacking -= step;
            }
            first += size;
        }
        theta
    }

    /// Whether every row holds.
    pub(super) fn holds(&self, theta: &[f64], slack: f64) -> bool {
        self.rows.iter().all(|r| dot(&r.row, theta) <= r.most + slack)
    }

    /// Refuses bounds that no block can meet.
    pub(super) fn check_bounds(&self, name: &dyn Fn(usize) -> String) -> Result<()> {
        let mut first = 0;
        for &size in &self.blocks {
            let block = first..first + size;
            for j in block.clone() {
                let (least, most) = (self.least[j], self.most[j]);
                if !(0.0 <= least && least <= most && most <= 1.0) {
                    return Err(Error::config(format!(
                        "the probability of {} is to be from {least} to {most}; expected 0 ≤ \
                         least ≤ most ≤ 1",
                        name(j)
                    )));
                }
            }
            let least: f64 = self.least[block.clone()].iter().sum();
            let most: f64 = self.most[block.clone()].iter().sum();
            let names: Vec<String> = block.map(name).collect();
            if least > 1.0 + 1e-12 {
                return Err(Error::config(format!(
                    "the least probabilities of {} sum to {least}, above 1",
                    names.join(", ")
                )));
            }
            if most < 1.0 - 1e-12 {
                return Err(Error::config(format!(
                    "the largest probabilities of {} sum to {most}, below 1",
                    names.join(", ")
                )));
            }
            first += size;
        }
        Ok(())
    }
}

/// Terms that [`dot`] adds up side by side.
const LANES: usize = 8;

/// `Σ a_i b_i`, in a fixed order: every eighth term, then those eight sums.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let length = a.len().min(b.len());
    let (a, a_rest) = a[..length].as_chunks::<LANES>();
    let (b, b_rest) = b[..length].as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        // By number: without optimization between crates iterators of so few terms cost more than they do.
        for k in 0..LANES {
            sums[k] += a[k] * b[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

/// Adds `share · terms` to sums, each term to its own, a stretch of them on every core.
pub(super) fn add_scaled(sums: &mut [f64], terms: &[(f64, &[f64])]) {
    sums.par_chunks_mut(STRETCH).enumerate().for_each(|(k, sums)| {
        for (share, terms) in terms {
            let terms = &terms[k * STRETCH..];
            sums.iter_mut().zip(terms).for_each(|(sum, x)| *sum += share * x);
        }
    });
}
