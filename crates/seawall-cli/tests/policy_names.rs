//! Policies that the study calls something: called so everywhere, found by it, and refused where a name
//! is none.
#![allow(clippy::unwrap_used)]

use crate::common::{DATA, STUDY, folder, json, run};
use std::path::Path;
use tempfile::TempDir;

const POLICIES: &str = r#"
[[policy]]
kind = "constant"
action = "A"
name = "usual_care"

[[policy]]
kind = "greedy"
name = "model"

[[policy]]
kind = "uniform"
"#;

fn study(policies: &str) -> TempDir {
    let toml = format!("{STUDY}{policies}");
    // Forty of each row: enough for confidence statements.
    let (head, rows) = DATA.split_once('\n').unwrap();
    let data = format!("{head}\n{}", rows.repeat(40));
    folder(&[("s.toml", toml.as_bytes()), ("t.csv", data.as_bytes())])
}

fn names(path: &Path, args: &str, list: &str, key: &str) -> Vec<String> {
    let found = json(path, args);
    let each = found[list].as_array().unwrap().iter();
    each.map(|p| p[key].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_policy_is_called_what_the_study_calls_it() {
    let there = study(POLICIES);
    let path = there.path();
    let all = ["usual_care", "model", "uniform"];
    assert_eq!(names(path, "evaluate s.toml --json", "policies", "name"), all);
    let found = json(path, "evaluate s.toml --json");
    let pair = &found["comparisons"][0];
    assert_eq!((&pair["policy"], &pair["against"]), (&"usual_care".into(), &"model".into()));
    // The greedy policy is known as what it is.
    assert_eq!(found["policies"][1]["chosen_here"], true);
    let notes = found["diagnostics"]["notes"].to_string();
    assert!(notes.contains("model was chosen on the very rows"), "{notes}");
    let compared = json(path, "sensitivity s.toml --json");
    assert_eq!(compared["policies"], serde_json::json!(all));
    assert_eq!(
        names(path, "transport s.toml --target-facts age:mean=45 --json", "transfers", "policy"),
        all
    );
    for command in ["evaluate s.toml", "evaluate s.toml --details", "sensitivity s.toml"] {
        let said = run(path, command);
        assert_eq!(said.code, 0, "{command}: {}", said.err);
        assert!(said.out.contains("usual_care"), "{command}: {}", said.out);
    }
}

#[test]
fn a_name_is_typed_like_any_policy() {
    let there = study(POLICIES);
    let path = there.path();
    let own = json(path, "evaluate s.toml --policy usual_care --policy uniform --json");
    let plain = json(path, "evaluate s.toml --policy constant:A --policy uniform --json");
    assert_eq!(own["policies"][0]["results"], plain["policies"][0]["results"]);
    assert_eq!(own["policies"][0]["name"], "usual_care");
    assert_eq!(plain["policies"][0]["name"], "constant:A");
    let learned = "learn s.toml --policy tree:1 --against usual_care --json";
    assert_eq!(run(path, learned).code, 0);
    let found = run(path, "report s.toml --policy usual_care --policy model --splits 0 --no-learn");
    assert_eq!((found.code, found.err.as_str()), (0, ""));
    let page = std::fs::read_to_string(path.join("report.html")).unwrap();
    assert!(page.contains("<h3><bdi>usual_care</bdi></h3>"));
    assert!(page.contains("--policy usual_care --policy model"), "the command says it");
    assert!(!page.contains("<bdi>constant:A</bdi>"));
    // Unknown: the names are among what was expected.
    let unknown = run(path, "evaluate s.toml --policy usual_cure");
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("usual_cure: no such file"), "{}", unknown.err);
    assert!(unknown.err.contains(r#", or "usual_care", "model""#), "{}", unknown.err);
}

#[test]
fn what_is_no_name_is_refused_in_one_line() {
    let long = "x".repeat(61);
    let of = |name: &str| format!("\n[[policy]]\nkind = \"uniform\"\nname = {name}\n");
    let twice = format!("{}{}", of("\"same\""), of("\"same\""));
    for (policies, told) in [
        (of("\"\""), r#""policy.name": is empty; expected a name"#),
        (of("\"  \""), r#""policy.name": is empty; expected a name"#),
        (of("7"), r#""policy.name": expected a text in quotes"#),
        (of("\" a\""), r#"" a" is not a name: no blank at an end"#),
        (of(r#""a\u001b[31m""#), "no control character"),
        (of(r#""a\nb""#), "no line end"),
        (of("\"greedy\""), r#""greedy" is how another policy is typed"#),
        (of("\"constant:B\""), r#""constant:B" is how another policy is typed"#),
        (of(&format!("\"{long}\"")), "has 61 letters; expected at most 60"),
        (twice, r#""same" is what another policy is called"#),
        (
            "\n[[policy]]\nkind = \"uniform\"\nnames = \"x\"\n".to_owned(),
            r#"unknown key "names" in [policy]; did you mean "name"?"#,
        ),
    ] {
        let there = study(&policies);
        let found = run(there.path(), "evaluate s.toml");
        assert_eq!((found.code, found.out.as_str()), (2, ""), "{policies}");
        assert!(found.err.contains(told), "{policies}: {}", found.err);
        assert_eq!(found.err.trim_end().lines().count(), 1, "{}", found.err);
        assert!(found.err.contains("s.toml: line "), "{}", found.err);
    }
}
