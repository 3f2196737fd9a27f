//! Faults in reading, on standard output, and interrupts: see `faults`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{self, STUDY, folder};
use crate::faults::*;
use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

fn parquet(count: usize) -> Vec<u8> {
    use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    use parquet::file::properties::WriterProperties;
    let rows = rows(count);
    let text = |c: usize| -> ArrayRef {
        std::sync::Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row[c])))
    };
    let number = |c: usize| -> ArrayRef {
        let parsed = rows.iter().map(|row| row[c].parse::<f64>().unwrap());
        std::sync::Arc::new(Float64Array::from_iter_values(parsed))
    };
    let columns = [
        ("age", number(0)),
        ("site", text(1)),
        ("arm", text(2)),
        ("p", number(3)),
        ("events", number(4)),
        ("died", text(5)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let settings = WriterProperties::builder().set_max_row_group_row_count(Some(500)).build();
    let mut bytes = Vec::new();
    let writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), Some(settings));
    let mut writer = writer.unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn lines(count: usize) -> Vec<u8> {
    let line = |row: &[String; 6]| {
        let [age, site, arm, p, events, died] = row;
        format!(
            "{{\"age\":{age},\"site\":{site:?},\"arm\":{arm:?},\"p\":{p},\"events\":{events},\
             \"died\":{died:?}}}\n"
        )
    };
    rows(count).iter().map(line).collect::<String>().into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[test]
fn every_call_that_reads_may_fail_and_files_may_be_cut_off() {
    if library().is_none() {
        return;
    }
    let count = 1500;
    let evaluate = "evaluate s.toml --splits 0 --json";
    let read: [(&str, Vec<u8>, &str); 7] = [
        ("t.csv", csv(count), evaluate),
        ("t.csv.gz", gzip(&csv(count)), evaluate),
        ("t.jsonl.zst", zstd::encode_all(&*lines(count), 3).unwrap(), evaluate),
        ("t.jsonl", lines(count), evaluate),
        ("t.parquet", parquet(count), evaluate),
        ("t.csv", csv(count), "predict u.json t.csv"),
        (
            "t.csv",
            csv(count),
            "bound t.csv --value events --context age:numeric --radius 0.1 --json",
        ),
    ];
    println!(
        "| read | fault | calls | refused | as if cut before | as if not cut |\n|---|---|---|---|---|---|"
    );
    for (name, bytes, args) in read {
        let study = STUDY.replace("t.csv", name);
        let policy = UNIFORM.as_bytes();
        let files: [(&str, &[u8]); 3] =
            [("s.toml", study.as_bytes()), (name, &bytes), ("u.json", policy)];
        let whole = broken(&files, args, "read:0:none");
        assert_eq!(whole.output.status.code(), Some(0), "{}", whole.err());
        for fault in ["EIO", "EACCES", "cut"] {
            let (mut refused, mut short, mut as_ever) = (0, 0, 0);
            // What is done, and to which file.
            for (at, call) in taken(&whole.calls.iter().map(|c| &**c).collect::<Vec<_>>()) {
                let file = call.rsplit(['/', ' ']).next().unwrap();
                let found = broken(&files, args, &format!("read:{}:{fault}", at + 1));
                let (code, err) = (found.output.status.code(), found.err());
                let told = || format!("{name}: {fault} at {call}: {code:?} {err:?}");
                if code == Some(2) {
                    let named = err.starts_with("error: ") && err.contains(file);
                    assert!(named && err.lines().count() == 1, "{}", told());
                    assert!(found.output.stdout.is_empty(), "{}", told());
                    refused += 1;
                    continue;
                }
                assert!(code == Some(0) && err.is_empty(), "{}", told());
                // What was only looked at ahead is read again.
                if found.output.stdout == whole.output.stdout {
                    as_ever += 1;
                    continue;
                }
                // What is cut off before anybody looked is a shorter file.
                assert!(fault == "cut", "{}", told());
                let cut: Vec<(&str, &[u8])> =
                    found.files.iter().map(|(n, b)| (&**n, &**b)).collect();
                let again = broken(&cut, args, "read:0:none");
                assert_eq!(again.output.stdout, found.output.stdout, "{}", told());
                short += 1;
            }
            let calls = refused + short + as_ever;
            assert!(refused > 0);
            println!(
                "| {name} ({}) | {fault} | {calls} | {refused} | {short} | {as_ever} |",
                &args[..5]
            );
        }
    }
}

/// Runs a line of a shell in a folder; `$SEAWALL` is the program.
fn shell(there: &Path, line: &str) -> Output {
    let mut command = Command::new("bash");
    command.current_dir(there).args(["-c", line]);
    command.env("SEAWALL", env!("CARGO_BIN_EXE_seawall")).output().unwrap()
}

#[test]
fn standard_output_may_be_full_or_gone() {
    let data = csv(40);
    let files: [(&str, &[u8]); 3] =
        [("s.toml", STUDY.as_bytes()), ("t.csv", &data), ("u.json", UNIFORM.as_bytes())];
    let full = "error: standard output: No space left on device (os error 28)\n";
    for args in [
        "check s.toml",
        "check s.toml --json",
        "evaluate s.toml --splits 0",
        "learn s.toml --policy groups:site",
        "predict u.json t.csv",
        "predict u.json t.csv --out o.csv",
        "report s.toml --out o.html",
        "explain u.json",
        "explain s.toml",
        "describe s.toml",
        "sql s.toml",
        "count s.toml --out o.csv",
        "bound t.csv --value events --context age:numeric --radius 0.1",
        "distance t.csv t.csv --context age:numeric",
        "radius s.toml --splits 5",
        "transport s.toml --target-facts age:mean=50",
        "sensitivity s.toml --set kl --set tv",
        "init t.csv --action arm --cost events --out o.toml",
        "completions bash --print",
        "completions bash --folder .",
        "--help",
        "--version",
        "evaluate --help",
    ] {
        for (how, code, words) in [
            ("> /dev/full", 1, full),
            (">&-", 0, ""),
            ("| head -c 1 > o.txt; exit ${PIPESTATUS[0]}", 0, ""),
        ] {
            let there = folder(&files);
            let found = shell(there.path(), &format!("\"$SEAWALL\" --threads 1 {args} {how}"));
            let err = String::from_utf8(found.stderr).unwrap();
            assert_eq!((found.status.code(), err.as_str()), (Some(code), words), "{args} {how}");
        }
    }
}

#[test]
fn a_file_may_be_larger_than_is_allowed() {
    let data = csv(2000);
    let there = folder(&[("u.json", UNIFORM.as_bytes()), ("t.csv", &data), ("o.csv", b"old")]);
    let before = files_of(there.path());
    let line = "ulimit -f 8; exec \"$SEAWALL\" predict u.json t.csv --out o.csv";
    let found = shell(there.path(), &format!("trap '' XFSZ; {line}"));
    let err = String::from_utf8(found.stderr).unwrap();
    assert!(found.status.code() == Some(2) && err.lines().count() == 1, "{err}");
    assert!(err.contains("o.csv: cannot be written: File too large"), "{err}");
    assert_eq!(files_of(there.path()), before);
    // Without the trap the system ends the program.
    assert_eq!(shell(there.path(), line).status.code(), None);
    assert_eq!(files_of(there.path()), before);
}

fn begun(there: &Path, args: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_seawall"))
        .current_dir(there)
        .args(args.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn interrupts_at_many_moments_leave_nothing_half_done() {
    let data = csv(3000);
    let there = folder(&[
        ("s.toml", STUDY.as_bytes()),
        ("t.csv", &data),
        ("o.html", b"old"),
        ("o.csv", b"old"),
        ("w.csv", b"old"),
    ]);
    let path = there.path();
    let names: BTreeSet<String> = files_of(path).into_keys().collect();
    let mut stopped = 0;
    for args in ["report s.toml --out o.html", "evaluate s.toml --curve o.csv --worst w.csv"] {
        let clock = Instant::now();
        assert_eq!(common::run(path, args).code, 0);
        let took = clock.elapsed();
        let whole = files_of(path);
        for moment in 0..12 {
            for name in ["o.html", "o.csv", "w.csv"] {
                std::fs::write(path.join(name), "old").unwrap();
            }
            // Moments are spread over the run; which they are exactly does not matter.
            let child = begun(path, args);
            std::thread::sleep(took * moment / 12);
            interrupt(&child);
            let found = child.wait_with_output().unwrap();
            let err = String::from_utf8(found.stderr).unwrap();
            match (found.status.code(), found.status.signal()) {
                (Some(130), _) => {
                    assert_eq!(err, "error: interrupted\n");
                    stopped += 1;
                }
                // Before it looked out, or after it was done.
                (None, Some(2)) | (Some(0), _) => assert_eq!(err, ""),
                other => panic!("{args}: {other:?}: {err}"),
            }
            let after = files_of(path);
            assert_eq!(after.keys().cloned().collect::<BTreeSet<String>>(), names, "{args}");
            for (name, bytes) in after {
                assert!(bytes == b"old" || bytes == whole[&name], "{args}: {name} in part");
            }
        }
    }
    assert!(stopped >= 6, "only {stopped} runs were interrupted");
}

#[test]
fn a_large_grid_stops_when_told() {
    let mut data = "a,b,c,d,e,arm,y\n".to_owned();
    let mut random = 1u64;
    let mut next = |below: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for k in 0..5000 {
        (0..5).for_each(|_| data += &format!("{},", next(20)));
        data += &format!("{},{}\n", ["C", "T"][k % 2], next(1000));
    }
    let columns = ["a", "b", "c", "d", "e"]
        .map(|c| format!("{c} = {{ kind = \"numeric\", bin = 1, min = 0, max = 20 }}\n"));
    let study = format!(
        "[data]\npath = \"t.csv\"\n[context]\n{}[action]\ncolumn = \"arm\"\n[outcome]\ncost = \"y\"\n\
         [propensity]\ndesign = {{ C = 0.5, T = 0.5 }}\n[model]\nkind = \"tree\"\nmin_samples_leaf = \
         100\n[robust]\ncontext = {{ set = \"wasserstein\", radius = 0.05 }}\n",
        columns.concat()
    );
    let there = folder(&[("s.toml", study.as_bytes()), ("t.csv", data.as_bytes())]);
    // Hundredths of a second of work, and how many more at most after it is told to stop.
    for (policy, works) in [("groups:a", [200, 500, 800]), ("tree:2", [300, 600, 900])] {
        for work in works {
            let args = format!("learn s.toml --policy {policy} --no-honest");
            let mut child = begun(there.path(), &args);
            if common::has_worked(&mut child, work) {
                interrupt(&child);
                let more = common::has_worked(&mut child, work + 1000);
                assert!(!more, "{policy} went on after {work}");
            }
            let found = child.wait_with_output().unwrap();
            let code = found.status.code();
            assert!(matches!(code, Some(130 | 0)), "{:?}", String::from_utf8(found.stderr));
        }
    }
}
