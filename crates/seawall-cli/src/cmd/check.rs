//! `seawall check`.

use crate::failure::Failure;
use crate::request::Toward;
use crate::show;
use seawall::Watch;
use seawall_study::check::check;
use seawall_study::prepare::{PreparedStudy, load};
use seawall_study::study::study;
use std::io::Write;
use std::path::Path;

/// Reads a study's data, showing how far it got.
pub(super) fn read(path: &Path, wait: &show::Wait) -> Result<PreparedStudy, Failure> {
    let study = study(path)?;
    Ok(load(study, Watch::new(&wait.follow()))?)
}

/// The same, asked about a target: the one given, else the study's own.
pub(super) fn read_toward(
    path: &Path,
    target: Option<&Path>,
    wait: &show::Wait,
) -> Result<PreparedStudy, Failure> {
    let target = target.map(Path::to_owned);
    read_knowing(path, &Toward { target, ..Toward::default() }, wait)
}

/// The same, where numbers about the target may be given, too.
pub(super) fn read_knowing(
    path: &Path,
    toward: &Toward,
    wait: &show::Wait,
) -> Result<PreparedStudy, Failure> {
    let study = study(path)?.with_known(toward.known.clone(), toward.size)?;
    let follow = wait.follow();
    let loaded = load(study, Watch::new(&follow))?;
    let target = toward.target.as_deref();
    Ok(loaded.toward(target, Watch::new(&follow))?.unwrap_or(loaded))
}

/// Prints everything about a study's data.
pub fn run(path: &Path, toward: &Toward, json: bool) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let loaded = read_knowing(path, toward, &wait)?;
    let found = check(&loaded, Watch::new(&wait.follow()))?;
    drop(wait);
    let mut out = show::terminal();
    if json {
        let text = serde_json::to_string(&found).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::check::print(&found, &mut out)?;
    }
    Ok(())
}
