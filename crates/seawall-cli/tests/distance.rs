//! `seawall distance`, `seawall radius` and intervals through the built binary.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run};
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

const A: &str = "age,site,n\n0,x,1\n10,x,1\n";
const B: &str = "age,site,n\n0,x,1\n10,y,3\n";

#[test]
fn two_small_tables_by_hand() {
    let there = folder(&[("a.csv", A.as_bytes()), ("b.csv", B.as_bytes())]);
    let path = there.path();
    // Half of the mass changes its site.
    let found = json(path, "distance a.csv b.csv --context age --context site --json");
    assert!((number(&found["distance"]) - 0.5).abs() < 1e-12, "{found}");
    assert!((number(&found["features"]["site"]) - 0.5).abs() < 1e-12);
    assert_eq!(found["kl"], Value::Null);
    assert!(found["kl_reason"].as_str().unwrap().contains("1 context "));
    assert!((number(&found["total_variation"]) - 0.5).abs() < 1e-12);
    // Weights 1 and 3: a quarter of the mass also grows older.
    let found = json(
        path,
        "distance a.csv b.csv --context age --context site:nominal:0.1 --weight n --json",
    );
    assert!((number(&found["distance"]) - (0.25 * 1.1 + 0.5 * 0.1)).abs() < 1e-12, "{found}");
    // On a line.
    let found = json(path, "distance a.csv b.csv --context age --weight n --json");
    assert!((number(&found["distance"]) - 0.25).abs() < 1e-12);
    for (args, word) in [
        ("distance a.csv b.csv", "--context"),
        ("distance a.csv", "--target"),
        ("distance a.csv b.csv --context agee", "did you mean \"age\""),
        ("distance a.csv b.csv --context site:fixed", "cannot go anywhere"),
        ("distance a.csv none.csv --context age", "none.csv"),
    ] {
        let found = run(path, args);
        assert!(found.code == 2 && found.err.contains(word), "{args}: {}", found.err);
    }
}

#[test]
fn radii_intervals_and_bounds_on_the_demo() {
    let there = folder(&[]);
    let path = there.path();
    assert_eq!(run(path, "demo").code, 0);
    let study = "seawall-demo/study.toml";
    let target =
        "conscious,sex,age,woke,systolic,stroke\nalert,F,91,N,150,LACS\ndrowsy,M,95,N,150,TACS\n";
    std::fs::write(path.join("target.csv"), target).unwrap();
    let found = json(path, &format!("radius {study} --target target.csv --splits 5 --json"));
    let far = json(path, &format!("distance {study} --target target.csv --json"));
    // Columns along which the values do not vary are shown, not counted.
    let used: Vec<&str> =
        found["used_columns"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    let counted: f64 = used.iter().map(|c| number(&far["features"][c])).sum();
    assert!(number(&found["target"]["distance"]) <= counted + 1e-12);
    assert!(number(&found["target"]["distance"]) <= number(&far["distance"]) + 1e-12);
    // What covers chance does: the worst case there is the estimate's own limit.
    for p in found["policies"].as_array().unwrap() {
        let (name, radius) = (p["policy"].as_str().unwrap(), number(&p["chance"]));
        let at = json(path, &format!("evaluate {study} --policy {name} --radius {radius} --json"));
        let value = number(&at["policies"][0]["results"][0]["value"]);
        assert!((value - number(&p["limit"])).abs() < 1e-9, "{name}: {value}");
        assert!((number(&at["policies"][0]["nominal"]["dm"]["upper"]) - value).abs() < 1e-9);
        let end = number(&p["saturation"]);
        let beyond =
            format!("evaluate {study} --policy {name} --radius {end},{} --json", 2.0 * end);
        let beyond = json(path, &beyond);
        let [a, b] = [0, 1].map(|k| number(&beyond["policies"][0]["results"][k]["value"]));
        assert!((a - b).abs() < 1e-9, "{name}: {a} {b}");
        let notes = beyond["diagnostics"]["notes"].to_string();
        assert!(notes.contains("larger radii say nothing more"), "{notes}");
    }
    assert!(found["line"].as_str().unwrap().starts_with("context = { set = \"wasserstein\""));
    // The line can be pasted as it is.
    let text = std::fs::read_to_string(path.join(study)).unwrap();
    let old = text.lines().find(|l| l.starts_with("context = {")).unwrap();
    std::fs::write(
        path.join("seawall-demo/new.toml"),
        text.replace(old, found["line"].as_str().unwrap()),
    )
    .unwrap();
    assert_eq!(run(path, "evaluate seawall-demo/new.toml").code, 0);
    std::fs::write(path.join("target.csv"), target.replace("TACS", "HACS")).unwrap();
    let strange = run(path, &format!("distance {study} --target target.csv"));
    assert!(
        strange.code == 2
            && strange.err.contains("row 2, column \"stroke\"")
            && strange.err.contains("none of the levels in order"),
        "{}",
        strange.err
    );
    for (text, word) in [
        (target.replace("stroke\n", "strike\n"), "no column named \"stroke\""),
        ("conscious,sex,age,woke,systolic,stroke\n".to_owned(), "no rows"),
    ] {
        std::fs::write(path.join("target.csv"), text).unwrap();
        let found = run(path, &format!("radius {study} --target target.csv --splits 2"));
        assert!(found.code == 2 && found.err.contains(word), "{word}: {}", found.err);
    }
    // The same bytes on any number of threads.
    let ask = |threads: usize| {
        run(path, &format!("evaluate {study} --bounds 0.05 --json --threads {threads}")).out
    };
    assert_eq!(ask(1), ask(2));
    let found: Value = serde_json::from_str(&ask(2)).unwrap();
    let result = &found["policies"][0]["results"][0];
    let (low, high) = (number(&result["limits"]["lower"]), number(&result["limits"]["upper"]));
    assert!(low < number(&result["value"]) && number(&result["value"]) < high);
    // Three policies, pair by pair in both orders.
    let comparisons = found["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 6);
    for c in comparisons {
        let turned = comparisons
            .iter()
            .find(|o| o["policy"] == c["against"] && o["against"] == c["policy"])
            .unwrap();
        let both =
            c["results"].as_array().unwrap().iter().zip(turned["results"].as_array().unwrap());
        for (own, other) in both {
            assert_eq!(number(&own["worst"]), -number(&other["best"]));
            assert_eq!(number(&own["held_out"]["se"]), number(&other["best_held_out"]["se"]));
            assert!(number(&own["lower"]) <= number(&own["upper"]));
        }
    }
    let bounds = &found["bounds"];
    let terms = ["sampling", "contexts", "costs", "outcomes", "smoothing"]
        .iter()
        .map(|t| number(&bounds[t]))
        .sum::<f64>();
    assert!((terms - number(&bounds["total"])).abs() < 1e-9 && bounds["holds"] == false);
    for (args, word) in [("--splits 0 --level 1", "--level is 1"), ("--bounds 0", "--bounds is 0")]
    {
        let found = run(path, &format!("evaluate {study} {args}"));
        assert!(found.code == 2 && found.err.contains(word), "{args}: {}", found.err);
    }
    assert!(run(path, &format!("radius {study} --splits 0")).err.contains("--splits is 0"));
}

#[test]
fn a_target_is_read_as_the_study_reads_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut data = String::from("x,site,arm,y,w,w1\n");
    for k in 0..240 {
        let (x, site, arm) = (20 + 10 * (k % 5), ["n", "s", "e"][k % 3], ["A", "B"][(k / 3) % 2]);
        data += &format!("{x},{site},{arm},{},{},1\n", k % 2, 0.5 + (k % 4) as f64);
    }
    std::fs::write(path.join("data.csv"), &data).unwrap();
    let study = |weight: &str| {
        format!(
            "[data]\npath = \"data.csv\"\nwhere = {{ site = {{ not = \"e\" }} }}\n{weight}\n[context]\nx = \
             {{ kind = \"numeric\" }}\nsite = {{ kind = \"nominal\" }}\n[action]\ncolumn = \
             \"arm\"\n[outcome]\ncost = \"y\"\n[model]\nkind = \"cells\"\nunseen = \"mean\"\n[robust]\ncontext = \
             {{ set = \"wasserstein\", radius = 0.1 }}\n"
        )
    };
    // The log's conditions and weights are not the target's, unless it says so.
    std::fs::write(path.join("weighted.toml"), study("survey_weight = \"w\"")).unwrap();
    let other = "[target]\npath = \"data.csv\"\nsurvey_weight = \"w\"\nwhere = { site = { not = \"e\" } }\n";
    std::fs::write(path.join("same.toml"), study("survey_weight = \"w\"") + other).unwrap();
    let found = json(path, "distance same.toml --target data.csv --json");
    assert!(number(&found["distance"]).abs() < 1e-12, "a study is at its own data");
    let found = json(path, "distance weighted.toml --target data.csv --json");
    assert!(number(&found["distance"]) > 0.3, "a third of the rows are of another site");
    std::fs::write(path.join("plain.toml"), study("weight = \"w1\"")).unwrap();
    let spread = |study: &str| json(path, &format!("radius {study} --json"));
    // Halves of weighted rows are about as far apart as those of plain ones.
    let (weighted, plain) = (spread("weighted.toml"), spread("plain.toml"));
    let mean = |found: &Value| number(&found["halves"]["mean"]);
    assert!(mean(&weighted) < 2.0 * mean(&plain), "{} {}", mean(&weighted), mean(&plain));
    // What is said to be covered is.
    for found in [&weighted, &plain] {
        assert!(number(&found["recommended"][0]) >= number(&found["chance"]));
    }
    let near = json(path, "radius plain.toml --target data.csv --json");
    let last = near["recommended"].as_array().unwrap().last().unwrap().clone();
    // Past saturation there is nothing left to cover.
    let saturated = near["policies"].as_array().unwrap().iter().map(|p| number(&p["saturation"]));
    let end = saturated.fold(0.0, f64::max);
    assert!(number(&last) >= number(&near["target"]["distance"]).min(end));
    let kl = run(path, "evaluate plain.toml --set kl --bounds 0.05");
    assert!(kl.code == 2 && kl.err.contains("not for kl"), "{}", kl.err);
    let mistaken = run(path, "distance plain.toml data.csv --context x");
    assert!(mistaken.err.contains("--target"), "{}", mistaken.err);
}
