//! Bins of one width: `[k · width, (k + 1) · width)`, as the width and the values are written.
//!
//! In decimals, because 0.3 / 0.1 is below 3 in binary. Where a number has too many digits for
//! that, floats decide. A declared range is closed: its greatest number is in its last bin.

use super::decimal::Decimal;

/// Bins of a numeric column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bins {
    width: f64,
    decimal: Option<Decimal>,
    /// The bins of a declared range, infinite where there is none.
    first: f64,
    last: f64,
}

impl Bins {
    /// Bins of a width above 0 over a range, ends included.
    pub fn new(width: f64, (min, max): (f64, f64)) -> Self {
        let decimal = Decimal::from_float(width);
        let all = Bins { width, decimal, first: f64::NEG_INFINITY, last: f64::INFINITY };
        let first = if min.is_finite() { all.floor(min, Decimal::from_float(min)) } else { min };
        let last = if max.is_finite() { all.before(max).max(first) } else { max };
        Bins { first, last, ..all }
    }

    /// How wide they are.
    pub fn width(&self) -> f64 {
        self.width
    }

    fn floor(&self, x: f64, written: Option<Decimal>) -> f64 {
        let exact = written.zip(self.decimal).and_then(|(x, width)| x.floor_div(width));
        exact.map_or_else(|| (x / self.width).floor(), |bin| bin as f64)
    }

    /// The bin that ends at a number or holds it inside.
    fn before(&self, x: f64) -> f64 {
        let exact = Decimal::from_float(x).zip(self.decimal);
        let exact = exact.and_then(|(x, width)| x.ceil_div(width));
        exact.map_or_else(|| (x / self.width).ceil(), |bin| bin as f64) - 1.0
    }

    /// The bin of a number: itself, and its digits where they are known.
    pub fn bin(&self, x: f64, written: Option<Decimal>) -> f64 {
        self.floor(x, written).min(self.last)
    }

    /// The same, the digits asked for only where floats could be wrong: the number and the width are
    /// each within half a unit in the last place of what is written, so a quotient that is farther from
    /// a whole number than that lies between the same two.
    pub(crate) fn bin_of(&self, x: f64, written: impl FnOnce() -> Option<Decimal>) -> f64 {
        let ratio = x / self.width;
        if ratio.abs() < 1e9 && (ratio - ratio.round()).abs() > 1e-6 {
            return ratio.floor().min(self.last);
        }
        self.bin(x, written())
    }

    /// The bin of a number that may be beyond the declared range, which then does not end.
    pub fn anywhere(&self, x: f64, written: Option<Decimal>, range: (f64, f64)) -> f64 {
        if x > range.1 { self.floor(x, written) } else { self.bin(x, written) }
    }

    /// The bins from the first to the last that hold numbers or are declared.
    pub fn span(&self, used: impl Iterator<Item = f64>) -> (f64, f64) {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (low, high) = used.fold(ends, |(low, high), bin| (low.min(bin), high.max(bin)));
        let low = if self.first.is_finite() { low.min(self.first) } else { low };
        let high = if self.last.is_finite() { high.max(self.last) } else { high };
        (low, high)
    }

    /// The last bin of a declared range, infinite where there is none.
    pub(crate) fn last(&self) -> f64 {
        self.last
    }

    /// The width as whole digits over a power of ten, if floats hold both exactly.
    pub(crate) fn width_fraction(&self) -> Option<(f64, u32)> {
        self.decimal.and_then(Decimal::fraction)
    }

    /// `half · width / 2`, rounded once.
    fn at(&self, half: f64) -> f64 {
        let decimal = self.decimal.filter(|_| half.abs() < 1e15);
        let exact = decimal.and_then(|width| width.halves(half as i128));
        exact.map_or(half / 2.0 * self.width, Decimal::to_float)
    }

    /// Where a bin begins.
    pub fn start(&self, bin: f64) -> f64 {
        self.at(2.0 * bin)
    }

    /// The middle of a bin: the number that stands for it.
    pub fn centre(&self, bin: f64) -> f64 {
        self.at(2.0 * bin + 1.0)
    }

    /// The bin that a number is inside of, if it is at no bin's end.
    pub fn inside(&self, x: f64) -> Option<f64> {
        let bin = self.floor(x, Decimal::from_float(x));
        (self.start(bin) != x).then_some(bin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYWHERE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

    #[test]
    fn multiples_of_the_width_begin_bins() {
        for (width, digits) in [(0.1, 1), (0.05, 2), (0.3, 1), (2.5, 1), (10.0, 0), (1e-7, 7)] {
            let bins = Bins::new(width, EVERYWHERE);
            for k in -1000..=1000 {
                let text = format!("{:.digits$}", f64::from(k) * width);
                let x: f64 = text.parse().unwrap();
                assert_eq!(bins.bin(x, Decimal::parse(&text)), f64::from(k), "{text} / {width}");
                assert_eq!((bins.start(f64::from(k)), bins.inside(x)), (x, None), "{text}");
                let centre = bins.centre(f64::from(k)).to_string();
                assert!(centre.trim_start_matches('-').len() <= 12, "{centre}");
                assert_eq!(
                    bins.bin(bins.centre(f64::from(k)), Decimal::parse(&centre)),
                    f64::from(k)
                );
            }
        }
        assert_eq!(Bins::new(0.1, EVERYWHERE).inside(0.25), Some(2.0));
    }

    #[test]
    fn a_declared_range_is_closed() {
        let bins = Bins::new(10.0, (20.0, 80.0));
        let bin = |x: f64| bins.bin(x, Decimal::from_float(x));
        assert_eq!((bin(20.0), bin(79.9), bin(80.0)), (2.0, 7.0, 7.0));
        assert_eq!(bins.span([5.0].into_iter()), (2.0, 7.0));
        let point = Bins::new(10.0, (20.0, 20.0));
        assert_eq!(point.span(std::iter::empty()), (2.0, 2.0));
        assert_eq!(point.bin(20.0, None), 2.0);
        // Numbers without end have bins too.
        assert_eq!(Bins::new(1.0, EVERYWHERE).centre(1e300), 1e300);
    }
}
