//! `seawall radius`.

use crate::failure::Failure;
use crate::request::RadiusRequest;
use crate::show;
use seawall::Watch;
use seawall_study::evaluate::Question;
use seawall_study::forecast;
use seawall_study::radius::{Request, radius};
use std::io::Write;

/// Suggests radii and prints.
pub fn run(asked: &RadiusRequest) -> Result<(), Failure> {
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
