//! The worst mean of a loss on a grid of ages and sites, over every population within a distance of
//! the one observed: the value with its bounds, where the mass goes, and the curve against the
//! radius.

use seawall::{Feature, Population, Problem, Settings, Space, Wasserstein};
use std::sync::Arc;

fn main() -> seawall::Result<()> {
    let space = Arc::new(Space::grid([
        Feature::numeric("age").levels([30.0, 45.0, 60.0, 75.0]),
        Feature::nominal("site", ["north", "south"]),
    ])?);
    // One count and one loss per cell: the last feature changes fastest.
    let seen = Population::from_counts(space.clone(), &[40, 10, 25, 15, 8, 2, 0, 0])?;
    let loss = [0.1, 0.2, 0.2, 0.3, 0.5, 0.4, 0.9, 1.0];
    let problem = Problem::new(&seen, &loss)?;
    let mut solver = Wasserstein.solver(&problem, Settings::default())?;

    let worst = solver.worst_case(0.1)?;
    println!("nominal {:.4}", problem.nominal());
    println!("worst case at radius 0.1: {:.4}, gap {:.0e}", worst.value(), worst.gap());
    println!("{:.1}% of it where nobody was seen", 100.0 * worst.unobserved_mass());
    for step in worst.plan().largest(3) {
        let (from, to) = (space.describe(step.from), space.describe(step.to));
        println!("  {:.1}% from {from} to {to}", 100.0 * step.mass);
    }
    let ages = worst.marginal(0)?;
    for ((age, before), after) in ages.labels.iter().zip(&ages.nominal).zip(&ages.worst) {
        println!("  age {age}: {:.1}% before, {:.1}% after", 100.0 * before, 100.0 * after);
    }

    let curve = solver.curve(0.0)?;
    println!("the curve has {} vertices, exact: {}", curve.vertices().len(), curve.is_exact());
    if let Some(limit) = curve.breakdown(0.5) {
        println!("the mean stays below 0.5 up to radius {:.4}", limit.radius);
    }
    Ok(())
}
