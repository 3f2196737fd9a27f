//! `seawall learn`.

use super::{Failure, destinations};
use crate::show;
use seawall::evaluate::Support;
use seawall::learn::{Gradient, State};
use seawall::{Error, Log, Progress};
use seawall_study::bound::Set;
use seawall_study::learn::{Limits, Method, Plan, Question, Spec, learn};
use seawall_study::load::Loaded;
use seawall_study::trace;
use seawall_study::write::{destination, prepare};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is asked; None where the study file says.
#[derive(Debug)]
pub struct Asked {
    /// Which kind of policy.
    pub policy: Spec,
    /// How.
    pub method: Method,
    /// The radius.
    pub radius: Option<f64>,
    /// The sharpness of the study's entropic sets.
    pub eta: Option<f64>,
    /// The set of contexts.
    pub set: Option<Set>,
    /// The cost radius.
    pub cost_radius: Option<f64>,
    /// The set of outcomes.
    pub cost_set: Option<Set>,
    /// Which contexts mass may move to.
    pub support: Option<Support>,
    /// Limits on the policy, and when to stop.
    pub limits: Limits,
    /// Gradients' settings.
    pub gradient: Gradient,
    /// The stochastic schedule.
    pub schedule: Plan,
    /// Stochastic runs.
    pub seeds: usize,
    /// Whether to value on rows left out too.
    pub honest: bool,
}

/// Where the answer goes.
pub struct Outputs {
    /// The policy's file.
    pub out: Option<PathBuf>,
    /// The traces' file.
    pub trace: Option<PathBuf>,
    /// The state to go on from.
    resume: Option<PathBuf>,
    /// Where the state is kept if the run is stopped.
    state: PathBuf,
    /// Whether to print JSON.
    json: bool,
}

impl Outputs {
    /// Where the answer goes; refused before any work if it cannot go there.
    pub fn new(
        out: Option<PathBuf>,
        trace: Option<PathBuf>,
        resume: Option<PathBuf>,
        study: &Path,
        json: bool,
    ) -> Result<Self, Failure> {
        let (out, trace) = destinations(("--out", out), ("--trace", trace), study)?;
        let state = match (&resume, &out) {
            (Some(path), _) => path.clone(),
            (None, Some(out)) => with_ending(out, "state"),
            (None, None) => PathBuf::from("seawall-learn.state"),
        };
        let picture = trace.as_ref().map(|t| t.with_extension("svg"));
        let mut all: Vec<&PathBuf> = [&out, &trace, &picture].into_iter().flatten().collect();
        all.push(&state);
        if let Some(k) = (1..all.len()).find(|&k| all[..k].contains(&all[k])) {
            return Err(Failure::usage(format!(
                "{}: two of the policy, the trace, its picture (.svg) and a stopped run's state \
                 would go there",
                all[k].display()
            )));
        }
        Ok(Outputs { out, trace, resume, state, json })
    }
}

/// A path with one more ending.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    PathBuf::from(name)
}

/// A stopped run, with the question it belongs to.
#[derive(Serialize, Deserialize)]
struct Saved {
    format: String,
    question: String,
    state: State,
}

const FORMAT: &str = "seawall-state-1";

impl Asked {
    fn question(&self, loaded: &Loaded) -> Result<Question, Failure> {
        let usual = Question::of(loaded, self.policy.clone());
        let sharp = |set: Set| match (set, self.eta) {
            (Set::Entropic { .. }, Some(eta)) => Set::Entropic { eta },
            (set, _) => set,
        };
        let context = sharp(self.set.unwrap_or(usual.context.0));
        let cost = sharp(self.cost_set.unwrap_or(usual.cost.0));
        let entropic = |set: &Set| matches!(set, Set::Entropic { .. });
        if let (Some(eta), false) = (self.eta, [context, cost].iter().any(entropic)) {
            return Err(Failure::usage(format!(
                "--eta {eta} belongs to an entropic set: --set entropic"
            )));
        }
        Ok(Question {
            method: self.method,
            context: (context, self.radius.unwrap_or(usual.context.1)),
            cost: (cost, self.cost_radius.unwrap_or(usual.cost.1)),
            support: self.support.unwrap_or(usual.support),
            limits: self.limits.clone(),
            gradient: self.gradient,
            schedule: self.schedule,
            seeds: self.seeds,
            honest: self.honest,
            ..usual
        })
    }
}

/// Learns, writes the files, then prints.
pub fn run(path: &Path, asked: &Asked, outputs: &Outputs) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let loaded = super::check::read(path, &wait)?;
    let picture = outputs.trace.as_ref().map(|t| t.with_extension("svg"));
    let state = Some(outputs.state.clone());
    let given = if let Spec::Given(spec) = &asked.policy { vec![spec.clone()] } else { Vec::new() };
    for output in [&outputs.out, &outputs.trace, &picture, &state].into_iter().flatten() {
        for input in loaded.inputs(&given) {
            destination(output, &input)?;
        }
    }
    if outputs.resume.is_none() && outputs.state.exists() && asked.method == Method::Bsgd {
        return Err(Error::config(format!(
            "{}: a stopped run would be kept there, but the file exists; go on from it with \
             --resume, or move it away",
            outputs.state.display()
        ))
        .into());
    }
    let question = asked.question(&loaded)?;
    // What a state must have been saved for: the same question of the same study and data.
    let fingerprint = format!("{question:?} {:?} {:016x}", loaded.study.text, hash(loaded.log()));
    let state = outputs.resume.as_deref().map(|path| resumed(path, &fingerprint)).transpose()?;
    let stopped = Arc::new(AtomicBool::new(false));
    let flag = stopped.clone();
    // Where no handler can be set, Ctrl-C ends the program as ever.
    let _ = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));
    let follow = |progress: Progress| {
        wait.say(|| words(&question, progress));
        !stopped.load(Ordering::Relaxed)
    };
    let answer = learn(&loaded, &question, state, Some(&follow))?;
    drop(wait);
    let mut files = Vec::new();
    if let Some(path) = &outputs.out {
        let text = answer.file.to_json()?;
        files.push(prepare(path.clone(), |out| writeln!(out, "{text}"))?);
    }
    if let (Some(path), Some(state)) = (&outputs.trace, &answer.state) {
        files.push(prepare(path.clone(), |out| trace::csv(state, &answer.names, out))?);
        let picture = trace::svg(state, &answer.names);
        files.push(prepare(path.with_extension("svg"), |out| out.write_all(picture.as_bytes()))?);
    }
    let mut kept = None;
    if let (true, Some(state)) = (stopped.load(Ordering::Relaxed), &answer.state) {
        let saved =
            Saved { format: FORMAT.to_owned(), question: fingerprint, state: state.clone() };
        let text = serde_json::to_string(&saved).map_err(std::io::Error::from)?;
        let real = destination(&outputs.state, path)?;
        files.push(prepare(real.clone(), |out| writeln!(out, "{text}"))?);
        kept = Some(real);
    }
    files.into_iter().try_for_each(|file| file.keep())?;
    let mut out = std::io::stdout().lock();
    if outputs.json {
        let text = serde_json::to_string(&answer).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::learn::print(path, &question, &answer, outputs, &mut out)?;
    }
    if stopped.load(Ordering::Relaxed) {
        let next = kept.map_or(String::new(), |path| {
            format!("; go on with the same command and --resume {}", path.display())
        });
        eprintln!("stopped: this is the best policy so far{next}");
    }
    Ok(())
}

/// A number that another log is unlikely to have.
fn hash(log: &Log) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut take =
        |bits: u64| hash = (hash ^ bits).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    for e in log.entries() {
        take(u64::from(e.context) << 32 | u64::from(e.action));
        take(u64::from(e.outcome));
        take(e.propensity.to_bits());
        take(e.weight.to_bits());
    }
    log.values().iter().for_each(|v| take(v.to_bits()));
    hash
}

fn resumed(path: &Path, fingerprint: &str) -> Result<State, Failure> {
    let bad = |what: String| Error::input(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| bad(e.to_string()))?;
    let saved: Saved = serde_json::from_str(&text)
        .map_err(|e| bad(format!("not a state that a stopped run left: {e}")))?;
    if saved.format != FORMAT || saved.question != fingerprint {
        return Err(bad(
            "the state belongs to another question: study, data or options differ".to_owned()
        )
        .into());
    }
    Ok(saved.state)
}

fn words(question: &Question, progress: Progress) -> String {
    match (question.method, &question.policy) {
        (Method::Bsgd, _) => format!("stochastic gradients: {} steps", progress.evaluations),
        (_, Spec::Softmax) => {
            format!("iteration {}, value {:.6}", progress.evaluations, progress.gap)
        }
        _ => format!("iteration {}, gap {:.1e}", progress.evaluations, progress.gap),
    }
}
