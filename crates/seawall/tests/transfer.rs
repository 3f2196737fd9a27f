//! Estimates in a target population: by hand, against their definition, and their coverage.

#![allow(clippy::unwrap_used)]

use crate::common::Random;
use seawall::evaluate::{Evaluator, FitOptions, Propensity, Robust, Support};
use seawall::outcome::{Recipe, TreeSettings};
use seawall::policy::Policy;
use seawall::transfer::{TargetSample, Transport};
use seawall::{
    Detail, Direction, Entry, Feature, Log, Matrix, Settings, Space, Wasserstein, Watch,
};
use std::sync::Arc;

const AGES: usize = 10;

/// Ten ages by two sexes, two actions, outcomes 0 or 1.
struct World {
    space: Arc<Space>,
    /// The chance of a row of the log, and of the target, at each context.
    here: Vec<f64>,
    there: Vec<f64>,
}

fn shares(weight: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let all: Vec<f64> = (0..2 * AGES).map(|x| weight((x / 2) as f64, (x % 2) as f64)).collect();
    let total: f64 = all.iter().sum();
    all.iter().map(|w| w / total).collect()
}

impl World {
    /// The target's odds are log-linear in age and sex, or not.
    fn new(log_linear: bool) -> Self {
        let space = Space::grid([
            Feature::numeric("age").levels((0..AGES).map(|k| k as f64)),
            Feature::nominal("sex", ["F", "M"]),
        ]);
        let there = if log_linear {
            shares(|age, sex| (0.25 * age + 0.5 * sex).exp())
        } else {
            shares(|age, sex| (-((age - 7.0) / 2.5).powi(2) + age * sex / 8.0).exp() + 0.02)
        };
        World { space: Arc::new(space.unwrap()), here: shares(|_, sex| 1.0 + 0.3 * sex), there }
    }

    /// The chance of the bad outcome.
    fn risk(context: usize, action: usize) -> f64 {
        let (age, sex) = ((context / 2) as f64, (context % 2) as f64);
        let own = if action == 0 { 0.15 + 0.05 * age } else { 0.5 - 0.025 * age };
        (own + 0.1 * sex * action as f64).clamp(0.0, 1.0)
    }

    fn propensity(context: usize, action: usize) -> f64 {
        let treat = 0.3 + 0.04 * (context / 2) as f64;
        if action == 0 { 1.0 - treat } else { treat }
    }

    fn policy(&self, log: &Log, from: usize) -> Policy {
        let chance = |k: usize| {
            let (old, second) = (k / 4 >= from, k % 2 == 1);
            if old == second { 0.9 } else { 0.1 }
        };
        let cells = (0..4 * AGES).map(chance).collect();
        let chances = Matrix::new(2 * AGES, 2, cells).unwrap();
        Policy::table(format!("from {from}"), &self.space, log.actions(), &chances).unwrap()
    }

    fn truth(&self, policy: &Policy) -> f64 {
        let value =
            |x: usize| (0..2).map(|a| policy.probability(x, a) * Self::risk(x, a)).sum::<f64>();
        (0..2 * AGES).map(|x| self.there[x] * value(x)).sum()
    }

    fn draw(&self, rows: usize, people: usize, random: &mut Random) -> (Arc<Log>, TargetSample) {
        let pick = |shares: &[f64], random: &mut Random| {
            let mut left: f64 = random.unit();
            let falls = |share: &f64| {
                left -= share;
                left < 0.0
            };
            shares.iter().position(falls).unwrap_or(shares.len() - 1)
        };
        let entries = (0..rows).map(|_| {
            let context = pick(&self.here, random);
            let action = usize::from(random.unit() < Self::propensity(context, 1));
            let outcome = u32::from(random.unit() < Self::risk(context, action));
            let propensity = Self::propensity(context, action);
            Entry {
                context: context as u32,
                action: action as u32,
                outcome,
                propensity,
                weight: 1.0,
                ..Entry::default()
            }
        });
        let entries = entries.collect();
        let outcomes = Arc::new(Space::grid([Feature::numeric("y").levels([0.0, 1.0])]).unwrap());
        let actions = ["a", "b"].map(str::to_owned).to_vec();
        let (space, values) = (self.space.clone(), vec![0.0, 1.0]);
        let log = Log::new(space, actions, outcomes, values, Direction::Cost, entries).unwrap();
        let sample: Vec<(usize, f64)> =
            (0..people).map(|_| (pick(&self.there, random), 1.0)).collect();
        (log.shared(), TargetSample::new(&self.space, &sample).unwrap())
    }
}

fn recipe(right: bool) -> Recipe {
    if right {
        Recipe::Cells
    } else {
        // A tree that asks nothing: the action's mean everywhere.
        Recipe::Tree(vec![TreeSettings { max_depth: 0, ..TreeSettings::default() }; 2])
    }
}

fn fitted(log: &Arc<Log>, recipe: &Recipe) -> Evaluator {
    Evaluator::new(log, recipe, &Propensity::Known, FitOptions::default(), Watch::NOBODY).unwrap()
}

/// How often the 95% intervals of a policy's value and of a difference hold the truth.
fn coverage(model: bool, odds: bool, runs: u64, sizes: (usize, usize)) -> [f64; 3] {
    let world = World::new(odds);
    let mut held = [0.0; 3];
    for run in 0..runs {
        let mut random = Random(run + 1);
        let (log, target) = world.draw(sizes.0, sizes.1, &mut random);
        let fitted = fitted(&log, &recipe(model));
        let transport = Transport::new(&fitted, &target, Watch::NOBODY).unwrap();
        let (a, b) = (world.policy(&log, 4), world.policy(&log, 8));
        let (one, apart) =
            (transport.estimates(&a).unwrap(), transport.difference(&a, &b).unwrap());
        let (truth, other) = (world.truth(&a), world.truth(&b));
        for (held, (estimate, truth)) in
            held.iter_mut().zip([(one.dr, truth), (apart.dr, truth - other), (one.odds, truth)])
        {
            if estimate.unwrap().covers(truth) {
                *held += 1.0 / runs as f64;
            }
        }
    }
    held
}

#[test]
fn transport_intervals_hold_the_truth_with_either_nuisance_wrong() {
    for (model, odds) in [(true, true), (false, true), (true, false), (false, false)] {
        for sizes in [(2000, 800), (600, 200)] {
            let [dr, difference, inverse] = coverage(model, odds, 1000, sizes);
            println!(
                "model {model}, odds {odds}, {sizes:?}: dr {:.1}%, difference {:.1}%, inverse odds {:.1}%",
                100.0 * dr,
                100.0 * difference,
                100.0 * inverse
            );
            if model || odds {
                assert!((0.92..=0.98).contains(&dr), "{dr}");
                assert!((0.92..=0.98).contains(&difference), "{difference}");
            }
        }
    }
}

/// Around a target, on every point or on those that somebody was seen at, places count as observed
/// if the log has rows there.
#[test]
fn worst_cases_around_a_target_start_there() {
    let world = World::new(true);
    let mut random = Random(5);
    let (log, _) = world.draw(400, 1, &mut random);
    // Everyone aged 9; the log's rows there are taken out.
    let log = log.reweighted(|_, e| if e.context >= 18 { 0.0 } else { e.weight }).unwrap().shared();
    let target = TargetSample::new(&world.space, &[(18, 2.0), (19, 1.0), (0, 0.0)]).unwrap();
    assert_eq!((target.rows(), target.total()), (2, 3.0));
    let fitted = fitted(&log, &recipe(false));
    let policy = Policy::constant(&log, "a").unwrap();
    let values = fitted.values(Wasserstein.at(0.0), Settings::default()).unwrap();
    for support in [Support::All, Support::Observed] {
        let robust = Robust::around(&log, target.population(), support).unwrap();
        let settings = Settings { detail: Detail::Plan, ..Settings::default() };
        let at = |radius| robust.worst_case(&policy, &values, Wasserstein.at(radius), settings);
        assert!((at(0.0).unwrap().unobserved_mass() - 1.0).abs() < 1e-12);
        let direct = target.population().mean(&policy.values(&values).unwrap()).unwrap();
        assert!((at(0.0).unwrap().value() - direct).abs() < 1e-12);
    }
    assert!(TargetSample::new(&world.space, &[]).is_err());
    assert!(TargetSample::new(&world.space, &[(99, 1.0)]).is_err());
}
