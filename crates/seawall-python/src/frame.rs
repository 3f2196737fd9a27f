//! Columns as an Arrow table, which any dataframe library takes.

use crate::error::InputError;
use arrow_array::types::{
    Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, Float64Array, Int32Array,
    Int64Array, NullArray, PrimitiveArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{Field, Schema};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};
use std::sync::Arc;

/// A table that speaks the Arrow PyCapsule interface and no more.
#[pyclass(frozen, module = "seawall._native")]
pub struct Table {
    batch: RecordBatch,
}

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let rows: ArrayRef = Arc::new(StructArray::from(self.batch.clone()));
        let field = Field::new_struct("", self.batch.schema_ref().fields().clone(), false);
        let reader = ArrayIterator::new(std::iter::once(Ok(rows)), Arc::new(field));
        to_stream_pycapsule(py, Box::new(reader), requested_schema)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.batch.schema_ref().as_ref())
    }

    fn __repr__(&self) -> String {
        format!("Arrow table of {} rows", self.batch.num_rows())
    }
}

/// Columns, each a list of truths, whole numbers, numbers or texts (None where missing) or what
/// [`of_arrays`] takes; None for a column that is there and holds nothing.
#[pyfunction]
pub fn frame(columns: &Bound<'_, PyDict>) -> PyResult<Table> {
    let (mut names, mut arrays): (Vec<String>, Vec<Option<ArrayRef>>) = (Vec::new(), Vec::new());
    for (name, values) in columns.iter() {
        names.push(name.extract()?);
        arrays.push(if values.is_none() { None } else { Some(column(&values)?) });
    }
    let rows = arrays.iter().flatten().map(|a| a.len()).next().unwrap_or(0);
    let filled = |array: Option<ArrayRef>| array.unwrap_or_else(|| Arc::new(NullArray::new(rows)));
    let arrays: Vec<ArrayRef> = arrays.into_iter().map(filled).collect();
    let field =
        |(name, array): (String, &ArrayRef)| Field::new(name, array.data_type().clone(), true);
    let fields: Vec<Field> = names.into_iter().zip(&arrays).map(field).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|e| InputError::new_err(e.to_string()))?;
    Ok(Table { batch })
}

fn column(values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if let Some(array) = of_arrays(values)? {
        return Ok(array);
    }
    Ok(if let Ok(all) = values.extract::<Vec<Option<bool>>>() {
        Arc::new(BooleanArray::from(all))
    } else if let Ok(all) = values.extract::<Vec<Option<i64>>>() {
        Arc::new(Int64Array::from(all))
    } else if let Ok(all) = values.extract::<Vec<Option<f64>>>() {
        Arc::new(Float64Array::from(all))
    } else {
        Arc::new(StringArray::from(values.extract::<Vec<Option<String>>>()?))
    })
}

/// A column of NumPy's, as libraries keep theirs: an array of floats, whole numbers or truths; such a one
/// and which values are missing; counts of a unit since 1970, which are missing, the unit and the zone,
/// if any; or the place of each value among labels, below 0 where missing, and the labels.
fn of_arrays(values: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    if let Ok((places, labels)) = values.extract::<(PyReadonlyArray1<'_, i32>, Vec<String>)>() {
        let places = places.as_array();
        let keys: Int32Array = places.iter().map(|&k| (k >= 0).then_some(k)).collect();
        let labels: ArrayRef = Arc::new(StringArray::from(labels));
        let found = DictionaryArray::<Int32Type>::try_new(keys, labels)
            .map_err(|e| InputError::new_err(e.to_string()))?;
        return Ok(Some(Arc::new(found)));
    }
    type Moments<'py> =
        (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, bool>, String, Option<String>);
    if let Ok((counts, missing, unit, zone)) = values.extract::<Moments<'_>>() {
        let (counts, missing) = (&counts, Some(&missing));
        return Ok(Some(match unit.as_str() {
            "s" => {
                Arc::new(primitive::<TimestampSecondType>(counts, missing).with_timezone_opt(zone))
            }
            "ms" => Arc::new(
                primitive::<TimestampMillisecondType>(counts, missing).with_timezone_opt(zone),
            ),
            "us" => Arc::new(
                primitive::<TimestampMicrosecondType>(counts, missing).with_timezone_opt(zone),
            ),
            _ => Arc::new(
                primitive::<TimestampNanosecondType>(counts, missing).with_timezone_opt(zone),
            ),
        }));
    }
    let pair = values.extract::<(Bound<'_, PyAny>, PyReadonlyArray1<'_, bool>)>();
    let (values, missing) = match &pair {
        Ok((values, missing)) => (values, Some(missing)),
        Err(_) => (values, None),
    };
    Ok(Some(if let Ok(all) = values.extract::<PyReadonlyArray1<'_, f64>>() {
        Arc::new(primitive::<Float64Type>(&all, missing))
    } else if let Ok(all) = values.extract::<PyReadonlyArray1<'_, f32>>() {
        Arc::new(primitive::<Float32Type>(&all, missing))
    } else if let Ok(all) = values.extract::<PyReadonlyArray1<'_, i64>>() {
        Arc::new(primitive::<Int64Type>(&all, missing))
    } else if let Ok(all) = values.extract::<PyReadonlyArray1<'_, u64>>() {
        Arc::new(primitive::<UInt64Type>(&all, missing))
    } else if let Ok(all) = values.extract::<PyReadonlyArray1<'_, bool>>() {
        let all = all.as_array();
        match missing {
            None => Arc::new(all.iter().map(|&truth| Some(truth)).collect::<BooleanArray>()),
            Some(missing) => {
                let present = all.iter().zip(missing.as_array());
                let found = present.map(|(&truth, &gone)| (!gone).then_some(truth));
                Arc::new(found.collect::<BooleanArray>())
            }
        }
    } else {
        return Ok(None);
    }))
}

fn primitive<T: ArrowPrimitiveType>(
    values: &PyReadonlyArray1<'_, T::Native>,
    missing: Option<&PyReadonlyArray1<'_, bool>>,
) -> PrimitiveArray<T>
where
    T::Native: numpy::Element,
{
    let values = values.as_array();
    match missing {
        None => PrimitiveArray::from_iter_values(values.iter().copied()),
        Some(missing) => {
            let present = values.iter().zip(missing.as_array());
            present.map(|(&value, &gone)| (!gone).then_some(value)).collect()
        }
    }
}
