//! `seawall backtest`.

use super::transfer::with_history;
use crate::failure::Failure;
use crate::request::BacktestRequest;
use crate::show;
use seawall::Watch;
use seawall_study::prepare::load;
use seawall_study::transfer::backtest;
use std::io::Write;

/// Tries every procedure on every past group, and prints.
pub fn run(asked: BacktestRequest) -> Result<(), Failure> {
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
