//! From plain columns of logged decisions to what each action would have cost everybody: in the data, and in the
//! worst population of patients within a distance.

use seawall::{Direction, Evaluator, Feature, Log, Policy, Recipe, Wasserstein};

const AGES: [f64; 12] = [50., 50., 50., 50., 65., 65., 65., 65., 80., 80., 80., 80.];
const TAKEN: [&str; 12] = [
    "treat", "wait", "treat", "wait", "treat", "wait", "treat", "wait", "treat", "wait", "wait",
    "treat",
];
const DAYS_ILL: [f64; 12] = [1., 3., 2., 4., 3., 4., 2., 6., 9., 5., 7., 8.];

fn main() -> seawall::Result<()> {
    let ages = [Feature::numeric("age")];
    let log = Log::from_rows(ages, vec![AGES.to_vec()], &TAKEN, &DAYS_ILL, None, Direction::Cost)?;
    let evaluator = Evaluator::fit(log, &Recipe::Cells)?;
    for action in ["treat", "wait"] {
        let policy = Policy::constant(evaluator.log(), action)?;
        let found = evaluator.evaluate(&policy, &Wasserstein.at(0.05))?;
        let (estimate, worst) = (found.estimate(), &found.worst_case);
        println!(
            "{action}: {:.2} days in the data (standard error {:.2}); {:.2} in the worst population, gap {:.0e}",
            estimate.value,
            estimate.se,
            worst.value(),
            worst.gap()
        );
    }
    Ok(())
}
