//! What is known of a target, on the contexts of a log: from what is said of single columns to facts.
//!
//! A share that is from `n` people is in Wilson's interval, a mean within `1.96 sd / √n`; `within` says
//! outright by how much a number may be off, and the wider of the two holds. Shares of all levels sum
//! to one: those that do not, by rounding or by no more than ranges and `within` leave open, are moved
//! until they do. A sample's size excuses no sum: the shares of any sample sum to one.
//!
//! The mean of a binned column is that of the numbers in its bins, as the rows have them; where a counted
//! table does not tell those, that of the middles.
//!
//! Not here: whether facts about several columns can be at once (balancing tells).

use crate::other_table::code_of;
use crate::prepare::PreparedStudy;
use crate::read::{Distinct, nearest};
use crate::study::{Context, KnownSpec, Span};
use crate::words::number;
use seawall::{Fact, Kind, Known, LevelMoments, Quantity, Result, Space};
use std::collections::HashSet;

/// The normal quantile of 95% intervals.
const Z: f64 = 1.959_963_984_540_054;
/// What rounding may add to a share, at most.
const ROUNDING: f64 = 0.0005;
/// A sum that is nearer to one than this is one.
const EXACT: f64 = 1e-9;
/// Levels told in a message; more are counted.
const TOLD: usize = 20;

impl PreparedStudy {
    /// What is known of the target where there is no sample of it; None if nothing is.
    pub fn known(&self) -> Result<Option<Known>> {
        let said = &self.study.target.known;
        // A sample that was asked about in place of the study's own target says more.
        if said.is_empty() || self.target.is_some() {
            return Ok(None);
        }
        let space = self.log().contexts();
        let mut facts = Vec::new();
        for spec in said {
            let feature = space.feature(&spec.column)?;
            facts.extend(self.facts(spec, feature)?);
        }
        Known::new(space.clone(), facts).map(Some).map_err(|e| e.within(self.study.path.display()))
    }

    /// What to know of means that are said of columns whose bins' numbers nobody knows.
    pub(crate) fn means_note(&self) -> Option<String> {
        let space = self.log().contexts();
        let lacks = |spec: &&KnownSpec| {
            let feature = space.feature(&spec.column);
            spec.mean.is_some() && feature.is_ok_and(|k| self.counted.moments.is_unknown(k))
        };
        let known = &self.study.target.known;
        let columns: Vec<String> =
            known.iter().filter(lacks).map(|spec| format!("{:?}", spec.column)).collect();
        (!columns.is_empty() && self.target.is_none()).then(|| {
            format!(
                "the counted table has no means of what is in the bins of {} (mean_COLUMN, sd_COLUMN), so \
                 each bin counts as its middle where a mean is known; count the rows again",
                columns.join(", ")
            )
        })
    }

    /// The facts about one column.
    fn facts(&self, spec: &KnownSpec, feature: usize) -> Result<Vec<Fact>> {
        let mut facts = Vec::new();
        if let Some(mean) = spec.mean {
            facts.push(self.mean(spec, mean, feature)?);
        }
        if !spec.shares.is_empty() {
            facts.extend(self.shares(spec, feature)?);
        }
        Ok(facts)
    }

    fn people(&self, spec: &KnownSpec) -> Option<f64> {
        spec.size.or(self.study.target.size)
    }

    fn mean(&self, spec: &KnownSpec, said: Span, feature: usize) -> Result<Fact> {
        let space = self.log().contexts();
        let (least, most) = ends(space, feature);
        if said.low > most || said.high < least {
            let told = match said.low == said.high {
                true => said.low.to_string(),
                false => format!("from {} to {}", said.low, said.high),
            };
            return Err(spec.error(format!(
                "the mean is {told}; expected a number from {} to {}, which is what the log has; the \
                 study can declare more with min and max",
                number(least),
                number(most)
            )));
        }
        let sampling = match self.people(spec) {
            None => 0.0,
            Some(people) => {
                let sd = spec.sd.map_or_else(|| self.own_deviation(feature), Ok)?;
                Z * sd / people.sqrt()
            }
        };
        let slack = sampling.max(spec.within.unwrap_or(0.0));
        let (value, low, high) = (said.middle(), said.low - slack, said.high + slack);
        Ok(Fact { feature, quantity: Quantity::Mean, value, low, high })
    }

    /// The standard deviation of a numeric column in the log.
    fn own_deviation(&self, feature: usize) -> Result<f64> {
        let population = self.log().population()?;
        Ok(moments(self.log().contexts(), population.weights(), feature).map_or(0.0, |m| m.1))
    }

    fn shares(&self, spec: &KnownSpec, feature: usize) -> Result<Vec<Fact>> {
        let space = self.log().contexts();
        let context = &self.study.contexts[feature];
        if space.levels(feature).is_empty() {
            return Err(spec.error(
                "the column's numbers are not cut into bins, so there are no levels to have shares; \
                 give its mean, or say bin = ... under [context]",
            ));
        }
        let people = self.people(spec);
        let (mut facts, mut seen) = (Vec::new(), HashSet::new());
        for (level, said) in &spec.shares {
            let at = level_of(context, space, feature, level).map_err(|what| spec.error(what))?;
            if !seen.insert(at) {
                let label = &space.levels(feature)[at];
                return Err(spec.error(format!("the share of {label:?} is said twice")));
            }
            let within = spec.within.unwrap_or(0.0);
            let (low, high) = ((said.low - within).max(0.0), (said.high + within).min(1.0));
            let value = said.middle();
            facts.push(Fact { feature, quantity: Quantity::Share(at), value, low, high });
        }
        let whole = facts.len() == space.levels(feature).len();
        summed(&mut facts, whole).map_err(|what| spec.error(what))?;
        if let Some(people) = people {
            for (fact, (_, said)) in facts.iter_mut().zip(&spec.shares) {
                fact.low = fact.low.min(wilson(said.low, people).0);
                fact.high = fact.high.max(wilson(said.high, people).1);
            }
        }
        Ok(facts)
    }
}

/// Mean and standard deviation of a numeric column among those who have a value; None if nobody has.
pub(crate) fn moments(space: &Space, weights: &[f64], feature: usize) -> Option<(f64, f64)> {
    let some = || {
        let there = weights.iter().enumerate().filter(|(_, w)| **w > 0.0);
        there.filter_map(|(i, w)| space.moments_at(i, feature).map(|m| (m, *w)))
    };
    let total: f64 = some().map(|(_, w)| w).sum();
    if total == 0.0 {
        return None;
    }
    let mean = some().map(|(m, w)| w * m.mean).sum::<f64>() / total;
    let square = |m: LevelMoments| (m.mean - mean).powi(2) + m.variance;
    let variance = some().map(|(m, w)| w * square(m)).sum::<f64>() / total;
    Some((mean, variance.sqrt()))
}

/// The least and the greatest number of a numeric column.
fn ends(space: &Space, feature: usize) -> (f64, f64) {
    let span = |all: &mut dyn Iterator<Item = f64>| {
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)))
    };
    let level = |level: usize| space.level_moments(feature, level).map(|m| m.mean);
    match space.levels(feature).len() {
        0 => span(&mut (0..space.len()).filter_map(|i| space.number_at(i, feature))),
        levels => span(&mut (0..levels).filter_map(level)),
    }
}

/// The level that a text means: its label, another spelling of it, or a number in its bin.
fn level_of(
    context: &Context,
    space: &Space,
    feature: usize,
    text: &str,
) -> std::result::Result<usize, String> {
    let mut distinct = Distinct::default();
    distinct.code_of_text(Some(text));
    let what = match code_of(context, space, feature, &distinct, 0) {
        Ok(code) => return Ok(code as usize),
        Err(what) => what,
    };
    if context.kind == Kind::Numeric {
        return Err(what);
    }
    let labels: Vec<&str> = space.levels(feature).iter().map(String::as_str).collect();
    let near = nearest(text, &labels).map_or(String::new(), |n| format!("; did you mean {n:?}?"));
    let some = labels.iter().take(TOLD).copied().collect::<Vec<_>>().join(", ");
    let more = labels.len().saturating_sub(TOLD);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(format!(
        "{text:?} is none of the column's levels{near} (there are: {some}{more}); one that the log \
         does not have is declared under [context], with levels = [...]"
    ))
}

/// Wilson's interval of a share of so many people; the share is in it.
fn wilson(share: f64, people: f64) -> (f64, f64) {
    let middle = share + Z * Z / (2.0 * people);
    let half = Z * (share * (1.0 - share) / people + (Z / (2.0 * people)).powi(2)).sqrt();
    let scale = 1.0 + Z * Z / people;
    (((middle - half) / scale).clamp(0.0, share), ((middle + half) / scale).clamp(share, 1.0))
}

/// Moves shares until they sum to one, all levels being there, or to no more than one.
fn summed(facts: &mut [Fact], whole: bool) -> std::result::Result<(), String> {
    let sum = |of: &dyn Fn(&Fact) -> f64| facts.iter().map(of).sum::<f64>();
    let (value, low, high) = (sum(&|f| f.value), sum(&|f| f.low), sum(&|f| f.high));
    if (value - 1.0).abs() <= EXACT || (!whole && value < 1.0) {
        return Ok(());
    }
    if value > 1.0 && low <= 1.0 && low < value {
        let part = (value - 1.0) / (value - low);
        facts.iter_mut().for_each(|f| f.value = (f.value - part * (f.value - f.low)).max(f.low));
        return Ok(());
    }
    if value < 1.0 && high >= 1.0 && high > value {
        let part = (1.0 - value) / (high - value);
        facts.iter_mut().for_each(|f| f.value = (f.value + part * (f.high - f.value)).min(f.high));
        return Ok(());
    }
    if (value - 1.0).abs() <= ROUNDING * facts.len() as f64 + EXACT {
        for fact in facts {
            let scaled = |x: f64| (x / value).min(1.0);
            (fact.value, fact.low, fact.high) =
                (scaled(fact.value), scaled(fact.low), scaled(fact.high));
        }
        return Ok(());
    }
    // As it was written, without the noise of adding.
    let told = (value * 1e9).round() / 1e9;
    let told = format!("the shares sum to {told}; expected 1");
    Err(match whole {
        true => {
            format!("{told}, for these are all levels (within = ... says how far off each may be)")
        }
        false => format!("{told} or less"),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn facts(all: &[(f64, f64, f64)]) -> Vec<Fact> {
        let share = |(k, &(low, value, high)): (usize, &(f64, f64, f64))| Fact {
            feature: 0,
            quantity: Quantity::Share(k),
            value,
            low,
            high,
        };
        all.iter().enumerate().map(share).collect()
    }

    #[test]
    fn wilson_holds_the_share_at_every_size() {
        for people in [1.0, 7.0, 1200.0, 1e9] {
            for share in [0.0, 1e-9, 0.03, 0.5, 0.999, 1.0] {
                let (low, high) = wilson(share, people);
                assert!(0.0 <= low && low <= share && share <= high && high <= 1.0);
                assert!(high > low);
            }
        }
        // 47 of 100: the interval that textbooks print.
        let (low, high) = wilson(0.47, 100.0);
        assert!((low - 0.3750).abs() < 1e-3 && (high - 0.5671).abs() < 1e-3, "{low} {high}");
    }

    #[test]
    fn shares_are_moved_to_one_within_what_is_open() {
        let exact = |x: f64| (x, x, x);
        let sum = |facts: &[Fact]| facts.iter().map(|f| f.value).sum::<f64>();
        let inside = |facts: &[Fact]| facts.iter().all(|f| f.low <= f.value && f.value <= f.high);
        for (case, whole) in [
            // Rounding.
            (vec![exact(0.333), exact(0.333), exact(0.333)], true),
            (vec![exact(0.3335), exact(0.333), exact(0.334)], true),
            (vec![exact(0.5005), exact(0.5)], false),
            // Ranges.
            (vec![(0.4, 0.45, 0.5), (0.4, 0.45, 0.5)], true),
            (vec![(0.1, 0.15, 0.2), (0.7, 0.9, 1.0)], true),
            (vec![(0.0, 0.0, 0.1), (0.9, 0.9, 0.95), exact(0.02)], true),
        ] {
            let mut moved = facts(&case);
            summed(&mut moved, whole).unwrap();
            assert!((sum(&moved) - 1.0).abs() < 1e-12 && inside(&moved), "{moved:?}");
        }
        let mut part = facts(&[exact(0.3), exact(0.2)]);
        summed(&mut part, false).unwrap();
        assert_eq!(part, facts(&[exact(0.3), exact(0.2)]));
        for (case, whole, told) in [
            (vec![exact(0.47), exact(0.43)], true, "sum to 0.9; expected 1, for"),
            (vec![exact(0.7), exact(0.4)], true, "sum to 1.1"),
            (vec![exact(0.7), exact(0.4)], false, "sum to 1.1; expected 1 or less"),
            (vec![(0.4, 0.42, 0.45), (0.4, 0.42, 0.45)], true, "sum to 0.84"),
        ] {
            let error = summed(&mut facts(&case), whole).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
