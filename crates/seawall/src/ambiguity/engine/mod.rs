//! Engines: exact ways to the inner maxima `h_i(λ) = max_j (f_j − λ c_ij)`.
//!
//! An [`Engine`] is made for a population and knows nothing of values; loaded with values it
//! becomes [`InnerMaximizer`], which finds each source's best target at any price λ. Everything that a
//! Wasserstein worst case needs comes from there, so an engine of one's own, for a support with a
//! structure that ours do not know, is a few dozen lines and goes in with
//! [`Geometry::with_engine`](super::Geometry::with_engine); `examples/own_engine.rs` shows one.
//!
//! Ours are chosen by the shape of the support; the user may name one. All return sums over the
//! sources in a fixed order, so answers do not depend on the number of threads.

pub(super) mod boxes;
pub(super) mod descent;
mod few;
mod groups;
mod lattice;
mod scan;
pub(super) mod separable;
mod separable_table;
pub(super) mod soft;
mod tree;

pub(super) use groups::{Group, groups};
pub(super) use scan::{PairScan, Source};
pub(super) use soft::{SoftEngine, soft};

use super::indexed::IndexedPopulation;
use super::shape::{MOST_CELLS, Shape};
use super::values::ScaledValues;
use crate::error::{Error, Field, Result};
use crate::kernel::order::Price;
use crate::progress::{Progress, Stage, Watch};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tree::TreeEngine;

/// How the inner maxima are found. Every engine is exact; they differ in speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EngineKind {
    /// The one that suits the support.
    #[default]
    Auto,
    /// One max-plus pass per feature; for grids, and for points with few levels a feature.
    Grid,
    /// A kd-tree with branch and bound; for scattered points in few dimensions.
    Tree,
    /// All pairs.
    Scan,
}

impl EngineKind {
    /// All of them.
    pub const ALL: [EngineKind; 4] =
        [EngineKind::Auto, EngineKind::Grid, EngineKind::Tree, EngineKind::Scan];
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EngineKind::Auto => "auto",
            EngineKind::Grid => "grid",
            EngineKind::Tree => "tree",
            EngineKind::Scan => "scan",
        })
    }
}

/// What the plan of best targets spends and reaches: `C(λ) = Σ p_i c_{i,j(i)}`,
/// `F(λ) = Σ p_i f_{j(i)}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums {
    /// F(λ), in heights.
    pub value: f64,
    /// C(λ), in units of the ground cost.
    pub cost: f64,
}

/// One way to the inner maxima of a population, without values.
pub trait Engine: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Which of the library's own engines it is; None for any other.
    fn kind(&self) -> Option<EngineKind> {
        None
    }

    /// Takes in values: one height per point of the population's space. An engine whose evaluations
    /// may take long asks the watch now and then, and gives up when it says stop
    /// ([`InnerMaximizer::stopped`]).
    fn load<'v>(
        self: Arc<Self>,
        heights: ScaledValues<'v>,
        watch: Watch<'v>,
    ) -> Box<dyn InnerMaximizer + 'v>;
}

/// Finds each source's best target among the values loaded.
///
/// At a price λ that is the target of the largest `f_j − λ c_ij`, the cheaper one of two as good;
/// at the two limits see [`Price`]. The bounds of a worst case are only as good as these answers:
/// an upper bound is a sum of maxima, so a target that is not the best makes it too low.
pub trait InnerMaximizer: Send {
    /// The two sums at a price.
    fn evaluate(&mut self, price: Price) -> Sums;

    /// The two sums at each of several prices; an engine that can share work between them does.
    fn evaluate_all(&mut self, prices: &[Price]) -> Vec<Sums> {
        prices.iter().map(|&price| self.evaluate(price)).collect()
    }

    /// The target of each source, in the order of [`Geometry::sources`](crate::Geometry::sources).
    fn targets(&mut self, price: Price) -> Vec<u32>;

    /// Whether an answer was given up because the watch said stop: it, and any after it, is then
    /// worth nothing.
    fn stopped(&self) -> bool {
        false
    }

    /// Gives back memory that only evaluations need; the next one takes it again.
    fn rest(&mut self) {}
}

/// Steps of work after which an engine asks its watch again: some milliseconds.
const PATIENCE: usize = 1 << 22;

/// A long evaluation under a watch: shared by the threads that take part in it.
pub(super) struct Patience<'v> {
    watch: Watch<'v>,
    stopped: AtomicBool,
    done: AtomicUsize,
    of: usize,
    /// Parts of the work between two questions.
    every: usize,
}

impl<'v> Patience<'v> {
    /// Work of so many parts, each of so many steps.
    fn new(watch: Watch<'v>, parts: usize, steps: usize) -> Self {
        let every = (PATIENCE / steps.max(1)).max(1);
        let (stopped, done) = (AtomicBool::new(false), AtomicUsize::new(0));
        Patience { watch, stopped, done, of: parts, every }
    }

    /// Begins an evaluation. Who was told to stop once stays stopped.
    fn begin(&self) {
        self.done.store(0, Ordering::Relaxed);
    }

    /// Whether to do one more part.
    pub(super) fn go_on(&self) -> bool {
        let done = self.done.fetch_add(1, Ordering::Relaxed);
        if done % self.every == self.every - 1 {
            let progress = Progress::at(Stage::Evaluating).done(done).out_of(self.of);
            self.stopped.fetch_or(!self.watch.go_on(progress), Ordering::Relaxed);
        }
        !self.stopped()
    }

    pub(super) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// The engine named, or the one that suits.
pub(super) fn hard(indexed: &IndexedPopulation, kind: EngineKind) -> Result<Arc<dyn Engine>> {
    Ok(match kind {
        EngineKind::Auto => match indexed.shape().filter(|s| lattice_suits(indexed, s)) {
            Some(shape) => few::on(indexed, shape),
            None if tree_suits(indexed) => Arc::new(TreeEngine::new(indexed)),
            None => Arc::new(PairScan::new(indexed)),
        },
        EngineKind::Grid => few::on(indexed, required_shape(indexed)?),
        EngineKind::Tree => Arc::new(TreeEngine::new(indexed)),
        EngineKind::Scan => Arc::new(PairScan::new(indexed)),
    })
}

/// The lattice under the support, or why there is none.
fn required_shape(indexed: &IndexedPopulation) -> Result<&Arc<Shape>> {
    indexed.shape().ok_or_else(|| {
        Error::field(
            Field::Engine,
            format!(
                "grid needs features with few levels: these points' levels span more than \
                 {MOST_CELLS} cells; bin the features, or use another engine"
            ),
        )
        .advise(Field::Engine, &["tree", "scan"])
    })
}

/// Whether passes over the lattice beat looking at all pairs.
fn lattice_suits(indexed: &IndexedPopulation, shape: &Shape) -> bool {
    let pairs = indexed.sources().len() as f64 * indexed.population().space().len() as f64;
    shape.work() <= pairs
}

fn tree_suits(indexed: &IndexedPopulation) -> bool {
    let space = indexed.population().space();
    // Measured: past about eight features a box is near everything and the scan wins.
    space.names().len() <= 8 && space.len() >= 512
}
