//! Numbers off a grid, gathered in bins of neighbours.
//!
//! Bins are in the order of the numbers, equal numbers share one, and missing values have one of
//! their own, the last. They are cut at quantiles of a sample, so that each holds about as many
//! points. Whoever looks for something along a column may look bin by bin first, and must then
//! look closer: where the cuts are is a matter of speed and of nothing else.

/// Bins at most, the missing one apart.
const MOST: usize = 512;
/// Numbers that the cuts are taken from, at most.
const SAMPLE: usize = 1 << 14;

/// Which bin each point of a column is in.
#[derive(Debug)]
pub(crate) struct Bins {
    of: Vec<u16>,
    /// Whether all points of a bin have the same number.
    single: Vec<bool>,
}

impl Bins {
    /// The bins of a column; None if it holds a missing value that is not [`f64::NAN`] itself, and
    /// has no place of its own among the numbers.
    pub(super) fn new(codes: &[f64]) -> Option<Self> {
        let missing = |code: f64| code.to_bits() == f64::NAN.to_bits();
        if codes.iter().any(|&code| code.is_nan() && !missing(code)) {
            return None;
        }
        let cuts = cuts(codes);
        let last = cuts.len() + 1;
        let mut first: Vec<Option<u64>> = vec![None; last + 1];
        let mut single = vec![true; last + 1];
        let bin = |&code: &f64| {
            let bin = if code.is_nan() { last } else { cuts.partition_point(|cut| *cut < code) };
            let own = *first[bin].get_or_insert(code.to_bits());
            single[bin] &= own == code.to_bits();
            bin as u16
        };
        let of = codes.iter().map(bin).collect();
        Some(Bins { of, single })
    }

    /// How many bins there are.
    pub fn count(&self) -> usize {
        self.single.len()
    }

    /// The bin of a point.
    #[inline(always)]
    pub fn of(&self, point: u32) -> usize {
        self.of[point as usize] as usize
    }

    /// Whether all points of a bin have the same number.
    pub fn is_single(&self, bin: usize) -> bool {
        self.single[bin]
    }
}

/// The last number of each bin but the last: quantiles of every so manieth number.
fn cuts(codes: &[f64]) -> Vec<f64> {
    let every = codes.len().div_ceil(SAMPLE).max(1);
    let sample = codes.iter().step_by(every).copied().filter(|code| !code.is_nan());
    let mut sample: Vec<f64> = sample.collect();
    sample.sort_unstable_by(f64::total_cmp);
    let mut distinct = sample.clone();
    distinct.dedup();
    if distinct.len() >= MOST {
        distinct = (1..MOST).map(|k| sample[k * sample.len() / MOST]).collect();
        distinct.dedup();
    }
    distinct
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kernel::random::Random;

    #[test]
    fn bins_are_in_order_and_about_equal() {
        let mut random = Random::new(5, 0);
        let mut codes: Vec<f64> = (0..40_000).map(|_| random.normal()).collect();
        codes.extend([f64::NAN; 100]);
        let bins = Bins::new(&codes).unwrap();
        let mut sorted: Vec<u32> = (0..codes.len() as u32).collect();
        sorted.sort_by(|a, b| codes[*a as usize].total_cmp(&codes[*b as usize]));
        assert!(sorted.windows(2).all(|p| bins.of(p[0]) <= bins.of(p[1])));
        let missing = bins.count() - 1;
        for (point, code) in codes.iter().enumerate() {
            assert_eq!(bins.of(point as u32) == missing, code.is_nan());
        }
        for bin in 0..missing {
            let size = (0..codes.len() as u32).filter(|p| bins.of(*p) == bin).count();
            assert!(size < 400, "{bin}: {size}");
        }
    }

    #[test]
    fn few_numbers_have_a_bin_each() {
        let codes: Vec<f64> = (0..1000).map(|i| f64::from(i % 7)).collect();
        let bins = Bins::new(&codes).unwrap();
        assert!((0..bins.count()).all(|bin| bins.is_single(bin)));
        assert!(
            (0..7).all(|i| bins.of(i) == bins.of(i + 7) && (i == 0 || bins.of(i) > bins.of(i - 1)))
        );
        let both = Bins::new(&[-0.0, 0.0, 1.0]).unwrap();
        assert!(both.of(0) == both.of(1) && !both.is_single(both.of(0)));
        assert!(Bins::new(&[1.0, -f64::NAN]).is_none());
    }
}
