//! Studies and the questions about them. Results are the JSON that the program prints.

use crate::answers::{Evaluation, Learned, sentences};
use crate::ask::{by_column, check_known, halving, learned, policies, support};
use crate::error::{ConfigError, InputError, json, raised};
use crate::learner::PyLearner;
use crate::run::run;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::input::AnyRecordBatch;
use seawall::outcome::{Predictions, Recipe};
use seawall::{Matrix, Settings, Value, Wasserstein, Watch};
use seawall_report::report;
use seawall_study::distance::Samples;
use seawall_study::evaluate::{By, Changes, Question, evaluate};
use seawall_study::learn::{self, Spec, learn};
use seawall_study::prepare::{PreparedStudy, load};
use seawall_study::radius::{Request, radius};
use seawall_study::report::{self, Transferred};
use seawall_study::study::study;
use seawall_study::target::Source;
use seawall_study::{check, compare, demo as synthetic, explain};
use seawall_table::memory::parse;
use seawall_table::write::{destination, prepare};
use std::path::PathBuf;
use std::sync::Arc;

/// What `evaluate` is asked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct EvaluateOptions {
    policy: Vec<String>,
    radius: Vec<f64>,
    column_radii: Vec<(String, f64)>,
    set: Option<String>,
    eta: Option<f64>,
    cost_radius: Vec<f64>,
    cost_set: Option<String>,
    support: Option<String>,
    curve: bool,
    compare: bool,
    by: Option<String>,
    simultaneous: bool,
    splits: Option<usize>,
    level: f64,
    seed: u64,
    bounds: Option<f64>,
}

/// What `learn` is asked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct LearnOptions {
    policy: String,
    method: String,
    radius: Option<f64>,
    column_radii: Vec<(String, f64)>,
    set: Option<String>,
    eta: Option<f64>,
    cost_radius: Option<f64>,
    cost_set: Option<String>,
    support: Option<String>,
    against: Option<String>,
    honest: bool,
    seed: u64,
}

/// What `report` is asked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ReportOptions {
    policy: Vec<String>,
    support: Option<String>,
    learn: Vec<String>,
    compare: bool,
    splits: Option<usize>,
    level: f64,
    seed: u64,
}

/// A study with its data counted.
#[pyclass(frozen, module = "seawall._native")]
pub struct Study {
    pub(crate) loaded: Arc<PreparedStudy>,
}

#[pymethods]
impl Study {
    /// A study file and its data.
    #[staticmethod]
    #[pyo3(signature = (path, threads=None, progress=None, memory=None))]
    fn from_file(
        py: Python<'_>,
        path: PathBuf,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
        memory: Option<&str>,
    ) -> PyResult<Self> {
        let loaded = run(py, threads, progress.as_ref(), |watch| {
            let mut asked = study(&path)?;
            asked.data.memory = memory.map_or(Ok(asked.data.memory), parse)?;
            load(asked, watch)
        })?;
        Ok(Study { loaded: Arc::new(loaded) })
    }

    /// The study file's text.
    fn text(&self) -> &str {
        self.loaded.study.text()
    }

    /// Whether lower or higher is better.
    fn direction(&self) -> String {
        self.loaded.log().direction().to_string()
    }

    /// The actions.
    fn actions(&self) -> Vec<String> {
        self.loaded.log().actions().to_vec()
    }

    /// How many rows there are, and each context column's kind.
    fn shown(&self) -> (f64, Vec<(String, &'static str)>) {
        let log = self.loaded.log();
        let names = log.contexts().names().enumerate();
        let columns = names.map(|(k, name)| (name.to_owned(), log.contexts().kind(k).name()));
        (log.total(), columns.collect())
    }

    /// Every context: for each column its numbers, or its levels as text.
    fn contexts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let space = self.loaded.log().contexts();
        let columns = PyDict::new(py);
        for (k, name) in space.names().enumerate() {
            let numbers = space.kind(k) == seawall::Kind::Numeric;
            if numbers {
                let all = space.each(k, |v| match v {
                    Value::Number(x) => x,
                    _ => f64::NAN,
                });
                columns.set_item(name, all.into_pyarray(py))?;
            } else {
                let all: Vec<Option<String>> = space.each(k, |v| match v {
                    Value::Level(text) => Some(text.to_owned()),
                    Value::Number(x) => Some(x.to_string()),
                    Value::Missing => None,
                });
                columns.set_item(name, all)?;
            }
        }
        Ok(columns)
    }

    /// What the outcome model says: a row per context, a column per action; NaN off the support.
    fn outcomes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (values, elsewhere) = run(py, None, None, |watch| {
            let settings = Settings { watch, ..Settings::default() };
            let (fitted, support) = (self.loaded.fitted(watch)?, self.loaded.study.data.support);
            let on = self.loaded.contexts_on(support)?;
            let values = fitted.values_on(&on, Wasserstein.at(0.0), settings)?;
            let mut elsewhere = vec![true; values.contexts()];
            on.iter().for_each(|&x| elsewhere[x] = false);
            Ok((values, elsewhere))
        })?;
        let shape = (values.contexts(), values.actions());
        let table = numpy::ndarray::Array2::from_shape_fn(shape, |(x, a)| {
            if elsewhere[x] { f64::NAN } else { values.at(x, a) }
        });
        Ok(table.into_pyarray(py))
    }

    /// The same study with an outcome model of one's own, a `seawall._models.Learner`.
    fn with_model(&self, learner: Py<PyAny>, name: String) -> Self {
        let recipe = Recipe::Learner(Arc::new(PyLearner::new(learner, name)));
        Study { loaded: Arc::new(self.loaded.with_recipe(recipe)) }
    }

    /// The same study with predicted outcomes of one's own: a row per context, a column per action.
    fn with_outcomes(&self, values: PyReadonlyArray2<'_, f64>) -> PyResult<Self> {
        let values = values.as_array();
        let (contexts, actions) = (self.loaded.log().contexts().len(), self.actions().len());
        if values.shape() != [contexts, actions] {
            return Err(InputError::new_err(format!(
                "predicted outcomes have the shape {:?}; expected ({contexts}, {actions}): a row per \
                 context, a column per action",
                values.shape()
            )));
        }
        let needed = self.loaded.contexts_on(self.loaded.study.data.support).map_err(raised)?;
        for context in needed {
            if let Some(action) = (0..actions).find(|&a| !values[[context, a]].is_finite()) {
                return Err(InputError::new_err(format!(
                    "predicted outcomes[{context}, {action}] is {}; expected a finite number",
                    values[[context, action]]
                )));
            }
        }
        let cells = values.iter().copied().collect();
        let predictions = Matrix::new(contexts, actions, cells).and_then(Predictions::new);
        let recipe = Recipe::Predictions(predictions.map_err(raised)?);
        Ok(Study { loaded: Arc::new(self.loaded.with_recipe(recipe)) })
    }

    /// Everything about the data: JSON.
    fn check(&self, py: Python<'_>) -> PyResult<String> {
        let found = run(py, None, None, |watch| check::check(&self.loaded, watch))?;
        json(&found)
    }

    /// The fitted outcome model, told: JSON.
    #[pyo3(signature = (action=None))]
    fn explain(&self, py: Python<'_>, action: Option<&str>) -> PyResult<String> {
        let found = run(py, None, None, |watch| explain::explain(&self.loaded, action, watch))?;
        json(&found)
    }

    /// The columns that a target must have.
    fn target_columns(&self) -> Vec<String> {
        let study = &self.loaded.study;
        let contexts = study.data.contexts.iter().map(|c| c.name.clone());
        let filters = study.target.filters.iter().map(|(name, _)| name.clone());
        contexts
            .chain(filters)
            .chain(study.target.weight.iter().map(|w| w.column().to_owned()))
            .collect()
    }

    /// The same study asked about a target: a file, or an Arrow stream.
    #[pyo3(signature = (path=None, data=None, name="target", threads=None, progress=None))]
    fn toward(
        &self,
        py: Python<'_>,
        path: Option<PathBuf>,
        data: Option<AnyRecordBatch>,
        name: &str,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let reader = data.map(|d| d.into_reader()).transpose()?;
        let loaded = run(py, threads, progress.as_ref(), |watch| {
            let Some(mut reader) = reader else {
                let loaded = self.loaded.toward(path.as_deref(), watch)?;
                return Ok(loaded.map_or_else(|| self.loaded.clone(), Arc::new));
            };
            let columns: Vec<String> =
                reader.schema().fields().iter().map(|f| f.name().clone()).collect();
            let source = Source::Batches { name, columns: &columns, batches: &mut reader };
            self.loaded.with_target(source, watch).map(Arc::new)
        })?;
        Ok(Study { loaded })
    }

    /// What policies would have cost.
    #[pyo3(signature = (asked, *, threads, progress))]
    fn evaluate(
        &self,
        py: Python<'_>,
        asked: EvaluateOptions,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Evaluation> {
        let (level, seed) = (asked.level, asked.seed);
        let changes = Changes {
            policies: policies(&asked.policy)?,
            radii: asked.radius,
            set: asked.set,
            eta: asked.eta,
            cost_radii: asked.cost_radius,
            cost_set: asked.cost_set,
            support: support(asked.support.as_deref())?,
            halves: halving(asked.splits, level, seed),
            level: Some(level),
            bounds: asked.bounds,
            no_compare: !asked.compare,
            by: asked.by.map(|column| By { column, simultaneous: asked.simultaneous }),
        };
        let mut question = changes.apply(Question::from_study(&self.loaded)).map_err(raised)?;
        question.wanted.curve = asked.curve;
        if !asked.column_radii.is_empty() {
            let set = question.context.set;
            question.context = by_column(&self.loaded.study, set, asked.column_radii)?;
        }
        check_known(&self.loaded, question.context.set)?;
        let found =
            run(py, threads, progress.as_ref(), |watch| evaluate(&self.loaded, &question, watch))?;
        Ok(Evaluation { found })
    }

    /// Learns a policy.
    #[pyo3(signature = (asked, *, threads, progress))]
    fn learn(
        &self,
        py: Python<'_>,
        asked: LearnOptions,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Learned> {
        let method = match asked.method.as_str() {
            "auto" => learn::Method::Auto,
            "exact" => learn::Method::Exact,
            "gradient" => learn::Method::Gradient,
            "bsgd" => learn::Method::Bsgd,
            other => {
                return Err(ConfigError::new_err(format!(
                    "method is {other:?}; expected \"auto\", \"exact\", \"gradient\" or \"bsgd\""
                )));
            }
        };
        let mut changes = learn::Changes {
            method,
            radius: asked.radius,
            set: asked.set,
            eta: asked.eta,
            cost_radius: asked.cost_radius,
            cost_set: asked.cost_set,
            support: support(asked.support.as_deref())?,
            honest: asked.honest,
            against: match asked.against {
                Some(text) => policies(&[text])?.pop(),
                None => None,
            },
            ..learn::Changes::new(Spec::typed(&asked.policy).map_err(raised)?)
        };
        changes.gradient.seed = asked.seed;
        let mut question = changes.apply(&self.loaded).map_err(raised)?;
        if !asked.column_radii.is_empty() {
            let set = question.context.set;
            let within = by_column(&self.loaded.study, set, asked.column_radii)?;
            (question.context, question.column_radii) = (within.first(), within.column_radii);
        }
        check_known(&self.loaded, question.context.set)?;
        let answer = run(py, threads, progress.as_ref(), |watch| {
            learn(&self.loaded, &question, None, watch)
        })?;
        Ok(Learned { answer })
    }

    /// Radii that the data suggest: JSON, and its comparisons' sentences.
    #[pyo3(signature = (splits, seed, threads, progress))]
    fn radius(
        &self,
        py: Python<'_>,
        splits: usize,
        seed: u64,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, Vec<String>)> {
        let request = Request { splits, seed };
        let found =
            run(py, threads, progress.as_ref(), |watch| radius(&self.loaded, &request, watch))?;
        Ok((json(&found)?, sentences(&found.comparisons)))
    }

    /// How far the target is from the log: JSON.
    #[pyo3(signature = (threads, progress))]
    fn distance(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let found = run(py, threads, progress.as_ref(), |watch| {
            Samples::of_target(&self.loaded)?.distance(watch)
        })?;
        json(&found)
    }

    /// Writes the report. `grouped` is the same study counted by past groups, if it names any: sample
    /// splits deal rows as they are counted, so those of the page are counted without groups.
    #[pyo3(signature = (path, asked, *, grouped, threads, progress))]
    fn report(
        &self,
        py: Python<'_>,
        path: PathBuf,
        asked: ReportOptions,
        grouped: Option<&Bound<'_, Study>>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let policies = policies(&asked.policy)?;
        let mut kinds = Vec::new();
        for text in asked.learn {
            let spec = Spec::typed(&text).map_err(|e| learned(&e))?;
            kinds.push((text, spec));
        }
        let (level, seed, compare) = (asked.level, asked.seed, asked.compare);
        let halves = halving(asked.splits, level, seed);
        let support = support(asked.support.as_deref())?;
        let own = PreparedStudy::clone(&self.loaded).with_support(support);
        let by_group =
            grouped.map(|study| PreparedStudy::clone(&study.get().loaded).with_support(support));
        let by_group = by_group.as_ref().unwrap_or(&own);
        run(py, threads, progress.as_ref(), |watch: Watch<'_>| {
            let transfer = Transferred::of(by_group, &policies, level, watch)?;
            let sets = compare::Request { policies: policies.clone(), ..Default::default() };
            let compare = if compare { Some(compare::compare(&own, &sets, watch)?) } else { None };
            let request = report::Request {
                policies,
                support,
                learn: kinds,
                halves,
                seed,
                transfer,
                compare,
            };
            let mut out = path.clone();
            let none = PathBuf::new();
            let inputs = [own.inputs(&request.policies), by_group.inputs(&[])].concat();
            for input in inputs.iter().chain([&none]) {
                out = destination(&path, input)?;
            }
            let page = report(report::answers(&own, request, watch)?)?.html()?;
            prepare(out, |file| file.write_all(page.as_bytes()))?.keep()
        })
    }
}

/// The synthetic trial as CSV, and its study file.
#[pyfunction]
pub fn demo() -> (String, &'static str) {
    (synthetic::trial(), synthetic::STUDY)
}
