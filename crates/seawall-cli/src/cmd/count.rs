//! `seawall count`.

use crate::failure::Failure;
use crate::show;
use seawall::Watch;
use seawall_study::study::study;
use seawall_table::count::counted_table;
use seawall_table::counted::CountedTable;
use seawall_table::read::files;
use seawall_table::write::{destination, prepare};
use std::io::Write;
use std::path::Path;

/// Counts a study's rows and writes the table: whole, or not at all.
pub fn run(path: &Path, out: &Path) -> Result<(), Failure> {
    let study = study(path)?.grouped();
    CountedTable::check_name(out)?;
    let real = destination(out, path)?;
    for input in files(&study.data.path)? {
        destination(out, &input)?;
    }
    let wait = show::Wait::new();
    let (counted, table) = counted_table(&study.data, Watch::new(&wait.follow()))?;
    drop(wait);
    let bytes = table.bytes(&real)?;
    prepare(real.clone(), |file| file.write_all(&bytes))?.keep()?;
    let (rows, groups, name) = (counted.rows, table.groups(), real.display());
    writeln!(
        show::terminal(),
        "{rows} rows are {groups} groups in {name}. With that path and counted = true under [data], {} \
         gives the same answers.",
        path.display()
    )?;
    Ok(())
}
