//! A study file for a data file: roles as asked for or told by names, kinds guessed from what the
//! columns hold, with the reasons in comments. A guess is there to be corrected; what cannot be
//! guessed is asked for.

mod column;
mod contexts;
mod expression;
mod leaks;
mod roles;
pub(crate) mod words;
mod written;

use column::Column;
use contexts::Contexts;
use leaks::OutcomeColumn;
use roles::Roles;
use seawall::{Error, Result};
use seawall_table::read::{Reading, Stream, columns, files};
use std::path::Path;
use words::{many, short};

/// Rows looked at.
const ROWS: usize = 100_000;

/// What a person says of a data file; the rest is guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The column of actions.
    pub action: Option<String>,
    /// Whether the outcome is a reward, and the outcome: a column or a sum like `a + 3*b=Y`.
    pub outcome: Option<(bool, String)>,
    /// The contexts, if only these are to be some.
    pub context: Vec<String>,
    /// Columns that are to be no contexts.
    pub drop: Vec<String>,
}

/// A study file that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its text.
    pub text: String,
    /// What was chosen, in words.
    pub chosen: String,
}

/// A study file for a data file; `shown` is the data's path as the study file will say it.
pub fn init(data: &Path, shown: &str, asked: &Asked) -> Result<Made> {
    let table = read(data)?;
    let about = |what: String| Error::input(format!("{}: {what}", data.display()));
    let roles = Roles::find(&table.columns, &table.refused, asked).map_err(about)?;
    let target = OutcomeColumn::new(&table.columns, &roles.outcome);
    let contexts = Contexts::choose(&table, &roles, asked, &target).map_err(about)?;
    let chosen = format!(
        "action {}, {} {}, {}{}{}",
        short(&table.columns[roles.action].name),
        roles.outcome.word(),
        roles.outcome.typed,
        many(contexts.chosen.len(), "context"),
        match contexts.left_out.len() {
            0 => String::new(),
            left => format!(", {} left out (the file says why)", many(left, "column")),
        },
        match (
            written::lacks_outcome(&table.columns, &roles.outcome),
            written::condition(&table.columns, &roles).is_some(),
        ) {
            (false, false) => "",
            (true, false) =>
                ", rows whose outcome is not known left out (missing, under [outcome])",
            (false, true) => ", rows whose action is not known left out (where, under [data])",
            (true, true) =>
                ", rows whose outcome or action is not known left out (missing, under [outcome]; where, under [data])",
        }
    );
    let text = written::study(&table, &roles, &contexts, &target, shown);
    Ok(Made { text, chosen })
}

/// A data file's columns.
struct Table {
    columns: Vec<Column>,
    /// Columns that could not be read, and why.
    refused: Vec<(String, String)>,
    /// All rows, of which the first are looked at.
    rows: usize,
}

/// Reads every column by its values, and keeps the first rows.
fn read(data: &Path) -> Result<Table> {
    let files = files(data)?;
    let names = columns(&files[0])?;
    let readings = vec![Reading::Values; names.len()];
    let mut stream = Stream::new(names.clone(), readings).first(ROWS).lenient();
    let mut codes: Vec<Vec<u32>> = vec![Vec::new(); names.len()];
    let (mut rows, mut kept) = (0, 0);
    for file in &files {
        let mut of_file = 0;
        stream.read(file, &mut |columns| {
            // Beyond the first rows of a file the stream only counts.
            if of_file < ROWS && kept < ROWS {
                kept += columns.rows;
                for (codes, batch) in codes.iter_mut().zip(columns.codes) {
                    codes.extend(batch);
                    // A column that cannot be read is left out later.
                    codes.resize(kept, 0);
                }
            }
            of_file += columns.rows;
            Ok(())
        })?;
        rows += of_file;
    }
    let mut table = Table { columns: Vec::new(), refused: Vec::new(), rows };
    for ((name, codes), found) in names.into_iter().zip(codes).zip(stream.into_readable()) {
        match found {
            Ok(distinct) => table.columns.push(Column::new(name, distinct, codes)),
            Err(why) => table.refused.push((name, why)),
        }
    }
    Ok(table)
}
