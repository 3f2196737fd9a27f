//! Numbers as they are written: digits and a power of ten, so that 0.3 is three tenths and falls
//! into the bin that a person would put it into.
//!
//! Two texts are the same number if both are numbers as JSON writes them and [`plain`] makes them
//! the same text: `1`, `1.0` and `1e0` are, `01` and `+1` are names.

use std::borrow::Cow;
use std::fmt;

/// Exponents beyond this are left as they are written: no number that a program holds has one.
const FARTHEST: i64 = 400;

/// A number as JSON writes it, without needless zeros, blanks around it or an exponent; None if the
/// text is no such number.
pub(crate) fn plain(text: &str) -> Option<Cow<'_, str>> {
    let text = text.trim();
    let parts = Parts::json(text)?;
    if parts.fraction.is_empty() && parts.exponent.is_none() && text != "-0" {
        return Some(Cow::Borrowed(text));
    }
    let exponent: i64 = parts.exponent.map_or(Some(0), |e| e.parse().ok())?;
    let digits = format!("{}{}", parts.whole, parts.fraction);
    let point = parts.whole.len() as i64 + exponent;
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let kept = digits.trim_matches('0');
    if kept.is_empty() {
        return Some(Cow::Borrowed("0"));
    }
    let point = point - leading as i64;
    if point.abs() > FARTHEST {
        return Some(Cow::Owned(format!("{}0.{kept}e{point}", parts.sign())));
    }
    let places = kept.len() as i64;
    let zeros = |count: i64| "0".repeat(count.max(0) as usize);
    let written = match point {
        ..=0 => format!("{}0.{}{kept}", parts.sign(), zeros(-point)),
        _ if point < places => {
            let (whole, fraction) = kept.split_at(point as usize);
            format!("{}{whole}.{fraction}", parts.sign())
        }
        _ => format!("{}{kept}{}", parts.sign(), zeros(point - places)),
    };
    Some(Cow::Owned(written))
}

/// Whether two texts are the same, or the same number.
pub fn same(a: &str, b: &str) -> bool {
    a == b || matches!((plain(a), plain(b)), (Some(a), Some(b)) if a == b)
}

/// The pieces of a number's text.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: Option<&'a str>,
}

impl<'a> Parts<'a> {
    /// As a program reads numbers: a plus, no digit before or after the point, leading zeros.
    fn lenient(text: &'a str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (number, exponent) = match rest.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, Some(exponent)),
            None => (rest, None),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let signed = |e: &str| {
            let e = e.strip_prefix(['+', '-']).unwrap_or(e);
            !e.is_empty() && digits(e)
        };
        let fits = digits(whole)
            && digits(fraction)
            && !(whole.is_empty() && fraction.is_empty())
            && exponent.is_none_or(signed);
        fits.then_some(Parts { negative, whole, fraction, exponent })
    }

    /// As JSON writes numbers.
    fn json(text: &'a str) -> Option<Self> {
        let parts = Parts::lenient(text).filter(|_| !text.starts_with('+'))?;
        let leading = parts.whole.len() > 1 && parts.whole.starts_with('0');
        let bare = text.contains('.') && parts.fraction.is_empty();
        (!parts.whole.is_empty() && !leading && !bare).then_some(parts)
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }
}

/// `digits · 10^exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decimal {
    digits: i128,
    exponent: i32,
}

impl Decimal {
    /// A text as a number, if it is one of few enough digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts = Parts::lenient(text.trim())?;
        let exponent: i32 = parts.exponent.map_or(Some(0), |e| e.parse().ok())?;
        let fraction = parts.fraction.trim_end_matches('0');
        let digits: i128 = match format!("{}{fraction}", parts.whole).as_str() {
            "" => 0,
            digits => digits.parse().ok()?,
        };
        let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        Some(Decimal { digits: if parts.negative { -digits } else { digits }, exponent })
    }

    /// A float as it is shortest written.
    pub fn from_float(x: f64) -> Option<Self> {
        // Scientific, so that 1e300 is one digit.
        Decimal::parse(&format!("{x:e}"))
    }

    /// Whole digits over a power of ten, `digits / 10^places`, if a float holds both exactly.
    pub(crate) fn fraction(self) -> Option<(f64, u32)> {
        const LARGEST: u128 = 1 << 53;
        let places = u32::try_from(-self.exponent).unwrap_or(0);
        let zeros = u32::try_from(self.exponent).unwrap_or(0);
        let digits = self.digits.checked_mul(10i128.checked_pow(zeros)?)?;
        (digits.unsigned_abs() <= LARGEST && places <= 22).then_some((digits as f64, places))
    }

    /// The float nearest to it.
    pub(crate) fn to_float(self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// The digits of both at the smaller exponent of the two, and that exponent.
    fn aligned(self, other: Decimal) -> Option<(i128, i128, i32)> {
        let exponent = self.exponent.min(other.exponent);
        let at = |x: Decimal| {
            if x.digits == 0 {
                return Some(0);
            }
            let power = u32::try_from(x.exponent.checked_sub(exponent)?).ok()?;
            x.digits.checked_mul(10i128.checked_pow(power)?)
        };
        Some((at(self)?, at(other)?, exponent))
    }

    /// `⌊self / width⌋` for a width above 0; None if it takes too many digits.
    pub(crate) fn floor_div(self, width: Decimal) -> Option<i128> {
        let (a, b, _) = self.aligned(width)?;
        (b > 0).then(|| a.div_euclid(b))
    }

    /// `⌈self / width⌉` likewise.
    pub(crate) fn ceil_div(self, width: Decimal) -> Option<i128> {
        let negative = Decimal { digits: -self.digits, ..self };
        negative.floor_div(width).map(|floor| -floor)
    }

    /// `self · count / 2`.
    pub(crate) fn halves(self, count: i128) -> Option<Decimal> {
        let digits = self.digits.checked_mul(count)?.checked_mul(5)?;
        Some(Decimal { digits, exponent: self.exponent.checked_sub(1)? })
    }

    /// The sum; None if it takes too many digits.
    pub fn plus(self, other: Decimal) -> Option<Decimal> {
        let (a, b, exponent) = self.aligned(other)?;
        Some(Decimal { digits: a.checked_add(b)?, exponent })
    }

    /// Whether it is at least another.
    pub fn at_least(self, other: Decimal) -> Option<bool> {
        let (a, b, _) = self.aligned(other)?;
        Some(a >= b)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}e{}", self.digits, self.exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_has_one_plain_text() {
        for (text, expected) in [
            ("1", "1"),
            ("1.0", "1"),
            ("1e0", "1"),
            (" 1 ", "1"),
            ("10E-1", "1"),
            ("-0", "0"),
            ("-0.00", "0"),
            ("0e5", "0"),
            ("1.50", "1.5"),
            ("100", "100"),
            ("1e2", "100"),
            ("12.5e1", "125"),
            ("0.05", "0.05"),
            ("5e-2", "0.05"),
            ("-0.0050", "-0.005"),
            ("9007199254740993", "9007199254740993"),
            ("9007199254740993.0", "9007199254740993"),
        ] {
            assert_eq!(plain(text).as_deref(), Some(expected), "{text}");
        }
        for name in ["", "01", "+1", ".5", "1.", "1e", "-", "x", "NaN", "inf", "1 2", "1,5"] {
            assert_eq!(plain(name), None, "{name}");
        }
        for x in [1e300, 1.5e-300, 0.1, 1e22, f64::MAX, f64::MIN_POSITIVE] {
            assert!(same(&x.to_string(), &format!("{x:e}")), "{x}");
        }
        assert!(!same("9007199254740993", "9007199254740992") && !same("1e999", "1e998"));
    }

    #[test]
    fn decimals_divide_as_written() {
        let width = Decimal::parse("0.1").unwrap();
        for k in -1000..=1000 {
            let text = format!(
                "{}{}.{}",
                if k < 0 { "-" } else { "" },
                i32::abs(k) / 10,
                i32::abs(k) % 10
            );
            let x = Decimal::parse(&text).unwrap();
            assert_eq!(x.floor_div(width), Some(k as i128), "{text}");
            assert_eq!(x.ceil_div(width), Some(k as i128), "{text}");
        }
        assert_eq!(width.halves(53).unwrap().to_float(), 2.65);
        assert_eq!(Decimal::from_float(1e-300).unwrap().to_float(), 1e-300);
        assert_eq!(Decimal::parse("1e300").unwrap().floor_div(width), None);
    }
}
