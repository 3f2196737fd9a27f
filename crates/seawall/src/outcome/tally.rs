//! Rows and sums of values in whole numbers, so that which split is best does not hang on rounding.
//!
//! Values are counted in a unit of their own: `1/10^d`, times a power of two, such that every
//! value is the nearest float to a whole number of units, and weights in a power of two. Sums are
//! then exact in any order, equal splits are equal, and the first of them can win. Values that
//! have no such unit are rounded to 2⁻⁴⁰ of their range, weights to 2⁻⁴⁰ of their sum, and splits
//! whose gains agree to a relative 1e-9 (means: to 2⁻³⁰ of the range) count as equal.

use crate::log::{Entry, Log};
use std::cmp::Ordering;

/// Bits that whole values, and the sum of whole weights, may have.
const BITS: i32 = 40;
/// Powers of two, to either side, that are tried for the unit.
const SHIFTS: i32 = 20;
/// Decimal digits that are tried for the unit.
const DIGITS: i32 = 9;
/// Gains further apart than this share need no exact comparison.
const CLOSE: f64 = 1e-9;
/// Bits below which two means of rounded values are the same.
const COARSE: u32 = 10;

/// Whole rows, and their whole values' sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    rows: u64,
    sum: u128,
}

impl Tally {
    pub(super) fn add(&mut self, other: Tally) {
        self.rows += other.rows;
        self.sum += other.sum;
    }

    /// The rows as a number: they are few enough to be exact.
    pub(super) fn rows(self) -> f64 {
        self.rows as f64
    }

    /// The sum as a number.
    pub(super) fn sum(self) -> f64 {
        self.sum as f64
    }

    fn without(self, part: Tally) -> Tally {
        Tally { rows: self.rows - part.rows, sum: self.sum - part.sum }
    }
}

/// The units of one action's values and weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    /// Whether both are whole numbers of units.
    exact: bool,
    /// Whether weights are.
    whole_weights: bool,
    /// Values are moved by the least, multiplied by these, and rounded.
    least: f64,
    factors: (f64, f64),
    weight: f64,
}

impl Units {
    /// The units of some entries of a log, of which there is at least one.
    pub(super) fn new<'e>(log: &Log, entries: impl Iterator<Item = &'e Entry> + Clone) -> Self {
        let values = entries.clone().map(|e| log.value(e));
        let ends = |(low, high): (f64, f64), v: f64| (low.min(v), high.max(v));
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        // To [1, 2): the units found do not depend on a power of two.
        let normal = power_below(0.5 * high - 0.5 * low).map_or(1.0, |p| 0.5 / p);
        // Each outcome once, however many entries have it.
        let mut seen = vec![false; log.values().len()];
        entries.clone().for_each(|e| seen[e.outcome as usize] = true);
        let used = log.values().iter().zip(&seen).filter(|(_, seen)| **seen);
        let used: Vec<f64> = used.map(|(v, _)| v * normal).collect();
        let range = (low * normal, high * normal);
        let shifts = (0..=SHIFTS).flat_map(|s| [s, -s]);
        let tried = shifts.flat_map(|s| (0..=DIGITS).map(move |d| (f64::from(s).exp2(), d)));
        let mut tried = tried.map(|(shift, digits)| (normal * shift, 10f64.powi(digits), shift));
        let found = tried.find(|(_, ten, shift)| whole(&used, range, *shift, *ten));
        let weights = entries.map(|e| e.weight);
        let (unit, total) = (weight_unit(weights.clone()), weights.sum());
        let exact = found.filter(|_| unit.is_some()).map(|(shift, ten, _)| (shift, ten));
        let rounded = f64::from(BITS - 1).exp2();
        Units {
            exact: exact.is_some(),
            whole_weights: unit.is_some(),
            least: low,
            factors: exact.unwrap_or((normal, rounded)),
            weight: unit.unwrap_or(rounded / power_below(total).unwrap_or(1.0)),
        }
    }

    /// An entry's weight and value in whole numbers.
    pub(super) fn tally(&self, value: f64, weight: f64) -> Tally {
        let (shift, ten) = self.factors;
        let place = |v: f64| v * shift * ten;
        let value = if self.exact {
            // Each is rounded to its own whole number before they are taken apart.
            place(value).round() - place(self.least).round()
        } else {
            ((value * shift - self.least * shift) * ten).round()
        };
        let rows = (weight * self.weight).round() as u64;
        Tally { rows, sum: u128::from(rows) * value as u128 }
    }

    /// A weight in units, not rounded.
    pub(super) fn rows(&self, weight: f64) -> f64 {
        weight * self.weight
    }

    /// Whether every weight is a whole number of units: their sums are the same in any order.
    pub(super) fn weights_are_whole(&self) -> bool {
        self.whole_weights
    }

    /// The order of two means.
    pub(super) fn by_mean(&self, a: Tally, b: Tally) -> Ordering {
        if self.exact {
            return (a.sum * u128::from(b.rows)).cmp(&(b.sum * u128::from(a.rows)));
        }
        let coarse = |t: Tally| {
            let rows = u128::from(t.rows.max(1)) << COARSE;
            (t.sum + rows / 2) / rows
        };
        coarse(a).cmp(&coarse(b))
    }

    /// What splitting a part off a whole gains; None if a side is empty.
    pub(super) fn gain(&self, whole: Tally, left: Tally) -> Option<Gain> {
        let right = whole.without(left);
        if left.rows == 0 || right.rows == 0 {
            return None;
        }
        let across = u128::from(whole.rows) * left.sum;
        let root = across.abs_diff(u128::from(left.rows) * whole.sum);
        Some(Gain { root, sides: u128::from(left.rows) * u128::from(right.rows) })
    }

    /// Whether one gain is above another by more than what counts as equal.
    pub(super) fn above(&self, a: Gain, b: Gain) -> bool {
        let (x, y) = (a.height(), b.height());
        if (x - y).abs() > CLOSE * x.max(y) {
            return x > y;
        }
        self.exact && a.cross(b) > b.cross(a)
    }
}

/// `S_L²/n_L + S_R²/n_R − S²/n = (n S_L − n_L S)² / (n n_L n_R)`, times n: the square of `root`
/// over the product of the sides' rows. Gains of one node are in the order of these.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gain {
    root: u128,
    sides: u128,
}

impl Gain {
    /// The gain as a number.
    pub(super) fn height(self) -> f64 {
        let root = self.root as f64;
        root * root / self.sides as f64
    }

    /// The square of the root times the other's sides, digit by digit from the highest.
    fn cross(self, other: Gain) -> Vec<u64> {
        let root = digits(self.root);
        let mut product = product(&product(&root, &root), &digits(other.sides));
        product.resize(6, 0);
        product.reverse();
        product
    }
}

/// Two digits of 64 bits, the lowest first.
fn digits(x: u128) -> [u64; 2] {
    [x as u64, (x >> 64) as u64]
}

/// The product of two numbers given by their digits, the lowest first.
fn product(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut all = vec![0; a.len() + b.len()];
    for (i, &x) in a.iter().enumerate() {
        let mut carry = 0u128;
        for (j, &y) in b.iter().enumerate() {
            let sum = u128::from(x) * u128::from(y) + u128::from(all[i + j]) + carry;
            all[i + j] = sum as u64;
            carry = sum >> 64;
        }
        all[i + b.len()] = carry as u64;
    }
    all
}

/// The largest power of two that is at most a number; None if it is 0.
fn power_below(x: f64) -> Option<f64> {
    (x > 0.0).then(|| x.log2().floor().clamp(-1000.0, 1000.0).exp2())
}

/// Whether every value is the nearest float to a whole number of units, few enough between the
/// lowest and the highest.
fn whole(values: &[f64], (low, high): (f64, f64), shift: f64, ten: f64) -> bool {
    let place = |v: f64| (v * shift * ten).round();
    let exact = |&v: &f64| place(v) / ten == v * shift && place(v).abs() < 2f64.powi(53);
    place(high) - place(low) < f64::from(BITS).exp2() && values.iter().all(exact)
}

/// What makes every weight a whole number, and their sum not too large.
fn weight_unit(weights: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let total: f64 = weights.clone().sum();
    let units = (0..=SHIFTS).map(|s| f64::from(s).exp2());
    let mut units = units.filter(|unit| total * unit < f64::from(BITS).exp2());
    units.find(|unit| weights.clone().all(|w| (w * unit).fract() == 0.0))
}
