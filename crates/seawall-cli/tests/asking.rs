//! What is typed means what it says: names with signs in them, actions that are numbers, chances
//! that are next to nothing; and no file that is read is written over.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run};
use assert_cmd::Command;
use serde_json::Value;
use std::path::Path;

const STUDY: &str = r#"[data]
path = "d.csv"
[context]
"a=b" = { kind = "nominal" }
"c,d" = { kind = "numeric", bin = 0.1 }
[action]
column = "arm"
[outcome]
cost = "y"
[model]
kind = "cells"
unseen = "mean"
[robust]
context = { set = "wasserstein", radius = 0.01 }
"#;

const DATA: &str = "a=b,\"c,d\",arm,y
x|y,0.1,1.0,1
x|y,0.1,2.0,2
\"p\"\"q\",0.2,1.0,2
\"p\"\"q\",0.3,2.0,1
1.0,0.3,1.0,0
1.0,0.3,2.0,1
z+,0.4,1.0,0
z+,0.4,2.0,1
";

/// A run whose last argument may hold spaces and quotes.
fn learned(there: &Path, policy: &str) -> Result<Value, String> {
    let mut command = Command::cargo_bin("seawall").unwrap();
    let command = command.current_dir(there).args(["learn", "s.toml", "--out", "p.json"]);
    let found = command.args(["--policy", policy]).output().unwrap();
    if !found.status.success() {
        return Err(String::from_utf8(found.stderr).unwrap());
    }
    let policy = std::fs::read_to_string(there.join("p.json")).unwrap();
    Ok(serde_json::from_str::<Value>(&policy).unwrap()["rule"]["by"].clone())
}

#[test]
fn names_and_levels_with_signs_in_them_are_quoted() {
    let there = folder(&[("s.toml", STUDY.as_bytes()), ("d.csv", DATA.as_bytes())]);
    let path = there.path();
    let by = learned(path, r#"groups:"a=b"="x|y"+1|"p""q"+"z+""#).unwrap();
    assert_eq!(by[0]["feature"], "a=b");
    assert_eq!(by[0]["levels"], serde_json::json!([["x|y", "1"], ["p\"q", "z+"]]));
    let by = learned(path, r#"groups:"c,d"=0.2|0.3, "a=b""#).unwrap();
    assert_eq!((&by[0]["feature"], &by[1]["feature"]), (&"c,d".into(), &"a=b".into()));
    assert_eq!(by[0]["cuts"], serde_json::json!([0.2, 0.3]));
    for (typed, word) in [
        ("groups:a=b=z+", "two equals signs"),
        (r#"groups:"a=b"=z"#, "has no level \"z\""),
        (r#"groups:"a=b"="x|y|z"#, "never closed"),
        (r#"groups:"a=c""#, "did you mean \"a=b\"?"),
    ] {
        let found = learned(path, typed).unwrap_err();
        assert!(found.contains(word), "{typed}: {found}");
    }
}

#[test]
fn an_action_that_is_a_number_is_found_in_any_spelling() {
    let there = folder(&[("s.toml", STUDY.as_bytes()), ("d.csv", DATA.as_bytes())]);
    let path = there.path();
    let one = json(path, "evaluate s.toml --policy constant:1 --json");
    let same = json(path, "evaluate s.toml --policy constant:1.0 --json");
    assert_eq!(one["policies"][0]["policy"], same["policies"][0]["policy"]);
    assert_eq!(one["policies"][0]["nominal"], same["policies"][0]["nominal"]);
    let found = run(path, "evaluate s.toml --policy constant:01 --json");
    assert!(found.code == 2 && found.err.contains("\"01\""), "{}", found.err);
    // In the study too.
    let study = STUDY.replace("[robust]", "[propensity]\ndesign = { 1 = 0.5, 2 = 0.5 }\n[robust]");
    let study = study.replace(
        "kind = \"cells\"",
        "kind = \"tree\"\nmin_samples_leaf = { 1 = 2 }\nmax_depth = { 2 = 1 }",
    );
    std::fs::write(path.join("s.toml"), study).unwrap();
    let found = run(path, "evaluate s.toml --json");
    assert_eq!(found.code, 0, "{}", found.err);
}

#[test]
fn chances_next_to_nothing_are_written_as_none() {
    let policy = r#"{"format":"seawall-policy","version":1,"name":"p","actions":["c","d"],
        "features":[],"rule":{"kind":"groups","by":[],"probabilities":[[4e-11,0.99999999996]]}}"#;
    let there = folder(&[("p.json", policy.as_bytes()), ("t.csv", b"x\n1.50\n")]);
    let found = run(there.path(), "predict p.json t.csv");
    assert_eq!(found.out, "x,p_c,p_d\n1.50,0,1\n", "{}", found.err);
}

#[test]
fn learn_writes_over_nothing_that_it_reads() {
    let there = folder(&[("s.toml", STUDY.as_bytes()), ("d.csv", DATA.as_bytes())]);
    let path = there.path();
    assert_eq!(run(path, "learn s.toml --policy greedy --out p.json").code, 0);
    let before = std::fs::read(path.join("p.json")).unwrap();
    for out in ["p.json", "d.csv", "s.toml"] {
        let found = run(
            path,
            &format!("learn s.toml --policy p.json --method bsgd --steps 10 --out {out}"),
        );
        assert!(found.code == 2 && found.err.contains("it is the file that is read"), "{out}");
    }
    assert_eq!(std::fs::read(path.join("p.json")).unwrap(), before);
}
