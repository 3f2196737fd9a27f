//! Stage 2. What is known of a population of which nobody is seen: means of single columns, and shares
//! of their levels.
//!
//! ```text
//! low_j ≤ E_Q φ_j(ζ_k) ≤ high_j,    φ_j = 1{ζ_k is a level}   or   ζ_k − value_j, 0 where missing
//! ```
//!
//! Each fact is about one column, so what is known separates by column, as the ground cost does. A
//! fact is exact where `low = value = high`; a range may come from a sample's size, from rounding, or
//! from somebody who knows no better.
//!
//! Not here: weights that meet the facts ([`crate::transfer`]), and the worst population that does
//! (a set of the next stage).

use crate::error::{Error, Result};
use crate::population::Population;
use crate::space::{Kind, Space};
use std::sync::Arc;

/// Shares that sum to 1 but for this are all of a column's.
const WHOLE: f64 = 1e-9;

/// What a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The mean of a numeric column among those who have a value; of a bin the mean of its numbers, where
    /// that is known ([`Space::with_level_moments`]).
    Mean,
    /// The share of a level, by its place among the column's levels.
    Share(usize),
}

/// One number that is known of a population, or the range that it is in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fact {
    /// The column.
    pub feature: usize,
    /// What of it is known.
    pub quantity: Quantity,
    /// The number.
    pub value: f64,
    /// It is not below this.
    pub low: f64,
    /// It is not above this.
    pub high: f64,
}

impl Fact {
    /// A number that is known exactly.
    pub fn exact(feature: usize, quantity: Quantity, value: f64) -> Self {
        Fact { feature, quantity, value, low: value, high: value }
    }

    /// The same number, which may be off by so much; a share stays one.
    #[must_use]
    pub fn give_or_take(self, slack: f64) -> Self {
        let (low, high) = (self.value - slack, self.value + slack);
        match self.quantity {
            Quantity::Mean => Fact { low, high, ..self },
            Quantity::Share(_) => Fact { low: low.max(0.0), high: high.min(1.0), ..self },
        }
    }

    /// Whether nothing is left open.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// The range of `E φ`.
    pub fn range(&self) -> (f64, f64) {
        (self.low - self.origin(), self.high - self.origin())
    }

    /// What `E φ` is where the number is exactly the value.
    pub fn goal(&self) -> f64 {
        self.value - self.origin()
    }

    /// `φ` at a point of a space.
    pub fn at(&self, space: &Space, point: usize) -> f64 {
        match self.quantity {
            Quantity::Mean => {
                space.moments_at(point, self.feature).map_or(0.0, |m| m.mean - self.value)
            }
            Quantity::Share(level) => {
                f64::from(u8::from(space.code(point, self.feature) == level as f64))
            }
        }
    }

    fn origin(&self) -> f64 {
        match self.quantity {
            Quantity::Mean => self.value,
            Quantity::Share(_) => 0.0,
        }
    }
}

/// What is known of a population.
///
/// ```
/// use seawall::{Fact, Feature, Known, Population, Quantity, Space};
/// use std::sync::Arc;
/// let age = Feature::numeric("age").levels([40.0, 60.0, 80.0]);
/// let space = Arc::new(Space::grid([age, Feature::nominal("sex", ["F", "M"])])?);
/// let known = Known::new(space.clone(), vec![
///     Fact::exact(0, Quantity::Mean, 71.4),
///     Fact::exact(1, Quantity::Share(0), 0.47).give_or_take(0.02),
/// ])?;
/// let even = Population::from_weights(space, vec![1.0; 6])?;
/// assert!(!known.holds_for(&even, 1e-9)?);
/// # Ok::<(), seawall::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Known {
    space: Arc<Space>,
    facts: Vec<Fact>,
    limits: Vec<(usize, f64)>,
}

impl Known {
    /// Facts about the columns of a space, each possible on its own; those of one column in a row.
    pub fn new(space: Arc<Space>, mut facts: Vec<Fact>) -> Result<Self> {
        facts.iter().try_for_each(|fact| check(&space, fact))?;
        facts.sort_by_key(|fact| fact.feature);
        for of_column in facts.chunk_by(|a, b| a.feature == b.feature) {
            check_column(&space, of_column)?;
        }
        Ok(Known { space, facts, limits: Vec::new() })
    }

    /// Everything that single columns say of a population: the share of every level, the mean of a
    /// numeric column without levels.
    pub fn margins_of(population: &Population) -> Result<Self> {
        let space = population.space();
        let mut facts = Vec::new();
        for feature in 0..space.names().len() {
            match space.levels(feature).len() {
                0 => facts.push(Fact::exact(feature, Quantity::Mean, 0.0)),
                levels => facts.extend(
                    (0..levels).map(|level| Fact::exact(feature, Quantity::Share(level), 0.0)),
                ),
            }
        }
        let open = Known { space: space.clone(), facts, limits: Vec::new() };
        open.measured_on(population)
    }

    /// The same facts as they are in another population of the space, with what is left open here. What
    /// levels stand for there is what that population's own space says.
    pub fn measured_on(&self, population: &Population) -> Result<Self> {
        self.space.same_as(population.space())?;
        let fact = |fact: &Fact| {
            let value = measure(fact, population);
            let (below, above) = (fact.value - fact.low, fact.high - fact.value);
            let (low, high) = (value - below, value + above);
            match fact.quantity {
                Quantity::Mean => Fact { value, low, high, ..*fact },
                Quantity::Share(_) => {
                    Fact { value, low: low.max(0.0), high: high.min(1.0), ..*fact }
                }
            }
        };
        let facts = self.facts.iter().map(fact).collect();
        Ok(Known { space: self.space.clone(), facts, limits: self.limits.clone() })
    }

    /// The same facts about another space that has the columns and levels by name.
    pub fn on(&self, space: &Arc<Space>) -> Result<Self> {
        let names: Vec<&str> = self.space.names().collect();
        let fact = |fact: &Fact| -> Result<Fact> {
            let feature = space.feature(names[fact.feature])?;
            let quantity = match fact.quantity {
                Quantity::Mean => Quantity::Mean,
                Quantity::Share(level) => {
                    let label = &self.space.levels(fact.feature)[level];
                    let at = space.levels(feature).iter().position(|l| l == label);
                    Quantity::Share(at.ok_or_else(|| {
                        let name = names[fact.feature];
                        Error::config(format!("column {name:?}: no level {label:?} any more"))
                    })?)
                }
            };
            Ok(Fact { feature, quantity, ..*fact })
        };
        let facts = self.facts.iter().map(fact).collect::<Result<_>>()?;
        let limit = |&(k, radius): &(usize, f64)| Ok((space.feature(names[k])?, radius));
        let limits = self.limits.iter().map(limit).collect::<Result<_>>()?;
        Ok(Known { limits, ..Known::new(space.clone(), facts)? })
    }

    /// The same, where moves along one column cost at most so much on average: `Σ γ c_k ≤ radius`,
    /// whatever the radius of all columns together is. For sets that move people.
    pub fn moving_at_most(mut self, feature: usize, radius: f64) -> Result<Self> {
        let Some(name) = self.space.names().nth(feature) else {
            let count = self.space.names().len();
            return Err(Error::input(format!("column {feature} of {count}")));
        };
        if !(radius >= 0.0 && radius.is_finite()) {
            return Err(Error::input(format!(
                "column {name:?}: moves along it cost at most {radius}; expected a finite number ≥ 0"
            )));
        }
        self.limits.retain(|(k, _)| *k != feature);
        self.limits.push((feature, radius));
        self.limits.sort_unstable_by_key(|(k, _)| *k);
        Ok(self)
    }

    /// The same without what is said of columns other than those chosen; limits stay.
    #[must_use]
    pub fn about(mut self, chosen: impl Fn(usize) -> bool) -> Self {
        self.facts.retain(|fact| chosen(fact.feature));
        self
    }

    /// What moves along single columns cost at most on average, by column.
    pub fn limits(&self) -> &[(usize, f64)] {
        &self.limits
    }

    /// The space whose columns they are about.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// The facts, those of one column in a row.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// The facts about one column.
    pub fn of(&self, feature: usize) -> &[Fact] {
        let from = self.facts.partition_point(|f| f.feature < feature);
        let to = self.facts.partition_point(|f| f.feature <= feature);
        &self.facts[from..to]
    }

    /// Whether all the shares of a column are known.
    pub fn has_margin(&self, feature: usize) -> bool {
        let shares = self.of(feature).iter().filter(|f| f.quantity != Quantity::Mean);
        let (mut count, mut sum) = (0, 0.0);
        shares.for_each(|f| (count, sum) = (count + 1, sum + f.value));
        count > 0 && (count == self.space.levels(feature).len() || (sum - 1.0).abs() <= WHOLE)
    }

    /// A fact in words: `mean of AGE`, `share of SEX=F`.
    pub fn describe(&self, fact: &Fact) -> String {
        let name = self.space.names().nth(fact.feature).unwrap_or_default();
        match fact.quantity {
            Quantity::Mean => format!("mean of {name}"),
            Quantity::Share(level) => {
                format!("share of {name}={}", self.space.levels(fact.feature)[level])
            }
        }
    }

    /// Whether every fact holds for a population, give or take a tolerance.
    pub fn holds_for(&self, population: &Population, tolerance: f64) -> Result<bool> {
        self.space.same_as(population.space())?;
        let holds = |fact: &Fact| {
            let (value, size) = (measure(fact, population), fact.value.abs().max(1.0));
            value >= fact.low - tolerance * size && value <= fact.high + tolerance * size
        };
        Ok(self.facts.iter().all(holds))
    }
}

/// What a fact's number is in a population.
fn measure(fact: &Fact, population: &Population) -> f64 {
    let (space, weights) = (population.space(), population.weights());
    let some = weights.iter().enumerate().filter(|(_, p)| **p > 0.0);
    match fact.quantity {
        Quantity::Share(_) => some.map(|(i, p)| p * fact.at(space, i)).sum(),
        Quantity::Mean => {
            let number = |i: usize| space.moments_at(i, fact.feature).map(|m| m.mean);
            let (mut sum, mut mass) = (0.0, 0.0);
            for (x, p) in some.filter_map(|(i, p)| number(i).map(|x| (x, p))) {
                (sum, mass) = (sum + p * x, mass + p);
            }
            if mass > 0.0 { sum / mass } else { 0.0 }
        }
    }
}

/// Refuses what no column can be.
fn check(space: &Space, fact: &Fact) -> Result<()> {
    let Some(name) = space.names().nth(fact.feature) else {
        return Err(Error::input(format!("column {} of {}", fact.feature, space.names().len())));
    };
    let Fact { value, low, high, .. } = *fact;
    let refused = |what: String| Err(Error::input(format!("column {name:?}: {what}")));
    if ![value, low, high].iter().all(|x| x.is_finite()) || low > value || value > high {
        return refused(format!(
            "{value} between {low} and {high}; expected finite numbers in order"
        ));
    }
    match fact.quantity {
        Quantity::Share(level) => {
            let levels = space.levels(fact.feature);
            if level >= levels.len() {
                return refused(format!("level {level} of {}", levels.len()));
            }
            if low < 0.0 || high > 1.0 {
                let level = &levels[level];
                return refused(format!(
                    "the share of {level:?} is {value}, from {low} to {high}; expected shares from 0 \
                     to 1"
                ));
            }
        }
        Quantity::Mean => {
            if space.kind(fact.feature) != Kind::Numeric {
                return refused("only a numeric column has a mean; give its shares".to_owned());
            }
            let (least, most) = numbers(space, fact.feature);
            if !(low <= most && high >= least) {
                return refused(format!(
                    "the mean is {value}; expected a number from {least} to {most}"
                ));
            }
        }
    }
    Ok(())
}

/// The least and the largest number of a numeric column.
fn numbers(space: &Space, feature: usize) -> (f64, f64) {
    let all = (0..space.len()).filter_map(|i| space.moments_at(i, feature)).map(|m| m.mean);
    all.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), x| (least.min(x), most.max(x)))
}

/// Refuses shares of one column that cannot be at once.
fn check_column(space: &Space, facts: &[Fact]) -> Result<()> {
    let name = space.names().nth(facts[0].feature).unwrap_or_default();
    let refused = |what: String| Err(Error::input(format!("column {name:?}: {what}")));
    let mut seen = Vec::new();
    let (mut low, mut high) = (0.0, 0.0);
    for fact in facts {
        if seen.contains(&fact.quantity) {
            return refused("the same is said twice".to_owned());
        }
        seen.push(fact.quantity);
        if fact.quantity != Quantity::Mean {
            (low, high) = (low + fact.low, high + fact.high);
        }
    }
    let shares = seen.iter().filter(|q| **q != Quantity::Mean).count();
    if low > 1.0 + WHOLE {
        return refused(format!("the shares sum to {low}; expected 1"));
    }
    if shares == space.levels(facts[0].feature).len() && shares > 0 && high < 1.0 - WHOLE {
        return refused(format!("the shares sum to {high}; expected 1"));
    }
    let mean = facts.iter().find(|f| f.quantity == Quantity::Mean);
    match mean.filter(|mean| shares > 0 && !can_be(space, facts, mean)) {
        None => Ok(()),
        Some(mean) => {
            refused(format!("a mean of {} and these shares cannot be at once", mean.value))
        }
    }
}

/// Whether some shares within their ranges have a mean within its range: whether `Σ q (x − low)` can be 0
/// or more, and `Σ q (x − high)` 0 or less, over those who have a value.
fn can_be(space: &Space, facts: &[Fact], mean: &Fact) -> bool {
    let range = |level: usize| {
        let own = facts.iter().find(|f| f.quantity == Quantity::Share(level));
        own.map_or((0.0, 1.0), |f| (f.low, f.high))
    };
    let from = |origin: f64| -> Vec<(f64, (f64, f64))> {
        let number = |level: usize| space.level_moments(mean.feature, level).map(|m| m.mean);
        let above = |level: usize| number(level).map_or(0.0, |x| x - origin);
        let levels = 0..space.levels(mean.feature).len();
        levels.map(|level| (above(level), range(level))).collect()
    };
    let slack = WHOLE * (1.0 + mean.value.abs());
    let mut upward = from(mean.low);
    upward.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut downward = from(mean.high);
    downward.sort_by(|a, b| a.0.total_cmp(&b.0));
    filled(&upward) >= -slack && filled(&downward) <= slack
}

/// `Σ q v` where everyone has the least share and the rest goes to the first ones, as far as it may.
fn filled(levels: &[(f64, (f64, f64))]) -> f64 {
    let mut rest = 1.0 - levels.iter().map(|(_, (low, _))| low).sum::<f64>();
    let share = |&(value, (low, high)): &(f64, (f64, f64))| {
        let more = rest.clamp(0.0, high - low);
        rest -= more;
        value * (low + more)
    };
    levels.iter().map(share).sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::space::Feature;

    fn space() -> Arc<Space> {
        let age = Feature::numeric("age").levels([40.0, 60.0, 80.0]);
        Arc::new(Space::grid([age, Feature::nominal("sex", ["F", "M"])]).unwrap())
    }

    #[test]
    fn margins_hold_for_whom_they_are_of_and_for_nobody_else() {
        let space = space();
        let one = Population::from_counts(space.clone(), &[1, 2, 0, 4, 5, 6]).unwrap();
        let other = Population::from_counts(space.clone(), &[1, 2, 3, 4, 5, 6]).unwrap();
        let known = Known::margins_of(&one).unwrap();
        assert_eq!(known.facts().len(), 5);
        assert!(known.has_margin(0) && known.has_margin(1));
        assert!(known.holds_for(&one, 1e-12).unwrap());
        assert!(!known.holds_for(&other, 1e-3).unwrap());
        assert!(known.measured_on(&other).unwrap().holds_for(&other, 1e-12).unwrap());
        // 1/18 + 5/18 of women at 40 and 80, and so on: φ's mean is what the fact says.
        for fact in known.facts() {
            let mean: f64 = (0..6).map(|i| one.weights()[i] * fact.at(&space, i)).sum::<f64>();
            assert!((mean - fact.goal()).abs() < 1e-12);
        }
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_column() {
        let refused = |facts: Vec<Fact>, what: &str| {
            let error = Known::new(space(), facts).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        };
        let share = |level, value| Fact::exact(1, Quantity::Share(level), value);
        refused(vec![share(0, 0.5), share(1, 0.4)], "\"sex\": the shares sum to 0.9");
        refused(vec![share(0, 0.7), share(1, 0.4)], "the shares sum to 1.1");
        refused(vec![share(0, 1.2)], "from 0 to 1");
        refused(vec![share(0, 0.5), share(0, 0.5)], "twice");
        refused(vec![Fact::exact(0, Quantity::Mean, 99.0)], "from 40 to 80");
        refused(vec![Fact::exact(1, Quantity::Mean, 0.5)], "only a numeric column");
        let old = |share| Fact::exact(0, Quantity::Share(2), share);
        let mean = Fact::exact(0, Quantity::Mean, 60.0);
        // With nine in ten at 80 the mean is at least 76.
        refused(vec![mean, old(0.9)], "cannot be at once");
        Known::new(space(), vec![mean, old(0.5)]).unwrap();
        Known::new(space(), vec![mean.give_or_take(16.0), old(0.9)]).unwrap();
        Known::new(space(), vec![share(0, 0.5), share(1, 0.4).give_or_take(0.2)]).unwrap();
    }
}
