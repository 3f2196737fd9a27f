//! Other populations and past groups: what is known of the one, how rows are counted by the other, and
//! the questions about both. Results are the JSON that the program prints.
//!
//! Groups are counted when somebody asks about them, so rows are read a second time: from their file, or
//! from the table that Python hands in again.

use crate::answers::Learned;
use crate::ask::policies;
use crate::declare::argument;
use crate::error::{ConfigError, json, raised};
use crate::run::run;
use crate::study::Study;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;
use seawall_study::describe::{Asked, described};
use seawall_study::fields::FrontEnd;
use seawall_study::learn;
use seawall_study::prepare::PreparedStudy;
use seawall_study::study::{self, HistoryChanges, PERIODS, known_from};
use seawall_study::transfer::{Method, Request, Retrial};
use seawall_table::count::{check_named, count, count_batches};
use seawall_table::sql::query;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The same study with more known of its target.
#[pyfunction]
pub fn with_known(
    study: &Bound<'_, Study>,
    known: Option<&Bound<'_, PyAny>>,
    size: Option<&Bound<'_, PyAny>>,
) -> PyResult<Study> {
    let known = known.map(|value| argument("known", value)).transpose()?;
    let size = size.map(|value| argument("size", value)).transpose()?;
    let (known, size) = known_from(known, size).map_err(raised)?;
    let loaded = &study.get().loaded;
    asking(loaded, loaded.study.clone().with_known(known, size))
}

fn asking(loaded: &PreparedStudy, study: seawall::Result<study::Study>) -> PyResult<Study> {
    let loaded = study.and_then(|study| loaded.asking(study)).map_err(raised)?;
    Ok(Study { loaded: Arc::new(loaded) })
}

/// The same study with other past groups than its own, not counted by them yet.
#[pyfunction]
#[pyo3(signature = (study, *, by, path, least, in_time, each, half_life))]
pub fn with_history(
    study: &Bound<'_, Study>,
    by: Vec<String>,
    path: Option<PathBuf>,
    least: Option<f64>,
    in_time: Option<bool>,
    each: Option<&str>,
    half_life: Option<f64>,
) -> PyResult<Study> {
    let period = |name: &str| {
        let found = PERIODS.iter().find(|(known, _)| *known == name).map(|found| found.1);
        found.ok_or_else(|| {
            let all = PERIODS.map(|(known, _)| format!("{known:?}")).join(", ");
            ConfigError::new_err(format!("each is {name:?}; expected one of {all}"))
        })
    };
    let each = each.map(period).transpose()?;
    let changes = HistoryChanges { by, path, least, in_time, each, half_life };
    let loaded = &study.get().loaded;
    let mut asked = loaded.study.clone();
    let history = changes.apply(asked.history.take(), &asked.data.contexts, FrontEnd::Python);
    asking(loaded, history.map(|history| study::Study { history, ..asked }))
}

/// The columns that name past groups, and whether these are of a table beside the log.
#[pyfunction]
pub fn history(study: &Bound<'_, Study>) -> (Vec<String>, bool) {
    match &study.get().loaded.study.history {
        None => (Vec::new(), false),
        Some(history) => (history.by.clone(), history.path.is_some()),
    }
}

/// The query that counts a study's rows by group in an engine; `name` is what messages call the table.
#[pyfunction]
pub fn group_query(
    study: &Bound<'_, Study>,
    name: &str,
    dialect: &str,
    table: &str,
    columns: Vec<String>,
) -> PyResult<String> {
    let own = &study.get().loaded.study;
    let asked = own.grouped_data(own.data.path.clone(), false);
    let written = check_named(&asked, Path::new(name), &columns);
    written.and_then(|()| query(&asked, dialect, Some(table))).map_err(raised)
}

/// The same study, its rows counted by past group: those of its file, or of the table they came from.
#[pyfunction]
#[pyo3(signature = (study, data, threads, progress))]
pub fn grouped(
    py: Python<'_>,
    study: &Bound<'_, Study>,
    data: Option<AnyRecordBatch>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Study> {
    let reader = data.map(|d| d.into_reader()).transpose()?;
    let loaded = &study.get().loaded;
    let again = run(py, threads, progress.as_ref(), |watch| {
        let asked = loaded.study.clone().grouped();
        let counted = match reader {
            None => count(&asked.data, watch)?,
            Some(mut reader) => {
                let columns: Vec<String> =
                    reader.schema().fields().iter().map(|f| f.name().clone()).collect();
                count_batches(&asked.data, &columns, &mut reader, watch)?
            }
        };
        loaded.recounted(asked, counted, watch)
    })?;
    Ok(Study { loaded: Arc::new(again) })
}

/// The same study with the past groups of a table beside the log; it may be counted already.
#[pyfunction]
#[pyo3(signature = (study, data, name, counted, threads, progress))]
pub fn with_past(
    py: Python<'_>,
    study: &Bound<'_, Study>,
    data: AnyRecordBatch,
    name: PathBuf,
    counted: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Study> {
    let mut reader = data.into_reader()?;
    let loaded = &study.get().loaded;
    let with = run(py, threads, progress.as_ref(), |watch| {
        let asked = loaded.study.grouped_data(name, counted);
        let columns: Vec<String> =
            reader.schema().fields().iter().map(|f| f.name().clone()).collect();
        Ok(loaded.with_past(count_batches(&asked, &columns, &mut reader, watch)?))
    })?;
    Ok(Study { loaded: Arc::new(with) })
}

/// What policies would cost in the target: JSON.
#[pyfunction]
#[pyo3(signature = (study, *, policy, level, method, compare, threads, progress))]
#[allow(clippy::too_many_arguments)] // As Python calls it.
pub fn transfer(
    py: Python<'_>,
    study: &Bound<'_, Study>,
    policy: Vec<String>,
    level: f64,
    method: Option<&str>,
    compare: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let method = match method {
        None => None,
        Some("rank") => Some(Method::Rank),
        Some("prediction") => Some(Method::Prediction),
        Some("couplings") => Some(Method::Couplings),
        Some(other) => {
            return Err(ConfigError::new_err(format!(
                "method is {other:?}; expected \"rank\", \"prediction\" or \"couplings\""
            )));
        }
    };
    let loaded = &study.get().loaded;
    let groups = loaded.study.history.is_some() && method != Some(Method::Couplings);
    if !groups && loaded.target.is_none() && loaded.study.target.known.is_empty() {
        return Err(ConfigError::new_err(
            "nothing is known of the target, and no past groups are recorded; say what is known \
             (target=Target(known=...), as describe() has it; or target=, a sample), or how groups are recorded \
             (history=\"COLUMN\")",
        ));
    }
    let request = Request { policies: policies(&policy)?, level, method, compare };
    let found = run(py, threads, progress.as_ref(), |watch| {
        seawall_study::transfer::transfer(loaded, &request, watch)
    })?;
    json(&found)
}

/// A learned policy, valued on past groups that did not choose it, too; the study is counted by them.
#[pyfunction]
#[pyo3(signature = (study, learned, *, level, threads, progress))]
pub fn valued_by_group(
    py: Python<'_>,
    study: &Bound<'_, Study>,
    learned: &Bound<'_, Learned>,
    level: f64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Learned> {
    let (loaded, answer) = (&study.get().loaded, learned.get().answer.clone());
    let found = run(py, threads, progress.as_ref(), |watch| {
        learn::by_group(loaded, &answer.question, &answer, level, watch)
    })?;
    Ok(Learned { answer: answer.with_groups(found) })
}

/// How every procedure did on every past group: JSON.
#[pyfunction]
#[pyo3(signature = (study, *, policy, level, threads, progress))]
pub fn backtest(
    py: Python<'_>,
    study: &Bound<'_, Study>,
    policy: Vec<String>,
    level: f64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let loaded = &study.get().loaded;
    if loaded.study.history.is_none() {
        return Err(ConfigError::new_err(
            "no groups are recorded; say history=\"COLUMN\": a site, a country, a month",
        ));
    }
    let retrial = Retrial { policy: policies(&policy)?.pop(), level };
    let found = run(py, threads, progress.as_ref(), |watch| {
        seawall_study::transfer::backtest(loaded, &retrial, watch)
    })?;
    json(&found)
}

/// What the target that `toward` is asked about says of its people, or the log if there is none: as a
/// block of a study file, and as JSON.
#[pyfunction]
pub fn describe(
    study: &Bound<'_, Study>,
    toward: &Bound<'_, Study>,
    columns: Vec<String>,
    means: bool,
    at_least: usize,
) -> PyResult<(String, String)> {
    let asked = Asked { columns, means, at_least };
    let found = described(&study.get().loaded, &toward.get().loaded, &asked).map_err(raised)?;
    Ok((found.toml(), found.json().to_string()))
}
