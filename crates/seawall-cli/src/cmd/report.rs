//! `seawall report`.

use super::transfer::with_history;
use crate::failure::Failure;
use crate::request::ReportRequest;
use crate::show;
use seawall::Watch;
use seawall_report::report;
use seawall_study::compare;
use seawall_study::forecast;
use seawall_study::prepare::{PreparedStudy, load};
use seawall_study::report::{Request, Transferred, answers, question};
use seawall_table::write::{destination, prepare};
use std::io::Write;

/// Works everything out and writes the page.
pub fn run(asked: ReportRequest) -> Result<(), Failure> {
    let out = destination(&asked.out, &asked.study)?;
    let wait = show::Wait::new();
    let study = with_history(&asked.study, asked.history)?;
    let study = study.with_known(asked.toward.known, asked.toward.size)?;
    let target = asked.toward.target.as_deref();
    let toward = |loaded: PreparedStudy| -> Result<PreparedStudy, Failure> {
        let loaded = loaded.with_support(asked.support);
        Ok(loaded.toward(target, Watch::new(&wait.follow()))?.unwrap_or(loaded))
    };
    // Random halves deal rows as they are counted: those of the page are counted without groups.
    let mut plain = study.clone();
    plain.data.rows.groups.clear();
    let loaded = toward(load(plain, Watch::new(&wait.follow()))?)?;
    for input in loaded.inputs(&asked.policies) {
        destination(&out, &input)?;
    }
    let asks = question(&loaded, (&asked.policies, asked.learn.len()), asked.halves);
    show::forecast::say(forecast::evaluation(&loaded, &asks, Watch::new(&wait.follow()))?);
    let by_group = if study.history.is_some() {
        Some(toward(load(study, Watch::new(&wait.follow()))?)?)
    } else {
        None
    };
    let by_group = by_group.as_ref().unwrap_or(&loaded);
    let transfer =
        Transferred::of(by_group, &asked.policies, asked.level, Watch::new(&wait.follow()))?;
    let sets = compare::Request { policies: asked.policies.clone(), ..Default::default() };
    let compare = if asked.compare {
        Some(compare::compare(&loaded, &sets, Watch::new(&wait.follow()))?)
    } else {
        None
    };
    let request = Request {
        policies: asked.policies,
        support: asked.support,
        learn: asked.learn,
        halves: asked.halves,
        seed: asked.seed,
        transfer,
        compare,
    };
    let found = answers(&loaded, request, Watch::new(&wait.follow()))?;
    let page = report(found)?.html()?;
    prepare(out, |file| file.write_all(page.as_bytes()))?.keep()?;
    drop(wait);
    let size = page.len().div_ceil(1000);
    writeln!(
        show::terminal(),
        "The report is in {} ({size} kB): open it in a browser.",
        asked.out.display()
    )?;
    Ok(())
}
