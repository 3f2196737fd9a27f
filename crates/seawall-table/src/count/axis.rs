//! The coordinates of a space, made from what was counted of the columns they come from.

use crate::read::{BinnedColumn, Distinct, Levels, Order, nearest};
use crate::spec::{Context, Term};
use crate::words::number;
use foldhash::fast::FixedState;
use seawall::{Error, Feature, Kind, Result};
use std::collections::HashSet;
use std::path::Path;

/// Off a grid, a column of more different numbers than these has no levels: any number is a place.
pub(super) const MOST_NUMBERS: usize = 4096;

/// What the levels are called that an outcome does not list.
const ANY_OTHER: &str = "any other level";

/// One coordinate of a space being made: the feature, and where each point counted is along it.
pub(super) struct Axis {
    pub(super) feature: Feature,
    /// How many levels it has; None where any number is a place.
    pub(super) levels: Option<usize>,
    /// By point: its level, or its number where any is a place.
    pub(super) at: Vec<f64>,
    /// Whether a weight was given.
    pub(super) weighed: bool,
    /// For an outcome: what each level adds.
    pub(super) amounts: Vec<f64>,
    /// For an outcome without levels: what one unit of its number adds.
    pub(super) factor: f64,
}

/// What was counted of a column, point by point.
pub(super) enum Counted<'a> {
    /// Codes of distinct values.
    Values(&'a [u32], &'a Distinct),
    /// Codes of bins.
    Bins(&'a [u32], &'a BinnedColumn),
    /// Numbers, NaN where missing.
    Numbers(Vec<f64>),
}

/// How many different numbers there are; beyond `most` it is no longer looked how many.
pub(super) fn different_numbers(numbers: &[f64], most: usize) -> usize {
    let mut known: HashSet<u64, FixedState> = HashSet::default();
    for x in numbers.iter().filter(|x| !x.is_nan()) {
        known.insert(x.to_bits());
        if known.len() > most {
            break;
        }
    }
    known.len()
}

/// The codes that are used, in order.
fn used(codes: &[u32]) -> Vec<u32> {
    let mut used = codes.to_vec();
    used.sort_unstable();
    used.dedup();
    used
}

impl Axis {
    /// A context column. Numbers have levels if they are at most so many.
    pub(super) fn context(
        path: &Path,
        context: &Context,
        counted: Counted<'_>,
        most: usize,
    ) -> Result<Self> {
        let weighed = context.weight.is_some();
        let (feature, levels, at) = match counted {
            Counted::Numbers(numbers) => by_number(&context.name, numbers, most),
            Counted::Bins(codes, binned) => {
                let (feature, levels, level_of) = in_bins(path, context, binned, &used(codes))?;
                (feature, Some(levels), on_levels(codes, &level_of, levels))
            }
            Counted::Values(codes, distinct) => {
                let used = used(codes);
                let (feature, levels, level_of) =
                    by_level(path, context, context.kind, distinct, &used)?;
                (feature, Some(levels), on_levels(codes, &level_of, levels))
            }
        };
        let mut axis = Axis { feature, levels, at, weighed, amounts: Vec::new(), factor: 1.0 };
        if let Some(weight) = context.weight {
            axis.feature = axis.feature.weight(weight);
        }
        if let Some(cost) = context.missing {
            axis.levels = axis.levels.map(|levels| levels + 1);
            axis.feature = axis.feature.with_missing();
            if let Some(cost) = cost {
                axis.feature = axis.feature.missing_cost(cost);
            }
        }
        Ok(axis)
    }

    /// A column of the outcome.
    pub(super) fn outcome(
        path: &Path,
        name: &str,
        term: &Term,
        counted: Counted<'_>,
        most: usize,
    ) -> Result<Self> {
        match (term, counted) {
            (Term::Levels(levels), Counted::Values(codes, distinct)) => {
                Self::of_levels(path, name, levels, codes, distinct)
            }
            // The axis holds the column's own numbers, not what they cost: rows are dealt to folds in
            // the order of outcomes, which must be the same for costs and for the rewards they mirror.
            (Term::Weight(weight), Counted::Numbers(mut numbers)) => {
                numbers.iter_mut().for_each(|x| *x += 0.0);
                let mut seen = numbers.clone();
                sort_numbers(&mut seen);
                let (feature, levels, at) = by_number(name, numbers, most);
                let (factor, amounts) = match levels {
                    Some(_) => (1.0, seen.iter().map(|x| x * weight + 0.0).collect()),
                    None => (*weight, Vec::new()),
                };
                Ok(Axis { feature, levels, at, weighed: true, amounts, factor })
            }
            _ => Err(Error::internal("an outcome that was counted in another way")),
        }
    }

    /// What some levels add, and others do not.
    fn of_levels(
        path: &Path,
        name: &str,
        levels: &[(String, f64)],
        codes: &[u32],
        distinct: &Distinct,
    ) -> Result<Self> {
        let matches = |level: &String, code: usize| distinct.is(code, level);
        // In any row of the column, used or not.
        let seen = |level: &String| (0..distinct.len()).any(|code| matches(level, code));
        if !levels.iter().any(|(level, _)| seen(level)) {
            return Err(unknown_levels(path, name, levels, distinct));
        }
        let amount =
            |code: usize| levels.iter().find(|(l, _)| matches(l, code)).map_or(0.0, |(_, x)| *x);
        let own: Vec<f64> = (0..distinct.len()).map(amount).collect();
        // In the order of the levels' names, not of what they cost, so that costs and the rewards they
        // mirror have their outcomes in one order. Levels that were never seen can still happen.
        let mut named: Vec<&(String, f64)> = levels.iter().collect();
        named.sort_by(|a, b| a.0.cmp(&b.0));
        let (mut amounts, mut labels): (Vec<f64>, Vec<&str>) = (Vec::new(), Vec::new());
        let any = named.iter().map(|l| (l.1, l.0.as_str())).chain([(0.0, ANY_OTHER)]);
        for (amount, label) in any {
            if !amounts.contains(&amount) {
                amounts.push(amount);
                labels.push(label);
            }
        }
        let place = |code: usize| amounts.iter().position(|a| *a == own[code]).unwrap_or(0) as f64;
        let places: Vec<f64> = (0..own.len()).map(place).collect();
        let at = codes.iter().map(|&code| places[code as usize]).collect();
        let feature = Feature::nominal(name, labels);
        Ok(Axis { feature, levels: Some(amounts.len()), at, weighed: true, amounts, factor: 1.0 })
    }
}

/// No row has any of the levels that an outcome counts: a slip, most likely.
fn unknown_levels(path: &Path, name: &str, levels: &[(String, f64)], distinct: &Distinct) -> Error {
    let seen: Vec<&str> =
        (0..distinct.len()).filter_map(|c| distinct.text(c)).map(String::as_str).collect();
    let near = levels.iter().find_map(|(level, _)| nearest(level, &seen));
    let near = near.map_or(String::new(), |n| format!("; did you mean {n:?}?"));
    let wanted: Vec<&str> = levels.iter().map(|(l, _)| l.as_str()).collect();
    let some = seen.iter().take(10).copied().collect::<Vec<_>>().join(", ");
    Error::input(format!(
        "{}: column {name:?}: no row has any of the outcome's levels {}{near} (there are: {some})",
        path.display(),
        wanted.join(", ")
    ))
}

/// Each point's level; a missing value that is no level was refused before.
fn on_levels(codes: &[u32], level_of: &[Option<u32>], levels: usize) -> Vec<f64> {
    codes.iter().map(|&code| level_of[code as usize].map_or(levels as f64, f64::from)).collect()
}

/// A feature, its levels without the missing one, and each code's level.
type Resolved = (Feature, usize, Vec<Option<u32>>);

/// A numeric feature by its bins: every one from the least to the greatest.
fn in_bins(
    path: &Path,
    context: &Context,
    binned: &BinnedColumn,
    used: &[u32],
) -> Result<Resolved> {
    let Some(bins) = context.bins() else {
        return Err(Error::internal("bins of a column without any"));
    };
    // What is no number has no bin.
    let bin = |code: u32| Some(binned.bin(code)).filter(|bin| bin.is_finite());
    let (low, high) = bins.span(used.iter().filter_map(|&code| bin(code)));
    if high - low > 1e6 {
        return Err(Error::input(format!(
            "{}: column {:?}: bins of {} from {} to {} are {} levels; bin it more coarsely",
            path.display(),
            context.name,
            bins.width(),
            number(bins.start(low)),
            number(bins.start(high)),
            number(high - low + 1.0)
        )));
    }
    let count = if high >= low { (high - low) as usize + 1 } else { 0 };
    let centres = (0..count).map(|k| bins.centre(low + k as f64));
    let level = |code: u32| bin(code).map(|bin| (bin - low) as u32);
    let level_of = (0..binned.len() as u32).map(level).collect();
    Ok((Feature::numeric(&context.name).levels(centres), count, level_of))
}

/// A numeric feature by its numbers: each a level if they are at most so many, else where it is.
fn by_number(name: &str, mut numbers: Vec<f64>, most: usize) -> (Feature, Option<usize>, Vec<f64>) {
    if different_numbers(&numbers, most) > most {
        return (Feature::numeric(name), None, numbers);
    }
    let mut levels = numbers.clone();
    sort_numbers(&mut levels);
    let missing = levels.len() as f64;
    for x in &mut numbers {
        *x = if x.is_nan() { missing } else { levels.partition_point(|n| n < x) as f64 };
    }
    (Feature::numeric(name).levels(levels.iter().copied()), Some(levels.len()), numbers)
}

/// The numbers that are there, each once, in order.
fn sort_numbers(numbers: &mut Vec<f64>) {
    numbers.retain(|x| !x.is_nan());
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.dedup();
}

/// A feature that is no number, by the levels declared or seen.
fn by_level(
    path: &Path,
    context: &Context,
    kind: Kind,
    distinct: &Distinct,
    used: &[u32],
) -> Result<Resolved> {
    let levels = match &context.levels {
        Some(declared) => Levels::declared(declared, distinct),
        None => {
            let present = used.iter().map(|&code| code as usize);
            let present = present.filter(|&code| !context.is_missing(distinct, code));
            Levels::seen(distinct, present, Order::Text)
        }
    };
    if kind == Kind::Ordinal && context.levels.is_none() && !levels.all_numbers {
        return Err(Error::config(format!(
            "{}: column {:?}: an ordinal feature whose values are no numbers needs its levels in \
             order: levels = [...]",
            path.display(),
            context.name
        )));
    }
    // Numbers that nobody put in an order are where they are; steps that are even stay whole.
    let by_number = kind == Kind::Ordinal && context.levels.is_none();
    let uneven = by_number.then(|| uneven(&levels.labels)).flatten();
    let (name, count) = (&context.name, levels.labels.len());
    let feature = match kind {
        Kind::Ordinal => Feature::ordinal(name, levels.labels),
        Kind::Nominal => Feature::nominal(name, levels.labels),
        _ => Feature::fixed(name, levels.labels),
    };
    let feature = match (&context.positions, uneven) {
        (Some(positions), _) => feature.positions(positions.iter().copied()),
        (None, Some(positions)) => feature.positions(positions),
        (None, None) => feature,
    };
    Ok((feature, count, levels.level_of))
}

/// Where rising numbers are from 0 to 1, if their steps are not all the same.
fn uneven(labels: &[String]) -> Option<Vec<f64>> {
    let numbers: Vec<f64> = labels.iter().map(|l| l.parse().ok()).collect::<Option<_>>()?;
    let (first, last) = (*numbers.first()?, *numbers.last()?);
    let even = |(k, x): (usize, &f64)| {
        let step = (last - first) / (numbers.len() - 1) as f64;
        (x - (first + step * k as f64)).abs() <= 1e-9 * (last - first)
    };
    let differs = numbers.len() > 2 && !numbers.iter().enumerate().all(even);
    differs.then(|| numbers.iter().map(|x| (x - first) / (last - first)).collect())
}
