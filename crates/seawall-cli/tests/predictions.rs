//! Predictions that users bring, by context or row by row, and supports that need them only where
//! rows are.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{close, folder, json, run};
use serde_json::Value;
use std::collections::BTreeMap;
use tempfile::TempDir;

const STUDY: &str = r#"[data]
path = "d.csv"
weight = "n"
where = { used = 1 }

[context]
age = { kind = "numeric", bin = 10 }
sex = { kind = "nominal", levels = ["F", "M"] }

[action]
treat   = { arm = 1 }
control = { arm = 0 }

[propensity]
design = { treat = 0.5, control = 0.5 }

[outcome]
cost = "y"

[model]
kind = "column"
predictions = { treat = "m1", control = "m0" }

[[policy]]
kind = "uniform"

[[policy]]
kind = "constant"
action = "treat"

[robust]
context = { set = "wasserstein", radius = [0, 0.05] }
support = "observed"
"#;

/// A row: age, sex, arm, outcome, weight, whether it is used, and its two predictions as written.
struct Row {
    age: u32,
    sex: &'static str,
    arm: u32,
    y: u32,
    n: u32,
    used: u32,
    predictions: [String; 2],
}

/// Rows drawn the same way every time. No row is an F of 30 to 39. Predictions depend on the context
/// alone, unless they are to vary.
fn rows(varying: bool) -> Vec<Row> {
    let mut state = 12345_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut rows = Vec::new();
    for k in 0..600 {
        let (age, sex) = (20 + next(50) as u32, if next(2) == 0 { "F" } else { "M" });
        let sex = if (30..40).contains(&age) { "M" } else { sex };
        let (arm, n, used) = (next(2) as u32, next(4) as u32, u32::from(next(10) > 0));
        let y = u32::from(next(100) < u64::from(age));
        let base = f64::from(age / 10) / 10.0 + f64::from(u8::from(sex == "M")) / 7.0;
        let more = if varying { f64::from(k % 5) / 9.0 } else { 0.0 };
        let predictions = [base + more, 0.3 * base].map(|m| m.to_string());
        rows.push(Row { age, sex, arm, y, n, used, predictions });
    }
    rows
}

fn csv(rows: &[Row]) -> String {
    let mut text = "age,sex,arm,y,n,used,m1,m0\n".to_owned();
    for r in rows {
        let [m1, m0] = &r.predictions;
        let line = format!("{},{},{},{},{},{},{m1},{m0}\n", r.age, r.sex, r.arm, r.y, r.n, r.used);
        text.push_str(&line);
    }
    text
}

/// The mean of each context's predictions, by hand, as a table that a study takes.
fn table(rows: &[Row]) -> String {
    let mut means: BTreeMap<(u32, &str), [f64; 3]> = BTreeMap::new();
    for r in rows.iter().filter(|r| r.used == 1 && r.n > 0) {
        let at = means.entry((r.age / 10 * 10 + 5, r.sex)).or_default();
        let n = f64::from(r.n);
        at[0] += n;
        for (sum, m) in at[1..].iter_mut().zip(&r.predictions) {
            *sum += n * m.parse::<f64>().unwrap_or(f64::NAN);
        }
    }
    let mut text = "age,sex,treat,control\n".to_owned();
    for ((age, sex), [n, m1, m0]) in means {
        text.push_str(&format!("{age},{sex},{},{}\n", m1 / n, m0 / n));
    }
    text
}

fn there(study: &str, rows: &[Row]) -> TempDir {
    let (data, by_context) = (csv(rows), table(rows));
    folder(&[
        ("s.toml", study.as_bytes()),
        ("d.csv", data.as_bytes()),
        ("table.csv", by_context.as_bytes()),
    ])
}

/// The same study with predictions by context.
fn by_context() -> String {
    let column = "kind = \"column\"\npredictions = { treat = \"m1\", control = \"m0\" }";
    STUDY.replace(column, "kind = \"table\"\npath = \"table.csv\"")
}

/// Every number of two values agrees to nine digits, every text but for notes.
fn alike(a: &Value, b: &Value, place: &str) {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => {
            let (x, y) = (x.as_f64().unwrap(), y.as_f64().unwrap());
            assert!((x - y).abs() <= 1e-9 * (1.0 + x.abs()), "{place}: {x} and {y}");
        }
        (Value::Array(x), Value::Array(y)) => {
            assert_eq!(x.len(), y.len(), "{place}");
            x.iter()
                .zip(y)
                .enumerate()
                .for_each(|(k, (x, y))| alike(x, y, &format!("{place}[{k}]")));
        }
        (Value::Object(x), Value::Object(y)) => {
            assert!(x.keys().eq(y.keys()), "{place}");
            let kept = x.iter().filter(|(k, _)| !["notes", "model"].contains(&k.as_str()));
            kept.for_each(|(k, v)| alike(v, &y[k], &format!("{place}.{k}")));
        }
        _ => assert_eq!(a, b, "{place}"),
    }
}

fn notes(found: &Value) -> String {
    let notes = found.get("notes").unwrap_or_else(|| &found["diagnostics"]["notes"]);
    notes.as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn row_by_row_they_are_what_a_table_of_their_means_is() {
    for varying in [false, true] {
        let there = there(STUDY, &rows(varying));
        let path = there.path();
        std::fs::write(path.join("t.toml"), by_context()).unwrap();
        for command in ["evaluate _ --json", "evaluate _ --json --splits 4 --seed 3"] {
            let own = json(path, &command.replace('_', "s.toml"));
            let table = json(path, &command.replace('_', "t.toml"));
            alike(&own, &table, command);
            assert_eq!(own["diagnostics"]["model"], "column");
            for found in [&own, &table] {
                assert!(notes(found).contains("leave out its noise"), "{}", notes(found));
            }
        }
        for found in ["check s.toml --json", "evaluate s.toml --json"].map(|c| json(path, c)) {
            assert_eq!(notes(&found).contains("of the same context"), varying, "{}", notes(&found));
        }
        if varying {
            // Rows differ by up to 4/9, in every context of more than a few rows.
            let said = notes(&json(path, "check s.toml --json"));
            assert!(said.contains("in 9 of 9 contexts, by up to 0.444"), "{said}");
            assert!(said.contains("(\"treat\" at age=") && said.contains("sex="), "{said}");
        }
        let own = run(path, "learn s.toml --policy tree:1 --radius 0.05 --out p.json");
        assert_eq!(own.code, 0, "{}", own.err);
    }
}

#[test]
fn predictions_that_do_not_vary_are_kept_to_the_last_bit() {
    let there = there(STUDY, &rows(false));
    let path = there.path();
    let rows = rows(false);
    // Thirds and sevenths, by context as they are written.
    let mut lines: Vec<String> = rows
        .iter()
        .filter(|r| r.used == 1 && r.n > 0)
        .map(|r| format!("{},{},{}", r.age / 10 * 10 + 5, r.sex, r.predictions.join(",")))
        .collect();
    lines.sort();
    lines.dedup();
    std::fs::write(
        path.join("table.csv"),
        format!("age,sex,treat,control\n{}\n", lines.join("\n")),
    )
    .unwrap();
    std::fs::write(path.join("t.toml"), by_context()).unwrap();
    let [own, table] = ["s", "t"].map(|s| json(path, &format!("evaluate {s}.toml --json")));
    assert_eq!(own["policies"], table["policies"]);
    assert_eq!(own["comparisons"], table["comparisons"]);
}

#[test]
fn rows_without_a_prediction_are_counted_and_the_first_is_told() {
    let mut all = rows(false);
    let used = |r: &Row| r.used == 1 && r.n > 0;
    let places: Vec<usize> = (0..all.len()).filter(|&k| used(&all[k])).collect();
    all[places[3]].predictions[1] = String::new();
    all[places[7]].predictions = ["NA".to_owned(), String::new()];
    all[places[9]].predictions[0] = "inf".to_owned();
    // Rows that are left out or weigh nothing need none.
    for k in (0..all.len()).filter(|k| !places.contains(k)) {
        all[k].predictions = [String::new(), String::new()];
    }
    let there = there(STUDY, &all);
    let found = run(there.path(), "check s.toml");
    assert_eq!(found.code, 2);
    let first = format!("d.csv: row {}, column \"m0\": a missing value or NaN", places[3] + 1);
    for words in ["3 of the rows used lack a prediction", &first, "expected a number"] {
        assert!(found.err.contains(words), "{}", found.err);
    }
    // Infinite ones are said as they are.
    for k in [3, 7] {
        all[places[k]].predictions = ["1".to_owned(), "1".to_owned()];
    }
    std::fs::write(there.path().join("d.csv"), csv(&all)).unwrap();
    let found = run(there.path(), "check s.toml");
    assert!(found.err.contains("1 of the rows used lack") && found.err.contains("\"m1\": inf;"));
    all[places[9]].predictions[0] = "1e200".to_owned();
    std::fs::write(there.path().join("d.csv"), csv(&all)).unwrap();
    let found = run(there.path(), "check s.toml");
    assert!(found.err.contains("at most 1e150 in size"), "{}", found.err);
    all[places[9]].predictions[0] = "high".to_owned();
    std::fs::write(there.path().join("d.csv"), csv(&all)).unwrap();
    let found = run(there.path(), "check s.toml");
    assert!(found.err.contains("column \"m1\": \"high\" is not a number"), "{}", found.err);
    all[places[9]].predictions[0] = "1".to_owned();
    std::fs::write(there.path().join("d.csv"), csv(&all)).unwrap();
    assert_eq!(run(there.path(), "check s.toml").code, 0);
}

#[test]
fn every_action_has_one_column_and_no_other_has_any() {
    let column = "predictions = { treat = \"m1\", control = \"m0\" }";
    let by_column = STUDY
        .replace("treat   = { arm = 1 }\ncontrol = { arm = 0 }", "column = \"arm\"")
        .replace("design = { treat = 0.5, control = 0.5 }", "estimate = \"logistic\"")
        .replace("action = \"treat\"", "action = \"1\"");
    let rules = |with: &str| STUDY.replace(column, with);
    let named = |with: &str| by_column.replace(column, with);
    for (study, words) in [
        (rules("predictions = { treat = \"m1\" }"), vec!["line 22", "no column", "\"control\""]),
        (
            rules("predictions = { treat = \"m1\", control = \"m0\", cure = \"m0\" }"),
            vec!["line 22", "predictions.cure", "no such action; there are treat, control"],
        ),
        (
            rules("predictions = { treat = \"m1\", control = 3 }"),
            vec!["line 22", "a text in quotes"],
        ),
        (rules("predictions = \"m1\""), vec!["line 22", "expected a table"]),
        (rules("columns = {}"), vec!["line 20", "\"model.predictions\" is missing"]),
        (rules("predictions = { treat = \"m9\", control = \"m0\" }"), vec!["line 22", "\"m9\""]),
        (rules(&format!("{column}\npath = \"t.csv\"")), vec!["line 23", "unknown key \"path\""]),
        (named("predictions = { 1 = \"m1\" }"), vec!["line 21", "no column for the action \"0\""]),
        (
            named("predictions = { 1 = \"m1\", 0 = \"m0\", 2 = \"m0\" }"),
            vec!["line 21", "no such action \"2\"; there are 0, 1"],
        ),
        (
            named("predictions = { 1 = \"m1\", 0 = \"m0\", \"1.0\" = \"m0\" }"),
            vec!["line 21", "2 columns for the action \"1\""],
        ),
    ] {
        let there = there(&study, &rows(false));
        let found = run(there.path(), "check s.toml");
        assert_eq!(found.code, 2, "{study}");
        words.iter().for_each(|w| assert!(found.err.contains(w), "{w}: {}", found.err));
    }
    let there = there(&named("predictions = { 1 = \"m1\", 0 = \"m0\" }"), &rows(false));
    std::fs::write(there.path().join("r.toml"), STUDY).unwrap();
    let [by_name, by_rule] = ["s", "r"]
        .map(|s| json(there.path(), &format!("evaluate {s}.toml --policy uniform --json")));
    let value = |found: &Value| found["policies"][0]["results"][1]["value"].clone();
    close(&value(&by_name), &value(&by_rule), "actions by column and by rule");
}

#[test]
fn an_observed_support_needs_values_where_rows_are() {
    let column = "kind = \"column\"\npredictions = { treat = \"m1\", control = \"m0\" }";
    let grid = STUDY.replace("support = \"observed\"\n", "");
    for model in [column, "kind = \"table\"\npath = \"table.csv\"", "kind = \"cells\""] {
        let there = there(&grid.replace(column, model), &rows(false));
        let path = there.path();
        std::fs::write(path.join("o.toml"), STUDY.replace(column, model)).unwrap();
        // One context of ten has no rows.
        let found = run(path, "evaluate s.toml");
        assert_eq!(found.code, 2, "{model}");
        for words in ["of 10 contexts", "1 for \"treat\"", "support of observed contexts"] {
            assert!(found.err.contains(words), "{model}: {}", found.err);
        }
        let said = run(path, "check s.toml").out;
        assert!(said.contains("evaluation will refuse"), "{said}");
        let said = run(path, "check o.toml").out;
        assert!(!said.contains("evaluation will refuse") && said.contains("0 of 9"), "{said}");
        // Said in the study or typed, it is the same; and what stands in elsewhere does not matter.
        let typed = json(path, "evaluate s.toml --support observed --json");
        let own = json(path, "evaluate o.toml --json");
        alike(&typed["policies"], &own["policies"], model);
        let filled = STUDY.replace(column, &format!("{model}\nunseen = \"worst\""));
        std::fs::write(path.join("w.toml"), filled).unwrap();
        let filled = json(path, "evaluate w.toml --json");
        for k in 0..2 {
            alike(
                &filled["policies"][k]["results"],
                &json(path, "evaluate o.toml --json")["policies"][k]["results"],
                model,
            );
        }
        for command in [
            "learn s.toml --policy tree:1 --support observed --radius 0.05 --json",
            "learn o.toml --policy groups:sex --radius 0.05 --json",
        ] {
            let found = json(path, command);
            assert_eq!(found["support"], "observed");
            assert!(found["honest"]["value"].is_number(), "{model}: {found}");
        }
        assert_eq!(run(path, "radius o.toml --splits 2").code, 0, "{model}");
        assert_eq!(run(path, "report o.toml --out r.html").code, 0, "{model}");
        let page = std::fs::read_to_string(path.join("r.html")).unwrap();
        let given = page.contains("leave out the noise of the model that made them");
        assert_eq!(given, model != "kind = \"cells\"", "{model}");
        assert_ne!(given, page.contains("the outcome model refitted each time"), "{model}");
        // A target's own contexts are needed too.
        std::fs::write(path.join("known.csv"), "age,sex\n25,F\n47,M\n").unwrap();
        std::fs::write(path.join("new.csv"), "age,sex\n25,F\n35,F\n").unwrap();
        assert_eq!(run(path, "evaluate o.toml --target known.csv").code, 0, "{model}");
        let found = run(path, "evaluate o.toml --target new.csv");
        assert!(found.code == 2 && found.err.contains("of 10"), "{model}: {}", found.err);
        // Values beyond the log extend the axes; predictions go along.
        std::fs::write(path.join("beyond.csv"), "age,sex\n25,F\n85,M\n").unwrap();
        let found = run(path, "evaluate o.toml --target beyond.csv");
        assert!(found.err.contains("of 10 observed contexts"), "{model}: {}", found.err);
        assert_eq!(run(path, "evaluate w.toml --target beyond.csv").code, 0, "{model}");
    }
}

#[test]
fn where_an_observed_context_lacks_an_action_a_model_of_cells_is_refused() {
    let mut all = rows(false);
    all.retain(|r| !((60..70).contains(&r.age) && r.sex == "F" && r.arm == 1));
    let cells = STUDY.replace(
        "kind = \"column\"\npredictions = { treat = \"m1\", control = \"m0\" }",
        "kind = \"cells\"",
    );
    let there = there(&cells, &all);
    let found = run(there.path(), "evaluate s.toml");
    assert!(found.code == 2 && found.err.contains("of 9 observed contexts"), "{}", found.err);
    assert!(
        found.err.contains("1 for \"treat\"") && !found.err.contains("control"),
        "{}",
        found.err
    );
    // Predictions row by row need no row of the action.
    std::fs::write(there.path().join("s.toml"), STUDY).unwrap();
    assert_eq!(run(there.path(), "evaluate s.toml").code, 0);
}
