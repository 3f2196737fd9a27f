//! Spark SQL, Databricks too. A backslash escapes, and `${…}` is replaced before anything is parsed.

use super::dialect::Dialect;

pub(super) struct Spark;

impl Dialect for Spark {
    fn identifier(&self, name: &str) -> String {
        format!("`{}`", name.replace('`', "``"))
    }

    fn text(&self, text: &str) -> String {
        let mut quoted = String::new();
        for c in text.chars() {
            match c {
                '\\' => quoted.push_str("\\\\"),
                '\'' => quoted.push_str("\\'"),
                '$' => quoted.push_str("\\u0024"),
                '\n' => quoted.push_str("\\n"),
                '\r' => quoted.push_str("\\r"),
                c => quoted.push(c),
            }
        }
        format!("'{quoted}'")
    }

    fn refuses(&self, name: &str) -> Option<&'static str> {
        match name {
            _ if name.contains('\0') => Some("a NUL character"),
            _ if name.contains("${") => Some("${, which Spark replaces by a variable"),
            _ => None,
        }
    }

    fn text_type(&self) -> &'static str {
        "STRING"
    }

    fn float_type(&self) -> &'static str {
        "DOUBLE"
    }

    fn value(&self, column: &str) -> String {
        format!(
            "CASE WHEN typeof({column}) IN ('double', 'float') THEN \
             NULLIF(CAST({column} AS STRING), 'NaN') ELSE CAST({column} AS STRING) END"
        )
    }

    fn is_numeric(&self, column: &str) -> Option<String> {
        let types = "'double', 'float', 'bigint', 'int', 'smallint', 'tinyint'";
        Some(format!("typeof({column}) IN ({types})"))
    }

    fn matches(&self, text: &str, pattern: &str) -> String {
        format!("{text} RLIKE '^({pattern})$'")
    }

    fn number(&self, text: &str) -> String {
        format!("TRY_CAST({text} AS DOUBLE)")
    }
}
