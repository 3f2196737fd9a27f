//! What a table says of its people column by column: the block `[target.known]` of a study file,
//! written from a sample that may not be sent itself.
//!
//! Shares of the levels of nominal, ordinal, fixed and binned numeric columns, mean and standard
//! deviation of other numeric ones. Shares are rounded by largest remainders, so that they sum to one
//! as they are written. A level of few people can be withheld; then so many others are that what is
//! left to one is not few either. The same table gives the same bytes.
//!
//! Not here: what two columns have to do with each other. That stays with the table.

use crate::init::words::{key, many, number, quoted, shown};
use crate::known::moments;
use crate::prepare::{PreparedStudy, prepare};
use crate::study::{Context, DataSpec, ModelSpec, Study, TargetSpec};
use seawall::{Error, Kind, Result, Space, Value, Watch};
use seawall_table::count::count;
use seawall_table::read::unknown_column;
use serde_json::{Map, json};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// The decimals of a share, unless one needs more to be above 0.
const DECIMALS: u32 = 4;
/// A share has no more decimals.
const MOST_DECIMALS: u32 = 9;

/// What is to be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// Only these columns; all if there are none.
    pub columns: Vec<String>,
    /// Means in place of shares for binned numeric columns, too.
    pub means: bool,
    /// Levels with fewer rows are withheld.
    pub at_least: usize,
}

/// What a table says of its people, column by column.
#[derive(Clone, Debug)]
pub struct Description {
    /// What was described.
    pub path: String,
    /// Rows used.
    pub rows: usize,
    /// Rows that do not meet the conditions.
    pub left_out: usize,
    /// How many people of equal weight that is.
    pub size: usize,
    /// Levels with fewer rows were withheld.
    pub at_least: usize,
    /// The columns.
    pub columns: Vec<DescribedColumn>,
}

/// What a table says of one column.
#[derive(Clone, Debug)]
pub struct DescribedColumn {
    /// The column.
    pub name: String,
    /// What it is made of; None if that is of too few people.
    pub summary: Option<Summary>,
    /// Levels that were withheld.
    pub withheld: usize,
    /// Levels written that the study's log does not have.
    pub beyond: Vec<String>,
    /// What would have to be said under `[context]` to have these.
    advice: String,
}

/// One column in numbers, as they are written.
#[derive(Clone, Debug, PartialEq)]
pub enum Summary {
    /// The shares of levels.
    Shares(Vec<(String, f64)>),
    /// Mean and standard deviation of those who have a number.
    Mean {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        sd: f64,
    },
}

/// People on a space.
struct People {
    path: String,
    left_out: usize,
    /// How many of equal weight they are worth.
    size: f64,
    /// Whose bins stand for the numbers that these people have in them.
    space: Arc<Space>,
    weights: Vec<f64>,
    rows: Vec<f64>,
}

/// Describes a table: the target given, else the study's own, else the study's log.
pub fn describe(
    study: Study,
    target: Option<&Path>,
    asked: &Asked,
    watch: Watch<'_>,
) -> Result<Description> {
    asked.check(&study.data.contexts)?;
    // No outcome is asked about; and what was known so far is what this replaces.
    let spec = TargetSpec { known: Vec::new(), size: None, ..study.target.clone() };
    let data = DataSpec { predictions: None, ..study.data };
    let study = Study { data, model: ModelSpec::Cells, target: spec, ..study };
    let counted = count(&study.data, watch)?;
    let own = prepare(study, counted, watch)?;
    let toward = own.toward(target, watch)?;
    described(&own, toward.as_ref().unwrap_or(&own), asked)
}

/// Describes the target that a study is asked about, or the study's log if there is none. `own` is the
/// study before it was asked.
pub fn described(
    own: &PreparedStudy,
    toward: &PreparedStudy,
    asked: &Asked,
) -> Result<Description> {
    asked.check(&own.study.data.contexts)?;
    let people = match toward.target.as_ref().map(|there| (toward, there)) {
        Some((prepared, there)) => People {
            path: there.facts.path.clone(),
            left_out: there.facts.left_out,
            size: there.sample.effective_rows(),
            space: there.moments.on(prepared.log().contexts(), |_| true)?,
            weights: there.sample.weights().to_vec(),
            rows: there.sample.row_counts().into_iter().map(|n| n as f64).collect(),
        },
        None => People::of_log(own),
    };
    Ok(people.described(own, asked))
}

impl Asked {
    /// Refuses a column that is no context.
    fn check(&self, contexts: &[Context]) -> Result<()> {
        let names: Vec<&str> = contexts.iter().map(|c| c.name.as_str()).collect();
        match self.columns.iter().find(|name| !names.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let what = unknown_column(name, &names);
                Err(Error::config(format!("columns: among the contexts, {what}")))
            }
        }
    }
}

impl People {
    fn of_log(own: &PreparedStudy) -> Self {
        let log = own.log();
        let (mut weights, mut rows) =
            (vec![0.0; log.contexts().len()], vec![0.0; log.contexts().len()]);
        for entry in log.entries() {
            weights[entry.context as usize] += entry.weight;
            rows[entry.context as usize] += entry.rows();
        }
        People {
            path: own.study.data.path.display().to_string(),
            left_out: own.counted.filtered + own.counted.no_action + own.counted.no_outcome,
            size: log.effective_rows(),
            space: log.contexts().clone(),
            weights,
            rows,
        }
    }

    fn described(self, own: &PreparedStudy, asked: &Asked) -> Description {
        let is_asked = |c: &Context| asked.columns.is_empty() || asked.columns.contains(&c.name);
        let column = |(k, context): (usize, &Context)| {
            let by_mean = context.kind == Kind::Numeric && (asked.means || context.bin.is_none());
            if by_mean {
                self.by_mean(context, k, asked.at_least)
            } else {
                self.by_shares(context, k, own.log().contexts().levels(k), asked.at_least)
            }
        };
        let contexts = own.study.data.contexts.iter().enumerate();
        let columns = contexts.filter(|(_, c)| is_asked(c)).map(column).collect();
        // A hair below a whole number is that number.
        let size = ((self.size + 1e-6).floor() as usize).max(1);
        let rows = self.rows.iter().sum::<f64>().round() as usize;
        let (path, left_out, at_least) = (self.path, self.left_out, asked.at_least);
        Description { path, rows, left_out, size, at_least, columns }
    }

    fn by_mean(&self, context: &Context, feature: usize, at_least: usize) -> DescribedColumn {
        let with_number = |i: &usize| self.space.number_at(*i, feature).is_some();
        let rows: f64 = (0..self.space.len()).filter(with_number).map(|i| self.rows[i]).sum();
        let found = moments(&self.space, &self.weights, feature);
        let summary = found.filter(|_| rows >= at_least as f64).map(|(mean, sd)| {
            let decimals = if sd > 0.0 { 3.0 - sd.log10().floor() } else { 17.0 };
            let rounded = |x: f64| match decimals {
                0.0..=12.0 => format!("{x:.*}", decimals as usize).parse().unwrap_or(x),
                _ if decimals < 0.0 => x.round(),
                _ => x,
            };
            Summary::Mean { mean: rounded(mean), sd: rounded(sd) }
        });
        let name = context.name.clone();
        let (beyond, advice) = (Vec::new(), String::new());
        DescribedColumn { name, summary, withheld: 0, beyond, advice }
    }

    fn by_shares(
        &self,
        context: &Context,
        feature: usize,
        own: &[String],
        at_least: usize,
    ) -> DescribedColumn {
        let labels = self.space.levels(feature);
        let missing = self.space.level_values(feature).position(|v| v == Value::Missing);
        let (mut mass, mut rows) = (vec![0.0; labels.len()], vec![0.0; labels.len()]);
        for (i, (weight, count)) in self.weights.iter().zip(&self.rows).enumerate() {
            let code = self.space.code(i, feature);
            let level = if code.is_nan() { missing } else { Some(code as usize) };
            if let Some(level) = level {
                mass[level] += weight;
                rows[level] += count;
            }
        }
        let kept = kept(&rows, at_least as f64);
        // A level that neither has is between two that the table has.
        let is_known = |k: usize| mass[k] > 0.0 || own.contains(&labels[k]);
        let total: f64 = mass.iter().sum();
        let shares: Vec<f64> = mass.iter().map(|m| m / total).collect();
        let rounded = rounded(&shares, &kept);
        let written: Vec<usize> = (0..labels.len()).filter(|&k| kept[k] && is_known(k)).collect();
        let withheld = (0..labels.len()).filter(|&k| !kept[k] && is_known(k)).count();
        let is_beyond = |k: &&usize| !own.contains(&labels[**k]);
        let beyond: Vec<String> =
            written.iter().filter(is_beyond).map(|&k| labels[k].clone()).collect();
        let level = |&k: &usize| (labels[k].clone(), rounded[k]);
        let all: Vec<(String, f64)> = written.iter().map(level).collect();
        let advice = if beyond.is_empty() {
            String::new()
        } else {
            // Names of levels that are withheld are nobody's business, unless the log has them.
            let told = (0..labels.len())
                .filter(|k| kept[*k] && mass[*k] > 0.0 || own.contains(&labels[*k]));
            advice(context, &told.collect::<Vec<_>>(), &self.space, feature)
        };
        let summary = (!all.is_empty()).then_some(Summary::Shares(all));
        DescribedColumn { name: context.name.clone(), summary, withheld, beyond, advice }
    }
}

/// Which levels can be told: those of enough rows, as long as the others are enough together or none
/// at all. What all shares leave to one tells how many these are.
fn kept(rows: &[f64], at_least: f64) -> Vec<bool> {
    let mut kept: Vec<bool> = rows.iter().map(|n| *n >= at_least).collect();
    loop {
        let others: f64 = rows.iter().zip(&kept).filter(|(_, kept)| !**kept).map(|(n, _)| n).sum();
        let next =
            (0..rows.len()).filter(|&k| kept[k]).min_by(|&a, &b| rows[a].total_cmp(&rows[b]));
        match next {
            Some(next) if others > 0.0 && others < at_least => kept[next] = false,
            _ => return kept,
        }
    }
}

/// Shares in decimals that sum to one: those with the largest remainders are rounded up.
fn rounded(shares: &[f64], kept: &[bool]) -> Vec<f64> {
    let some = shares.iter().zip(kept).filter(|(s, kept)| **kept && **s > 0.0).map(|(s, _)| *s);
    let least = some.fold(1.0, f64::min);
    let mut decimals = DECIMALS;
    while decimals < MOST_DECIMALS && least * 10f64.powi(decimals as i32) < 1.0 {
        decimals += 1;
    }
    let unit = 10f64.powi(decimals as i32);
    let mut units: Vec<f64> = shares.iter().map(|s| (s * unit).floor()).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    let remainder = |k: usize| shares[k] * unit - (shares[k] * unit).floor();
    order.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)));
    let missing = (unit - units.iter().sum::<f64>()).max(0.0) as usize;
    order.iter().take(missing).for_each(|&k| units[k] += 1.0);
    units.iter().map(|u| u / unit).collect()
}

/// What `[context]` would have to say for a study to have some levels.
fn advice(context: &Context, levels: &[usize], space: &Space, feature: usize) -> String {
    let values: Vec<Value<'_>> = space.level_values(feature).collect();
    if let Some(bins) = context.bins() {
        let centres = levels.iter().filter_map(|&k| match values[k] {
            Value::Number(x) => Some(x),
            _ => None,
        });
        let (low, high) =
            centres.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        let start = |x: f64, after: f64| bins.start((x / bins.width()).floor() + after);
        return format!("min = {}, max = {}", number(start(low, 0.0)), number(start(high, 1.0)));
    }
    let labels = levels.iter().filter(|k| values[**k] != Value::Missing);
    let labels: Vec<String> = labels.map(|&k| quoted(&space.levels(feature)[k])).collect();
    format!("levels = [{}]", labels.join(", "))
}

impl Description {
    /// The block of a study file.
    pub fn toml(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let name = self.path.rsplit(['/', '\\']).next().unwrap_or(&self.path);
        write!(out, "# What {} says of its people: {}", shown(name), many(self.rows, "row"))?;
        if self.left_out > 0 {
            write!(out, ", {} more left out", self.left_out)?;
        }
        writeln!(out, ".\n# It goes into a study file, in place of its [target].")?;
        writeln!(out, "[target]\nsize = {}\n\n[target.known]", self.size)?;
        self.columns.iter().try_for_each(|column| column.write(self.at_least, out))
    }

    /// The same as plain data: `known` as a study file has it.
    pub fn json(&self) -> serde_json::Value {
        let (mut known, mut withheld, mut beyond) = (Map::new(), Map::new(), Map::new());
        for column in &self.columns {
            let name = || column.name.clone();
            match &column.summary {
                None => {}
                Some(Summary::Mean { mean, sd }) => {
                    known.insert(name(), json!({ "mean": mean, "sd": sd }));
                }
                Some(Summary::Shares(shares)) => {
                    let shares: Map<_, _> =
                        shares.iter().map(|(level, s)| (level.clone(), json!(s))).collect();
                    known.insert(name(), json!({ "shares": shares }));
                }
            }
            if column.withheld > 0 {
                withheld.insert(name(), column.withheld.into());
            }
            if !column.beyond.is_empty() {
                beyond.insert(name(), json!(column.beyond));
            }
        }
        json!({
            "path": self.path,
            "rows": self.rows,
            "left_out": self.left_out,
            "at_least": self.at_least,
            "target": { "size": self.size, "known": known },
            "withheld": withheld,
            "beyond": beyond,
        })
    }
}

impl DescribedColumn {
    fn write(&self, at_least: usize, out: &mut String) -> std::fmt::Result {
        let name = shown(&self.name);
        if self.summary.is_none() {
            return match at_least {
                0 => writeln!(out, "# {name}: not written, for nobody has a value."),
                _ => writeln!(
                    out,
                    "# {name}: not written, for it would tell of fewer than {at_least} rows."
                ),
            };
        }
        if self.withheld > 0 {
            writeln!(
                out,
                "# {name}: {} not written, with fewer than {at_least} rows or to hide such a one.",
                many(self.withheld, "level")
            )?;
        }
        if !self.beyond.is_empty() {
            let levels: Vec<String> = self.beyond.iter().map(|l| quoted(l)).collect();
            writeln!(
                out,
                "# {name}: the study does not have {}; to have it, under [context]: {}",
                levels.join(", "),
                self.advice
            )?;
        }
        match &self.summary {
            None => Ok(()),
            Some(Summary::Mean { mean, sd }) => {
                let (mean, sd) = (number(*mean), number(*sd));
                writeln!(out, "{} = {{ mean = {mean}, sd = {sd} }}", key(&self.name))
            }
            Some(Summary::Shares(shares)) => {
                let share = |(level, s): &(String, f64)| format!("{} = {s}", key(level));
                let shares: Vec<String> = shares.iter().map(share).collect();
                writeln!(out, "{} = {{ shares = {{ {} }} }}", key(&self.name), shares.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_shares_sum_to_one_and_are_near() {
        let cases: [&[f64]; 5] = [
            &[1.0, 1.0, 1.0],
            &[2.0, 0.0, 5.0, 7.0, 3.0, 3.0, 3.0],
            &[1.0, 99_999.0, 31_415.0],
            &[1.0],
            &[1e-12, 3.0, 4.0],
        ];
        for weights in cases {
            let total: f64 = weights.iter().sum();
            let shares: Vec<f64> = weights.iter().map(|w| w / total).collect();
            let found = rounded(&shares, &vec![true; shares.len()]);
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{found:?}");
            for (share, found) in shares.iter().zip(&found) {
                assert!((share - found).abs() < 1e-4, "{share} {found}");
                assert!((*share < 1e-9) == (*found == 0.0), "{share} {found}");
            }
        }
    }

    #[test]
    fn what_is_withheld_is_not_few() {
        let all = |rows: &[f64], at_least| kept(rows, at_least);
        assert_eq!(all(&[3.0, 50.0, 20.0, 0.0], 0.0), [true; 4]);
        // 3 alone could be told from the rest.
        assert_eq!(all(&[3.0, 50.0, 20.0, 0.0], 5.0), [false, true, false, false]);
        assert_eq!(all(&[3.0, 4.0, 50.0, 20.0], 5.0), [false, false, true, true]);
        // Nobody is no small number of people.
        assert_eq!(all(&[0.0, 50.0, 20.0], 5.0), [false, true, true]);
        assert_eq!(all(&[3.0, 4.0], 10.0), [false, false]);
    }
}
