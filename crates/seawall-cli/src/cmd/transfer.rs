//! `seawall transfer`.

use super::Failure;
use super::check::Toward;
use crate::show;
use seawall::Watch;
use seawall_study::load::{Loaded, load};
use seawall_study::study::{HistorySpec, KnownSpec, Study, study};
use seawall_study::transfer::{Request, transfer};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What the words typed make of the study's own history.
pub type HistoryChange =
    Box<dyn FnOnce(Option<HistorySpec>) -> Result<Option<HistorySpec>, Failure>>;

/// What is asked.
pub struct Asked {
    /// The study.
    pub study: PathBuf,
    /// The target.
    pub toward: Toward,
    /// The past groups.
    pub history: HistoryChange,
    /// The rest.
    pub request: Request,
    /// Whether to print JSON.
    pub json: bool,
}

/// The study with its past groups, to be counted by them.
pub(super) fn with_history(path: &Path, change: HistoryChange) -> Result<Study, Failure> {
    let mut study = study(path)?;
    study.history = change(study.history.take())?;
    if let Some(history) = &study.history {
        history.check(&study.contexts).map_err(|e| e.within(path.display()))?;
    }
    Ok(study)
}

/// A study with its past groups, asked about a target.
pub(super) fn counted_toward(
    path: &Path,
    history: HistoryChange,
    toward: &Toward,
    wait: &show::Wait,
) -> Result<Loaded, Failure> {
    let study = with_history(path, history)?.with_known(toward.known.clone(), toward.size)?;
    let loaded = counted(study, wait)?;
    let target = toward.target.as_deref();
    Ok(loaded.toward(target, Watch::new(&wait.follow()))?.unwrap_or(loaded))
}

/// Counts by group, unless the groups are in a table of their own.
pub(super) fn counted(study: Study, wait: &show::Wait) -> Result<Loaded, Failure> {
    let outside = study.history.as_ref().is_some_and(|history| history.path.is_some());
    let study = if outside { study } else { study.grouped() };
    Ok(load(study, Watch::new(&wait.follow()))?)
}

/// What is known of the demo's target: an older and drowsier population.
const DEMO: [&str; 2] = ["age:mean=76", "conscious:alert=0.7,drowsy=0.24,unconscious=0.06"];

/// Asks the demo about a hospital that sent two lines about its patients.
pub(super) fn demo(study: &Path) -> Result<(), Failure> {
    let options: Vec<String> = DEMO.iter().map(|known| format!("--known {known}")).collect();
    writeln!(std::io::stdout(), "\n$ seawall transfer {} {}", study.display(), options.join(" "))?;
    let known = DEMO.iter().map(|text| KnownSpec::typed(text)).collect::<Result<_, _>>()?;
    let request = Request { policies: Vec::new(), level: 0.95, method: None, compare: true };
    run(Asked {
        study: study.to_owned(),
        toward: Toward { known, ..Toward::default() },
        history: Box::new(Ok),
        request,
        json: false,
    })
}

/// Transfers and prints.
pub fn run(asked: Asked) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let loaded = counted_toward(&asked.study, asked.history, &asked.toward, &wait)?;
    let answer = transfer(&loaded, &asked.request, Watch::new(&wait.follow()))?;
    drop(wait);
    let mut out = std::io::stdout().lock();
    if asked.json {
        let text = serde_json::to_string(&answer).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::transfer::print(&answer, &mut out)?;
    }
    Ok(())
}
