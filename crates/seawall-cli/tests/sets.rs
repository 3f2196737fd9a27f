//! Sets as they are typed, and what each says of itself.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{DATA, STUDY, folder, json, run};

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
        ("--set wassertein", "wasserstein, entropic, kl, tv"),
        ("--set entropic", "try --eta 100"),
        ("--cost-set entropic --cost-radius 0.1", "--cost-set entropic needs eta"),
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
    let found =
        run(path, "evaluate study.toml --set tv --radius 0.2 --cost-set tv --cost-radius 0.1");
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(!found.out.contains("nobody moves"), "{}", found.out);
    let toml = STUDY.replacen("set = \"wasserstein\"", "set = \"tv\"", 1);
    std::fs::write(path.join("tv.toml"), toml).unwrap();
    let made = run(path, "report tv.toml --bootstrap 0 --out r.html");
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
