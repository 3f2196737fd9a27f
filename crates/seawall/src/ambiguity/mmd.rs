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
//! distance is worked out with the whole kernel. At most `MOST_POINTS` points; more are refused.

use super::ambiguity_set::{About, AmbiguitySet, SolvableSet};
use super::capabilities::Capabilities;
use super::curve_by_solves::{RadiusAnswer, RadiusOracle, RadiusSolver};
use super::embedding::{Embedding, KNOWN, Kernel, MOST_PIVOTS, median_distance};
use super::geometry::Geometry;
use super::parameters::{Argument, Parameter, Takes};
use super::problem::Problem;
use super::settings::Settings;
use super::solve::Solve;
use crate::error::Result;
use crate::kernel::bracket::Vertex;
use crate::kernel::cholesky::dot;
use crate::kernel::interior::solve;
use crate::kernel::order::Price;
use crate::kernel::program::BallProgram;
use crate::kernel::sum::sum;
use crate::progress::Stage;
use std::sync::Arc;

/// Times that the worst population's own mean is added.
const ROUNDS: usize = 12;
/// Newton steps that an answer takes, about.
const STEPS: f64 = 20.0;

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
        capabilities: Capabilities {
            uses_distance: true,
            reaches_unseen: true,
            quick_curve: false,
            gradient: false,
            ..Capabilities::REWEIGHTS
        },
        instead: &[],
    };

    /// The bandwidth given, or the population's.
    fn bandwidth(&self, geometry: &Geometry) -> Result<f64> {
        match self.bandwidth {
            Some(bandwidth) => Ok(bandwidth),
            None => Ok(*geometry.prepared("mmd bandwidth", || Ok(median_distance(geometry)))?),
        }
    }

    /// The same kernel with its bandwidth.
    pub(super) fn resolved(&self, geometry: &Geometry) -> Result<Self> {
        Ok(Mmd { bandwidth: Some(self.bandwidth(geometry)?), ..*self })
    }

    fn embedding(&self, geometry: &Geometry) -> Result<Arc<Embedding>> {
        let bandwidth = self.bandwidth(geometry)?;
        let name = format!("mmd {} {bandwidth:e}", self.kernel.name());
        geometry.prepared(&name, || Embedding::new(geometry.population(), self.kernel, bandwidth))
    }
}

impl AmbiguitySet for Mmd {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn arguments(&self) -> Vec<Option<Argument>> {
        vec![Some(Argument::Word(self.kernel.name())), self.bandwidth.map(Argument::Number)]
    }
}

impl SolvableSet for Mmd {
    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        let embedding = self.embedding(&problem.geometry)?;
        let oracle = MmdSolver::new(problem, settings, embedding);
        Ok(Box::new(RadiusSolver::new(oracle, settings)))
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

    fn containing(&self, geometry: &Geometry, other: &[f64]) -> Result<Option<f64>> {
        let embedding = self.embedding(geometry)?;
        let mut apart: Vec<f64> = embedding.nominal.iter().map(|p| -p).collect();
        for (&group, q) in embedding.group.iter().zip(other) {
            apart[group as usize] += q;
        }
        Ok(Some(dot(&apart, &embedding.times(&apart)).max(0.0).sqrt()))
    }
}

/// A problem in the features of the kernel.
struct MmdSolver<'a> {
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

impl<'a> MmdSolver<'a> {
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
        MmdSolver { problem: problem.clone(), settings, embedding, heights, tops, columns, nominal }
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

    fn found(&mut self, radius: f64) -> RadiusAnswer {
        let (top, enough) = self.highest();
        let nominal = self.embedding.nominal.clone();
        if radius == 0.0 && enough > 0.0 {
            return RadiusAnswer::known(self.nominal, f64::INFINITY, nominal);
        }
        if radius >= enough {
            let mut weights = vec![0.0; nominal.len()];
            weights[top] = 1.0;
            return RadiusAnswer::known(self.heights[top], 0.0, weights);
        }
        let mut best = RadiusAnswer {
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
            let program = BallProgram {
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
}

impl RadiusOracle for MmdSolver<'_> {
    fn problem(&self) -> &Problem<'_> {
        &self.problem
    }

    fn points(&self) -> &[u32] {
        &self.tops
    }

    fn answer(&mut self, radius: f64) -> RadiusAnswer {
        self.found(radius)
    }

    fn start(&self) -> f64 {
        self.nominal
    }

    fn ends(&mut self) -> (Vertex, Vertex) {
        let (top, enough) = self.highest();
        let start = Vertex::new(Price::Infinite, 0.0, self.nominal);
        (start, Vertex::new(Price::Zero, enough, self.heights[top]))
    }
}
