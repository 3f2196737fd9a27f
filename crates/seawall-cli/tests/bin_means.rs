//! The mean of a binned column is that of its numbers, not of the middles of its bins.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run};
use serde_json::Value;
use std::fmt::Write;
use tempfile::TempDir;

const STUDY: &str = r#"[data]
path = "t.csv"
[context]
z   = { kind = "numeric", bin = 10 }
sex = "nominal"
[action]
column = "arm"
[propensity]
design = { a = 0.5, b = 0.5 }
[outcome]
cost = "y"
[[policy]]
kind = "uniform"
[history]
by = "site"
"#;

/// z is 0, 10 or 20, seven in ten being 0, and every number is the least of its bin; but in the last sites,
/// where it is the middle.
fn rows(sites: usize) -> String {
    let mut text = "z,sex,arm,y,site\n".to_owned();
    for k in 0..200 * sites {
        let site = k % sites;
        let level = [0, 0, 0, 0, 0, 0, 0, 10, 10, 20][(k / sites) % 10];
        let z = level + if site > 5 { 5 } else { 0 };
        let (sex, arm) = (["F", "M"][(k / 3) % 2], ["a", "b"][(k / 11) % 2]);
        let y = level as f64 / 10.0 + ((k * 37) % 23) as f64 / 23.0;
        writeln!(text, "{z},{sex},{arm},{y},s{site}").unwrap();
    }
    text
}

fn there(rows: &str) -> TempDir {
    folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", rows.as_bytes())])
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn dr(found: &Value) -> f64 {
    number(&found["policies"][0]["nominal"]["dr"]["value"])
}

fn known(there: &TempDir, study: &str, mean: &str) -> Value {
    json(
        there.path(),
        &format!("evaluate {study} --target-facts z:mean={mean} --radius 0 --splits 0 --json"),
    )
}

#[test]
fn a_known_mean_is_one_of_the_numbers() {
    let there = there(&rows(6));
    let plain = json(there.path(), "evaluate study.toml --radius 0 --splits 0 --json");
    let own = known(&there, "study.toml", "4");
    let column = &own["balance"]["columns"][0];
    // 4 is what the rows have: nothing is weighed anew, and nothing moves.
    assert!(number(&column["before"]).abs() < 1e-9, "{column}");
    let there_dr = number(&own["policies"][0]["target"]["dr"]["value"]);
    assert!((there_dr - dr(&plain)).abs() < 1e-3, "{own}");
    // The middles of the bins begin at 5; the numbers do not.
    let less = known(&there, "study.toml", "2");
    let fact = &less["balance"]["facts"][0];
    assert!(
        (number(&fact["before"]) - 4.0).abs() < 1e-9 && (number(&fact["after"]) - 2.0).abs() < 1e-6
    );
    // By the standard deviation of the numbers: the square root of (2·100 + 400)/10 − 16.
    let apart = number(&less["balance"]["columns"][0]["before"]);
    assert!((apart + 2.0 / 44f64.sqrt()).abs() < 1e-9, "{apart}");
    let refused = run(there.path(), "evaluate study.toml --target-facts z:mean=21");
    assert!(
        refused.code == 2 && refused.err.contains("from 0 to 20, which is what the log has"),
        "{}",
        refused.err
    );
}

#[test]
fn a_description_has_the_mean_and_the_deviation_of_the_numbers() {
    let there = there(&rows(6));
    for asked in ["describe study.toml", "describe study.toml --target t.csv"] {
        let found = json(there.path(), &format!("{asked} --means --json"));
        let z = &found["target"]["known"]["z"];
        assert_eq!((number(&z["mean"]), number(&z["sd"])), (4.0, 6.633), "{asked}: {found}");
    }
    // A target's own numbers, wherever they are in the bins.
    let shifted = rows(6).replace("\n0,", "\n7,");
    std::fs::write(there.path().join("shifted.csv"), shifted).unwrap();
    let found = json(there.path(), "describe study.toml --target shifted.csv --means --json");
    assert_eq!(number(&found["target"]["known"]["z"]["mean"]), 8.9, "{found}");
}

#[test]
fn a_counted_table_tells_what_is_in_the_bins() {
    let text = rows(9);
    let there = there(&text);
    let path = there.path();
    assert_eq!(run(path, "count study.toml --out c.csv").code, 0);
    let table = std::fs::read_to_string(path.join("c.csv")).unwrap();
    assert!(table.starts_with("left_out,action,context_z,mean_z,sd_z,context_sex,"), "{table}");
    let counted = STUDY.replace("\"t.csv\"", "\"c.csv\"\ncounted = true");
    std::fs::write(path.join("counted.toml"), &counted).unwrap();
    for asked in [
        "evaluate FILE --target-facts z:mean=3.5 --radius 0,0.1 --set couplings --json --splits 0",
        "describe FILE --means --json",
        "transport FILE --target-facts z:mean=3.5 --json",
    ] {
        let of = |study: &str| {
            let mut found = run(path, &asked.replace("FILE", study)).out;
            for name in ["c.csv", "counted.toml", "t.csv", "study.toml"] {
                found = found.replace(name, "-");
            }
            found
        };
        let without_times = |text: String| -> Value {
            let mut found: Value =
                serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
            found.as_object_mut().unwrap().remove("diagnostics");
            found
        };
        assert_eq!(without_times(of("study.toml")), without_times(of("counted.toml")), "{asked}");
    }
    // Without them a bin counts as its middle, and a note says so where that matters.
    let bare: String = table
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{}\n", cells[..3].join(","), cells[5..].join(","))
        })
        .collect();
    std::fs::write(path.join("c.csv"), bare).unwrap();
    let found =
        json(path, "evaluate counted.toml --target-facts z:mean=9 --radius 0 --splits 0 --json");
    assert!((number(&found["balance"]["facts"][0]["before"]) - 9.0).abs() < 1e-9, "{found}");
    assert!(found.to_string().contains("each bin counts as its middle"), "{found}");
    let found = json(
        path,
        "evaluate counted.toml --target-facts sex:F=0.5,M=0.5 --radius 0 --splits 0 --json",
    );
    assert!(!found.to_string().contains("as its middle"));
    // A mean that no number of the bin has is told by row.
    std::fs::write(path.join("c.csv"), table.replacen(",0,0,0,", ",0,12,0,", 1)).unwrap();
    let refused = run(path, "check counted.toml");
    assert!(
        refused.code == 2
            && refused
                .err
                .contains("column \"mean_z\": 12; expected the mean of numbers from 0 to 10"),
        "{}",
        refused.err
    );
}

/// A past group is predicted with the mean that it really has, and by rows that stand for their own numbers.
#[test]
fn past_groups_have_means_of_their_own() {
    let predicted = |sites: usize| {
        let there = there(&rows(sites));
        let found = json(there.path(), "transport study.toml --target-facts z:mean=4 --json");
        let groups = found["transfers"][0]["groups"].as_array().unwrap().clone();
        let of = |name: &str| {
            let group = groups.iter().find(|g| g["group"] == name).unwrap();
            (number(&group["predicted"]), number(&group["real"]))
        };
        (of("s0"), groups.len(), groups.iter().find(|g| g["group"] == "s8").cloned())
    };
    // All groups are alike: a group's mean is the others' mean, so nothing is weighed anew.
    let ((predicted_there, real), count, _) = predicted(6);
    assert_eq!(count, 6);
    assert!((predicted_there - real).abs() < 0.15, "{predicted_there} {real}");
    // The last three have numbers that are higher by 5 and outcomes as the others: known by their means
    // they are taken for groups of more at 10 and 20, which cost more.
    let (_, count, last) = predicted(9);
    assert_eq!(count, 9);
    let last = last.unwrap();
    assert!(number(&last["predicted"]) > number(&last["real"]) + 0.15, "{last}");
}
