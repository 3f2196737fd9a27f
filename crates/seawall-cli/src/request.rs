//! What is asked of a command, and where its answer goes: what the words typed mean.

use crate::failure::Failure;
use seawall::evaluate::Support;
use seawall_study::bound::Context;
use seawall_study::evaluate::Halving;
use seawall_study::learn::Spec;
use seawall_study::study::{HistoryChanges, KnownSpec, PolicySpec};
use seawall_study::{compare, describe, transfer};
use seawall_table::write::{check_csv, check_writable, destination};
use std::path::{Path, PathBuf};

/// Another population that is asked about: a sample of it, or what is known of single columns.
#[derive(Debug, Default)]
pub struct Toward {
    /// A sample; the study's own if None.
    pub target: Option<PathBuf>,
    /// What is known, beside or in place of what the study says.
    pub known: Vec<KnownSpec>,
    /// From how many people.
    pub size: Option<f64>,
}

/// Where the answer goes.
#[derive(Debug, Default)]
pub struct EvaluateOutputs {
    /// The curves' file.
    pub curve: Option<PathBuf>,
    /// The worst-case populations' file.
    pub worst: Option<PathBuf>,
    /// Whether to print JSON.
    pub json: bool,
    /// Whether to print every table.
    pub details: bool,
    /// Whether to print every pair.
    pub pairs: bool,
    /// The other population.
    pub toward: Toward,
}

impl EvaluateOutputs {
    /// Where the answer goes; refused before any work if it cannot go there.
    pub fn new(
        curve: Option<PathBuf>,
        worst: Option<PathBuf>,
        study: &Path,
        json: bool,
    ) -> Result<Self, Failure> {
        [&curve, &worst].into_iter().flatten().try_for_each(|path| check_csv(path))?;
        let (curve, worst) = destinations(("--curve", curve), ("--worst", worst), study)?;
        Ok(EvaluateOutputs { curve, worst, json, ..EvaluateOutputs::default() })
    }
}

/// Where the answer goes.
pub struct LearnOutputs {
    /// The policy's file.
    pub out: Option<PathBuf>,
    /// The traces' file.
    pub trace: Option<PathBuf>,
    /// The state to go on from.
    pub resume: Option<PathBuf>,
    /// Where the state is kept if the run is stopped.
    pub state: PathBuf,
    /// Whether to print JSON.
    pub json: bool,
    /// Another population.
    pub toward: Toward,
    /// Past groups that the policy is valued on, and how often the bounds are to hold.
    pub groups: Option<(HistoryChanges, f64)>,
}

impl LearnOutputs {
    /// Where the answer goes; refused before any work if it cannot go there.
    pub fn new(
        out: Option<PathBuf>,
        trace: Option<PathBuf>,
        resume: Option<PathBuf>,
        study: &Path,
        json: bool,
    ) -> Result<Self, Failure> {
        trace.iter().try_for_each(|path| check_csv(path))?;
        let (out, trace) = destinations(("--out", out), ("--trace", trace), study)?;
        [&out, &trace].into_iter().flatten().try_for_each(|path| check_writable(path))?;
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
        Ok(LearnOutputs {
            out,
            trace,
            resume,
            state,
            json,
            toward: Toward::default(),
            groups: None,
        })
    }
}

/// A path with one more ending.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    PathBuf::from(name)
}

/// Where the answer goes.
pub struct BoundOutputs {
    /// The curve's file.
    pub curve: Option<PathBuf>,
    /// The plan's file.
    pub plan: Option<PathBuf>,
    /// Whether to print JSON.
    pub json: bool,
}

impl BoundOutputs {
    /// Where the answer goes; refused before any work if it cannot go there.
    pub fn new(
        curve: Option<PathBuf>,
        plan: Option<PathBuf>,
        input: &Path,
        json: bool,
    ) -> Result<Self, Failure> {
        [&curve, &plan].into_iter().flatten().try_for_each(|path| check_csv(path))?;
        let (curve, plan) = destinations(("--curve", curve), ("--plan", plan), input)?;
        Ok(BoundOutputs { curve, plan, json })
    }
}

/// What is asked.
pub struct BacktestRequest {
    /// The study.
    pub study: PathBuf,
    /// The past groups.
    pub history: HistoryChanges,
    /// The rest.
    pub retrial: transfer::Retrial,
    /// Whether to print JSON.
    pub json: bool,
}

/// What is asked.
pub struct CompareRequest {
    /// The study.
    pub study: PathBuf,
    /// The target, where no group is named.
    pub toward: Toward,
    /// The groups.
    pub history: HistoryChanges,
    /// The rest.
    pub request: compare::Request,
    /// Whether to print JSON.
    pub json: bool,
}

/// Where completions go.
pub enum CompletionsPlace {
    /// Standard output, without manual pages.
    Screen,
    /// A folder, beside the manual pages.
    Folder(PathBuf),
    /// Where the user's shell and `man` look.
    User,
}

/// What is asked.
pub struct DescribeRequest {
    /// The study.
    pub study: PathBuf,
    /// The table; the study's own target or its log if None.
    pub target: Option<PathBuf>,
    /// What is to be written.
    pub asked: describe::Asked,
    /// The file to write.
    pub out: Option<PathBuf>,
    /// Whether to write JSON.
    pub json: bool,
}

/// What is to be compared.
pub enum DistanceRequest {
    /// Two tables, by these columns.
    Tables {
        /// The first.
        from: PathBuf,
        /// The second.
        to: PathBuf,
        /// The columns.
        contexts: Vec<Context>,
        /// A column of weights.
        weight: Option<String>,
    },
    /// A study's log and a target sample.
    Target {
        /// The study.
        study: PathBuf,
        /// The target; the study's own if None.
        target: Option<PathBuf>,
    },
}

/// What is asked.
pub struct RadiusRequest {
    /// The study.
    pub study: PathBuf,
    /// A sample of the other population.
    pub target: Option<PathBuf>,
    /// Random halves.
    pub splits: usize,
    /// The seed.
    pub seed: u64,
    /// Whether to print JSON.
    pub json: bool,
}

/// What is asked.
pub struct ReportRequest {
    /// The study.
    pub study: PathBuf,
    /// The page to write.
    pub out: PathBuf,
    /// The other population.
    pub toward: Toward,
    /// The past groups.
    pub history: HistoryChanges,
    /// How often bounds in the target are to hold.
    pub level: f64,
    /// Other policies than the study's.
    pub policies: Vec<PolicySpec>,
    /// Another support than the study's.
    pub support: Option<Support>,
    /// Kinds of policies to learn, as typed and as meant.
    pub learn: Vec<(String, Spec)>,
    /// Whether other sets are compared, too.
    pub compare: bool,
    /// How the rows are halved.
    pub halves: Option<Halving>,
    /// The seed of everything random.
    pub seed: u64,
}

/// What is asked.
pub struct TransferRequest {
    /// The study.
    pub study: PathBuf,
    /// The target.
    pub toward: Toward,
    /// The past groups.
    pub history: HistoryChanges,
    /// The rest.
    pub request: transfer::Request,
    /// Whether to print JSON.
    pub json: bool,
}

/// Where two outputs really go; refused before any work if they cannot go there, or would go to
/// the same place or over the input.
pub fn destinations(
    (first_option, first): (&str, Option<PathBuf>),
    (second_option, second): (&str, Option<PathBuf>),
    input: &Path,
) -> Result<(Option<PathBuf>, Option<PathBuf>), Failure> {
    let real = |path: Option<PathBuf>| path.map(|p| destination(&p, input)).transpose();
    let (first, second) = (real(first)?, real(second)?);
    if first.is_some() && first == second {
        return Err(Failure::usage(format!(
            "{first_option} and {second_option} name the same file"
        )));
    }
    Ok((first, second))
}
