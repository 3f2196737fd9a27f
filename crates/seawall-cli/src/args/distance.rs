//! The words of `seawall distance`.

use super::bound::context;
use crate::failure::Failure;
use crate::request::DistanceRequest;
use crate::request::RadiusRequest;
use clap::Args as ClapArgs;
use seawall_study::bound::Context;
use seawall_study::radius::SPLITS;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  How far is the hospital down the road from the trial, in the study's own ground cost?
    seawall distance study.toml --target other-hospital.csv

  Two tables by some of their columns:
    seawall distance 2024.parquet 2025.parquet --context age --context site:nominal --json";

/// The arguments of `seawall distance`.
#[derive(Debug, ClapArgs)]
pub struct Distance {
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

/// The arguments of `seawall radius`.
#[derive(Debug, ClapArgs)]
pub struct Radius {
    /// The study file
    study: PathBuf,
    /// A sample of the other population, without actions or outcomes
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    /// Random halves of the log, and as many bootstrap draws
    #[arg(long, value_name = "N", default_value_t = SPLITS)]
    splits: usize,
    /// The seed of everything random
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Radius {
    /// What the words ask for.
    pub fn meaning(self) -> Result<RadiusRequest, Failure> {
        let Radius { study, target, splits, seed, json } = self;
        Ok(RadiusRequest { study, target, splits, seed, json })
    }
}

impl Distance {
    /// What the words ask for.
    pub fn meaning(self) -> Result<(DistanceRequest, bool), Failure> {
        let asked = match (self.to, self.target) {
            (None, target)
                if self.context.is_empty()
                    && self.weight.is_none()
                    && (target.is_some() || self.from.extension().is_some_and(|e| e == "toml")) =>
            {
                DistanceRequest::Target { study: self.from, target }
            }
            (None, Some(_)) => {
                return Err(Failure::usage("--context and --weight are the study's business"));
            }
            (Some(_), None) if self.from.extension().is_some_and(|e| e == "toml") => {
                return Err(Failure::usage(
                    "a study is compared with --target: seawall distance STUDY --target FILE",
                ));
            }
            (Some(to), None) if !self.context.is_empty() => DistanceRequest::Tables {
                from: self.from,
                to,
                contexts: self.context,
                weight: self.weight,
            },
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
