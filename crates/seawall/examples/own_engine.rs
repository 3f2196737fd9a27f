//! An engine of one's own: what a support with a structure that the library does not know would
//! have. This one looks at all pairs, which is slow but exact; the worst case is the same.

use seawall::{
    Engine, Feature, Geometry, InnerMaximizer, Population, Price, Problem, ScaledValues, Sums,
    Watch,
};
use seawall::{Settings, Wasserstein};
use std::sync::Arc;

/// A population with mass on every point: each is a source.
struct AllPairs(Population);
struct Loaded<'v>(Arc<AllPairs>, ScaledValues<'v>);

impl Engine for AllPairs {
    fn name(&self) -> &'static str {
        "all pairs"
    }

    fn load<'v>(
        self: Arc<Self>,
        heights: ScaledValues<'v>,
        _: Watch<'v>,
    ) -> Box<dyn InnerMaximizer + 'v> {
        Box::new(Loaded(self, heights))
    }
}

impl InnerMaximizer for Loaded<'_> {
    fn evaluate(&mut self, price: Price) -> Sums {
        let (mut sums, seen) = (Sums { value: 0.0, cost: 0.0 }, self.0.0.clone());
        for (from, to) in self.targets(price).into_iter().enumerate() {
            sums.value += seen.weights()[from] * self.1.at(to as usize);
            sums.cost += seen.weights()[from] * seen.space().cost(from, to as usize);
        }
        sums
    }

    fn targets(&mut self, price: Price) -> Vec<u32> {
        // The larger first, and of two as large the one of the larger second.
        let key = |from: usize, to: usize| match (
            self.1.at(to),
            self.0.0.space().cost(from, to),
            price,
        ) {
            (f, c, Price::Zero) => (f, -c),
            (f, c, Price::At(price)) => (f - price * c, -c),
            (f, c, Price::Infinite) => (-c, f),
        };
        let points = 0..self.1.len();
        let better = |from, a, b| if key(from, b) > key(from, a) { b } else { a };
        let best = |from| points.clone().fold(from, |a, b| better(from, a, b)) as u32;
        points.clone().map(best).collect()
    }
}

fn main() -> seawall::Result<()> {
    let seen = Population::from_samples([Feature::numeric("x")], vec![vec![0., 1., 2., 4., 1.]])?;
    let own = Geometry::with_engine(&seen, AllPairs(seen.clone()));
    for geometry in [Geometry::new(&seen).shared(), own.shared()] {
        let problem = Problem::on(&geometry, &[8.0, 1.0, 6.0, 2.0])?;
        let worst = Wasserstein.at(0.05).worst_case(&problem, Settings::default())?;
        println!("{}: {:.6}, {}", geometry.engine()?.name(), worst.value(), worst.status());
    }
    Ok(())
}
