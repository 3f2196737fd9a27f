//! How often the program's confidence statements are true, in simulated worlds whose truth is known.
//!
//! ```text
//! seawall-simulate page docs/book/tables/validation.md 300    the tables of the book's page "Validation", from so many logs
//! seawall-simulate check                                          a reduced version, which fails if claims are not true
//! seawall-simulate --worlds flat,tree --models tree --logs 100    one table of one's own
//! ```
//!
//! Every log goes through the program's own pipeline: a CSV file and a study file are read, counted, fitted, split and
//! answered.

mod run;
mod validation;
mod world;

use rayon::prelude::*;
use run::{Case, Numbers};
use seawall::{Error, Result};
use std::collections::HashMap;
use std::path::Path;
use world::{Truth, World};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("page") => {
            let path = words.get(1).ok_or_else(|| Error::input("page: name the file to write"))?;
            page(Path::new(path), words.get(2).and_then(|n| n.parse().ok()).unwrap_or(300))
        }
        Some("check") => check(),
        _ => explore(&words),
    }
}

/// So many logs of a case.
fn simulated(case: &Case, logs: u64) -> Result<Vec<Vec<Numbers>>> {
    let world = World::new(case.truth, case.rewards)?;
    (0..logs).into_par_iter().map(|seed| case.run(&world, 1 + seed)).collect()
}

/// Writes the tables of the page.
fn page(path: &Path, logs: u64) -> Result<()> {
    let mut text = String::new();
    let mut tables = [String::new(), String::new()];
    let mut last = None;
    let write = |text: &mut String, (title, logs): (&str, u64), tables: &[String; 2]| {
        let names = ["The worst case of the first policy", "The first policy less the second"];
        text.push_str(&format!("### {title}\n\n{logs} logs each.\n\n"));
        for ((name, head), rows) in names.iter().zip(validation::heads()).zip(tables) {
            text.push_str(&format!("{name}:\n\n{head}{rows}\n"));
        }
    };
    for (title, logs, case) in validation::plan(logs) {
        if last.is_some_and(|known| known != (title, logs)) {
            write(&mut text, last.unwrap_or((title, logs)), &tables);
            tables = [String::new(), String::new()];
        }
        last = Some((title, logs));
        let rows = validation::rows(&case, &simulated(&case, logs)?);
        tables.iter_mut().zip(rows).for_each(|(table, rows)| table.push_str(&rows));
        eprintln!("{title}: {}", case.truth.name());
    }
    if let Some(last) = last {
        write(&mut text, last, &tables);
    }
    std::fs::write(path, text).map_err(|e| Error::io(path, e))
}

/// Few logs of a few worlds: claims are true in nearly all of them.
fn check() -> Result<()> {
    let mut wrong = Vec::new();
    for (_, _, case) in validation::plan(1) {
        let wanted = [Truth::Flat, Truth::Tree, Truth::Both, Truth::Corner, Truth::Effect(10)];
        let plain = case.rows == 1000 && ["tree", "additive"].contains(&case.model.as_str());
        if !plain || !wanted.contains(&case.truth) {
            continue;
        }
        let logs = simulated(&case, 12)?;
        let additive = ![Truth::Both, Truth::Corner].contains(&case.truth);
        for strict in [true, false] {
            let (all, held) = validation::claims(&logs, strict);
            let what = format!("{} · {} · {}", case.truth.name(), case.model, case.set);
            println!(
                "{what}: {held} of {all} {} claims are true",
                if strict { "strict" } else { "additive" }
            );
            if (strict || additive) && (held as f64) < 0.94 * all as f64 {
                wrong.push(what);
            }
        }
        let (mut verdicts, mut errors) = (0, 0);
        for found in logs.iter().flatten().flat_map(|numbers| &numbers.at) {
            verdicts += usize::from(found.verdict.is_some());
            errors += usize::from(found.wrong && (found.strict || additive));
        }
        if errors * 20 > verdicts {
            wrong.push(format!("{}: {errors} of {verdicts} verdicts are wrong", case.truth.name()));
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Error::input(format!("not true often enough: {}", wrong.join("; "))))
    }
}

/// A table of what is asked for.
fn explore(words: &[String]) -> Result<()> {
    let options: HashMap<&str, &str> =
        words.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    let text =
        |name: &str, usual: &'static str| options.get(name).copied().unwrap_or(usual).to_owned();
    let list = |name: &str, usual: &'static str| -> Vec<String> {
        text(name, usual).split(',').filter(|w| !w.is_empty()).map(str::to_owned).collect()
    };
    let logs: u64 = text("--logs", "100").parse().unwrap_or(100);
    let wanted = list("--worlds", "");
    let named =
        |truth: &Truth| wanted.is_empty() || wanted.contains(&truth.name().replace(' ', ""));
    let [values, differences] = validation::heads();
    for truth in Truth::ALL.into_iter().filter(named) {
        for rows in list("--rows", "1000") {
            for model in list("--models", "tree") {
                let case = Case {
                    truth,
                    model,
                    rows: rows.parse().unwrap_or(1000),
                    rewards: options.contains_key("--rewards"),
                    target: options.get("--target").and_then(|n| n.parse().ok()),
                    set: text("--set", "wasserstein"),
                    radii: list("--radii", "0.02,0.1")
                        .iter()
                        .filter_map(|r| r.parse().ok())
                        .collect(),
                    support: text("--support", "grid"),
                    splits: options.get("--splits").and_then(|n| n.parse().ok()),
                };
                if let Some(folder) = options.get("--write") {
                    write(&case, logs, Path::new(folder))?;
                    continue;
                }
                let found = simulated(&case, logs)?;
                if let Some(folder) = options.get("--raw") {
                    let path = format!("{folder}/{}-{}-{rows}.json", truth.name(), case.model);
                    let text = serde_json::to_string(&found).unwrap_or_default();
                    std::fs::write(&path, text).map_err(|e| Error::io(path.as_ref(), e))?;
                }
                let [own, pairs] = validation::rows(&case, &found);
                println!(
                    "\n{} · {rows} rows · {logs} logs\n\n{values}{own}\n{differences}{pairs}",
                    case.model
                );
            }
        }
    }
    Ok(())
}

/// Writes the logs themselves.
fn write(case: &Case, logs: u64, folder: &Path) -> Result<()> {
    let world = World::new(case.truth, case.rewards)?;
    for seed in 0..logs {
        let folder = folder.join(seed.to_string());
        std::fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, e))?;
        case.write(&world, 1 + seed, &folder)?;
    }
    Ok(())
}
