//! The grouped query of a study: what an engine has to run over the rows, so that its result is the
//! study's counted table ([`mod@crate::counted`]).
//!
//! ```text
//! rows → columns as texts → numbers and times → bins → why left out, which action → groups
//! ```
//!
//! Each arrow is one `WITH` table. A value is compared as the reader compares it: by its text, or as a
//! number where both are numbers as JSON writes them. Bins are exact without decimals: with the width
//! `d / 10^s`, the floor of `x / width` is put right by comparing `x` with `k·d / 10^s`, which a float
//! division rounds once.
//!
//! What differs between engines is a dialect, one file each. Names and texts are quoted by it, so that
//! none is ever run. Not here: a connection to anything.

mod ansi;
mod bigquery;
mod conditions;
mod dialect;
mod duckdb;
mod layers;
mod polars;
mod postgres;
mod query;
mod snowflake;
mod spark;

pub use dialect::{DIALECTS, dialect_names};
pub use query::query;

#[cfg(test)]
mod tests {
    use super::dialect::dialect;
    use super::*;

    /// Texts that do their worst.
    const HOSTILE: [&str; 9] = [
        "it's",
        "a\"b",
        "a`b",
        "a\\",
        "\\'",
        "'); DROP TABLE t; --",
        "two\nlines",
        "${spark.app.name}",
        "größe 𝔘",
    ];

    /// The text that a literal or a name means by the rules of its dialect; what is left over is run.
    fn read_back(quoted: &str, doubles: bool, escapes: bool) -> (String, String) {
        let mut chars = quoted.chars();
        let quote = chars.next().unwrap();
        let mut text = String::new();
        let mut rest = chars.as_str();
        while let Some(c) = rest.chars().next() {
            let after = &rest[c.len_utf8()..];
            let next = after.chars().next();
            (rest, _) = match (c, next) {
                ('\\', Some('n')) if escapes => (&after[1..], text.push('\n')),
                ('\\', Some('u')) if escapes => {
                    let code = u32::from_str_radix(&after[1..5], 16).unwrap();
                    (&after[5..], text.push(char::from_u32(code).unwrap()))
                }
                ('\\', Some(next)) if escapes => (&after[next.len_utf8()..], text.push(next)),
                (c, Some(next)) if c == quote && next == quote && doubles => {
                    (&after[quote.len_utf8()..], text.push(quote))
                }
                (c, _) if c == quote => return (text, after.to_owned()),
                (c, _) => (after, text.push(c)),
            };
        }
        (text, "the quote is never closed".to_owned())
    }

    #[test]
    fn texts_and_names_mean_themselves_in_every_dialect() {
        // For each: quotes are doubled, a backslash escapes; in texts, then in names.
        let rules = [
            ("ansi", (true, false), (true, false)),
            ("duckdb", (true, false), (true, false)),
            ("polars", (true, false), (true, false)),
            ("postgres", (true, false), (true, false)),
            ("spark", (false, true), (true, false)),
            ("bigquery", (false, true), (false, true)),
            ("snowflake", (true, true), (true, false)),
        ];
        assert_eq!(rules.len(), DIALECTS.len());
        for (name, of_text, of_name) in rules {
            let dialect = dialect(name).unwrap();
            for hostile in HOSTILE {
                let quoted = dialect.text(hostile);
                let (doubles, escapes) = of_text;
                // A text of Postgres in the form whose backslashes escape whatever is set.
                let (quoted, escapes) = match quoted.strip_prefix('E') {
                    Some(quoted) => (quoted, true),
                    None => (&*quoted, escapes),
                };
                let meant = (hostile.to_owned(), String::new());
                assert_eq!(read_back(quoted, doubles, escapes), meant, "{name}: {quoted}");
                let named = dialect.identifier(hostile);
                assert_eq!(read_back(&named, of_name.0, of_name.1), meant, "{name}: {named}");
            }
        }
        let (postgres, spark) = (dialect("postgres").unwrap(), dialect("spark").unwrap());
        assert_eq!(postgres.text("a\\'b"), "E'a\\\\''b'");
        assert!(!spark.text("${x}").contains('$') && spark.refuses("${x}").is_some());
        assert!(postgres.refuses("a\0b").is_some() && postgres.refuses("a${b").is_none());
    }
}
