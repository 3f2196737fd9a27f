//! The rows of a target, by the study's context columns.

use crate::study::{Study, TargetWeight};
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use seawall::{Error, Progress, Result, Stage, Watch};
use seawall_table::combine::Combinations;
use seawall_table::count::Check;
use seawall_table::read::{Columns, Distinct, Reading, Stream, columns, files, unknown_column};
use std::path::{Path, PathBuf};

/// Batches of rows in memory.
pub type Batches<'a> = dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + 'a;

/// Where a target comes from.
pub enum Source<'a> {
    /// A file, a pattern or a folder.
    File(&'a Path),
    /// Rows in memory, and what messages call them.
    Batches {
        /// The name.
        name: &'a str,
        /// The columns' names.
        columns: &'a [String],
        /// The rows.
        batches: &'a mut Batches<'a>,
    },
}

/// Rows by what they hold in the context columns.
pub(super) struct Rows {
    /// What messages call it.
    pub(super) name: String,
    /// Each row's combination of values, and its weight.
    pub(super) rows: Vec<(u32, f64)>,
    pub(super) left_out: usize,
    /// For each context column, its distinct values.
    pub(super) distinct: Vec<Distinct>,
    /// For each context column and value, the first row that has it, counted from 1.
    pub(super) first: Vec<Vec<usize>>,
    combinations: Combinations,
}

/// What is read of a target.
struct Reader<'s> {
    study: &'s Study,
    rows: Rows,
    checks: Vec<Check>,
    weight: Option<usize>,
    read: usize,
}

impl Rows {
    /// Reads a target.
    pub(super) fn read(study: &Study, source: Source<'_>, watch: Watch<'_>) -> Result<Self> {
        let target = &study.target;
        let contexts = study.data.contexts.len();
        let mut names: Vec<String> = study.data.contexts.iter().map(|c| c.name.clone()).collect();
        let mut readings = vec![Reading::Values; contexts];
        names.extend(target.filters.iter().map(|(name, _)| name.clone()));
        readings.resize(names.len(), Reading::Values);
        let check = |(k, (name, condition)): (usize, &(String, _))| {
            Check::new(contexts + k, condition, study.data.has_levels(name))
        };
        let checks = target.filters.iter().enumerate().map(check).collect();
        if let Some(weight) = &target.weight {
            names.push(weight.column().to_owned());
            readings.push(Reading::Numbers);
        }
        let weight = target.weight.as_ref().map(|_| names.len() - 1);
        let name = match &source {
            Source::File(path) => path.display().to_string(),
            Source::Batches { name, .. } => (*name).to_owned(),
        };
        let rows = Rows {
            name: name.clone(),
            rows: Vec::new(),
            left_out: 0,
            distinct: Vec::new(),
            first: vec![Vec::new(); contexts],
            combinations: Combinations::new(contexts),
        };
        let mut reader = Reader { study, rows, checks, weight, read: 0 };
        let mut stream = Stream::new(names.clone(), readings);
        match source {
            Source::File(path) => {
                for file in files(path)? {
                    check_columns(&file, &columns(&file)?, &names)?;
                    let mut from = 0;
                    stream.read(&file, &mut |columns| {
                        reader.take(columns, &file, from)?;
                        from += columns.rows;
                        watch.tell(Progress::at(Stage::Reading).done(reader.read))
                    })?;
                }
            }
            Source::Batches { columns, batches, .. } => {
                let name = PathBuf::from(&name);
                check_columns(&name, columns, &names)?;
                let mut from = 0;
                stream.read_batches(&name, batches, &mut |columns| {
                    reader.take(columns, &name, from)?;
                    from += columns.rows;
                    watch.tell(Progress::at(Stage::Reading).done(from))
                })?;
            }
        }
        let mut rows = reader.rows;
        rows.distinct = stream.into_distinct();
        rows.distinct.truncate(contexts);
        if rows.rows.iter().all(|r| r.1 == 0.0) {
            return Err(Error::input(format!(
                "{name}: none of {} rows is left: {} do not meet the target's conditions, the others \
                 weigh 0",
                reader.read, rows.left_out
            )));
        }
        Ok(rows)
    }

    /// How many combinations of values there are.
    pub(super) fn combinations(&self) -> usize {
        self.combinations.count()
    }

    /// What each combination weighs.
    pub(super) fn weights(&self) -> Vec<f64> {
        let mut mass = vec![0.0; self.combinations()];
        self.rows.iter().for_each(|r| mass[r.0 as usize] += r.1);
        mass
    }

    /// The values of a combination, by code.
    pub(super) fn codes(&self, combination: usize) -> Vec<u32> {
        self.combinations.codes(combination as u32)
    }

    /// The values that a column has in any row used.
    pub(super) fn used(&self, column: usize) -> Vec<u32> {
        self.combinations.used(column)
    }
}

/// Refuses a table without one of the columns.
fn check_columns(file: &Path, all: &[String], names: &[String]) -> Result<()> {
    let Some(name) = names.iter().find(|name| !all.contains(name)) else { return Ok(()) };
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let what = unknown_column(name, &all);
    Err(Error::input(format!("{}: {what}; a target needs the study's contexts", file.display())))
}

impl Reader<'_> {
    fn take(&mut self, columns: &Columns<'_>, file: &Path, from: usize) -> Result<()> {
        self.checks.iter_mut().for_each(|check| check.prepare(columns));
        let contexts = self.study.data.contexts.len();
        for (k, first) in self.rows.first.iter_mut().enumerate() {
            first.resize(columns.distinct[k].len(), 0);
        }
        self.read += columns.rows;
        for row in 0..columns.rows {
            if !self.checks.iter().all(|check| check.holds(columns, row)) {
                self.rows.left_out += 1;
                continue;
            }
            let weight = match self.weight {
                None => 1.0,
                Some(column) => match columns.numbers[column][row] {
                    w if self.study.target.weight.as_ref().is_none_or(|own| own.fits(w)) => w,
                    w => {
                        let declared = self.study.target.weight.as_ref();
                        return Err(Error::input(format!(
                            "{}: row {}, column {:?}: the weight is {w}; {}",
                            file.display(),
                            from + row + 1,
                            declared.map_or("", TargetWeight::column),
                            declared.map_or("", TargetWeight::expected),
                        )));
                    }
                },
            };
            let code = |k: usize| columns.codes[k][row];
            for (k, first) in self.rows.first.iter_mut().enumerate() {
                let first = &mut first[code(k) as usize];
                *first = if *first == 0 { from + row + 1 } else { *first };
            }
            let id = self.rows.combinations.id((0..contexts).map(code));
            self.rows.rows.push((id, weight));
        }
        Ok(())
    }
}
