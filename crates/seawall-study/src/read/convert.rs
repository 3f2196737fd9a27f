//! Columns of any type as text or as numbers, nothing lost on the way: what cannot be read is said
//! and not taken for missing.

use super::decimal::Decimal;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
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

/// A column as text. Times of a zone that is given by its name are written in UTC: what a name means
/// depends on what else was built in.
pub(super) fn text(column: &ArrayRef) -> Converted<ArrayRef> {
    let refused = |_: ArrowError| Fault::of_type(column, "numbers or text");
    let kind = column.data_type();
    if kind.is_nested() {
        return Err(Fault::of_type(column, "numbers or text"));
    }
    let plain = match kind {
        DataType::FixedSizeBinary(_) => cast(column, &DataType::Binary).map_err(refused)?,
        DataType::Timestamp(unit, Some(zone)) if !zone.starts_with(['+', '-']) => {
            cast(column, &DataType::Timestamp(*unit, Some("+00:00".into()))).map_err(refused)?
        }
        _ => column.clone(),
    };
    let found = cast(&plain, &DataType::Utf8).map_err(refused)?;
    let lost = |&row: &usize| found.is_null(row) && column.is_valid(row);
    if kind != &DataType::Null
        && found.null_count() > column.null_count()
        && let Some(row) = (0..column.len()).find(lost)
    {
        return Err(Fault { row: Some(row), what: "it is not UTF-8; expected text".to_owned() });
    }
    Ok(found)
}

/// A column as numbers, NaN where missing.
pub(super) fn numbers(column: &ArrayRef) -> Converted<Vec<f64>> {
    let kind = match column.data_type() {
        DataType::Dictionary(_, values) => values,
        kind => kind,
    };
    match kind {
        DataType::Null => Ok(vec![f64::NAN; column.len()]),
        DataType::Float32 => {
            let column = cast(column, &DataType::Float32);
            let column = column.map_err(|e| Fault { row: None, what: e.to_string() })?;
            let narrow = column.as_primitive::<Float32Type>();
            Ok(narrow.iter().map(|x| x.map_or(f64::NAN, widened)).collect())
        }
        _ if (kind.is_numeric() && !kind.is_decimal()) || kind == &DataType::Boolean => {
            let column = cast(column, &DataType::Float64);
            let column = column.map_err(|e| Fault { row: None, what: e.to_string() })?;
            let column = column.as_primitive::<Float64Type>();
            Ok(column.iter().map(|x| x.unwrap_or(f64::NAN)).collect())
        }
        _ if kind.is_string() || kind.is_decimal() || kind.is_binary() => {
            let parse = |(row, text): (usize, Option<&str>)| {
                let text = text.unwrap_or_default();
                let what = || format!("{text:?} is not a number");
                parse_number(text).ok_or_else(|| Fault { row: Some(row), what: what() })
            };
            text(column)?.as_string::<i32>().iter().enumerate().map(parse).collect()
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
pub(crate) fn shown(column: &ArrayRef) -> Result<StringArray, ArrowError> {
    let column = match column.data_type() {
        DataType::Dictionary(_, values) => cast(column, values)?,
        _ => column.clone(),
    };
    if column.data_type().is_floating()
        && let Ok(numbers) = numbers(&column)
    {
        let written = |x: &f64| (!x.is_nan()).then(|| x.to_string());
        return Ok(numbers.iter().map(written).collect());
    }
    if let Ok(found) = text(&column) {
        return Ok(found.as_string::<i32>().clone());
    }
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(&column, &options)?;
    let written = |row: usize| column.is_valid(row).then(|| formatter.value(row).to_string());
    Ok((0..column.len()).map(written).collect())
}
