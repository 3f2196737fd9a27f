//! What a study file or its data can get wrong, each with the line or the row it is on.
#![allow(clippy::unwrap_used, clippy::panic)]

use seawall::Watch;
use seawall_study::study::study;
use seawall_table::count::{Counted, count};

const STUDY: &str = r#"[data]
path = "t.csv"
where = { keep = "y" }

[context]
age  = { kind = "numeric", bin = 10 }
site = { kind = "ordinal", levels = ["north", "south"] }

[action]
treat   = { drug = "A" }
control = { drug = ["B", "C"] }

[outcome]
cost = { events = 1, died = { Y = 3 } }
missing = { died = 0 }

[model]
kind = "tree"
max_depth = 2
min_samples_leaf = { treat = 1 }

[robust]
context = { set = "wasserstein", radius = [0.1, 0.2] }
"#;

const DATA: &str = "age,site,drug,events,died,keep
31,north,A,1,N,y
47,south,B,0,Y,y
52,south,C,2,,y
33,north,D,0,N,y
90,north,A,0,N,n
";

fn read(toml: &str, data: &str) -> seawall::Result<Counted> {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("study.toml"), toml).unwrap();
    std::fs::write(folder.path().join("t.csv"), data).unwrap();
    let study = study(&folder.path().join("study.toml"))?;
    count(&study.data, Watch::NOBODY)
}

#[test]
fn a_small_study_is_counted() {
    let found = read(STUDY, DATA).unwrap();
    let log = &found.log;
    assert_eq!((found.rows, found.filtered, found.no_action), (5, 1, 1));
    assert_eq!(log.total(), 3.0);
    assert_eq!(log.actions(), ["treat", "control"]);
    // Ages 31, 47, 52 in bins of 10: 35, 45, 55; two sites. Age 90 was left out.
    assert_eq!(log.contexts().len(), 3 * 2);
    assert_eq!(log.contexts().describe(0), "age=35, site=north");
    // Events 0, 1, 2 and dead or not.
    assert_eq!(log.outcomes().len(), 6);
    let mut costs: Vec<f64> = log.entries().iter().map(|e| log.value(e)).collect();
    costs.sort_by(f64::total_cmp);
    assert_eq!(costs, [1.0, 2.0, 3.0]);
}

#[test]
fn what_is_wrong_with_a_study_is_named_by_line() {
    for (find, put, words) in [
        ("path = \"t.csv\"", "path = ", &["line 2"][..]),
        ("path = ", "pth = ", &["line 1", "data.path"]),
        ("where = ", "wher = ", &["line 3", "\"wher\"", "did you mean \"where\""]),
        ("[robust]", "[robst]", &["line 22", "\"robst\"", "did you mean \"robust\""]),
        ("\"ordinal\"", "\"ordinl\"", &["line 7", "did you mean \"ordinal\""]),
        ("bin = 10", "bin = -1", &["line 6", "-1"]),
        ("bin = 10", "levels = [1, 2]", &["line 6", "bin it"]),
        ("radius = [0.1, 0.2]", "radius = [0.1, -2]", &["line 23", "-2"]),
        ("\"wasserstein\", radius", "\"entropic\", radius", &["line 23", "eta"]),
        ("{ treat = 1 }", "{ treet = 1 }", &["line 20", "treat, control"]),
        ("max_depth = 2", "max_depth = 2.5", &["line 19", "whole number"]),
        ("cost = ", "costs = ", &["[outcome]"]),
        ("control = { drug = [\"B\", \"C\"] }\n", "", &["line 9", "two or more"]),
    ] {
        assert!(STUDY.contains(find), "{find}");
        let error = read(&STUDY.replacen(find, put, 1), DATA).unwrap_err();
        assert!(error.is_config(), "{error}");
        for word in words {
            assert!(error.to_string().contains(word), "{put}: {word:?} is not in {error}");
        }
    }
}

#[test]
fn what_is_wrong_with_the_data_is_named_by_row() {
    for (toml, data, words) in [
        (("", ""), ("south,B", "suoth,B"), &["row 2", "\"site\"", "did you mean \"south\""][..]),
        (("", ""), ("47,south", ",south"), &["row 2", "\"age\"", "missing = true"]),
        (("", ""), ("47,south", "old,south"), &["row 2", "\"age\"", "\"old\"", "not a number"]),
        (("[\"B\", \"C\"]", "[\"A\", \"C\"]"), ("", ""), &["row 1", "treat", "control"]),
        (("\"A\"", "\"Z\""), ("", ""), &["no row", "treat"]),
        (("keep = \"y\"", "keep = \"x\""), ("", ""), &["none of 5 rows", "5 do not meet"]),
        (("", ""), ("B,0,Y", "B,few,Y"), &["\"events\"", "\"few\"", "not a number"]),
        (("site = ", "sit = "), ("", ""), &["line 7", "\"sit\"", "did you mean \"site\""]),
    ] {
        let error = read(&STUDY.replacen(toml.0, toml.1, 1), &DATA.replacen(data.0, data.1, 1));
        let error = error.unwrap_err();
        for word in words {
            assert!(error.to_string().contains(word), "{word:?} is not in {error}");
        }
    }
    let by_column = STUDY.replace(
        "treat   = { drug = \"A\" }\ncontrol = { drug = [\"B\", \"C\"] }",
        "column = \"drug\"\npropensity = \"events\"",
    );
    let by_column = by_column.replace("{ treat = 1 }", "1");
    let error = read(&by_column, DATA).unwrap_err().to_string();
    assert!(error.contains("row 2") && error.contains("propensity above 0"), "{error}");
}

#[test]
fn a_file_that_changes_while_it_is_read_is_refused() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    let data = folder.path().join("t.csv");
    std::fs::write(&data, DATA).unwrap();
    let study = study(&folder.path().join("study.toml")).unwrap();
    let grown = std::sync::atomic::AtomicBool::new(false);
    let grow = |_: seawall::Progress<'_>| {
        // Once: a file that grows as fast as it is read never ends.
        if grown.swap(true, std::sync::atomic::Ordering::Relaxed) {
            return true;
        }
        let mut file = std::fs::OpenOptions::new().append(true).open(&data).unwrap();
        std::io::Write::write_all(&mut file, b"31,north,A,1,N,y\n").unwrap();
        true
    };
    let error = count(&study.data, Watch::new(&grow)).unwrap_err().to_string();
    assert!(error.contains("t.csv") && error.contains("changed while it was read"), "{error}");
}
