//! Queries for studies: what is refused, and that every dialect writes one.

use seawall_study::study::{Study, study_of};
use seawall_table::sql::{DIALECTS, query};
use std::path::Path;

#[test]
fn a_table_or_an_action_that_cannot_be_written_is_refused() {
    let study = |file: &str, action: &str| {
        let text = format!(
            "[data]\npath = \"{file}\"\n[context]\nx = \"nominal\"\n[action]\nb = {{ a = 1 }}\n\
             {action} = {{ a = 2 }}\n[outcome]\ncost = \"y\""
        );
        study_of(Path::new("s.toml"), Path::new("."), &text).unwrap()
    };
    let refused =
        |study: &Study, dialect| query(&study.data, dialect, None).unwrap_err().to_string();
    let variable = study("${x}.csv", "c");
    assert!(refused(&variable, "spark").contains("the table \"${x}\""));
    assert!(query(&variable.data, "duckdb", None).unwrap().contains("\"${x}\""));
    let nul = study("t.csv", "\"c\\u0000\"");
    for dialect in DIALECTS {
        assert!(refused(&nul, dialect).contains("NUL"), "{dialect}");
    }
}

#[test]
fn a_dialect_that_there_is_not_is_refused_with_those_there_are() {
    let text = "[data]\npath = \"t.csv\"\n[context]\nx = \"nominal\"\n[action]\ncolumn = \"a\"\n\
                [outcome]\ncost = \"y\"";
    let study = study_of(Path::new("s.toml"), Path::new("."), text).unwrap();
    let refused = query(&study.data, "oracle", None).unwrap_err().to_string();
    assert!(refused.contains("\"oracle\"") && refused.contains("ansi, duckdb, postgres, spark"));
    for name in DIALECTS {
        let text = query(&study.data, name, None).unwrap();
        assert!(text.starts_with("WITH ") && text.contains("COUNT(*)"), "{name}: {text}");
    }
}
