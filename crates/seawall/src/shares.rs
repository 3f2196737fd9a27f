//! Stage 2. Shares of levels as people report them: what sampling leaves open, and shares that must sum to one.
//!
//! ```text
//! Wilson   (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n)
//! ```

use crate::known::Fact;

/// The normal quantile of 95% intervals.
const Z: f64 = 1.959_963_984_540_054;
/// What rounding may add to a share, at most.
const ROUNDING: f64 = 0.0005;
/// A sum that is nearer to one than this is one.
const EXACT: f64 = 1e-9;

/// Wilson's 95% interval of a share of so many people; the share is in it.
pub fn wilson_interval(share: f64, people: f64) -> (f64, f64) {
    let middle = share + Z * Z / (2.0 * people);
    let half = Z * (share * (1.0 - share) / people + (Z / (2.0 * people)).powi(2)).sqrt();
    let scale = 1.0 + Z * Z / people;
    (((middle - half) / scale).clamp(0.0, share), ((middle + half) / scale).clamp(share, 1.0))
}

/// Shares moved within their ranges until they sum to one, all levels being there, or to no more than one; or
/// why they cannot.
pub fn sum_to_one(shares: &[Fact], whole: bool) -> Result<Vec<Fact>, String> {
    let sum = |of: &dyn Fn(&Fact) -> f64| shares.iter().map(of).sum::<f64>();
    let (value, low, high) = (sum(&|f| f.value), sum(&|f| f.low), sum(&|f| f.high));
    let moved = |to: &dyn Fn(&Fact) -> f64| {
        shares.iter().map(|f| Fact { value: to(f), ..*f }).collect::<Vec<Fact>>()
    };
    if (value - 1.0).abs() <= EXACT || (!whole && value < 1.0) {
        return Ok(shares.to_vec());
    }
    if value > 1.0 && low <= 1.0 && low < value {
        let part = (value - 1.0) / (value - low);
        return Ok(moved(&|f| (f.value - part * (f.value - f.low)).max(f.low)));
    }
    if value < 1.0 && high >= 1.0 && high > value {
        let part = (1.0 - value) / (high - value);
        return Ok(moved(&|f| (f.value + part * (f.high - f.value)).min(f.high)));
    }
    if (value - 1.0).abs() <= ROUNDING * shares.len() as f64 + EXACT {
        let scaled = |x: f64| (x / value).min(1.0);
        let fact = |f: &Fact| Fact {
            value: scaled(f.value),
            low: scaled(f.low),
            high: scaled(f.high),
            ..*f
        };
        return Ok(shares.iter().map(fact).collect());
    }
    // As it was written, without the noise of adding.
    let told = (value * 1e9).round() / 1e9;
    let told = format!("the shares sum to {told}; expected 1");
    Err(if whole {
        format!("{told}, for these are all levels (within = ... says how far off each may be)")
    } else {
        format!("{told} or less")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::known::Quantity;

    fn facts(all: &[(f64, f64, f64)]) -> Vec<Fact> {
        let share = |(k, &(low, value, high)): (usize, &(f64, f64, f64))| Fact {
            feature: 0,
            quantity: Quantity::Share(k),
            value,
            low,
            high,
        };
        all.iter().enumerate().map(share).collect()
    }

    #[test]
    fn wilson_holds_the_share_at_every_size() {
        for people in [1.0, 7.0, 1200.0, 1e9] {
            for share in [0.0, 1e-9, 0.03, 0.5, 0.999, 1.0] {
                let (low, high) = wilson_interval(share, people);
                assert!(0.0 <= low && low <= share && share <= high && high <= 1.0);
                assert!(high > low);
            }
        }
        // 47 of 100: the interval that textbooks print.
        let (low, high) = wilson_interval(0.47, 100.0);
        assert!((low - 0.3750).abs() < 1e-3 && (high - 0.5671).abs() < 1e-3, "{low} {high}");
    }

    #[test]
    fn shares_are_moved_to_one_within_what_is_open() {
        let exact = |x: f64| (x, x, x);
        let sum = |facts: &[Fact]| facts.iter().map(|f| f.value).sum::<f64>();
        let inside = |facts: &[Fact]| facts.iter().all(|f| f.low <= f.value && f.value <= f.high);
        for (case, whole) in [
            // Rounding.
            (vec![exact(0.333), exact(0.333), exact(0.333)], true),
            (vec![exact(0.3335), exact(0.333), exact(0.334)], true),
            (vec![exact(0.5005), exact(0.5)], false),
            // Ranges.
            (vec![(0.4, 0.45, 0.5), (0.4, 0.45, 0.5)], true),
            (vec![(0.1, 0.15, 0.2), (0.7, 0.9, 1.0)], true),
            (vec![(0.0, 0.0, 0.1), (0.9, 0.9, 0.95), exact(0.02)], true),
        ] {
            let moved = sum_to_one(&facts(&case), whole).unwrap();
            assert!((sum(&moved) - 1.0).abs() < 1e-12 && inside(&moved), "{moved:?}");
        }
        let part = sum_to_one(&facts(&[exact(0.3), exact(0.2)]), false).unwrap();
        assert_eq!(part, facts(&[exact(0.3), exact(0.2)]));
        for (case, whole, told) in [
            (vec![exact(0.47), exact(0.43)], true, "sum to 0.9; expected 1, for"),
            (vec![exact(0.7), exact(0.4)], true, "sum to 1.1"),
            (vec![exact(0.7), exact(0.4)], false, "sum to 1.1; expected 1 or less"),
            (vec![(0.4, 0.42, 0.45), (0.4, 0.42, 0.45)], true, "sum to 0.84"),
        ] {
            let error = sum_to_one(&facts(&case), whole).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
