//! The coordinates of a space, made from the distinct values of the columns they come from.

use super::binned::BinnedColumn;
use super::combine::Combinations;
use crate::read::{Distinct, Levels, Order, nearest};
use crate::study::{Context, Term};
use seawall::{Error, Feature, Kind, Result, Space, Support};
use std::path::Path;
use std::sync::Arc;

/// One coordinate of a space being made: the feature, and the level of each distinct value.
pub(super) struct Axis {
    pub(super) feature: Feature,
    levels: usize,
    /// By code of the column.
    pub(super) level_of: Vec<u32>,
    /// Whether a weight was given.
    pub(super) weighed: bool,
    /// For an outcome: what each level adds.
    pub(super) amounts: Vec<f64>,
}

impl Axis {
    /// A context column; a numeric one is cut into `binned`, if it is.
    pub(super) fn context(
        path: &Path,
        context: &Context,
        distinct: &Distinct,
        binned: Option<&BinnedColumn>,
        used: &[u32],
    ) -> Result<Self> {
        let (feature, levels, level_of) = match (context.kind, binned) {
            (Kind::Numeric, Some(binned)) => in_bins(path, context, binned, used)?,
            (Kind::Numeric, None) => by_number(context, distinct, used),
            (kind, _) => by_level(path, context, kind, distinct, used)?,
        };
        let weighed = context.weight.is_some();
        let mut axis = Axis { feature, levels, level_of: Vec::new(), weighed, amounts: Vec::new() };
        if let Some(weight) = context.weight {
            axis.feature = axis.feature.weight(weight);
        }
        if let Some(cost) = context.missing {
            axis.levels += 1;
            axis.feature = axis.feature.with_missing();
            if let Some(cost) = cost {
                axis.feature = axis.feature.missing_cost(cost);
            }
        }
        // Rows with a missing value that is no level were refused.
        axis.level_of = level_of.iter().map(|level| level.unwrap_or(levels as u32)).collect();
        Ok(axis)
    }

    pub(super) fn outcome(
        path: &Path,
        name: &str,
        term: &Term,
        distinct: &Distinct,
        used: &[u32],
    ) -> Result<Self> {
        let matches = |level: &String, code: usize| distinct.is(code, level);
        if let Term::Levels(levels) = term {
            // In any row of the column, used or not.
            let seen = |level: &String| (0..distinct.len()).any(|code| matches(level, code));
            if !levels.iter().any(|(level, _)| seen(level)) {
                return Err(unknown_levels(path, name, levels, distinct));
            }
        }
        let amount = |code: usize| match term {
            Term::Levels(levels) => {
                levels.iter().find(|(l, _)| matches(l, code)).map_or(0.0, |(_, x)| *x)
            }
            // Checked row by row already.
            Term::Weight(weight) => weight * distinct.number(code).unwrap_or(0.0),
        };
        let amounts: Vec<f64> = used.iter().map(|&code| amount(code as usize)).collect();
        let mut distinct_amounts = amounts.clone();
        if let Term::Levels(levels) = term {
            // Levels that were never seen can still happen.
            distinct_amounts.extend(levels.iter().map(|l| l.1));
            distinct_amounts.push(0.0);
        }
        distinct_amounts.sort_unstable_by(f64::total_cmp);
        distinct_amounts.dedup();
        let mut level_of = vec![0u32; distinct.len()];
        for (&code, x) in used.iter().zip(&amounts) {
            level_of[code as usize] = distinct_amounts.partition_point(|a| a < x) as u32;
        }
        let feature = match term {
            Term::Weight(_) => Feature::numeric(name).levels(distinct_amounts.iter().copied()),
            Term::Levels(_) => Feature::nominal(name, distinct_amounts.iter().map(f64::to_string)),
        };
        let levels = distinct_amounts.len();
        Ok(Axis { feature, levels, level_of, weighed: true, amounts: distinct_amounts })
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

/// A feature, its levels without the missing one, and each code's level.
type Resolved = (Feature, usize, Vec<Option<u32>>);

/// A numeric feature by its bins: every one from the least to the greatest.
fn in_bins(
    path: &Path,
    context: &Context,
    binned: &BinnedColumn,
    used: &[u32],
) -> Result<Resolved> {
    let bins = &binned.bins;
    let (low, high) = bins.span(used.iter().filter_map(|&code| binned.bin(code)));
    if high - low > 1e6 {
        return Err(Error::input(format!(
            "{}: column {:?}: bins of {} from {} to {} are {} levels; bin it more coarsely",
            path.display(),
            context.name,
            bins.width(),
            bins.start(low),
            bins.start(high),
            high - low + 1.0
        )));
    }
    let count = if high >= low { (high - low) as usize + 1 } else { 0 };
    let centres = (0..count).map(|k| bins.centre(low + k as f64));
    let level = |code: u32| binned.bin(code).map(|bin| (bin - low) as u32);
    let level_of = (0..binned.len() as u32).map(level).collect();
    Ok((Feature::numeric(&context.name).levels(centres), count, level_of))
}

/// A numeric feature by its numbers.
fn by_number(context: &Context, distinct: &Distinct, used: &[u32]) -> Resolved {
    let number = |code: usize| distinct.number(code).map(|x| x + 0.0);
    let mut numbers: Vec<f64> = used.iter().filter_map(|&c| number(c as usize)).collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.dedup();
    let level = |code: usize| number(code).map(|x| numbers.partition_point(|&n| n < x) as u32);
    let level_of = (0..distinct.len()).map(level).collect();
    let count = numbers.len();
    (Feature::numeric(&context.name).levels(numbers), count, level_of)
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

/// A space of the axes, and the point of each combination that was counted: the whole grid if it
/// is not too large, else the combinations seen.
pub(super) fn space_of(
    axes: Vec<Axis>,
    ids: &Combinations,
    most: f64,
) -> Result<(Arc<Space>, Vec<u32>)> {
    let levels = |number: usize| -> Vec<u32> {
        let codes = ids.codes(number as u32);
        axes.iter().zip(codes).map(|(axis, code)| axis.level_of[code as usize]).collect()
    };
    let places: Vec<Vec<u32>> = (0..ids.len()).map(levels).collect();
    let cells: f64 = axes.iter().map(|a| a.levels as f64).product();
    let features = axes.iter().map(|a| a.feature.clone());
    if cells <= most {
        let space = Space::grid(features)?;
        let Support::Grid(grid) = space.support() else {
            return Err(Error::config("a grid was asked for"));
        };
        let cell = |place: &Vec<u32>| grid.cell(place.iter().map(|&k| k as usize)) as u32;
        let of = places.iter().map(cell).collect();
        return Ok((Arc::new(space), of));
    }
    let mut distinct = places.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let column = |k: usize| distinct.iter().map(|p| f64::from(p[k])).collect();
    let space = Space::points(features, (0..axes.len()).map(column).collect())?;
    let of = places.iter().map(|p| distinct.partition_point(|d| d < p) as u32).collect();
    Ok((Arc::new(space), of))
}
