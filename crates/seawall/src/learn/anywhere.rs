//! Learning where mass may go anywhere in a space.
//!
//! There are no points to list, but a policy's worst case over the whole space is exact and names the
//! places that mass goes to. So the class is learned on a support that grows: the contexts seen and
//! every place that an adversary has gone to so far, each source being able to reach those that it
//! went to. That adversary is weaker than the real one, so
//!
//! ```text
//! the least worst case on the support so far  ≤  the least over the whole space
//!                                             ≤  the learned policy's worst case over the whole space
//! ```
//!
//! and the places of the latter are added until the two meet, or none is new.
//!
//! Not here: the classes themselves. A mixture of policies is not told of: its worst case over the whole
//! space is not known.

use super::{Bounds, Learned, Method, Task};
use crate::ambiguity::{
    Engine, Geometry, InnerMaximizer, Price, ScaledValues, Shift, Status, Sums,
};
use crate::ambiguity::{Settings, WorstCase};
use crate::error::{Error, Result};
use crate::evaluate::{Robust, ValueRange};
use crate::kernel::order::{CostFirst, Order, Priced, ValueFirst, better};
use crate::kernel::sum::sums;
use crate::log::Log;
use crate::matrix::Matrix;
use crate::outcome::Values;
use crate::policy::Policy;
use crate::population::Population;
use crate::progress::Watch;
use crate::space::{Places, Space, bits};
use std::collections::HashMap;
use std::sync::Arc;

/// What is to be learned from: a log, the whole of its space, robust values, a set, and perhaps a
/// baseline.
pub struct WholeTask<'a> {
    /// The log.
    pub log: &'a Log,
    /// Its contexts on [`Support::Space`](crate::evaluate::Support::Space).
    pub robust: &'a Robust,
    /// The values.
    pub range: &'a ValueRange,
    /// The set of contexts.
    pub within: Shift,
    /// The policy that is learned against, if any is.
    pub against: Option<&'a Policy>,
}

/// A policy learned where mass may go anywhere.
pub struct LearnedAnywhere {
    /// The policy, with bounds over the whole space.
    pub learned: Learned,
    /// Bounds of what no policy at all can do better than.
    pub floor: Bounds,
}

impl WholeTask<'_> {
    /// Learns a class, `learner` being what learns it on a support that is listed, in so many rounds at
    /// most; what is left open then is the gap.
    pub fn learn(
        &self,
        learner: &dyn Fn(&Task<'_>) -> Result<Learned>,
        (tolerance, rounds): (f64, usize),
        settings: Settings<'_>,
    ) -> Result<LearnedAnywhere> {
        let mut support = Growing::new(self.robust)?;
        for policy in self.first_policies()? {
            support.add(&self.worst(&policy, settings)?);
        }
        let (mut best, mut lower, mut floor): (Option<(f64, Policy)>, f64, f64) =
            (None, f64::NEG_INFINITY, f64::NEG_INFINITY);
        let (mut iterations, mut size, mut stopped) = (0, 1e-300, false);
        for _ in 0..rounds.max(1) {
            let listed = support.listed(self)?;
            let task = match &listed.against {
                None => Task::new(&listed.log, &listed.robust, &listed.range.worst, self.within)?,
                Some(policy) => {
                    let (log, robust) = (&listed.log, &listed.robust);
                    Task::against(log, robust, &listed.range, self.within, policy)?
                }
            };
            size = task.size();
            let found = learner(&task)?;
            iterations += found.iterations();
            lower = lower.max(self.as_cost(found.lower(), found.upper()).0);
            let least = task.floor(settings)?;
            floor = floor.max(self.as_cost(least.lower, least.upper).0);
            let rule = found.policy().rule().clone();
            let (space, actions) = (self.log.contexts(), self.log.actions());
            let policy = Policy::new(found.policy().name(), rule, space, actions)?;
            let worst = self.worst(&policy, settings)?;
            let upper = self.as_cost(worst.lower(), worst.upper()).1;
            if best.as_ref().is_none_or(|(known, _)| upper < *known) {
                best = Some((upper, policy));
            }
            stopped = found.status() == Status::Stopped || worst.status() == Status::Stopped;
            let least = best.as_ref().map_or(f64::INFINITY, |b| b.0);
            if stopped || least - lower <= tolerance * size || !support.add(&worst) {
                break;
            }
        }
        let (upper, policy) = best.ok_or_else(|| Error::internal("no policy was learned"))?;
        let lower = lower.min(upper);
        let status = match (upper - lower <= tolerance * size, stopped) {
            (true, _) => Status::Optimal,
            (false, true) => Status::Stopped,
            (false, false) => Status::Inexact,
        };
        let floor = self.bounds(floor.min(upper), upper);
        Ok(LearnedAnywhere {
            learned: self.learned(policy, (lower, upper), status, iterations),
            floor,
        })
    }

    /// A policy that is the best of all wherever one is, with its worst case: the greedy one.
    pub fn greedy(&self, settings: Settings<'_>) -> Result<LearnedAnywhere> {
        let policy = Policy::greedy_everywhere(self.log, &self.range.worst)?;
        let worst = self.worst(&policy, settings)?;
        let (lower, upper) = self.as_cost(worst.lower(), worst.upper());
        let learned = self.learned(policy, (lower, upper), worst.status(), 0);
        Ok(LearnedAnywhere { learned, floor: self.bounds(lower, upper) })
    }

    fn learned(
        &self,
        policy: Policy,
        (lower, upper): (f64, f64),
        status: Status,
        iterations: usize,
    ) -> Learned {
        let (bounds, value) = (self.bounds(lower, upper), self.sign() * upper);
        let method = Method::Exact;
        Learned { policy, method, value, bounds, status, iterations, mixture: None }
    }

    /// Policies whose worst cases the first support is made of.
    fn first_policies(&self) -> Result<Vec<Policy>> {
        let each = self.log.actions().iter().map(|action| Policy::constant(self.log, action));
        [Ok(Policy::uniform(self.log))].into_iter().chain(each).collect()
    }

    /// A policy's worst case over the whole space, or the worst difference to the baseline.
    fn worst(&self, policy: &Policy, settings: Settings<'_>) -> Result<WorstCase> {
        let Some(against) = self.against else {
            return self.robust.worst_case(policy, &self.range.worst, self.within, settings);
        };
        let (set, radii) = (self.within.set, [self.within.radius]);
        let pair = (policy, against);
        let found = self.robust.worst_difference(pair, self.range, set, &radii, None, settings)?;
        let mut worst = found.0;
        worst.pop().ok_or_else(|| Error::internal("one radius was asked for and none answered"))
    }

    fn sign(&self) -> f64 {
        self.log.direction().sign()
    }

    /// Bounds in the log's direction as bounds of a cost.
    fn as_cost(&self, lower: f64, upper: f64) -> (f64, f64) {
        self.log.direction().turned(lower, upper)
    }

    /// Bounds of a cost in the log's direction.
    fn bounds(&self, lower: f64, upper: f64) -> Bounds {
        let (lower, upper) = self.log.direction().turned(lower, upper);
        Bounds { lower, upper }
    }
}

/// A support that grows: the log's contexts, places, and which of them each source can reach.
struct Growing {
    /// The context of each point of the population.
    context: Vec<usize>,
    /// The weight of each context.
    weights: Vec<f64>,
    /// Where each place is by its codes.
    known: HashMap<Vec<u64>, u32>,
    places: Places,
    /// What each context can reach beside itself, and what that costs.
    arcs: Vec<Vec<(u32, f64)>>,
}

impl Growing {
    fn new(robust: &Robust) -> Result<Self> {
        let contexts = robust.contexts();
        let mut weights = vec![0.0; contexts.len()];
        let context = robust.points().to_vec();
        context.iter().zip(robust.population().weights()).for_each(|(&x, p)| weights[x] = *p);
        Ok(Growing {
            context,
            weights,
            known: HashMap::new(),
            places: Places::default(),
            arcs: vec![Vec::new(); contexts.len()],
        })
    }

    /// Adds the ways of a worst case; whether any is new.
    fn add(&mut self, worst: &WorstCase) -> bool {
        let (space, mut new) = (worst.nominal().space().clone(), false);
        for step in worst.plan().iter().filter(|m| m.from != m.to) {
            let from = self.context[step.from];
            let to = match self.context.get(step.to) {
                Some(&context) => context as u32,
                None => self.place(&space, (step.from, step.to)),
            };
            if !self.arcs[from].iter().any(|arc| arc.0 == to) {
                self.arcs[from].push((to, step.cost));
                new = true;
            }
        }
        new
    }

    fn place(&mut self, space: &Space, (from, to): (usize, usize)) -> u32 {
        let features = space.names().len();
        let key = (0..features).map(|k| bits(space.code(to, k))).collect();
        let next = (self.weights.len() + self.known.len()) as u32;
        let place = *self.known.entry(key).or_insert(next);
        if place == next {
            let changed = |k: &usize| bits(space.code(from, *k)) != bits(space.code(to, *k));
            let changes: Vec<(u32, f64)> =
                (0..features).filter(changed).map(|k| (k as u32, space.code(to, k))).collect();
            self.places.push(self.context[from] as u32, &changes);
        }
        place
    }

    /// Everything on the points so far.
    fn listed(&self, task: &WholeTask<'_>) -> Result<ListedPlaces> {
        let contexts = task.log.contexts();
        let space = Arc::new(contexts.with_places(self.places.clone())?);
        let log = task.log.on_contexts(&space, |context| context)?;
        let mut weights = self.weights.clone();
        weights.resize(space.len(), 0.0);
        let population = Population::from_weights(space.clone(), weights)?;
        let geometry = Geometry::with_engine(&population, Arcs::new(&population, &self.arcs));
        let robust = Robust::listed(geometry, log.direction());
        let worst = Arc::new(on_places(task, &task.range.worst, &space)?);
        let best = if task.range.is_single() {
            worst.clone()
        } else {
            Arc::new(on_places(task, &task.range.best, &space)?)
        };
        let rule = |policy: &Policy| {
            Policy::new(policy.name(), policy.rule().clone(), &space, log.actions())
        };
        let against = task.against.map(rule).transpose()?;
        Ok(ListedPlaces { log, robust, range: ValueRange { worst, best }, against })
    }
}

struct ListedPlaces {
    log: Log,
    robust: Robust,
    range: ValueRange,
    against: Option<Policy>,
}

/// Values at the log's contexts and at places after them.
fn on_places(task: &WholeTask<'_>, values: &Values, space: &Arc<Space>) -> Result<Values> {
    let whole = task.robust.whole().ok_or_else(|| Error::internal("the support is listed"))?;
    let terms = values.everywhere().map_or(&[][..], |e| e.terms());
    let contexts = values.contexts();
    let value = |point: usize, action: usize| match (point < contexts, terms.get(action)) {
        (false, Some(terms)) => terms.at(whole.extent(), |k| space.code(point, k)),
        (true, _) => values.at(point, action),
        (false, None) => f64::NAN,
    };
    values.with_matrix(space, Matrix::from_fn(space.len(), values.actions(), value))
}

/// An engine of listed ways: each source stays or takes one of its own.
struct Arcs {
    mass: Vec<f64>,
    starts: Vec<u32>,
    to: Vec<u32>,
    cost: Vec<f64>,
}

impl Arcs {
    fn new(population: &Population, arcs: &[Vec<(u32, f64)>]) -> Self {
        let mut all = Arcs { mass: Vec::new(), starts: vec![0], to: Vec::new(), cost: Vec::new() };
        let sources = population.weights().iter().enumerate().filter(|(_, p)| **p > 0.0);
        for (source, &mass) in sources {
            all.mass.push(mass);
            all.to.push(source as u32);
            all.cost.push(0.0);
            for (to, cost) in arcs.get(source).into_iter().flatten() {
                all.to.push(*to);
                all.cost.push(*cost);
            }
            all.starts.push(all.to.len() as u32);
        }
        all
    }
}

impl Engine for Arcs {
    fn name(&self) -> &'static str {
        "arcs"
    }

    fn load<'v>(
        self: Arc<Self>,
        heights: ScaledValues<'v>,
        _: Watch<'v>,
    ) -> Box<dyn InnerMaximizer + 'v> {
        Box::new(Loaded { arcs: self, heights })
    }
}

/// Ways with heights at their ends.
struct Loaded<'v> {
    arcs: Arc<Arcs>,
    heights: ScaledValues<'v>,
}

impl Loaded<'_> {
    fn best(&self, source: usize, order: impl Order) -> usize {
        let (first, end) =
            (self.arcs.starts[source] as usize, self.arcs.starts[source + 1] as usize);
        let key = |arc: usize| {
            order.key(self.heights.at(self.arcs.to[arc] as usize), self.arcs.cost[arc])
        };
        let mut best = first;
        for arc in first + 1..end {
            if better(key(arc), key(best)) {
                best = arc;
            }
        }
        best
    }

    fn at(&self, source: usize, price: Price) -> usize {
        match price {
            Price::Zero => self.best(source, ValueFirst),
            Price::At(price) => self.best(source, Priced(price)),
            Price::Infinite => self.best(source, CostFirst),
        }
    }
}

impl InnerMaximizer for Loaded<'_> {
    fn evaluate(&mut self, price: Price) -> Sums {
        let this = &*self;
        let [value, cost] = sums(this.arcs.mass.len(), &|source| {
            let (arc, mass) = (this.at(source, price), this.arcs.mass[source]);
            let height = this.heights.at(this.arcs.to[arc] as usize);
            [mass * height, mass * this.arcs.cost[arc]]
        });
        Sums { value, cost }
    }

    fn targets(&mut self, price: Price) -> Vec<u32> {
        let sources = 0..self.arcs.mass.len();
        sources.map(|source| self.arcs.to[self.at(source, price)]).collect()
    }
}
