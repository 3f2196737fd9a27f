//! Random small problems, and the slow, obvious answers that the library is held to.
#![allow(dead_code)]

use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;
use seawall::{Direction, Entry, Fact, Feature, Known, Log, Population, Quantity, Space};
use std::sync::Arc;

/// The same problems on every run: a failure can be found again, and a change is not blamed for
/// another's. Vary the seed to look further.
pub fn repeatable(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    }
}

/// A small generator of reproducible numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    /// Uniform on [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// Uniform on 0..n.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

/// A problem in the library's terms.
pub struct Case {
    pub population: Population,
    pub values: Vec<f64>,
}

impl Case {
    pub fn space(&self) -> &Space {
        self.population.space()
    }
    pub fn weights(&self) -> &[f64] {
        self.population.weights()
    }
    pub fn problem(&self) -> seawall::Problem<'_> {
        seawall::Problem::new(&self.population, &self.values).unwrap()
    }
    /// The largest radius that changes anything, or thereabouts.
    pub fn scale(&self) -> f64 {
        let n = self.space().len();
        let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        pairs.map(|(i, j)| self.space().cost(i, j)).filter(|c| c.is_finite()).fold(0.0, f64::max)
    }
}

/// Mixed features, fixed ones, missing values, ties, duplicates, zero weights, free features,
/// single points, constant values: everything that a small problem can be.
pub fn case(seed: u64) -> Case {
    let r = &mut Random(seed);
    let grid = r.chance(0.5);
    let count = 1 + r.below(if grid { 3 } else { 4 });
    let mut features = Vec::new();
    let mut levels = Vec::new();
    for k in 0..count {
        let n = 1 + r.below(if grid { 3 } else { 4 });
        let missing = r.chance(0.2);
        let name = format!("x{k}");
        let labels: Vec<String> = (0..n).map(|l| format!("l{l}")).collect();
        let mut feature = match r.below(6) {
            0 | 1 if grid => Feature::numeric(name).levels((0..n).map(|_| spot(r))),
            0 | 1 => Feature::numeric(name),
            2 => Feature::ordinal(name, labels),
            3 => Feature::ordinal(name, labels).positions((0..n).map(|_| spot(r))),
            4 => Feature::nominal(name, labels),
            _ => Feature::fixed(name, labels),
        };
        if missing {
            feature = feature.with_missing();
            if r.chance(0.3) {
                feature = feature.missing_cost(r.below(3) as f64 * 0.5);
            }
        }
        if r.chance(0.4) {
            feature = feature.weight([0.0, 0.5, 1.0, 7.0][r.below(4)]);
        }
        features.push(feature);
        levels.push((n, missing));
    }
    let space = if grid {
        Space::grid(features).unwrap()
    } else {
        let points = 1 + r.below(14);
        let line = |f: &Feature| format!("{f:?}").contains("Line");
        let columns = features.iter().zip(&levels).map(|(f, &(n, missing))| {
            let on_line = line(f);
            (0..points)
                .map(|_| match () {
                    () if missing && r.chance(0.2) => f64::NAN,
                    () if on_line => spot(r),
                    () => r.below(n) as f64,
                })
                .collect()
        });
        let columns: Vec<Vec<f64>> = columns.collect();
        Space::points(features, columns).unwrap()
    };
    let points = space.len();
    let tied = r.chance(0.5);
    let constant = r.chance(0.05);
    let value = |r: &mut Random| if tied { r.below(4) as f64 - 1.0 } else { 3.0 * r.unit() - 1.0 };
    let values = (0..points).map(|_| if constant { 2.0 } else { value(r) }).collect();
    let sparse = r.chance(0.6);
    let mut weights: Vec<f64> =
        (0..points).map(|_| if sparse && r.chance(0.5) { 0.0 } else { r.unit() + 0.01 }).collect();
    if weights.iter().all(|&p| p == 0.0) {
        weights[0] = 1.0;
    }
    Case { population: Population::from_weights(Arc::new(space), weights).unwrap(), values }
}

/// A coordinate: on a coarse lattice half the time, so that distances tie.
fn spot(r: &mut Random) -> f64 {
    if r.chance(0.5) { r.below(5) as f64 } else { 10.0 * r.unit() - 5.0 }
}

/// A few radii worth asking: nothing, little, some, all, more than all.
pub fn radii(case: &Case) -> Vec<f64> {
    let scale = case.scale();
    [0.0, 1e-6, 0.01, 0.1, 0.35, 1.0, 3.0].iter().map(|r| r * scale).collect()
}

/// The dual written out: ελ + Σ p_i max_j (f_j − λ c_ij).
pub fn dual(case: &Case, radius: f64, price: f64) -> f64 {
    let n = case.space().len();
    let inner = |i: usize| {
        let reachable = (0..n).map(|j| (j, case.space().cost(i, j))).filter(|x| x.1.is_finite());
        reachable.map(|(j, c)| case.values[j] - price * c).fold(f64::NEG_INFINITY, f64::max)
    };
    radius * price
        + (0..n)
            .filter(|&i| case.weights()[i] > 0.0)
            .map(|i| case.weights()[i] * inner(i))
            .sum::<f64>()
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

/// The exact worst case in the primal: each source's best returns, spent where they are highest.
///
/// A source at `i` reaches value `f_j` for `c_ij` a unit of mass; mixtures of targets are the
/// concave hull of those points. The budget goes to the hulls' segments by falling slope.
pub fn reference(case: &Case, radius: f64) -> f64 {
    let n = case.space().len();
    let (mut mean, mut segments) = (0.0, Vec::new());
    for i in (0..n).filter(|&i| case.weights()[i] > 0.0) {
        let p = case.weights()[i];
        let mut offers: Vec<(f64, f64)> = (0..n)
            .map(|j| (case.space().cost(i, j), case.values[j]))
            .filter(|offer| offer.0.is_finite())
            .collect();
        let mut at = best(&offers, |o| (o.0 == 0.0).then_some(o.1));
        mean += p * at.1;
        loop {
            offers.retain(|o| o.0 > at.0 && o.1 > at.1);
            if offers.is_empty() {
                break;
            }
            let next = best(&offers, |o| Some((o.1 - at.1) / (o.0 - at.0)));
            segments.push(((next.1 - at.1) / (next.0 - at.0), p * (next.0 - at.0)));
            at = next;
        }
    }
    segments.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left = radius;
    for (slope, cost) in segments {
        let spent = cost.min(left);
        mean += slope * spent;
        left -= spent;
    }
    mean
}

/// The offer of the highest score.
fn best(offers: &[(f64, f64)], score: impl Fn(&(f64, f64)) -> Option<f64>) -> (f64, f64) {
    let scored = offers.iter().filter_map(|o| Some((score(o)?, o)));
    *scored.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1
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
    let free = radius == f64::INFINITY && known.limits().is_empty() && !cheapest;
    let sources: Vec<usize> = match free {
        true => vec![0],
        false => (0..n).filter(|&i| case.weights()[i] > 0.0).collect(),
    };
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
