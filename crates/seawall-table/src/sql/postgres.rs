//! PostgreSQL. Values go out as texts, for `COPY` and `psql` would write a truth as `t`. It would put one
//! table's expressions into the next, bins of bins of numbers of texts: `OFFSET 0` keeps them apart.

use super::dialect::{Carried, Dialect};

pub(super) struct Postgres;

/// Whether a column's type is one of some.
fn is_of(column: &str, types: &[&str]) -> String {
    let types: Vec<String> = types.iter().map(|t| format!("'{t}'::regtype")).collect();
    format!("pg_typeof({column}) IN ({})", types.join(", "))
}

impl Dialect for Postgres {
    fn text(&self, text: &str) -> String {
        let quoted = text.replace('\'', "''");
        // A backslash means the same in this form whatever the server is set to.
        if quoted.contains('\\') {
            format!("E'{}'", quoted.replace('\\', "\\\\"))
        } else {
            format!("'{quoted}'")
        }
    }

    fn text_type(&self) -> &'static str {
        "text"
    }

    fn float_type(&self) -> &'static str {
        "double precision"
    }

    fn value(&self, column: &str) -> String {
        let float = is_of(column, &["real", "double precision", "numeric"]);
        format!(
            "CASE WHEN {float} THEN NULLIF(CAST({column} AS text), 'NaN') ELSE CAST({column} AS text) END"
        )
    }

    fn is_numeric(&self, column: &str) -> Option<String> {
        let types = ["integer", "bigint", "smallint", "double precision", "real", "numeric"];
        Some(is_of(column, &types))
    }

    fn fence(&self) -> &'static str {
        "\n  OFFSET 0"
    }

    fn carried(&self, column: &str, carried: Carried) -> String {
        let value = self.value(column);
        match carried {
            Carried::Level => value,
            Carried::Number => format!(
                "CASE WHEN {} THEN CASE CAST({column} AS text) WHEN 'true' THEN '1' WHEN 'false' THEN \
                 '0' END ELSE {value} END",
                is_of(column, &["boolean"])
            ),
        }
    }

    fn matches(&self, text: &str, pattern: &str) -> String {
        format!("{text} ~ '^({pattern})$'")
    }

    fn ordered(&self, text: &str) -> String {
        format!("({text}) COLLATE \"C\"")
    }
}
