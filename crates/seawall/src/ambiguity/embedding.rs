//! A population in the features of a kernel: a product over the columns of the ground cost, as far as it
//! is known from a pivoted Cholesky factor.

use super::ambiguity_set::{SMALLER, smaller};
use super::geometry::Geometry;
use super::parameters::Argument;
use crate::error::{Error, Field, Result};
use crate::kernel::cholesky::dot;
use crate::kernel::metric::Metric;
use crate::population::Population;
use crate::space::{Layout, Space, bits};
use rayon::prelude::*;
use std::collections::HashMap;

/// Points at most.
const MOST_POINTS: usize = 20_000;
/// Points whose kernel functions h is made of, at most.
pub(super) const MOST_PIVOTS: usize = 400;
/// What the kernel is known to where nothing more is to be learned of it.
pub(super) const KNOWN: f64 = 1e-14;
/// People whose distances give the bandwidth, at most.
const PEOPLE: usize = 1000;

/// A kernel by its shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kernel {
    /// `exp(−c / 2b²)`.
    #[default]
    Gaussian,
    /// `Π_k exp(−√c_k / b)`.
    Laplace,
}

impl Kernel {
    pub(super) const NAMES: [&'static str; 2] = ["gaussian", "laplace"];

    /// The kernel of a name; the default one where there is none of that name.
    pub(super) fn named(name: &str) -> Self {
        if name == Self::NAMES[1] { Kernel::Laplace } else { Kernel::Gaussian }
    }

    pub(super) fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// What one column contributes where it costs so much.
    fn factor(self, cost: f64, bandwidth: f64) -> f64 {
        match self {
            Kernel::Gaussian => (-cost / (2.0 * bandwidth * bandwidth)).exp(),
            Kernel::Laplace => (-cost.sqrt() / bandwidth).exp(),
        }
    }
}

/// The median ground distance between two people of different contexts, to three digits.
pub(super) fn median_distance(geometry: &Geometry) -> f64 {
    let (space, weights) = (geometry.population().space(), geometry.population().weights());
    let sources = geometry.sources();
    // Of many, every so manieth by weight.
    let people: Vec<(u32, f64)> = if sources.len() <= PEOPLE {
        sources.iter().map(|&i| (i, weights[i as usize])).collect()
    } else {
        let (mut people, mut before) = (Vec::new(), 0.0);
        for &i in sources {
            let after = before + weights[i as usize];
            let places = |mass: f64| (mass * PEOPLE as f64 + 0.5).floor();
            let count = places(after) - places(before);
            if count > 0.0 {
                people.push((i, count));
            }
            before = after;
        }
        people
    };
    let mut distances: Vec<(f64, f64)> = (0..people.len())
        .into_par_iter()
        .flat_map_iter(|a| {
            let people = &people;
            (0..a).map(move |b| {
                let cost = space.cost(people[a].0 as usize, people[b].0 as usize);
                (cost.sqrt(), people[a].1 * people[b].1)
            })
        })
        .filter(|(distance, _)| *distance > 0.0 && distance.is_finite())
        .collect();
    distances.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let total: f64 = distances.iter().map(|d| d.1).sum();
    let mut below = 0.0;
    let median = distances.iter().find(|(_, mass)| {
        below += mass;
        below >= 0.5 * total
    });
    let median = median.map_or(1.0, |d| d.0);
    format!("{median:.2e}").parse().unwrap_or(median)
}

/// What one column contributes to the kernel between any two points.
enum KernelAxis {
    /// By the points' levels.
    Table { level: Vec<u32>, size: usize, table: Vec<f64> },
    /// By the points' coordinates.
    Plain { coordinate: Vec<f64>, metric: Metric, missing: Vec<f64> },
}

/// Less than this between the kernel of a place with itself and with the furthest is rounding for the most
/// part.
const LEAST_CONTRAST: f64 = 1e-8;
/// Different coordinates of a column up to which its products are listed.
const LISTED: usize = 512;

impl KernelAxis {
    fn new(space: &Space, weights: &[f64], feature: usize, of: impl Fn(f64) -> f64 + Sync) -> Self {
        let metric = space.metrics()[feature];
        let column = space.column(feature);
        let mut codes: HashMap<u64, u32> = HashMap::new();
        let mut distinct: Vec<(f64, f64)> = Vec::new();
        let level: Vec<u32> = column
            .iter()
            .zip(weights)
            .map(|(&x, p)| {
                let code = *codes.entry(bits(x)).or_insert(distinct.len() as u32);
                if code as usize == distinct.len() {
                    distinct.push((x, 0.0));
                }
                distinct[code as usize].1 += p;
                code
            })
            .collect();
        let wall = metric == Metric::Wall;
        let known: Vec<(f64, f64)> =
            distinct.iter().copied().filter(|d| !d.0.is_nan() && d.1 > 0.0).collect();
        let mass: f64 = known.iter().map(|d| d.1).sum();
        // The product with a missing value: the mean over those whose value is known.
        let with_missing = |x: f64| match (wall, mass > 0.0) {
            (false, true) => {
                known.iter().map(|(z, p)| p * of(metric.cost(x, *z))).sum::<f64>() / mass
            }
            _ => 0.0,
        };
        let any = column.iter().any(|x| x.is_nan());
        let to_missing: Vec<f64> =
            if any { distinct.par_iter().map(|d| with_missing(d.0)).collect() } else { Vec::new() };
        let size = distinct.len();
        if size > LISTED {
            let missing = level.iter().filter(|_| any).map(|&l| to_missing[l as usize]).collect();
            return KernelAxis::Plain { coordinate: column, metric, missing };
        }
        let entry = |(a, b): (usize, usize)| match (distinct[a].0.is_nan(), distinct[b].0.is_nan())
        {
            (true, true) => 1.0,
            (true, false) => to_missing[b],
            (false, true) => to_missing[a],
            (false, false) => of(metric.cost(distinct[a].0, distinct[b].0)),
        };
        let table = (0..size * size).map(|k| entry((k / size, k % size))).collect();
        KernelAxis::Table { level, size, table }
    }

    /// Whether it tells nobody from anybody.
    fn is_idle(&self) -> bool {
        matches!(self, KernelAxis::Table { table, .. } if table.iter().all(|x| *x == 1.0))
    }

    /// Multiplies what is there by a point's products with all.
    fn multiply(&self, point: usize, out: &mut [f64], of: &impl Fn(f64) -> f64) {
        match self {
            KernelAxis::Table { level, size, table } => {
                let row = &table[level[point] as usize * size..][..*size];
                out.iter_mut().zip(level).for_each(|(out, &l)| *out *= row[l as usize]);
            }
            KernelAxis::Plain { coordinate, metric, missing } => {
                let x = coordinate[point];
                for (j, (out, &z)) in out.iter_mut().zip(coordinate).enumerate() {
                    *out *= match (x.is_nan(), z.is_nan()) {
                        (true, true) => 1.0,
                        (true, false) => missing[j],
                        (false, true) => missing[point],
                        (false, false) => of(metric.cost(x, z)),
                    };
                }
            }
        }
    }

    /// What tells two points apart along it.
    fn key(&self, point: usize) -> u64 {
        match self {
            KernelAxis::Table { level, size, table } => {
                // Levels of product 1 are one.
                let row = &table[level[point] as usize * size..][..*size];
                row.iter().position(|x| *x == 1.0).unwrap_or(level[point] as usize) as u64
            }
            KernelAxis::Plain { coordinate, .. } => bits(coordinate[point]),
        }
    }
}

/// A population in the features of a kernel, points in one place being one.
pub(super) struct Embedding {
    kernel: Kernel,
    bandwidth: f64,
    axes: Vec<KernelAxis>,
    /// The place of every point, and the first point of every place.
    pub group: Vec<u32>,
    pub first: Vec<u32>,
    pub nominal: Vec<f64>,
    /// On a grid, each axis's number of levels, stride and table by levels.
    grid: Option<Vec<(usize, usize, Vec<f64>)>>,
    cells: usize,
    /// Ones, then the factor's columns, each of mean 0.
    pub columns: Vec<f64>,
    /// What every place's own product is still to be explained by.
    pub open: f64,
    /// `K p` and `pᵀ K p`.
    mean: Vec<f64>,
    square: f64,
}

/// What the two points of a column that are furthest apart cost; a wall costs more than any number.
fn furthest(space: &Space, feature: usize) -> f64 {
    let (metric, column) = (space.metrics()[feature], space.column(feature));
    let known = || column.iter().copied().filter(|x| !x.is_nan());
    let (least, most) =
        known().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    if least < most { metric.cost(least, most) } else { 0.0 }
}

impl Embedding {
    pub fn new(population: &Population, kernel: Kernel, bandwidth: f64) -> Result<Self> {
        let (space, weights) = (population.space(), population.weights());
        let of = |cost: f64| kernel.factor(cost, bandwidth);
        let features = space.names().len();
        if space.len() > MOST_POINTS {
            let what = format!(
                "is mmd, which is solved on at most {MOST_POINTS} contexts; here are {}: {SMALLER}",
                space.len()
            );
            return Err(smaller(population, Error::field(Field::Set, what)));
        }
        let furthest: f64 = (0..features).map(|k| furthest(space, k)).sum();
        if furthest > 0.0 && 1.0 - of(furthest) < LEAST_CONTRAST {
            let bandwidth = Argument::Number(bandwidth);
            return Err(Error::config(format!(
                "bandwidth = {bandwidth} is out of scale with these costs: people {} apart at most are all \
                 but one place to such a kernel; choose one of about that size",
                furthest.sqrt()
            )));
        }
        let all: Vec<KernelAxis> =
            (0..features).map(|k| KernelAxis::new(space, weights, k, of)).collect();
        let mut places: HashMap<Vec<u64>, u32> = HashMap::new();
        let mut first = Vec::new();
        let group: Vec<u32> = (0..space.len())
            .map(|j| {
                let telling = all.iter().filter(|axis| !axis.is_idle());
                let next = places.len() as u32;
                let place = *places.entry(telling.map(|a| a.key(j)).collect()).or_insert(next);
                if place == next {
                    first.push(j as u32);
                }
                place
            })
            .collect();
        let grid = match space.layout() {
            Layout::Grid(grid) => Some(
                (0..features)
                    .map(|k| {
                        let (count, stride) = (grid.levels()[k], grid.stride(k));
                        let point = |level: usize| level * stride;
                        let mut table = vec![1.0; count * count];
                        if let KernelAxis::Table { level, size, table: own } = &all[k] {
                            for (at, x) in table.iter_mut().enumerate() {
                                let (a, b) = (point(at / count), point(at % count));
                                *x = own[level[a] as usize * size + level[b] as usize];
                            }
                        }
                        (count, stride, table)
                    })
                    .collect(),
            ),
            _ => None,
        };
        // A column of a grid with more levels than are listed has no table.
        let listed = all.iter().all(|axis| matches!(axis, KernelAxis::Table { .. }));
        let mut embedding = Embedding {
            kernel,
            bandwidth,
            axes: all,
            nominal: vec![0.0; first.len()],
            group,
            first,
            grid: grid.filter(|_| listed),
            cells: space.len(),
            columns: Vec::new(),
            open: 0.0,
            mean: Vec::new(),
            square: 0.0,
        };
        for (&group, p) in embedding.group.iter().zip(weights) {
            embedding.nominal[group as usize] += p;
        }
        embedding.factor();
        embedding.mean = embedding.times(&embedding.nominal);
        embedding.square = dot(&embedding.nominal, &embedding.mean);
        Ok(embedding)
    }

    pub fn places(&self) -> usize {
        self.first.len()
    }

    /// The kernel between a place and all.
    fn row(&self, place: usize) -> Vec<f64> {
        let of = |cost: f64| self.kernel.factor(cost, self.bandwidth);
        let mut all = vec![1.0; self.cells];
        for axis in &self.axes {
            axis.multiply(self.first[place] as usize, &mut all, &of);
        }
        self.first.iter().map(|&j| all[j as usize]).collect()
    }

    /// `K x`.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let Some(grid) = &self.grid else {
            let rows: Vec<usize> = (0..x.len()).filter(|&i| x[i] != 0.0).collect();
            // In blocks, so that the order of the sums is always the same.
            let parts: Vec<Vec<f64>> = rows
                .par_chunks(64)
                .map(|block| {
                    let mut total = vec![0.0; x.len()];
                    for &i in block {
                        let row = self.row(i);
                        total.iter_mut().zip(&row).for_each(|(t, k)| *t += x[i] * k);
                    }
                    total
                })
                .collect();
            let mut total = vec![0.0; x.len()];
            for part in parts {
                total.iter_mut().zip(&part).for_each(|(t, p)| *t += p);
            }
            return total;
        };
        let mut all = vec![0.0; self.cells];
        self.first.iter().zip(x).for_each(|(&j, x)| all[j as usize] = *x);
        for (count, stride, table) in grid {
            let mut next = vec![0.0; all.len()];
            let block = count * stride;
            for (from, to) in all.chunks(block).zip(next.chunks_mut(block)) {
                for a in 0..*count {
                    for b in 0..*count {
                        let (k, from) = (table[a * count + b], &from[b * stride..][..*stride]);
                        let to = &mut to[a * stride..][..*stride];
                        to.iter_mut().zip(from).for_each(|(to, from)| *to += k * from);
                    }
                }
            }
            all = next;
        }
        self.first.iter().map(|&j| all[j as usize]).collect()
    }

    /// The factor: each column is the kernel at the place that is least explained so far.
    fn factor(&mut self) {
        let n = self.places();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut open = vec![1.0; n];
        while columns.len() < MOST_PIVOTS.min(n) {
            let most = (0..n).fold(0, |most, j| if open[j] > open[most] { j } else { most });
            if open[most] <= KNOWN {
                break;
            }
            let mut column = self.row(most);
            for before in &columns {
                let by = before[most];
                column.iter_mut().zip(before).for_each(|(x, b)| *x -= by * b);
            }
            let root = open[most].sqrt();
            column.iter_mut().for_each(|x| *x /= root);
            open.iter_mut().zip(&column).for_each(|(open, x)| *open = (*open - x * x).max(0.0));
            open[most] = 0.0;
            columns.push(column);
        }
        self.open = open.into_iter().fold(0.0, f64::max);
        self.columns = vec![1.0; n];
        for column in columns {
            self.columns.extend(self.centred(column));
        }
    }

    /// A column less its mean over the population.
    pub fn centred(&self, mut column: Vec<f64>) -> Vec<f64> {
        let mean = dot(&self.nominal, &column);
        column.iter_mut().for_each(|x| *x -= mean);
        column
    }

    /// The squared distance of a single place from the population.
    pub fn squared_distance(&self, place: usize) -> f64 {
        (1.0 - 2.0 * self.mean[place] + self.square).max(0.0)
    }
}
