//! Each source's best place at prices that differ by column: `max_z h_z − Σ_k λ_k c_k(x_k, z_k)`.
//!
//! On a lattice one max-plus pass for each column prices every source at once; else every pair is
//! looked at.

use super::program::MoveCosts;
use crate::ambiguity::geometry::Geometry;
use crate::ambiguity::shape::Shape;
use crate::kernel::max_plus::{Carry, MaxPlusAxis};
use crate::kernel::metric::penalty;
use rayon::prelude::*;
use std::sync::Arc;

/// How best places are found.
pub(super) enum Pricing {
    Lattice { shape: Arc<Shape>, axes: Vec<MaxPlusAxis>, h: Vec<f64>, ride: Vec<f64> },
    Scan,
}

impl Pricing {
    /// Passes where they take fewer steps than pairs would.
    pub fn new(geometry: &Geometry) -> Self {
        let space = geometry.population().space();
        let pairs = geometry.sources().len() as f64 * space.len() as f64;
        let pairs = pairs * space.names().len() as f64;
        match geometry.indexed().shape().filter(|shape| shape.work() <= pairs) {
            Some(shape) => {
                let axes = space.metrics().into_iter().zip(&shape.coords);
                let axes = axes.map(|(metric, coords)| MaxPlusAxis::new(metric, coords)).collect();
                Pricing::Lattice { shape: shape.clone(), axes, h: Vec::new(), ride: Vec::new() }
            }
            None => Pricing::Scan,
        }
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Pricing::Lattice { .. } => "grid",
            Pricing::Scan => "scan",
        }
    }

    /// The best place of each source, and what it is worth.
    pub fn best(&mut self, costs: &MoveCosts, worth: &[f64], prices: &[f64]) -> Vec<(f64, u32)> {
        match self {
            Pricing::Lattice { shape, axes, h, ride } => {
                lay(shape, worth, h, ride);
                for (k, (axis, price)) in axes.iter().zip(prices).enumerate() {
                    axis.pass(shape.grid.stride(k), *price, Carry::Index, h, ride);
                }
                let best = |i: &u32| {
                    let cell = shape.cell(*i as usize);
                    (h[cell], ride[cell] as u32)
                };
                costs.sources.iter().map(best).collect()
            }
            Pricing::Scan => {
                costs.sources.par_iter().map(|i| look(costs, worth, prices, *i)).collect()
            }
        }
    }
}

/// Lays what places are worth on the lattice: the best of those in one cell.
fn lay(shape: &Shape, worth: &[f64], h: &mut Vec<f64>, ride: &mut Vec<f64>) {
    h.clear();
    ride.clear();
    let Some(cells) = &shape.cells else {
        h.extend_from_slice(worth);
        ride.extend((0..worth.len()).map(|cell| cell as f64));
        return;
    };
    h.resize(shape.grid.len(), f64::NEG_INFINITY);
    ride.resize(shape.grid.len(), 0.0);
    for ((point, &cell), &worth) in cells.iter().enumerate().zip(worth) {
        if worth > h[cell as usize] {
            (h[cell as usize], ride[cell as usize]) = (worth, point as f64);
        }
    }
}

/// The best place of a source among all.
fn look(costs: &MoveCosts, worth: &[f64], prices: &[f64], source: u32) -> (f64, u32) {
    let mut best = (worth[source as usize], source);
    for (z, &worth) in worth.iter().enumerate() {
        let mut net = worth;
        for ((column, metric), price) in costs.columns.iter().zip(&costs.metrics).zip(prices) {
            if net <= best.0 {
                break;
            }
            let cost = metric.cost(column[source as usize], column[z]);
            // No price opens a wall.
            net -= if cost.is_infinite() { cost } else { penalty(*price, cost) };
        }
        if net > best.0 {
            best = (net, z as u32);
        }
    }
    best
}
