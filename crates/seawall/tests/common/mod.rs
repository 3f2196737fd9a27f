//! Random small problems, and the slow, obvious answers that the library is held to.
#![allow(dead_code, unused_imports, clippy::unwrap_used, clippy::panic)]

pub mod cases;
pub mod certificate;
pub mod problem;

pub use cases::cases;
pub use problem::{Case, Random, case, dual, radii, reference};
use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;
use seawall::{Direction, Entry, Fact, Feature, Kind, Known, Log, Quantity, Space};
use std::sync::Arc;

/// A share of these cases, the same ones on every run: a failure can be found again, and a change is not
/// blamed for another's. See [`cases`] for how to take more or others.
pub fn repeatable(full: u32) -> ProptestConfig {
    ProptestConfig {
        cases: cases::count(full as usize) as u32,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(cases::seed().wrapping_add(1)),
        ..ProptestConfig::default()
    }
}

/// The primal as a linear program: masses from sources to targets.
pub fn linear_program(case: &Case, radius: f64) -> f64 {
    let n = case.space().len();
    let mut lp = microlp::Problem::new(microlp::OptimizationDirection::Maximize);
    let mut budget = microlp::LinearExpr::empty();
    for i in (0..n).filter(|&i| case.weights()[i] > 0.0) {
        let mut row = microlp::LinearExpr::empty();
        for j in 0..n {
            let cost = case.space().cost(i, j);
            if cost.is_finite() {
                let mass = lp.add_var(case.values[j], (0.0, f64::INFINITY));
                row.add(mass, 1.0);
                budget.add(mass, cost);
            }
        }
        lp.add_constraint(row, microlp::ComparisonOp::Eq, case.weights()[i]);
    }
    lp.add_constraint(budget, microlp::ComparisonOp::Le, radius);
    lp.solve().unwrap().solution().unwrap().objective()
}

/// A small random log: mixed contexts, two or three actions, outcomes of one to three parts.
pub fn log(seed: u64) -> Log {
    let r = &mut Random(seed);
    let levels = 1 + r.below(4);
    let contexts = Space::grid([
        Feature::numeric("age").levels((0..levels).map(|k| 10.0 * k as f64)),
        Feature::nominal("site", ["a", "b"]),
    ]);
    let mut parts = vec![Feature::numeric("events").levels([0.0, 1.0, 2.0])];
    if r.chance(0.5) {
        parts.push(Feature::nominal("dead", ["N", "Y"]));
    }
    let outcomes = Space::grid(parts).unwrap();
    let values = (0..outcomes.len()).map(|_| (10.0 * r.unit()).round() / 2.0).collect();
    let actions: Vec<String> = (0..2 + r.below(2)).map(|a| format!("a{a}")).collect();
    let contexts = Arc::new(contexts.unwrap());
    let mut entries = Vec::new();
    for context in 0..contexts.len() {
        for action in 0..actions.len() {
            for _ in 0..1 + r.below(3) {
                let outcome = r.below(outcomes.len()) as u32;
                let weight = 1.0 + r.below(4) as f64;
                let (context, action) = (context as u32, action as u32);
                entries.push(Entry {
                    context,
                    action,
                    outcome,
                    propensity: f64::NAN,
                    weight,
                    ..Entry::default()
                });
            }
        }
    }
    let direction = if r.chance(0.5) { Direction::Cost } else { Direction::Reward };
    Log::new(contexts, actions, Arc::new(outcomes), values, direction, entries).unwrap()
}

/// A log with a known truth: two binary features, two actions chosen by a known rule that depends
/// on them, outcomes 0, 1 or 2.
pub struct World {
    pub contexts: Arc<Space>,
    pub outcomes: Arc<Space>,
}

impl World {
    pub fn new() -> Self {
        let contexts = Space::grid([
            Feature::nominal("x", ["a", "b"]),
            Feature::numeric("z").levels([0.0, 1.0, 2.0]),
        ]);
        let outcomes = Space::grid([Feature::numeric("y").levels([0.0, 1.0, 2.0])]);
        World { contexts: Arc::new(contexts.unwrap()), outcomes: Arc::new(outcomes.unwrap()) }
    }

    pub const SHARES: [f64; 6] = [0.1, 0.2, 0.2, 0.15, 0.25, 0.1];

    /// With which probability action 1 is taken.
    pub fn propensity(context: usize) -> f64 {
        0.2 + 0.1 * context as f64
    }

    /// The probabilities of the outcomes 1 and 2.
    pub fn outcome(context: usize, action: usize) -> (f64, f64) {
        (0.1 + 0.05 * context as f64, if action == 1 { 0.3 - 0.04 * context as f64 } else { 0.12 })
    }

    /// The policy that is asked about: action 1 with this probability.
    pub fn policy(context: usize) -> f64 {
        if context < 3 { 0.9 } else { 0.3 }
    }

    pub fn truth() -> f64 {
        let value = |x: usize, a: usize| Self::outcome(x, a).0 + 2.0 * Self::outcome(x, a).1;
        let mean = |x: usize| Self::policy(x) * value(x, 1) + (1.0 - Self::policy(x)) * value(x, 0);
        (0..6).map(|x| Self::SHARES[x] * mean(x)).sum()
    }

    pub fn log(&self, rows: usize, seed: u64) -> Log {
        let r = &mut Random(seed);
        let entries = (0..rows).map(|_| {
            let (mut context, mut u) = (0, r.unit());
            while context < 5 && u >= Self::SHARES[context] {
                u -= Self::SHARES[context];
                context += 1;
            }
            let one = Self::propensity(context);
            let action = usize::from(r.chance(one));
            let propensity = if action == 1 { one } else { 1.0 - one };
            let (p1, p2) = Self::outcome(context, action);
            let u = r.unit();
            let outcome = if u < p1 {
                1
            } else if u < p1 + p2 {
                2
            } else {
                0
            };
            Entry {
                context: context as u32,
                action: action as u32,
                outcome,
                propensity,
                weight: 1.0,
                ..Entry::default()
            }
        });
        let entries: Vec<Entry> = entries.collect();
        let actions = vec!["zero".to_owned(), "one".to_owned()];
        let values = vec![0.0, 1.0, 2.0];
        Log::new(
            self.contexts.clone(),
            actions,
            self.outcomes.clone(),
            values,
            Direction::Cost,
            entries,
        )
        .unwrap()
    }
}

/// What a linear program says of couplings: the largest mean, or minus the least cost; None if nothing is feasible.
pub fn coupling_program(
    case: &Case,
    known: &Known,
    radius: f64,
    sign: f64,
    cheapest: bool,
) -> Option<f64> {
    let (space, n) = (case.space(), case.space().len());
    let mut lp = microlp::Problem::new(microlp::OptimizationDirection::Maximize);
    let mut columns = Vec::new();
    let walls = (0..space.names().len()).any(|k| space.kind(k) == Kind::Fixed);
    let free = radius == f64::INFINITY && known.limits().is_empty() && !cheapest && !walls;
    let sources: Vec<usize> =
        if free { vec![0] } else { (0..n).filter(|&i| case.weights()[i] > 0.0).collect() };
    for i in sources {
        let mut all = microlp::LinearExpr::empty();
        for z in 0..n {
            let cost = if free { 0.0 } else { space.cost(i, z) };
            if cost.is_finite() {
                let gain = if cheapest { -cost } else { sign * case.values[z] };
                let mass = lp.add_var(gain, (0.0, f64::INFINITY));
                all.add(mass, 1.0);
                columns.push((mass, i, z, cost));
            }
        }
        let mass = if free { 1.0 } else { case.weights()[i] };
        lp.add_constraint(all, microlp::ComparisonOp::Eq, mass);
    }
    let mut row = |of: &dyn Fn(usize, usize, f64) -> f64, low: f64, high: f64| {
        let sum = || {
            let mut sum = microlp::LinearExpr::empty();
            columns.iter().for_each(|&(mass, i, z, cost)| sum.add(mass, of(i, z, cost)));
            sum
        };
        if low == high {
            lp.add_constraint(sum(), microlp::ComparisonOp::Eq, low);
            return;
        }
        if low.is_finite() {
            lp.add_constraint(sum(), microlp::ComparisonOp::Ge, low);
        }
        if high.is_finite() {
            lp.add_constraint(sum(), microlp::ComparisonOp::Le, high);
        }
    };
    if radius.is_finite() && !cheapest {
        row(&|_, _, cost| cost, f64::NEG_INFINITY, radius);
    }
    for &(k, limit) in known.limits() {
        row(&|i, z, _| space.feature_cost(k, i, z), f64::NEG_INFINITY, limit);
    }
    for (at, fact) in known.facts().iter().enumerate() {
        // The last of all of a column's shares follows from the others, but for rounding.
        let of = known.of(fact.feature);
        let shares = || of.iter().filter(|f| f.quantity != Quantity::Mean);
        let every = shares().count() == space.levels(fact.feature).len();
        let last = shares().next_back() == Some(fact) && at > 0;
        if every && last && shares().all(Fact::is_exact) {
            continue;
        }
        match fact.quantity {
            Quantity::Share(_) => row(&|_, z, _| fact.at(space, z), fact.low, fact.high),
            Quantity::Mean => {
                let above = |z, end: f64| space.number_at(z, fact.feature).map_or(0.0, |x| x - end);
                if fact.is_exact() {
                    row(&|_, z, _| above(z, fact.value), 0.0, 0.0);
                } else {
                    row(&|_, z, _| above(z, fact.low), 0.0, f64::INFINITY);
                    row(&|_, z, _| above(z, fact.high), f64::NEG_INFINITY, 0.0);
                }
            }
        }
    }
    match lp.solve() {
        Ok(found) => Some(found.solution().unwrap().objective()),
        Err(microlp::Error::Infeasible) => None,
        Err(error) => {
            println!("the linear program has no answer: {error}");
            Some(f64::NAN)
        }
    }
}
