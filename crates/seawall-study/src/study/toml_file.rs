//! TOML values that know their line.

use seawall::{Error, Result};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file, for messages.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// The line of a place, counted from 1.
    fn line(self, at: usize) -> usize {
        1 + self.text[..at.min(self.text.len())].matches('\n').count()
    }

    /// An error about the place of a value.
    pub fn error(self, at: usize, what: impl std::fmt::Display) -> Error {
        let line = self.line(at);
        Error::config(format!("{}: line {line}: {what}", self.path.display()))
    }

    /// The file as a table.
    pub fn parse(self) -> Result<Table<'a>> {
        let table = DeTable::parse(self.text).map_err(|e| {
            let at = e.span().map_or(0, |s| s.start);
            self.error(at, e.message().lines().next().unwrap_or("not TOML"))
        })?;
        let at = table.span().start;
        Ok(Table { source: self, name: String::new(), at, entries: entries(table.into_inner()) })
    }
}

fn entries(table: DeTable<'_>) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    for (key, value) in table {
        let (name, at) = (key.get_ref().to_string(), key.span().start);
        entries.push(Entry { name, at, value, used: false });
    }
    entries
}

struct Entry<'a> {
    name: String,
    at: usize,
    value: Spanned<DeValue<'a>>,
    used: bool,
}

/// A table whose keys are taken one by one; what is left over is an error.
pub(super) struct Table<'a> {
    source: Source<'a>,
    name: String,
    /// Where it stands in the file.
    pub at: usize,
    entries: Vec<Entry<'a>>,
}

/// A value and what it is called.
pub(super) struct Value<'a> {
    source: Source<'a>,
    pub name: String,
    pub at: usize,
    value: DeValue<'a>,
}

impl<'a> Table<'a> {
    /// An error about this table.
    pub fn error(&self, what: impl std::fmt::Display) -> Error {
        self.source.error(self.at, what)
    }

    /// A key's value, if it is there.
    pub fn take(&mut self, key: &str) -> Option<Value<'a>> {
        let entry = self.entries.iter_mut().find(|e| e.name == key && !e.used)?;
        entry.used = true;
        let value = std::mem::replace(entry.value.get_mut(), DeValue::Boolean(false));
        Some(Value { source: self.source, name: joined(&self.name, key), at: entry.at, value })
    }

    /// A key's value, which must be there.
    pub fn need(&mut self, key: &str) -> Result<Value<'a>> {
        self.take(key)
            .ok_or_else(|| self.error(format!("{:?} is missing", joined(&self.name, key))))
    }

    /// Every key that is left, in the file's order.
    pub fn rest(&mut self) -> Vec<(String, Value<'a>)> {
        let names: Vec<String> =
            self.entries.iter().filter(|e| !e.used).map(|e| e.name.clone()).collect();
        names.into_iter().filter_map(|name| Some((name.clone(), self.take(&name)?))).collect()
    }

    /// Refuses keys that were not taken.
    pub fn finish(self, known: &[&str]) -> Result<()> {
        match self.entries.iter().find(|e| !e.used) {
            None => Ok(()),
            Some(entry) => {
                let near = seawall_table::read::nearest(&entry.name, known)
                    .map_or(String::new(), |n| format!("; did you mean {n:?}?"));
                let place = if self.name.is_empty() {
                    "a study file".to_owned()
                } else {
                    format!("[{}]", self.name)
                };
                let what = format!(
                    "unknown key {:?} in {place}{near} (known: {})",
                    entry.name,
                    known.join(", ")
                );
                Err(self.source.error(entry.at, what))
            }
        }
    }
}

fn joined(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

impl<'a> Value<'a> {
    /// An error about this value.
    pub fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::config(format!("{}: {what}", self.place()))
    }

    /// What a message about it begins with: the file, the line and its name.
    pub fn place(&self) -> String {
        format!("{}: line {}: {:?}", self.source.path.display(), self.line(), self.name)
    }

    /// Its line, counted from 1.
    pub fn line(&self) -> usize {
        self.source.line(self.at)
    }

    fn expected(&self, what: &str) -> Error {
        self.error(format!("expected {what}"))
    }

    /// As a table.
    pub fn table(self) -> Result<Table<'a>> {
        match self.value {
            DeValue::Table(table) => {
                let (source, name, at) = (self.source, self.name, self.at);
                Ok(Table { source, name, at, entries: entries(table) })
            }
            _ => Err(self.expected("a table")),
        }
    }

    /// As one table or a list of them.
    pub fn tables(self) -> Result<Vec<Table<'a>>> {
        let (source, name, at) = (self.source, self.name.clone(), self.at);
        match self.value {
            DeValue::Array(values) => values
                .into_iter()
                .map(|v| {
                    let at = v.span().start;
                    let value = v.into_inner();
                    Value { source, name: name.clone(), at, value }.table()
                })
                .collect(),
            value => Ok(vec![Value { source, name, at, value }.table()?]),
        }
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        matches!(self.value, DeValue::Integer(_) | DeValue::Float(_))
    }

    /// Whether it is a text.
    pub fn is_text(&self) -> bool {
        matches!(self.value, DeValue::String(_))
    }

    /// A date or a time as text, quoted or not.
    pub fn time_text(&self) -> Option<String> {
        match &self.value {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Datetime(time) => Some(time.to_string()),
            _ => None,
        }
    }

    /// As text.
    pub fn text(&self) -> Result<String> {
        match &self.value {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.expected("a text in quotes")),
        }
    }

    /// As true or false.
    pub fn truth(&self) -> Result<bool> {
        match &self.value {
            DeValue::Boolean(truth) => Ok(*truth),
            _ => Err(self.expected("true or false")),
        }
    }

    /// As a number.
    pub fn number(&self) -> Result<f64> {
        as_number(&self.value).ok_or_else(|| self.expected("a number"))
    }

    /// As one number or a list of them.
    pub fn numbers(&self) -> Result<Vec<f64>> {
        let each = |v: &Spanned<DeValue<'_>>| as_number(v.get_ref());
        let all = match &self.value {
            DeValue::Array(values) => values.iter().map(each).collect(),
            one => as_number(one).map(|x| vec![x]),
        };
        all.ok_or_else(|| self.expected("a number or a list of numbers"))
    }

    /// As one text or number, or a list of them, all as text.
    pub fn texts(&self) -> Result<Vec<String>> {
        let each = |v: &DeValue<'_>| match v {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Boolean(truth) => Some(truth.to_string()),
            DeValue::Datetime(time) => Some(time.to_string()),
            // As it is written: a float would lose the last digits of a long one.
            DeValue::Integer(x) if x.radix() == 10 => {
                Some(x.as_str().replace('_', "").trim_start_matches('+').to_owned())
            }
            other => as_number(other).map(|x| x.to_string()),
        };
        let all = match &self.value {
            DeValue::Array(values) => values.iter().map(|v| each(v.get_ref())).collect(),
            one => each(one).map(|text| vec![text]),
        };
        all.ok_or_else(|| self.expected("a text, a number, or a list of them"))
    }

    /// As one of a few words.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T> {
        let found = self.text()?;
        words.iter().find(|w| w.0 == found).map(|w| w.1).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|w| w.0).collect();
            let near = seawall_table::read::nearest(&found, &known)
                .map_or(String::new(), |n| format!("; did you mean {n:?}?"));
            self.error(format!("{found:?} is not one of {}{near}", known.join(", ")))
        })
    }
}

fn as_number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(x) => {
            let whole = i64::from_str_radix(&x.as_str().replace('_', ""), x.radix());
            whole.ok().map(|x| x as f64)
        }
        DeValue::Float(x) => x.as_str().replace('_', "").parse().ok(),
        _ => None,
    }
}
