//! Counts that do not fit into memory: sorted, in files without a name, merged in the end.
//!
//! A file is made in the system's folder for such files (`TMPDIR`) and is gone when it is closed, whatever
//! ends the program. A record is a context (a word per column), what tells its entries apart, and a
//! weight in units; files are in order of all but that, so a merge sees equal keys one after the other.
//! Parts of rows are exact sums: several records of one key, which the merge rounds once.

use super::row::RowFacts;
use super::tally::{Counted, Counts};
use crate::memory::{rounded_up, size};
use seawall::ExactSum;
use seawall::{Error, Result};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, Write};

/// Words of a key beside the context's.
const KEY: usize = 4;

/// A number as a word whose order is the number's: NaN is last.
pub(super) fn ordered(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The number of such a word.
fn number(word: u64) -> f64 {
    f64::from_bits(if word >> 63 == 1 { word & !(1 << 63) } else { !word })
}

/// Files of sorted counts.
pub(super) struct Runs {
    codes: usize,
    numbers: usize,
    files: Vec<File>,
}

/// An error about such a file.
fn broken(error: std::io::Error) -> Error {
    let folder = std::env::temp_dir();
    Error::input(format!(
        "{}: counts that --memory leaves no room for could not be kept there: {error}; set TMPDIR to \
         another folder, or raise --memory",
        folder.display()
    ))
}

impl Runs {
    /// None yet, of so many columns of codes and of numbers.
    pub(super) fn new((codes, numbers): (usize, usize)) -> Self {
        Runs { codes, numbers, files: Vec::new() }
    }

    /// Writes counts to a file of their own.
    pub(super) fn write(&mut self, counted: &Counted) -> Result<()> {
        let write = || -> std::io::Result<File> {
            let mut file = BufWriter::with_capacity(1 << 16, tempfile::tempfile()?);
            for entry in &counted.entries {
                let at = entry.context as usize;
                let codes = counted.codes.iter().map(|c| u64::from(c[at]));
                let words = codes.chain(counted.numbers.iter().map(|c| ordered(c[at])));
                for word in words.chain(entry.key()).chain([entry.facts.units.to_bits()]) {
                    file.write_all(&word.to_le_bytes())?;
                }
            }
            let mut file = file.into_inner().map_err(|e| e.into_error())?;
            file.rewind()?;
            Ok(file)
        };
        self.files.push(write().map_err(broken)?);
        Ok(())
    }

    /// All counts, added up; refused if they take more than half of `memory`.
    pub(super) fn merge(self, memory: u64) -> Result<Counted> {
        let width = self.codes + self.numbers + KEY;
        let open = |file: File| Run { file: BufReader::with_capacity(1 << 16, file), width };
        let mut runs: Vec<Run> = self.files.into_iter().map(open).collect();
        // The least key first.
        let mut heads = BinaryHeap::new();
        for (number, run) in runs.iter_mut().enumerate() {
            let head = run.next(Vec::new()).map_err(broken)?;
            heads.extend(head.map(|(key, units)| Reverse((key, number, units))));
        }
        let mut merged = Merged::new(self.codes, self.numbers, memory);
        let mut last: Vec<u64> = Vec::new();
        while let Some(Reverse((key, number, units))) = heads.pop() {
            merged.add(&key, &last, f64::from_bits(units));
            let spare = std::mem::replace(&mut last, key);
            let head = runs[number].next(spare).map_err(broken)?;
            heads.extend(head.map(|(key, units)| Reverse((key, number, units))));
        }
        merged.finish()
    }
}

/// A file being read.
struct Run {
    file: BufReader<File>,
    /// Words of a key.
    width: usize,
}

impl Run {
    /// The next record, its key in place of the words given, and its units' bits.
    fn next(&mut self, mut key: Vec<u64>) -> std::io::Result<Option<(Vec<u64>, u64)>> {
        key.clear();
        if self.file.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut word = || -> std::io::Result<u64> {
            let mut bytes = [0; 8];
            self.file.read_exact(&mut bytes)?;
            Ok(u64::from_le_bytes(bytes))
        };
        for _ in 0..self.width {
            key.push(word()?);
        }
        Ok(Some((key, word()?)))
    }
}

/// Counts being added up. Once they are too many they are only counted, to say how many there are.
struct Merged {
    codes: usize,
    columns: usize,
    memory: u64,
    contexts: usize,
    entries: usize,
    /// The units of the last entry.
    sum: ExactSum,
    found: Counted,
}

impl Merged {
    fn new(codes: usize, numbers: usize, memory: u64) -> Self {
        let found = Counted {
            codes: vec![Vec::new(); codes],
            numbers: vec![Vec::new(); numbers],
            ..Counted::default()
        };
        Merged {
            codes,
            columns: codes + numbers,
            memory,
            contexts: 0,
            entries: 0,
            sum: ExactSum::ZERO,
            found,
        }
    }

    /// What the counts take in memory.
    fn bytes(&self) -> u64 {
        let context = 4 * self.found.codes.len() + 8 * self.found.numbers.len();
        (self.contexts * context + self.entries * size_of::<Counts>()) as u64
    }

    fn fits(&self) -> bool {
        self.bytes() <= self.memory / 2
    }

    /// Takes in a record, given the key of the one before it.
    fn add(&mut self, key: &[u64], last: &[u64], units: f64) {
        let is_new = last.is_empty() || key[..self.columns] != last[..self.columns];
        if is_new {
            self.contexts += 1;
        }
        if !is_new && key == last {
            self.sum.add(units);
            return;
        }
        self.sum_up();
        self.sum.add(units);
        self.entries += 1;
        if !self.fits() {
            self.found = Counted {
                codes: vec![Vec::new(); self.codes],
                numbers: vec![Vec::new(); self.columns - self.codes],
                ..Counted::default()
            };
            return;
        }
        if is_new {
            let (codes, numbers) = key[..self.columns].split_at(self.codes);
            self.found.codes.iter_mut().zip(codes).for_each(|(c, word)| c.push(*word as u32));
            self.found.numbers.iter_mut().zip(numbers).for_each(|(c, word)| c.push(number(*word)));
        }
        let [decision, whose, propensity, unit] = [0, 1, 2, 3].map(|k| key[self.columns + k]);
        self.found.entries.push(Counts {
            context: self.contexts as u32 - 1,
            action: (decision >> 32) as u32,
            outcome: decision as u32,
            facts: RowFacts {
                propensity: f64::from_bits(propensity),
                units: 0.0,
                unit: f64::from_bits(unit),
                cluster: (whose >> 32) as u32,
                group: whose as u32,
            },
        });
    }

    /// Rounds the units of the last entry; those of what there is no room for do not matter.
    fn sum_up(&mut self) {
        let sum = std::mem::take(&mut self.sum);
        self.found.entries.last_mut().into_iter().for_each(|e| e.facts.units = sum.value());
    }

    fn finish(mut self) -> Result<Counted> {
        self.sum_up();
        if self.fits() {
            return Ok(Counted { contexts: self.contexts, ..self.found });
        }
        Err(Error::input(format!(
            "{} different contexts of {} columns, in {} combinations with actions and outcomes, take {}: \
             more than half of the {} that --memory allows, the other half being for what is made of them. \
             Cut numeric columns into bins (bin = ...), leave columns out, or say --memory {}",
            self.contexts,
            self.columns,
            self.entries,
            size(self.bytes()),
            size(self.memory),
            rounded_up(2 * self.bytes())
        )))
    }
}
