//! The words of the commands about other populations and past groups: transfer, backtest.

use super::known::KnownArgs;
use crate::failure::Failure;
use crate::request::BacktestRequest;
use crate::request::TransferRequest;
use clap::{Args as ClapArgs, ValueEnum};
use seawall_study::study::{Each, HistoryChanges, PolicySpec};
use seawall_study::transfer::{Method, Request, Retrial};
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
The log is weighed to be what is known of the target; past groups, each left out and predicted from the
others with the same knowledge, say how much to allow. Without a history the allowance is the worst
coupling of what is known, and noise: outcomes given context are then assumed not to move.

Examples:
  As the study file says ([target.known], [history]):
    seawall transport study.toml

  A hospital that sent its margins, hospitals as history:
    seawall transport study.toml --target-facts AGE:mean=71.4 --target-facts SEX:F=0.47,M=0.53 --by HOSPNUM

  A sample of its contexts, and past groups from a table beside the log:
    seawall transport study.toml --target other.csv --by site --history past.csv --level 0.9";

pub(super) const BACKTEST_EXAMPLES: &str = "\
Every way to a bound is tried on every past group: nominal (nothing shifts), ball (the worst case within
a radius), balanced (the log weighed to be like the group), couplings (and the worst coupling of what is
known), history (and what the other groups needed). What is known of a group is what the study says will
be known of the target; every column's margin if it says nothing.

Examples:
  Countries of at least 100 patients:
    seawall backtest study.toml --by COUNTRY --least 100

  Months, each predicted from those before it:
    seawall backtest study.toml --by RDATE --each month";

/// What past groups are.
#[derive(Debug, ClapArgs)]
pub struct HistoryArgs {
    /// The columns whose values together name a past group: a site, a country, a month
    #[arg(long, value_name = "COL[,COL...]", value_delimiter = ',')]
    by: Vec<String>,
    /// A table of past groups that are not in the log, with the study's columns and those of --by
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Rows that a past group needs to be counted; 20 if not said
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    least: Option<f64>,
    /// Groups follow each other in time: a later one is predicted from earlier ones only
    #[arg(long)]
    in_time: bool,
    /// Cut the moments of --by into periods, which follow each other in time
    #[arg(long, value_enum)]
    each: Option<Period>,
    /// How many groups back one counts half, for groups in time
    #[arg(long, value_name = "GROUPS", allow_negative_numbers = true)]
    half_life: Option<f64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Period {
    /// Calendar years
    Year,
    /// Quarters
    Quarter,
    /// Months
    Month,
    /// Days
    Day,
}

impl HistoryArgs {
    /// Whether the words name the groups' column.
    pub(super) fn names_column(&self) -> bool {
        !self.by.is_empty()
    }

    /// Past groups that a learned policy is valued on, if the words name any; and how often bounds are to
    /// hold.
    pub(super) fn groups(self, level: f64) -> Result<Option<(HistoryChanges, f64)>, Failure> {
        let others = self.history.is_some() || self.least.is_some() || self.each.is_some();
        if !self.by.is_empty() {
            Ok(Some((self.meaning(), level)))
        } else if others || self.in_time || self.half_life.is_some() {
            Err(Failure::usage("past groups are asked about with --by COL"))
        } else {
            Ok(None)
        }
    }

    /// What the words change about the study's own history.
    pub fn meaning(self) -> HistoryChanges {
        HistoryChanges {
            by: self.by,
            path: self.history,
            least: self.least,
            in_time: self.in_time.then_some(true),
            each: self.each.map(|each| match each {
                Period::Year => Each::Year,
                Period::Quarter => Each::Quarter,
                Period::Month => Each::Month,
                Period::Day => Each::Day,
            }),
            half_life: self.half_life,
        }
    }
}

/// The arguments of `seawall transport`. What is not said is as in the study file.
#[derive(Debug, ClapArgs)]
pub struct Transfer {
    /// The study file
    study: PathBuf,
    /// A policy: an action, uniform, behavior, greedy, a policy file (.json) or a table of
    /// probabilities by context; may be given several times, the others are compared with the first
    #[arg(long, value_name = "POLICY")]
    policy: Vec<String>,
    /// A sample of the target's contexts
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    #[command(flatten)]
    known: KnownArgs,
    #[command(flatten)]
    history: HistoryArgs,
    /// How often bounds are to hold
    #[arg(long, value_name = "LEVEL", default_value_t = 0.95, allow_negative_numbers = true)]
    level: f64,
    /// How bounds are made; if not said, by rank where there are groups enough for the level, else by
    /// prediction, and without groups by couplings
    #[arg(long, value_enum)]
    method: Option<MethodName>,
    /// Do not compare the policies with the first one
    #[arg(long)]
    no_compare: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MethodName {
    /// What past groups needed, by rank
    Rank,
    /// What past groups needed, by a prediction bound
    Prediction,
    /// The worst coupling of what is known, and noise
    Couplings,
}

impl MethodName {
    fn meaning(self) -> Method {
        match self {
            MethodName::Rank => Method::Rank,
            MethodName::Prediction => Method::Prediction,
            MethodName::Couplings => Method::Couplings,
        }
    }
}

impl Transfer {
    /// What the words ask for.
    pub fn meaning(self) -> Result<TransferRequest, Failure> {
        let request = Request {
            policies: self.policy.iter().map(|text| PolicySpec::typed(text)).collect(),
            level: self.level,
            method: self.method.map(MethodName::meaning),
            compare: !self.no_compare,
        };
        let (toward, json) = (self.known.toward(self.target)?, self.json);
        let history = self.history.meaning();
        Ok(TransferRequest { study: self.study, toward, history, request, json })
    }
}

/// The arguments of `seawall backtest`. What is not said is as in the study file.
#[derive(Debug, ClapArgs)]
pub struct Backtest {
    /// The study file
    study: PathBuf,
    /// The policy; the study's first if not said
    #[arg(long, value_name = "POLICY")]
    policy: Option<String>,
    #[command(flatten)]
    history: HistoryArgs,
    /// How often bounds are to hold
    #[arg(long, value_name = "LEVEL", default_value_t = 0.95, allow_negative_numbers = true)]
    level: f64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Backtest {
    /// What the words ask for.
    pub fn meaning(self) -> BacktestRequest {
        let policy = self.policy.map(|text| PolicySpec::typed(&text));
        let (retrial, json) = (Retrial { policy, level: self.level }, self.json);
        let history = self.history.meaning();
        BacktestRequest { study: self.study, history, retrial, json }
    }
}
