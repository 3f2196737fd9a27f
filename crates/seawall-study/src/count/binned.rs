//! A column cut into bins: what is counted is the bin and not the number, so that memory grows with
//! cells however finely the numbers were taken.

use crate::read::{Bins, Distinct};
use crate::study::Context;
use foldhash::fast::FixedState;
use std::collections::HashMap;

impl Context {
    /// The bins that it is cut into, if it is.
    pub(crate) fn bins(&self) -> Option<Bins> {
        self.bin.map(|width| Bins::new(width, self.range))
    }
}

/// The bins of a column, numbered as they appear.
pub(super) struct BinnedColumn {
    pub(super) bins: Bins,
    /// By code of the column: the code of its bin.
    pub(super) code_of: Vec<u32>,
    /// By code of the bin: which it is; None for the missing value.
    seen: Vec<Option<f64>>,
    codes: HashMap<Option<u64>, u32, FixedState>,
}

impl BinnedColumn {
    pub(super) fn new(bins: Bins) -> Self {
        BinnedColumn { bins, code_of: Vec::new(), seen: Vec::new(), codes: HashMap::default() }
    }

    /// Works out the values that are new in a batch.
    pub(super) fn prepare(&mut self, column: &Distinct) {
        for value in self.code_of.len()..column.len() {
            let bin = column.number(value).map(|x| self.bins.bin(x, column.decimal(value)) + 0.0);
            let next = self.seen.len() as u32;
            let code = *self.codes.entry(bin.map(f64::to_bits)).or_insert(next);
            if code == next {
                self.seen.push(bin);
            }
            self.code_of.push(code);
        }
    }

    /// How many bins were seen, the missing value among them.
    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }

    /// The bin of a code.
    pub(super) fn bin(&self, code: u32) -> Option<f64> {
        self.seen[code as usize]
    }
}
