//! What a set needs to know beside a radius: its parameters, as they are declared and as they are given.

use crate::error::{Error, Field};
use std::fmt;

/// What a parameter of a set may be.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Takes {
    /// A finite number above 0.
    Positive,
    /// A finite number that is not below this.
    AtLeast(f64),
    /// A finite number other than 0 and 1.
    NeitherZeroNorOne,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// What a set needs to know beside a radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, as it is written everywhere.
    pub name: &'static str,
    /// What a reader should know to choose it.
    pub hint: &'static str,
    /// Values to try.
    pub examples: &'static [&'static str],
    /// What it may be.
    pub takes: Takes,
    /// Whether the set can do without it.
    pub optional: bool,
}

/// What a parameter of a set is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// A number.
    Number(f64),
    /// A word.
    Word(&'static str),
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Not hundreds of zeros.
            Argument::Number(x) if *x != 0.0 && !(1e-9..1e16).contains(&x.abs()) => {
                write!(f, "{x:e}")
            }
            Argument::Number(number) => write!(f, "{number}"),
            Argument::Word(word) => f.write_str(word),
        }
    }
}

impl Takes {
    /// Whether this is what is taken.
    pub(super) fn fits(&self, argument: Argument) -> bool {
        match (self, argument) {
            (Takes::Positive, Argument::Number(x)) => x > 0.0 && x.is_finite(),
            (Takes::AtLeast(least), Argument::Number(x)) => x >= *least && x.is_finite(),
            (Takes::NeitherZeroNorOne, Argument::Number(x)) => {
                x != 0.0 && x != 1.0 && x.is_finite()
            }
            (Takes::Word(words), Argument::Word(word)) => words.contains(&word),
            _ => false,
        }
    }

    /// What a text means, if it is what is taken.
    pub(super) fn read(&self, text: &str) -> Option<Argument> {
        let argument = match self {
            Takes::Word(words) => Argument::Word(words.iter().find(|word| **word == text)?),
            _ => Argument::Number(text.parse().ok()?),
        };
        Some(argument).filter(|a| self.fits(*a))
    }
}

impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Takes::Positive => f.write_str("a finite number > 0"),
            Takes::AtLeast(least) => write!(f, "a finite number ≥ {least}"),
            Takes::NeitherZeroNorOne => f.write_str("a finite number other than 0 and 1"),
            Takes::Word(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

/// A set's parameters as given, checked, in the order of its table.
pub(super) struct Given<'g>(pub &'g [Option<Argument>]);

impl Given<'_> {
    /// A number that may be left out.
    pub fn optional(&self, at: usize) -> Option<f64> {
        match self.0.get(at) {
            Some(Some(Argument::Number(number))) => Some(*number),
            _ => None,
        }
    }

    /// A word that may be left out.
    pub fn word(&self, at: usize) -> Option<&'static str> {
        match self.0.get(at) {
            Some(Some(Argument::Word(word))) => Some(word),
            _ => None,
        }
    }

    /// A number that the set cannot do without.
    pub fn number(&self, at: usize) -> f64 {
        self.optional(at).unwrap_or(f64::NAN)
    }
}

/// A parameter that is not what its set takes.
pub(super) fn misfit(set: &str, parameter: &Parameter, text: &str) -> Error {
    let what = format!("is {text}; expected {}", parameter.takes);
    match parameter_field(parameter.name) {
        Some(field) => Error::field(field, what),
        None => Error::field(Field::Set, format!("{set}: {} {what}", parameter.name)),
    }
}

/// The field of its own that a parameter has, if it has one.
pub(super) fn parameter_field(name: &str) -> Option<Field> {
    (name == "eta").then_some(Field::Eta)
}
