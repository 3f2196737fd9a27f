//! Columns as an Arrow table, which any dataframe library takes.

use crate::error::InputError;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{Field, Schema};
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

    /// How many rows there are.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The columns' names.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|f| f.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        let names = self.column_names().join(", ");
        format!("Arrow table of {} rows: {names}", self.batch.num_rows())
    }
}

/// Columns of truths, whole numbers, numbers or texts, None where missing.
#[pyfunction]
pub fn frame(columns: &Bound<'_, PyDict>) -> PyResult<Table> {
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
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|e| InputError::new_err(e.to_string()))?;
    Ok(Table { batch })
}
