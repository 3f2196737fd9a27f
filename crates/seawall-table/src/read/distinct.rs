//! The distinct values of a column, numbered as they appear: the one notion of when two values are
//! the same.
//!
//! - A value is missing where there is none, where a float is not a number, and where a text is
//!   empty. Where numbers are expected `NA` and `nan` are missing too.
//! - Numbers are the same if they are equal as written, so −0 is 0, and `1`, `1.0` and the number 1
//!   are one value. A text that JSON would not take for a number (`01`, `+1`) is a name.
//! - A number is shown plainly, however it was spelled: `1.50` and `15e-1` are 1.5, as they are where an
//!   engine has read them as numbers.

use super::convert::{Fault, beyond_floats, floats, parse_number, text, widened};
use super::decimal::{Decimal, plain, same};
use super::moment::Moment;
use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::DataType;
use foldhash::fast::FixedState;
use std::borrow::Cow;
use std::collections::HashMap;

/// Whole numbers below this have a table of their own.
const WHOLE: usize = 1 << 16;
/// No code yet.
const NONE: u32 = u32::MAX;

/// The distinct values of a column, in order of appearance.
#[derive(Clone, Debug, Default)]
pub struct Distinct {
    texts: Vec<Option<String>>,
    numbers: Vec<Option<f64>>,
    /// By every spelling met.
    by_text: HashMap<String, u32, FixedState>,
    /// By the plain spelling of a number, as long as only others were met.
    by_plain: HashMap<String, u32, FixedState>,
    by_bits: HashMap<u64, u32, FixedState>,
    /// The codes of short floats.
    by_short_bits: HashMap<u32, u32, FixedState>,
    /// The codes of small whole numbers, the commonest numbers there are.
    by_whole: Vec<u32>,
    missing: Option<u32>,
}

impl Distinct {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// A value as text; None if it is a missing one.
    pub fn text(&self, code: usize) -> Option<&String> {
        self.texts[code].as_ref()
    }

    /// A value as a number, if it is one.
    pub fn number(&self, code: usize) -> Option<f64> {
        self.numbers[code]
    }

    /// A value as a number of digits, if it is one of few enough.
    pub fn decimal(&self, code: usize) -> Option<Decimal> {
        let number = self.numbers[code]?;
        let written = self.texts[code].as_deref().and_then(Decimal::parse);
        written.or_else(|| Decimal::from_float(number))
    }

    /// A value as a date or a time, if it is one.
    pub fn moment(&self, code: usize) -> Option<Moment> {
        Moment::parse(self.texts[code].as_deref()?)
    }

    /// Whether a value is the one that a text means.
    pub fn is(&self, code: usize, wanted: &str) -> bool {
        let Some(text) = self.texts[code].as_deref() else { return false };
        // True is 1 where a number is asked for.
        same(text, wanted)
            || (self.is_truth(code) && same(if text == "true" { "1" } else { "0" }, wanted))
    }

    /// Whether a value is true or false, of a column of truths, which count as numbers too.
    pub(crate) fn is_truth(&self, code: usize) -> bool {
        let text = self.texts[code].as_deref().unwrap_or_default();
        ["true", "false"].contains(&text) && self.numbers[code].is_some()
    }

    /// Whether a value is missing where levels are expected.
    pub fn is_missing(&self, code: usize) -> bool {
        self.texts[code].is_none()
    }

    /// Whether a value is missing where numbers are expected: NA is then no text.
    pub fn is_missing_number(&self, code: usize) -> bool {
        self.texts[code].as_deref().is_none_or(|text| parse_number(text).is_some_and(f64::is_nan))
    }

    /// Whether every value is written as a number, or missing.
    pub fn all_numbers(&self) -> bool {
        self.texts.iter().flatten().all(|text| parse_number(text).is_some())
    }

    /// One value of a column alone, whose code is 0; None if it cannot be read.
    pub(crate) fn of_row(column: &ArrayRef, row: usize) -> Option<Self> {
        let (mut distinct, mut codes) = (Distinct::default(), Vec::new());
        let cell = column.slice(row, 1);
        // A dictionary has its other values in every part of it.
        let alone = match cell.data_type() {
            DataType::Dictionary(_, values) if cell.is_null(0) => new_null_array(values, 1),
            DataType::Dictionary(..) => {
                let cell = cell.as_any_dictionary();
                cell.values().slice(*cell.normalized_keys().first()?, 1)
            }
            _ => cell,
        };
        distinct.take(&alone, &mut codes).ok()?;
        Some(distinct)
    }

    fn add(&mut self, text: Option<String>, number: Option<f64>) -> u32 {
        self.texts.push(text);
        self.numbers.push(number);
        self.texts.len() as u32 - 1
    }

    fn code_of_missing(&mut self) -> u32 {
        match self.missing {
            Some(code) => code,
            None => {
                let code = self.add(None, None);
                self.missing = Some(code);
                code
            }
        }
    }

    /// The code of a text, numbered if it is new; of a missing value without one.
    pub fn code_of_text(&mut self, text: Option<&str>) -> u32 {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return self.code_of_missing();
        };
        match self.by_text.get(text) {
            Some(&code) => code,
            None => self.code_of_spelling(text),
        }
    }

    /// The code of a text that is met for the first time.
    fn code_of_spelling(&mut self, text: &str) -> u32 {
        let plain = plain(text).unwrap_or(Cow::Borrowed(text));
        let known = self.by_text.get(&*plain).or_else(|| self.by_plain.get(&*plain)).copied();
        let code = match known {
            Some(code) => code,
            None => {
                let number = parse_number(text).filter(|x| !x.is_nan());
                self.add(Some(plain.clone().into_owned()), number)
            }
        };
        if plain == text {
            self.by_plain.remove(text);
        } else if known.is_none() {
            self.by_plain.insert(plain.into_owned(), code);
        }
        self.by_text.insert(text.to_owned(), code);
        code
    }

    /// The code of a number, NaN being a missing value.
    #[inline]
    fn code_of_number(&mut self, x: f64) -> u32 {
        let whole = x as u32;
        if f64::from(whole) == x
            && let Some(&code) = self.by_whole.get(whole as usize)
            && code != NONE
        {
            return code;
        }
        self.code_of_other_number(x)
    }

    fn code_of_other_number(&mut self, x: f64) -> u32 {
        if x.is_nan() {
            return self.code_of_missing();
        }
        let bits = (x + 0.0).to_bits();
        if let Some(&code) = self.by_bits.get(&bits) {
            return code;
        }
        // Another file may have written it as text.
        let code = self.code_of_text(Some(&(x + 0.0).to_string()));
        self.by_bits.insert(bits, code);
        let whole = x as usize;
        if whole as f64 == x && whole < WHOLE {
            self.by_whole.resize(self.by_whole.len().max(whole + 1), NONE);
            self.by_whole[whole] = code;
        }
        code
    }

    fn code_of_short_float(&mut self, x: f32) -> u32 {
        if let Some(&code) = self.by_short_bits.get(&x.to_bits()) {
            return code;
        }
        let code = self.code_of_number(widened(x));
        self.by_short_bits.insert(x.to_bits(), code);
        code
    }

    /// Appends the codes of a column's values.
    pub(super) fn take(&mut self, column: &ArrayRef, codes: &mut Vec<u32>) -> Result<(), Fault> {
        if let Some(column) = column.as_any_dictionary_opt() {
            if column.values().is_empty() {
                let missing = self.code_of_missing();
                codes.extend(std::iter::repeat_n(missing, column.len()));
                return Ok(());
            }
            let keys = column.normalized_keys();
            let mut of_values = Vec::new();
            self.take(column.values(), &mut of_values).map_err(|fault| {
                let has = |value: usize| keys.iter().position(|key| *key == value);
                Fault { row: fault.row.and_then(has), ..fault }
            })?;
            codes.extend(keys.iter().map(|&key| of_values[key]));
            if column.keys().null_count() > 0 {
                let missing = self.code_of_missing();
                let first = codes.len() - keys.len();
                let nulls = (0..keys.len()).filter(|&i| column.keys().is_null(i));
                nulls.for_each(|i| codes[first + i] = missing);
            }
            return Ok(());
        }
        let kind = column.data_type();
        if kind == &DataType::Float32 {
            let short = |x: Option<f32>| self.code_of_short_float(x.unwrap_or(f32::NAN));
            codes.extend(column.as_primitive::<Float32Type>().iter().map(short));
            return Ok(());
        }
        if kind.is_numeric()
            && !kind.is_decimal()
            && !beyond_floats(column)
            && let Some(column) = floats(column)
        {
            if column.null_count() == 0 {
                codes.extend(column.values().iter().map(|&x| self.code_of_number(x)));
            } else {
                let number = |x: Option<f64>| self.code_of_number(x.unwrap_or(f64::NAN));
                codes.extend(column.iter().map(number));
            }
            return Ok(());
        }
        let found = text(column)?;
        codes.extend(found.iter().map(|text| self.code_of_text(text)));
        if kind == &DataType::Boolean {
            // True counts as 1 where a number is wanted.
            for (text, truth) in [("false", 0.0), ("true", 1.0)] {
                if let Some(&code) = self.by_text.get(text) {
                    self.numbers[code as usize] = Some(truth);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{
        BooleanArray, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int64Array,
        StringArray,
    };
    use std::sync::Arc;

    fn codes(distinct: &mut Distinct, column: ArrayRef) -> Vec<u32> {
        let mut codes = Vec::new();
        distinct.take(&column, &mut codes).unwrap();
        codes
    }

    #[test]
    fn a_value_is_the_same_in_every_type() {
        let mut all = Distinct::default();
        let texts = StringArray::from(vec!["1.0", "0.10", "-0", "", "01", "1", "NA"]);
        assert_eq!(codes(&mut all, Arc::new(texts)), [0, 1, 2, 3, 4, 0, 5]);
        assert_eq!(codes(&mut all, Arc::new(Int64Array::from(vec![Some(1), None]))), [0, 3]);
        let floats = vec![1.0, 0.1, 0.0, -0.0, f64::NAN, -f64::NAN];
        assert_eq!(codes(&mut all, Arc::new(Float64Array::from(floats))), [0, 1, 2, 2, 3, 3]);
        let short = vec![1.0, 0.1, -0.0, f32::NAN];
        assert_eq!(codes(&mut all, Arc::new(Float32Array::from(short))), [0, 1, 2, 3]);
        let decimals = Decimal128Array::from(vec![100, 10, 0]);
        let decimals = decimals.with_precision_and_scale(5, 2).unwrap();
        assert_eq!(codes(&mut all, Arc::new(decimals)), [0, 1, 2]);
        // The plain spelling is shown, whichever came first.
        assert_eq!((all.text(0).unwrap(), all.text(1).unwrap()), (&"1".into(), &"0.1".into()));
        assert_eq!(all.len(), 6);
        assert!(all.is(4, "01") && !all.is(4, "1") && all.is(0, "1.00") && !all.is(3, ""));
        assert!(!all.is_missing(5) && all.is_missing_number(5) && all.is_missing(3));
    }

    #[test]
    fn one_value_of_a_dictionary_is_alone() {
        let texts: Vec<Option<&str>> = vec![Some("a"), Some("b"), None, Some("a")];
        let column: ArrayRef = Arc::new(texts.into_iter().collect::<DictionaryArray<Int32Type>>());
        let one = Distinct::of_row(&column, 1).unwrap();
        assert_eq!((one.len(), one.text(0)), (1, Some(&"b".to_owned())));
        assert!(Distinct::of_row(&column, 2).unwrap().is_missing(0));
    }

    #[test]
    fn truths_count_as_numbers() {
        let mut all = Distinct::default();
        let truths = BooleanArray::from(vec![Some(true), Some(false), None]);
        assert_eq!(codes(&mut all, Arc::new(truths)), [0, 1, 2]);
        assert_eq!((all.number(0), all.number(1)), (Some(1.0), Some(0.0)));
        assert!(all.is(0, "true") && all.is(0, "1") && all.is(1, "0") && !all.is(1, "1"));
        // They are not written as numbers.
        assert!(!all.all_numbers());
    }
}
