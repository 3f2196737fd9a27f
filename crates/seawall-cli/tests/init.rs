//! `seawall init`: what it takes a column for, what it leaves out, and what it asks for.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{Run, folder, run};
use assert_cmd::Command;
use std::fmt::Write;
use std::path::Path;

/// A table of so many rows, each column made from the row's number.
pub(crate) fn table(rows: usize, columns: &[(&str, &dyn Fn(usize) -> String)]) -> String {
    let names: Vec<&str> = columns.iter().map(|c| c.0).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..rows {
        let cells: Vec<String> = columns.iter().map(|c| c.1(row)).collect();
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    text
}

/// A number that looks drawn, from 0 to below `most`.
pub(crate) fn drawn(row: usize, column: usize, most: usize) -> usize {
    let mut x = (row * 64 + column) as u64;
    for _ in 0..3 {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        x ^= x >> 29;
    }
    (x >> 20) as usize % most
}

pub(crate) fn pick(names: &'static [&'static str], column: usize) -> impl Fn(usize) -> String {
    move |row| names[drawn(row, column, names.len())].to_owned()
}

pub(crate) fn below(most: usize, column: usize) -> impl Fn(usize) -> String {
    move |row| drawn(row, column, most).to_string()
}

/// Runs `init` in a folder; each argument as it stands.
pub(crate) fn init(folder: &Path, args: &[&str]) -> Run {
    let output = Command::cargo_bin("seawall")
        .unwrap()
        .current_dir(folder)
        .arg("init")
        .args(args)
        .output()
        .unwrap();
    Run {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The study that `init` writes for a table, which must pass `check`, and what it says.
pub(crate) fn written(csv: &str, args: &[&str]) -> (String, String) {
    let there = folder(&[("t.csv", csv.as_bytes())]);
    let found = init(there.path(), &[&["t.csv"], args].concat());
    assert_eq!((found.code, found.err.as_str()), (0, ""), "{args:?}");
    let text = std::fs::read_to_string(there.path().join("study.toml")).unwrap();
    let checked = run(there.path(), "check study.toml");
    assert_eq!((checked.code, checked.err.as_str()), (0, ""), "{text}");
    (text, found.out)
}

/// What `init` says when it refuses: on one line, and nothing is written.
fn refused(csv: &str, args: &[&str]) -> String {
    let there = folder(&[("t.csv", csv.as_bytes())]);
    let found = init(there.path(), &[&["t.csv"], args].concat());
    assert_eq!((found.code, found.out.as_str()), (2, ""), "{args:?}: {}", found.err);
    assert_eq!(found.err.trim_end().lines().count(), 1, "{}", found.err);
    assert!(!there.path().join("study.toml").exists());
    found.err
}

pub(crate) fn holds(text: &str, all: &[&str]) {
    for words in all {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
}

pub(crate) fn holds_none(text: &str, all: &[&str]) {
    for words in all {
        assert!(!text.contains(words), "{words:?} is in\n{text}");
    }
}

/// A trial whose names say nothing.
fn unnamed() -> String {
    table(
        200,
        &[
            ("place", &pick(&["n", "s", "w"], 1)),
            ("drugs", &pick(&["Lev", "Obs", "Lev5FU"], 2)),
            ("age", &below(60, 3)),
            ("status", &below(2, 4)),
        ],
    )
}

#[test]
fn what_no_name_tells_is_asked_for() {
    let csv = unnamed();
    let both = refused(&csv, &[]);
    holds(&both, &["t.csv: ", "say --action COL; could be: ", "--cost COL", "--reward COL"]);
    holds(&both, &["drugs (3 values: Lev, Lev5FU, Obs)", "status (2 values: 0, 1)", "age (59 num"]);
    let outcome = refused(&csv, &["--action", "drugs"]);
    holds(&outcome, &["--cost COL", "could be: status (2 values: 0, 1), "]);
    holds_none(&outcome, &["--action", "drugs ("]);
    let action = refused(&csv, &["--reward", "status"]);
    holds(&action, &["--action COL", "drugs (3 values"]);
    holds_none(&action, &["--cost", "status (", "age ("]);
    let (text, said) = written(&csv, &["--action", "drugs", "--cost", "status"]);
    holds(
        &text,
        &["column = \"drugs\"   # as --action says", "cost = \"status\"   # as --cost says"],
    );
    let told = "Wrote study.toml: action drugs, cost status, 2 contexts. Correct its guesses, then \
                run `seawall check study.toml`.\n";
    assert_eq!(said, told);
}

#[test]
fn at_most_twelve_candidates_are_listed() {
    let column = below(2, 1);
    let names: Vec<String> = (0..16).map(|k| format!("q{k}")).collect();
    let columns: Vec<(&str, &dyn Fn(usize) -> String)> =
        names.iter().map(|name| (name.as_str(), &column as &dyn Fn(usize) -> String)).collect();
    let found = refused(&table(30, &columns), &["--cost", "q0"]);
    holds(&found, &["q12 (2 values: 0, 1) and 3 more"]);
    holds_none(&found, &["q0 (", "q13 ("]);
}

#[test]
fn usual_names_are_known() {
    for name in ["treat", "Treated", "ARM", "rx", "group", "action", "item_id", "treatment"] {
        let columns: [(&str, &dyn Fn(usize) -> String); 3] =
            [("age", &below(60, 1)), (name, &below(3, 2)), ("clicked", &below(2, 3))];
        let (text, said) = written(&table(120, &columns), &[]);
        holds(&text, &[&format!("column = \"{name}\"   # its name says so: 0, 1, 2")]);
        holds(&text, &["reward = \"clicked\"   # its name says so: 0, 1"]);
        holds(&said, &[&format!("action {name}, reward clicked, 1 context.")]);
    }
    // Items may be many, arms may not.
    let many = |name: &'static str| {
        let columns: [(&str, &dyn Fn(usize) -> String); 3] =
            [(name, &below(49, 2)), ("sex", &below(2, 1)), ("y", &below(9, 3))];
        table(400, &columns)
    };
    let (text, _) = written(&many("item_id"), &[]);
    holds(&text, &["column = \"item_id\"", "[policy]\nkind = \"uniform\""]);
    holds(&refused(&many("arm"), &[]), &["--action COL; could be: arm (49 numbers", "sex (2 val"]);
    written(&many("arm"), &["--action", "arm"]);
    // Two that differ are asked about; one and its code are not.
    let other = |row: usize| drawn(row, 2, 2).to_string();
    let same = |row: usize| ["a", "b"][drawn(row, 2, 2)].to_owned();
    for (treat, fits) in [(&same as &dyn Fn(usize) -> String, true), (&below(2, 7), false)] {
        let csv = table(
            100,
            &[("arm", &other), ("treat", treat), ("x", &below(3, 3)), ("y", &below(5, 4))],
        );
        if fits {
            holds(&written(&csv, &[]).0, &["# treat: left out: the action under other names"]);
        } else {
            holds(&refused(&csv, &[]), &["more than one", "could be: arm (", "treat ("]);
        }
    }
    // So are a cost and a reward.
    let csv = table(
        60,
        &[("arm", &below(2, 1)), ("x", &below(3, 2)), ("y", &below(5, 3)), ("click", &below(2, 4))],
    );
    holds(&refused(&csv, &[]), &["a cost, another's that it is a reward", "click (2 v", "y (5 v"]);
    let (text, _) = written(&csv, &["--reward", "click"]);
    holds(&text, &["# y: left out: by its name an outcome too (0, 1, 2, 3, 4)"]);
}

#[test]
fn ids_dates_constants_and_names_are_left_out() {
    let day = |row: usize| format!("2020-{:02}-{:02}", 1 + row % 12, 1 + row % 28);
    let columns: [(&str, &dyn Fn(usize) -> String); 15] = [
        ("", &|row| row.to_string()),
        ("patient", &|row| (7000 + 13 * row).to_string()),
        ("user_id", &below(150, 1)),
        ("code", &|row| format!("P{row}")),
        ("site_id", &|row| (1 + drawn(row, 2, 4)).to_string()),
        ("study", &|_| "7".to_owned()),
        ("nothing", &|_| String::new()),
        ("seen", &day),
        ("born", &|row| format!("{}/{}/19{}", 1 + row % 28, 1 + row % 12, 30 + row % 60)),
        ("month", &|row| format!("{}-91", ["Jan", "Feb", "Mar"][row % 3])),
        ("words", &|row| format!("w{}", drawn(row, 3, 70))),
        ("dose", &|row| if row == 5 { "?".to_owned() } else { drawn(row, 4, 300).to_string() }),
        ("sex", &pick(&["f", "m"], 5)),
        ("arm", &pick(&["A", "B"], 6)),
        ("died", &pick(&["N", "Y"], 7)),
    ];
    let (text, said) = written(&table(400, &columns), &[]);
    holds(
        &text,
        &[
            "# \"\": left out: an id: no two rows have the same (400 numbers from 0 to 399)\n",
            "# patient: left out: an id: no two rows have the same",
            "# user_id: left out: an id by its name, with 139 values in 400 rows\n",
            "# code: left out: an id: no two rows",
            "# study: left out: always 7\n",
            "# nothing: left out: always missing\n",
            "# seen: left out: dates or times, from 2020-01-01 to 2020-12-",
            "# born: left out: dates or times",
            "# month: left out: dates or times",
            "# words: left out: 70 texts, too many to be levels\n",
            "too many to be levels (numbers but for \"?\"",
            "site_id = { kind = \"nominal\" }   # 1, 2, 3, 4\n",
            "sex = { kind = \"nominal\" }",
            "cost = { died = { Y = 1 } }   # its name says so; a number for each level",
        ],
    );
    holds(&said, &["action arm, cost died, 2 contexts, 11 columns left out (the file says why). "]);
    // A few people of different ages are no record's numbers.
    let few = "arm,age,y\na,31,1\nb,40,2\na,52,1\nb,67,0\n";
    holds(&written(few, &[]).0, &["age = { kind = \"numeric\""]);
}

#[test]
fn leaks_are_left_out() {
    let dead = |row: usize| drawn(row, 1, 5) == 0;
    let known = |row: usize| drawn(row, 2, 10) > 0;
    let or_none = |there: bool, x: usize| if there { x.to_string() } else { String::new() };
    let bill = |row: usize| 1.07f64.powi(drawn(row, 9, 200) as i32);
    let columns: [(&str, &dyn Fn(usize) -> String); 10] = [
        ("arm", &pick(&["A", "B"], 3)),
        ("age", &below(60, 4)),
        ("vital", &|row| if dead(row) { "gone" } else { "well" }.to_owned()),
        ("days_to_death", &|row| or_none(dead(row), drawn(row, 5, 90))),
        ("follow_up", &|row| or_none(known(row), drawn(row, 6, 9))),
        ("lab", &|row| or_none(drawn(row, 7, 9) > 0, drawn(row, 8, 40))),
        ("ward", &|row| if dead(row) && row % 6 > 0 { "icu" } else { "ward" }.to_owned()),
        ("died", &|row| if known(row) { u8::from(dead(row)).to_string() } else { "NA".into() }),
        ("bill", &|row| bill(row).to_string()),
        ("log_bill", &|row| (10.0 * bill(row).ln()).to_string()),
    ];
    let csv = table(600, &columns);
    let (text, _) = written(&csv, &[]);
    holds(
        &text,
        &[
            "missing = \"drop\"   # the outcome is not always known",
            "# vital: left out: a leak: it explains 100% of the variance of the outcome\n",
            "# days_to_death: left out: a leak: it is there when the outcome is not 0\n",
            "# follow_up: left out: a leak: it is missing when the outcome is\n",
            "lab = { kind = \"numeric\", bin = 5, missing = true }   # 40 numbers from 0 to 39, some missing\n",
            "ward = { kind = \"nominal\" }   # icu, ward; explains 7",
            "was it known before the action?\n",
        ],
    );
    // A copy of a skew outcome is one, though its few largest values are told apart badly.
    let (text, _) = written(&csv, &["--cost", "bill", "--context", "age,lab"]);
    holds(&text, &["log_bill", ": left out: --context names others"]);
    let (text, _) = written(&csv, &["--cost", "bill", "--drop", "vital"]);
    holds(&text, &["# log_bill: left out: a leak: it explains 9", "# vital: left out: as --drop"]);
    // What is asked for is written, with the warning.
    let (text, _) = written(&csv, &["--context", "age", "--context", "vital"]);
    holds(&text, &["vital = { kind = \"nominal\" }   # gone, well; asked for, but a leak: "]);
}

#[test]
fn kinds_follow_the_values() {
    let of = |values: &'static [&'static str], column: usize| pick(values, column);
    let columns: [(&str, &dyn Fn(usize) -> String); 8] = [
        ("arm", &below(2, 1)),
        ("y", &below(9, 2)),
        ("grade", &of(&["1", "2", "3"], 3)),
        ("tens", &of(&["10", "20", "30", "40"], 4)),
        ("visits", &of(&["0", "1", "2", "15"], 5)),
        ("half", &of(&["0", "0.5", "1"], 6)),
        ("flag", &of(&["0", "1", "NA"], 7)),
        ("age", &|row| (18 + drawn(row, 8, 70)).to_string()),
    ];
    let (text, _) = written(&table(300, &columns), &[]);
    holds(
        &text,
        &[
            "[context]   # what may differ",
            "\nscale = \"spread\"",
            "grade = { kind = \"ordinal\" }   # 1, 2, 3\n",
            "tens = { kind = \"ordinal\" }",
            "visits = { kind = \"numeric\" }   # 0, 1, 2, 15\n",
            "half = { kind = \"numeric\" }",
            "flag = { kind = \"nominal\" }   # 0, 1, some missing\n",
            "age = { kind = \"numeric\", bin = 5 }   # 69 numbers from 18 to 87\n",
        ],
    );
    let after = text.split("[context]").nth(1).unwrap().lines().nth(1).unwrap();
    assert!(after.starts_with("scale = \"spread\""), "{text}");
}

#[test]
fn propensities_and_policies_follow_the_rows() {
    let small = table(
        600,
        &[("arm", &pick(&["A", "B", "C"], 1)), ("sex", &below(2, 2)), ("y", &below(9, 3))],
    );
    let (text, _) = written(&small, &[]);
    holds(&text, &["# [propensity]", "kind = \"auto\"", "rows left out"]);
    holds_none(&text, &["\n[propensity]", "kind = \"uniform\""]);
    for name in ["A", "B", "C"] {
        holds(&text, &[&format!("kind = \"constant\"\naction = \"{name}\"\n")]);
    }
    let wide = |row: usize| ["A", "A", "B"][drawn(row, 1, 3)].to_owned();
    let cells = table(
        9000,
        &[
            ("arm", &wide),
            ("a", &below(1000, 2)),
            ("b", &below(1000, 3)),
            ("c", &below(1000, 4)),
            ("d", &below(1000, 6)),
            ("y", &below(9, 5)),
        ],
    );
    let (text, _) = written(&cells, &[]);
    holds(&text, &["\n[propensity]\nestimate = \"logistic\"   # cells hold 1."]);
    holds(&text, &["rows on average, too few for shares", "kind = \"auto\""]);
    // A column of propensities is used, however small the cells.
    let known = cells.replace("arm,a,", "arm,propensity,");
    let known: String = known
        .lines()
        .enumerate()
        .map(|(k, line)| {
            let mut cells: Vec<&str> = line.split(',').collect();
            if k > 0 {
                cells[1] = "0.5";
            }
            cells.join(",") + "\n"
        })
        .collect();
    let (text, _) = written(&known, &[]);
    holds(&text, &["propensity = \"propensity\"   # by its name"]);
    holds_none(&text, &["\n[propensity]"]);
}

#[test]
fn an_outcome_may_be_a_sum() {
    let columns: [(&str, &dyn Fn(usize) -> String); 6] = [
        ("RXASP", &pick(&["N", "Y", "NA"], 1)),
        ("AGE", &below(60, 2)),
        ("ISC14", &below(2, 3)),
        ("NK 14", &below(2, 4)),
        ("DDEAD", &|row| ["N", "Y", "", "U"][drawn(row, 5, 20).min(3)].to_owned()),
        ("SEX", &pick(&["F", "M"], 6)),
    ];
    let csv = table(300, &columns);
    let sum = "ISC14 + \"NK 14\" + 3*DDEAD=Y - 0.5*DDEAD=U";
    let (text, said) = written(&csv, &["--action", "RXASP", "--cost", sum]);
    holds(
        &text,
        &[
            "cost = { ISC14 = 1, \"NK 14\" = 1, DDEAD = { Y = 3, U = -0.5 } }   # as --cost says\n",
            "where = { RXASP = { not = [\"NA\"] } }   # the action is not always known",
            "missing = \"drop\"   # the outcome is not always known",
            "action = \"N\"\n",
            "AGE = { kind",
            "SEX = { kind",
        ],
    );
    holds_none(&text, &["action = \"NA\"", "ISC14 = {"]);
    holds(
        &said,
        &[
            "action RXASP, cost ISC14 + \"NK 14\" + 3*DDEAD=Y - 0.5*DDEAD=U, 2 contexts, rows whose outcome or action is not known left out",
        ],
    );
    let (text, _) = written(&csv, &["--action", "RXASP", "--reward", "-1 * NK 14"]);
    holds(&text, &["reward = { \"NK 14\" = -1 }   # as --reward says"]);
    let say = |cost: &str| refused(&csv, &["--action", "RXASP", "--cost", cost]);
    holds(&say("ISC15"), &["t.csv: --cost: no column named \"ISC15\"; did you mean \"ISC14\"?"]);
    holds(&say("DDEAD=y"), &["the column \"DDEAD\" has no level \"y\"", "(there are: N, U, Y)"]);
    holds(&say("DDEAD=YY"), &["did you mean \"Y\"?"]);
    holds(&say("SEX"), &["the column \"SEX\" holds no numbers", "SEX=LEVEL (there are: F, M)"]);
    holds(&say("3*"), &["expected a sum of columns like a + 3*b=Y"]);
    holds(&say("ISC14*3"), &["\"ISC14\" is no number; before * a number is expected"]);
}

#[test]
fn names_that_cannot_be_meant_are_refused() {
    let csv = unnamed();
    let good = ["--action", "drugs", "--cost", "status"];
    let with = |more: &[&'static str]| refused(&csv, &[&good[..], more].concat());
    holds(
        &refused(&csv, &["--action", "drug"]),
        &["t.csv: --action: no column named \"drug\"; did you mean \"drugs\"?"],
    );
    holds(
        &with(&["--context", "age,plaze"]),
        &["--context: no column named \"plaze\"; did you mean \"place\"?"],
    );
    holds(
        &with(&["--drop", "plaze"]),
        &["--drop: no column named \"plaze\"; did you mean \"place\"?"],
    );
    holds(&with(&["--drop", "drugs"]), &["\"drugs\" is given to --action and to --drop"]);
    holds(&with(&["--context", "status"]), &["\"status\" is given to --cost and to --context"]);
    holds(&with(&["--context", "age", "--drop", "age"]), &["given to --context and to --drop"]);
    holds(
        &refused(&csv, &["--action", "status", "--reward", "age + status"]),
        &["given to --action and to --reward"],
    );
    holds(&refused(&csv, &["--cost", "age", "--reward", "age"]), &["cannot be used with"]);
    holds(
        &refused("k,y\n1,0\n1,1\n", &["--action", "k"]),
        &["\"k\" has 1 values; expected 2 to 1000"],
    );
    let alone = table(50, &[("arm", &below(2, 1)), ("y", &below(2, 2)), ("k", &|_| "1".into())]);
    holds(
        &refused(&alone, &[]),
        &["no column is left that could be a context; left out: k (always 1)"],
    );
    holds(&refused(&alone, &["--context", "k"]), &["--context: the column \"k\" is always 1"]);
}
