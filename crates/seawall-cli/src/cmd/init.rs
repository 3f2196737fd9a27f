//! `seawall init`.

use crate::failure::Failure;
use crate::show;
use seawall::Error;
use seawall_study::init::{Asked, init};
use seawall_table::write::{destination, prepare};
use std::io::Write;
use std::path::Path;

/// Writes a study file for a data file.
pub fn run(data: &Path, out: &Path, asked: &Asked) -> Result<(), Failure> {
    let real = destination(out, data)?;
    if real.exists() {
        return Err(Error::config(format!(
            "{}: there already; give another name with --out",
            out.display()
        ))
        .into());
    }
    // The study names its data relative to itself where the two share a folder.
    let beside = |path: &Path| path.canonicalize().ok()?.parent().map(Path::to_owned);
    let shown = match (data.canonicalize(), data.file_name()) {
        (Ok(_), Some(name)) if beside(data).as_deref() == real.parent() => {
            name.to_string_lossy().into_owned()
        }
        (Ok(whole), _) => whole.to_string_lossy().into_owned(),
        (Err(error), _) => {
            return Err(Error::input(format!("{}: {error}", data.display())).into());
        }
    };
    let made = init(data, &shown, asked)?;
    prepare(real, |file| file.write_all(made.text.as_bytes()))?.keep()?;
    let mut stdout = show::terminal();
    writeln!(
        stdout,
        "Wrote {0}: {1}. Correct its guesses, then run `seawall check {0}`.",
        out.display(),
        made.chosen
    )?;
    Ok(())
}
