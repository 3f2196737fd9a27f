//! What first readers tripped over, each kept from coming back.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{DATA, STUDY, close, folder, json, run};
use serde_json::Value;

#[test]
fn what_a_first_reader_tripped_over() {
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let path = there.path();
    let with = |toml: (&str, &str), data: (&str, &str)| {
        assert!(STUDY.contains(toml.0) && DATA.contains(data.0), "{toml:?} {data:?}");
        std::fs::write(
            path.join("s.toml"),
            STUDY.replace(toml.0, toml.1).replace("t.csv", "d.csv"),
        )
        .unwrap();
        std::fs::write(path.join("d.csv"), DATA.replace(data.0, data.1)).unwrap();
        run(path, "evaluate s.toml --json")
    };
    // A level that no row has is a slip; a number is compared as one.
    let found = with(("Y = 3", "yes = 3"), ("", ""));
    assert!(
        found.code == 2 && found.err.contains("no row has any of the outcome's levels yes"),
        "{}",
        found.err
    );
    let found = with(("died = { Y = 3 }", "died = { 1 = 3 }"), (",N\n", ",1.0\n"));
    assert_eq!(found.code, 0, "{}", found.err);
    // Missing outcomes are refused by row, unless the study says that they count as 0.
    for (row, column) in [("0.25,0,", "died"), ("0.25,0,NA", "died"), ("0.25,NA,Y", "events")] {
        let found = with(("Y = 3", "N = 1"), ("0.25,0,Y", row));
        let told = format!("row 3, column \"{column}\": the value is missing, in this row alone");
        assert!(found.code == 2 && found.err.contains(&told), "{row}: {}", found.err);
        let zero = ("died = { Y = 3 } }", "died = { N = 1 } }\nmissing = 0");
        let found = with(zero, ("0.25,0,Y", row));
        assert_eq!(found.code, 0, "{row}: {}", found.err);
        let note = format!("1 rows have no value in \\\"{column}\\\"");
        assert!(found.out.contains(&note), "{row}: {}", found.out);
    }
    // NA is a missing number where numbers are expected.
    let found = with(("max = 80", "max = 80, missing = true"), ("47,south", "NA,south"));
    assert_eq!(found.code, 0, "{}", found.err);
    // Hexadecimal is hexadecimal.
    let found = with(("radius = [0, 0.1]", "radius = 0x10"), ("", ""));
    assert!(found.out.contains("\"radius\":16.0"), "{}", found.out);
    for (toml, word) in [
        (
            ("kind = \"nominal\"", "kind = \"nominal\", levels = [\"north\", \"north\"]"),
            "line 6: the level \"north\" is listed twice",
        ),
        (("kind = \"nominal\"", "kind = \"nominal\", weight = -1"), "line 6"),
        (("{ events = 1, died = { Y = 3 } }", "{}"), "line 13"),
        (
            (
                "unseen = \"mean\"",
                "unseen = \"mean\"\n[[policy]]\nkind = \"constant\"\naction = \"C\"",
            ),
            "s.toml",
        ),
    ] {
        let found = with(toml, ("", ""));
        assert!(found.code == 2 && found.err.contains(word), "{word:?} is not in {}", found.err);
    }
    // Conditions on one column add up.
    let found = with(
        (
            "path = \"t.csv\"",
            "path = \"t.csv\"\nwhere = { died = { not = \"Y\", missing = false } }",
        ),
        ("0.5,0,N", "0.5,0,"),
    );
    assert!(found.out.contains("\"left_out\":2"), "{}", found.out);
    // Numbers and words as actions: in one order, whatever the rows' order.
    let mixed = "age,site,arm,p,events,died\n31,north,9,1,1,N\n31,north,10,1,1,Y\n31,north,1a,1,0,N\n31,north,2b,1,0,N\n";
    std::fs::write(path.join("t.csv"), mixed).unwrap();
    let found = json(path, "check study.toml --json");
    let names: Vec<&str> =
        found["actions"].as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["9", "10", "1a", "2b"]);
    // No input is ever overwritten.
    std::fs::write(path.join("t.csv"), DATA).unwrap();
    std::fs::write(path.join("costs.csv"), "age,site,A,B\n35,north,1,\n").unwrap();
    std::fs::write(
        path.join("m.toml"),
        STUDY.replace("kind = \"cells\"", "kind = \"table\"\npath = \"costs.csv\""),
    )
    .unwrap();
    assert_eq!(run(path, "evaluate m.toml").code, 0);
    let found = run(path, "evaluate m.toml --worst costs.csv");
    assert!(found.code == 2 && found.err.contains("the file that is read"), "{}", found.err);
    // Costs that are smoothed say where the exact worst case is.
    let soft = json(
        path,
        "evaluate study.toml --set entropic --outcome-set entropic --eta 20 --radius 0.1 --outcome-radius 0.1 --json",
    );
    let exact = json(path, "evaluate study.toml --radius 0.1 --outcome-radius 0.1 --json");
    let (soft, exact) =
        (&soft["policies"][0]["results"][0], &exact["policies"][0]["results"][0]["value"]);
    assert!(
        soft["exact_lower"].as_f64() <= exact.as_f64()
            && exact.as_f64() <= soft["exact_upper"].as_f64()
    );
    let half = json(
        path,
        "evaluate study.toml --outcome-set entropic --eta 20 --radius 0.1 --outcome-radius 0.1 --json",
    );
    assert!(exact.as_f64() <= half["policies"][0]["results"][0]["exact_upper"].as_f64());
    // The population's values are those of its own cost radius.
    assert_eq!(
        run(path, "evaluate study.toml --radius 0.1 --outcome-radius 0,0.2 --worst w.csv").code,
        0
    );
    let both = json(path, "evaluate study.toml --radius 0.1 --outcome-radius 0,0.2 --json");
    let table = std::fs::read_to_string(path.join("w.csv")).unwrap();
    for (k, key) in ["uniform,0.1,0,", "uniform,0.1,0.2,"].iter().enumerate() {
        let rows = table.lines().filter(|l| l.starts_with(key)).map(|l| {
            let fields: Vec<f64> = l.split(',').skip(5).map(|f| f.parse().unwrap()).collect();
            fields[0] * fields[2]
        });
        close(&Value::from(rows.sum::<f64>()), &both["policies"][0]["results"][k]["value"], key);
    }
    // The behaviour of a designed trial is its design.
    let design = STUDY
        .replace("propensity = \"p\"", "")
        .replace("[robust]", "[propensity]\ndesign = { A = 0.5, B = 0.5 }\n[robust]");
    std::fs::write(path.join("design.toml"), design).unwrap();
    let a = json(path, "evaluate design.toml --policy behaviour --json");
    let b = json(path, "evaluate design.toml --policy uniform --json");
    assert_eq!(a["policies"][0]["nominal"], b["policies"][0]["nominal"]);
}

#[test]
fn counts_beyond_reach_are_refused_with_their_limit() {
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let most = u64::MAX;
    for (option, expected) in [
        ("seeds", "from 1 to 10000"),
        ("batch", "from 1 to 10000000"),
        ("contexts", "from 1 to 10000000"),
        ("steps", "from 1 to 1000000000000"),
    ] {
        let words = "learn study.toml --policy groups:site --method bsgd";
        let found = run(there.path(), &format!("{words} --{option} {most}"));
        let line = format!("error: --{option} is {most}; expected a number {expected}\n");
        assert_eq!((found.code, found.err), (2, line));
    }
    let words = format!("learn study.toml --policy softmax --restarts {most}");
    let found = run(there.path(), &words);
    let line = format!("error: --restarts is {most}; expected a number from 1 to 10000\n");
    assert_eq!((found.code, found.err), (2, line));
}

#[test]
fn names_that_promise_another_format_are_refused() {
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let path = there.path();
    for (words, name) in [
        ("evaluate study.toml --worst w.parquet", "w.parquet"),
        ("evaluate study.toml --curve c.csv.gz", "c.csv.gz"),
        ("bound t.csv --value events --context age --radius 0.1 --plan p.jsonl", "p.jsonl"),
    ] {
        let found = run(path, words);
        assert_eq!((found.code, found.out.as_str()), (2, ""), "{words}");
        assert!(
            found.err.contains(&format!("{name}: what is written there is CSV")),
            "{}",
            found.err
        );
        assert!(!path.join(name).exists());
    }
}

#[test]
fn a_table_in_place_of_a_study_is_told_as_one() {
    let there = folder(&[("t.csv", DATA.as_bytes()), ("b.gz", &[0x1f, 0x8b, 0xff, 0x00])]);
    for name in ["t.csv", "b.gz"] {
        let found = run(there.path(), &format!("check {name}"));
        let told = format!(": this is no study file; `seawall init {name}` writes one");
        assert!(found.code == 2 && found.err.contains(&told), "{}", found.err);
        assert!(found.err.starts_with(&format!("error: {name}: ")), "{}", found.err);
    }
}

#[test]
fn a_number_beside_which_others_vanish_is_refused_by_row() {
    let data = "age,loss\n30,0\n1e308,1\n40,0\n50,1\n";
    let there = folder(&[("t.csv", data.as_bytes())]);
    let found = run(there.path(), "bound t.csv --value loss --context age --radius 0,0.1");
    assert!(found.code == 2 && found.err.lines().count() == 1, "{}", found.err);
    assert!(found.err.contains("t.csv: row 2, column \"age\": 1e308 is so far"), "{}", found.err);
    // Far apart, and yet told apart; and one number that is next to another, beside many.
    for data in [data.replace("1e308", "1e100"), data.replace("1e308", "1e-200").replace("30", "0")]
    {
        std::fs::write(there.path().join("t.csv"), data).unwrap();
        let found = run(there.path(), "bound t.csv --value loss --context age --radius 0,0.1");
        assert_eq!((found.code, found.err.as_str()), (0, ""));
    }
}

#[test]
fn a_worst_case_that_no_population_can_have_is_told() {
    let mut data = "x,z,arm,y\n".to_owned();
    for k in 0..400 {
        let (x, z) = (k % 20, (k / 20) % 10);
        // Of both columns' ends nobody is seen together.
        if x + z < 20 {
            let y = (x + z) as f64 / 19.0;
            data += &format!("{x},{z},{},{y:.4}\n", ["a", "b"][k / 7 % 2]);
        }
    }
    let study = "[data]\npath = \"t.csv\"\n[context]\nx = \"numeric\"\nz = \"numeric\"\n[action]\n\
                 column = \"arm\"\n[outcome]\ncost = \"y\"\n[model]\nkind = \"additive\"\n\
                 [robust]\ncontext = { set = \"wasserstein\", radius = [0.01, 5] }\n";
    let there = folder(&[("s.toml", study.as_bytes()), ("t.csv", data.as_bytes())]);
    let found = json(there.path(), "evaluate s.toml --policy constant:a --json");
    let worst = found["policies"][0]["results"][1]["value"].as_f64().unwrap();
    let told =
        found["diagnostics"]["notes"].to_string().contains("no population can have the worst case");
    assert_eq!(told, worst > 1.0 + 1e-9, "{worst}");
    assert!(worst > 1.0, "{worst}: the example does not leave the range");
}

#[test]
fn rows_that_init_leaves_out_are_told_where_it_ends() {
    let rows = |y: &str| format!("age,arm,y\n30,A,1\n40,B,{y}\n50,A,0\n60,B,1\n30,B,0\n40,A,1\n");
    let there = folder(&[("t.csv", rows("0").as_bytes()), ("m.csv", rows("").as_bytes())]);
    let told = "rows whose outcome is not known left out (missing, under [outcome])";
    for (name, is_told) in [("t.csv", false), ("m.csv", true)] {
        let words = format!("init {name} --action arm --cost y --context age --out {name}.toml");
        let found = run(there.path(), &words);
        assert_eq!(
            (found.code, found.out.contains(told)),
            (0, is_told),
            "{}{}",
            found.out,
            found.err
        );
    }
}

/// A context is known before the action: neither the action nor the outcome is one.
#[test]
fn actions_and_outcomes_are_no_contexts() {
    let there = folder(&[("t.csv", DATA.as_bytes())]);
    let path = there.path();
    let rules = "treat = { arm = \"A\", site = \"north\", age = { max = 40 } }\n\
                 control = { arm = \"B\", site = \"north\", age = { min = 30 } }";
    let by_rules = STUDY.replace("column = \"arm\"\npropensity = \"p\"", rules);
    let with = |study: &str, column: &str| {
        study.replace("site = {", &format!("{column} = {{ kind = \"nominal\" }}\nsite = {{"))
    };
    let (action, outcome) = ("says which action was taken", "is part of the outcome");
    for (study, line, column, why) in [
        (with(STUDY, "arm"), 6, "arm", action),
        (with(STUDY, "died"), 6, "died", outcome),
        (with(STUDY, "events"), 6, "events", outcome),
        (with(&by_rules, "arm"), 5, "age", action),
        (by_rules.replace("age  =", "arm = \"nominal\"\n#"), 5, "arm", action),
    ] {
        std::fs::write(path.join("s.toml"), study).unwrap();
        for command in ["check", "evaluate", "report"] {
            let found = run(path, &format!("{command} s.toml"));
            assert_eq!((found.code, found.err.lines().count()), (2, 1), "{}", found.err);
            let start =
                format!("error: s.toml: line {line}: the column {column:?} is under [context]");
            assert!(found.err.starts_with(&start) && found.err.contains(why), "{}", found.err);
            assert!(found.err.ends_with("leave it out of [context]\n"), "{}", found.err);
        }
    }
}
