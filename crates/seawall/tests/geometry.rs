//! Geometries and engines: what is shared gives the same answers as what is fresh, and an engine
//! of one's own is as good as ours or found out.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use crate::common::{Random, case, radii};
use proptest::prelude::*;
use seawall::{
    Detail, Direction, Engine, EngineKind, Entropic, Geometry, InnerMaximizer, Kl, Population,
    Price, Problem, ScaledValues, Set, Settings, Shift, Status, Sums, TotalVariation, Wasserstein,
    Watch, WorstCase,
};
use std::sync::Arc;

fn sets(eta: f64) -> [Set; 4] {
    [Wasserstein.into(), Entropic { eta }.into(), Kl.into(), TotalVariation.into()]
}

/// Everything that a worst case says, to the bit.
fn bits(worst: &WorstCase) -> Vec<u64> {
    let mut numbers = vec![worst.value(), worst.lower(), worst.upper(), worst.lambda()];
    numbers.push(worst.evaluations() as f64);
    numbers.extend(worst.weights());
    for step in worst.plan().iter() {
        numbers.extend([step.from as f64, step.to as f64, step.mass, step.cost]);
    }
    numbers.into_iter().map(f64::to_bits).collect()
}

/// All pairs, by the public ground cost alone.
struct Naive {
    population: Population,
    sources: Vec<u32>,
}

struct NaiveMaximizer<'v> {
    engine: Arc<Naive>,
    heights: ScaledValues<'v>,
}

impl Naive {
    fn new(population: &Population) -> Self {
        let sources = Geometry::new(population).sources().to_vec();
        Naive { population: population.clone(), sources }
    }
}

impl Engine for Naive {
    fn name(&self) -> &'static str {
        "naive"
    }

    fn load<'v>(
        self: Arc<Self>,
        heights: ScaledValues<'v>,
        _: Watch<'v>,
    ) -> Box<dyn InnerMaximizer + 'v> {
        Box::new(NaiveMaximizer { engine: self, heights })
    }
}

impl NaiveMaximizer<'_> {
    fn best(&self, source: usize, price: Price) -> usize {
        let key = |target: usize| {
            let cost = self.engine.population.space().cost(source, target);
            let height = self.heights.at(target);
            match price {
                Price::Zero => (height, -cost),
                Price::At(price) => (height - price * cost, -cost),
                Price::Infinite => (-cost, height),
            }
        };
        let reachable =
            |target: &usize| self.engine.population.space().cost(source, *target).is_finite();
        let mut best = source;
        for target in (0..self.heights.len()).filter(reachable) {
            let (one, other) = (key(target), key(best));
            if one.0 > other.0 || (one.0 == other.0 && one.1 > other.1) {
                best = target;
            }
        }
        best
    }
}

impl InnerMaximizer for NaiveMaximizer<'_> {
    fn evaluate(&mut self, price: Price) -> Sums {
        let targets = self.targets(price);
        let (population, sources) = (&self.engine.population, &self.engine.sources);
        let mut sums = Sums { value: 0.0, cost: 0.0 };
        for (&source, &target) in sources.iter().zip(&targets) {
            let mass = population.weights()[source as usize];
            sums.value += mass * self.heights.at(target as usize);
            sums.cost += mass * population.space().cost(source as usize, target as usize);
        }
        sums
    }

    fn targets(&mut self, price: Price) -> Vec<u32> {
        let best = |&source: &u32| self.best(source as usize, price) as u32;
        self.engine.sources.iter().map(best).collect()
    }
}

proptest! {
    #![proptest_config(common::repeatable(150))]

    #[test]
    fn a_shared_geometry_gives_the_bits_of_a_fresh_one(seed in any::<u64>()) {
        let case = case(seed);
        let r = &mut Random(seed ^ 1);
        for kind in EngineKind::ALL {
            let shared = Geometry::with(&case.population, kind).shared();
            for _ in 0..4 {
                let values: Vec<f64> = case.values.iter().map(|f| f + r.below(3) as f64).collect();
                let again = Problem::on(&shared, &values).unwrap();
                let fresh = Problem::new(&case.population, &values).unwrap().engine(kind);
                for set in sets(3.0) {
                    if kind == EngineKind::Tree && set.is_smoothed() {
                        continue;
                    }
                    for radius in radii(&case) {
                        let solve = |p: &Problem<'_>| {
                            set.at(radius).worst_case(p, Settings::default()).unwrap()
                        };
                        prop_assert_eq!(bits(&solve(&again)), bits(&solve(&fresh)), "{} {}", set, kind);
                    }
                }
            }
        }
    }

    #[test]
    fn less_detail_is_the_same_answer(seed in any::<u64>()) {
        let case = case(seed);
        let size = case.values.iter().fold(1.0, |m: f64, f| m.max(f.abs()));
        for set in sets(4.0) {
            // A small η makes the value a large one.
            let size = size + set.smoothing(case.space().len());
            for radius in radii(&case) {
                let solve = |detail: Detail| {
                    let settings = Settings::default().detail(detail);
                    set.at(radius).worst_case(&case.problem(), settings).unwrap()
                };
                let (value, plan) = (solve(Detail::Value), solve(Detail::Plan));
                let population = solve(Detail::Population);
                for other in [&plan, &population] {
                    for (a, b) in [
                        (value.value(), other.value()),
                        (value.lower(), other.lower()),
                        (value.upper(), other.upper()),
                    ] {
                        prop_assert!((a - b).abs() <= 1e-12 * size, "{set} at {radius}: {a} {b}");
                    }
                }
                prop_assert!(value.plan().is_empty() && value.weights().is_empty(), "{}", set);
                prop_assert!(value.unobserved_mass().is_nan(), "{}", set);
                prop_assert!(value.marginal(0).unwrap_err().is_config());
                let (one, other) = (population.weights(), plan.weights());
                prop_assert_eq!(one.len(), other.len());
                for (a, b) in one.iter().zip(&other) {
                    prop_assert!((a - b).abs() <= 1e-12, "{set} at {radius}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn an_engine_of_ones_own_gives_the_same_worst_cases(seed in any::<u64>()) {
        let case = case(seed);
        let size = case.values.iter().fold(1e-300, |m: f64, f| m.max(f.abs()));
        let own = Geometry::with_engine(&case.population, Naive::new(&case.population)).shared();
        prop_assert_eq!(own.engine().unwrap().name(), "naive");
        let problem = Problem::on(&own, &case.values).unwrap();
        for radius in radii(&case) {
            let solve = |problem: &Problem<'_>| {
                Wasserstein.at(radius).worst_case(problem, Settings::default()).unwrap()
            };
            let (ours, theirs) = (solve(&case.problem()), solve(&problem));
            for (a, b) in [
                (ours.value(), theirs.value()),
                (ours.lower(), theirs.lower()),
                (ours.upper(), theirs.upper()),
            ] {
                prop_assert!((a - b).abs() <= 1e-12 * size, "seed {seed} at {radius}: {a} {b}");
            }
            prop_assert_eq!(ours.status(), theirs.status());
        }
        let mut ours = Wasserstein.solver(&case.problem(), Settings::default()).unwrap();
        let mut theirs = Wasserstein.solver(&problem, Settings::default()).unwrap();
        let (ours, theirs) = (ours.curve(0.0).unwrap(), theirs.curve(0.0).unwrap());
        for radius in radii(&case) {
            let (a, b) = (ours.at(radius).value, theirs.at(radius).value);
            prop_assert!((a - b).abs() <= 1e-11 * size, "seed {seed} curve at {radius}: {a} {b}");
        }
    }

    #[test]
    fn several_prices_at_once_are_each_price_alone(seed in any::<u64>()) {
        let case = case(seed);
        for kind in EngineKind::ALL {
            let inner = Geometry::with(&case.population, kind).engine().unwrap().clone();
            let compared = Geometry::with_engine(&case.population, Compared(inner)).shared();
            let problem = Problem::on(&compared, &case.values).unwrap();
            for direction in [Direction::Cost, Direction::Reward] {
                let problem = problem.clone().direction(direction);
                let set = Wasserstein.at(0.1 * case.scale());
                let worst = set.worst_case(&problem, Settings::default()).unwrap();
                prop_assert_eq!(worst.status(), Status::Optimal);
            }
        }
    }
}

/// An engine that, whenever it is loaded, holds its sums at several prices to those at each.
struct Compared(Arc<dyn Engine>);

impl Engine for Compared {
    fn name(&self) -> &'static str {
        "compared"
    }

    fn load<'v>(
        self: Arc<Self>,
        heights: ScaledValues<'v>,
        _: Watch<'v>,
    ) -> Box<dyn InnerMaximizer + 'v> {
        let all = [
            Price::Zero,
            Price::At(1e-3),
            Price::At(0.2),
            Price::At(1.0),
            Price::At(7.5),
            Price::At(1e4),
            Price::Infinite,
        ];
        let load = || self.0.clone().load(heights, Watch::NOBODY);
        for prices in [&all[..], &all[..1], &all[1..6], &[]] {
            let (mut together, mut alone) = (load(), load());
            let each: Vec<Sums> = prices.iter().map(|&price| alone.evaluate(price)).collect();
            assert_eq!(together.evaluate_all(prices), each, "{} {prices:?}", self.0.name());
            together.rest();
            assert_eq!(together.evaluate_all(prices), each, "{} rested", self.0.name());
        }
        load()
    }
}

/// How an engine goes wrong.
#[derive(Clone, Copy, Debug)]
enum Slip {
    TooFew,
    TooMany,
    None,
    OutOfRange,
}

struct Wrong(Naive, Slip);

struct WrongMaximizer<'v>(NaiveMaximizer<'v>, Slip);

impl Engine for Wrong {
    fn name(&self) -> &'static str {
        "wrong"
    }

    fn load<'v>(
        self: Arc<Self>,
        heights: ScaledValues<'v>,
        _: Watch<'v>,
    ) -> Box<dyn InnerMaximizer + 'v> {
        let engine = Arc::new(Naive::new(&self.0.population));
        Box::new(WrongMaximizer(NaiveMaximizer { engine, heights }, self.1))
    }
}

impl InnerMaximizer for WrongMaximizer<'_> {
    fn evaluate(&mut self, price: Price) -> Sums {
        self.0.evaluate(price)
    }

    fn targets(&mut self, price: Price) -> Vec<u32> {
        let mut targets = self.0.targets(price);
        let points = self.0.heights.len() as u32;
        match self.1 {
            Slip::TooFew => drop(targets.pop()),
            Slip::TooMany => targets.push(0),
            Slip::None => targets.clear(),
            Slip::OutOfRange => targets[0] = points,
        }
        targets
    }
}

#[test]
fn an_engine_that_slips_is_found_out() {
    for seed in common::cases(60) {
        let case = case(seed);
        for slip in [Slip::TooFew, Slip::TooMany, Slip::None, Slip::OutOfRange] {
            let wrong = Wrong(Naive::new(&case.population), slip);
            let geometry = Geometry::with_engine(&case.population, wrong).shared();
            let problem = Problem::on(&geometry, &case.values).unwrap();
            for radius in radii(&case) {
                let set: Shift = Wasserstein.at(radius);
                for detail in [Detail::Population, Detail::Plan] {
                    let settings = Settings::default().detail(detail);
                    let error = set.worst_case(&problem, settings).unwrap_err();
                    assert!(error.is_internal(), "seed {seed}, {slip:?}: {error}");
                }
                // Without targets nothing of this is asked.
                let settings = Settings::default().detail(Detail::Value);
                assert!(set.worst_case(&problem, settings).is_ok(), "seed {seed}, {slip:?}");
            }
        }
    }
}

/// An engine whose sums are the same at every price.
struct Fixed(Sums);

impl Engine for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn load<'v>(
        self: Arc<Self>,
        _: ScaledValues<'v>,
        _: Watch<'v>,
    ) -> Box<dyn InnerMaximizer + 'v> {
        Box::new(FixedMaximizer(self.0))
    }
}

struct FixedMaximizer(Sums);

impl InnerMaximizer for FixedMaximizer {
    fn evaluate(&mut self, _: Price) -> Sums {
        self.0
    }

    fn targets(&mut self, _: Price) -> Vec<u32> {
        Vec::new()
    }
}

/// Sums that are no numbers, or spend what nobody has to, are refused and nothing panics.
#[test]
fn an_engine_of_impossible_sums_is_refused() {
    let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.3, 1e308];
    for seed in common::cases(40) {
        let case = case(seed);
        for (value, cost) in numbers.iter().flat_map(|v| numbers.iter().map(move |c| (*v, *c))) {
            let engine = Fixed(Sums { value, cost });
            let geometry = Geometry::with_engine(&case.population, engine).shared();
            let problem = Problem::on(&geometry, &case.values).unwrap();
            for detail in [Detail::Value, Detail::Plan] {
                let settings = Settings::default().detail(detail);
                let found = Wasserstein.at(0.1).worst_case(&problem, settings);
                if value.is_nan() || cost.is_nan() || cost < 0.0 || detail == Detail::Plan {
                    let error = found.unwrap_err();
                    let ours = error.is_internal() || error.is_input();
                    assert!(ours, "seed {seed}, {value} {cost}: {error}");
                }
                if let Ok(mut solver) = Wasserstein.solver(&problem, settings) {
                    let curve = solver.curve(1e-3).unwrap();
                    assert!(curve.vertices().len() <= settings.max_vertices);
                }
            }
        }
    }
}
