//! `--target`: what it would cost in another population, and targets beyond the log.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{Run, folder, json, run, shared};
use serde_json::Value;
use std::path::Path;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

const STUDY: &str = r#"[data]
path = "log.csv"

[context]
age  = "numeric"
site = "nominal"
rank = "ordinal"

[action]
column = "arm"

[outcome]
cost = "y"

[model]
kind = "tree"
max_depth = 2

[robust]
context = { set = "wasserstein", radius = [0, 0.05] }
"#;

/// 600 rows: ages 20 to 60 by tens, two sites, three ranks, two arms.
fn log() -> String {
    let mut text = "age,site,rank,arm,y,w\n".to_owned();
    for k in 0..600 {
        let (age, site) = (20 + 10 * (k % 5), ["north", "south"][(k / 5) % 2]);
        let (rank, arm) = (1 + (k / 10) % 3, ["a", "b"][(k / 30) % 2]);
        let y = (age / 20 + k % 3) as f64 + if arm == "b" { 0.3 } else { 0.0 };
        text += &format!("{age},{site},{rank},{arm},{y},{}\n", 1 + k % 2);
    }
    text
}

fn there(target: &str) -> tempfile::TempDir {
    folder(&[
        ("study.toml", STUDY.as_bytes()),
        ("log.csv", log().as_bytes()),
        ("target.csv", target.as_bytes()),
    ])
}

fn ask(path: &Path, more: &str) -> Value {
    let words = "evaluate study.toml --policy constant:a --policy constant:b --json";
    json(path, &format!("{words} {more}"))
}

#[test]
fn a_target_is_valued_by_the_log() {
    let target = "age,site,rank\n60,south,1\n60,south,1\n50,north,3\n20,north,2\n";
    let there = there(target);
    let path = there.path();
    let found = ask(path, "--target target.csv");
    assert_eq!(
        (found["target"]["rows"].clone(), found["target"]["left_out"].clone()),
        (4.into(), 0.into())
    );
    let coverage = &found["target"]["coverage"];
    assert_eq!(number(&coverage["unobserved"]), 0.0);
    assert!(
        number(&coverage["effective_rows"]) <= 600.0 && number(&coverage["largest_odds"]) >= 1.0
    );
    assert_eq!(coverage["actions"][0]["name"], "a");
    // At radius 0 the worst case is the direct estimate there, not the log's.
    for policy in found["policies"].as_array().unwrap() {
        let there = &policy["target"];
        let direct = number(&there["dm"]["value"]);
        assert!((number(&policy["results"][0]["value"]) - direct).abs() < 1e-12);
        assert!((number(&policy["nominal"]["dm"]["value"]) - direct).abs() > 0.05);
        for estimate in ["dm", "odds", "dr"] {
            let e = &there[estimate];
            assert!(number(&e["lower"]) < number(&e["upper"]), "{e}");
        }
    }
    // The log itself as the target: estimates are the log's own.
    std::fs::write(path.join("same.csv"), log()).unwrap();
    let same = ask(path, "--target same.csv");
    for policy in same["policies"].as_array().unwrap() {
        let (own, there) = (&policy["nominal"], &policy["target"]);
        assert!((number(&own["dm"]["value"]) - number(&there["dm"]["value"])).abs() < 1e-12);
        let apart = (number(&own["dr"]["value"]) - number(&there["dr"]["value"])).abs();
        assert!(apart < 0.5 * number(&own["dr"]["se"]), "{own} {there}");
        assert!((number(&same["target"]["coverage"]["effective_rows"]) - 600.0).abs() < 1e-6);
    }
    // Every command that a target means something to.
    for words in [
        "check study.toml --target target.csv",
        "evaluate study.toml --target target.csv",
        "evaluate study.toml --target target.csv --details",
        "learn study.toml --policy tree:1 --target target.csv",
        "learn study.toml --policy groups:site --target target.csv --against behaviour",
        "radius study.toml --target target.csv --splits 3",
        "distance study.toml --target target.csv",
        "report study.toml --target target.csv --no-learn",
        "evaluate study.toml --target target.csv --support observed",
    ] {
        let Run { code, err, .. } = run(path, words);
        assert_eq!((code, err.as_str()), (0, ""), "{words}");
    }
    let check = json(path, "check study.toml --target target.csv --json");
    assert_eq!(check["target"], found["target"]);
    // A policy learned for the target is best there.
    let learned =
        json(path, "learn study.toml --policy tree:1 --radius 0 --target target.csv --json");
    let best = (0..2).map(|k| number(&found["policies"][k]["results"][0]["value"]));
    assert!(number(&learned["value"]) <= best.fold(f64::INFINITY, f64::min) + 1e-12);
    // The same bytes on any number of threads, both samples halved.
    let bytes = |threads: usize| {
        let words = "evaluate study.toml --target target.csv --json --threads";
        run(path, &format!("{words} {threads}")).out
    };
    assert_eq!(bytes(1), bytes(2));
    // The study file may say it, with conditions and weights of the target's own.
    let said = "[target]\npath = \"target.csv\"\nwhere = { site = \"south\" }\n";
    std::fs::write(path.join("study.toml"), format!("{STUDY}{said}")).unwrap();
    let found = ask(path, "");
    assert_eq!(found["target"]["rows"], 2);
    assert_eq!(found["target"]["left_out"], 2);
    // Weights count, and their unit does not.
    let mut weighted = "age,site,rank,w,v\n".to_owned();
    for line in target.lines().skip(1) {
        let w = if line.starts_with("60") { 3.0 } else { 1.0 };
        weighted += &format!("{line},{w},{}\n", 1000.0 * w);
    }
    std::fs::write(path.join("weighted.csv"), weighted).unwrap();
    let by = |column: &str| {
        let said = format!("[target]\npath = \"weighted.csv\"\nsurvey_weight = \"{column}\"\n");
        std::fs::write(path.join("study.toml"), format!("{STUDY}{said}")).unwrap();
        ask(path, "")
    };
    let (small, large) = (by("w"), by("v"));
    for estimate in ["dm", "odds", "dr"] {
        for key in ["value", "se"] {
            let of = |found: &Value| number(&found["policies"][0]["target"][estimate][key]);
            assert!((of(&small) - of(&large)).abs() < 1e-9, "{estimate} {key}");
        }
    }
    // Counts are people: the same as their rows again and again.
    let mut again = "age,site,rank\n".to_owned();
    for line in target.lines().skip(1) {
        let times = if line.starts_with("60") { 3 } else { 1 };
        again += &format!("{line}\n").repeat(times);
    }
    std::fs::write(path.join("again.csv"), again).unwrap();
    let declared = |words: &str| {
        std::fs::write(path.join("study.toml"), format!("{STUDY}[target]\n{words}\n")).unwrap();
        ask(path, "")
    };
    let rows = declared("path = \"again.csv\"");
    let counts = declared("path = \"weighted.csv\"\nweight = \"w\"");
    assert_eq!(counts["target"]["rows"], rows["target"]["rows"]);
    for estimate in ["dm", "odds", "dr"] {
        for key in ["value", "se"] {
            let of = |found: &Value| number(&found["policies"][0]["target"][estimate][key]);
            assert!((of(&counts) - of(&rows)).abs() < 1e-9, "{estimate} {key}");
        }
    }
    let fractions =
        std::fs::read_to_string(path.join("weighted.csv")).unwrap().replace(",3,", ",1.5,");
    std::fs::write(path.join("weighted.csv"), fractions).unwrap();
    let refused = run(path, "evaluate study.toml");
    assert!(refused.code == 2 && refused.err.contains("use survey_weight"), "{}", refused.err);
    let plain = number(&found["policies"][0]["target"]["dm"]["value"]);
    assert!(number(&small["policies"][0]["target"]["dm"]["value"]) != plain);
}

/// Positions that were given need not rise: a target's people are where its own levels are.
#[test]
fn levels_whose_positions_fall_keep_their_places() {
    let mut log = "c,arm,y\n".to_owned();
    for k in 0..120usize {
        let c = ["U", "D", "F"][k % 3];
        log += &format!("{c},{},{}\n", ["a", "b"][(k / 3) % 2], (k % 3) * 10 + k % 2);
    }
    let study = "[data]\npath = \"log.csv\"\n[context]\nc = { kind = \"ordinal\", levels = [\"U\", \"D\", \
                 \"F\"], positions = [1, 0.3, 0] }\n[action]\ncolumn = \"arm\"\n[outcome]\ncost = \"y\"\n\
                 [model]\nkind = \"cells\"\n[robust]\ncontext = { set = \"wasserstein\", radius = 0 }\n";
    let there = folder(&[
        ("s.toml", study.as_bytes()),
        ("log.csv", log.as_bytes()),
        ("t.csv", b"c\nU\nU\nU\n"),
    ]);
    let found = json(there.path(), "evaluate s.toml --policy constant:a --target t.csv --json");
    // U costs 0 or 1, F costs 20 or 21.
    assert!(number(&found["policies"][0]["target"]["dm"]["value"]) < 1.5, "{found}");
}

/// Where hardly a row of the log is like the target, nobody is crowned and the notes say why.
#[test]
fn a_target_unlike_the_log_settles_nothing() {
    let mut log = "age,arm,y\n".to_owned();
    for k in 0..400usize {
        let (age, arm) = (20 + k % 40, ["a", "b"][(k / 40) % 2]);
        log += &format!("{age},{arm},{}\n", if arm == "a" { 1 + k % 2 } else { 4 + k % 2 });
    }
    let study = "[data]\npath = \"log.csv\"\n[context]\nage = \"numeric\"\n[action]\ncolumn = \"arm\"\n\
                 [outcome]\ncost = \"y\"\n[model]\nkind = \"tree\"\nmax_depth = 1\n[target]\nbeyond = \
                 \"extend\"\n[robust]\ncontext = { set = \"wasserstein\", radius = 0.01 }\n";
    let there = folder(&[
        ("s.toml", study.as_bytes()),
        ("log.csv", log.as_bytes()),
        ("t.csv", b"age\n190\n200\n210\n"),
    ]);
    let words = "evaluate s.toml --policy constant:a --policy constant:b";
    let near = json(there.path(), &format!("{words} --json"));
    assert_eq!(near["comparisons"][0]["results"][0]["verdict"], "better");
    let far = json(there.path(), &format!("{words} --target t.csv --json"));
    assert_eq!(far["comparisons"][0]["results"][0]["verdict"], "undecided");
    assert_eq!(number(&far["target"]["coverage"]["effective_rows"]), 0.0);
    let shown = run(there.path(), &format!("{words} --target t.csv"));
    for words in [
        "undecided. The effective sample size in the target is 0, below 30",
        "no confidence limits are given",
        "100.0% of people (age)",
    ] {
        let text = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{words:?} is not in\n{}", shown.out);
    }
}

#[test]
fn values_beyond_the_log_extend_the_axis() {
    // Ages between and beyond the log's, a new site, a rank between two and one beyond.
    let target = "age,site,rank\n35,north,1\n80,south,2.5\n60,east,5\n20,north,1\n";
    let there = there(target);
    let path = there.path();
    let found = ask(path, "--target target.csv");
    let beyond = found["target"]["beyond"].as_array().unwrap();
    let columns: Vec<&str> = beyond.iter().map(|b| b["column"].as_str().unwrap()).collect();
    assert_eq!(columns, ["age", "site", "rank"]);
    assert_eq!(beyond[0]["values"], serde_json::json!(["35", "80"]));
    assert!((number(&beyond[0]["share"]) - 0.5).abs() < 1e-12);
    assert!((number(&found["target"]["coverage"]["unobserved"]) - 0.75).abs() < 1e-12);
    // They count as unobserved in worst cases too.
    assert!((number(&found["policies"][0]["results"][0]["unobserved_mass"]) - 0.75).abs() < 1e-12);
    // Weights and positions are the log's: crossing its own range costs 1 as before.
    let distance = json(path, "distance study.toml --target target.csv --json");
    let own = json(path, "check study.toml --json");
    assert_eq!(own["features"][0]["ends"], serde_json::json!(["20", "60"]));
    // 80 is half the log's range beyond 60: nobody of the log is nearer than (20/40)² = 0.25.
    assert!(number(&distance["features"]["age"]) >= 0.25 * 0.25 - 1e-12);
    // Refused all at once, if the study says so.
    let said = "[target]\nbeyond = \"error\"\n";
    std::fs::write(path.join("strict.toml"), format!("{STUDY}{said}")).unwrap();
    let refused = run(path, "evaluate strict.toml --target target.csv");
    assert_eq!((refused.code, refused.err.lines().count()), (2, 1), "{}", refused.err);
    for words in ["target.csv", "age: 35, 80", "site: east", "rank: 2.5, 5", "beyond = \"extend\""]
    {
        assert!(refused.err.contains(words), "{words:?} is not in {}", refused.err);
    }
    // Without a grid, too: ages as they are, each a level, times many columns.
    let wide: Vec<String> = (0..40).map(|k| format!("c{k}")).collect();
    let mut log = format!("{},arm,y\n", wide.join(","));
    for k in 0..200usize {
        let row: Vec<String> = (0..40).map(|c| format!("{}", (k * (c + 3)) % 101)).collect();
        log += &format!("{},{},{}\n", row.join(","), ["a", "b"][k % 2], k % 4);
    }
    let contexts: String = wide.iter().map(|c| format!("{c} = \"numeric\"\n")).collect();
    let study =
        STUDY.replace("age  = \"numeric\"\nsite = \"nominal\"\nrank = \"ordinal\"\n", &contexts);
    let row: Vec<String> = (0..40).map(|c| format!("{}.5", c % 15)).collect();
    std::fs::write(path.join("log.csv"), log).unwrap();
    std::fs::write(path.join("study.toml"), study).unwrap();
    std::fs::write(path.join("target.csv"), format!("{}\n{}\n", wide.join(","), row.join(",")))
        .unwrap();
    let found = ask(path, "--target target.csv");
    assert_eq!(number(&found["target"]["coverage"]["unobserved"]), 1.0);
}

#[test]
fn a_target_that_cannot_be_meant_is_refused() {
    let there = there("");
    let path = there.path();
    for (target, words) in [
        ("age,site\n30,north\n", &["no column named \"rank\"", "a target needs"][..]),
        ("age,site,rank\n", &["no rows"]),
        (
            "age,site,rank\n0.3,north,1\n0.5,south,2\n",
            &["\"age\"", "0.3 to 0.5", "20 to 60", "is it in the same unit?"],
        ),
        (
            "age,site,rank\n30,N,1\n40,S,2\n",
            &["\"site\"", "N, S", "north, south", "is it coded in the same way?"],
        ),
        (
            "age,site,rank\nold,north,1\nx,north,high\n",
            &["row 1, column \"age\"", "row 2, column \"age\"", "row 2, column \"rank\""],
        ),
        ("age,site,rank\n,north,1\n", &["row 1, column \"age\"", "missing"]),
    ] {
        std::fs::write(path.join("target.csv"), target).unwrap();
        for command in ["evaluate", "radius", "learn --policy greedy", "report"] {
            let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
            let found = run(path, &format!("{name} study.toml {rest} --target target.csv"));
            assert_eq!(
                (found.code, found.out.as_str()),
                (2, ""),
                "{command} {target}: {}",
                found.err
            );
            assert_eq!(found.err.lines().count(), 1, "{}", found.err);
            for word in words.iter().chain(&["target.csv"]) {
                assert!(found.err.contains(word), "{word:?} is not in {}", found.err);
            }
        }
    }
    assert!(!path.join("report.html").exists());
    // Who means another unit says so.
    std::fs::write(path.join("target.csv"), "age,site,rank\n90,north,1\n95,south,2\n").unwrap();
    assert_eq!(run(path, "evaluate study.toml --target target.csv").code, 2);
    let said = "[target]\nbeyond = \"extend\"\n";
    std::fs::write(path.join("far.toml"), format!("{STUDY}{said}")).unwrap();
    assert_eq!(run(path, "evaluate far.toml --target target.csv").code, 0);
    let slip = format!("{STUDY}[target]\nbeyond = \"extnd\"\n");
    std::fs::write(path.join("slip.toml"), slip).unwrap();
    let found = run(path, "evaluate slip.toml");
    assert!(found.err.contains("did you mean \"extend\"?"), "{}", found.err);
}

#[test]
fn the_stroke_trial_asked_about_the_uk() {
    let Some(_) = shared("data/ist/IST_corrected.csv.gz") else { return };
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let found = json(&studies, "evaluate ist-uk.toml --json");
    assert_eq!(found["target"]["rows"], 6236);
    assert_eq!(number(&found["rows"]), 6553.0);
    // The log is the trial elsewhere; people in the UK were older.
    for policy in found["policies"].as_array().unwrap() {
        let (here, there) = (&policy["nominal"]["dr"], &policy["target"]["dr"]);
        assert!(number(&there["value"]) > number(&here["value"]) + 0.03, "{here} {there}");
        assert!(number(&there["se"]) < 0.03);
    }
}

/// An axis that a target extends is the one that the study could have declared.
#[test]
fn an_extended_axis_is_the_declared_one() {
    let mut log = "age,site,rank,arm,y\n".to_owned();
    for k in 0..300usize {
        let age = if k % 11 == 0 { String::new() } else { (20 + (k * 7) % 45).to_string() };
        let (site, rank) = (["n", "s"][k % 2], 1 + (k / 2) % 3);
        let y = k % 4 + usize::from(k % 2 == 1) + rank;
        log += &format!("{age},{site},{rank},{},{y}\n", ["a", "b"][(k / 3) % 2]);
    }
    let target = "age,site,rank\n88,n,1\n,w,4\n25,s,2\n41,w,3\n97,s,1\n";
    let study = |age: &str, site: &str, rank: &str| {
        format!(
            "[data]\npath = \"log.csv\"\n[context]\nage = {{ kind = \"numeric\", bin = 10, missing = true, \
             weight = 0.001{age} }}\nsite = {{ kind = \"nominal\", weight = 0.7{site} }}\nrank = {{ kind = \
             \"ordinal\", weight = 0.5{rank} }}\n[action]\ncolumn = \"arm\"\n[outcome]\ncost = \"y\"\n[model]\n\
             kind = \"tree\"\nmax_depth = 3\nmin_samples_leaf = 10\n[robust]\ncontext = {{ set = \
             \"wasserstein\", radius = [0, 0.02, 0.1] }}\n"
        )
    };
    let declared = study(
        ", max = 100",
        ", levels = [\"n\", \"s\", \"w\"]",
        ", levels = [\"1\", \"2\", \"3\", \"4\"], positions = [0, 0.5, 1, 1.5]",
    );
    // Ranks that the log has are evenly on [0, 1]; a missing age is as far as the log's own range.
    let declared = declared.replace("missing = true", "missing = 1.6");
    let found = study("", "", "").replace("missing = true", "missing = 1.6");
    let there = folder(&[
        ("declared.toml", declared.as_bytes()),
        ("found.toml", found.as_bytes()),
        ("log.csv", log.as_bytes()),
        ("target.csv", target.as_bytes()),
    ]);
    let path = there.path();
    let ask = |study: &str| {
        let words = "--policy constant:a --policy constant:b --target target.csv --json";
        json(path, &format!("evaluate {study} {words}"))
    };
    let (declared, found) = (ask("declared.toml"), ask("found.toml"));
    assert_eq!(declared["cells"], found["cells"]);
    assert!(declared["target"]["beyond"].as_array().unwrap().is_empty());
    assert_eq!(found["target"]["beyond"].as_array().unwrap().len(), 3);
    let close = |a: &Value, b: &Value| (number(a) - number(b)).abs() < 1e-9;
    for policy in 0..2 {
        for k in 0..3 {
            let [a, b] = [&declared, &found].map(|f| &f["policies"][policy]["results"][k]);
            assert!(close(&a["value"], &b["value"]), "{a} {b}");
            assert!(close(&a["unobserved_mass"], &b["unobserved_mass"]), "{a} {b}");
            let [a, b] = [&declared, &found].map(|f| &f["comparisons"][policy]["results"][k]);
            assert!(close(&a["worst"], &b["worst"]) && close(&a["best"], &b["best"]), "{a} {b}");
        }
        let [a, b] = [&declared, &found].map(|f| &f["policies"][policy]["target"]["dm"]);
        assert!(close(&a["value"], &b["value"]) && close(&a["se"], &b["se"]), "{a} {b}");
    }
}

#[test]
fn no_output_goes_over_a_target_or_another_file_that_is_read() {
    let target = "age,site,rank\n60,south,1\n50,north,3\n";
    let there = there(target);
    let path = there.path();
    let learned = run(path, "learn study.toml --policy tree:1 --no-honest --out base.json");
    assert_eq!(learned.code, 0, "{}", learned.err);
    let base = std::fs::read(path.join("base.json")).unwrap();
    let in_study = format!("{STUDY}[target]\npath = \"target.csv\"\n");
    std::fs::write(path.join("own.toml"), in_study).unwrap();
    let bsgd = "learn study.toml --policy groups:site --method bsgd --steps 10 --no-honest";
    for words in [
        "evaluate study.toml --target target.csv --curve target.csv",
        "evaluate study.toml --target target.csv --worst target.csv",
        "evaluate own.toml --curve target.csv",
        "learn study.toml --policy tree:1 --target target.csv --out target.csv",
        &format!("{bsgd} --target target.csv --trace target.csv"),
        "learn study.toml --policy tree:1 --against base.json --out base.json",
    ] {
        let found = run(path, words);
        assert_eq!((found.code, found.out.as_str()), (2, ""), "{words}: {}", found.err);
        assert!(found.err.contains("it is the file that is read"), "{words}: {}", found.err);
        assert_eq!(std::fs::read_to_string(path.join("target.csv")).unwrap(), target, "{words}");
        assert_eq!(std::fs::read(path.join("base.json")).unwrap(), base, "{words}");
    }
}

#[test]
fn what_is_learned_for_a_target_is_not_told_as_if_nothing_shifts() {
    let there = there("age,site,rank\n60,south,1\n60,south,1\n50,north,3\n20,north,2\n");
    let path = there.path();
    let there = run(path, "learn study.toml --policy tree:1 --target target.csv");
    assert_eq!(there.code, 0, "{}", there.err);
    assert!(!there.out.contains("nothing shifts"), "{}", there.out);
    assert_eq!(there.out.to_lowercase().matches("in the target itself").count(), 1);
    assert!(there.out.contains("in the target") && !there.out.contains("in the data"));
    let here = run(path, "learn study.toml --policy tree:1");
    assert_eq!(here.out.to_lowercase().matches("if nothing shifts").count(), 1, "{}", here.out);
    assert!(here.out.contains("in the data"), "{}", here.out);
}
