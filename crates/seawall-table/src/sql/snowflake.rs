//! Snowflake. Quotes are doubled, and a backslash escapes in texts.

use super::dialect::Dialect;

pub(super) struct Snowflake;

impl Dialect for Snowflake {
    fn text(&self, text: &str) -> String {
        format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
    }

    fn float_type(&self) -> &'static str {
        "DOUBLE"
    }

    fn matches(&self, text: &str, pattern: &str) -> String {
        format!("REGEXP_LIKE({text}, '{pattern}')")
    }

    fn number(&self, text: &str) -> String {
        format!("TRY_TO_DOUBLE({text})")
    }
}
