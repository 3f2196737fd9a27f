//! BigQuery. A backslash escapes in texts and in names, and neither may go over a line's end.

use super::dialect::Dialect;

pub(super) struct BigQuery;

fn escaped(text: &str, quote: char) -> String {
    let mut quoted = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            c if c == quote => {
                quoted.push('\\');
                quoted.push(c);
            }
            c => quoted.push(c),
        }
    }
    quoted.push(quote);
    quoted
}

impl Dialect for BigQuery {
    fn identifier(&self, name: &str) -> String {
        escaped(name, '`')
    }

    fn text(&self, text: &str) -> String {
        escaped(text, '\'')
    }

    fn text_type(&self) -> &'static str {
        "STRING"
    }

    fn float_type(&self) -> &'static str {
        "FLOAT64"
    }

    fn matches(&self, text: &str, pattern: &str) -> String {
        format!("REGEXP_CONTAINS({text}, '^({pattern})$')")
    }

    fn number(&self, text: &str) -> String {
        format!("SAFE_CAST({text} AS FLOAT64)")
    }
}
