//! Outcome models in a study file: read, refused by line, told in words, drawn.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run};
use std::fmt::Write;

/// Rows of an age, a sex and a stage, two arms, and a cost that rises with age.
fn data() -> String {
    let mut text = "age,sex,stage,arm,y\n".to_owned();
    let mut state = 7_u64;
    let mut below = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for _ in 0..1500 {
        let (age, sex, stage, arm) = (40 + below(40), below(2), below(3), below(2));
        let cost = age / 10 + 2 * sex * arm + below(4);
        let stage = ["I", "II", "III"][stage as usize];
        let row =
            format!("{age},{},{stage},{}", ["F", "M"][sex as usize], ["a", "b"][arm as usize]);
        writeln!(text, "{row},{cost}").unwrap();
    }
    text
}

fn study(model: &str) -> String {
    format!(
        "[data]\npath = \"d.csv\"\n[context]\nage = {{ kind = \"numeric\", bin = 5 }}\nsex = {{ kind = \
         \"nominal\" }}\nstage = {{ kind = \"ordinal\", levels = [\"I\", \"II\", \"III\"] }}\n[action]\n\
         column = \"arm\"\n[outcome]\ncost = \"y\"\n[model]\n{model}\n[robust]\ncontext = {{ set = \
         \"wasserstein\", radius = 0.05 }}\n"
    )
}

fn there(model: &str) -> tempfile::TempDir {
    folder(&[("s.toml", study(model).as_bytes()), ("d.csv", data().as_bytes())])
}

#[test]
fn every_kind_is_checked_evaluated_and_told() {
    for (model, words) in [
        (
            "kind = \"tree\"\nmax_depth = 2\nmin_share = [0.02, 0.1]\nseed = 3",
            &["age <", "rows, mean"][..],
        ),
        ("kind = \"forest\"\ntrees = 20\nseed = 1", &["The average of 20 trees", "squared error"]),
        ("kind = \"boosted\"\nrounds = 60\ndepth = 2", &["trees of depth 2", "squared error"]),
        ("kind = \"additive\"\npairs = 1", &["plus what each column adds", "stage", "III"]),
        ("kind = \"cells\"\nunseen = \"mean\"", &["Every context by itself"]),
        ("kind = \"auto\"", &["rows"]),
    ] {
        let there = there(model);
        let path = there.path();
        let found = json(path, "check s.toml --json");
        let kind = model.split('"').nth(1).unwrap();
        if kind == "auto" {
            let kinds: Vec<&str> = found["models"]
                .as_array()
                .unwrap()
                .iter()
                .map(|m| m["kind"].as_str().unwrap())
                .collect();
            assert_eq!(&kinds[..4], ["tree", "additive", "forest", "boosted"]);
            let chosen = found["models"].as_array().unwrap().iter().filter(|m| m["chosen"] == true);
            assert_eq!(chosen.map(|m| &m["kind"]).collect::<Vec<_>>(), [&found["model"]]);
            for command in ["check s.toml", "evaluate s.toml", "evaluate s.toml --details"] {
                let shown = run(path, command).out;
                assert!(shown.contains("error on rows left out"), "{command}: {shown}");
            }
        } else {
            assert_eq!(found["model"], kind);
            assert!(found.get("models").is_none());
        }
        let answer = json(path, "evaluate s.toml --policy constant:a --policy greedy --json");
        let value = answer["policies"][0]["results"][0]["value"].as_f64().unwrap();
        let nominal = answer["policies"][0]["nominal"]["dm"]["value"].as_f64().unwrap();
        assert!(value >= nominal && value < nominal + 4.0, "{kind}: {nominal} {value}");
        let told = run(path, "explain s.toml");
        assert_eq!((told.code, told.err.as_str()), (0, ""), "{kind}");
        for word in words {
            assert!(told.out.contains(word), "{kind}: {word:?} in {}", told.out);
        }
        let one = json(path, "explain s.toml --action b --json");
        assert_eq!(one["actions"].as_array().unwrap().len(), 1);
        assert_eq!(one["actions"][0]["name"], "b");
        assert_eq!(one["kind"], found["model"]);
    }
}

#[test]
fn settings_that_cannot_be_are_refused_by_line() {
    for (model, words) in [
        ("kind = \"forest\"\ntrees = 0", "a whole number from 1 to 100000"),
        ("kind = \"forest\"\nmin_share = 0.7", "a number from 0 to 0.5"),
        ("kind = \"forest\"\nmax_dept = 3", "did you mean \"max_depth\"?"),
        ("kind = \"boosted\"\nshrinkage = 0", "above 0 and at most 1"),
        ("kind = \"boosted\"\nrounds = 2.5", "a whole number from 1"),
        ("kind = \"additive\"\npenalty = [1, -1]", "-1; expected a number above 0"),
        ("kind = \"additive\"\nsteps = 1", "a whole number from 2 to 256"),
        ("kind = \"auto\"\nfolds = 1", "a whole number from 2 to 1000"),
        ("kind = \"tree\"\nmin_share = { c = 0.1 }", "names the action \"c\""),
        ("kind = \"florest\"", "did you mean \"forest\"?"),
    ] {
        let found = run(there(model).path(), "check s.toml");
        assert!(found.code == 2 && found.err.contains(words), "{model}: {}", found.err);
        let line = if model.contains('\n') { "13" } else { "12" };
        // Actions are known only once the data are read.
        let late = model.contains("{ c = 0.1 }");
        assert!(late || found.err.contains(&format!("line {line}")), "{model}: {}", found.err);
    }
}

#[test]
fn a_cost_radius_needs_outcomes() {
    for kind in ["boosted", "additive"] {
        let found = run(
            there(&format!("kind = \"{kind}\"")).path(),
            "evaluate s.toml --outcome-radius 0.1",
        );
        assert_eq!(found.code, 2);
        assert!(
            found.err.contains("--outcome-radius is 0.1") && found.err.contains("forest"),
            "{}",
            found.err
        );
    }
    let there = there("kind = \"forest\"\ntrees = 10");
    let found =
        json(there.path(), "evaluate s.toml --policy constant:a --outcome-radius 0,0.01 --json");
    let results = found["policies"][0]["results"].as_array().unwrap();
    assert!(results[1]["value"].as_f64().unwrap() > results[0]["value"].as_f64().unwrap());
    // Asked in the study, auto looks only at models that can.
    let asked = study("kind = \"auto\"") + "cost = { set = \"wasserstein\", radius = 0.01 }\n";
    std::fs::write(there.path().join("s.toml"), asked).unwrap();
    let found = json(there.path(), "check s.toml --json");
    for row in found["models"].as_array().unwrap() {
        assert!(["tree", "forest", "cells"].contains(&row["kind"].as_str().unwrap()), "{row}");
    }
}

#[test]
fn a_report_names_the_model_and_draws_additive_curves() {
    for (model, words) in [
        ("kind = \"additive\"", &["What each column adds", "penalty", "What age adds"][..]),
        ("kind = \"forest\"\ntrees = 10", &["the average of 10 trees"]),
    ] {
        let there = there(model);
        let command = "report s.toml --no-learn --out r.html";
        let found = run(there.path(), command);
        assert_eq!(found.code, 0, "{}", found.err);
        let page = std::fs::read_to_string(there.path().join("r.html")).unwrap();
        for word in words {
            assert!(page.contains(word), "{word}");
        }
        assert_eq!(page.contains("id=\"model\""), model.contains("additive"));
    }
}

#[test]
fn explain_still_tells_policies() {
    let there = there("kind = \"tree\"");
    assert_eq!(run(there.path(), "learn s.toml --policy greedy --out p.json").code, 0);
    assert!(run(there.path(), "explain p.json").out.contains("chooses among"));
    let found = run(there.path(), "explain p.json --json");
    assert!(found.code == 2 && found.err.contains("policy file"), "{}", found.err);
    let found = run(there.path(), "explain s.toml --action c");
    assert!(found.code == 2 && found.err.contains("there are: a, b"), "{}", found.err);
}
