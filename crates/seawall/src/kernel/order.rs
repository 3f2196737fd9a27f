//! Which target is best for a source at a given price of distance.
//!
//! At a finite price λ the best target has the largest `f − λ c`. The two ends of the curve are
//! limits: as λ falls to 0 the largest `f` and then the smallest `c`; as λ grows without end the
//! smallest `c` and then the largest `f`.

/// A price λ of one unit of ground cost, with its two limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Price {
    /// λ → 0 from above.
    Zero,
    /// A positive, finite λ.
    At(f64),
    /// λ → ∞.
    Infinite,
}

impl Price {
    /// The price as a number.
    pub fn get(self) -> f64 {
        match self {
            Price::Zero => 0.0,
            Price::At(price) => price,
            Price::Infinite => f64::INFINITY,
        }
    }
}

/// Ranks targets by a pair compared lexicographically, larger first. Between targets of equal
/// height the cheaper one wins, so that the choice does not depend on where a search began.
///
/// The pair must not fall when `f` rises or `c` falls: that is what makes a node's largest `f`
/// and smallest `c` a bound for all that it holds.
pub trait Order: Copy + Sync {
    /// The key of a target of value `f` at cost `c`.
    fn key(self, f: f64, c: f64) -> (f64, f64);
}

/// The order at λ → 0.
#[derive(Clone, Copy)]
pub struct ValueFirst;
/// The order at a finite λ.
#[derive(Clone, Copy)]
pub struct Priced(pub f64);
/// The order at λ → ∞.
#[derive(Clone, Copy)]
pub struct CostFirst;

impl Order for ValueFirst {
    #[inline(always)]
    fn key(self, f: f64, c: f64) -> (f64, f64) {
        (f, -c)
    }
}

impl Order for Priced {
    #[inline(always)]
    fn key(self, f: f64, c: f64) -> (f64, f64) {
        (f - self.0 * c, -c)
    }
}

impl Order for CostFirst {
    #[inline(always)]
    fn key(self, f: f64, c: f64) -> (f64, f64) {
        (-c, f)
    }
}

/// Whether key `a` is strictly better than key `b`.
#[inline(always)]
pub fn better(a: (f64, f64), b: (f64, f64)) -> bool {
    a.0 > b.0 || (a.0 == b.0 && a.1 > b.1)
}
