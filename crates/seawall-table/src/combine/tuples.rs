//! Numbers for combinations of codes and numbers, as they appear.
//!
//! Kept column by column, which is how a space of points wants them, with a table of places beside:
//! a combination of `n` numbers takes `8 n` bytes and about 20 more.

use super::pairs::Combinations;
use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hasher};

/// An empty place of the table.
const NONE: u32 = u32::MAX;

/// Combinations of codes and numbers.
pub(crate) struct Tuples {
    codes: Combinations,
    /// For each combination, that of its codes.
    firsts: Vec<u32>,
    /// For each column of numbers, those of each combination.
    numbers: Vec<Vec<f64>>,
    /// A part of each combination's hash, so that the table grows without looking at them.
    hashes: Vec<u32>,
    /// Open addressing, its length a power of two.
    table: Vec<u32>,
    state: FixedState,
}

impl Tuples {
    /// Of so many columns of codes and of numbers.
    pub(crate) fn new(codes: usize, numbers: usize) -> Self {
        Tuples {
            codes: Combinations::new(codes),
            firsts: Vec::new(),
            numbers: vec![Vec::new(); numbers],
            hashes: Vec::new(),
            table: Vec::new(),
            state: FixedState::default(),
        }
    }

    /// The number of a combination. Numbers are the same if their bits are.
    #[inline]
    pub(crate) fn id(&mut self, codes: impl Iterator<Item = u32>, numbers: &[f64]) -> u32 {
        let first = self.codes.id(codes);
        if self.numbers.is_empty() { first } else { self.look_up(first, numbers) }
    }

    fn look_up(&mut self, first: u32, numbers: &[f64]) -> u32 {
        let mut hasher = self.state.build_hasher();
        hasher.write_u32(first);
        numbers.iter().for_each(|x| hasher.write_u64(x.to_bits()));
        let hash = (hasher.finish() >> 32) as u32;
        if self.firsts.len() * 2 >= self.table.len() {
            self.grow();
        }
        let mut at = hash as usize & (self.table.len() - 1);
        loop {
            match self.table[at] {
                NONE => break,
                found if self.hashes[found as usize] == hash && self.is(found, first, numbers) => {
                    return found;
                }
                _ => at = (at + 1) & (self.table.len() - 1),
            }
        }
        let next = self.firsts.len() as u32;
        self.table[at] = next;
        self.firsts.push(first);
        self.hashes.push(hash);
        self.numbers.iter_mut().zip(numbers).for_each(|(column, x)| column.push(*x));
        next
    }

    fn is(&self, number: u32, first: u32, numbers: &[f64]) -> bool {
        let at = number as usize;
        self.firsts[at] == first
            && self.numbers.iter().zip(numbers).all(|(c, x)| c[at].to_bits() == x.to_bits())
    }

    fn grow(&mut self) {
        let length = (self.table.len() * 2).max(1 << 10);
        self.table = Vec::new();
        self.table.resize(length, NONE);
        for (number, hash) in self.hashes.iter().enumerate() {
            let mut at = *hash as usize & (length - 1);
            while self.table[at] != NONE {
                at = (at + 1) & (length - 1);
            }
            self.table[at] = number as u32;
        }
    }

    pub(crate) fn len(&self) -> usize {
        if self.numbers.is_empty() { self.codes.count() } else { self.firsts.len() }
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        let own = self.firsts.len() * (8 + 8 * self.numbers.len()) + self.table.len() * 4;
        own + self.codes.bytes()
    }

    /// Every combination by column: the codes, and the numbers.
    pub(crate) fn into_columns(self) -> (Vec<Vec<u32>>, Vec<Vec<f64>>) {
        let Tuples { codes, firsts, numbers, .. } = self;
        let ids = if numbers.is_empty() { (0..codes.count() as u32).collect() } else { firsts };
        (codes.columns(ids), numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn combinations_agree_with_a_plain_map() {
        for (codes, numbers) in [(0, 2), (2, 1), (1, 0)] {
            let (mut tuples, mut plain) = (Tuples::new(codes, numbers), HashMap::new());
            let (mut state, mut kept) = (1u64, Vec::new());
            for _ in 0..50_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let part = |k: usize| (state >> (20 + 11 * k)) as u32 % 97;
                let own: Vec<u32> = (0..codes).map(part).collect();
                let x: Vec<f64> = (0..numbers).map(|k| f64::from(part(codes + k)) / 7.0).collect();
                let key = (own.clone(), x.iter().map(|x| x.to_bits()).collect::<Vec<u64>>());
                let next = plain.len() as u32;
                let expected = *plain.entry(key).or_insert(next);
                if expected == next {
                    kept.push((own.clone(), x.clone()));
                }
                assert_eq!(tuples.id(own.into_iter(), &x), expected);
            }
            assert_eq!(tuples.len(), plain.len());
            let (by_code, by_number) = tuples.into_columns();
            for (at, (own, x)) in kept.iter().enumerate() {
                assert!(by_code.iter().zip(own).all(|(c, code)| c[at] == *code));
                assert!(by_number.iter().zip(x).all(|(c, x)| c[at] == *x));
            }
        }
    }
}
