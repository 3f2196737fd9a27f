//! A policy applied to a table: the probability of each action for each row.

use arrow_array::{Array, ArrayRef, StringArray};
use seawall::policy::Policy;
use seawall::policy::file::{FeatureNote, Level, PolicyFile};
use seawall::{DistinctRows, Error, Feature, Result, Space};
use seawall_table::memory::needs;
use seawall_table::read::{Decimal, Distinct, Reading, Stream, columns, files, shown};
use seawall_table::write::csv_field;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Chances below this are what a solver leaves of 0: probabilities need not sum to 1 more closely.
const NOTHING: f64 = 1e-9;

/// A table's rows and the probabilities of the policy's actions.
pub struct Applied {
    names: Vec<String>,
    /// The columns as they were read, a few rows at a time.
    batches: Vec<Vec<ArrayRef>>,
    actions: Vec<String>,
    policy: Policy,
    /// Each row's place among the policy's contexts.
    point_of: Vec<usize>,
}

/// Reads a table and works out a policy on its rows. A number is taken to the nearest level that
/// the policy knows; a level that it does not know is an error.
pub fn apply(file: &PolicyFile, data: &Path) -> Result<Applied> {
    let all = files(data)?;
    let names = columns(&all[0])?;
    // All columns are held, in as many bytes as the files have, or more.
    let bytes: u64 = all.iter().filter_map(|path| path.metadata().ok()).map(|m| m.len()).sum();
    let what = format!("{}: its rows are held, and take", data.display());
    needs(bytes as f64, &what, "apply the policy to part of the rows at a time")?;
    if let Some(action) = file.actions.iter().find(|a| names.contains(&format!("p_{a}"))) {
        return Err(Error::input(format!(
            "{}: there is a column \"p_{action}\" already; was the policy applied before?",
            data.display()
        )));
    }
    for note in &file.features {
        if !names.contains(&note.name) {
            let near: Vec<&str> = names.iter().map(String::as_str).collect();
            let hint = seawall_table::read::nearest(&note.name, &near)
                .map_or(String::new(), |n| format!("; did you mean {n:?}?"));
            return Err(Error::input(format!(
                "{}: no column {:?}, which the policy {:?} looks at{hint}",
                data.display(),
                note.name,
                file.name
            )));
        }
    }
    let wanted: Vec<usize> = file
        .features
        .iter()
        .filter_map(|note| names.iter().position(|n| *n == note.name))
        .collect();
    let mut readings = vec![Reading::Untouched; names.len()];
    wanted.iter().for_each(|&k| readings[k] = Reading::Values);
    let mut stream = Stream::new(names.clone(), readings);
    let mut batches = Vec::new();
    let mut rows = 0;
    let mut coordinates: Vec<Vec<f64>> = vec![Vec::new(); file.features.len()];
    // By code of the column: a value is looked up once.
    let mut known: Vec<Vec<Option<f64>>> = vec![Vec::new(); wanted.len()];
    for path in &all {
        let mut from = 0;
        stream.read(path, &mut |columns| {
            for (at, (note, &k)) in file.features.iter().zip(&wanted).enumerate() {
                let (distinct, known) = (&columns.distinct[k], &mut known[at]);
                known.resize(distinct.len(), None);
                for (row, &code) in columns.codes[k].iter().enumerate() {
                    let code = code as usize;
                    let x = match known[code] {
                        Some(x) => x,
                        None => coordinate(note, distinct, code).map_err(|what| {
                            let (file, row, name) = (path.display(), from + row + 1, &note.name);
                            Error::input(format!("{file}: row {row}, column {name:?}: {what}"))
                        })?,
                    };
                    known[code] = Some(x);
                    coordinates[at].push(x);
                }
            }
            from += columns.rows;
            batches.push(columns.arrays.to_vec());
            Ok(())
        })?;
        rows += from;
    }
    let (space, point_of) = if file.features.is_empty() {
        // A rule that looks at nothing: one point will do.
        (Space::points([Feature::numeric("everyone")], vec![vec![0.0]])?, vec![0; rows])
    } else {
        let DistinctRows { columns, point_of } = DistinctRows::new(&coordinates)?;
        (Space::points(file.features.iter().map(feature), columns)?, point_of)
    };
    let policy = Policy::new(&file.name, file.rule.clone(), &Arc::new(space), &file.actions)?;
    Ok(Applied { names, batches, actions: file.actions.clone(), policy, point_of })
}

fn numbers(note: &FeatureNote) -> impl Iterator<Item = f64> {
    note.levels.iter().filter_map(|l| if let Level::Number(x) = l { Some(*x) } else { None })
}

fn labels(note: &FeatureNote) -> Vec<String> {
    let text = |l: &Level| if let Level::Text(text) = l { Some(text.clone()) } else { None };
    note.levels.iter().filter_map(text).collect()
}

fn feature(note: &FeatureNote) -> Feature {
    match note.kind.as_str() {
        "numeric" => Feature::numeric(&note.name),
        "ordinal" => Feature::ordinal(&note.name, labels(note)),
        "fixed" => Feature::fixed(&note.name, labels(note)),
        _ => Feature::nominal(&note.name, labels(note)),
    }
}

/// Where a value is among the levels of a feature, or what is wrong with it.
fn coordinate(
    note: &FeatureNote,
    distinct: &Distinct,
    code: usize,
) -> std::result::Result<f64, String> {
    let numeric = note.kind == "numeric";
    let known = labels(note);
    let level = known.iter().position(|l| distinct.is(code, l));
    // NA is a level of an ordinal feature only where the policy has one of that name.
    let number = numeric || (note.kind == "ordinal" && level.is_none());
    if distinct.is_missing(code) || (number && distinct.is_missing_number(code)) {
        return if note.levels.contains(&Level::Missing(())) {
            Ok(f64::NAN)
        } else {
            Err("the value is missing, which the policy does not know".to_owned())
        };
    }
    let text = distinct.text(code).cloned().unwrap_or_default();
    if numeric {
        let Some(x) = distinct.number(code).filter(|x| x.is_finite()) else {
            return Err(format!("{text:?} is not a number"));
        };
        return Ok(nearest_level(note, x, distinct.decimal(code)));
    }
    level.map(|k| k as f64).ok_or_else(|| {
        format!("{text:?} is a level that the policy does not know (it knows {})", known.join(", "))
    })
}

/// The level nearest to a number, the upper one of two: the middle of the bin that holds it. In
/// decimals where they are known, for the end of a bin is as near to the middle of the next.
fn nearest_level(note: &FeatureNote, x: f64, written: Option<Decimal>) -> f64 {
    let mut levels: Vec<f64> = numbers(note).collect();
    levels.sort_unstable_by(f64::total_cmp);
    let above = levels.partition_point(|level| *level <= x);
    let below = above.checked_sub(1).map(|k| levels[k]);
    match (below, levels.get(above).copied()) {
        (None, None) => x,
        (Some(level), None) | (None, Some(level)) => level,
        (Some(below), Some(above)) => {
            let sum = || Decimal::from_float(below)?.plus(Decimal::from_float(above)?);
            let upper = || written?.plus(written?)?.at_least(sum()?);
            if upper().unwrap_or(above - x <= x - below) { above } else { below }
        }
    }
}

/// Probabilities as they are meant: what is next to nothing is 0, and the likeliest has the rest;
/// twelve digits of each.
fn meant(row: &[f64]) -> Vec<f64> {
    let slight = |p: &f64| *p < NOTHING;
    let rest: f64 = row.iter().filter(|p| slight(p)).sum();
    let likeliest = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b]).then(b.cmp(&a)));
    let chance = |(action, p): (usize, &f64)| match p {
        p if slight(p) => 0.0,
        p if Some(action) == likeliest => p + rest,
        p => *p,
    };
    let rounded = |p: f64| format!("{p:.11e}").parse().unwrap_or(p);
    row.iter().enumerate().map(chance).map(rounded).collect()
}

impl Applied {
    /// How many rows.
    pub fn rows(&self) -> usize {
        self.point_of.len()
    }

    /// Writes the table as CSV, with a column `p_ACTION` for each action.
    pub fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let names = self.names.iter().map(|n| csv_field(n));
        let added = self.actions.iter().map(|a| csv_field(&format!("p_{a}")));
        writeln!(out, "{}", names.chain(added).collect::<Vec<_>>().join(","))?;
        // Once for each context: rows are many.
        let chances = |point: usize| {
            let row: Vec<String> =
                meant(self.policy.row(point)).iter().map(f64::to_string).collect();
            row.join(",")
        };
        let count = self.point_of.iter().max().map_or(0, |last| last + 1);
        let chances: Vec<String> = (0..count).map(chances).collect();
        let mut points = self.point_of.iter();
        for batch in &self.batches {
            let columns = batch.iter().map(shown).collect::<std::result::Result<Vec<_>, _>>();
            let columns = columns.map_err(std::io::Error::other)?;
            let rows = columns.first().map_or(0, StringArray::len);
            for (row, &point) in (0..rows).zip(points.by_ref()) {
                for column in &columns {
                    let text = if column.is_null(row) { "" } else { column.value(row) };
                    write!(out, "{},", csv_field(text))?;
                }
                writeln!(out, "{}", chances[point])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn chances_are_written_as_they_are_meant() {
        assert_eq!(meant(&[4e-11, 0.99999999996]), [0.0, 1.0]);
        assert_eq!(meant(&[0.25, 1e-12, 0.749999999999]), [0.25, 0.0, 0.75]);
        assert_eq!(meant(&[0.1 + 0.2, 0.7]), [0.3, 0.7]);
        // A real chance stays, however small.
        assert_eq!(meant(&[2e-9, 0.999999998]), [2e-9, 0.999999998]);
        for count in 1..100 {
            let total: f64 = meant(&vec![1.0 / count as f64; count]).iter().sum();
            assert!((total - 1.0).abs() < 1e-10, "{count}: {total}");
        }
    }
}
