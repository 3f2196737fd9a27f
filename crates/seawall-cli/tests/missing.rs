//! Rows without an outcome: refused, left out or counted as 0, as the study says.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run};
use serde_json::Value;
use std::fmt::Write;
use tempfile::TempDir;

const STUDY: &str = r#"[data]
path = "t.csv"
[context]
sex = "nominal"
[action]
column = "arm"
[propensity]
design = { treat = 0.5, control = 0.5 }
[outcome]
cost = { dead = { yes = 1 } }
[robust]
context = { set = "wasserstein", radius = [0.1] }
"#;

/// A coin flip that changes nothing: a third die in either arm. In 40% of the rows of one arm `cell` stands
/// for what is not known.
fn rows(cell: &str) -> String {
    let mut text = "sex,arm,dead\n".to_owned();
    for k in 0..1200usize {
        let (sex, arm) = (["F", "M"][k % 2], ["treat", "control"][(k / 2) % 2]);
        let dead = ["yes", "no", "no"][(k / 4) % 3];
        let known = arm == "control" || (k / 12) % 5 > 1;
        writeln!(text, "{sex},{arm},{}", if known { dead } else { cell }).unwrap();
    }
    text
}

fn there(study: &str, rows: &str) -> TempDir {
    folder(&[("study.toml", study.as_bytes()), ("t.csv", rows.as_bytes())])
}

fn missing(word: &str) -> String {
    STUDY.replace("yes = 1 } }", &format!("yes = 1 }} }}\nmissing = {word}"))
}

/// The numbers of an evaluation, to nine digits: rows are dealt to folds in the order of their outcomes.
fn answer(study: &str, rows: &str) -> Value {
    rounded(&json(there(study, rows).path(), "evaluate study.toml --json --splits 0")["policies"])
}

fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(x) => Value::from((x.as_f64().unwrap() * 1e9).round()),
        Value::Array(all) => all.iter().map(rounded).collect(),
        Value::Object(all) => all.iter().map(|(key, x)| (key.clone(), rounded(x))).collect(),
        other => other.clone(),
    }
}

#[test]
fn an_outcome_that_is_missing_is_refused_by_row_with_the_ways_out() {
    for cell in ["", "NA"] {
        let text = rows(cell);
        let lacking =
            || text.lines().skip(1).enumerate().filter(|(_, l)| l.ends_with(&format!(",{cell}")));
        let (count, first) = (lacking().count(), lacking().next().unwrap().0 + 1);
        assert_eq!(count, 240);
        for command in ["check", "evaluate", "count --out c.csv"] {
            let found = run(there(STUDY, &text).path(), &format!("{command} study.toml"));
            assert_eq!(found.code, 2, "{}", found.out);
            let told = format!(
                "t.csv: row {first}, column \"dead\": the value is missing, in {count} rows in all: leave out rows \
                 without an outcome, or count them as 0; try missing = \"drop\" in [outcome] or missing = 0 in \
                 [outcome]"
            );
            assert!(found.err.contains(&told), "{}", found.err);
        }
    }
    // A level that the study lists is a value, however it is called; one that it does not list adds nothing.
    let study = STUDY.replace("yes = 1", "yes = 1, NA = 0.5");
    assert!(answer(&study, &rows("NA")).is_array());
    assert_eq!(answer(STUDY, &rows("alive")), answer(STUDY, &rows("no")));
}

#[test]
fn rows_are_left_out_or_count_as_0_by_a_word() {
    let text = rows("");
    let known: String =
        text.lines().filter(|l| !l.ends_with(',')).map(|l| format!("{l}\n")).collect();
    for word in ["\"drop\"", "{ dead = \"drop\" }"] {
        let study = missing(word);
        assert_eq!(answer(&study, &text), answer(STUDY, &known));
        let there = there(&study, &text);
        let left = json(there.path(), "check study.toml --json")["left_out"].clone();
        assert_eq!(left["no_outcome"], 240, "{left}");
        let shown = run(there.path(), "check study.toml").out;
        assert!(shown.contains("0 meet no action, 240 have no outcome."), "{shown}");
        let shown = run(there.path(), "evaluate study.toml --splits 0").out;
        assert!(shown.contains("960 rows, 240 left out"), "{shown}");
    }
    let zero = text.replace(",\n", ",no\n");
    assert_eq!(answer(&missing("0"), &text), answer(STUDY, &zero));
    // Numbers have the same ways out.
    let number = |text: &str| text.replace(",yes", ",1").replace(",no", ",0");
    let plain = STUDY.replace("{ dead = { yes = 1 } }", "\"dead\"");
    let with = |word: &str| {
        plain.replace("cost = \"dead\"", &format!("cost = \"dead\"\nmissing = {word}"))
    };
    assert_eq!(answer(&with("\"drop\""), &number(&text)), answer(&plain, &number(&known)));
    assert_eq!(answer(&with("0"), &number(&text)), answer(&plain, &number(&zero)));
    assert_eq!(run(there(&plain, &number(&text)).path(), "check study.toml").code, 2);
}

#[test]
fn a_counted_table_keeps_missing_outcomes_for_the_study_to_say() {
    for word in ["\"drop\"", "0"] {
        let (study, text) = (missing(word), rows(""));
        let there = there(&study, &text);
        assert_eq!(run(there.path(), "count study.toml --out c.csv").code, 0);
        let counted = |study: &str| study.replace("\"t.csv\"", "\"c.csv\"\ncounted = true");
        std::fs::write(there.path().join("c.toml"), counted(&study)).unwrap();
        let found = json(there.path(), "evaluate c.toml --json --splits 0");
        assert_eq!(rounded(&found["policies"]), answer(&study, &text));
        std::fs::write(there.path().join("c.toml"), counted(STUDY)).unwrap();
        let refused = run(there.path(), "check c.toml");
        assert!(refused.code == 2 && refused.err.contains("in 240 rows in all"), "{}", refused.err);
    }
}

#[test]
fn a_slip_in_the_word_is_told_by_line() {
    for (word, told) in [
        ("\"zero\"", "line 11: \"outcome.missing\": expected \"drop\" (leave such rows out) or 0"),
        ("1", "line 11: \"outcome.missing\": expected"),
        ("{ died = 0 }", "no such column in the outcome; there are dead"),
    ] {
        let found = run(there(&missing(word), &rows("no")).path(), "check study.toml");
        assert!(found.code == 2 && found.err.contains(told), "{word}: {}", found.err);
    }
}
