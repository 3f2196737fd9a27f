//! Queries with any names and texts in them: every one stays in its quotes and means itself, and what
//! would be run is what harmless names run.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seawall_fuzz::bytes::{texts, toml};
use seawall_fuzz::sql::{Token, tokens};
use seawall_fuzz::told;
use seawall_study::study::{Study, study_of};
use seawall_table::sql::{DIALECTS, query};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::OnceLock;

fuzz_target!(|data: &[u8]| {
    let given = texts(data, 12);
    for rules in [false, true] {
        let Some(study) = study(&given, rules) else { continue };
        for dialect in DIALECTS {
            check(&study, dialect, &given);
        }
    }
});

fn check(study: &Study, dialect: &str, given: &[String]) {
    let text = match query(&study.data, dialect, None) {
        Ok(text) => text,
        Err(error) => {
            told(&error);
            let refused = |text: &String| text.contains('\0') || text.contains("${");
            assert!(given.iter().any(refused), "{error}");
            return;
        }
    };
    assert!(!text.contains('\0'), "{dialect}: a NUL");
    assert!(dialect != "spark" || !text.contains("${"), "Spark would replace a variable");
    let found = tokens(dialect, &text).unwrap_or_else(|what| panic!("{dialect}: {what}\n{text}"));
    let known = &known()[dialect];
    for token in &found {
        let fine = known.contains(token)
            || match token {
                Token::Name(name) => is_given(name, given) || is_table(name, study),
                Token::Text(text) => {
                    given.contains(text)
                        || text.parse::<f64>().is_ok()
                        || ["true", "false"].contains(&text.as_str())
                }
                Token::Number(number) => number.parse::<f64>().is_ok(),
                Token::Word(word) => is_short(word),
            };
        assert!(fine, "{dialect}: {token:?} came from nowhere\n{text}");
    }
    for context in &study.data.contexts {
        let name = Token::Name(context.name.clone());
        assert!(found.contains(&name), "{dialect}: {:?} is not named", context.name);
    }
}

/// A name that was given, or a column of the counted table.
fn is_given(name: &str, given: &[String]) -> bool {
    let parts = ["", "context_", "outcome_", "history_", "prediction_"];
    let own = parts.iter().filter_map(|part| name.strip_prefix(part));
    own.into_iter().any(|name| given.iter().any(|given| given == name))
}

fn is_table(name: &str, study: &Study) -> bool {
    let file = study.data.path.file_name().map(|f| f.to_string_lossy().into_owned());
    file.unwrap_or_default().split('.').next() == Some(name)
}

/// The query's own short names: c12, t3.
fn is_short(word: &str) -> bool {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_lowercase());
    word.len() - digits.len() == 1 && !digits.is_empty() && digits.parse::<u32>().is_ok()
}

/// A study that names everything that a query can; None where names are twice the same.
fn study(given: &[String], rules: bool) -> Option<Study> {
    let t: Vec<String> = given.iter().map(|text| toml(text)).collect();
    let [file, c, binned, action, y, levels, cluster, filter, one, two, arm, text] = &t[..] else {
        return None;
    };
    let actions = if rules {
        format!(
            "{arm} = {{ {action} = {one} }}\nother = {{ {filter} = {{ not = [{text}, {two}] }} }}"
        )
    } else {
        format!("column = {action}")
    };
    let path = toml(&format!("{}.csv", given[0]));
    let toml = format!(
        "[data]\npath = {path}\ncluster = {cluster}\n[data.where]\n{filter} = [{one}, {two}]\n\
         {file} = {{ min = 1.5, max = 7 }}\n{text} = {{ min = \"2019-11-27\" }}\n{one} = {{ missing = false }}\n\
         [context]\n{c} = {{ kind = \"nominal\" }}\n{binned} = {{ kind = \"numeric\", bin = 2.5, min = -5 }}\n\
         [action]\n{actions}\n[outcome.cost]\n{y} = 1\n{levels} = {{ {two} = 3.5 }}\n"
    );
    study_of(Path::new("s.toml"), Path::new("."), &toml).map_err(|e| told(&e)).ok()
}

/// What queries of harmless names are made of, by dialect.
fn known() -> &'static HashMap<&'static str, HashSet<Token>> {
    static KNOWN: OnceLock<HashMap<&'static str, HashSet<Token>>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let mut all: HashMap<&'static str, HashSet<Token>> = HashMap::new();
        let numbers: Vec<String> = (0..12).map(|k| k.to_string()).collect();
        for (given, rules) in [(texts(b"", 12), false), (texts(b"", 12), true), (numbers, true)] {
            let study = study(&given, rules).expect("harmless names make a study");
            for dialect in DIALECTS {
                let text = query(&study.data, dialect, None).expect("and a query");
                let found = tokens(dialect, &text).expect("which is well formed");
                all.entry(dialect).or_default().extend(found);
            }
        }
        all
    })
}
