//! Choices and texts made from a fuzzer's bytes.

use crate::problem::Choices;

/// Bytes, two for each choice; zeros once they are used up.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
}

impl Choices for Bytes<'_> {
    fn bits(&mut self) -> u64 {
        // Both ends of the number vary: some choices look at the one, some at the other.
        let two = u64::from(u16::from_le_bytes([self.byte(), self.byte()]));
        two * 0x0001_0001_0001_0001
    }
}

/// A number of any size and sign, mostly a tame one.
pub fn number(r: &mut impl Choices) -> f64 {
    let sign = if r.chance(0.5) { 1.0 } else { -1.0 };
    let size = match r.below(4) {
        0 => r.below(9) as f64,
        1 => r.unit(),
        2 => 10f64.powf(16.0 * r.unit() - 8.0),
        _ => 1000.0 * r.unit(),
    };
    sign * size
}

/// The texts that a separator character keeps apart, `wanted` of them; those that lack are numbered.
pub fn texts(data: &[u8], wanted: usize) -> Vec<String> {
    let whole = String::from_utf8_lossy(data);
    let mut all: Vec<String> = whole.split('\u{1e}').take(wanted).map(str::to_owned).collect();
    while all.len() < wanted {
        all.push(format!("text {}", all.len()));
    }
    all
}

/// A text as TOML writes it, whatever is in it.
pub fn toml(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' => out.push(letter),
            letter => out.push_str(&format!("\\U{:08X}", u32::from(letter))),
        }
    }
    out + "\""
}
