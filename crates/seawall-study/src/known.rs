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
use crate::study::{Context, KnownSpec, Span};
use crate::words::number;
use seawall::{
    Fact, Kind, Known, LevelMoments, Quantity, Result, Space, sum_to_one, wilson_interval,
};
use seawall_table::read::{Distinct, nearest};
use std::collections::HashSet;

/// The normal quantile of 95% intervals.
const Z: f64 = 1.959_963_984_540_054;
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
        Known::new(space.clone(), facts)
            .map(Some)
            .map_err(|e| e.within(self.study.path().display()))
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
            let told = if said.low == said.high {
                said.low.to_string()
            } else {
                format!("from {} to {}", said.low, said.high)
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
        let context = &self.study.data.contexts[feature];
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
        let facts = sum_to_one(&facts, whole).map_err(|what| spec.error(what))?;
        let sampled = |(fact, (_, said)): (Fact, &(String, Span))| match people {
            None => fact,
            Some(people) => Fact {
                low: fact.low.min(wilson_interval(said.low, people).0),
                high: fact.high.max(wilson_interval(said.high, people).1),
                ..fact
            },
        };
        Ok(facts.into_iter().zip(&spec.shares).map(sampled).collect())
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
