//! Choices between settings and kinds of outcome models, and what models without outcomes refuse.

use crate::models::*;
use seawall::outcome::{
    AdditiveSettings, AutoSearch, BoostedSettings, ModelKind, Recipe, TreeSettings, Unseen, auto,
    choose, compare,
};
use seawall::{Direction, Settings, Wasserstein, Watch};

#[test]
fn values_without_outcomes_refuse_a_cost_radius_by_name() {
    let log = trial(500, 7, 1.0);
    let recipes = [
        Recipe::Additive(vec![AdditiveSettings::default(); 2]),
        Recipe::Boosted(vec![BoostedSettings { rounds: 3, ..Default::default() }; 2]),
    ];
    for recipe in recipes {
        let model = recipe.fit(&log, Watch::NOBODY).unwrap();
        let found = model.values(&log, Wasserstein.at(0.1), Unseen::Error, Settings::default());
        let message = found.unwrap_err().to_string();
        assert!(message.contains("cost radius is 0.1") && message.contains("forest"), "{message}");
    }
}

/// The simplest of those within a standard error of the best, by fitting everything again.
#[test]
fn of_settings_that_cannot_be_told_apart_the_simplest_is_taken() {
    for seed in 0..6 {
        let log = trial(400, 10 + seed, 0.5);
        let mut offered = Vec::new();
        for max_depth in [4, 1, 2, 3] {
            for min_share in [0.0, 0.05] {
                for ccp_alpha in [0.0, 0.02] {
                    offered.push(TreeSettings {
                        max_depth,
                        min_share,
                        ccp_alpha,
                        min_samples_leaf: 5.0,
                        ..TreeSettings::default()
                    });
                }
            }
        }
        let found = choose(&log, &[offered.clone(), offered.clone()], 4, Watch::NOBODY).unwrap();
        let dealt = log.folds(4).unwrap();
        for (action, found) in found.iter().enumerate() {
            let mut tried: Vec<(f64, f64, f64, TreeSettings)> = Vec::new();
            for settings in &offered {
                let (mut errors, mut all, mut leaves) = (Vec::new(), (0.0, 0.0), 0);
                for fold in 0..4 {
                    let others = dealt.without(fold).unwrap();
                    let model =
                        Recipe::Tree(vec![*settings; 2]).fit(&others, Watch::NOBODY).unwrap();
                    let tree = &model.leaves().unwrap().trees()[action];
                    leaves += (0..tree.len()).filter(|n| tree.split(*n).is_none()).count();
                    let (mut rows, mut squares) = (0.0, 0.0);
                    for (i, e) in log.entries().iter().enumerate() {
                        if e.action as usize == action {
                            let node = tree.leaf(log.contexts(), e.context as usize);
                            let error = (log.value(e) - tree.summary(node).1).powi(2);
                            squares += dealt.weight(i, fold) * error;
                            rows += dealt.weight(i, fold);
                        }
                    }
                    errors.push(squares / rows);
                    all = (all.0 + squares, all.1 + rows);
                }
                let mean: f64 = errors.iter().sum::<f64>() / 4.0;
                let spread: f64 = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / 3.0;
                tried.push((
                    all.0 / all.1,
                    (spread / 4.0).sqrt(),
                    f64::from(leaves as u32),
                    *settings,
                ));
            }
            let best = tried.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
            let within = tried.iter().filter(|t| t.0 <= best.0 + best.1);
            let simplest = within
                .min_by(|a, b| {
                    a.2.total_cmp(&b.2)
                        .then(b.3.min_share.total_cmp(&a.3.min_share))
                        .then(a.3.max_depth.cmp(&b.3.max_depth))
                        .then(b.3.ccp_alpha.total_cmp(&a.3.ccp_alpha))
                })
                .unwrap();
            assert_eq!(found.settings, simplest.3);
            assert!((found.error - simplest.0).abs() < 1e-12);
            assert!((found.lowest - best.0).abs() < 1e-12);
            assert!((found.se - best.1).abs() < 1e-12);
        }
    }
}

#[test]
fn a_share_of_the_rows_bounds_leaves_and_scales_with_them() {
    let log = trial(1000, 8, 1.0);
    let settings = TreeSettings { max_depth: 10, min_share: 0.1, ..TreeSettings::default() };
    let half = log.folds(2).unwrap().only(0).unwrap();
    for log in [&log, &half] {
        let model = Recipe::Tree(vec![settings; 2]).fit(log, Watch::NOBODY).unwrap();
        let totals = log.action_totals();
        let leaves = model.leaves().unwrap().all();
        assert!(leaves.iter().all(|l| l.weight() >= 0.1 * totals[l.action]));
        assert!(leaves.iter().any(|l| l.weight() < 0.2 * totals[l.action]));
    }
}

#[test]
fn auto_compares_on_the_same_folds_and_takes_the_simplest_of_the_best() {
    let log = trial(3000, 9, 1.0);
    let found = auto(&log, &AutoSearch::default(), Watch::NOBODY).unwrap();
    let kinds: Vec<ModelKind> = found.table.iter().map(|c| c.kind()).collect();
    use ModelKind::{Additive, Boosted, Forest, Tree};
    assert_eq!(kinds, [Tree, Additive, Forest, Boosted]);
    let chosen = found.table.iter().position(|c| c.chosen).unwrap();
    assert!(found.table[..chosen].iter().all(|c| c.above > c.above_se));
    assert_eq!(found.table[chosen].kind(), found.recipe.kind());
    assert_eq!(found.recipe.kind(), Additive, "{:?}", found.table);
    // With a pure step, a tree does as well as anything.
    let both = vec![found.recipe.clone().into(), found.recipe.into()];
    let again = compare(&log, both, 5, Watch::NOBODY).unwrap();
    assert!(again[0].chosen && !again[1].chosen && again[1].above == 0.0);
}

/// Costs, and rewards that are their opposites: every tree model is the other's opposite, also at levels
/// that its nodes do not hold.
#[test]
fn rewards_are_the_opposite_of_costs() {
    for seed in crate::common::cases(40) {
        // Few rows of five sites: most nodes lack some.
        let own = rows(seed, 60, false);
        let opposite: Vec<Row> = own.iter().map(|(levels, y)| (*levels, -y)).collect();
        let (costs, rewards) = (log_of(&own), log_toward(&opposite, Direction::Reward));
        let tree = TreeSettings { max_depth: 4, min_samples_leaf: 3.0, ..TreeSettings::default() };
        let boosted = BoostedSettings { rounds: 12, ..BoostedSettings::default() };
        for recipe in [Recipe::Tree(vec![tree]), lone(4, 3.0), Recipe::Boosted(vec![boosted])] {
            for (a, b) in fit(&costs, &recipe).iter().zip(fit(&rewards, &recipe)) {
                assert!((a + b).abs() < 1e-9, "{recipe:?}, seed {seed}: {a} and {b}");
            }
        }
    }
}
