//! Pairwise sums in a fixed order.
//!
//! The tree of partial sums depends on the number of terms alone, so the result has the same
//! bits on any number of threads, and its error grows with the logarithm of that number.

/// Terms added one after the other at the leaves of the tree.
const LEAF: usize = 64;
/// Below this many terms a second thread costs more than it saves.
const FORK: usize = 1 << 15;

/// `Σ term(i)` for `i` in `0..count`, for `M` sums at once.
pub fn sums<const M: usize>(count: usize, term: &(impl Fn(usize) -> [f64; M] + Sync)) -> [f64; M] {
    range(0, count, term)
}

/// `Σ term(i)` for `i` in `0..count`.
pub fn sum(count: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    range(0, count, &|i| [term(i)])[0]
}

fn range<const M: usize>(
    from: usize,
    to: usize,
    term: &(impl Fn(usize) -> [f64; M] + Sync),
) -> [f64; M] {
    let count = to - from;
    if count <= LEAF {
        let mut total = [0.0; M];
        for i in from..to {
            add(&mut total, term(i));
        }
        return total;
    }
    let middle = from + count / 2;
    let (mut left, right) = if count > FORK {
        rayon::join(|| range(from, middle, term), || range(middle, to, term))
    } else {
        (range(from, middle, term), range(middle, to, term))
    };
    add(&mut left, right);
    left
}

#[inline(always)]
fn add<const M: usize>(total: &mut [f64; M], term: [f64; M]) {
    for (t, x) in total.iter_mut().zip(term) {
        *t += x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_tenths_lose_almost_nothing() {
        let total = sum(1_000_000, |_| 0.1);
        assert!((total - 1e5).abs() < 1e-9, "{total}");
    }

    #[test]
    fn the_same_bits_on_one_thread_and_on_two() {
        let term = |i: usize| 1.0 / (1.0 + i as f64);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| sum(1 << 18, term)).to_bits()
        };
        assert_eq!(on(1), on(2));
    }
}
