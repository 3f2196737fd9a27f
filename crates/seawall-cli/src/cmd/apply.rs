//! `seawall predict`, and a policy in words.

use crate::failure::Failure;
use crate::show;
use seawall::Error;
use seawall::policy::file::PolicyFile;
use seawall_study::apply::apply;
use seawall_table::read::files;
use seawall_table::write::{check_csv, destination, prepare};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A policy file, checked.
fn read(path: &Path) -> Result<PolicyFile, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
    let file = PolicyFile::from_json(&text).and_then(|file| file.validate().map(|()| file));
    Ok(file.map_err(|e| e.within(path.display()))?)
}

/// Adds the probabilities of a policy's actions to a table.
pub fn run(policy: &Path, data: &Path, out: &Option<PathBuf>) -> Result<(), Failure> {
    let file = read(policy)?;
    let real = match out {
        Some(out) => {
            check_csv(out)?;
            for input in files(data)? {
                destination(out, &input)?;
            }
            Some(destination(out, policy)?)
        }
        None => None,
    };
    let applied = apply(&file, data)?;
    match real {
        Some(real) => {
            prepare(real.clone(), |file| applied.write(file))?.keep()?;
            let (rows, name) = (applied.rows(), real.display());
            writeln!(
                show::terminal(),
                "{rows} rows with the chances of {:?} are in {name}.",
                file.name
            )?;
        }
        None => {
            let mut out = std::io::BufWriter::new(show::data());
            applied.write(&mut out)?;
            out.flush()?;
        }
    }
    Ok(())
}

/// Prints a policy in words.
pub fn explain(policy: &Path) -> Result<(), Failure> {
    let file = read(policy)?;
    let mut out = show::terminal();
    let chooses = format!("{}: chooses among {}.", file.name, file.actions.join(", "));
    writeln!(out, "{}", show::one_line(&chooses))?;
    for line in file.explain() {
        writeln!(out, "{}", show::one_line(&line))?;
    }
    Ok(())
}
