//! The words of `seawall distance`.

use super::bound::context;
use crate::cmd::Failure;
use crate::cmd::distance::Asked;
use clap::Args as ClapArgs;
use seawall_study::bound::Context;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  How far is the hospital down the road from the trial, in the study's own ground cost?
    seawall distance study.toml --target other-hospital.csv

  Two tables by some of their columns:
    seawall distance 2024.parquet 2025.parquet --context age --context site:nominal --json";

/// The arguments of `seawall distance`.
#[derive(Debug, ClapArgs)]
pub(super) struct Distance {
    /// A study file, with --target; or the first of two tables
    from: PathBuf,
    /// The second table
    to: Option<PathBuf>,
    /// With two tables: a column that counts. KIND and WEIGHT as for `seawall bound`
    #[arg(long, value_name = "NAME[:KIND[:WEIGHT]]", value_parser = context)]
    context: Vec<Context>,
    /// With two tables: a column of weights ≥ 0
    #[arg(long, value_name = "COL")]
    weight: Option<String>,
    /// With a study: a sample of the other population, without actions or outcomes
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Distance {
    /// What the words ask for.
    pub(super) fn meaning(self) -> Result<(Asked, bool), Failure> {
        let asked = match (self.to, self.target) {
            (None, Some(target)) if self.context.is_empty() && self.weight.is_none() => {
                Asked::Target { study: self.from, target }
            }
            (None, Some(_)) => {
                return Err(Failure::usage("--context and --weight are the study's business"));
            }
            (Some(to), None) if !self.context.is_empty() => {
                Asked::Tables { from: self.from, to, contexts: self.context, weight: self.weight }
            }
            (Some(_), None) => {
                return Err(Failure::usage("two tables need at least one --context column"));
            }
            (Some(_), Some(_)) => {
                return Err(Failure::usage("give two tables, or a study and --target, not both"));
            }
            (None, None) => {
                return Err(Failure::usage(
                    "give two tables with --context, or a study with --target FILE",
                ));
            }
        };
        Ok((asked, self.json))
    }
}
