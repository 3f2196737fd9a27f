//! `seawall sensitivity` on words, scales, the report and the stroke trial.

use crate::common::{folder, json, run, shared};
use crate::compare_sets::*;
use std::fmt::Write;
use std::path::PathBuf;

#[test]
fn levels_that_are_words_are_named_by_the_one_that_gains() {
    let mut log = "stage,arm,y\n".to_owned();
    for k in 0..300 {
        let stage = k % 3;
        let y = (stage * stage) as f64 + ((k * 37) % 23) as f64 / 23.0;
        writeln!(log, "{},{},{y}", ["I", "II", "III"][stage], ["a", "b"][(k / 3) % 2]).unwrap();
    }
    let study = STUDY.replace(
        "age = { kind = \"numeric\", bin = 10, min = 30, max = 90 }\nsex = { kind = \"nominal\", levels = [\"F\", \"M\"] }",
        "stage = { kind = \"ordinal\", levels = [\"I\", \"II\", \"III\"] }",
    );
    let there = folder(&[("study.toml", study.as_bytes()), ("log.csv", log.as_bytes())]);
    let found = json(there.path(), "sensitivity study.toml --set kl --set wasserstein --json");
    for set in answered(&found) {
        assert_eq!(set["fears"], "more stage = III", "{set}");
    }
}

#[test]
fn a_radius_is_told_in_the_scale_of_the_study() {
    let there = there();
    let path = there.path();
    let spread = STUDY.replace("[context]\n", "[context]\nscale = \"spread\"\n");
    std::fs::write(path.join("spread.toml"), spread).unwrap();
    for (study, own, other) in [
        ("study.toml", "across the whole range", "drawn at random"),
        ("spread.toml", "drawn at random", "across the whole range"),
    ] {
        let sets = "--set sinkhorn --set wasserstein --set joint-wasserstein --set kl";
        let found = json(path, &format!("sensitivity {study} {sets} --json"));
        let away: Vec<&str> =
            list(&found["sets"]).iter().map(|s| s["away"].as_str().unwrap()).collect();
        assert!(away[..3].iter().all(|a| a.contains(own) && !a.contains(other)), "{away:?}");
        assert!(!away[3].contains(own) && !away[3].contains(other), "{away:?}");
        // What is the set's own is not hidden by the scale.
        assert!(away[0].contains("spread over") && away[2].contains("kappa"), "{away:?}");
    }
}

#[test]
fn the_report_has_the_sets_where_they_are_asked_for() {
    let there = there();
    let path = there.path();
    let page = |words: &str| {
        let found = run(path, &format!("report study.toml --no-learn --splits 0 {words}"));
        assert_eq!((found.code, found.err.as_str()), (0, ""), "{words}");
        std::fs::read_to_string(path.join("report.html")).unwrap()
    };
    assert!(!page("").contains("Other kinds of shift"));
    let shown = page("--compare --target target.csv");
    let said = json(path, "sensitivity study.toml --target target.csv --json");
    let sentence = said["agreement"]["sentences"][0].as_str().unwrap();
    assert!(shown.contains("Other kinds of shift") && shown.contains(sentence), "{sentence}");
    let noise = said["on_log"]["sentence"].as_str().unwrap();
    assert!(shown.contains(noise) && shown.contains("best as fitted"), "{noise}");
    for set in answered(&said) {
        let value = seawall_study::words::short(number(&set["policies"][1]["value"]));
        assert!(shown.contains(&format!("<td>{value}</td>")), "{set}");
    }
}

#[test]
fn the_stroke_trial_covers_the_united_kingdom() {
    let Some(_) = shared("data/ist/IST_corrected.csv.gz") else { return };
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let asked = "sensitivity ist.toml --policy constant:treat --policy constant:control --by COUNTRY \
                 --group UK --json";
    let found = json(&here, asked);
    let value = number(&found["covers"]["value"]);
    assert!(value > number(&found["covers"]["nominal"]), "{}", found["covers"]);
    for set in answered(&found) {
        let reached = number(&set["policies"][0]["value"]);
        let beyond = number(&set["radius"]) == 0.0 && reached > value;
        assert!(beyond || (reached - value).abs() <= 1e-6 * value, "{set}");
    }
    println!("{}", found["agreement"]);
}

#[test]
fn the_stroke_trial_does_not_tell_its_two_arms_apart() {
    let Some(_) = shared("data/ist/IST_corrected.csv.gz") else { return };
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let policies = "--policy constant:treat --policy constant:control";
    let found = json(&here, &format!("sensitivity ist.toml {policies} --set kl --set tv --json"));
    let evaluated = run(&here, &format!("evaluate ist.toml {policies} --set kl --splits 0"));
    assert!(evaluated.out.contains("Undecided"), "{}", evaluated.out);
    assert_eq!(found["on_log"]["told"], false, "{}", found["on_log"]);
    assert!(answered(&found).iter().all(|s| s["told"] == false), "{}", found["sets"]);
}
