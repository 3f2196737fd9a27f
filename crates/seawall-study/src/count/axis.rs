//! The coordinates of a space, made from the distinct values of the columns they come from.

use super::combine::Combinations;
use crate::read::{Distinct, nearest};
use crate::study::{Context, Term};
use seawall::{Error, Feature, Kind, Result, Space, Support};
use std::path::Path;
use std::sync::Arc;

/// One coordinate of a space being made: the feature, and the level of each distinct value.
pub(super) struct Axis {
    feature: Feature,
    levels: usize,
    /// By code of the column.
    level_of: Vec<u32>,
    /// For an outcome: what each level adds.
    pub(super) amounts: Vec<f64>,
}

impl Axis {
    pub(super) fn context(
        path: &Path,
        context: &Context,
        distinct: &Distinct,
        used: &[u32],
    ) -> Result<Self> {
        let numeric = context.kind == Kind::Numeric;
        let missing = |code: usize| match numeric {
            true => distinct.is_missing_number(code),
            false => distinct.text(code).is_none(),
        };
        let present: Vec<usize> =
            used.iter().map(|&c| c as usize).filter(|&c| !missing(c)).collect();
        let mut level_of = vec![0u32; distinct.len()];
        let (feature, mut levels) = match (context.kind, context.bin) {
            (Kind::Numeric, Some(bin)) => {
                let number = |c: usize| (distinct.number(c).unwrap_or(f64::NAN) / bin).floor();
                let low = present.iter().map(|&c| number(c)).fold(f64::INFINITY, f64::min);
                let high = present.iter().map(|&c| number(c)).fold(f64::NEG_INFINITY, f64::max);
                // A declared range is where mass may go, seen or not.
                let (min, max) = context.range;
                let low = if min.is_finite() { low.min((min / bin).floor()) } else { low };
                let high = if max.is_finite() { high.max((max / bin).ceil() - 1.0) } else { high };
                if high - low > 1e6 {
                    return Err(Error::input(format!(
                        "{}: column {:?}: bins of {bin} from {} to {} are {} levels; bin it more \
                         coarsely",
                        path.display(),
                        context.name,
                        low * bin,
                        high * bin,
                        high - low + 1.0
                    )));
                }
                present.iter().for_each(|&c| level_of[c] = (number(c) - low) as u32);
                let count = if high >= low { (high - low) as usize + 1 } else { 0 };
                let centres = (0..count).map(|k| (low + k as f64 + 0.5) * bin);
                (Feature::numeric(&context.name).levels(centres), count)
            }
            (Kind::Numeric, None) => {
                let number = |c: &usize| distinct.number(*c).unwrap_or(f64::NAN);
                let mut numbers: Vec<f64> = present.iter().map(number).collect();
                numbers.sort_unstable_by(f64::total_cmp);
                numbers.dedup();
                for c in &present {
                    level_of[*c] = numbers.partition_point(|&x| x < number(c)) as u32;
                }
                let count = numbers.len();
                (Feature::numeric(&context.name).levels(numbers), count)
            }
            (kind, _) => {
                let labels = labels(path, context, distinct, &present)?;
                for &c in &present {
                    let place = labels.iter().position(|l| Some(l) == distinct.text(c));
                    level_of[c] = place.unwrap_or(0) as u32;
                }
                let count = labels.len();
                let name = &context.name;
                let feature = match kind {
                    Kind::Ordinal => Feature::ordinal(name, labels),
                    Kind::Nominal => Feature::nominal(name, labels),
                    _ => Feature::fixed(name, labels),
                };
                let feature = match &context.positions {
                    Some(positions) => feature.positions(positions.iter().copied()),
                    None => feature,
                };
                (feature, count)
            }
        };
        let mut feature = feature;
        if let Some(weight) = context.weight {
            feature = feature.weight(weight);
        }
        if let Some(cost) = context.missing {
            for &c in used.iter().filter(|&&c| missing(c as usize)) {
                level_of[c as usize] = levels as u32;
            }
            levels += 1;
            feature = feature.with_missing();
            if let Some(cost) = cost {
                feature = feature.missing_cost(cost);
            }
        }
        Ok(Axis { feature, levels, level_of, amounts: Vec::new() })
    }

    pub(super) fn outcome(
        path: &Path,
        name: &str,
        term: &Term,
        distinct: &Distinct,
        used: &[u32],
    ) -> Result<Self> {
        let matches = |level: &String, code: usize| {
            distinct.text(code) == Some(level)
                || level.parse::<f64>().is_ok_and(|x| distinct.number(code) == Some(x))
        };
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
        Ok(Axis { feature, levels, level_of, amounts: distinct_amounts })
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

/// The levels of a feature that is no number.
fn labels(
    path: &Path,
    context: &Context,
    distinct: &Distinct,
    present: &[usize],
) -> Result<Vec<String>> {
    if let Some(levels) = &context.levels {
        return Ok(levels.clone());
    }
    let numbers: Option<Vec<f64>> = present.iter().map(|&c| distinct.number(c)).collect();
    let mut order: Vec<usize> = (0..present.len()).collect();
    let text = |at: usize| distinct.text(present[at]).cloned().unwrap_or_default();
    match numbers {
        Some(numbers) => order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b])),
        None if context.kind == Kind::Ordinal => {
            return Err(Error::config(format!(
                "{}: column {:?}: an ordinal feature whose values are no numbers needs its levels \
                 in order: levels = [...]",
                path.display(),
                context.name
            )));
        }
        None => order.sort_by_key(|&at| text(at)),
    }
    Ok(order.into_iter().map(text).collect())
}

/// A space of the axes, and the point of each combination that was counted: the whole grid if it
/// is not too large, else the combinations seen.
pub(super) fn place(
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
