//! The library's operators on plain arrays.

use crate::error::{ConfigError, InputError, json, raised};
use crate::run::run;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seawall::evaluate::{LoggedRows, Rows};
use seawall::{
    Direction, DistinctRows, Error, Feature, Population, Problem, Result, Set, Settings, Space,
    Wasserstein,
};
use seawall_study::evaluate::SetChange;
use seawall_table::read::levels_of_texts;
use serde_json::json as object;
use std::sync::Arc;

/// A set by name, and perhaps an η of its own.
fn set(name: &str, eta: Option<f64>) -> PyResult<Set> {
    let change = SetChange { name: Some(name.to_owned()), eta };
    let set = change.apply(Wasserstein.into()).map_err(raised)?;
    if eta.is_some() && set.parameter("eta").is_none() {
        Err(ConfigError::new_err("eta belongs to an entropic set: set=\"entropic\""))
    } else {
        Ok(set)
    }
}

/// Whether a set's worst case against the radius is made of finitely many straight lines, so that a curve
/// of tolerance 0 can be asked for.
#[pyfunction]
#[pyo3(signature = (set_name, eta))]
pub fn has_exact_curve(set_name: &str, eta: Option<f64>) -> PyResult<bool> {
    Ok(set(set_name, eta)?.has_exact_curve())
}

/// The features of columns: numbers, or indices of the labels.
fn features(
    names: &[String],
    kinds: &[String],
    labels: &[Option<Vec<String>>],
    scales: &Option<Vec<f64>>,
) -> Result<Vec<Feature>> {
    let count = names.len();
    if kinds.len() != count || labels.len() != count {
        return Err(Error::config(format!("{} kinds for {count} columns", kinds.len())));
    }
    if let Some(scales) = scales.as_ref().filter(|s| s.len() != count) {
        return Err(Error::config(format!("{} scales for {count} columns", scales.len())));
    }
    let feature = |k: usize| {
        let name = names[k].clone();
        let levels = || labels[k].clone().unwrap_or_default();
        let feature = match kinds[k].as_str() {
            "numeric" => Feature::numeric(name.clone()),
            "ordinal" => Feature::ordinal(name.clone(), levels()),
            "nominal" => Feature::nominal(name.clone(), levels()),
            "fixed" => Feature::fixed(name.clone(), levels()),
            kind => {
                return Err(Error::config(format!(
                    "column {name:?}: the kind is {kind:?}; expected \"numeric\", \"ordinal\", \
                     \"nominal\" or \"fixed\""
                )));
            }
        };
        Ok(match scales {
            Some(scales) if kinds[k] != "fixed" => feature.weight(scales[k]),
            _ => feature,
        })
    };
    (0..count).map(feature).collect()
}

/// The levels of texts, None being a missing one: each text's level, NaN where missing, and their
/// names; two texts are the same level where tables take them for the same.
#[pyfunction]
pub fn levels<'py>(
    py: Python<'py>,
    texts: Vec<Option<String>>,
) -> (Bound<'py, PyArray1<f64>>, Vec<String>) {
    let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
    let (codes, labels) = levels_of_texts(&texts);
    (codes.into_pyarray(py), labels)
}

/// Columns, copied off the interpreter.
fn copied(columns: &[PyReadonlyArray1<'_, f64>]) -> Vec<Vec<f64>> {
    columns.iter().map(|c| c.as_array().to_vec()).collect()
}

fn direction(reward: bool) -> Direction {
    if reward { Direction::Reward } else { Direction::Cost }
}

/// Values on weighted rows, copied off the interpreter.
struct Given {
    values: Vec<f64>,
    weights: Vec<f64>,
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
    kinds: Vec<String>,
    labels: Vec<Option<Vec<String>>>,
    scales: Option<Vec<f64>>,
    direction: Direction,
}

impl Given {
    fn new(
        values: &PyReadonlyArray1<'_, f64>,
        weights: &PyReadonlyArray1<'_, f64>,
        names: Vec<String>,
        columns: &[PyReadonlyArray1<'_, f64>],
        (kinds, labels): (Vec<String>, Vec<Option<Vec<String>>>),
        scales: Option<Vec<f64>>,
        reward: bool,
    ) -> Self {
        Given {
            values: values.as_array().to_vec(),
            weights: weights.as_array().to_vec(),
            names,
            columns: copied(columns),
            kinds,
            labels,
            scales,
            direction: direction(reward),
        }
    }

    /// Asks something of the problem, watched.
    fn ask<T: Send>(
        self,
        py: Python<'_>,
        threads: Option<usize>,
        question: impl FnOnce(&Problem<'_>, Settings<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        run(py, threads, None, |watch| {
            let features = features(&self.names, &self.kinds, &self.labels, &self.scales)?;
            let space = Arc::new(Space::points(features, self.columns)?);
            let population = Population::from_weights(space, self.weights)?;
            let problem = Problem::new(&population, &self.values)?.direction(self.direction);
            question(&problem, Settings { watch, ..Settings::default() })
        })
    }
}

/// The worst case at one radius: a dictionary.
#[pyfunction]
#[pyo3(signature = (values, weights, names, columns, kinds, labels, scales, radius, set_name, eta, reward, threads))]
#[allow(clippy::too_many_arguments)]
pub fn worst_case<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    weights: PyReadonlyArray1<'py, f64>,
    names: Vec<String>,
    columns: Vec<PyReadonlyArray1<'py, f64>>,
    kinds: Vec<String>,
    labels: Vec<Option<Vec<String>>>,
    scales: Option<Vec<f64>>,
    radius: f64,
    set_name: &str,
    eta: Option<f64>,
    reward: bool,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let within = set(set_name, eta)?.at(radius);
    let given = Given::new(&values, &weights, names, &columns, (kinds, labels), scales, reward);
    let worst = given.ask(py, threads, |problem, settings| within.worst_case(problem, settings))?;
    let found = PyDict::new(py);
    found.set_item("value", worst.value())?;
    found.set_item("lower", worst.lower())?;
    found.set_item("upper", worst.upper())?;
    found.set_item("status", worst.status().to_string())?;
    found.set_item("lambda_", worst.lambda())?;
    found.set_item("unobserved_mass", worst.unobserved_mass())?;
    found.set_item("exact_lower", worst.smoothed().map(|e| e.exact_lower))?;
    found.set_item("exact_upper", worst.smoothed().map(|e| e.exact_upper))?;
    found.set_item("weights", worst.weights().into_pyarray(py))?;
    let moves: Vec<seawall::Move> = worst.plan().iter().collect();
    let places = |of: fn(&seawall::Move) -> usize| -> Vec<i64> {
        moves.iter().map(|m| of(m) as i64).collect()
    };
    let numbers = |of: fn(&seawall::Move) -> f64| -> Vec<f64> { moves.iter().map(of).collect() };
    found.set_item("move_from", places(|m| m.from).into_pyarray(py))?;
    found.set_item("move_to", places(|m| m.to).into_pyarray(py))?;
    found.set_item("move_mass", numbers(|m| m.mass).into_pyarray(py))?;
    found.set_item("move_cost", numbers(|m| m.cost).into_pyarray(py))?;
    Ok(found)
}

type Vertices<'py> =
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, f64);

/// The worst case against the radius: radii, values, lambdas, and how far off it may be.
#[pyfunction]
#[pyo3(signature = (values, weights, names, columns, kinds, labels, scales, set_name, eta, reward, tolerance, threads))]
#[allow(clippy::too_many_arguments)]
pub fn curve<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    weights: PyReadonlyArray1<'py, f64>,
    names: Vec<String>,
    columns: Vec<PyReadonlyArray1<'py, f64>>,
    kinds: Vec<String>,
    labels: Vec<Option<Vec<String>>>,
    scales: Option<Vec<f64>>,
    set_name: &str,
    eta: Option<f64>,
    reward: bool,
    tolerance: f64,
    threads: Option<usize>,
) -> PyResult<Vertices<'py>> {
    let set = set(set_name, eta)?;
    let given = Given::new(&values, &weights, names, &columns, (kinds, labels), scales, reward);
    let curve = given
        .ask(py, threads, |problem, settings| set.solver(problem, settings)?.curve(tolerance))?;
    let column = |of: fn(&seawall::CurveVertex) -> f64| -> Bound<'py, PyArray1<f64>> {
        curve.vertices().iter().map(of).collect::<Vec<f64>>().into_pyarray(py)
    };
    Ok((column(|v| v.radius), column(|v| v.value), column(|v| v.lambda), curve.error()))
}

/// How far apart two samples are: value, lower, upper, status, and what each column costs.
#[pyfunction]
#[pyo3(signature = (names, kinds, labels, scales, columns, other_columns, weights, other_weights, threads))]
#[allow(clippy::too_many_arguments)]
pub fn distance(
    py: Python<'_>,
    names: Vec<String>,
    kinds: Vec<String>,
    labels: Vec<Option<Vec<String>>>,
    scales: Option<Vec<f64>>,
    columns: Vec<PyReadonlyArray1<'_, f64>>,
    other_columns: Vec<PyReadonlyArray1<'_, f64>>,
    weights: PyReadonlyArray1<'_, f64>,
    other_weights: PyReadonlyArray1<'_, f64>,
    threads: Option<usize>,
) -> PyResult<(f64, f64, f64, String, Vec<f64>)> {
    let rows = weights.as_array().len();
    let other_rows = other_weights.as_array().len();
    let mut all = copied(&columns);
    for (column, other) in all.iter_mut().zip(copied(&other_columns)) {
        if column.len() != rows || other.len() != other_rows {
            return Err(InputError::new_err("columns and weights have different lengths"));
        }
        column.extend(other);
    }
    let padded = |before: usize, of: &PyReadonlyArray1<'_, f64>, after: usize| -> Vec<f64> {
        let mut all = vec![0.0; before];
        all.extend(of.as_array());
        all.resize(all.len() + after, 0.0);
        all
    };
    let (from, to) = (padded(0, &weights, other_rows), padded(rows, &other_weights, 0));
    run(py, threads, None, |watch| {
        let features = features(&names, &kinds, &labels, &scales)?;
        let rows = DistinctRows::new(&all)?;
        let (from, to) = (rows.totals(&from), rows.totals(&to));
        let space = Arc::new(Space::points(features, rows.columns)?);
        let from = Population::from_weights(space.clone(), from)?;
        let to = Population::from_weights(space.clone(), to)?;
        let found = seawall::distance::distance(&from, &to, watch)?;
        let by_feature = found.by_feature();
        Ok((found.value, found.lower, found.upper, found.status.to_string(), by_feature))
    })
}

/// What a policy would have brought, from logged rows: JSON.
#[pyfunction]
#[pyo3(signature = (names, columns, kinds, labels, actions, outcomes, pscore, action_dist, estimated, radii, set_name, eta, reward, threads))]
#[allow(clippy::too_many_arguments)]
pub fn evaluate_policy(
    py: Python<'_>,
    names: Vec<String>,
    columns: Vec<PyReadonlyArray1<'_, f64>>,
    kinds: Vec<String>,
    labels: Vec<Option<Vec<String>>>,
    actions: PyReadonlyArray1<'_, i64>,
    outcomes: PyReadonlyArray1<'_, f64>,
    pscore: PyReadonlyArray1<'_, f64>,
    action_dist: PyReadonlyArray2<'_, f64>,
    estimated: Option<PyReadonlyArray2<'_, f64>>,
    radii: Vec<f64>,
    set_name: &str,
    eta: Option<f64>,
    reward: bool,
    threads: Option<usize>,
) -> PyResult<String> {
    let set = set(set_name, eta)?;
    let actions: Vec<usize> = actions.as_array().iter().map(|a| *a as usize).collect();
    let (outcomes, pscore) = (outcomes.as_array().to_vec(), pscore.as_array().to_vec());
    let chances: Vec<f64> = action_dist.as_array().iter().copied().collect();
    let (count, direction) = (action_dist.as_array().ncols(), direction(reward));
    let columns = copied(&columns);
    let estimated: Option<Vec<f64>> = estimated.map(|e| e.as_array().iter().copied().collect());
    let found = run(py, threads, None, |watch| {
        let settings = Settings { watch, ..Settings::default() };
        let logged = LoggedRows::new(features(&names, &kinds, &labels, &None)?, columns)?;
        let mut rows = Rows {
            actions: &actions,
            outcomes: &outcomes,
            propensities: &pscore,
            chances: &chances,
            predicted: &[],
            count,
        };
        let predicted = match estimated {
            Some(all) => all,
            None => logged.predicted(&rows, direction, settings)?,
        };
        rows.predicted = &predicted;
        let nominal = rows.nominal()?;
        let worst = logged.worst_cases(&rows, direction, set, &radii, settings)?;
        let results = radii.iter().zip(&worst).map(|(radius, w)| {
            object!({
                "radius": radius, "value": w.value(), "lower": w.lower(), "upper": w.upper(),
                "gap": w.gap(), "lambda": Some(w.lambda()).filter(|l| l.is_finite()),
                "status": w.status(),
                "exact_lower": w.smoothed().map(|s| s.exact_lower),
                "exact_upper": w.smoothed().map(|s| s.exact_upper),
            })
        });
        Ok(object!({
            "direction": direction,
            "dm": nominal.dm, "ips": nominal.ips, "snips": nominal.snips, "dr": nominal.dr,
            "effective_sample_size": nominal.overlap.effective_sample_size,
            "mean_ratio": nominal.overlap.mean_ratio,
            "results": results.collect::<Vec<_>>(),
        }))
    })?;
    json(&found)
}
