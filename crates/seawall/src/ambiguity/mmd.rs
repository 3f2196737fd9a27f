//! Balls of the maximum mean discrepancy: every population whose mean in the features of a kernel is
//! within the radius of the observed one's.
//!
//! ```text
//! ‖μ_Q − μ_P‖_H ≤ ε,   V(ε) = min_{f₀, h} f₀ + E_P h + ε ‖h‖_H,   f_j ≤ f₀ + h(ζ_j) for every j
//! ```
//!
//! The kernel is a product over the columns of the ground cost `c = Σ_k c_k`: `gaussian` is
//! `exp(−c / 2b²)`, `laplace` is `Π_k exp(−√c_k / b)`, b being the bandwidth. Across the levels of a fixed
//! column it is 0: people there have nothing in common, which forbids nothing and makes a shift of that
//! column as dear as any. A missing value is like somebody drawn from those whose value is known: its
//! product with another is the mean of theirs, which keeps the kernel positive definite whatever a missing
//! value costs. Without a bandwidth it is the median of the ground distance √c between two people of
//! different contexts, rounded to three digits; [`Set::resolved`](super::Set::resolved) tells it.
//!
//! h is sought among the combinations of the kernel at some of the points, chosen where the kernel is least
//! known (a pivoted Cholesky factor), and of the worst population's own mean so far, until the bounds meet
//! or [`ROUNDS`] are over. Any h gives an upper bound; the lower one is the mean of a population whose
//! distance is worked out with the whole kernel. At most [`MOST_POINTS`] points; more are refused.

use super::Set;
use super::curve::Curve;
use super::geometry::Geometry;
use super::ladder::climb;
use super::plan::Plan;
use super::problem::Problem;
use super::set::{About, Argument, Parameter, SMALLER, Shift, Takes, smaller};
use super::settings::{Detail, Settings};
use super::solver::Solve;
use super::worst_case::{Certificate, WorstCase};
use crate::error::{Error, Field, Result};
use crate::kernel::bracket::Vertex;
use crate::kernel::cholesky::dot;
use crate::kernel::interior::{Program, solve};
use crate::kernel::metric::Metric;
use crate::kernel::order::Price;
use crate::kernel::sum::sum;
use crate::population::Population;
use crate::progress::Stage;
use crate::space::{Space, Support, bits};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Points at most.
const MOST_POINTS: usize = 20_000;
/// Points whose kernel functions h is made of, at most.
const MOST_PIVOTS: usize = 400;
/// What the kernel is known to where nothing more is to be learned of it.
const KNOWN: f64 = 1e-14;
/// Times that the worst population's own mean is added.
const ROUNDS: usize = 12;
/// Newton steps that an answer takes, about.
const STEPS: f64 = 20.0;
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
    const NAMES: [&'static str; 2] = ["gaussian", "laplace"];

    fn name(self) -> &'static str {
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

/// Every population whose mean in the features of a kernel is within the radius of the observed one's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mmd {
    /// The kernel's shape.
    pub kernel: Kernel,
    /// How far apart people still have something in common; by default the median distance.
    pub bandwidth: Option<f64>,
}

impl Mmd {
    pub(super) const ABOUT: About = About {
        name: "mmd",
        away: "“Away” is a maximum mean discrepancy: how far apart two populations' means can be for a \
               function of norm 1 of the kernel, whose values are those of neighbours but for the \
               bandwidth. People are weighed anew and may be where nobody was seen.",
        parameters: &[
            Parameter {
                name: "kernel",
                hint: "the kernel's shape",
                examples: &["gaussian"],
                takes: Takes::Word(&Kernel::NAMES),
                optional: true,
            },
            Parameter {
                name: "bandwidth",
                hint: "how far apart, in ground distance, people still have something in common",
                examples: &["0.5"],
                takes: Takes::Positive,
                optional: true,
            },
        ],
        make: |given| {
            let kernel = match given.word(0) {
                Some("laplace") => Kernel::Laplace,
                _ => Kernel::Gaussian,
            };
            Set::Mmd(Mmd { kernel, bandwidth: given.optional(1) })
        },
    };

    /// The bandwidth given, or the population's.
    fn bandwidth(&self, geometry: &Geometry) -> Result<f64> {
        match self.bandwidth {
            Some(bandwidth) => Ok(bandwidth),
            None => Ok(*geometry.prepared("mmd bandwidth", || Ok(median_distance(geometry)))?),
        }
    }

    fn embedding(&self, geometry: &Geometry) -> Result<Arc<Embedding>> {
        let bandwidth = self.bandwidth(geometry)?;
        let name = format!("mmd {} {bandwidth:e}", self.kernel.name());
        geometry.prepared(&name, || Embedding::new(geometry.population(), self.kernel, bandwidth))
    }
}

impl Shift for Mmd {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn arguments(&self) -> Vec<Option<Argument>> {
        vec![Some(Argument::Word(self.kernel.name())), self.bandwidth.map(Argument::Number)]
    }

    fn fate(&self) -> &'static str {
        "means of a kernel's features may shift, wherever people are then"
    }

    fn uses_ground_cost(&self) -> bool {
        true
    }

    fn fixed(&self) -> Option<&'static str> {
        Some(
            "the kernel is 0 across levels of a fixed column, so people of one level say nothing of \
             another; their shares may shift",
        )
    }

    fn moves_mass(&self) -> bool {
        false
    }

    fn reaches_unseen(&self) -> bool {
        true
    }

    fn has_exact_curve(&self) -> bool {
        false
    }

    fn has_gradient(&self) -> bool {
        false
    }

    fn quick_curve(&self) -> bool {
        false
    }

    fn work(&self, geometry: &Geometry) -> Option<f64> {
        let points = geometry.population().space().len() as f64;
        let unknowns = points.min(MOST_PIVOTS as f64);
        Some(STEPS * points * unknowns * unknowns / 2.0)
    }

    fn room(&self, geometry: &Geometry) -> f64 {
        let points = geometry.population().space().len() as f64;
        // Columns of the kernel's root, and as much again while systems are made of them.
        16.0 * points * points.min(MOST_PIVOTS as f64)
    }

    fn resolved(&self, geometry: &Geometry) -> Result<Option<Set>> {
        let bandwidth = Some(self.bandwidth(geometry)?);
        Ok(Some(Set::Mmd(Mmd { bandwidth, ..*self })))
    }

    fn containing(&self, geometry: &Geometry, other: &[f64]) -> Result<Option<f64>> {
        let embedding = self.embedding(geometry)?;
        let mut apart: Vec<f64> = embedding.nominal.iter().map(|p| -p).collect();
        for (&group, q) in embedding.group.iter().zip(other) {
            apart[group as usize] += q;
        }
        Ok(Some(dot(&apart, &embedding.times(&apart)).max(0.0).sqrt()))
    }

    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        let embedding = self.embedding(&problem.geometry)?;
        Ok(Box::new(Solver::new(problem, settings, embedding)))
    }
}

/// The median ground distance between two people of different contexts, to three digits.
fn median_distance(geometry: &Geometry) -> f64 {
    let (space, weights) = (geometry.population().space(), geometry.population().weights());
    let sources = geometry.sources();
    // Of many, every so manieth by weight.
    let people: Vec<(u32, f64)> = match sources.len() <= PEOPLE {
        true => sources.iter().map(|&i| (i, weights[i as usize])).collect(),
        false => {
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
        }
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
enum Axis {
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

impl Axis {
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
        let to_missing: Vec<f64> = match any {
            true => distinct.par_iter().map(|d| with_missing(d.0)).collect(),
            false => Vec::new(),
        };
        let size = distinct.len();
        if size > LISTED {
            let missing = level.iter().filter(|_| any).map(|&l| to_missing[l as usize]).collect();
            return Axis::Plain { coordinate: column, metric, missing };
        }
        let entry = |(a, b): (usize, usize)| match (distinct[a].0.is_nan(), distinct[b].0.is_nan())
        {
            (true, true) => 1.0,
            (true, false) => to_missing[b],
            (false, true) => to_missing[a],
            (false, false) => of(metric.cost(distinct[a].0, distinct[b].0)),
        };
        let table = (0..size * size).map(|k| entry((k / size, k % size))).collect();
        Axis::Table { level, size, table }
    }

    /// Whether it tells nobody from anybody.
    fn is_idle(&self) -> bool {
        matches!(self, Axis::Table { table, .. } if table.iter().all(|x| *x == 1.0))
    }

    /// Multiplies what is there by a point's products with all.
    fn multiply(&self, point: usize, out: &mut [f64], of: &impl Fn(f64) -> f64) {
        match self {
            Axis::Table { level, size, table } => {
                let row = &table[level[point] as usize * size..][..*size];
                out.iter_mut().zip(level).for_each(|(out, &l)| *out *= row[l as usize]);
            }
            Axis::Plain { coordinate, metric, missing } => {
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
            Axis::Table { level, size, table } => {
                // Levels of product 1 are one.
                let row = &table[level[point] as usize * size..][..*size];
                row.iter().position(|x| *x == 1.0).unwrap_or(level[point] as usize) as u64
            }
            Axis::Plain { coordinate, .. } => bits(coordinate[point]),
        }
    }
}

/// A population in the features of a kernel, points in one place being one.
struct Embedding {
    kernel: Kernel,
    bandwidth: f64,
    axes: Vec<Axis>,
    /// The place of every point, and the first point of every place.
    group: Vec<u32>,
    first: Vec<u32>,
    nominal: Vec<f64>,
    /// On a grid, each axis's number of levels, stride and table by levels.
    grid: Option<Vec<(usize, usize, Vec<f64>)>>,
    cells: usize,
    /// Ones, then the factor's columns, each of mean 0.
    columns: Vec<f64>,
    /// What every place's own product is still to be explained by.
    open: f64,
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
    match least < most {
        true => metric.cost(least, most),
        false => 0.0,
    }
}

impl Embedding {
    fn new(population: &Population, kernel: Kernel, bandwidth: f64) -> Result<Self> {
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
        let all: Vec<Axis> = (0..features).map(|k| Axis::new(space, weights, k, of)).collect();
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
        let grid = match space.support() {
            Support::Grid(grid) => Some(
                (0..features)
                    .map(|k| {
                        let (count, stride) = (grid.levels()[k], grid.stride(k));
                        let point = |level: usize| level * stride;
                        let mut table = vec![1.0; count * count];
                        if let Axis::Table { level, size, table: own } = &all[k] {
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
        let listed = all.iter().all(|axis| matches!(axis, Axis::Table { .. }));
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

    fn places(&self) -> usize {
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
    fn times(&self, x: &[f64]) -> Vec<f64> {
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
    fn centred(&self, mut column: Vec<f64>) -> Vec<f64> {
        let mean = dot(&self.nominal, &column);
        column.iter_mut().for_each(|x| *x -= mean);
        column
    }

    /// The squared distance of a single place from the population.
    fn squared_distance(&self, place: usize) -> f64 {
        (1.0 - 2.0 * self.mean[place] + self.square).max(0.0)
    }
}

/// A problem in the features of the kernel.
struct Solver<'a> {
    problem: Problem<'a>,
    settings: Settings<'a>,
    embedding: Arc<Embedding>,
    /// The largest height of each place, and the point that has it.
    heights: Vec<f64>,
    tops: Vec<u32>,
    /// The embedding's columns, and those that rounds added.
    columns: Vec<f64>,
    nominal: f64,
}

/// Bounds in heights, their price and the population of places.
struct Found {
    lower: f64,
    upper: f64,
    lambda: f64,
    weights: Vec<f64>,
    steps: usize,
    stopped: bool,
}

impl<'a> Solver<'a> {
    fn new(problem: &Problem<'a>, settings: Settings<'a>, embedding: Arc<Embedding>) -> Self {
        let mut heights = vec![f64::NEG_INFINITY; embedding.places()];
        let mut tops = embedding.first.clone();
        for (j, &group) in embedding.group.iter().enumerate() {
            let height = problem.heights.at(j);
            if height > heights[group as usize] {
                heights[group as usize] = height;
                tops[group as usize] = j as u32;
            }
        }
        let nominal = sum(heights.len(), |g| embedding.nominal[g] * heights[g]);
        let columns = embedding.columns.clone();
        Solver { problem: problem.clone(), settings, embedding, heights, tops, columns, nominal }
    }

    /// The place of the largest height that is nearest, and how far it is.
    fn highest(&self) -> (usize, f64) {
        let most = self.heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let tops = (0..self.heights.len()).filter(|&g| self.heights[g] == most);
        let near = tops
            .map(|g| (g, self.embedding.squared_distance(g)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let (g, square) = near.unwrap_or((0, 0.0));
        (g, square.sqrt())
    }

    /// A population without a search.
    fn plain(value: f64, lambda: f64, weights: Vec<f64>) -> Found {
        Found { lower: value, upper: value, lambda, weights, steps: 1, stopped: false }
    }

    fn found(&mut self, radius: f64) -> Found {
        let (top, enough) = self.highest();
        let nominal = self.embedding.nominal.clone();
        if radius == 0.0 && enough > 0.0 {
            return Self::plain(self.nominal, f64::INFINITY, nominal);
        }
        if radius >= enough {
            let mut weights = vec![0.0; nominal.len()];
            weights[top] = 1.0;
            return Self::plain(self.heights[top], 0.0, weights);
        }
        let mut best = Found {
            lower: self.nominal,
            upper: self.heights[top],
            lambda: 0.0,
            weights: nominal.clone(),
            steps: 0,
            stopped: false,
        };
        let n = self.heights.len();
        let (scale, settings) = (self.problem.heights.scale(), self.settings);
        for round in 0..ROUNDS {
            let program = Program {
                columns: &self.columns,
                features: self.columns.len() / n - 1,
                heights: &self.heights,
                nominal: &nominal,
                mean: radius,
                second: None,
            };
            let before = best.steps;
            let answer = solve(&program, &mut |steps, gap| {
                before + steps <= settings.max_evaluations
                    && settings.go_on(Stage::Solving, before + steps, gap / scale)
            });
            best.steps += answer.steps;
            best.stopped |= answer.stopped;
            if answer.upper < best.upper {
                best.upper = answer.upper;
                best.lambda = dot(&answer.dual, &answer.dual).sqrt();
            }
            // Its distance by the whole kernel.
            let apart: Vec<f64> = answer.weights.iter().zip(&nominal).map(|(w, p)| w - p).collect();
            let toward = self.embedding.times(&apart);
            let distance = dot(&apart, &toward).max(0.0).sqrt();
            let share = if distance > radius { radius / distance } else { 1.0 };
            let mixed: Vec<f64> =
                nominal.iter().zip(&apart).map(|(p, x)| (p + share * x).max(0.0)).collect();
            let lower = sum(n, |g| mixed[g] * self.heights[g]);
            if lower > best.lower {
                (best.lower, best.weights) = (lower, mixed);
            }
            let size = best.upper.abs().max(best.lower.abs());
            let closed = best.upper - best.lower <= 0.1 * settings.tolerance * size;
            if closed || best.stopped || self.embedding.open <= KNOWN || round + 1 == ROUNDS {
                break;
            }
            if !self.learn(&apart, toward) {
                break;
            }
        }
        best
    }

    /// Adds the worst population's own mean, as far as the columns do not have it; false if they do.
    fn learn(&mut self, apart: &[f64], mut toward: Vec<f64>) -> bool {
        let n = apart.len();
        for column in self.columns[n..].chunks(n) {
            let by = dot(column, apart);
            toward.iter_mut().zip(column).for_each(|(x, c)| *x -= by * c);
        }
        let toward = self.embedding.centred(toward);
        let square = dot(&toward, apart);
        if square <= KNOWN * KNOWN {
            return false;
        }
        let root = square.sqrt();
        self.columns.extend(toward.iter().map(|x| x / root));
        true
    }

    fn vertex(&mut self, radius: f64) -> Vertex {
        let found = self.found(radius);
        let price = match found.lambda {
            0.0 => Price::Zero,
            f64::INFINITY => Price::Infinite,
            lambda => Price::At(lambda),
        };
        let excess = (found.upper - found.lower).max(0.0);
        Vertex { excess, ..Vertex::new(price, radius, found.lower) }
    }
}

impl Solve for Solver<'_> {
    fn worst_case(&mut self, radius: f64) -> Result<WorstCase> {
        let found = self.found(radius);
        let certificate = Certificate {
            evaluations: found.steps.max(1),
            stopped: found.stopped,
            ..Certificate::new(found.lower, found.upper, found.lambda)
        };
        let mut plan = Plan::new(self.problem.space());
        if self.settings.detail > Detail::Value {
            for (&j, &mass) in self.tops.iter().zip(&found.weights) {
                plan.push_paid(j, j, mass, 0.0);
            }
        }
        let (units, population) = (self.problem.units(), self.problem.population());
        Ok(certificate.into_worst_case(units, population, &self.settings, plan))
    }

    fn value_at_zero(&self) -> f64 {
        self.problem.heights.unscaled(self.nominal)
    }

    fn curve(&mut self, tolerance: f64) -> Result<Curve> {
        let (top, enough) = self.highest();
        let start = Vertex::new(Price::Infinite, 0.0, self.nominal);
        let end = Vertex::new(Price::Zero, enough, self.heights[top]);
        let (units, settings) = (self.problem.units(), self.settings);
        let tolerance = tolerance * self.problem.heights.scale();
        climb((start, end), tolerance, settings, units, &mut |radius| Ok(self.vertex(radius)))
    }
}
