//! How a way to a bound did on past groups: how often it held, by how much it was beyond what really happened,
//! and which of several ways to recommend.
//!
//! ```text
//! excess   sign (bound − real),   ≥ 0 where the bound held
//! weight   2^(−(ago − 1)/half-life) of a group that was so many groups ago
//! ```

/// How a way to a bound did on past groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundRecord {
    /// Groups that it held for.
    pub held: usize,
    /// Of so many.
    pub of: usize,
    /// By how much its bound was beyond what really happened, on average.
    pub mean_excess: f64,
    /// And in the middle.
    pub median_excess: f64,
}

/// From so many groups on one miss more than the level allows is chance.
const MANY: usize = 20;

impl BoundRecord {
    /// By the excess of each group's bound; None without groups.
    pub fn new(mut excess: Vec<f64>) -> Option<Self> {
        if excess.is_empty() {
            return None;
        }
        excess.sort_unstable_by(f64::total_cmp);
        let (of, half) = (excess.len(), excess.len() / 2);
        let even = of.is_multiple_of(2);
        let median_excess =
            if even { 0.5 * (excess[half - 1] + excess[half]) } else { excess[half] };
        Some(BoundRecord {
            held: excess.iter().filter(|e| **e >= 0.0).count(),
            of,
            mean_excess: excess.iter().sum::<f64>() / of as f64,
            median_excess,
        })
    }

    /// Whether it held as often as a level asks, of twenty groups or more give or take one. A bound that is
    /// below what happened on average did not.
    pub fn holds_at(&self, level: f64) -> bool {
        let misses = (self.of - self.held) as f64;
        let one_more = if self.of >= MANY { 1.0 } else { 0.0 };
        self.mean_excess >= 0.0 && misses <= ((1.0 - level) * self.of as f64).floor() + one_more
    }

    /// The one with the least mean excess among those that held as often as the level asks; if there are none, the
    /// one that held most often.
    pub fn best(all: &[BoundRecord], level: f64) -> Option<usize> {
        let least = (0..all.len()).filter(|&k| all[k].holds_at(level));
        let least = least.min_by(|&a, &b| all[a].mean_excess.total_cmp(&all[b].mean_excess));
        let share = |k: usize| all[k].held as f64 / all[k].of as f64;
        let most = || (0..all.len()).max_by(|&a, &b| share(a).total_cmp(&share(b)));
        least.or_else(most)
    }
}

/// What a group counts for that was so many groups ago, 1 being the last.
pub fn recency_weight(half_life: Option<f64>, ago: usize) -> f64 {
    half_life.map_or(1.0, |half| (-((ago - 1) as f64) / half).exp2())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_record_counts_what_held_and_its_excess() {
        let record = BoundRecord::new(vec![0.3, -0.1, 0.0, 0.2]).unwrap();
        assert_eq!((record.held, record.of), (3, 4));
        assert!((record.mean_excess - 0.1).abs() < 1e-15);
        assert!((record.median_excess - 0.1).abs() < 1e-15);
        assert_eq!(BoundRecord::new(vec![1.0, 5.0, 2.0]).unwrap().median_excess, 2.0);
        assert_eq!(BoundRecord::new(Vec::new()), None);
    }

    #[test]
    fn the_tightest_that_held_often_enough_is_best_and_else_what_held_most_often() {
        let of = |held: usize, mean_excess: f64| BoundRecord {
            held,
            of: 20,
            mean_excess,
            median_excess: mean_excess,
        };
        // At 95% one miss of 20 is allowed, and one more by chance.
        let all = [of(17, 0.1), of(18, 0.3), of(20, 0.5), of(18, -0.1)];
        assert_eq!(BoundRecord::best(&all, 0.95), Some(1));
        assert_eq!(BoundRecord::best(&all[..1], 0.95), Some(0));
        assert_eq!(BoundRecord::best(&[of(10, 0.1), of(12, 0.2)], 0.95), Some(1));
        assert_eq!(BoundRecord::best(&[], 0.95), None);
    }

    #[test]
    fn a_half_life_halves() {
        assert_eq!(recency_weight(None, 9), 1.0);
        assert_eq!(recency_weight(Some(2.0), 1), 1.0);
        assert!((recency_weight(Some(2.0), 3) - 0.5).abs() < 1e-15);
    }
}
