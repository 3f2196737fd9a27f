//! The text of one cell, whatever type its column has.
//!
//! Arrow's own cast kernels compile every pair of types and take as long to build as the whole of
//! this crate; a table needs one direction of a few of them.

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{
    as_datetime, as_datetime_with_timezone, as_duration, as_time,
};
use arrow_array::timezone::Tz;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DecimalType, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use std::fmt::Display;

/// Writes the cell of a row that is not null; None where its bytes are not UTF-8, or a time is out
/// of the calendar's range.
pub(super) type CellWriter<'a> = Box<dyn Fn(usize) -> Option<String> + 'a>;

/// How the cells of a column of single values are written; None for lists, objects, intervals and
/// other types that a table does not take.
///
/// Times of a zone that is given by its name are written in UTC: what a name means depends on the
/// time zone database of the machine.
pub(super) fn writer(column: &ArrayRef) -> Option<CellWriter<'_>> {
    use DataType as D;
    Some(match column.data_type() {
        D::Null => Box::new(|_| None),
        D::Boolean => Box::new(|row| Some(column.as_boolean().value(row).to_string())),
        D::Int8 => plain::<Int8Type>(column),
        D::Int16 => plain::<Int16Type>(column),
        D::Int32 => plain::<Int32Type>(column),
        D::Int64 => plain::<Int64Type>(column),
        D::UInt8 => plain::<UInt8Type>(column),
        D::UInt16 => plain::<UInt16Type>(column),
        D::UInt32 => plain::<UInt32Type>(column),
        D::UInt64 => plain::<UInt64Type>(column),
        D::Float16 => plain::<Float16Type>(column),
        D::Float32 => plain::<Float32Type>(column),
        D::Float64 => plain::<Float64Type>(column),
        D::Decimal32(..) => decimal::<Decimal32Type>(column),
        D::Decimal64(..) => decimal::<Decimal64Type>(column),
        D::Decimal128(..) => decimal::<Decimal128Type>(column),
        D::Decimal256(..) => decimal::<Decimal256Type>(column),
        D::Utf8 => Box::new(|row| Some(column.as_string::<i32>().value(row).to_owned())),
        D::LargeUtf8 => Box::new(|row| Some(column.as_string::<i64>().value(row).to_owned())),
        D::Utf8View => Box::new(|row| Some(column.as_string_view().value(row).to_owned())),
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => {
            Box::new(|row| String::from_utf8(bytes(column, row)?.to_vec()).ok())
        }
        D::Date32 => Box::new(|row| {
            let date = column.as_primitive::<Date32Type>().value_as_date(row)?;
            Some(format!("{date:?}"))
        }),
        D::Date64 => Box::new(|row| {
            let time = column.as_primitive::<Date64Type>().value_as_datetime(row)?;
            Some(format!("{time:?}"))
        }),
        D::Time32(TimeUnit::Second) => clock::<Time32SecondType>(column),
        D::Time32(_) => clock::<Time32MillisecondType>(column),
        D::Time64(TimeUnit::Microsecond) => clock::<Time64MicrosecondType>(column),
        D::Time64(_) => clock::<Time64NanosecondType>(column),
        D::Timestamp(unit, zone) => {
            let zone = zone.as_deref();
            match unit {
                TimeUnit::Second => timestamp::<TimestampSecondType>(column, zone)?,
                TimeUnit::Millisecond => timestamp::<TimestampMillisecondType>(column, zone)?,
                TimeUnit::Microsecond => timestamp::<TimestampMicrosecondType>(column, zone)?,
                TimeUnit::Nanosecond => timestamp::<TimestampNanosecondType>(column, zone)?,
            }
        }
        D::Duration(unit) => match unit {
            TimeUnit::Second => duration::<DurationSecondType>(column),
            TimeUnit::Millisecond => duration::<DurationMillisecondType>(column),
            TimeUnit::Microsecond => duration::<DurationMicrosecondType>(column),
            TimeUnit::Nanosecond => duration::<DurationNanosecondType>(column),
        },
        _ => return None,
    })
}

fn plain<T: ArrowPrimitiveType>(column: &ArrayRef) -> CellWriter<'_>
where
    T::Native: Display,
{
    let column = column.as_primitive::<T>();
    Box::new(|row| Some(column.value(row).to_string()))
}

fn decimal<T: DecimalType>(column: &ArrayRef) -> CellWriter<'_> {
    let column = column.as_primitive::<T>();
    Box::new(|row| Some(column.value_as_string(row)))
}

fn clock<T: ArrowPrimitiveType>(column: &ArrayRef) -> CellWriter<'_>
where
    i64: From<T::Native>,
{
    let column = column.as_primitive::<T>();
    Box::new(|row| Some(format!("{:?}", as_time::<T>(column.value(row).into())?)))
}

fn duration<T: ArrowPrimitiveType>(column: &ArrayRef) -> CellWriter<'_>
where
    i64: From<T::Native>,
{
    let column = column.as_primitive::<T>();
    Box::new(|row| Some(as_duration::<T>(column.value(row).into())?.to_string()))
}

fn timestamp<'a, T>(column: &'a ArrayRef, zone: Option<&str>) -> Option<CellWriter<'a>>
where
    T: ArrowPrimitiveType<Native = i64>,
{
    let column = column.as_primitive::<T>();
    let Some(zone) = zone else {
        return Some(Box::new(|row| Some(format!("{:?}", as_datetime::<T>(column.value(row))?))));
    };
    let fixed = if zone.starts_with(['+', '-']) { zone } else { "+00:00" };
    let zone: Tz = fixed.parse().ok()?;
    Some(Box::new(move |row| {
        let time = as_datetime_with_timezone::<T>(column.value(row), zone)?;
        let offset = time.offset().to_string();
        let offset = if offset == "+00:00" { "Z" } else { &offset };
        Some(format!("{:?}{offset}", time.naive_local()))
    }))
}

fn bytes(column: &ArrayRef, row: usize) -> Option<&[u8]> {
    match column.data_type() {
        DataType::Binary => Some(column.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Some(column.as_binary::<i64>().value(row)),
        DataType::BinaryView => Some(column.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => Some(column.as_fixed_size_binary().value(row)),
        _ => None,
    }
}

/// A cell as it is passed on to another file: lists as `[1, 2]`, objects as `{a: 1}`, bytes that are
/// no text in hexadecimal digits, nothing for a missing one; None for types that no table holds.
pub(super) fn shown_cell(column: &ArrayRef, row: usize) -> Option<String> {
    if column.is_null(row) {
        return Some(String::new());
    }
    let list = |items: ArrayRef| {
        let cells: Option<Vec<String>> = (0..items.len()).map(|i| shown_cell(&items, i)).collect();
        Some(format!("[{}]", cells?.join(", ")))
    };
    match column.data_type() {
        DataType::List(_) => list(column.as_list::<i32>().value(row)),
        DataType::LargeList(_) => list(column.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => list(column.as_fixed_size_list().value(row)),
        DataType::Struct(fields) => {
            let parts = column.as_struct();
            let part = |k: usize| {
                Some(format!("{}: {}", fields[k].name(), shown_cell(parts.column(k), row)?))
            };
            let parts: Option<Vec<String>> = (0..fields.len()).map(part).collect();
            Some(format!("{{{}}}", parts?.join(", ")))
        }
        DataType::Map(..) => {
            let entries = column.as_map().value(row);
            let entry = |i: usize| {
                let (key, value) = (entries.column(0), entries.column(1));
                Some(format!("{}: {}", shown_cell(key, i)?, shown_cell(value, i)?))
            };
            let entries: Option<Vec<String>> = (0..entries.len()).map(entry).collect();
            Some(format!("{{{}}}", entries?.join(", ")))
        }
        DataType::Dictionary(..) => {
            let column = column.as_any_dictionary();
            shown_cell(column.values(), *column.normalized_keys().get(row)?)
        }
        _ => writer(column)?(row).or_else(|| {
            Some(bytes(column, row)?.iter().map(|byte| format!("{byte:02x}")).collect())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int64Type as Whole;
    use arrow_array::{
        BinaryArray, Date32Array, DurationMillisecondArray, ListArray, StructArray,
        Time32SecondArray, TimestampMillisecondArray, TimestampSecondArray,
    };
    use arrow_schema::Field;
    use std::sync::Arc;

    fn first(column: ArrayRef) -> Option<String> {
        writer(&column)?(0)
    }

    #[test]
    fn times_are_written_as_iso_8601() {
        assert_eq!(first(Arc::new(Date32Array::from(vec![18_262]))).unwrap(), "2020-01-01");
        assert_eq!(first(Arc::new(Time32SecondArray::from(vec![3_661]))).unwrap(), "01:01:01");
        let seconds = TimestampSecondArray::from(vec![1_577_836_800]);
        assert_eq!(first(Arc::new(seconds.clone())).unwrap(), "2020-01-01T00:00:00");
        let zone = |name: &str| Arc::new(seconds.clone().with_timezone(name.to_owned()));
        assert_eq!(first(zone("+02:00")).unwrap(), "2020-01-01T02:00:00+02:00");
        assert_eq!(first(zone("+00:00")).unwrap(), "2020-01-01T00:00:00Z");
        assert_eq!(first(zone("Europe/Paris")).unwrap(), "2020-01-01T00:00:00Z");
        let fraction = TimestampMillisecondArray::from(vec![1_577_836_800_250]);
        assert_eq!(first(Arc::new(fraction)).unwrap(), "2020-01-01T00:00:00.250");
        let half = DurationMillisecondArray::from(vec![500]);
        assert_eq!(first(Arc::new(half)).unwrap(), "PT0.5S");
        let beyond = TimestampSecondArray::from(vec![i64::MAX]);
        assert_eq!(first(Arc::new(beyond)), None);
    }

    #[test]
    fn lists_objects_and_bytes_are_shown() {
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Whole, _, _>([
            Some(vec![Some(1), None, Some(3)]),
            None,
        ]));
        assert_eq!(shown_cell(&lists, 0).unwrap(), "[1, , 3]");
        assert_eq!(shown_cell(&lists, 1).unwrap(), "");
        assert!(writer(&lists).is_none());
        let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![b"\xff\x01".as_slice(), b"ab"]));
        assert_eq!(shown_cell(&bytes, 0).unwrap(), "ff01");
        assert_eq!(shown_cell(&bytes, 1).unwrap(), "ab");
        let field = Arc::new(Field::new("a", DataType::Binary, true));
        let object: ArrayRef = Arc::new(StructArray::from(vec![(field, bytes)]));
        assert_eq!(shown_cell(&object, 1).unwrap(), "{a: ab}");
    }
}
