//! Wrong sizes and foreign spaces: everything that takes slices, columns, matrices or spaces says
//! what is wrong, and never panics.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::{Random, case, log};
use seawall::distance::{distance, kl, total_variation};
use seawall::evaluate::{Evaluator, FitOptions, Propensity, Robust, Rows, Support};
use seawall::inference::Constants;
use seawall::learn::{
    Bsgd, Budget, Class, Gradient, Groups, Schedule, Task, Trees, bsgd, groups, softmax, trees,
};
use seawall::outcome::{
    Predictions, Predictor, Recipe, TreeSettings, Unseen, Values, choose, tree,
};
use seawall::policy::file::PolicyFile;
use seawall::policy::{Branch, Partition, Parts, Policy, Rule, Softmax, TableRow, encode};
use seawall::{
    Direction, DistinctRows, Entropic, Entry, Error, Feature, Kl, Log, Matrix, Population, Problem,
    Set, Settings, Space, TotalVariation, Wasserstein, Watch,
};
use std::fmt::Debug;
use std::sync::Arc;

const ROUNDS: u64 = 200;

/// A length up to `most` that is not `right`.
fn other(r: &mut Random, right: usize, most: usize) -> usize {
    loop {
        let length = r.below(most + 1);
        if length != right {
            return length;
        }
    }
}

fn numbers(r: &mut Random, length: usize) -> Vec<f64> {
    (0..length).map(|_| r.unit()).collect()
}

fn refused<T: Debug>(found: Result<T, Error>, what: &str) -> String {
    found.expect_err(what).to_string()
}

fn matrix(r: &mut Random, contexts: usize, actions: usize) -> Matrix {
    let cells = numbers(r, contexts * actions);
    Matrix::new(contexts, actions, cells).unwrap()
}

fn values(r: &mut Random, log: &Log, actions: usize) -> Values {
    Values::new(log.contexts(), matrix(r, log.contexts().len(), actions)).unwrap()
}

/// A log like another, but that one feature of its contexts differs, and that one's name.
fn foreign(log: &Log, r: &mut Random) -> (Log, &'static str) {
    let count = log.contexts().levels(0).len();
    let ages = |count: usize| Feature::numeric("age").levels((0..count).map(|k| 10.0 * k as f64));
    let sites = || Feature::nominal("site", ["a", "b"]);
    let (space, name) = match r.below(4) {
        0 => ([ages(count + 1), sites()], "age"),
        1 => ([Feature::nominal("age", ["x", "y"]), sites()], "age"),
        2 => ([ages(count), Feature::nominal("site", ["a", "b", "c"])], "site"),
        _ => ([ages(count), sites().weight(3.0)], "site"),
    };
    let space = Arc::new(Space::grid(space).unwrap());
    let moved = |e: &Entry| Entry { context: e.context % space.len() as u32, ..*e };
    let entries = log.entries().iter().map(moved).collect();
    let (actions, outcomes) = (log.actions().to_vec(), log.outcomes().clone());
    let other =
        Log::new(space.clone(), actions, outcomes, log.values().to_vec(), log.direction(), entries);
    (other.unwrap(), name)
}

fn named(said: &str, name: &str) {
    assert!(said.contains(&format!("{name:?}")), "{name:?} is not in {said}");
}

#[test]
fn spaces_and_populations() {
    for seed in 0..ROUNDS {
        let r = &mut Random(seed);
        let case = case(seed);
        let (space, points) = (case.population.space().clone(), case.space().len());
        let wrong = other(r, points, points + 5);
        refused(Population::from_weights(space.clone(), vec![1.0; wrong]), "weights");
        refused(Population::from_counts(space.clone(), &vec![1; wrong]), "counts");
        refused(case.population.mean(&numbers(r, wrong)), "mean");
        let features = space.names().len();
        let columns = other(r, features, 6);
        let rows = r.below(4);
        refused(Population::count(space.clone(), &vec![vec![0; rows]; columns]), "columns");
        if features > 1 {
            let mut ragged = vec![vec![0; 3]; features];
            ragged[r.below(features)].push(0);
            refused(Population::count(space.clone(), &ragged), "ragged");
        }
        let far = vec![vec![99]; features];
        refused(Population::count(space.clone(), &far), "a level that there is not");
        let out = [0, points + r.below(3)];
        refused(space.subset(&out), "a point that there is not");
        refused(space.subset(&[]), "no points");
        let two = || [Feature::numeric("x"), Feature::nominal("y", ["a", "b"])];
        let column = |length: usize| vec![0.0; length];
        let (a, b) = (r.below(5), r.below(5));
        if a != b {
            refused(Space::points(two(), vec![column(a), column(b)]), "ragged points");
            refused(DistinctRows::new(&[column(a), column(b)]), "ragged rows");
            refused(Population::from_samples(two(), vec![column(a), column(b)]), "ragged samples");
        }
        let wrong = other(r, 2, 5);
        refused(Space::points(two(), vec![column(a); wrong]), "columns of points");
        refused(Population::from_samples(two(), vec![column(a); wrong]), "columns of samples");
    }
    let none: [Feature; 0] = [];
    refused(Population::from_samples(none, Vec::new()), "no columns at all");
}

#[test]
fn problems_and_matrices() {
    for seed in 0..ROUNDS {
        let r = &mut Random(seed);
        let case = case(seed);
        let points = case.space().len();
        let wrong = vec![0.25; other(r, points, points + 5)];
        refused(Problem::new(&case.population, &wrong), "values");
        refused(case.problem().reference(&wrong), "reference");
        let (contexts, actions) = (r.below(6), r.below(6));
        let cells = match contexts * actions {
            0 => r.below(3),
            right => other(r, right, 40),
        };
        refused(Matrix::new(contexts, actions, vec![0.0; cells]), "cells");
        refused(Matrix::new(usize::MAX, usize::MAX, vec![0.0; cells]), "overflow");
        let (rows, space) = (other(r, points, points + 5).max(1), case.population.space());
        if rows != points {
            refused(Values::new(space, matrix(r, rows, 2)), "rows of values");
            let actions = ["p".to_owned(), "q".to_owned()];
            let even = Matrix::new(rows, 2, vec![0.5; 2 * rows]).unwrap();
            refused(Policy::table("p", space, &actions, &even), "rows of chances");
            refused(Rule::table(space, &even, |_| true, None), "rows of chances");
        }
        let even = Matrix::new(points, 2, vec![0.5; 2 * points]).unwrap();
        let names: Vec<String> = (0..other(r, 2, 5)).map(|a| format!("a{a}")).collect();
        refused(Policy::table("p", space, &names, &even), "names of actions");
        let otherwise = vec![0.25; other(r, 2, 5)];
        refused(Rule::table(space, &even, |_| true, Some(otherwise)), "other chances");
    }
}

#[test]
fn marginals_of_another_feature() {
    let sets: [Set; 4] =
        [Wasserstein.into(), Kl.into(), TotalVariation.into(), Entropic { eta: 3.0 }.into()];
    for seed in 0..ROUNDS {
        let own = case(seed);
        for set in sets {
            let worst = set.at(0.1).worst_case(&own.problem(), Settings::default()).unwrap();
            let features = own.space().names().len();
            refused(worst.marginal(features), "a feature too many");
            assert!(worst.marginal(features - 1).is_ok());
        }
    }
}

#[test]
fn logs_of_wrong_sizes() {
    for seed in 0..ROUNDS {
        let r = &mut Random(seed);
        let own = log(seed);
        let make = |actions: Vec<String>, values: Vec<f64>, entries: Vec<Entry>| {
            let (contexts, outcomes) = (own.contexts().clone(), own.outcomes().clone());
            Log::new(contexts, actions, outcomes, values, Direction::Cost, entries)
        };
        let (actions, entries) = (own.actions().to_vec(), own.entries().to_vec());
        let wrong = vec![0.25; other(r, own.outcomes().len(), 9)];
        refused(make(actions.clone(), wrong, entries.clone()), "values");
        refused(make(actions[1..].to_vec(), own.values().to_vec(), entries.clone()), "actions");
        refused(make(Vec::new(), own.values().to_vec(), Vec::new()), "nothing");
        let mut far = entries.clone();
        let at = r.below(far.len());
        match r.below(3) {
            0 => far[at].context = own.contexts().len() as u32,
            1 => far[at].action = own.actions().len() as u32,
            _ => far[at].outcome = own.outcomes().len() as u32,
        }
        refused(make(actions, own.values().to_vec(), far), "an entry out of range");

        let rows = 1 + r.below(6);
        let mut lengths = [rows; 4];
        lengths[r.below(4)] = other(r, rows, 8);
        let names: Vec<String> = (0..lengths[1]).map(|a| format!("a{}", a % 2)).collect();
        let features = [Feature::numeric("x")];
        let found = Log::from_rows(
            features,
            vec![numbers(r, lengths[0])],
            &names,
            &numbers(r, lengths[2]),
            Some(&vec![0.5; lengths[3]]),
            Direction::Cost,
        );
        refused(found, &format!("{lengths:?}"));
        let columns = vec![vec![0.0; rows]; other(r, 1, 4)];
        let (names, zeros) = (vec!["a"; rows], vec![0.0; rows]);
        let features = [Feature::numeric("x")];
        let found = Log::from_rows(features, columns, &names, &zeros, None, Direction::Cost);
        refused(found, "columns");
    }
}

#[test]
fn rules_of_wrong_sizes() {
    for seed in 0..ROUNDS {
        let r = &mut Random(seed);
        let log = log(seed);
        let (space, actions) = (log.contexts(), log.actions().len());
        let short = vec![1.0 / actions as f64; other(r, actions, 6)];
        let even = vec![1.0 / actions as f64; actions];
        let site = || vec![Partition::of_levels(space, "site").unwrap()];
        let columns = encode(space);
        let width = columns.len();
        let soft = |intercepts: usize, rows: usize, width: usize| {
            Rule::Softmax(Softmax {
                temperature: 1.0,
                columns: columns.clone(),
                intercepts: vec![0.0; intercepts],
                weights: vec![vec![0.0; width]; rows],
            })
        };
        let row = |context: Vec<Option<String>>| TableRow { context, probabilities: even.clone() };
        let level = |text: &str| Some(text.to_owned());
        let mut rules = vec![
            Rule::Groups { by: site(), probabilities: vec![short.clone(); 2] },
            Rule::Groups { by: site(), probabilities: vec![even.clone(); other(r, 2, 5)] },
            Rule::Groups {
                by: vec![Partition {
                    feature: "site".to_owned(),
                    missing: false,
                    parts: Parts::Levels(Vec::new()),
                }],
                probabilities: Vec::new(),
            },
            Rule::Tree { root: Branch::Leaf(short.clone()) },
            soft(other(r, actions, 6), actions, width),
            soft(actions, other(r, actions, 6), width),
            soft(actions, actions, other(r, width, 6)),
            Rule::Table {
                features: vec!["site".to_owned()],
                rows: vec![row(vec![level("a")]), row(Vec::new())],
                otherwise: Some(even.clone()),
            },
            Rule::Table { features: Vec::new(), rows: Vec::new(), otherwise: Some(short) },
        ];
        rules.push(Rule::Table { features: vec![], rows: vec![], otherwise: None });
        for rule in rules {
            refused(Policy::new("p", rule.clone(), space, log.actions()), &format!("{rule:?}"));
        }
        refused(Policy::new("p", Rule::Uniform, space, &[]), "no actions");
    }
}

#[test]
fn policies_and_values_of_another_space() {
    for seed in 0..ROUNDS {
        let r = &mut Random(seed);
        let own = log(seed);
        let (away, name) = foreign(&own, r);
        let actions = own.actions().len();
        let (mine, theirs) = (values(r, &own, actions), values(r, &away, actions));
        let more = values(r, &own, actions + 1);
        let (policy, abroad) = (Policy::uniform(&own), Policy::uniform(&away));
        named(&refused(policy.values(&theirs), "values"), name);
        refused(policy.values(&more), "more actions");
        named(&refused(Policy::greedy(&own, &theirs), "greedy"), name);
        refused(Policy::greedy(&own, &more), "greedy with more actions");
        let names: Vec<String> = (0..actions + 1).map(|a| format!("a{a}")).collect();
        refused(PolicyFile::new(&policy, own.contexts(), &names), "a file of more actions");

        let (all, seen) = (Support::All, Support::Observed);
        for support in [all, seen] {
            let robust = Robust::new(&own, support).unwrap();
            let settings = Settings::default();
            for (policy, values) in [(&policy, &theirs), (&abroad, &mine), (&abroad, &theirs)] {
                named(&refused(robust.values(policy, values), "values"), name);
                let set = Wasserstein.at(0.1);
                let found = robust.worst_case(policy, values, set, settings);
                named(&refused(found, "worst case"), name);
                let found = robust.evaluate(policy, values, Kl, &[0.1], Some(0.1), settings);
                let Err(error) = found else { panic!("seed {seed}: not refused") };
                named(&error.to_string(), name);
            }
            refused(robust.values(&policy, &more), "more actions");
        }

        let fit = |log: &Log, recipe: &Recipe, propensity: &Propensity| {
            let (log, options) = (log.clone().shared(), FitOptions::default());
            Evaluator::new(&log, recipe, propensity, options, Watch::NOBODY)
        };
        let fitted = fit(&own, &Recipe::Cells, &Propensity::Cells).unwrap();
        named(&refused(fitted.nominal(&abroad, Watch::NOBODY), "nominal"), name);
        let wrong = Propensity::Design(vec![0.1; other(r, actions, 6)]);
        assert!(fit(&own, &Recipe::Cells, &wrong).is_err());
        let wrong = Recipe::Tree(vec![TreeSettings::default(); other(r, actions, 6)]);
        assert!(fit(&own, &wrong, &Propensity::Cells).is_err());
        let (rows, columns) = (own.contexts().len(), other(r, actions, 6).max(1));
        let wrong = if columns == actions {
            matrix(r, rows + 1, columns)
        } else {
            matrix(r, rows, columns)
        };
        let wrong = Recipe::Predictions(Predictions::new(wrong).unwrap());
        assert!(fit(&own, &wrong, &Propensity::Cells).is_err());
        refused(tree(&own, &[], Watch::NOBODY), "no settings of trees");
        let offered = vec![vec![TreeSettings::default()]; other(r, actions, 6)];
        refused(choose(&own, &offered, 2, Watch::NOBODY), "settings to choose from");
        refused(Constants::from_log(&own, &vec![0.5; own.entries().len() + 1], 1), "propensities");
    }
}

/// A model asked about a log that it was not fitted to.
#[test]
fn models_of_another_log() {
    for seed in 0..ROUNDS {
        let r = &mut Random(seed);
        let own = log(seed);
        let (away, name) = foreign(&own, r);
        // The same contexts and actions, and fewer outcomes.
        let fewer = {
            let outcomes = Arc::new(Space::grid([Feature::nominal("o", ["only"])]).unwrap());
            let entries = own.entries().iter().map(|e| Entry { outcome: 0, ..*e }).collect();
            let (contexts, actions) = (own.contexts().clone(), own.actions().to_vec());
            Log::new(contexts, actions, outcomes, vec![1.0], own.direction(), entries).unwrap()
        };
        let recipe = Recipe::Tree(vec![TreeSettings::default(); own.actions().len()]);
        for model in
            [&Recipe::Cells, &recipe].map(|recipe| recipe.fit(&own, Watch::NOBODY).unwrap())
        {
            for (other, differs) in [(&away, name), (&fewer, "events")] {
                for set in [Wasserstein.at(0.0), Wasserstein.at(0.3)] {
                    let found = model.values(other, set, Unseen::Mean, Settings::default());
                    named(&refused(found, "another log"), differs);
                    let found = Predictor::new(other, &model, set, Settings::default());
                    assert!(found.is_err(), "another log");
                }
            }
        }
    }
}

#[test]
fn rows_of_wrong_lengths() {
    for seed in 0..ROUNDS {
        let r = &mut Random(seed);
        let (rows, count) = (1 + r.below(5), 1 + r.below(4));
        let mut lengths = [rows, rows, rows, rows * count, rows * count];
        let at = 1 + r.below(4);
        lengths[at] = other(r, lengths[at], 20);
        let all: Vec<Vec<f64>> = lengths.iter().map(|n| vec![0.5; *n]).collect();
        let actions = vec![0; rows];
        let wrong = Rows {
            actions: &actions,
            outcomes: &all[1],
            propensities: &all[2],
            chances: &all[3],
            predicted: &all[4],
            count,
        };
        refused(wrong.nominal(), &format!("{lengths:?}"));
        refused(wrong.direct(), &format!("{lengths:?}"));
        let (one, many) = (vec![0.5; rows], vec![0.5; rows * count]);
        let right =
            Rows { outcomes: &one, propensities: &one, chances: &many, predicted: &many, ..wrong };
        assert!(right.nominal().is_ok());
        refused(Rows { count: 0, ..right }.nominal(), "no actions");
        refused(Rows { actions: &vec![count; rows], ..right }.nominal(), "an action too many");
        // A count whose product with the rows is no number, or wraps round to another.
        for count in [usize::MAX, usize::MAX / 2 + 1] {
            let (actions, pair) = ([0, 0], [0.5, 0.5]);
            let huge =
                Rows { actions: &actions, outcomes: &pair, propensities: &pair, count, ..right };
            refused(Rows { chances: &[], predicted: &[], ..huge }.nominal(), "a huge count");
            refused(Rows { chances: &pair, predicted: &pair, ..huge }.nominal(), "a huge count");
        }
    }
}

#[test]
fn distances_between_different_spaces() {
    for seed in 0..ROUNDS {
        let r = &mut Random(seed);
        let own = log(seed);
        let (away, name) = foreign(&own, r);
        let (a, b) = (own.population().unwrap(), away.population().unwrap());
        for (from, to) in [(&a, &b), (&b, &a)] {
            let all = [
                refused(distance(from, to, Watch::NOBODY), "distance"),
                refused(kl(from, to), "KL"),
                refused(total_variation(from, to), "total variation"),
            ];
            all.iter().for_each(|said| named(said, name));
        }
    }
    // The same labels in other places are another space: its ground cost is another.
    let stages = |middle: f64| {
        let stage = Feature::ordinal("stage", ["I", "II", "III"]).positions([0.0, middle, 10.0]);
        let space = Arc::new(Space::grid([stage]).unwrap());
        Population::from_weights(space, vec![1.0, 2.0, 3.0]).unwrap()
    };
    let (one, other) = (stages(1.0), stages(9.0));
    named(&refused(distance(&one, &other, Watch::NOBODY), "other positions"), "stage");
    let missing = |cost: f64| {
        let site = Feature::nominal("site", ["a"]).with_missing().missing_cost(cost);
        Population::from_weights(Arc::new(Space::grid([site]).unwrap()), vec![1.0, 2.0]).unwrap()
    };
    let (one, other) = (missing(0.5), missing(2.0));
    named(&refused(distance(&one, &other, Watch::NOBODY), "other missing costs"), "site");
    assert!(distance(&missing(0.5), &missing(0.5), Watch::NOBODY).is_ok());
}

#[test]
fn learning_with_wrong_sizes() {
    let settings = Settings::default();
    for seed in 0..ROUNDS / 4 {
        let r = &mut Random(seed);
        let own = log(seed);
        let (away, name) = foreign(&own, r);
        let actions = own.actions().len();
        let (mine, theirs) = (values(r, &own, actions), values(r, &away, actions));
        let more = values(r, &own, actions + 1);
        let robust = Robust::new(&own, Support::All).unwrap();
        let abroad = Robust::new(&away, Support::All).unwrap();
        let set = Wasserstein.at(0.1);
        let task = |robust, values| Task::new(&own, robust, values, set).map(|_| ());
        named(&refused(task(&robust, &theirs), "values"), name);
        named(&refused(task(&abroad, &mine), "support"), name);
        refused(task(&robust, &more), "more actions");

        let task = Task::new(&own, &robust, &mine, set).unwrap();
        let plain = || Groups::new(Vec::new());
        let wrong = vec![1.0 / 16.0; other(r, actions, 6).max(1)];
        if wrong.len() != actions {
            let asked = Groups { least: wrong.clone(), ..plain() };
            refused(groups(&task, &asked, settings), "least");
            refused(groups(&task, &Groups { most: wrong, ..plain() }, settings), "most");
        }
        let budget = Budget { action: actions + r.below(3), most: 0.5, worst_case: r.chance(0.5) };
        refused(groups(&task, &Groups { budgets: vec![budget], ..plain() }, settings), "budget");
        let by = |feature: &str| {
            let parts = Parts::Levels(vec![vec![Some("a".to_owned())]]);
            vec![Partition { feature: feature.to_owned(), missing: false, parts }]
        };
        refused(groups(&task, &Groups::new(by("nowhere")), settings), "no such feature");
        refused(groups(&task, &Groups::new(by("site")), settings), "levels in no part");
        refused(trees(&task, Trees::new(4 + r.below(9)), settings), "depth");
        refused(trees(&task, Trees::new(0), settings), "depth 0");
        let one = Gradient { restarts: 1, iterations: 2, ..Gradient::default() };
        assert!(softmax(&task, one, settings).is_ok());

        let schedule = Schedule { steps: 3, points: 2, step: 1.0, contexts: 1 };
        let ask = |class: Class, seeds: usize| Bsgd {
            class,
            schedule,
            eta: 5.0,
            seeds,
            seed: 1,
            traced: 1,
        };
        let fixed = ask(Class::Fixed(Policy::uniform(&away)), 1);
        named(&refused(bsgd(&task, &fixed, None, None, settings), "a foreign policy"), name);
        let by_group = |feature| ask(Class::Groups(by(feature)), 1);
        refused(bsgd(&task, &by_group("nowhere"), None, None, settings), "no such feature");
        let by_site = Class::Groups(vec![Partition::of_levels(own.contexts(), "site").unwrap()]);
        let state = bsgd(&task, &ask(by_site.clone(), 2), None, None, settings).unwrap().state;
        let again = |class: &Class, seeds: usize| {
            bsgd(&task, &ask(class.clone(), seeds), None, Some(state.clone()), settings)
        };
        assert!(again(&by_site, 2).is_ok());
        refused(again(&by_site, 3), "a state of other seeds");
        refused(again(&Class::Groups(Vec::new()), 2), "a state of other groups");

        // Places drawn from the product of another log's features.
        let recipe = Recipe::Tree(vec![TreeSettings::default(); actions]);
        let model = recipe.fit(&away, Watch::NOBODY).unwrap();
        let set = Wasserstein.at(0.0);
        let predictor = Predictor::new(&away, &model, set, settings).unwrap();
        let found = bsgd(&task, &ask(by_site, 1), Some(&predictor), None, settings);
        named(&refused(found, "a foreign predictor"), name);
    }
}
