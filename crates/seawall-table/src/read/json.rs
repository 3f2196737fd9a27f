//! JSON lines: one object a line. One pass finds the columns and what they hold; what a column holds
//! is of interest only if it is asked for.
//!
//! Numbers are read as the text they are: a float would make one number of many large ones. Lists
//! and objects are passed on as their text too, but are no values that a column could be read by.

use arrow_array::builder::{BooleanBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

/// The key of a field's metadata that says that there are lists or objects among its values.
pub(super) const NESTED: &str = "seawall:nested";

/// What a value is, or the values of a column are.
#[derive(Clone, Copy, Default)]
struct Shape {
    truth: bool,
    scalar: bool,
    nested: bool,
}

impl Shape {
    /// What a value is, by its first letter; a number of any size is one, a text must be whole.
    fn of(raw: &str) -> serde_json::Result<Self> {
        let nothing = Shape::default();
        Ok(match raw.as_bytes().first() {
            Some(b'n') | None => nothing,
            Some(b't' | b'f') => Shape { truth: true, ..nothing },
            Some(b'[' | b'{') => Shape { nested: true, ..nothing },
            Some(b'"') => {
                serde_json::from_str::<Cow<'_, str>>(raw)?;
                Shape { scalar: true, ..nothing }
            }
            Some(_) => Shape { scalar: true, ..nothing },
        })
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
        while let Some((name, raw)) = map.next_entry::<String, &RawValue>()? {
            self.add(name, Shape::of(raw.get()).map_err(serde::de::Error::custom)?);
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

/// The wanted columns of a checked file, some rows at a time.
pub(super) struct JsonBatches<R> {
    reader: R,
    schema: SchemaRef,
    /// Where a wanted column is among those of the schema.
    places: HashMap<String, usize>,
    line: String,
}

impl<R: BufRead> JsonBatches<R> {
    pub(super) fn new(reader: R, schema: SchemaRef) -> Self {
        let names = schema.fields().iter().map(|f| f.name().clone());
        let places = names.enumerate().map(|(k, name)| (name, k)).collect();
        JsonBatches { reader, schema, places, line: String::new() }
    }

    /// The next rows, at most so many; None after the last.
    pub(super) fn next(&mut self, most: usize) -> Result<Option<RecordBatch>, ArrowError> {
        let broken = |what: &dyn fmt::Display| ArrowError::JsonError(what.to_string());
        let mut cells: Vec<Cells> = self.schema.fields().iter().map(|f| Cells::of(f)).collect();
        let mut rows = 0;
        while rows < most {
            self.line.clear();
            if self.reader.read_line(&mut self.line).map_err(|e| broken(&e))? == 0 {
                break;
            }
            if self.line.trim().is_empty() {
                continue;
            }
            let row = Row { places: &self.places, cells: vec![None; cells.len()] };
            let mut parser = serde_json::Deserializer::from_str(&self.line);
            let row = row.deserialize(&mut parser).map_err(|e| broken(&e))?;
            for (cells, raw) in cells.iter_mut().zip(row) {
                cells.push(raw.map(RawValue::get)).map_err(|e| broken(&e))?;
            }
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let columns = cells.into_iter().map(Cells::finish).collect();
        let count = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &count).map(Some)
    }
}

/// The wanted values of one object, as they are written.
struct Row<'a, 'de> {
    places: &'a HashMap<String, usize>,
    cells: Vec<Option<&'de RawValue>>,
}

impl<'de> DeserializeSeed<'de> for Row<'_, 'de> {
    type Value = Vec<Option<&'de RawValue>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Row<'_, 'de> {
    type Value = Vec<Option<&'de RawValue>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            match self.places.get(name.as_ref()) {
                Some(&k) => self.cells[k] = Some(map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(self.cells)
    }
}

/// The cells of a column of some rows.
enum Cells {
    Truths(BooleanBuilder),
    Texts(StringBuilder),
}

impl Cells {
    fn of(field: &Field) -> Self {
        match field.data_type() {
            DataType::Boolean => Cells::Truths(BooleanBuilder::new()),
            _ => Cells::Texts(StringBuilder::new()),
        }
    }

    /// Adds a value as it is written in JSON.
    fn push(&mut self, raw: Option<&str>) -> serde_json::Result<()> {
        let raw = raw.filter(|raw| *raw != "null");
        match self {
            Cells::Truths(cells) => cells.append_option(raw.map(|raw| raw == "true")),
            Cells::Texts(cells) => match raw {
                // A text is the only value whose spelling in JSON is not the value itself.
                Some(raw) if raw.starts_with('"') => {
                    cells.append_value(serde_json::from_str::<String>(raw)?);
                }
                raw => cells.append_option(raw),
            },
        }
        Ok(())
    }

    fn finish(self) -> ArrayRef {
        match self {
            Cells::Truths(mut cells) => Arc::new(cells.finish()),
            Cells::Texts(mut cells) => Arc::new(cells.finish()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;

    #[test]
    fn cells_are_as_they_are_written() {
        let lines = concat!(
            r#"{"a\"{": 1.50, "b": [1, {"c": "]"}], "d": true, "f": "[g]\n"}"#,
            "\n\n",
            r#"{"f": null, "b": 1e400, "other": {}, "d": null, "b": 12345678901234567890}"#
        );
        let schema = Arc::new(schema(lines.as_bytes()).unwrap().project(&[0, 1, 2, 3]).unwrap());
        let mut batches = JsonBatches::new(lines.as_bytes(), schema);
        let batch = batches.next(9).unwrap().unwrap();
        assert!(batches.next(9).unwrap().is_none());
        let column = |k: usize| -> Vec<Option<String>> {
            let texts = batch.column(k).as_string::<i32>();
            texts.iter().map(|text| text.map(str::to_owned)).collect()
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(column(0), [some("1.50"), None]);
        assert_eq!(column(1), [some(r#"[1, {"c": "]"}]"#), some("12345678901234567890")]);
        assert_eq!(column(3), [some("[g]\n"), None]);
        let truths: Vec<Option<bool>> = batch.column(2).as_boolean().iter().collect();
        assert_eq!(truths, [Some(true), None]);
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
