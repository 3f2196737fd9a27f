//! The Sinkhorn ball (Wang, Gao and Xie, 2021) [14]: the entropic distance in the constraint. A
//! population is in it if people can be sent there at a mean cost, with κ for every nat by which a
//! person's places are less spread out than the reference weights w, of at most the radius:
//!
//! ```text
//! V(ε) = min_{λ≥0} λε + λκ Σ_i p_i [log Σ_j w_j exp((f_j/λ − c_ij)/κ) − log Σ_j w_j exp(−c_ij/κ)]
//! ```
//!
//! The last term is what spreading out costs whatever happens, and **the radius is counted beyond
//! it**, so that no set is empty: at radius 0 there is one population, everybody spread out around
//! where they were, `K_i(j) ∝ w_j exp(−c_ij/κ)`. A radius ε allows plans with `κ Σ_i p_i KL(π_i ‖ K_i) ≤
//! ε`: the KL solver's problem ([`kl`](super::kl)), one centre a source, in `β = 1/(λκ)`.
//!
//! As κ → 0 this is the Wasserstein ball; as κ → ∞, with ε/κ held, the KL ball of that radius around
//! the reference weights. Beyond `−κ Σ_i p_i log K_i(argmax f)` everybody is where f is largest. The
//! value is exact for this set, which is no smoothed form of another.

use super::ambiguity_set::{About, AmbiguitySet, SolvableSet};
use super::capabilities::Capabilities;
use super::engine::groups;
use super::engine::soft::Of;
use super::geometry::Geometry;
use super::gibbs::{GibbsPart, SETTLED, list, shares};
use super::parameters::{Argument, Parameter, Takes};
use super::plan::Plan;
use super::problem::Problem;
use super::settings::{Detail, Settings};
use super::solve::{PriceOracle, PricedSolver, Solution, Solve};
use super::tilted::Tilted;
use super::values::ValueUnits;
use super::worst_case::Certificate;
use crate::error::{Error, Result};
use crate::kernel::bracket::{Bracket, Vertex};
use crate::kernel::order::Price;
use crate::kernel::sum::sum;
use crate::progress::{Stage, Watch};

/// Every population that people reach at a small mean cost while each of them is spread out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sinkhorn {
    /// What a nat of spread is worth, κ, in units of the ground cost: the larger, the further
    /// everybody is spread out.
    pub kappa: f64,
}

impl Sinkhorn {
    pub(super) const ABOUT: About = About {
        name: "sinkhorn",
        parameters: &[Parameter {
            name: "kappa",
            hint: "how far everybody is spread out, in units of the ground cost; smaller is closer to \
                   wasserstein",
            examples: &["0.1"],
            takes: Takes::Positive,
            optional: false,
        }],
        capabilities: Capabilities {
            contains_nominal: false,
            stays_at_zero: false,
            ..Capabilities::MOVES_MASS
        },
        instead: &[],
    };
}

impl AmbiguitySet for Sinkhorn {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn arguments(&self) -> Vec<Option<Argument>> {
        vec![Some(Argument::Number(self.kappa))]
    }
}

impl SolvableSet for Sinkhorn {
    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        let tilted = Tilted::new(problem, self.kappa, settings.watch)?;
        let problem = problem.clone();
        let oracle = SinkhornSolver { problem, settings, kappa: self.kappa, tilted };
        Ok(Box::new(PricedSolver::new(oracle, settings)))
    }

    fn containing(&self, geometry: &Geometry, other: &[f64]) -> Result<Option<f64>> {
        Ok(nats_to(geometry, other, self.kappa)?.map(|nats| self.kappa * nats))
    }
}

/// The bounds are as close as rounding allows.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A problem and its tilts. Inside, radii are in nats, the radius over κ, and prices `1/β = λκ`.
struct SinkhornSolver<'a> {
    problem: Problem<'a>,
    settings: Settings<'a>,
    kappa: f64,
    tilted: Tilted<'a>,
}

impl SinkhornSolver<'_> {
    /// Newton's method on `√KL(β) = √ε`, which is nearly straight, kept inside the bracket. A small κ
    /// makes KL(β) a staircase: where a step gains little, the crossing of the two lines takes over,
    /// then the middle.
    fn search(&mut self, radius: f64) -> (Bracket, bool) {
        let (start, end) = (self.tilted.start, self.tilted.end);
        let mut bracket = Bracket::new(end, start.vertex, radius);
        // For a small radius KL(β) = β² Var / 2.
        let guess = start.variance.sqrt() / (2.0 * radius).sqrt();
        let mut next = [Some(guess), bracket.crossing(), middle(&bracket)];
        let (mut slow, mut polishes) = (0, 0);
        for _ in 0..self.settings.max_evaluations {
            let usable = |price: &f64| bracket.inside(*price) && (1.0 / price).is_finite();
            let Some(price) = next.into_iter().flatten().find(usable) else { break };
            let tilt = self.tilted.tilt(price);
            if self.tilted.stopped() {
                return (bracket, true);
            }
            let before = bracket.gap();
            bracket.insert(tilt.vertex);
            let (gap, nats) = (bracket.gap(), tilt.vertex.cost);
            let size = bracket.upper.0.abs().max(bracket.lower().abs());
            let closed = gap <= ROUNDING * size;
            // Closed bounds do not pin down the population where λ is small: a few more steps make it
            // spend the radius and no more.
            polishes += usize::from(closed);
            if (nats - radius).abs() <= SETTLED * radius || polishes > 8 {
                break;
            }
            let scale = self.problem.heights.scale();
            if !self.settings.go_on(Stage::Solving, self.tilted.evaluations, gap / scale) {
                return (bracket, true);
            }
            slow = if closed || gap <= 0.5 * before { 0 } else { slow + 1 };
            let beta = 1.0 / price;
            let step = 2.0 * ((nats * radius).sqrt() - nats) / (beta * tilt.variance);
            next = [Some(1.0 / (beta + step)), bracket.crossing(), middle(&bracket)];
            next.rotate_left(slow % 3);
        }
        (bracket, false)
    }

    /// The plan and the worst-case population: the mixture of the bracket's two Gibbs plans that
    /// spends the radius. It spends no more than the chord does, for the divergence is convex.
    fn population(&mut self, bracket: &Bracket) -> Result<(Plan, Option<Vec<f64>>)> {
        let plan = Plan::new(self.problem.space());
        if self.settings.detail == Detail::Value {
            return Ok((plan, None));
        }
        let mut weights = vec![0.0; self.problem.heights.len()];
        let (mut parts, sharpness) = (Vec::new(), self.tilted.sharpness());
        for (share, price) in shares(bracket) {
            let (exponents, totals, arrived) = self.tilted.plan(price);
            weights.iter_mut().zip(arrived).for_each(|(w, x)| *w += share * x);
            parts.push(GibbsPart { share, exponents, sharpness, totals });
        }
        if self.tilted.stopped() {
            return Err(Error::stopped());
        }
        let mass = sum(weights.len(), |j| weights[j]);
        if mass.is_nan() || (mass - 1.0).abs() > 1e-6 {
            let kappa = Argument::Number(self.kappa);
            return Err(Error::config(format!(
                "kappa = {kappa} is out of scale with the costs of moves: take a larger one, or \
                 wasserstein"
            )));
        }
        let plan = match self.settings.detail {
            Detail::Plan => {
                list(&self.problem, &self.settings, &parts).ok_or_else(Error::stopped)?
            }
            _ => plan,
        };
        Ok((plan, Some(weights)))
    }

    /// A vertex whose cost and price are in the units of costs.
    fn in_costs(&self, vertex: Vertex) -> Vertex {
        let price = match vertex.price {
            Price::At(price) => Price::At(price / self.kappa),
            end => end,
        };
        Vertex::new(price, vertex.cost * self.kappa, vertex.value)
    }
}

/// A price in the middle of a bracket's, by their logarithms.
fn middle(bracket: &Bracket) -> Option<f64> {
    let (low, high) = (bracket.left.price.get(), bracket.right.price.get());
    Some(match (low > 0.0, high.is_finite()) {
        (true, true) => low.sqrt() * high.sqrt(),
        (true, false) => 16.0 * low,
        (false, true) => high / 16.0,
        (false, false) => 1.0,
    })
}

impl PriceOracle for SinkhornSolver<'_> {
    fn units(&self) -> ValueUnits {
        self.problem.units()
    }

    fn solution(&mut self, radius: f64) -> Result<Solution> {
        let before = self.tilted.evaluations;
        let (start, end, nats) = (self.tilted.start.vertex, self.tilted.end, radius / self.kappa);
        let (bracket, stopped) = if nats >= end.cost {
            (Bracket::new(end, end, end.cost), false)
        } else if nats == 0.0 {
            (Bracket::new(start, start, 0.0), false)
        } else {
            self.search(nats)
        };
        let (upper, price) = bracket.upper;
        let (plan, weights) = self.population(&bracket)?;
        let certificate = Certificate {
            evaluations: (self.tilted.evaluations - before).max(1),
            stopped,
            weights,
            ..Certificate::new(bracket.lower(), upper, price.get() / self.kappa)
        };
        Ok(Solution { certificate, plan, nominal: self.problem.population().clone() })
    }

    fn start(&self) -> f64 {
        self.tilted.start.vertex.value
    }

    fn ends(&mut self) -> Vec<Vertex> {
        let (start, end) = (self.tilted.start.vertex, self.tilted.end);
        let ends = if end.cost > 0.0 { vec![end, start] } else { vec![start] };
        ends.into_iter().map(|v| self.in_costs(v)).collect()
    }

    fn vertices(&mut self, prices: &[f64]) -> Vec<Vertex> {
        let at = |price: &f64| {
            let tilt = self.tilted.tilt(price * self.kappa);
            Vertex { price: Price::At(*price), ..self.in_costs(tilt.vertex) }
        };
        let found = prices.iter().map(at).collect();
        if self.tilted.stopped() { Vec::new() } else { found }
    }
}

/// Iterations to the population asked about, at most.
const MOST: usize = 5000;
/// The share of people out of place that is none.
const ARRIVED: f64 = 1e-10;

/// The least `Σ_i p_i KL(π_i ‖ K_i)` of a plan from the population to another one, by Sinkhorn's
/// iterations on the dual `max_ψ Σ_j q_j ψ_j − Σ_i p_i log Σ_j K_i(j) exp(ψ_j)`. Infinite if walls are
/// in between; None if they take too long to get there, as a very small κ makes them.
fn nats_to(geometry: &Geometry, other: &[f64], kappa: f64) -> Result<Option<f64>> {
    let own = geometry.population().weights();
    for group in groups(geometry.population().space()).1 {
        let mass = |of: &[f64]| sum(group.members.len(), |k| of[group.members[k] as usize]);
        if (mass(own) - mass(other)).abs() > 1e-12 {
            return Ok(Some(f64::INFINITY));
        }
    }
    let points = other.len();
    let (log_reference, sharpness) = (-(points as f64).ln(), 1.0 / kappa);
    let mut engine = geometry.soft_engine()?.clone().load(
        geometry.indexed(),
        vec![log_reference; points],
        Watch::NOBODY,
    );
    let untilted = engine.evaluate(sharpness, Of::Cost).log;
    let mut potential: Vec<f64> =
        other.iter().map(|q| if *q > 0.0 { 0.0 } else { f64::NEG_INFINITY }).collect();
    for _ in 0..MOST {
        engine.weigh(potential.iter().map(|psi| psi + log_reference).collect());
        let log = engine.evaluate(sharpness, Of::Cost).log;
        let arrived = engine.population(sharpness);
        let missing = sum(points, |j| (other[j] - arrived[j]).abs());
        if missing <= ARRIVED {
            let gained =
                sum(points, |j| if other[j] > 0.0 { other[j] * potential[j] } else { 0.0 });
            return Ok(Some((gained - (log - untilted)).max(0.0)));
        }
        for (psi, (q, r)) in potential.iter_mut().zip(other.iter().zip(&arrived)) {
            *psi += if *q > 0.0 { (q / r).ln() } else { 0.0 };
        }
        if potential.iter().any(|psi| *psi > f64::NEG_INFINITY && !psi.is_finite()) {
            break;
        }
    }
    Ok(None)
}
