//! Column generation: the program over the columns seen, and a look at all of them for better ones.
//!
//! Every look at prices `(λ ≥ 0, ν)` is a bound from above, whatever state the program is in:
//!
//! ```text
//! V ≤ λε + Σ_j (high_j ν_j⁺ − low_j ν_j⁻) + Σ_i p_i max_z [f(z) − λ c(x_i, z) − Σ_j ν_j φ_j(z)]
//! ```
//!
//! and every basis within its bounds is a population, a bound from below.

use super::pricing::Pricing;
use super::program::CouplingsProgram;
use crate::ambiguity::settings::Settings;
use crate::error::{Error, Result};
use crate::kernel::gub_simplex::{GubColumns, GubSimplex, Prices};
use crate::kernel::lbfgs;
use crate::kernel::sum::sum;
use crate::progress::Stage;
use std::cell::Cell;
use std::collections::VecDeque;

/// A gain smaller than this, as a share of the largest price, is rounding.
const ROUNDING: f64 = 1e-14;
/// Bounds this close, as a share of the value, are one.
const CLOSE: f64 = 4.0 * f64::EPSILON;
/// Facts that contradict each other by less than this do not.
const FORGIVEN: f64 = 1e-9;
/// Columns taken along from one look at all of them, where there is one source.
const TAKEN: usize = 256;
/// Columns among which the best is taken.
const FEW: usize = 48;
/// Columns known at most.
const MOST: usize = 1 << 18;
/// Pivots, at most, between two looks.
const PIVOTS: usize = 1 << 16;
/// How much of the prices looked at are those of the lowest bound seen.
const STEADY: f64 = 0.5;

/// Steps of the descent before it, those tried included.
const STEPS: usize = 200;
/// Of how many of its last places columns are kept.
const SEEN: usize = 12;
/// A bound below this goes down for ever: heights are of the size of 1.
const BOTTOM: f64 = -1e4;
/// How far from the prices of the lowest bound seen prices may be, to begin with.
const WIDTH: f64 = 0.01;
/// How much farther then, and at most.
const WIDER: f64 = 4.0;
const WIDEST: f64 = 1e4;

/// A program being solved: another price or radius goes on from the last basis.
pub(super) struct ColumnSearch<'a> {
    pub program: CouplingsProgram<'a>,
    pub pricing: Pricing,
    pub masses: GubSimplex,
    settings: Settings<'a>,
    /// What a unit of a bound is in the values' units.
    scale: f64,
    /// What each point is worth at the last prices.
    worth: Vec<f64>,
    /// Columns that were better than others once: source and place.
    known: Vec<(u32, u32)>,
    pub looks: usize,
}

/// How a search ended.
pub(super) enum Ended {
    /// Bounds, and the prices of the rows at the upper one.
    Found { lower: f64, upper: f64, prices: Vec<f64>, stopped: bool },
    /// Nothing is within all bounds; the prices of the rows that say so.
    Impossible(Vec<f64>),
}

/// What a look at all columns found.
struct ColumnLook {
    /// The bound from above.
    upper: f64,
    /// Columns that are better, the best last: how much better than the source's key, source and place.
    better: Vec<(f64, usize, u32)>,
}

impl<'a> ColumnSearch<'a> {
    pub fn new(
        program: CouplingsProgram<'a>,
        pricing: Pricing,
        masses: GubSimplex,
        settings: Settings<'a>,
    ) -> Self {
        let scale = program.heights.scale();
        let worth = vec![0.0; program.heights.len()];
        ColumnSearch {
            program,
            pricing,
            masses,
            settings,
            scale,
            worth,
            known: Vec::new(),
            looks: 0,
        }
    }

    /// Solves from where it is.
    pub fn run(&mut self) -> Result<Ended> {
        self.masses.move_apart();
        self.masses.refresh(&self.program);
        let mut apart = true;
        let mut best = (f64::INFINITY, Vec::new());
        let first = self.looks;
        let mut width = WIDTH;
        // With few sources a basis says all there is, and the bound is all corners.
        let many = self.masses.mass().len() > self.program.rows();
        if many && self.program.costs.is_some() {
            self.descend(&mut best);
        }
        let mut stopped = false;
        loop {
            let prices = self.prices();
            let look = self.look_around(&prices, &mut best);
            let lower = if prices.feasible { self.lower() } else { f64::NEG_INFINITY };
            let close = prices.feasible && best.0 - lower <= CLOSE * best.0.abs().max(lower.abs());
            if look.better.is_empty() || close {
                if self.masses.is_soft() && !prices.feasible {
                    width *= WIDER;
                    if width < WIDEST {
                        self.masses.soften(&best.1, width)
                    } else {
                        self.masses.harden()
                    }
                    continue;
                }
                if apart {
                    self.masses.harden();
                    apart = false;
                    self.masses.move_back(&self.program);
                    continue;
                }
                if !prices.feasible {
                    if !self.masses.forgive(&self.program, FORGIVEN) {
                        return Ok(Ended::Impossible(prices.rows));
                    }
                    if self.looks - first >= self.settings.max_evaluations {
                        return Err(none_found());
                    }
                    continue;
                }
                break;
            }
            let gap = (best.0 - lower) / self.scale;
            if !self.settings.go_on(Stage::Solving, self.looks - first, gap) {
                stopped = true;
            }
            if stopped || self.looks - first >= self.settings.max_evaluations {
                self.masses.harden();
                if apart {
                    self.masses.move_back(&self.program);
                }
                if !self.masses.prices(&self.program).feasible {
                    return Err(if stopped { Error::stopped() } else { none_found() });
                }
                break;
            }
            self.improve(prices.valued, &look.better);
        }
        self.masses.refresh(&self.program);
        let (upper, prices) = best;
        Ok(Ended::Found { lower: self.lower(), upper, prices, stopped })
    }

    /// A descent of the bound itself, which is nearly smooth where there are many sources: good prices
    /// to begin at. Everyone then begins at the best place at these prices, and rows may be passed at
    /// prices near them.
    fn descend(&mut self, best: &mut (f64, Vec<f64>)) {
        let one_sided: Vec<bool> = self.masses.apart().iter().map(|r| r.is_infinite()).collect();
        let (settings, begun) = (self.settings, vec![0.0; self.program.rows()]);
        let rows_of = |point: &[f64]| -> Vec<f64> {
            let one = point.iter().zip(&one_sided);
            one.map(|(price, one)| if *one { price.abs() } else { *price }).collect()
        };
        let mut seen: VecDeque<Vec<u32>> = VecDeque::new();
        let mut function = |point: &[f64], slopes: &mut [f64]| {
            let rows = rows_of(point);
            let (upper, places) = self.bound(&rows);
            slopes.copy_from_slice(&self.masses.ends_at(&rows));
            for (s, (&z, mass)) in places.iter().zip(self.masses.mass()).enumerate() {
                self.program.add(s, z, -mass, slopes);
            }
            for ((slope, price), one) in slopes.iter_mut().zip(point).zip(&one_sided) {
                if *one && *price < 0.0 {
                    *slope = -*slope;
                }
            }
            if upper < best.0 {
                *best = (upper, rows);
            }
            seen.push_back(places);
            if seen.len() > SEEN {
                seen.pop_front();
            }
            upper
        };
        let (most, asked) = (STEPS.min(settings.max_evaluations / 4), Cell::new(0));
        let watch = |_: usize, value: f64| {
            asked.set(asked.get() + 1);
            let go_on = settings.go_on(Stage::Solving, asked.get(), f64::INFINITY);
            go_on && value > BOTTOM && asked.get() <= most
        };
        let found = lbfgs::minimise(begun, 0.0, most, &mut function, &watch);
        if found.value <= BOTTOM || best.1.is_empty() {
            // Nothing may be within all bounds: it is for the phases to say.
            *best = (f64::INFINITY, Vec::new());
            return;
        }
        let (_, keys) = self.bound(&best.1.clone());
        let columns = seen.iter().flat_map(|places| places.iter().enumerate());
        let other = columns.filter(|(s, z)| keys[*s] != **z).map(|(s, z)| (s as u32, *z));
        self.known.extend(other);
        self.known.sort_unstable();
        self.known.dedup();
        self.masses.restart(&self.program, keys);
        self.masses.soften(&best.1, WIDTH);
    }

    /// The bound at prices, and the best place of each source.
    fn bound(&mut self, rows: &[f64]) -> (f64, Vec<u32>) {
        self.looks += 1;
        for (z, worth) in self.worth.iter_mut().enumerate() {
            *worth = self.program.worth(z as u32, rows, true);
        }
        let Some(costs) = &self.program.costs else { return (f64::INFINITY, Vec::new()) };
        let axes = self.program.axis_prices(rows, true);
        let best = self.pricing.best(costs, &self.worth, &axes);
        let mass = self.masses.mass();
        let reached = sum(best.len(), |s| mass[s] * best[s].0);
        (reached + self.masses.rows_at(rows), best.into_iter().map(|(_, z)| z).collect())
    }

    /// Prices at which no slack gains by leaving its bound; those of one-sided rows are not negative
    /// then, but for rounding, which is taken off.
    fn prices(&mut self) -> Prices {
        let mut prices = self.masses.prices(&self.program);
        for _ in 0..4 * self.program.rows() + 16 {
            let slack = self.masses.best_slack(&prices, least(&prices));
            let Some((row, inwards)) = slack else { break };
            self.masses.enter_slack(&self.program, row, inwards);
            prices = self.masses.prices(&self.program);
        }
        for (price, room) in prices.rows.iter_mut().zip(self.masses.apart()) {
            if room.is_infinite() && *price < 0.0 {
                *price = 0.0;
            }
        }
        prices
    }

    /// Looks at every column: first at prices between those of the lowest bound seen and the program's
    /// own, which jump about while few columns are known; at its own if that finds nothing better.
    fn look_around(&mut self, prices: &Prices, best: &mut (f64, Vec<f64>)) -> ColumnLook {
        if !prices.valued {
            return self.look(prices, &prices.rows);
        }
        if self.program.costs.is_some() && !best.1.is_empty() {
            let mixed = best.1.iter().zip(&prices.rows);
            let mixed: Vec<f64> = mixed.map(|(b, own)| STEADY * b + (1.0 - STEADY) * own).collect();
            let look = self.look(prices, &mixed);
            if look.upper < best.0 {
                *best = (look.upper, mixed);
            }
            if !look.better.is_empty() {
                return look;
            }
        }
        let look = self.look(prices, &prices.rows);
        if look.upper < best.0 {
            *best = (look.upper, prices.rows.clone());
        }
        look
    }

    /// Looks for the best columns at prices of the rows, and takes those that are better than their
    /// sources' keys at the program's own.
    fn look(&mut self, prices: &Prices, rows: &[f64]) -> ColumnLook {
        self.looks += 1;
        let (program, masses, valued) = (&self.program, &self.masses, prices.valued);
        for (z, worth) in self.worth.iter_mut().enumerate() {
            *worth = program.worth(z as u32, rows, valued);
        }
        let least = least(prices);
        let mut better: Vec<(f64, usize, u32)> = Vec::new();
        let reached = match &program.costs {
            None => {
                let key = masses.key_worth(program, prices, 0);
                let gains = self.worth.iter().zip(0..).map(|(worth, z)| (worth - key, 0, z));
                better.extend(gains.filter(|(gain, ..)| *gain > least));
                self.worth.iter().copied().fold(f64::NEG_INFINITY, f64::max)
            }
            Some(costs) => {
                let axes = program.axis_prices(rows, valued);
                let best = self.pricing.best(costs, &self.worth, &axes);
                for (s, &(_, z)) in best.iter().enumerate().filter(|(s, b)| b.1 != masses.key(*s)) {
                    let gain = if valued { program.gain(s, z) } else { 0.0 };
                    let gain = gain - program.paid(s, z, &prices.rows);
                    let gain = gain - masses.key_worth(program, prices, s);
                    if gain > least {
                        better.push((gain, s, z));
                    }
                }
                let mass = masses.mass();
                sum(best.len(), |s| mass[s] * best[s].0)
            }
        };
        let ahead = |a: &(f64, usize, u32), b: &(f64, usize, u32)| {
            b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2)))
        };
        if program.costs.is_none() && better.len() > TAKEN {
            better.select_nth_unstable_by(TAKEN, ahead);
            better.truncate(TAKEN);
        }
        // The best last: columns are tried from the newest on.
        better.sort_unstable_by(|a, b| ahead(b, a));
        ColumnLook { upper: reached + masses.rows_at(rows), better }
    }

    /// Pivots among the columns known until none of them is better: the best of a few at a time, for
    /// prices change with every pivot.
    fn improve(&mut self, valued: bool, better: &[(f64, usize, u32)]) {
        if self.known.len() > MOST {
            self.known.clear();
        }
        self.known.extend(better.iter().map(|&(_, s, z)| (s as u32, z)));
        let program = &self.program;
        let mut prices = self.masses.prices(program);
        // The newest first: they are the better ones.
        let (mut at, mut quiet) = (self.known.len(), 0);
        for _ in 0..PIVOTS {
            if let Some((row, inwards)) = self.masses.best_slack(&prices, least(&prices)) {
                self.masses.enter_slack(program, row, inwards);
                prices = self.masses.prices(program);
                continue;
            }
            if prices.valued != valued {
                return;
            }
            let mut best = (least(&prices), None);
            while best.1.is_none() && quiet < self.known.len() {
                let from = at.saturating_sub(FEW);
                for &(s, z) in &self.known[from..at] {
                    let s = s as usize;
                    let gain = if valued { program.gain(s, z) } else { 0.0 };
                    let worth = gain - program.paid(s, z, &prices.rows);
                    let more = worth - self.masses.key_worth(program, &prices, s);
                    if more > best.0 {
                        best = (more, Some((s, z)));
                    }
                }
                quiet += at - from;
                at = if from == 0 { self.known.len() } else { from };
            }
            let Some((s, z)) = best.1 else { return };
            quiet = 0;
            self.masses.enter_column(program, s, z);
            prices = self.masses.prices(program);
        }
    }

    /// What the population of the basis gains.
    fn lower(&self) -> f64 {
        let moves = self.masses.moves();
        sum(moves.len(), |m| {
            let (source, place, mass) = moves[m];
            mass * self.program.gain(source, place)
        })
    }
}

fn none_found() -> Error {
    Error::numeric(
        "no population that meets what is known was found within the limit on evaluations",
    )
}

/// What is more than rounding at these prices.
fn least(prices: &Prices) -> f64 {
    ROUNDING * prices.rows.iter().fold(1.0, |most: f64, price| most.max(price.abs()))
}
