//! Standard SQL, for engines that are not named: 2008 with patterns (`SIMILAR TO`).

use super::dialect::Dialect;

pub(super) struct Ansi;

impl Dialect for Ansi {
    fn matches(&self, text: &str, pattern: &str) -> String {
        format!("{text} SIMILAR TO '{pattern}'")
    }

    fn part(&self, text: &str, from: &str, count: &str) -> String {
        format!("SUBSTRING({text} FROM {from} FOR {count})")
    }

    fn length(&self, text: &str) -> String {
        format!("CHAR_LENGTH({text})")
    }
}
