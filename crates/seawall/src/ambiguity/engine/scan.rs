//! The scan engine: every pair is looked at. What the other engines are tested against.
//!
//! Groups of some size are looked at in single precision first, and whoever may be best is confirmed
//! in double precision: the same targets, bit for bit ([`screen`]). The targets of the last
//! price are the ones to beat at the next.

use super::{Engine, EngineKind, Group, InnerMaximizer, Patience, Sums, groups};
use crate::ambiguity::indexed::IndexedPopulation;
use crate::ambiguity::values::ScaledValues;
use crate::kernel::metric::Metric;
use crate::kernel::order::{CostFirst, Price, ValueFirst};
use crate::kernel::scan::{self, ScanFound};
use crate::kernel::screen::{self, Incumbent, Rounded, Sorted};
use crate::kernel::sum;
use crate::population::Population;
use crate::progress::Watch;
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

/// Targets from which on a group is screened.
const MANY: usize = 512;
/// Sources that look at the same blocks of targets, one after the other, and those blocks: they stay
/// in the second-level cache.
const TOGETHER: usize = 8;
const BLOCKS: usize = 16;

/// The engine.
pub(in crate::ambiguity) struct PairScan {
    population: Population,
    pub(in crate::ambiguity) metrics: Vec<Metric>,
    pub(in crate::ambiguity) groups: Vec<Group>,
    pub(in crate::ambiguity) sources: Vec<Source>,
    /// Groups in single precision, where they are screened.
    rounded: OnceLock<Vec<Option<Rounded>>>,
}

/// The engine, loaded.
struct ScanMaximizer<'v> {
    engine: Arc<PairScan>,
    /// The members' heights, group by group.
    heights: Vec<Vec<f64>>,
    /// The members in order of height, where they are screened.
    sorted: Vec<Option<Sorted>>,
    /// Each source's target at the last price, by its place in the group.
    last: Vec<u32>,
    patience: Patience<'v>,
}

/// A source: the point, and where it is in its group.
#[derive(Clone, Copy)]
pub(in crate::ambiguity) struct Source {
    pub point: u32,
    pub group: u32,
    pub local: u32,
}

impl PairScan {
    /// Sorts the points into groups.
    pub fn new(indexed: &IndexedPopulation) -> Self {
        let population = indexed.population().clone();
        let (metrics, groups) = groups(population.space());
        let weights = population.weights();
        let mut sources = Vec::new();
        for (group, g) in groups.iter().enumerate() {
            for (local, &point) in g.members.iter().enumerate() {
                if weights[point as usize] > 0.0 {
                    sources.push(Source { point, group: group as u32, local: local as u32 });
                }
            }
        }
        sources.sort_unstable_by_key(|s| s.point);
        PairScan { population, metrics, groups, sources, rounded: OnceLock::new() }
    }

    /// Groups in single precision; None where they are too small, or have nothing to round.
    fn rounded(&self) -> &[Option<Rounded>] {
        self.rounded.get_or_init(|| {
            let round = |g: &Group| {
                if g.members.len() >= MANY { Rounded::new(&self.metrics, &g.columns) } else { None }
            };
            self.groups.iter().map(round).collect()
        })
    }

    /// A look at every pair under a watch.
    pub(in crate::ambiguity) fn patience<'v>(&self, watch: Watch<'v>) -> Patience<'v> {
        let steps = self.population.space().len() * self.metrics.len().max(1);
        Patience::new(watch, self.sources.len(), steps)
    }
}

impl Engine for PairScan {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn kind(&self) -> Option<EngineKind> {
        Some(EngineKind::Scan)
    }

    fn load<'v>(
        self: Arc<Self>,
        heights: ScaledValues<'v>,
        watch: Watch<'v>,
    ) -> Box<dyn InnerMaximizer + 'v> {
        let of_group = |g: &Group| g.members.iter().map(|&i| heights.at(i as usize)).collect();
        let heights: Vec<Vec<f64>> = self.groups.iter().map(of_group).collect();
        let sort = |(r, h): (&Option<Rounded>, &Vec<f64>)| r.as_ref().map(|r| Sorted::new(r, h));
        let sorted = self.rounded().iter().zip(&heights).map(sort).collect();
        let patience = self.patience(watch);
        Box::new(ScanMaximizer { engine: self, heights, sorted, last: Vec::new(), patience })
    }
}

impl ScanMaximizer<'_> {
    /// The best target of a source at a price, by its place in the source's group, in double
    /// precision.
    fn best(&self, source: Source, price: Price, x: &[f64]) -> usize {
        let (group, local) = (&self.engine.groups[source.group as usize], source.local as usize);
        let values = &self.heights[source.group as usize];
        let (metrics, columns) = (&self.engine.metrics[..], &group.columns[..]);
        match price {
            Price::Zero => scan::best(metrics, columns, values, x, ValueFirst, local),
            Price::At(price) => {
                let mut found = [ScanFound::new(price, values[local], local)];
                scan::best_priced(metrics, columns, values, x, &mut found);
                found[0].target
            }
            Price::Infinite => scan::best(metrics, columns, values, x, CostFirst, local),
        }
    }

    /// Where each source goes at each price, one source after the other; nowhere once it is to stop.
    fn found(&mut self, prices: &[Price]) -> Vec<ScanArrival> {
        self.patience.begin();
        let chunks = self.engine.sources.par_chunks(TOGETHER).enumerate();
        let found: Vec<ScanArrival> = chunks
            .map(|(at, some)| self.together(prices, at * TOGETHER, some))
            .collect::<Vec<_>>()
            .concat();
        self.last = found.iter().step_by(prices.len().max(1)).map(|a| a.target).collect();
        found
    }

    /// The same for some sources, the first of which has this place among all.
    fn together(&self, prices: &[Price], first: usize, sources: &[Source]) -> Vec<ScanArrival> {
        let mut waiting: Vec<Waiting> = Vec::with_capacity(sources.len());
        for (k, &source) in sources.iter().enumerate() {
            if !self.patience.go_on() {
                return vec![ScanArrival::default(); sources.len() * prices.len()];
            }
            let (group, local) = (source.group as usize, source.local as usize);
            let own = self.heights[group][local];
            let mut one = Waiting {
                x: Vec::new(),
                rounded: Vec::new(),
                found: prices.iter().map(|&p| Incumbent::new(p, own, local)).collect(),
                confirmed: 0,
                screened: false,
            };
            self.engine.groups[group].row(local, &mut one.x);
            if let Some(rounded) = &self.engine.rounded()[group] {
                rounded.row(local, &mut one.rounded);
                one.screened = true;
                if let Some(&last) = self.last.get(first + k) {
                    self.looker(source, &one.x, &one.rounded).offer(last as usize, &mut one.found);
                }
            }
            waiting.push(one);
        }
        let count = |s: &Source| self.sorted[s.group as usize].as_ref().map_or(0, Sorted::blocks);
        let most = sources.iter().map(count).max().unwrap_or(0);
        for from in (0..most).step_by(BLOCKS) {
            for (one, &source) in waiting.iter_mut().zip(sources).filter(|(one, _)| one.screened) {
                let group = source.group as usize;
                let (Some(rounded), Some(sorted)) =
                    (&self.engine.rounded()[group], &self.sorted[group])
                else {
                    continue;
                };
                let blocks = from.min(sorted.blocks())..(from + BLOCKS).min(sorted.blocks());
                let looker = self.looker(source, &one.x, &one.rounded);
                let (found, confirmed) = (&mut one.found, &mut one.confirmed);
                one.screened = screen::look(rounded, sorted, blocks, looker, found, confirmed);
            }
        }
        let mut all = Vec::with_capacity(sources.len() * prices.len());
        for (one, &source) in waiting.iter().zip(sources) {
            for (&price, found) in prices.iter().zip(&one.found) {
                let target =
                    if one.screened { found.target } else { self.best(source, price, &one.x) };
                let sums = self.arrival(source, target, &one.x);
                all.push(ScanArrival { target: target as u32, sums });
            }
        }
        all
    }

    fn looker<'a>(
        &'a self,
        source: Source,
        x: &'a [f64],
        rounded: &'a [f32],
    ) -> screen::ScreenedSource<'a> {
        screen::ScreenedSource {
            metrics: &self.engine.metrics,
            columns: &self.engine.groups[source.group as usize].columns,
            values: &self.heights[source.group as usize],
            x,
            rounded,
        }
    }

    /// A target's value, and what it costs a source at `x` to go there.
    fn arrival(&self, source: Source, target: usize, x: &[f64]) -> [f64; 2] {
        let group = &self.engine.groups[source.group as usize];
        let cost = |(&m, (c, &x)): (&Metric, (&Vec<f64>, &f64))| m.cost(x, c[target]);
        let cost = self.engine.metrics.iter().zip(group.columns.iter().zip(x)).map(cost).sum();
        [self.heights[source.group as usize][target], cost]
    }

    /// The sums of arrivals, one per source.
    fn sums(&self, arrival: impl Fn(usize) -> [f64; 2] + Sync) -> Sums {
        let (weights, sources) = (self.engine.population.weights(), &self.engine.sources);
        let [value, cost] = sum::sums(sources.len(), &|s: usize| {
            let p = weights[sources[s].point as usize];
            arrival(s).map(|x| p * x)
        });
        Sums { value, cost }
    }
}

impl InnerMaximizer for ScanMaximizer<'_> {
    fn evaluate(&mut self, price: Price) -> Sums {
        let found = self.found(&[price]);
        self.sums(|s| found[s].sums)
    }

    fn evaluate_all(&mut self, prices: &[Price]) -> Vec<Sums> {
        // What a pair of points costs is worked out once for all prices.
        let found = self.found(prices);
        (0..prices.len()).map(|k| self.sums(|s| found[s * prices.len() + k].sums)).collect()
    }

    fn targets(&mut self, price: Price) -> Vec<u32> {
        let found = self.found(&[price]);
        let member = |(a, s): (&ScanArrival, &Source)| {
            self.engine.groups[s.group as usize].members[a.target as usize]
        };
        found.iter().zip(&self.engine.sources).map(member).collect()
    }

    fn stopped(&self) -> bool {
        self.patience.stopped()
    }
}

/// Where a source goes: the place in its group, the value there and what it costs to go.
#[derive(Clone, Copy, Default)]
struct ScanArrival {
    target: u32,
    sums: [f64; 2],
}

/// A source while its targets are looked at.
struct Waiting {
    x: Vec<f64>,
    rounded: Vec<f32>,
    found: Vec<Incumbent>,
    confirmed: usize,
    /// Whether screening pays, so far.
    screened: bool,
}
