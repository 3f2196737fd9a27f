//! `seawall report` of a target of which something is known, and of past groups.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run};
use std::path::Path;

const STUDY: &str = r#"[data]
path = "log.csv"

[context]
age   = { kind = "numeric", bin = 10, min = 20, max = 60 }
stage = "nominal"

[action]
column = "arm"

[outcome]
cost = "y"

[model]
kind = "tree"
max_depth = 2

[robust]
context = { set = "wasserstein", radius = 0.05 }
"#;

/// 24 sites of 40 rows, each of its own level, and one without an arm.
fn log() -> String {
    let mut text = "age,stage,arm,y,site\n".to_owned();
    for k in 0..960 {
        let (age, stage) = (20 + 10 * (k % 5), ["I", "II"][(k / 5) % 2]);
        let (arm, site) = (["a", "b"][(k / 10) % 2], k / 40);
        let y = age as f64 / 20.0 + (k % 7) as f64 / 7.0 + (site * 5 % 11) as f64 / 20.0;
        text += &format!("{age},{stage},{arm},{y:.3},s{site}\n");
    }
    text += &"30,I,a,1,alone\n".repeat(25);
    text
}

fn page(path: &Path, words: &str) -> String {
    let found = run(path, &format!("report s.toml --no-learn --splits 0 {words}"));
    assert_eq!((found.code, found.err.as_str()), (0, ""), "{words}");
    std::fs::read_to_string(path.join("report.html")).unwrap()
}

#[test]
fn a_report_draws_a_transfer_where_there_is_one() {
    let there = folder(&[("s.toml", STUDY.as_bytes()), ("log.csv", log().as_bytes())]);
    let path = there.path();
    assert!(!page(path, "").contains("id=\"transfer\""));
    let words =
        "--target-facts age:mean=45 --by site --policy uniform --policy constant:a --level 0.9";
    let shown = page(path, words);
    let said = json(path, &format!("transport s.toml {words} --json"));
    let bound = seawall_study::words::short(said["transfers"][1]["bound"].as_f64().unwrap());
    for text in [
        "From here to there",
        "Balance: matched.",
        "by rank of what past groups needed",
        "Covers shifts like those between your recorded groups (site)",
        "Groups left out: 1 without one of the actions.",
        "Beside <bdi>uniform</bdi>, in the target",
        "and 9 more that needed less: all 24",
        "--target-facts age:mean=45 --by site --least 20",
        &format!("<strong>{bound}</strong>"),
    ] {
        assert!(shown.contains(text), "{text:?} is not on the page");
    }
    // Past groups that are in a table beside the log.
    std::fs::write(path.join("past.csv"), log()).unwrap();
    assert!(page(path, "--by site --history past.csv").contains("Past groups by"));
    let over = run(path, "report s.toml --by site --history past.csv --out past.csv");
    assert_eq!(over.code, 2, "{}", over.err);
}

#[test]
fn what_cannot_be_is_told_on_the_page_or_refused() {
    let there = folder(&[("s.toml", STUDY.as_bytes()), ("log.csv", log().as_bytes())]);
    let path = there.path();
    // Past groups were asked for.
    for (words, told) in [
        ("--by site --least 4000", "no group of at least 4000 rows"),
        ("--by stage", "is a context column, too"),
        ("--by sight", "sight"),
        ("--history past.csv", "--history needs --by"),
        ("--by site --level 0.4", "expected a number above 0.5"),
    ] {
        let found = run(path, &format!("report s.toml --out r.html {words}"));
        assert_eq!((found.code, found.out.as_str()), (2, ""), "{words}");
        assert!(found.err.contains(told), "{words}: {}", found.err);
        assert!(!path.join("r.html").exists());
    }
    // A target that the log cannot be made like takes nothing from the rest of the page.
    let old = |line: &&str| line.starts_with("50") || line.starts_with("60");
    let young: Vec<String> = log().lines().filter(|l| !old(l)).map(str::to_owned).collect();
    std::fs::write(path.join("log.csv"), young.join("\n")).unwrap();
    let refused = run(path, "report s.toml --no-learn --splits 0 --target-facts age:55=1");
    assert!(refused.code == 2 && refused.err.contains("cannot be matched"), "{}", refused.err);
    let study = std::fs::read_to_string(path.join("s.toml")).unwrap();
    let extended = format!("{study}\n[target]\nbeyond = \"extend\"\n");
    std::fs::write(path.join("s.toml"), extended).unwrap();
    std::fs::write(path.join("old.csv"), "age,stage\n55,I\n55,II\n").unwrap();
    let shown = page(path, "--target old.csv");
    assert!(shown.contains("could not be worked out: <bdi>the target cannot be matched: column"));
    assert!(shown.contains("How bad it could get"));
}

#[test]
fn limits_at_the_studys_own_radii_are_those_that_evaluate_tells() {
    let study = STUDY.replace("radius = 0.05", "radius = [0.003, 0.011, 0.07]");
    let there = folder(&[("s.toml", study.as_bytes()), ("log.csv", log().as_bytes())]);
    let path = there.path();
    let words = "s.toml --policy uniform --policy constant:a";
    let found = run(path, &format!("report {words} --no-learn"));
    assert_eq!((found.code, found.err.as_str()), (0, ""));
    let page = std::fs::read_to_string(path.join("report.html")).unwrap();
    // The table to save, as a link has it.
    let table = page.split("radius,policy,worst_case,").nth(1).unwrap().replace("%3A", ":");
    let told = json(path, &format!("evaluate {words} --json"));
    for policy in told["policies"].as_array().unwrap() {
        for result in policy["results"].as_array().unwrap() {
            let start = format!("%0A{},{},", result["radius"], policy["name"].as_str().unwrap());
            let line = table.split(&start).nth(1).unwrap_or_else(|| panic!("no {start}"));
            let shown: Vec<f64> = line.split(',').take(3).map(|n| n.parse().unwrap()).collect();
            let limits = &result["limits"];
            let wanted = [&result["value"], &limits["lower"], &limits["upper"]];
            for (shown, wanted) in shown.iter().zip(wanted) {
                let apart = (shown - wanted.as_f64().unwrap()).abs();
                assert!(apart < 1e-5, "{start} {shown} on the page, {wanted} by evaluate");
            }
        }
    }
}

/// What a policy's worst case is on a page, at a radius: from the table that a link saves.
fn worst_case(page: &str, radius: &str, policy: &str) -> f64 {
    let table = page.split("radius,policy,worst_case").nth(1).unwrap();
    let start = format!("%0A{radius},{policy},");
    let line = table.split(&start).nth(1).unwrap_or_else(|| panic!("no {start}"));
    line.split([',', '%']).next().unwrap().parse().unwrap()
}

#[test]
fn a_report_takes_the_support_that_evaluate_takes() {
    let old = |line: &&str| line.starts_with("50,II,") || line.starts_with("60,II,");
    let seen: Vec<String> = log().lines().filter(|l| !old(l)).map(str::to_owned).collect();
    let there = folder(&[("s.toml", STUDY.as_bytes()), ("log.csv", seen.join("\n").as_bytes())]);
    let path = there.path();
    let mut found = Vec::new();
    for support in ["grid", "observed"] {
        let shown = page(path, &format!("--support {support} --policy uniform"));
        assert!(shown.contains(&format!("--support {support}")));
        let words = format!("evaluate s.toml --support {support} --policy uniform --splits 0");
        let told = json(path, &format!("{words} --json"));
        let value = told["policies"][0]["results"][0]["value"].as_f64().unwrap();
        assert!((worst_case(&shown, "0.05", "uniform") - value).abs() < 1e-9, "{support}");
        found.push(value);
    }
    assert!(found[0] > found[1], "{found:?}");
    // As the study file says, if it is not said otherwise.
    let study = STUDY.replace("[robust]\n", "[robust]\nsupport = \"observed\"\n");
    std::fs::write(path.join("s.toml"), study).unwrap();
    assert_eq!(worst_case(&page(path, "--policy uniform"), "0.05", "uniform"), found[1]);
}

#[test]
fn a_forecast_comes_before_anything_that_takes_long() {
    // A third column makes a grid whose worst cases take a while.
    let study = STUDY.replace("stage = \"nominal\"", "stage = \"nominal\"\nday = \"numeric\"");
    let with_day = |(k, line): (usize, &str)| match k {
        0 => format!("{line},day\n"),
        k => format!("{line},{}\n", k % 97),
    };
    let table: String = log().lines().enumerate().map(with_day).collect();
    let there = folder(&[("s.toml", study.as_bytes()), ("log.csv", table.as_bytes())]);
    let path = there.path();
    // Past groups are looked at first, and here they are too few: the forecast was said before.
    let found = run(path, "report s.toml --splits 10000 --by site --least 4000");
    let lines: Vec<&str> = found.err.lines().collect();
    assert_eq!((found.code, lines.len()), (2, 2), "{}", found.err);
    assert!(lines[0].starts_with("note: about ") && lines[0].contains("776 cells in 3 columns"));
    assert!(lines[1].starts_with("error: ") && lines[1].contains("4000 rows"), "{}", found.err);
}
