//! `seawall sensitivity`.

use super::check::read_knowing;
use super::transfer::with_history;
use crate::failure::Failure;
use crate::request::CompareRequest;
use crate::show;
use seawall::Watch;
use seawall_study::compare::compare;
use seawall_study::forecast;
use seawall_study::prepare::load;
use std::io::Write;

/// Compares and prints.
pub fn run(asked: CompareRequest) -> Result<(), Failure> {
    if asked.request.group.is_some() && !asked.toward.known.is_empty() {
        return Err(Failure::usage(
            "--group and --target-facts: either a group or a target is covered; leave out one of the two",
        ));
    }
    let wait = show::Wait::new();
    // Rows are counted by group where one of them is to be left out.
    let loaded = if asked.request.group.is_some() {
        load(with_history(&asked.study, asked.history)?, Watch::new(&wait.follow()))?
    } else {
        read_knowing(&asked.study, &asked.toward, &wait)?
    };
    let sets = &asked.request.sets;
    let count = asked.request.policies.len().max(loaded.study.policies.len());
    show::forecast::say(forecast::comparison(&loaded, sets, count, Watch::new(&wait.follow()))?);
    let found = compare(&loaded, &asked.request, Watch::new(&wait.follow()))?;
    drop(wait);
    let mut out = show::terminal();
    if asked.json {
        let text = serde_json::to_string(&found).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::compare::print(&found, &mut out)?;
    }
    Ok(())
}
