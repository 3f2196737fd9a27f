//! JSON lines: one object a line. One pass finds the columns and what they hold; what a column holds
//! is of interest only if it is asked for.
//!
//! Numbers are read as the text they are: a float would make one number of many large ones. Lists
//! and objects are passed on as their text too, but are no values that a column could be read by.

use arrow_schema::{DataType, Field, Schema};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, Read};

/// The key of a field's metadata that says that there are lists or objects among its values.
pub(super) const NESTED: &str = "seawall:nested";

/// What a value is, or the values of a column are.
#[derive(Clone, Copy, Default)]
struct Shape {
    truth: bool,
    scalar: bool,
    nested: bool,
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneValue)
    }
}

const SCALAR: Shape = Shape { truth: false, scalar: true, nested: false };

struct OneValue;

impl<'de> Visitor<'de> for OneValue {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape { truth: true, ..Shape::default() })
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(SCALAR)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(SCALAR)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(SCALAR)
    }

    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(SCALAR)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Shape { nested: true, ..Shape::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Shape { nested: true, ..Shape::default() })
    }
}

/// The columns found so far, in order of appearance.
#[derive(Default)]
struct Found {
    columns: Vec<(String, Shape)>,
    by_name: HashMap<String, usize>,
}

impl Found {
    fn add(&mut self, name: String, shape: Shape) {
        let at = match self.by_name.get(&name) {
            Some(&at) => at,
            None => {
                self.by_name.insert(name.clone(), self.columns.len());
                self.columns.push((name, Shape::default()));
                self.columns.len() - 1
            }
        };
        let all = &mut self.columns[at].1;
        all.truth |= shape.truth;
        all.scalar |= shape.scalar;
        all.nested |= shape.nested;
    }
}

impl<'de> DeserializeSeed<'de> for &mut Found {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Found {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((name, shape)) = map.next_entry()? {
            self.add(name, shape);
        }
        Ok(())
    }
}

/// The columns of JSON lines; a line that is no object is an error that says which.
pub(super) fn schema(reader: impl BufRead) -> Result<Schema, String> {
    let mut found = Found::default();
    let mut row = 0;
    for line in reader.lines() {
        let line = line.map_err(|e| e.to_string())?;
        if line.trim().is_empty() {
            continue;
        }
        row += 1;
        let mut parser = serde_json::Deserializer::from_str(&line);
        let read = found.deserialize(&mut parser).and_then(|()| parser.end());
        read.map_err(|error| {
            let what = format!("row {row}: expected one JSON object a line: {error}");
            what.replace(" at line 1 ", " at ")
        })?;
    }
    let field = |(name, shape): (String, Shape)| {
        let truths = shape.truth && !shape.scalar && !shape.nested;
        let kind = if truths { DataType::Boolean } else { DataType::Utf8 };
        let marks = shape.nested.then(|| (NESTED.to_owned(), String::new()));
        Field::new(name, kind, true).with_metadata(marks.into_iter().collect())
    };
    Ok(Schema::new(found.columns.into_iter().map(field).collect::<Vec<Field>>()))
}

/// The lines of a checked file, with every list and object that a column holds made a text.
pub(super) struct Flat<R> {
    reader: R,
    line: Vec<u8>,
    ready: Vec<u8>,
}

impl<R: BufRead> Flat<R> {
    pub(super) fn new(reader: R) -> Self {
        Flat { reader, line: Vec::new(), ready: Vec::new() }
    }
}

impl<R: BufRead> Read for Flat<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.ready.is_empty() {
            self.line.clear();
            self.reader.read_until(b'\n', &mut self.line)?;
            self.ready = flat(&self.line);
        }
        let count = self.ready.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.ready[..count]);
        self.ready.drain(..count);
        Ok(count)
    }
}

/// A line whose object holds texts in place of lists and objects.
fn flat(line: &[u8]) -> Vec<u8> {
    let mut flat = Vec::with_capacity(line.len());
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    let mut start = None;
    for (at, &byte) in line.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                if depth == 2 {
                    start = Some(at);
                }
            }
            b'}' | b']' if !quoted => {
                depth -= 1;
                if depth == 1
                    && let Some(start) = start.take()
                {
                    let text = String::from_utf8_lossy(&line[start..=at]).into_owned();
                    flat.extend(serde_json::Value::String(text).to_string().bytes());
                    continue;
                }
            }
            _ => {}
        }
        if start.is_none() {
            flat.push(byte);
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_objects_become_texts() {
        let line = br#"{"a\"{": 1.50, "b": [1, {"c": "]"}], "d": {"e": "x\"}"}, "f": "[g]"}"#;
        let expected =
            r#"{"a\"{": 1.50, "b": "[1, {\"c\": \"]\"}]", "d": "{\"e\": \"x\\\"}\"}", "f": "[g]"}"#;
        assert_eq!(String::from_utf8(flat(line)).unwrap(), expected);
    }

    #[test]
    fn columns_are_what_any_line_says() {
        let lines = "{\"a\":1,\"b\":true}\n\n{\"b\":false,\"c\":{\"a\":2}}\n{\"c\":3,\"d\":null}\n";
        let schema = schema(lines.as_bytes()).unwrap();
        let found: Vec<(&str, &DataType, bool)> = schema
            .fields()
            .iter()
            .map(|f| (f.name().as_str(), f.data_type(), f.metadata().contains_key(NESTED)))
            .collect();
        let (text, truth) = (&DataType::Utf8, &DataType::Boolean);
        assert_eq!(
            found,
            [("a", text, false), ("b", truth, false), ("c", text, true), ("d", text, false)]
        );
        for (lines, word) in [("{}\n[1]\n", "row 2"), ("{} {}\n", "row 1"), ("{\"a\"\n", "EOF")] {
            let error = super::schema(lines.as_bytes()).unwrap_err();
            assert!(error.contains("expected one JSON object a line") && error.contains(word));
        }
    }
}
