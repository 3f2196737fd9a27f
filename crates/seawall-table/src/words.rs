//! Numbers as people read them: the same in the terminal and in the report; and texts that do
//! nothing but stand there.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a letter would command a terminal or break a drawing: control characters but line ends
/// and tabs, the marks that turn the order of those after them, and what is no letter at all.
pub fn commands(letter: char) -> bool {
    let marks = '\u{202a}'..='\u{202e}';
    let others = matches!(letter, '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}');
    (letter.is_control() && !matches!(letter, '\n' | '\t')) || marks.contains(&letter) || others
}

/// A text with such letters escaped as in JSON: `\u001b`.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if commands(letter) {
            // Writing to a text cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(letter));
        } else {
            out.push(letter);
        }
    }
    Cow::Owned(out)
}

/// A number: six significant digits, no trailing zeros.
pub fn number(x: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    let size = x.abs().log10().floor();
    if !(-4.0..9.0).contains(&size) {
        let text = format!("{x:.5e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let decimals = (5.0 - size).max(0.0) as usize;
    let text = format!("{x:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A number: four significant digits.
pub fn short(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return number(x);
    }
    let digits = 10f64.powf(3.0 - x.abs().log10().floor());
    number((x * digits).round() / digits)
}

/// A radius; an infinite one is none.
pub fn radius(x: f64) -> String {
    if x.is_infinite() { "no radius".to_owned() } else { number(x) }
}

/// An interval, four digits each.
pub fn between((low, high): (f64, f64)) -> String {
    format!("({}, {})", short(low), short(high))
}

/// The level of an interval: `95%`.
pub fn level(level: f64) -> String {
    format!("{}%", number(100.0 * level))
}

/// How far apart two bounds are.
pub fn gap(gap: f64) -> String {
    if gap == 0.0 { "0".to_owned() } else { format!("{gap:.1e}") }
}

/// A share.
pub fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0%".to_owned(),
        p if p < 0.001 => "<0.001%".to_owned(),
        p if p < 0.1 => format!("{}%", format!("{p:.3}").trim_end_matches('0')),
        p => format!("{p:.1}%"),
    }
}

/// A number to the digits that its standard error supports: two of the error's.
pub fn supported(x: f64, se: f64) -> String {
    if !(se > 0.0 && se.is_finite() && x.is_finite()) {
        return short(x);
    }
    let decimals = (1.0 - se.log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{x:.decimals$}");
    // No minus before a zero.
    let zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
    if zero { text.trim_start_matches('-').to_owned() } else { text }
}

/// A limit to one digit of its standard error, rounded to the side on which it still holds.
pub fn limit(x: f64, se: f64, up: bool) -> String {
    if !(se > 0.0 && se.is_finite() && x.is_finite()) {
        return short(x);
    }
    let unit = 10f64.powi(-(-(se.log10().floor())).clamp(0.0, 12.0) as i32);
    // A limit that is a round number already stays one.
    let steps = x / unit;
    let near = steps.round();
    let whole = if (steps - near).abs() < 1e-9 * near.abs().max(1.0) {
        near
    } else if up {
        steps.ceil()
    } else {
        steps.floor()
    };
    supported(whole * unit, 10.0 * se)
}

/// A standardised difference: two decimals are what it deserves.
pub fn standardised(difference: f64) -> String {
    // Adding 0 takes a minus away from nothing.
    format!("{:.2}", (difference * 100.0).round() / 100.0 + 0.0)
}

/// So many rows.
pub fn rows(count: f64) -> String {
    let count = count.round();
    format!("{} {}", number(count), if count == 1.0 { "row" } else { "rows" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_rounded_to_the_side_on_which_they_hold() {
        assert_eq!(limit(0.4215, 0.03, true), "0.43");
        assert_eq!(limit(0.4215, 0.03, false), "0.42");
        assert_eq!(limit(-0.4215, 0.03, true), "-0.42");
        assert_eq!(limit(0.42, 0.03, true), "0.42");
        assert_eq!(limit(41.2, 20.0, true), "42");
        assert_eq!(limit(0.5, f64::NAN, true), "0.5");
    }
}
