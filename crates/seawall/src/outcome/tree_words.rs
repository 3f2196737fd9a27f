//! A tree's splits in words.

use super::cut::Cut;
use super::tree::Split;
use crate::space::{Kind, Space, Value};

/// Levels told by name; of more, so many and how many there are besides.
const SHOWN: usize = 6;

impl Split {
    /// What sends a context left, and what right: `age < 65`, and `age ≥ 65 or missing`. The number told is
    /// halfway between the last of the space's numbers that go left and the first that go right, whichever
    /// of them the node holds: of bins, where two meet.
    pub fn words(&self, space: &Space) -> (String, String) {
        let name = space.names().nth(self.feature).unwrap_or_default();
        let values: Vec<Value<'_>> = space.level_values(self.feature).collect();
        let missing = values.is_empty() || values.contains(&Value::Missing);
        match &self.cut {
            Cut::AtMost(x) if x.is_infinite() => {
                (format!("{name} known"), format!("{name} missing"))
            }
            Cut::AtMost(x) if space.kind(self.feature) == Kind::Numeric => {
                let at = between(&space.column(self.feature), *x) / space.scale(self.feature);
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

/// Halfway between the last number up to a cut and the first beyond it; the cut itself at either end.
fn between(numbers: &[f64], cut: f64) -> f64 {
    let left = numbers.iter().copied().filter(|x| *x <= cut).fold(f64::NEG_INFINITY, f64::max);
    let right = numbers.iter().copied().filter(|x| *x > cut).fold(f64::INFINITY, f64::min);
    let middle = 0.5 * left + 0.5 * right;
    if middle.is_finite() { middle } else { cut }
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn a_cut_is_told_between_the_spaces_numbers() {
        // A node without the bin of 75 cuts in its middle, and the bin goes left.
        assert_eq!(between(&[55.0, 65.0, 75.0, 85.0], 75.0), 80.0);
        assert_eq!(between(&[55.0, 65.0, 75.0, 85.0], 70.0), 70.0);
        assert_eq!(between(&[66.0, 64.0, 65.0, f64::NAN], 65.0), 65.5);
        assert_eq!((between(&[1.0], 2.0), between(&[3.0], 2.0)), (2.0, 2.0));
    }
}
