//! From plain columns of logged decisions to what another policy would have cost: nominally, and in
//! the worst case over populations of patients within a distance.

use seawall::evaluate::{Evaluator, FitOptions, Propensity, Support};
use seawall::outcome::Recipe;
use seawall::policy::Policy;
use seawall::{Direction, Feature, Log, Settings, Wasserstein, Watch};

const AGES: [f64; 12] = [50., 50., 50., 50., 65., 65., 65., 65., 80., 80., 80., 80.];
const TAKEN: [&str; 12] = [
    "treat", "wait", "treat", "wait", "treat", "wait", "treat", "wait", "treat", "wait", "wait",
    "treat",
];
const DAYS_ILL: [f64; 12] = [1., 3., 2., 4., 3., 4., 2., 6., 9., 5., 7., 8.];

fn main() -> seawall::Result<()> {
    let ages = [Feature::numeric("age")];
    let log = Log::from_rows(ages, vec![AGES.to_vec()], &TAKEN, &DAYS_ILL, None, Direction::Cost)?;
    let (recipe, propensity) = (Recipe::Cells, Propensity::Cells);
    let options = FitOptions { folds: 2, ..FitOptions::default() };
    let fitted = Evaluator::new(&log.shared(), &recipe, &propensity, options, Watch::NOBODY)?;
    let values = fitted.values(Wasserstein.at(0.0), Settings::default())?;
    let robust = fitted.robust(Support::All)?;
    for policy in [Policy::constant(fitted.log(), "treat")?, Policy::greedy(fitted.log(), &values)?]
    {
        let nominal = fitted.nominal(&policy, Watch::NOBODY)?.dm;
        let worst =
            robust.worst_case(&policy, &values, Wasserstein.at(0.05), Settings::default())?;
        println!(
            "{}: {:.3} nominally, {:.3} at worst",
            policy.name(),
            nominal.value,
            worst.value()
        );
    }
    Ok(())
}
