//! The rows and columns of the program: facts, the budget, and limits on single columns.
//!
//! A row is scaled so that its entries are at most about 1: a mean by its column's range, a cost by
//! what the dearest move costs. Shares that sum to 1 but for rounding are made to.

use crate::ambiguity::values::ScaledValues;
use crate::kernel::gub_simplex::GubColumns;
use crate::kernel::metric::Metric;
use crate::known::{Fact, Known, Quantity};
use crate::space::Space;
use std::sync::Arc;

/// Shares that sum to 1 but for this are all of a column's.
const WHOLE: f64 = 1e-9;

/// What is known, as rows: `low ≤ Σ γ a_j ≤ right`, and `right − low` is the room.
pub(super) struct Facts {
    /// Where each point's entries begin, and where the last one's end.
    start: Vec<u32>,
    entries: Vec<(u32, f64)>,
    pub right: Vec<f64>,
    pub room: Vec<f64>,
    /// The column that each row is about.
    pub feature: Vec<usize>,
}

impl Facts {
    /// The rows of what is known about a space.
    pub fn new(known: &Known, space: &Space) -> Self {
        let mut facts = Facts {
            start: vec![0],
            entries: Vec::new(),
            right: Vec::new(),
            room: Vec::new(),
            feature: Vec::new(),
        };
        let columns: Vec<Column> =
            (0..space.names().len()).filter_map(|k| facts.column(known, space, k)).collect();
        for point in 0..space.len() {
            for column in &columns {
                column.entries(space, point, &mut facts.entries);
            }
            facts.start.push(facts.entries.len() as u32);
        }
        facts
    }

    /// Adds the rows of a column; None if nothing is known of it.
    fn column(&mut self, known: &Known, space: &Space, k: usize) -> Option<Column> {
        let facts = known.of(k);
        if facts.is_empty() {
            return None;
        }
        let shares = facts.iter().filter(|f| f.quantity != Quantity::Mean);
        let sum: f64 = shares.clone().map(|f| f.value).sum();
        let whole = shares.clone().all(Fact::is_exact) && (sum - 1.0).abs() <= WHOLE;
        let unit = if whole { sum } else { 1.0 };
        let mut column =
            Column { feature: k, shares: vec![None; space.levels(k).len()], means: Vec::new() };
        for fact in facts {
            match fact.quantity {
                Quantity::Share(level) => {
                    column.shares[level] = Some(self.row(k, fact.low / unit, fact.high / unit));
                }
                Quantity::Mean => self.mean(fact, space, &mut column),
            }
        }
        Some(column)
    }

    /// The rows of a mean: one, or one for each end of its range where a value may be missing, for a
    /// mean among those who have one is a ratio: `E (x − high) ≤ 0 ≤ E (x − low)`, both 0 where it is
    /// missing.
    fn mean(&mut self, fact: &Fact, space: &Space, column: &mut Column) {
        let k = fact.feature;
        let numbers = || (0..space.len()).map(|i| space.moments_at(i, k).map(|m| m.mean));
        let far = numbers().flatten().fold(0.0, |far: f64, x| far.max((x - fact.value).abs()));
        let scale = if far > 0.0 { far.recip() } else { 1.0 };
        if fact.is_exact() || numbers().all(|x| x.is_some()) {
            let range = ((fact.low - fact.value) * scale, (fact.high - fact.value) * scale);
            column.means.push((self.row(k, range.0, range.1), fact.value, scale));
        } else {
            column.means.push((self.row(k, f64::NEG_INFINITY, 0.0), fact.low, -scale));
            column.means.push((self.row(k, f64::NEG_INFINITY, 0.0), fact.high, scale));
        }
    }

    fn row(&mut self, feature: usize, low: f64, high: f64) -> u32 {
        self.right.push(high);
        self.room.push(high - low);
        self.feature.push(feature);
        self.right.len() as u32 - 1
    }

    /// The entries of a point.
    #[inline(always)]
    pub fn of(&self, point: u32) -> &[(u32, f64)] {
        let (from, to) = (self.start[point as usize], self.start[point as usize + 1]);
        &self.entries[from as usize..to as usize]
    }
}

/// What is known of a column: its levels' rows; and of its mean each row, the origin and the scale.
struct Column {
    feature: usize,
    shares: Vec<Option<u32>>,
    means: Vec<(u32, f64, f64)>,
}

impl Column {
    fn entries(&self, space: &Space, point: usize, into: &mut Vec<(u32, f64)>) {
        let code = space.code(point, self.feature);
        if !code.is_nan()
            && let Some(Some(row)) = self.shares.get(code as usize)
        {
            into.push((*row, 1.0));
        }
        for &(row, origin, scale) in &self.means {
            if let Some(x) = space.moments_at(point, self.feature) {
                into.push((row, (x.mean - origin) * scale));
            }
        }
    }
}

/// What moves cost.
pub(super) struct MoveCosts {
    pub columns: Vec<Vec<f64>>,
    pub metrics: Vec<Metric>,
    pub sources: Arc<[u32]>,
    /// What a row of costs is multiplied by.
    pub unit: f64,
    /// Whether the first row after the facts is the total cost.
    pub budget: bool,
    /// The columns with a row of their own after that.
    pub limits: Vec<usize>,
}

/// The program: a gain for each place, less what a move pays at a price.
pub(super) struct CouplingsProgram<'a> {
    pub heights: ScaledValues<'a>,
    pub facts: Arc<Facts>,
    /// None where it does not matter who goes where: one source, and everything is free.
    pub costs: Option<MoveCosts>,
    /// What a unit of cost takes off, beside what its row does.
    pub price: f64,
    /// Whether values count; else costs alone.
    pub valued: bool,
}

impl CouplingsProgram<'_> {
    /// How many rows it has.
    pub fn rows(&self) -> usize {
        let more = self.costs.as_ref().map_or(0, |c| usize::from(c.budget) + c.limits.len());
        self.facts.right.len() + more
    }

    /// What a place is worth before anyone moves, at prices of the rows.
    pub fn worth(&self, point: u32, rows: &[f64], valued: bool) -> f64 {
        let paid: f64 = self.facts.of(point).iter().map(|(j, a)| a * rows[*j as usize]).sum();
        if valued && self.valued { self.heights.at(point as usize) - paid } else { -paid }
    }

    /// The price of moves along each column.
    pub fn axis_prices(&self, rows: &[f64], valued: bool) -> Vec<f64> {
        let Some(costs) = &self.costs else { return Vec::new() };
        let at = self.facts.right.len();
        let own = if valued { self.price } else { 0.0 };
        let total = if costs.budget { rows[at] * costs.unit } else { 0.0 };
        let mut prices = vec![own + total; costs.metrics.len()];
        let at = at + usize::from(costs.budget);
        for (&k, row) in costs.limits.iter().zip(&rows[at..]) {
            prices[k] += row * costs.unit;
        }
        prices
    }

    /// The cost of a source's move to a place.
    pub fn cost(&self, source: usize, place: u32) -> f64 {
        self.costs.as_ref().map_or(0.0, |costs| costs.total(source, place))
    }
}

impl MoveCosts {
    #[inline(always)]
    fn along(&self, k: usize, source: usize, place: u32) -> f64 {
        let column = &self.columns[k];
        let from = self.sources[source] as usize;
        self.metrics[k].cost(column[from], column[place as usize])
    }

    fn total(&self, source: usize, place: u32) -> f64 {
        if self.sources[source] == place {
            return 0.0;
        }
        (0..self.metrics.len()).map(|k| self.along(k, source, place)).sum()
    }

    /// Each row of costs, after the facts, and its entry.
    fn each(&self, source: usize, place: u32, first: usize, mut row: impl FnMut(usize, f64)) {
        if self.sources[source] == place {
            return;
        }
        let mut at = first;
        if self.budget {
            row(at, self.total(source, place) * self.unit);
            at += 1;
        }
        for (&k, at) in self.limits.iter().zip(at..) {
            row(at, self.along(k, source, place) * self.unit);
        }
    }
}

impl GubColumns for CouplingsProgram<'_> {
    fn gain(&self, source: usize, place: u32) -> f64 {
        let height = if self.valued { self.heights.at(place as usize) } else { 0.0 };
        if self.price == 0.0 { height } else { height - self.price * self.cost(source, place) }
    }

    fn add(&self, source: usize, place: u32, times: f64, rows: &mut [f64]) {
        for (j, a) in self.facts.of(place) {
            rows[*j as usize] += times * a;
        }
        if let Some(costs) = &self.costs {
            let first = self.facts.right.len();
            costs.each(source, place, first, |j, c| rows[j] += times * c);
        }
    }

    fn paid(&self, source: usize, place: u32, prices: &[f64]) -> f64 {
        let facts = self.facts.of(place).iter();
        let mut paid: f64 = facts.map(|(j, a)| a * prices[*j as usize]).sum();
        if let Some(costs) = &self.costs {
            let first = self.facts.right.len();
            costs.each(source, place, first, |j, c| paid += prices[j] * c);
        }
        paid
    }
}
