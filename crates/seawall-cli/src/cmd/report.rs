//! `seawall report`.

use super::Failure;
use super::check::Toward;
use super::transfer::with_history;
use crate::show;
use seawall::Watch;
use seawall::evaluate::Support;
use seawall_study::compare;
use seawall_study::evaluate::Halving;
use seawall_study::forecast;
use seawall_study::learn::Spec;
use seawall_study::prepare::{PreparedStudy, load};
use seawall_study::report::{self, Request, Transferred, report};
use seawall_study::study::{HistoryChanges, PolicySpec, Study};
use seawall_study::write::{destination, prepare};
use std::io::Write;
use std::path::PathBuf;

/// What is asked.
pub struct Asked {
    /// The study.
    pub study: PathBuf,
    /// The page to write.
    pub out: PathBuf,
    /// The other population.
    pub toward: Toward,
    /// The past groups.
    pub history: HistoryChanges,
    /// How often bounds in the target are to hold.
    pub level: f64,
    /// Other policies than the study's.
    pub policies: Vec<PolicySpec>,
    /// Another support than the study's.
    pub support: Option<Support>,
    /// Kinds of policies to learn, as typed and as meant.
    pub learn: Vec<(String, Spec)>,
    /// Whether other sets are compared, too.
    pub compare: bool,
    /// How the rows are halved.
    pub halves: Option<Halving>,
    /// The seed of everything random.
    pub seed: u64,
}

/// Works everything out and writes the page.
pub fn run(asked: Asked) -> Result<(), Failure> {
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
    let plain = Study { by_group: false, ..study.clone() };
    let loaded = toward(load(plain, Watch::new(&wait.follow()))?)?;
    for input in loaded.inputs(&asked.policies) {
        destination(&out, &input)?;
    }
    let asks = report::question(&loaded, (&asked.policies, asked.learn.len()), asked.halves);
    show::forecast::say(forecast::evaluation(&loaded, &asks, Watch::new(&wait.follow()))?);
    let by_group = match study.history.is_some() {
        true => Some(toward(load(study, Watch::new(&wait.follow()))?)?),
        false => None,
    };
    let by_group = by_group.as_ref().unwrap_or(&loaded);
    let transfer =
        Transferred::of(by_group, &asked.policies, asked.level, Watch::new(&wait.follow()))?;
    let sets = compare::Request { policies: asked.policies.clone(), ..Default::default() };
    let compare = match asked.compare {
        true => Some(compare::compare(&loaded, &sets, Watch::new(&wait.follow()))?),
        false => None,
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
    let page = report(&loaded, &request, Watch::new(&wait.follow()))?.html()?;
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
