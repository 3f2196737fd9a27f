//! `seawall check`.

use super::Failure;
use crate::show;
use seawall_study::check::check;
use seawall_study::load::{Loaded, load};
use seawall_study::study::study;
use std::io::Write;
use std::path::Path;

/// Reads a study's data, showing how far it got.
pub(super) fn read(path: &Path, wait: &show::Wait) -> Result<Loaded, Failure> {
    let study = study(path)?;
    let data = study.data.display().to_string();
    Ok(load(study, &|rows| wait.say(|| format!("reading {data}: {rows} rows")))?)
}

/// Prints everything about a study's data.
pub fn run(path: &Path, json: bool) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let loaded = read(path, &wait)?;
    wait.say(|| "fitting the outcome model".to_owned());
    let found = check(&loaded)?;
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
