//! `seawall check`.

use super::Failure;
use crate::show;
use seawall::Watch;
use seawall_study::check::check;
use seawall_study::load::{Loaded, load};
use seawall_study::study::study;
use std::io::Write;
use std::path::Path;

/// Reads a study's data, showing how far it got.
pub(super) fn read(path: &Path, wait: &show::Wait) -> Result<Loaded, Failure> {
    let study = study(path)?;
    Ok(load(study, Watch::new(&wait.follow()))?)
}

/// The same, asked about a target: the one given, else the study's own.
pub(super) fn read_toward(
    path: &Path,
    target: Option<&Path>,
    wait: &show::Wait,
) -> Result<Loaded, Failure> {
    let loaded = read(path, wait)?;
    Ok(loaded.toward(target, Watch::new(&wait.follow()))?.unwrap_or(loaded))
}

/// Prints everything about a study's data.
pub fn run(path: &Path, target: Option<&Path>, json: bool) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let loaded = read_toward(path, target, &wait)?;
    let found = check(&loaded, Watch::new(&wait.follow()))?;
    drop(wait);
    let mut out = std::io::stdout().lock();
    if json {
        let text = serde_json::to_string(&found).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::check::print(&found, &mut out)?;
    }
    Ok(())
}
