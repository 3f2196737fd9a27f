//! `seawall distance`.

use super::Failure;
use crate::show;
use seawall_study::bound::Context;
use seawall_study::distance::{Answer, between_tables, to_target};
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
    let (answer, from, to): (Answer, &Path, &Path) = match asked {
        Asked::Tables { from, to, contexts, weight } => {
            wait.hold("reading and solving");
            (between_tables(from, to, contexts, weight.as_deref(), eta)?, from, to)
        }
        Asked::Target { study, target } => {
            let loaded = super::check::read(study, &wait)?;
            wait.hold("solving");
            (to_target(&loaded, target, eta)?, study, target)
        }
    };
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
