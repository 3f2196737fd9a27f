//! Whether two logs have the same rows: for a policy that remembers what it was learned on.

use super::{Entry, Log};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What tells the rows of a log from others. It notices other data, not someone who tampers with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// The same for the same rows however their columns are cut into levels: how many there are of each action and
    /// outcome.
    pub rows: String,
    /// The same only if contexts are, too: then the rows are split in the same way.
    pub entries: String,
}

impl Log {
    /// What tells its rows from others.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint { rows: self.rows_hash(), entries: self.entries_hash() }
    }

    fn rows_hash(&self) -> String {
        let mut sums: HashMap<(u32, u64), f64> = HashMap::new();
        for e in self.entries() {
            *sums.entry((e.action, self.value(e).to_bits())).or_default() += e.rows();
        }
        let of = |((action, value), rows): (&(u32, u64), &f64)| {
            // Sums of many weights may differ in their last digits by the order of rows.
            (self.actions()[*action as usize].as_str(), *value, (rows * 1e6).round() as u64)
        };
        let mut counts: Vec<(&str, u64, u64)> = sums.iter().map(of).collect();
        counts.sort_unstable();
        let mut hash = Hash::new();
        for (action, value, rows) in counts {
            hash.add(action.as_bytes());
            hash.add(&value.to_le_bytes());
            hash.add(&rows.to_le_bytes());
        }
        hash.text()
    }

    fn entries_hash(&self) -> String {
        let (mut hash, space) = (Hash::new(), self.contexts());
        space.names().for_each(|name| hash.add(name.as_bytes()));
        for e in self.entries() {
            let Entry { context, action, outcome, weight, cluster, .. } = *e;
            for k in 0..space.names().len() {
                hash.add(&space.code(context as usize, k).to_bits().to_le_bytes());
            }
            hash.add(&action.to_le_bytes());
            hash.add(&outcome.to_le_bytes());
            hash.add(&weight.to_bits().to_le_bytes());
            hash.add(&cluster.to_le_bytes());
        }
        hash.text()
    }
}

/// FNV-1a, 64 bits.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        let step = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3);
        self.0 = bytes.iter().fold(self.0, step);
    }

    fn text(self) -> String {
        format!("{:016x}", self.0)
    }
}
