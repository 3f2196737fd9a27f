//! A linear program over where sources send their masses, few rows tying them together.
//!
//! ```text
//! max Σ γ_iz g_iz    Σ_z γ_iz = p_i,    Σ γ_iz a_j(i, z) + s_j = right_j,    0 ≤ s_j ≤ room_j
//! ```
//!
//! A primal simplex method. Every source has a **key** column, which takes what its other columns
//! leave (generalised upper bounds, Dantzig and Van Slyke), so that the basis to be kept has one row
//! for each of the m rows and none for the sources: a column stands there as its difference to its
//! source's key. A slack that is out of its bounds is no artificial: while there is one, what is
//! maximised is minus the sum of what is out of bounds. Rows that follow from others keep their slack
//! in the basis and harm nothing. Or rows may be passed at a price near one that was given
//! ([`GubSimplex::soften`]): from good prices that takes far fewer steps, since none is taken that the
//! gains will have back.
//!
//! Not here: which column to try next. There are far too many to list; whoever drives this finds
//! good ones at the prices that it asks for ([`GubSimplex::prices`]).

mod pivot;

use super::random::Random;

/// What is out of bounds by less is not.
const BOUND: f64 = 1e-11;
/// A bound is passed by at most this, if a larger pivot is to be had for it.
const PASSED: f64 = 1e-12;
/// By how much bounds are moved apart so that steps are not of length 0.
const APART: f64 = 1e-8;
/// Steps without length in a row after which rows are passed no more.
const STILL: usize = 1000;

/// The columns of a program.
pub trait GubColumns {
    /// What a unit of mass gains.
    fn gain(&self, source: usize, place: u32) -> f64;

    /// Adds a multiple of a column to the rows.
    fn add(&self, source: usize, place: u32, times: f64, rows: &mut [f64]);

    /// `Σ_j prices_j a_j(i, z)`.
    fn paid(&self, source: usize, place: u32, prices: &[f64]) -> f64;
}

/// A variable of the basis that is no key.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Basic {
    Slack(usize),
    Column(usize, u32),
}

/// The prices of the rows, in one of the two phases.
pub struct Prices {
    /// Whether everything is within its bounds.
    pub feasible: bool,
    /// Whether gains count: everything is within its bounds, or rows may be passed at a price.
    pub valued: bool,
    pub rows: Vec<f64>,
    /// Keys that are out of bounds, which first come first.
    keys: Vec<usize>,
}

/// What rows cost that are passed, while they may be.
#[derive(Clone)]
struct SoftRows {
    /// What a unit of a slack gains below its bounds, within them and above them.
    slopes: Vec<[f64; 3]>,
    /// Which of these a slack that is at a bound is on its way to: 1 below, −1 above. Without that
    /// two slacks at their bounds could take each other's place for ever.
    side: Vec<f64>,
    /// Steps without length in a row.
    still: usize,
}

/// A basis of the program.
#[derive(Clone)]
pub struct GubSimplex {
    mass: Vec<f64>,
    right: Vec<f64>,
    room: Vec<f64>,
    /// What the bounds are when nothing is moved apart.
    true_right: Vec<f64>,
    true_room: Vec<f64>,
    keys: Vec<u32>,
    basis: Vec<Basic>,
    x: Vec<f64>,
    /// The inverse of the basis, a row for each of its variables.
    inverse: Vec<f64>,
    /// Slacks out of the basis: whether they are at their upper bound.
    up: Vec<bool>,
    soft: Option<SoftRows>,
    pivots: usize,
}

impl GubSimplex {
    /// Every source's mass at its key, every slack in the basis.
    pub fn new(
        columns: &impl GubColumns,
        mass: Vec<f64>,
        keys: Vec<u32>,
        right: Vec<f64>,
        room: Vec<f64>,
    ) -> Self {
        let rows = right.len();
        let mut new = GubSimplex {
            mass,
            true_right: right.clone(),
            true_room: room.clone(),
            right,
            room,
            keys,
            basis: (0..rows).map(Basic::Slack).collect(),
            x: vec![0.0; rows],
            inverse: Vec::new(),
            up: vec![false; rows],
            soft: None,
            pivots: 0,
        };
        new.move_apart();
        new.refresh(columns);
        new
    }

    /// Moves the bounds a little apart, each by another random number: where many are met at once
    /// steps would be of length 0 and might go in circles.
    pub fn move_apart(&mut self) {
        let mut random = Random::new(0x5ea, 0);
        for j in 0..self.right.len() {
            let (above, below) = (0.5 + 0.5 * random.unit(), 0.5 + 0.5 * random.unit());
            self.right[j] = self.true_right[j] + APART * above;
            self.room[j] = self.true_room[j] + APART * (above + below);
        }
    }

    /// Takes the bounds back to where they are.
    pub fn move_back(&mut self, columns: &impl GubColumns) {
        self.right.copy_from_slice(&self.true_right);
        self.room.copy_from_slice(&self.true_room);
        self.refresh(columns);
    }

    /// Takes what is out of bounds by next to nothing for at its bound, and moves the rows by what that
    /// takes; says whether nothing was farther out.
    pub fn forgive(&mut self, columns: &impl GubColumns, most: f64) -> bool {
        let beyond = |at: usize| (-self.x[at]).max(self.x[at] - self.most(self.basis[at]));
        let owed = |source: &usize| -self.key_mass(*source);
        let split = self.split();
        if (0..self.basis.len()).any(|at| beyond(at) > most) || split.iter().any(|s| owed(s) > most)
        {
            return false;
        }
        for at in 0..self.basis.len() {
            match (self.basis[at], self.x[at]) {
                (Basic::Slack(j), x) if x < 0.0 => {
                    (self.right[j], self.true_right[j]) =
                        (self.right[j] - x, self.true_right[j] - x);
                    (self.room[j], self.true_room[j]) = (self.room[j] - x, self.true_room[j] - x);
                    self.x[at] = 0.0;
                }
                (Basic::Slack(j), x) if x > self.room[j] => {
                    self.true_room[j] += x - self.room[j];
                    self.room[j] = x;
                }
                (Basic::Column(..), x) if x < 0.0 => self.shift(columns, at, -x),
                _ => {}
            }
        }
        // A key's mass is what its source's other columns leave: they leave more.
        for source in split {
            let mut owed = -self.key_mass(source);
            let others: Vec<usize> = self.of_source(source).collect();
            for at in others {
                let back = owed.min(self.x[at]);
                if back > 0.0 {
                    self.shift(columns, at, -back);
                    owed -= back;
                }
            }
        }
        true
    }

    /// Changes the mass of a column of the basis and the rows with it, so that nothing else in the basis
    /// changes.
    fn shift(&mut self, columns: &impl GubColumns, at: usize, by: f64) {
        let Basic::Column(source, place) = self.basis[at] else { return };
        self.x[at] += by;
        for right in [&mut self.right, &mut self.true_right] {
            columns.add(source, place, by, right);
            columns.add(source, self.keys[source], -by, right);
        }
    }

    /// Every source's mass at another key, every slack in the basis.
    pub fn restart(&mut self, columns: &impl GubColumns, keys: Vec<u32>) {
        self.keys = keys;
        self.basis = (0..self.right.len()).map(Basic::Slack).collect();
        self.up.fill(false);
        self.refresh(columns);
    }

    /// Lets rows be passed at a price: their prices stay within `width` of the centre. A row of two
    /// sides is free within them, so that its prices are also as near 0 as that.
    pub fn soften(&mut self, centre: &[f64], width: f64) {
        let slopes = |(price, room): (&f64, &f64)| {
            if *room > 0.0 {
                [price.max(0.0) + width, 0.0, price.min(0.0) - width]
            } else {
                [price + width, *price, price - width]
            }
        };
        let slopes = centre.iter().zip(&self.true_room).map(slopes).collect();
        self.soft = Some(SoftRows { slopes, side: vec![0.0; centre.len()], still: 0 });
    }

    /// Lets rows be passed no more.
    pub fn harden(&mut self) {
        self.soft = None;
    }

    /// Whether rows may be passed at a price.
    pub fn is_soft(&self) -> bool {
        self.soft.is_some()
    }

    /// The sources' masses.
    pub fn mass(&self) -> &[f64] {
        &self.mass
    }

    /// The place of a source's key.
    pub fn key(&self, source: usize) -> u32 {
        self.keys[source]
    }

    /// How far apart the bounds of each row are.
    pub fn apart(&self) -> &[f64] {
        &self.true_room
    }

    /// What the rows' bounds are worth at prices, each at the end that the price pulls to.
    pub fn rows_at(&self, prices: &[f64]) -> f64 {
        let rows = prices.iter().zip(&self.true_right).zip(&self.true_room);
        let at = |((price, right), room): ((&f64, &f64), &f64)| {
            if *price < 0.0 { price * (right - room) } else { price * right }
        };
        rows.map(at).sum()
    }

    /// How what the rows' bounds are worth changes with the prices.
    pub fn ends_at(&self, prices: &[f64]) -> Vec<f64> {
        let rows = prices.iter().zip(&self.true_right).zip(&self.true_room);
        rows.map(|((price, right), room)| if *price < 0.0 { right - room } else { *right })
            .collect()
    }

    /// The mass that is at a source's key.
    fn key_mass(&self, source: usize) -> f64 {
        self.mass[source] - self.of_source(source).map(|at| self.x[at]).sum::<f64>()
    }

    /// Where the columns of a source are in the basis.
    fn of_source(&self, source: usize) -> impl Iterator<Item = usize> + '_ {
        let is = move |b: &Basic| matches!(b, Basic::Column(s, _) if *s == source);
        self.basis.iter().enumerate().filter(move |(_, b)| is(b)).map(|(at, _)| at)
    }

    /// The sources with columns in the basis, each once.
    fn split(&self) -> Vec<usize> {
        let source = |b: &Basic| match b {
            Basic::Column(source, _) => Some(*source),
            Basic::Slack(_) => None,
        };
        let mut all: Vec<usize> = self.basis.iter().filter_map(source).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The upper bound of a variable of the basis.
    fn most(&self, basic: Basic) -> f64 {
        match basic {
            Basic::Slack(j) => self.room[j],
            Basic::Column(..) => f64::INFINITY,
        }
    }

    /// What of the basis is out of bounds: 1 below, −1 above.
    fn outside(&self, at: usize) -> f64 {
        let (x, most) = (self.x[at], self.most(self.basis[at]));
        if x < -BOUND {
            return 1.0;
        }
        if x > most + BOUND {
            return -1.0;
        }
        match (&self.soft, self.basis[at]) {
            (Some(soft), Basic::Slack(j)) if soft.side[j] > 0.0 && x <= BOUND => 1.0,
            (Some(soft), Basic::Slack(j)) if soft.side[j] < 0.0 && x >= most - BOUND => -1.0,
            _ => 0.0,
        }
    }

    /// Keeps which side each slack of the basis is on, and whether steps go anywhere: where they do not
    /// for long, rows are passed no more.
    fn note_sides(&mut self, length: f64) {
        let Some(soft) = &self.soft else { return };
        if soft.still > STILL {
            self.soft = None;
            return;
        }
        let side = |at: usize| match self.basis[at] {
            Basic::Slack(j) => Some((j, self.outside(at))),
            Basic::Column(..) => None,
        };
        let sides: Vec<(usize, f64)> = (0..self.basis.len()).filter_map(side).collect();
        if let Some(soft) = &mut self.soft {
            soft.still = if length > PASSED { 0 } else { soft.still + 1 };
            sides.into_iter().for_each(|(j, side)| soft.side[j] = side);
        }
    }

    /// The prices at which every variable of the basis breaks even.
    pub fn prices(&self, columns: &impl GubColumns) -> Prices {
        let rows = self.right.len();
        let split = self.split();
        let keys: Vec<usize> = split.into_iter().filter(|&s| self.key_mass(s) < -BOUND).collect();
        let feasible = keys.is_empty() && (0..rows).all(|at| self.outside(at) == 0.0);
        let is_slack = |at: usize| matches!(self.basis[at], Basic::Slack(_));
        let masses_within =
            keys.is_empty() && (0..rows).all(|at| is_slack(at) || self.outside(at) == 0.0);
        let soft = self.soft.as_ref().filter(|_| masses_within);
        let valued = feasible || soft.is_some();
        let mut prices = vec![0.0; rows];
        for (at, basic) in self.basis.iter().enumerate() {
            let gain = match (valued, *basic) {
                (true, Basic::Slack(j)) => soft.map_or(0.0, |soft| {
                    let [below, within, above] = soft.slopes[j];
                    match self.outside(at) {
                        outside if outside > 0.0 => below,
                        outside if outside < 0.0 => above,
                        _ => within,
                    }
                }),
                (true, Basic::Column(s, z)) => columns.gain(s, z) - columns.gain(s, self.keys[s]),
                (false, Basic::Slack(_)) => self.outside(at),
                (false, Basic::Column(s, _)) => {
                    self.outside(at) - f64::from(u8::from(keys.contains(&s)))
                }
            };
            if gain != 0.0 {
                let row = &self.inverse[at * rows..][..rows];
                prices.iter_mut().zip(row).for_each(|(p, b)| *p += gain * b);
            }
        }
        Prices { feasible, valued, rows: prices, keys }
    }

    /// What a source's key is worth to it at the prices; a column worth more is worth trying.
    pub fn key_worth(&self, columns: &impl GubColumns, prices: &Prices, source: usize) -> f64 {
        let place = self.keys[source];
        let gain = if prices.valued {
            columns.gain(source, place)
        } else {
            f64::from(u8::from(prices.keys.contains(&source)))
        };
        gain - columns.paid(source, place, &prices.rows)
    }

    /// The slack that gains most by leaving its bound, if one does by more than `least`; and whether
    /// it goes inwards, or passes the bound.
    pub fn best_slack(&self, prices: &Prices, least: f64) -> Option<(usize, bool)> {
        let soft = self.soft.as_ref().filter(|_| prices.valued);
        let mut best = (least, None);
        for (j, price) in prices.rows.iter().enumerate() {
            let [below, within, above] = soft.map_or([0.0; 3], |soft| soft.slopes[j]);
            let (inwards, outwards) = if self.up[j] {
                (price - within, above - price)
            } else {
                (within - price, price - below)
            };
            let inwards = if self.room[j] > 0.0 { inwards } else { 0.0 };
            let outwards = if soft.is_some() { outwards } else { 0.0 };
            let gain = inwards.max(outwards);
            if gain > best.0 && !self.basis.contains(&Basic::Slack(j)) {
                best = (gain, Some((j, inwards >= outwards)));
            }
        }
        best.1
    }

    /// Lets a slack leave its bound, inwards or not.
    pub fn enter_slack(&mut self, columns: &impl GubColumns, row: usize, inwards: bool) {
        let mut column = vec![0.0; self.right.len()];
        column[row] = 1.0;
        let sign = if self.up[row] == inwards { -1.0 } else { 1.0 };
        if let Some(soft) = &mut self.soft {
            soft.side[row] = if inwards { 0.0 } else { -sign };
        }
        self.enter(columns, Basic::Slack(row), column, sign);
    }

    /// Sends mass of a source to a place.
    pub fn enter_column(&mut self, columns: &impl GubColumns, source: usize, place: u32) {
        let mut column = vec![0.0; self.right.len()];
        columns.add(source, place, 1.0, &mut column);
        columns.add(source, self.keys[source], -1.0, &mut column);
        self.enter(columns, Basic::Column(source, place), column, 1.0);
    }

    /// Where mass goes: source, place, mass; none below 0.
    pub fn moves(&self) -> Vec<(usize, u32, f64)> {
        let mut left = self.mass.clone();
        let mut moves = Vec::with_capacity(self.mass.len() + self.basis.len());
        for (basic, &x) in self.basis.iter().zip(&self.x) {
            if let Basic::Column(source, place) = *basic {
                let mass = x.clamp(0.0, left[source]);
                left[source] -= mass;
                moves.push((source, place, mass));
            }
        }
        moves.extend(left.into_iter().enumerate().map(|(s, mass)| (s, self.keys[s], mass)));
        moves.retain(|m| m.2 > 0.0);
        moves
    }
}
