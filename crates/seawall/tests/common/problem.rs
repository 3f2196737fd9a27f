//! Small problems by a generator's or a fuzzer's choices, and their exact worst cases by the primal.
#![allow(dead_code)]

use seawall::{Feature, Population, Space};
use std::sync::Arc;

/// Where choices come from: a generator, or the bytes that a fuzzer makes up.
pub trait Choices {
    /// Any number.
    fn bits(&mut self) -> u64;
    /// Uniform on [0, 1).
    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// Uniform on 0..n.
    fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }
    fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

/// A small generator of reproducible numbers (splitmix64).
pub struct Random(pub u64);

impl Choices for Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// The same without the trait in scope.
impl Random {
    pub fn bits(&mut self) -> u64 {
        Choices::bits(self)
    }
    pub fn unit(&mut self) -> f64 {
        Choices::unit(self)
    }
    pub fn below(&mut self, n: usize) -> usize {
        Choices::below(self, n)
    }
    pub fn chance(&mut self, p: f64) -> bool {
        Choices::chance(self, p)
    }
}

/// A problem in the library's terms.
pub struct Case {
    pub population: Population,
    pub values: Vec<f64>,
}

impl Case {
    pub fn space(&self) -> &Space {
        self.population.space()
    }
    pub fn weights(&self) -> &[f64] {
        self.population.weights()
    }
    pub fn problem(&self) -> seawall::Problem<'_> {
        seawall::Problem::new(&self.population, &self.values).unwrap()
    }
    /// The largest radius that changes anything, or thereabouts.
    pub fn scale(&self) -> f64 {
        let n = self.space().len();
        let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        pairs.map(|(i, j)| self.space().cost(i, j)).filter(|c| c.is_finite()).fold(0.0, f64::max)
    }
}

/// Mixed features, fixed ones, missing values, ties, duplicates, zero weights, free features,
/// single points, constant values: everything that a small problem can be.
pub fn case(seed: u64) -> Case {
    case_of(&mut Random(seed))
}

/// The same by somebody's choices.
pub fn case_of(r: &mut impl Choices) -> Case {
    let grid = r.chance(0.5);
    let count = 1 + r.below(if grid { 3 } else { 4 });
    let mut features = Vec::new();
    let mut levels = Vec::new();
    for k in 0..count {
        let n = 1 + r.below(if grid { 3 } else { 4 });
        let missing = r.chance(0.2);
        let name = format!("x{k}");
        let labels: Vec<String> = (0..n).map(|l| format!("l{l}")).collect();
        let mut feature = match r.below(6) {
            0 | 1 if grid => Feature::numeric(name).levels((0..n).map(|_| spot(r))),
            0 | 1 => Feature::numeric(name),
            2 => Feature::ordinal(name, labels),
            3 => Feature::ordinal(name, labels).positions((0..n).map(|_| spot(r))),
            4 => Feature::nominal(name, labels),
            _ => Feature::fixed(name, labels),
        };
        if missing {
            feature = feature.with_missing();
            if r.chance(0.3) {
                feature = feature.missing_cost(r.below(3) as f64 * 0.5);
            }
        }
        if r.chance(0.4) {
            feature = feature.weight([0.0, 0.5, 1.0, 7.0][r.below(4)]);
        }
        features.push(feature);
        levels.push((n, missing));
    }
    let space = if grid {
        Space::grid(features).unwrap()
    } else {
        let points = 1 + r.below(14);
        let line = |f: &Feature| format!("{f:?}").contains("Line");
        let columns = features.iter().zip(&levels).map(|(f, &(n, missing))| {
            let on_line = line(f);
            (0..points)
                .map(|_| match () {
                    () if missing && r.chance(0.2) => f64::NAN,
                    () if on_line => spot(r),
                    () => r.below(n) as f64,
                })
                .collect()
        });
        let columns: Vec<Vec<f64>> = columns.collect();
        Space::points(features, columns).unwrap()
    };
    let points = space.len();
    let tied = r.chance(0.5);
    let constant = r.chance(0.05);
    let mut value = || match () {
        () if constant => 2.0,
        () if tied => r.below(4) as f64 - 1.0,
        () => 3.0 * r.unit() - 1.0,
    };
    let values = (0..points).map(|_| value()).collect();
    let sparse = r.chance(0.6);
    let mut weights: Vec<f64> =
        (0..points).map(|_| if sparse && r.chance(0.5) { 0.0 } else { r.unit() + 0.01 }).collect();
    if weights.iter().all(|&p| p == 0.0) {
        weights[0] = 1.0;
    }
    Case { population: Population::from_weights(Arc::new(space), weights).unwrap(), values }
}

/// A coordinate: on a coarse lattice half the time, so that distances tie.
fn spot(r: &mut impl Choices) -> f64 {
    if r.chance(0.5) { r.below(5) as f64 } else { 10.0 * r.unit() - 5.0 }
}

/// A few radii worth asking: nothing, little, some, all, more than all.
pub fn radii(case: &Case) -> Vec<f64> {
    let scale = case.scale();
    [0.0, 1e-6, 0.01, 0.1, 0.35, 1.0, 3.0].iter().map(|r| r * scale).collect()
}

/// The dual written out: ελ + Σ p_i max_j (f_j − λ c_ij).
pub fn dual(case: &Case, radius: f64, price: f64) -> f64 {
    let n = case.space().len();
    let inner = |i: usize| {
        let reachable = (0..n).map(|j| (j, case.space().cost(i, j))).filter(|x| x.1.is_finite());
        reachable.map(|(j, c)| case.values[j] - price * c).fold(f64::NEG_INFINITY, f64::max)
    };
    radius * price
        + (0..n)
            .filter(|&i| case.weights()[i] > 0.0)
            .map(|i| case.weights()[i] * inner(i))
            .sum::<f64>()
}

/// The exact worst case in the primal: each source's best returns, spent where they are highest.
///
/// A source at `i` reaches value `f_j` for `c_ij` a unit of mass; mixtures of targets are the
/// concave hull of those points. The budget goes to the hulls' segments by falling slope.
pub fn reference(case: &Case, radius: f64) -> f64 {
    let n = case.space().len();
    let (mut mean, mut segments) = (0.0, Vec::new());
    for i in (0..n).filter(|&i| case.weights()[i] > 0.0) {
        let p = case.weights()[i];
        let mut offers: Vec<(f64, f64)> = (0..n)
            .map(|j| (case.space().cost(i, j), case.values[j]))
            .filter(|offer| offer.0.is_finite())
            .collect();
        let mut at = best(&offers, |o| (o.0 == 0.0).then_some(o.1));
        mean += p * at.1;
        loop {
            offers.retain(|o| o.0 > at.0 && o.1 > at.1);
            if offers.is_empty() {
                break;
            }
            let next = best(&offers, |o| Some((o.1 - at.1) / (o.0 - at.0)));
            segments.push(((next.1 - at.1) / (next.0 - at.0), p * (next.0 - at.0)));
            at = next;
        }
    }
    segments.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut left = radius;
    for (slope, cost) in segments {
        let spent = cost.min(left);
        mean += slope * spent;
        left -= spent;
    }
    mean
}

/// The offer of the highest score.
fn best(offers: &[(f64, f64)], score: impl Fn(&(f64, f64)) -> Option<f64>) -> (f64, f64) {
    let scored = offers.iter().filter_map(|o| Some((score(o)?, o)));
    *scored.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1
}
