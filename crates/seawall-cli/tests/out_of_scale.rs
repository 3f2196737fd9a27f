//! Numbers as large and as small as there are, in every set's parameters and radius: an answer of numbers, or
//! one line and exit code 2.
#![allow(clippy::unwrap_used)]

use crate::common::{DATA, STUDY, folder, run};
use seawall::{Set, Takes};
use std::path::Path;

const NUMBERS: [&str; 7] = ["5e-324", "1e-300", "1e-20", "1.5", "1e20", "1e300", "1.7e308"];
const RADII: [&str; 6] = ["0", "1e-300", "1e-12", "0.1", "1e12", "1e300"];

/// What a run came to that it must not; None if all is well.
fn slip(there: &Path, args: &str) -> Option<String> {
    let found = run(there, args);
    let says = |what: &str| Some(format!("{args}: {what}, code {}: {}", found.code, found.err));
    let number = |word: &str| ["nan", "inf", "-inf"].contains(&word.to_lowercase().as_str());
    let words = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '-').any(number);
    match found.code {
        0 if words(&found.out) => says(&found.out),
        0 => None,
        2 if found.err.lines().count() != 1 => says("not one line"),
        2 if !found.err.starts_with("error: ") => says("no error"),
        2 if words(&found.err) => says("a number that is none"),
        2 => None,
        _ => says("neither an answer nor a refusal"),
    }
}

/// Every set with each of its numbers at every size, the others as the table has them.
fn sets() -> Vec<String> {
    let mut all = Vec::new();
    for name in Set::names() {
        if Set::example(name, &[]).unwrap().needs_known() {
            continue;
        }
        all.push(Set::example(name, &[]).unwrap().to_string());
        let numbers = Set::parameters_of(name).unwrap().iter();
        for parameter in numbers.filter(|p| !matches!(p.takes, Takes::Word(_))) {
            for number in NUMBERS {
                let given = [(parameter.name, number.to_owned())];
                // What a set cannot have at all is refused by the table: see `sets.rs`.
                if let Ok(set) = Set::example(name, &given) {
                    all.push(set.to_string());
                }
            }
        }
    }
    all
}

#[test]
fn no_number_is_too_large_or_too_small_for_a_line() {
    let there = folder(&[("s.toml", STUDY.as_bytes()), ("t.csv", DATA.as_bytes())]);
    let sets = sets();
    assert!(sets.len() > 50, "{sets:?}");
    let mut slips = Vec::new();
    for set in &sets {
        let radii = RADII.join(",");
        let evaluate = format!("evaluate s.toml --splits 0 --set {set}");
        // Together, and what is refused together one by one.
        slips.extend(slip(there.path(), &format!("{evaluate} --radius {radii}")));
        let alone = |radius: &&str| slip(there.path(), &format!("{evaluate} --radius {radius}"));
        slips.extend(RADII.iter().filter_map(alone));
        for radius in ["1e-300", "0.1", "1e300"] {
            let learn = format!("learn s.toml --no-honest --set {set} --radius {radius}");
            slips.extend(slip(there.path(), &format!("{learn} --policy softmax")));
        }
    }
    for set in ["wasserstein", "entropic:eta=100", "kl", "chi2", "tv", "cvar", "burg"] {
        for radius in RADII {
            let cost = format!("--outcome-set {set} --outcome-radius {radius}");
            slips.extend(slip(there.path(), &format!("evaluate s.toml --splits 0 {cost}")));
        }
    }
    let kinds = [
        ("softmax", "temperature"),
        ("softmax", "ridge"),
        ("groups:site", "tolerance"),
        ("groups:site --method bsgd --batch 5 --steps 20", "step"),
        ("groups:site --method bsgd", "delta"),
        ("tree:1", "least-share"),
    ];
    for ((policy, option), number) in kinds.iter().flat_map(|k| NUMBERS.map(|n| (k, n))) {
        let learn = format!("learn s.toml --no-honest --radius 0.1 --policy {policy}");
        slips.extend(slip(there.path(), &format!("{learn} --{option} {number}")));
    }
    assert!(slips.is_empty(), "{} slips:\n{}", slips.len(), slips.join("\n"));
}
