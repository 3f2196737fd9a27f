//! Numbers for combinations of codes, as they appear.

use foldhash::fast::FixedState;
use std::collections::HashMap;

/// A table of this many entries is the largest that is kept dense; every shard of a count has its own.
const DENSE: usize = 1 << 18;
/// No number yet.
const NONE: u32 = u32::MAX;

/// Numbers pairs as they appear: a dense table while it is small, a hash table after that.
#[derive(Default)]
pub(crate) struct Pairs {
    pairs: Vec<(u32, u32)>,
    /// `[first · width + second]`; empty once the hash table has taken over.
    table: Vec<u32>,
    width: usize,
    places: HashMap<(u32, u32), u32, FixedState>,
}

impl Pairs {
    #[inline]
    pub(crate) fn id(&mut self, first: u32, second: u32) -> u32 {
        let at = first as usize * self.width + second as usize;
        if (second as usize) < self.width
            && let Some(&number) = self.table.get(at)
            && number != NONE
        {
            return number;
        }
        self.look_up(first, second)
    }

    /// A pair that the dense table does not have.
    #[cold]
    fn look_up(&mut self, first: u32, second: u32) -> u32 {
        let next = self.pairs.len() as u32;
        if !self.places.is_empty() {
            return *self.places.entry((first, second)).or_insert_with(|| {
                self.pairs.push((first, second));
                next
            });
        }
        self.pairs.push((first, second));
        let width = self.width.max((second as usize + 1).next_power_of_two());
        let height = (self.table.len() / self.width.max(1)).max(first as usize + 1);
        if width * height > DENSE {
            let numbered = self.pairs.iter().enumerate();
            self.places = numbered.map(|(number, &pair)| (pair, number as u32)).collect();
            (self.table, self.width) = (Vec::new(), 0);
            return next;
        }
        if width > self.width {
            self.width = width;
            self.table = vec![NONE; width * height.next_power_of_two()];
            for (number, &(a, b)) in self.pairs.iter().enumerate() {
                self.table[a as usize * width + b as usize] = number as u32;
            }
        } else if width * height > self.table.len() {
            self.table.resize(width * height.next_power_of_two(), NONE);
        }
        self.table[first as usize * width + second as usize] = next;
        next
    }

    /// The pair of a number.
    pub(crate) fn pair(&self, number: u32) -> (u32, u32) {
        self.pairs[number as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        // An entry of a hash table takes a byte beside itself, and a table is half full or more.
        self.pairs.len() * 8 + self.table.len() * 4 + self.places.capacity() * 14
    }
}

/// Numbers combinations of codes as they appear, one pair after the other.
pub struct Combinations {
    chain: Vec<Pairs>,
}

impl Combinations {
    /// None yet, of so many columns.
    pub fn new(columns: usize) -> Self {
        Combinations { chain: (0..columns).map(|_| Pairs::default()).collect() }
    }

    /// The number of a combination.
    #[inline]
    pub fn id(&mut self, codes: impl Iterator<Item = u32>) -> u32 {
        let pairs = self.chain.iter_mut().zip(codes);
        pairs.fold(0, |so_far, (pairs, code)| pairs.id(so_far, code))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.chain.last().map_or(0, Pairs::len)
    }

    /// The codes of a combination.
    pub fn codes(&self, mut number: u32) -> Vec<u32> {
        let mut codes = vec![0; self.chain.len()];
        for (code, pairs) in codes.iter_mut().zip(&self.chain).rev() {
            (number, *code) = pairs.pair(number);
        }
        codes
    }

    /// The codes of some combinations, by column.
    pub(crate) fn columns(&self, mut numbers: Vec<u32>) -> Vec<Vec<u32>> {
        let mut columns = vec![Vec::new(); self.chain.len()];
        for (column, pairs) in columns.iter_mut().zip(&self.chain).rev() {
            column.reserve_exact(numbers.len());
            for number in &mut numbers {
                let (before, code) = pairs.pair(*number);
                column.push(code);
                *number = before;
            }
        }
        columns
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.chain.iter().map(Pairs::bytes).sum()
    }

    /// The codes that one column has in any combination, in order.
    pub fn used(&self, column: usize) -> Vec<u32> {
        let mut used: Vec<u32> = self.chain[column].pairs.iter().map(|p| p.1).collect();
        used.sort_unstable();
        used.dedup();
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_hashed_pairs_agree_with_a_plain_map() {
        let (mut pairs, mut plain) = (Pairs::default(), HashMap::new());
        let mut state = 1u64;
        for step in 0..200_000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Small at first, then beyond what a dense table holds.
            let range = if step < 100_000 { 60 } else { 9_000 };
            let (a, b) = ((state >> 33) as u32 % range, (state >> 13) as u32 % range);
            let next = plain.len() as u32;
            let expected = *plain.entry((a, b)).or_insert(next);
            assert_eq!(pairs.id(a, b), expected);
            assert_eq!(pairs.pair(expected), (a, b));
        }
        assert!(!pairs.places.is_empty() && pairs.len() == plain.len());
    }
}
