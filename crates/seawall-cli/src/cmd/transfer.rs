//! `seawall transfer`.

use super::Failure;
use super::check::Toward;
use crate::show;
use seawall::Watch;
use seawall_study::fields::FrontEnd;
use seawall_study::load::load;
use seawall_study::study::{HistoryChanges, Study, study};
use seawall_study::transfer::{Request, transfer};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What is asked.
pub struct Asked {
    /// The study.
    pub study: PathBuf,
    /// The target.
    pub toward: Toward,
    /// The past groups.
    pub history: HistoryChanges,
    /// The rest.
    pub request: Request,
    /// Whether to print JSON.
    pub json: bool,
}

/// The study with its past groups, to be counted by them.
pub(super) fn with_history(path: &Path, changes: HistoryChanges) -> Result<Study, Failure> {
    let mut study = study(path)?;
    study.history = changes.apply(study.history.take(), &study.contexts, FrontEnd::Cli)?;
    Ok(study.grouped())
}

/// Transfers and prints.
pub fn run(asked: Asked) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let study = with_history(&asked.study, asked.history)?;
    let study = study.with_known(asked.toward.known, asked.toward.size)?;
    let loaded = load(study, Watch::new(&wait.follow()))?;
    let target = asked.toward.target.as_deref();
    let loaded = loaded.toward(target, Watch::new(&wait.follow()))?.unwrap_or(loaded);
    let answer = transfer(&loaded, &asked.request, Watch::new(&wait.follow()))?;
    drop(wait);
    let mut out = std::io::stdout().lock();
    if asked.json {
        let text = serde_json::to_string(&answer).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::transfer::print(&answer, &mut out)?;
    }
    Ok(())
}
