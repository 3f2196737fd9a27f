//! How many random cases a test takes, and which: one rule for all tests, those of the program too.
//!
//! `SEAWALL_CASES` is the share of each test's full number: 1 takes all, and a fifth is taken where it is not
//! set. `SEAWALL_SEED` (0 where it is not set) says which cases; a test that fails prints both.

#![allow(clippy::panic)]

use std::str::FromStr;

const SHARE: f64 = 0.2;

fn set<T: FromStr>(name: &str, default: T) -> T {
    let Ok(text) = std::env::var(name) else { return default };
    text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}; expected a number"))
}

/// Which cases.
pub fn seed() -> u64 {
    set("SEAWALL_SEED", 0)
}

/// Whether every case is taken.
pub fn all() -> bool {
    set("SEAWALL_CASES", SHARE) >= 1.0
}

/// So many of a full number of cases, one at least.
pub fn count(full: usize) -> usize {
    let share: f64 = set("SEAWALL_CASES", SHARE);
    assert!(
        share > 0.0 && share <= 1.0,
        "SEAWALL_CASES is {share}; expected above 0 and at most 1"
    );
    ((full as f64 * share).ceil() as usize).max(1)
}

/// How many of the cases taken are of a kind at least, where so many are of a full number: half of their part,
/// as chance has a hand in a few.
pub fn enough(full: usize) -> usize {
    if all() { full } else { count(2 * full) / 4 }
}

/// The cases of a test, each a number that it is drawn by. Which one was under way is printed where it fails.
pub struct Cases {
    full: usize,
    taken: usize,
    under_way: Option<u64>,
}

/// So many cases in full.
pub fn cases(full: usize) -> Cases {
    Cases { full, taken: 0, under_way: None }
}

impl Iterator for Cases {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        // Where no seed is set the cases are 0, 1, 2, …
        let first = seed().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.under_way =
            (self.taken < count(self.full)).then(|| first.wrapping_add(self.taken as u64));
        self.taken += 1;
        self.under_way
    }
}

impl Drop for Cases {
    fn drop(&mut self) {
        if let Some(case) = self.under_way.filter(|_| std::thread::panicking()) {
            let (at, full, seed) = (self.taken, self.full, seed());
            eprintln!(
                "case {at} of {full} ({case}): SEAWALL_SEED={seed} SEAWALL_CASES={}",
                (at as f64 / full as f64).min(1.0)
            );
        }
    }
}
