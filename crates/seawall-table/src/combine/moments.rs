//! Mean and variance of the numbers in each bin of a context column, by recorded group.
//!
//! ```text
//! mean = m + Σ w (x − m)/Σ w,   variance = Σ w (x − m)²/Σ w − (mean − m)²,   m the middle of the bin
//! ```
//!
//! Costs go by the middle of a bin, means by what its rows hold. Sums are kept in two floats each and
//! moments are rounded to twelve digits, so that neither the order of rows nor how they are grouped in a
//! counted table shows.

use super::pairs::Pairs;
use crate::read::{Bins, Columns};
use seawall::{Entry, LevelMoments, Result, Space, two_sum};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Digits that moments are rounded to.
const DIGITS: i32 = 12;
/// What rounding may put a mean outside of its bin by, as a share of the width and of the number.
const ROUNDING: f64 = 1e-9;

/// Where the numbers of a binned column are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NumbersFrom {
    /// Each row has its own.
    Rows,
    /// A counted table's columns of means and standard deviations.
    Table { mean: usize, sd: usize },
    /// A counted table that has no such columns.
    Nowhere,
}

/// A binned context column.
#[derive(Clone, Debug)]
pub(crate) struct BinColumn {
    pub(crate) feature: usize,
    /// Where it is among the columns read.
    pub(crate) column: usize,
    pub(crate) from: NumbersFrom,
    bins: Bins,
    /// By code of the bin: its middle, NaN for what has no bin.
    middles: Vec<f64>,
}

impl BinColumn {
    pub(crate) fn new(feature: usize, column: usize, from: NumbersFrom, bins: Bins) -> Self {
        BinColumn { feature, column, from, bins, middles: Vec::new() }
    }

    /// Works out the bins that are new in a batch.
    pub(crate) fn prepare(&mut self, columns: &Columns<'_>) {
        let Some(binned) = &columns.binned[self.column] else { return };
        for code in self.middles.len()..binned.len() {
            let bin = binned.bin(code as u32);
            self.middles.push(if bin.is_finite() { self.bins.centre(bin) } else { f64::NAN });
        }
    }

    /// The middle of a row's bin, and mean and standard deviation of its numbers; None where there are
    /// none, or nobody knows them.
    #[inline]
    pub(crate) fn numbers(&self, columns: &Columns<'_>, row: usize) -> Option<(f64, f64, f64)> {
        let middle = self.middles[columns.codes[self.column][row] as usize];
        let (mean, sd) = match self.from {
            NumbersFrom::Rows => (columns.raw[self.column][row], 0.0),
            NumbersFrom::Table { mean, sd } => {
                (columns.numbers[mean][row], columns.numbers[sd][row])
            }
            NumbersFrom::Nowhere => return None,
        };
        (!middle.is_nan()).then_some((middle, mean, sd))
    }

    /// Whether its numbers are known.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self.from, NumbersFrom::Nowhere)
    }

    /// The middle of a bin by its code; NaN for what has none.
    pub(crate) fn middle(&self, code: u32) -> f64 {
        self.middles.get(code as usize).copied().unwrap_or(f64::NAN)
    }

    /// What is wrong with the moments of a counted table's row, if anything is, and the column.
    fn complaint(&self, (middle, mean, sd): (f64, f64, f64)) -> Option<(usize, String)> {
        let NumbersFrom::Table { mean: mean_column, sd: sd_column } = self.from else {
            return None;
        };
        let width = self.bins.width();
        let slack = ROUNDING * (width + middle.abs());
        let (low, high) = (middle - 0.5 * width, middle + 0.5 * width);
        if !(mean >= low - slack && mean <= high + slack) {
            let found = if mean.is_nan() { "it is missing".to_owned() } else { mean.to_string() };
            let expected = format!("{found}; expected the mean of numbers from {low} to {high}");
            return Some((mean_column, expected));
        }
        (!(sd >= 0.0 && sd <= width)).then(|| {
            let found = if sd.is_nan() { "it is missing".to_owned() } else { sd.to_string() };
            (sd_column, format!("{found}; expected a standard deviation from 0 to {width}"))
        })
    }
}

/// A sum in two floats.
#[derive(Clone, Copy, Debug, Default)]
struct Twofold {
    high: f64,
    low: f64,
}

impl Twofold {
    #[inline]
    fn add(&mut self, x: f64) {
        let (high, lost) = two_sum(self.high, x);
        (self.high, self.low) = (high, self.low + lost);
    }

    fn value(self) -> f64 {
        self.high + self.low
    }
}

/// Weights, distances from the middle of a bin, and their squares, summed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    /// Mean and standard deviation of all there is so far, as long as they are the same: then they are
    /// exact, and a counted table of a counted table is itself.
    same: Option<(f64, f64)>,
    weight: Twofold,
    first: Twofold,
    second: Twofold,
}

impl Sums {
    #[inline]
    pub(crate) fn add(&mut self, weight: f64, (middle, mean, sd): (f64, f64, f64)) {
        let away = mean - middle;
        let is_first = self.weight.high == 0.0;
        self.same = Some((mean, sd)).filter(|now| is_first || self.same == Some(*now));
        self.weight.add(weight);
        self.first.add(weight * away);
        self.second.add(weight * (sd * sd + away * away));
    }

    fn merge(&mut self, other: &Sums) {
        let is_first = self.weight.high == 0.0;
        self.same = other.same.filter(|_| is_first || self.same == other.same);
        let parts = [
            (&mut self.weight, other.weight),
            (&mut self.first, other.first),
            (&mut self.second, other.second),
        ];
        for (sum, more) in parts {
            sum.add(more.high);
            sum.add(more.low);
        }
    }

    /// Mean and standard deviation, not rounded; None where nothing weighs anything.
    pub(crate) fn moments(&self, middle: f64) -> Option<(f64, f64)> {
        let weight = self.weight.value();
        let away = self.first.value() / weight;
        let variance = (self.second.value() / weight - away * away).max(0.0);
        (weight > 0.0).then(|| self.same.unwrap_or((middle + away, variance.sqrt())))
    }
}

/// Sums by bin and group, in the making.
pub(crate) struct BinSums {
    pub(crate) columns: Vec<BinColumn>,
    /// For each column, groups and bins as they appear, and their sums.
    cells: Vec<(Pairs, Vec<Sums>)>,
}

impl BinSums {
    pub(crate) fn new(columns: Vec<BinColumn>) -> Self {
        let cells = columns.iter().map(|_| Default::default()).collect();
        BinSums { columns, cells }
    }

    pub(crate) fn prepare(&mut self, columns: &Columns<'_>) {
        self.columns.iter_mut().for_each(|column| column.prepare(columns));
    }

    /// Refuses a row of a counted table with moments that no numbers in its bin have.
    pub(crate) fn check(
        &self,
        columns: &Columns<'_>,
        row: usize,
    ) -> std::result::Result<(), (usize, String)> {
        let complaint = |column: &BinColumn| column.complaint(column.numbers(columns, row)?);
        self.columns.iter().find_map(complaint).map_or(Ok(()), Err)
    }

    /// Adds a row that is used.
    pub(crate) fn take(&mut self, columns: &Columns<'_>, row: usize, group: u32, weight: f64) {
        let group = if group == Entry::ALONE { 0 } else { group };
        for (column, (cells, sums)) in self.columns.iter().zip(&mut self.cells) {
            let Some(numbers) = column.numbers(columns, row) else { continue };
            let cell = cells.id(group, columns.codes[column.column][row]) as usize;
            if cell == sums.len() {
                sums.push(Sums::default());
            }
            sums[cell].add(weight, numbers);
        }
    }

    /// The moments, groups numbered as `group_of` says.
    pub(crate) fn finish(self, group_of: &[u32]) -> BinMoments {
        let mut found = BinMoments::default();
        for (column, (cells, sums)) in self.columns.iter().zip(self.cells) {
            if !column.is_known() {
                found.unknown.push(column.feature);
                continue;
            }
            let of_cell = |(cell, sums): (usize, Sums)| {
                let (group, code) = cells.pair(cell as u32);
                let group = group_of.get(group as usize).copied().unwrap_or(Entry::ALONE);
                (column.middles[code as usize], group, sums)
            };
            let cells = sums.into_iter().enumerate().map(of_cell);
            found.push(column.feature, column.bins.width(), cells);
        }
        found
    }
}

/// Mean and variance of the numbers in each bin, by recorded group.
#[derive(Clone, Debug, Default)]
pub struct BinMoments {
    columns: Vec<ColumnMoments>,
    /// Binned columns of whose numbers nothing is known but the bin.
    unknown: Vec<usize>,
}

#[derive(Clone, Debug)]
struct ColumnMoments {
    feature: usize,
    width: f64,
    /// Bins by their middles, groups, sums: in order.
    cells: Vec<(f64, u32, Sums)>,
}

impl BinMoments {
    /// Those of one sample: for each binned column its bins' width, and its numbers with the middles of
    /// their bins and what they weigh.
    pub fn of_sample(columns: impl Iterator<Item = (usize, f64, Vec<(f64, f64, f64)>)>) -> Self {
        let mut found = BinMoments::default();
        for (feature, width, numbers) in columns {
            let mut bins: BTreeMap<u64, (f64, Sums)> = BTreeMap::new();
            for (middle, x, weight) in numbers {
                let own = bins.entry(middle.to_bits()).or_insert((middle, Sums::default()));
                own.1.add(weight, (middle, x, 0.0));
            }
            let cells = bins.into_values().map(|(middle, sums)| (middle, Entry::ALONE, sums));
            found.push(feature, width, cells);
        }
        found
    }

    fn push(&mut self, feature: usize, width: f64, cells: impl Iterator<Item = (f64, u32, Sums)>) {
        let mut cells: Vec<(f64, u32, Sums)> = cells.collect();
        cells.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.columns.push(ColumnMoments { feature, width, cells });
    }

    /// Whether a column is cut into bins of whose numbers nothing is known.
    pub fn is_unknown(&self, feature: usize) -> bool {
        self.unknown.contains(&feature)
    }

    /// Whether no column has any.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// A space whose bins stand for the numbers that rows of some groups have in them.
    pub fn on(&self, space: &Arc<Space>, kept: impl Fn(u32) -> bool) -> Result<Arc<Space>> {
        let mut found = space.clone();
        for column in &self.columns {
            let mut bins: BTreeMap<u64, Sums> = BTreeMap::new();
            for (middle, _, sums) in column.cells.iter().filter(|(_, group, _)| kept(*group)) {
                bins.entry(middle.to_bits()).or_default().merge(sums);
            }
            let moments = |middle: f64| {
                let (mean, sd) = bins.get(&middle.to_bits())?.moments(middle)?;
                let mean = rounded(mean, middle.abs() + column.width);
                let variance = rounded(sd * sd, column.width * column.width);
                Some(LevelMoments { mean, variance })
            };
            found = Arc::new(found.with_level_moments(column.feature, moments)?);
        }
        Ok(found)
    }
}

/// A number that may be so large, to the digits that are kept.
fn rounded(x: f64, size: f64) -> f64 {
    let digits = DIGITS - size.log10().ceil() as i32;
    match usize::try_from(digits) {
        // Adding 0 takes a minus away from nothing.
        Ok(digits @ 0..=300) => format!("{x:.digits$}").parse().unwrap_or(x) + 0.0,
        _ => x,
    }
}
