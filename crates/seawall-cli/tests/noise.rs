//! How much is noise, by the built program: honest values and limits, clusters, survey weights,
//! subgroups.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run, shared};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A trial in which nothing depends on anything but by chance: two arms, three columns, hospitals.
fn data(rows: usize) -> String {
    let mut state = 17u64;
    let mut below = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut text = "age,sex,site,arm,y,w,hospital,m1,m0\n".to_owned();
    for row in 0..rows {
        let (age, sex) = (20 + 10 * below(6), ["F", "M"][below(2) as usize]);
        let (site, arm) =
            (["a", "b", "c"][below(3) as usize], ["treat", "wait"][below(2) as usize]);
        let y = u64::from(below(10) < 3 + u64::from(sex == "M"));
        let w = [0.5, 1.25, 2.0][below(3) as usize];
        writeln!(text, "{age},{sex},{site},{arm},{y},{w},h{},0.3,0.3", row % 20).unwrap();
    }
    text
}

const STUDY: &str = r#"[data]
path = "d.csv"

[context]
age  = { kind = "numeric", bin = 10, min = 20, max = 79 }
sex  = { kind = "nominal", levels = ["F", "M"] }
site = { kind = "nominal", levels = ["a", "b", "c"] }

[action]
treat = { arm = "treat" }
wait  = { arm = "wait" }

[propensity]
design = { treat = 0.5, wait = 0.5 }

[outcome]
cost = "y"

[model]
kind = "tree"
max_depth = 3
min_samples_leaf = 5

[[policy]]
kind = "constant"
action = "treat"

[[policy]]
kind = "constant"
action = "wait"

[robust]
context = { set = "wasserstein", radius = [0, 0.05, 0.2] }
"#;

fn there(rows: usize) -> tempfile::TempDir {
    folder(&[("d.csv", data(rows).as_bytes()), ("s.toml", STUDY.as_bytes())])
}

/// Every worst case and difference of an evaluation: its value, honest value and limits.
fn brackets(found: &Value) -> Vec<(f64, &Value, &Value)> {
    // A smoothed value alone is no bound: that on the safe side is what is shown.
    let lists = |key: &str, value: &str, safe: &str| -> Vec<(f64, &Value, &Value)> {
        let all = found[key].as_array().into_iter().flatten();
        let results = all.flat_map(|p| p["results"].as_array().unwrap());
        let shown = |r: &Value| r[safe].as_f64().unwrap_or_else(|| number(&r[value]));
        results.map(|r| (shown(r), &r["held_out"], &r["limits"])).collect()
    };
    let mut all = lists("policies", "value", "exact_upper");
    all.extend(lists("comparisons", "worst", "upper"));
    all
}

#[test]
fn a_value_is_never_outside_its_limits() {
    let there = there(400);
    for more in ["", "--set kl", "--set tv", "--set entropic --eta 50", "--support observed"] {
        let found = json(there.path(), &format!("evaluate s.toml --json {more}"));
        let all = brackets(&found);
        assert_eq!(all.len(), 2 * 3 + 2 * 3, "{more}");
        for (value, honest, limits) in all {
            let (low, high) = (number(&limits["lower"]), number(&limits["upper"]));
            let honest = number(&honest["value"]);
            assert!(low <= value && value <= high, "{more}: {value} of {limits}");
            assert!(
                low <= honest + 1e-12 && honest <= high + 1e-12,
                "{more}: {honest} of {limits}"
            );
            assert_eq!(number(&limits["level"]), 0.95);
        }
    }
    let wide = json(there.path(), "evaluate s.toml --json --level 0.99");
    let usual = json(there.path(), "evaluate s.toml --json");
    for (a, b) in brackets(&wide).iter().zip(brackets(&usual)) {
        assert!(number(&a.2["lower"]) <= number(&b.2["lower"]));
        assert!(number(&a.2["upper"]) >= number(&b.2["upper"]));
        assert_eq!(a.1, b.1);
    }
}

/// The data's own population is in every ball, so some population there costs at least what the estimate's
/// lower limit says. (The held-out value's own lower limit is wider.)
#[test]
fn the_lower_limit_is_never_below_that_of_the_estimate_without_shift() {
    let there = there(400);
    let found = json(there.path(), "evaluate s.toml --json");
    for policy in found["policies"].as_array().unwrap() {
        let plain = number(&policy["nominal"]["dr"]["lower"]);
        for result in policy["results"].as_array().unwrap() {
            let (low, value) = (number(&result["limits"]["lower"]), number(&result["value"]));
            assert!(low >= plain.min(value), "{low} below {plain}: {result}");
        }
    }
    for pair in found["comparisons"].as_array().unwrap() {
        let plain = &pair["nominal"]["dr"];
        for result in pair["results"].as_array().unwrap() {
            let (low, worst) = (number(&result["limits"]["lower"]), number(&result["worst"]));
            let (high, best) = (number(&result["best_limits"]["upper"]), number(&result["best"]));
            assert!(low >= number(&plain["lower"]).min(worst), "{result}");
            assert!(high <= number(&plain["upper"]).max(best), "{result}");
        }
    }
}

/// One effective row supports no confidence statement, wherever it would be made.
#[test]
fn below_30_effective_rows_no_limits_are_given() {
    let there = there(400);
    let path = there.path();
    // Of the target's people the log has a handful: the effective sample size is small.
    let mut log = data(400);
    log.push_str("75,M,c,treat,1,1,h1,0.3,0.3\n75,M,c,wait,1,1,h1,0.3,0.3\n");
    let rare = log.replace("70,", "60,");
    std::fs::write(path.join("d.csv"), rare).unwrap();
    std::fs::write(path.join("t.csv"), "age,sex,site\n".to_owned() + &"75,M,c\n".repeat(50))
        .unwrap();
    let asked = "evaluate s.toml --target t.csv";
    let found = json(path, &format!("{asked} --json"));
    for policy in found["policies"].as_array().unwrap() {
        assert!(number(&policy["target"]["effective_rows"]) < 30.0, "{policy}");
        for result in policy["results"].as_array().unwrap() {
            assert!(result["limits"].is_null(), "{result}");
        }
    }
    for result in found["comparisons"][0]["results"].as_array().unwrap() {
        assert!(result["limits"].is_null() && result["best_limits"].is_null(), "{result}");
        assert_eq!(result["verdict"], "undecided");
    }
    let shown = run(path, asked).out;
    assert!(!shown.contains("95% confidence"), "{shown}");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("below 30: no confidence limits are given"), "{words}");
    assert_eq!(run(path, "report s.toml --target t.csv --out r.html").code, 0);
    let page = std::fs::read_to_string(path.join("r.html")).unwrap();
    assert!(page.contains("too few rows for a statement about its mean"));
    assert!(!page.contains("The worst-case mean of"), "the paragraph claims nothing");
    // The same study about its own people has both.
    let own = json(path, "evaluate s.toml --json");
    assert!(own["policies"][0]["results"][0]["limits"]["upper"].is_number());
}

#[test]
fn halves_are_seeded_threaded_and_can_be_left_out() {
    let there = there(300);
    let words = "evaluate s.toml --json --by sex";
    let one = |threads: &str, more: &str| {
        let output = assert_cmd::Command::cargo_bin("seawall")
            .unwrap()
            .current_dir(there.path())
            .env("RAYON_NUM_THREADS", threads)
            .args(words.split_whitespace().chain(more.split_whitespace()))
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(one("1", ""), one("3", ""));
    assert_ne!(one("2", ""), one("2", "--seed 2"));
    let none = json(there.path(), "evaluate s.toml --json --splits 0");
    for (_, honest, limits) in brackets(&none) {
        assert!(honest.is_null() && limits.is_null());
    }
    let refused = run(there.path(), "evaluate s.toml --level 1.5");
    assert!(refused.code == 2 && refused.err.contains("--level is 1.5"), "{}", refused.err);
    let report = run(there.path(), "report s.toml --no-learn --splits 3");
    assert_eq!(report.code, 0, "{}", report.err);
    let page = std::fs::read_to_string(there.path().join("report.html")).unwrap();
    assert!(
        page.contains("95% limits")
            && page.contains("95% confidence, assuming that no two columns")
    );
}

/// Sentences to quote, both directions, on the screen and in full.
#[test]
fn claims_are_said() {
    let there = there(400);
    let fine = STUDY.replace("max_depth = 3\nmin_samples_leaf = 5", "max_depth = 8");
    std::fs::write(there.path().join("s.toml"), fine).unwrap();
    let found = run(there.path(), "evaluate s.toml --policy constant:treat");
    let text = found.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("No population within 0.05 of the data costs more than"), "{text}");
    assert!(
        text.contains("(95% confidence, assuming that no three columns act together"),
        "{text}"
    );
    assert!(text.contains("Some population within 0.05 of the data costs at least"), "{text}");
    assert!(text.contains("of it may be overfitting; try larger leaves or a forest"), "{text}");
    let rewards = STUDY.replace("cost = \"y\"", "reward = \"y\"");
    std::fs::write(there.path().join("r.toml"), rewards).unwrap();
    let found = run(there.path(), "evaluate r.toml --details --level 0.9");
    let text = found.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("o population within 0.05 of the data brings less than"), "{text}");
    assert!(text.contains("ome population within 0.05 of the data brings at most"), "{text}");
    assert!(text.contains("(90% confidence)"), "{text}");
    assert!(text.contains("90% limits") && text.contains("held-out (se)"), "{text}");
}

/// What one subgroup says is what a study of its rows alone says.
#[test]
fn a_subgroup_is_a_study_of_its_own() {
    let there = there(500);
    let found = json(there.path(), "evaluate s.toml --json --by sex");
    let by = &found["by"];
    assert_eq!((by["column"].as_str(), number(&by["confidence"])), (Some("sex"), 0.95));
    for (at, sex) in ["F", "M"].iter().enumerate() {
        let alone = STUDY
            .replace("[data]", &format!("[data]\nwhere = {{ sex = \"{sex}\" }}"))
            .replace("levels = [\"F\", \"M\"]", &format!("levels = [\"{sex}\"]"));
        std::fs::write(there.path().join("one.toml"), alone).unwrap();
        let own = json(there.path(), "evaluate one.toml --json");
        let level = &by["levels"][at];
        assert_eq!(level["level"], **sex);
        assert_eq!(number(&level["rows"]), number(&own["rows"]));
        let part = &level["evaluation"];
        for (a, b) in brackets(part).iter().zip(brackets(&own)) {
            assert!((a.0 - b.0).abs() < 1e-12 && a.1 == b.1, "{sex}: {a:?} {b:?}");
        }
        for k in 0..2 {
            assert_eq!(part["policies"][k]["nominal"], own["policies"][k]["nominal"]);
        }
    }
    let wide = json(there.path(), "evaluate s.toml --json --by site --simultaneous");
    let plain = json(there.path(), "evaluate s.toml --json --by site");
    assert!((number(&wide["by"]["confidence"]) - (1.0 - 0.05 / 3.0)).abs() < 1e-12);
    for k in 0..3 {
        let of = |found: &Value| found["by"]["levels"][k]["evaluation"].clone();
        let (wide, plain) = (of(&wide), of(&plain));
        let dr = |found: &Value| found["policies"][0]["nominal"]["dr"].clone();
        assert!(number(&dr(&wide)["lower"]) < number(&dr(&plain)["lower"]));
        let limit = |found: &Value| number(&found["policies"][0]["results"][1]["limits"]["upper"]);
        assert!(limit(&wide) > limit(&plain));
    }
    let shown = run(there.path(), "evaluate s.toml --by site");
    assert!(shown.out.contains("By site:") && shown.out.contains("treat − wait"), "{}", shown.out);
    let unknown = run(there.path(), "evaluate s.toml --by colour");
    assert!(unknown.code == 2 && unknown.err.contains("age, sex, site"), "{}", unknown.err);
    // A level in which an action was never taken does not lose the others.
    let some: String = data(300)
        .lines()
        .filter(|l| !l.contains(",c,treat,"))
        .fold(String::new(), |all, line| all + line + "\n");
    std::fs::write(there.path().join("d.csv"), some).unwrap();
    let shown = run(there.path(), "evaluate s.toml --by site");
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(
        shown.out.contains("site c: no answer: no row of the log has the action \"treat\""),
        "{}",
        shown.out
    );
}

fn with(there: &Path, data: &str) {
    std::fs::write(there.join("s.toml"), STUDY.replace("[data]", &format!("[data]\n{data}")))
        .unwrap();
}

#[test]
fn clusters_and_weights_are_said_and_asked_about() {
    let there = there(400);
    let path = there.path();
    let plain = json(path, "evaluate s.toml --json");
    with(path, "cluster = \"hospital\"");
    let found = json(path, "check s.toml --json");
    assert_eq!(found["clusters"], 20);
    let clustered = json(path, "evaluate s.toml --json");
    let dm = |found: &Value| found["policies"][0]["nominal"]["dm"].clone();
    assert!((number(&dm(&plain)["value"]) - number(&dm(&clustered)["value"])).abs() < 1e-12);
    assert_ne!(dm(&plain)["se"], dm(&clustered)["se"]);
    assert!(run(path, "evaluate s.toml").out.contains("in 20 clusters"));
    // More folds than clusters.
    let many = "cluster = \"hospital\"";
    let text = STUDY.replace("[data]", &format!("[data]\n{many}"));
    let text = text.replace("max_depth = 3", "max_depth = 3\nfolds = 21");
    std::fs::write(path.join("f.toml"), text).unwrap();
    let refused = run(path, "evaluate f.toml");
    assert_eq!(refused.code, 2);
    let why = "folds is 21, but the log has 20 clusters";
    assert!(refused.err.contains(why) && refused.err.contains("line "), "{}", refused.err);
    // A cluster column in the context.
    with(path, "cluster = \"site\"");
    let refused = run(path, "check s.toml");
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("line 2") && refused.err.contains("context column, too"),
        "{}",
        refused.err
    );
    // Weights that are no counts ask which is meant.
    with(path, "weight = \"w\"");
    let refused = run(path, "check s.toml");
    for words in ["d.csv: row", "\"w\"", "survey_weight", "fractional = true"] {
        assert!(refused.code != 0 && refused.err.contains(words), "{words}: {}", refused.err);
    }
    with(path, "weight = { column = \"w\", fractional = true }");
    let counted = json(path, "evaluate s.toml --json");
    with(path, "survey_weight = \"w\"");
    let survey = json(path, "evaluate s.toml --json");
    assert!((number(&dm(&counted)["value"]) - number(&dm(&survey)["value"])).abs() < 1e-9);
    let worth = number(&survey["diagnostics"]["effective_rows"]);
    assert!(worth > 250.0 && worth < 400.0, "{worth}");
    let told = run(path, "evaluate s.toml");
    assert!(told.out.contains("of equal weight"), "{}", told.out);
    with(path, "survey_weight = \"w\"\nweight = \"w\"");
    let refused = run(path, "check s.toml");
    assert!(refused.code == 2 && refused.err.contains("not both"), "{}", refused.err);
    // A row without a cluster.
    let broken = data(20) + "30,F,a,treat,1,1,,0.3,0.3\n";
    std::fs::write(path.join("d.csv"), broken).unwrap();
    with(path, "cluster = \"hospital\"");
    let refused = run(path, "check s.toml");
    assert!(
        refused.err.contains("row 21, column \"hospital\": the cluster is missing"),
        "{}",
        refused.err
    );
}

/// Deals of folds: more of them hang less on one.
#[test]
fn folds_are_dealt_several_times() {
    let there = there(200);
    let dr = |more: &str| {
        let text = STUDY.replace("max_depth = 3", &format!("max_depth = 3\n{more}"));
        std::fs::write(there.path().join("f.toml"), text).unwrap();
        let found = json(there.path(), "evaluate f.toml --json --splits 0");
        number(&found["policies"][0]["nominal"]["dr"]["value"])
    };
    assert_eq!(dr(""), dr("folds = 5\nrepeats = 5"));
    assert_eq!(dr("seed = 3"), dr("seed = 3"));
    let spread = |repeats: usize| {
        let all: Vec<f64> =
            (0..8).map(|seed| dr(&format!("repeats = {repeats}\nseed = {seed}"))).collect();
        let mean = all.iter().sum::<f64>() / 8.0;
        all.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
    };
    assert!(spread(20) < 0.5 * spread(1));
    let bad = STUDY.replace("max_depth = 3", "max_depth = 3\nrepeats = 0");
    std::fs::write(there.path().join("f.toml"), bad).unwrap();
    let refused = run(there.path(), "check f.toml");
    assert!(refused.code == 2 && refused.err.contains("repeats"), "{}", refused.err);
}

/// The stroke trial by size of leaves, as another program found it once: as fitted to three digits,
/// the honest value by 20 splits of the rows, single ones of which are 0.05 apart where leaves are of two rows.
#[test]
fn the_stroke_trial_by_size_of_leaves() {
    let Some(csv) = shared("data/ist/IST_corrected.csv.gz") else { return };
    let text = include_str!("../../../studies/ist.toml");
    let text = text.replace("../../shared/data/ist/IST_corrected.csv.gz", csv.to_str().unwrap());
    let there = folder(&[("ist.toml", text.as_bytes())]);
    let found = run(there.path(), "evaluate ist.toml");
    assert!(found.code == 0, "{}", found.err);
    for (leaf, fitted, honest) in
        [(2, 0.725, 0.47), (20, 0.657, 0.50), (100, 0.558, 0.50), (300, 0.536, 0.50)]
    {
        let one = text
            .lines()
            .map(|l| {
                if l.starts_with("min_samples_leaf") {
                    format!("min_samples_leaf = {leaf}")
                } else {
                    l.to_owned()
                }
            })
            .collect::<Vec<_>>()
            .join("\n");
        std::fs::write(there.path().join("leaf.toml"), one).unwrap();
        let found = json(there.path(), "evaluate leaf.toml --json --radius 0.03 --splits 20");
        let at = &found["policies"][0]["results"][0];
        assert!((number(&at["value"]) - fitted).abs() < 6e-4, "{leaf}: {}", at["value"]);
        let own = number(&at["held_out"]["value"]);
        assert!((own - honest).abs() <= 0.03, "{leaf}: {own}, expected about {honest}");
    }
}
