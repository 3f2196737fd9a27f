//! `seawall backtest`.

use super::Failure;
use super::transfer::with_history;
use crate::show;
use seawall::Watch;
use seawall_study::prepare::load;
use seawall_study::study::HistoryChanges;
use seawall_study::transfer::{Retrial, backtest};
use std::io::Write;
use std::path::PathBuf;

/// What is asked.
pub struct Asked {
    /// The study.
    pub study: PathBuf,
    /// The past groups.
    pub history: HistoryChanges,
    /// The rest.
    pub retrial: Retrial,
    /// Whether to print JSON.
    pub json: bool,
}

/// Tries every procedure on every past group, and prints.
pub fn run(asked: Asked) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let study = with_history(&asked.study, asked.history)?;
    let loaded = load(study, Watch::new(&wait.follow()))?;
    let loaded = loaded.toward(None, Watch::new(&wait.follow()))?.unwrap_or(loaded);
    let answer = backtest(&loaded, &asked.retrial, Watch::new(&wait.follow()))?;
    drop(wait);
    let mut out = show::terminal();
    if asked.json {
        let text = serde_json::to_string(&answer).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::backtest::print(&answer, &mut out)?;
    }
    Ok(())
}
