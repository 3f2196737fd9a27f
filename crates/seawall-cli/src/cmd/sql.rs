//! `seawall sql`.

use crate::failure::Failure;
use crate::show;
use seawall_study::study::study;
use seawall_table::sql::query;
use std::io::Write;
use std::path::Path;

/// Prints the query that counts a study's rows.
pub fn run(path: &Path, dialect: &str, table: Option<&str>) -> Result<(), Failure> {
    let text = query(&study(path)?.grouped().data, dialect, table)?;
    writeln!(show::data(), "{text}")?;
    Ok(())
}
