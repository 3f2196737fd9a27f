//! What rows are counted into: contexts, and entries that agree in everything.
//!
//! Counting takes at most half of the memory that a study may use; the other half is for what is made
//! of the counts. Beyond that, what was counted is written to a file that has no name, sorted, and
//! counting starts anew; in the end the files are merged. The counts and their order are the same
//! either way. They are made in shards, each with the contexts that are its own, so that all cores count.

use super::row::RowFacts;
use super::spill::{Runs, ordered};
use crate::combine::{Pairs, Tuples};
use crate::read::Distinct;
use foldhash::fast::FixedState;
use rayon::prelude::*;
use seawall::ExactSum;
use seawall::Result;
use std::collections::HashMap;

/// Rows that agree in everything.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    pub(super) context: u32,
    pub(super) action: u32,
    pub(super) outcome: u32,
    pub(super) facts: RowFacts,
}

impl Counts {
    /// What tells entries of one context apart.
    pub(super) fn key(&self) -> [u64; 4] {
        let facts = &self.facts;
        let decision = u64::from(self.action) << 32 | u64::from(self.outcome);
        let whose = u64::from(facts.cluster) << 32 | u64::from(facts.group);
        [decision, whose, facts.propensity.to_bits(), facts.unit.to_bits()]
    }
}

/// Everything that was counted: contexts in order of their codes and then of their numbers, entries in
/// order of context, action and outcome, as they were numbered.
#[derive(Default)]
pub(super) struct Counted {
    pub(super) contexts: usize,
    /// For each column of codes, each context's.
    pub(super) codes: Vec<Vec<u32>>,
    /// For each column of numbers, each context's.
    pub(super) numbers: Vec<Vec<f64>>,
    pub(super) entries: Vec<Counts>,
    /// By the number that a context had while rows were counted, where it is now; empty after a merge.
    pub(super) place_of: Vec<u32>,
}

impl Counted {
    /// The actions' names in order, and the place of each code among them.
    pub(super) fn actions(&self, distinct: &Distinct) -> (Vec<String>, Vec<u32>) {
        let mut taken = vec![false; distinct.len()];
        self.entries.iter().for_each(|e| taken[e.action as usize] = true);
        let mut used: Vec<usize> = (0..taken.len()).filter(|&code| taken[code]).collect();
        // By number if they are numbers, else by text: not by where they happen to appear.
        let key =
            |code: usize| (distinct.number(code), distinct.text(code).cloned().unwrap_or_default());
        used.sort_by(|&a, &b| {
            let (a, b) = (key(a), key(b));
            let number = |x: Option<f64>| x.unwrap_or(f64::INFINITY);
            let none_last = a.0.is_none().cmp(&b.0.is_none());
            none_last.then(number(a.0).total_cmp(&number(b.0))).then(a.1.cmp(&b.1))
        });
        let mut place = vec![0; distinct.len()];
        used.iter().enumerate().for_each(|(at, &code)| place[code] = at as u32);
        (used.iter().map(|&code| key(code).1).collect(), place)
    }

    /// What a row weighs on average.
    pub(super) fn mean_unit(&self) -> f64 {
        let (mut weight, mut rows) = (ExactSum::ZERO, ExactSum::ZERO);
        for facts in self.entries.iter().map(|e| &e.facts) {
            weight.add_product(facts.units, facts.unit);
            rows.add(facts.units);
        }
        let (weight, rows) = (weight.value(), rows.value());
        if weight > 0.0 { weight / rows } else { 1.0 }
    }

    /// The rows of each context.
    pub(super) fn rows_by_context(&self) -> Vec<f64> {
        let mut rows = vec![0.0; self.contexts];
        // Those of one context are one after the other.
        for own in self.entries.chunk_by(|a, b| a.context == b.context) {
            let mut sum = ExactSum::ZERO;
            own.iter().for_each(|e| sum.add_product(e.facts.units, e.facts.unit));
            rows[own[0].context as usize] = sum.value();
        }
        rows
    }
}

/// An exact sum, rounded.
fn sum_of(sum: &ExactSum) -> Vec<f64> {
    vec![sum.value()]
}

/// An exact sum in parts, which files keep so that it is exact after a merge, too.
fn parts_of(sum: &ExactSum) -> Vec<f64> {
    sum.parts().collect()
}

/// How many parts counts are made in, whatever the threads: contexts are dealt to them by their hash.
pub(super) const SHARDS: usize = 16;

/// Counts in the making.
pub(super) struct Tally {
    /// Columns of codes, and of numbers.
    columns: (usize, usize),
    shards: Vec<Shard>,
    tells_apart: bool,
    /// Whether weights are parts of rows, whose sums depend on their order unless they are exact.
    fractional: bool,
    memory: u64,
    runs: Option<Runs>,
}

/// The counts of some contexts.
pub(super) struct Shard {
    contexts: Tuples,
    /// Context and action, then that and the outcome.
    decisions: Pairs,
    results: Pairs,
    /// Where rows of one result differ: in propensity, what they weigh, cluster, or group.
    kinds: HashMap<(u32, u64, u64, [u32; 2]), u32, FixedState>,
    /// A result, and what its rows have in common with the sum of their weights.
    entries: Vec<(u32, RowFacts)>,
    /// The weights of each entry where they are parts of rows, exactly; else empty.
    parts: Vec<ExactSum>,
    tells_apart: bool,
    fractional: bool,
}

impl Shard {
    fn new(columns: (usize, usize), tells_apart: bool, fractional: bool) -> Self {
        Shard {
            contexts: Tuples::new(columns.0, columns.1),
            decisions: Pairs::default(),
            results: Pairs::default(),
            kinds: HashMap::default(),
            entries: Vec::new(),
            parts: Vec::new(),
            tells_apart,
            fractional,
        }
    }

    /// Adds a row that is there so many times; the number of its context.
    #[inline]
    pub(super) fn add(
        &mut self,
        (codes, numbers): (impl Iterator<Item = u32>, &[f64]),
        (action, outcome): (u32, u32),
        facts: RowFacts,
        times: f64,
    ) -> u32 {
        let context = self.contexts.id(codes, numbers);
        let result = self.results.id(self.decisions.id(context, action), outcome);
        let next = self.entries.len();
        let entry = if self.tells_apart {
            let (p, unit) = (facts.propensity.to_bits(), facts.unit.to_bits());
            let kind = (result, p, unit, [facts.cluster, facts.group]);
            *self.kinds.entry(kind).or_insert(next as u32) as usize
        } else {
            result as usize
        };
        if entry == next {
            self.entries.push((result, RowFacts { units: 0.0, ..facts }));
            self.parts.extend(self.fractional.then_some(ExactSum::ZERO));
        }
        match self.parts.get_mut(entry) {
            Some(parts) => parts.add_product(times, facts.units),
            None => self.entries[entry].1.units += times * facts.units,
        }
        context
    }

    fn bytes(&self) -> usize {
        let kinds = self.kinds.capacity() * 40;
        let entries = self.entries.len() * size_of::<(u32, RowFacts)>();
        let parts = self.parts.len() * ExactSum::BYTES;
        self.contexts.bytes()
            + self.decisions.bytes()
            + self.results.bytes()
            + kinds
            + entries
            + parts
    }

    /// What was counted here, after what others did; `units` as in [`Tally::sorted`].
    fn join(self, all: &mut Counted, units: fn(&ExactSum) -> Vec<f64>) {
        let Shard { contexts, decisions, results, kinds, entries, parts, .. } = self;
        drop(kinds);
        let before = all.contexts as u32;
        let place = |&(result, facts): &(u32, RowFacts)| {
            let (decision, outcome) = results.pair(result);
            let (context, action) = decisions.pair(decision);
            Counts { context: before + context, action, outcome, facts }
        };
        if parts.is_empty() {
            all.entries.extend(entries.iter().map(place))
        } else {
            for ((result, facts), parts) in entries.iter().zip(&parts) {
                let with = |units: f64| place(&(*result, RowFacts { units, ..*facts }));
                all.entries.extend(units(parts).into_iter().map(with));
            }
        }
        drop((entries, parts, results, decisions));
        all.contexts += contexts.len();
        let (codes, numbers) = contexts.into_columns();
        all.codes.iter_mut().zip(codes).for_each(|(all, own)| all.extend(own));
        all.numbers.iter_mut().zip(numbers).for_each(|(all, own)| all.extend(own));
    }
}

impl Tally {
    /// Nothing counted yet, of so many columns of codes and of numbers; `memory` is all that there is.
    pub(super) fn new(
        columns: (usize, usize),
        tells_apart: bool,
        fractional: bool,
        memory: u64,
        shards: usize,
    ) -> Self {
        let shard = |_| Shard::new(columns, tells_apart, fractional);
        let shards = (0..shards).map(shard).collect();
        Tally { columns, shards, tells_apart, fractional, memory, runs: None }
    }

    /// How many shards there are.
    pub(super) fn shards(&self) -> usize {
        self.shards.len()
    }

    /// Each shard, to count its own contexts.
    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut Shard> {
        self.shards.iter_mut()
    }

    /// Whether nothing was counted.
    pub(super) fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| shard.entries.is_empty()) && self.runs.is_none()
    }

    /// Whether counting takes more than its share.
    pub(super) fn is_full(&self) -> bool {
        self.shards.iter().map(Shard::bytes).sum::<usize>() as u64 > self.memory / 2
    }

    /// Writes what was counted to a file and starts anew.
    pub(super) fn spill(&mut self) -> Result<()> {
        let mut runs = self.runs.take().unwrap_or_else(|| Runs::new(self.columns));
        let settings = (self.columns, self.tells_apart, self.fractional, self.memory);
        let empty = Tally::new(settings.0, settings.1, settings.2, settings.3, self.shards());
        runs.write(&std::mem::replace(self, empty).sorted(parts_of))?;
        self.runs = Some(runs);
        Ok(())
    }

    /// Everything that was counted.
    pub(super) fn finish(mut self) -> Result<Counted> {
        let Some(mut runs) = self.runs.take() else { return Ok(self.sorted(sum_of)) };
        let memory = self.memory;
        runs.write(&self.sorted(parts_of))?;
        runs.merge(memory)
    }

    /// What is in memory, in order; `units` says what becomes of weights that are parts of rows, an
    /// entry for each.
    fn sorted(self, units: fn(&ExactSum) -> Vec<f64>) -> Counted {
        let (codes, numbers) = self.columns;
        let mut all = Counted {
            codes: vec![Vec::new(); codes],
            numbers: vec![Vec::new(); numbers],
            ..Counted::default()
        };
        self.shards.into_iter().for_each(|shard| shard.join(&mut all, units));
        let Counted { contexts: count, mut codes, mut numbers, entries: mut found, .. } = all;
        let mut order: Vec<u32> = (0..count as u32).collect();
        // No two contexts are equal.
        order.par_sort_unstable_by(|&a, &b| {
            let (a, b) = (a as usize, b as usize);
            let by_code = codes.iter().map(|c| c[a].cmp(&c[b]));
            let mut both = by_code.chain(numbers.iter().map(|c| ordered(c[a]).cmp(&ordered(c[b]))));
            both.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
        // One column after the other: a second copy of all would take too much memory.
        codes.iter_mut().for_each(|c| *c = order.par_iter().map(|&i| c[i as usize]).collect());
        numbers.iter_mut().for_each(|c| *c = order.par_iter().map(|&i| c[i as usize]).collect());
        let mut rank = vec![0; count];
        order.iter().enumerate().for_each(|(at, &old)| rank[old as usize] = at as u32);
        found.iter_mut().for_each(|e| e.context = rank[e.context as usize]);
        if self.fractional {
            // The parts of an entry are equal in all but their size.
            found.sort_by_key(|e| (e.context, e.key()));
        } else {
            found.par_sort_unstable_by_key(|e| (e.context, e.key()));
        }
        Counted { contexts: count, codes, numbers, entries: found, place_of: rank }
    }
}
