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

    fn number(&self, text: &str) -> String {
        format!("TRY_CAST({text} AS DOUBLE)")
    }
}
