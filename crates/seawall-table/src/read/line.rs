//! Columns of numbers that are counted as they are or by their bins: no number is made a text, and
//! what is kept grows with the bins and not with the numbers.
//!
//! A missing value is NaN. A value that a study does not allow (no number, or out of the declared
//! range) is infinite: whether that is an error depends on whether its row is used.

use super::bins::Bins;
use super::convert::{Fault, floats, parse_number, text};
use super::decimal::Decimal;
use super::distinct::Distinct;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// So many different values of a binned column are remembered: those of most columns.
const REMEMBERED: usize = 1 << 14;

/// What numbers of a column become.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    bins: Option<Bins>,
    range: (f64, f64),
}

impl Line {
    /// Numbers of a range, ends included; as they are, or by their bins.
    pub(crate) fn new(bins: Option<Bins>, range: (f64, f64)) -> Self {
        Line { bins, range }
    }

    /// Any finite number, as it is.
    pub(crate) fn whole() -> Self {
        Line { bins: None, range: (f64::NEG_INFINITY, f64::INFINITY) }
    }

    /// A number, or the number of its bin. `digits` are asked for where rounding could matter.
    fn place(&self, x: f64, digits: impl FnOnce() -> Option<Decimal>) -> f64 {
        if x.is_nan() {
            return f64::NAN;
        }
        if !x.is_finite() || x < self.range.0 || x > self.range.1 {
            return f64::INFINITY;
        }
        self.bins.map_or(x, |bins| bins.bin_of(x, digits)) + 0.0
    }

    /// A number, and where it is.
    fn of_text(&self, text: Option<&str>) -> (f64, f64) {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return (f64::NAN, f64::NAN) };
        match parse_number(text) {
            Some(x) => (x, self.place(x, || Decimal::parse(text))),
            None => (f64::INFINITY, f64::INFINITY),
        }
    }

    /// The numbers of a column, or those of their bins.
    pub(super) fn take(&self, column: &ArrayRef) -> Result<Vec<f64>, Fault> {
        self.read(column, |(_, place)| place)
    }

    /// Something of each value's number and place.
    fn read<T: Copy>(
        &self,
        column: &ArrayRef,
        of: impl Fn((f64, f64)) -> T + Copy,
    ) -> Result<Vec<T>, Fault> {
        let missing = of((f64::NAN, f64::NAN));
        if let Some(column) = column.as_any_dictionary_opt() {
            if column.values().is_empty() {
                return Ok(vec![missing; column.len()]);
            }
            let values = self.read(column.values(), of)?;
            let keys = column.normalized_keys();
            let number = |(row, key): (usize, &usize)| {
                if column.keys().is_null(row) { missing } else { values[*key] }
            };
            return Ok(keys.iter().enumerate().map(number).collect());
        }
        if let Some(column) = floats(column) {
            let float = |x: f64| of((x, self.place(x, || Decimal::from_float(x))));
            return Ok(column.iter().map(|x| float(x.unwrap_or(f64::NAN))).collect());
        }
        let texts = text(column)?;
        Ok(texts.iter().map(|text| of(self.of_text(text))).collect())
    }
}

/// The bins of a column, numbered as they appear.
#[derive(Clone, Debug)]
pub struct BinnedColumn {
    line: Line,
    /// By code of the bin: which it is.
    seen: Vec<f64>,
    codes: HashMap<u64, u32, FixedState>,
    /// The values met, as long as they are few, and each one's bin and number: most columns have no others.
    values: Option<(Distinct, Vec<(u32, f64)>)>,
}

impl BinnedColumn {
    pub(super) fn new(line: Line) -> Self {
        let values = Some((Distinct::default(), Vec::new()));
        BinnedColumn { line, seen: Vec::new(), codes: HashMap::default(), values }
    }

    /// Appends the codes of the bins of a column's values, and the numbers themselves.
    pub(super) fn take(
        &mut self,
        column: &ArrayRef,
        codes: &mut Vec<u32>,
        raw: &mut Vec<f64>,
    ) -> Result<(), Fault> {
        if let Some((mut values, mut bin_of)) = self.values.take() {
            let from = codes.len();
            values.take(column, codes)?;
            for value in bin_of.len()..values.len() {
                let (x, place) = match values.number(value) {
                    Some(x) => (x, self.line.place(x, || values.decimal(value))),
                    None if values.is_missing_number(value) => (f64::NAN, f64::NAN),
                    None => (f64::INFINITY, f64::INFINITY),
                };
                bin_of.push((self.code(place), x));
            }
            for code in &mut codes[from..] {
                let (bin, x) = bin_of[*code as usize];
                *code = bin;
                raw.push(x);
            }
            self.values = Some((values, bin_of)).filter(|(values, _)| values.len() <= REMEMBERED);
            return Ok(());
        }
        for (x, bin) in self.line.read(column, |both| both)? {
            codes.push(self.code(bin));
            raw.push(x);
        }
        Ok(())
    }

    fn code(&mut self, bin: f64) -> u32 {
        let next = self.seen.len() as u32;
        let code = *self.codes.entry(bin.to_bits()).or_insert(next);
        if code == next {
            self.seen.push(bin);
        }
        code
    }

    /// How many bins were seen, the missing value among them.
    pub(crate) fn len(&self) -> usize {
        self.seen.len()
    }

    /// The bin of a code: NaN for the missing value, infinite for one that is not allowed.
    pub(crate) fn bin(&self, code: u32) -> f64 {
        self.seen[code as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BooleanArray, Float64Array, StringArray};
    use std::sync::Arc;

    #[test]
    fn bins_remembered_and_worked_out_anew_are_the_same() {
        let line = Line::new(Some(Bins::new(0.1, (-50.0, 60.0))), (-50.0, 60.0));
        let texts: Vec<String> = (0..40_000)
            .map(|k| match k % 7 {
                0 => format!("{:.1}", f64::from(k % 1200) / 10.0 - 60.0),
                1 => "NA".to_owned(),
                2 => "x".to_owned(),
                3 => format!("{}", 0.1 * f64::from(k % 500)),
                _ => format!("{:.4}", f64::from(k) / 1000.0),
            })
            .collect();
        let column: ArrayRef = Arc::new(StringArray::from(texts.clone()));
        let mut binned = BinnedColumn::new(line);
        let (mut codes, mut raw) = (Vec::new(), Vec::new());
        for from in (0..texts.len()).step_by(1000) {
            binned.take(&column.slice(from, 1000), &mut codes, &mut raw).unwrap();
        }
        // Beyond what is remembered, so that both ways were gone.
        assert!(binned.values.is_none());
        let direct = line.take(&column).unwrap();
        for (row, (code, direct)) in codes.iter().zip(direct).enumerate() {
            let found = binned.bin(*code);
            assert_eq!(found.to_bits(), direct.to_bits(), "{}", texts[row]);
            let number = parse_number(&texts[row]).unwrap_or(f64::INFINITY);
            assert_eq!(raw[row].to_bits(), number.to_bits(), "{}", texts[row]);
        }
    }

    #[test]
    fn numbers_of_any_type() {
        let line = Line::new(None, (0.0, 2.0));
        let bits = |column: ArrayRef| -> Vec<u64> {
            line.take(&column).unwrap().iter().map(|x| x.to_bits()).collect()
        };
        let wanted: Vec<u64> =
            [1.0, f64::NAN, 0.0, f64::INFINITY].iter().map(|x: &f64| x.to_bits()).collect();
        let texts = StringArray::from(vec![Some("1.0"), None, Some("-0"), Some("2.5")]);
        assert_eq!(bits(Arc::new(texts)), wanted);
        assert_eq!(bits(Arc::new(StringArray::from(vec!["1", "nan", "0", "x"]))), wanted);
        assert_eq!(bits(Arc::new(Float64Array::from(vec![1.0, -f64::NAN, -0.0, 9.0]))), wanted);
        let truths = BooleanArray::from(vec![Some(true), None, Some(false)]);
        assert_eq!(bits(Arc::new(truths)), wanted[..3]);
    }
}
