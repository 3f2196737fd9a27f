//! `seawall init` on odd names, tables as they are released, and columns that tell the action.

use crate::common::{folder, run, shared};
use crate::init::*;
use std::path::Path;
use tempfile::TempDir;

#[test]
fn odd_names_are_written_so_that_they_are_read() {
    let columns: [(&str, &dyn Fn(usize) -> String); 5] = [
        ("\"the \"\"arm\"\", #1\"", &pick(&["a b", "\"c,d\"", "é"], 1)),
        ("scale", &below(5, 2)),
        ("größe", &below(2, 3)),
        ("a.b", &pick(&["[x]", "y = 1", "#"], 4)),
        ("y + z", &below(9, 5)),
    ];
    let csv = table(150, &columns);
    let (text, _) = written(&csv, &["--action", "the \"arm\", #1", "--cost", "y + z"]);
    holds(&text, &["column = \"the \\\"arm\\\", #1\"", "\"größe\" = {", "\"a.b\" = {"]);
    holds(&text, &["scale = { kind = \"ordinal\" }", "cost = \"y + z\"", "action = \"c,d\""]);
    holds_none(&text, &["scale = \"spread\""]);
}

#[test]
fn a_trial_as_it_was_released() {
    let Some(data) = shared("data/ist/IST_corrected.csv.gz") else { return };
    let there = TempDir::new().unwrap();
    let data = data.to_str().unwrap();
    let asked = init(there.path(), &[data]);
    assert!(asked.code == 2 && asked.err.contains("--action COL; could be: "), "{}", asked.err);
    let made =
        init(there.path(), &[data, "--action", "RXASP", "--cost", "ISC14 + NK14 + 3*DDEAD=Y"]);
    assert_eq!((made.code, made.err.as_str()), (0, ""));
    let text = std::fs::read_to_string(there.path().join("study.toml")).unwrap();
    holds(
        &text,
        &[
            "cost = { ISC14 = 1, NK14 = 1, DDEAD = { Y = 3 } }",
            "# DDEADD: left out: a leak: it is there when the outcome's part DDEAD is not 0",
            "estimate = \"logistic\"",
        ],
    );
}

#[test]
fn help_shows_every_option() {
    let help = run(Path::new("."), "init --help");
    holds(&help.out, &["--action RXASP", "--cost 'ISC14 + NK14 + 3*DDEAD=Y'", "--reward bought"]);
    holds(&help.out, &["--context age,region,tenure", "--drop session,page", "--out colon.toml"]);
}

#[test]
fn a_column_that_tells_the_action_is_left_out_and_warned_of() {
    let income = |row: usize| (drawn(row, 3, 5) * drawn(row, 4, 400)).to_string();
    let insured = |row: usize| income(row).parse::<usize>().unwrap() > 0;
    let csv = table(
        600,
        &[
            ("any", &|row| if insured(row) { "yes" } else { "no" }.to_owned()),
            ("tinc", &income),
            ("plan", &|row| match (insured(row), drawn(row, 5, 2)) {
                (true, 0) => "gold".to_owned(),
                (true, _) => "silver".to_owned(),
                (false, _) => "none".to_owned(),
            }),
            ("sex", &pick(&["F", "M"], 6)),
            ("age", &below(60, 7)),
            ("y", &below(1000, 8)),
        ],
    );
    let (text, _) = written(&csv, &["--action", "any", "--cost", "y"]);
    holds(
        &text,
        &[
            "# tinc: left out: it tells the action of 100% of rows, by a threshold between 0 and ",
            "# plan: left out: it tells the action of 100% of rows: no overlap\n",
            "\nsex = {",
            "\nage = {",
        ],
    );
    holds_none(&text, &["\ntinc = {", "\nplan = {"]);
    // Where it is asked for, the study says so, and so do check and evaluate.
    let there = folder(&[("t.csv", csv.as_bytes())]);
    let asked = ["t.csv", "--action", "any", "--cost", "y", "--context", "tinc,sex"];
    assert_eq!(init(there.path(), &asked).code, 0);
    let text = std::fs::read_to_string(there.path().join("study.toml")).unwrap();
    holds(&text, &["asked for, but it tells the action of 100% of rows"]);
    // In a bin people with no income and with little of it would be alike.
    let line = text.lines().find(|line| line.starts_with("tinc = {")).unwrap();
    let plain = text.replace(line, "tinc = { kind = \"numeric\" }");
    std::fs::write(there.path().join("study.toml"), plain).unwrap();
    for words in ["check study.toml", "evaluate study.toml --splits 0"] {
        let found = run(there.path(), words);
        assert_eq!(found.code, 0, "{}", found.err);
        let told = found.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let note = "no overlap: the context column \"tinc\" tells the action of 100.0% of rows";
        assert!(told.contains(note), "{words}: {}", found.out);
        assert!(!told.contains("\"sex\" tells the action"), "{words}");
    }
}
