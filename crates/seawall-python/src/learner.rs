//! An estimator of Python's as an outcome model: fitted to the rows of each action, for every log
//! anew. What it is asked and what it answers is looked at by `seawall._models`.
//!
//! The work runs detached from the interpreter, on threads that come back here. One fit runs at a
//! time: estimators bring threads of their own, and not every one bears company. Whoever waits for
//! its turn does so without the interpreter's lock, so that nobody waits for anybody who waits.

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyList;
use seawall::outcome::{Learner, Predictions};
use seawall::{Error, Kind, Log, Matrix, Progress, Result, Space, Stage, Value, Watch};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The rows of one action: contexts, outcomes and weights.
type Rows = (Vec<i64>, Vec<f64>, Vec<f64>);

/// A `seawall._models.Learner`.
pub struct PyLearner {
    object: Py<PyAny>,
    name: String,
    turn: Mutex<()>,
    /// The table of contexts as the estimator takes it, and of which space it is. Only to be locked
    /// by who holds the interpreter, and for no longer than it takes to look.
    table: Mutex<Option<(Arc<Space>, Py<PyAny>)>>,
}

impl fmt::Debug for PyLearner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PyLearner({})", self.name)
    }
}

impl Learner for PyLearner {
    fn name(&self) -> &str {
        &self.name
    }

    fn fit(&self, log: &Log, watch: Watch<'_>) -> Result<Predictions> {
        let (contexts, count) = (log.contexts().len(), log.actions().len());
        let mut columns: Vec<Vec<f64>> = Vec::with_capacity(count);
        for (action, rows) in rows_by_action(log).into_iter().enumerate() {
            // An action that a part of a log has lost has nothing to be fitted to.
            if rows.0.is_empty() {
                columns.push(vec![f64::NAN; contexts]);
                continue;
            }
            let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            watch.tell(Progress::at(Stage::Fitting).done(action).out_of(count))?;
            let name = &log.actions()[action];
            let found = Python::attach(|py| {
                self.predict(py, log.contexts(), name, rows).map_err(|error| failed(py, &error))
            });
            drop(turn);
            columns.push(found?);
        }
        let each = (0..contexts).flat_map(|x| columns.iter().map(move |column| column[x]));
        Predictions::new(Matrix::new(contexts, count, each.collect())?)
    }
}

impl PyLearner {
    /// What is called `name` in messages.
    pub fn new(object: Py<PyAny>, name: String) -> Self {
        PyLearner { object, name, turn: Mutex::new(()), table: Mutex::new(None) }
    }

    fn predict(
        &self,
        py: Python<'_>,
        space: &Arc<Space>,
        action: &str,
        (contexts, outcomes, weights): Rows,
    ) -> PyResult<Vec<f64>> {
        let table = self.table(py, space)?;
        let places = contexts.into_pyarray(py);
        let (y, weights) = (outcomes.into_pyarray(py), weights.into_pyarray(py));
        let found = self.object.call_method1(py, "predict", (table, action, places, y, weights))?;
        let found: PyReadonlyArray1<'_, f64> = found.extract(py)?;
        Ok(found.as_array().to_vec())
    }

    /// The table of a space's contexts; the last one is kept.
    fn table(&self, py: Python<'_>, space: &Arc<Space>) -> PyResult<Py<PyAny>> {
        let kept = || self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, table)) = &*kept()
            && Arc::ptr_eq(of, space)
        {
            return Ok(table.clone_ref(py));
        }
        let columns = PyList::empty(py);
        for (k, name) in space.names().enumerate() {
            columns.append(column(py, space, k, name)?)?;
        }
        let table = self.object.call_method1(py, "table", (columns,))?;
        let before = kept().replace((space.clone(), table.clone_ref(py)));
        drop(before);
        Ok(table)
    }
}

/// A column of contexts: its name, kind, numbers or codes of levels (−1 where missing), and for levels
/// their labels and positions.
fn column<'py>(
    py: Python<'py>,
    space: &Space,
    k: usize,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let kind = space.kind(k);
    if kind == Kind::Numeric {
        let numbers = space.each(k, |v| match v {
            Value::Number(x) => x,
            _ => f64::NAN,
        });
        let column = (name, kind.name(), numbers.into_pyarray(py), py.None(), py.None());
        return Ok(column.into_pyobject(py)?.into_any());
    }
    let labels: Vec<Option<String>> = space
        .level_values(k)
        .map(|v| match v {
            Value::Level(text) => Some(text.to_owned()),
            Value::Number(x) => Some(x.to_string()),
            Value::Missing => None,
        })
        .collect();
    let code = |i: usize| match space.code(i, k) {
        code if code.is_nan() => -1,
        code => labels.get(code as usize).and_then(Option::as_ref).map_or(-1, |_| code as i64),
    };
    let codes: Vec<i64> = (0..space.len()).map(code).collect();
    let positions = match kind {
        Kind::Ordinal => Some(space.positions(k).into_pyarray(py)),
        _ => None,
    };
    let column = (name, kind.name(), codes.into_pyarray(py), labels, positions);
    Ok(column.into_pyobject(py)?.into_any())
}

fn rows_by_action(log: &Log) -> Vec<Rows> {
    let mut all = vec![Rows::default(); log.actions().len()];
    for e in log.entries() {
        let (contexts, outcomes, weights) = &mut all[e.action as usize];
        contexts.push(i64::from(e.context));
        outcomes.push(log.value(e));
        weights.push(e.weight);
    }
    all
}

/// What was raised, in the words of `seawall._models`; what it was raised from is the cause.
fn failed(py: Python<'_>, error: &PyErr) -> Error {
    let cause = error.cause(py).unwrap_or_else(|| error.clone_ref(py));
    Error::input(error.value(py)).caused_by(cause)
}
