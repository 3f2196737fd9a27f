//! The whole space as a support, by the built program.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run, shared};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Rows of columns of any numbers, of which two matter, and one nominal column.
fn data(rows: usize, columns: usize) -> String {
    let mut state = 5u64;
    let mut unit = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut text: String = (0..columns).map(|k| format!("x{k},")).collect();
    text.push_str("site,arm,y\n");
    for _ in 0..rows {
        let x: Vec<f64> = (0..columns).map(|_| unit()).collect();
        x.iter().for_each(|x| write!(text, "{x:.3},").unwrap());
        let arm = ["a", "b"][(2.0 * unit()) as usize];
        let site = ["n", "s", "w"][(3.0 * unit()) as usize];
        let chance = 0.1 + 0.4 * f64::from(u8::from(x[0] > 0.7 && x[1] < 0.4));
        writeln!(text, "{site},{arm},{}", u8::from(unit() < chance)).unwrap();
    }
    text
}

fn study(columns: usize, model: &str) -> String {
    let columns: String =
        (0..columns).map(|k| format!("x{k} = {{ kind = \"numeric\" }}\n")).collect();
    format!(
        "[data]\npath = \"d.csv\"\n[context]\n{columns}site = {{ kind = \"nominal\" }}\n\
         [action]\ncolumn = \"arm\"\n[propensity]\ndesign = {{ a = 0.5, b = 0.5 }}\n\
         [outcome]\ncost = \"y\"\n[model]\n{model}\n\
         [[policy]]\nkind = \"uniform\"\n[[policy]]\nkind = \"greedy\"\n\
         [robust]\ncontext = {{ set = \"wasserstein\", radius = [0.01, 0.1] }}\n\
         support = \"space\"\n"
    )
}

const TREE: &str = "kind = \"tree\"\nmax_depth = 3\nmin_samples_leaf = 20";

/// Every policy's value at every radius.
fn values(found: &Value) -> Vec<f64> {
    let policies = found["policies"].as_array().unwrap().iter();
    let results = policies.flat_map(|p| p["results"].as_array().unwrap());
    results.map(|r| number(&r["value"])).collect()
}

fn engines(found: &Value) -> Vec<&str> {
    let policies = found["policies"].as_array().unwrap().iter();
    let results = policies.flat_map(|p| p["results"].as_array().unwrap());
    results.map(|r| r["engine"].as_str().unwrap()).collect()
}

/// Grids that can be listed have the same values, differences and limits but for the allowance.
#[test]
fn the_demo_has_the_same_answers_on_its_grid() {
    let here = tempfile::TempDir::new().unwrap();
    assert_eq!(run(here.path(), "demo").code, 0);
    let ask = |support: &str| {
        json(here.path(), &format!("evaluate seawall-demo/study.toml --support {support} --json"))
    };
    let (grid, space) = (ask("grid"), ask("space"));
    for (a, b) in values(&grid).iter().zip(values(&space)) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
    assert!(engines(&grid).iter().all(|e| *e == "grid"));
    assert!(engines(&space).iter().all(|e| *e == "boxes"));
    for (a, b) in
        grid["comparisons"].as_array().unwrap().iter().zip(space["comparisons"].as_array().unwrap())
    {
        for (a, b) in a["results"].as_array().unwrap().iter().zip(b["results"].as_array().unwrap())
        {
            assert!((number(&a["worst"]) - number(&b["worst"])).abs() < 1e-12);
        }
    }
    let learn = |support: &str, policy: &str| {
        let words = format!(
            "learn seawall-demo/study.toml --policy {policy} --radius 0.03 --support {support} \
             --no-honest --json"
        );
        json(here.path(), &words)
    };
    for policy in ["tree:1", "tree:2", "groups:sex,stroke", "greedy"] {
        let (a, b) = (learn("grid", policy), learn("space", policy));
        assert!((number(&a["value"]) - number(&b["value"])).abs() < 1e-8, "{policy}: {a}\n{b}");
        assert_eq!(b["support"], "space");
        assert_eq!(b["status"], "optimal", "{policy}");
    }
}

#[test]
fn the_trial_has_the_same_values_on_its_grid() {
    if shared("data/ist").is_none() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ask = |support: &str| {
        json(&root, &format!("evaluate studies/ist.toml --support {support} --splits 0 --json"))
    };
    for (a, b) in values(&ask("grid")).iter().zip(values(&ask("space"))) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
}

/// Numbers that are not binned, more columns than a grid could have: a value, a plan that names
/// thresholds, the words, halves, subgroups, learning and the report.
#[test]
fn twenty_columns_of_any_numbers() {
    let text = data(600, 20);
    let here = folder(&[("d.csv", text.as_bytes()), ("s.toml", study(20, TREE).as_bytes())]);
    let found = json(here.path(), "evaluate s.toml --json");
    assert!(engines(&found).iter().all(|e| *e == "boxes"));
    let result = &found["policies"][0]["results"][1];
    assert_eq!(
        (result["status"].as_str(), result["support"].as_str()),
        (Some("optimal"), Some("space"))
    );
    assert!(number(&result["gap"]) < 1e-12 && number(&result["evaluations"]) > 0.0);
    let nominal = number(&found["policies"][0]["nominal"]["dm"]["value"]);
    assert!(number(&result["value"]) > nominal);
    let limits = &result["limits"];
    assert!(number(&limits["lower"]) <= number(&limits["upper"]) && limits["pairwise"].is_null());
    let words = run(here.path(), "evaluate s.toml --details --splits 0");
    assert_eq!(words.code, 0, "{}", words.err);
    assert!(words.out.contains("just above 0."), "{}", words.out);
    // The same bytes on any number of threads.
    let one = run(here.path(), "evaluate s.toml --json --threads 1");
    let two = run(here.path(), "evaluate s.toml --json --threads 2");
    assert_eq!((one.code, &one.out), (0, &two.out));
    assert_eq!(
        json(here.path(), "evaluate s.toml --json --by site --splits 0")["by"]["levels"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let learned = json(here.path(), "learn s.toml --policy groups:site --radius 0.05 --json");
    assert!(number(&learned["gap"]) < 1e-6, "{learned}");
    let listed = run(here.path(), "evaluate s.toml --splits 0 --worst w.csv");
    assert_eq!(listed.code, 0, "{}", listed.err);
    let places = std::fs::read_to_string(here.path().join("w.csv")).unwrap();
    assert!(places.contains("just above"), "{places}");
    let report = run(here.path(), "report s.toml --out r.html --learn groups:site");
    assert_eq!(report.code, 0, "{}", report.err);
    let html = std::fs::read_to_string(here.path().join("r.html")).unwrap();
    assert!(html.contains("every combination"));
    assert_eq!(run(here.path(), "radius s.toml").code, 0);
}

/// Other models: an additive one is exact, forests and boosted trees say what they leave open.
#[test]
fn models_of_many_steps() {
    let text = data(150, 4);
    for (kind, exact) in [("additive", true), ("forest", false), ("boosted", false)] {
        let own =
            study(4, &format!("kind = \"{kind}\"")).replace("[[policy]]\nkind = \"greedy\"\n", "");
        let here = folder(&[("d.csv", text.as_bytes()), ("s.toml", own.as_bytes())]);
        let found = json(here.path(), "evaluate s.toml --json --splits 0");
        for r in found["policies"][0]["results"].as_array().unwrap() {
            let (lower, upper) = (number(&r["lower"]), number(&r["upper"]));
            assert!(lower <= upper && number(&r["value"]) == upper, "{kind}: {r}");
            assert!(!exact || (r["status"] == "optimal" && upper - lower < 1e-9), "{kind}: {r}");
            assert!(["boxes", "separable", "descent"].contains(&r["engine"].as_str().unwrap()));
        }
        // People at the points observed are among those anywhere.
        let observed = json(here.path(), "evaluate s.toml --json --splits 0 --support observed");
        for (a, b) in values(&observed).iter().zip(values(&found)) {
            assert!(*a <= b + 1e-9, "{kind}: {a} {b}");
        }
    }
}

#[test]
fn what_is_not_made_of_steps_says_what_to_do() {
    let text = data(200, 3);
    let cells = study(3, "kind = \"cells\"\nunseen = \"mean\"");
    let here = folder(&[
        ("d.csv", text.as_bytes()),
        ("s.toml", study(3, TREE).as_bytes()),
        ("cells.toml", cells.as_bytes()),
    ]);
    let refused = run(here.path(), "evaluate cells.toml");
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(
        refused.err.contains("expected a tree") && refused.err.contains("observed"),
        "{}",
        refused.err
    );
    let refused = run(here.path(), "evaluate s.toml --set tv --radius 0.1");
    assert!(
        refused.code == 2 && refused.err.contains("expected one of wasserstein, kl,"),
        "{}",
        refused.err
    );
    // Each set that is named there answers there, and none of the others.
    let named = refused.err.split("expected one of ").nth(1).unwrap();
    let named: Vec<&str> = named.split(" there").next().unwrap().split(", ").collect();
    for set in [
        "wasserstein",
        "kl",
        "chi2",
        "cressie-read:k=3",
        "cvar",
        "joint-kl",
        "hellinger",
        "burg",
        "mmd",
    ] {
        let found =
            run(here.path(), &format!("evaluate s.toml --set {set} --radius 0.1 --splits 0"));
        assert_eq!(found.code == 0, named.contains(&set), "{set} of {named:?}: {}", found.err);
    }
    let refused = run(here.path(), "learn s.toml --policy softmax --radius 0.1");
    assert!(refused.code == 2 && refused.err.contains("groups, trees"), "{}", refused.err);
    let refused = run(here.path(), "evaluate s.toml --support everywhere");
    assert!(refused.code == 2 && refused.err.contains("space"), "{}", refused.err);
}

#[test]
fn init_writes_it_for_wide_tables() {
    let text = data(300, 12);
    let here = folder(&[("d.csv", text.as_bytes())]);
    let made = run(here.path(), "init d.csv --out s.toml");
    assert_eq!(made.code, 0, "{}", made.err);
    let study = std::fs::read_to_string(here.path().join("s.toml")).unwrap();
    assert!(study.contains("support = \"space\"") && !study.contains("bin = 0"), "{study}");
    assert_eq!(run(here.path(), "evaluate s.toml --splits 0").code, 0);
}
