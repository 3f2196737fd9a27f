//! Isotonic regression: the nearest numbers that do not fall, by pooling neighbours that do.

/// Makes numbers rise: those nearest in the sum of squares weighed by `weights`, which are above 0.
/// A block's mean stands for it, so the weighted sum over a block, and over everything, stays.
pub fn rising(numbers: &mut [f64], weights: &[f64]) {
    // Blocks of what is pooled so far: mean, weight and length.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for (&number, &weight) in numbers.iter().zip(weights) {
        let mut block = (number, weight, 1);
        while let Some(&last) = blocks.last().filter(|last| last.0 > block.0) {
            blocks.pop();
            let both = last.1 + block.1;
            block = (last.0 + (block.0 - last.0) * (block.1 / both), both, last.2 + block.2);
        }
        blocks.push(block);
    }
    let mut at = 0;
    for (mean, _, length) in blocks {
        numbers[at..at + length].fill(mean);
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::random::Random;

    /// Against `max_{s ≤ k} min_{t ≥ k}` of the means from s to t.
    #[test]
    fn pooling_is_the_largest_of_the_smallest_means() {
        let mut random = Random::new(7, 0);
        for round in 0..500 {
            let count = 1 + random.below(12);
            let mut numbers: Vec<f64> =
                (0..count).map(|_| (4.0 * random.unit()).round() / 4.0 - 0.3).collect();
            let weights: Vec<f64> = (0..count).map(|_| 0.01 + random.unit()).collect();
            let mean = |s: usize, t: usize| {
                let total: f64 = weights[s..=t].iter().sum();
                (s..=t).map(|k| weights[k] * numbers[k]).sum::<f64>() / total
            };
            let least =
                |s: usize, k: usize| (k..count).map(|t| mean(s, t)).fold(f64::INFINITY, f64::min);
            let expected: Vec<f64> = (0..count)
                .map(|k| (0..=k).map(|s| least(s, k)).fold(f64::NEG_INFINITY, f64::max))
                .collect();
            rising(&mut numbers, &weights);
            for (found, expected) in numbers.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-12, "round {round}: {found} {expected}");
            }
        }
    }
}
