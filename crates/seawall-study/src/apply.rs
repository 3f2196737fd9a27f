//! A policy applied to a table: the probability of each action for each row.

use crate::read::{Distinct, Stream, columns, files};
use crate::write::csv_field;
use seawall::policy::Policy;
use seawall::policy::file::{FeatureNote, Level, PolicyFile};
use seawall::{Error, Feature, Result, Space};
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// A table's rows and the probabilities of the policy's actions.
pub struct Applied {
    names: Vec<String>,
    distinct: Vec<Distinct>,
    /// Each column's values, by code.
    codes: Vec<Vec<u32>>,
    actions: Vec<String>,
    policy: Policy,
    /// Each row's place among the policy's contexts.
    place: Vec<u32>,
}

/// Reads a table and works out a policy on its rows. A number is taken to the nearest level that
/// the policy knows; a level that it does not know is an error.
pub fn apply(file: &PolicyFile, data: &Path) -> Result<Applied> {
    let all = files(data)?;
    let names = columns(&all[0])?;
    if let Some(action) = file.actions.iter().find(|a| names.contains(&format!("p_{a}"))) {
        return Err(Error::input(format!(
            "{}: there is a column \"p_{action}\" already; was the policy applied before?",
            data.display()
        )));
    }
    for note in &file.features {
        if !names.contains(&note.name) {
            let near: Vec<&str> = names.iter().map(String::as_str).collect();
            let hint = crate::read::nearest(&note.name, &near)
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
    let mut stream = Stream::new(names.clone(), vec![false; names.len()]);
    let mut codes: Vec<Vec<u32>> = vec![Vec::new(); names.len()];
    let mut places: HashMap<Vec<u64>, u32> = HashMap::new();
    let mut points: Vec<Vec<f64>> = vec![Vec::new(); file.features.len()];
    let mut place = Vec::new();
    // By code of the column: a value is looked up once.
    let mut known: Vec<Vec<Option<f64>>> = vec![Vec::new(); wanted.len()];
    for path in &all {
        let mut from = 0;
        stream.read(path, &mut |columns| {
            for row in 0..columns.rows {
                let mut at = Vec::with_capacity(wanted.len());
                for ((note, &k), known) in file.features.iter().zip(&wanted).zip(&mut known) {
                    let code = columns.codes[k][row] as usize;
                    known.resize(known.len().max(code + 1), None);
                    if let Some(x) = known[code] {
                        at.push(x);
                        continue;
                    }
                    let x = coordinate(note, &columns.distinct[k], code).map_err(|what| {
                        let (file, row) = (path.display(), from + row + 1);
                        Error::input(format!("{file}: row {row}, column {:?}: {what}", note.name))
                    })?;
                    known[code] = Some(x);
                    at.push(x);
                }
                let next = places.len() as u32;
                let key = at.iter().map(|x: &f64| x.to_bits()).collect();
                place.push(*places.entry(key).or_insert_with(|| {
                    points.iter_mut().zip(&at).for_each(|(column, x)| column.push(*x));
                    next
                }));
            }
            for (all, codes) in codes.iter_mut().zip(columns.codes) {
                all.extend_from_slice(codes);
            }
            from += columns.rows;
            Ok(())
        })?;
    }
    let space = if file.features.is_empty() {
        // A rule that looks at nothing: one point will do.
        place.fill(0);
        Space::points([Feature::numeric("everyone")], vec![vec![0.0]])?
    } else {
        Space::points(file.features.iter().map(feature), points)?
    };
    let policy = Policy::new(&file.name, file.rule.clone(), &Arc::new(space), &file.actions)?;
    let distinct = stream.into_distinct();
    Ok(Applied { names, distinct, codes, actions: file.actions.clone(), policy, place })
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
    let missing =
        if numeric { distinct.is_missing_number(code) } else { distinct.text(code).is_none() };
    if missing {
        return match note.levels.contains(&Level::Missing(())) {
            true => Ok(f64::NAN),
            false => Err("the value is missing, which the policy does not know".to_owned()),
        };
    }
    let text = distinct.text(code).cloned().unwrap_or_default();
    if numeric {
        let Some(x) = distinct.number(code).filter(|x| x.is_finite()) else {
            return Err(format!("{text:?} is not a number"));
        };
        // The nearest level, the upper one of two: the middle of the bin that holds it.
        let nearest = numbers(note).reduce(|best, level| {
            let (a, b) = ((best - x).abs(), (level - x).abs());
            if b < a || (b == a && level > best) { level } else { best }
        });
        return Ok(nearest.unwrap_or(x));
    }
    let known = labels(note);
    known.iter().position(|l| *l == text).map(|k| k as f64).ok_or_else(|| {
        format!("{text:?} is a level that the policy does not know (it knows {})", known.join(", "))
    })
}

impl Applied {
    /// How many rows.
    pub fn rows(&self) -> usize {
        self.place.len()
    }

    /// Writes the table as CSV, with a column `p_ACTION` for each action.
    pub fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let names = self.names.iter().map(|n| csv_field(n));
        let added = self.actions.iter().map(|a| csv_field(&format!("p_{a}")));
        writeln!(out, "{}", names.chain(added).collect::<Vec<_>>().join(","))?;
        for (row, &place) in self.place.iter().enumerate() {
            for (codes, distinct) in self.codes.iter().zip(&self.distinct) {
                let text = distinct.text(codes[row] as usize).map_or("", String::as_str);
                write!(out, "{},", csv_field(text))?;
            }
            let all: Vec<String> =
                self.policy.row(place as usize).iter().map(f64::to_string).collect();
            writeln!(out, "{}", all.join(","))?;
        }
        Ok(())
    }
}
