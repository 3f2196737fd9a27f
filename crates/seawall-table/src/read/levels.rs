//! The levels of a column: its distinct values in order, and which of them each value is.

use super::decimal::plain;
use super::distinct::Distinct;
use std::borrow::Cow;
use std::collections::HashMap;

/// Levels that are given, each found at once by a text or a number.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredLevels {
    labels: Vec<String>,
    /// By the plain spelling.
    places: HashMap<String, usize>,
}

/// What two spellings of a value have in common.
fn spelling(text: &str) -> Cow<'_, str> {
    plain(text).unwrap_or(Cow::Borrowed(text))
}

impl DeclaredLevels {
    /// Levels in order; `Err` is one that is there already.
    pub fn new(labels: Vec<String>) -> Result<Self, String> {
        let mut places = HashMap::with_capacity(labels.len());
        for (at, label) in labels.iter().enumerate() {
            if places.insert(spelling(label).into_owned(), at).is_some() {
                return Err(label.clone());
            }
        }
        Ok(DeclaredLevels { labels, places })
    }

    /// Their texts, in order.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The level that a value is: as [`Distinct::is`] tells, without asking each.
    pub(crate) fn find(&self, distinct: &Distinct, code: usize) -> Option<usize> {
        let text = distinct.text(code)?.as_str();
        let place = |text: &str| self.places.get(&*spelling(text)).copied();
        // True is 1 where a number is asked for.
        let truth = match (text, distinct.number(code)) {
            ("true", Some(_)) => place("1"),
            ("false", Some(_)) => place("0"),
            _ => None,
        };
        [place(text), truth].into_iter().flatten().min()
    }
}

/// How levels that are not all numbers are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By their texts.
    Text,
    /// As they appear.
    Appearance,
}

/// The levels of a column.
#[derive(Clone, Debug)]
pub struct Levels {
    /// Their texts, in order.
    pub labels: Vec<String>,
    /// Whether all are numbers.
    pub all_numbers: bool,
    /// By code: which level a value is; None if it is missing or none of them.
    pub level_of: Vec<Option<u32>>,
}

impl Levels {
    /// The values of some codes, each once: in the order of numbers if all are numbers.
    pub fn seen(distinct: &Distinct, present: impl Iterator<Item = usize>, order: Order) -> Self {
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
    pub fn declared(declared: &DeclaredLevels, distinct: &Distinct) -> Self {
        let level = |code: usize| declared.find(distinct, code).map(|level| level as u32);
        let labels = declared.labels();
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
    use arrow_array::{ArrayRef, BooleanArray, StringArray};
    use std::sync::Arc;

    #[test]
    fn declared_levels_are_found_as_one_by_one() {
        let labels = ["1.0", "01", "b", "true", "0", "1e3", " 7", "NA"].map(str::to_owned);
        let declared = DeclaredLevels::new(labels.to_vec()).unwrap();
        let texts = ["1", "01", "b", "B", "true", "0.0", "-0", "1000", "7", "NA", "+1", ""];
        let truths = BooleanArray::from(vec![true, false]);
        let columns: [ArrayRef; 2] =
            [Arc::new(StringArray::from(texts.to_vec())), Arc::new(truths)];
        for column in columns {
            for row in 0..column.len() {
                let one = Distinct::of_row(&column, row).unwrap();
                let slow = labels.iter().position(|label| one.is(0, label));
                assert_eq!(declared.find(&one, 0), slow, "{:?}", one.text(0));
            }
        }
        assert_eq!(
            DeclaredLevels::new(vec!["1".into(), "2".into(), "1.0".into()]),
            Err("1.0".into())
        );
    }

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
