//! What comes of a question: JSON, and what of it is no JSON.

use crate::error::{ConfigError, json, raised};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use seawall::{Curve, WorstCase};
use seawall_study::evaluate::{Comparison, RobustValue};
use seawall_study::learn::LearnedPolicy;

/// The answers about policies.
#[pyclass(frozen, module = "seawall._native")]
pub struct Evaluation {
    pub(crate) found: seawall_study::evaluate::Evaluation,
}

/// A learned policy.
#[pyclass(frozen, module = "seawall._native")]
pub struct Learned {
    pub(crate) answer: LearnedPolicy,
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
        Ok(arrays(py, curve))
    }

    /// For a policy and a result: each feature's labels, nominal shares and worst-case shares.
    #[allow(clippy::type_complexity)]
    fn marginals(
        &self,
        policy: usize,
        result: usize,
    ) -> PyResult<Vec<(String, Vec<String>, Vec<f64>, Vec<f64>)>> {
        let worst = self.found.policies.get(policy).and_then(|p| p.worst.get(result));
        self.shares(worst.ok_or_else(|| ConfigError::new_err("there is no such result"))?)
    }

    /// For a comparison and cost radius: the curve of the worst difference.
    fn difference_curve<'py>(
        &self,
        py: Python<'py>,
        comparison: usize,
        cost: usize,
    ) -> PyResult<CurveArrays<'py>> {
        let curve = self.found.comparisons.get(comparison).and_then(|c| c.curves.get(cost));
        let curve = curve.filter(|_| self.found.question.wanted.curve).ok_or_else(|| {
            ConfigError::new_err("there is no curve: ask for it with evaluate(..., curve=True)")
        })?;
        Ok(arrays(py, curve))
    }

    /// For a comparison and a result: each feature's labels, nominal shares and those of the
    /// population in which the difference is worst.
    #[allow(clippy::type_complexity)]
    fn difference_marginals(
        &self,
        comparison: usize,
        result: usize,
    ) -> PyResult<Vec<(String, Vec<String>, Vec<f64>, Vec<f64>)>> {
        let worst = self.found.comparisons.get(comparison).and_then(|c| c.worst.get(result));
        self.shares(worst.ok_or_else(|| ConfigError::new_err("there is no such population"))?)
    }

    /// Each comparison in a sentence.
    fn sentences(&self) -> Vec<String> {
        sentences(&self.found.comparisons)
    }

    /// For each policy and result: how much of the worst case may be noise, in words.
    fn noise(&self) -> Vec<Vec<Option<String>>> {
        let (direction, model) = (self.found.direction, self.found.diagnostics.facts.model.kind);
        let of = |r: &RobustValue| r.noise(direction, model);
        self.found.policies.iter().map(|p| p.results.iter().map(of).collect()).collect()
    }

    /// The answers within each level of a column, None where there are none.
    fn levels(&self) -> Vec<Option<Evaluation>> {
        let levels = self.found.by.iter().flat_map(|by| &by.levels);
        levels.map(|l| l.evaluation.as_ref().map(|e| Evaluation { found: (**e).clone() })).collect()
    }

    /// The worst case of a policy and a result in words: a sentence, then the commonest moves.
    fn words(&self, policy: usize, result: usize) -> PyResult<Vec<String>> {
        let worst = self.found.policies.get(policy).and_then(|p| p.worst.get(result));
        let worst = worst.ok_or_else(|| ConfigError::new_err("there is no such result"))?;
        let set = self.found.question.context.set;
        let moves = set.moves_mass();
        let mut lines = vec![seawall_report::drivers::sentence(worst, set)];
        if moves {
            let space = worst.nominal().space();
            for m in seawall_report::drivers::commonest(space, worst.plan().iter(), 5) {
                let share = seawall_study::words::percent(m.mass);
                let words = seawall_report::drivers::phrase(&m.changes, str::to_owned);
                lines.push(format!("{share} of people: {words}"));
            }
        }
        Ok(lines)
    }
}

/// Each comparison in a sentence.
pub fn sentences(all: &[Comparison]) -> Vec<String> {
    all.iter().map(|c| c.sentence(str::to_owned)).collect()
}

impl Evaluation {
    /// Each feature's labels, nominal shares and shares in a worst case.
    #[allow(clippy::type_complexity)]
    fn shares(
        &self,
        worst: &WorstCase,
    ) -> PyResult<Vec<(String, Vec<String>, Vec<f64>, Vec<f64>)>> {
        let names: Vec<String> = self.found.population.space().names().map(str::to_owned).collect();
        let each = names.into_iter().enumerate().map(|(k, name)| {
            let m = worst.marginal(k).map_err(raised)?;
            Ok((name, m.labels, m.nominal, m.worst))
        });
        each.collect()
    }
}

fn arrays<'py>(py: Python<'py>, curve: &Curve) -> CurveArrays<'py> {
    let column = |of: fn(&seawall::CurveVertex) -> f64| {
        curve.vertices().iter().map(of).collect::<Vec<f64>>().into_pyarray(py)
    };
    (column(|v| v.radius), column(|v| v.value), column(|v| v.lambda), curve.error())
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
        self.answer.kept.file.to_json().map_err(raised)
    }

    /// The policy in words.
    fn words(&self) -> Vec<String> {
        self.answer.kept.words.clone()
    }

    /// Stochastic runs' traces: for each run the steps, λ and parameters; and the parameters' names.
    #[allow(clippy::type_complexity)]
    fn traces(&self) -> (Vec<String>, Vec<Vec<(usize, f64, Vec<f64>)>>) {
        let runs = self.answer.kept.state.as_ref().map_or(Vec::new(), |state| {
            let points = |t: &[seawall::learn::TracePoint]| {
                t.iter().map(|p| (p.step, p.lambda, p.theta.clone())).collect()
            };
            state.traces().map(points).collect()
        });
        (self.answer.kept.names.clone(), runs)
    }
}
