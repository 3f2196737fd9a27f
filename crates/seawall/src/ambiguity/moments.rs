//! Moment sets (Delage and Ye 2010): means may shift within an ellipsoid and second moments, about the
//! observed mean, may grow by a factor.
//!
//! ```text
//! (E_Q ξ − μ)ᵀ Σ⁻¹ (E_Q ξ − μ) ≤ r γ₁,   E_Q (ξ − μ)(ξ − μ)ᵀ ⪯ (1 + r (γ₂ − 1)) Σ
//! V(r) = min_{q, Q ⪰ 0} max_j (f_j − q·z_j − z_jᵀ Q z_j) + √(rγ₁) ‖q‖ + (1 + r(γ₂ − 1)) tr Q
//! ```
//!
//! with z the coordinates ξ in units in which the population has mean 0 and second moments I. The
//! radius r scales both: 1 is Delage and Ye's set, and at 0 means and variances are as observed, which
//! is more populations than the one observed.
//!
//! Coordinates. A numeric or ordinal column is its position. A nominal or fixed column is one indicator
//! for each of its levels but the commonest. Where values are missing there is an indicator of that, and
//! a missing number is at the mean of the others. Along directions in which the population does not vary
//! nobody may: points off it get no mass, and a direction of which less than `LEAST_SHARE` of a column's
//! squared range is seen counts as one.
//!
//! Both constraints are widened by [`WIDER`], of a standard deviation and of the second moments: bounds are
//! those of the set so widened, and above those of the set as stated by no more than that times a price of
//! some spreads of the values. At radius 0, for `γ₁ = 0` and for `γ₂ = 1` the set as stated has no inside,
//! and what it is widened by adds its root: there it is the least of [`THIN`] at which bounds close, 1e-13
//! in all but a few of random problems, which adds up to 1e-6 of the values' size. Such thin sets are solved
//! in twice the digits of a double, which is slow: with more than some 20,000 points of 8 coordinates it is
//! not done, they are widened as others are, by which bounds were up to 1e-4 of the values' size too high in
//! random problems, and may stay far apart. At most `MOST_COORDINATES` coordinates and `MOST_NUMBERS`
//! numbers; more are refused.

use super::ambiguity_set::{About, AmbiguitySet, SolvableSet};
use super::capabilities::Capabilities;
use super::curve_by_solves::{RadiusAnswer, RadiusOracle, RadiusSolver};
use super::geometry::Geometry;
use super::parameters::{Argument, Parameter, Takes};
use super::problem::Problem;
use super::settings::Settings;
use super::solve::Solve;
use super::whitened::{LEAST_SHARE, WhitenedPoints};
use crate::error::Result;
use crate::kernel::bracket::Vertex;
use crate::kernel::cholesky::dot;
use crate::kernel::eigen::symmetric;
use crate::kernel::interior::{Answer, solve};
use crate::kernel::order::Price;
use crate::kernel::program::BallProgram;
use crate::kernel::sum::sum;
use crate::progress::Stage;
use std::sync::Arc;

/// By how much `‖E z‖` and the bound on second moments are wider than stated.
const WIDER: f64 = 1e-8;
/// The same where the set has no inside of its own, tried in turn until bounds close: what such a set is
/// wider by adds its root times the values' size.
const THIN: [f64; 7] = [1e-13, 3e-13, 1e-12, 3e-12, 1e-11, 1e-10, 1e-9];
/// Moments of a given population are known to this.
const ROUNDING: f64 = 1e-12;
/// Bounds this close, as a share of the values, are not tried for again.
const CLOSE: f64 = 1e-7;
/// Newton steps that an answer takes, about.
const STEPS: f64 = 20.0;

/// Every population whose mean is in an ellipsoid about the observed one and whose second moments about
/// it are bounded.
///
/// `gamma1` bounds the squared distance of the mean, in standard deviations, `gamma2` the factor by which
/// second moments may grow; both are those of radius 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// The squared distance of the mean at radius 1, not negative.
    pub gamma1: f64,
    /// The factor of the second moments at radius 1, not below 1.
    pub gamma2: f64,
}

impl Moments {
    pub(super) const ABOUT: About = About {
        name: "moments",
        parameters: &[
            Parameter {
                name: "gamma1",
                hint: "by how many standard deviations means may shift at radius 1, squared",
                examples: &["0.1"],
                takes: Takes::AtLeast(0.0),
                optional: false,
            },
            Parameter {
                name: "gamma2",
                hint: "the factor by which second moments may grow at radius 1",
                examples: &["1.5"],
                takes: Takes::AtLeast(1.0),
                optional: false,
            },
        ],
        capabilities: Capabilities {
            reaches_unseen: true,
            quick_curve: false,
            gradient: false,
            stays_at_zero: false,
            ..Capabilities::REWEIGHTS
        },
        instead: &[],
    };

    /// The bounds on the mean and on second moments at a radius, so much wider.
    fn bounds(&self, radius: f64, wider: f64) -> (f64, f64) {
        ((radius * self.gamma1).sqrt() + wider, 1.0 + wider + radius * (self.gamma2 - 1.0))
    }

    /// The least radius at which a point or population of this mean and largest second moment is inside.
    fn radius(&self, mean: f64, second: f64) -> f64 {
        let need = |amount: f64, rate: f64| if amount > 0.0 { amount / rate } else { 0.0 };
        let mean = (mean - WIDER).max(0.0);
        need(mean * mean, self.gamma1).max(need(second - 1.0 - WIDER, self.gamma2 - 1.0))
    }
}

impl AmbiguitySet for Moments {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn arguments(&self) -> Vec<Option<Argument>> {
        vec![Some(Argument::Number(self.gamma1)), Some(Argument::Number(self.gamma2))]
    }
}

impl SolvableSet for Moments {
    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        let white = WhitenedPoints::of(&problem.geometry)?;
        let heights = white.points.iter().map(|&j| problem.heights.at(j as usize)).collect();
        let oracle =
            MomentsSolver { set: *self, problem: problem.clone(), settings, white, heights };
        Ok(Box::new(RadiusSolver::new(oracle, settings)))
    }

    fn work(&self, geometry: &Geometry) -> Option<f64> {
        let white = WhitenedPoints::of(geometry).ok()?;
        let unknowns = white.columns.len() as f64 / white.points.len() as f64;
        Some(STEPS * white.columns.len() as f64 * unknowns / 2.0)
    }

    fn room(&self, geometry: &Geometry) -> f64 {
        let space = geometry.population().space();
        let features = space.names().len() as f64;
        // Ones, coordinates and their products: a column with levels has a coordinate at least.
        8.0 * space.len() as f64 * (1.0 + features) * (1.0 + features / 2.0)
    }

    fn containing(&self, geometry: &Geometry, other: &[f64]) -> Result<Option<f64>> {
        let white = WhitenedPoints::of(geometry)?;
        let (d, n) = (white.features, white.points.len());
        let q: Vec<f64> = white.points.iter().map(|&j| other[j as usize]).collect();
        let inside = sum(n, |j| q[j]);
        let total = sum(other.len(), |j| other[j]);
        if total - inside > LEAST_SHARE {
            return Ok(Some(f64::INFINITY));
        }
        let column = |k: usize| &white.columns[(1 + k) * n..][..n];
        let mean: f64 = (0..d).map(|k| dot(column(k), &q).powi(2)).sum();
        let mut second = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..d {
                second[i * d + j] = sum(n, |s| q[s] * column(i)[s] * column(j)[s]);
            }
        }
        let most = symmetric(d, second).values.into_iter().fold(0.0, f64::max);
        Ok(Some(self.radius((mean - ROUNDING).max(0.0).sqrt(), most - ROUNDING)))
    }
}

/// A problem in the coordinates of its population.
struct MomentsSolver<'a> {
    set: Moments,
    problem: Problem<'a>,
    settings: Settings<'a>,
    white: Arc<WhitenedPoints>,
    /// Heights of the points that may have mass.
    heights: Vec<f64>,
}

impl MomentsSolver<'_> {
    /// The squared length of a point.
    fn square(&self, j: usize) -> f64 {
        let n = self.heights.len();
        (1..=self.white.features).map(|k| self.white.columns[k * n + j].powi(2)).sum()
    }

    /// The point of the largest height that is inside soonest, and the radius at which it is.
    fn highest(&self) -> (usize, f64) {
        let most = self.heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let tops = (0..self.heights.len()).filter(|&j| self.heights[j] == most);
        let near = tops.map(|j| (j, self.square(j))).min_by(|a, b| a.1.total_cmp(&b.1));
        let (j, square) = near.unwrap_or((0, 0.0));
        (j, self.set.radius(square.sqrt(), square))
    }

    /// Where one of the two constraints is closed, the radius from which the other says nothing: a mean is
    /// no further than its second moments let it be.
    fn last(&self) -> f64 {
        let (gamma1, growth) = (self.set.gamma1, self.set.gamma2 - 1.0);
        match (gamma1 > 0.0, growth > 0.0) {
            (true, true) => f64::INFINITY,
            (true, false) => 1.0 / gamma1,
            (false, true) => {
                let squares = (0..self.heights.len()).map(|j| self.square(j));
                squares.fold(0.0, f64::max) / growth
            }
            (false, false) => 0.0,
        }
    }

    fn found(&self, radius: f64) -> RadiusAnswer {
        let (top, enough) = self.highest();
        if radius >= enough {
            let mut weights = vec![0.0; self.heights.len()];
            weights[top] = 1.0;
            let most = self.heights[top];
            return RadiusAnswer::known(most, 0.0, weights);
        }
        let radius = radius.min(self.last());
        let (answer, mean) = self.solved(radius);
        let d = self.white.features;
        let q = &answer.dual[..d];
        let trace: f64 = (0..d).map(|i| answer.dual[d + i * d - i * i.saturating_sub(1) / 2]).sum();
        let lambda =
            self.set.gamma1 / (2.0 * mean) * dot(q, q).sqrt() + (self.set.gamma2 - 1.0) * trace;
        RadiusAnswer {
            lower: answer.lower,
            upper: answer.upper,
            lambda,
            weights: answer.weights,
            steps: answer.steps,
            stopped: answer.stopped,
        }
    }

    /// The answer at a radius and its bound on the mean: over the set as little wider as closes the bounds.
    fn solved(&self, radius: f64) -> (Answer, f64) {
        let program = |wider: f64| {
            let (mean, second) = self.set.bounds(radius, wider);
            BallProgram {
                columns: &self.white.columns,
                features: self.white.features,
                heights: &self.heights,
                nominal: &self.white.nominal,
                mean,
                second: Some(second),
            }
        };
        let scale = self.problem.heights.scale();
        let mut taken = 0;
        let mut solve_at = |wider: f64| {
            let program = program(wider);
            let before = taken;
            let mut answer = solve(&program, &mut |steps, gap| {
                taken = before + steps;
                taken <= self.settings.max_evaluations
                    && self.settings.go_on(Stage::Solving, taken, gap / scale)
            });
            answer.steps += before;
            (answer, program.mean)
        };
        let thin = radius * self.set.gamma1.min(self.set.gamma2 - 1.0) < WIDER;
        if !thin || !program(WIDER).precise() {
            return solve_at(WIDER);
        }
        let open = |answer: &Answer| answer.upper - answer.lower;
        let mut best = solve_at(THIN[0]);
        for &wider in &THIN[1..] {
            if best.0.stopped || open(&best.0) <= CLOSE * scale {
                break;
            }
            let next = solve_at(wider);
            // A bound on a wider set is one on a narrower.
            if open(&next.0) < open(&best.0) {
                best = next;
            }
        }
        best
    }
}

impl RadiusOracle for MomentsSolver<'_> {
    fn problem(&self) -> &Problem<'_> {
        &self.problem
    }

    fn points(&self) -> &[u32] {
        &self.white.points
    }

    fn answer(&mut self, radius: f64) -> RadiusAnswer {
        self.found(radius)
    }

    fn start(&self) -> f64 {
        self.found(0.0).upper
    }

    fn ends(&mut self) -> (Vertex, Vertex) {
        let (top, enough) = self.highest();
        // Where no radius is enough, the curve ends where it is flat.
        let end = if enough.is_finite() {
            Vertex::new(Price::Zero, enough, self.heights[top])
        } else {
            let last = self.last();
            Vertex { price: Price::Zero, ..self.found(last).vertex(last) }
        };
        (self.found(0.0).vertex(0.0), end)
    }
}
