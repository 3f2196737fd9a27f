//! `seawall sensitivity`: the same policies under every set, at radii that cover the same.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use crate::common::{folder, json, run};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

pub(crate) const STUDY: &str = r#"[data]
path = "log.csv"

[context]
age = { kind = "numeric", bin = 10, min = 30, max = 90 }
sex = { kind = "nominal", levels = ["F", "M"] }

[action]
column = "arm"

[propensity]
design = { a = 0.5, b = 0.5 }

[outcome]
cost = "y"

[model]
kind = "tree"
max_depth = 3
min_samples_leaf = 10

[[policy]]
kind = "constant"
action = "a"

[[policy]]
kind = "constant"
action = "b"

[robust]
context = { set = "wasserstein", radius = 0.02 }
"#;

/// Rows of some sites. Site s5 is older, in part older than anybody else, and costs more; s6 costs less than the others. Treatment b is
/// better on average and worse for the old.
fn rows(sites: impl Iterator<Item = usize>) -> String {
    let mut text = "site,age,sex,arm,y\n".to_owned();
    for site in sites {
        for k in 0..80 {
            let decade = (k / 2 + site) % 5;
            let age = match site {
                5 if k < 12 => 85,
                5 => 35 + 10 * [1, 2, 3, 4, 4][decade],
                _ => 35 + 10 * decade,
            };
            let (sex, arm) = (["F", "M"][(k / 6) % 2], ["a", "b"][k % 2]);
            let noise = ((k * 37 + site * 101) % 23) as f64 / 23.0 - 0.5;
            let old = if age > 55 { 0.6 } else { -0.3 };
            let more = if site == 6 { -0.5 } else { 0.0 };
            let y = 2.0 + age as f64 / 40.0 + if arm == "b" { old } else { 0.0 } + more + noise;
            writeln!(text, "s{site},{age},{sex},{arm},{y}").unwrap();
        }
    }
    text
}

pub(crate) fn there() -> tempfile::TempDir {
    let log = rows(0..7);
    let target = rows(5..6);
    let without = rows((0..7).filter(|s| *s != 5));
    let rest = STUDY.replace("log.csv", "rest.csv");
    folder(&[
        ("study.toml", STUDY.as_bytes()),
        ("log.csv", log.as_bytes()),
        ("target.csv", target.as_bytes()),
        ("rest.toml", rest.as_bytes()),
        ("rest.csv", without.as_bytes()),
    ])
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

pub(crate) fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

/// What a study says at a radius and just before it.
pub(crate) fn at(path: &Path, study: &str, set: &str, policy: &str, radius: f64) -> (f64, f64) {
    let less = 0.999 * radius;
    let asked = format!(
        "evaluate {study} --set {set} --policy {policy} --radius {less},{radius} --splits 0 --json"
    );
    let found = json(path, &asked);
    let all = list(&found["policies"][0]["results"]);
    (number(&all[1]["value"]), number(&all[0]["value"]))
}

/// Sets that are about contexts alone: those that `evaluate` answers.
pub(crate) fn answered(found: &Value) -> Vec<&Value> {
    list(&found["sets"]).iter().filter(|s| !list(&s["best"]).is_empty()).collect()
}

#[test]
fn every_radius_just_covers_what_a_group_that_was_left_out_really_cost() {
    let there = there();
    let path = there.path();
    let found = json(path, "sensitivity study.toml --by site --group s5 --json");
    let covers = &found["covers"];
    assert_eq!((&covers["goal"], &covers["name"]), (&"group".into(), &"s5".into()));
    let value = number(&covers["value"]);
    assert!(value > number(&covers["nominal"]) + 0.1, "{covers}");
    assert_eq!(covers["value"], covers["estimate"]["value"]);
    let sets = answered(&found);
    assert!(sets.len() >= 3, "{}", found["sets"]);
    for set in sets {
        let (name, radius) = (set["set"].as_str().unwrap(), number(&set["radius"]));
        let worst = &set["policies"][0];
        let (lower, upper) = (number(&worst["lower"]), number(&worst["upper"]));
        assert!(lower <= number(&worst["value"]) && number(&worst["value"]) <= upper, "{set}");
        // A study that never had the group says the same.
        let (reached, before) = at(path, "rest.toml", name, "constant:a", radius);
        if radius > 0.0 {
            let apart = (reached - value).abs();
            assert!(apart <= 1e-6 * value, "{name}: {reached}, expected {value}");
            assert!(before < value, "{name} reaches {value} before {radius}");
        } else {
            // A set of the same moments is beyond it already where nothing else shifts.
            assert!(reached >= value * (1.0 - 1e-6), "{name}: {reached}, {value}")
        }
        let values: Vec<f64> = list(&set["policies"]).iter().map(|p| number(&p["value"])).collect();
        let best = if values[1] < values[0] { "constant:b" } else { "constant:a" };
        assert_eq!(list(&set["best"]), &[best], "{set}");
        if ["wasserstein", "kl", "tv", "chi2", "hellinger", "burg", "cvar"].contains(&name) {
            assert_eq!(set["fears"], "higher age", "{set}");
        }
        // Which of two policies is no worse needs both outcomes of one person under joint sets.
        let no_worse = &set["no_worse"];
        if name.starts_with("joint") {
            assert!(no_worse.is_null(), "{set}");
            continue;
        }
        assert_eq!(no_worse["holds"], number(&no_worse["by"]) <= 1e-9, "{set}");
        assert!(
            number(&no_worse["by"])
                >= values.iter().copied().fold(f64::MAX, f64::min)
                    - values.iter().copied().fold(f64::MIN, f64::max)
                    - 1e-9
        );
    }
}

#[test]
fn without_a_target_radii_cover_chance() {
    let there = there();
    let path = there.path();
    let found = json(path, "sensitivity study.toml --policy constant:b --set kl --set tv --json");
    assert_eq!(found["covers"]["goal"], "chance");
    let evaluated = json(path, "evaluate study.toml --policy constant:b --splits 0 --json");
    let limit = number(&evaluated["policies"][0]["nominal"]["dm"]["upper"]);
    assert!((number(&found["covers"]["value"]) - limit).abs() < 1e-12);
    for set in list(&found["sets"]) {
        let (name, radius) = (set["set"].as_str().unwrap(), number(&set["radius"]));
        let (reached, before) = at(path, "study.toml", name, "constant:b", radius);
        assert!((reached - limit).abs() <= 1e-6 * limit && before < limit, "{set}");
        assert!(set["no_worse"].is_null(), "one policy is beside nobody");
    }
    // Those asked for alone, and nothing is said to be left out.
    assert_eq!(list(&found["sets"]).len(), 2);
    assert!(found.get("left_out").is_none());
    let usual = json(path, "sensitivity study.toml --json");
    let names: Vec<&str> =
        list(&usual["left_out"]).iter().map(|s| s["set"].as_str().unwrap()).collect();
    assert!(names.contains(&"entropic") && names.contains(&"couplings"), "{names:?}");
    assert!(list(&usual["sets"]).len() >= 3);
}

#[test]
fn a_target_is_covered_and_contained() {
    let there = there();
    let path = there.path();
    let found =
        json(path, "sensitivity study.toml --target target.csv --set kl --set wasserstein --json");
    assert_eq!(found["covers"]["goal"], "target");
    let evaluated = json(path, "evaluate study.toml --target target.csv --splits 0 --json");
    let dr = number(&evaluated["policies"][0]["target"]["dr"]["value"]);
    assert!((number(&found["covers"]["value"]) - dr).abs() < 1e-12);
    for set in list(&found["sets"]) {
        let (name, radius) = (set["set"].as_str().unwrap(), number(&set["radius"]));
        let (reached, _) = at(path, "study.toml", name, "constant:a", radius);
        assert!((reached - dr).abs() <= 1e-6 * dr, "{set}");
    }
    let asked = "sensitivity study.toml --target target.csv --containing --json";
    let found = json(path, asked);
    let distance = json(path, "distance study.toml --target target.csv --json");
    for set in list(&found["sets"]) {
        match set["set"].as_str().unwrap() {
            "wasserstein" => common::close(&set["radius"], &distance["distance"], "wasserstein"),
            "tv" => common::close(&set["radius"], &distance["total_variation"], "tv"),
            "kl" => common::close(&set["radius"], &distance["kl"], "kl"),
            _ => {}
        }
    }
    // People of a group that is left out may be where nobody else is.
    let found = json(path, "sensitivity study.toml --by site --group s5 --containing --json");
    let lacking = number(&found["covers"]["lacking"]);
    assert!(lacking > 0.1, "{}", found["covers"]);
    let kl = list(&found["sets"]).iter().find(|s| s["set"] == "kl").unwrap();
    assert!(kl["radius"].is_null() && list(&kl["policies"]).is_empty(), "{kl}");
    assert!(kl["why"].as_str().unwrap().contains("in contexts that the log lacks"), "{kl}");
    let tv = list(&found["sets"]).iter().find(|s| s["set"] == "tv").unwrap();
    assert!(number(&tv["radius"]) >= lacking, "{tv}");
}

#[test]
fn what_is_no_worse_than_the_log_needs_no_cover() {
    let there = there();
    let path = there.path();
    let found = json(path, "sensitivity study.toml --by site --group s6 --set kl --json");
    let covers = &found["covers"];
    assert_eq!(covers["goal"], "chance", "{covers}");
    assert!(number(&covers["estimate"]["value"]) < number(&covers["nominal"]));
    assert!(number(&covers["value"]) > number(&covers["nominal"]));
    assert!(covers["sentence"].as_str().unwrap().starts_with("There is nothing to cover"));
}

#[test]
fn people_read_a_table_and_who_agrees() {
    let there = there();
    let path = there.path();
    let shown = run(path, "sensitivity study.toml --by site --group s5");
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    let flat = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "Each radius is the least that covers what constant:a costs in the group s5 of site",
        "Lower is better.",
        "nowhere worse",
        "fears",
        "higher age",
        "wasserstein",
        "kl",
        "Left out unless asked for with --set: entropic",
    ] {
        assert!(flat.contains(text), "{text}\n{}", shown.out);
    }
    let found = json(path, "sensitivity study.toml --by site --group s5 --json");
    let sentence = found["agreement"]["sentences"][0].as_str().unwrap();
    assert!(flat.contains(sentence), "{sentence}\n{}", shown.out);
    assert!(shown.out.lines().all(|line| line.chars().count() <= 140), "{}", shown.out);
    let help = run(path, "compare --help");
    assert!(help.out.contains("--group UK") && help.out.contains("chance"), "{}", help.out);
    // Couplings stand beside the others where they are asked for and something is known.
    let known = "sensitivity study.toml --target-facts age:mean=60 --set couplings --set kl --json";
    let found = json(path, known);
    let couplings = &found["sets"][0];
    assert!(couplings["radius"].is_null() && !list(&couplings["best"]).is_empty(), "{couplings}");
}

#[test]
fn slips_are_told_on_one_line() {
    let there = there();
    let path = there.path();
    for (args, text) in [
        ("--by site", "--group VALUE"),
        ("--by site --group s77", "no group \"s77\"; there are: s0, s1, s2"),
        ("--group s1", "no groups are recorded"),
        ("--containing", "nobody to contain"),
        ("--set wassertein", "expected one of wasserstein"),
        ("--set kl:k=2", "kl has no k"),
        ("--set cvar:alpha=0.9", "cvar has no alpha: the radius is 1 − alpha"),
        ("--radius 0.1", "sensitivity chooses each set's radius"),
        ("--target-facts age:mean=60 --containing", "--target-facts cannot be contained"),
        (
            "--set couplings --by site --group s1 --target-facts age:mean=50",
            "leave out one of the two",
        ),
        ("--by site --group s1 --target target.csv", "cannot be used with"),
        ("--target study.toml", "study.toml"),
        ("--policy constant:c", "\"c\""),
        ("--by age --group 35", "is a context column"),
    ] {
        let found = run(path, &format!("sensitivity study.toml {args}"));
        assert_eq!(found.code, 2, "{args}: {}{}", found.out, found.err);
        assert_eq!(found.err.lines().count(), 1, "{args}: {}", found.err);
        assert!(found.err.contains(text), "{args}: {}", found.err);
    }
    // A set that cannot answer leaves the others as they are.
    let found = json(path, "sensitivity study.toml --set couplings --set kl --json");
    assert!(found["sets"][0]["why"].as_str().unwrap().contains("nothing is known"), "{found}");
    assert_eq!(list(&found["sets"][1]["best"]).len(), 1, "{found}");
    // Where every set refuses, that is the answer, with what to do.
    let found = run(path, "sensitivity study.toml --set couplings");
    assert!(
        found.code == 2 && found.err.contains("--target-facts COL:mean=NUMBER"),
        "{}",
        found.err
    );
    assert_eq!((found.err.lines().count(), found.out.as_str()), (1, ""));
}

/// A study without a difference between its treatments.
fn alike() -> tempfile::TempDir {
    let mut log = "site,age,sex,arm,y\n".to_owned();
    for k in 0..400 {
        let (age, sex, arm) =
            (35 + 10 * (k % 5), ["F", "M"][(k / 10) % 2], ["a", "b"][(k / 5) % 2]);
        let noise = ((k * 37) % 101) as f64 / 25.0;
        writeln!(log, "s{},{age},{sex},{arm},{}", k % 7, age as f64 / 40.0 + noise).unwrap();
    }
    folder(&[("study.toml", STUDY.as_bytes()), ("log.csv", log.as_bytes())])
}

#[test]
fn nobody_is_crowned_whom_the_log_does_not_tell_from_the_others() {
    let there = alike();
    let path = there.path();
    let sets = "--set kl --set wasserstein --set chi2";
    let found = json(path, &format!("sensitivity study.toml {sets} --json"));
    let on_log = &found["on_log"];
    let (policy, against) =
        (on_log["policy"].as_str().unwrap(), on_log["against"].as_str().unwrap());
    // The same paired difference and interval as evaluate has.
    let evaluated = json(path, "evaluate study.toml --splits 0 --json");
    let pair = list(&evaluated["comparisons"]).iter().find(|c| c["policy"] == policy).unwrap();
    assert_eq!(pair["against"], against);
    for end in ["value", "lower", "upper"] {
        let own = number(&on_log["difference"][end]);
        assert!((own - number(&pair["nominal"]["dr"][end])).abs() < 1e-12, "{end}: {on_log}");
    }
    assert_eq!(on_log["told"], false, "{on_log}");
    for set in answered(&found) {
        assert!(set["told"] == false || list(&set["best"]).len() > 1, "{set}");
    }
    let shown = run(path, &format!("sensitivity study.toml {sets}"));
    let flat = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = on_log["sentence"].as_str().unwrap();
    assert!(sentence.contains("too close to call, so no set crowns anybody"), "{sentence}");
    for text in [sentence, "best as fitted"] {
        assert!(flat.contains(text), "{text}\n{}", shown.out);
    }
    // Where the log does tell them apart, that is said.
    let log = rows(0..7).replace(",b,", ",b,1");
    std::fs::write(path.join("log.csv"), log).unwrap();
    let found = json(path, &format!("sensitivity study.toml {sets} --json"));
    assert_eq!(
        (&found["on_log"]["policy"], &found["on_log"]["told"]),
        (&"constant:a".into(), &true.into())
    );
    assert!(answered(&found).iter().all(|s| s["told"] == true), "{found}");
}

#[test]
fn policies_that_are_equally_bad_are_best_alike() {
    let there = there();
    let path = there.path();
    let twice = "sensitivity study.toml --policy constant:a --policy constant:a --set kl --set tv";
    let found = json(path, &format!("{twice} --json"));
    for set in list(&found["sets"]) {
        assert_eq!(list(&set["best"]), &["constant:a", "constant:a (2)"], "{set}");
        assert!(set["told"].is_null(), "{set}");
    }
    let agreement = &found["agreement"];
    assert_eq!(agreement["agree"], true);
    assert_eq!(list(&agreement["choices"]).len(), 2, "{agreement}");
    let shown = run(path, twice);
    assert!(shown.out.contains("constant:a and constant:a (2) alike"), "{}", shown.out);
    // A tie beside a choice: everybody agrees who holds with one of those that are tied.
    let found = json(path, &format!("{twice} --policy constant:b --set wasserstein --json"));
    let chosen = &found["agreement"]["choices"][0];
    let count = answered(&found).len();
    assert_eq!(found["agreement"]["agree"], list(&chosen["sets"]).len() == count, "{found}");
    // One policy alone is no choice.
    let found = json(path, "sensitivity study.toml --policy constant:a --set kl --json");
    let agreement = &found["agreement"];
    assert!(agreement["agree"].is_null() && list(&agreement["choices"]).is_empty(), "{agreement}");
    assert!(found.get("on_log").is_none());
    let shown = run(path, "sensitivity study.toml --policy constant:a --set kl");
    assert!(shown.out.contains("a choice needs two policies"), "{}", shown.out);
}

#[test]
fn what_is_beyond_the_goal_already_or_there_twice_does_not_count() {
    // Most people are young, and spreading them out makes them older.
    let mut log = "site,age,sex,arm,y\n".to_owned();
    for k in 0..400 {
        let age = if k % 10 < 7 { 35 } else { 35 + 10 * (k % 5) };
        let (sex, arm) = (["F", "M"][(k / 20) % 2], ["a", "b"][(k / 10) % 2]);
        let noise = ((k * 37) % 23) as f64 / 23.0;
        writeln!(log, "s{},{age},{sex},{arm},{}", k % 7, age as f64 / 20.0 + noise).unwrap();
    }
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("log.csv", log.as_bytes())]);
    let path = there.path();
    let sets = "--set sinkhorn:kappa=5 --set chi2 --set cressie-read:k=2 --set kl";
    let found = json(path, &format!("sensitivity study.toml {sets} --json"));
    let sinkhorn = &found["sets"][0];
    assert_eq!(
        (&sinkhorn["beyond"], number(&sinkhorn["radius"])),
        (&true.into(), 0.0),
        "{sinkhorn}"
    );
    assert!(number(&sinkhorn["policies"][0]["value"]) > number(&found["covers"]["value"]));
    let counted: std::collections::BTreeSet<&str> = list(&found["agreement"]["choices"])
        .iter()
        .flat_map(|c| list(&c["sets"]).iter().map(|s| s.as_str().unwrap()))
        .collect();
    assert_eq!(counted.into_iter().collect::<Vec<_>>(), ["chi2", "kl"]);
    let shown = run(path, &format!("sensitivity study.toml {sets}"));
    let flat = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "sinkhorn:kappa=5: already beyond the goal at radius 0: not counted",
        "cressie-read:k=2 is chi2 with a radius of another unit: counted once",
    ] {
        assert!(flat.contains(text), "{text}\n{}", shown.out);
    }
    // Nobody meets the same set twice unless they ask for it.
    let usual = json(path, "sensitivity study.toml --json");
    assert!(list(&usual["sets"]).iter().all(|s| s["set"] != "cressie-read:k=2"));
}

#[test]
fn joint_sets_cover_the_same_increase_and_fear_outcomes() {
    let there = there();
    let path = there.path();
    let found = json(
        path,
        "sensitivity study.toml --set kl --set joint-kl-dr --set joint-wasserstein --json",
    );
    let covers = &found["covers"];
    let increase = number(&covers["value"]) - number(&covers["nominal"]);
    let joint = &found["sets"][1];
    let evaluated = json(
        path,
        "evaluate study.toml --set joint-kl-dr --policy constant:a --radius 0 --splits 0 --json",
    );
    let start = number(&evaluated["policies"][0]["results"][0]["value"]);
    assert!((number(&joint["covers"]) - start - increase).abs() < 1e-9, "{joint}");
    let reached = number(&joint["policies"][0]["value"]);
    assert!((reached - start - increase).abs() <= 1e-6 * reached, "{joint}");
    let sentence = covers["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("Under joint-kl-dr what it is where nothing shifts")
            && sentence.contains("the same increase"),
        "{sentence}"
    );
    assert_eq!(number(&found["sets"][0]["covers"]), number(&covers["value"]));
    assert_eq!(found["sets"][2]["fears"], "worse outcomes for the same people", "{found}");
    for set in list(&found["sets"]) {
        assert!(!set["fears"].is_null() && number(&set["radius"]) > 0.0, "{set}");
    }
    // Beside a group it is the level.
    let found = json(path, "sensitivity study.toml --by site --group s5 --set joint-kl-dr --json");
    assert_eq!(found["sets"][0]["covers"], found["covers"]["value"]);
}
