//! Watching long work and stopping it: what was found so far has bounds that hold, and work that
//! has nothing to show yet says that it was stopped.

use seawall::distance::distance;
use seawall::{Feature, Population, Problem, Progress, Settings, Space, Wasserstein, Watch};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn main() -> seawall::Result<()> {
    let levels = || (0..40).map(f64::from);
    let features = ["x", "y"].map(|name| Feature::numeric(name).levels(levels()));
    let space = Arc::new(Space::grid(features)?);
    let noise = |i: usize, salt: usize| ((i * 7919 + salt * 104_729) % 1009) as f64 / 1009.0;
    let numbers = |salt| (0..space.len()).map(|i| noise(i, salt)).collect::<Vec<f64>>();
    let seen = Population::from_weights(space.clone(), numbers(1))?;
    let loss = numbers(2);
    let problem = Problem::new(&seen, &loss)?;

    // Told the progress, from any thread; `false` stops the work.
    let told = AtomicUsize::new(0);
    let patience = |progress: Progress<'_>| {
        println!("  {progress}");
        told.fetch_add(1, Ordering::Relaxed) < 2
    };
    let settings = Settings::default().watched(Watch::new(&patience));
    let some = Wasserstein.at(0.01).worst_case(&problem, settings)?;
    let all = Wasserstein.at(0.01).worst_case(&problem, Settings::default())?;
    println!("{}: between {:.6} and {:.6}", some.status(), some.lower(), some.upper());
    println!("{}: {:.6}", all.status(), all.value());
    let holds = some.lower() <= all.lower() && all.upper() <= some.upper();
    println!("the bounds hold: {holds}");

    let other = Population::from_weights(space.clone(), numbers(3))?;
    match distance(&seen, &other, Watch::new(&|_| false)) {
        Err(error) if error.is_stopped() => println!("the distance: {error}"),
        found => println!("the distance: {:.6}", found?.value),
    }
    Ok(())
}
