//! A declaration as a tree: every value knows where it was said.
//!
//! It is made from a study file ([`super::toml_file`]), where a place is a line, or by a front end from
//! arguments of a call, where it is the argument's path (`context["age"]["bin"]`). What is made of it goes
//! through the same checks, and errors name what the user wrote. Not here: what the values mean.

use super::{Mentions, Place};
use crate::fields::FrontEnd;
use seawall::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;

/// Who speaks to the user where something is said.
pub(super) fn front_end(place: &Place) -> FrontEnd {
    match place {
        Place::Line(..) => FrontEnd::Study,
        Place::Argument(_) => FrontEnd::Python,
    }
}

/// What is said.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// True or false.
    Truth(bool),
    /// A whole number as it is written: as a float a long one would lose its last digits.
    Whole(String),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A date or a time as it is written.
    Time(String),
    /// Values in a row.
    List(Vec<DeclaredValue>),
    /// Values by key, in the order they are said.
    Table(Vec<(String, DeclaredValue)>),
}

impl Said {
    fn number(&self) -> Option<f64> {
        match self {
            Said::Whole(text) => text.parse::<i64>().ok().map(|x| x as f64),
            Said::Number(x) => Some(*x),
            _ => None,
        }
    }
}

/// A value of a declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredValue {
    /// Where it is said.
    pub place: Place,
    /// The keys that lead to it: `robust.context`.
    pub name: String,
    /// The value.
    pub said: Said,
}

impl DeclaredValue {
    /// A value that is said somewhere; `table` names what is below.
    pub fn new(place: Place, said: Said) -> Self {
        DeclaredValue { place, name: String::new(), said }
    }

    /// An error about this value.
    pub fn error(&self, what: impl fmt::Display) -> Error {
        Error::config(format!("{}: {what}", self.whole_place()))
    }

    /// What a message about it begins with: the file, the line and its name; or the argument.
    pub(super) fn whole_place(&self) -> String {
        match &self.place {
            Place::Line(..) => format!("{}: {:?}", self.place, self.name),
            Place::Argument(path) if path.is_empty() => self.name.clone(),
            Place::Argument(path) => path.clone(),
        }
    }

    fn expected(&self, file: &'static str, call: &'static str) -> Error {
        self.error(format!("expected {}", self.place.word(file, call)))
    }

    /// As a table.
    pub(super) fn table(self) -> Result<DeclaredTable> {
        let Said::Table(entries) = self.said else {
            return Err(self.expected("a table", "a dictionary"));
        };
        Ok(DeclaredTable { place: self.place, name: self.name, entries })
    }

    /// As one table or a list of them.
    pub(super) fn tables(self) -> Result<Vec<DeclaredTable>> {
        match self.said {
            Said::List(values) => {
                let named =
                    |v: DeclaredValue| DeclaredValue { name: self.name.clone(), ..v }.table();
                values.into_iter().map(named).collect()
            }
            _ => Ok(vec![self.table()?]),
        }
    }

    /// Whether it is a table.
    pub(super) fn is_table(&self) -> bool {
        matches!(self.said, Said::Table(_))
    }

    /// Whether it is a number.
    pub(super) fn is_number(&self) -> bool {
        matches!(self.said, Said::Whole(_) | Said::Number(_))
    }

    /// Whether it is a text.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.said, Said::Text(_))
    }

    /// A date or a time as text, quoted or not.
    pub(super) fn time_text(&self) -> Option<&str> {
        match &self.said {
            Said::Text(text) | Said::Time(text) => Some(text),
            _ => None,
        }
    }

    /// As text.
    pub(super) fn text(&self) -> Result<String> {
        match &self.said {
            Said::Text(text) => Ok(text.clone()),
            _ => Err(self.expected("a text in quotes", "a text")),
        }
    }

    /// As true or false.
    pub(super) fn truth(&self) -> Result<bool> {
        match self.said {
            Said::Truth(truth) => Ok(truth),
            _ => Err(self.expected("true or false", "True or False")),
        }
    }

    /// As a number.
    pub(super) fn number(&self) -> Result<f64> {
        self.said.number().ok_or_else(|| self.expected("a number", "a number"))
    }

    /// As one number or a list of them.
    pub(super) fn numbers(&self) -> Result<Vec<f64>> {
        let all = match &self.said {
            Said::List(values) => values.iter().map(|v| v.said.number()).collect(),
            one => one.number().map(|x| vec![x]),
        };
        let expected = "a number or a list of numbers";
        all.ok_or_else(|| self.expected(expected, expected))
    }

    /// As one text or number, or a list of them, all as text.
    pub(super) fn texts(&self) -> Result<Vec<String>> {
        let each = |said: &Said| match said {
            Said::Text(text) | Said::Time(text) | Said::Whole(text) => Some(text.clone()),
            Said::Truth(truth) => Some(truth.to_string()),
            Said::Number(x) => Some(x.to_string()),
            Said::List(_) | Said::Table(_) => None,
        };
        let all = match &self.said {
            Said::List(values) => values.iter().map(|v| each(&v.said)).collect(),
            one => each(one).map(|text| vec![text]),
        };
        let expected = "a text, a number, or a list of them";
        all.ok_or_else(|| self.expected(expected, expected))
    }

    /// As one of a few words.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T> {
        let found = self.text()?;
        words.iter().find(|w| w.0 == found).map(|w| w.1).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|w| w.0).collect();
            let near = near(&found, &known);
            self.error(format!("{found:?} is not one of {}{near}", known.join(", ")))
        })
    }

    /// Every key and text in it, with the first place that says it.
    pub(super) fn mentions(&self) -> Mentions {
        let mut all = BTreeMap::new();
        self.mention(&mut all);
        Mentions::new(all)
    }

    fn mention(&self, all: &mut BTreeMap<String, Place>) {
        let mut note = |name: &String, place: &Place| {
            let known = all.entry(name.clone()).or_insert_with(|| place.clone());
            if *place < *known && matches!(place, Place::Line(..)) {
                *known = place.clone();
            }
        };
        match &self.said {
            Said::Text(text) => note(text, &self.place),
            Said::Table(entries) => {
                entries.iter().for_each(|(key, value)| note(key, &value.place));
                entries.iter().for_each(|(_, value)| value.mention(all));
            }
            Said::List(values) => values.iter().for_each(|value| value.mention(all)),
            Said::Truth(_) | Said::Whole(_) | Said::Number(_) | Said::Time(_) => {}
        }
    }
}

/// The end of a message that a word is not known: the one that is nearest, if one is near.
fn near(word: &str, known: &[&str]) -> String {
    seawall_table::read::nearest(word, known)
        .map_or(String::new(), |n| format!("; did you mean {n:?}?"))
}

/// A table whose keys are taken one by one; what is left over is an error.
pub(super) struct DeclaredTable {
    /// Where it is said.
    pub place: Place,
    name: String,
    entries: Vec<(String, DeclaredValue)>,
}

impl DeclaredTable {
    /// An error about this table.
    pub fn error(&self, what: impl fmt::Display) -> Error {
        self.place.error(what)
    }

    /// A key's value, if it is there.
    pub fn take(&mut self, key: &str) -> Option<DeclaredValue> {
        let at = self.entries.iter().position(|(name, _)| name == key)?;
        let value = self.entries.remove(at).1;
        Some(self.named(key, value))
    }

    fn named(&self, key: &str, value: DeclaredValue) -> DeclaredValue {
        DeclaredValue { name: joined(&self.name, key), ..value }
    }

    /// A key's value, which must be there.
    pub fn need(&mut self, key: &str) -> Result<DeclaredValue> {
        self.take(key).ok_or_else(|| match &self.place {
            Place::Line(..) => self.error(format!("{:?} is missing", joined(&self.name, key))),
            place => Error::config(format!("{} is missing", place.child(key))),
        })
    }

    /// Every key that is left, in the order they are said.
    pub fn rest(&mut self) -> Vec<(String, DeclaredValue)> {
        let left = std::mem::take(&mut self.entries);
        left.into_iter()
            .map(|(key, value)| {
                let value = self.named(&key, value);
                (key, value)
            })
            .collect()
    }

    /// Refuses keys that were not taken.
    pub fn finish(self, known: &[&str]) -> Result<()> {
        let Some((key, value)) = self.entries.first() else { return Ok(()) };
        let near = near(key, known);
        let known = known.join(", ");
        let in_file =
            |place: &str| format!("unknown key {key:?} in {place}{near} (known: {known})");
        Err(value.place.error(match (&value.place, self.name.is_empty()) {
            (Place::Line(..), true) => in_file("a study file"),
            (Place::Line(..), false) => in_file(&format!("[{}]", self.name)),
            (Place::Argument(_), _) => format!("unknown key{near} (known: {known})"),
        }))
    }
}

fn joined(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}
