//! The spread scale, radii by what they must cover, and warnings before numbers.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run};
use serde_json::Value;
use std::path::Path;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// A trial of 500 rows: the outcome follows age and site; more columns say nothing.
fn trial(unused: usize, unit: f64) -> String {
    let mut text = "age,site,flag,visits,arm,y".to_owned();
    (0..unused).for_each(|k| text += &format!(",u{k}"));
    text.push('\n');
    for k in 0..500usize {
        let (age, site) = (20 + (k * 7) % 60, ["n", "s", "e"][(k * 11 / 5) % 3]);
        let flag = u8::from(k % 50 == 0);
        let visits = [0, 1, 2, 15][(k / 3) % 4];
        let arm = ["a", "b"][(k / 2) % 2];
        let noise = ((k * 7919) % 100) as f64 / 100.0;
        let y = if age > 50 { 2.0 } else { 1.0 } + if site == "s" { 0.5 } else { 0.0 } + noise;
        text += &format!("{},{site},{flag},{visits},{arm},{y}", age as f64 * unit);
        for u in 0..unused {
            text += &format!(",{}", (k * (2 * u + 3) + u) % (3 + u % 9));
        }
        text.push('\n');
    }
    text
}

fn study(scale: &str, contexts: &[(&str, &str)], model: &str) -> String {
    let columns: String = contexts.iter().map(|(c, kind)| format!("{c} = {kind}\n")).collect();
    format!(
        "[data]\npath = \"d.csv\"\n[context]\n{scale}{columns}[action]\ncolumn = \"arm\"\n[propensity]\n\
         design = {{ a = 0.5, b = 0.5 }}\n[outcome]\ncost = \"y\"\n[model]\n{model}\n[robust]\ncontext = \
         {{ set = \"wasserstein\", radius = [0.02, 0.1] }}\n"
    )
}

const SPREAD: &str = "scale = \"spread\"\n";
const TREE: &str = "kind = \"tree\"\nmax_depth = 3\nmin_samples_leaf = 30";
const AGE: (&str, &str) = ("age", "\"numeric\"");
const SITE: (&str, &str) = ("site", "\"nominal\"");

fn write(path: &Path, data: &str, study: &str) {
    std::fs::write(path.join("d.csv"), data).unwrap();
    std::fs::write(path.join("s.toml"), study).unwrap();
}

fn values(path: &Path) -> Vec<f64> {
    let found = json(path, "evaluate s.toml --policy constant:a --json");
    found["policies"][0]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| number(&r["value"]))
        .collect()
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-9)
}

#[test]
fn two_people_at_random_are_one_apart_in_each_column() {
    let there = folder(&[]);
    let path = there.path();
    let all = [AGE, SITE, ("visits", "\"ordinal\""), ("flag", "\"nominal\"")];
    write(path, &trial(0, 1.0), &study(SPREAD, &all, TREE));
    let weights = |path: &Path| -> Vec<f64> {
        let found = json(path, "check s.toml --json");
        assert_eq!(found["scale"], "spread");
        found["features"].as_array().unwrap().iter().map(|f| number(&f["weight"])).collect()
    };
    let own = weights(path);
    // By hand, from the rows.
    let ages: Vec<f64> = (0..500).map(|k| (20 + (k * 7) % 60) as f64).collect();
    let mean = ages.iter().sum::<f64>() / 500.0;
    let variance = ages.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / 500.0;
    assert!((own[0] * 2.0 * variance - 1.0).abs() < 1e-9, "{own:?}");
    let mut sites = [0.0; 3];
    (0..500usize).for_each(|k| sites[(k * 11 / 5) % 3] += 1.0 / 500.0);
    let apart = 1.0 - sites.iter().map(|p| p * p).sum::<f64>();
    assert!((own[1] * apart - 1.0).abs() < 1e-9, "{own:?}");
    // 0, 1, 2, 15 are where they are, not evenly spaced: on [0, 1], 0, 1/15, 2/15 and 1.
    let at: Vec<f64> = (0..500).map(|k| [0.0, 1.0, 2.0, 15.0][(k / 3) % 4] / 15.0).collect();
    let mean = at.iter().sum::<f64>() / 500.0;
    let variance = at.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / 500.0;
    assert!((own[2] * 2.0 * variance - 1.0).abs() < 1e-9, "{own:?}");
    // A rare flag is not made infinitely dear: a tenth of the largest mean, 1/2.
    assert!((own[3] - 20.0).abs() < 1e-9, "{own:?}");
    // The unit does not matter; without the word, crossing the range costs 1 as ever.
    let before = values(path);
    write(path, &trial(0, 0.001), &study(SPREAD, &all, TREE));
    assert!(close(&before, &values(path)), "{before:?}");
    write(path, &trial(0, 1.0), &study("", &all, TREE));
    let plain = json(path, "check s.toml --json");
    assert_eq!(
        (plain["scale"].as_str(), number(&plain["features"][1]["weight"])),
        (Some("range"), 1.0)
    );
    assert!((number(&plain["features"][0]["weight"]) * 59f64.powi(2) - 1.0).abs() < 1e-9);
    // A weight that is given stays.
    let given = [AGE, ("site", "{ kind = \"nominal\", weight = 7 }")];
    write(path, &trial(0, 1.0), &study(SPREAD, &given, TREE));
    assert_eq!(weights(path)[1], 7.0);
    // A column called scale is a column.
    let data = trial(0, 1.0).replacen("flag", "scale", 1);
    write(path, &data, &study("", &[AGE, ("scale", "\"nominal\"")], TREE));
    assert_eq!(json(path, "check s.toml --json")["features"][1]["name"], "scale");
    write(path, &data, &study("scale = \"sprad\"\n", &[AGE], TREE));
    assert!(run(path, "check s.toml").err.contains("did you mean \"spread\"?"));
    // What a cost of 0.1 buys, in words.
    write(path, &trial(0, 1.0), &study(SPREAD, &all, TREE));
    let found = run(path, "check s.toml");
    for words in
        ["a cost of 0.1 buys", "moving everyone by", "changing it for", "1 apart in each column"]
    {
        assert!(found.out.contains(words), "{words:?} is not in\n{}", found.out);
    }
}

#[test]
fn columns_that_say_nothing_change_nothing() {
    let there = folder(&[]);
    let path = there.path();
    let names: Vec<String> = (0..47).map(|k| format!("u{k}")).collect();
    let mut all = vec![AGE, SITE];
    let kinds = ["\"numeric\"", "\"nominal\"", "\"ordinal\""];
    write(path, &trial(47, 1.0), &study(SPREAD, &all, TREE));
    let before = values(path);
    let few = json(path, "radius s.toml --splits 4 --json");
    // One more column of each kind, which a tree of one question never asks about: the values stay.
    let one = "kind = \"tree\"\nmax_depth = 1\nmin_samples_leaf = 100";
    write(path, &trial(47, 1.0), &study(SPREAD, &all, one));
    let before_one = values(path);
    for kind in kinds {
        write(path, &trial(47, 1.0), &study(SPREAD, &[AGE, SITE, ("u1", kind)], one));
        let found = json(path, "radius s.toml --splits 4 --json");
        assert!(found["unused_columns"].as_array().unwrap().contains(&"u1".into()), "{kind}");
        assert!(close(&before_one, &values(path)), "{kind}");
    }
    assert!(before.iter().all(|v| v.is_finite()));
    // 49 columns, of which the tree asks about two: the radius for chance is the same, and so are
    // the distances, for only columns that count are counted.
    all.extend(names.iter().enumerate().map(|(k, name)| (name.as_str(), kinds[k % 3])));
    let stump = "kind = \"tree\"\nmax_depth = 1\nmin_samples_leaf = 100";
    write(path, &trial(47, 1.0), &study(SPREAD, &all[..2], stump));
    let narrow = json(path, "radius s.toml --splits 4 --json");
    write(path, &trial(47, 1.0), &study(SPREAD, &all, stump));
    let wide = json(path, "radius s.toml --splits 4 --json");
    assert_eq!(wide["used_columns"], serde_json::json!(["age"]));
    let (a, b) = (number(&narrow["chance"]), number(&wide["chance"]));
    assert!((a - b).abs() < 1e-9, "{a} {b}");
    assert!((number(&narrow["halves"]["mean"]) - number(&wide["halves"]["mean"])).abs() < 1e-9);
    assert!(number(&few["chance"]) < number(&few["policies"][0]["saturation"]));
}

#[test]
fn fixed_columns_are_compared_within_their_strata() {
    let there = folder(&[]);
    let path = there.path();
    let all = [AGE, ("site", "\"fixed\"")];
    write(path, &trial(0, 1.0), &study(SPREAD, &all, TREE));
    let found = json(path, "radius s.toml --splits 4 --json");
    assert!(number(&found["halves"]["mean"]) > 0.0);
    // Twice as many of one site: within the strata nothing moves, and the strata's shift is told.
    let mut target = "age,site\n".to_owned();
    for line in trial(0, 1.0).lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let again = if fields[1] == "s" { 2 } else { 1 };
        (0..again).for_each(|_| target += &format!("{},{}\n", fields[0], fields[1]));
    }
    std::fs::write(path.join("t.csv"), &target).unwrap();
    let distance = json(path, "distance s.toml --target t.csv --json");
    assert!(number(&distance["distance"]).abs() < 1e-9, "{distance}");
    assert_eq!(distance["strata"]["columns"], serde_json::json!(["site"]));
    assert!(number(&distance["strata"]["total_variation"]) > 0.1);
    let radius = json(path, "radius s.toml --target t.csv --splits 2 --json");
    assert!(number(&radius["target"]["distance"]).abs() < 1e-9);
    assert_eq!(run(path, "report s.toml --no-learn").code, 0);
    // A stratum that the log never has is told, not a failure.
    std::fs::write(path.join("t.csv"), format!("{target}40,west\n")).unwrap();
    let distance = json(path, "distance s.toml --target t.csv --json");
    assert!(number(&distance["strata"]["unmatched"]) > 0.0);
    // The line is for the set that the study has.
    let kl = study(SPREAD, &all, TREE).replace("set = \"wasserstein\"", "set = \"kl\"");
    write(path, &trial(0, 1.0), &kl);
    let line = json(path, "radius s.toml --json")["line"].clone();
    assert!(line.as_str().unwrap().starts_with("context = { set = \"kl\", radius = ["), "{line}");
}

#[test]
fn what_would_have_saved_the_analyst_is_said() {
    let there = folder(&[]);
    let path = there.path();
    let notes = |words: &str| -> String {
        let found = json(path, words);
        let notes = found.get("notes").or_else(|| found["diagnostics"].get("notes"));
        notes.unwrap().to_string()
    };
    // A column that gives the outcome away.
    let leak = trial(0, 1.0);
    let mut lines = leak.lines();
    let mut data = format!("{},copy\n", lines.next().unwrap());
    for line in lines {
        data += &format!("{line},{}\n", line.rsplit(',').next().unwrap());
    }
    let deep = "kind = \"tree\"\nmax_depth = 12\nmin_samples_leaf = 1";
    write(path, &data, &study("", &[AGE, ("copy", "\"numeric\"")], deep));
    let found = notes("check s.toml --json");
    assert!(
        found.contains("gives the outcome away") || found.contains("give the outcome away"),
        "{found}"
    );
    // Two flags that say the same, and an action with few rows.
    let mut data = "age,f,g,arm,y\n".to_owned();
    for k in 0..300usize {
        let f = (k * 7) % 2;
        let arm = if k < 12 { "c" } else { ["a", "b"][k % 2] };
        data += &format!("{},{f},{},{arm},{}\n", k % 97, 1 - f, (k * 31) % 5);
    }
    let twins = [AGE, ("f", "\"nominal\""), ("g", "\"nominal\"")];
    let plain =
        study("", &twins, TREE).replace("[propensity]\ndesign = { a = 0.5, b = 0.5 }\n", "");
    write(path, &data, &plain);
    let found = notes("check s.toml --json");
    for words in ["\\\"f\\\" and \\\"g\\\" say nearly the same", "only 12 rows", "rows on average"]
    {
        assert!(found.contains(words), "{words:?} is not in {found}");
    }
    // Before numbers, too.
    let shown = run(path, "evaluate s.toml --details");
    assert!(shown.out.find("only 12 rows").unwrap() < shown.out.find("If nothing shifts").unwrap());
    // Propensities that are wrong: the ratios average far from 1, and the estimates disagree.
    let wrong = study("", &[AGE, SITE], TREE).replace("a = 0.5, b = 0.5", "a = 0.9, b = 0.1");
    write(path, &trial(0, 1.0), &wrong);
    let found = notes("evaluate s.toml --policy constant:a --json");
    assert!(found.contains("average 0.55") && found.contains("not 1"), "{found}");
    let outcomes = trial(0, 1.0).replace(",a,", ",x,").replace(",b,", ",a,").replace(",x,", ",b,");
    write(
        path,
        &outcomes,
        &study("", &[AGE, SITE], "kind = \"table\"\npath = \"p.csv\"\nunseen = \"mean\""),
    );
    std::fs::write(path.join("p.csv"), "age,site,a,b\n21,n,9,9\n").unwrap();
    let mut table = "age,site,a,b\n".to_owned();
    for age in 20..80 {
        ["n", "s", "e"].iter().for_each(|site| table += &format!("{age},{site},9,9\n"));
    }
    std::fs::write(path.join("p.csv"), table).unwrap();
    let found = notes("evaluate s.toml --policy constant:a --json");
    assert!(found.contains("more than the standard error allows"), "{found}");
}
