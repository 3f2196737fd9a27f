//! The decision tree whose worst case is the best there is, proved; and in words, as it would be
//! saved to a file.

use seawall::evaluate::{Evaluator, FitOptions, Propensity, Support};
use seawall::learn::{Task, Trees, trees};
use seawall::outcome::Recipe;
use seawall::policy::file::PolicyFile;
use seawall::{Direction, Feature, Log, Settings, Wasserstein, Watch};

/// Two actions at every age and sex, one row each: treating helps the old, and women from 60 on.
fn log() -> seawall::Result<Log> {
    let (mut ages, mut sexes, mut taken, mut costs) = (vec![], vec![], vec![], vec![]);
    for age in [40.0, 50.0, 60.0, 70.0, 80.0] {
        for sex in [0.0, 1.0] {
            for action in ["treat", "wait"] {
                let helps = age >= 70.0 || (age >= 60.0 && sex == 0.0);
                ages.push(age);
                sexes.push(sex);
                taken.push(action);
                costs.push(if helps == (action == "treat") { 1.0 } else { 2.0 });
            }
        }
    }
    let features = [Feature::numeric("age"), Feature::nominal("sex", ["F", "M"])];
    Log::from_rows(features, vec![ages, sexes], &taken, &costs, None, Direction::Cost)
}

fn main() -> seawall::Result<()> {
    let (log, settings, options) = (log()?.shared(), Settings::default(), FitOptions::default());
    let fitted = Evaluator::new(&log, &Recipe::Cells, &Propensity::Cells, options, Watch::NOBODY)?;
    let values = fitted.values(Wasserstein.at(0.0), settings)?;
    let robust = fitted.robust(Support::All)?;
    let task = Task::new(&log, &robust, &values, Wasserstein.at(0.02))?;
    for depth in 1..=2 {
        let found = trees(&task, Trees::new(depth), settings)?;
        let (value, lower, status) = (found.value(), found.lower(), found.status());
        println!("depth {depth}: {value:.4}, no tree below {lower:.4}: {status}");
        let file = PolicyFile::new(found.policy(), log.contexts(), log.actions())?;
        file.explain().iter().for_each(|line| println!("  {line}"));
    }
    println!("no policy whatever below {:.4}", task.floor(settings)?.lower);
    Ok(())
}
