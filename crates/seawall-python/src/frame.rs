//! Columns as an Arrow table, which any dataframe library takes.

use crate::error::InputError;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::PyTable;
use std::sync::Arc;

/// Columns of truths, whole numbers, numbers or texts, None where missing.
#[pyfunction]
pub fn frame(columns: &Bound<'_, PyDict>) -> PyResult<PyTable> {
    let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    for (name, values) in columns.iter() {
        let name: String = name.extract()?;
        let array: ArrayRef = if let Ok(all) = values.extract::<Vec<Option<bool>>>() {
            Arc::new(BooleanArray::from(all))
        } else if let Ok(all) = values.extract::<Vec<Option<i64>>>() {
            Arc::new(Int64Array::from(all))
        } else if let Ok(all) = values.extract::<Vec<Option<f64>>>() {
            Arc::new(Float64Array::from(all))
        } else {
            Arc::new(StringArray::from(values.extract::<Vec<Option<String>>>()?))
        };
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), arrays)
        .map_err(|e| InputError::new_err(e.to_string()))?;
    PyTable::try_new(vec![batch], schema)
}
