//! The whole of a space as a support: every value between each feature's ends, every level, every
//! combination. There are no points to list; values have structure instead.
//!
//! For a function made of steps ([`StepFunction`]) the inner maximum is one over boxes,
//!
//! ```text
//! max_z (f(z) − λ c(x, z)) = max_b (f_b − λ Σ_k d_k(x_k, b_k)),
//! ```
//!
//! `d_k` the cost of reaching what box `b` holds of feature `k`. Which engine finds it goes by the
//! function: boxes that can be listed ([`Boxes`]), terms of one feature or a few each
//! ([`Separable`]), and else a descent of the trees together ([`DescentEngine`]).
//!
//! Not here: what the function is (`evaluate`).

use super::engine::boxes::{Hulls, ListedBoxes};
use super::engine::descent::DescentEngine;
use super::engine::separable::Separable;
use super::settings::Settings;
use super::solve::PricedSolver;
use super::solver::Solver;
use super::transport_oracle::TransportOracle;
use super::values::Direction;
use super::wasserstein::{Wasserstein, WassersteinSolver};
use super::whole_space::WholeSpace;
use crate::error::Result;
use crate::population::Population;
use crate::space::Space;
use crate::steps::{Extent, StepFunction, list, separate};
use std::sync::{Arc, Mutex, PoisonError};

/// ListedBoxes that are listed at most.
const MOST_BOXES: usize = 1 << 17;
/// Up to about so many boxes are less work, once, than features one by one, price by price.
const FEW_BOXES: usize = 1 << 10;

/// Steps of one evaluation for each source, about.
const STEPS: f64 = 64.0;

/// A population on the whole of a space.
#[derive(Debug)]
pub(crate) struct Whole {
    space: WholeSpace,
    /// The function last asked about, and its hulls.
    last: Mutex<Option<(StepFunction, Direction, Arc<Hulls>)>>,
}

impl Whole {
    /// A population of points in a space, whose features' ends and levels are those of `space`.
    pub fn new(space: &Space, population: &Population) -> Self {
        Whole { space: WholeSpace::new(space, population), last: Mutex::new(None) }
    }

    /// What turns the codes of the space into steps' answers.
    pub fn extent(&self) -> &Extent {
        &self.space.extent
    }

    /// About how many steps one evaluation takes, boxes being as many as those of a few small trees.
    pub fn work(&self) -> f64 {
        STEPS * self.space.sources.len() as f64
    }

    /// A solver of a function's worst case over Wasserstein balls.
    pub fn solver<'a>(
        &'a self,
        function: &'a StepFunction,
        direction: Direction,
        settings: Settings<'a>,
    ) -> Result<Solver<'a>> {
        let oracle = self.oracle(function, direction, settings)?;
        let solver = PricedSolver::new(WassersteinSolver::new(oracle, settings)?, settings);
        Ok(Solver::new(Box::new(solver), Wasserstein.into()))
    }

    /// The engine that suits a function. Hulls of the last one asked about are kept: a worst case and a
    /// curve, say, are asked for one after the other.
    fn oracle<'a>(
        &'a self,
        function: &'a StepFunction,
        direction: Direction,
        settings: Settings<'a>,
    ) -> Result<Box<dyn TransportOracle + 'a>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref().filter(|k| k.0 == *function && k.1 == direction) {
            return Ok(Box::new(ListedBoxes { whole: &self.space, hulls: known.2.clone() }));
        }
        // Let go before others are made: they are large.
        *last = None;
        let separated = separate(&self.space.extent, function);
        let most = separated.as_ref().map_or(MOST_BOXES, |s| FEW_BOXES + 8 * s.combinations());
        if let Some(boxes) = list(&self.space.extent, function, most.min(MOST_BOXES)) {
            let hulls = Arc::new(Hulls::new(&self.space, boxes, direction, settings.watch)?);
            *last = Some((function.clone(), direction, hulls.clone()));
            return Ok(Box::new(ListedBoxes { whole: &self.space, hulls }));
        }
        if let Some(separated) = separated {
            return Ok(Box::new(Separable::new(&self.space, separated, direction, settings.watch)));
        }
        Ok(Box::new(DescentEngine::new(&self.space, function, direction, settings.watch)?))
    }
}
