//! What differs between engines: quotes, types, patterns.

use super::ansi::Ansi;
use super::bigquery::BigQuery;
use super::duckdb::DuckDb;
use super::polars::Polars;
use super::postgres::Postgres;
use super::snowflake::Snowflake;
use super::spark::Spark;

/// Every dialect there is, by name.
pub const DIALECTS: [&str; 7] =
    ["ansi", "duckdb", "postgres", "spark", "bigquery", "snowflake", "polars"];

/// The names of the dialects, for messages.
pub fn dialect_names() -> String {
    DIALECTS.join(", ")
}

/// The dialect of a name.
pub(super) fn dialect(name: &str) -> Option<&'static dyn Dialect> {
    let all: [&'static dyn Dialect; 7] =
        [&Ansi, &DuckDb, &Postgres, &Spark, &BigQuery, &Snowflake, &Polars];
    DIALECTS.iter().position(|known| *known == name).map(|at| all[at])
}

/// What a value is carried into the counted table for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// As one of several levels.
    Level,
    /// As a number.
    Number,
}

/// How one engine writes what every engine can do.
pub(super) trait Dialect {
    /// A name of a column or a table.
    fn identifier(&self, name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }

    /// A text.
    fn text(&self, text: &str) -> String {
        format!("'{}'", text.replace('\'', "''"))
    }

    /// Characters that this engine's names cannot have, whatever the quotes.
    fn refuses(&self, name: &str) -> Option<&'static str> {
        name.contains('\0').then_some("a NUL character")
    }

    fn text_type(&self) -> &'static str {
        "VARCHAR"
    }

    fn float_type(&self) -> &'static str {
        "DOUBLE PRECISION"
    }

    /// A column's value as the reader has its text; NULL where that is missing, a float that is not a
    /// number among the rest if the engine can tell.
    fn value(&self, column: &str) -> String {
        format!("CAST({column} AS {})", self.text_type())
    }

    /// A column as it goes into the counted table: as it is, if the engine's results keep their types.
    fn carried(&self, column: &str, _as: Carried) -> String {
        column.to_owned()
    }

    /// Whether a column's type is a number's, if the engine can tell: its texts need no look then.
    fn is_numeric(&self, _column: &str) -> Option<String> {
        None
    }

    /// What keeps an engine from working out a table's columns anew wherever they are used.
    fn fence(&self) -> &'static str {
        ""
    }

    /// A text as a number, which it is known to be.
    fn number(&self, text: &str) -> String {
        format!("CAST({text} AS {})", self.float_type())
    }

    /// A number of a row, worked out from `of`, over a constant: rounded once.
    fn quotient(&self, number: &str, constant: &str, _of: &str) -> String {
        format!("{number} / {constant}")
    }

    /// A number as its text.
    fn number_text(&self, number: &str) -> String {
        format!("CAST({number} AS {})", self.text_type())
    }

    /// Whether all of a text is of a pattern, which holds no quote and no backslash.
    fn matches(&self, text: &str, pattern: &str) -> String;

    /// So many characters of a text from a place on, counted from 1.
    fn part(&self, text: &str, from: &str, count: &str) -> String {
        format!("SUBSTR({text}, {from}, {count})")
    }

    fn length(&self, text: &str) -> String {
        format!("LENGTH({text})")
    }

    /// Texts one after the other.
    fn joined(&self, texts: &[String]) -> String {
        texts.join(" || ")
    }

    /// A text that is compared by its characters' codes.
    fn ordered(&self, text: &str) -> String {
        text.to_owned()
    }
}
