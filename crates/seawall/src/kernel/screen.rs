//! All pairs, looked at in single precision first: the same best targets, bit for bit, as a scan in
//! double precision.
//!
//! At a price λ a target of value `f` beats a height `h` only if its cost is at most `T = (f − h)/λ`.
//! Targets are sorted by value, so a block of them has one `T`, and once `f < h` the rest has none.
//! What a block's targets cost is added up in single precision, feature by feature, until all are
//! above what rounding can make of `T`:
//!
//! ```text
//! ĉ ≤ (T + 2E√T + E²)(1 + γ),   E² = Σ_k e_k²,   e_k ≥ |error of a difference in feature k|
//! ```
//!
//! Whoever is not above is confirmed in double precision, with the scan's own arithmetic and its
//! choice among ties. Features with missing values add nothing here (a lower bound of the cost is
//! all that a screen needs) and count when confirmed.

use super::metric::Metric;
use super::order::{CostFirst, Order, Price, ValueFirst, better};
use super::scan::{LANES, TILE};
use pulp::{Arch, Simd, WithSimd};

/// Targets in a block: four of the widest vectors there are.
const BLOCK: usize = 64;
/// Features added between two looks at whether a block is out of reach.
const STEP: usize = 4;
/// Targets confirmed, beside a share of those looked at, after which screening does not pay.
const PATIENT: usize = 256;
const SHARE: usize = 8;
/// Half a unit in the last place of a number in single precision, relative to it.
const HALF_UNIT: f64 = 1.0 / (1 << 24) as f64;

/// The coordinates of a group of points in single precision, the widest feature first.
#[derive(Debug)]
pub struct Rounded {
    /// Roots of weights times coordinates, from the middle of each feature.
    columns: Vec<Vec<f32>>,
    /// E, and γ.
    error: f64,
    growth: f64,
}

impl Rounded {
    /// Rounds the squared features without missing values; None if there is none, or if single
    /// precision does not reach as far.
    pub fn new(metrics: &[Metric], columns: &[Vec<f64>]) -> Option<Self> {
        let mut rounded: Vec<(f64, Vec<f32>)> = Vec::new();
        let mut square = 0.0;
        for (metric, column) in metrics.iter().zip(columns) {
            let Metric::Square { weight, .. } = *metric else { continue };
            let ends = column.iter().try_fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| {
                (!x.is_nan()).then(|| (a.min(*x), b.max(*x)))
            });
            let Some((low, high)) = ends.filter(|_| weight > 0.0) else { continue };
            let (root, middle) = (weight.sqrt(), 0.5 * low + 0.5 * high);
            let reach = root * (0.5 * high - 0.5 * low);
            if reach == 0.0 {
                continue;
            }
            if !(1e-12..1e12).contains(&reach) {
                return None;
            }
            // Two roundings to single precision and one of the difference, at most twice as wide;
            // and those of the middle taken off in double precision.
            let far = root * low.abs().max(high.abs());
            let error = 4.5 * HALF_UNIT * reach + 4.0 * f64::EPSILON * far;
            square += error * error;
            let spread = |mean: f64| column.iter().map(|x| (x - mean).abs()).sum::<f64>() * root;
            let all = column.iter().map(|x| (root * (x - middle)) as f32).collect();
            rounded.push((spread(middle), all));
        }
        rounded.sort_by(|a, b| b.0.total_cmp(&a.0));
        let growth = 2.0 * HALF_UNIT * (rounded.len() + 4) as f64;
        let columns: Vec<Vec<f32>> = rounded.into_iter().map(|(_, column)| column).collect();
        (!columns.is_empty()).then(|| Rounded { columns, error: square.sqrt(), growth })
    }

    /// A point's coordinates.
    pub fn row(&self, point: usize, out: &mut Vec<f32>) {
        out.clear();
        out.extend(self.columns.iter().map(|column| column[point]));
    }

    /// What a cost of `limit` may come to here, at most.
    fn reaches(&self, limit: f64) -> f32 {
        let exact = limit + 2.0 * self.error * limit.sqrt() + self.error * self.error;
        // Up by more than the rounding to single precision takes off.
        (exact * (1.0 + self.growth + 4.0 * HALF_UNIT)) as f32
    }
}

/// The same with values: blocks of targets, highest first.
#[derive(Debug)]
pub struct Sorted {
    order: Vec<u32>,
    /// The highest value of each block.
    tops: Vec<f64>,
    /// `[block][feature][target]`; places past the last target are out of reach.
    blocks: Vec<f32>,
}

impl Sorted {
    /// Sorts the targets by value.
    pub fn new(rounded: &Rounded, values: &[f64]) -> Self {
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        order.sort_by(|&a, &b| values[b as usize].total_cmp(&values[a as usize]));
        let tops = order.chunks(BLOCK).map(|some| values[some[0] as usize]).collect();
        let mut blocks =
            Vec::with_capacity(order.len().div_ceil(BLOCK) * BLOCK * rounded.columns.len());
        for some in order.chunks(BLOCK) {
            for column in &rounded.columns {
                blocks.extend(some.iter().map(|&j| column[j as usize]));
                blocks.extend(std::iter::repeat_n(f32::INFINITY, BLOCK - some.len()));
            }
        }
        Sorted { order, tops, blocks }
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.tops.len()
    }
}

/// The best target at a price so far.
#[derive(Clone, Copy, Debug)]
pub struct Incumbent {
    price: Price,
    value: f64,
    cost: f64,
    /// The target.
    pub target: usize,
    rank: (usize, usize),
    /// Whether no target that is left can be better.
    settled: bool,
}

impl Incumbent {
    /// The source itself, at no cost: it wins every tie.
    pub fn new(price: Price, value: f64, target: usize) -> Self {
        Incumbent { price, value, cost: 0.0, target, rank: OWN, settled: false }
    }

    /// Takes a target if it is better, or as good and earlier in the scan's order.
    fn offer(&mut self, value: f64, cost: f64, target: usize, rank: (usize, usize)) {
        let (key, own) = match self.price {
            Price::Zero => (ValueFirst.key(value, cost), ValueFirst.key(self.value, self.cost)),
            Price::At(price) => {
                ((value - price * cost, 0.0), (self.value - price * self.cost, 0.0))
            }
            Price::Infinite => (CostFirst.key(value, cost), CostFirst.key(self.value, self.cost)),
        };
        // At a finite price the scan goes by eights, at the two ends one by one.
        let rank = if matches!(self.price, Price::At(_)) { rank } else { (1, target) };
        if cost < f64::INFINITY && (better(key, own) || (key == own && rank < self.rank)) {
            (self.value, self.cost, self.target, self.rank) = (value, cost, target, rank);
        }
    }

    /// The cost up to which a target of this value may be as good; below 0 if there is none.
    fn limit(&self, value: f64) -> f64 {
        let unmoved = self.rank == OWN;
        match self.price {
            Price::At(price) => {
                let height = self.value - price * self.cost;
                let rounding = 8.0 * f64::EPSILON * (value.abs() + height.abs());
                (value - height + rounding) / price * (1.0 + 1e-10)
            }
            Price::Zero if value > self.value => f64::INFINITY,
            Price::Zero if value == self.value && !unmoved => self.cost * (1.0 + 1e-10),
            Price::Infinite if value > self.value || (value == self.value && !unmoved) => NOWHERE,
            Price::Zero | Price::Infinite => -1.0,
        }
    }
}

/// Before all targets in every order.
const OWN: (usize, usize) = (0, 0);
/// A cost that may come to nothing in double precision.
const NOWHERE: f64 = 1e-300;

/// A source among targets.
#[derive(Clone, Copy)]
pub struct ScreenedSource<'a> {
    /// One metric per feature.
    pub metrics: &'a [Metric],
    /// Targets' coordinates, one array per feature.
    pub columns: &'a [Vec<f64>],
    /// Targets' values.
    pub values: &'a [f64],
    /// The source's coordinates.
    pub x: &'a [f64],
    /// The same in single precision.
    pub rounded: &'a [f32],
}

impl ScreenedSource<'_> {
    /// What it costs to go to a target, added up as the scan does.
    fn cost(&self, target: usize) -> f64 {
        let each = self.metrics.iter().zip(self.columns).zip(self.x);
        each.fold(0.0, |sum, ((metric, column), &x)| sum + metric.cost(x, column[target]))
    }

    /// The scan's order among targets of equal height: side by side in eights, then what is left.
    fn rank(&self, target: usize) -> (usize, usize) {
        let whole = self.values.len() / TILE * TILE;
        (1 + if target < whole { target % LANES } else { LANES }, target)
    }

    /// Offers a target to every price.
    pub fn offer(&self, target: usize, found: &mut [Incumbent]) {
        let (cost, rank) = (self.cost(target), self.rank(target));
        found.iter_mut().for_each(|f| f.offer(self.values[target], cost, target, rank));
    }
}

/// Looks at some blocks for a source. False if screening does not pay: too many targets are near.
pub fn look(
    rounded: &Rounded,
    sorted: &Sorted,
    blocks: std::ops::Range<usize>,
    source: ScreenedSource<'_>,
    found: &mut [Incumbent],
    confirmed: &mut usize,
) -> bool {
    Arch::new().dispatch(Look { rounded, sorted, blocks, source, found, confirmed })
}

struct Look<'a> {
    rounded: &'a Rounded,
    sorted: &'a Sorted,
    blocks: std::ops::Range<usize>,
    source: ScreenedSource<'a>,
    found: &'a mut [Incumbent],
    confirmed: &'a mut usize,
}

impl WithSimd for Look<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Look { rounded, sorted, blocks, source, found, confirmed } = self;
        let size = BLOCK * source.rounded.len();
        for block in blocks {
            let top = sorted.tops[block];
            let mut most = -1.0f64;
            for f in found.iter_mut().filter(|f| !f.settled) {
                let limit = f.limit(top);
                // Values only fall from here on.
                f.settled = limit < 0.0;
                most = if limit > most { limit } else { most };
            }
            if most < 0.0 {
                return true;
            }
            let within = rounded.reaches(most);
            let columns = &sorted.blocks[block * size..][..size];
            let Some(costs) = nearest(columns, source.rounded, within) else { continue };
            let first = block * BLOCK;
            for (&target, cost) in sorted.order[first..].iter().zip(&costs) {
                if *cost <= within {
                    *confirmed += 1;
                    source.offer(target as usize, found);
                }
            }
            if *confirmed > PATIENT + first / SHARE {
                return false;
            }
        }
        true
    }
}

/// The costs of a block's targets in single precision; None as soon as none is within a limit.
#[inline(always)]
fn nearest(columns: &[f32], x: &[f32], within: f32) -> Option<[f32; BLOCK]> {
    let mut costs = [0.0f32; BLOCK];
    for (columns, x) in columns.chunks(BLOCK * STEP).zip(x.chunks(STEP)) {
        for (column, &x) in columns.as_chunks::<BLOCK>().0.iter().zip(x) {
            for l in 0..BLOCK {
                let apart = x - column[l];
                costs[l] += apart * apart;
            }
        }
        let mut near = false;
        for cost in &costs {
            near |= *cost <= within;
        }
        if !near {
            return None;
        }
    }
    Some(costs)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kernel::random::Random;
    use crate::kernel::scan::{ScanFound, best, best_priced};

    /// The best target as the scan in double precision finds it.
    fn slow(source: &ScreenedSource<'_>, price: Price, local: usize) -> usize {
        let ScreenedSource { metrics, columns, values, x, .. } = *source;
        match price {
            Price::Zero => best(metrics, columns, values, x, ValueFirst, local),
            Price::Infinite => best(metrics, columns, values, x, CostFirst, local),
            Price::At(price) => {
                let mut found = [ScanFound::new(price, values[local], local)];
                best_priced(metrics, columns, values, x, &mut found);
                found[0].target
            }
        }
    }

    #[test]
    fn the_same_targets_as_in_double_precision() {
        let mut random = Random::new(5, 0);
        let mut screened = 0;
        for round in 0..60usize {
            let (count, features) = (500 + 13 * round, 1 + round % 7);
            // Far from zero, on a coarse lattice with many ties and duplicates, or hardly apart.
            let (offset, unit, levels) =
                [(0.0, 0.37, 1e9), (1e6, 0.1, 5.0), (1.0, 1e-7, 40.0), (0.0, 1.0, 3.0)][round % 4];
            let mut metrics: Vec<Metric> = (0..features)
                .map(|k| Metric::Square { weight: 0.3 + k as f64, missing: 1.0 })
                .collect();
            let mut columns: Vec<Vec<f64>> = metrics
                .iter()
                .map(|_| {
                    let mut draw = || offset + unit * (random.normal() * levels).round() / levels;
                    (0..count).map(|_| draw()).collect()
                })
                .collect();
            if round % 3 == 0 {
                metrics.push(Metric::Flat { weight: 0.5, missing: 0.25 });
                let code = |_| if random.below(5) == 0 { f64::NAN } else { random.below(3) as f64 };
                columns.push((0..count).map(code).collect());
            }
            let height = |_| match round % 2 {
                0 => random.below(6) as f64 / 5.0,
                _ => random.normal(),
            };
            let values: Vec<f64> = (0..count).map(height).collect();
            let rounded = Rounded::new(&metrics, &columns).unwrap();
            let sorted = Sorted::new(&rounded, &values);
            let scale = 1.0 / (unit * unit);
            let prices = [
                Price::Zero,
                Price::At(1e-9 * scale),
                Price::At(0.1 * scale),
                Price::At(scale),
                Price::At(1e3 * scale),
                Price::Infinite,
            ];
            for local in (0..count).step_by(17) {
                let x: Vec<f64> = columns.iter().map(|c| c[local]).collect();
                let mut short = Vec::new();
                rounded.row(local, &mut short);
                let source = ScreenedSource {
                    metrics: &metrics,
                    columns: &columns,
                    values: &values,
                    x: &x,
                    rounded: &short,
                };
                for together in [&prices[..], &prices[2..4], &prices[..1], &prices[5..]] {
                    let own = |&p: &Price| Incumbent::new(p, values[local], local);
                    let mut found: Vec<Incumbent> = together.iter().map(own).collect();
                    source.offer(random.below(count), &mut found);
                    let all = 0..sorted.blocks();
                    // Whoever gives up says so and is looked up the slow way.
                    if !look(&rounded, &sorted, all, source, &mut found, &mut 0) {
                        continue;
                    }
                    screened += 1;
                    for (found, &price) in found.iter().zip(together) {
                        let wanted = slow(&source, price, local);
                        assert_eq!(found.target, wanted, "{round} {local} {price:?}");
                    }
                }
            }
        }
        assert!(screened > 3000, "{screened}");
    }

    #[test]
    fn what_single_precision_cannot_hold_is_left_to_double() {
        let square = Metric::Square { weight: 1.0, missing: 1.0 };
        assert!(Rounded::new(&[square], &[vec![0.0, 1e30]]).is_none());
        assert!(Rounded::new(&[square], &[vec![0.0, f64::NAN]]).is_none());
        assert!(Rounded::new(&[square], &[vec![2.0, 2.0]]).is_none());
    }
}
