//! Conditions on columns, as truths of a query that are never NULL.
//!
//! Of a column, `t` is its text, `x` that text as a number and `m` as a time; each NULL where it is none.

use super::dialect::Dialect;
use crate::read::{Moment, plain};
use crate::spec::Condition;

/// A number as a program reads it.
pub(super) const NUMBER: &str =
    " *[+-]?([0-9]+([.][0-9]*)?([eE][+-]?[0-9]+)?|[.][0-9]+([eE][+-]?[0-9]+)?|[Ii]nf(inity)?) *";
/// A number as JSON writes it.
const JSON_NUMBER: &str = " *-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)? *";
/// What is missing where numbers are expected.
const NO_NUMBER: &str = " *(NA|[+-]?[Nn][Aa][Nn])? *";
const DAY: &str = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])";
const CLOCK: &str = "[Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:([0-5][0-9]|60)([.][0-9]+)?)?";
/// Ways to say UTC, with their lengths.
const UTC: [(&str, usize); 8] = [
    ("Z", 1),
    ("z", 1),
    ("+00:00", 6),
    ("-00:00", 6),
    ("+0000", 5),
    ("-0000", 5),
    ("+00", 3),
    ("-00", 3),
];
/// More digits than this are not told apart by floats.
const DIGITS: usize = 15;

/// What a condition needs of its column beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Text,
    Number,
    Time,
}

impl Need {
    pub(super) fn of(condition: &Condition) -> Self {
        match condition {
            Condition::OneOf(texts) | Condition::Not(texts) => {
                if texts.iter().any(|text| comparable(text).is_some()) {
                    Need::Number
                } else {
                    Need::Text
                }
            }
            Condition::Range { .. } => Need::Number,
            Condition::Period { .. } => Need::Time,
            Condition::Missing(_) => Need::Text,
        }
    }
}

/// A text that is compared as a number, and which: one that floats tell from every other.
fn comparable(text: &str) -> Option<f64> {
    let plain = plain(text)?;
    let digits: String = plain.chars().filter(char::is_ascii_digit).collect();
    let few = digits.trim_matches('0').len() <= DIGITS;
    few.then(|| plain.parse().ok()).flatten().filter(|x: &f64| x.is_finite())
}

/// A number as every engine reads it: as a float.
pub(super) fn float(x: f64) -> String {
    if x < 0.0 { format!("({x:e})") } else { format!("{:e}", x + 0.0) }
}

/// What may be NULL, as a truth.
fn holds(expression: &str) -> String {
    format!("(CASE WHEN {expression} THEN 1 ELSE 0 END) = 1")
}

fn holds_not(expression: &str) -> String {
    format!("(CASE WHEN {expression} THEN 1 ELSE 0 END) = 0")
}

/// Whether a condition holds of column number `k`; `levels` if it is read as levels.
pub(super) fn condition(
    dialect: &dyn Dialect,
    condition: &Condition,
    k: usize,
    levels: bool,
) -> String {
    match condition {
        Condition::OneOf(texts) => holds(&is_one_of(dialect, texts, k)),
        Condition::Not(texts) => holds_not(&is_one_of(dialect, texts, k)),
        Condition::Range { min, max } => holds(&is_within(k, *min, *max)),
        Condition::Period { min, max } => holds(&is_in_period(dialect, k, *min, *max)),
        Condition::Missing(missing) => {
            let lacks = if levels {
                format!("t{k} IS NULL")
            } else {
                let no_number = dialect.matches(&format!("t{k}"), NO_NUMBER);
                format!("t{k} IS NULL OR {no_number}")
            };
            if *missing { holds(&lacks) } else { holds_not(&lacks) }
        }
    }
}

fn is_one_of(dialect: &dyn Dialect, wanted: &[String], k: usize) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut numbers: Vec<f64> = Vec::new();
    for text in wanted.iter().filter(|text| !text.is_empty()) {
        texts.push(text.clone());
        texts.extend(plain(text).map(|plain| plain.into_owned()));
        if let Some(x) = comparable(text) {
            numbers.push(x);
            // A truth is 1 or 0 where a number is asked for.
            texts.extend((x == 1.0).then(|| "true".to_owned()));
            texts.extend((x == 0.0).then(|| "false".to_owned()));
        }
    }
    texts.sort();
    texts.dedup();
    if texts.is_empty() {
        return "1 = 0".to_owned();
    }
    let quoted: Vec<String> = texts.iter().map(|text| dialect.text(text)).collect();
    let mut all = format!("t{k} IN ({})", quoted.join(", "));
    if !numbers.is_empty() {
        let floats: Vec<String> = numbers.iter().map(|x| float(*x)).collect();
        let json = dialect.matches(&format!("t{k}"), JSON_NUMBER);
        all.push_str(&format!(" OR ({json} AND x{k} IN ({}))", floats.join(", ")));
    }
    all
}

fn is_within(k: usize, min: f64, max: f64) -> String {
    let mut ends = vec![format!("x{k} IS NOT NULL")];
    ends.extend(min.is_finite().then(|| format!("x{k} >= {}", float(min))));
    ends.extend(max.is_finite().then(|| format!("x{k} <= {}", float(max))));
    let mut all = ends.join(" AND ");
    for (truth, x) in [("true", 1.0), ("false", 0.0)] {
        if (min..=max).contains(&x) {
            all.push_str(&format!(" OR t{k} = '{truth}'"));
        }
    }
    all
}

fn is_in_period(
    dialect: &dyn Dialect,
    k: usize,
    min: Option<Moment>,
    max: Option<Moment>,
) -> String {
    let time = dialect.ordered(&format!("m{k}"));
    let mut ends = vec![format!("m{k} IS NOT NULL")];
    ends.extend(min.map(|min| format!("{time} >= '{}'", min.written().0)));
    ends.extend(max.map(|max| format!("{time} <= '{}'", max.written().1)));
    ends.join(" AND ")
}

/// The text of column number `k` as a time of UTC without its zone.
pub(super) fn without_zone(dialect: &dyn Dialect, k: usize) -> String {
    let text = format!("t{k}");
    let cut = |(zone, length): &(&str, usize)| {
        let count = format!("{} - {length}", dialect.length(&text));
        format!("WHEN {text} LIKE '%{zone}' THEN {}", dialect.part(&text, "1", &count))
    };
    let cuts: Vec<String> = UTC.iter().map(cut).collect();
    format!("TRIM(CASE {} ELSE {text} END)", cuts.join(" "))
}

/// The time `s` of column number `k` with all its digits, so that texts are in the order of times.
pub(super) fn padded(dialect: &dyn Dialect, k: usize) -> String {
    let time = format!("s{k}");
    let length = dialect.length(&time);
    let from = format!("CASE WHEN {length} > 11 THEN {length} - 10 ELSE 1 END");
    let parts = [
        dialect.part(&time, "1", "10"),
        "'T'".to_owned(),
        dialect.part(&time, "12", "18"),
        dialect.part("'00:00:00.000000000'", &from, "18"),
    ];
    let is_time = dialect.matches(&time, &format!("{DAY}({CLOCK})?"));
    format!("CASE WHEN {is_time} THEN {} END", dialect.joined(&parts))
}

/// Whether the time `s` of column number `k` has a zone that is not UTC.
pub(super) fn is_zoned(dialect: &dyn Dialect, k: usize) -> String {
    let pattern = format!("{DAY}{CLOCK} *[+-][0-9]{{2}}(:?[0-9]{{2}})?");
    dialect.matches(&format!("s{k}"), &pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_numbers_where_floats_tell_them_apart() {
        assert_eq!(comparable("1.50"), Some(1.5));
        assert_eq!(comparable("-0"), Some(0.0));
        assert_eq!(comparable("1e300"), Some(1e300));
        assert_eq!(comparable("0.000000000000000000001"), Some(1e-21));
        assert_eq!(comparable("123456789012345"), Some(123_456_789_012_345.0));
        for name in ["01", "+1", "abc", "9007199254740993", "0.1234567890123456"] {
            assert_eq!(comparable(name), None, "{name}");
        }
        assert_eq!(
            (float(0.1), float(-5.0), float(-0.0)),
            ("1e-1".into(), "(-5e0)".into(), "0e0".into())
        );
    }
}
