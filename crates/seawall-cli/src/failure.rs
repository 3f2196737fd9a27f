//! Why a command did not end well, and the exit code of that.

use seawall_study::fields::FrontEnd;
use std::fmt;

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
