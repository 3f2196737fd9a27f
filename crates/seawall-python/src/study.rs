//! Studies and the questions about them. Results are the JSON that the program prints.

use crate::error::{ConfigError, InputError, json, raised};
use crate::run::{Watcher, run};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::input::AnyRecordBatch;
use seawall::Value;
use seawall::evaluate::Support;
use seawall::inference::Resampling;
use seawall::outcome::{Recipe, Table};
use seawall::policy::file::PolicyFile;
use seawall_study::bound::Set;
use seawall_study::count::count_batches;
use seawall_study::evaluate::{Bootstrap, Changes, Doing, Question, evaluate};
use seawall_study::learn::{self, Spec, learn};
use seawall_study::load::{Loaded, load, ready};
use seawall_study::radius::{Request, radius};
use seawall_study::report::{self, report};
use seawall_study::study::{PolicySpec, study, study_of};
use seawall_study::write::{destination, prepare};
use seawall_study::{check, demo as synthetic};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A study with its data counted.
#[pyclass(frozen, module = "seawall._native")]
pub struct Study {
    loaded: Arc<Loaded>,
}

/// The answers about policies.
#[pyclass(frozen, module = "seawall._native")]
pub struct Evaluation {
    found: seawall_study::evaluate::Evaluation,
    question: Question,
}

/// A learned policy.
#[pyclass(frozen, module = "seawall._native")]
pub struct Learned {
    answer: learn::Answer,
}

fn kind(name: Option<&str>, eta: Option<f64>) -> PyResult<Option<Set>> {
    match (name, eta) {
        (None, _) => Ok(None),
        (Some("wasserstein"), _) => Ok(Some(Set::Wasserstein)),
        (Some("kl"), _) => Ok(Some(Set::Kl)),
        (Some("entropic"), Some(eta)) if eta > 0.0 && eta.is_finite() => {
            Ok(Some(Set::Entropic { eta }))
        }
        (Some("entropic"), Some(eta)) => {
            Err(ConfigError::new_err(format!("eta is {eta}; expected a finite number > 0")))
        }
        (Some("entropic"), None) => Err(ConfigError::new_err(
            "an entropic set needs eta; larger is closer to exact, for example eta=100",
        )),
        (Some(name), _) => Err(ConfigError::new_err(format!(
            "the set is {name:?}; expected \"wasserstein\", \"entropic\" or \"kl\""
        ))),
    }
}

fn support(name: Option<&str>) -> PyResult<Option<Support>> {
    match name {
        None => Ok(None),
        Some("grid") => Ok(Some(Support::All)),
        Some("observed") => Ok(Some(Support::Observed)),
        Some(name) => Err(ConfigError::new_err(format!(
            "support is {name:?}; expected \"grid\" or \"observed\""
        ))),
    }
}

/// Policies as they are typed, or the JSON of saved ones.
fn policies(texts: &[String]) -> PyResult<Vec<PolicySpec>> {
    let spec = |text: &String| match text.trim_start().starts_with('{') {
        true => Ok(PolicySpec::Made(Box::new(PolicyFile::from_json(text).map_err(raised)?))),
        false => Ok(PolicySpec::typed(text)),
    };
    texts.iter().map(spec).collect()
}

/// A kind of policy to learn, given as the argument `name`.
fn kind_of_policy(text: &str, name: &str) -> PyResult<Spec> {
    Spec::typed(text).map_err(|e| ConfigError::new_err(e.to_string().replacen("--policy", name, 1)))
}

fn checked(name: &str, radii: &[f64]) -> PyResult<()> {
    match radii.iter().find(|r| !(**r >= 0.0 && r.is_finite())) {
        Some(r) => {
            Err(ConfigError::new_err(format!("{name} is {r}; expected a finite number ≥ 0")))
        }
        None => Ok(()),
    }
}

fn bootstrap(
    replicates: Option<usize>,
    level: f64,
    bayesian: bool,
    seed: u64,
) -> PyResult<Option<Bootstrap>> {
    if !(level > 0.0 && level < 1.0) {
        let words = format!("level is {level}; expected a number between 0 and 1");
        return Err(ConfigError::new_err(words));
    }
    let resampling = if bayesian { Resampling::Bayesian } else { Resampling::Multinomial };
    match replicates {
        Some(0) => Err(ConfigError::new_err("bootstrap is 0; expected at least 1")),
        Some(replicates) => Ok(Some(Bootstrap { replicates, level, resampling, seed })),
        None => Ok(None),
    }
}

fn doing(watcher: &Watcher, doing: Doing<'_>) -> bool {
    watcher.say(|| match doing {
        Doing::Fitting => "fitting the outcome model".to_owned(),
        Doing::Costs(radius) => format!("worst cases of outcomes at cost radius {radius}"),
        Doing::Solving(policy, p) => {
            format!("{policy}: {} evaluations, gap {:.1e}", p.evaluations, p.gap)
        }
        Doing::Resampling(done) => format!("resampling: {done} replicates"),
    })
}

#[pymethods]
impl Study {
    /// A study file and its data.
    #[staticmethod]
    #[pyo3(signature = (path, threads=None, progress=None))]
    fn from_file(
        py: Python<'_>,
        path: PathBuf,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let loaded = run(py, threads, progress.as_ref(), |watcher| {
            load(study(&path)?, &|rows| watcher.say(|| format!("reading: {rows} rows")))
        })?;
        Ok(Study { loaded: Arc::new(loaded) })
    }

    /// A study file's text; other files are looked for in `folder`. With `data`, an Arrow stream,
    /// that instead of what the text names.
    #[staticmethod]
    #[pyo3(signature = (text, folder, data=None, name="data", threads=None, progress=None))]
    fn from_text(
        py: Python<'_>,
        text: &str,
        folder: PathBuf,
        data: Option<AnyRecordBatch>,
        name: &str,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let reader = data.map(|d| d.into_reader()).transpose()?;
        let loaded = run(py, threads, progress.as_ref(), |watcher| {
            let mut asked = study_of(Path::new("study"), &folder, text)?;
            let watch = |rows: usize| watcher.say(|| format!("reading: {rows} rows"));
            let Some(mut reader) = reader else { return load(asked, &watch) };
            asked.data = PathBuf::from(name);
            let columns: Vec<String> =
                reader.schema().fields().iter().map(|f| f.name().clone()).collect();
            let counted = count_batches(&asked, &columns, &mut reader, &watch)?;
            ready(asked, counted)
        })?;
        Ok(Study { loaded: Arc::new(loaded) })
    }

    /// The study file's text.
    fn text(&self) -> &str {
        &self.loaded.study.text
    }

    /// Whether lower or higher is better.
    fn direction(&self) -> &'static str {
        self.loaded.log().direction().words()
    }

    /// The actions.
    fn actions(&self) -> Vec<String> {
        self.loaded.log().actions().to_vec()
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

    /// What the outcome model says: a row per context, a column per action.
    fn outcomes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = run(py, None, None, |_| {
            let log = self.loaded.log();
            let plain = Set::Wasserstein.at(0.0);
            let settings = seawall::Settings::default();
            let model = self.loaded.recipe.fit(log)?;
            model.values(log, plain, self.loaded.study.unseen, &settings)
        })?;
        let shape = (values.contexts(), values.actions());
        let table = numpy::ndarray::Array2::from_shape_fn(shape, |(x, a)| values.at(x, a));
        Ok(table.into_pyarray(py))
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
        if let Some(bad) = values.iter().find(|v| !v.is_finite()) {
            return Err(InputError::new_err(format!("a predicted outcome is {bad}")));
        }
        let by_action = values.t().iter().copied().collect();
        let mut loaded = self.loaded.as_ref().clone();
        loaded.recipe = Recipe::Table(Table::new(contexts, by_action).map_err(raised)?);
        Ok(Study { loaded: Arc::new(loaded) })
    }

    /// Everything about the data: JSON.
    fn check(&self, py: Python<'_>) -> PyResult<String> {
        let found = run(py, None, None, |_| check::check(&self.loaded))?;
        json(&found)
    }

    /// What policies would have cost.
    #[pyo3(signature = (*, policy, radius, set, eta, cost_radius, cost_set, support, curve, bootstrap,
        level, bayesian, seed, bounds, threads, progress))]
    #[allow(clippy::too_many_arguments)]
    fn evaluate(
        &self,
        py: Python<'_>,
        policy: Vec<String>,
        radius: Vec<f64>,
        set: Option<&str>,
        eta: Option<f64>,
        cost_radius: Vec<f64>,
        cost_set: Option<&str>,
        support: Option<&str>,
        curve: bool,
        bootstrap: Option<usize>,
        level: f64,
        bayesian: bool,
        seed: u64,
        bounds: Option<f64>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Evaluation> {
        checked("radius", &radius)?;
        checked("cost_radius", &cost_radius)?;
        let changes = Changes {
            policies: policies(&policy)?,
            radii: radius,
            set: kind(set, eta)?,
            eta,
            cost_radii: cost_radius,
            cost_set: kind(cost_set, eta)?,
            support: self::support(support)?,
            bootstrap: self::bootstrap(bootstrap, level, bayesian, seed)?,
            bounds,
        };
        let mut question = changes.apply(Question::of(&self.loaded)).map_err(raised)?;
        question.curve = curve || question.policies.len() > 1;
        let found = run(py, threads, progress.as_ref(), |watcher| {
            evaluate(&self.loaded, &question, &|d| doing(watcher, d))
        })?;
        Ok(Evaluation { found, question })
    }

    /// Learns a policy.
    #[pyo3(signature = (policy, *, method, radius, set, eta, cost_radius, cost_set, support, honest,
        seed, threads, progress))]
    #[allow(clippy::too_many_arguments)]
    fn learn(
        &self,
        py: Python<'_>,
        policy: &str,
        method: &str,
        radius: Option<f64>,
        set: Option<&str>,
        eta: Option<f64>,
        cost_radius: Option<f64>,
        cost_set: Option<&str>,
        support: Option<&str>,
        honest: bool,
        seed: u64,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Learned> {
        checked("radius", radius.as_slice())?;
        checked("cost_radius", cost_radius.as_slice())?;
        let spec = kind_of_policy(policy, "policy")?;
        let mut question = learn::Question::of(&self.loaded, spec);
        question.method = match method {
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
        question.context.0 = kind(set, eta)?.unwrap_or(question.context.0);
        question.context.1 = radius.unwrap_or(question.context.1);
        question.cost.0 = kind(cost_set, eta)?.unwrap_or(question.cost.0);
        question.cost.1 = cost_radius.unwrap_or(question.cost.1);
        question.support = self::support(support)?.unwrap_or(question.support);
        question.honest = honest;
        question.gradient.seed = seed;
        let answer = run(py, threads, progress.as_ref(), |watcher| {
            let watch = |p: seawall::Progress| {
                watcher.say(|| format!("{} steps, gap {:.1e}", p.evaluations, p.gap))
            };
            learn(&self.loaded, &question, None, Some(&watch))
        })?;
        Ok(Learned { answer })
    }

    /// Radii that the data suggest: JSON.
    #[pyo3(signature = (target, splits, seed, threads, progress))]
    fn radius(
        &self,
        py: Python<'_>,
        target: Option<PathBuf>,
        splits: usize,
        seed: u64,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        if splits == 0 {
            return Err(ConfigError::new_err("splits is 0; expected at least 1"));
        }
        let request = Request { target: target.as_deref(), splits, seed };
        let found = run(py, threads, progress.as_ref(), |watcher| {
            let all = 2 * splits;
            radius(&self.loaded, &request, &|done| {
                watcher.say(|| format!("distance {done} of {all}"))
            })
        })?;
        json(&found)
    }

    /// Writes the report.
    #[pyo3(signature = (path, policy, learn, target, replicates, level, seed, threads, progress))]
    #[allow(clippy::too_many_arguments)]
    fn report(
        &self,
        py: Python<'_>,
        path: PathBuf,
        policy: Vec<String>,
        learn: Vec<String>,
        target: Option<PathBuf>,
        replicates: Option<usize>,
        level: f64,
        seed: u64,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let policies = policies(&policy)?;
        let mut kinds = Vec::new();
        for text in learn {
            let spec = kind_of_policy(&text, "learn")?;
            kinds.push((text, spec));
        }
        let bootstrap = self::bootstrap(replicates, level, false, seed)?;
        let request =
            report::Request { policies, learn: kinds, target: target.as_deref(), bootstrap, seed };
        run(py, threads, progress.as_ref(), |watcher| {
            let mut out = path.clone();
            let none = Path::new("");
            for input in
                self.loaded.inputs(&request.policies).iter().map(PathBuf::as_path).chain([none])
            {
                out = destination(&path, input)?;
            }
            let watch = |stage: report::Stage<'_>| match stage {
                report::Stage::Halves(done) => watcher.say(|| format!("halves of the log: {done}")),
                report::Stage::Learning(name, p) => {
                    watcher.say(|| format!("learning {name}: {} steps", p.evaluations))
                }
                report::Stage::Evaluating(d) => doing(watcher, d),
            };
            let page = report(&self.loaded, &request, &watch)?.html()?;
            prepare(out, |file| file.write_all(page.as_bytes()))?.keep()
        })
    }
}

#[pymethods]
impl Evaluation {
    /// What the program prints with --json.
    fn json(&self) -> PyResult<String> {
        json(&self.found)
    }

    /// For each policy and cost radius: the curve's radii, values, lambdas and error.
    fn curve<'py>(
        &self,
        py: Python<'py>,
        policy: usize,
        cost: usize,
    ) -> PyResult<CurveArrays<'py>> {
        let curve = self.found.policies.get(policy).and_then(|p| p.curves.get(cost));
        let curve = curve.ok_or_else(|| {
            ConfigError::new_err("there is no curve: ask for it with evaluate(..., curve=True)")
        })?;
        let column = |of: fn(&seawall::CurveVertex) -> f64| {
            curve.vertices().iter().map(of).collect::<Vec<f64>>().into_pyarray(py)
        };
        Ok((column(|v| v.radius), column(|v| v.value), column(|v| v.lambda), curve.error()))
    }

    /// For a policy and a result: each feature's labels, nominal shares and worst-case shares.
    #[allow(clippy::type_complexity)]
    fn marginals(
        &self,
        policy: usize,
        result: usize,
    ) -> PyResult<Vec<(String, Vec<String>, Vec<f64>, Vec<f64>)>> {
        let worst = self.found.policies.get(policy).and_then(|p| p.worst.get(result));
        let worst = worst.ok_or_else(|| ConfigError::new_err("there is no such result"))?;
        let names: Vec<String> = self.found.population.space().names().map(str::to_owned).collect();
        let each = names.into_iter().enumerate().map(|(k, name)| {
            let m = worst.marginal(&self.found.population, k);
            (name, m.labels, m.nominal, m.worst)
        });
        Ok(each.collect())
    }

    /// The worst case of a policy and a result in words: a sentence, then the commonest moves.
    fn words(&self, policy: usize, result: usize) -> PyResult<Vec<String>> {
        let worst = self.found.policies.get(policy).and_then(|p| p.worst.get(result));
        let worst = worst.ok_or_else(|| ConfigError::new_err("there is no such result"))?;
        let moves = self.question.context.set != Set::Kl;
        let mut lines = vec![seawall_study::shift::sentence(worst, moves)];
        if moves {
            let space = self.found.population.space();
            for m in seawall_study::shift::commonest(space, worst.plan.iter(), 5) {
                let share = seawall_study::words::percent(m.mass);
                let words = seawall_study::shift::words(&m.changes, str::to_owned);
                lines.push(format!("{share} of people: {words}"));
            }
        }
        Ok(lines)
    }
}

type CurveArrays<'py> =
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, f64);

#[pymethods]
impl Learned {
    /// What the program prints with --json.
    fn json(&self) -> PyResult<String> {
        json(&self.answer)
    }

    /// The policy as it is saved.
    fn policy(&self) -> PyResult<String> {
        self.answer.file.to_json().map_err(raised)
    }

    /// The policy in words.
    fn words(&self) -> Vec<String> {
        self.answer.words.clone()
    }

    /// Stochastic runs' traces: for each run the steps, λ and parameters; and the parameters' names.
    #[allow(clippy::type_complexity)]
    fn traces(&self) -> (Vec<String>, Vec<Vec<(usize, f64, Vec<f64>)>>) {
        let runs = self.answer.state.as_ref().map_or(Vec::new(), |state| {
            let points = |t: &[seawall::learn::TracePoint]| {
                t.iter().map(|p| (p.step, p.lambda, p.theta.clone())).collect()
            };
            state.traces().map(points).collect()
        });
        (self.answer.names.clone(), runs)
    }
}

/// The synthetic trial as CSV, and its study file.
#[pyfunction]
pub fn demo() -> (String, &'static str) {
    (synthetic::trial(), synthetic::STUDY)
}
