//! DuckDB.

use super::dialect::Dialect;

pub(super) struct DuckDb;

impl Dialect for DuckDb {
    fn float_type(&self) -> &'static str {
        "DOUBLE"
    }

    fn value(&self, column: &str) -> String {
        format!(
            "CASE WHEN typeof({column}) IN ('DOUBLE', 'FLOAT') THEN \
             NULLIF(CAST({column} AS VARCHAR), 'nan') ELSE CAST({column} AS VARCHAR) END"
        )
    }

    fn is_numeric(&self, column: &str) -> Option<String> {
        let types = "'DOUBLE', 'FLOAT', 'BIGINT', 'INTEGER', 'SMALLINT', 'TINYINT'";
        Some(format!("typeof({column}) IN ({types})"))
    }

    fn matches(&self, text: &str, pattern: &str) -> String {
        format!("regexp_full_match({text}, '{pattern}')")
    }

    fn number(&self, text: &str) -> String {
        format!("TRY_CAST({text} AS DOUBLE)")
    }
}
