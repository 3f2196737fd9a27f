//! The words of the commands about policies: learn, apply, explain.

use super::known::KnownArgs;
use super::study::SupportName;
use super::transfer::HistoryArgs;
use super::{SET, set_help, set_text};
use crate::failure::Failure;
use crate::request::LearnOutputs;
use clap::{Args as ClapArgs, ValueEnum};
use seawall::learn::Gradient;
use seawall_study::learn::{CONTEXTS, Changes, Limits, Method, Spec};
use seawall_study::study::PolicySpec;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Policies: greedy (the best action in each context, optimal at every radius); groups:COL[,COL...]
(probabilities by group; AGE=60|80 cuts a numeric column, RCONSC=F|D+U joins levels; names and
levels that hold one of =,|+ go into double quotes); tree:DEPTH (1 to 3); softmax (linear scores).
Groups and trees are learned exactly, with a certified gap.

Examples:
  Probabilities for alert patients and others, to a file that evaluate takes:
    seawall learn study.toml --policy 'groups:RCONSC=F|D+U' --radius 0.03 --out policy.json

  The best depth-2 tree, its leaves at least 5% of the patients:
    seawall learn study.toml --policy tree:2 --least-share 0.05

  The best depth-1 tree that is no worse than treating nobody, in any population within 0.03:
    seawall learn study.toml --policy tree:1 --radius 0.03 --against constant:control

  At most 30% treated in any population within the radius:
    seawall learn study.toml --policy groups:SEX --worst-budget treat=0.3

  A tree for a hospital that sent its margins, valued on hospitals that did not choose it:
    seawall learn study.toml --policy tree:1 --target-facts SEX:F=0.47,M=0.53 --by HOSPNUM

  The paper's stochastic gradients, twenty runs, with their traces:
    seawall learn study.toml --policy groups:SEX --method bsgd --delta 0.02 --seeds 20 \\
        --trace trace.csv";

/// The arguments of `seawall learn`. What is not said is as in the study file.
#[derive(Debug, ClapArgs)]
pub struct Learn {
    /// The study file
    study: PathBuf,
    /// Which kind of policy: greedy, groups:COLUMNS (see below), tree:DEPTH or softmax
    #[arg(long, value_name = "SPEC")]
    policy: String,
    /// How far the population of contexts may be; the study's first radius if not said
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    radius: Option<f64>,
    #[arg(long, value_name = SET, value_parser = set_text,
          help = set_help("The set of populations of contexts (couplings: with facts of a target)", is_learned))]
    set: Option<String>,
    /// The sharpness of an entropic set, in units of 1/value
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    eta: Option<f64>,
    /// How far the outcomes of a context and action may be
    #[arg(long = "outcome-radius", value_name = "R", allow_negative_numbers = true)]
    cost_radius: Option<f64>,
    /// The set of populations of outcomes
    #[arg(long = "outcome-set", value_name = SET, value_parser = set_text)]
    cost_set: Option<String>,
    /// Which contexts mass may move to
    #[arg(long, value_enum)]
    support: Option<SupportName>,
    /// How: exact for groups and trees, gradient for softmax, bsgd (stochastic) for groups and
    /// softmax
    #[arg(long, value_enum, default_value_t = MethodName::Auto)]
    method: MethodName,
    /// The least probability of an action in every group
    #[arg(long, value_name = "ACTION=P", value_parser = named)]
    at_least: Vec<(String, f64)>,
    /// The largest probability of an action in every group
    #[arg(long, value_name = "ACTION=P", value_parser = named)]
    at_most: Vec<(String, f64)>,
    /// A limit on the overall share of an action in the nominal population
    #[arg(long, value_name = "ACTION=SHARE", value_parser = named)]
    budget: Vec<(String, f64)>,
    /// A limit on the overall share of an action in every population of the set
    #[arg(long, value_name = "ACTION=SHARE", value_parser = named)]
    worst_budget: Vec<(String, f64)>,
    /// The nominal share of every leaf of a tree, at least
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, allow_negative_numbers = true)]
    least_share: f64,
    /// The gap, relative to the largest cost, at which exact methods stop
    #[arg(long, value_name = "GAP", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// The temperature of a softmax
    #[arg(long, value_name = "T", default_value_t = 1.0, allow_negative_numbers = true)]
    temperature: f64,
    /// The ridge on a softmax's weights
    #[arg(long, value_name = "R", default_value_t = 1e-4, allow_negative_numbers = true)]
    ridge: f64,
    /// Starts of the gradient method
    #[arg(long, value_name = "N", default_value_t = 4)]
    restarts: usize,
    /// For bsgd: the accuracy, relative to the largest cost, from which the schedule follows
    #[arg(long, value_name = "D", conflicts_with_all = ["steps", "batch", "step"], allow_negative_numbers = true)]
    delta: Option<f64>,
    /// For bsgd: steps, by hand
    #[arg(long, value_name = "T")]
    steps: Option<usize>,
    /// For bsgd: support points drawn each step, by hand
    #[arg(long, value_name = "M")]
    batch: Option<usize>,
    /// For bsgd: the step sizes are this over the root of the steps
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    step: Option<f64>,
    /// For bsgd: contexts drawn each step
    #[arg(long, value_name = "N", default_value_t = CONTEXTS)]
    contexts: usize,
    /// For bsgd: independent runs
    #[arg(long, value_name = "K", default_value_t = 1)]
    seeds: usize,
    /// The seed of everything random
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// For bsgd: write mean and spread of the runs, and a picture of them beside it (.svg)
    #[arg(long, value_name = "OUT.csv")]
    trace: Option<PathBuf>,
    /// Write the policy
    #[arg(long, value_name = "POLICY.json")]
    out: Option<PathBuf>,
    /// Minimise the worst-case difference to this policy in place of the worst case: behaviour,
    /// constant:ACTION or a policy file
    #[arg(long, value_name = "POLICY")]
    against: Option<String>,
    /// A sample of another population: learn for populations around it
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    #[command(flatten)]
    known: KnownArgs,
    #[command(flatten)]
    history: HistoryArgs,
    /// How often the bounds from past groups (--by) are to hold
    #[arg(long, value_name = "LEVEL", default_value_t = 0.95, allow_negative_numbers = true)]
    level: f64,
    /// Learn on one half of the rows and value on the other, both ways: the usual thing
    #[arg(long, overrides_with = "no_honest")]
    honest: bool,
    /// Do not: it takes two more runs
    #[arg(long)]
    no_honest: bool,
    /// For bsgd: go on from the state that a stopped run left
    #[arg(long, value_name = "STATE")]
    resume: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodName {
    Auto,
    Exact,
    Gradient,
    Bsgd,
}

/// The arguments of `seawall predict`.
#[derive(Debug, ClapArgs)]
pub struct Apply {
    /// The policy file
    pub policy: PathBuf,
    /// CSV (.csv, .tsv), Parquet (.parquet) or JSON lines (.jsonl, .ndjson), also with .gz or .zst
    pub data: PathBuf,
    /// Write the table with a column p_ACTION for each action; printed if not said
    #[arg(long, value_name = "OUT.csv")]
    pub out: Option<PathBuf>,
}

/// The arguments of `seawall explain`.
#[derive(Debug, ClapArgs)]
pub struct Explain {
    /// A policy file (.json), or a study file
    pub file: PathBuf,
    /// Only this action of a study's model
    #[arg(long, value_name = "ACTION")]
    pub action: Option<String>,
    /// A study's model as one line of JSON
    #[arg(long)]
    pub json: bool,
}

pub(super) const EXPLAIN_EXAMPLES: &str = "\
A study's model is fitted and told action by action: a tree as branches with their rows and means, an
additive model as what each level of each column adds, forests and boosted trees by what each column is
worth to them (its share in lowering the squared error).

Examples:
  seawall explain study.toml
  seawall explain study.toml --action treat --json
  seawall explain policy.json";

/// Parses `ACTION=NUMBER`; a name may hold equals signs of its own.
fn named(text: &str) -> Result<(String, f64), String> {
    let parts = text.rsplit_once('=').map(|(name, number)| (name.to_owned(), number.parse()));
    match parts {
        Some((name, Ok(number))) if (0.0..=1.0).contains(&number) => Ok((name, number)),
        _ => Err("expected ACTION=NUMBER with a number from 0 to 1".to_owned()),
    }
}

impl Learn {
    /// What the words ask for.
    pub fn meaning(self) -> Result<(PathBuf, Changes, LearnOutputs), Failure> {
        let changes = Changes {
            method: match self.method {
                MethodName::Auto => Method::Auto,
                MethodName::Exact => Method::Exact,
                MethodName::Gradient => Method::Gradient,
                MethodName::Bsgd => Method::Bsgd,
            },
            radius: self.radius,
            set: self.set,
            eta: self.eta,
            cost_radius: self.cost_radius,
            cost_set: self.cost_set,
            support: self.support.map(SupportName::meaning),
            limits: Limits {
                least: self.at_least,
                most: self.at_most,
                budgets: self.budget,
                worst_budgets: self.worst_budget,
                least_share: self.least_share,
                tolerance: self.tolerance,
            },
            gradient: Gradient {
                temperature: self.temperature,
                ridge: self.ridge,
                restarts: self.restarts,
                seed: self.seed,
                ..Gradient::default()
            },
            delta: self.delta,
            steps: self.steps,
            batch: self.batch,
            step: self.step,
            contexts: self.contexts,
            seeds: self.seeds,
            honest: !self.no_honest,
            against: self.against.as_deref().map(PolicySpec::typed),
            traced: self.trace.is_some() || self.resume.is_some(),
            ..Changes::new(Spec::typed(&self.policy)?)
        };
        let mut outputs =
            LearnOutputs::new(self.out, self.trace, self.resume, &self.study, self.json)?;
        outputs.toward = self.known.toward(self.target)?;
        outputs.groups = self.history.groups(self.level)?;
        Ok((self.study, changes, outputs))
    }
}

/// Whether policies are learned under a set of this name.
fn is_learned(name: &str) -> bool {
    !["joint-kl-dr", "joint-wasserstein"].contains(&name)
}
