//! Engines for smoothed maxima: `log Σ_j exp(e_j − s c_ij)` for every source, with the mean and the
//! variance of the cost, or of the values, under the Gibbs weights.
//!
//! On a lattice the sum is separable, one log-domain pass per feature; anywhere else all pairs
//! are summed. A tree would not be exact: every point counts.

use super::{EngineKind, PairScan, Patience, Source, required_shape};
use crate::ambiguity::indexed::IndexedPopulation;
use crate::ambiguity::shape::Shape;
use crate::error::{Error, Field, Result};
use crate::kernel::log_sum::{Carried, LogSumAxis, RunningMoments, exp_sum, log_sum};
use crate::kernel::metric::{Metric, penalty};
use crate::kernel::scan::{TILE, costs};
use crate::kernel::sum::sums;
use crate::population::Population;
use crate::progress::Watch;
use rayon::prelude::*;
use std::sync::Arc;

/// An axis of more levels than this is not summed on a lattice unless asked, if its table of costs
/// grows with the square.
const LONGEST: usize = 2048;

/// What a pass finds, weighed by the sources' masses: `Σ_i p_i` of what each of them has.
#[derive(Clone, Copy, Debug)]
pub(in crate::ambiguity) struct Soft {
    /// `log Σ_j exp(e_j − s c_ij)`.
    pub log: f64,
    /// The mean under the Gibbs weights `exp(e_j − s c_ij − log Σ …)`.
    pub mean: f64,
    /// The variance under them.
    pub variance: f64,
}

/// Whose mean and variance under the Gibbs weights.
#[derive(Clone, Copy)]
pub(in crate::ambiguity) enum Of<'v> {
    /// The cost's.
    Cost,
    /// Those of these values, one per point.
    Values(&'v [f64]),
}

/// Sums over all targets for each source.
pub(in crate::ambiguity) trait SoftMaximizer: Send + Sync {
    /// Takes in other exponents `e_j`, one per point; −∞ is out of reach.
    fn weigh(&mut self, exponents: Vec<f64>);
    /// One pass at a sharpness `s` of the costs.
    fn evaluate(&mut self, sharpness: f64, of: Of<'_>) -> Soft;
    /// `log Σ_j exp(e_j − s c_ij)` for each source, as of the last evaluation.
    fn log_totals(&self) -> Vec<f64>;
    /// The population of the Gibbs weights of the last evaluation, which was at this sharpness.
    fn population(&mut self, sharpness: f64) -> Vec<f64>;
    /// Whether the last answer was given up because the watch said stop: it is then worth nothing.
    fn stopped(&self) -> bool {
        false
    }
}

/// A way to the sums of a population, without values.
pub(in crate::ambiguity) trait SoftEngine: Send + Sync {
    /// Takes in exponents, one per point, and who is watching. The population is the engine's own.
    fn load<'v>(
        self: Arc<Self>,
        indexed: &IndexedPopulation,
        exponents: Vec<f64>,
        watch: Watch<'v>,
    ) -> Box<dyn SoftMaximizer + 'v>;
}

/// The engine named, or the one that suits.
pub(in crate::ambiguity) fn soft(
    indexed: &IndexedPopulation,
    kind: EngineKind,
) -> Result<Arc<dyn SoftEngine>> {
    let shape = match kind {
        EngineKind::Auto => indexed.shape().filter(|s| suits(indexed, s)),
        EngineKind::Grid => Some(required_shape(indexed)?),
        EngineKind::Scan => None,
        EngineKind::Tree => {
            return Err(Error::field(
                Field::Engine,
                "tree finds maxima; a set of entropies sums over every point",
            )
            .advise(Field::Engine, &["grid", "scan"]));
        }
    };
    Ok(match shape {
        Some(shape) => {
            let metrics = indexed.population().space().metrics();
            let axes =
                metrics.iter().zip(&shape.coords).map(|(&m, c)| LogSumAxis::new(m, c)).collect();
            Arc::new(SoftLattice { shape: shape.clone(), axes })
        }
        None => Arc::new(SoftScan(PairScan::new(indexed))),
    })
}

/// Whether passes over the lattice beat sums over all pairs.
fn suits(indexed: &IndexedPopulation, shape: &Shape) -> bool {
    let metrics = indexed.population().space().metrics();
    let levels = || shape.grid.levels().iter().zip(&metrics);
    let pairs = indexed.sources().len() as f64 * indexed.population().space().len() as f64;
    let steps: usize = levels().map(|(&k, metric)| soft_steps(*metric, k)).sum();
    let tables = levels().filter(|(_, metric)| matches!(metric, Metric::Square { .. }));
    shape.grid.len() as f64 * steps as f64 <= pairs
        && tables.into_iter().all(|(&k, _)| k <= LONGEST)
}

/// Steps that one cell takes in the pass over an axis.
fn soft_steps(metric: Metric, levels: usize) -> usize {
    match metric {
        Metric::Flat { .. } => levels.min(16),
        Metric::Square { .. } => levels,
        Metric::Wall => 0,
    }
}

/// One log-domain pass per feature.
struct SoftLattice {
    shape: Arc<Shape>,
    axes: Vec<LogSumAxis>,
}

/// The same, loaded.
struct LoadedLattice<'a> {
    engine: Arc<SoftLattice>,
    population: Population,
    sources: Arc<[u32]>,
    exponents: Vec<f64>,
    /// Each cell's `log Σ exp` over the points in it.
    base: Vec<f64>,
    spread: f64,
    log: Vec<f64>,
    mean: Vec<f64>,
    variance: Vec<f64>,
    /// Asked between passes.
    patience: Patience<'a>,
}

impl SoftEngine for SoftLattice {
    fn load<'v>(
        self: Arc<Self>,
        indexed: &IndexedPopulation,
        exponents: Vec<f64>,
        watch: Watch<'v>,
    ) -> Box<dyn SoftMaximizer + 'v> {
        let cells = self.shape.grid.len();
        // A pass of logarithms and exponentials is worth some dozens of plain ones.
        let steps = 16 * self.shape.work() as usize / self.axes.len().max(1);
        let patience = Patience::new(watch, self.axes.len(), steps);
        let mut loaded = LoadedLattice {
            patience,
            engine: self,
            population: indexed.population().clone(),
            sources: indexed.shared_sources(),
            exponents: Vec::new(),
            spread: 0.0,
            base: Vec::new(),
            log: vec![0.0; cells],
            mean: vec![0.0; cells],
            variance: vec![0.0; cells],
        };
        loaded.weigh(exponents);
        Box::new(loaded)
    }
}

impl LoadedLattice<'_> {
    fn passes(&mut self, sharpness: f64, spread: f64, carried: Carried) {
        self.patience.begin();
        for (k, axis) in self.engine.axes.iter().enumerate() {
            if !self.patience.go_on() {
                return;
            }
            let arrays = [&mut self.log[..], &mut self.mean[..], &mut self.variance[..]];
            axis.pass(self.engine.shape.grid.stride(k), sharpness, spread, carried, arrays);
        }
    }

    /// Each cell's mean and variance of the values over the points in it.
    fn carry(&mut self, values: &[f64]) {
        let Some(cell_of) = &self.engine.shape.cells else {
            self.mean.copy_from_slice(values);
            return self.variance.fill(0.0);
        };
        let mut moments = vec![RunningMoments::default(); self.base.len()];
        for ((&cell, e), value) in cell_of.iter().zip(&self.exponents).zip(values) {
            if *e > f64::NEG_INFINITY {
                let share = (e - self.base[cell as usize]).exp();
                moments[cell as usize].add(share, *value, 0.0);
            }
        }
        for (cell, moments) in moments.iter().enumerate() {
            (self.mean[cell], self.variance[cell]) = (moments.mean, moments.variance());
        }
    }
}

impl SoftMaximizer for LoadedLattice<'_> {
    fn weigh(&mut self, exponents: Vec<f64>) {
        self.base = match &self.engine.shape.cells {
            None => exponents.clone(),
            Some(cell_of) => {
                let mut top = vec![f64::NEG_INFINITY; self.log.len()];
                for (&cell, &x) in cell_of.iter().zip(&exponents) {
                    top[cell as usize] = top[cell as usize].max(x);
                }
                let mut total = vec![0.0; top.len()];
                for (&cell, &x) in cell_of.iter().zip(&exponents) {
                    if x > f64::NEG_INFINITY {
                        total[cell as usize] += (x - top[cell as usize]).exp();
                    }
                }
                top.iter().zip(&total).map(|(top, total): (&f64, &f64)| top + total.ln()).collect()
            }
        };
        // Whoever cannot stay may have to go very far, and those sums must not leave the logarithm.
        let stays = |&i: &u32| self.base[self.engine.shape.cell(i as usize)] > f64::NEG_INFINITY;
        let all_stay = self.sources.iter().all(stays);
        self.spread = if all_stay { spread(&self.base) } else { f64::INFINITY };
        self.exponents = exponents;
    }

    fn evaluate(&mut self, sharpness: f64, of: Of<'_>) -> Soft {
        self.log.copy_from_slice(&self.base);
        let carried = match of {
            Of::Cost => {
                self.mean.fill(0.0);
                self.variance.fill(0.0);
                Carried::Cost
            }
            Of::Values(values) => {
                self.carry(values);
                Carried::Own
            }
        };
        self.passes(sharpness, self.spread, carried);
        let weights = self.population.weights();
        let [log, mean, variance] = sums(self.sources.len(), &|s: usize| {
            let i = self.sources[s] as usize;
            let cell = self.engine.shape.cell(i);
            [self.log[cell], self.mean[cell], self.variance[cell]].map(|x| weights[i] * x)
        });
        Soft { log, mean, variance }
    }

    fn log_totals(&self) -> Vec<f64> {
        self.sources.iter().map(|&i| self.log[self.engine.shape.cell(i as usize)]).collect()
    }

    fn population(&mut self, sharpness: f64) -> Vec<f64> {
        // The transpose of the same sums: from p_i / Z_i back to the targets.
        let totals = self.log_totals();
        let weights = self.population.weights();
        let mut mass = vec![0.0; self.log.len()];
        for &i in self.sources.iter() {
            mass[self.engine.shape.cell(i as usize)] += weights[i as usize];
        }
        self.log.fill(f64::NEG_INFINITY);
        for (&i, total) in self.sources.iter().zip(totals) {
            let cell = self.engine.shape.cell(i as usize);
            self.log[cell] = f64::ln(mass[cell]) - total;
        }
        let spread = spread(&self.log) + self.spread;
        self.mean.fill(0.0);
        self.variance.fill(0.0);
        self.passes(sharpness, spread, Carried::Own);
        let arrive = |j: usize| (self.exponents[j] + self.log[self.engine.shape.cell(j)]).exp();
        (0..self.exponents.len()).map(arrive).collect()
    }

    fn stopped(&self) -> bool {
        self.patience.stopped()
    }
}

/// The range of the finite entries.
fn spread(numbers: &[f64]) -> f64 {
    let finite = numbers.iter().filter(|x| x.is_finite());
    let (low, high) = finite
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)));
    (high - low).max(0.0)
}

/// All pairs.
struct SoftScan(PairScan);

/// The same, loaded.
struct LoadedScan<'a> {
    engine: Arc<SoftScan>,
    population: Population,
    /// Group by group.
    exponents: Vec<Vec<f64>>,
    totals: Vec<f64>,
    patience: Patience<'a>,
}

impl SoftEngine for SoftScan {
    fn load<'v>(
        self: Arc<Self>,
        indexed: &IndexedPopulation,
        exponents: Vec<f64>,
        watch: Watch<'v>,
    ) -> Box<dyn SoftMaximizer + 'v> {
        let exponents = self.by_group(&exponents);
        let (population, totals) = (indexed.population().clone(), Vec::new());
        // An exponential is worth a few steps of a plain look.
        let patience = self.0.patience(watch);
        Box::new(LoadedScan { engine: self, population, exponents, totals, patience })
    }
}

impl SoftScan {
    /// What the points have, group by group.
    fn by_group(&self, of_points: &[f64]) -> Vec<Vec<f64>> {
        let pick = |m: &[u32]| m.iter().map(|&j| of_points[j as usize]).collect();
        self.0.groups.iter().map(|g| pick(&g.members)).collect()
    }
}

impl LoadedScan<'_> {
    fn scan(&self) -> &PairScan {
        &self.engine.0
    }

    /// `log Σ`, and the mean and the variance of the cost or the values, for one source.
    fn source(
        &self,
        source: Source,
        sharpness: f64,
        values: Option<&[Vec<f64>]>,
        room: &mut SoftRoom,
    ) -> (f64, f64, f64) {
        let exponents = &self.exponents[source.group as usize];
        let group = &self.scan().groups[source.group as usize];
        group.row(source.local as usize, &mut room.x);
        room.exponents.clear();
        room.costs.resize(exponents.len(), 0.0);
        for (at, tile) in room.costs.chunks_mut(TILE).enumerate() {
            costs(&self.scan().metrics, &group.columns, &room.x, at * TILE, tile);
        }
        let shifted = exponents.iter().zip(&room.costs).map(|(e, &c)| e - penalty(sharpness, c));
        room.exponents.extend(shifted);
        let of = values.map_or(&room.costs, |values| &values[source.group as usize]);
        log_sum(&mut room.exponents, of)
    }
}

/// Room for one source's sums, kept by each thread.
#[derive(Default)]
struct SoftRoom {
    x: Vec<f64>,
    costs: Vec<f64>,
    exponents: Vec<f64>,
}

impl SoftMaximizer for LoadedScan<'_> {
    fn weigh(&mut self, exponents: Vec<f64>) {
        self.exponents = self.engine.by_group(&exponents);
    }

    fn evaluate(&mut self, sharpness: f64, of: Of<'_>) -> Soft {
        let values = match of {
            Of::Cost => None,
            Of::Values(values) => Some(self.engine.by_group(values)),
        };
        self.patience.begin();
        let found: Vec<(f64, f64, f64)> = self
            .scan()
            .sources
            .par_iter()
            .map_init(SoftRoom::default, |room, &source| {
                if !self.patience.go_on() {
                    return Default::default();
                }
                self.source(source, sharpness, values.as_deref(), room)
            })
            .collect();
        let weights = self.population.weights();
        let [log, mean, variance] = sums(found.len(), &|s: usize| {
            let p = weights[self.scan().sources[s].point as usize];
            [p * found[s].0, p * found[s].1, p * found[s].2]
        });
        self.totals = found.into_iter().map(|f| f.0).collect();
        Soft { log, mean, variance }
    }

    fn log_totals(&self) -> Vec<f64> {
        self.totals.clone()
    }

    fn population(&mut self, sharpness: f64) -> Vec<f64> {
        // Transposed: every target adds up what reaches it, sources in order.
        self.patience.begin();
        let weights = self.population.weights();
        let mut arrived = vec![0.0; weights.len()];
        let mut of_group: Vec<Vec<usize>> = vec![Vec::new(); self.scan().groups.len()];
        for (s, source) in self.scan().sources.iter().enumerate() {
            of_group[source.group as usize].push(s);
        }
        for ((group, sources), exponents) in
            self.scan().groups.iter().zip(&of_group).zip(&self.exponents)
        {
            let pick = |c: &Vec<f64>| {
                sources.iter().map(|&s| c[self.scan().sources[s].local as usize]).collect()
            };
            let columns: Vec<Vec<f64>> = group.columns.iter().map(pick).collect();
            let logs: Vec<f64> = sources
                .iter()
                .map(|&s| weights[self.scan().sources[s].point as usize].ln() - self.totals[s])
                .collect();
            let found: Vec<f64> = (0..group.members.len())
                .into_par_iter()
                .map_init(SoftRoom::default, |room, local| {
                    if !self.patience.go_on() {
                        return 0.0;
                    }
                    group.row(local, &mut room.x);
                    room.costs.resize(logs.len(), 0.0);
                    for (at, tile) in room.costs.chunks_mut(TILE).enumerate() {
                        costs(&self.scan().metrics, &columns, &room.x, at * TILE, tile);
                    }
                    let log = |(l, &c): (&f64, &f64)| exponents[local] + l - penalty(sharpness, c);
                    room.exponents.clear();
                    room.exponents.extend(logs.iter().zip(&room.costs).map(log));
                    exp_sum(&room.exponents)
                })
                .collect();
            for (&j, mass) in group.members.iter().zip(found) {
                arrived[j as usize] = mass;
            }
        }
        arrived
    }

    fn stopped(&self) -> bool {
        self.patience.stopped()
    }
}
