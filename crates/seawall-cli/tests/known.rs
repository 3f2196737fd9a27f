//! Worst cases given what is known of a target: the set `couplings`, worst cases and policies from the log
//! made like it, and what is refused.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run, shared};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const KNOWN: &str = "--target-facts sex:F=0.6,M=0.4 --target-facts age:mean=76";

/// The demo, in a folder of its own.
fn demo() -> (TempDir, PathBuf) {
    let there = folder(&[]);
    assert_eq!(run(there.path(), "demo --folder d").code, 0);
    let path = there.path().join("d");
    (there, path)
}

/// A study of two nominal columns, the second with a level that nobody has, and a twin of the first.
const SMALL: &str = r#"[data]
path = "t.csv"
[context]
sex  = "nominal"
site = { kind = "nominal", levels = ["north", "south", "east"] }
twin = "nominal"
[action]
column = "arm"
[outcome]
cost = "y"
[model]
kind = "tree"
max_depth = 2
[propensity]
design = { a = 0.5, b = 0.5 }
[[policy]]
kind = "uniform"
"#;

fn rows() -> String {
    let mut text = "sex,site,twin,arm,y\n".to_owned();
    for k in 0..800usize {
        let (sex, site) = (["F", "M"][(k / 3) % 2], ["north", "south"][(k / 7) % 2]);
        let y = usize::from(sex == "F") * usize::from(site == "south") * 2 + (k % 5) / 4;
        text += &format!("{sex},{site},{sex},{},{y}\n", ["a", "b"][k % 2]);
    }
    text
}

fn small(more: &str) -> TempDir {
    let (study, rows) = (format!("{SMALL}{more}"), rows());
    folder(&[("study.toml", study.as_bytes()), ("t.csv", rows.as_bytes())])
}

fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or_else(|| panic!("{of} is no number"))
}

/// A policy's worst cases.
fn values(found: &Value, policy: usize) -> Vec<f64> {
    let results = found["policies"][policy]["results"].as_array().unwrap();
    results.iter().map(|r| number(&r["value"])).collect()
}

/// Refused before any number, in these words.
fn refused(path: &Path, args: &str, told: &[&str]) {
    let found = run(path, args);
    assert_eq!((found.code, found.out.as_str()), (2, ""), "{args}: {}", found.err);
    for words in told {
        assert!(found.err.contains(words), "{args}: {}", found.err);
    }
}

#[test]
fn without_a_radius_it_is_as_bad_as_at_any_and_what_transfer_says() {
    let (_there, path) = demo();
    let study = format!("evaluate study.toml {KNOWN} --splits 0 --no-compare --json --set");
    let none = json(&path, &format!("{study} couplings"));
    let some = json(&path, &format!("{study} couplings --radius 0,0.01,0.1,50"));
    let start = json(&path, &format!("{study} wasserstein --radius 0"));
    let bound = json(&path, &format!("transport study.toml {KNOWN} --method couplings --json"));
    assert!(none["policies"][0]["results"][0]["radius"].is_null());
    assert!(none["policies"][0]["radii"]["saturation"].is_null());
    assert_eq!(none["balance"]["status"], "matched");
    let theirs = &bound["transfers"][0]["balance"];
    assert_eq!(none["balance"]["columns"][1]["before"], theirs["columns"][1]["before"]);
    let rows = |balance: &Value| number(&balance["effective_rows"]["treat"]);
    assert!((rows(&none["balance"]) - rows(theirs)).abs() < 1e-6);
    let columns = none["balance"]["columns"].as_array().unwrap();
    assert!(columns.iter().all(|c| number(&c["after"]).abs() < 1e-6), "{columns:?}");
    for (k, policy) in none["policies"].as_array().unwrap().iter().enumerate() {
        let (all, within, centre) = (values(&none, k)[0], values(&some, k), values(&start, k)[0]);
        assert!(within.windows(2).all(|w| w[0] <= w[1] + 1e-9), "{within:?}");
        assert!(centre <= within[0] + 1e-9 && within[0] < within[2], "{centre} {within:?}");
        // With so large a radius all couplings are within it.
        assert!((within[3] - all).abs() < 1e-8, "{within:?} {all}");
        let result = &policy["results"][0];
        assert!(number(&result["upper"]) - number(&result["lower"]) < 1e-8);
        assert_eq!(result["status"], "optimal");
        let own = &bound["transfers"][k];
        assert_eq!(own["policy"], policy["name"]);
        assert!((all - centre - number(&own["allowance"]["couplings"])).abs() < 1e-9);
        let there = &policy["target"];
        assert!((number(&there["dr"]["value"]) - number(&own["centre"])).abs() < 1e-12);
        assert!((number(&there["dr"]["se"]) - number(&own["se"])).abs() < 1e-12);
        assert!(there["dm"].is_null() && there["odds"].is_null() && there.get("dm").is_none());
        assert!(number(&there["effective_rows"]) > 30.0);
    }
}

#[test]
fn differences_and_limits_start_from_the_balanced_log() {
    let (_there, path) = demo();
    let policies = "--policy constant:treat --policy constant:control";
    for set in ["couplings", "couplings --radius 0.05", "wasserstein --radius 0.05"] {
        let words = format!("evaluate study.toml {KNOWN} {policies} --splits 3 --set {set}");
        let found = json(&path, &format!("{words} --json"));
        let pair = &found["comparisons"][0];
        let dr = |k: usize| number(&found["policies"][k]["target"]["dr"]["value"]);
        let apart = number(&pair["target"]["dr"]["value"]);
        assert!((apart - (dr(0) - dr(1))).abs() < 1e-9, "{set}");
        let at = &pair["results"][0];
        assert!(number(&at["worst"]) >= number(&at["best"]) - 1e-12, "{set}");
        // What one population makes of both is no more than what two make of each.
        let [a, b] = [values(&found, 0)[0], values(&found, 1)[0]];
        assert!(number(&at["worst"]) >= a - b - 1e-9, "{set}");
        let result = &found["policies"][0]["results"][0];
        let (low, high) = (&result["limits"]["lower"], &result["limits"]["upper"]);
        assert!(number(low) <= a && a <= number(high), "{set}: {result}");
        let told = run(&path, &words);
        assert_eq!(told.code, 0, "{}", told.err);
        let (balance, first) = (told.out.find("Balance: matched."), told.out.find("Verdict"));
        assert!(balance.unwrap() < first.unwrap(), "{}", told.out);
        assert_eq!(told.out.contains("no radius"), set == "couplings", "{}", told.out);
        assert!(!told.out.contains("inf"), "{}", told.out);
        let full = run(&path, &format!("{words} --details"));
        assert!(full.out.contains("In the target") && !full.out.contains(" inf"), "{}", full.out);
    }
}

#[test]
fn the_curve_and_populations_work() {
    let (_there, path) = demo();
    let words = "evaluate study.toml --policy constant:treat --set couplings --splits 0";
    let out = "--curve c.csv --worst w.csv";
    let found = json(&path, &format!("{words} {KNOWN} {out} --json"));
    let result = &found["policies"][0]["results"][0];
    let curve = std::fs::read_to_string(path.join("c.csv")).unwrap();
    let last: f64 = curve.lines().last().unwrap().split(',').nth(3).unwrap().parse().unwrap();
    assert!((last - number(&result["value"])).abs() < 1e-7, "{last} {result}");
    // The worst population meets what is known.
    let (mut women, mut all) = (0.0, 0.0);
    let text = std::fs::read_to_string(path.join("w.csv")).unwrap();
    let sex = text.lines().next().unwrap().split(',').position(|c| c == "sex").unwrap();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let mass: f64 = cells.last().unwrap().parse().unwrap();
        women += if cells[sex] == "F" { mass } else { 0.0 };
        all += mass;
    }
    assert!((all - 1.0).abs() < 1e-9 && (women - 0.6).abs() < 1e-8, "{women} {all}");
}

#[test]
fn a_radius_that_is_too_small_is_refused_and_the_offered_one_works() {
    let there = small("");
    let east = "--target-facts site:north=0.3,south=0.5,east=0.2";
    let words = format!("evaluate study.toml --splits 0 --set couplings {east}");
    let found = run(there.path(), &format!("{words} --radius 0.01"));
    assert_eq!((found.code, found.out.as_str()), (2, ""), "{}", found.err);
    let offered = found.err.trim().rsplit(' ').next().unwrap();
    assert!(found.err.contains("--radius is 0.01") && offered == "0.2", "{}", found.err);
    let works = json(there.path(), &format!("{words} --radius {offered} --json"));
    assert_eq!(works["balance"]["status"], "matched in part");
    assert!((number(&works["balance"]["unseen"]) - 0.2).abs() < 1e-9);
    let more = json(there.path(), &format!("{words} --json"));
    assert!(values(&more, 0)[0] >= values(&works, 0)[0] - 1e-9);
    let notes = works["diagnostics"]["notes"].to_string();
    assert!(notes.contains("in part only"), "{notes}");
}

#[test]
fn radii_by_column_are_limits() {
    let by = |radius: &str| {
        let there = small(&format!(
            "[robust]\ncontext = {{ set = \"couplings\"{radius} }}\n\
             [target.known]\nsite = {{ shares = {{ north = 0.4, south = 0.6 }} }}\n"
        ));
        json(there.path(), "evaluate study.toml --splits 0 --json")
    };
    let none = by("");
    let value = |radius: &str| values(&by(&format!(", radius = {radius}")), 0)[0];
    let fixed = value("{ sex = 0, site = 0, twin = 0 }");
    let some = value("{ sex = 0.1, site = 0 }");
    assert!((fixed - value("0")).abs() < 1e-9, "nobody moves either way");
    assert!(fixed < some - 1e-3 && some < values(&none, 0)[0] - 1e-3, "{fixed} {some}");
    assert!((value("{ twin = 0 }") - values(&none, 0)[0]).abs() < 1e-9, "the twin does not matter");
    let told = by(", radius = { sex = 0.1 }");
    let result = &told["policies"][0]["results"][0];
    assert!(result["radius"].is_null());
    assert_eq!(result["column_radii"], serde_json::json!({"sex": 0.1}));
    // A list is as ever, and options replace what the study says.
    assert_eq!(values(&by(", radius = [0, 0.1]"), 0).len(), 2);
    let there = small(
        "[robust]\ncontext = { set = \"couplings\", radius = { sex = 0.1 } }\n\
         [target.known]\nsite = { shares = { north = 0.4, south = 0.6 } }\n",
    );
    let found = json(there.path(), "evaluate study.toml --splits 0 --radius 0 --json");
    assert!((values(&found, 0)[0] - fixed).abs() < 1e-9);
    let shown = run(there.path(), "evaluate study.toml --splits 0");
    assert!(shown.out.contains("by column"), "{}{}", shown.out, shown.err);
    refused(there.path(), "evaluate study.toml --set wasserstein", &["--radius is missing"]);
}

#[test]
fn what_cannot_be_is_refused() {
    for (robust, told) in [
        (
            "context = { set = \"couplings\", radius = { sexx = 0.1 } }",
            "line 19: \"robust.context.radius.sexx\": \"sexx\" is not one of the study's context columns; did you mean \"sex\"?",
        ),
        (
            "context = { set = \"couplings\", radius = { sex = -1 } }",
            "-1; expected a finite number ≥ 0",
        ),
        ("context = { set = \"couplings\", radius = {} }", "at least one column"),
        ("context = { set = \"couplings\", radius = -0.1 }", "expected a finite number ≥ 0"),
        ("context = { set = \"wasserstein\" }", "\"robust.context.radius\" is missing"),
        (
            "context = { set = \"wasserstein\", radius = { sex = 0.1 } }",
            "expected a number or a list",
        ),
        ("cost = { set = \"couplings\" }", "couplings is a set of contexts"),
    ] {
        let there = small(&format!("[robust]\n{robust}\n"));
        refused(there.path(), "evaluate study.toml", &[told]);
    }
    let there = small("");
    let path = there.path();
    let nothing = ["--set is couplings", "nothing is known", "--target-facts", "[target.known]"];
    refused(path, "evaluate study.toml --set couplings", &nothing);
    refused(path, "learn study.toml --policy tree:1 --set couplings", &nothing);
    let known = "--target-facts site:north=0.4,south=0.6";
    for (words, told) in [
        (
            "evaluate study.toml --outcome-set couplings",
            "--outcome-set is couplings, a set of contexts",
        ),
        ("evaluate study.toml --set couplings --by sex", "--by is \"sex\", but what is known"),
        ("evaluate study.toml --radius 0.1 --bounds 0.05", "--bounds is for the log's own"),
        ("evaluate study.toml --set couplings --support space", "--support is the whole space"),
        ("evaluate study.toml --set couplings --radius inf", "--radius is inf"),
        ("learn study.toml --policy softmax --set couplings", "--set is couplings"),
        (
            "learn study.toml --policy groups:sex --method bsgd --set couplings",
            "--set is couplings",
        ),
        ("learn study.toml --policy tree:1 --set couplings --support space", "--set is couplings"),
    ] {
        refused(path, &format!("{words} {known}"), &[told]);
    }
    // The twin is the sex in everybody: they cannot go apart, and both are named.
    let clash = "--target-facts sex:F=0.9,M=0.1 --target-facts twin:F=0.1,M=0.9";
    for command in ["evaluate", "check", "learn --policy tree:1"] {
        let words = format!("{command} study.toml {clash}");
        refused(path, &words, &["cannot be matched", "\"sex\"", "\"twin\""]);
    }
}

#[test]
fn check_tells_the_balance() {
    let there = small("");
    let words = "check study.toml --target-facts site:north=0.4,south=0.6";
    let found = json(there.path(), &format!("{words} --json"));
    assert_eq!(found["balance"]["status"], "matched");
    assert!(run(there.path(), words).out.contains("Balance: matched."));
    assert!(json(there.path(), "check study.toml --json").get("balance").is_none());
}

#[test]
fn a_sample_gives_its_margins() {
    let there = small("");
    let mut sample = "sex,site,twin\n".to_owned();
    for k in 0..200 {
        let (sex, site) = (["F", "M"][k % 2], ["north", "south"][k % 5 / 2 % 2]);
        sample += &format!("{sex},{site},{sex}\n");
    }
    std::fs::write(there.path().join("s.csv"), sample).unwrap();
    let words = "evaluate study.toml --splits 0 --set couplings --json";
    let found = json(there.path(), &format!("{words} --target s.csv"));
    let known = "--target-facts sex:F=0.5,M=0.5 --target-facts twin:F=0.5,M=0.5 --target-facts site:north=0.6,south=0.4";
    let facts = json(there.path(), &format!("{words} {known}"));
    // Couplings of the same margins are the same, whatever they were told by.
    assert!((values(&found, 0)[0] - values(&facts, 0)[0]).abs() < 1e-9);
    assert!(found.get("balance").is_none() && found["policies"][0]["target"]["odds"].is_object());
}

#[test]
fn groups_and_trees_are_learned_under_couplings() {
    let (_there, path) = demo();
    for spec in ["tree:1", "groups:sex"] {
        let words = format!("learn study.toml --policy {spec} --set couplings {KNOWN}");
        let found = json(&path, &format!("{words} --out p.json --json"));
        assert!(found["radius"].is_null() && found["set"] == "couplings");
        assert_eq!(found["balance"]["status"], "matched");
        assert_eq!(found["status"], "optimal");
        let value = number(&found["value"]);
        assert!(number(&found["greedy_floor"]) <= value + 1e-9, "{found}");
        assert!(number(&found["honest"]["value"]).is_finite(), "{found}");
        // Evaluate makes the same of it, and it is no worse than either constant.
        let policies = "--policy p.json --policy constant:treat --policy constant:control";
        let words = format!("evaluate study.toml {policies} --set couplings {KNOWN}");
        let all = json(&path, &format!("{words} --splits 0 --no-compare --json"));
        assert!((values(&all, 0)[0] - value).abs() < 1e-6, "{spec}");
        assert!((1..3).all(|k| values(&all, k)[0] >= value - 1e-6), "{spec}");
    }
    let words = "learn study.toml --policy tree:1 --against constant:control --no-honest";
    let found = json(&path, &format!("{words} --set couplings --radius 0.05 {KNOWN} --json"));
    assert_eq!(found["radius"], 0.05);
    assert!(number(&found["value"]) <= 1e-9, "the baseline itself is a tree: {found}");
    let told = run(&path, &format!("{words} --set couplings {KNOWN}"));
    assert!(told.out.contains("over all couplings of what is known"), "{}{}", told.out, told.err);
}

#[test]
fn the_stroke_trial_given_all_margins_of_the_uk() {
    let Some(_) = shared("data/ist/IST_corrected.csv.gz") else { return };
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let block = run(&studies, "describe ist-uk.toml").out;
    let text = std::fs::read_to_string(studies.join("ist-uk.toml")).unwrap();
    let (from, to) = (text.find("[target]").unwrap(), text.find("[context]").unwrap());
    let context = text[to..].replace(
        "AGE    = { kind = \"numeric\", bin = 10 }",
        "AGE = { kind = \"numeric\", bin = 10, min = 10, max = 100 }",
    );
    let data = studies.join("../../shared/data/ist/IST_corrected.csv.gz");
    let study = format!("{}{context}\n{block}", &text[..from]);
    let study = study.replace("../../shared/data/ist/IST_corrected.csv.gz", data.to_str().unwrap());
    let there = folder(&[("uk.toml", study.as_bytes())]);
    let words = "evaluate uk.toml --splits 0 --no-compare --json --set";
    let none = json(there.path(), &format!("{words} couplings"));
    let some = json(there.path(), &format!("{words} couplings --radius 0.05"));
    assert!(values(&none, 0)[0] >= values(&some, 0)[0] - 1e-9);
    let bound = json(there.path(), "transport uk.toml --method couplings --json");
    let start = json(there.path(), &format!("{words} wasserstein --radius 0"));
    let slack = values(&none, 0)[0] - values(&start, 0)[0];
    assert!((slack - number(&bound["transfers"][0]["allowance"]["couplings"])).abs() < 1e-9);
    let result = &none["policies"][0]["results"][0];
    assert!(number(&result["upper"]) - number(&result["lower"]) < 1e-8, "{result}");
}
