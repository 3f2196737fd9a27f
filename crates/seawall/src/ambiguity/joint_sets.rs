//! People with what would happen to them under each action: where a policy can be made to meet which
//! of their outcomes, and at what cost.
//!
//! A person is a context `x` and outcomes `y_1 .. y_A`; moving costs `c(x, x') + κ Σ_a |y_a − y'_a|`.
//! A policy is a few different ways to act, `π_k`, and `d_k(x)` is the least ground cost from `x` to a
//! context where it acts so. At a price λ an outcome is worth moving, all the way to the worst one
//! there is, where `π_k(a) > λκ`, so that a person is worth
//!
//! ```text
//! max_k  Σ_a min(π_k(a), λκ) y_a + Σ_a (π_k(a) − λκ)₊ y_max − λ d_k(x)
//! ```
//!
//! Data say how each outcome is spread in a context, never how the outcomes of one person go together
//! ([`Coupling`]). The bracket is submodular in a pair of outcomes (along the ways to act, ordered by
//! `π_k(1)`, the weight of `y_1` rises and that of `y_2` falls), so of two actions the worst coupling
//! sets one's lowest beside the other's highest, and the best sets like beside like, of any number. Of
//! more actions, one a context, the worst is the best use of each outcome's upper end (Lai and Robbins):
//!
//! ```text
//! max over couplings of E max_a Z_a  =  min_t  t + Σ_a E (Z_a − t)₊
//! ```
//!
//! Not here: the search for λ (`joint_wasserstein`).

use super::geometry::Geometry;
use super::values::{Direction, ValueUnits};
use crate::error::{Error, Field, Result};
use crate::kernel::order::Price;
use crate::kernel::sum::sums;
use crate::population::Population;
use crate::progress::Watch;
use rayon::prelude::*;

/// How a person's outcomes under different actions go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coupling {
    /// The worst outcome of one action with the worst of every other: the best coupling.
    Together,
    /// The worst of one with the best of the other: the worst coupling of two actions.
    Opposite,
    /// As the adversary likes at each price: the worst coupling of actions that are not drawn.
    Free,
}

/// The outcomes of some contexts under one action.
pub(crate) struct OutcomeMargins {
    /// Which of the spreads each source has.
    pub of: Vec<u32>,
    /// Values and their weights.
    pub spreads: Vec<Vec<(f64, f64)>>,
}

/// A policy on a support: the ways it acts and where.
pub(crate) struct PolicyRegions {
    /// Of each way the probabilities of the actions, those that are ever taken.
    pub ways: Vec<Vec<f64>>,
    /// The way of each point of the support.
    pub of: Vec<u32>,
}

impl PolicyRegions {
    /// Whether no action is drawn at random.
    pub fn is_certain(&self) -> bool {
        self.ways.iter().all(|way| way.iter().all(|p| *p == 0.0 || *p == 1.0))
    }

    /// From each source to the nearest place of each way: `[source · ways + way]`.
    pub fn nearest(&self, geometry: &Geometry, watch: Watch<'_>) -> Result<Vec<Arrival>> {
        let (count, sources) = (self.ways.len(), geometry.sources());
        let mut arrivals = vec![Arrival { to: 0, cost: f64::INFINITY }; sources.len() * count];
        for way in 0..count {
            let there: Vec<f64> =
                self.of.iter().map(|w| f64::from(u8::from(*w as usize == way))).collect();
            for (s, found) in geometry.nearest(&there, watch)?.into_iter().enumerate() {
                if let Some((to, cost)) = found {
                    arrivals[s * count + way] = Arrival { to, cost };
                }
            }
        }
        Ok(arrivals)
    }
}

/// Where a way to act is nearest, and what going there costs: infinite where there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub to: u32,
    pub cost: f64,
}

/// What was chosen for some of a source's people.
#[derive(Clone, Copy)]
struct PersonChoice {
    way: usize,
    /// The share of the source's people.
    share: f64,
    value: f64,
    cost: f64,
}

/// People at their sources, and what a policy can be made to do to them.
pub(crate) struct JointPeople {
    population: Population,
    sources: Vec<u32>,
    ways: Vec<Vec<f64>>,
    arrivals: Vec<Arrival>,
    /// Of each action: which spread each source has, and the spreads as heights and shares, rising.
    margins: Vec<OutcomeMargins>,
    /// The worst outcome there is, as a height.
    top: f64,
    units: ValueUnits,
    /// What found the nearest places.
    engine: &'static str,
}

impl JointPeople {
    /// A population with a policy and the outcomes of its sources under each of the policy's actions;
    /// `values` are all that an outcome can be.
    pub fn new(
        geometry: &Geometry,
        ways: PolicyRegions,
        margins: Vec<OutcomeMargins>,
        values: &[f64],
        direction: Direction,
        watch: Watch<'_>,
    ) -> Result<Self> {
        if ways.ways.len() > 1 && margins.len() > 2 && !ways.is_certain() {
            return Err(Error::field(
                Field::Set,
                format!(
                    "joint-wasserstein is for policies that draw nothing at random, draw the same way \
                     everywhere, or take two actions at most; this one draws from {} actions in {} \
                     ways",
                    margins.len(),
                    ways.ways.len()
                ),
            ));
        }
        let units = ValueUnits::new(values.iter().fold(0.0, |m: f64, y| m.max(y.abs())), direction);
        let top = values.iter().map(|&y| units.scaled(y)).fold(f64::NEG_INFINITY, f64::max);
        let rising = |margins: OutcomeMargins| OutcomeMargins {
            of: margins.of,
            spreads: margins.spreads.into_iter().map(|s| rising(s, units)).collect(),
        };
        Ok(JointPeople {
            population: geometry.population().clone(),
            sources: geometry.sources().to_vec(),
            arrivals: ways.nearest(geometry, watch)?,
            ways: ways.ways,
            margins: margins.into_iter().map(rising).collect(),
            top,
            units,
            engine: geometry.engine()?.name(),
        })
    }

    pub(super) fn population(&self) -> &Population {
        &self.population
    }

    pub(super) fn units(&self) -> ValueUnits {
        self.units
    }

    pub(super) fn engine(&self) -> &'static str {
        self.engine
    }

    /// The worst outcome there is, as a height.
    pub(super) fn top(&self) -> f64 {
        self.top
    }

    /// The coupling of the outcomes that is worst for this policy.
    pub(super) fn worst_coupling(&self) -> Coupling {
        match (self.ways.len(), self.margins.len()) {
            // Linear in the outcomes: how they go together is the same.
            (1, _) | (_, 1) => Coupling::Together,
            (_, 2) => Coupling::Opposite,
            _ => Coupling::Free,
        }
    }

    /// What the people spend and reach at a price, mean cost second.
    pub(super) fn reached(&self, coupling: Coupling, price: Price, kappa: f64) -> [f64; 2] {
        let offers = self.offers(price, kappa);
        let of = |s: usize| {
            let mut total = [0.0; 2];
            offers.each(s, coupling, &mut |c: PersonChoice| {
                total[0] += c.share * c.value;
                total[1] += c.share * c.cost;
            });
            total
        };
        let all: Vec<[f64; 2]> =
            (0..self.sources.len()).into_par_iter().with_min_len(32).map(of).collect();
        let weights = self.population.weights();
        sums(all.len(), &|s: usize| all[s].map(|x| weights[self.sources[s] as usize] * x))
    }

    /// Where the people of each source go, at prices that have shares of them: from, to, mass, and what a
    /// unit of it pays.
    pub(super) fn moves(
        &self,
        coupling: Coupling,
        prices: &[(f64, Price)],
        kappa: f64,
    ) -> Vec<(u32, u32, f64, f64)> {
        let offers: Vec<(f64, Offers<'_>)> =
            prices.iter().map(|&(part, price)| (part, self.offers(price, kappa))).collect();
        let of = |s: usize| {
            let mut gone = vec![(0.0, 0.0); self.ways.len()];
            for (part, offers) in &offers {
                offers.each(s, coupling, &mut |c: PersonChoice| {
                    gone[c.way].0 += part * c.share;
                    gone[c.way].1 += part * c.share * c.cost;
                });
            }
            gone
        };
        let all: Vec<Vec<(f64, f64)>> =
            (0..self.sources.len()).into_par_iter().with_min_len(32).map(of).collect();
        let mut moves = Vec::new();
        for (s, gone) in all.into_iter().enumerate() {
            let from = self.sources[s];
            for (way, (share, paid)) in gone.into_iter().enumerate().filter(|(_, g)| g.0 > 0.0) {
                let to = self.arrivals[s * self.ways.len() + way].to;
                let mass = self.population.weights()[from as usize] * share;
                moves.push((from, to, mass, paid / share));
            }
        }
        moves
    }

    fn offers(&self, price: Price, kappa: f64) -> Offers<'_> {
        let moved = |p: &f64| match price {
            Price::Zero => *p > 0.0,
            Price::At(price) => *p > price * kappa,
            Price::Infinite => false,
        };
        let moved = self.ways.iter().map(|way| way.iter().map(moved).collect()).collect();
        Offers { people: self, price, kappa, moved }
    }
}

/// A spread as heights and shares, rising, equal ones together.
fn rising(spread: Vec<(f64, f64)>, units: ValueUnits) -> Vec<(f64, f64)> {
    let total: f64 = spread.iter().map(|y| y.1).sum();
    let some = spread.into_iter().filter(|y| y.1 > 0.0);
    let mut all: Vec<(f64, f64)> = some.map(|(y, w)| (units.scaled(y), w / total)).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    all.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0.0 };
        same
    });
    all
}

/// What people can be made to do at a price.
struct Offers<'p> {
    people: &'p JointPeople,
    price: Price,
    kappa: f64,
    /// Of each way and action: whether its outcome is worth moving.
    moved: Vec<Vec<bool>>,
}

impl Offers<'_> {
    /// What each part of a source's people does.
    fn each(&self, source: usize, coupling: Coupling, found: &mut impl FnMut(PersonChoice)) {
        match coupling {
            Coupling::Free => self.freely(source, found),
            _ => self.coupled(source, coupling == Coupling::Opposite, found),
        }
    }

    /// A source's outcomes under an action.
    fn spread(&self, source: usize, action: usize) -> &[(f64, f64)] {
        let margins = &self.people.margins[action];
        &margins.spreads[margins.of[source] as usize]
    }

    /// What a person with these outcomes reaches and spends by a way; None where it is out of reach.
    fn choice(
        &self,
        source: usize,
        way: usize,
        outcome: impl Fn(usize) -> f64,
    ) -> Option<PersonChoice> {
        let people = self.people;
        let mut cost = people.arrivals[source * people.ways.len() + way].cost;
        let free = self.price != Price::Infinite || cost == 0.0;
        if !(cost.is_finite() && free) {
            return None;
        }
        let mut value = 0.0;
        for (action, &p) in people.ways[way].iter().enumerate().filter(|(_, p)| **p > 0.0) {
            let y = outcome(action);
            if self.moved[way][action] {
                value += p * people.top;
                cost += self.kappa * (people.top - y);
            } else {
                value += p * y;
            }
        }
        Some(PersonChoice { way, share: 1.0, value, cost })
    }

    /// What is best, larger first.
    fn score(&self, choice: &PersonChoice) -> f64 {
        match self.price {
            Price::Zero => -choice.cost,
            Price::At(price) => choice.value - price * choice.cost,
            Price::Infinite => choice.value,
        }
    }

    fn is_better(&self, one: &PersonChoice, other: &PersonChoice) -> bool {
        let (a, b) = (self.score(one), self.score(other));
        a > b || (a == b && one.cost < other.cost)
    }

    /// Outcomes set beside each other from the lowest; the second action's from the highest where
    /// they are opposite.
    fn coupled(&self, source: usize, opposite: bool, found: &mut impl FnMut(PersonChoice)) {
        let spreads: Vec<&[(f64, f64)]> =
            (0..self.people.margins.len()).map(|a| self.spread(source, a)).collect();
        let place = |a: usize, at: usize| {
            if opposite && a == 1 { spreads[a].len().checked_sub(at + 1) } else { Some(at) }
        };
        let get = |a: usize, at: usize| place(a, at).and_then(|at| spreads[a].get(at)).copied();
        let mut at = vec![0; spreads.len()];
        // The next outcome of each action and what is left of its share.
        let mut heads: Vec<(f64, f64)> = Vec::with_capacity(spreads.len());
        for a in 0..spreads.len() {
            let Some(head) = get(a, 0) else { return };
            heads.push(head);
        }
        loop {
            let share = heads.iter().map(|h| h.1).fold(f64::INFINITY, f64::min);
            let mut best: Option<PersonChoice> = None;
            for way in 0..self.people.ways.len() {
                let choice = self.choice(source, way, |a| heads[a].0);
                if let Some(choice) = choice
                    && best.as_ref().is_none_or(|b| self.is_better(&choice, b))
                {
                    best = Some(choice);
                }
            }
            if let Some(choice) = best {
                found(PersonChoice { share, ..choice });
            }
            for a in 0..heads.len() {
                heads[a].1 -= share;
                if heads[a].1 <= 0.0 {
                    at[a] += 1;
                    // The shares sum to 1 but for rounding: the first that is used up ends all.
                    let Some(head) = get(a, at[a]) else { return };
                    heads[a] = head;
                }
            }
        }
    }

    /// The upper ends of the outcomes, each way meeting that of its action, until everyone has one.
    fn freely(&self, source: usize, found: &mut impl FnMut(PersonChoice)) {
        let head = |way: usize, left: usize| -> Option<PersonChoice> {
            let action = self.people.ways[way].iter().position(|p| *p > 0.0)?;
            let (y, share) = *self.spread(source, action).get(left.checked_sub(1)?)?;
            Some(PersonChoice { share, ..self.choice(source, way, |_| y)? })
        };
        let count = |way: usize| {
            let action = self.people.ways[way].iter().position(|p| *p > 0.0);
            action.map_or(0, |a| self.spread(source, a).len())
        };
        // Outcomes left of each way, and the next of them.
        let mut left: Vec<usize> = (0..self.people.ways.len()).map(count).collect();
        let mut heads: Vec<Option<PersonChoice>> =
            left.iter().enumerate().map(|(way, n)| head(way, *n)).collect();
        let mut mass = 1.0;
        while mass > 0.0 {
            let mut best: Option<PersonChoice> = None;
            for choice in heads.iter().flatten() {
                if best.as_ref().is_none_or(|b| self.is_better(choice, b)) {
                    best = Some(*choice);
                }
            }
            let Some(choice) = best else { return };
            found(PersonChoice { share: choice.share.min(mass), ..choice });
            mass -= choice.share;
            left[choice.way] -= 1;
            heads[choice.way] = head(choice.way, left[choice.way]);
        }
    }
}
