//! `transfer` and `backtest`: what is known of a target, and what past groups needed.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run, shared};
use serde_json::Value;
use std::fmt::Write;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

const STUDY: &str = r#"[data]
path = "log.csv"

[context]
age = { kind = "numeric", bin = 10 }
sex = "nominal"

[action]
column = "arm"

[propensity]
design = { a = 0.5, b = 0.5 }

[outcome]
cost = "y"

[model]
kind = "tree"
max_depth = 2
min_samples_leaf = 20

[[policy]]
kind = "uniform"

[[policy]]
kind = "constant"
action = "b"

[history]
by = "site"
"#;

/// So many sites of 60 rows from a first one on; what a site adds to the outcome says `extra`.
fn rows(sites: std::ops::Range<usize>, extra: impl Fn(usize) -> f64) -> String {
    let mut text = "site,day,age,sex,arm,y\n".to_owned();
    for site in sites {
        for k in 0..60 {
            let age = 35 + 10 * ((k / 2 + site) % 4);
            let (sex, arm) = (["F", "M"][(k / 8) % 2], ["a", "b"][k % 2]);
            let noise = ((k * 37 + site * 101) % 23) as f64 / 23.0 - 0.5;
            let y = age as f64 / 50.0 + if arm == "b" { 0.2 } else { 0.0 } + extra(site) + noise;
            let day = format!("2020-{:02}-{:02}", 1 + site % 12, 1 + k % 28);
            writeln!(text, "s{site:02},{day},{age},{sex},{arm},{y}").unwrap();
        }
    }
    text
}

/// Sites that differ by what is not in the contexts.
fn extra(site: usize) -> f64 {
    ((site * 7) % 13) as f64 / 20.0
}

fn there(sites: usize) -> tempfile::TempDir {
    let log = rows(0..sites, extra);
    folder(&[("study.toml", STUDY.as_bytes()), ("log.csv", log.as_bytes())])
}

#[test]
fn the_bound_is_the_centre_and_a_rank_of_what_groups_needed() {
    let there = there(24);
    let asked =
        "transport study.toml --target-facts age:mean=60 --target-facts sex:F=0.3,M=0.7 --json";
    let found = json(there.path(), asked);
    assert_eq!(
        (found["direction"].as_str(), found["by"].as_str()),
        (Some("lower is better"), Some("site"))
    );
    assert_eq!(list(&found["transfers"]).len(), 2);
    assert_eq!(found["differences"][0]["against"], "uniform");
    for transfer in list(&found["transfers"]).iter().chain(list(&found["differences"])) {
        assert_eq!((transfer["method"].as_str(), number(&transfer["level"])), (Some("rank"), 0.95));
        let groups = list(&transfer["groups"]);
        assert_eq!(groups.len(), 24);
        let mut scores: Vec<f64> = groups.iter().map(|g| number(&g["score"])).collect();
        scores.sort_by(f64::total_cmp);
        // k = ⌈0.95 · 25⌉ = 24 of 24.
        let parts = &transfer["allowance"];
        let total =
            number(&parts["sampling"]) + number(&parts["between"]) + number(&parts["couplings"]);
        assert!((total - scores[23]).abs() < 1e-12 && number(&parts["couplings"]) == 0.0);
        assert!((number(&transfer["bound"]) - number(&transfer["centre"]) - total).abs() < 1e-12);
        for g in groups {
            let needed = number(&g["real"]) - number(&g["predicted"]);
            assert!((needed - number(&g["score"])).abs() < 1e-12);
            assert_eq!(g["held"].as_bool(), Some(needed <= total));
            assert_eq!(number(&g["rows"]), 60.0);
        }
        assert_eq!(transfer["held"], 24);
        let balance = &transfer["balance"];
        assert_eq!((balance["status"].as_str(), number(&balance["mixed"])), (Some("matched"), 0.0));
        assert!(number(&balance["effective_rows"]["a"]) > 30.0);
        assert!(number(&balance["columns"][0]["after"]).abs() < 1e-6);
    }
    let condition = found["condition"].as_str().unwrap();
    assert!(condition.contains("Covers shifts like those between your recorded groups (site)"));
    assert!(condition.contains("does not cover a move"), "{condition}");
    // What the level asks is at most what the groups support.
    let refused = run(there.path(), "transport study.toml --level 0.99 --method rank");
    assert!(refused.code == 2 && refused.err.contains("at most 0.96"), "{}", refused.err);
    let found = json(there.path(), "transport study.toml --level 0.99 --json");
    assert_eq!(found["transfers"][0]["method"], "prediction");
}

#[test]
fn a_group_is_predicted_without_its_own_outcomes() {
    let before = there(20);
    let worse = rows(0..20, |site| extra(site) + if site == 7 { 5.0 } else { 0.0 });
    let after = folder(&[("study.toml", STUDY.as_bytes()), ("log.csv", worse.as_bytes())]);
    let asked = "transport study.toml --policy uniform --target-facts age:mean=50 --json";
    let group = |found: Value| found["transfers"][0]["groups"][7].clone();
    let (before, after) = (group(json(before.path(), asked)), group(json(after.path(), asked)));
    assert_eq!(
        (before["group"].as_str(), &before["predicted"]),
        (Some("s07"), &after["predicted"])
    );
    assert!((number(&after["real"]) - number(&before["real"]) - 5.0).abs() < 1e-9);
}

#[test]
fn few_groups_make_a_prediction_and_none_the_worst_coupling() {
    let there = there(6);
    let few = json(there.path(), "transport study.toml --target-facts sex:F=0.3,M=0.7 --json");
    assert_eq!(few["transfers"][0]["method"], "prediction");
    let known = "--target-facts age:35=0.1,45=0.2,55=0.3,65=0.4 --target-facts sex:F=0.3,M=0.7";
    let alone =
        json(there.path(), &format!("transport study.toml {known} --method couplings --json"));
    let own = &alone["transfers"][0];
    assert_eq!((own["method"].as_str(), list(&own["groups"]).len()), (Some("couplings"), 0));
    let parts = &own["allowance"];
    assert!(number(&parts["couplings"]) >= 0.0 && number(&parts["between"]) == 0.0);
    assert!((number(&parts["sampling"]) / number(&own["se"]) - 1.6448536).abs() < 1e-6);
    assert!(alone["condition"].as_str().unwrap().contains("assumed not to move"));
}

/// The estimate for a sample weighs rows by the odds of belonging to it, and so does the balance table.
#[test]
fn the_balance_shown_is_that_of_the_weights_used() {
    let study = STUDY.replace("[history]\nby = \"site\"\n", "");
    let mut target = "age,sex\n".to_owned();
    (0..200).for_each(|k| {
        let (age, sex) = (35 + 10 * [0, 1, 2, 2, 3, 3, 3][k % 7], ["F", "M", "M"][k % 3]);
        writeln!(target, "{age},{sex}").unwrap();
    });
    let log = rows(0..20, extra);
    let files: [(&str, &[u8]); 3] = [
        ("study.toml", study.as_bytes()),
        ("log.csv", log.as_bytes()),
        ("there.csv", target.as_bytes()),
    ];
    let there = folder(&files);
    let found = json(there.path(), "transport study.toml --target there.csv --json");
    let balance = &found["transfers"][0]["balance"];
    assert_eq!(balance["status"], "by odds");
    // Raking would meet every share; a logistic model with a ridge comes near.
    let off = |fact: &Value| (number(&fact["after"]) - number(&fact["wanted"])).abs();
    let most = list(&balance["facts"]).iter().map(off).fold(0.0, f64::max);
    assert!(most > 1e-6 && most < 0.1, "{balance}");
    let evaluated = json(there.path(), "evaluate study.toml --target there.csv --json --splits 0");
    let dr = number(&evaluated["policies"][0]["target"]["dr"]["value"]);
    assert!((number(&found["transfers"][0]["centre"]) - dr).abs() < 1e-12);
    let worth = |action: &str| number(&balance["effective_rows"][action]);
    let both = number(&evaluated["target"]["coverage"]["effective_rows"]);
    assert!((worth("a") + worth("b") - both).abs() < 0.05 * both, "{balance} {both}");
    let shown = run(there.path(), "transport study.toml --target there.csv").out;
    assert!(shown.contains("Balance: by the odds of belonging to the target."), "{shown}");
}

/// Facts about a fixed column are what the balanced log has; nobody is moved across it to meet them.
#[test]
fn couplings_move_nobody_across_a_fixed_column() {
    let allowed = |study: &str| {
        let log = rows(0..20, extra);
        let there = folder(&[("study.toml", study.as_bytes()), ("log.csv", log.as_bytes())]);
        let asked = "transport study.toml --target-facts sex:F=0.3,M=0.7 --method couplings --json";
        number(&json(there.path(), asked)["transfers"][0]["allowance"]["couplings"])
    };
    let free = allowed(STUDY);
    let sex = STUDY.replace("sex = \"nominal\"", "sex = \"fixed\"");
    // Both are fixed: nobody can move at all, so no other coupling is left.
    let age = "age = { kind = \"numeric\", bin = 10 }";
    let both = allowed(&sex.replace(age, "age = \"fixed\""));
    assert!(free > 1e-3 && both.abs() < 1e-9, "{free} {both}");
    assert!(allowed(&sex) < free + 1e-12);
}

#[test]
fn groups_of_another_table_leave_nothing_out_of_the_log() {
    let study = STUDY.replace("[history]\nby = \"site\"\n", "");
    let past = rows(30..52, extra);
    let log = rows(0..20, extra).replace("site,", "elsewhere,");
    let files: [(&str, &[u8]); 3] = [
        ("study.toml", study.as_bytes()),
        ("log.csv", log.as_bytes()),
        ("past.csv", past.as_bytes()),
    ];
    let there = folder(&files);
    let asked = "transport study.toml --policy uniform --by site --history past.csv --json";
    let found = json(there.path(), asked);
    let own = &found["transfers"][0];
    // Nothing is known of the target, so each of them is predicted by the same number.
    let predicted: Vec<f64> =
        list(&own["groups"]).iter().map(|g| number(&g["predicted"])).collect();
    assert_eq!(predicted.len(), 22);
    assert!(predicted.iter().all(|p| (p - predicted[0]).abs() < 1e-12));
    let names =
        list(&own["groups"]).iter().map(|g| g["group"].as_str().unwrap()).collect::<Vec<_>>();
    assert!(names.contains(&"s30") && !names.contains(&"s01"));
    let lost = run(there.path(), "transport study.toml --history past.csv");
    assert!(lost.code == 2 && lost.err.contains("--history needs --by"), "{}", lost.err);
}

#[test]
fn groups_in_time_are_predicted_from_earlier_ones() {
    let there = there(24);
    let found = json(there.path(), "backtest study.toml --by day --each month --json");
    assert_eq!((found["in_time"].as_bool(), list(&found["groups"]).len()), (Some(true), 11));
    assert_eq!(found["groups"][0]["group"], "2020-02");
    // The first two that have bounds have too little history.
    assert!(found["groups"][0]["bounds"].get("history").is_none());
    assert!(found["groups"][5]["bounds"].get("history").is_some());
    let lost = run(there.path(), "backtest study.toml --by sex --in-time");
    assert!(lost.code == 2 && lost.err.contains("is a context column, too"), "{}", lost.err);
    let lost = run(there.path(), "transport study.toml --by site --in-time");
    assert!(lost.code == 2 && lost.err.contains("\"s00\" is no time"), "{}", lost.err);
    let lost = run(there.path(), "transport study.toml --half-life 3");
    assert!(lost.code == 2 && lost.err.contains("needs groups in time"), "{}", lost.err);
}

#[test]
fn a_backtest_counts_what_its_groups_say() {
    let there = there(20);
    let found = json(there.path(), "backtest study.toml --json");
    assert_eq!((found["by"].as_str(), found["policy"].as_str()), (Some("site"), Some("uniform")));
    let groups = list(&found["groups"]);
    let names: Vec<&str> =
        list(&found["procedures"]).iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["nominal", "ball", "balanced", "couplings", "history"]);
    for p in list(&found["procedures"]) {
        let name = p["name"].as_str().unwrap();
        let excess: Vec<f64> =
            groups.iter().map(|g| number(&g["bounds"][name]) - number(&g["real"])).collect();
        let held = excess.iter().filter(|e| **e >= 0.0).count();
        assert_eq!((p["held"].as_u64(), p["of"].as_u64()), (Some(held as u64), Some(20)));
        let mean = excess.iter().sum::<f64>() / 20.0;
        assert!((mean - number(&p["mean_excess"])).abs() < 1e-9, "{name}");
    }
    assert!(names.contains(&found["recommended"].as_str().unwrap()));
    // The same on one thread.
    let asked = "backtest study.toml --json";
    let (one, two) = (run(there.path(), &format!("{asked} --threads 1")), run(there.path(), asked));
    assert_eq!(one.out, two.out);
}

#[test]
fn a_learned_policy_is_valued_on_groups_that_did_not_choose_it() {
    let there = there(20);
    let asked =
        "learn study.toml --policy tree:1 --against constant:b --by site --no-honest --json";
    let found = json(there.path(), asked);
    let groups = &found["groups"];
    assert_eq!((groups["by"].as_str(), groups["folds"].as_u64()), (Some("site"), Some(10)));
    assert_eq!(groups["difference"]["against"], "constant:b");
    assert_eq!(list(&groups["difference"]["groups"]).len(), 20);
    // Action a is better by 0.2 everywhere.
    assert!((number(&groups["difference"]["centre"]) + 0.2).abs() < 0.1);
    assert!(number(&groups["difference"]["bound"]) >= number(&groups["difference"]["centre"]));
    assert!(number(&groups["value"]["centre"]) > 0.5);
}

#[test]
fn slips_are_told() {
    let there = there(20);
    let slip = |args: &str, what: &str| {
        let found = run(there.path(), args);
        assert_eq!((found.code, found.out.as_str()), (2, ""), "{args}: {}", found.err);
        assert!(found.err.contains(what), "{args}: {}", found.err);
    };
    slip("transport study.toml --by sexx", "no column named \"sexx\"");
    slip("transport study.toml --by age", "\"age\" is a context column, too");
    std::fs::write(there.path().join("one.csv"), rows(0..1, extra)).unwrap();
    let one = STUDY.replace("log.csv", "one.csv");
    std::fs::write(there.path().join("one.toml"), one).unwrap();
    slip("transport one.toml", "one group only");
    slip("transport study.toml --least 61", "no group of at least 61 rows");
    slip("transport study.toml --level 1.5", "expected a number above 0.5 and below 1");
    slip("transport study.toml --target-facts sex:F=0.3,M=0.3", "sum to 0.6");
    slip("transport study.toml --target-facts age:mean=400", "expected a number from");
    slip("transport study.toml --target-facts sex:X=0.3", "\"X\"");
    slip("transport study.toml --target-facts age:35=1,mean=60", "cannot be at once");
    slip("backtest study.toml --policy constant:z", "no action named \"z\"");
    let nothing = STUDY.replace("[history]\nby = \"site\"\n", "");
    std::fs::write(there.path().join("plain.toml"), nothing).unwrap();
    slip("transport plain.toml", "nothing is known of the target, and no past groups");
    slip("backtest plain.toml", "no groups are recorded");
    let both = STUDY.replace("by = \"site\"", "by = \"sex\"");
    std::fs::write(there.path().join("both.toml"), both).unwrap();
    slip("check both.toml", "line 30");
    slip("learn study.toml --policy tree:1 --least 3", "asked about with --by");
}

#[test]
fn groups_without_an_action_are_counted_and_left_out() {
    let mut log = rows(0..20, extra);
    log += &rows(20..22, extra).lines().skip(1).filter(|l| !l.contains(",b,")).fold(
        String::new(),
        |mut all, line| {
            writeln!(all, "{line}").unwrap();
            all
        },
    );
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("log.csv", log.as_bytes())]);
    let found = json(there.path(), "transport study.toml --policy uniform --json");
    assert_eq!(found["left_out"]["lacking_action"], 2);
    assert_eq!(list(&found["transfers"][0]["groups"]).len(), 20);
    let told = run(there.path(), "transport study.toml --policy uniform").out;
    assert!(told.contains("2 without one of the actions"), "{told}");
}

#[test]
fn countries_of_the_stroke_trial() {
    let Some(_) = shared("data/ist/IST_corrected.csv.gz") else { return };
    let folder = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let found = json(&folder, "backtest ist.toml --by COUNTRY --least 60 --policy uniform --json");
    assert_eq!(list(&found["groups"]).len(), 21);
    let history = list(&found["procedures"]).iter().find(|p| p["name"] == "history").unwrap();
    assert!(history["held"].as_u64().unwrap() >= 19, "{history}");
    assert!(number(&history["mean_excess"]) < 0.2, "{history}");
    let couplings = list(&found["procedures"]).iter().find(|p| p["name"] == "couplings").unwrap();
    assert!(couplings["held"].as_u64().unwrap() >= 19, "{couplings}");
}

#[test]
fn the_readme_shows_what_the_demo_prints() {
    let there = tempfile::TempDir::new().unwrap();
    let found = run(there.path(), "demo");
    assert_eq!((found.code, found.err.as_str()), (0, ""));
    let readme = include_str!("../../../README.md");
    let shown: Vec<&str> = readme.split("```text\n").skip(1).take(2).collect();
    assert_eq!(shown.len(), 2);
    let printed: Vec<&str> = found.out.lines().collect();
    for block in shown {
        let lines = block.split("\n```").next().unwrap().lines();
        for line in lines.filter(|line| *line != "…") {
            assert!(printed.contains(&line), "README.md: {line}");
        }
    }
}

/// A log of rows `group,x,arm,y`, with a study that takes any column as a history.
fn flat(rows: impl Iterator<Item = (String, usize, usize, f64)>, more: &str) -> tempfile::TempDir {
    let mut log = "g,x,arm,y\n".to_owned();
    for (group, x, arm, y) in rows {
        writeln!(log, "{group},{x},{},{y}", ["a", "b"][arm]).unwrap();
    }
    let study = STUDY.replace("age = { kind = \"numeric\", bin = 10 }\nsex", "x");
    let study = study.replace("by = \"site\"", "by = \"g\"") + more;
    folder(&[("study.toml", study.as_bytes()), ("log.csv", log.as_bytes())])
}

#[test]
fn the_greedy_policy_is_chosen_without_the_group_that_judges_it() {
    // Coin flips: no action is better anywhere, so whoever chooses by them is too sure.
    let mut state = 7u64;
    let mut flip = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (state ^ (state >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        f64::from((mixed >> 63) as u32)
    };
    let rows = (0..1000).map(|k| (format!("g{:02}", k % 25), k / 50, (k / 25) % 2, flip()));
    let there = flat(rows.collect::<Vec<_>>().into_iter(), "");
    let study = std::fs::read_to_string(there.path().join("study.toml")).unwrap();
    let cells =
        study.replace("kind = \"tree\"\nmax_depth = 2\nmin_samples_leaf = 20", "kind = \"cells\"");
    std::fs::write(there.path().join("study.toml"), cells).unwrap();
    let found = json(there.path(), "transport study.toml --policy greedy --json");
    let own = &found["transfers"][0];
    let scores: Vec<f64> = list(&own["groups"]).iter().map(|g| number(&g["score"])).collect();
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    assert!(mean > 0.05, "{mean}");
    assert!(found["notes"][0].as_str().unwrap().contains("greedy was chosen on the rows"));
}

#[test]
fn rows_of_later_groups_predict_nobody_however_small_the_groups() {
    let early = (0..800)
        .map(|k| (format!("{}", 2000 + k / 100), k % 4, k % 2, f64::from(k as u32 % 10 < 3)));
    let late = (0..500).map(|k| (format!("{}", 2010 + k / 10), k % 4, k % 2, 1.0));
    let there = flat(early.chain(late), "");
    let found = json(there.path(), "transport study.toml --policy uniform --in-time --json");
    assert_eq!(found["left_out"]["few_rows"], 50);
    for group in list(&found["transfers"][0]["groups"]) {
        assert!(number(&group["predicted"]) < 0.5, "{group}");
    }
    let asked = "learn study.toml --policy tree:1 --by g --in-time --no-honest --json";
    for group in list(&json(there.path(), asked)["groups"]["value"]["groups"]) {
        assert!(number(&group["predicted"]) < 0.5, "{group}");
    }
}

#[test]
fn a_group_that_is_one_cluster_has_noise() {
    let rows = |k: usize| {
        (format!("g{:02}", k % 22), k % 4, (k / 22) % 2, f64::from(k as u32 * 7 % 10 < 3))
    };
    let there = flat((0..1100).map(rows), "");
    let study = std::fs::read_to_string(there.path().join("study.toml")).unwrap();
    let study = study.replace("path = \"log.csv\"", "path = \"log.csv\"\ncluster = \"g\"");
    std::fs::write(there.path().join("study.toml"), study).unwrap();
    let found = json(there.path(), "transport study.toml --policy uniform --json");
    for group in list(&found["transfers"][0]["groups"]) {
        assert!(number(&group["real_se"]) > 0.01, "{group}");
    }
}

#[test]
fn what_needs_past_groups_is_refused_without_them() {
    let there = there(20);
    let nothing = STUDY.replace("[history]\nby = \"site\"\n", "");
    std::fs::write(there.path().join("plain.toml"), nothing).unwrap();
    for (args, what) in [
        ("--method rank", "is rank, which is made of past groups"),
        ("--least 50", "asked about with --by"),
        ("--in-time", "asked about with --by"),
    ] {
        let found =
            run(there.path(), &format!("transport plain.toml --target-facts age:mean=50 {args}"));
        assert!(found.code == 2 && found.err.contains(what), "{args}: {}", found.err);
    }
}
