//! What rows are counted into: contexts, and entries that agree in everything.
//!
//! Counting takes at most half of the memory that a study may use; the other half is for what is made
//! of the counts. Beyond that, what was counted is written to a file that has no name, sorted, and
//! counting starts anew; in the end the files are merged. The counts and their order are the same
//! either way.

use super::combine::Pairs;
use super::row::RowFacts;
use super::spill::{Runs, ordered};
use super::tuples::Tuples;
use crate::read::Distinct;
use foldhash::fast::FixedState;
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
        [decision, u64::from(facts.cluster), facts.propensity.to_bits(), facts.unit.to_bits()]
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
        let weight: f64 = self.entries.iter().map(|e| e.facts.weight).sum();
        let rows: f64 = self.entries.iter().map(|e| e.facts.weight / e.facts.unit).sum();
        if weight > 0.0 { weight / rows } else { 1.0 }
    }

    /// The rows of each context.
    pub(super) fn rows_by_context(&self) -> Vec<f64> {
        let mut rows = vec![0.0; self.contexts];
        self.entries.iter().for_each(|e| rows[e.context as usize] += e.facts.weight);
        rows
    }
}

/// Counts in the making.
pub(super) struct Tally {
    /// Columns of codes, and of numbers.
    columns: (usize, usize),
    contexts: Tuples,
    /// Context and action, then that and the outcome.
    decisions: Pairs,
    results: Pairs,
    /// Where rows of one result differ: in propensity, what they weigh, or cluster.
    kinds: HashMap<(u32, u64, u64, u32), u32, FixedState>,
    /// A result, and what its rows have in common with the sum of their weights.
    entries: Vec<(u32, RowFacts)>,
    tells_apart: bool,
    /// Whether weights are whole numbers, whose sums do not depend on their order.
    whole: bool,
    memory: u64,
    runs: Option<Runs>,
}

impl Tally {
    /// Nothing counted yet, of so many columns of codes and of numbers; `memory` is all that there is.
    pub(super) fn new(
        columns: (usize, usize),
        tells_apart: bool,
        whole: bool,
        memory: u64,
    ) -> Self {
        Tally {
            columns,
            contexts: Tuples::new(columns.0, columns.1),
            decisions: Pairs::default(),
            results: Pairs::default(),
            kinds: HashMap::default(),
            entries: Vec::new(),
            tells_apart,
            whole,
            memory,
            runs: None,
        }
    }

    /// Adds a row; the number of its context.
    #[inline]
    pub(super) fn add(
        &mut self,
        (codes, numbers): (impl Iterator<Item = u32>, &[f64]),
        (action, outcome): (u32, u32),
        facts: RowFacts,
    ) -> u32 {
        let context = self.contexts.id(codes, numbers);
        let result = self.results.id(self.decisions.id(context, action), outcome);
        let next = self.entries.len();
        let entry = match self.tells_apart {
            // Sums of fractions depend on their order: after the first file rows are added one by
            // one, when the files are merged.
            _ if !self.whole && self.runs.is_some() => next,
            false => result as usize,
            true => {
                let (p, unit) = (facts.propensity.to_bits(), facts.unit.to_bits());
                let kind = (result, p, unit, facts.cluster);
                *self.kinds.entry(kind).or_insert(next as u32) as usize
            }
        };
        if entry == next {
            self.entries.push((result, RowFacts { weight: 0.0, ..facts }));
        }
        self.entries[entry].1.weight += facts.weight;
        context
    }

    /// Whether nothing was counted.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.runs.is_none()
    }

    /// Whether counting takes more than its share.
    pub(super) fn is_full(&self) -> bool {
        let kinds = self.kinds.capacity() * 32;
        let entries = self.entries.len() * size_of::<(u32, RowFacts)>();
        let pairs = self.decisions.bytes() + self.results.bytes();
        (self.contexts.bytes() + pairs + kinds + entries) as u64 > self.memory / 2
    }

    /// Writes what was counted to a file and starts anew.
    pub(super) fn spill(&mut self) -> Result<()> {
        let mut runs = self.runs.take().unwrap_or_else(|| Runs::new(self.columns));
        let empty = Tally::new(self.columns, self.tells_apart, self.whole, self.memory);
        runs.write(&std::mem::replace(self, empty).sorted())?;
        self.runs = Some(runs);
        Ok(())
    }

    /// Everything that was counted.
    pub(super) fn finish(mut self) -> Result<Counted> {
        let Some(mut runs) = self.runs.take() else { return Ok(self.sorted()) };
        let memory = self.memory;
        runs.write(&self.sorted())?;
        runs.merge(memory)
    }

    /// What is in memory, in order.
    fn sorted(self) -> Counted {
        let Tally { contexts, decisions, results, kinds, entries, .. } = self;
        drop(kinds);
        let count = contexts.len();
        let place = |&(result, facts): &(u32, RowFacts)| {
            let (decision, outcome) = results.pair(result);
            let (context, action) = decisions.pair(decision);
            Counts { context, action, outcome, facts }
        };
        let mut found: Vec<Counts> = entries.iter().map(place).collect();
        drop((entries, results, decisions));
        let (mut codes, mut numbers) = contexts.into_columns();
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_unstable_by(|&a, &b| {
            let (a, b) = (a as usize, b as usize);
            let by_code = codes.iter().map(|c| c[a].cmp(&c[b]));
            let mut both = by_code.chain(numbers.iter().map(|c| ordered(c[a]).cmp(&ordered(c[b]))));
            both.find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
        codes.iter_mut().for_each(|c| *c = order.iter().map(|&i| c[i as usize]).collect());
        numbers.iter_mut().for_each(|c| *c = order.iter().map(|&i| c[i as usize]).collect());
        let mut rank = vec![0; count];
        order.iter().enumerate().for_each(|(at, &old)| rank[old as usize] = at as u32);
        found.iter_mut().for_each(|e| e.context = rank[e.context as usize]);
        // Rows that were not added up stay in their order.
        found.sort_by_key(|e| (e.context, e.key()));
        Counted { contexts: count, codes, numbers, entries: found, place_of: rank }
    }
}
