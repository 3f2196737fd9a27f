//! One error for the whole library, with a few questions it can answer.

use std::fmt;

/// What went wrong, in one line that names the thing, its value and what was expected.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Input,
    Config,
    Numeric,
}

/// The library's result.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The data are wrong: a value, a weight, a level, a length.
    pub fn input(message: impl fmt::Display) -> Self {
        Error { kind: Kind::Input, message: message.to_string() }
    }

    /// The question is wrong: a radius, an option, a combination of them.
    pub fn config(message: impl fmt::Display) -> Self {
        Error { kind: Kind::Config, message: message.to_string() }
    }

    /// The numbers are beyond what can be computed.
    pub fn numeric(message: impl fmt::Display) -> Self {
        Error { kind: Kind::Numeric, message: message.to_string() }
    }

    /// Whether the data are at fault.
    pub fn is_input(&self) -> bool {
        self.kind == Kind::Input
    }

    /// Whether the question is at fault.
    pub fn is_config(&self) -> bool {
        self.kind == Kind::Config
    }

    /// Whether the numbers are beyond what can be computed.
    pub fn is_numeric(&self) -> bool {
        self.kind == Kind::Numeric
    }

    /// The same error, said of something: `context: message`.
    #[must_use]
    pub fn within(self, context: impl fmt::Display) -> Self {
        Error { message: format!("{context}: {}", self.message), ..self }
    }
}
