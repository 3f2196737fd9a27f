//! Faults: a disk that is full, a file that is denied or cut off, a program that is killed or
//! interrupted, at every call that touches a file. After each: no output in part, the old file whole,
//! the right exit code, one line.
//!
//! Calls are broken by a library that is built here and loaded into the program (common/faults.c), so these tests
//! are for Linux. What came of each is printed as a table (`--nocapture`), which docs/measured.md quotes. Reading,
//! standard output and interrupts are in `faults_reading`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{self, STUDY, folder};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;

/// The library, built once; None (said loudly) where there is no C compiler. In CI there must be.
pub(crate) fn library() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/faults.c");
        let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults.so");
        let flags = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"];
        let status = Command::new("cc").args(flags).arg(&built).arg(source).status();
        match status {
            Ok(status) => assert!(status.success(), "the library does not compile"),
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "cc: {error}");
                eprintln!("SKIPPED: faults need a C compiler (cc: {error})");
                return None;
            }
        }
        Some(built)
    };
    BUILT.get_or_init(build).as_deref()
}

/// What a broken run left.
pub(crate) struct Broken {
    pub(crate) output: Output,
    /// The calls that were counted: what each was.
    pub(crate) calls: Vec<String>,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// What went to the folder of temporary files.
    saved: BTreeMap<String, Vec<u8>>,
}

impl Broken {
    pub(crate) fn err(&self) -> String {
        String::from_utf8(self.output.stderr.clone()).unwrap()
    }
}

pub(crate) fn files_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            found.insert(name, std::fs::read(path).unwrap());
        }
    }
    found
}

/// Runs the program in a folder with these files and one broken call.
pub(crate) fn broken(files: &[(&str, &[u8])], args: &str, fault: &str) -> Broken {
    let (there, aside) = (folder(files), TempDir::new().unwrap());
    let log = aside.path().join("log");
    let temporary = aside.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_seawall"))
        .current_dir(there.path())
        .args(["--threads", "1"])
        .args(args.split_whitespace())
        .env("LD_PRELOAD", library().unwrap())
        .env("FAULT", fault)
        .env("FAULT_LOG", &log)
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    let told = std::fs::read_to_string(log).unwrap_or_default();
    let what = |line: &str| line.split_once(' ').unwrap().1.to_owned();
    let calls = told.lines().map(what).collect();
    Broken { output, calls, files: files_of(there.path()), saved: files_of(&temporary) }
}

pub(crate) const UNIFORM: &str = r#"{"format":"seawall-policy","version":1,"name":"u","actions":["A","B"],
"features":[],"rule":{"kind":"uniform"}}"#;

pub(crate) fn rows(count: usize) -> Vec<[String; 6]> {
    let row = |k: usize| {
        let words = [["north", "south"][k / 2 % 2], ["A", "B"][k % 2]].map(str::to_owned);
        let died = if k.is_multiple_of(5) { "Y" } else { "N" };
        let [site, arm] = words;
        [(20 + k * 7 % 60).to_string(), site, arm, "0.5".into(), (k % 3).to_string(), died.into()]
    };
    (0..count).map(row).collect()
}

pub(crate) fn csv(count: usize) -> Vec<u8> {
    let rows = rows(count).iter().map(|row| row.join(",") + "\n").collect::<String>();
    format!("age,site,arm,p,events,died\n{rows}").into_bytes()
}

/// A command that writes.
struct Writes {
    name: &'static str,
    args: &'static str,
    /// Its files, where they may be there before.
    outputs: &'static [&'static str],
    faults: &'static [&'static str],
}

const EVERY: &[&str] =
    &["KILL", "TERM", "INT", "ENOSPC", "ENOSPC+", "short", "EIO", "EACCES", "EACCES+"];
const FEW: &[&str] = &["KILL", "ENOSPC+"];

const WRITES: &[Writes] = &[
    Writes {
        name: "report",
        args: "report s.toml --out o.html",
        outputs: &["o.html"],
        faults: EVERY,
    },
    Writes {
        name: "learn",
        args: "learn s.toml --policy groups:site --out o.json",
        outputs: &["o.json"],
        faults: EVERY,
    },
    Writes {
        name: "learn, traced",
        args: "learn s.toml --policy groups:site --method bsgd --steps 200 --no-honest --out o.json \
               --trace o.csv",
        outputs: &["o.json", "o.csv", "o.svg"],
        faults: EVERY,
    },
    Writes {
        name: "predict",
        args: "predict u.json t.csv --out o.csv",
        outputs: &["o.csv"],
        faults: EVERY,
    },
    Writes {
        name: "init",
        args: "init t.csv --action arm --cost events --out o.toml",
        outputs: &[],
        faults: EVERY,
    },
    Writes {
        name: "completions",
        args: "completions bash --folder .",
        outputs: &["seawall.bash", "seawall.1", "seawall-learn.1"],
        faults: FEW,
    },
    Writes {
        name: "evaluate",
        args: "evaluate s.toml --curve o.csv --worst w.csv --splits 0",
        outputs: &["o.csv", "w.csv"],
        faults: EVERY,
    },
    Writes {
        name: "bound",
        args: "bound t.csv --value events --context age:numeric --radius 0.1 --curve o.csv --plan \
               w.csv",
        outputs: &["o.csv", "w.csv"],
        faults: EVERY,
    },
    Writes { name: "count", args: "count s.toml --out o.csv", outputs: &["o.csv"], faults: EVERY },
    Writes {
        name: "count, Parquet",
        args: "count s.toml --out o.parquet",
        outputs: &["o.parquet"],
        faults: EVERY,
    },
    Writes {
        name: "describe",
        args: "describe s.toml --out o.toml",
        outputs: &["o.toml"],
        faults: EVERY,
    },
    Writes { name: "demo", args: "demo --folder d", outputs: &[], faults: EVERY },
];

fn kind_of(call: &str) -> &'static str {
    let kinds = ["make nameless", "make folder", "write", "sync", "name", "move", "remove"];
    let kind = kinds.into_iter().find(|kind| call.starts_with(kind));
    kind.unwrap_or_else(|| panic!("{call}"))
}

/// Which calls are broken: the first and the last of every kind, and all of them where every case is taken.
pub(crate) fn taken<'k>(kinds: &[&'k str]) -> Vec<(usize, &'k str)> {
    let every = common::cases::all();
    let ends = |(at, kind): &(usize, &'k str)| {
        every || !kinds[..*at].contains(kind) || !kinds[at + 1..].contains(kind)
    };
    kinds.iter().copied().enumerate().filter(ends).collect()
}

/// How often each fault at each kind of call came to what.
type Matrix = BTreeMap<(String, String), BTreeMap<&'static str, usize>>;

/// What a broken run came to; panics if it came to what it must not.
fn judged(
    command: &Writes,
    fault: &str,
    call: &str,
    before: &BTreeMap<String, Vec<u8>>,
    after: &BTreeMap<String, Vec<u8>>,
    found: &Broken,
) -> &'static str {
    let err = found.err();
    let told = || format!("{}: {fault} at {call}: {:?} {err:?}", command.name, found.output.status);
    let one_line = err.lines().count() == 1 && err.starts_with("error: ");
    let (mut old, mut new, mut beside) = (0, 0, 0);
    for (name, bytes) in &found.files {
        match (before.get(name), after.get(name)) {
            (Some(was), Some(is)) if was == is => assert_eq!(bytes, is, "{name}: {}", told()),
            (Some(was), _) if was == bytes => old += 1,
            (_, Some(is)) if is == bytes => new += 1,
            // Stopped while it learned: what there was by then, whole.
            (_, Some(_)) if err.contains("the best policy so far") && bytes.ends_with(b"\n") => {
                new += 1;
            }
            (None, None) => {
                // A name for a moment, of a file that is whole.
                let whole = after.values().any(|is| is == bytes);
                assert!(name.contains(".tmp") && whole, "{name} is left: {}", told());
                beside += 1;
            }
            _ => panic!("{name} is neither the old nor the new: {}", told()),
        }
    }
    let made = after.keys().filter(|name| !before.contains_key(*name));
    let missing = made.filter(|name| !found.files.contains_key(*name)).count();
    let nothing = new == 0;
    let all = old == 0 && missing == 0;
    match (fault, found.output.status.code(), found.output.status.signal()) {
        ("KILL", None, Some(9)) | ("TERM", None, Some(15)) => {
            let naming = matches!(call, "name" | "move");
            assert!(beside == 0 || naming, "left behind: {}", told());
            match (beside, nothing, all) {
                (1.., _, _) => "killed; each file old or new, those to be moved beside them, whole",
                (_, true, _) => "killed; nothing written",
                (_, _, true) => "killed; all written",
                _ => "killed; each file old or new",
            }
        }
        ("INT", Some(130), None) => {
            assert!(one_line && err.contains("interrupted") && beside == 0, "{}", told());
            assert!(nothing || all || command.name == "demo", "{}", told());
            if all { "130; all written" } else { "130; nothing written" }
        }
        // It was done before the signal was looked at.
        ("INT", Some(0), None) => {
            assert!(err.is_empty() && all && beside == 0, "{}", told());
            "0; all written"
        }
        ("KILL" | "TERM" | "INT", ..) => panic!("{}", told()),
        (_, Some(0), None) => {
            assert!(err.is_empty() && all && beside == 0, "{}", told());
            "0; all written in another way"
        }
        (_, Some(2), None) => {
            assert!(one_line && err.contains("cannot be "), "{}", told());
            // Names that last for a moment are nobody's business.
            assert!(!err.contains(" at path "), "{}", told());
            // Who may change nothing any more cannot tidy up.
            let denied = fault == "EACCES+" && matches!(call, "name" | "move");
            assert!(beside == 0 || denied, "left behind: {}", told());
            if beside > 0 {
                return "2; one line, the old files, the new ones beside them, whole";
            }
            let partly = err.contains("; already written: ");
            assert!(nothing || partly || command.name == "demo", "{}", told());
            if command.name.starts_with("learn") && call != "make nameless" {
                let printed = String::from_utf8_lossy(&found.output.stdout);
                let text = |v: &Vec<u8>| String::from_utf8_lossy(v).into_owned();
                let kept = found.saved.values().any(|v| text(v).contains("seawall-policy"));
                let named = err.contains("instead the policy is ");
                assert!(named && (kept || printed.contains("seawall-policy")), "{}", told());
                return "2; one line, the old files, the policy elsewhere";
            }
            if partly {
                "2; one line, which says which files are new"
            } else {
                "2; one line, the old files"
            }
        }
        _ => panic!("{}", told()),
    }
}

#[test]
fn every_call_that_writes_may_fail() {
    if library().is_none() {
        return;
    }
    let data = csv(40);
    let inputs: [(&str, &[u8]); 3] =
        [("s.toml", STUDY.as_bytes()), ("t.csv", &data), ("u.json", UNIFORM.as_bytes())];
    let mut matrix: Matrix = BTreeMap::new();
    let mut points = 0;
    for command in WRITES {
        let there: Vec<&[&str]> =
            if command.outputs.is_empty() { vec![&[]] } else { vec![&[], command.outputs] };
        for outputs in there {
            let mut files = inputs.to_vec();
            files.extend(outputs.iter().map(|name| (*name, b"old".as_slice())));
            let owned = |(name, bytes): &(&str, &[u8])| ((*name).to_owned(), bytes.to_vec());
            let before: BTreeMap<String, Vec<u8>> = files.iter().map(owned).collect();
            let whole = broken(&files, command.args, "change:0:none");
            assert_eq!(whole.output.status.code(), Some(0), "{}", whole.err());
            assert!(whole.calls.len() >= 4, "{}: {:?}", command.name, whole.calls);
            let kinds: Vec<&str> = whole.calls.iter().map(|call| kind_of(call)).collect();
            for (at, call) in taken(&kinds) {
                for fault in command.faults {
                    let found = broken(&files, command.args, &format!("change:{}:{fault}", at + 1));
                    let came = judged(command, fault, call, &before, &whole.files, &found);
                    let cell = matrix.entry(((*fault).to_owned(), (*call).to_owned())).or_default();
                    *cell.entry(came).or_default() += 1;
                    points += 1;
                }
            }
        }
    }
    println!("{points} broken runs of {} commands", WRITES.len());
    println!("| fault | at | came to (runs) |\n|---|---|---|");
    for ((fault, call), came) in matrix {
        let came: Vec<String> = came.iter().map(|(what, n)| format!("{what} ({n})")).collect();
        println!("| {fault} | {call} | {} |", came.join("; "));
    }
}

#[test]
fn counts_that_go_to_temporary_files_may_fail() {
    if library().is_none() {
        return;
    }
    // Few contexts that recur: counting goes beyond what is allowed, and the counts do not.
    let mut data = "x,z,b,arm,y\n".to_owned();
    for k in 0..30_000u64 {
        let point = k * 7919 % 29_989;
        let (x, z, b) = (point as f64 / 7.0, point * 31 % 10_007, point as f64 / 900.0);
        data += &format!("{x},{z},{b},{},{}\n", k / 7 % 2, k / 11 % 3);
    }
    let study = "[data]\npath = \"t.csv\"\n[context]\nx = \"numeric\"\nz = \"numeric\"\nb = \
                 \"numeric\"\n[action]\ncolumn = \"arm\"\n[outcome]\ncost = \"y\"\n[model]\nkind = \
                 \"tree\"\nmax_depth = 2\n";
    let files: [(&str, &[u8]); 2] = [("s.toml", study.as_bytes()), ("t.csv", data.as_bytes())];
    let args = "--memory 6MB check s.toml";
    let whole = broken(&files, args, "change:0:none");
    assert_eq!(whole.output.status.code(), Some(0), "{}", whole.err());
    let to_temporary = whole.calls.iter().position(|call| call.contains("/#"));
    let to_temporary = to_temporary.unwrap_or_else(|| panic!("{:?}", whole.calls));
    for at in [1, 2, to_temporary + 1, to_temporary + 2] {
        for fault in ["ENOSPC+", "EIO+", "KILL"] {
            let found = broken(&files, args, &format!("change:{at}:{fault}"));
            let (code, err) = (found.output.status.code(), found.err());
            match fault {
                "KILL" => assert_eq!(code, None),
                _ => {
                    assert!(code == Some(2) && err.lines().count() == 1, "{at}: {err}");
                    assert!(err.contains("set TMPDIR to another folder"), "{at}: {err}");
                }
            }
            assert!(found.files.len() == 2 && found.saved.is_empty(), "{at}");
        }
    }
}
