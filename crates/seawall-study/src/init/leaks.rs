//! Columns that tell the outcome, and so cannot have been known before it: leaks; and columns that tell the
//! action ([`determines`]).
//!
//! How much of the outcome's variance a column's groups explain, adjusted for their number:
//!
//! ```text
//! R² = 1 − Σ (yᵢ − mean of i's group)² / Σ (yᵢ − mean)²,    adjusted 1 − (1 − R²) (n − 1) / (n − groups)
//! ```
//!
//! of the outcome and of its ranks, whichever is more: a copy of a skew outcome explains its ranks
//! and not its largest values.

use super::column::Column;
use super::roles::Outcome;
use super::words::short;
use crate::overlap::DeterminedAction;
use crate::study::Term;

/// A column that explains as much as this is left out.
const NEARLY_ALL: f64 = 0.95;
/// And of one that explains this much a comment warns.
const MUCH: f64 = 0.5;
/// Groups that the numbers of a column are cut into.
const GROUPS: u64 = 20;
/// A group of fewer rows than this explains nothing by itself: neither does a rarer outcome.
const FEWEST: usize = 5;
/// Rows beyond the groups that are needed to tell.
const SPARE: usize = 10;
/// An outcome with no more values than this is compared with each.
const VALUES: usize = 12;

/// What a column was found to tell of the outcome.
pub(super) enum Tells {
    /// So much that it is left out, for this reason.
    All(String),
    /// So much that a comment says so.
    Much(String),
    /// No more than a context may.
    Little,
}

/// The outcome, row by row.
pub(super) struct OutcomeColumn {
    /// It as a whole, and each of its parts if there are some.
    whole: Vec<Sum>,
    /// Whether each row's outcome is known.
    known: Vec<bool>,
}

/// A number for each row, NaN where it is not known.
struct Sum {
    what: String,
    values: Vec<f64>,
    ranks: Vec<f64>,
}

impl OutcomeColumn {
    pub(super) fn new(all: &[Column], outcome: &Outcome) -> Self {
        let rows = all.first().map_or(0, |c| c.codes.len());
        let mut known = vec![true; rows];
        let mut parts: Vec<Sum> = Vec::new();
        for (column, term) in &outcome.terms {
            let column = &all[*column];
            let amount = |code: usize| match term {
                Term::Weight(weight) => {
                    column.distinct.number(code).map_or(f64::NAN, |x| x * weight)
                }
                Term::Levels(_) if column.distinct.is_missing(code) => f64::NAN,
                Term::Levels(levels) => {
                    let counted = levels.iter().find(|(level, _)| column.distinct.is(code, level));
                    counted.map_or(0.0, |(_, amount)| *amount)
                }
            };
            let amounts: Vec<f64> = (0..column.distinct.len()).map(amount).collect();
            let values: Vec<f64> = column.codes.iter().map(|&c| amounts[c as usize]).collect();
            known.iter_mut().zip(&values).for_each(|(known, y)| *known &= !y.is_nan());
            parts.push(Sum::new(format!("the outcome's part {}", short(&column.name)), values));
        }
        let total = |row: usize| parts.iter().map(|part| part.values[row]).sum();
        let mut whole = vec![Sum::new("the outcome".to_owned(), (0..rows).map(total).collect())];
        if parts.len() > 1 {
            whole.extend(parts);
        }
        OutcomeColumn { whole, known }
    }

    /// Whether a row's outcome is known.
    pub(super) fn known(&self, row: usize) -> bool {
        self.known[row]
    }

    /// What a column tells of the outcome.
    pub(super) fn told_by(&self, column: &Column) -> Tells {
        let here: Vec<u32> = column.codes.iter().map(|&c| u32::from(!column.lacks(c))).collect();
        if column.missing()
            && let Some(why) = self.told_by_presence(&here)
        {
            return Tells::All(format!("a leak: {why}"));
        }
        let groups = groups(column);
        let mut most: (f64, &str) = (0.0, "");
        for sum in &self.whole {
            let share = explained(&groups, &sum.values).max(explained(&groups, &sum.ranks));
            if share > most.0 {
                most = (share, &sum.what);
            }
        }
        let (percent, what) = ((100.0 * most.0).floor(), most.1);
        if most.0 >= NEARLY_ALL {
            Tells::All(format!("a leak: it explains {percent}% of the variance of {what}"))
        } else if most.0 >= MUCH {
            Tells::Much(format!(
                "explains {percent}% of the variance of {what}: was it known before the action?"
            ))
        } else {
            Tells::Little
        }
    }

    /// What it tells that a column has a value or none; `here` is 1 where it has one.
    fn told_by_presence(&self, here: &[u32]) -> Option<String> {
        let tells = |y: &[f64]| explained(here, y) >= NEARLY_ALL;
        let known: Vec<f64> = self.known.iter().map(|k| f64::from(u8::from(*k))).collect();
        if tells(&known) {
            return Some("it is missing when the outcome is".to_owned());
        }
        for sum in &self.whole {
            let is = |holds: &dyn Fn(f64) -> bool| -> Vec<f64> {
                let of = |y: &f64| if y.is_nan() { *y } else { f64::from(u8::from(holds(*y))) };
                sum.values.iter().map(of).collect()
            };
            let when = |there: bool, y: String| {
                let word = if there { "there" } else { "missing" };
                Some(format!("it is {word} when {} is {y}", sum.what))
            };
            let zero = is(&|y| y == 0.0);
            if tells(&zero) {
                let there = together(here, &zero);
                return when(true, if there { "0" } else { "not 0" }.to_owned());
            }
            for value in sum.few_values() {
                let at_value = is(&|y| y == value);
                if tells(&at_value) {
                    return when(together(here, &at_value), value.to_string());
                }
            }
        }
        None
    }
}

impl Sum {
    fn new(what: String, values: Vec<f64>) -> Self {
        let ranks = ranks(&values);
        Sum { what, values, ranks }
    }

    /// Its values if they are few.
    fn few_values(&self) -> Vec<f64> {
        let mut values: Vec<f64> = Vec::new();
        for y in self.values.iter().filter(|y| !y.is_nan()) {
            if !values.contains(y) {
                values.push(*y);
            }
            if values.len() > VALUES {
                return Vec::new();
            }
        }
        values
    }
}

/// Whether there is mostly a value where an indicator is 1.
fn together(here: &[u32], indicator: &[f64]) -> bool {
    let there = here.iter().zip(indicator).filter(|(_, y)| **y == 1.0).map(|(h, _)| *h);
    let (count, all) = there.fold((0, 0), |(count, all), h| (count + h, all + 1));
    2 * count > all
}

/// The mean rank of each value among those known.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).filter(|&k| !values[k].is_nan()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![f64::NAN; values.len()];
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]).scan(0, |from, tied| {
        *from += tied.len();
        Some((*from - tied.len(), tied))
    }) {
        let (from, tied) = tied;
        let rank = from as f64 + (tied.len() as f64 - 1.0) / 2.0;
        tied.iter().for_each(|&k| ranks[k] = rank);
    }
    ranks
}

/// Each row's group: its level, or one of a few ranges of numbers that hold as many rows each;
/// missing values are a group.
fn groups(column: &Column) -> Vec<u32> {
    let missing = column.distinct.len() as u32;
    let many = column.numbers().is_some_and(|all| all.len() as u64 > GROUPS);
    let group = |code: u32| if column.lacks(code) { missing } else { code };
    if !many {
        return column.codes.iter().map(|&code| group(code)).collect();
    }
    let mut counts = vec![0u64; column.distinct.len()];
    column.codes.iter().for_each(|&code| counts[code as usize] += 1);
    let number = |code: &u32| column.distinct.number(*code as usize).unwrap_or(f64::NAN);
    let mut order: Vec<u32> = (0..missing).filter(|&code| !column.lacks(code)).collect();
    order.sort_unstable_by(|a, b| number(a).total_cmp(&number(b)));
    let all: u64 = order.iter().map(|&code| counts[code as usize]).sum();
    let (mut of_code, mut before) = (vec![missing; column.distinct.len()], 0);
    for code in order {
        let count = counts[code as usize];
        // By the middle of the rows that have the number.
        of_code[code as usize] = (GROUPS * (2 * before + count) / (2 * all).max(1)) as u32;
        before += count;
    }
    column.codes.iter().map(|&code| of_code[code as usize]).collect()
}

/// The share of the variance of `y` that groups explain, adjusted for their number; 0 if there are
/// too few rows to tell. Small groups are taken together.
fn explained(groups: &[u32], y: &[f64]) -> f64 {
    let known =
        || groups.iter().zip(y).filter(|(_, y)| !y.is_nan()).map(|(g, y)| (*g as usize, *y));
    let last = groups.iter().max().map_or(0, |g| *g as usize + 1);
    let mut count = vec![0usize; last + 1];
    known().for_each(|(g, _)| count[g] += 1);
    let pooled: Vec<usize> = (0..=last).map(|g| if count[g] < FEWEST { last } else { g }).collect();
    let n: usize = count.iter().sum();
    let (mut counts, mut sums) = (vec![0.0f64; last + 1], vec![0.0; last + 1]);
    for (g, y) in known() {
        counts[pooled[g]] += 1.0;
        sums[pooled[g]] += y;
    }
    let used = counts.iter().filter(|c| **c > 0.0).count();
    if n <= used + SPARE || !varies(known().map(|(_, y)| y)) {
        return 0.0;
    }
    let mean = sums.iter().sum::<f64>() / n as f64;
    let (mut total, mut within) = (0.0, 0.0);
    for (g, y) in known() {
        let g = pooled[g];
        total += (y - mean).powi(2);
        within += (y - sums[g] / counts[g]).powi(2);
    }
    let share = 1.0 - within / total * (n as f64 - 1.0) / (n - used) as f64;
    if share.is_finite() { share } else { 0.0 }
}

/// Whether enough rows differ from the commonest value. Only one that more than half of the rows
/// have can leave too few, and that one is what remains when unlike pairs are struck out.
fn varies(y: impl Iterator<Item = f64> + Clone) -> bool {
    let (mut left, mut spare) = (f64::NAN, 0usize);
    for y in y.clone() {
        (left, spare) = match (spare, y == left) {
            (0, _) => (y, 1),
            (_, true) => (left, spare + 1),
            (_, false) => (left, spare - 1),
        };
    }
    y.filter(|y| *y != left).count() >= FEWEST
}

/// Why a column is no context that tells the action of nearly all rows, by its levels or by a threshold:
/// among people who are alike in it all had the same action.
pub(super) fn determines(
    column: &Column,
    action: &Column,
    target: &OutcomeColumn,
) -> Option<String> {
    let unknown = action.unknown_actions();
    let named = |code: u32| {
        let text = action.distinct.text(code as usize).map(String::as_str);
        !action.lacks(code) && text.is_none_or(|text| !unknown.contains(&text))
    };
    let missing = column.distinct.len();
    let mut rows = vec![vec![0.0; action.distinct.len()]; missing + 1];
    let pairs = column.codes.iter().zip(&action.codes).enumerate();
    for (_, (&c, &a)) in pairs.filter(|(row, (_, a))| target.known(*row) && named(**a)) {
        let group = if column.lacks(c) { missing } else { c as usize };
        rows[group][a as usize] += 1.0;
    }
    let number = |code: usize| column.distinct.number(code).unwrap_or(f64::NAN);
    let mut order: Vec<usize> = (0..=missing).filter(|&c| sum_of(&rows[c]) > 0.0).collect();
    let ordered = column.numbers().is_some();
    if ordered {
        let place = |code: usize| if code == missing { f64::NAN } else { number(code) };
        order.sort_by(|&a, &b| place(a).total_cmp(&place(b)));
    }
    let groups: Vec<Vec<f64>> = order.iter().map(|&code| rows[code].clone()).collect();
    let told = DeterminedAction::by(&groups, ordered).filter(DeterminedAction::determines)?;
    let percent = (100.0 * told.right).floor();
    let ends = told.after.filter(|&k| order[k + 1] != missing);
    let how = ends.map_or(String::new(), |k| {
        format!(", by a threshold between {} and {}", number(order[k]), number(order[k + 1]))
    });
    Some(format!("it tells the action of {percent}% of rows{how}: no overlap"))
}

fn sum_of(rows: &[f64]) -> f64 {
    rows.iter().sum()
}

/// Whether a column is the action under other names: one of its values for each, and the other way
/// about. With a few rows that may be chance.
pub(super) fn repeats(column: &Column, action: &Column) -> bool {
    if column.codes.len() < SPARE + 2 || column.distinct.len() != action.distinct.len() {
        return false;
    }
    let mut partner = vec![None; action.distinct.len()];
    let mut taken = vec![None; column.distinct.len()];
    column.codes.iter().zip(&action.codes).all(|(&c, &a)| {
        *partner[a as usize].get_or_insert(c) == c && *taken[c as usize].get_or_insert(a) == a
    })
}
