//! What additive models tell of themselves, and the noise that models tell of.

use crate::common::Random;
use crate::models::*;
use seawall::evaluate::{Evaluator, FitOptions, Propensity};
use seawall::outcome::{AdditiveSearch, AdditiveSettings, Model, Recipe, Unseen, choose_additive};
use seawall::policy::Policy;
use seawall::{Direction, Entry, Log, Watch};

#[test]
fn additive_models_find_the_pair_that_matters_and_tell_their_parts() {
    let log = trial(6000, 4, 1.0);
    let choice = choose_additive(&log, &AdditiveSearch::default(), 5, Watch::NOBODY).unwrap();
    for c in &choice {
        assert_eq!(c.settings.pairs.first(), Some(&(0, 1)), "{c:?}");
    }
    let recipe = Recipe::Additive(choice.into_iter().map(|c| c.settings).collect());
    let Model::Additive(model) = recipe.fit(&log, Watch::NOBODY).unwrap() else { unreachable!() };
    for action in 0..2 {
        let effects = model.effects(action);
        assert_eq!(effects[2].steps.len(), 9);
        assert_eq!(effects[2].steps[4].levels, ["4"]);
        for effect in &effects {
            let rows: f64 = effect.steps.iter().map(|s| s.rows).sum();
            assert_eq!(rows, log.action_totals()[action]);
            let mean: f64 = effect.steps.iter().map(|s| s.rows * s.effect).sum::<f64>() / rows;
            assert!(mean.abs() < 1e-9, "{mean}");
        }
    }
}

/// The variance of the direct method's mean over draws of the outcomes, contexts as they are, is
/// what the additive model and the forest say it is.
#[test]
fn the_noise_that_models_tell_is_the_noise_there_is() {
    let log = trial(600, 5, 0.5);
    let additive = Recipe::Additive(vec![AdditiveSettings::default(); 2]);
    // A forest whose trees do not depend on the outcomes: no splits.
    let forest = lone(0, 1.0);
    for recipe in [additive, forest] {
        let noise = |log: &Log| {
            let log = log.clone().shared();
            let options = FitOptions { unseen: Unseen::Mean, ..FitOptions::default() };
            let fitted =
                Evaluator::new(&log, &recipe, &Propensity::Cells, options, Watch::NOBODY).unwrap();
            let policy = Policy::constant(&log, "a").unwrap();
            let found = fitted.nominal(&policy, Watch::NOBODY).unwrap().dm;
            // Without the sampling of contexts, which is not redrawn here.
            let direct: Vec<f64> = plain(&log, fitted.model()).chunks(2).map(|v| v[0]).collect();
            let rows = log.total();
            let weigh = |of: &dyn Fn(f64) -> f64| -> f64 {
                log.entries().iter().map(|e| e.weight * of(direct[e.context as usize])).sum()
            };
            let mean = weigh(&|v| v) / rows;
            let contexts = weigh(&|v| (v - mean).powi(2)) / (rows - 1.0) / rows;
            (found.value, found.se.powi(2) - contexts)
        };
        let mut told = 0.0;
        let mut means = Vec::new();
        let r = &mut Random(6);
        let values = log.values().len();
        for _ in 0..300 {
            // Outcomes of pure noise, so that nothing is smoothed away.
            let entries =
                log.entries().iter().map(|e| Entry { outcome: r.below(values) as u32, ..*e });
            let (contexts, outcomes) = (log.contexts().clone(), log.outcomes().clone());
            let (actions, entries) = (log.actions().to_vec(), entries.collect());
            let drawn = Log::new(
                contexts,
                actions,
                outcomes,
                log.values().to_vec(),
                Direction::Cost,
                entries,
            );
            let (mean, variance) = noise(&drawn.unwrap());
            told += variance / 300.0;
            means.push(mean);
        }
        let mean: f64 = means.iter().sum::<f64>() / 300.0;
        let true_variance: f64 = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / 299.0;
        let ratio = told / true_variance;
        assert!((0.75..1.3).contains(&ratio), "{:?}: {told} {true_variance}", recipe.kind());
    }
}
