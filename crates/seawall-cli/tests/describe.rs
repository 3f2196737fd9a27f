//! What is known of a target: `[target.known]`, `--target-facts`, and the block that `seawall describe` writes.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run, shared};
use seawall::{Fact, Known, Population, Quantity, Watch};
use seawall_study::prepare::{PreparedStudy, load};
use seawall_study::study::{study, study_of};
use std::path::Path;

const STUDY: &str = r#"[data]
path = "log.csv"

[context]
age  = { kind = "numeric", bin = 10, missing = true }
site = "nominal"
rank = "ordinal"
dose = "numeric"
sex  = { kind = "fixed", levels = ["F", "M", "X"] }

[action]
column = "arm"

[outcome]
cost = "y"

[model]
kind = "tree"
max_depth = 1

[robust]
context = { set = "wasserstein", radius = 0.05 }
"#;

/// 600 rows: ages 20 to 60 and some missing, two sites, three ranks, doses, two sexes of three.
fn log() -> String {
    let mut text = "age,site,rank,dose,sex,arm,y\n".to_owned();
    for k in 0..600usize {
        let age = if k % 50 == 7 { String::new() } else { (20 + (k * 7) % 41).to_string() };
        let (site, rank) = (["north", "south"][(k / 5) % 2], 1 + (k / 10) % 3);
        let (dose, sex) = ([0.5, 1.5, 2.25][k % 3], ["F", "M"][(k / 7) % 2]);
        text += &format!("{age},{site},{rank},{dose},{sex},{},{}\n", ["a", "b"][k % 2], k % 4);
    }
    text
}

fn there(study: &str, more: &[(&str, &str)]) -> tempfile::TempDir {
    let log = log();
    let mut files = vec![("study.toml", study.as_bytes()), ("log.csv", log.as_bytes())];
    files.extend(more.iter().map(|(name, text)| (*name, text.as_bytes())));
    folder(&files)
}

fn loaded(path: &Path, text: &str) -> PreparedStudy {
    let study = study_of(&path.join("study.toml"), path, text).unwrap();
    load(study, Watch::NOBODY).unwrap()
}

/// The known shares are those of a population, and nothing of it is left unsaid.
fn same_margins(known: &Known, population: &Population, by: f64, what: &str) {
    let own = Known::margins_of(population).unwrap();
    let mut compared = 0;
    for fact in own.facts() {
        let same = |f: &&Fact| f.quantity == fact.quantity;
        let Some(found) = known.of(fact.feature).iter().find(same) else {
            let all = own.of(fact.feature).iter();
            // A column may be known by its mean alone.
            assert_eq!(known.of(fact.feature).len(), 1, "{what}: {}", own.describe(fact));
            assert_eq!(known.of(fact.feature)[0].quantity, Quantity::Mean, "{what} {all:?}");
            continue;
        };
        let apart = (found.value - fact.value).abs();
        assert!(apart <= by, "{what}: {}: {} {}", own.describe(fact), found.value, fact.value);
        assert!(found.low <= fact.value && fact.value <= found.high, "{what}");
        compared += 1;
    }
    assert!(compared > 0, "{what}");
}

#[test]
fn every_bad_block_is_refused_by_its_line() {
    let there = there(STUDY, &[]);
    let path = there.path();
    // Each block, the line after the study's own that is told, and what is told.
    let cases: &[(&str, usize, &[&str])] = &[
        ("agee = { mean = 40 }", 3, &["\"agee\"", "did you mean \"age\"?", "site, rank"]),
        ("arm = { shares = { a = 1 } }", 3, &["\"arm\" is not one of the study's context columns"]),
        ("age = { maen = 40 }", 3, &["unknown key \"maen\"", "did you mean \"mean\"?"]),
        ("age = { mean = \"old\" }", 3, &["age.mean", "expected a number, or a range"]),
        ("age = { mean = [1, 2, 3] }", 3, &["expected a number, or a range [low, high]"]),
        ("age = {}", 3, &["expected mean = ... or shares"]),
        ("age = { sd = 3, shares = { 35 = 0.1 } }", 3, &["sd is said without a mean"]),
        ("age = { mean = 40, sd = -1 }", 3, &["sd is -1; expected a finite number ≥ 0"]),
        ("age = { mean = 40, within = -1 }", 3, &["within is -1"]),
        ("age = { mean = 40, size = 0 }", 3, &["the size is 0; expected a number of people > 0"]),
        ("age = { mean = 140 }", 3, &["the mean is 140; expected a number from 24.4897 to 60"]),
        ("age = { mean = [70, 80] }", 3, &["the mean is from 70 to 80"]),
        ("age = { mean = [60, 40] }", 3, &["from 60 to 40; expected the lower end"]),
        ("age = { mean = nan }", 3, &["expected a finite number"]),
        ("site = { mean = 0.5 }", 3, &["nominal", "only a numeric one has a mean"]),
        ("rank = { mean = 2 }", 3, &["ordinal", "give the shares"]),
        ("site = { shares = { north = 1.2 } }", 3, &["\"north\" is 1.2", "from 0 to 1"]),
        ("site = { shares = { north = [-0.1, 0.5] } }", 3, &["is -0.1; expected"]),
        ("site = { shares = { north = [0.6, 0.5] } }", 3, &["from 0.6 to 0.5"]),
        ("site = { shares = { north = 0.47, south = 0.43 } }", 3, &["sum to 0.9; expected 1"]),
        ("site = { shares = { north = 0.7, south = 0.4 } }", 3, &["sum to 1.1; expected 1"]),
        ("sex = { shares = { F = 0.7, M = 0.4 } }", 3, &["sum to 1.1; expected 1 or less"]),
        (
            "site = { shares = { nort = 0.5 } }",
            3,
            &["\"nort\" is none", "did you mean \"north\"?", "north, south", "levels = [...]"],
        ),
        ("age = { shares = { 97 = 0.5 } }", 3, &["97 is none", "25 to 65", "min and max"]),
        ("age = { shares = { old = 0.5 } }", 3, &["\"old\""]),
        ("age = { shares = { 31 = 0.1, 38 = 0.2 } }", 3, &["share of \"35\" is said twice"]),
        ("dose = { shares = { 7 = 0.1 } }", 3, &["7 is none of the study's levels"]),
        ("site = { shares = { north = 0.5, north = 0.5 } }", 3, &["duplicate key"]),
        ("age = { mean = 40 }\nage = { mean = 41 }", 4, &["duplicate key"]),
        ("\n\nsite = { shares = { x = 0.1 } }", 5, &["\"target.known.site\": \"x\" is none"]),
    ];
    let lines = STUDY.lines().count();
    for (block, line, words) in cases {
        let text = format!("{STUDY}[target]\n[target.known]\n{block}\n");
        std::fs::write(path.join("bad.toml"), text).unwrap();
        let found = run(path, "check bad.toml");
        assert_eq!((found.code, found.out.as_str()), (2, ""), "{block}: {}", found.err);
        assert_eq!(found.err.lines().count(), 1, "{}", found.err);
        let place = format!("bad.toml: line {}: ", lines + line);
        for word in words.iter().chain(&[place.as_str()]) {
            assert!(found.err.contains(word), "{block}: {word:?} is not in {}", found.err);
        }
    }
    for (target, words) in [
        ("size = -3", "\"target.size\": the size is -3; expected a number of people > 0"),
        ("size = \"many\"", "\"target.size\": expected a number"),
        ("sise = 3", "did you mean \"size\"?"),
        ("path = \"log.csv\"\nsize = 3", "leave out path, or [target.known] and size"),
        ("path = \"log.csv\"\n[target.known]\nage = { mean = 40 }", "a sample of the target"),
    ] {
        std::fs::write(path.join("bad.toml"), format!("{STUDY}[target]\n{target}\n")).unwrap();
        let found = run(path, "check bad.toml");
        assert_eq!((found.code, found.out.as_str()), (2, ""), "{target}");
        assert!(found.err.contains(words), "{words:?} is not in {}", found.err);
    }
}

#[test]
fn options_say_the_same_and_replace_what_the_study_says() {
    let study =
        format!("{STUDY}[target]\nsize = 500\n[target.known]\nsite = {{ shares = {{ x = 1 }} }}\n");
    let there = there(&study, &[("t.csv", "age,site,rank,dose,sex\n30,north,1,0.5,F\n")]);
    let path = there.path();
    assert_eq!(run(path, "check study.toml").code, 2);
    for words in [
        "check study.toml --target-facts site:north=0.4,south=0.6",
        "evaluate study.toml --target-facts site:north=0.4,south=0.6,within=0.1 --policy constant:a --splits 0",
        "evaluate study.toml --target-facts site:north=0.3..0.5 --target-facts age:mean=40..45 --policy constant:a",
        "learn study.toml --target-facts site:north=0.4 --policy tree:1 --no-honest",
        "report study.toml --target-facts site:north=0.4 --target-size 90 --no-learn --splits 0",
    ] {
        let found = run(path, words);
        assert_eq!((found.code, found.err.as_str()), (0, ""), "{words}");
    }
    // A sample's size excuses no sum.
    std::fs::write(path.join("study.toml"), format!("{STUDY}[target]\nsize = 20\n")).unwrap();
    for (words, told) in [
        ("--target-facts age", "--target-facts age: expected COLUMN:mean=NUMBER"),
        ("--target-facts agee:mean=1", "did you mean \"age\"?"),
        ("--target-facts age:mean=1..x", "expected a number, or a range as 0.4..0.6"),
        ("--target-facts age:mean=140", "--target-facts age:mean=140: the mean is 140"),
        ("--target-facts site:north=0.5,south=0.4", "the shares sum to 0.9; expected 1"),
        ("--target-facts age:mean=40 --target-facts age:25=0.1", "\"age\" is said twice"),
        ("--target-facts age:mean=40 --target t.csv", "--target t.csv is a sample and says more"),
        ("--target-facts site:north=0.4 --target-size -2", "--target-size: the size is -2"),
    ] {
        let found = run(path, &format!("check study.toml {words}"));
        assert_eq!((found.code, found.out.as_str()), (2, ""), "{words}");
        assert!(found.err.contains(told), "{words}: {}", found.err);
    }
    // The study's own sample and numbers that are typed are two things.
    std::fs::write(path.join("s.toml"), format!("{STUDY}[target]\npath = \"t.csv\"\n")).unwrap();
    let found = run(path, "check s.toml --target-facts age:mean=40");
    assert!(found.err.contains("names a sample of the target"), "{}", found.err);
}

#[test]
fn what_is_said_becomes_facts() {
    let there = there(STUDY, &[]);
    let known = |block: &str| {
        let text = format!("{STUDY}[target]\n{block}\n");
        loaded(there.path(), &text).known().unwrap().unwrap()
    };
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    assert!(loaded(there.path(), STUDY).known().unwrap().is_none());
    // A bin by any number in it, a missing value in words, a number spelled otherwise.
    let found = known(
        "[target.known]\nage = { shares = { 31 = 0.3, \"(missing)\" = 0.1 } }\nrank = { shares = { \"2.0\" = 0.5 } }",
    );
    let words: Vec<String> = found.facts().iter().map(|f| found.describe(f)).collect();
    assert_eq!(words, ["share of age=35", "share of age=(missing)", "share of rank=2"]);
    assert!(found.facts().iter().all(Fact::is_exact));
    // Ranges, what is off, and the size of a sample; the wider counts.
    let found = known(
        "size = 400\n[target.known]\nage = { mean = 40, sd = 12 }\ndose = { mean = [1, 1.5], within = 0.3 }\n\
         site = { shares = { north = 0.4, south = 0.6 }, size = 1e12, within = 0.02 }\nsex = { shares = { X = 0 } }",
    );
    let of = |k: usize| found.of(k)[0];
    near(of(0).high - of(0).value, 1.959_963_984_540_054 * 12.0 / 20.0);
    near(of(3).value, 1.25);
    near(of(3).low, 0.7);
    near(of(3).high, 1.8);
    near(of(1).low, 0.38);
    near(of(1).high, 0.42);
    let z = 1.959_963_984_540_054f64.powi(2);
    near(of(4).low, 0.0);
    near(of(4).high, z / (400.0 + z));
    // Without its own, the standard deviation is the log's: doses 0.5, 1.5 and 2.25 in equal parts.
    let found = known("size = 400\n[target.known]\ndose = { mean = 1 }");
    let mean = 4.25 / 3.0;
    let variance = [0.5, 1.5, 2.25].iter().map(|x: &f64| (x - mean).powi(2)).sum::<f64>() / 3.0;
    near(found.facts()[0].high - 1.0, z.sqrt() * variance.sqrt() / 20.0);
    // Rounded shares are normalised; a mean and shares of one column stand side by side.
    let found = known(
        "[target.known]\nrank = { shares = { 1 = 0.333, 2 = 0.333, 3 = 0.333 } }\nage = { mean = 41, shares = { 25 = 0.2 } }",
    );
    near(found.of(2).iter().map(|f| f.value).sum::<f64>(), 1.0);
    assert!(found.has_margin(2) && !found.has_margin(0));
    assert_eq!(found.of(0).len(), 2);
    // Where contexts are no grid, too: numbers without bins then have means alone.
    let space = STUDY.replace("radius = 0.05 }", "radius = 0.05 }\nsupport = \"space\"");
    let said = |block: &str| format!("{space}[target]\n[target.known]\n{block}\n");
    let of_space = loaded(
        there.path(),
        &said(
            "age = { shares = { 31 = 0.3, \"(missing)\" = 0.1 } }\ndose = { mean = 1 }\nsite = { shares = { north = 0.4 } }",
        ),
    );
    assert_eq!(of_space.known().unwrap().unwrap().facts().len(), 4);
    std::fs::write(
        there.path().join("s.toml"),
        said("dose = { shares = { 0.5 = 0.3 } }").replace("0.5 = ", "\"0.5\" = "),
    )
    .unwrap();
    let found = run(there.path(), "check s.toml");
    assert!(found.err.contains("give its mean, or say bin = ..."), "{}", found.err);
}

#[test]
fn a_block_read_back_is_the_table() {
    // Ages beyond the log with a gap between, a new site, no X; some ages missing.
    let mut target = "age,site,rank,dose,sex,w\n".to_owned();
    for k in 0..137usize {
        let age = if k % 20 == 3 { String::new() } else { (20 + (k * 5) % 41).to_string() };
        let (site, rank) = (["north", "south", "new wing"][k % 3], 1 + k % 3);
        let (dose, sex) = ([0.5, 1.5][k % 2], ["F", "M"][(k / 3) % 2]);
        target += &format!("{age},{site},{rank},{dose},{sex},{}\n", 1 + k % 2);
    }
    let far = target.replace("\n20,", "\n97,");
    let target_rows = target.clone();
    let there =
        there(STUDY, &[("near.csv", &target.replace("new wing", "north")), ("far.csv", &far)]);
    let path = there.path();
    let own = loaded(path, STUDY);
    // The log itself.
    let block = run(path, "describe study.toml").out;
    assert!(block.starts_with("# What log.csv says of its people: 600 rows.\n"), "{block}");
    assert!(block.contains("sex = { shares = { F = 0.5017, M = 0.4983, X = 0 } }"), "{block}");
    let back = loaded(path, &format!("{STUDY}{block}"));
    let population = own.log().population().unwrap();
    same_margins(&back.known().unwrap().unwrap(), &population, 1e-4, "log");
    assert_eq!(back.study.target.size, Some(600.0));
    // A table within the log.
    let block = run(path, "describe study.toml --target near.csv").out;
    let back = loaded(path, &format!("{STUDY}{block}")).known().unwrap().unwrap();
    let there_now = own.toward(Some(&path.join("near.csv")), Watch::NOBODY).unwrap().unwrap();
    let target = there_now.target.as_ref().unwrap().sample.population();
    same_margins(&back, target, 1e-4, "near");
    // By means: to four digits of the standard deviation.
    let block = run(path, "describe study.toml --target near.csv --means --columns age,dose").out;
    assert!(block.contains("age = { mean = ") && !block.contains("site"), "{block}");
    let back = loaded(path, &format!("{STUDY}{block}")).known().unwrap().unwrap();
    let mean = |column: usize| {
        let cells = target_rows.lines().skip(1).map(|row| row.split(',').nth(column).unwrap());
        let numbers: Vec<f64> = cells.filter_map(|cell| cell.parse().ok()).collect();
        numbers.iter().sum::<f64>() / numbers.len() as f64
    };
    for (said, is) in back.facts().iter().zip([mean(0), mean(3)]) {
        assert!((said.value - is).abs() < 0.005 && !said.is_exact(), "{said:?} {is}");
    }
    // A table beyond it is kept, and the comments say what to declare.
    let block = run(path, "describe study.toml --target far.csv").out;
    let refused = study_of(Path::new("study.toml"), path, &format!("{STUDY}{block}")).unwrap();
    assert!(load(refused, Watch::NOBODY).is_err());
    for words in [
        "# age: the study does not have \"95\"; to have it, under [context]: min = 20, max = 100",
        "# site: the study does not have \"new wing\"; to have it, under [context]: levels = [\"north\", \
         \"south\", \"new wing\"]",
        "\"new wing\" = 0.3285",
    ] {
        assert!(block.contains(words), "{words:?} is not in\n{block}");
    }
    // Bins between, which neither has, are not the table's.
    assert!(!block.contains("85 ="), "{block}");
    let wider = STUDY.replace("bin = 10,", "bin = 10, min = 20, max = 100,").replace(
        "\"nominal\"",
        "{ kind = \"nominal\", levels = [\"north\", \"south\", \"new wing\"] }",
    );
    let declared = loaded(path, &wider);
    let back = loaded(path, &format!("{wider}{block}")).known().unwrap().unwrap();
    let toward = declared.toward(Some(&path.join("far.csv")), Watch::NOBODY).unwrap().unwrap();
    for fact in back.facts() {
        let one = Known::new(back.space().clone(), vec![*fact]).unwrap();
        let is = one.measured_on(toward.target.as_ref().unwrap().sample.population()).unwrap();
        assert!((is.facts()[0].value - fact.value).abs() < 0.005, "{}", back.describe(fact));
    }
    // Weighted people are worth fewer.
    let weighted = format!("{STUDY}[target]\nsurvey_weight = \"w\"\n");
    std::fs::write(path.join("w.toml"), weighted).unwrap();
    let found = json(path, "describe w.toml --target near.csv --json");
    // 69 people of weight 1 and 68 of weight 2: (69 + 136)² / (69 + 272) = 123.2.
    assert_eq!((found["rows"].clone(), found["target"]["size"].clone()), (137.into(), 123.into()));
}

#[test]
fn few_people_are_not_told_of() {
    let mut target = "age,site,rank,dose,sex\n".to_owned();
    for k in 0..100usize {
        let site = if k < 3 { "hut" } else { ["north", "south"][k % 2] };
        let rank = if k < 4 {
            1
        } else if k < 30 {
            2
        } else {
            3
        };
        target += &format!("{},{site},{rank},1.5,{}\n", 25 + 10 * (k % 2), ["F", "M"][k % 2]);
    }
    let there = there(
        STUDY,
        &[("t.csv", &target), ("few.csv", "age,site,rank,dose,sex\n30,north,1,1.5,F\n")],
    );
    let path = there.path();
    let all = run(path, "describe study.toml --target t.csv").out;
    assert!(all.contains("hut = 0.03") && all.contains("levels = [\"north\", \"south\", \"hut\"]"));
    let block = run(path, "describe study.toml --target t.csv --at-least 5").out;
    // Three in the hut would be told by what the others leave to one.
    assert!(
        !block.contains("hut") && block.contains("site = { shares = { south = 0.49 } }"),
        "{block}"
    );
    assert!(block.contains("# site: 2 levels not written, with fewer than 5 rows"), "{block}");
    assert!(block.contains("rank = { shares = { 3 = 0.7 } }"), "{block}");
    // Nobody is no small number of people.
    assert!(block.contains("sex = { shares = { F = 0.5, M = 0.5 } }"), "{block}");
    assert!(block.contains("dose = { mean = 1.5, sd = 0 }"), "{block}");
    loaded(path, &format!("{STUDY}{block}"));
    let found = json(path, "describe study.toml --target t.csv --at-least 5 --json");
    assert_eq!(found["withheld"]["site"], 2);
    assert_eq!(found["target"]["known"]["site"], serde_json::json!({"shares": {"south": 0.49}}));
    assert!(found["beyond"].as_object().unwrap().is_empty(), "{found}");
    // Nothing is left of a table of one.
    let block = run(path, "describe study.toml --target few.csv --at-least 5").out;
    assert!(!block.contains("= {"), "{block}");
    assert!(
        block.contains("# dose: not written, for it would tell of fewer than 5 rows."),
        "{block}"
    );
}

#[test]
fn what_cannot_be_described_is_refused() {
    let there = there(STUDY, &[("t.csv", "age,site,rank,dose\n30,north,1,1.5\n")]);
    let path = there.path();
    for (words, told) in [
        ("describe study.toml --columns agee", "did you mean \"age\"?"),
        ("describe study.toml --target t.csv", "t.csv: no column named \"sex\""),
        ("describe study.toml --target none.csv", "none.csv"),
        ("describe study.toml --out study.toml", "it is the file that is read"),
        ("describe study.toml --out log.csv", "it is the file that is read"),
        ("describe study.toml --target t.csv --out t.csv", "it is the file that is read"),
        ("describe study.toml --out none/b.toml", "cannot be written"),
        ("describe study.toml --at-least -1", "--at-least"),
    ] {
        let found = run(path, words);
        assert_eq!((found.code, found.out.as_str()), (2, ""), "{words}");
        assert!(found.err.contains(told), "{words}: {}", found.err);
    }
    let printed = run(path, "describe study.toml").out;
    let found = run(path, "describe study.toml --out b.toml");
    assert_eq!((found.code, found.err.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(path.join("b.toml")).unwrap(), printed);
    // The block of a study may be wrong: this is what replaces it.
    let wrong = format!("{STUDY}[target.known]\nsite = {{ shares = {{ x = 1 }} }}\n");
    std::fs::write(path.join("study.toml"), wrong).unwrap();
    assert_eq!(run(path, "describe study.toml --threads 1").out, printed);
}

#[test]
fn the_demo_describes_itself() {
    let there = folder(&[]);
    assert_eq!(run(there.path(), "demo --folder d").code, 0);
    let path = there.path().join("d");
    let block = run(&path, "describe study.toml").out;
    let text = std::fs::read_to_string(path.join("study.toml")).unwrap();
    let back = loaded(&path, &format!("{text}\n{block}"));
    let known = back.known().unwrap().unwrap();
    same_margins(&known, &back.log().population().unwrap(), 1e-4, "demo");
    assert!((0..6).all(|k| known.has_margin(k)));
}

#[test]
fn the_stroke_trial_tells_of_the_uk() {
    let Some(_) = shared("data/ist/IST_corrected.csv.gz") else { return };
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let block = run(&studies, "describe ist-uk.toml").out;
    assert!(block.contains("[target]\nsize = 6236\n"), "{block}");
    assert!(block.contains("under [context]: min = 10, max = 100"), "{block}");
    let text = std::fs::read_to_string(studies.join("ist-uk.toml")).unwrap();
    let (from, to) = (text.find("[target]").unwrap(), text.find("[context]").unwrap());
    // As the comment says: one Briton is younger than anybody elsewhere.
    let context = text[to..].replace(
        "AGE    = { kind = \"numeric\", bin = 10 }",
        "AGE = { kind = \"numeric\", bin = 10, min = 10, max = 100 }",
    );
    let sample = study(&studies.join("ist-uk.toml")).unwrap();
    let wider = format!("{}{context}", &text[..from]);
    let back = loaded(&studies, &format!("{wider}\n{block}")).known().unwrap().unwrap();
    let mut own = study_of(&studies.join("ist-uk.toml"), &studies, &wider).unwrap();
    own.target = sample.target;
    let uk = load(own, Watch::NOBODY).unwrap().toward(None, Watch::NOBODY).unwrap().unwrap();
    let population = uk.target.as_ref().unwrap().sample.population();
    same_margins(&back, population, 1e-4, "UK");
    assert!((0..6).all(|k| back.has_margin(k)));
    assert!(back.holds_for(population, 1e-9).unwrap());
}
