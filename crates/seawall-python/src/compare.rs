//! The same policies under several sets. The result is the JSON that the program prints.

use crate::ask::{check_known, policies};
use crate::error::{ConfigError, json};
use crate::run::run;
use crate::study::Study;
use pyo3::prelude::*;
use seawall::Set;
use seawall_study::compare::Request;

/// Sets side by side at radii that are comparable: JSON. A group is one of those that the study is counted by.
#[pyfunction]
#[pyo3(signature = (study, *, policy, sets, group, containing, threads, progress))]
#[allow(clippy::too_many_arguments)] // As Python calls it.
pub fn compare(
    py: Python<'_>,
    study: &Bound<'_, Study>,
    policy: Vec<String>,
    sets: Vec<String>,
    group: Option<String>,
    containing: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let loaded = &study.get().loaded;
    if group.is_some() && loaded.study.history.is_none() {
        return Err(ConfigError::new_err(
            "group is one of the past groups that a column names: say history=\"COLUMN\"",
        ));
    }
    // In Python's own words.
    let asked: Vec<Set> = sets.iter().filter_map(|text| text.parse().ok()).collect();
    if let Some(first) = asked.first().filter(|_| group.is_none() && asked.len() == sets.len())
        && asked.iter().all(Set::needs_known)
    {
        check_known(loaded, *first)?;
    }
    let request = Request { policies: policies(&policy)?, sets, group, containing };
    let found = run(py, threads, progress.as_ref(), |watch| {
        seawall_study::compare::compare(loaded, &request, watch)
    })?;
    json(&found)
}
