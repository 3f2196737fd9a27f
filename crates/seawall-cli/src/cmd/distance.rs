//! `seawall distance`.

use super::Failure;
use crate::show;
use seawall::Watch;
use seawall_study::bound::Context;
use seawall_study::distance::{SampleDistance, between_tables, to_target};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What is to be compared.
pub enum Asked {
    /// Two tables, by these columns.
    Tables {
        /// The first.
        from: PathBuf,
        /// The second.
        to: PathBuf,
        /// The columns.
        contexts: Vec<Context>,
        /// A column of weights.
        weight: Option<String>,
    },
    /// A study's log and a target sample.
    Target {
        /// The study.
        study: PathBuf,
        /// The target.
        target: PathBuf,
    },
}

/// Answers and prints.
pub fn run(asked: &Asked, eta: Option<f64>, json: bool) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let follow = wait.follow();
    let watch = Watch::new(&follow);
    let (answer, from, to): (SampleDistance, &Path, &Path) = match asked {
        Asked::Tables { from, to, contexts, weight } => {
            (between_tables(from, to, contexts, weight.as_deref(), eta, watch)?, from, to)
        }
        Asked::Target { study, target } => {
            let loaded = super::check::read_toward(study, Some(target), &wait)?;
            (to_target(&loaded, eta, watch)?, study, target)
        }
    };
    drop(follow);
    drop(wait);
    let mut out = std::io::stdout().lock();
    if json {
        let text = serde_json::to_string(&answer).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::distance::print(&answer, from, to, &mut out)?;
    }
    Ok(())
}
