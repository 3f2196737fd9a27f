//! One file a command: runs a request and shows what came of it.

pub mod apply;
pub mod backtest;
pub mod bound;
pub mod check;
pub mod compare;
pub mod completions;
pub mod count;
pub mod demo;
pub mod describe;
pub mod distance;
pub mod evaluate;
pub mod explain;
pub mod init;
pub mod learn;
pub mod radius;
pub mod report;
pub mod sql;
pub mod transfer;

use seawall_study::fields::FrontEnd;
use seawall_table::write::destination;
use std::fmt;
use std::path::{Path, PathBuf};

/// The exit code of a run that was interrupted, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// Why a command did not end well.
#[derive(Debug)]
pub enum Failure {
    /// The library refused.
    Refused(seawall::Error),
    /// The words typed cannot be meant.
    Usage(String),
    /// Standard output is gone.
    Output(std::io::Error),
    /// It was interrupted; what there was to show was shown.
    Interrupted(String),
}

impl Failure {
    /// The words typed cannot be meant.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure::Usage(message.into())
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Refused(error) if error.is_stopped() => INTERRUPTED,
            Failure::Refused(error) if error.is_numeric() || error.is_internal() => 1,
            Failure::Refused(_) | Failure::Usage(_) => 2,
            Failure::Output(_) => 1,
            Failure::Interrupted(_) => INTERRUPTED,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(error) => f.write_str(&error.worded(&FrontEnd::Cli)),
            Failure::Usage(message) | Failure::Interrupted(message) => f.write_str(message),
            Failure::Output(error) => write!(f, "standard output: {error}"),
        }
    }
}

/// Where two outputs really go; refused before any work if they cannot go there, or would go to
/// the same place or over the input.
pub fn destinations(
    (first_option, first): (&str, Option<PathBuf>),
    (second_option, second): (&str, Option<PathBuf>),
    input: &Path,
) -> Result<(Option<PathBuf>, Option<PathBuf>), Failure> {
    let real = |path: Option<PathBuf>| path.map(|p| destination(&p, input)).transpose();
    let (first, second) = (real(first)?, real(second)?);
    if first.is_some() && first == second {
        return Err(Failure::usage(format!(
            "{first_option} and {second_option} name the same file"
        )));
    }
    Ok((first, second))
}

impl From<seawall::Error> for Failure {
    fn from(error: seawall::Error) -> Self {
        Failure::Refused(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Output(error)
    }
}
