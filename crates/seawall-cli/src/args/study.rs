//! The words of the commands that take a study: demo, init, check, evaluate.

use super::known::KnownArgs;
use super::{SET, set_help, set_text};
use crate::failure::Failure;
use crate::request::EvaluateOutputs;
use crate::request::Toward;
use clap::{Args as ClapArgs, ValueEnum};
use seawall::evaluate::Support;
use seawall_study::evaluate::{By, Changes, HALVINGS, Halving};
use seawall_study::init::Asked;
use seawall_study::study::PolicySpec;
use std::path::PathBuf;

pub(super) const DEMO_EXAMPLES: &str = "\
The trial is made up: six context columns, two arms drawn by a fair coin, four kinds of events.
What is in the folder already is kept, so an edited study file is not lost.

Examples:
  seawall demo
  seawall demo --folder try && seawall evaluate try/study.toml --radius 0.2 --support observed";

pub(super) const INIT_EXAMPLES: &str = "\
The action and the outcome are known by the usual names (arm, rx, treated, item_id; click, cost,
died); where no name says it, init writes nothing and lists the columns that could be meant. Ids,
dates, constants and leaks (columns that tell the outcome) are left out, each with the reason in a
comment of the study file. A sum of terms [NUMBER*]COLUMN[=LEVEL] is an outcome too; a name with
+ * = in it stands in double quotes.

Examples:
  By the usual names:
    seawall init visits.parquet

  Said outright, and checked:
    seawall init colon.csv --action rx --cost status --out colon.toml && seawall check colon.toml

  A cost that is a sum, 3 for a death:
    seawall init trial.csv.gz --action RXASP --cost 'ISC14 + NK14 + 3*DDEAD=Y'

  A reward, and the contexts by name, or all but some:
    seawall init log.csv --action offer --reward bought --context age,region,tenure
    seawall init log.csv --action offer --reward 'revenue - \"shipping cost\"' --drop session,page";

pub(super) const EVALUATE_EXAMPLES: &str = "\
A radius is in units of the ground cost. With the spread scale (scale under [context]) two people at
random are 1 apart in each column, on average; without it, moving everyone across the whole range of
one numeric column, or to another level of one nominal column, costs 1 (`seawall check` says what a
cost of 0.1 buys). It bounds a mean squared distance, not its root. For sinkhorn it is the same for people who
are spread out, kappa a nat, and 0 moves them too. For kl it is a divergence in nats, for tv the share of the
people who are replaced, fixed columns or not, for cvar the share of the people who are left out (1 - alpha), for
chi2, cressie-read, hellinger and burg that divergence. For moments it scales how far means may shift and spreads
grow: at 1 by gamma1 and gamma2. For mmd it is a maximum mean discrepancy, from 0 to √2. For joint-kl and
joint-kl-dr it is in nats, of people with their outcomes; for joint-wasserstein in units of the ground cost, kappa
for each unit that an outcome moves. A cost radius is the same for outcomes: crossing the whole range of one outcome column costs 1.

Examples:
  As the study file asks, with the whole curve:
    seawall evaluate study.toml --curve curve.csv

  Two policies at other radii, for a program:
    seawall evaluate study.toml --policy uniform --policy constant:treat --radius 0.02,0.2 --json

  In another hospital, whose patients are known and whose outcomes are not:
    seawall evaluate study.toml --target other-hospital.csv

  In a hospital that sent its means and shares alone: anyone who meets them, whatever goes with what:
    seawall evaluate study.toml --target-facts AGE:mean=71.4 --target-facts SEX:F=0.47,M=0.53 --set couplings

  Outcomes may shift too, and mass may go only where somebody was seen:
    seawall evaluate study.toml --outcome-radius 0.01 --support observed";

/// The arguments of `seawall demo`.
#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// Where to write the trial and its study file
    #[arg(long, value_name = "FOLDER", default_value = "seawall-demo")]
    pub folder: PathBuf,
}

/// The arguments of `seawall init`.
#[derive(Debug, ClapArgs)]
pub struct Init {
    /// CSV (.csv, .tsv), Parquet (.parquet) or JSON lines (.jsonl, .ndjson), also with .gz or .zst
    data: PathBuf,
    /// The study file to write; one that is there already is not overwritten
    #[arg(long, value_name = "STUDY", default_value = "study.toml")]
    out: PathBuf,
    /// The column that says which action was taken
    #[arg(long, value_name = "COL")]
    action: Option<String>,
    /// The outcome, lower is better: a column, or a sum like 'a + 3*b=Y'
    #[arg(long, value_name = "COL|SUM", conflicts_with = "reward", allow_hyphen_values = true)]
    cost: Option<String>,
    /// The outcome, higher is better
    #[arg(long, value_name = "COL|SUM", allow_hyphen_values = true)]
    reward: Option<String>,
    /// Only these columns as contexts
    #[arg(long, value_name = "COL[,COL...]", value_delimiter = ',')]
    context: Vec<String>,
    /// Columns that are no contexts
    #[arg(long, value_name = "COL[,COL...]", value_delimiter = ',')]
    drop: Vec<String>,
}

impl Init {
    /// What the words ask for.
    pub fn meaning(self) -> (PathBuf, PathBuf, Asked) {
        let cost = self.cost.map(|text| (false, text));
        let outcome = cost.or(self.reward.map(|text| (true, text)));
        let Init { action, context, drop, .. } = self;
        (self.data, self.out, Asked { action, outcome, context, drop })
    }
}

/// The arguments of `seawall check`.
#[derive(Debug, ClapArgs)]
pub struct Check {
    /// The study file
    study: PathBuf,
    /// A sample of another population: how well does the log cover it?
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    #[command(flatten)]
    known: KnownArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Check {
    /// What the words ask for.
    pub fn meaning(self) -> Result<(PathBuf, Toward, bool), Failure> {
        Ok((self.study, self.known.toward(self.target)?, self.json))
    }
}

/// The arguments of `seawall evaluate`. What is not said is as in the study file.
#[derive(Debug, ClapArgs)]
pub struct Evaluate {
    /// The study file
    study: PathBuf,
    /// A policy: an action, uniform, behavior, greedy, a policy file (.json) or a table of
    /// probabilities by context (.csv, .parquet); may be given several times
    #[arg(long, value_name = "POLICY")]
    policy: Vec<String>,
    /// How far the population of contexts may be
    #[arg(long, value_name = "R[,R...]", value_delimiter = ',', allow_negative_numbers = true)]
    radius: Vec<f64>,
    #[arg(long, value_name = SET, value_parser = set_text,
          help = set_help("The set of populations of contexts (couplings: with facts of a target)", |_| true))]
    set: Option<String>,
    /// The sharpness of an entropic set, in units of 1/value
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    eta: Option<f64>,
    /// How far the outcomes of a context and action may be
    #[arg(
        long = "outcome-radius",
        value_name = "R[,R...]",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    cost_radius: Vec<f64>,
    /// The set of populations of outcomes
    #[arg(long = "outcome-set", value_name = SET, value_parser = set_text)]
    cost_set: Option<String>,
    /// Which contexts mass may move to: every combination of levels, or those observed, where alone
    /// the outcome model then needs values
    #[arg(long, value_enum)]
    support: Option<SupportName>,
    /// Write the whole curve of the worst case against the radius, for every policy
    #[arg(long, value_name = "OUT.csv")]
    curve: Option<PathBuf>,
    /// Write the worst-case populations beside the nominal one
    #[arg(long, value_name = "OUT.csv")]
    worst: Option<PathBuf>,
    /// Sample splits, for confidence limits: the worst population found on one part of the rows is valued
    /// on the other; 0 for no limits. By default 10 to 20, as many as the random error of the limits asks
    /// for
    #[arg(long = "splits", value_name = "R", allow_negative_numbers = true)]
    halves: Option<usize>,
    /// The level of limits and intervals
    #[arg(long, value_name = "LEVEL", default_value_t = 0.95, allow_negative_numbers = true)]
    level: f64,
    /// The seed of sample splits
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The same within each level of a context column: contexts restricted to it, the radius within it
    #[arg(long, value_name = "COL")]
    by: Option<String>,
    /// Widen the limits of --by so that those of all levels hold at once
    #[arg(long, requires = "by")]
    simultaneous: bool,
    /// A sample of another population (the context columns are enough): what would it cost there?
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    #[command(flatten)]
    known: KnownArgs,
    /// Print every table, not one screen
    #[arg(long, conflicts_with = "json")]
    details: bool,
    /// Print every pair of policies below the screen
    #[arg(long, conflicts_with_all = ["json", "details"])]
    pairs: bool,
    /// Do not compare the policies with each other
    #[arg(long)]
    no_compare: bool,
    /// The paper's finite-sample bound at this probability of error
    #[arg(long, value_name = "DELTA", allow_negative_numbers = true)]
    bounds: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SupportName {
    /// Every combination of the columns' levels
    Grid,
    /// The contexts that rows have
    Observed,
    /// Every value between each column's ends, listed or not: any number of columns
    Space,
}

impl SupportName {
    pub fn meaning(self) -> Support {
        match self {
            SupportName::Grid => Support::All,
            SupportName::Observed => Support::Observed,
            SupportName::Space => Support::Space,
        }
    }
}

impl Evaluate {
    /// What the words ask for.
    pub fn meaning(self) -> Result<(PathBuf, Changes, EvaluateOutputs), Failure> {
        let count = self.halves.unwrap_or(HALVINGS);
        let fewer = self.halves.is_none();
        let halving = Halving { count, level: self.level, seed: self.seed, fewer };
        let changes = Changes {
            policies: self.policy.iter().map(|text| PolicySpec::typed(text)).collect(),
            radii: self.radius,
            set: self.set,
            eta: self.eta,
            cost_radii: self.cost_radius,
            cost_set: self.cost_set,
            support: self.support.map(SupportName::meaning),
            halves: (count > 0).then_some(halving),
            level: Some(self.level),
            bounds: self.bounds,
            no_compare: self.no_compare,
            by: self.by.map(|column| By { column, simultaneous: self.simultaneous }),
        };
        let mut outputs = EvaluateOutputs::new(self.curve, self.worst, &self.study, self.json)?;
        (outputs.details, outputs.pairs) = (self.details, self.pairs);
        outputs.toward = self.known.toward(self.target)?;
        Ok((self.study, changes, outputs))
    }
}
