//! `seawall bound`: orders of levels, fixed columns and too many points.

use crate::common::{folder, json, run};

const STAGES: &str = "stage,sex,v\nII,F,2\nI,M,1\nIII,F,9\nI,F,1\nII,M,2\nIII,M,3\n";

#[test]
fn an_order_is_shown_and_can_be_given() {
    let folder = folder(&[("t.csv", STAGES.as_bytes())]);
    let path = folder.path();
    let ask = |context: &str| format!("bound t.csv --value v --context {context} --radius 0.1");
    let shown = run(path, &ask("stage:ordinal"));
    assert!(shown.out.contains("stage II < I < III, 1 across the range"), "{}", shown.out);
    let value = |context: &str| {
        let found = json(path, &format!("{} --json", ask(context)));
        found["results"][0]["value"].as_f64().unwrap()
    };
    let shown = run(path, &ask("stage:ordinal:I<II<III"));
    assert!(shown.out.contains("stage I < II < III, 1 across the range"), "{}", shown.out);
    // As the same column in numbers says.
    let numbers = STAGES.replace("III,", "3,").replace("II,", "2,").replace("I,", "1,");
    std::fs::write(path.join("n.csv"), numbers).unwrap();
    let found = json(path, "bound n.csv --value v --context stage:ordinal --radius 0.1 --json");
    let expected = found["results"][0]["value"].as_f64().unwrap();
    let (ordered, appearing) = (value("stage:ordinal:I<II<III"), value("stage:ordinal"));
    assert!((ordered - expected).abs() < 1e-12, "{ordered} {expected}");
    assert!((appearing - expected).abs() > 0.1, "{appearing} {expected}");
    // With a weight as well; and twice the cost is half the radius.
    let twice = json(path, &format!("{} --json", ask("stage:ordinal:I<II<III:2")));
    let half =
        json(path, "bound t.csv --value v --context stage:ordinal:I<II<III --radius 0.05 --json");
    let of = |found: &serde_json::Value| found["results"][0]["value"].as_f64().unwrap();
    assert!((of(&twice) - of(&half)).abs() < 1e-9, "{twice} {half}");
    for (context, texts) in [
        ("stage:ordinal:I<II", ["row 3, column \"stage\"", "\"III\"; expected I < II"]),
        ("stage:ordinal:I<II<I<III", ["stage", "\"I\" is in the order twice"]),
        ("stage:ordinal:I<II<III:x", ["the weight \"x\"", "ORDER as I<II<III"]),
    ] {
        let found = run(path, &ask(context));
        assert_eq!((found.code, found.err.lines().count()), (2, 1), "{context}: {}", found.err);
        assert!(texts.iter().all(|t| found.err.contains(t)), "{context}: {}", found.err);
    }
    assert!(run(path, "bound --help").out.contains("I<II<III"));
}

#[test]
fn fixed_means_what_the_set_makes_of_it() {
    let folder = folder(&[("t.csv", STAGES.as_bytes())]);
    let path = folder.path();
    let told = |set: &str| {
        let ask = "bound t.csv --value v --context stage:nominal --context sex:fixed --radius 0.1";
        let found = run(path, &format!("{ask} --set {set}"));
        assert_eq!(found.code, 0, "{set}: {}", found.err);
        found.out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let moved = told("wasserstein");
    assert!(moved.contains("What a move costs") && moved.contains("sex may not change"), "{moved}");
    for (set, meaning, costs) in [
        ("kl", "Fixed (sex): nobody moves, and people are weighed anew", false),
        ("chi2", "Fixed (sex): nobody moves, and people are weighed anew", false),
        ("tv", "Fixed (sex): people are replaced by others of any level", false),
        ("moments:gamma1=0.1,gamma2=1.5", "an indicator of each level but the commonest", false),
        ("mmd", "the kernel is 0 across levels of a fixed column", true),
    ] {
        let out = told(set);
        assert!(out.contains(meaning), "{set}: {out}");
        assert_eq!(out.contains("What a move costs"), costs, "{set}: {out}");
        assert!(!out.contains("sex may not change"), "{set}: {out}");
    }
}

#[test]
fn too_many_points_are_refused_with_what_helps() {
    let mut text = String::from("x,w,v\n");
    (0..20_001).for_each(|i| text.push_str(&format!("{i}.5,{},{}\n", i % 2, (i * 7919) % 1000)));
    let folder = folder(&[("t.csv", text.as_bytes())]);
    for support in ["points", "grid"] {
        let ask = format!(
            "bound t.csv --value v --weight w --context x --radius 0.1 --set mmd --support {support}"
        );
        let found = run(folder.path(), &ask);
        assert_eq!((found.code, found.err.lines().count()), (2, 1), "{}", found.err);
        assert!(found.err.contains("take a sample of the rows"), "{}", found.err);
        assert!(!found.err.contains("observed"), "bound has no such support: {}", found.err);
    }
    // What counts is points times what each brings, and that is said.
    let names: Vec<String> = (0..30).map(|j| format!("c{j}")).collect();
    let mut wide = format!("{},v\n", names.join(","));
    for i in 0..41_000 {
        (0..30).for_each(|j| wide += &format!("{},", (i * (2 * j + 3) * 7919 / (j + 1)) % 97));
        wide += &format!("{}\n", i % 7);
    }
    std::fs::write(folder.path().join("wide.csv"), wide).unwrap();
    let contexts: Vec<String> = names.iter().map(|name| format!("--context {name}")).collect();
    let set = "--set moments:gamma1=0.1,gamma2=1.5";
    let ask = format!("bound wide.csv --value v {} --radius 0.1 {set}", contexts.join(" "));
    let found = run(folder.path(), &ask);
    assert_eq!(found.code, 2, "{}", found.out);
    let counted = "41000 × (1 + 30 + 30 × 31 / 2) = 20336000 numbers";
    assert!(found.err.contains(counted) && !found.err.contains("observed"), "{}", found.err);
    // A kappa that is out of scale says so and no more.
    let found = run(
        folder.path(),
        "bound t.csv --value v --context x:nominal --radius 0.1 --set sinkhorn:kappa=1e-300",
    );
    assert!(found.code == 2 && found.err.contains("out of scale"), "{}", found.err);
    assert!(!found.err.contains("sum to"), "{}", found.err);
}
