//! Exact Wasserstein worst case: `V(ε) = min_{λ≥0} ελ + Σ_i p_i max_j (f_j − λ c_ij)` [2.5, 2.6].
//!
//! Solved by two supporting lines. At any λ each source has a best target; together they are a
//! plan that spends `C(λ)` and reaches `F(λ)`, one point of the concave curve `V` with a line of
//! slope λ above it. Two such points around ε give a chord (a mixture of two plans that spends
//! exactly ε: a lower bound) and a crossing slope, where the dual is evaluated next (the first few
//! times where a curve like a root would have the radius). When that
//! evaluation finds nothing above the crossing, the crossing is the minimum.
//!
//! Not here: how the best targets are found (`transport_oracle`, `engine`).

use super::ambiguity_set::{About, AmbiguitySet, SolvableSet};
use super::capabilities::Capabilities;
use super::listed::ListedSupport;
use super::plan::Plan;
use super::problem::Problem;
use super::solve::{PriceOracle, PricedSolver, Solution, Solve};
use super::transport_oracle::{Assignment, AssignmentPlan, OracleSums, TransportOracle};

use super::settings::{Detail, Settings};
use super::values::ValueUnits;
use super::worst_case::Certificate;
use crate::error::{Error, Result};
use crate::kernel::bracket::{Bracket, Vertex};
use crate::kernel::order::Price;
use crate::kernel::sum::sum;
use crate::population::Population;
use crate::progress::Stage;

/// Evaluations, at most, that go by how curves look as a rule.
const GUESSES: usize = 4;

/// Where to evaluate while an end of the curve is an end of the bracket: most curves rise about like
/// a root, `V(ε) − V(0) ∝ √ε`, so that `C(λ) ∝ λ⁻²`. Any price is as sound as another; from the
/// crossing of the ends' lines alone it takes some evaluations more to come near.
fn guess(bracket: &Bracket) -> Option<f64> {
    let (left, right, radius) = (bracket.left, bracket.right, bracket.radius);
    let price = match (left.price, right.price) {
        (Price::Zero, Price::Infinite) => {
            (left.value - right.value) / (2.0 * (left.cost * radius).sqrt())
        }
        (Price::Zero, price) if right.cost > 0.0 => price.get() * (right.cost / radius).sqrt(),
        (price, Price::Infinite) => price.get() * (left.cost / radius).sqrt(),
        _ => return None,
    };
    Some(price).filter(|&price| bracket.inside(price))
}

/// Every population that moving mass can reach at a mean cost of at most the radius.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wasserstein;

impl Wasserstein {
    pub(super) const ABOUT: About = About {
        name: "wasserstein",
        parameters: &[],
        capabilities: Capabilities { exact_curve: true, ..Capabilities::MOVES_MASS },
        instead: &[],
    };
}

impl AmbiguitySet for Wasserstein {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }
}

impl SolvableSet for Wasserstein {
    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>> {
        let listed = ListedSupport::new(problem, settings.watch)?;
        let oracle = WassersteinSolver::new(Box::new(listed), settings)?;
        Ok(Box::new(PricedSolver::new(oracle, settings)))
    }
}

/// What evaluations in exact arithmetic would agree to.
const ROUNDING: f64 = 8.0 * f64::EPSILON;
/// Evaluations further up or down, at most, for a lower line.
const FURTHER: usize = 3;
/// How close to a minimum is close enough, as a share of what maxima leave open.
const CLOSE: f64 = 0.1;

/// What sources reach, and all vertices seen so far: several radii share them.
pub(super) struct WassersteinSolver<'a> {
    oracle: Box<dyn TransportOracle + 'a>,
    settings: Settings<'a>,
    /// By falling cost: the first is the end of the curve, the last its beginning.
    seen: Vec<Vertex>,
    evaluations: usize,
}

impl<'a> WassersteinSolver<'a> {
    /// Finds both ends of the curve.
    pub fn new(mut oracle: Box<dyn TransportOracle + 'a>, settings: Settings<'a>) -> Result<Self> {
        let start = vertex(Price::Infinite, oracle.start());
        let mut solver = WassersteinSolver { oracle, settings, seen: Vec::new(), evaluations: 0 };
        solver.go_on()?;
        let start = sound(start)?;
        if start.cost > 0.0 {
            return Err(Error::internal(format!(
                "the engine spends {} where moves are dearest; expected 0, for staying is free",
                start.cost
            )));
        }
        let end = solver.evaluate(Price::Zero);
        solver.go_on()?;
        let end = sound(end)?;
        solver.seen = if end.cost > start.cost {
            vec![end, start]
        } else if end.excess > 0.0 {
            // Nowhere to go was found, but there may be.
            vec![end]
        } else {
            // A constant function, or a single place.
            vec![start]
        };
        Ok(solver)
    }

    /// An error if the engine gave up its last answer because it was told to stop.
    fn go_on(&self) -> Result<()> {
        if self.oracle.stopped() { Err(Error::stopped()) } else { Ok(()) }
    }

    fn evaluate(&mut self, price: Price) -> Vertex {
        self.evaluations += 1;
        vertex(price, self.oracle.evaluate(price))
    }

    /// The vertices at several prices.
    fn evaluate_all(&mut self, prices: &[f64]) -> Vec<Vertex> {
        self.evaluations += prices.len();
        let prices: Vec<Price> = prices.iter().map(|&price| Price::At(price)).collect();
        let found = self.oracle.evaluate_all(&prices);
        if self.oracle.stopped() {
            return Vec::new();
        }
        prices.iter().zip(found).map(|(&price, reached)| vertex(price, reached)).collect()
    }

    /// Where each source goes at a price.
    fn assignments(&mut self, price: Price) -> Result<Vec<Assignment>> {
        self.evaluations += 1;
        self.oracle.assignments(price)
    }

    /// Beyond the end of the curve: everyone is at the largest value within reach.
    fn at_the_end(&mut self) -> Result<Solution> {
        let end = self.seen[0];
        let high = end.value + end.excess;
        if self.settings.detail == Detail::Value {
            return Ok(self.found(Certificate::new(end.value, high, 0.0), None));
        }
        let assignments = self.assignments(end.price)?;
        // If that is one value for all it is the answer, whatever the weights' sum rounds to.
        let reached = assignments[0].height;
        let same = assignments.iter().all(|l| l.height == reached);
        let (lower, upper) = if same {
            (reached, reached + end.excess)
        } else {
            (self.mean(&assignments, None), high)
        };
        let to = assignments.iter().map(|l| l.to).collect();
        drop(assignments);
        let plan = self.oracle.plan(AssignmentPlan { to, split: None })?;
        Ok(self.found(Certificate::new(lower, upper, 0.0), Some(plan)))
    }

    fn between(&mut self, radius: f64) -> Result<Solution> {
        let at = self.seen.partition_point(|v| v.cost > radius);
        let mut bracket = Bracket::new(self.seen[at - 1], self.seen[at], radius);
        let (mut stopped, mut minimiser) = (false, None);
        for step in 0..self.settings.max_evaluations {
            let guess = (step < GUESSES).then(|| guess(&bracket)).flatten();
            let Some(price) = guess.or_else(|| bracket.crossing()) else { break };
            let height = bracket.lower();
            let vertex = self.evaluate(Price::At(price));
            if self.oracle.stopped() {
                stopped = true;
                break;
            }
            let vertex = sound(vertex)?;
            let found = vertex.line(radius) - vertex.excess;
            bracket.insert(vertex);
            let at = self.seen.partition_point(|v| v.cost > vertex.cost);
            // The end stays the end: where maxima leave something open another may spend more.
            if at > 0 && self.seen.get(at).is_none_or(|v| v.cost < vertex.cost) {
                self.seen.insert(at, vertex);
            }
            let size = found.abs().max(height.abs()).max(price * radius);
            // Where maxima leave something open, closer than that is not worth another evaluation.
            let enough = ROUNDING * size;
            if found - height <= enough.max(CLOSE * vertex.excess) {
                minimiser = Some(price);
                break;
            }
            if bracket.gap() < self.settings.enough {
                break;
            }
            let gap = bracket.gap() / self.oracle.units().scale();
            if !self.settings.go_on(Stage::Solving, self.evaluations, gap) {
                stopped = true;
                break;
            }
        }
        if !stopped && bracket.left.excess.max(bracket.right.excess) > 0.0 {
            stopped = self.lower_upper(&mut bracket)?;
        }
        let lambda = minimiser.unwrap_or_else(|| bracket.slope());
        let mut certificate = Certificate::new(bracket.lower(), bracket.upper.0, lambda);
        certificate.stopped = stopped;
        if self.settings.detail == Detail::Value {
            return Ok(self.found(certificate, None));
        }
        let (assignments, split) = self.mixture(&bracket)?;
        certificate.lower = self.mean(&assignments, split);
        let to = assignments.iter().map(|l| l.to).collect();
        drop(assignments);
        let split = split.map(|(source, share, assignment)| (source, share, assignment.to));
        let plan = self.oracle.plan(AssignmentPlan { to, split })?;
        Ok(self.found(certificate, Some(plan)))
    }

    /// Where maxima leave something open the lowest line may be that of another price than the
    /// crossing's: one seen before, or a few times as high or low. Says whether it was told to stop.
    fn lower_upper(&mut self, bracket: &mut Bracket) -> Result<bool> {
        self.seen.iter().for_each(|vertex| bracket.lower_line(*vertex));
        for factor in [2.0, 0.5] {
            for _ in 0..FURTHER {
                let (upper, Price::At(price)) = bracket.upper else { break };
                let vertex = self.evaluate(Price::At(price * factor));
                if self.oracle.stopped() {
                    return Ok(true);
                }
                bracket.lower_line(sound(vertex)?);
                if bracket.upper.0 >= upper {
                    break;
                }
            }
        }
        Ok(false)
    }

    /// The mixture of the two ends' plans that spends exactly the radius: sources are switched
    /// from the cheap plan to the dear one, those with the best return first, and the last one
    /// that can still be paid for is split.
    fn mixture(&mut self, bracket: &Bracket) -> Result<(Vec<Assignment>, SplitSource)> {
        let cheap = self.assignments(bracket.right.price)?;
        let dear = self.assignments(bracket.left.price)?;
        self.oracle.rest();
        let oracle = &self.oracle;
        let spent = sum_of(oracle.len(), |s| oracle.mass(s) * cheap[s].cost);
        let mut left = bracket.radius - spent;
        let mut switches: Vec<(f64, u32, f64)> = (0..cheap.len())
            .filter(|&s| dear[s].height > cheap[s].height)
            .map(|s| {
                let more = dear[s].cost - cheap[s].cost;
                let gain = dear[s].height - cheap[s].height;
                (if more > 0.0 { gain / more } else { f64::INFINITY }, s as u32, more)
            })
            .collect();
        switches.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut assignments = cheap;
        let mut split = None;
        for (_, s, more) in switches {
            let s = s as usize;
            let price = self.oracle.mass(s) * more.max(0.0);
            if price <= left {
                assignments[s] = dear[s];
                left -= price;
            } else {
                split = (left > 0.0).then(|| (s, left / price, dear[s]));
                break;
            }
        }
        Ok((assignments, split))
    }

    /// The mean that assignments reach.
    fn mean(&self, assignments: &[Assignment], split: SplitSource) -> f64 {
        let oracle = &self.oracle;
        let whole = sum_of(assignments.len(), |s| {
            let share =
                split.filter(|(source, ..)| *source == s).map_or(0.0, |(_, share, _)| share);
            oracle.mass(s) * (1.0 - share) * assignments[s].height
        });
        whole + split.map_or(0.0, |(s, share, there)| oracle.mass(s) * share * there.height)
    }

    fn found(&self, certificate: Certificate, plan: Option<(Plan, Population)>) -> Solution {
        let nowhere = || {
            let population = self.oracle.population();
            (Plan::new(population.space()), population.clone())
        };
        let (plan, nominal) = plan.unwrap_or_else(nowhere);
        Solution { certificate, plan, nominal }
    }
}

/// A source whose mass is split: which, the share that goes elsewhere, and where.
type SplitSource = Option<(usize, f64, Assignment)>;

/// What was reached at a price, as a vertex.
fn vertex(price: Price, reached: OracleSums) -> Vertex {
    let OracleSums { value, cost, excess } = reached;
    Vertex { price, cost, value, excess }
}

/// One thread after the other: what is summed may ask an oracle that is not shared.
fn sum_of(count: usize, term: impl Fn(usize) -> f64) -> f64 {
    let terms: Vec<f64> = (0..count).map(term).collect();
    sum(count, |i| terms[i])
}

/// Rejects NaN or negative costs; only an engine of the user's can return one.
fn sound(vertex: Vertex) -> Result<Vertex> {
    if vertex.cost >= 0.0 {
        Ok(vertex)
    } else {
        Err(Error::internal(format!(
            "the engine spends {} at the price {}; expected a number ≥ 0",
            vertex.cost,
            vertex.price.get()
        )))
    }
}

impl PriceOracle for WassersteinSolver<'_> {
    fn units(&self) -> ValueUnits {
        self.oracle.units()
    }

    fn solution(&mut self, radius: f64) -> Result<Solution> {
        let before = self.evaluations;
        let Solution { certificate, plan, nominal } =
            if radius >= self.seen[0].cost { self.at_the_end()? } else { self.between(radius)? };
        let (evaluations, engine) = (self.evaluations - before, Some(self.oracle.engine()));
        let anywhere = self.oracle.is_anywhere();
        let certificate = Certificate { evaluations, engine, anywhere, ..certificate };
        Ok(Solution { certificate, plan, nominal })
    }

    fn start(&self) -> f64 {
        self.seen[self.seen.len() - 1].value
    }

    fn ends(&mut self) -> Vec<Vertex> {
        let mut ends = self.seen.clone();
        ends.drain(1..(ends.len() - 1).max(1));
        ends
    }

    fn vertices(&mut self, prices: &[f64]) -> Vec<Vertex> {
        self.evaluate_all(prices)
    }

    fn most_vertices(&self) -> usize {
        self.oracle.vertices()
    }
}
