//! `seawall radius`.

use super::Failure;
use crate::show;
use seawall::Watch;
use seawall_study::evaluate::Question;
use seawall_study::forecast;
use seawall_study::radius::{Request, radius};
use std::io::Write;
use std::path::PathBuf;

/// What is asked.
pub struct Asked {
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

/// Suggests radii and prints.
pub fn run(asked: &Asked) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let loaded = super::check::read_toward(&asked.study, asked.target.as_deref(), &wait)?;
    let question = Question::from_study(&loaded);
    show::forecast::say(forecast::evaluation(&loaded, &question, Watch::new(&wait.follow()))?);
    let request = Request { splits: asked.splits, seed: asked.seed };
    let answer = radius(&loaded, &request, Watch::new(&wait.follow()))?;
    drop(wait);
    let mut out = show::terminal();
    if asked.json {
        let text = serde_json::to_string(&answer).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::radius::print(&answer, &mut out)?;
    }
    Ok(())
}
