//! `seawall learn`.

use super::transfer::counted_toward;
use crate::failure::Failure;
use crate::request::LearnOutputs;
use crate::{interrupt, show};
use seawall::learn::State;
use seawall::{Error, Log, Progress, Stage, Watch};
use seawall_study::forecast;
use seawall_study::learn::{Changes, LearnedPolicy, Method, Spec, by_group, learn};
use seawall_study::trace;
use seawall_table::read::files;
use seawall_table::write::{destination, keep, prepare, rescue};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A stopped run, with the question it belongs to.
#[derive(Serialize, Deserialize)]
struct Saved {
    format: String,
    question: String,
    state: State,
}

const FORMAT: &str = "seawall-state-1";

/// Learns, writes the files, then prints.
pub fn run(path: &Path, changes: &Changes, outputs: &LearnOutputs) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let loaded = super::check::read_knowing(path, &outputs.toward, &wait)?;
    let picture = outputs.trace.as_ref().map(|t| t.with_extension("svg"));
    let state = Some(outputs.state.clone());
    // A given policy is an input, too, and so is the one that is learned against.
    let mut given: Vec<_> = changes.against.iter().cloned().collect();
    if let Spec::Given(spec) = &changes.policy {
        given.push(spec.clone());
    }
    let mut inputs = loaded.inputs(&given);
    if let Some(path) = outputs.groups.as_ref().and_then(|(history, _)| history.path.as_ref()) {
        inputs.extend(files(path)?);
    }
    for output in [&outputs.out, &outputs.trace, &picture, &state].into_iter().flatten() {
        for input in &inputs {
            destination(output, input)?;
        }
    }
    if outputs.resume.is_none() && outputs.state.exists() && changes.method == Method::Bsgd {
        return Err(Error::config(format!(
            "{}: a stopped run would be kept there, but the file exists; go on from it with \
             --resume, or move it away",
            outputs.state.display()
        ))
        .into());
    }
    let question = changes.apply(&loaded)?;
    // What a state must have been saved for: the same question of the same study and data.
    let fingerprint = format!("{question:?} {:?} {:016x}", loaded.study.text(), hash(loaded.log()));
    let state = outputs.resume.as_deref().map(|path| resumed(path, &fingerprint)).transpose()?;
    let follow = |progress: Progress<'_>| {
        wait.show(progress);
        // Before, there is no policy yet that could be shown.
        if let Stage::Learning | Stage::Searching | Stage::Descending = progress.stage {
            interrupt::heed();
        }
        !interrupt::asked()
    };
    show::forecast::say(forecast::learning(&loaded, &question, Watch::new(&follow))?);
    let answer = learn(&loaded, &question, state, Watch::new(&follow))?;
    let answer = match &outputs.groups {
        Some((history, level)) if !interrupt::asked() => {
            let counted = counted_toward(path, history.clone(), &outputs.toward, &wait)?;
            let found = by_group(&counted, &question, &answer, *level, Watch::new(&follow))?;
            answer.with_groups(found)
        }
        _ => answer,
    };
    drop(wait);
    let stopped = interrupt::asked();
    let state = match &answer.kept.state {
        Some(state) if stopped => {
            let state = state.clone();
            let saved = Saved { format: FORMAT.to_owned(), question: fingerprint, state };
            Some(serde_json::to_string(&saved).map_err(std::io::Error::from)?)
        }
        _ => None,
    };
    let written = write(path, outputs, &answer, state.as_deref());
    // What cannot be printed is told last: the work is not to be lost for it.
    let printed = print(path, outputs, &answer, written.is_ok());
    let kept = match written {
        Ok(kept) => kept,
        Err(error) => return Err(rescued(error, outputs, &answer, state.as_deref(), stopped)),
    };
    if stopped {
        let next = kept.map_or(String::new(), |path| {
            format!("; go on with the same command and --resume {}", path.display())
        });
        return Err(Failure::Interrupted(format!("{SO_FAR}{next}")));
    }
    printed?;
    // A run that is finished has used up the state that it went on from.
    if let Some(path) = outputs.resume.as_ref().filter(|path| std::fs::remove_file(path).is_ok())
        && !outputs.json
    {
        writeln!(
            show::terminal(),
            "The run is finished, and its state {} removed.",
            path.display()
        )?;
    }
    Ok(())
}

/// Prints the answer; `written` says whether the files are there.
fn print(
    study: &Path,
    outputs: &LearnOutputs,
    answer: &LearnedPolicy,
    written: bool,
) -> std::io::Result<()> {
    let mut out = show::terminal();
    if outputs.json {
        return writeln!(out, "{}", serde_json::to_string(answer)?);
    }
    show::learn::print(study, answer, outputs, written, &mut out)
}

const SO_FAR: &str = "interrupted: this is the best policy so far";

/// Writes everything that is asked for, or nothing; where the state is.
fn write(
    study: &Path,
    outputs: &LearnOutputs,
    answer: &LearnedPolicy,
    state: Option<&str>,
) -> Result<Option<PathBuf>, Error> {
    let mut files = Vec::new();
    if let Some(path) = &outputs.out {
        let text = answer.kept.file.to_json()?;
        files.push(prepare(path.clone(), |out| writeln!(out, "{text}"))?);
    }
    if let (Some(path), Some(state)) = (&outputs.trace, &answer.kept.state) {
        files.push(prepare(path.clone(), |out| trace::csv(state, &answer.kept.names, out))?);
        let picture = trace::svg(state, &answer.kept.names);
        files.push(prepare(path.with_extension("svg"), |out| out.write_all(picture.as_bytes()))?);
    }
    let mut kept = None;
    if let Some(text) = state {
        let real = destination(&outputs.state, study)?;
        files.push(prepare(real.clone(), |out| writeln!(out, "{text}"))?);
        kept = Some(real);
    }
    keep(files)?;
    Ok(kept)
}

/// What is said when the files cannot go where they should. The work is not lost: policy and state
/// go to the folder of temporary files, and if not even there, the policy is printed.
fn rescued(
    error: Error,
    outputs: &LearnOutputs,
    answer: &LearnedPolicy,
    state: Option<&str>,
    stopped: bool,
) -> Failure {
    let mut words = error.to_string();
    if outputs.out.is_some() || state.is_some() {
        let file = answer.kept.file.to_json();
        match file.map(|text| (rescue(".json", &text), text)) {
            Ok((Ok(path), _)) => {
                words.push_str(&format!("; instead the policy is in {}", path.display()));
            }
            Ok((Err(_), text)) => {
                words.push_str("; instead the policy is printed");
                // Who cannot read it either has lost it.
                let _ = writeln!(show::data(), "{text}");
            }
            Err(error) => return error.into(),
        }
    }
    if let Some(Ok(path)) = state.map(|text| rescue(".state", text)) {
        let path = path.display();
        words.push_str(&format!("; go on with the same command and --resume {path}"));
    }
    if stopped {
        Failure::Interrupted(format!("{SO_FAR}; {words}"))
    } else {
        Error::input(words).into()
    }
}

/// A number that another log is unlikely to have.
fn hash(log: &Log) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut take =
        |bits: u64| hash = (hash ^ bits).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    for e in log.entries() {
        take(u64::from(e.context) << 32 | u64::from(e.action));
        take(u64::from(e.outcome));
        take(e.propensity.to_bits());
        take(e.weight.to_bits());
    }
    log.values().iter().for_each(|v| take(v.to_bits()));
    hash
}

fn resumed(path: &Path, fingerprint: &str) -> Result<State, Failure> {
    let bad = |what: String| Error::input(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
    let saved: Saved = serde_json::from_str(&text)
        .map_err(|e| bad(format!("not a state that a stopped run left: {e}")))?;
    if saved.format != FORMAT || saved.question != fingerprint {
        return Err(bad(
            "the state belongs to another question: study, data or options differ".to_owned()
        )
        .into());
    }
    Ok(saved.state)
}
