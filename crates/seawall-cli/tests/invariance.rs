//! What must not matter: whether outcomes are costs or the rewards they mirror, and the order of actions and
//! columns in a study. Folds and sample splits follow what a row holds, not the cost computed from it.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A trial whose outcome is a number `y` and an event `e`.
fn data() -> String {
    let mut state = 5u64;
    let mut below = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut text = "x,g,a,y,e\n".to_owned();
    for _ in 0..300 {
        let (x, g, a) = (below(5), ["a", "b"][below(2) as usize], ["c", "t"][below(2) as usize]);
        let y = below(4) + u64::from(x > 2 && a == "t");
        let event = ["no", "severe", "mild"][below(3) as usize];
        writeln!(text, "{x},{g},{a},{y},{event}").unwrap();
    }
    text
}

fn study(outcome: &str, model: &str) -> String {
    format!(
        "[data]\npath = \"d.csv\"\n[context]\nx = \"numeric\"\ng = \"nominal\"\n[action]\ncolumn = \"a\"\n\
         [propensity]\ndesign = {{ c = 0.5, t = 0.5 }}\n[outcome]\n{outcome}\n[model]\nkind = \"{model}\"\n"
    )
}

/// The size of every number, by where it stands; the two ends of an interval change places.
fn sizes(value: &Value, path: &str, found: &mut BTreeMap<String, Vec<u64>>) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields.iter().filter(|(key, _)| *key != "seconds") {
                let key = key.replace("lower", "end").replace("upper", "end");
                sizes(inner, &format!("{path}/{key}"), found);
            }
        }
        Value::Array(all) => all.iter().for_each(|inner| sizes(inner, &format!("{path}[]"), found)),
        Value::Number(number) => {
            let size = number.as_f64().unwrap().abs();
            found.entry(path.to_owned()).or_default().push(size.to_bits());
        }
        _ => {}
    }
}

fn all_sizes(value: &Value) -> BTreeMap<String, Vec<u64>> {
    let mut found = BTreeMap::new();
    sizes(value, "", &mut found);
    found.values_mut().for_each(|all| all.sort_unstable());
    found
}

#[test]
fn rewards_mirror_costs_to_the_last_digit() {
    let outcomes = [
        ("cost = { y = -1 }", "reward = { y = 1 }"),
        (
            "cost = { y = 0.5, e = { severe = 3, mild = 1 } }",
            "reward = { y = -0.5, e = { severe = -3, mild = -1 } }",
        ),
    ];
    let commands = [
        "evaluate STUDY --policy constant:t --policy greedy --policy uniform --radius 0,0.05 --json",
        "evaluate STUDY --policy constant:t --policy constant:c --set kl --radius 0.05 --outcome-radius 0.01 \
         --json",
        "learn STUDY --policy tree:1 --radius 0.05 --json",
    ];
    for (costs, rewards) in outcomes {
        for model in ["cells", "tree", "additive", "boosted", "forest", "auto"] {
            let files = [("c.toml", study(costs, model)), ("r.toml", study(rewards, model))];
            let data = data();
            let there = folder(&[
                ("d.csv", data.as_bytes()),
                (files[0].0, files[0].1.as_bytes()),
                (files[1].0, files[1].1.as_bytes()),
            ]);
            for command in commands {
                if ["additive", "boosted"].contains(&model) && command.contains("--outcome-radius")
                {
                    continue; // These models have values only, no outcomes to shift.
                }
                let one = all_sizes(&json(there.path(), &command.replace("STUDY", "c.toml")));
                let other = all_sizes(&json(there.path(), &command.replace("STUDY", "r.toml")));
                assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
                for (path, numbers) in &one {
                    assert_eq!(numbers, &other[path], "{model}, {command}: {path}");
                }
                assert!(one.len() > 20, "{command}: {} places", one.len());
            }
        }
    }
}

/// Held-out values of learned rules once changed sign with the order of the actions in the study.
#[test]
fn held_out_values_do_not_depend_on_the_order_of_actions_and_columns() {
    let outcome = "[outcome]\ncost = { y = 1, e = { severe = 3, mild = 1 } }\n";
    let actions = ["c = { a = \"c\" }\n", "t = { a = \"t\" }\n"];
    let columns = ["x = \"numeric\"\n", "g = \"nominal\"\n"];
    let ordered = |first: usize| {
        format!(
            "[data]\npath = \"d.csv\"\n[context]\n{}{}[action]\n{}{}[propensity]\n\
             design = {{ c = 0.5, t = 0.5 }}\n{outcome}[model]\nkind = \"tree\"\n",
            columns[first],
            columns[1 - first],
            actions[first],
            actions[1 - first]
        )
    };
    let (one, other, data) = (ordered(0), ordered(1), data());
    let there = folder(&[
        ("d.csv", data.as_bytes()),
        ("one.toml", one.as_bytes()),
        ("other.toml", other.as_bytes()),
    ]);
    let held_out = |study: &str, seed: u64| {
        let asked = format!("learn {study} --policy tree:1 --radius 0.02 --seed {seed} --json");
        json(there.path(), &asked)["honest"].clone()
    };
    let (a, b) = (held_out("one.toml", 0), held_out("other.toml", 0));
    assert_eq!(a["splits"], 5);
    for path in ["/value", "/nominal_value", "/best_constant/value", "/best_constant/difference/se"]
    {
        let (a, b) = (a.pointer(path).unwrap(), b.pointer(path).unwrap());
        let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
        assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{path}: {a} and {b}");
    }
    // The difference is that of the means, and its standard error is told.
    let of = |path: &str| a.pointer(path).unwrap().as_f64().unwrap();
    let difference = of("/worst_case") - of("/best_constant/value");
    assert!((of("/best_constant/difference/value") - difference).abs() < 1e-9);
    assert!(
        of("/best_constant/difference/se") > 0.0
            && of("/best_constant/nominal_difference/se") > 0.0
    );
    // Another seed is another set of splits.
    assert_ne!(a["value"], held_out("one.toml", 1)["value"]);
}
