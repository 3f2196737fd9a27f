//! `seawall demo`.

use crate::failure::Failure;
use crate::request::EvaluateOutputs;
use crate::request::Toward;
use crate::show;
use seawall::Error;
use seawall_study::demo::{DATA, STUDY, trial};
use seawall_study::evaluate::{Changes, Halving};
use seawall_table::write::prepare;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Writes the synthetic trial and its study file, then checks and evaluates them.
pub fn run(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Error::input(format!("{}: cannot be made: {e}", folder.display())))?;
    let study = folder.join("study.toml");
    {
        let mut out = show::terminal();
        for (path, text, what) in [
            (folder.join(DATA), trial(), "a synthetic trial of 6,000 made-up patients"),
            (study.clone(), STUDY.to_owned(), "its study file, to edit"),
        ] {
            match std::fs::read(&path) {
                Ok(there) if there == text.as_bytes() => {
                    writeln!(out, "{}: {what} (there already)", path.display())?;
                }
                Ok(_) => writeln!(
                    out,
                    "{}: there already and changed; kept (delete it to start afresh)",
                    path.display()
                )?,
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::input(format!("{}: {error}", path.display())).into());
                }
                Err(_) => {
                    prepare(path.clone(), |file| file.write_all(text.as_bytes()))?.keep()?;
                    writeln!(out, "{}: {what}", path.display())?;
                }
            }
        }
        writeln!(out, "\n$ seawall check {}", study.display())?;
    }
    super::check::run(&study, &Toward::default(), false)?;
    writeln!(show::terminal(), "\n$ seawall evaluate {}", study.display())?;
    let changes = Changes { halves: Some(Halving::default()), ..Changes::default() };
    super::evaluate::run(&study, &changes, &EvaluateOutputs::default())?;
    super::transfer::demo(&study)?;
    writeln!(
        show::terminal(),
        "\nNext: edit {0} and run `seawall evaluate {0}`; try --radius 0.2, --support observed or \
         --outcome-radius 0.01.",
        study.display()
    )?;
    Ok(())
}
