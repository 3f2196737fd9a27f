//! Which sets are compared: those asked for, else all whose value bounds the worst case and that need
//! nothing but the log.
//!
//! A parameter that a set cannot do without, and that nobody gave, is the first example of its table.

use super::LeftOutSet;
use seawall::{Result, Set};

/// The sets that are meant by the texts, each once.
pub(super) fn asked(texts: &[String]) -> Result<Vec<Set>> {
    let mut sets = Vec::new();
    for text in texts {
        let set = meant(text)?;
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    Ok(sets)
}

/// Every set that is compared where nobody says which, and the others with the reason.
pub(super) fn usual() -> Result<(Vec<Set>, Vec<LeftOutSet>)> {
    let (mut sets, mut left_out) = (Vec::new(), Vec::new());
    for name in Set::names() {
        let set = meant(name)?;
        let why = match () {
            () if set.is_smoothed() => "its value is smoothed, which alone is no bound",
            () if set.needs_known() => "it is about what is known of a target",
            () => {
                sets.push(set);
                continue;
            }
        };
        left_out.push(LeftOutSet { set: name.to_owned(), why: why.to_owned() });
    }
    Ok((sets, left_out))
}

/// The set of a text, with the table's examples for what it lacks.
fn meant(text: &str) -> Result<Set> {
    let (name, given) = text.split_once(':').unwrap_or((text, ""));
    let parts = given.split(',').filter(|part| !part.is_empty());
    let given: Option<Vec<(&str, String)>> = parts
        .map(|part| part.split_once('=').map(|(n, value)| (n.trim(), value.trim().to_owned())))
        .collect();
    match given {
        Some(given) => Set::example(name.trim(), &given),
        // Refused with how it is written.
        None => text.parse(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_a_set_lacks_comes_from_its_table() {
        let texts = ["entropic", "entropic:eta=100", "kl", "entropic:eta=7"].map(str::to_owned);
        let sets = asked(&texts).unwrap();
        let names: Vec<String> = sets.iter().map(Set::to_string).collect();
        assert_eq!(names, ["entropic:eta=100", "kl", "entropic:eta=7"]);
        assert!(
            asked(&["wassertein".to_owned()]).unwrap_err().to_string().contains("expected one of")
        );
        assert!(asked(&["kl:eta=2".to_owned()]).unwrap_err().to_string().contains("belongs to"));
    }

    #[test]
    fn every_set_is_compared_or_left_out_with_a_reason() {
        let (sets, left_out) = usual().unwrap();
        assert_eq!(sets.len() + left_out.len(), Set::names().len());
        let names: Vec<&str> = left_out.iter().map(|s| &*s.set).collect();
        assert!(names.contains(&"entropic") && names.contains(&"couplings"), "{names:?}");
        assert!(sets.iter().any(|s| s.name() == "wasserstein"));
        // None is there twice under two names.
        let twice = |k: usize| sets[..k].iter().any(|s| s.also() == sets[k].also());
        assert!(!(0..sets.len()).any(twice), "{sets:?}");
    }
}
