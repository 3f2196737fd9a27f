//! A target on a study's contexts, as it was placed there.

use seawall::transfer::{Coverage, TargetSample, Transport};
use seawall_table::combine::BinMoments;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// A target on a study's contexts.
#[derive(Clone, Debug)]
pub struct PlacedTarget {
    /// The sample.
    pub sample: Arc<TargetSample>,
    /// What is known of it.
    pub facts: TargetFacts,
    /// The file that it was read from, if it was.
    pub file: Option<PathBuf>,
    /// What it has in each bin of a context column.
    pub(crate) moments: Arc<BinMoments>,
}

/// What is known of a target before any number.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetFacts {
    /// Where it came from.
    pub path: String,
    /// Rows used.
    pub rows: usize,
    /// Rows that do not meet the target's conditions.
    pub left_out: usize,
    /// Columns with values that the log does not have.
    pub beyond: Vec<BeyondFacts>,
    /// The share of its people who have any of them.
    pub beyond_share: f64,
}

/// A target, and how well the log covers it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetAnswer {
    /// What it is.
    #[serde(flatten)]
    pub facts: TargetFacts,
    /// How well the log covers it.
    pub coverage: Coverage,
}

/// A column's values that the log does not have.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeyondFacts {
    /// The column.
    pub column: String,
    /// The values, or the middles of the bins.
    pub values: Vec<String>,
    /// The share of the target's people who have them.
    pub share: f64,
}

impl PlacedTarget {
    /// The target, and how well the log covers it.
    pub(crate) fn answer(&self, transport: &Transport<'_>) -> TargetAnswer {
        TargetAnswer { facts: self.facts.clone(), coverage: transport.coverage() }
    }
}
