//! Interrupted by a signal: soon, with what there is to show, and nothing left lying about.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{HANGS, Run, folder, has_worked, run};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Instant;
use tempfile::TempDir;

fn started(there: &Path, args: &str) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin("seawall"))
        .current_dir(there)
        .args(args.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Everything that comes out of a pipe, read beside the test.
fn read_all(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        text
    })
}

fn signalled(child: Child, signal: &str) -> (Option<i32>, Run) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    let code = output.status.code();
    (code, Run { code: code.unwrap_or(-1), out, err })
}

fn listed(there: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(there).unwrap();
    entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

const STUDY: &str = r#"[data]
path = "d.csv"
[context]
g = { kind = "nominal" }
[action]
column = "a"
[outcome]
cost = "y"
[model]
kind = "cells"
unseen = "mean"
[robust]
context = { set = "wasserstein", radius = 0.1 }
"#;

/// So many levels of the context, each with a row of both actions.
fn study(levels: usize) -> TempDir {
    let mut data = "g,a,y\n".to_owned();
    for k in 0..2 * levels {
        let (level, action, y) = (k % levels, ["c", "d"][k / levels], k * 7919 % 1000);
        data += &format!("level {level},{action},0.{y:03}\n");
    }
    folder(&[("s.toml", STUDY.as_bytes()), ("d.csv", data.as_bytes())])
}

const UNIFORM: &str = r#"{"format":"seawall-policy","version":1,"name":"u","actions":["c","d"],
"features":[],"rule":{"kind":"uniform"}}"#;

/// Whether a running program has a file open in a folder that is none of those listed before.
#[cfg(target_os = "linux")]
fn writes(child: &Child, there: &Path, before: &BTreeSet<String>) -> bool {
    let open = std::fs::read_dir(format!("/proc/{}/fd", child.id()));
    let mut links = open.into_iter().flatten().flatten().filter_map(|e| e.path().read_link().ok());
    links.any(|link| {
        let name = link.file_name().map(|n| n.to_string_lossy().into_owned());
        link.parent() == Some(there) && name.is_some_and(|name| !before.contains(&name))
    })
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_write_leaves_no_file_and_the_old_one_whole() {
    let there = study(150_000);
    let path = there.path().canonicalize().unwrap();
    std::fs::write(path.join("u.json"), UNIFORM).unwrap();
    std::fs::write(path.join("out.csv"), "old").unwrap();
    let before = listed(&path);
    for signal in ["-INT", "-TERM", "-KILL"] {
        let mut child = started(&path, "predict u.json d.csv --out out.csv");
        let begun = Instant::now();
        while !writes(&child, &path, &before) {
            assert!(begun.elapsed() < HANGS, "it never wrote");
            assert!(child.try_wait().unwrap().is_none(), "it was finished before the signal");
        }
        let (code, found) = signalled(child, signal);
        assert_ne!(code, Some(0), "{signal}: it was finished before the signal: {}", found.out);
        assert_eq!(listed(&path), before, "{signal}");
        assert_eq!(std::fs::read_to_string(path.join("out.csv")).unwrap(), "old");
    }
    let found = run(&path, "predict u.json d.csv --out out.csv");
    assert_eq!(found.code, 0, "{}", found.err);
    assert_eq!(listed(&path), before);
    let text = std::fs::read_to_string(path.join("out.csv")).unwrap();
    assert!(text.starts_with("g,a,y,p_c,p_d\n") && text.lines().count() == 300_001);
}

const DESCENT: &str =
    "learn s.toml --policy groups:g --method bsgd --steps 100000 --batch 300 --no-honest";

/// A run stopped in a folder; the state's file that the message names.
fn stopped(there: &Path, words: &str) -> (Run, PathBuf) {
    let mut child = started(there, words);
    assert!(has_worked(&mut child, 100), "{words}: it ended by itself");
    let (code, found) = signalled(child, "-INT");
    assert_eq!(code, Some(130), "{}", found.err);
    let state = found.err.trim_end().rsplit(' ').next().unwrap();
    let state = there.join(state);
    (found, state)
}

#[test]
fn a_finished_resume_leaves_no_state_in_the_way() {
    let there = study(3);
    let path = there.path();
    let words = format!("{DESCENT} --out p.json");
    let (_, state) = stopped(path, &words);
    assert!(state.ends_with("p.json.state") && state.exists());
    let fresh = run(path, &words);
    assert!(fresh.code == 2 && fresh.err.contains("go on from it with --resume"), "{}", fresh.err);
    let rest = run(path, &format!("{words} --resume p.json.state"));
    assert_eq!(rest.code, 0, "{}", rest.err);
    assert!(rest.out.contains("The run is finished, and its state p.json.state removed."));
    assert!(!state.exists());
    let short = words.replace("100000", "100");
    assert_eq!(run(path, &short).code, 0);
}

#[test]
fn a_policy_that_cannot_be_written_is_not_lost() {
    let there = study(3);
    let path = there.path();
    // The folder goes while the run is on.
    std::fs::create_dir(path.join("gone")).unwrap();
    let mut child = started(path, &format!("{DESCENT} --out gone/p.json"));
    assert!(has_worked(&mut child, 100), "it ended by itself");
    std::fs::remove_dir_all(path.join("gone")).unwrap();
    let (code, found) = signalled(child, "-INT");
    assert_eq!(code, Some(130), "{}", found.err);
    assert!(found.err.lines().count() == 1 && found.err.contains("cannot be written"));
    assert!(found.out.contains("Worst case") && !found.out.contains("The policy is in"));
    let named = |before: &str, after: char| {
        let rest = found.err.split(before).nth(1).unwrap();
        PathBuf::from(rest.split([after, '\n']).next().unwrap())
    };
    let policy = named("instead the policy is in ", ';');
    assert!(std::fs::read_to_string(&policy).unwrap().contains("seawall-policy"));
    let state = named("--resume ", '\n');
    let words = format!("{DESCENT} --out p.json --resume {}", state.display());
    let rest = run(path, &words);
    assert_eq!(rest.code, 0, "{}", rest.err);
    assert!(!state.exists());
    std::fs::remove_file(policy).unwrap();
    // A folder in which nothing can be made, not even by root: the state goes elsewhere.
    let nowhere = Path::new("/sys/kernel");
    if cfg!(target_os = "linux") && nowhere.is_dir() {
        let study = path.join("s.toml");
        let words = DESCENT.replace("s.toml", study.to_str().unwrap());
        let (found, state) = stopped(nowhere, &words);
        assert!(found.err.contains("instead the policy is in "), "{}", found.err);
        assert!(state.is_absolute() && state.exists());
        std::fs::remove_file(state).unwrap();
        let policy = found.err.split("instead the policy is in ").nth(1).unwrap();
        std::fs::remove_file(policy.split(';').next().unwrap()).unwrap();
        // What is asked for by name is refused before the work.
        let refused = run(nowhere, &format!("{words} --out p.json"));
        assert!(refused.code == 2 && refused.err.contains("p.json: cannot be written"));
    }
}

#[test]
fn long_searches_stop_when_told() {
    let there = study(20_000);
    // Hundredths of a second of work, well within what each search takes: seconds and minutes.
    for (policy, works) in [("softmax", [40, 150]), ("tree:2", [150, 600])] {
        for work in works {
            let words = format!("learn s.toml --policy {policy} --support observed");
            let mut child = started(there.path(), &words);
            assert!(has_worked(&mut child, work), "{policy} ended by itself before {work}");
            // What it prints is read as it comes: a full pipe would hold it up.
            let out = read_all(child.stdout.take().unwrap());
            let err = read_all(child.stderr.take().unwrap());
            let id = child.id();
            let sent = Command::new("kill").args(["-INT", &id.to_string()]).status().unwrap();
            assert!(sent.success());
            // It ends before it has done a few seconds' work more.
            assert!(!has_worked(&mut child, work + 500), "{policy} went on after {work}");
            let status = child.wait().unwrap();
            let (_, err) = (out.join().unwrap(), err.join().unwrap());
            assert_eq!(status.code(), Some(130), "{policy}: {err}");
        }
    }
}
