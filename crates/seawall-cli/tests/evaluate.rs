//! `seawall demo`, `init`, `check` and `evaluate` through the built binary.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{DATA, STUDY, close, folder, json, run, shared};
use serde_json::Value;
use std::path::Path;

/// Every key of an object, so that none is lost or added unnoticed.
fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_stroke_trial_to_eight_digits() {
    let Some(fixture) = shared("fixtures/stroke-trial.json") else { return };
    let Some(_) = shared("data/ist/IST_corrected.csv.gz") else { return };
    let fixture: Value = serde_json::from_str(&std::fs::read_to_string(fixture).unwrap()).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let found = json(
        &here,
        "evaluate ist.toml --policy uniform --policy constant:treat --policy constant:control \
         --policy greedy --radius 0,0.01,0.03,0.1,0.5,2 --json",
    );
    assert_eq!(
        keys(&found),
        [
            "rows",
            "left_out",
            "actions",
            "cells",
            "observed_cells",
            "direction",
            "diagnostics",
            "policies",
            "comparisons"
        ]
    );
    for key in ["rows", "cells", "observed_cells"] {
        assert_eq!(found[key], fixture[key], "{key}");
    }
    assert_eq!(found["left_out"], 19_435 - 9_693);
    assert_eq!(found["actions"]["treat"], fixture["treat"]);
    assert_eq!(found["actions"]["control"], fixture["control"]);
    assert_eq!(found["direction"], "lower is better");
    for (policy, name) in
        found["policies"].as_array().unwrap().iter().zip(["uniform", "treat", "control", "greedy"])
    {
        close(&policy["nominal"]["dm"]["value"], &fixture["direct_method"][name], name);
        for estimator in ["dm", "ips", "snips", "dr"] {
            assert_eq!(keys(&policy["nominal"][estimator]), ["value", "se", "lower", "upper"]);
        }
        let at = &policy["results"][2];
        // Nothing is claimed of a policy that these rows chose.
        assert_eq!(at.get("no_claim").is_some(), name == "greedy", "{name}");
        assert_eq!(
            keys(at).into_iter().filter(|key| *key != "no_claim").collect::<Vec<_>>(),
            [
                "set",
                "radius",
                "cost_set",
                "cost_radius",
                "eta",
                "support",
                "value",
                "lower",
                "upper",
                "gap",
                "status",
                "lambda",
                "engine",
                "evaluations",
                "unobserved_mass",
                "held_out",
                "limits",
                "claims"
            ]
        );
        if name != "uniform" {
            close(&at["value"], &fixture["wasserstein_grid_radius_0.03"][name], name);
        }
        assert_eq!(at["status"], "optimal");
    }
    let grid = &found["policies"][0]["results"];
    let only = "evaluate ist.toml --radius 0,0.01,0.03,0.1,0.5,2 --support observed --json";
    let observed = json(&here, only);
    for k in 0..6 {
        close(&grid[k]["value"], &fixture["wasserstein_uniform"]["grid"][k], "grid");
        let value = &observed["policies"][0]["results"][k]["value"];
        close(value, &fixture["wasserstein_uniform"]["observed"][k], "observed");
    }
    for k in 0..3 {
        let eta = &fixture["entropic_uniform_grid_radius_0.03"]["eta"][k];
        let found = json(
            &here,
            &format!("evaluate ist.toml --set entropic --eta {eta} --radius 0.03 --json"),
        );
        let result = &found["policies"][0]["results"][0];
        close(
            &result["value"],
            &fixture["entropic_uniform_grid_radius_0.03"]["value"][k],
            "entropic",
        );
        let truth = fixture["wasserstein_uniform"]["grid"][2].as_f64().unwrap();
        assert!(result["exact_lower"].as_f64().unwrap() <= truth + 1e-12);
        assert!(result["exact_upper"].as_f64().unwrap() >= truth - 1e-12);
    }
    let found = json(&here, "evaluate ist.toml --set kl --radius 0.01,0.1,1 --json");
    for k in 0..3 {
        let value = &found["policies"][0]["results"][k]["value"];
        close(value, &fixture["kl_uniform"]["value"][k], "kl");
    }
}

#[test]
fn a_small_study_by_hand() {
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let found = json(there.path(), "evaluate study.toml --policy constant:B --json");
    // Bins 20 to 80 are declared: six ages, two sites.
    assert_eq!((&found["rows"], &found["cells"]), (&Value::from(6), &Value::from(12)));
    let policy = &found["policies"][0];
    // B's rows cost 0, 3, 1 with ratios 2, 4, 4.
    close(&policy["nominal"]["ips"]["value"], &Value::from(16.0 / 6.0), "ips");
    close(&policy["nominal"]["snips"]["value"], &Value::from(16.0 / 10.0), "snips");
    close(&policy["overlap"]["effective_sample_size"], &Value::from(100.0 / 36.0), "effective");
    // Means of B: 0 at 35 north, 3 at 45 south, 1 at 55 south; two rows, one, three.
    close(&policy["nominal"]["dm"]["value"], &Value::from((0.0 * 2.0 + 3.0 + 3.0) / 6.0), "dm");
    close(&policy["results"][0]["value"], &Value::from(1.0), "radius 0");
    assert!(policy["results"][1]["value"].as_f64().unwrap() > 1.0);
    // The same as rewards: the worst case is the lowest.
    std::fs::write(there.path().join("r.toml"), STUDY.replace("cost = {", "reward = {")).unwrap();
    let found = json(there.path(), "evaluate r.toml --policy constant:B --json");
    assert_eq!(found["direction"], "higher is better");
    assert!(found["policies"][0]["results"][1]["value"].as_f64().unwrap() < 1.0);
}

#[test]
fn the_output_for_people_says_what_to_look_at() {
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let found = run(
        there.path(),
        "evaluate study.toml --policy uniform --policy constant:A --curve c.csv --worst w.csv --details",
    );
    assert_eq!((found.code, found.err.as_str()), (0, ""));
    let before = found.out.find("Propensities: from the log, from 0.25 to 0.75").unwrap();
    assert!(before < found.out.find("If nothing shifts (lower is better").unwrap());
    for words in [
        "6 rows read, 6 used, none left out",
        "the action's mean over the log stands in",
        "effective rows",
        "unobserved at 0.1",
        "the highest it could be",
        "In one and the same population",
        "undecided. The effective sample size in the data is",
        "below 30: no confidence limits are given",
        "What would hurt constant:A:",
        "came from",
        "of the population moves",
        "where nobody was seen",
        "c.csv",
    ] {
        assert!(found.out.contains(words), "{words:?} is not in\n{}", found.out);
    }
    let curve = std::fs::read_to_string(there.path().join("c.csv")).unwrap();
    assert!(curve.starts_with("policy,cost_radius,radius,value,lambda\nuniform,0,0,"), "{curve}");
    let worst = std::fs::read_to_string(there.path().join("w.csv")).unwrap();
    assert!(worst.starts_with("policy,radius,cost_radius,age,site,value,nominal,worst\n"));
    let total: f64 = worst
        .lines()
        .filter(|l| l.starts_with("uniform,0.1,"))
        .map(|l| l.rsplit(',').next().unwrap().parse::<f64>().unwrap())
        .sum();
    assert!((total - 1.0).abs() < 1e-12);
    let check = run(there.path(), "check study.toml");
    assert!(
        check.out.contains("numeric") && check.out.contains("Outcomes: 6 points"),
        "{}",
        check.out
    );
    assert!(!check.out.contains("worst"), "{}", check.out);
    assert_eq!(json(there.path(), "check study.toml --json")["observed_cells"], 3);
}

#[test]
fn policies_and_models_from_files() {
    let table = "age,site,A,B\n35,north,1,0\n41,south,0.25,0.75\n55,south,0.5,0.5\n";
    let costs = "age,site,A,B\n35,north,1,0\n45,south,2,3\n50,south,1,1\n";
    let there = folder(&[
        ("study.toml", STUDY.as_bytes()),
        ("t.csv", DATA.as_bytes()),
        ("p.csv", table.as_bytes()),
        ("costs.csv", costs.as_bytes()),
        (
            "m.toml",
            STUDY.replace("kind = \"cells\"", "kind = \"table\"\npath = \"costs.csv\"").as_bytes(),
        ),
    ]);
    let refused = |args: &str, words: &[&str]| {
        let found = run(there.path(), args);
        assert_eq!((found.code, found.out.as_str()), (2, ""), "{args}");
        for word in words {
            assert!(found.err.contains(word), "{args}: {word:?} is not in {}", found.err);
        }
    };
    // The table says nothing of most contexts.
    refused(
        "evaluate study.toml --policy p.csv",
        &["p.csv", "no probabilities for the context age=25, site=north"],
    );
    let all = ["north", "south"]
        .iter()
        .flat_map(|site| (2..8).map(move |d| format!("{d}5,{site},1,0\n")));
    let whole = format!("age,site,A,B\n{}", all.collect::<String>());
    std::fs::write(there.path().join("whole.csv"), &whole).unwrap();
    let a = json(there.path(), "evaluate study.toml --policy whole.csv --json");
    let b = json(there.path(), "evaluate study.toml --policy constant:A --json");
    assert_eq!(a["policies"][0]["results"], b["policies"][0]["results"]);
    std::fs::write(there.path().join("bad.csv"), whole.replace("45,south,1,0", "45,south,0.5,0.4"))
        .unwrap();
    refused(
        "evaluate study.toml --policy bad.csv",
        &["age=45, site=south", "[0.5, 0.4]", "sum to 1"],
    );
    std::fs::write(there.path().join("bad.csv"), whole.replace("45,south,1,0", "45,south,1,-1"))
        .unwrap();
    refused("evaluate study.toml --policy bad.csv", &["row 9", "\"B\"", "-1"]);
    std::fs::write(there.path().join("bad.csv"), format!("{whole}46,south,1,0\n")).unwrap();
    refused("evaluate study.toml --policy bad.csv", &["rows 9 and 13", "age=45, site=south"]);
    refused("evaluate study.toml --policy nothing.json", &["nothing.json"]);
    refused("evaluate study.toml --policy unifrm", &["unifrm", "an action (A, B)"]);
    refused("evaluate study.toml --policy constant:C", &["\"C\"", "A, B"]);
    // Predicted costs: A costs 1, 2, 1 where 2, 1 and 3 rows are.
    let m = json(there.path(), "evaluate m.toml --policy constant:A --json");
    close(&m["policies"][0]["nominal"]["dm"]["value"], &Value::from(7.0 / 6.0), "dm");
    refused(
        "evaluate m.toml --outcome-radius 0.1",
        &["predicted values", "--outcome-radius is 0.1"],
    );
    std::fs::write(there.path().join("costs.csv"), costs.replace("2,3", "2,high")).unwrap();
    refused("evaluate m.toml", &["costs.csv", "row 2", "\"B\"", "high"]);
    std::fs::write(
        there.path().join("costs.csv"),
        costs.replace("41", "49").replace("45,south", "95,south"),
    )
    .unwrap();
    refused("evaluate m.toml", &["costs.csv", "row 2", "\"age\"", "95"]);
}

#[test]
fn bad_input_is_named() {
    for (what, toml, data, words) in [
        ("malformed TOML", ("[context]", "[context"), ("", ""), &["study.toml", "line 4"][..]),
        (
            "an unknown key",
            ("[robust]", "[robut]"),
            ("", ""),
            &["line 19", "did you mean \"robust\""],
        ),
        (
            "a level not declared",
            ("kind = \"nominal\"", "kind = \"nominal\", levels = [\"north\"]"),
            ("", ""),
            &["row 3", "\"site\"", "\"south\"", "north"],
        ),
        (
            "out of the declared range",
            ("", ""),
            ("47,south", "147,south"),
            &["row 3", "\"age\"", "147", "20 to 80"],
        ),
        (
            "missing, not declared",
            ("", ""),
            ("47,south", ",south"),
            &["row 3", "\"age\"", "missing = true"],
        ),
        (
            "an action with no rows",
            ("column = \"arm\"\npropensity = \"p\"", "x = { arm = \"A\" }\ny = { arm = \"Z\" }"),
            ("", ""),
            &["no row", "\"y\""],
        ),
        (
            "two actions on one row",
            (
                "column = \"arm\"\npropensity = \"p\"",
                "x = { arm = \"A\" }\ny = { p = { min = 0.5 } }",
            ),
            ("", ""),
            &["row 1", "\"x\" and \"y\""],
        ),
        ("propensity 0", ("", ""), ("A,0.5", "A,0"), &["row 1", "\"p\"", "above 0"]),
        (
            "propensity above 1",
            ("", ""),
            ("A,0.5", "A,1.5"),
            &["row 1", "\"p\"", "1.5", "at most 1"],
        ),
        (
            "mixed types",
            ("", ""),
            ("47,south", "old,south"),
            &["row 3", "\"age\"", "\"old\"", "not a number"],
        ),
        (
            "an outcome that is no number",
            ("", ""),
            ("0.25,0,Y", "0.25,few,Y"),
            &["\"events\"", "\"few\""],
        ),
        (
            "an unseen action",
            ("unseen = \"mean\"", ""),
            ("", ""),
            &["unseen = \"mean\"", "for \"A\""],
        ),
        (
            "a range upside down",
            ("min = 20, max = 80", "min = 80, max = 20"),
            ("", ""),
            &["line 5", "min 80"],
        ),
        ("no data", ("t.csv", "u.csv"), ("", ""), &["u.csv"]),
        ("no file of the pattern", ("t.csv", "u*.csv"), ("", ""), &["u*.csv", "no data file"]),
        (
            "an action that is not there",
            (
                "unseen = \"mean\"",
                "unseen = \"mean\"\n[[policy]]\nkind = \"constant\"\naction = \"C\"",
            ),
            ("", ""),
            &["\"C\"", "A, B"],
        ),
        (
            "both by design and estimated",
            (
                "[robust]",
                "[propensity]\ndesign = { A = 0.5, B = 0.5 }\nestimate = \"cells\"\n[robust]",
            ),
            ("", ""),
            &["line 20", "not both"],
        ),
        (
            "a design that does not sum",
            ("[robust]", "[propensity]\ndesign = { A = 0.5, B = 0.6 }\n[robust]"),
            ("", ""),
            &["line 20", "1.1"],
        ),
        (
            "a design without an action",
            ("[robust]", "[propensity]\ndesign = { A = 0.5, C = 0.5 }\n[robust]"),
            ("", ""),
            &["\"B\""],
        ),
    ] {
        let (study, table) = (STUDY.replacen(toml.0, toml.1, 1), DATA.replacen(data.0, data.1, 1));
        let there = folder(&[("study.toml", study.as_bytes()), ("t.csv", table.as_bytes())]);
        let found = run(there.path(), "evaluate study.toml --curve c.csv");
        assert_eq!((found.code, found.out.as_str()), (2, ""), "{what}: {}", found.err);
        assert_eq!(found.err.lines().count(), 1, "{what}: {}", found.err);
        for word in words {
            assert!(found.err.contains(word), "{what}: {word:?} is not in {}", found.err);
        }
        assert!(!there.path().join("c.csv").exists(), "{what}: a file was left");
    }
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    for (args, word) in [
        ("--radius -1", "--radius is -1"),
        ("--set entropic", "needs eta: larger is closer to exact; try --eta 100"),
        ("--eta 5", "entropic"),
        ("--outcome-set entropic --eta 0", "--eta is 0"),
        ("--curve t.csv", "it is the file that is read"),
        ("--curve study.toml", "it is the file that is read"),
        ("--curve x.csv --worst x.csv", "the same file"),
    ] {
        let found = run(there.path(), &format!("evaluate study.toml {args}"));
        assert_eq!(found.code, 2, "{args}");
        assert!(found.err.contains(word), "{args}: {}", found.err);
    }
}

#[test]
fn several_files_are_one_log() {
    let (head, rows) = DATA.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let part = |rows: &[&str]| format!("{head}\n{}\n", rows.join("\n"));
    let there = folder(&[
        ("one.toml", STUDY.as_bytes()),
        ("t.csv", DATA.as_bytes()),
        ("glob.toml", STUDY.replace("t.csv", "part-*.csv").as_bytes()),
        ("folder.toml", STUDY.replace("t.csv", "parts").as_bytes()),
        ("part-1.csv", part(&rows[..2]).as_bytes()),
        ("part-2.csv", part(&rows[2..]).as_bytes()),
    ]);
    std::fs::create_dir(there.path().join("parts")).unwrap();
    for name in ["part-1.csv", "part-2.csv"] {
        std::fs::copy(there.path().join(name), there.path().join("parts").join(name)).unwrap();
    }
    std::fs::write(there.path().join("parts/readme.txt"), "not data").unwrap();
    let answer =
        |study: &str| json(there.path(), &format!("evaluate {study} --json"))["policies"].clone();
    assert_eq!(answer("one.toml"), answer("glob.toml"));
    assert_eq!(answer("one.toml"), answer("folder.toml"));
    // A weight column: the same log as a grouped table.
    let grouped =
        DATA.replace("died\n", "died,n\n").replace(",N\n", ",N,2\n").replace(",Y\n", ",Y,2\n");
    std::fs::write(there.path().join("t.csv"), grouped).unwrap();
    std::fs::write(
        there.path().join("w.toml"),
        STUDY.replace("\"t.csv\"", "\"t.csv\"\nweight = \"n\""),
    )
    .unwrap();
    let weighted = json(there.path(), "evaluate w.toml --json");
    assert_eq!(weighted["rows"], 12);
    let (a, b) = (&weighted["policies"][0], &answer("one.toml")[0]);
    close(&a["nominal"]["ips"]["value"], &b["nominal"]["ips"]["value"], "ips");
    // A bad value in the second file is named there.
    std::fs::write(there.path().join("part-2.csv"), part(&["old,south,B,0.25,0,Y"])).unwrap();
    let found = run(there.path(), "evaluate glob.toml");
    assert!(found.err.contains("part-2.csv: row 1, column \"age\""), "{}", found.err);
}

#[test]
fn the_demo_checks_and_evaluates_and_keeps_what_was_edited() {
    let there = folder(&[]);
    let first = run(there.path(), "demo");
    assert_eq!((first.code, first.err.as_str()), (0, ""));
    for words in [
        "made-up patients",
        "6000 rows read",
        "lower is better",
        "solved to optimality",
        "Next: edit",
    ] {
        assert!(first.out.contains(words), "{words:?} is not in\n{}", first.out);
    }
    let study = there.path().join("seawall-demo/study.toml");
    let edited = std::fs::read_to_string(&study).unwrap().replace("[0.01, 0.03, 0.1]", "[0.07]");
    std::fs::write(&study, &edited).unwrap();
    let second = run(there.path(), "demo");
    assert!(second.out.contains("kept") && second.out.contains("0.07"), "{}", second.out);
    assert_eq!(std::fs::read_to_string(&study).unwrap(), edited);
    // The same bytes on any number of threads.
    let one = run(
        there.path(),
        "evaluate seawall-demo/study.toml --outcome-radius 0.02 --json --threads 1",
    );
    let two = run(
        there.path(),
        "evaluate seawall-demo/study.toml --outcome-radius 0.02 --json --threads 3",
    );
    assert!(one.code == 0 && one.out == two.out);
}

#[test]
fn init_writes_a_study_that_can_be_checked() {
    let there = folder(&[("t.csv", DATA.as_bytes())]);
    std::fs::rename(there.path().join("t.csv"), there.path().join("visits.csv")).unwrap();
    run(there.path(), "demo");
    for (data, expected) in [
        ("visits.csv", &["column = \"arm\"", "site = { kind = \"nominal\" }"][..]),
        (
            "seawall-demo/trial.csv",
            &["column = \"arm\"", "bin = ", "# patient: ", "dead = { Y = 1 }"],
        ),
    ] {
        let found = run(there.path(), &format!("init {data} --out made.toml"));
        assert_eq!((found.code, found.err.as_str()), (0, ""), "{data}");
        let text = std::fs::read_to_string(there.path().join("made.toml")).unwrap();
        for words in expected {
            assert!(text.contains(words), "{words:?} is not in\n{text}");
        }
        let again = run(there.path(), &format!("init {data} --out made.toml"));
        assert!(again.code == 2 && again.err.contains("there already"), "{}", again.err);
        assert_eq!(run(there.path(), "check made.toml").code, 0, "{text}");
        std::fs::remove_file(there.path().join("made.toml")).unwrap();
    }
    let missing = run(there.path(), "init nothing.csv");
    assert!(missing.code == 2 && missing.err.contains("nothing.csv"), "{}", missing.err);
}
