//! The layout made of the points listed.

use super::bins::Bins;
use super::checked::Checked;
use super::places::Places;
use super::{MOST_POINTS, Ranks};
use crate::error::{Error, Result};
use std::sync::{Arc, OnceLock};

/// Points, one column of codes per feature: a number for a numeric feature off a grid, a level's
/// index for any other, NaN where missing.
#[derive(Clone, Debug)]
pub struct Points {
    /// Shared with the spaces that have more points than these.
    codes: Arc<Vec<Vec<f64>>>,
    /// How many of the points those are.
    first: usize,
    /// The places after them.
    more: Places,
    len: usize,
    /// Each column's bins and ranks, once somebody asked: every fit to these points shares them.
    bins: Arc<[OnceLock<Option<Bins>>]>,
    ranks: Arc<[OnceLock<Ranks>]>,
}

impl Points {
    pub(super) fn new(features: &[Checked], mut codes: Vec<Vec<f64>>) -> Result<Self> {
        let len = codes.first().map_or(0, Vec::len);
        for (feature, column) in features.iter().zip(&mut codes) {
            if column.len() != len {
                let found = column.len();
                return Err(feature.error(format!("{found} coordinates for {len} points")));
            }
            // A missing value that has a level is held as that level.
            if let Some(level) = feature.level_of(f64::NAN) {
                column.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = level as f64);
            }
        }
        if len == 0 {
            return Err(Error::input("a space needs at least one point"));
        }
        if len > MOST_POINTS {
            return Err(Error::input(format!("{len} points are too many (at most {MOST_POINTS})")));
        }
        let bins = codes.iter().map(|_| OnceLock::new()).collect();
        let ranks = codes.iter().map(|_| OnceLock::new()).collect();
        let codes = Arc::new(codes);
        Ok(Points { codes, first: len, more: Places::default(), len, bins, ranks })
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no point; never true of points that were made.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the points without those added later hold for a feature.
    pub(super) fn codes(&self, feature: usize) -> &[f64] {
        let codes = &self.codes[feature];
        &codes[..self.first.min(codes.len())]
    }

    /// What a point holds for a feature.
    #[inline]
    pub fn code(&self, point: usize, feature: usize) -> f64 {
        match point.checked_sub(self.first) {
            None => self.codes[feature][point],
            Some(after) => self.more.code(after, feature, |i| self.codes[feature][i]),
        }
    }

    /// These points, which are shared, and places after them; to be done once.
    pub(super) fn and(&self, more: Places) -> Result<Self> {
        if self.more.len() > 0 {
            return Err(Error::internal("places beside places"));
        }
        let len = self.first + more.len();
        if len > MOST_POINTS {
            return Err(Error::input(format!("{len} points are too many (at most {MOST_POINTS})")));
        }
        let bins = self.codes.iter().map(|_| OnceLock::new()).collect();
        let ranks = self.codes.iter().map(|_| OnceLock::new()).collect();
        let (codes, first) = (self.codes.clone(), self.first);
        Ok(Points { codes, first, more, len, bins, ranks })
    }

    /// The ranks of a column, made by the first who asks.
    pub(super) fn ranks(&self, feature: usize, make: impl FnOnce() -> Ranks) -> &Ranks {
        self.ranks[feature].get_or_init(make)
    }

    /// The bins of a column of numbers.
    pub(super) fn bins(&self, feature: usize) -> Option<&Bins> {
        let make = || {
            let codes: Vec<f64> = (0..self.len).map(|i| self.code(i, feature)).collect();
            Bins::new(&codes)
        };
        self.bins[feature].get_or_init(make).as_ref()
    }
}
