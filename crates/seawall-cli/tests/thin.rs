//! Below 30 effective rows nothing is said with confidence, whatever the command.
#![allow(clippy::unwrap_used)]

use crate::common::{folder, json, run};

const STUDY: &str = r#"[data]
path = "t.csv"

[context]
age  = { kind = "numeric", bin = 10, min = 20, max = 80 }
site = { kind = "nominal" }

[action]
column = "arm"

[propensity]
design = { A = 0.5, B = 0.5 }

[outcome]
cost = "y"

[model]
kind = "tree"
max_depth = 2
min_samples_leaf = 5

[[policy]]
kind = "uniform"

[[policy]]
kind = "constant"
action = "A"

[robust]
context = { set = "wasserstein", radius = [0.01, 0.1] }
"#;

/// So many rows of site n, and 24 of site t.
fn there(more: usize) -> tempfile::TempDir {
    let row = |k: usize| {
        let site = if k < 24 { "t" } else { "n" };
        format!("{},{site},{},{}\n", 20 + k * 37 % 60, ["A", "B"][k % 2], k * k % 7 / 4)
    };
    let rows: String = (0..24 + more).map(row).collect();
    folder(&[("s.toml", STUDY.as_bytes()), ("t.csv", format!("age,site,arm,y\n{rows}").as_bytes())])
}

#[test]
fn few_rows_have_estimates_and_no_intervals() {
    let thin = there(0);
    let found = json(thin.path(), "evaluate s.toml --json");
    for policy in found["policies"].as_array().unwrap() {
        for name in ["dm", "ips", "snips", "dr"] {
            let estimate = &policy["nominal"][name];
            assert!(estimate["value"].is_number() && estimate["se"].is_number(), "{policy}");
            assert!(estimate["lower"].is_null() && estimate["upper"].is_null(), "{policy}");
        }
    }
    for pair in found["comparisons"].as_array().unwrap() {
        assert!(pair["nominal"]["dr"]["lower"].is_null(), "{pair}");
    }
    let told = run(thin.path(), "evaluate s.toml").out;
    assert!(told.contains("(unknown)") && !told.contains("(0.") && !told.contains("(-"), "{told}");
    run(thin.path(), "report s.toml --out r.html");
    let page = std::fs::read_to_string(thin.path().join("r.html")).unwrap();
    assert!(page.contains("(unknown)") && !page.contains("NaN"));
}

#[test]
fn a_level_of_few_rows_has_no_intervals_and_others_have() {
    let found = json(there(200).path(), "evaluate s.toml --by site --json");
    for level in found["by"]["levels"].as_array().unwrap() {
        let thin = level["level"] == "t";
        let policy = &level["evaluation"]["policies"][0];
        assert_eq!(policy["nominal"]["dr"]["lower"].is_null(), thin, "{level}");
        assert_eq!(policy["results"][0]["limits"].is_null(), thin, "{level}");
    }
}

#[test]
fn few_rows_bound_no_transfer_and_no_comparison() {
    let thin = there(0);
    let asked = "transport s.toml --target-facts age:mean=50 --json";
    let found = json(thin.path(), asked);
    let transfers = found["transfers"].as_array().unwrap();
    assert!(transfers.iter().all(|t| t["bound"].is_null() && t["centre"].is_number()), "{found}");
    assert!(found["notes"].to_string().contains("below 30: no bound is given"), "{found}");
    let told = run(thin.path(), "transport s.toml --target-facts age:mean=50").out;
    assert!(told.contains("none") && !told.contains("Bounds at"), "{told}");
    let many = json(there(200).path(), asked);
    assert!(many["transfers"][0]["bound"].is_number(), "{many}");
    let refused = run(thin.path(), "sensitivity s.toml --set kl --set tv");
    assert!(refused.code == 2 && refused.err.contains("effective sample size is below 30"));
    assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);
}
