//! The levels of a column: its distinct values in order, and which of them each value is.

use super::decimal::plain;
use super::distinct::Distinct;

/// How levels that are not all numbers are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// By their texts.
    Text,
    /// As they appear.
    Appearance,
}

/// The levels of a column.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    /// Their texts, in order.
    pub(crate) labels: Vec<String>,
    /// Whether all are numbers.
    pub(crate) all_numbers: bool,
    /// By code: which level a value is; None if it is missing or none of them.
    pub(crate) level_of: Vec<Option<u32>>,
}

impl Levels {
    /// The values of some codes, each once: in the order of numbers if all are numbers.
    pub(crate) fn seen(
        distinct: &Distinct,
        present: impl Iterator<Item = usize>,
        order: Order,
    ) -> Self {
        let mut codes: Vec<usize> = present.collect();
        let text = |code: usize| distinct.text(code).map(String::as_str).unwrap_or_default();
        let number = |code: usize| distinct.number(code);
        let all_numbers = codes.iter().all(|&c| number(c).is_some());
        match order {
            _ if all_numbers => codes.sort_by(|&a, &b| {
                let value = |code: usize| number(code).unwrap_or(f64::NAN) + 0.0;
                value(a).total_cmp(&value(b)).then(text(a).cmp(text(b)))
            }),
            Order::Text => codes.sort_by_key(|&c| text(c)),
            Order::Appearance => {}
        }
        let mut level_of = vec![None; distinct.len()];
        codes.iter().enumerate().for_each(|(level, &c)| level_of[c] = Some(level as u32));
        Levels {
            labels: codes.iter().map(|&c| text(c).to_owned()).collect(),
            all_numbers,
            level_of,
        }
    }

    /// Levels that are given; values are theirs by text or as numbers.
    pub(crate) fn declared(labels: &[String], distinct: &Distinct) -> Self {
        let level = |code: usize| {
            let found = labels.iter().position(|label| distinct.is(code, label));
            found.map(|level| level as u32)
        };
        Levels {
            labels: labels.to_vec(),
            all_numbers: labels.iter().all(|label| plain(label).is_some()),
            level_of: (0..distinct.len()).map(level).collect(),
        }
    }
}

/// The levels of texts that are in memory, None being a missing one: each text's level, NaN where
/// missing, and the levels' names. The same notion of equal values as for tables.
pub fn levels_of_texts(texts: &[Option<&str>]) -> (Vec<f64>, Vec<String>) {
    let mut distinct = Distinct::default();
    let codes: Vec<u32> = texts.iter().map(|text| distinct.code_of_text(*text)).collect();
    let present = (0..distinct.len()).filter(|&code| !distinct.is_missing(code));
    let levels = Levels::seen(&distinct, present, Order::Text);
    let level = |code: &u32| levels.level_of[*code as usize].map_or(f64::NAN, f64::from);
    (codes.iter().map(level).collect(), levels.labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_same_where_their_numbers_are() {
        let texts = [Some("10"), Some("2"), None, Some("2.0"), Some("")];
        let (codes, labels) = levels_of_texts(&texts);
        assert_eq!(labels, ["2", "10"]);
        assert_eq!(&codes[..2], [1.0, 0.0]);
        assert!(codes[2].is_nan() && codes[3] == 0.0 && codes[4].is_nan());
        let (codes, labels) = levels_of_texts(&[Some("b"), Some("01"), Some("1")]);
        assert_eq!(
            (labels, codes),
            (vec!["01".into(), "1".into(), "b".into()], vec![2.0, 0.0, 1.0])
        );
    }
}
