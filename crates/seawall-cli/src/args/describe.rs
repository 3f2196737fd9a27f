//! The words of `seawall describe`.

use crate::request::DescribeRequest;
use clap::Args as ClapArgs;
use seawall_study::describe::Asked;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
The block has the shares of each column's levels, or mean and standard deviation of numbers that
are not cut into bins, and from how many people they are. What columns have to do with each other
is not in it. Levels that the study's log does not have are kept, with a comment that says how to
declare them.

Examples:
  What a hospital can send when it may not send rows, no number being of fewer than 10 people:
    seawall describe study.toml --target our-patients.csv --at-least 10 --out ours.toml

  The log's own people, for the other side:
    seawall describe study.toml

  Age and blood pressure by mean and standard deviation:
    seawall describe study.toml --target our-patients.csv --columns AGE,RSBP --means";

/// The arguments of `seawall describe`.
#[derive(Debug, ClapArgs)]
pub struct Describe {
    /// The study file, which says what the columns mean
    study: PathBuf,
    /// The table to describe (the context columns are enough); the study's own target if not said, or
    /// its log if it names none
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    /// Only these context columns
    #[arg(long, value_name = "COL[,COL...]", value_delimiter = ',')]
    columns: Vec<String>,
    /// Mean and standard deviation of numeric columns in place of the shares of their bins
    #[arg(long)]
    means: bool,
    /// Leave out levels with fewer rows than this, and as many others as it takes to hide these
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    at_least: usize,
    /// Write the block to a file; printed if not said
    #[arg(long, value_name = "OUT.toml")]
    out: Option<PathBuf>,
    /// One JSON object in place of the block
    #[arg(long)]
    json: bool,
}

impl Describe {
    /// What the words ask for.
    pub fn meaning(self) -> DescribeRequest {
        let Describe { study, target, columns, means, at_least, out, json } = self;
        DescribeRequest { study, target, asked: Asked { columns, means, at_least }, out, json }
    }
}
