//! Joint Wasserstein worst case of contexts and potential outcomes (Kido 2022; Adjaho and Christensen
//! 2022): people may move, and what would happen to them may change, a unit of outcome at the price κ.
//!
//! ```text
//! V(ε) = min_{λ≥0} ελ + Σ_x p(x) max over couplings of E max_k ( … )        (see [`joint_sets`])
//! ```
//!
//! Straight lines in λ, so `V` is made of finitely many straight lines, each price giving a point of
//! it and a line above it. Where λκ < 1 a policy that draws nothing has every outcome at its worst:
//! the last of the lines has slope 1/κ and ends there.
//!
//! Without moves of contexts every such policy loses the same, `ε/κ` (their theorem). With them a policy
//! whose regions are near each other loses more.
//!
//! [`joint_sets`]: super::joint_sets

use super::ambiguity_set::{About, AmbiguitySet};
use super::capabilities::Capabilities;
use super::joint_sets::{Coupling, JointPeople};
use super::parameters::{Argument, Parameter, Takes};
use super::plan::Plan;
use super::settings::{Detail, Settings};
use super::solve::{PriceOracle, Solution};
use super::values::ValueUnits;
use super::worst_case::Certificate;
use crate::error::{Error, Result};
use crate::kernel::bracket::{Bracket, Vertex};
use crate::kernel::order::Price;
use crate::progress::Stage;

/// Every population of people, with their contexts and with what would happen to them under each
/// action, that moving them can reach at a mean cost of at most the radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointWasserstein {
    /// What a unit of an outcome's value moved costs, in units of the ground cost.
    pub kappa: f64,
}

impl JointWasserstein {
    pub(super) const ABOUT: About = About {
        name: "joint-wasserstein",
        parameters: &[Parameter {
            name: "kappa",
            hint: "what a unit of outcome moved costs, in units of the ground cost",
            examples: &["1", "10"],
            takes: Takes::Positive,
            optional: false,
        }],
        capabilities: Capabilities {
            exact_curve: true,
            gradient: false,
            needs_log: true,
            needs_outcomes: true,
            ..Capabilities::MOVES_MASS
        },
        instead: &[],
    };
}

impl AmbiguitySet for JointWasserstein {
    fn about(&self) -> &'static About {
        &Self::ABOUT
    }

    fn arguments(&self) -> Vec<Option<Argument>> {
        vec![Some(Argument::Number(self.kappa))]
    }
}

/// What evaluations in exact arithmetic would agree to.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// What people reach at a price, under either end of what the coupling of their outcomes may be.
struct Oracle<'a> {
    people: JointPeople,
    /// For heights.
    kappa: f64,
    settings: Settings<'a>,
    evaluations: usize,
}

impl Oracle<'_> {
    fn vertex(&mut self, coupling: Coupling, price: Price) -> Vertex {
        self.evaluations += 1;
        let [value, cost] = self.people.reached(coupling, price, self.kappa);
        match price {
            // Everyone has the worst outcome there is, whatever the shares' sum rounds to.
            Price::Zero => Vertex::new(price, cost, self.people.top()),
            Price::Infinite => Vertex::new(price, 0.0, value),
            price => Vertex::new(price, cost, value),
        }
    }
}

/// The curve under one coupling: the vertices seen so far, by falling cost, its ends among them.
struct Face {
    coupling: Coupling,
    seen: Vec<Vertex>,
}

/// Bounds, and the prices, with their shares of the people, whose plans attain the lower one.
struct PricedShares {
    certificate: Certificate,
    prices: Vec<(f64, Price)>,
}

impl Face {
    /// Finds both ends of the curve; one where there is nothing to lose.
    fn new(oracle: &mut Oracle<'_>, coupling: Coupling) -> Self {
        let start = oracle.vertex(coupling, Price::Infinite);
        let end = oracle.vertex(coupling, Price::Zero);
        let seen = if end.cost > start.cost { vec![end, start] } else { vec![end] };
        Face { coupling, seen }
    }

    fn at(&mut self, oracle: &mut Oracle<'_>, radius: f64) -> PricedShares {
        let end = self.seen[0];
        if radius >= end.cost {
            let certificate = Certificate::new(end.value, end.value, 0.0);
            return PricedShares { certificate, prices: vec![(1.0, end.price)] };
        }
        self.between(oracle, radius)
    }

    /// The search before the end of the curve.
    fn between(&mut self, oracle: &mut Oracle<'_>, radius: f64) -> PricedShares {
        let at = self.seen.partition_point(|v| v.cost > radius);
        let mut bracket = Bracket::new(self.seen[at - 1], self.seen[at], radius);
        let (mut stopped, mut minimiser) = (false, None);
        for step in 0..oracle.settings.max_evaluations {
            // Where outcomes begin to be worth moving, most curves have a corner.
            let corner = oracle.kappa.recip();
            let corner = (step == 0 && bracket.inside(corner)).then_some(corner);
            let Some(price) = corner.or_else(|| bracket.crossing()) else { break };
            let height = bracket.lower();
            let vertex = oracle.vertex(self.coupling, Price::At(price));
            let found = vertex.line(radius);
            bracket.insert(vertex);
            let at = self.seen.partition_point(|v| v.cost > vertex.cost);
            if at > 0 && self.seen.get(at).is_none_or(|v| v.cost < vertex.cost) {
                self.seen.insert(at, vertex);
            }
            let size = found.abs().max(height.abs()).max(price * radius);
            if found - height <= ROUNDING * size {
                minimiser = Some(price);
                break;
            }
            let gap = bracket.gap() / oracle.people.units().scale();
            if !oracle.settings.go_on(Stage::Solving, oracle.evaluations, gap) {
                stopped = true;
                break;
            }
        }
        let lambda = minimiser.unwrap_or_else(|| bracket.slope());
        let certificate = Certificate::new(bracket.lower(), bracket.upper.0, lambda);
        let Bracket { left, right, .. } = bracket;
        let share = (radius - right.cost) / (left.cost - right.cost);
        let prices = vec![(1.0 - share, right.price), (share, left.price)];
        PricedShares { certificate: Certificate { stopped, ..certificate }, prices }
    }
}

/// People, and the two ends of what the coupling of their outcomes may do.
pub(super) struct PeopleSolver<'a> {
    oracle: Oracle<'a>,
    worst: Face,
    /// None where it is the worst one.
    best: Option<Face>,
}

impl<'a> PeopleSolver<'a> {
    pub fn new(people: JointPeople, kappa: f64, settings: Settings<'a>) -> Result<Self> {
        let scaled = kappa / people.units().scale();
        if !(scaled.is_normal() && scaled.recip().is_normal()) {
            let kappa = Argument::Number(kappa);
            return Err(Error::config(format!(
                "kappa = {kappa} is out of scale with these outcomes: choose one so that kappa times \
                 an outcome, and an outcome over kappa, are numbers"
            )));
        }
        let coupling = people.worst_coupling();
        let mut oracle = Oracle { people, kappa: scaled, settings, evaluations: 0 };
        let worst = Face::new(&mut oracle, coupling);
        let other = coupling != Coupling::Together;
        let best = other.then(|| Face::new(&mut oracle, Coupling::Together));
        Ok(PeopleSolver { oracle, worst, best })
    }
}

impl PriceOracle for PeopleSolver<'_> {
    fn units(&self) -> ValueUnits {
        self.oracle.people.units()
    }

    fn solution(&mut self, radius: f64) -> Result<Solution> {
        let before = self.oracle.evaluations;
        let PricedShares { certificate, prices } = self.worst.at(&mut self.oracle, radius);
        let upper = certificate.upper.max(certificate.lower);
        let best = match &mut self.best {
            Some(face) => {
                let best = face.at(&mut self.oracle, radius).certificate;
                best.upper.max(best.lower).min(upper)
            }
            None => upper,
        };
        let Oracle { people, kappa, settings, evaluations } = &self.oracle;
        let mut plan = Plan::new(people.population().space());
        if settings.detail > Detail::Value {
            for (from, to, mass, paid) in people.moves(self.worst.coupling, &prices, *kappa) {
                plan.push_paid(from, to, mass, paid);
            }
        }
        let certificate = Certificate {
            evaluations: (evaluations - before).max(1),
            best_coupling: Some(best),
            engine: Some(people.engine()),
            ..certificate
        };
        Ok(Solution { certificate, plan, nominal: people.population().clone() })
    }

    fn start(&self) -> f64 {
        self.worst.seen.last().map_or(f64::NAN, |start| start.value)
    }

    fn ends(&mut self) -> Vec<Vertex> {
        let mut ends = self.worst.seen.clone();
        ends.drain(1..(ends.len() - 1).max(1));
        ends
    }

    fn vertices(&mut self, prices: &[f64]) -> Vec<Vertex> {
        let (oracle, coupling) = (&mut self.oracle, self.worst.coupling);
        prices.iter().map(|&price| oracle.vertex(coupling, Price::At(price))).collect()
    }
}
