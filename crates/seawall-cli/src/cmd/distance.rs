//! `seawall distance`.

use crate::failure::Failure;
use crate::request::DistanceRequest;
use crate::show;
use seawall::Watch;
use seawall_study::distance::Samples;
use std::io::Write;
use std::path::PathBuf;

/// Answers and prints.
pub fn run(asked: &DistanceRequest, json: bool) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let follow = wait.follow();
    let watch = Watch::new(&follow);
    let (samples, from, to) = match asked {
        DistanceRequest::Tables { from, to, contexts, weight } => {
            let samples = Samples::of_tables(from, to, contexts, weight.as_deref(), watch)?;
            (samples, from.clone(), to.clone())
        }
        DistanceRequest::Target { study, target } => {
            let loaded = super::check::read_toward(study, target.as_deref(), &wait)?;
            let own = loaded.target.as_ref().map(|t| PathBuf::from(&t.facts.path));
            (Samples::of_target(&loaded)?, study.clone(), own.unwrap_or_default())
        }
    };
    show::forecast::say(samples.forecast());
    let answer = samples.distance(watch)?;
    drop(follow);
    drop(wait);
    let mut out = show::terminal();
    if json {
        let text = serde_json::to_string(&answer).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::distance::print(&answer, &from, &to, &mut out)?;
    }
    Ok(())
}
