//! Sums that do not depend on the order of their terms: nothing is rounded before the end.
//!
//! ```text
//! sum = fl(x₁ + x₂ + …),  fl rounding once, to the nearest float
//! ```
//!
//! Kept as floats that do not overlap, smallest first (Shewchuk 1997). Rows come in any order, from
//! any engine, alone or counted: their weights have the same sum, to the last bit. Not for terms whose
//! products are too small for a float.

/// A sum of floats, exact until it is asked for.
#[derive(Clone, Debug, Default)]
pub struct ExactSum {
    /// The sum but for `more`: all there is as long as nothing was lost.
    first: f64,
    /// Smallest first; empty while every sum so far was exact.
    more: Vec<f64>,
}

impl ExactSum {
    /// The sum of nothing.
    pub const ZERO: ExactSum = ExactSum { first: 0.0, more: Vec::new() };
    /// About how many bytes one takes: most have at most four floats more.
    pub const BYTES: usize = size_of::<ExactSum>() + 4 * size_of::<f64>();

    /// Adds one term.
    pub fn add(&mut self, term: f64) {
        if self.more.is_empty() {
            let (sum, lost) = two_sum(self.first, term);
            if lost == 0.0 {
                self.first = sum;
                return;
            }
            self.more.push(self.first);
            self.first = 0.0;
        }
        let (mut x, mut kept) = (term, 0);
        for k in 0..self.more.len() {
            let (sum, lost) = two_sum(x, self.more[k]);
            if lost != 0.0 {
                self.more[kept] = lost;
                kept += 1;
            }
            x = sum;
        }
        self.more.truncate(kept);
        self.more.push(x);
    }

    /// Adds a product.
    pub fn add_product(&mut self, a: f64, b: f64) {
        let (product, lost) = two_product(a, b);
        self.add(product);
        if lost != 0.0 {
            self.add(lost);
        }
    }

    /// Adds a product of three.
    pub fn add_product3(&mut self, a: f64, b: f64, c: f64) {
        let (product, lost) = two_product(a, b);
        self.add_product(product, c);
        if lost != 0.0 {
            self.add_product(lost, c);
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &ExactSum) {
        other.parts().for_each(|x| self.add(x));
    }

    /// Floats whose sum it is: at least one.
    pub fn parts(&self) -> impl Iterator<Item = f64> + '_ {
        let first = (self.first != 0.0 || self.more.is_empty()).then_some(self.first);
        first.into_iter().chain(self.more.iter().copied())
    }

    /// The sum, rounded once.
    pub fn value(&self) -> f64 {
        let Some((&last, rest)) = self.more.split_last() else { return self.first };
        let mut left = rest.iter().rev().copied();
        let (mut sum, mut lost) = (last, 0.0);
        for x in left.by_ref() {
            (sum, lost) = two_sum(sum, x);
            if lost != 0.0 {
                break;
            }
        }
        // Half a unit that was rounded to even goes the other way if there is more on its side.
        if let Some(next) = left.next()
            && (lost < 0.0) == (next < 0.0)
        {
            let twice = 2.0 * lost;
            let other = sum + twice;
            if other - sum == twice {
                return other;
            }
        }
        sum
    }
}

/// `a + b` and what rounding loses of it.
pub fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// `a · b` and what rounding loses of it.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    // Counts times one need no more.
    if a == 1.0 || b == 1.0 {
        return (product, 0.0);
    }
    (product, a.mul_add(b, -product))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(terms: &[f64]) -> f64 {
        let mut all = ExactSum::ZERO;
        terms.iter().for_each(|x| all.add(*x));
        all.value()
    }

    #[test]
    fn a_sum_is_rounded_once() {
        assert_eq!(sum(&[]), 0.0);
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[1e16, 1.0, -1e16]), 1.0);
        assert_eq!(sum(&[1e100, 1.0, -1e100, 1e-100]), 1.0);
        // A half that is not quite one.
        assert_eq!(sum(&[1.0, f64::EPSILON / 2.0, 1e-30]), 1.0 + f64::EPSILON);
        assert_eq!(sum(&[1.0, f64::EPSILON / 2.0]), 1.0);
    }

    #[test]
    fn the_order_and_the_grouping_do_not_matter() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 11) as f64 / (1u64 << 53) as f64 - 0.4)
                * 10f64.powi((state % 30) as i32 - 15)
        };
        for _ in 0..200 {
            let rows: Vec<(f64, f64, f64)> =
                (0..50).map(|k| (f64::from(k % 7 + 1), next(), next())).collect();
            let (mut one_by_one, mut counted) = (ExactSum::ZERO, ExactSum::ZERO);
            for (times, weight, value) in &rows {
                (0..*times as usize).for_each(|_| one_by_one.add_product(*weight, *value));
            }
            let halves: Vec<ExactSum> = rows
                .chunks(25)
                .map(|half| {
                    let mut sum = ExactSum::ZERO;
                    half.iter().rev().for_each(|(n, w, v)| sum.add_product3(*n, *w, *v));
                    sum
                })
                .collect();
            halves.iter().rev().for_each(|half| counted.merge(half));
            assert_eq!(one_by_one.value().to_bits(), counted.value().to_bits());
        }
    }
}
