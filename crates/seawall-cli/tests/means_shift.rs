//! Sets in which people are spread out or means shift: `sinkhorn`, `moments`, `mmd`.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{DATA, STUDY, folder, json, run};

const SETS: [&str; 4] = [
    "sinkhorn:kappa=0.1",
    "moments:gamma1=0.2,gamma2=1.5",
    "mmd:kernel=gaussian,bandwidth=0.5",
    "mmd:kernel=laplace,bandwidth=0.5",
];

#[test]
fn they_answer_everywhere() {
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let path = there.path();
    for set in SETS {
        let found =
            json(path, &format!("evaluate study.toml --set {set} --radius 0.05,0.2 --json"));
        let results = &found["policies"][0]["results"];
        let value = |at: usize, key: &str| results[at][key].as_f64().unwrap();
        assert_eq!(results[0]["set"], set);
        assert!(value(0, "value") < value(1, "value"), "{set}: {results}");
        let size = value(1, "upper").abs();
        assert!(
            value(1, "gap") <= 1e-6 * size && results[1]["status"] != "stopped",
            "{set}: {results}"
        );
        for args in [
            format!(
                "evaluate study.toml --set {set} --radius 0.1 --details --curve c.csv --worst w.csv"
            ),
            format!(
                "bound t.csv --value events --context age --context site:nominal --set {set} --radius 0.1"
            ),
            format!("learn study.toml --policy greedy --set {set} --radius 0.1"),
            format!("learn study.toml --policy groups:site --set {set} --radius 0.1"),
            format!("learn study.toml --policy tree:1 --set {set} --radius 0.1"),
            format!("report study.toml --out {}.html", set.len()),
        ] {
            let found = run(path, &args);
            assert_eq!(found.code, 0, "{args}: {}", found.err);
        }
    }
    let found =
        run(path, "learn study.toml --policy softmax --set sinkhorn:kappa=0.1 --radius 0.1");
    assert_eq!(found.code, 0, "{}", found.err);
    let found = run(path, "learn study.toml --policy softmax --set mmd --radius 0.1");
    assert!(found.code == 2 && found.err.contains("no gradient"), "{}", found.err);
}

#[test]
fn a_bandwidth_that_nobody_gave_is_told() {
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let found = json(there.path(), "evaluate study.toml --set mmd --radius 0.1 --json");
    let set = found["policies"][0]["results"][0]["set"].as_str().unwrap();
    assert!(set.starts_with("mmd:kernel=gaussian,bandwidth="), "{set}");
}

#[test]
fn they_are_written_in_a_study_as_they_are_typed() {
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let path = there.path();
    let value = |args: &str| json(path, args)["policies"][0]["results"].clone();
    for (toml, typed) in [
        ("set = \"sinkhorn\", kappa = 0.1", SETS[0]),
        ("set = \"moments\", gamma1 = 0.2, gamma2 = 1.5", SETS[1]),
        ("set = \"mmd\", kernel = \"laplace\", bandwidth = 0.5", SETS[3]),
    ] {
        std::fs::write(path.join("s.toml"), STUDY.replacen("set = \"wasserstein\"", toml, 1))
            .unwrap();
        let args = format!("evaluate study.toml --radius 0.1 --set {typed} --json");
        assert_eq!(value("evaluate s.toml --radius 0.1 --json"), value(&args), "{typed}");
    }
}

#[test]
fn slips_are_one_line() {
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    for (set, words) in [
        ("sinkhorn", "sinkhorn needs kappa"),
        ("sinkhorn:kappa=0", "kappa is 0; expected a finite number > 0"),
        ("mmd:kernel=cubic", "mmd: kernel is cubic; expected one of gaussian, laplace"),
        ("mmd:bandwidth=-1", "mmd: bandwidth is -1; expected a finite number > 0"),
        ("moments:gamma1=0.1", "moments needs gamma2"),
        ("moments:gamma1=0.1,gamma2=0.5", "moments: gamma2 is 0.5; expected a finite number ≥ 1"),
    ] {
        let found = run(there.path(), &format!("evaluate study.toml --set {set} --radius 0.1"));
        assert!(found.code == 2 && found.err.contains(words), "{set}: {}", found.err);
        assert_eq!(found.err.lines().count(), 1, "{set}: {}", found.err);
    }
}

#[test]
fn sizes_beyond_the_limit_are_refused_with_what_to_do() {
    let mut rows = String::from("code,arm,p,events,died,age,site\n");
    for k in 0..400 {
        let arm = if k % 2 == 0 { "A" } else { "B" };
        rows += &format!("c{},{arm},0.5,{},Y,{},north\n", k % 60, k % 3, 20 + k % 50);
    }
    let study = STUDY.replacen("site = { kind", "code = \"nominal\"\nsite = { kind", 1);
    let there = folder(&[("study.toml", study.as_bytes()), ("t.csv", rows.as_bytes())]);
    let found =
        run(there.path(), "evaluate study.toml --set moments:gamma1=0.1,gamma2=1.5 --radius 1");
    assert_eq!(found.code, 2, "{}", found.out);
    assert!(found.err.contains("30") && found.err.contains("code"), "{}", found.err);
}

#[test]
fn a_grid_that_is_too_large_may_be_made_of_the_contexts_seen() {
    let mut rows = String::from("code,ward,arm,p,events,died,age,site\n");
    for k in 0..400 {
        let arm = if k % 2 == 0 { "A" } else { "B" };
        rows += &format!("c{},w{},{arm},0.5,{},Y,{},north\n", k % 60, k % 70, k % 3, 20 + k % 50);
    }
    let study =
        STUDY.replacen("site = { kind", "code = \"nominal\"\nward = \"nominal\"\nsite = { kind", 1);
    let there = folder(&[("study.toml", study.as_bytes()), ("t.csv", rows.as_bytes())]);
    let large = run(there.path(), "evaluate study.toml --set mmd --radius 0.1 --splits 0");
    let listed = "evaluate study.toml --set mmd --radius 0.1 --splits 0 --support observed";
    assert_eq!(large.code, 2, "{}", large.out);
    assert!(large.err.contains("; try --support observed"), "{}", large.err);
    assert_eq!(run(there.path(), listed).code, 0);
}

#[test]
fn how_columns_count_is_said_where_means_shift() {
    let set = "set = \"moments\", gamma1 = 0.2, gamma2 = 1.5";
    let study = STUDY.replacen("set = \"wasserstein\"", set, 1);
    let there = folder(&[("study.toml", study.as_bytes()), ("t.csv", DATA.as_bytes())]);
    for args in ["check study.toml", "evaluate study.toml --radius 0.1 --details --splits 0"] {
        let found = run(there.path(), args);
        assert_eq!(found.code, 0, "{}", found.err);
        let flat = found.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let coding = "counts as an indicator of each level but the commonest";
        assert!(flat.contains(coding), "{args}: {}", found.out);
    }
    let other = run(there.path(), "evaluate study.toml --radius 0.1 --details --splits 0 --set kl");
    assert!(other.code == 0 && !other.out.contains("indicator"), "{}", other.out);
}
