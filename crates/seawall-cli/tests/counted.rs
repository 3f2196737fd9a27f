//! A counted table gives the bytes that its rows give: whatever the order of the rows, the format of
//! the table, the weights, the spelling of numbers, what is left out and what is missing.
#![allow(clippy::unwrap_used)]

use crate::common::{DATA, STUDY, folder, run};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// A study whose rows are left out, missing, weighted, clustered and predicted for.
const EVERYTHING: &str = r#"[data]
path = "t.csv"
where = { kind = { not = ["x", 2] }, day = { min = "2020-01-02", max = "2020-03-01" }, score = { min = -1.5 } }
cluster = "ward"

[context]
dose  = { kind = "numeric", bin = 0.1, min = -0.75, max = 1.25 }
level = { kind = "ordinal" }
site  = { kind = "nominal", missing = true }
free  = { kind = "numeric", missing = 0.5 }

[action]
take  = { arm = [1, 2] }
leave = { arm = { not = [1, 2, 9] } }

[outcome]
cost = { events = 0.5, died = { Y = 3, "1" = 1 } }
missing = { died = 0 }

[model]
kind = "column"
predictions = { take = "m1", leave = "m0" }

[robust]
context = { set = "wasserstein", radius = [0, 0.05] }
support = "observed"
"#;

/// Rows from a fixed stream, in the order of `turn`.
fn everything(turn: usize) -> String {
    let mut state = 11u64;
    let mut pick = |words: &[&str]| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        words[(state >> 33) as usize % words.len()].to_owned()
    };
    let mut rows = Vec::new();
    for _ in 0..3000 {
        let cells = [
            pick(&["a", "a", "b", "x", "2.0", ""]),
            pick(&[
                "2020-01-01",
                "2020-01-02",
                "2020-02-11T10:00:00Z",
                "2020-03-01 23:59:59",
                "2020-03-02",
                "soon",
            ]),
            pick(&["0", "-1.5", "-1.6", "1e3", "NA", "7"]),
            pick(&["n", "e", "s", "w", "01", "1", "1.0"]),
            pick(&["0.3", "-0.7", "0.30", "3e-1", "1.25", "-0.75", "0.29999", "0.6", "1.2"]),
            pick(&["1", "2.0", "10", "2"]),
            pick(&["north", "south, \"old\"", "", "it's"]),
            pick(&["0.1", "NA", "", "-0", "5", "1e-3"]),
            pick(&["1", "2", "1.0", "9", "3", "", "four"]),
            pick(&["0", "1", "2.50"]),
            pick(&["Y", "N", "", "1.0"]),
            pick(&["0.1", "0.2", "0.7"]),
            pick(&["0.3", "1e-3"]),
            pick(&["0.25", "1.75", "3"]),
        ];
        rows.push(cells.map(|cell| seawall_table::write::csv_field(&cell)).join(","));
    }
    rows.rotate_left(turn);
    let mut text =
        String::from("kind,day,score,ward,dose,level,site,free,arm,events,died,m1,m0,w\n");
    rows.iter().for_each(|row| writeln!(text, "{row}").unwrap());
    text
}

/// What the commands print for a study.
fn answers(at: &Path, study: &str) -> Vec<String> {
    let commands =
        ["check", "evaluate --splits 4 --policy greedy --policy uniform", "radius --splits 3"];
    let ask = |command: &str| {
        let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
        let found = run(at, &format!("{verb} {study} --json {rest}"));
        assert_eq!((found.code, found.err.as_str()), (0, ""), "{command} {study}");
        found.out
    };
    commands.into_iter().map(ask).collect()
}

/// The study that starts from a counted table.
fn from_counts(study: &str, file: &str) -> String {
    let line = format!("path = \"{file}\"\ncounted = true");
    study.replacen("path = \"t.csv\"", &line, 1)
}

/// Counts the study's rows into both formats and asks both.
fn same_bytes(study: &str, data: &str, what: &str) {
    let at = folder(&[("s.toml", study.as_bytes()), ("t.csv", data.as_bytes())]);
    let raw = answers(at.path(), "s.toml");
    for file in ["c.csv", "c.parquet"] {
        let count = run(at.path(), &format!("count s.toml --out {file}"));
        assert_eq!((count.code, count.err.as_str()), (0, ""), "{what}");
        std::fs::write(at.path().join("s2.toml"), from_counts(study, file)).unwrap();
        let counted = answers(at.path(), "s2.toml");
        for (raw, counted) in raw.iter().zip(&counted) {
            let counted = counted.replace(file, "t.csv").replace("s2.toml", "s.toml");
            assert!(*raw == counted, "{what}, {file}");
        }
        // A counted table of a counted table is itself.
        let again = format!("again-{file}");
        let count = run(at.path(), &format!("count s2.toml --out {again}"));
        assert_eq!((count.code, count.err.as_str()), (0, ""), "{what}");
        let read = |name: &str| std::fs::read(at.path().join(name)).unwrap();
        assert!(read(file) == read(&again), "{what}, {file}");
    }
}

#[test]
fn counted_rows_give_the_same_bytes() {
    same_bytes(STUDY, DATA, "the small study");
    let data = everything(0);
    same_bytes(EVERYTHING, &data, "everything");
    let survey = EVERYTHING.replacen("cluster = \"ward\"", "survey_weight = \"w\"", 1);
    same_bytes(&survey, &data, "survey weights");
    let spread = survey.replacen("[context]", "[context]\nscale = \"spread\"", 1);
    same_bytes(&spread, &data, "the spread scale");
    let parts = "weight = { column = \"w\", fractional = true }";
    let parts = EVERYTHING.replacen("cluster = \"ward\"", parts, 1);
    same_bytes(&parts, &data, "parts of rows");
}

/// Numbers that have no levels, in any combination.
const ANYWHERE: &str = r#"[data]
path = "t.csv"
WEIGHT
[context]
SCALE
x = "numeric"
z = { kind = "numeric", missing = true }
b = { kind = "numeric", bin = 0.5 }

[action]
column = "arm"

[propensity]
design = { p = 0.5, q = 0.5 }

[outcome]
cost = "y"

[model]
kind = "tree"
max_depth = 3

[robust]
context = { set = "wasserstein", radius = 0.1 }
support = "space"
"#;

/// Contexts that recur, so many that a few megabytes do not hold them.
fn recurring() -> String {
    let (mut csv, mut state) = ("x,z,b,arm,y,w\n".to_owned(), 5u64);
    let mut draw = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % most
    };
    for _ in 0..30_000 {
        let point = draw(6000);
        let (x, b) = (point as f64 / 7.0, point as f64 / 900.0);
        let z = match point % 50 {
            0 => String::new(),
            _ => ((point * 7919 % 10_007) as f64 / 1000.0).to_string(),
        };
        let (arm, y, w) = (["p", "q"][draw(2) as usize], draw(3), draw(1000) as f64 / 1000.0);
        writeln!(csv, "{x},{z},{b},{arm},{y},{w}").unwrap();
    }
    csv
}

#[test]
fn without_a_grid_and_with_temporary_files_the_bytes_are_the_same() {
    let at = folder(&[("t.csv", recurring().as_bytes())]);
    let (spread, parts) = ("scale = \"spread\"", "weight = { column = \"w\", fractional = true }");
    // With memory that counting goes beyond, and counts do not.
    let rows_alone = ("", "", "2.5MB");
    let survey = ("survey_weight = \"w\"", spread, "4MB");
    for (weight, scale, little) in [rows_alone, survey, (parts, spread, "2.5MB")] {
        let study = ANYWHERE.replace("WEIGHT", weight).replace("SCALE", scale);
        std::fs::write(at.path().join("s.toml"), &study).unwrap();
        std::fs::write(at.path().join("s2.toml"), from_counts(&study, "c.csv")).unwrap();
        let ask = |args: &str| {
            let found = run(at.path(), args);
            assert_eq!((found.code, found.err.as_str()), (0, ""), "{args}, {weight}");
            found.out.replace("c.csv", "t.csv").replace("s2.toml", "s.toml")
        };
        ask("count s.toml --out c.csv");
        ask("count s.toml --out small.csv --memory 8.5MB");
        let read = |name: &str| std::fs::read(at.path().join(name)).unwrap();
        assert!(read("c.csv") == read("small.csv"), "{weight}");
        for command in ["check", "evaluate --policy constant:p --policy uniform"] {
            let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
            let raw = ask(&format!("{verb} s.toml --json {rest}"));
            for (file, memory) in [("s2", "4GB"), ("s2", little), ("s", little)] {
                let args = format!("{verb} {file}.toml --json {rest} --memory {memory}");
                assert!(ask(&args) == raw, "{args}, {weight}");
            }
        }
        // That files were written is seen where none can be.
        for file in ["s", "s2"] {
            let found = Command::new(assert_cmd::cargo::cargo_bin("seawall"))
                .args(["check", &format!("{file}.toml"), "--memory", little])
                .env("TMPDIR", "/nowhere")
                .current_dir(at.path())
                .output()
                .unwrap();
            assert!(
                String::from_utf8(found.stderr).unwrap().contains("/nowhere"),
                "{file}, {weight}"
            );
        }
        let found = run(at.path(), "count s.toml --out none.csv --memory 1MB");
        assert!(found.code == 2 && found.err.contains("groups and more takes"), "{}", found.err);
        assert!(found.err.contains("raise --memory") && !at.path().join("none.csv").exists());
    }
}

/// Rows at sites, in months, whose costs shift from one to the next; some of no site.
fn recorded() -> String {
    let mut state = 7u64;
    let mut draw = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % most
    };
    let mut text = String::from("age,sex,arm,died,site,day\n");
    for row in 0..3000u64 {
        let (site, age, sex) = (draw(9), 20 + draw(60), draw(2));
        let (arm, month) = (draw(2), 1 + draw(6));
        let died = u64::from(draw(100) < 10 + age / 4 + 3 * site + 5 * arm);
        let name = match (site, row % 50) {
            (_, 0) => String::new(),
            (3, _) => "\"it's, \"\"here\"\"\"".to_owned(),
            (site, _) => format!("s{site}"),
        };
        let (sex, arm) = (["F", "M"][sex as usize], ["p", "q"][arm as usize]);
        writeln!(text, "{age},{sex},{arm},{died},{name},2021-0{month}-1{site}").unwrap();
    }
    text
}

const RECORDED: &str = r#"[data]
path = "t.csv"
where = { site = { missing = false } }

[context]
age = { kind = "numeric", bin = 10 }
sex = "nominal"

[action]
column = "arm"

[propensity]
design = { p = 0.5, q = 0.5 }

[outcome]
cost = "died"

[model]
kind = "tree"
max_depth = 2

[robust]
context = { set = "wasserstein", radius = 0.1 }

[target.known]
age = { mean = 55 }
sex = { shares = { F = 0.6, M = 0.4 } }

[history]
by = "site"
"#;

#[test]
fn past_groups_are_counted_too_and_answer_the_same() {
    let at = folder(&[("s.toml", RECORDED.as_bytes()), ("t.csv", recorded().as_bytes())]);
    let ask = |args: &str| {
        let found = run(at.path(), args);
        assert_eq!((found.code, found.err.as_str()), (0, ""), "{args}");
        found.out.replace("s2.toml", "s.toml")
    };
    ask("count s.toml --out c.parquet");
    ask("count s.toml --out c.csv");
    let head = std::fs::read_to_string(at.path().join("c.csv")).unwrap();
    assert!(head.lines().next().unwrap().contains("history_site"), "{head}");
    assert!(ask("sql s.toml --dialect duckdb").contains("history_site"));
    let commands = [
        "transport STUDY --level 0.8 --json",
        "backtest STUDY --json",
        "evaluate STUDY --splits 2 --json",
    ];
    for file in ["c.csv", "c.parquet"] {
        std::fs::write(at.path().join("s2.toml"), from_counts(RECORDED, file)).unwrap();
        for command in commands {
            let raw = ask(&command.replace("STUDY", "s.toml"));
            let counted = ask(&command.replace("STUDY", "s2.toml")).replace(file, "t.csv");
            assert!(raw == counted, "{command}, {file}:\n{raw}\n{counted}");
        }
    }
    // A table without groups says what it lacks.
    let found = run(at.path(), "transport s2.toml --by day --json");
    assert!(found.code == 2 && found.err.contains("history_day"), "{}", found.err);
    // Groups beside the log are none of its rows'.
    let beside = RECORDED.replace("by = \"site\"", "by = \"ward\"\npath = \"past.csv\"");
    std::fs::write(at.path().join("s3.toml"), beside).unwrap();
    ask("count s3.toml --out c3.csv");
    let head = std::fs::read_to_string(at.path().join("c3.csv")).unwrap();
    assert!(!head.contains("history_"), "{head}");
}

#[test]
fn what_is_asked_of_past_groups_is_refused_by_name() {
    let at = folder(&[("s.toml", RECORDED.as_bytes()), ("t.csv", recorded().as_bytes())]);
    let bare = RECORDED.replace("[history]\nby = \"site\"\n", "");
    std::fs::write(at.path().join("bare.toml"), bare).unwrap();
    for (args, expected) in [
        ("transport s.toml --by sex", "--by: \"sex\" is a context column, too"),
        ("transport s.toml --least 0", "--least is 0; expected a number of rows from 1 on"),
        ("transport s.toml --half-life 3", "--half-life needs groups in time: say --in-time"),
        ("transport s.toml --by site,day --in-time", "named by one column: --by"),
        ("transport s.toml --by day --each month --half-life -1", "--half-life is -1; expected"),
        ("transport bare.toml --history t.csv", "--history needs --by"),
        ("backtest bare.toml", "no groups are recorded"),
        ("transport s.toml --by sitee", "did you mean \"site\""),
    ] {
        let found = run(at.path(), args);
        assert_eq!(found.code, 2, "{args}");
        assert!(found.err.contains(expected), "{args}: {}", found.err);
    }
}

#[test]
fn the_order_of_the_rows_does_not_matter() {
    let parts = "survey_weight = \"m1\"";
    let study = EVERYTHING.replacen("cluster = \"ward\"", parts, 1);
    let study = study.replacen("[context]", "[context]\nscale = \"spread\"", 1);
    let all: Vec<_> = [0, 1, 1234, 2999]
        .iter()
        .map(|&turn| {
            let files = [("s.toml", study.as_bytes()), ("t.csv", &*everything(turn).into_bytes())];
            let at = folder(&files);
            let count = run(at.path(), "count s.toml --out c.csv");
            assert_eq!((count.code, count.err.as_str()), (0, ""));
            let table = std::fs::read_to_string(at.path().join("c.csv")).unwrap();
            (answers(at.path(), "s.toml"), table)
        })
        .collect();
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_table_that_is_not_a_counted_one_is_refused() {
    let study = from_counts(STUDY, "c.csv");
    let whole =
        "left_out,action,context_age,context_site,outcome_events,outcome_died,propensity,n\n";
    let row = ",A,30,north,1,N,0.5,";
    let other = ",B,30,north,1,N,0.5,1\n";
    for (table, expected) in [
        (whole.replace("context_age", "age") + row + "1\n", "no column named \"context_age\""),
        (whole.replace(",n\n", "\n") + ",A,30,north,1,N,0.5\n", "no column named \"n\""),
        (whole.replace("left_out", "why") + row + "1\n", "no column named \"left_out\""),
        (whole.to_owned() + row + "-1\n", "row 1, column \"n\": -1; expected how many rows"),
        (
            whole.to_owned() + other + row + "1.5\n",
            "row 2, column \"n\": 1.5; expected how many rows",
        ),
        (whole.to_owned() + row + "0\n", "column \"n\": 0; expected"),
        (whole.to_owned() + row + "\n", "column \"n\": it is missing; expected"),
        (whole.to_owned() + row + "many\n", "column \"n\": \"many\" is not a number"),
        (whole.to_owned() + "bored" + row + "1\n", "\"bored\"; expected nothing, \"conditions\""),
        (whole.to_owned() + "two actions" + row + "1\n", "the conditions of two actions"),
        (whole.to_owned() + "another time zone" + row + "1\n", "of another zone than UTC"),
        (whole.to_owned() + &row.replace("30", "90") + "1\n", "90 is out of the range"),
        (whole.to_owned() + &row.replace("0.5", "2") + "1\n", "expected a propensity above 0"),
    ] {
        let at = folder(&[("s.toml", study.as_bytes()), ("c.csv", table.as_bytes())]);
        let found = run(at.path(), "check s.toml");
        assert_eq!(found.code, 2, "{expected}");
        assert!(found.err.contains(expected), "{}\nexpected {expected}", found.err);
    }
    let rules =
        study.replacen("column = \"arm\"\npropensity = \"p\"", "A = { x = 1 }\nB = { x = 2 }", 1);
    let table = "left_out,action,context_age,context_site,outcome_events,outcome_died,n\n,C,30,north,1,N,1\n";
    let at = folder(&[("s.toml", rules.as_bytes()), ("c.csv", table.as_bytes())]);
    let found = run(at.path(), "check s.toml");
    assert!(found.err.contains("\"C\" is none of the study's actions A, B"), "{}", found.err);
}

#[test]
fn a_counted_table_may_come_in_pieces() {
    let at = folder(&[("s.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let raw = answers(at.path(), "s.toml");
    assert_eq!(run(at.path(), "count s.toml --out c.csv").code, 0);
    let table = std::fs::read_to_string(at.path().join("c.csv")).unwrap();
    let (head, rows) = table.split_once('\n').unwrap();
    std::fs::create_dir(at.path().join("parts")).unwrap();
    let mut pieces = [format!("{head}\n"), format!("{head}\n")];
    for (k, row) in rows.lines().enumerate() {
        pieces[k % 2].push_str(&format!("{row}\n"));
    }
    pieces.iter().enumerate().for_each(|(k, piece)| {
        std::fs::write(at.path().join(format!("parts/{k}.csv")), piece).unwrap();
    });
    std::fs::write(at.path().join("s2.toml"), from_counts(STUDY, "parts")).unwrap();
    let told = answers(at.path(), "s2.toml").into_iter();
    let files = "\"parts/0.csv\",\"parts/1.csv\"";
    assert!(told.map(|t| t.replace(files, "\"t.csv\"")).eq(raw.into_iter()));
}

#[test]
fn what_cannot_be_written_or_asked_is_refused() {
    let at = folder(&[("s.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let fails = |args: &str, expected: &str| {
        let found = run(at.path(), args);
        assert_eq!(found.code, 2, "{args}");
        assert!(found.err.contains(expected), "{args}: {}", found.err);
    };
    fails("count s.toml --out counts.txt", "written as .parquet or .csv");
    fails("count s.toml --out t.csv", "it is the file that is read");
    fails("count s.toml --out no/such/c.csv", "cannot be written");
    fails("sql s.toml --dialect oracle", "ansi, duckdb, postgres, spark, bigquery, snowflake");
    std::fs::write(at.path().join("s2.toml"), from_counts(STUDY, "c.csv")).unwrap();
    fails("sql s2.toml", "a query is for rows that are not counted yet");
    // Nothing is left behind by a count that fails.
    std::fs::write(at.path().join("t.csv"), DATA.replace("0.75", "7.5")).unwrap();
    fails("count s.toml --out c.csv", "expected a propensity");
    assert!(!at.path().join("c.csv").exists());
    let names = std::fs::read_dir(at.path()).unwrap().count();
    assert_eq!(names, 3);
}

#[test]
fn a_query_names_the_file_or_what_it_is_told() {
    let at = folder(&[("s.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let query = |more: &str| run(at.path(), &format!("sql s.toml {more}")).out;
    assert!(query("").contains("FROM \"t\"\n"));
    assert!(query("--dialect spark").contains("FROM `t`\n"));
    assert!(query("--table logs.visits").contains("FROM logs.visits\n"));
}
