//! `seawall distance`, `seawall radius` and intervals through the built binary.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{folder, json, run};
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
    assert!(found["kl_reason"].as_str().unwrap().contains("1 contexts"));
    assert!((number(&found["total_variation"]) - 0.5).abs() < 1e-12);
    // Weights 1 and 3: a quarter of the mass also grows older.
    let found = json(
        path,
        "distance a.csv b.csv --context age --context site:nominal:0.1 --weight n --json",
    );
    assert!((number(&found["distance"]) - (0.25 * 1.1 + 0.5 * 0.1)).abs() < 1e-12, "{found}");
    // On a line, and smoothed: between the bounds.
    let found = json(path, "distance a.csv b.csv --context age --weight n --eta 50 --json");
    let exact = number(&found["distance"]);
    assert!((exact - 0.25).abs() < 1e-12);
    let soft = &found["entropic"];
    assert!(
        number(&soft["exact_lower"]) <= exact && exact <= number(&soft["exact_upper"]) + 1e-9,
        "{soft}"
    );
    assert!(number(&soft["divergence"]) > 0.0);
    for (args, word) in [
        ("distance a.csv b.csv", "--context"),
        ("distance a.csv", "--target"),
        ("distance a.csv b.csv --context agee", "did you mean \"age\""),
        ("distance a.csv b.csv --context site:fixed", "cannot go anywhere"),
        ("distance a.csv none.csv --context age", "none.csv"),
        ("distance a.csv b.csv --context age --eta 0", "--eta is 0"),
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
    assert!((number(&found["target"]) - number(&far["distance"])).abs() < 1e-12);
    assert!(number(&found["halves"]["mean"]) > number(&found["bootstrap"]["mean"]));
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
            && strange.err.contains("levels = "),
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
    // Intervals hold the estimate's neighbourhood, the same on any number of threads.
    let ask = |threads: usize| {
        run(
            path,
            &format!("evaluate {study} --bootstrap 40 --bounds 0.05 --json --threads {threads}"),
        )
        .out
    };
    assert_eq!(ask(1), ask(2));
    let found: Value = serde_json::from_str(&ask(2)).unwrap();
    let result = &found["policies"][0]["results"][0];
    let (low, high) = (
        number(&result["interval"]["percentile"][0]),
        number(&result["interval"]["percentile"][1]),
    );
    assert!(
        low < high && low < number(&result["value"]) * 1.2 && high > number(&result["value"]) * 0.8
    );
    assert_eq!(found["differences"].as_array().unwrap().len(), 9);
    let bounds = &found["bounds"];
    let terms = ["sampling", "contexts", "costs", "outcomes", "smoothing"]
        .iter()
        .map(|t| number(&bounds[t]))
        .sum::<f64>();
    assert!((terms - number(&bounds["total"])).abs() < 1e-9 && bounds["holds"] == false);
    for (args, word) in [
        ("--bootstrap 0", "--bootstrap is 0"),
        ("--bootstrap 5 --level 1", "--level is 1"),
        ("--bounds 0", "--bounds is 0"),
    ] {
        let found = run(path, &format!("evaluate {study} {args}"));
        assert!(found.code == 2 && found.err.contains(word), "{args}: {}", found.err);
    }
    assert!(run(path, &format!("radius {study} --splits 0")).err.contains("--splits is 0"));
}
