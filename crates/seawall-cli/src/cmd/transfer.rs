//! `seawall transport`.

use crate::failure::Failure;
use crate::request::Toward;
use crate::request::TransferRequest;
use crate::show;
use seawall::Watch;
use seawall_study::fields::FrontEnd;
use seawall_study::prepare::{PreparedStudy, load};
use seawall_study::study::{HistoryChanges, KnownSpec, Study, study};
use seawall_study::transfer::{Request, transfer};
use std::io::Write;
use std::path::Path;

/// The study with its past groups, to be counted by them.
pub(super) fn with_history(path: &Path, changes: HistoryChanges) -> Result<Study, Failure> {
    let mut study = study(path)?;
    study.history = changes.apply(study.history.take(), &study.data.contexts, FrontEnd::Cli)?;
    Ok(study.grouped())
}

/// A study with its past groups, asked about a target.
pub(super) fn counted_toward(
    path: &Path,
    history: HistoryChanges,
    toward: &Toward,
    wait: &show::Wait,
) -> Result<PreparedStudy, Failure> {
    let study = with_history(path, history)?.with_known(toward.known.clone(), toward.size)?;
    let follow = wait.follow();
    let loaded = load(study, Watch::new(&follow))?;
    let target = toward.target.as_deref();
    Ok(loaded.toward(target, Watch::new(&follow))?.unwrap_or(loaded))
}

/// What is known of the demo's target: an older and drowsier population.
const DEMO: [&str; 2] = ["age:mean=76", "conscious:alert=0.7,drowsy=0.24,unconscious=0.06"];

/// Asks the demo about a hospital that sent two lines about its patients.
pub(super) fn demo(study: &Path) -> Result<(), Failure> {
    let options: Vec<String> = DEMO.iter().map(|known| format!("--target-facts {known}")).collect();
    writeln!(show::terminal(), "\n$ seawall transport {} {}", study.display(), options.join(" "))?;
    let known = DEMO.iter().map(|text| KnownSpec::typed(text)).collect::<Result<_, _>>()?;
    let request = Request { policies: Vec::new(), level: 0.95, method: None, compare: true };
    run(TransferRequest {
        study: study.to_owned(),
        toward: Toward { known, ..Toward::default() },
        history: HistoryChanges::default(),
        request,
        json: false,
    })
}

/// Transfers and prints.
pub fn run(asked: TransferRequest) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let loaded = counted_toward(&asked.study, asked.history, &asked.toward, &wait)?;
    let answer = transfer(&loaded, &asked.request, Watch::new(&wait.follow()))?;
    drop(wait);
    let mut out = show::terminal();
    if asked.json {
        let text = serde_json::to_string(&answer).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::transfer::print(&answer, &mut out)?;
    }
    Ok(())
}
