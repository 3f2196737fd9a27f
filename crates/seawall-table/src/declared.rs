//! Where a declaration says something: a line of a file, or an argument of a call.
//!
//! Messages about what is said begin with it. Not here: what is said ([`mod@crate::spec`]).

use seawall::Error;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The declaration that messages point to.
#[derive(Clone, Debug)]
pub struct Declared {
    /// What they call it: its file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// The names that it says, and where.
    pub mentions: Mentions,
}

/// Where something is said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A line of a file, counted from 1.
    Line(Arc<str>, usize),
    /// An argument of a call, or a part of one; empty for what is put together from several.
    Argument(String),
}

impl Place {
    /// The place of what is said under a key of something said here.
    #[must_use]
    pub fn child(&self, key: &str) -> Self {
        match self {
            Place::Line(..) => self.clone(),
            Place::Argument(path) if path.is_empty() => Place::Argument(key.to_owned()),
            Place::Argument(path) => Place::Argument(format!("{path}[{key:?}]")),
        }
    }

    /// An error about this place.
    pub fn error(&self, what: impl fmt::Display) -> Error {
        match self {
            Place::Argument(path) if path.is_empty() => Error::config(what.to_string()),
            _ => Error::config(format!("{self}: {what}")),
        }
    }

    /// What a part of the declaration is called where this is said: `[context]`, or `context`.
    pub fn section(&self, name: &str) -> String {
        match self {
            Place::Line(..) => format!("[{name}]"),
            Place::Argument(_) => name.to_owned(),
        }
    }

    /// A word for files, or one for calls.
    pub fn word(&self, file: &'static str, call: &'static str) -> &'static str {
        match self {
            Place::Line(..) => file,
            Place::Argument(_) => call,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(file, line) => write!(f, "{file}: line {line}"),
            Place::Argument(path) => f.write_str(path),
        }
    }
}

/// Every key and text that a declaration says, and where.
#[derive(Clone, Debug, Default)]
pub struct Mentions(Arc<BTreeMap<String, Place>>);

impl Mentions {
    /// Names, each with the place that says it first.
    pub fn new(names: BTreeMap<String, Place>) -> Self {
        Mentions(Arc::new(names))
    }

    /// Where a name is said first.
    pub fn place(&self, name: &str) -> Option<&Place> {
        self.0.get(name)
    }

    /// All of them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
