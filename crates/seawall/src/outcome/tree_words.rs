//! A tree's splits in words.

use super::tree::{Cut, Split};
use crate::space::{Kind, Space, Value};

/// Levels told by name; of more, so many and how many there are besides.
const SHOWN: usize = 6;

impl Split {
    /// What sends a context left, and what right: `age < 65`, and `age ≥ 65 or missing`. A cut is between
    /// two numbers; where they are the middles of bins it is where the bins meet, and a bin has its lower
    /// end.
    pub fn words(&self, space: &Space) -> (String, String) {
        let name = space.names().nth(self.feature).unwrap_or_default();
        let values: Vec<Value<'_>> = space.level_values(self.feature).collect();
        let missing = values.is_empty() || values.contains(&Value::Missing);
        match &self.cut {
            Cut::AtMost(x) if x.is_infinite() => {
                (format!("{name} known"), format!("{name} missing"))
            }
            Cut::AtMost(x) if space.kind(self.feature) == Kind::Numeric => {
                let at = x / space.scale(self.feature);
                let right = if missing { " or missing" } else { "" };
                (format!("{name} < {at}"), format!("{name} ≥ {at}{right}"))
            }
            cut => {
                let goes_left = |level: &usize| match cut {
                    Cut::AtMost(x) => space.coords(self.feature)[*level] <= *x,
                    Cut::Levels(levels) => levels.binary_search(&(*level as u32)).is_ok(),
                };
                let (left, right): (Vec<usize>, Vec<usize>) =
                    (0..values.len()).partition(goes_left);
                let side = |levels: &[usize]| {
                    let label = |l: &usize| match values[*l] {
                        Value::Missing => "(missing)".to_owned(),
                        _ => space.levels(self.feature)[*l].clone(),
                    };
                    let shown: Vec<String> = levels.iter().take(SHOWN).map(label).collect();
                    let more = match levels.len().saturating_sub(SHOWN) {
                        0 => String::new(),
                        more => format!(" or {more} more"),
                    };
                    format!("{name} is {}{more}", shown.join(" or "))
                };
                (side(&left), side(&right))
            }
        }
    }
}
