//! Policies: every rule saved, loaded and worked out again; files that do not fit are refused.
#![allow(clippy::unwrap_used, clippy::panic)]

use seawall::policy::file::PolicyFile;
use seawall::policy::{Branch, Partition, Parts, Policy, Rule, Softmax, Test, encode};
use seawall::{Feature, Matrix, Space};
use std::sync::Arc;

fn space() -> Arc<Space> {
    let space = Space::grid([
        Feature::numeric("age").levels([35.0, 45.0, 55.5]).with_missing(),
        Feature::ordinal("stage", ["I", "II"]),
        Feature::nominal("site", ["north", "south", "west"]).with_missing(),
    ]);
    Arc::new(space.unwrap())
}

fn actions() -> Vec<String> {
    vec!["treat".to_owned(), "control".to_owned()]
}

fn text(level: &str) -> Option<String> {
    Some(level.to_owned())
}

fn rules() -> Vec<Rule> {
    let split = |test, yes: Branch, no: Branch| Branch::Split {
        test,
        yes: Box::new(yes),
        no: Box::new(no),
    };
    let leaf = |p: f64| Branch::Leaf(vec![p, 1.0 - p]);
    let older = Test::AtMost { feature: "age".to_owned(), number: 50.0 };
    let north = Test::OneOf { feature: "site".to_owned(), levels: vec![text("north"), None] };
    let space = space();
    let columns = encode(&space);
    let weights = (0..columns.len()).map(|k| 0.3 * k as f64 - 0.5).collect();
    let softmax = Softmax {
        temperature: 0.5,
        intercepts: vec![0.1, -0.2],
        weights: vec![weights, vec![0.0; columns.len()]],
        columns,
    };
    let n = space.len();
    let all: Vec<f64> =
        (0..n).flat_map(|i| [i as f64 / n as f64, 1.0 - i as f64 / n as f64]).collect();
    let all = Matrix::new(n, 2, all).unwrap();
    vec![
        Rule::Uniform,
        Rule::Constant { action: "control".to_owned() },
        Rule::Groups {
            by: vec![
                Partition {
                    feature: "age".to_owned(),
                    missing: true,
                    parts: Parts::Cuts(vec![40.0]),
                },
                Partition::of_levels(&space, "stage").unwrap(),
            ],
            probabilities: (0..6)
                .map(|k| vec![0.1 * f64::from(k), 1.0 - 0.1 * f64::from(k)])
                .collect(),
        },
        Rule::Tree { root: split(older, leaf(0.9), split(north, leaf(0.25), leaf(0.0))) },
        Rule::Softmax(softmax),
        Rule::table(&space, &all, |_| true, None).unwrap(),
        Rule::table(&space, &all, |i| i % 2 == 0, Some(vec![0.5, 0.5])).unwrap(),
    ]
}

#[test]
fn every_rule_survives_saving_and_loading() {
    let (space, actions) = (space(), actions());
    for rule in rules() {
        let policy = Policy::new("p", rule, &space, &actions).unwrap();
        let json = PolicyFile::new(&policy, &space, &actions).unwrap().to_json().unwrap();
        let read = PolicyFile::from_json(&json).unwrap();
        let again = read.on(&space, &actions).unwrap();
        assert_eq!(policy.rule(), again.rule(), "{json}");
        for context in 0..space.len() {
            assert_eq!(policy.row(context), again.row(context));
        }
        // A study may list its actions in another order.
        let turned: Vec<String> = actions.iter().rev().cloned().collect();
        let other = read.on(&space, &turned).unwrap();
        for context in 0..space.len() {
            assert_eq!(policy.probability(context, 0), other.probability(context, 1));
        }
    }
}

#[test]
fn rules_do_what_they_say() {
    let (space, actions) = (space(), actions());
    let at = |rule: &Rule, words: &str| {
        let policy = Policy::new("p", rule.clone(), &space, &actions).unwrap();
        let context = (0..space.len()).find(|&i| space.describe(i) == words).unwrap();
        policy.probability(context, 0)
    };
    let rules = rules();
    assert_eq!(at(&rules[2], "age=35, stage=I, site=west"), 0.0);
    assert_eq!(at(&rules[2], "age=45, stage=II, site=west"), 0.1 * 3.0);
    assert_eq!(at(&rules[2], "age=(missing), stage=I, site=north"), 0.1 * 4.0);
    assert_eq!(at(&rules[3], "age=45, stage=I, site=west"), 0.9);
    assert_eq!(at(&rules[3], "age=55.5, stage=I, site=north"), 0.25);
    assert_eq!(at(&rules[3], "age=(missing), stage=I, site=(missing)"), 0.25);
    assert_eq!(at(&rules[3], "age=(missing), stage=I, site=south"), 0.0);
    assert_eq!(at(&rules[6], "age=35, stage=I, site=south"), 0.5);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let (space, actions) = (space(), actions());
    let policy = Policy::new("p", rules()[3].clone(), &space, &actions).unwrap();
    let json = PolicyFile::new(&policy, &space, &actions).unwrap().to_json().unwrap();
    let refused = |json: &str, space: &Arc<Space>, actions: &[String]| {
        PolicyFile::from_json(json).and_then(|f| f.on(space, actions)).unwrap_err().to_string()
    };
    for (find, put, words) in [
        ("\"seawall-policy\"", "\"other\"", &["not a policy file"][..]),
        ("\"version\": 1", "\"version\": 2", &["version 2", "version 1"]),
        ("0.9", "0.8", &["age=35, stage=I, site=north", "[0.8", "sum to 1"]),
        ("0.9", "1.9", &["[1.9"]),
        ("\"at_most\"", "\"at_mots\"", &["at_mots"]),
        ("\"then\"", "\"than\"", &["than"]),
        ("\"age\"", "\"agee\"", &["\"age\"", "not among its features"]),
        ("\"numeric\"", "\"nominal\"", &["\"age\"", "for a number", "nominal"]),
        ("\"west\"", "\"east\"", &["\"site\"", "\"west\""]),
        ("[\n            \"north\"", "[\n            \"nort\"", &["\"nort\"", "\"site\""]),
        ("\"control\"", "\"control\", \"control\"", &["\"control\" twice"]),
        ("\"treat\"", "\"trial\"", &["\"treat\"", "it has: trial, control"]),
    ] {
        assert!(json.contains(find), "{find} {json}");
        let error = refused(&json.replacen(find, put, 1), &space, &actions);
        for word in words {
            assert!(error.contains(word), "{put}: {word:?} is not in {error}");
        }
    }
    let half = &json[..json.len() / 2];
    assert!(refused(half, &space, &actions).contains("EOF"), "{}", refused(half, &space, &actions));
    let more = ["treat", "control", "wait"].map(str::to_owned);
    assert!(refused(&json, &space, &more).contains("\"wait\""));
    let other = Space::grid([Feature::numeric("age").levels([1.0, 2.0])]);
    let other = Arc::new(other.unwrap());
    assert!(refused(&json, &other, &actions).contains("\"site\""));
}

#[test]
fn slips_in_a_rule_are_refused() {
    let (space, actions) = (space(), actions());
    let rule = |rule: &str| {
        let features = r#"[{"name": "age", "kind": "numeric", "levels": [35, 45, 55.5, null]},
            {"name": "stage", "kind": "ordinal", "levels": ["I", "II"]},
            {"name": "site", "kind": "nominal", "levels": ["north", "south", "west", null]}]"#;
        let json = format!(
            r#"{{"format": "seawall-policy", "version": 1, "name": "p",
                "actions": ["treat", "control"], "features": {features}, "rule": {rule}}}"#
        );
        let found = PolicyFile::from_json(&json).and_then(|f| f.on(&space, &actions));
        found.map(|_| ()).map_err(|e| e.to_string())
    };
    let half = "[[0.5, 0.5], [0.5, 0.5]]";
    for (written, word) in [
        (format!(r#"{{"kind": "groups", "by": [{{"feature": "stage", "levels": [["I"], ["I", "II"]]}}], "probabilities": {half}}}"#), "two parts"),
        (format!(r#"{{"kind": "groups", "by": [{{"feature": "stage", "levels": [["I"], ["III"]]}}], "probabilities": {half}}}"#), "\"III\""),
        (format!(r#"{{"kind": "groups", "by": [{{"feature": "stage", "cuts": [1], "levels": []}}], "probabilities": {half}}}"#), "either cuts or levels"),
        (format!(r#"{{"kind": "groups", "by": [{{"feature": "age", "cuts": [40], "mising": true}}], "probabilities": {half}}}"#), "mising"),
        (format!(r#"{{"kind": "groups", "by": [{{"feature": "age", "cuts": [40]}}], "probabilities": {half}}}"#), "in no part"),
        (r#"{"kind": "tree", "root": {"if": {"feature": "site", "at_most": 1}, "then": {"probabilities": [1, 0]}, "else": {"probabilities": [0, 1]}}}"#.to_owned(), "for a number"),
        (r#"{"kind": "tree", "root": {"if": {"feature": "age", "at_most": 999}, "then": {"probabilities": [1, 0]}, "else": {"if": {"feature": "age", "at_most": 9999}, "then": {"probabilities": [1]}, "else": {"probabilities": [0, 1]}}}}"#.to_owned(), "2 actions"),
        (r#"{"kind": "softmax", "temperature": 1, "columns": [{"feature": "site", "linear": {"centre": 0, "scale": 1}}], "intercepts": [0, 0], "weights": [[1], [0]]}"#.to_owned(), "for a number"),
        (r#"{"kind": "constant", "action": "cure"}"#.to_owned(), "\"cure\""),
        (r#"{"kind": "tree", "root": {"probabilities": [0.3, 0.3]}}"#.to_owned(), "sum to 1"),
        (r#"{"kind": "softmax", "temperature": 1, "columns": [{"feature": "age", "linear": {"centre": 0, "scale": 0}}], "intercepts": [0, 0], "weights": [[1], [0]]}"#.to_owned(), "scale"),
        (r#"{"kind": "table", "features": ["stage", "stage"], "rows": [], "otherwise": [0.5, 0.5]}"#.to_owned(), "twice"),
        (r#"{"kind": "table", "features": ["stage"], "rows": [{"context": ["I", "II"], "probabilities": [1, 0]}], "otherwise": [0.5, 0.5]}"#.to_owned(), "2 values for 1 features"),
        (r#"{"kind": "table", "features": ["age"], "rows": [{"context": ["35"], "probabilities": [1, 0]}, {"context": ["35.0"], "probabilities": [0, 1]}], "otherwise": [0.5, 0.5]}"#.to_owned(), "listed twice"),
    ] {
        let error = rule(&written).unwrap_err();
        assert!(error.contains(word), "{word:?} is not in {error}");
    }
    rule(r#"{"kind": "table", "features": ["age"], "rows": [{"context": ["35.0"], "probabilities": [1, 0]}], "otherwise": [0.5, 0.5]}"#).unwrap();
}
