//! CVaR worst case: the mean of the worst share 1 − ε of the people, `q ≤ p/(1 − ε)`.
//!
//! ```text
//! V(ε) = min_t t + Σ_i p_i max(f_i − t, 0) / (1 − ε)
//! ```
//!
//! The radius is the share left out, 1 − α of CVaR at level α: 0 is the mean, and from 1 minus the
//! share of the largest value on it is that value. Contexts that nobody was seen in gain nothing.
//!
//! With `t` the value at which the worst share ends, `V = t + h/(1 − ε)`, `h = Σ p max(f − t, 0)`: the
//! curve is straight in `1/(1 − ε)` between the radii at which t changes, not in ε. In ε each such
//! piece sags below its chord, by `h (1/√a₁ − 1/√a₀)²` where 1 − ε goes from a₀ to a₁, and the pieces
//! meet in corners that point upwards: the curve is neither concave nor straight. The corners are
//! exact; between them vertices are put, evenly in `1/√(1 − ε)`, until no piece sags by more than the
//! tolerance.

use super::ambiguity_set::{About, AmbiguitySet, SolvableSet};
use super::capabilities::Capabilities;
use super::curve::{Curve, Sagging};
use super::geometry::Geometry;
use super::plan::Plan;
use super::problem::Problem;
use super::settings::{Detail, Settings};
use super::solve::Solve;
use super::worst_case::{Certificate, WorstCase};
use crate::error::Result;
use crate::kernel::sum::sum;
use crate::progress::Stage;

/// Every population that gives nobody more than `1/(1 − radius)` times the weight they had.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cvar;

impl Cvar {
    pub(super) const ABOUT: About = About {
        name: "cvar",
        parameters: &[],
        capabilities: Capabilities::REWEIGHTS,
        instead: &[("alpha", "the radius is 1 − alpha")],
    };
}

impl AmbiguitySet for Cvar {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }
}

impl SolvableSet for Cvar {
    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        Ok(Box::new(CvarSolver::new(problem, settings)))
    }

    fn refuses_radius(&self, radius: f64) -> Option<&'static str> {
        let what = "cvar leaves out a share of the people: expected a number ≥ 0 and < 1";
        (radius >= 1.0).then_some(what)
    }

    fn containing(&self, geometry: &Geometry, other: &[f64]) -> Result<Option<f64>> {
        let own = geometry.population().weights();
        let gains = own.iter().zip(other).filter(|(_, q)| **q > 0.0);
        let least = gains.fold(1.0, |least: f64, (p, q)| least.min(p / q));
        // No share at all is no population: whoever was not seen is out of reach.
        Ok(Some(if least > 0.0 { 1.0 - least } else { f64::INFINITY }))
    }
}

/// A problem with its sources sorted, those of the same value together.
struct CvarSolver<'a> {
    problem: Problem<'a>,
    settings: Settings<'a>,
    /// Values, highest first, each once.
    steps: Vec<CvarStep>,
    nominal: f64,
}

/// All people of one value.
#[derive(Clone, Copy)]
struct CvarStep {
    value: f64,
    /// The share of people of higher values, and of these and higher ones.
    above: f64,
    with: f64,
    /// `Σ p max(f − value, 0)`.
    excess: f64,
}

impl<'a> CvarSolver<'a> {
    fn new(problem: &Problem<'a>, settings: Settings<'a>) -> Self {
        let (heights, all) = (problem.heights, problem.population().weights());
        let mut points: Vec<(f64, f64)> =
            problem.sources().iter().map(|&i| (heights.at(i as usize), all[i as usize])).collect();
        points.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
        let mut steps: Vec<CvarStep> = Vec::with_capacity(points.len());
        for (value, p) in points {
            match steps.last_mut() {
                Some(last) if last.value == value => last.with += p,
                last => {
                    let (above, excess) = last.map_or((0.0, 0.0), |last| {
                        (last.with, last.excess + last.with * (last.value - value))
                    });
                    steps.push(CvarStep { value, above, with: above + p, excess });
                }
            }
        }
        CvarSolver { problem: problem.clone(), settings, steps, nominal: problem.nominal_height() }
    }

    /// The value at which the worst share `a` ends.
    fn last(&self, a: f64) -> CvarStep {
        let at = self.steps.partition_point(|step| step.with < a);
        self.steps[at.min(self.steps.len() - 1)]
    }

    /// The population that holds the worst share alone, and what it spends.
    fn plan(&self, last: &CvarStep, a: f64) -> Plan {
        let mut plan = Plan::new(self.problem.space());
        let weights = self.problem.population().weights();
        // Everyone above counts whole, and of those at the last value so much as is left.
        let whole = a >= last.with;
        let part = if whole { 1.0 } else { (a - last.above) / (last.with - last.above) };
        let most = if last.above > 0.0 || whole { 1.0 } else { part };
        let total = last.above + part * (last.with - last.above);
        let spent = 1.0 - total / most;
        for &i in self.problem.sources() {
            let (f, p) = (self.problem.heights.at(i as usize), weights[i as usize]);
            let kept = if f > last.value { p } else { p * part };
            if f >= last.value {
                plan.push_paid(i, i, kept / total, spent);
            }
        }
        plan
    }
}

impl Solve for CvarSolver<'_> {
    fn worst_case(&mut self, radius: f64) -> Result<WorstCase> {
        let a = 1.0 - radius;
        let top = self.steps[0];
        let last = self.last(a);
        let (lower, upper, lambda) = if a <= top.with {
            (top.value, top.value, 0.0)
        } else if radius == 0.0 {
            (self.nominal, self.nominal, self.last(1.0).excess)
        } else {
            let lower = last.value + last.excess / a;
            let (weights, heights) = (self.problem.population().weights(), self.problem.heights);
            let sources = self.problem.sources();
            let dual = sum(sources.len(), |s| {
                let i = sources[s] as usize;
                weights[i] * (heights.at(i) - last.value).max(0.0)
            });
            (lower, last.value + dual / a, last.excess / (a * a))
        };
        let certificate = Certificate { evaluations: 1, ..Certificate::new(lower, upper, lambda) };
        let plan = match self.settings.detail {
            Detail::Value => Plan::new(self.problem.space()),
            _ if radius == 0.0 => self.plan(&self.steps[self.steps.len() - 1], f64::INFINITY),
            _ => self.plan(&last, a),
        };
        Ok(certificate.into_worst_case(
            self.problem.units(),
            self.problem.population(),
            &self.settings,
            plan,
        ))
    }

    fn value_at_zero(&self) -> f64 {
        self.problem.heights.unscaled(self.nominal)
    }

    fn curve(&mut self, tolerance: f64) -> Result<Curve> {
        let units = self.problem.units();
        let tolerance = tolerance * units.scale();
        let limit = self.settings.crossing.map(|value| units.scaled(value));
        let mut curve = Sagging::new((0.0, self.nominal));
        let (mut done, mut stopped) = (0, false);
        // From everyone to the largest value alone: each stretch ends where the next higher one does.
        for pair in self.steps.windows(2).rev() {
            let (next, step) = (pair[0], pair[1]);
            // The shares sum to 1 but for rounding.
            let a0 = if done == 0 { 1.0 } else { step.with.min(1.0) };
            let a1 = next.with.min(1.0);
            let (from, to) = (step.value + step.excess / a0, step.value + step.excess / a1);
            let passes = limit.is_none_or(|limit| from <= limit && limit < to);
            let width = a1.sqrt().recip() - a0.sqrt().recip();
            let wanted = (width * (step.excess / tolerance).sqrt()).ceil().max(1.0);
            let room = self.settings.max_vertices.saturating_sub(done + pair.len()).max(1);
            stopped |= !self.settings.go_on(Stage::Curve, done, 0.0);
            let count = if passes && !stopped && 1.0 - a0 < self.settings.max_radius {
                wanted.min(room as f64) as usize
            } else {
                1
            };
            curve.piece(step.value, step.excess, (a0, a1), count);
            done += count;
        }
        Ok(curve.into_curve(units))
    }
}
