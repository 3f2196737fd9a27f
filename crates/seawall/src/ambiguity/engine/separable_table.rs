//! What one feature is worth at a price: `max_z (h(z) − λ c(x, z))` for any `x`.
//!
//! Numbers are looked up in an envelope of steps; levels in a list of the best move from each. Moves
//! that cannot be made have no height at all.

use crate::kernel::metric::Metric;
use crate::kernel::order::{CostFirst, Order, Price, Priced, ValueFirst, better};
use crate::kernel::plateaus::{Plateau, PlateauEnvelope};
use crate::steps::{Extent, Profile};

/// What the rounding of a number may cost, in heights.
const DEAR: f64 = 1e-13;

/// The key of a height and a cost in the order of a price; nothing is worse than what cannot be
/// reached.
#[inline(always)]
pub(super) fn key(price: Price, height: f64, cost: f64) -> (f64, f64) {
    match price {
        Price::Zero => ValueFirst.key(height, cost),
        Price::At(price) => Priced(price).key(height, cost),
        Price::Infinite => CostFirst.key(height, cost),
    }
}

/// The best move from a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spot {
    pub height: f64,
    pub cost: f64,
    /// Where it goes: a level, or a number's coordinate.
    pub to: f64,
}

/// Nowhere to go.
const BLOCKED: Spot = Spot { height: f64::NEG_INFINITY, cost: f64::INFINITY, to: f64::NAN };

impl Spot {
    fn new(height: f64, cost: f64, to: f64) -> Self {
        if cost < f64::INFINITY { Spot { height, cost, to } } else { BLOCKED }
    }

    /// The one to be preferred, this one of two as good.
    fn or(self, other: Spot, price: Price) -> Spot {
        let key = |spot: &Spot| key(price, spot.height, spot.cost);
        if better(key(&other), key(&self)) { other } else { self }
    }
}

/// A feature's moves at a price.
pub(super) enum Table {
    /// By the number that a source has.
    Numbers(Numbers),
    /// By its level.
    Levels(Vec<Spot>),
}

/// Moves from any number.
pub(super) struct Numbers {
    price: Price,
    weight: f64,
    /// No step at all if only what is missing can be reached.
    steps: PlateauEnvelope,
    /// Numbers no further than this from an end of their step may do better in one beside it: none
    /// unless moves are so dear that the rounding of a number costs something.
    close: f64,
    all: Vec<Plateau>,
    /// Going missing: the height, and what it costs.
    gone: Option<(f64, f64)>,
    /// From what is missing.
    from_missing: Spot,
}

impl Table {
    pub fn new(extent: &Extent, profile: &Profile, price: Price) -> Self {
        let metric = extent.metrics[profile.feature];
        if extent.is_line(profile.feature) {
            Table::Numbers(Numbers::new(metric, profile, price))
        } else {
            Table::Levels(levels(&extent.coords[profile.feature], metric, profile, price))
        }
    }

    /// Where a source goes, by its code.
    pub fn landing(&self, code: f64, scale: f64) -> f64 {
        match self {
            Table::Levels(spots) => spots[code as usize].to,
            Table::Numbers(numbers) => numbers.landing(code * scale) / scale,
        }
    }
}

impl Numbers {
    fn new(metric: Metric, profile: &Profile, price: Price) -> Self {
        // Features whose values are any numbers are squared; walls and levels are listed.
        let weight = if let Metric::Square { weight, .. } = metric { weight } else { 0.0 };
        let apart = metric.missing();
        let gone = profile.missing.map(|(height, _)| (height, apart));
        let stay = profile.missing.map_or(BLOCKED, |(height, _)| Spot::new(height, 0.0, f64::NAN));
        let top = highest(&profile.steps);
        let back = top.map_or(BLOCKED, |p| Spot::new(p.height, apart, p.low));
        let steps = envelope(&profile.steps, weight, price);
        let close = match price {
            Price::Infinite if weight > 0.0 => (f64::MIN_POSITIVE / weight).sqrt(),
            Price::At(price) if is_dear(&profile.steps, weight * price) => f64::INFINITY,
            _ => f64::NEG_INFINITY,
        };
        let all = if close >= 0.0 { profile.steps.clone() } else { Vec::new() };
        Numbers { price, weight, steps, close, all, gone, from_missing: stay.or(back, price) }
    }

    /// The best step for a number; there is one.
    #[inline(always)]
    fn step(&self, x: f64) -> Plateau {
        let (step, which) = self.steps.at(x);
        let told_apart = x - step.low > self.close && step.high - x > self.close;
        if told_apart { step } else { self.step_beside(x, step, which as usize) }
    }

    /// The best of the steps beside the one found.
    #[cold]
    fn step_beside(&self, x: f64, found: Plateau, which: usize) -> Plateau {
        let beside = &self.all[which.saturating_sub(1)..(which + 2).min(self.all.len())];
        let around = self.steps.around(x).iter().map(|(step, _)| step);
        let key = |step: &Plateau| key(self.price, step.height, self.cost(x, step));
        around.chain(beside).fold(
            found,
            |best, step| {
                if better(key(step), key(&best)) { *step } else { best }
            },
        )
    }

    #[inline(always)]
    fn cost(&self, x: f64, step: &Plateau) -> f64 {
        let apart = x - step.nearest(x);
        self.weight * apart * apart
    }

    /// The best step for a number; None if it is best to go missing, or if there is nothing at all.
    #[inline(always)]
    fn best(&self, x: f64) -> Option<(Plateau, f64)> {
        if self.steps.is_empty() {
            return None;
        }
        let step = self.step(x);
        let cost = self.cost(x, &step);
        match self.gone {
            Some((height, gone))
                if gone < f64::INFINITY
                    && better(
                        key(self.price, height, gone),
                        key(self.price, step.height, cost),
                    ) =>
            {
                None
            }
            _ => Some((step, cost)),
        }
    }

    /// The height and the cost of the best move from a number.
    #[inline(always)]
    pub fn look_up(&self, x: f64) -> (f64, f64) {
        if x.is_nan() {
            return (self.from_missing.height, self.from_missing.cost);
        }
        match (self.best(x), self.gone) {
            (Some((step, cost)), _) => (step.height, cost),
            (None, Some(gone)) if gone.1 < f64::INFINITY => gone,
            (None, _) => (BLOCKED.height, BLOCKED.cost),
        }
    }

    /// The coordinate that a number goes to.
    fn landing(&self, x: f64) -> f64 {
        if x.is_nan() {
            self.from_missing.to
        } else {
            self.best(x).map_or(f64::NAN, |(step, _)| step.nearest(x))
        }
    }
}

/// Whether a number's rounding is dear: twice the steepness times the range is the price of a unit.
fn is_dear(steps: &[Plateau], steepness: f64) -> bool {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return false };
    let size = first.low.abs().max(last.high.abs());
    2.0 * steepness * (last.high - first.low) * size * f64::EPSILON > DEAR
}

/// The highest step.
fn highest(steps: &[Plateau]) -> Option<&Plateau> {
    steps.iter().reduce(|best, step| if step.height > best.height { step } else { best })
}

/// The best step for any number at a price.
fn envelope(steps: &[Plateau], weight: f64, price: Price) -> PlateauEnvelope {
    let steepness = match price {
        Price::Zero => 0.0,
        Price::At(price) => price * weight,
        Price::Infinite if weight > 0.0 => f64::INFINITY,
        Price::Infinite => 0.0,
    };
    if steepness == 0.0 {
        // Where moves take nothing off: the nearest of the highest.
        let top = highest(steps).map_or(0.0, |p| p.height);
        let high: Vec<Plateau> = steps.iter().copied().filter(|p| p.height == top).collect();
        return PlateauEnvelope::nearest(&high);
    }
    if steepness < f64::INFINITY {
        PlateauEnvelope::new(steps, steepness)
    } else {
        PlateauEnvelope::nearest(steps)
    }
}

/// The best move from each level.
fn levels(coords: &[f64], metric: Metric, profile: &Profile, price: Price) -> Vec<Spot> {
    let mut stay = vec![BLOCKED; coords.len()];
    for (step, &level) in profile.steps.iter().zip(&profile.levels) {
        stay[level as usize] = Spot::new(step.height, 0.0, f64::from(level));
    }
    if let Some((height, level)) = profile.missing {
        stay[level as usize] = Spot::new(height, 0.0, f64::from(level));
    }
    if metric == Metric::Wall {
        return stay;
    }
    let top = profile.steps.iter().zip(&profile.levels);
    let top = top.reduce(|best, step| if step.0.height > best.0.height { step } else { best });
    let lookup = match metric {
        Metric::Square { weight, .. } => Some((weight, TablePlaces::new(profile, weight, price))),
        _ => None,
    };
    let best = |(level, &x): (usize, &f64)| {
        let mut best = stay[level];
        if let Some((height, to)) = profile.missing
            && !x.is_nan()
        {
            best = best.or(Spot::new(height, metric.missing(), f64::from(to)), price);
        }
        match (&lookup, top) {
            (Some((weight, places)), Some(_)) if !x.is_nan() => {
                let (step, to) = places.at(x);
                let cost = weight * (x - step.low) * (x - step.low);
                best.or(Spot::new(step.height, cost, f64::from(to)), price)
            }
            (_, Some((step, &to))) if f64::from(to) != level as f64 => {
                let cost = if x.is_nan() { metric.missing() } else { metric.cost(x, step.low) };
                best.or(Spot::new(step.height, cost, f64::from(to)), price)
            }
            _ => best,
        }
    };
    coords.iter().enumerate().map(best).collect()
}

/// The best of levels that have a place on a line.
struct TablePlaces {
    envelope: PlateauEnvelope,
    /// The places that the envelope is of, each once.
    places: Vec<Plateau>,
    levels: Vec<u32>,
}

impl TablePlaces {
    fn new(profile: &Profile, weight: f64, price: Price) -> Self {
        let (mut places, mut levels): (Vec<Plateau>, Vec<u32>) = (Vec::new(), Vec::new());
        for (step, &level) in profile.steps.iter().zip(&profile.levels) {
            match places.last_mut() {
                // Of levels in one place the highest.
                Some(last) if last.low == step.low => {
                    if step.height > last.height {
                        *last = *step;
                        levels.pop();
                        levels.push(level);
                    }
                }
                _ => {
                    places.push(*step);
                    levels.push(level);
                }
            }
        }
        TablePlaces { envelope: envelope(&places, weight, price), places, levels }
    }

    fn at(&self, x: f64) -> (Plateau, u32) {
        let (step, _) = self.envelope.at(x);
        let which = self.places.partition_point(|p| p.low < step.low);
        (step, self.levels[which])
    }
}
