//! Rows dealt to folds and halves: at random, the same way for a seed, clusters whole.

use super::{Entry, Log, clusters_of};
use crate::error::{Error, Field, Result};
use crate::kernel::random::Random;
use crate::space::{Space, Value};
use std::borrow::Cow;
use std::collections::HashMap;

/// The seed by which rows are dealt to folds.
pub(crate) const FOLD_SEED: u64 = 0x05EA_0A11;

/// A smaller part of an entry than this is rounding.
const CRUMB: f64 = 1e-9;
/// Equal rows beyond this are dealt in bulk.
const MANY: f64 = 4096.0;

impl Log {
    /// Deals the rows to folds of about equal size at random, the same way every time; clusters
    /// whole. What is left of a fractional weight goes to one fold whole.
    ///
    /// At random, and not in the log's order: that order sorts by outcome, and folds that agree
    /// in their outcomes would make every model look better than it is. Which rows go together
    /// depends on what the rows hold, not on the order of actions or columns.
    pub fn folds(&self, count: usize) -> Result<Folds<'_>> {
        self.folds_of(count, FOLD_SEED)
    }

    /// The same, dealt by another seed.
    pub fn folds_of(&self, count: usize, seed: u64) -> Result<Folds<'_>> {
        self.deal(count, seed, || Cow::Borrowed(self.dealing_order()))
    }

    /// Two halves whose populations on some of the contexts' columns depend on the seed and on these columns
    /// alone.
    pub fn halves_on(&self, features: &[usize], seed: u64) -> Result<Folds<'_>> {
        self.deal(2, seed, || {
            let contexts = self.entries.iter().map(|e| e.context);
            let keys = point_keys(&self.contexts, features.iter().copied(), contexts);
            let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
            order.sort_by_key(|&at| keys[&self.entries[at as usize].context]);
            Cow::Owned(order)
        })
    }

    /// Deals the rows, one by one in some order or by clusters.
    fn deal<'o>(
        &'o self,
        count: usize,
        seed: u64,
        order: impl FnOnce() -> Cow<'o, [u32]>,
    ) -> Result<Folds<'o>> {
        if count < 2 {
            return Err(Error::field(Field::Folds, format!("is {count}; expected at least 2")));
        }
        let (most, of) = match self.clusters {
            Some(clusters) => (clusters as f64, "clusters"),
            None => (self.rows, "rows"),
        };
        if most < count as f64 {
            let what = format!("is {count}, but the log has {most} {of}");
            return Err(Error::field(Field::Folds, what));
        }
        let mut random = Random::new(seed, count as u64);
        let dealt = match clusters_of(&self.entries) {
            Some(clusters) => self.dealt_by_cluster(count, clusters, &mut random),
            None => self.dealt_by_row(count, &order(), &mut random),
        };
        Ok(Folds { log: self, count, dealt })
    }

    /// Sample split number `split` of a seed: the rows dealt to two halves.
    pub fn split(&self, seed: u64, split: usize) -> Result<Folds<'_>> {
        self.folds_of(2, FOLD_SEED.wrapping_add(seed).wrapping_add(((split + 1) as u64) << 40))
    }

    /// `[entry · count + fold]`: each row to a fold.
    fn dealt_by_row(&self, count: usize, order: &[u32], random: &mut Random) -> Vec<f64> {
        // How much each fold still lacks: what is dealt next goes to each in proportion.
        let mut lacking = vec![self.total / count as f64; count];
        let mut dealt = vec![0.0; self.entries.len() * count];
        for &at in order {
            let entry = &self.entries[at as usize];
            let dealt = &mut dealt[at as usize * count..][..count];
            if entry.rows() > MANY {
                share_out(entry, &mut lacking, dealt, random);
                continue;
            }
            // Whole rows one by one, and then what is left of one; a crumb of rounding is none.
            let rows = entry.rows();
            let whole = if (rows - rows.round()).abs() < CRUMB * rows {
                rows.round()
            } else {
                rows.floor()
            };
            let rest = (rows - whole).max(0.0);
            let parts =
                (0..whole as usize).map(|_| 1.0).chain((rest > CRUMB * rows).then_some(rest));
            let mut in_fold = vec![0.0; count];
            for part in parts {
                let fold = drawn(&lacking, random.unit());
                in_fold[fold] += part;
                lacking[fold] = (lacking[fold] - part * entry.unit).max(0.0);
            }
            // An entry that is in one fold alone is there whole.
            let alone = in_fold.iter().filter(|n| **n > 0.0).count() == 1;
            for (dealt, rows) in dealt.iter_mut().zip(&in_fold).filter(|(_, rows)| **rows > 0.0) {
                *dealt = if alone { entry.weight } else { rows * entry.unit };
            }
        }
        dealt
    }

    /// The entries in an order that depends on what their rows hold and on nothing else: not on the
    /// order of the actions or columns in a study, nor on the file's.
    pub(crate) fn dealing_order(&self) -> &[u32] {
        self.dealing.get_or_init(|| {
            let keys: Vec<u64> = {
                let all = |space: &Space| 0..space.names().len();
                let contexts = self.entries.iter().map(|e| e.context);
                let contexts = point_keys(&self.contexts, all(&self.contexts), contexts);
                let outcomes = self.entries.iter().map(|e| e.outcome);
                let outcomes = point_keys(&self.outcomes, all(&self.outcomes), outcomes);
                let actions: Vec<u64> = self.actions.iter().map(|a| text_key(a)).collect();
                let key = |e: &Entry| {
                    let action = actions[e.action as usize];
                    let part = contexts[&e.context] ^ mixed(action).rotate_left(17);
                    mixed(part.wrapping_add(mixed(outcomes[&e.outcome])))
                };
                self.entries.iter().map(key).collect()
            };
            let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
            // Entries that differ in what has no key (a propensity, a weight) stay in the log's order.
            order.sort_by_key(|&at| keys[at as usize]);
            order.into()
        })
    }

    /// The same by whole clusters: in random order, each to the fold that has least.
    fn dealt_by_cluster(
        &self,
        count: usize,
        mut clusters: Vec<u32>,
        random: &mut Random,
    ) -> Vec<f64> {
        let mut weights: HashMap<u32, f64> = HashMap::new();
        self.entries.iter().for_each(|e| *weights.entry(e.cluster).or_default() += e.weight);
        for last in (1..clusters.len()).rev() {
            clusters.swap(last, random.below(last + 1));
        }
        let mut has = vec![0.0f64; count];
        let mut fold_of: HashMap<u32, usize> = HashMap::new();
        for (at, cluster) in clusters.iter().enumerate() {
            let least = (0..count).min_by(|a, b| has[*a].total_cmp(&has[*b])).unwrap_or(0);
            // The first ones in turn, so that no fold is left empty by clusters of no weight.
            let fold = if at < count { at } else { least };
            has[fold] += weights[cluster];
            fold_of.insert(*cluster, fold);
        }
        let mut dealt = vec![0.0; self.entries.len() * count];
        for (entry, dealt) in self.entries.iter().zip(dealt.chunks_mut(count)) {
            dealt[fold_of[&entry.cluster]] = entry.weight;
        }
        dealt
    }
}

/// A log whose rows were dealt to folds.
#[derive(Clone, Debug)]
pub struct Folds<'l> {
    log: &'l Log,
    count: usize,
    /// `[entry · count + fold]`.
    dealt: Vec<f64>,
}

impl Folds<'_> {
    /// How many folds there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How much of an entry's weight is in a fold.
    pub fn weight(&self, entry: usize, fold: usize) -> f64 {
        self.dealt[entry * self.count + fold]
    }

    /// The rows of one fold; an action may be without any.
    pub fn only(&self, fold: usize) -> Result<Log> {
        self.log.reweighted(|i, _| self.weight(i, fold))
    }

    /// The rows of all other folds; an action may be without any.
    pub fn without(&self, fold: usize) -> Result<Log> {
        self.log.reweighted(|i, e| match e.weight - self.weight(i, fold) {
            left if left > CRUMB * e.weight => left,
            _ => 0.0,
        })
    }
}

/// A key for each of some points: a sum over some columns of what they hold as it was recorded, so that neither
/// the order of columns, nor which other rows there are, nor a column in which all rows agree matters.
fn point_keys(
    space: &Space,
    features: impl Iterator<Item = usize>,
    points: impl Iterator<Item = u32>,
) -> HashMap<u32, u64> {
    let mut keys: HashMap<u32, u64> = points.map(|point| (point, 0)).collect();
    let names: Vec<&str> = space.names().collect();
    for k in features {
        let held: Vec<(u32, u64)> = keys
            .keys()
            .map(|&point| match space.value(point as usize, k) {
                Value::Number(number) => (point, (number + 0.0).to_bits()),
                Value::Level(label) => (point, text_key(label)),
                Value::Missing => (point, u64::MAX),
            })
            .collect();
        if held.windows(2).all(|pair| pair[0].1 == pair[1].1) {
            continue;
        }
        let column = text_key(names[k]);
        for (point, value) in held {
            let key = keys.entry(point).or_default();
            *key = key.wrapping_add(mixed(column ^ mixed(value)));
        }
    }
    keys
}

/// FNV-1a of a text.
fn text_key(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |key, byte| {
        (key ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// The finalizer of SplitMix64: equal only for equal inputs, and as if random.
fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The place that a number from 0 to 1 falls on, each as long as it is heavy.
fn drawn(weights: &[f64], unit: f64) -> usize {
    let mut left = unit * weights.iter().sum::<f64>();
    let falls = |weight: &f64| {
        left -= weight;
        left < 0.0
    };
    weights.iter().position(falls).unwrap_or(weights.len() - 1)
}

/// Deals many equal rows: binomial counts fold by fold, by their normal limit.
fn share_out(entry: &Entry, lacking: &mut [f64], dealt: &mut [f64], random: &mut Random) {
    let mut left = entry.rows();
    for fold in 0..lacking.len() {
        let all: f64 = lacking[fold..].iter().sum();
        let share = if all > 0.0 { lacking[fold] / all } else { 1.0 };
        let spread = (left * share * (1.0 - share)).max(0.0).sqrt();
        let last = fold + 1 == lacking.len();
        let drawn = if last { left } else { (left * share + spread * random.normal()).round() };
        let drawn = drawn.clamp(0.0, left);
        dealt[fold] += drawn * entry.unit;
        lacking[fold] = (lacking[fold] - drawn * entry.unit).max(0.0);
        left -= drawn;
    }
}
