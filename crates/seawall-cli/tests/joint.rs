//! Sets about people with their outcomes, through the built binary: what they answer, learn and refuse.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{DATA, STUDY, close, folder, json, run};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// Rows enough to learn from: b is better for the old and a for the young.
fn log() -> String {
    let mut text = "age,site,arm,p,events,died\n".to_owned();
    for k in 0_u32..240 {
        let (age, site) = (25 + 10 * (k % 6), ["north", "south"][k as usize / 6 % 2]);
        let (arm, old) = (["A", "B"][k as usize / 12 % 2], k % 6 > 2);
        let worse = u32::from((arm == "A") == old);
        let events = worse + k / 24 % 3;
        let died = if worse == 1 && k / 24 % 5 == 0 { "Y" } else { "N" };
        text += &format!("{age},{site},{arm},0.5,{events},{died}\n");
    }
    text
}

fn small() -> TempDir {
    folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())])
}

fn larger() -> TempDir {
    folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", log().as_bytes())])
}

fn results(path: &Path, args: &str) -> Vec<Value> {
    let found = json(path, &format!("evaluate {args} --json"));
    found["policies"][0]["results"].as_array().unwrap().clone()
}

/// The number at an end of a result.
fn at(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("{name} of {value}"))
}

#[test]
fn joint_kl_estimates_with_errors_and_starts_at_self_normalised_weights() {
    let there = larger();
    let path = there.path();
    let tree = STUDY.replacen("kind = \"cells\"", "kind = \"tree\"\nmin_samples_leaf = 10", 1);
    std::fs::write(path.join("tree.toml"), tree).unwrap();
    for (set, study) in [("joint-kl", "study.toml"), ("joint-kl-dr", "tree.toml")] {
        let args = format!("{study} --policy uniform --set {set} --radius 0,0.05,0.3");
        let all = results(path, &args);
        assert_eq!(all.len(), 3);
        for result in &all {
            let e = &result["estimate"];
            assert!(at(e, "se") > 0.0, "{set}: {result}");
            assert!(at(e, "lower") < at(e, "value") && at(e, "value") < at(e, "upper"));
            close(&e["value"], &result["value"], set);
            assert!(at(result, "upper") - at(result, "lower") < 1e-6);
        }
        let rising = all.windows(2).all(|two| at(&two[0], "value") < at(&two[1], "value"));
        assert!(rising, "{set}");
        let found = run(path, &format!("evaluate {args} --details"));
        assert_eq!(found.code, 0, "{}", found.err);
        assert!(found.out.contains("As estimates from a sample of rows"), "{}", found.out);
        let short = run(path, &format!("evaluate {args}"));
        assert!(short.out.contains("by the standard error of the estimate"), "{}", short.out);
    }
    for policy in ["uniform", "constant:A", "constant:B"] {
        let args =
            format!("evaluate study.toml --policy {policy} --set joint-kl --radius 0 --json");
        let found = json(path, &args);
        let policy = &found["policies"][0];
        close(&policy["results"][0]["value"], &policy["nominal"]["snips"]["value"], "radius 0");
    }
    // Another level, another interval about the same value.
    let wide = &results(
        path,
        "study.toml --policy uniform --set joint-kl --radius 0.1 --level 0.99",
    )[0]["estimate"];
    let own =
        &results(path, "study.toml --policy uniform --set joint-kl --radius 0.1")[0]["estimate"];
    close(&wide["value"], &own["value"], "level");
    assert!(at(wide, "lower") < at(own, "lower") && at(own, "upper") < at(wide, "upper"));
    // The study file says the same as the options.
    let line = "context = { set = \"wasserstein\", radius = [0, 0.1] }";
    let toml = STUDY.replacen(line, "context = { set = \"joint-kl\", radius = 0.1 }", 1);
    assert_ne!(toml, STUDY);
    std::fs::write(path.join("kl.toml"), toml).unwrap();
    let found = json(path, "evaluate kl.toml --policy uniform --json");
    assert_eq!(&found["policies"][0]["results"][0]["estimate"], own);
}

#[test]
fn the_demo_is_evaluated_and_learned_from() {
    let there = folder(&[]);
    let path = there.path();
    assert_eq!(run(path, "demo").code, 0);
    let study = "seawall-demo/study.toml";
    for set in ["joint-kl", "joint-kl-dr"] {
        let found = json(path, &format!("evaluate {study} --set {set} --radius 0,0.1 --json"));
        for policy in found["policies"].as_array().unwrap() {
            let [first, second] = [0, 1].map(|k| &policy["results"][k]["estimate"]);
            assert!(at(first, "value") < at(second, "value") && at(second, "se") > 0.0, "{policy}");
        }
    }
    let found = json(
        path,
        &format!("learn {study} --policy groups:sex --set joint-kl --radius 0.1 --json"),
    );
    assert_eq!((&found["status"], &found["method"]), (&"optimal".into(), &"exact".into()));
}

#[test]
fn outcomes_that_nobody_saw_together_are_told() {
    let there = small();
    let path = there.path();
    let args = "--set joint-wasserstein:kappa=1 --radius 0.1";
    let all = json(path, &format!("evaluate study.toml --policy uniform {args} --json"));
    let result = &all["policies"][0]["results"][0];
    assert!(at(result, "best_coupling") <= at(result, "value") + 1e-12, "{result}");
    assert!(result.get("estimate").is_none());
    // Nobody can move: what everybody loses is said everywhere.
    let fixed = STUDY
        .replacen("kind = \"numeric\", bin = 10, min = 20, max = 80", "kind = \"fixed\"", 1)
        .replacen("kind = \"nominal\"", "kind = \"fixed\"", 1);
    std::fs::write(path.join("fixed.toml"), &fixed).unwrap();
    let args = "fixed.toml --policy constant:A --set joint-wasserstein:kappa=2 --radius 0,0.1";
    let all = json(path, &format!("evaluate {args} --json"));
    let results = &all["policies"][0]["results"];
    let lost = at(&results[1], "value") - at(&results[0], "value");
    assert!((lost - 0.05).abs() < 1e-9, "{lost}");
    let words = "loses what every policy that draws nothing at random loses";
    let notes = all["diagnostics"]["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().contains(words)), "{notes:?}");
    let full = run(path, &format!("evaluate {args} --details"));
    let told = full.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(words) && !told.contains(".."), "{}", full.out);
    let line = "context = { set = \"wasserstein\", radius = [0, 0.1] }";
    let own = "context = { set = \"joint-wasserstein\", kappa = 2, radius = [0, 0.1] }";
    std::fs::write(path.join("fixed_jw.toml"), fixed.replacen(line, own, 1)).unwrap();
    let words_of = "fixed_jw.toml --policy constant:A --no-learn --splits 0 --out r.html";
    let made = run(path, &format!("report {words_of}"));
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(std::fs::read_to_string(path.join("r.html")).unwrap().contains(words));
    // The study file says the same as the options.
    let other = "context = { set = \"joint-wasserstein\", kappa = 1, radius = 0.1 }";
    std::fs::write(path.join("jw.toml"), STUDY.replacen(line, other, 1)).unwrap();
    let again = json(path, "evaluate jw.toml --policy uniform --json");
    assert_eq!(&again["policies"][0]["results"][0], result);
}

#[test]
fn kind_and_unkind_couplings_are_told_apart() {
    let there = larger();
    let path = there.path();
    let words = "if as kindly: no data can say";
    let said = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words);
    // Chances that are the same everywhere leave nothing to couple.
    for (policy, apart) in [("greedy", true), ("uniform", false)] {
        let args = format!("--policy {policy} --set joint-wasserstein:kappa=1 --radius 0.01");
        let result = &results(path, &format!("study.toml {args}"))[0];
        let differ = at(result, "value") - at(result, "best_coupling");
        assert!(differ >= -1e-12 && (differ > 0.1) == apart, "{policy}: {result}");
        for shown in ["", " --details"] {
            let text = run(path, &format!("evaluate study.toml {args}{shown}")).out;
            assert_eq!(said(&text), apart, "{text}");
        }
    }
    let line = "context = { set = \"wasserstein\", radius = [0, 0.1] }";
    let other = "context = { set = \"joint-wasserstein\", kappa = 1, radius = 0.01 }";
    std::fs::write(path.join("jw.toml"), STUDY.replacen(line, other, 1)).unwrap();
    let made = run(path, "report jw.toml --policy greedy --no-learn --splits 0 --out r.html");
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(std::fs::read_to_string(path.join("r.html")).unwrap().contains("as kindly: no data"));
}

#[test]
fn policies_are_learned_under_joint_kl() {
    let there = larger();
    let path = there.path();
    let learn = |policy: &str| {
        json(
            path,
            &format!("learn study.toml --policy {policy} --set joint-kl --radius 0.1 --json"),
        )
    };
    let greedy = learn("greedy");
    let best = at(&greedy, "value");
    for (policy, method) in
        [("groups:age=50", "exact"), ("tree:1", "exact"), ("softmax", "gradient")]
    {
        let found = learn(policy);
        assert_eq!(found["method"], method, "{policy}");
        assert_eq!(found["status"] == "optimal", method == "exact", "{policy}: {found}");
        assert!(at(&found, "value") >= best - 1e-8, "{policy}");
        // Both b for the old and a for the young are within reach of all of them.
        assert!(at(&found, "value") <= best + 0.15, "{policy}: {found} {best}");
    }
    let uniform = &results(path, "study.toml --policy uniform --set joint-kl --radius 0.1")[0];
    assert!(at(&learn("softmax"), "value") < at(uniform, "value") - 0.2);
    // What was learned is valued alike by evaluate.
    let words = "learn study.toml --policy softmax --set joint-kl --radius 0.1 --out p.json";
    let told = run(path, words);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(!told.out.contains("--honest values it on others"), "{}", told.out);
    assert!(told.out.contains("joint-kl is not learned on halves"), "{}", told.out);
    let again =
        json(path, "evaluate study.toml --policy p.json --set joint-kl --radius 0.1 --json");
    close(&again["policies"][0]["results"][0]["value"], &learn("softmax")["value"], "softmax");
}

#[test]
fn what_has_no_meaning_is_refused_in_one_line() {
    let there = larger();
    let path = there.path();
    std::fs::write(path.join("other.csv"), "age,site\n30,north\n50,south\n").unwrap();
    let joint = "--set joint-kl --radius 0.1";
    for (args, words) in [
        (
            format!("bound t.csv --value events --context age {joint}"),
            "is joint-kl, which is about",
        ),
        (format!("evaluate study.toml {joint} --outcome-radius 0.1"), "shift twice"),
        (format!("evaluate study.toml {joint} --target other.csv"), "the log's own people"),
        (
            format!("learn study.toml --policy greedy {joint} --target other.csv"),
            "not from a target",
        ),
        (format!("learn study.toml --policy greedy {joint} --outcome-radius 0.1"), "expected 0"),
        (
            format!("learn study.toml --policy softmax --method bsgd {joint}"),
            "--method under joint-kl: bsgd",
        ),
        (
            "learn study.toml --policy greedy --set joint-kl-dr --radius 0.1".to_owned(),
            "nothing is learned",
        ),
        (
            "learn study.toml --policy greedy --set joint-wasserstein:kappa=1 --radius 0.1"
                .to_owned(),
            "nothing is learned",
        ),
        ("evaluate study.toml --set joint-wasserstein --radius 0.1".to_owned(), "kappa"),
        ("evaluate study.toml --set joint-wasserstein:kappa=0 --radius 0.1".to_owned(), "kappa"),
    ] {
        let found = run(path, &args);
        assert!(
            found.code == 2 && found.err.contains(words),
            "{args}: {} {}",
            found.err,
            found.out
        );
        assert_eq!(found.err.lines().count(), 1, "{args}: {}", found.err);
    }
}

#[test]
fn a_report_under_joint_kl_is_written() {
    let there = larger();
    let path = there.path();
    let line = "context = { set = \"wasserstein\", radius = [0, 0.1] }";
    let other = "context = { set = \"joint-kl\", radius = [0.05, 0.2] }";
    std::fs::write(path.join("kl.toml"), STUDY.replacen(line, other, 1)).unwrap();
    let made = run(path, "report kl.toml --out r.html");
    assert_eq!((made.code, made.err.as_str()), (0, ""), "{}", made.out);
    let page = std::fs::read_to_string(path.join("r.html")).unwrap();
    assert!(page.contains("</html>") && page.contains("weighed anew together"));
}
