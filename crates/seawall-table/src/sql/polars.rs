//! The SQL of polars, which runs it lazily.

use super::dialect::Dialect;

pub(super) struct Polars;

impl Dialect for Polars {
    fn float_type(&self) -> &'static str {
        "DOUBLE"
    }

    fn matches(&self, text: &str, pattern: &str) -> String {
        format!("REGEXP_LIKE({text}, '^({pattern})$')")
    }

    /// It multiplies by the inverse of a constant, which rounds twice: so that is made a column.
    fn quotient(&self, number: &str, constant: &str, of: &str) -> String {
        format!("{number} / ({constant} + 0e0 * {of})")
    }

    fn number(&self, text: &str) -> String {
        format!("TRY_CAST({text} AS DOUBLE)")
    }
}
