//! Stage 3. The transport distance between two populations, exact, with plan and certificate.
//!
//! ```text
//! W(P, Q) = min Σ x_ij c_ij   with   Σ_j x_ij = p_i,  Σ_i x_ij = q_j
//!         = max Σ_i p_i min_j (c_ij − φ_j) + Σ_j q_j φ_j
//! ```
//!
//! The first is solved on a few arcs at a time (network simplex); its potentials φ are priced
//! against **all** pairs by the same inner maxima as a worst case, `max_j (φ_j − c_ij)`, which on a
//! grid is one pass per feature. The arcs that would lower the cost are added until none would.
//! Whatever φ is, the second line is a lower bound: that is the certificate. On a line the
//! quantiles are coupled and nothing is left to solve.
//!
//! ```
//! use seawall::distance::distance;
//! use seawall::{Feature, Population, Space, Status, Watch};
//! use std::sync::Arc;
//! let space = Arc::new(Space::grid([
//!     Feature::numeric("age").levels([40.0, 50.0, 60.0]),
//!     Feature::nominal("sex", ["F", "M"]),
//! ])?);
//! let before = Population::from_counts(space.clone(), &[20, 20, 20, 20, 20, 0])?;
//! let after = Population::from_counts(space, &[20, 20, 20, 0, 20, 20])?;
//! let found = distance(&before, &after, Watch::NOBODY)?;
//! // A fifth of the people grow half the range of ages older: 0.2 · 0.5².
//! assert!((found.value - 0.05).abs() < 1e-12 && found.status == Status::Optimal);
//! assert!((found.by_feature()[0] - 0.05).abs() < 1e-12 && found.lower <= found.value);
//! # Ok::<(), seawall::Error>(())
//! ```

mod divergence;
mod line;
mod strata;

pub use divergence::{kl, total_variation};
pub use strata::{StrataShift, matched, on_features};

use crate::ambiguity::{Geometry, Move, Status};
use crate::error::{Error, Result};
use crate::kernel::flow::Flow;
use crate::kernel::sum::sum;
use crate::population::Population;
use crate::progress::{Progress, Stage, Watch, inside};
use crate::space::{Kind, Space};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The gap, relative to the distance, up to which the status is `optimal`.
const TOLERANCE: f64 = 1e-10;
/// Rounds of pricing at most.
const ROUNDS: usize = 500;

/// How far apart two populations are.
#[derive(Clone, Debug)]
pub struct Distance {
    /// The distance: the plan's cost.
    pub value: f64,
    /// The truth is not below this, by the potentials.
    pub lower: f64,
    /// The truth is not above this.
    pub upper: f64,
    /// How it ended.
    pub status: Status,
    /// The plan.
    pub plan: Vec<Move>,
    /// φ at every point of the second population's; NaN elsewhere.
    pub potentials: Vec<f64>,
    space: Arc<Space>,
}

impl Distance {
    /// How far apart the bounds are.
    pub fn gap(&self) -> f64 {
        self.upper - self.lower
    }

    /// What each feature contributes to the distance.
    pub fn by_feature(&self) -> Vec<f64> {
        let space = &self.space;
        let mut costs = vec![0.0; space.names().len()];
        for step in &self.plan {
            for (k, cost) in costs.iter_mut().enumerate() {
                *cost += step.mass * space.feature_cost(k, step.from, step.to);
            }
        }
        costs
    }
}

/// The distance between two populations on the same space.
pub fn distance(from: &Population, to: &Population, watch: Watch<'_>) -> Result<Distance> {
    same_space(from, to)?;
    if let Some(plan) = line::coupled(from, to) {
        return Ok(line::certified(from, to, plan));
    }
    TransportProblem::new(from, to).solve(watch)
}

/// The pairs of points with mass that a plan between two populations has to choose from, which is what
/// the time for their distance goes with; on a line, where quantiles are coupled, as many as points.
pub fn work(from: &Population, to: &Population) -> f64 {
    let points = |population: &Population| population.observed() as f64;
    if line::on_a_line(from.space()) {
        points(from) + points(to)
    } else {
        points(from) * points(to)
    }
}

/// Refuses two populations on spaces that differ, by the feature in which they do.
fn same_space(from: &Population, to: &Population) -> Result<()> {
    let refused = |e: Error| e.within("two populations on different spaces have no distance");
    from.space().same_as(to.space()).map_err(refused)
}

/// Where a fixed feature's shares differ, in words.
fn fixed_difference(from: &Population, to: &Population) -> String {
    let space = from.space();
    let mut most = (0.0, String::from("a fixed feature's shares differ"));
    for (k, name) in space.names().enumerate().filter(|(k, _)| space.kind(*k) == Kind::Fixed) {
        let mut shares: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        for (which, population) in [from, to].into_iter().enumerate() {
            for (i, w) in population.weights().iter().enumerate().filter(|(_, w)| **w > 0.0) {
                shares.entry(space.label(i, k)).or_default()[which] += w;
            }
        }
        for (level, [a, b]) in shares {
            if (a - b).abs() > most.0 {
                let (before, after) = (100.0 * a, 100.0 * b);
                most.0 = (a - b).abs();
                most.1 = format!(
                    "the fixed feature {name:?} is {level:?} for {before:.2}% of the first \
                     population and {after:.2}% of the second"
                );
            }
        }
    }
    most.1
}

/// A transport problem between the points with mass.
struct TransportProblem<'a> {
    from: &'a Population,
    to: &'a Population,
    sources: Vec<usize>,
    targets: Vec<usize>,
    /// The place of a point among the targets.
    target_of: Vec<u32>,
    source_of: Vec<u32>,
    dear: f64,
    /// Each population, prepared for pricing its arcs.
    geometries: [Geometry; 2],
}

/// The points with mass, and each point's place among them.
fn massive(population: &Population) -> (Vec<usize>, Vec<u32>) {
    let points: Vec<usize> =
        (0..population.weights().len()).filter(|&i| population.weights()[i] > 0.0).collect();
    let mut place = vec![u32::MAX; population.weights().len()];
    points.iter().enumerate().for_each(|(at, &i)| place[i] = at as u32);
    (points, place)
}

impl<'a> TransportProblem<'a> {
    fn new(from: &'a Population, to: &'a Population) -> Self {
        let ((sources, source_of), (targets, target_of)) = (massive(from), massive(to));
        let dear = 1.5 * from.space().dearest().max(f64::MIN_POSITIVE);
        let geometries = [Geometry::new(from), Geometry::new(to)];
        TransportProblem { from, to, sources, targets, target_of, source_of, dear, geometries }
    }

    fn solve(&self, watch: Watch<'_>) -> Result<Distance> {
        let space = self.from.space();
        let weights = |population: &Population, points: &[usize]| -> Vec<f64> {
            points.iter().map(|&i| population.weights()[i]).collect()
        };
        let (supply, demand) = (weights(self.from, &self.sources), weights(self.to, &self.targets));
        let mut flow = Flow::new(&supply, &demand, self.dear);
        let mut potentials = vec![0.0; self.targets.len()];
        let mut lower = f64::NEG_INFINITY;
        let mut best = potentials.clone();
        let tight = 1e-14 * self.dear;
        for round in 0..ROUNDS {
            // The best target of each source, and hence the bound.
            let rounds = inside(watch, Progress::at(Stage::Distance).done(round));
            let found = self.priced(&potentials, Watch::new(&rounds))?;
            let inner = |k: usize| {
                let (i, j) = found[k];
                let cost = space.cost(self.sources[i], self.targets[j]);
                supply[i] * (cost - potentials[j])
            };
            let bound = sum(found.len(), inner) + sum(demand.len(), |j| demand[j] * potentials[j]);
            if found.len() == supply.len() && bound > lower {
                lower = bound;
                best.copy_from_slice(&potentials);
            }
            let upper = sum_of(flow.carried().map(|(_, _, x, c)| x * c));
            let progress = Progress::at(Stage::Distance).done(round).gap(upper - lower);
            watch.tell(progress)?;
            let done = flow.stranded() <= 1e-12 && upper - lower <= TOLERANCE * upper.abs();
            if done && round > 0 {
                break;
            }
            let mut added = 0;
            for (i, j) in found {
                let cost = space.cost(self.sources[i], self.targets[j]);
                let reduced = cost + flow.source_potential(i) - flow.target_potential(j);
                if reduced < -tight && cost.is_finite() {
                    flow.add(i, j, cost);
                    added += 1;
                }
            }
            for (j, i) in self.priced_back(&flow, Watch::new(&rounds))? {
                let cost = space.cost(self.sources[i], self.targets[j]);
                let reduced = cost + flow.source_potential(i) - flow.target_potential(j);
                if reduced < -tight && cost.is_finite() {
                    flow.add(i, j, cost);
                    added += 1;
                }
            }
            if added == 0 && round > 0 {
                break;
            }
            if !flow.solve(tight, &|| watch.go_on(progress)) {
                return Err(Error::stopped());
            }
            flow.renew();
            for (j, potential) in potentials.iter_mut().enumerate() {
                *potential = flow.target_potential(j);
            }
        }
        if flow.stranded() > 1e-9 {
            return Err(Error::input(format!(
                "{:.2}% of the people cannot go anywhere: {}",
                100.0 * flow.stranded(),
                fixed_difference(self.from, self.to)
            )));
        }
        let upper = sum_of(flow.carried().map(|(_, _, x, c)| x * c));
        Ok(self.distance(&flow, lower.min(upper), upper, &best))
    }

    fn distance(&self, flow: &Flow, lower: f64, upper: f64, best: &[f64]) -> Distance {
        let mut potentials = vec![f64::NAN; self.to.weights().len()];
        self.targets.iter().zip(best).for_each(|(&i, phi)| potentials[i] = *phi);
        let plan = flow.carried().map(|(i, j, mass, cost)| Move {
            from: self.sources[i],
            to: self.targets[j],
            mass,
            cost,
        });
        let mut plan: Vec<Move> = plan.collect();
        plan.sort_unstable_by_key(|m| (m.from, m.to));
        let gap = upper - lower;
        let optimal = gap <= TOLERANCE * upper.abs() || gap <= 1e-13 * self.dear;
        let status = if optimal { Status::Optimal } else { Status::Inexact };
        let space = self.from.space().clone();
        Distance { value: upper, lower, upper, status, plan, potentials, space }
    }

    /// For each source, by its place, the target of the largest `φ_j − c_ij`.
    fn priced(&self, potentials: &[f64], watch: Watch<'_>) -> Result<Vec<(usize, usize)>> {
        let values = self.spread(&self.targets, potentials);
        let best = self.geometries[0].best_targets(&values, watch)?;
        let known = best.into_iter().filter(|(_, j)| self.target_of[*j as usize] != u32::MAX);
        let place = |(i, j): (u32, u32)| {
            (self.source_of[i as usize] as usize, self.target_of[j as usize] as usize)
        };
        Ok(known.map(place).collect())
    }

    /// For each target the source of the largest `−π_i − c_ij`.
    fn priced_back(&self, flow: &Flow, watch: Watch<'_>) -> Result<Vec<(usize, usize)>> {
        let potentials: Vec<f64> =
            (0..self.sources.len()).map(|i| -flow.source_potential(i)).collect();
        let values = self.spread(&self.sources, &potentials);
        let best = self.geometries[1].best_targets(&values, watch)?;
        let known = best.into_iter().filter(|(_, i)| self.source_of[*i as usize] != u32::MAX);
        let place = |(j, i): (u32, u32)| {
            (self.target_of[j as usize] as usize, self.source_of[i as usize] as usize)
        };
        Ok(known.map(place).collect())
    }

    /// Values at some points; everywhere else so low that nobody goes there.
    fn spread(&self, points: &[usize], values: &[f64]) -> Vec<f64> {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min) - 4.0 * self.dear;
        let mut all = vec![low; self.from.weights().len()];
        points.iter().zip(values).for_each(|(&i, v)| all[i] = *v);
        all
    }
}

fn sum_of(terms: impl Iterator<Item = f64>) -> f64 {
    let terms: Vec<f64> = terms.collect();
    sum(terms.len(), |k| terms[k])
}
