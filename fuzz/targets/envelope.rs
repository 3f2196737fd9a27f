//! Best targets on long axes, where the envelope of parabolas finds them, against all pairs: at prices
//! made up, and through a whole solve.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seawall::{
    Engine, EngineKind, Feature, Geometry, InnerMaximizer, Population, Price, Problem,
    ScaledValues, Settings, Space, Wasserstein, Watch,
};
use seawall_fuzz::bytes::{Bytes, number};
use seawall_fuzz::problem::Choices;
use std::sync::Arc;

fuzz_target!(init: seawall_fuzz::one_thread(), |bytes: &[u8]| {
    let r = &mut Bytes(bytes);
    let prices = (0..4).map(|_| Price::At(10f64.powf(12.0 * r.unit() - 6.0)));
    let prices = prices.chain([Price::Zero, Price::Infinite]).collect();
    let (population, reach) = population(r);
    let tied = r.chance(0.5);
    let value = |r: &mut Bytes<'_>| if tied { r.below(5) as f64 } else { number(r) };
    let values: Vec<f64> = (0..population.space().len()).map(|_| value(r)).collect();
    let radius = r.unit() * r.unit();
    let grid = Geometry::with(&population, EngineKind::Grid);
    let inner = grid.engine().expect("a lattice").clone();
    let sources = grid.sources().to_vec();
    let held = Held { inner, population: population.clone(), sources, prices, reach };
    let solve = |geometry: Geometry| {
        let problem = Problem::on(&geometry.shared(), &values).expect("finite values");
        Wasserstein.at(radius).worst_case(&problem, Settings::default())
    };
    let scan = solve(Geometry::with(&population, EngineKind::Scan)).expect("an answer");
    let found = solve(Geometry::with_engine(&population, held)).expect("an answer");
    let size = values.iter().fold(1e-300, |m: f64, f| m.max(f.abs()));
    let (a, b) = (found.value(), scan.value());
    assert!((a - b).abs() <= 1e-10 * size, "{a} by the envelope, {b} by all pairs");
});

/// People on an axis of more than 48 levels, and perhaps on a short one; and how far out its numbers
/// are, in units whose square costs 1.
fn population(r: &mut Bytes<'_>) -> (Population, f64) {
    let levels = 49 + r.below(32);
    let even = r.chance(0.3);
    let origin = if r.chance(0.2) { number(r) } else { 0.0 };
    let mut at = origin;
    let mut axis: Vec<f64> = Vec::new();
    for _ in 0..levels {
        at += if even { 1.0 } else { f64::from(r.byte()) / 16.0 };
        axis.push(at);
    }
    if r.chance(0.3) {
        axis.reverse();
    }
    let far = axis.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let wide = axis.iter().fold(0.0, |m: f64, x| m.max((x - axis[0]).abs()));
    let mut long = Feature::numeric("x").levels(axis);
    if r.chance(0.3) {
        long = long.with_missing().missing_cost(r.unit());
    }
    let mut features = vec![long];
    if r.chance(0.3) {
        features.push(Feature::nominal("s", ["a", "b"]));
    }
    let space = Arc::new(Space::grid(features).expect("a grid"));
    let sparse = r.chance(0.5);
    let weight = |r: &mut Bytes<'_>| f64::from(r.byte() & if sparse { 3 } else { 255 });
    let mut weights: Vec<f64> = (0..space.len()).map(|_| weight(r)).collect();
    weights[0] += 1.0;
    let population = Population::from_weights(space, weights).expect("weights");
    let space = population.space();
    let costs = (0..space.len()).map(|to| space.cost(0, to)).filter(|cost| cost.is_finite());
    let reach = costs.fold(0.0, f64::max).sqrt() * far / wide.max(1e-300);
    (population, reach)
}

/// An engine that is held to all pairs.
struct Held {
    inner: Arc<dyn Engine>,
    population: Population,
    sources: Vec<u32>,
    prices: Vec<Price>,
    reach: f64,
}

impl Engine for Held {
    fn name(&self) -> &'static str {
        "held to all pairs"
    }

    fn load<'v>(
        self: Arc<Self>,
        heights: ScaledValues<'v>,
        watch: Watch<'v>,
    ) -> Box<dyn InnerMaximizer + 'v> {
        let mut maxima = self.inner.clone().load(heights, watch);
        for &price in &self.prices {
            self.compare(&mut *maxima, &heights, price);
        }
        maxima
    }
}

impl Held {
    fn compare(&self, maxima: &mut dyn InnerMaximizer, heights: &ScaledValues<'_>, price: Price) {
        let space = self.population.space();
        // Where two parabolas cross is known to the rounding of the axis' numbers.
        let close = 1e-12 * (1.0 + self.reach * price.get().min(1e12).sqrt());
        let targets = maxima.targets(price);
        assert_eq!(targets.len(), self.sources.len());
        let mut total = 0.0;
        for (&from, &to) in self.sources.iter().zip(&targets) {
            let (from, to) = (from as usize, to as usize);
            let key = |to: usize| {
                let (f, c) = (heights.at(to), space.cost(from, to));
                match price {
                    Price::Zero => (f, -c),
                    Price::At(price) => (f - price * c, -c),
                    Price::Infinite => (-c, f),
                }
            };
            let there = (0..heights.len()).filter(|&to| space.cost(from, to).is_finite()).map(key);
            let best = there.max_by(|a, b| a.partial_cmp(b).expect("numbers")).expect("itself");
            let found = key(to);
            let near = match price {
                Price::At(_) => best.0 - found.0 <= close,
                _ => best.0 == found.0 && (best.1 - found.1).abs() <= 1e-12 * best.1.abs(),
            };
            assert!(near, "from {from} to {to} at {price:?}: {found:?}, best {best:?}");
            total += self.population.weights()[from] * found.0;
        }
        if let Price::At(price) = price {
            let sums = maxima.evaluate(Price::At(price));
            let told = sums.value - price * sums.cost;
            assert!((told - total).abs() <= 2.0 * close, "{told} in all, {total} by targets");
        }
    }
}
