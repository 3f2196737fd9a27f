//! Very many small problems, each certificate checked from outside.
//!
//! The ordinary run takes some thousands; `scripts/fuzz --problems N` and `scripts/test --slow` the rest.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;
use crate::common::certificate::{Found, KINDS, radius_of, set_of, verify};
use crate::common::problem::{Random, case_of};
use rayon::prelude::*;
use seawall::EngineKind;

/// What became of the problems of one kind of set.
#[derive(Clone, Default)]
struct Tally {
    problems: usize,
    still: usize,
    worst: Found,
    wrong: Vec<String>,
}

impl Tally {
    fn with(mut self, other: &Tally) -> Self {
        self.problems += other.problems;
        self.still += other.still;
        self.worst.gap = self.worst.gap.max(other.worst.gap);
        self.worst.off = self.worst.off.max(other.worst.off);
        self.wrong.extend_from_slice(&other.wrong);
        self
    }
}

/// One problem: its kind of set, and what was found.
fn one(seed: u64) -> (usize, Tally) {
    let r = &mut Random(seed);
    let kind = (seed % KINDS as u64) as usize;
    let case = case_of(r);
    let set = set_of(kind, r);
    let radius = radius_of(set, &case, r);
    // A smoothed set has no tree.
    let engines = [EngineKind::Auto, EngineKind::Grid, EngineKind::Scan, EngineKind::Tree];
    let engine = engines[r.below(if kind == 1 { 3 } else { 4 })];
    let mut tally = Tally { problems: 1, still: usize::from(radius == 0.0), ..Tally::default() };
    match verify(set, &case, radius, engine) {
        Ok(found) => tally.worst = found,
        Err(what) => tally.wrong.push(format!("seed {seed}: {what}")),
    }
    (kind, tally)
}

/// Checks the problems of these seeds and prints what was found, set by set.
fn check(seeds: std::ops::Range<u64>) {
    let none = || vec![Tally::default(); KINDS];
    let tallies = seeds.into_par_iter().map(one).fold(none, |mut all, (kind, tally)| {
        all[kind] = std::mem::take(&mut all[kind]).with(&tally);
        all
    });
    let tallies =
        tallies.reduce(none, |a, b| a.into_iter().zip(&b).map(|(a, b)| a.with(b)).collect());
    println!(
        "set            problems  radius 0  wrong  largest gap  farthest from the obvious value"
    );
    for (kind, tally) in tallies.iter().enumerate() {
        let name = set_of(kind, &mut Random(0));
        println!(
            "{:14} {:8}  {:8}  {:5}  {:11.1e}  {:.1e}",
            name.name(),
            tally.problems,
            tally.still,
            tally.wrong.len(),
            tally.worst.gap,
            tally.worst.off
        );
    }
    let all = tallies.iter().fold(Tally::default(), |all, tally| all.with(tally));
    println!("{} problems, {} wrong", all.problems, all.wrong.len());
    assert!(all.wrong.is_empty(), "{:#?}", &all.wrong[..all.wrong.len().min(40)]);
}

#[test]
fn certificates_hold() {
    let first = common::cases::seed() << 32;
    check(first..first + common::cases::count(9_000) as u64);
}

#[test]
#[ignore = "half a minute; its table is in docs/measured.md: scripts/fuzz --problems 1000000"]
fn certificates_of_a_million_problems_hold() {
    let count = std::env::var("SEAWALL_PROBLEMS").map_or(1_000_000, |n| n.parse().unwrap());
    check(1_000_000..1_000_000 + count);
}
