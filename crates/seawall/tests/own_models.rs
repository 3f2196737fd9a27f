//! Learners of the user's own, and values that are needed on a support alone.
#![allow(clippy::unwrap_used)]

use crate::common;

use seawall::evaluate::{Evaluator, FitOptions, Propensity, Support};
use seawall::outcome::{Learner, ModelKind, Predictions, Recipe, Unseen};
use seawall::policy::Policy;
use seawall::{
    Direction, Entry, Error, Feature, Log, Matrix, Result, Settings, Space, Wasserstein, Watch,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Means of each context and action, as cells have them; counts its fits.
#[derive(Debug, Default)]
struct Means {
    fits: AtomicUsize,
}

impl Learner for Means {
    fn name(&self) -> &str {
        "means"
    }

    fn fit(&self, log: &Log, _: Watch<'_>) -> Result<Predictions> {
        self.fits.fetch_add(1, Ordering::Relaxed);
        let (contexts, actions) = (log.contexts().len(), log.actions().len());
        let mut sums = vec![(0.0, 0.0); contexts * actions];
        for e in log.entries() {
            let at = &mut sums[e.context as usize * actions + e.action as usize];
            *at = (at.0 + e.weight * log.value(e), at.1 + e.weight);
        }
        // 0 / 0 is NaN: no value.
        let means = sums.iter().map(|(sum, n)| sum / n).collect();
        Predictions::new(Matrix::new(contexts, actions, means)?)
    }
}

/// A log on a grid of ages and sexes; the last age has no rows, and where `holes` the first context
/// has rows of one action alone.
fn log(holes: bool) -> Arc<Log> {
    let ages = Feature::numeric("age").levels([20.0, 40.0, 60.0, 80.0]);
    let grid = Space::grid([ages, Feature::nominal("sex", ["F", "M"])]).unwrap();
    let outcomes = [0.0, 1.0, 3.0];
    let space = Space::grid([Feature::numeric("y").levels(outcomes)]).unwrap();
    let mut random = common::Random(5);
    let mut entries = Vec::new();
    for _ in 0..300 {
        let mut draw = |below: f64| (random.unit() * below) as u32;
        let (context, action, outcome) = (draw(6.0), draw(2.0), draw(3.0));
        let action = if holes && context == 0 { 1 } else { action };
        entries.push(Entry {
            context,
            action,
            outcome,
            propensity: f64::NAN,
            weight: 1.0,
            ..Entry::default()
        });
    }
    let actions = vec!["treat".to_owned(), "wait".to_owned()];
    let (grid, space) = (Arc::new(grid), Arc::new(space));
    Log::new(grid, actions, space, outcomes.to_vec(), Direction::Cost, entries).unwrap().shared()
}

fn fitted(log: &Arc<Log>, recipe: &Recipe, unseen: Unseen) -> Evaluator {
    let options = FitOptions { unseen, ..FitOptions::default() };
    Evaluator::new(log, recipe, &Propensity::Design(vec![0.5; 2]), options, Watch::NOBODY).unwrap()
}

#[test]
fn a_large_log_is_dealt_once_unless_asked() {
    let repeats = |rows: f64, cluster: fn(usize) -> u32| {
        let log = log(true);
        let each = rows / log.entries().len() as f64;
        let own = log.entries().iter().enumerate();
        let entries = own.map(|(i, e)| Entry { weight: each, cluster: cluster(i), ..*e }).collect();
        let (contexts, outcomes) = (log.contexts().clone(), log.outcomes().clone());
        let (actions, values) = (log.actions().to_vec(), log.values().to_vec());
        let log = Log::new(contexts, actions, outcomes, values, Direction::Cost, entries).unwrap();
        FitOptions::for_log(&log).repeats
    };
    let alone = |_: usize| Entry::ALONE;
    assert_eq!((repeats(49_999.0, alone), repeats(50_001.0, alone)), (5, 1));
    // A few clusters are dealt in a few ways, however many rows they have.
    assert_eq!(repeats(1e6, |i| i as u32 % 7), 5);
}

#[test]
fn a_learner_of_cells_is_a_model_of_cells() {
    let log = log(true);
    let learner = Arc::new(Means::default());
    let own = Recipe::Learner(learner.clone());
    assert!(own.is_refitted() && Recipe::Cells.is_refitted());
    assert_eq!(own.kind(), ModelKind::Learner);
    let [a, b] = [&own, &Recipe::Cells].map(|recipe| fitted(&log, recipe, Unseen::Mean));
    assert_eq!(a.model().unseen(), b.model().unseen());
    assert!(a.model().leaves().is_none());
    let policy = Policy::uniform(&log);
    let [x, y] = [&a, &b].map(|fitted| fitted.nominal(&policy, Watch::NOBODY).unwrap());
    assert!(
        (x.dr.unwrap().value - y.dr.unwrap().value).abs() < 1e-12
            && (x.dm.value - y.dm.value).abs() < 1e-12
    );
    // Once for the log, once for every fold of every deal.
    let FitOptions { folds, repeats, .. } = FitOptions::default();
    assert_eq!(learner.fits.load(Ordering::Relaxed), 1 + folds * repeats);
    // It has no outcomes for a cost radius to act on.
    let refused = a.values(Wasserstein.at(0.1), Settings::default()).unwrap_err().to_string();
    assert!(refused.starts_with("cost radius is 0.1"), "{refused}");
}

/// Predicts for one context too few, or fails.
#[derive(Debug)]
struct Wrong {
    fails: bool,
}

impl Learner for Wrong {
    fn name(&self) -> &str {
        "wrong"
    }

    fn fit(&self, log: &Log, _: Watch<'_>) -> Result<Predictions> {
        if self.fails {
            let cause = std::io::Error::other("out of ink");
            return Err(Error::input("cannot be fitted").caused_by(cause));
        }
        let (contexts, actions) = (log.contexts().len() - 1, log.actions().len());
        Predictions::new(Matrix::new(contexts, actions, vec![0.0; contexts * actions])?)
    }
}

#[test]
fn what_is_wrong_with_a_learner_is_said_by_its_name() {
    let log = log(false);
    let fit = |fails| Recipe::Learner(Arc::new(Wrong { fails })).fit(&log, Watch::NOBODY);
    let error = fit(true).unwrap_err();
    assert_eq!(error.to_string(), "wrong: cannot be fitted");
    let cause = std::error::Error::source(&error).unwrap();
    assert_eq!(cause.downcast_ref::<std::io::Error>().unwrap().to_string(), "out of ink");
    let error = fit(false).unwrap_err().to_string();
    assert!(
        error.starts_with("wrong: predicted values for 7 contexts and 2 actions; the log has 8")
    );
    let given = Matrix::new(8, 2, vec![0.0; 16]).unwrap();
    assert!(!Recipe::Predictions(Predictions::new(given).unwrap()).is_refitted());
}

#[test]
fn values_are_needed_where_the_support_is() {
    let (plain, settings) = (Wasserstein.at(0.0), Settings::default());
    for recipe in [Recipe::Cells, Recipe::Learner(Arc::new(Means::default()))] {
        let log = log(false);
        let strict = fitted(&log, &recipe, Unseen::Error);
        let lenient = fitted(&log, &recipe, Unseen::Worst);
        let [all, seen] =
            [Support::All, Support::Observed].map(|support| strict.robust(support).unwrap());
        let refused = strict.values_on(all.points(), plain, settings).unwrap_err().to_string();
        assert!(refused.starts_with("of 8 contexts some have no"), "{refused}");
        assert_eq!(refused, strict.values(plain, settings).unwrap_err().to_string());
        let found = strict.values_on(seen.points(), plain, settings).unwrap();
        let filled = lenient.values(plain, settings).unwrap();
        for &x in seen.points() {
            assert_eq!((found.at(x, 0), found.at(x, 1)), (filled.at(x, 0), filled.at(x, 1)));
        }
        let range = strict.value_range_on(seen.points(), plain, settings).unwrap();
        assert!(Arc::ptr_eq(&range.worst, &found), "worked out once");
        let unseen = |points: &[usize]| strict.model().unseen_at(points);
        assert_eq!(unseen(all.points()), strict.model().unseen());
        assert_eq!((unseen(seen.points()), unseen(&[6])), (vec![0, 0], vec![1, 1]));
        assert!(strict.values_on(&[8], plain, settings).is_err());
        // An action that was never taken in an observed context is refused there.
        let holes = self::log(true);
        let strict = fitted(&holes, &recipe, Unseen::Error);
        let points = strict.robust(Support::Observed).unwrap();
        let refused = strict.values_on(points.points(), plain, settings).unwrap_err().to_string();
        assert!(refused.starts_with("of 6 observed contexts"), "{refused}");
        assert!(refused.contains("1 for \"treat\"") && !refused.contains("wait"), "{refused}");
    }
}
