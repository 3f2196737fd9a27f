//! Gibbs plans: each source is spread over all targets in proportion to `exp(e_j − s c_ij)`; and the
//! mixture of two of them that spends a radius.
//!
//! What the sets whose populations are such plans share. How they find the exponents is their own.

use super::engine::{PairScan, Source};
use super::plan::Plan;
use super::problem::Problem;
use super::settings::Settings;
use crate::kernel::bracket::{Bracket, Vertex};
use crate::kernel::metric::penalty;
use crate::kernel::order::Price;
use crate::kernel::scan::{TILE, costs};
use crate::kernel::sum::sums;
use rayon::prelude::*;
use std::sync::Arc;

/// A population spends the radius to this share of it.
pub(super) const SETTLED: f64 = 1e-13;

/// `η f_j + log w_j` for every point.
pub(super) fn exponents(problem: &Problem<'_>, eta: f64) -> Vec<f64> {
    let log_reference = log_reference(problem);
    (0..problem.heights.len()).map(|j| eta * problem.heights.at(j) + log_reference(j)).collect()
}

/// `log w_j`, uniform unless given.
pub(super) fn log_reference<'a>(problem: &Problem<'a>) -> impl Fn(usize) -> f64 + 'a {
    let reference = problem.reference;
    let total: f64 =
        reference.map_or(problem.heights.len() as f64, |w| sums(w.len(), &|j: usize| [w[j]])[0]);
    move |j| reference.map_or(1.0, |w| w[j]).ln() - total.ln()
}

/// One of the Gibbs plans that a mixture is made of.
pub(super) struct GibbsPart {
    /// Its share of the mixture.
    pub share: f64,
    /// `e_j` for each point.
    pub exponents: Arc<[f64]>,
    /// What multiplies costs.
    pub sharpness: f64,
    /// `log Σ_j exp(e_j − s c_ij)` for each source.
    pub totals: Vec<f64>,
}

/// The shares of the bracket's two ends whose mixture spends the radius; where one of them spends it
/// alone, that one.
pub(super) fn shares(bracket: &Bracket) -> Vec<(f64, Price)> {
    let (left, right, radius) = (bracket.left, bracket.right, bracket.radius);
    let settled = |v: &Vertex| (v.cost - radius).abs() <= SETTLED * radius;
    if settled(&right) {
        vec![(1.0, right.price)]
    } else if settled(&left) {
        vec![(1.0, left.price)]
    } else {
        let share = (radius - right.cost) / (left.cost - right.cost);
        vec![(1.0 - share, right.price), (share, left.price)]
    }
}

/// Lists the entries of a mixture of Gibbs plans that are not too light; None if it was stopped.
pub(super) fn list(
    problem: &Problem<'_>,
    settings: &Settings<'_>,
    parts: &[GibbsPart],
) -> Option<Plan> {
    let scan = PairScan::new(problem.geometry.indexed());
    let nominal = problem.population().weights();
    let floor = settings.plan_floor;
    let patience = scan.patience(settings.watch);
    let list = |(cost, x): &mut (Vec<f64>, Vec<f64>), (s, source): (usize, &Source)| {
        if !patience.go_on() {
            return Vec::new();
        }
        let group = &scan.groups[source.group as usize];
        group.row(source.local as usize, x);
        let p = nominal[source.point as usize].ln();
        let mut entries: Vec<(u32, f64)> = Vec::new();
        for (at, members) in group.members.chunks(TILE).enumerate() {
            cost.resize(members.len(), 0.0);
            costs(&scan.metrics, &group.columns, x, at * TILE, cost);
            for (&j, &c) in members.iter().zip(cost.iter()) {
                let log = |part: &GibbsPart| {
                    p - part.totals[s] + part.exponents[j as usize] - penalty(part.sharpness, c)
                };
                // The exponential is only worth taking where it may matter.
                if parts.iter().any(|part| log(part) >= floor.ln()) {
                    let mass = parts.iter().map(|part| part.share * log(part).exp()).sum();
                    entries.push((j, mass));
                }
            }
        }
        entries
    };
    let listed: Vec<Vec<(u32, f64)>> =
        scan.sources.par_iter().enumerate().map_init(Default::default, list).collect();
    if patience.stopped() {
        return None;
    }
    let (mut plan, mut total) = (Plan::new(problem.space()), 0.0);
    for (source, entries) in scan.sources.iter().zip(listed) {
        for (to, mass) in entries {
            plan.push(source.point, to, mass);
            total += mass;
        }
    }
    plan.leave_out((1.0 - total).max(0.0));
    Some(plan)
}
