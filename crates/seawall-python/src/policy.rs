//! A saved policy, in words and on rows of its own.

use crate::error::{ConfigError, InputError, raised};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use seawall::policy::file::PolicyFile;
use seawall::{Feature, Space};
use std::sync::Arc;

/// The probabilities of the actions for rows of numbers, one column per feature that the policy
/// looks at, by name.
#[pyfunction]
pub fn probabilities<'py>(
    py: Python<'py>,
    policy: &str,
    names: Vec<String>,
    columns: Vec<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let file = PolicyFile::from_json(policy).map_err(raised)?;
    let rows = columns.first().map_or(0, |c| c.as_array().len());
    let mut values = Vec::new();
    for (name, column) in names.iter().zip(&columns) {
        let column = column.as_array();
        if column.len() != rows {
            let words = format!("column {name:?} has {} rows; expected {rows}", column.len());
            return Err(InputError::new_err(words));
        }
        values.push(column.to_vec());
    }
    if names.len() != columns.len() {
        let words = format!("{} names for {} columns", names.len(), columns.len());
        return Err(ConfigError::new_err(words));
    }
    let features = names.iter().map(|name| Feature::numeric(name.clone()));
    let space = Arc::new(Space::points(features, values).map_err(raised)?);
    let policy = file.on(&space, &file.actions).map_err(raised)?;
    let all = policy.probabilities().cells().to_vec();
    let shape = (space.len(), file.actions.len());
    let all = numpy::ndarray::Array2::from_shape_vec(shape, all)
        .map_err(|e| InputError::new_err(e.to_string()))?;
    Ok(all.into_pyarray(py))
}

/// A policy in words, line by line.
#[pyfunction]
pub fn words(policy: &str) -> PyResult<Vec<String>> {
    let file = PolicyFile::from_json(policy).map_err(raised)?;
    Ok(file.explain())
}
