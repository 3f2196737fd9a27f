//! `seawall learn`, `apply` and `explain` through the built binary.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{cases, folder, has_worked, json, run, shared};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// A folder with the demo in it.
fn demo() -> tempfile::TempDir {
    let there = folder(&[]);
    assert_eq!(run(there.path(), "demo").code, 0);
    there
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn two_groups_of_the_stroke_trial_as_published() {
    let Some(fixture) = shared("fixtures/stroke-trial.json") else { return };
    let Some(_) = shared("data/ist/IST_corrected.csv.gz") else { return };
    let fixture: Value = serde_json::from_str(&std::fs::read_to_string(fixture).unwrap()).unwrap();
    let expected = &fixture["learned_by_group_alert_or_not"];
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let there = folder(&[]);
    for (k, radius) in expected["radius"].as_array().unwrap().iter().enumerate() {
        let out = there.path().join(format!("p{k}.json"));
        let command = format!(
            "learn ist.toml --policy groups:RCONSC=D+U|F --radius {radius} --json --out {}",
            out.display()
        );
        let found = json(&here, &command);
        let keys: Vec<&str> = found.as_object().unwrap().keys().map(String::as_str).collect();
        for key in [
            "policy",
            "method",
            "set",
            "radius",
            "value",
            "lower",
            "upper",
            "gap",
            "status",
            "iterations",
            "greedy_floor",
            "nominal_value",
            "parameters",
            "seconds",
        ] {
            assert!(keys.contains(&key), "{key} is not in {keys:?}");
        }
        assert!((number(&found["value"]) - number(&expected["value"][k])).abs() < 1e-8);
        assert!(number(&found["gap"]) <= 1e-9 && found["status"] == "optimal");
        assert!(number(&found["iterations"]) <= 50.0, "{}", found["iterations"]);
        let floor = &fixture["wasserstein_grid_radius_0.03"]["greedy"];
        if k == 0 {
            assert!((number(&found["greedy_floor"]) - number(floor)).abs() < 1e-8);
        }
        for (at, name) in ["not_alert", "alert"].iter().enumerate() {
            let learned = &found["parameters"][at]["probabilities"]["treat"];
            assert!(
                (number(learned) - number(&expected[name][k])).abs() < 1e-4,
                "{name}: {learned}"
            );
        }
        // evaluate takes what learn wrote.
        let again = json(
            &here,
            &format!("evaluate ist.toml --radius {radius} --json --policy {}", out.display()),
        );
        assert!(
            (number(&again["policies"][0]["results"][0]["value"]) - number(&found["value"])).abs()
                < 1e-9
        );
    }
}

#[test]
fn stochastic_gradients_come_near_the_exact_smoothed_optimum() {
    let Some(_) = shared("data/ist/IST_corrected.csv.gz") else { return };
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let common =
        "learn ist.toml --policy groups:RCONSC=D+U|F --radius 0.03 --set entropic --eta 100 --json";
    let exact = json(&here, common);
    let seeds = cases::count(20);
    let drawn = json(&here, &format!("{common} --method bsgd --delta 0.02 --seeds {seeds}"));
    let (exact, mean) = (number(&exact["value"]), number(&drawn["runs"]["mean"]));
    assert!(mean >= exact - 1e-9 && mean <= 1.01 * exact, "{mean} {exact}");
    // The start is within 1% already: most of what can be learned must have been.
    let start = "evaluate ist.toml --policy uniform --radius 0.03 --set entropic --eta 100 --json";
    let start = number(&json(&here, start)["policies"][0]["results"][0]["value"]);
    assert!(mean - exact <= 0.5 * (start - exact), "{mean} {exact} {start}");
    // Plain evaluation: the dual variable of a given policy comes near the exact one.
    let common = "--radius 0.03 --set entropic --eta 100 --json";
    let exact = json(&here, &format!("evaluate ist.toml {common} --policy uniform"));
    let exact = number(&exact["policies"][0]["results"][0]["lambda"]);
    let drawn = json(
        &here,
        &format!(
            "learn ist.toml {common} --policy uniform --method bsgd --steps 40000 --batch 400 --seeds {}",
            cases::count(4)
        ),
    );
    let drawn = number(&drawn["runs"]["lambda"]);
    assert!((drawn - exact).abs() < 0.15 * exact, "{drawn} {exact}");
}

#[test]
fn every_kind_of_policy_on_the_demo() {
    let there = demo();
    let path = there.path();
    let study = "seawall-demo/study.toml";
    let greedy = json(path, &format!("learn {study} --policy greedy --json"));
    let mut values = vec![("greedy", number(&greedy["value"]))];
    for (name, policy) in [
        ("tree", "tree:2"),
        ("groups", "groups:age=60|80,conscious=alert|drowsy+unconscious"),
        ("softmax", "softmax"),
    ] {
        let found =
            json(path, &format!("learn {study} --policy {policy} --out {name}.json --json"));
        let value = number(&found["value"]);
        assert!(value >= number(&greedy["value"]) - 1e-9, "{name}");
        assert!(
            number(&found["lower"]) <= value && (name == "softmax" || found["status"] == "optimal"),
            "{found}"
        );
        values.push((name, value));
        let again =
            json(path, &format!("evaluate {study} --policy {name}.json --radius 0.01 --json"));
        let results = &again["policies"][0]["results"][0];
        assert!((number(&results["value"]) - value).abs() < 1e-9, "{name}: {results}");
        let words = run(path, &format!("explain {name}.json"));
        assert!(words.code == 0 && words.out.contains("treat"), "{}", words.out);
    }
    let uniform = json(path, &format!("evaluate {study} --policy uniform --radius 0.01 --json"));
    let uniform = number(&uniform["policies"][0]["results"][0]["value"]);
    assert!(values.iter().all(|(_, v)| *v <= uniform + 1e-9), "{values:?} {uniform}");
    // Factored KL: both sets KL, the groups exactly.
    let kl = json(
        path,
        &format!(
            "learn {study} --policy groups:sex --set kl --radius 0.1 --outcome-set kl --outcome-radius 0.02 --json"
        ),
    );
    assert!(kl["status"] == "optimal" || number(&kl["gap"]) < 1e-6, "{kl}");
    assert_eq!((&kl["set"], &kl["cost_set"]), (&Value::from("kl"), &Value::from("kl")));
    // Budgets hold.
    for option in ["--budget treat=0.2", "--worst-budget treat=0.2", "--at-most treat=0.2"] {
        let found = json(
            path,
            &format!("learn {study} --policy groups:conscious,sex {option} --out b.json --json"),
        );
        let applied = run(path, "predict b.json seawall-demo/trial.csv");
        let shares = applied
            .out
            .lines()
            .skip(1)
            .map(|l| l.split(',').nth_back(1).unwrap().parse::<f64>().unwrap());
        let (sum, n) = shares.fold((0.0, 0.0), |(s, n), p| (s + p, n + 1.0));
        assert!(sum / n <= 0.2 + 1e-9, "{option}: {}", sum / n);
        assert!(number(&found["value"]) >= values[2].1 - 1.0);
    }
    let honest = json(path, &format!("learn {study} --policy tree:1 --honest --json"));
    assert_eq!(honest["honest"]["halves"].as_array().unwrap().len(), 10);
    let words = run(path, &format!("learn {study} --policy tree:1"));
    for word in ["If ", "Worst case", "gap", "Floor: no policy whatever", "best constant: "] {
        assert!(words.out.contains(word), "{word:?} is not in {}", words.out);
    }
    // The same bytes on any number of threads.
    for policy in ["tree:2", "softmax", "groups:stroke --method bsgd --delta 0.1 --seeds 3"] {
        let once = |threads: usize| {
            let name = format!("t{threads}.json");
            let found = run(
                path,
                &format!("learn {study} --policy {policy} --out {name} --threads {threads}"),
            );
            assert_eq!(found.code, 0, "{}", found.err);
            std::fs::read(path.join(name)).unwrap()
        };
        assert_eq!(once(1), once(2), "{policy}");
    }
}

#[test]
fn a_policy_is_applied_to_new_rows() {
    let there = demo();
    let path = there.path();
    json(path, "learn seawall-demo/study.toml --policy tree:2 --out p.json --json");
    let new = "id,age,conscious,stroke,systolic,sex,woke\n1,41.5,alert,LACS,120,F,N\n2,105,drowsy,TACS,300,M,Y\n\"3,x\",72,alert,PACS,150,F,N\n";
    std::fs::write(path.join("new.csv"), new).unwrap();
    let found = run(path, "predict p.json new.csv --out out.csv");
    assert_eq!((found.code, found.err.as_str()), (0, ""));
    let table = std::fs::read_to_string(path.join("out.csv")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(
        lines[0].ends_with(",p_treat,p_control") && lines[3].starts_with("\"3,x\",72,"),
        "{table}"
    );
    for line in &lines[1..] {
        let p: Vec<f64> = line.rsplit(',').take(2).map(|x| x.parse().unwrap()).collect();
        assert!((p[0] + p[1] - 1.0).abs() < 1e-12);
    }
    let twice = run(path, "predict p.json out.csv");
    assert!(twice.code == 2 && twice.err.contains("applied before"), "{}", twice.err);
    std::fs::create_dir(path.join("many")).unwrap();
    std::fs::write(path.join("many/a.csv"), new).unwrap();
    let over = run(path, "predict p.json many --out many/a.csv");
    assert!(over.code == 2 && over.err.contains("the file that is read"), "{}", over.err);
    for (change, words) in [
        (("age,conscious", "years,conscious"), &["new.csv", "no column \"age\""][..]),
        (("41.5", "old"), &["row 1, column \"age\": \"old\" is not a number"]),
        (("41.5", ""), &["row 1, column \"age\": the value is missing"]),
    ] {
        std::fs::write(path.join("new.csv"), new.replace(change.0, change.1)).unwrap();
        let found = run(path, "predict p.json new.csv --out none.csv");
        assert_eq!(found.code, 2);
        assert!(words.iter().all(|w| found.err.contains(w)), "{}", found.err);
        assert!(!path.join("none.csv").exists());
    }
}

#[test]
fn what_cannot_be_learned_says_why() {
    let there = demo();
    let path = there.path();
    let text = std::fs::read_to_string(path.join("seawall-demo/study.toml")).unwrap();
    json(path, "learn seawall-demo/study.toml --policy groups:sex --out sex.json --json");
    std::fs::write(
        path.join("seawall-demo/other.toml"),
        text.replace("sex       = { kind = \"nominal\" }", "sex       = { kind = \"fixed\" }"),
    )
    .unwrap();
    std::fs::write(
        path.join("seawall-demo/less.toml"),
        text.replace("sex       = { kind = \"nominal\" }", ""),
    )
    .unwrap();
    let policy = std::fs::read_to_string(path.join("sex.json")).unwrap();
    std::fs::write(path.join("cut.json"), &policy[..policy.len() / 2]).unwrap();
    std::fs::write(path.join("edited.json"), policy.replacen("0.", "7.", 1)).unwrap();
    let study = "seawall-demo/study.toml";
    for (args, words) in [
        (format!("learn {study} --policy groups:agee"), &["\"agee\"", "did you mean \"age\""][..]),
        (format!("learn {study} --policy groups:sex=F|X"), &["sex", "\"X\"", "F, M"]),
        (format!("learn {study} --policy groups:sex=F"), &["\"M\"", "in no part"]),
        (format!("learn {study} --policy groups:age=old"), &["\"old\"", "number"]),
        (
            format!("learn {study} --policy groups:age=60|75"),
            &["75", "inside the bin from 70 to 80"],
        ),
        (format!("learn {study} --policy groups:sex --eta 5"), &["--eta is 5", "entropic"]),
        (format!("learn {study} --policy groups:sex --seeds 0"), &["--seeds is 0"]),
        (format!("learn {study} --policy groups:sex --tolerance 9"), &["tolerance is 9"]),
        (
            format!("learn {study} --policy groups:sex --at-least treat=0.1 --at-least treat=0.2"),
            &["\"treat\" twice"],
        ),
        (
            format!("learn {study} --policy groups:sex --method bsgd --trace t.svg"),
            &["t.svg", "picture"],
        ),
        (
            format!("learn {study} --policy groups:sex --method bsgd --out t.svg --trace t.csv"),
            &["t.svg", "picture"],
        ),
        (format!("learn {study} --policy tree:0"), &["tree:0", "1, 2 or 3"]),
        (format!("learn {study} --policy tree:9"), &["tree:9", "1, 2 or 3"]),
        (format!("learn {study} --policy uniform"), &["nothing to learn", "--method bsgd"]),
        (format!("learn {study} --policy forest"), &["forest", "greedy, groups"]),
        (format!("learn {study} --policy groups:sex --method bsgd --delta 0"), &["--delta is 0"]),
        (format!("learn {study} --policy groups:sex --method bsgd --delta -1"), &["--delta is -1"]),
        (format!("learn {study} --policy groups:sex --delta 0.1"), &["--method bsgd"]),
        (format!("learn {study} --policy groups:sex --radius -1"), &["--radius is -1"]),
        (format!("learn {study} --policy softmax --method exact"), &["not convex"]),
        (format!("learn {study} --policy tree:1 --budget treat=0.1"), &["groups"]),
        (
            format!("learn {study} --policy groups:sex --at-least treat=0.5 --budget treat=0.1"),
            &["0.1", "\"treat\"", "cannot be met", "0.5"],
        ),
        (
            format!("learn {study} --policy groups:sex --budget treat=0.3 --budget control=0.3"),
            &["budgets cannot all be met"],
        ),
        (
            format!("learn {study} --policy groups:sex --budget cure=0.3"),
            &["\"cure\"", "treat, control"],
        ),
        (
            "evaluate seawall-demo/other.toml --policy sex.json".to_owned(),
            &["\"sex\"", "fixed in the study but nominal"],
        ),
        (
            "evaluate seawall-demo/less.toml --policy sex.json".to_owned(),
            &["\"sex\"", "does not have"],
        ),
        (format!("evaluate {study} --policy cut.json"), &["cut.json", "EOF"]),
        (format!("evaluate {study} --policy edited.json"), &["7.", "sum to 1"]),
        ("explain cut.json".to_owned(), &["cut.json", "not a policy file"]),
        (format!("learn {study} --policy groups:sex --out {study}"), &["the file that is read"]),
        (
            format!("learn {study} --policy groups:sex --method bsgd --resume sex.json"),
            &["sex.json", "not a state"],
        ),
    ] {
        let found = run(path, &args);
        assert_eq!((found.code, found.out.as_str()), (2, ""), "{args}: {}", found.err);
        for word in words {
            assert!(found.err.contains(word), "{args}: {word:?} is not in {}", found.err);
        }
    }
}

/// Ctrl-C in the middle of a run: the best policy so far is written whole, and going on from the
/// state ends with the same bytes as a run that was left alone.
#[cfg(unix)]
#[test]
fn a_stopped_run_goes_on_to_the_same_bytes() {
    let there = demo();
    let path = there.path();
    let words = "learn seawall-demo/study.toml --policy groups:stroke --method bsgd --steps 20000 --batch 300 --seeds 2";
    let whole = run(path, &format!("{words} --out whole.json --trace whole.csv"));
    assert_eq!(whole.code, 0, "{}", whole.err);
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("seawall"))
        .current_dir(path)
        .args(format!("{words} --out part.json").split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(has_worked(&mut child, 50), "it ended by itself");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let ended = child.wait().unwrap();
    let mut told = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut told).unwrap();
    assert_eq!(ended.code(), Some(130), "{told}");
    assert!(told.contains("interrupted") && told.contains("--resume"), "{told}");
    assert!(std::fs::read_to_string(path.join("part.json")).unwrap().contains("seawall-policy"));
    assert_ne!(
        std::fs::read(path.join("part.json")).unwrap(),
        std::fs::read(path.join("whole.json")).unwrap()
    );
    let other = run(path, &format!("{} --resume part.json.state", words.replace("20000", "15000")));
    assert!(other.code == 2 && other.err.contains("another question"), "{}", other.err);
    let rest =
        run(path, &format!("{words} --out part.json --trace part.csv --resume part.json.state"));
    assert_eq!(rest.code, 0, "{}", rest.err);
    for (a, b) in
        [("whole.json", "part.json"), ("whole.csv", "part.csv"), ("whole.svg", "part.svg")]
    {
        assert_eq!(
            std::fs::read(path.join(a)).unwrap(),
            std::fs::read(path.join(b)).unwrap(),
            "{a}"
        );
    }
}

/// A product of levels far too large to list can still be learned on, by drawing from it.
#[test]
fn a_support_that_can_only_be_sampled() {
    let mut table = String::from("arm,y");
    (0..12).for_each(|k| table.push_str(&format!(",x{k}")));
    table.push('\n');
    let mut state = 7u64;
    let mut draw = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for _ in 0..400 {
        let levels: Vec<u64> = (0..12).map(|_| draw(9)).collect();
        let arm = draw(2);
        let bad = levels[0] > 4 && arm == 1 || levels[0] <= 4 && arm == 0;
        let y = u64::from(bad) + draw(2);
        table.push_str(&format!("{arm},{y}"));
        levels.iter().for_each(|l| table.push_str(&format!(",{l}")));
        table.push('\n');
    }
    let mut study = String::from("[data]\npath = \"t.csv\"\n[context]\n");
    (0..12).for_each(|k| study.push_str(&format!("x{k} = {{ kind = \"ordinal\" }}\n")));
    study.push_str("[action]\ncolumn = \"arm\"\n[outcome]\ncost = \"y\"\n[model]\nkind = \"tree\"\nmax_depth = 2\nmin_samples_leaf = 20\n[robust]\ncontext = { set = \"wasserstein\", radius = 0.05 }\n");
    let there = folder(&[("study.toml", study.as_bytes()), ("t.csv", table.as_bytes())]);
    let found = json(
        there.path(),
        "learn study.toml --policy groups:x0=0+1+2+3+4|5+6+7+8 --method bsgd --steps 4000 --batch 100 --json",
    );
    assert_eq!(found["support"], "sampled");
    // Below the middle action 1 is right, above it action 0.
    let chance =
        |group: usize, action: &str| number(&found["parameters"][group]["probabilities"][action]);
    assert!(chance(0, "1") > 0.8 && chance(1, "0") > 0.8, "{found}");
    let softmax = json(
        there.path(),
        "learn study.toml --policy softmax --method bsgd --steps 2000 --batch 100 --json",
    );
    assert_eq!(softmax["support"], "sampled");
}

/// Smoothed worst cases say where the exact one is, and budgets on shares hold for real shares.
#[test]
fn smoothed_sets_are_honest() {
    let there = demo();
    let path = there.path();
    let study = "seawall-demo/study.toml";
    let soft = json(
        path,
        &format!(
            "learn {study} --policy groups:sex --set entropic --eta 5 --worst-budget treat=0.1 --out p.json --json"
        ),
    );
    let exact = json(path, &format!("evaluate {study} --policy p.json --radius 0.01 --json"));
    let value = number(&exact["policies"][0]["results"][0]["value"]);
    assert!(
        number(&soft["exact_lower"]) <= value + 1e-9
            && value <= number(&soft["exact_upper"]) + 1e-9
    );
    assert!(number(&soft["value"]) < value);
    for group in soft["parameters"].as_array().unwrap() {
        assert!(number(&group["probabilities"]["treat"]) < 0.2, "{group}");
    }
    let words = run(path, &format!("learn {study} --policy groups:sex --set entropic --eta 5"));
    assert!(words.out.contains("smoothed") && words.out.contains("exact:"), "{}", words.out);
}

/// Walls and equal costs do not throw a descent off.
#[test]
fn stochastic_gradients_on_odd_studies() {
    let there = demo();
    let path = there.path();
    let text = std::fs::read_to_string(path.join("seawall-demo/study.toml")).unwrap();
    let walled =
        text.replace("sex       = { kind = \"nominal\" }", "sex       = { kind = \"fixed\" }");
    std::fs::write(path.join("seawall-demo/walled.toml"), walled).unwrap();
    let found = json(
        path,
        "learn seawall-demo/walled.toml --policy groups:stroke --method bsgd --steps 2000 --batch 3 --seeds 2 --json",
    );
    assert!(number(&found["runs"]["lambda"]) < 1e3, "{found}");
    let flat = text.replace("cost = {", "cost = { patient = 0 }\n# {");
    std::fs::write(path.join("seawall-demo/flat.toml"), flat).unwrap();
    let found = json(
        path,
        "learn seawall-demo/flat.toml --policy groups:stroke --method bsgd --delta 0.2 --json",
    );
    assert!(number(&found["value"]).abs() < 1e-12, "{found}");
}
