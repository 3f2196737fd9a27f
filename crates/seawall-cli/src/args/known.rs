//! What is known of a target, as it is typed: for every command that asks about one.

use crate::failure::Failure;
use crate::request::Toward;
use clap::Args as ClapArgs;
use seawall_study::study::KnownSpec;
use std::path::PathBuf;

/// What is known of another population of which nobody is seen.
#[derive(Debug, ClapArgs)]
pub struct KnownArgs {
    /// What is known of a column of another population of which there is no sample: its mean
    /// (AGE:mean=71.4) or shares of its levels (SEX:F=0.47,M=0.53), each a number or a range (150..165),
    /// and then perhaps ,within=0.02 (off by so much) or ,size=300 (from so many people); may be given
    /// several times
    #[arg(long = "target-facts", value_name = "COL:WHAT=NUMBER[,...]", allow_hyphen_values = true)]
    known: Vec<String>,
    /// From how many people that is known: gives each number what a sample of that size leaves open
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    target_size: Option<f64>,
}

impl KnownArgs {
    /// Whether anything is said to be known.
    pub(super) fn says_any(&self) -> bool {
        !self.known.is_empty()
    }

    /// What the words ask about: a sample, or numbers.
    pub(super) fn toward(self, target: Option<PathBuf>) -> Result<Toward, Failure> {
        if let (Some(path), Some(text)) = (&target, self.known.first()) {
            return Err(Failure::usage(format!(
                "--target-facts {text}: --target {} is a sample and says more; leave out one of the two",
                path.display()
            )));
        }
        let typed = self.known.iter().map(|text| KnownSpec::typed(text));
        let known = typed.collect::<Result<_, _>>()?;
        Ok(Toward { target, known, size: self.target_size })
    }
}
