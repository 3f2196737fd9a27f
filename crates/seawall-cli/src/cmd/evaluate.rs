//! `seawall evaluate`.

use super::{Failure, destinations};
use crate::show;
use seawall::Space;
use seawall::evaluate::Support;
use seawall_study::bound::Set;
use seawall_study::evaluate::{Bootstrap, Doing, Evaluation, Question, evaluate};
use seawall_study::study::{PolicySpec, SetSpec};
use seawall_study::write::{csv_field, destination, prepare};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What is asked differently from the study file.
#[derive(Debug, Default)]
pub struct Changes {
    /// Other policies.
    pub policies: Vec<PolicySpec>,
    /// Other radii.
    pub radii: Vec<f64>,
    /// Another set of contexts.
    pub set: Option<Set>,
    /// Another sharpness of the study's entropic sets.
    pub eta: Option<f64>,
    /// Other cost radii.
    pub cost_radii: Vec<f64>,
    /// Another set of outcomes.
    pub cost_set: Option<Set>,
    /// Another support.
    pub support: Option<Support>,
    /// Intervals by resampling the rows.
    pub bootstrap: Option<Bootstrap>,
    /// The probability of error of finite-sample bounds.
    pub bounds: Option<f64>,
}

/// Where the answer goes.
#[derive(Debug, Default)]
pub struct Outputs {
    /// The curves' file.
    pub curve: Option<PathBuf>,
    /// The worst-case populations' file.
    pub worst: Option<PathBuf>,
    /// Whether to print JSON.
    pub json: bool,
}

impl Outputs {
    /// Where the answer goes; refused before any work if it cannot go there.
    pub fn new(
        curve: Option<PathBuf>,
        worst: Option<PathBuf>,
        study: &Path,
        json: bool,
    ) -> Result<Self, Failure> {
        let (curve, worst) = destinations(("--curve", curve), ("--worst", worst), study)?;
        Ok(Outputs { curve, worst, json })
    }
}

impl Changes {
    /// The study's question with the changes made.
    fn apply(&self, mut question: Question) -> Result<Question, Failure> {
        if !self.policies.is_empty() {
            question.policies.clone_from(&self.policies);
        }
        change(&mut question.context, self.set, self.eta, &self.radii);
        change(&mut question.cost, self.cost_set, self.eta, &self.cost_radii);
        let entropic = |spec: &SetSpec| matches!(spec.set, Set::Entropic { .. });
        if self.eta.is_some() && !entropic(&question.context) && !entropic(&question.cost) {
            return Err(Failure::usage("--eta belongs to an entropic set: --set entropic"));
        }
        question.support = self.support.unwrap_or(question.support);
        question.bootstrap = self.bootstrap;
        question.bounds = self.bounds;
        Ok(question)
    }
}

fn change(spec: &mut SetSpec, set: Option<Set>, eta: Option<f64>, radii: &[f64]) {
    spec.set = match (set.unwrap_or(spec.set), eta) {
        (Set::Entropic { .. }, Some(eta)) => Set::Entropic { eta },
        (set, _) => set,
    };
    if !radii.is_empty() {
        spec.radii = radii.to_vec();
    }
}

/// Answers, writes the files, then prints.
pub fn run(path: &Path, changes: &Changes, outputs: &Outputs) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let loaded = super::check::read(path, &wait)?;
    let mut question = changes.apply(Question::of(&loaded))?;
    for output in [&outputs.curve, &outputs.worst].into_iter().flatten() {
        for input in loaded.inputs(&question.policies) {
            destination(output, &input)?;
        }
    }
    question.curve = outputs.curve.is_some() || question.policies.len() > 1;
    question.worst = outputs.worst.is_some() || !outputs.json;
    let found = evaluate(&loaded, &question, &|doing| wait.say(|| words(doing)))?;
    drop(wait);
    // All files are complete before the first one takes its name.
    let mut files = Vec::new();
    if let Some(path) = &outputs.curve {
        files.push(prepare(path.clone(), |out| curves(&question, &found, out))?);
    }
    if let Some(path) = &outputs.worst {
        files.push(prepare(path.clone(), |out| populations(&found, out))?);
    }
    files.into_iter().try_for_each(|file| file.keep())?;
    let mut out = std::io::stdout().lock();
    if outputs.json {
        let text = serde_json::to_string(&found).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::evaluate::print(&question, &found, outputs, &mut out)?;
    }
    Ok(())
}

/// What is being done.
pub fn words(doing: Doing<'_>) -> String {
    match doing {
        Doing::Resampling(done) => format!("resampling: {done} replicates"),
        Doing::Fitting => "fitting the outcome model".to_owned(),
        Doing::Costs(radius) => format!("worst cases of outcomes at cost radius {radius}"),
        Doing::Solving(policy, progress) => {
            let (evaluations, gap) = (progress.evaluations, progress.gap);
            format!("{policy}: {evaluations} evaluations, gap {gap:.1e}")
        }
    }
}

/// The curves' vertices, policy by policy, by rising radius.
fn curves(question: &Question, found: &Evaluation, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "policy,cost_radius,radius,value,lambda")?;
    for policy in &found.policies {
        let name = csv_field(&policy.name);
        for (cost_radius, curve) in question.cost.radii.iter().zip(&policy.curves) {
            for vertex in curve.vertices() {
                let lambda = match vertex.lambda {
                    l if l.is_finite() => l.to_string(),
                    _ => "inf".to_owned(),
                };
                let (radius, value) = (vertex.radius, vertex.value);
                writeln!(out, "{name},{cost_radius},{radius},{value},{lambda}")?;
            }
        }
    }
    Ok(())
}

/// Every context that has mass before or after the shift.
fn populations(found: &Evaluation, out: &mut dyn Write) -> std::io::Result<()> {
    let space = found.population.space();
    write!(out, "policy,radius,cost_radius")?;
    for name in space.names() {
        write!(out, ",{}", csv_field(name))?;
    }
    writeln!(out, ",value,nominal,worst")?;
    for policy in &found.policies {
        let radii = policy.results.len() / policy.values.len().max(1);
        for (k, (answer, worst)) in policy.results.iter().zip(&policy.worst).enumerate() {
            let key =
                format!("{},{},{}", csv_field(&policy.name), answer.radius, answer.cost_radius);
            population(&key, &policy.values[k / radii], found, space, &worst.weights(), out)?;
        }
    }
    Ok(())
}

fn population(
    key: &str,
    values: &[f64],
    found: &Evaluation,
    space: &Space,
    worst: &[f64],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for (context, (before, after)) in found.population.weights().iter().zip(worst).enumerate() {
        if *before == 0.0 && *after == 0.0 {
            continue;
        }
        write!(out, "{key}")?;
        for k in 0..space.names().len() {
            write!(out, ",{}", csv_field(&space.label(context, k)))?;
        }
        writeln!(out, ",{},{before},{after}", values[context])?;
    }
    Ok(())
}
