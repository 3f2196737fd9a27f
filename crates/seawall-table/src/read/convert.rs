//! Columns of any type as text or as numbers, nothing lost on the way: what cannot be read is said
//! and not taken for missing.

use super::cell::{shown_cell, writer};
use super::decimal::Decimal;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{AnyDictionaryArray, Array, ArrayRef, Float64Array, StringArray};
use arrow_schema::{ArrowError, DataType};

/// Why a column cannot be read: a value, by its row if one alone is to blame.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) row: Option<usize>,
    pub(super) what: String,
}

type Converted<T> = Result<T, Fault>;

impl Fault {
    fn of_type(column: &ArrayRef, expected: &str) -> Self {
        let what = format!("it holds {}; expected {expected}", column.data_type());
        Fault { row: None, what }
    }

    /// With the file's row and the column's name; `from` is the file's row of the array's first.
    pub(super) fn described(&self, name: &str, from: usize) -> String {
        let row = self.row.map_or(String::new(), |row| format!("row {}, ", from + row + 1));
        format!("{row}column {name:?}: {}", self.what)
    }
}

/// A text as a number, NaN where it means a missing one; None if it is none.
pub(super) fn parse_number(text: &str) -> Option<f64> {
    match text.trim() {
        "" | "NA" => Some(f64::NAN),
        text => text.parse().ok(),
    }
}

/// A column of single values as text.
pub(super) fn text(column: &ArrayRef) -> Converted<StringArray> {
    match column.data_type() {
        DataType::Utf8 => return Ok(column.as_string::<i32>().clone()),
        DataType::LargeUtf8 => return Ok(column.as_string::<i64>().iter().collect()),
        DataType::Utf8View => return Ok(column.as_string_view().iter().collect()),
        DataType::Null => return Ok(StringArray::new_null(column.len())),
        _ => {}
    }
    if let Some(dictionary) = column.as_any_dictionary_opt() {
        return dictionary_text(dictionary);
    }
    let Some(write) = writer(column) else {
        return Err(Fault::of_type(column, "numbers or text"));
    };
    let unwritten = match column.data_type() {
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 | DataType::Duration(_) => {
            "it is out of the range of dates; expected a date"
        }
        _ => "it is not UTF-8; expected text",
    };
    let cell = |row: usize| {
        if column.is_null(row) {
            Ok(None)
        } else {
            match write(row) {
                None => Err(Fault { row: Some(row), what: unwritten.to_owned() }),
                text => Ok(text),
            }
        }
    };
    (0..column.len()).map(cell).collect()
}

/// The texts of a dictionary's rows. A value that no row has may be anything.
fn dictionary_text(column: &dyn AnyDictionaryArray) -> Converted<StringArray> {
    if column.values().is_empty() {
        return Ok(StringArray::new_null(column.len()));
    }
    let keys = column.normalized_keys();
    let values = text(column.values()).map_err(|fault| {
        let has = |value: usize| keys.iter().position(|key| *key == value);
        Fault { row: fault.row.and_then(has), ..fault }
    })?;
    let cell = |(row, &key): (usize, &usize)| {
        (column.keys().is_valid(row) && values.is_valid(key)).then(|| values.value(key))
    };
    Ok(keys.iter().enumerate().map(cell).collect())
}

/// A column of whole numbers, floats or truths as floats; None if it holds anything else.
pub(super) fn floats(column: &ArrayRef) -> Option<Float64Array> {
    let truth = |x: Option<bool>| x.map(|x| f64::from(u8::from(x)));
    Some(match column.data_type() {
        DataType::Float64 => column.as_primitive().clone(),
        DataType::Float32 => column.as_primitive::<Float32Type>().unary(widened),
        DataType::Float16 => column.as_primitive::<Float16Type>().unary(|x| x.to_f64()),
        DataType::Int8 => column.as_primitive::<Int8Type>().unary(f64::from),
        DataType::Int16 => column.as_primitive::<Int16Type>().unary(f64::from),
        DataType::Int32 => column.as_primitive::<Int32Type>().unary(f64::from),
        DataType::Int64 => column.as_primitive::<Int64Type>().unary(|x| x as f64),
        DataType::UInt8 => column.as_primitive::<UInt8Type>().unary(f64::from),
        DataType::UInt16 => column.as_primitive::<UInt16Type>().unary(f64::from),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().unary(f64::from),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().unary(|x| x as f64),
        DataType::Boolean => column.as_boolean().iter().map(truth).collect(),
        _ => return None,
    })
}

/// A column as numbers, NaN where missing.
pub(super) fn numbers(column: &ArrayRef) -> Converted<Vec<f64>> {
    if let Some(column) = floats(column) {
        return Ok(column.iter().map(|x| x.unwrap_or(f64::NAN)).collect());
    }
    if let Some(dictionary) = column.as_any_dictionary_opt()
        && let Some(values) = floats(dictionary.values())
        && !values.is_empty()
    {
        let number = |(row, &key): (usize, &usize)| {
            let known = dictionary.keys().is_valid(row) && values.is_valid(key);
            if known { values.value(key) } else { f64::NAN }
        };
        return Ok(dictionary.normalized_keys().iter().enumerate().map(number).collect());
    }
    let kind = match column.data_type() {
        DataType::Dictionary(_, values) => values,
        kind => kind,
    };
    match kind {
        DataType::Null => Ok(vec![f64::NAN; column.len()]),
        _ if kind.is_numeric() || kind.is_string() || kind.is_binary() => {
            let parse = |(row, text): (usize, Option<&str>)| {
                let text = text.unwrap_or_default();
                let what = || format!("{text:?} is not a number");
                parse_number(text).ok_or_else(|| Fault { row: Some(row), what: what() })
            };
            text(column)?.iter().enumerate().map(parse).collect()
        }
        _ => Err(Fault::of_type(column, "numbers")),
    }
}

/// A short float as the number that it is written as: 0.1 and not 0.10000000149.
pub(super) fn widened(x: f32) -> f64 {
    let whole = f64::from(x);
    if whole.fract() == 0.0 || !x.is_finite() {
        return whole;
    }
    Decimal::parse(&format!("{x:e}")).map_or(whole, Decimal::to_float)
}

/// Whether a column of whole numbers holds one that a float cannot: names, then, not numbers.
pub(super) fn beyond_floats(column: &ArrayRef) -> bool {
    const LARGEST: u64 = 1 << 53;
    let large = match column.data_type() {
        DataType::Int64 => {
            let all = column.as_primitive::<Int64Type>().iter().flatten();
            all.map(i64::unsigned_abs).max()
        }
        DataType::UInt64 => column.as_primitive::<UInt64Type>().iter().flatten().max(),
        _ => None,
    };
    large.is_some_and(|x| x > LARGEST)
}

/// A column as it is to be written into another file, whatever it holds.
pub fn shown(column: &ArrayRef) -> Result<StringArray, ArrowError> {
    if let Some(floats) = column.data_type().is_floating().then(|| floats(column)).flatten() {
        let written = |x: Option<f64>| x.filter(|x| !x.is_nan()).map(|x| x.to_string());
        return Ok(floats.iter().map(written).collect());
    }
    if let Some(dictionary) = column.as_any_dictionary_opt()
        && !dictionary.values().is_empty()
    {
        let values = shown(dictionary.values())?;
        let keys = dictionary.normalized_keys();
        let cell = |(row, &key): (usize, &usize)| {
            (dictionary.keys().is_valid(row) && values.is_valid(key)).then(|| values.value(key))
        };
        return Ok(keys.iter().enumerate().map(cell).collect());
    }
    if let Ok(found) = text(column) {
        return Ok(found);
    }
    let written = |row: usize| {
        if column.is_null(row) {
            Ok(None)
        } else {
            shown_cell(column, row).map(Some).ok_or_else(|| {
                ArrowError::NotYetImplemented(format!("{} has no text", column.data_type()))
            })
        }
    };
    (0..column.len()).map(written).collect()
}
