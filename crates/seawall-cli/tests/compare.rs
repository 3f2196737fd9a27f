//! Which policy in one population: `evaluate` with several policies, and `learn --against`.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run, shared};
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn demo() -> tempfile::TempDir {
    let there = folder(&[]);
    assert_eq!(run(there.path(), "demo").code, 0);
    there
}

/// The comparison of one policy with another.
fn pair<'v>(found: &'v Value, policy: &str, against: &str) -> &'v Value {
    let all = found["comparisons"].as_array().unwrap();
    all.iter().find(|c| c["policy"] == policy && c["against"] == against).unwrap()
}

#[test]
fn differences_are_of_one_population() {
    let there = demo();
    let path = there.path();
    let study = "seawall-demo/study.toml";
    let words = "--policy constant:treat --policy constant:control";
    let ask = |more: &str| json(path, &format!("evaluate {study} {words} {more} --json"));
    let found = ask("--radius 0,0.01,0.05 --outcome-radius 0,0.02");
    assert!(found.get("breakdown").is_none() && found.get("differences").is_none());
    let (a, b) = ("constant:treat", "constant:control");
    let (one, other) = (pair(&found, a, b), pair(&found, b, a));
    assert_eq!(one["results"].as_array().unwrap().len(), 6);
    for (k, own) in one["results"].as_array().unwrap().iter().enumerate() {
        let turned = &other["results"][k];
        assert_eq!(number(&own["worst"]), -number(&turned["best"]), "{k}");
        assert_eq!(number(&own["best"]), -number(&turned["worst"]), "{k}");
        assert!(number(&own["lower"]) <= number(&own["upper"]) && own["status"] == "optimal");
        assert!(number(&own["best"]) <= number(&own["worst"]));
        // One population for both is no worse than one for each.
        let values: Vec<f64> =
            (0..2).map(|p| number(&found["policies"][p]["results"][k]["value"])).collect();
        assert!(
            number(&own["worst"]) <= values[0] + 1e-9 && number(&own["best"]) >= -values[1] - 1e-9
        );
    }
    // At radius 0 without shifting outcomes both ends are the mean effect, which is near the doubly robust difference.
    let means = [0, 1].map(|p| number(&found["policies"][p]["nominal"]["dm"]["value"]));
    assert!((number(&one["nominal"]["dm"]["value"]) - (means[0] - means[1])).abs() < 1e-12);
    let (worst, best) = (&one["results"][0]["worst"], &one["results"][0]["best"]);
    assert!((number(worst) - number(best)).abs() < 1e-12);
    assert!((number(worst) - number(&one["nominal"]["dr"]["value"])).abs() < 0.005);
    // Certain: just within it no worse, just beyond it worse.
    let certain = number(&other["robustness_radius"]["value"]);
    assert!(certain > 0.0 && number(&one["robustness_radius"]["value"]) == 0.0);
    assert!(number(&other["robustness_radius"]["lower"]) <= certain + 1e-12);
    for (radius, sign) in [(0.99 * certain, -1.0), (1.01 * certain, 1.0)] {
        let at = ask(&format!("--radius {radius}"));
        let worst = number(&pair(&at, b, a)["results"][0]["worst"]);
        assert!(sign * worst > 0.0 && worst.abs() < 1e-3, "{radius}: {worst}");
    }
    // A policy has a difference of 0 to its like, at any radius: the robustness radius is none (null).
    let same = json(path, &format!("evaluate {study} --policy uniform --policy behaviour --json"));
    let like = pair(&same, "uniform", "behaviour");
    assert_eq!(like["robustness_radius"]["value"], Value::Null);
    assert_eq!(number(&like["results"][2]["worst"]), 0.0);
    let alone = json(path, &format!("evaluate {study} {words} --no-compare --json"));
    assert!(alone.get("comparisons").is_none());
    // Other sets and supports compare too.
    for more in ["--set kl", "--set tv", "--set entropic --eta 50", "--support observed"] {
        let found = ask(&format!("--radius 0.02 {more}"));
        let own = &pair(&found, a, b)["results"][0];
        assert!(number(&own["best_lower"]) <= number(&own["upper"]), "{more}");
        let certain = &pair(&found, b, a)["robustness_radius"];
        assert!(
            certain["value"].is_null() || number(&certain["lower"]) <= number(&certain["value"])
        );
    }
}

#[test]
fn files_hold_the_pairs_too() {
    let there = demo();
    let path = there.path();
    let asked = "evaluate seawall-demo/study.toml --policy constant:treat --policy constant:control \
                 --radius 0.02 --curve c.csv --worst w.csv";
    assert_eq!(run(path, asked).code, 0);
    let found = json(path, &format!("{asked} --json"));
    let own = &pair(&found, "constant:treat", "constant:control")["results"][0];
    let table = std::fs::read_to_string(path.join("w.csv")).unwrap();
    let rows =
        table.lines().filter(|l| l.starts_with("constant:treat minus constant:control,0.02,0,"));
    let sum: f64 = rows
        .map(|l| {
            let fields: Vec<f64> = l.rsplit(',').take(3).map(|f| f.parse().unwrap()).collect();
            fields[0] * fields[2]
        })
        .sum();
    // The population that does it, valued by the differences beside it.
    assert!((sum - number(&own["worst"])).abs() < 1e-12, "{sum} {own}");
    let curve = std::fs::read_to_string(path.join("c.csv")).unwrap();
    assert!(curve.lines().any(|l| l.starts_with("constant:control minus constant:treat,0,0,")));
}

/// The width of the widest line, in letters.
fn widest(text: &str) -> usize {
    text.lines().map(|l| l.trim_end().chars().count()).max().unwrap_or(0)
}

#[test]
fn two_policies_and_three_radii_fit_a_screen() {
    let there = demo();
    let path = there.path();
    let asked =
        "evaluate seawall-demo/study.toml --policy constant:treat --policy constant:control";
    let found = run(path, asked);
    assert!(found.out.lines().count() <= 22 && widest(&found.out) <= 80, "{}", found.out);
    for words in [" treat ", "Undecided", "solved to optimality", "lower is better", "--details"] {
        assert!(found.out.contains(words), "{words:?} is not in\n{}", found.out);
    }
    // Digits that the standard error supports, and no more.
    assert!(found.out.contains("0.31 (0.28, 0.34)"), "{}", found.out);
    let full = run(path, &format!("{asked} --details"));
    assert!(full.out.lines().count() > 40 && full.out.contains("lambda"), "{}", full.out);
    let both = run(path, &format!("{asked} --details --json"));
    assert!(both.code == 2 && both.err.contains("--json"), "{}", both.err);
    let sure = run(path, &format!("{asked} --radius 0.01"));
    assert!(sure.out.contains("95% upper limit"), "{}", sure.out);
    let plain = run(path, &format!("{asked} --splits 0 --radius 0.01"));
    assert!(!plain.out.contains("95% upper limit"), "{}", plain.out);
}

/// Treating helps everyone by about 1: certain within every radius, and said.
#[test]
fn what_is_clear_is_said() {
    let mut data = "age,arm,y\n".to_owned();
    for k in 0..400 {
        let (age, arm) = (20 + 10 * (k % 5), ["treat", "wait"][(k / 5) % 2]);
        let y = (k % 3) as f64 + if arm == "wait" { 1.0 + (age / 20) as f64 } else { 0.0 };
        data += &format!("{age},{arm},{y}\n");
    }
    let study = "[data]\npath = \"d.csv\"\n[context]\nage = \"numeric\"\n[action]\ncolumn = \"arm\"\n\
                 [outcome]\ncost = \"y\"\n[model]\nkind = \"tree\"\nmax_depth = 2\n[robust]\n\
                 context = { set = \"wasserstein\", radius = [0.05, 0.2] }\n";
    let there = folder(&[("d.csv", data.as_bytes()), ("s.toml", study.as_bytes())]);
    let path = there.path();
    let words = "evaluate s.toml --policy constant:treat --policy constant:wait";
    let found = run(path, words);
    let told = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let clear = "Treat is better in every population within 0.2 of the data";
    assert!(told(&found.out).contains(clear), "{}", found.out);
    let rewards = study.replace("cost =", "reward =");
    std::fs::write(path.join("r.toml"), rewards).unwrap();
    let found = run(path, &words.replace("s.toml", "r.toml"));
    let clear = "Treat is worse in every population within 0.2 of the data";
    assert!(told(&found.out).contains(clear), "{}", found.out);
    // Where the oldest are better treated, an older population reverses it, and that is said.
    let mut mixed = "age,arm,y\n".to_owned();
    for k in 0..400 {
        let (age, arm) = (20 + 10 * (k % 5), ["treat", "wait"][(k / 5) % 2]);
        let cost = match (arm, age) {
            ("wait", 60) => 3.0,
            ("wait", _) | ("treat", 60) => 1.0,
            _ => 2.0,
        };
        mixed += &format!("{age},{arm},{}\n", cost + (k % 3) as f64 / 100.0);
    }
    std::fs::write(path.join("d.csv"), mixed).unwrap();
    let found =
        run(path, &words.replace("treat --policy constant:wait", "wait --policy constant:treat"));
    assert!(
        told(&found.out).contains("t is better in every population within")
            || told(&found.out).contains("epends on"),
        "{}",
        found.out
    );
    let details = told(
        &run(
            path,
            &format!(
                "{} --details",
                words.replace("treat --policy constant:wait", "wait --policy constant:treat")
            ),
        )
        .out,
    );
    assert!(details.contains("wait costs less than constant:treat in the data"), "{details}");
    assert!(details.contains("a population with higher age reverses it"), "{details}");
}

/// A policy evaluated on the rows that it was learned on: held-out values of the way it was learned, and no claim.
fn learned_here(path: &std::path::Path, asked: &str) {
    let found = json(path, &format!("evaluate {asked} --json"));
    let own = &found["policies"][0];
    assert_eq!(own["chosen_here"], true);
    let at = &own["results"][0];
    assert!(number(&at["held_out"]["se"]) > 0.0 && at["limits"].is_null(), "{at}");
    assert!(at["no_claim"].as_str().unwrap().contains("chosen on the very rows"), "{at}");
    assert_eq!(found["comparisons"][0]["results"][0]["verdict"], "undecided");
    let notes = found["diagnostics"]["notes"].as_array().unwrap();
    assert!(notes.iter().any(|n| n.as_str().unwrap().contains("held-out values are of the way")));
}

/// On other rows a learned policy is a policy like any other.
#[test]
fn a_learned_policy_is_known_by_the_rows_it_was_learned_on() {
    let there = demo();
    let path = there.path();
    let study = std::fs::read_to_string(path.join("seawall-demo/study.toml")).unwrap();
    let data = std::fs::read_to_string(path.join("seawall-demo/trial.csv")).unwrap();
    let (head, rows) = data.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    for (name, part) in [("one", &rows[..3000]), ("two", &rows[3000..])] {
        std::fs::write(path.join(format!("{name}.csv")), format!("{head}\n{}\n", part.join("\n")))
            .unwrap();
        let own = study.replace("trial.csv", &format!("{name}.csv"));
        std::fs::write(path.join(format!("{name}.toml")), own).unwrap();
    }
    assert_eq!(run(path, "learn one.toml --policy tree:1 --radius 0.02 --out p.json").code, 0);
    learned_here(path, "one.toml --policy p.json --policy constant:control --radius 0.02");
    // The same rows in other bins: still its own, though the parts are not known then.
    let coarse = std::fs::read_to_string(path.join("one.toml")).unwrap();
    let coarse = coarse.replace("bin = 10 }", "bin = 20 }");
    std::fs::write(path.join("coarse.toml"), coarse).unwrap();
    let other = json(path, "evaluate coarse.toml --policy p.json --radius 0.02 --json");
    let own = &other["policies"][0];
    assert!(own["chosen_here"] == true && own["results"][0]["held_out"].is_null(), "{own}");
    let elsewhere = json(path, "evaluate two.toml --policy p.json --radius 0.02 --json");
    let own = &elsewhere["policies"][0];
    assert!(
        own["chosen_here"] == false && own["results"][0]["limits"]["upper"].is_number(),
        "{own}"
    );
    // Learned without held-out values nothing is known of its parts.
    assert_eq!(
        run(path, "learn one.toml --policy tree:1 --radius 0.02 --no-honest --out q.json").code,
        0
    );
    let found = json(path, "evaluate one.toml --policy q.json --radius 0.02 --json");
    assert!(found["policies"][0]["results"][0]["held_out"].is_null());
}

#[test]
fn policies_are_learned_against_a_baseline() {
    let there = demo();
    let path = there.path();
    let study = "seawall-demo/study.toml";
    let learn = |more: &str| json(path, &format!("learn {study} --radius 0.02 {more} --json"));
    for policy in ["greedy", "groups:age", "tree:1", "softmax --restarts 1"] {
        for against in ["behaviour", "constant:control"] {
            let found = learn(&format!("--policy {policy} --against {against} --out p.json"));
            assert_eq!(found["against"]["policy"], against);
            // Its sign is the certificate's.
            let worst = number(&found["value"]);
            assert_eq!(found["against"]["no_worse"], worst <= 1e-12, "{policy} {against}");
            learned_here(
                path,
                &format!("{study} --policy p.json --policy {against} --radius 0.02"),
            );
            assert!(number(&found["greedy_floor"]) <= number(&found["value"]) + 1e-9);
            // A class that holds the baseline is never worse than it.
            if policy != "softmax --restarts 1" && against == "constant:control" {
                assert!(number(&found["upper"]) <= 1e-9, "{policy}");
            }
            let honest = &found["honest"];
            for rival in ["best_constant", "baseline"] {
                assert!(number(&honest[rival]["value"]) > 0.0, "{honest}");
            }
            assert_eq!(honest["baseline"]["policy"], against);
        }
    }
    let words = run(path, &format!("learn {study} --policy tree:1 --against constant:control"));
    for word in [
        "Certified for the fitted values: no worse than constant:control",
        "best constant:",
        "baseline:",
    ] {
        assert!(words.out.contains(word), "{word:?} is not in\n{}", words.out);
    }
    let quick = learn("--policy tree:1 --no-honest");
    assert!(quick.get("honest").is_none() && quick.get("against").is_none());
    // Stochastic gradients too, outcomes shifting or not.
    for cost in ["", "--outcome-radius 0.02"] {
        let found = learn(&format!(
            "--policy groups:sex --method bsgd --steps 200 --batch 50 --against behaviour {cost} --no-honest"
        ));
        assert_eq!(found["against"]["policy"], "behaviour");
    }
    // Bad input.
    let policy = r#"{"format":"seawall-policy","version":1,"name":"x","actions":["x","y"],"features":[],"rule":{"kind":"constant","action":"x"}}"#;
    std::fs::write(path.join("other.json"), policy).unwrap();
    for (against, word) in [
        ("other.json", "it knows nothing of the study's action"),
        ("constant:nothing", "--against"),
        ("missing.json", "missing.json"),
    ] {
        let found = run(path, &format!("learn {study} --policy tree:1 --against {against}"));
        assert!(found.code == 2 && found.out.is_empty(), "{against}: {}", found.out);
        assert!(found.err.contains(word) && found.err.lines().count() == 1, "{}", found.err);
    }
}

#[test]
fn a_log_too_small_for_halves_keeps_its_policy() {
    // Two rows: each half has lost an action, which is told and costs nothing else.
    let study = "[data]\npath = \"d.csv\"\n[context]\nx = \"nominal\"\n[action]\ncolumn = \"arm\"\n[outcome]\n\
                 cost = \"y\"\n[model]\nkind = \"cells\"\n[robust]\ncontext = { set = \"wasserstein\", radius = 0 }\n";
    let there = folder(&[("s.toml", study.as_bytes()), ("d.csv", b"x,arm,y\nu,a,1\nu,b,2\n")]);
    let found = json(there.path(), "learn s.toml --policy greedy --json");
    assert!(found["no_honest"].is_string() && found["value"] == 1.0, "{found}");
}

/// Policies of one kind are called alike; they are told apart, and compared with each other.
#[test]
fn policies_called_alike_are_told_apart() {
    let there = demo();
    let path = there.path();
    let study = "seawall-demo/study.toml";
    for (radius, out) in [(0.001, "a.json"), (0.2, "b.json")] {
        let words = "--policy groups:age --at-least treat=0.1 --no-honest";
        let learned = run(path, &format!("learn {study} {words} --radius {radius} --out {out}"));
        assert_eq!(learned.code, 0, "{}", learned.err);
    }
    let asked = "--policy a.json --policy b.json --radius 0.01 --json";
    let found = json(path, &format!("evaluate {study} {asked}"));
    let names: Vec<&str> = (0..2).map(|k| found["policies"][k]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["groups:age", "groups:age (2)"]);
    let own = &pair(&found, names[0], names[1])["results"][0];
    assert!(own["held_out"].is_null() && own["verdict"] == "undecided", "{own}");
}

/// What was learned or asked with smoothed outcomes has bounds that hold, or is refused.
#[test]
fn smoothed_outcomes_certify_nothing_by_themselves() {
    let there = demo();
    let path = there.path();
    let study = "seawall-demo/study.toml";
    let soft = "--outcome-set entropic --eta 20 --outcome-radius 0.01";
    let refused = run(path, &format!("learn {study} --policy tree:1 --against behaviour {soft}"));
    assert!(refused.code == 2 && refused.err.contains("--outcome-set"), "{}", refused.err);
    let words = "--policy constant:treat --policy constant:control --radius 0.02";
    let ask = |more: &str| json(path, &format!("evaluate {study} {words} {more} --json"));
    let exact = ask("--outcome-radius 0.01");
    for more in [soft, "--set entropic --eta 20 --outcome-radius 0.01"] {
        let smoothed = ask(more);
        for (a, b) in [("treat", "control"), ("control", "treat")] {
            let (a, b) = (format!("constant:{a}"), format!("constant:{b}"));
            let truth = number(&pair(&exact, &a, &b)["results"][0]["worst"]);
            let own = &pair(&smoothed, &a, &b)["results"][0];
            assert!(
                number(&own["lower"]) <= truth + 1e-9 && truth <= number(&own["upper"]) + 1e-9,
                "{more} {truth} {own}"
            );
        }
    }
}

#[test]
fn the_stroke_trials_differences() {
    let Some(_) = shared("data/ist/IST_corrected.csv.gz") else { return };
    let studies = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let asked = "evaluate ist.toml --policy constant:treat --policy constant:control --json";
    let found = json(&studies, asked);
    let own = pair(&found, "constant:control", "constant:treat");
    assert!(own["results"].as_array().unwrap().iter().all(|r| r["status"] == "optimal"));
    // Infinite (null) where the effect is the same for everybody.
    let (dm, radius) = (&own["nominal"]["dm"], &own["robustness_radius"]["value"]);
    assert!(number(&dm["value"]) < 0.0 && radius.as_f64().is_none_or(|r| r > 0.0), "{own}");
}
