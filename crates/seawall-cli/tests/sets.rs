//! Sets as they are typed, and what each says of itself.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{DATA, STUDY, folder, json, run};

#[test]
fn a_set_has_one_spelling_everywhere() {
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let path = there.path();
    let value = |args: &str| {
        let found = json(path, &format!("{args} --json"));
        found["policies"][0]["results"][0].clone()
    };
    let apart = value("evaluate study.toml --radius 0.1 --set entropic --eta 50");
    assert_eq!(value("evaluate study.toml --radius 0.1 --set entropic:eta=50"), apart);
    for spelling in ["set = \"entropic:eta=50\"", "set = \"entropic\", eta = 50"] {
        let toml = STUDY.replacen("set = \"wasserstein\"", spelling, 1);
        std::fs::write(path.join("e.toml"), toml).unwrap();
        assert_eq!(value("evaluate e.toml --radius 0.1"), apart, "{spelling}");
    }
    for (args, words) in [
        ("--set entropic:eta=50 --eta 60", "--eta is 60, but the set entropic:eta=50 has one"),
        ("--set entropic:eta=5,eta=6", "eta is given twice"),
        ("--set kl:eta=1", "belongs to entropic"),
        ("--set cvar:alpha=0.9", "cvar has no alpha: the radius is 1 − alpha"),
        ("--set wassertein", "wasserstein, entropic, kl, tv"),
        ("--set entropic", "try --eta 100"),
        ("--outcome-set entropic --outcome-radius 0.1", "--outcome-set entropic needs eta"),
    ] {
        let found = run(path, &format!("evaluate study.toml {args}"));
        assert!(found.code == 2 && found.err.contains(words), "{args}: {}", found.err);
        assert_eq!(found.err.lines().count(), 1, "{args}: {}", found.err);
    }
}

#[test]
fn total_variation_speaks_of_people_who_are_replaced() {
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let path = there.path();
    let found = run(
        path,
        "evaluate study.toml --set tv --radius 0.2 --outcome-set tv --outcome-radius 0.1",
    );
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(!found.out.contains("nobody moves"), "{}", found.out);
    let toml = STUDY.replacen("set = \"wasserstein\"", "set = \"tv\"", 1);
    std::fs::write(path.join("tv.toml"), toml).unwrap();
    let made = run(path, "report tv.toml --out r.html");
    assert_eq!(made.code, 0, "{}", made.err);
    let page = std::fs::read_to_string(path.join("r.html")).unwrap();
    assert!(page.contains("share of the people who are replaced") && !page.contains("Kullback"));
}

#[test]
fn nothing_typed_is_help_and_a_slip_is_one_line() {
    let there = folder(&[]);
    let found = run(there.path(), "");
    assert!(
        found.err.contains("Usage: seawall") && found.err.contains("evaluate"),
        "{}",
        found.err
    );
    let found = run(there.path(), "evaluate study.toml --bogus");
    assert!(found.code == 2 && found.err.contains("--bogus"), "{}", found.err);
    assert_eq!(found.err.lines().count(), 1, "{}", found.err);
}

const ANEW: [&str; 6] =
    ["chi2", "cressie-read:k=3", "cressie-read:k=0.5", "hellinger", "burg", "cvar"];

#[test]
fn sets_that_weigh_people_anew_answer_everywhere() {
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let path = there.path();
    for set in ANEW {
        let found = run(path, &format!("evaluate study.toml --set {set} --radius 0,0.2 --details"));
        assert_eq!(found.code, 0, "{set}: {}", found.err);
        assert!(found.out.contains("weighed anew"), "{set}: {}", found.out);
        let seen = found.out.contains("worst-case population is where nobody was seen");
        assert_eq!(seen, ["cressie-read:k=0.5", "hellinger", "burg"].contains(&set), "{set}");
        let args = format!("evaluate study.toml --set {set} --radius 0,0.2 --curve c.csv --json");
        let results = json(path, &args)["policies"][0]["results"].clone();
        let value = |at: usize, key: &str| results[at][key].as_f64().unwrap();
        assert!(value(1, "lower") <= value(1, "upper"), "{set}");
        assert_ne!(value(0, "value"), value(1, "value"), "{set}");
        for args in [
            format!("evaluate study.toml --radius 0.1 --outcome-set {set} --outcome-radius 0.1"),
            format!("bound t.csv --value events --context age --set {set} --radius 0.1"),
        ] {
            let found = run(path, &args);
            assert_eq!(found.code, 0, "{args}: {}", found.err);
        }
    }
    for policy in ["greedy", "groups:site", "tree:1", "softmax"] {
        for set in ["chi2", "hellinger", "cvar"] {
            let found =
                run(path, &format!("learn study.toml --policy {policy} --set {set} --radius 0.2"));
            assert_eq!(found.code, 0, "{policy} {set}: {}", found.err);
        }
    }
    let set = "set = \"cressie-read\", k = 3";
    let toml = STUDY.replacen("set = \"wasserstein\"", set, 1);
    std::fs::write(path.join("k.toml"), toml).unwrap();
    let value = |args: &str| json(path, args)["policies"][0]["results"].clone();
    let typed = value("evaluate study.toml --radius 0.2 --set cressie-read:k=3 --json");
    assert_eq!(value("evaluate k.toml --radius 0.2 --json"), typed);
    let made = run(path, "report k.toml --out r.html");
    assert_eq!(made.code, 0, "{}", made.err);
    let page = std::fs::read_to_string(path.join("r.html")).unwrap();
    assert!(page.contains("Cressie–Read, k = 3, solved exactly"));
}

#[test]
fn slips_of_sets_that_weigh_people_anew_are_one_line() {
    let there = folder(&[("study.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let share = "cvar leaves out a share of the people: expected a number ≥ 0 and < 1";
    for (args, words) in [
        ("--set cvar --radius 1.2", format!("radius is 1.2; {share}")),
        ("--set cvar --radius 1", format!("radius is 1; {share}")),
        (
            "--set cressie-read:k=1 --radius 0.1",
            "cressie-read: k is 1; expected a finite number other than 0 and 1".to_owned(),
        ),
        ("--set cressie-read --radius 0.1", "cressie-read needs k: its order".to_owned()),
        ("--set chi2:k=2 --radius 0.1", "it belongs to cressie-read".to_owned()),
    ] {
        let found = run(there.path(), &format!("evaluate study.toml {args}"));
        assert!(found.code == 2 && found.err.contains(&words), "{args}: {}", found.err);
        assert_eq!(found.err.lines().count(), 1, "{args}: {}", found.err);
    }
}
