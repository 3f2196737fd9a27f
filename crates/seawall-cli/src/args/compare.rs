//! The words of `seawall sensitivity`.

use super::known::KnownArgs;
use super::transfer::HistoryArgs;
use super::{SET, set_help, set_text};
use crate::failure::Failure;
use crate::request::CompareRequest;
use clap::Args as ClapArgs;
use seawall_study::compare::Request;
use seawall_study::study::PolicySpec;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Radii of different sets are in different units, so each set's is the least that covers the same thing:
what the first policy costs in a target (--target, --target-facts, [target]) or in a group that is left out of
the log (--by, --group); else chance, the 95% limit of its estimate where nothing shifts. Then, at those
radii: every policy's worst case, the best policy as fitted, whether the log itself tells that one from the
others or noise may have chosen it, whether it is no worse than the others in every population of the set, and
what changes most in the population where it is worst. Policies whose worst cases are equal are best alike. A
set that is beyond the goal already at radius 0 is shown and not counted.

Examples:
  Every set, at radii that cover chance:
    seawall sensitivity study.toml

  At radii that cover what another hospital would cost, whose patients are known:
    seawall sensitivity study.toml --target other-hospital.csv

  At radii that cover what really happened in a country, which is left out of the log:
    seawall sensitivity study.toml --by COUNTRY --group UK

  Some sets, at radii that contain that country's people:
    seawall sensitivity study.toml --by COUNTRY --group UK --containing --set wasserstein --set tv";

/// The arguments of `seawall sensitivity`. What is not said is as in the study file.
/// What an option for several sets says.
const SETS: &str = "A set of populations; may be given several times, a parameter that is not given being an example of \
                    it. If not said, every set whose value bounds the worst case and that needs nothing but the log";

#[derive(Debug, ClapArgs)]
pub struct Compare {
    /// The study file
    study: PathBuf,
    /// A policy: an action, uniform, behavior, greedy, a policy file (.json) or a table of
    /// probabilities by context (.csv, .parquet); may be given several times, the first is the one
    /// whose value radii cover
    #[arg(long, value_name = "POLICY")]
    policy: Vec<String>,
    #[arg(long, value_name = SET, value_parser = set_text, help = set_help(SETS, |_| true))]
    set: Vec<String>,
    /// A sample of another population (the context columns are enough): what is to be covered
    #[arg(long, value_name = "FILE", conflicts_with = "group")]
    target: Option<PathBuf>,
    #[command(flatten)]
    known: KnownArgs,
    /// A group of those that --by names: left out of the log, and what is to be covered
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    group: Option<String>,
    #[command(flatten)]
    history: HistoryArgs,
    /// Take each set's least radius that contains the people of the target or the group, in place of the
    /// least whose worst case reaches what they cost
    #[arg(long)]
    containing: bool,
    /// Taken so that it can be refused with a reason
    #[arg(long, value_name = "R", hide = true, allow_hyphen_values = true)]
    radius: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Compare {
    /// What the words ask for.
    pub fn meaning(self) -> Result<CompareRequest, Failure> {
        if self.radius.is_some() {
            return Err(Failure::usage(
                "--radius: sensitivity chooses each set's radius itself, the least that covers the goal \
                 (--target, --target-facts, --group, else chance); evaluate takes radii",
            ));
        }
        if self.containing && self.group.is_none() && self.target.is_none() && self.known.says_any()
        {
            return Err(Failure::usage(
                "--target-facts cannot be contained: means and shares are not people; --containing needs a \
                 sample (--target) or a recorded group (--by, --group)",
            ));
        }
        if self.history.names_column() && self.group.is_none() {
            return Err(Failure::usage(
                "--by names the groups' column: say with --group VALUE which of them is left out and \
                 covered (seawall backtest tries them all)",
            ));
        }
        let request = Request {
            policies: self.policy.iter().map(|text| PolicySpec::typed(text)).collect(),
            sets: self.set,
            group: self.group,
            containing: self.containing,
        };
        let (toward, history) = (self.known.toward(self.target)?, self.history.meaning());
        Ok(CompareRequest { study: self.study, toward, history, request, json: self.json })
    }
}
