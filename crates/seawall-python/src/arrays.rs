//! The library's operators on plain arrays.

use crate::error::{ConfigError, InputError, json};
use crate::run::run;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seawall::evaluate::{Estimator, Propensity};
use seawall::outcome::{Recipe, Table, TreeSettings, Unseen};
use seawall::policy::Policy;
use seawall::{
    Ambiguity, Direction, Entry, Error, Feature, Log, Population, Problem, Result, Settings, Space,
};
use serde_json::json as object;
use std::collections::HashMap;
use std::sync::Arc;

/// A set by name.
pub fn set(name: &str, radius: f64, eta: Option<f64>) -> PyResult<Ambiguity> {
    match (name, eta) {
        ("wasserstein", None) => Ok(Ambiguity::Wasserstein { radius }),
        ("kl", None) => Ok(Ambiguity::Kl { radius }),
        ("entropic", Some(eta)) => Ok(Ambiguity::Entropic { radius, eta }),
        ("entropic", None) => Err(ConfigError::new_err(
            "set=\"entropic\" needs eta; larger is closer to exact, for example eta=100",
        )),
        ("wasserstein" | "kl", Some(_)) => {
            Err(ConfigError::new_err("eta belongs to an entropic set: set=\"entropic\""))
        }
        _ => Err(ConfigError::new_err(format!(
            "set is {name:?}; expected \"wasserstein\", \"entropic\" or \"kl\""
        ))),
    }
}

/// The features of columns: numbers, or indices of levels.
fn features(
    names: &[String],
    kinds: &[String],
    scales: &Option<Vec<f64>>,
    columns: &[Vec<f64>],
) -> Result<Vec<Feature>> {
    let count = columns.len();
    if kinds.len() != count || names.len() != count {
        return Err(Error::config(format!("{} kinds for {count} columns", kinds.len())));
    }
    if let Some(scales) = scales.as_ref().filter(|s| s.len() != count) {
        return Err(Error::config(format!("{} scales for {count} columns", scales.len())));
    }
    let feature = |k: usize| {
        let (name, column) = (names[k].clone(), &columns[k]);
        let levels = || -> Result<Vec<String>> {
            let most = column.iter().copied().filter(|x| !x.is_nan()).fold(0.0, f64::max);
            let codes = |x: &&f64| !x.is_nan() && (x.fract() != 0.0 || **x < 0.0 || **x > 1e6);
            match column.iter().find(codes) {
                Some(x) => {
                    Err(Error::input(format!("column {name:?}: {x}; expected a level's number")))
                }
                None => Ok((0..=most as usize).map(|l| l.to_string()).collect()),
            }
        };
        let feature = match kinds[k].as_str() {
            "numeric" => Feature::numeric(name.clone()),
            "ordinal" => Feature::ordinal(name.clone(), levels()?),
            "nominal" => Feature::nominal(name.clone(), levels()?),
            "fixed" => Feature::fixed(name.clone(), levels()?),
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

/// Columns, copied off the interpreter.
fn copied(columns: &[PyReadonlyArray1<'_, f64>]) -> Vec<Vec<f64>> {
    columns.iter().map(|c| c.as_array().to_vec()).collect()
}

fn direction(reward: bool) -> Direction {
    if reward { Direction::Reward } else { Direction::Cost }
}

/// The worst case at one radius: a dictionary.
#[pyfunction]
#[pyo3(signature = (values, weights, names, columns, kinds, scales, radius, set_name, eta, reward, threads))]
#[allow(clippy::too_many_arguments)]
pub fn worst_case<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    weights: PyReadonlyArray1<'py, f64>,
    names: Vec<String>,
    columns: Vec<PyReadonlyArray1<'py, f64>>,
    kinds: Vec<String>,
    scales: Option<Vec<f64>>,
    radius: f64,
    set_name: &str,
    eta: Option<f64>,
    reward: bool,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let set = set(set_name, radius, eta)?;
    let (values, weights) = (values.as_array().to_vec(), weights.as_array().to_vec());
    let columns = copied(&columns);
    let worst = run(py, threads, None, |watcher| {
        let features = features(&names, &kinds, &scales, &columns)?;
        let space = Arc::new(Space::points(features, columns)?);
        let population = Population::from_weights(space, weights)?;
        let problem = Problem::new(&population, &values)?.direction(direction(reward));
        let watch =
            |progress: seawall::Progress| watcher.say(|| format!("gap {:.1e}", progress.gap));
        let settings = Settings { watch: Some(&watch), ..Settings::default() };
        set.worst_case(&problem, &settings)
    })?;
    let found = PyDict::new(py);
    found.set_item("value", worst.value)?;
    found.set_item("lower", worst.lower)?;
    found.set_item("upper", worst.upper)?;
    found.set_item("status", worst.status.to_string())?;
    found.set_item("lambda_", worst.lambda)?;
    found.set_item("unobserved_mass", worst.unobserved_mass)?;
    found.set_item("exact_lower", worst.entropic.map(|e| e.exact_lower))?;
    found.set_item("exact_upper", worst.entropic.map(|e| e.exact_upper))?;
    found.set_item("weights", worst.weights().into_pyarray(py))?;
    let moves: Vec<seawall::Move> = worst.plan.iter().collect();
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
#[pyo3(signature = (values, weights, names, columns, kinds, scales, set_name, eta, reward, tolerance, threads))]
#[allow(clippy::too_many_arguments)]
pub fn curve<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    weights: PyReadonlyArray1<'py, f64>,
    names: Vec<String>,
    columns: Vec<PyReadonlyArray1<'py, f64>>,
    kinds: Vec<String>,
    scales: Option<Vec<f64>>,
    set_name: &str,
    eta: Option<f64>,
    reward: bool,
    tolerance: f64,
    threads: Option<usize>,
) -> PyResult<Vertices<'py>> {
    let set = set(set_name, 0.0, eta)?;
    let (values, weights) = (values.as_array().to_vec(), weights.as_array().to_vec());
    let columns = copied(&columns);
    let curve = run(py, threads, None, |watcher| {
        let features = features(&names, &kinds, &scales, &columns)?;
        let space = Arc::new(Space::points(features, columns)?);
        let population = Population::from_weights(space, weights)?;
        let problem = Problem::new(&population, &values)?.direction(direction(reward));
        let watch =
            |progress: seawall::Progress| watcher.say(|| format!("gap {:.1e}", progress.gap));
        let settings = Settings { watch: Some(&watch), ..Settings::default() };
        let curve = set.solver(&problem, &settings)?.curve(tolerance);
        curve
    })?;
    let column = |of: fn(&seawall::CurveVertex) -> f64| -> Bound<'py, PyArray1<f64>> {
        curve.vertices().iter().map(of).collect::<Vec<f64>>().into_pyarray(py)
    };
    Ok((column(|v| v.radius), column(|v| v.value), column(|v| v.lambda), curve.error()))
}

/// How far apart two samples are: value, lower, upper, status, and what each column costs.
#[pyfunction]
#[pyo3(signature = (names, kinds, scales, columns, other_columns, weights, other_weights, threads))]
#[allow(clippy::too_many_arguments)]
pub fn distance(
    py: Python<'_>,
    names: Vec<String>,
    kinds: Vec<String>,
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
    run(py, threads, None, |_| {
        let features = features(&names, &kinds, &scales, &all)?;
        let (space, from, to) = merged(features, all, from, to)?;
        let from = Population::from_weights(space.clone(), from)?;
        let to = Population::from_weights(space.clone(), to)?;
        let found = seawall::distance::distance(&from, &to)?;
        let by_feature = found.by_feature(&space);
        Ok((found.value, found.lower, found.upper, found.status.to_string(), by_feature))
    })
}

/// A space, and the weights of two populations on it.
type Merged = (Arc<Space>, Vec<f64>, Vec<f64>);

/// Every place once, with both populations' weights.
fn merged(
    features: Vec<Feature>,
    columns: Vec<Vec<f64>>,
    from: Vec<f64>,
    to: Vec<f64>,
) -> Result<Merged> {
    let (distinct, place) = distinct(&columns);
    let mut sums = [vec![0.0; distinct[0].len()], vec![0.0; distinct[0].len()]];
    for (row, &point) in place.iter().enumerate() {
        sums[0][point] += from[row];
        sums[1][point] += to[row];
    }
    let [from, to] = sums;
    Ok((Arc::new(Space::points(features, distinct)?), from, to))
}

/// The distinct rows of columns, and the place of each row among them.
fn distinct(columns: &[Vec<f64>]) -> (Vec<Vec<f64>>, Vec<usize>) {
    let rows = columns.first().map_or(0, Vec::len);
    let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut kept: Vec<Vec<f64>> = vec![Vec::new(); columns.len().max(1)];
    let mut place = Vec::with_capacity(rows);
    for row in 0..rows {
        let key = columns.iter().map(|c| (c[row] + 0.0).to_bits()).collect();
        let next = places.len();
        let point = *places.entry(key).or_insert(next);
        if point == next {
            kept.iter_mut().zip(columns).for_each(|(k, c)| k.push(c[row]));
        }
        place.push(point);
    }
    (kept, place)
}

/// What a policy would have brought, from logged rows: JSON.
#[pyfunction]
#[pyo3(signature = (columns, actions, outcomes, pscore, action_dist, estimated, radii, set_name, eta, reward, threads))]
#[allow(clippy::too_many_arguments)]
pub fn evaluate_policy(
    py: Python<'_>,
    columns: Vec<PyReadonlyArray1<'_, f64>>,
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
    let set = set(set_name, 0.0, eta)?;
    let rows = Rows {
        columns: copied(&columns),
        actions: actions.as_array().to_vec(),
        outcomes: outcomes.as_array().to_vec(),
        pscore: pscore.as_array().to_vec(),
        count: action_dist.as_array().ncols(),
        chances: action_dist.as_array().iter().copied().collect(),
        estimated: estimated.map(|e| e.as_array().iter().copied().collect()),
        direction: direction(reward),
    };
    let found = run(py, threads, None, |_| rows.answer(set, &radii))?;
    json(&found)
}

/// Logged rows and the policy to be evaluated.
struct Rows {
    columns: Vec<Vec<f64>>,
    actions: Vec<i64>,
    outcomes: Vec<f64>,
    pscore: Vec<f64>,
    /// Actions.
    count: usize,
    /// `[row · actions + action]`.
    chances: Vec<f64>,
    estimated: Option<Vec<f64>>,
    direction: Direction,
}

impl Rows {
    fn answer(&self, set: Ambiguity, radii: &[f64]) -> Result<serde_json::Value> {
        let names: Vec<String> = (0..self.count).map(|a| a.to_string()).collect();
        let numeric = |k: usize| Feature::numeric(format!("context {k}"));
        let (kept, place) = distinct(&self.columns);
        let points = kept.first().map_or(0, Vec::len);
        let space = Space::points((0..self.columns.len()).map(numeric), kept)?;
        let by_context = self.log(Arc::new(space), &names, &|row| place[row] as u32)?;
        let settings = Settings::default();
        let plain = Ambiguity::Wasserstein { radius: 0.0 };
        // What each action brings in each distinct context: as given, or by a tree per action.
        let table = match &self.estimated {
            Some(all) => self.averaged(all, &place, points),
            None => {
                let trees = Recipe::Tree(vec![TreeSettings::default(); self.count]);
                let model = trees.fit(&by_context)?;
                let values = model.values(&by_context, plain, Unseen::Mean, &settings)?;
                (0..points * self.count)
                    .map(|k| values.at(k / self.count, k % self.count))
                    .collect()
            }
        };
        // Estimates row by row: rows of one context may have chances of their own.
        let row = Feature::numeric("row");
        let numbers = (0..place.len()).map(|r| r as f64).collect();
        let space = Arc::new(Space::points([row], vec![numbers])?);
        let log = self.log(space, &names, &|row| row as u32)?;
        let by_action = |rows: usize, of: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..self.count)
                .flat_map(|a| (0..rows).map(move |r| (r, a)))
                .map(|(r, a)| of(r, a))
                .collect()
        };
        let own = by_action(place.len(), &|r, a| match &self.estimated {
            Some(all) => all[r * self.count + a],
            None => table[place[r] * self.count + a],
        });
        let recipe = Recipe::Table(Table::new(place.len(), own)?);
        let policy = Policy::table("policy", log.contexts(), &names, &self.chances)?;
        let known = Propensity::Known;
        let nominal =
            Estimator::new(&log, &recipe, &known, None, Unseen::Mean, 2)?.nominal(&policy);
        let estimate = |e: seawall::evaluate::Estimate| object!({"value": e.value, "se": e.se, "lower": e.lower, "upper": e.upper});
        let mut results = Vec::new();
        if !radii.is_empty() {
            // What a context brings is the mean over its rows of what the policy would bring there.
            let mut values = vec![0.0; points];
            let mut rows = vec![0.0; points];
            for (row, &point) in place.iter().enumerate() {
                let own = |a: usize| match &self.estimated {
                    Some(all) => all[row * self.count + a],
                    None => table[point * self.count + a],
                };
                rows[point] += 1.0;
                for a in 0..self.count {
                    values[point] += self.chances[row * self.count + a] * own(a);
                }
            }
            values.iter_mut().zip(&rows).for_each(|(v, n)| *v /= n);
            let population = by_context.population()?;
            let problem = Problem::new(&population, &values)?.direction(self.direction);
            let mut solver = set.solver(&problem, &settings)?;
            for radius in radii {
                let w = solver.worst_case(*radius)?;
                results.push(object!({
                    "radius": radius, "value": w.value, "lower": w.lower, "upper": w.upper,
                    "gap": w.gap(), "lambda": Some(w.lambda).filter(|l| l.is_finite()),
                    "status": w.status.to_string(),
                    "exact_lower": w.entropic.map(|e| e.exact_lower),
                    "exact_upper": w.entropic.map(|e| e.exact_upper),
                }));
            }
        }
        Ok(object!({
            "direction": self.direction.words(),
            "dm": estimate(nominal.dm), "ips": estimate(nominal.ips),
            "snips": estimate(nominal.snips), "dr": estimate(nominal.dr),
            "effective_sample_size": nominal.overlap.effective,
            "mean_ratio": nominal.overlap.mean_ratio,
            "results": results,
        }))
    }

    /// The mean over the rows of each place, `[place · actions + action]`.
    fn averaged(&self, all: &[f64], place: &[usize], points: usize) -> Vec<f64> {
        let mut sums = vec![0.0; points * self.count];
        let mut rows = vec![0.0; points];
        for (row, &point) in place.iter().enumerate() {
            rows[point] += 1.0;
            for a in 0..self.count {
                sums[point * self.count + a] += all[row * self.count + a];
            }
        }
        sums.iter().enumerate().map(|(k, sum)| sum / rows[k / self.count]).collect()
    }

    /// The rows as a log on a space.
    fn log(
        &self,
        space: Arc<Space>,
        names: &[String],
        context: &dyn Fn(usize) -> u32,
    ) -> Result<Log> {
        let mut levels: Vec<f64> = self.outcomes.clone();
        levels.sort_unstable_by(f64::total_cmp);
        levels.dedup();
        let outcome = |y: f64| levels.partition_point(|l| *l < y) as u32;
        let entry = |row: usize| Entry {
            context: context(row),
            action: self.actions[row] as u32,
            outcome: outcome(self.outcomes[row]),
            propensity: self.pscore[row],
            weight: 1.0,
        };
        let entries = (0..self.actions.len()).map(entry).collect();
        let outcomes = Space::grid([Feature::numeric("outcome").levels(levels.clone())])?;
        let used: Vec<bool> = (0..self.count).map(|a| self.actions.contains(&(a as i64))).collect();
        if let Some(never) = used.iter().position(|u| !u) {
            return Err(Error::input(format!(
                "action {never} is never taken in the log; action_dist has {} actions",
                names.len()
            )));
        }
        Log::new(space, names.to_vec(), Arc::new(outcomes), levels, self.direction, entries)
    }
}
