//! Coverage of estimates in a target whose column means and shares are known, in simulated worlds.

use crate::balance::*;
use crate::common::Random;
use seawall::evaluate::{Evaluator, FitOptions, Propensity};
use seawall::outcome::{Recipe, TreeSettings};
use seawall::policy::Policy;
use seawall::transfer::{Balance, BalanceStatus, BalancedEstimator, EFFECTIVE};
use seawall::{Direction, Entry, Feature, Known, Log, Matrix, Population, Space, Watch};
use std::sync::Arc;

const AGES: usize = 10;

/// Ten ages by two sexes, two actions, outcomes 0 or 1; a target of which the margins are known.
struct World {
    space: Arc<Space>,
    here: Vec<f64>,
    there: Vec<f64>,
    known: Known,
}

/// How much the chance of a bad outcome moves with the cluster.
const CLUSTERED: f64 = 0.1;

impl World {
    /// The target is a tilt of the log's population, so that balancing weights are right; or is not.
    fn new(tilted: bool) -> Self {
        let space = Arc::new(grid());
        let shares = |weight: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
            let all: Vec<f64> =
                (0..2 * AGES).map(|x| weight((x / 2) as f64, (x % 2) as f64)).collect();
            let total: f64 = all.iter().sum();
            all.iter().map(|w| w / total).collect()
        };
        let there = if tilted {
            shares(&|age, sex| (1.0 + 0.3 * sex) * (0.2 * age + 0.5 * sex).exp())
        } else {
            shares(&|age, sex| (-((age - 6.5) / 3.0).powi(2) + age * sex / 6.0).exp() + 0.03)
        };
        let target = Population::from_weights(space.clone(), there.clone()).unwrap();
        let facts = vec![mean_age(4.0), share_of(0, 0.5), share_of(1, 0.5)];
        let known = Known::new(space.clone(), facts).unwrap().measured_on(&target).unwrap();
        World { space, here: shares(&|_, sex| 1.0 + 0.3 * sex), there, known }
    }

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
        let chance = |k: usize| if (k / 4 >= from) == (k % 2 == 1) { 0.9 } else { 0.1 };
        let chances = Matrix::new(2 * AGES, 2, (0..4 * AGES).map(chance).collect()).unwrap();
        Policy::table(format!("from {from}"), &self.space, log.actions(), &chances).unwrap()
    }

    fn truth(&self, policy: &Policy) -> f64 {
        let value =
            |x: usize| (0..2).map(|a| policy.probability(x, a) * Self::risk(x, a)).sum::<f64>();
        (0..2 * AGES).map(|x| self.there[x] * value(x)).sum()
    }

    /// Rows that stand for themselves, or in clusters that share contexts and luck.
    fn draw(&self, rows: usize, clusters: Option<usize>, random: &mut Random) -> Arc<Log> {
        let pick = |random: &mut Random| {
            let mut left: f64 = random.unit();
            let falls = |share: &f64| {
                left -= share;
                left < 0.0
            };
            self.here.iter().position(falls).unwrap_or(self.here.len() - 1)
        };
        let luck: Vec<(f64, usize)> = (0..clusters.unwrap_or(1))
            .map(|_| (CLUSTERED * (2.0 * random.unit() - 1.0), pick(random)))
            .collect();
        let entries = (0..rows).map(|row| {
            let own = clusters.map(|count| row % count);
            let (shift, usual) = own.map_or((0.0, 0), |g| luck[g]);
            let context = if own.is_some() && random.chance(0.3) { usual } else { pick(random) };
            let action = usize::from(random.unit() < Self::propensity(context, 1));
            let outcome = u32::from(random.unit() < Self::risk(context, action) + shift);
            Entry {
                context: context as u32,
                action: action as u32,
                outcome,
                propensity: Self::propensity(context, action),
                cluster: own.map_or(Entry::ALONE, |g| g as u32),
                ..Entry::default()
            }
        });
        let entries = entries.collect();
        let outcomes = Arc::new(Space::grid([Feature::numeric("y").levels([0.0, 1.0])]).unwrap());
        let actions = ["a", "b"].map(str::to_owned).to_vec();
        let (space, values) = (self.space.clone(), vec![0.0, 1.0]);
        Log::new(space, actions, outcomes, values, Direction::Cost, entries).unwrap().shared()
    }
}

fn fitted(log: &Arc<Log>, right: bool) -> Evaluator {
    let recipe = if right {
        Recipe::Cells
    } else {
        // A tree that asks nothing: the action's mean everywhere.
        Recipe::Tree(vec![TreeSettings { max_depth: 0, ..TreeSettings::default() }; 2])
    };
    Evaluator::new(log, &recipe, &Propensity::Known, FitOptions::default(), Watch::NOBODY).unwrap()
}

/// Of a policy's value and of a difference: the share of intervals that hold the truth, the mean
/// error, and its Monte Carlo standard error.
fn held(
    model: bool,
    weights: bool,
    rows: usize,
    clusters: Option<usize>,
    runs: u64,
) -> [[f64; 4]; 2] {
    let world = World::new(weights);
    let mut all = [vec![], vec![]];
    for run in 0..runs {
        let log = world.draw(rows, clusters, &mut Random(7 * run + 1));
        let fitted = fitted(&log, model);
        let balance = Balance::new(&log, &world.known, EFFECTIVE).unwrap();
        assert_eq!(balance.status(), BalanceStatus::Matched);
        let centre = BalancedEstimator::new(&fitted, &balance, Watch::NOBODY).unwrap();
        // Without the right weights only values that are linear in what is known can be had.
        let (a, b) = if weights {
            (world.policy(&log, 4), world.policy(&log, 8))
        } else {
            (world.policy(&log, 0), world.policy(&log, 10))
        };
        assert!(centre.effective_rows(&a).unwrap() < rows as f64);
        let (truth, other) = (world.truth(&a), world.truth(&b));
        all[0].push((centre.estimate(&a).unwrap().unwrap(), truth));
        all[1].push((centre.difference(&a, &b).unwrap().unwrap(), truth - other));
    }
    all.map(|all| {
        let n = all.len() as f64;
        let hits = all.iter().filter(|(e, t)| e.covers(*t)).count() as f64;
        let bias = all.iter().map(|(e, t)| e.value - t).sum::<f64>() / n;
        let square = all.iter().map(|(e, t)| (e.value - t - bias).powi(2)).sum::<f64>() / n;
        let se = all.iter().map(|(e, _)| e.se).sum::<f64>() / n;
        [hits / n, bias, (square / n).sqrt(), se / square.sqrt()]
    })
}

#[test]
fn centres_hold_the_truth_with_either_nuisance_wrong() {
    for (model, weights) in [(true, true), (false, true), (true, false), (false, false)] {
        for (rows, clusters) in [(2000, None), (800, None), (3000, Some(60))] {
            for (what, [held, bias, noise, ratio]) in
                ["value", "difference"].iter().zip(held(model, weights, rows, clusters, 400))
            {
                println!(
                    "model {model}, weights {weights}, {rows} rows, {clusters:?} clusters, {what}: \
                     {:.1}% held, bias {bias:.4} (± {noise:.4}), se {ratio:.3} of the spread",
                    100.0 * held
                );
                assert!(bias.abs() < 4.0 * noise, "{bias} {noise}");
                assert!((0.92..=0.98).contains(&held), "{held}");
            }
        }
    }
}

/// A target that is no tilt of the log, and values that are not linear in what is known: a large log
/// and the right model do not help.
#[test]
fn margins_do_not_tell_everything() {
    let world = World::new(false);
    let log = world.draw(60_000, None, &mut Random(1));
    let fitted = fitted(&log, true);
    let balance = Balance::new(&log, &world.known, EFFECTIVE).unwrap();
    let centre = BalancedEstimator::new(&fitted, &balance, Watch::NOBODY).unwrap();
    let policy = world.policy(&log, 4);
    let found = centre.estimate(&policy).unwrap().unwrap();
    let off = found.value - world.truth(&policy);
    assert!(off < -0.01 && off.abs() > 4.0 * found.se, "{off} {}", found.se);
}

#[test]
fn a_log_too_small_to_fold_has_no_centre() {
    let world = World::new(true);
    let log = world.draw(400, None, &mut Random(1));
    let one = log.reweighted(|_, e| if e.context == 0 { e.weight } else { 0.0 }).unwrap();
    let entries = one.entries()[..1].iter().map(|e| Entry { weight: 1.0, ..*e }).collect();
    let (outcomes, values) = (log.outcomes().clone(), log.values().to_vec());
    let actions = vec!["a".to_owned()];
    let one = Log::new(log.contexts().clone(), actions, outcomes, values, Direction::Cost, entries);
    let one = one.unwrap().shared();
    let known = Known::new(one.contexts().clone(), vec![mean_age(0.0)]).unwrap();
    let balance = Balance::new(&one, &known, EFFECTIVE).unwrap();
    let recipe = Recipe::Cells;
    let options = FitOptions::default();
    let fitted = Evaluator::new(&one, &recipe, &Propensity::Known, options, Watch::NOBODY).unwrap();
    let centre = BalancedEstimator::new(&fitted, &balance, Watch::NOBODY).unwrap();
    let found = centre.estimate(&Policy::constant(&one, "a").unwrap()).unwrap();
    assert!(found.is_none());
}
