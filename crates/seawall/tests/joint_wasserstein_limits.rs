//! Joint Wasserstein sets where outcomes are dear, at any size of values, and what is refused.

use crate::joint_wasserstein::*;
use seawall::evaluate::{Evaluator, FitOptions, Propensity, Support};
use seawall::outcome::{AdditiveSettings, BoostedSettings, Recipe};
use seawall::policy::Policy;
use seawall::{
    Detail, Direction, Feature, JointWasserstein, Log, Population, Problem, Set, Settings,
    Wasserstein, Watch,
};

/// Outcomes too dear to move: only people do, and with outcomes that are certain in each context and the
/// same everywhere the two Wasserstein sets are one.
#[test]
fn dear_outcomes_leave_moves_of_contexts() {
    for seed in crate::common::cases(60) {
        let mut trial = Trial::new(3000 + seed, 2, Acts::Certainly);
        trial.kappa = 1e12;
        for radius in [0.0, 0.05, 0.3, 2.0] {
            // A unit of outcome would cost 1e12: what is left is the program without such moves.
            let truth = trial.program(radius, None);
            let worst = &trial.ask(trial.set(), &[radius])[0];
            let slack = radius / trial.kappa;
            assert!(
                (worst.value() - truth).abs() <= 1e-6 + slack,
                "{seed}: {} {truth}",
                worst.value()
            );
        }
    }
    // Treating costs 1 for everyone, not treating 0: a person's loss is the policy's action there.
    let ages = vec![(0..6).flat_map(|k| [k as f64; 2]).collect::<Vec<f64>>()];
    let actions: Vec<&str> = (0..12).map(|k| if k % 2 == 0 { "treat" } else { "wait" }).collect();
    let costs: Vec<f64> = (0..12).map(|k| f64::from(u8::from(k % 2 == 0))).collect();
    let age = [Feature::numeric("age")];
    let log = Log::from_rows(age, ages, &actions, &costs, None, Direction::Cost).unwrap().shared();
    let options = FitOptions::default();
    let fitted =
        Evaluator::new(&log, &Recipe::Cells, &Propensity::Cells, options, Watch::NOBODY).unwrap();
    let robust = fitted.robust(Support::All).unwrap();
    let treat = log.action("treat").unwrap();
    let old = |x: usize, a: usize| f64::from(u8::from((x >= 4) == (a == treat)));
    let matrix = table(log.contexts().len(), 2, old);
    let policy = Policy::table("old", log.contexts(), log.actions(), &matrix).unwrap();
    let plain = fitted.values(Wasserstein.at(0.0), Settings::default()).unwrap();
    for radius in [0.0, 0.01, 0.1, 0.2, 0.4] {
        let settings = Settings::default();
        let set = JointWasserstein { kappa: 1e9 };
        let (joint, _) =
            fitted.worst_cases(&robust, &policy, &plain, set, &[radius], None, settings).unwrap();
        let within = Wasserstein.at(radius);
        let context = robust.worst_case(&policy, &plain, within, settings).unwrap();
        assert!((joint[0].value() - context.value()).abs() < 1e-8, "{radius}");
    }
}

/// One action: nobody's context matters, and the mean rises by `ε/κ` to the worst outcome.
#[test]
fn one_action_is_the_mean_and_what_the_radius_buys() {
    for seed in crate::common::cases(40) {
        let trial = Trial::new(4000 + seed, 2, Acts::Certainly);
        let log = trial.log();
        let policy = Policy::constant(log, "a1").unwrap();
        let (sign, top, values) = (log.direction().sign(), trial.top(), trial.values());
        let own = trial.robust.values(&policy, &values).unwrap();
        let mean = trial.robust.population().mean(&own).unwrap();
        let radii = [0.0, 0.01, 0.2, 1.0, 30.0];
        let settings = Settings::default().detail(Detail::Value);
        let (worst, _) = trial
            .fitted
            .worst_cases(&trial.robust, &policy, &values, trial.set(), &radii, None, settings)
            .unwrap();
        for (worst, radius) in worst.iter().zip(radii) {
            let truth = mean + sign * (radius / trial.kappa).min((top - mean).abs());
            assert!((worst.value() - truth).abs() < 1e-12 * (1.0 + truth.abs()), "{seed}");
            assert!(worst.plan().is_empty() && worst.unobserved_mass().is_nan());
        }
    }
}

#[test]
fn values_of_any_size_scale_the_answer() {
    let trial = Trial::new(11, 2, Acts::Certainly);
    let own = trial.ask(trial.set(), &[0.1])[0].value();
    let log = trial.log();
    for factor in [1e-290, 1e-100, 1e100, 1e149] {
        let values = log.values().iter().map(|y| y * factor).collect();
        let (contexts, outcomes) = (log.contexts().clone(), log.outcomes().clone());
        let (names, entries) = (log.actions().to_vec(), log.entries().to_vec());
        let other = Log::new(contexts, names, outcomes, values, log.direction(), entries);
        let other = other.unwrap().shared();
        let options = trial.fitted.options();
        let fitted =
            Evaluator::new(&other, &Recipe::Cells, &Propensity::Cells, options, Watch::NOBODY)
                .unwrap();
        let cells = Evaluator::new(
            trial.fitted.log(),
            &Recipe::Cells,
            &Propensity::Cells,
            options,
            Watch::NOBODY,
        )
        .unwrap();
        let ask = |fitted: &Evaluator, kappa: f64| {
            let robust = fitted.robust(Support::All).unwrap();
            let plain = fitted.values(Wasserstein.at(0.0), Settings::default()).unwrap();
            let (policy, set) = (&trial.policy, JointWasserstein { kappa });
            let settings = Settings::default();
            let found = fitted.worst_cases(&robust, policy, &plain, set, &[0.1], None, settings);
            found.unwrap().0[0].value()
        };
        let (one, scaled) = (ask(&cells, trial.kappa), ask(&fitted, trial.kappa / factor));
        assert!((scaled / factor - one).abs() <= 1e-9 * (1.0 + one.abs()), "{factor}: {one} {own}");
    }
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let set = JointWasserstein { kappa: 2.0 };
    assert_eq!(Set::from(set).to_string(), "joint-wasserstein:kappa=2");
    assert_eq!("joint-wasserstein:kappa=2".parse::<Set>().unwrap(), set.into());
    assert!(Set::from(set).needs_actions() && Set::from(set).moves_mass());
    let slip = "joint-wasserstein:kappa=-1".parse::<Set>().unwrap_err().to_string();
    assert!(slip.contains("kappa is -1; expected a finite number > 0"), "{slip}");
    let slip = "joint-wasserstein".parse::<Set>().unwrap_err().to_string();
    assert!(slip.contains("needs kappa: what a unit of outcome moved costs"), "{slip}");

    let ages = Population::from_samples([Feature::numeric("age")], vec![vec![1.0, 2.0]]).unwrap();
    let problem = Problem::new(&ages, &[0.0, 1.0]).unwrap();
    let error = set.at(0.1).worst_case(&problem, Settings::default()).unwrap_err().to_string();
    assert!(error.contains("asked of a log and a policy") && !error.contains('\n'), "{error}");
    let other = Population::from_weights(ages.space().clone(), vec![1.0, 3.0]).unwrap();
    let geometry = seawall::Geometry::new(&ages);
    assert_eq!(Set::from(set).containing(&geometry, &other).unwrap(), None);

    let refusal = |trial: &Trial, set: JointWasserstein, fitted: &Evaluator, radius: f64| {
        let (robust, values) = (fitted.robust(Support::All).unwrap(), trial.values());
        let (policy, settings) = (&trial.policy, Settings::default());
        let found = fitted.worst_cases(&robust, policy, &values, set, &[radius], None, settings);
        found.unwrap_err().to_string()
    };
    let two = (0..)
        .map(|seed| Trial::new(seed, 2, Acts::Certainly))
        .find(|t| t.log().contexts().len() > 3);
    let two = two.unwrap();
    let error = refusal(&two, JointWasserstein { kappa: 0.0 }, &two.fitted, 0.1);
    assert!(error.contains("kappa is 0"), "{error}");
    let error = refusal(&two, set, &two.fitted, -1.0);
    assert!(error.contains("radius is -1"), "{error}");
    let error = refusal(&two, JointWasserstein { kappa: 1e-320 }, &two.fitted, 0.1);
    assert!(error.contains("out of scale"), "{error}");
    let (robust, values) = (two.fitted.robust(Support::All).unwrap(), two.values());
    let task = seawall::learn::Task::new(two.log(), &robust, &values, set.at(0.0));
    let error = task.err().unwrap().to_string();
    assert!(error.contains("joint-wasserstein") && error.contains("nothing is learned"), "{error}");
    let three = (0..)
        .map(|seed| Trial::new(seed, 3, Acts::AtRandom))
        .find(|t| t.log().contexts().len() > 3);
    let three = three.unwrap();
    let error = refusal(&three, set, &three.fitted, 0.1);
    assert!(error.contains("draw nothing at random") && error.contains("some"), "{error}");
    for (recipe, name) in [
        (Recipe::Additive(vec![AdditiveSettings::default(); 2]), "additive"),
        (Recipe::Boosted(vec![BoostedSettings::default(); 2]), "boosted"),
    ] {
        let (log, options) = (two.fitted.log(), two.fitted.options());
        let fitted =
            Evaluator::new(log, &recipe, &Propensity::Cells, options, Watch::NOBODY).unwrap();
        let error = refusal(&two, set, &fitted, 0.1);
        assert!(error.contains(name) && error.contains("cells, a tree or a forest"), "{error}");
    }
}
