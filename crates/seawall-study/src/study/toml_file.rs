//! Study files: from a TOML text to a declaration whose places are lines, and from a declaration to a text.

use super::Place;
use super::declared::{DeclaredValue, Said};
use seawall::Result;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// Where the lines of a file begin.
struct Lines {
    file: Arc<str>,
    starts: Vec<usize>,
}

impl Lines {
    fn place(&self, at: usize) -> Place {
        Place::Line(self.file.clone(), self.starts.partition_point(|&start| start <= at))
    }
}

/// A file's text as a declaration; messages call it `path`.
pub(super) fn parse(path: &Path, text: &str) -> Result<DeclaredValue> {
    let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
    let lines = Lines { file: path.display().to_string().into(), starts };
    let table = DeTable::parse(text).map_err(|e| {
        let at = e.span().map_or(0, |s| s.start);
        lines.place(at).error(e.message().lines().next().unwrap_or("not TOML"))
    })?;
    let place = lines.place(table.span().start);
    Ok(DeclaredValue::new(place, entries(&lines, table.into_inner())))
}

fn entries(lines: &Lines, table: DeTable<'_>) -> Said {
    // A value stands where its key does: that of a table may be lines below.
    let entry = |(key, value): (Spanned<_>, Spanned<DeValue<'_>>)| {
        let place = lines.place(key.span().start);
        let name = std::borrow::Cow::into_owned(key.into_inner());
        (name, DeclaredValue::new(place, said(lines, value.into_inner())))
    };
    Said::Table(table.into_iter().map(entry).collect())
}

fn said(lines: &Lines, value: DeValue<'_>) -> Said {
    match value {
        DeValue::String(text) => Said::Text(text.into_owned()),
        DeValue::Integer(x) => Said::Whole(whole(&x)),
        DeValue::Float(x) => {
            // TOML's own numbers are Rust's, but for underscores.
            let text = x.as_str().replace('_', "");
            text.parse().map_or(Said::Text(text), Said::Number)
        }
        DeValue::Boolean(truth) => Said::Truth(truth),
        DeValue::Datetime(time) => Said::Time(time.to_string()),
        DeValue::Array(values) => {
            let each = |value: Spanned<DeValue<'_>>| {
                let place = lines.place(value.span().start);
                DeclaredValue::new(place, said(lines, value.into_inner()))
            };
            Said::List(values.into_iter().map(each).collect())
        }
        DeValue::Table(table) => entries(lines, table),
    }
}

/// A whole number in decimal digits.
fn whole(x: &DeInteger<'_>) -> String {
    let digits = x.as_str().replace('_', "");
    let text = digits.trim_start_matches('+');
    match x.radix() {
        10 => text.to_owned(),
        radix => i64::from_str_radix(text, radix).map_or(digits.clone(), |x| x.to_string()),
    }
}

/// The study file that says the same as a declaration.
pub(super) fn written(declared: &DeclaredValue) -> String {
    let Said::Table(sections) = &declared.said else { return String::new() };
    let (mut first, mut parts) = (String::new(), Vec::new());
    for (name, value) in sections {
        let is_section = |value: &DeclaredValue| matches!(value.said, Said::Table(_));
        match &value.said {
            Said::Table(entries) => parts.push(section(&format!("[{}]", key(name)), entries)),
            Said::List(values) if !values.is_empty() && values.iter().all(is_section) => {
                let head = format!("[[{}]]", key(name));
                parts.extend(values.iter().filter_map(|value| match &value.said {
                    Said::Table(entries) => Some(section(&head, entries)),
                    _ => None,
                }));
            }
            said => first.push_str(&line(name, said)),
        }
    }
    if !first.is_empty() {
        parts.insert(0, first);
    }
    parts.join("\n")
}

fn section(head: &str, entries: &[(String, DeclaredValue)]) -> String {
    let lines = entries.iter().map(|(name, value)| line(name, &value.said));
    std::iter::once(format!("{head}\n")).chain(lines).collect()
}

fn line(name: &str, said: &Said) -> String {
    format!("{} = {}\n", key(name), inline(said))
}

fn inline(said: &Said) -> String {
    match said {
        Said::Truth(truth) => truth.to_string(),
        Said::Whole(text) | Said::Time(text) => text.clone(),
        Said::Number(x) if x.is_nan() => "nan".to_owned(),
        Said::Number(x) => format!("{x:?}"),
        Said::Text(text) => quoted(text),
        Said::List(values) => {
            let all: Vec<String> = values.iter().map(|value| inline(&value.said)).collect();
            format!("[{}]", all.join(", "))
        }
        Said::Table(entries) => {
            let entry = |(name, value): &(String, DeclaredValue)| {
                format!("{} = {}", key(name), inline(&value.said))
            };
            let all: Vec<String> = entries.iter().map(entry).collect();
            format!("{{ {} }}", all.join(", "))
        }
    }
}

/// A key, bare where it may be.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => {
                // Writing to a text does not fail.
                let _ = write!(out, "\\u{:04X}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// What a declaration says, whatever the places.
    fn bare(declared: &DeclaredValue) -> String {
        inline(&declared.said)
    }

    #[test]
    fn what_is_written_says_the_same() {
        let text = "title = \"a \\\"b\\\" \\u0007\"\n[data]\nwhere = { \"x y\" = { min = -1.5e-7, max = 2019-11-27 } }\n\
                    n = 0xff\nlong = 12345678901234567890\nlist = [1, +2, true, inf]\n[[policy]]\nkind = \"a\"\n\
                    [[policy]]\nkind = \"b\"\n";
        let found = parse(Path::new("s.toml"), text).unwrap();
        let again = parse(Path::new("t.toml"), &written(&found)).unwrap();
        assert_eq!(bare(&found), bare(&again));
        assert!(
            bare(&found).contains("n = 255, long = 12345678901234567890, list = [1, 2, true, inf]")
        );
    }

    #[test]
    fn places_are_lines_or_arguments() {
        let found =
            parse(Path::new("s.toml"), "[a]\nb = 1\n\n[a.c]\nd = [\n 1,\n \"x\"]\n").unwrap();
        let mentions = found.mentions();
        let line = |name: &str| mentions.place(name).unwrap().to_string();
        assert_eq!(
            [line("b"), line("d"), line("x")],
            ["s.toml: line 2", "s.toml: line 5", "s.toml: line 7"]
        );
        let argument = Place::Argument(String::new()).child("context").child("age");
        assert_eq!(argument.to_string(), "context[\"age\"]");
    }
}
