//! One line of a grid by itself: of equal costs, of evenly spaced levels, or of any.

use super::sums::{LogTotal, RunningMoments, SIDE, total};
use super::{Carried, LogLine};
use crate::kernel::metric::penalty;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Pairs of levels below which a second thread costs more than it saves.
const FORK: usize = 1 << 16;

/// A line of evenly spaced levels: the weights of all steps are known, and each level's are a
/// window of them.
pub(super) fn even(steps: &[f64], weights: &[f64], line: &mut LogLine) {
    let [log, mean, var] = line.input.each_ref().map(|rows| rows.as_flattened());
    let levels = log.len();
    let top = log.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lift = |&l: &f64| if l == f64::NEG_INFINITY { 0.0 } else { (l - top).exp() };
    // Whole chunks: what is added weighs nothing.
    let padded = levels.next_multiple_of(SIDE);
    let pad = |of: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
        of.chain(std::iter::repeat(0.0)).take(padded).collect()
    };
    let lifted = pad(&mut log.iter().map(lift));
    let (mean, var) = (pad(&mut mean.iter().copied()), pad(&mut var.iter().copied()));
    let arch = Arch::new();
    let one = |k: usize| {
        let window = levels - 1 - k..levels - 1 - k + padded;
        let (steps, weights) = (&steps[window.clone()], &weights[window]);
        let (total, mean, second) =
            arch.dispatch(Windowed { steps, weights, lifted: &lifted, mean: &mean, var: &var });
        (top + total.ln(), mean, second)
    };
    let found: Vec<(f64, f64, f64)> = if levels * levels >= FORK {
        (0..levels).into_par_iter().with_min_len(64).map(one).collect()
    } else {
        (0..levels).map(one).collect()
    };
    let [log_out, mean_out, var_out] = line.output.each_mut().map(|rows| rows.as_flattened_mut());
    for (k, found) in found.into_iter().enumerate() {
        (log_out[k], mean_out[k], var_out[k]) = found;
    }
}

/// One level's sum over a line that left the logarithm: the total, the mean and the variance.
struct Windowed<'a> {
    steps: &'a [f64],
    weights: &'a [f64],
    lifted: &'a [f64],
    mean: &'a [f64],
    var: &'a [f64],
}

impl WithSimd for Windowed<'_> {
    type Output = (f64, f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let Windowed { steps, weights, lifted, mean, var } = self;
        let [steps, weights, lifted, mean, var] =
            [steps, weights, lifted, mean, var].map(|of| of.as_chunks::<SIDE>().0);
        let (mut total, mut first) = ([0.0; SIDE], [0.0; SIDE]);
        for (((w, e), c), m) in weights.iter().zip(lifted).zip(steps).zip(mean) {
            for l in 0..SIDE {
                let share = w[l] * e[l];
                total[l] += share;
                first[l] += share * (m[l] + c[l]);
            }
        }
        let (total, first): (f64, f64) = (total.iter().sum(), first.iter().sum());
        // A hole so far from everything that its sum has no inverse is left a hole.
        if total < f64::MIN_POSITIVE {
            return (0.0, 0.0, 0.0);
        }
        let middle = first / total;
        let mut second = [0.0; SIDE];
        for ((((w, e), c), m), v) in weights.iter().zip(lifted).zip(steps).zip(mean).zip(var) {
            for l in 0..SIDE {
                let off = m[l] + c[l] - middle;
                second[l] += w[l] * e[l] * (v[l] + off * off);
            }
        }
        (total, middle, second.iter().sum::<f64>() / total)
    }
}

/// A line of equal costs: each level takes its own, what the others hold, and what is missing.
pub(super) fn flat(
    s: f64,
    weight: f64,
    hole: Option<(usize, f64)>,
    carried: Carried,
    line: &mut LogLine,
) {
    let [log, mean, var] = line.input.each_ref().map(|rows| rows.as_flattened());
    let [log_out, mean_out, var_out] = line.output.each_mut().map(|rows| rows.as_flattened_mut());
    let levels = log.len();
    let present = |k: &usize| hole.is_none_or(|(at, _)| at != *k);
    let top = (0..levels).filter(present).map(|k| log[k]).fold(f64::NEG_INFINITY, f64::max);
    let lifted = |k: usize| if log[k] == f64::NEG_INFINITY { 0.0 } else { (log[k] - top).exp() };
    let mut after = vec![RunningMoments::default(); levels + 1];
    for k in (0..levels).rev() {
        after[k] = after[k + 1];
        if present(&k) {
            after[k].add(lifted(k), mean[k], var[k]);
        }
    }
    let added = |cost: f64| if carried == Carried::Cost { cost } else { 0.0 };
    let others = |all: RunningMoments, cost: f64| {
        (top + all.weight.ln() - penalty(s, cost), all.mean + added(cost), all.variance())
    };
    let mut before = RunningMoments::default();
    for k in 0..levels {
        let own = (log[k], mean[k], var[k]);
        let found = match hole {
            Some((at, cost)) if at == k => total(&[own, others(after[0], cost)]),
            _ => {
                let mut rest = before;
                rest.add(after[k + 1].weight, after[k + 1].mean, after[k + 1].variance());
                before.add(lifted(k), mean[k], var[k]);
                let rest = others(rest, weight);
                match hole {
                    None => total(&[own, rest]),
                    Some((at, cost)) => {
                        let missing = (log[at] - penalty(s, cost), mean[at] + added(cost), var[at]);
                        total(&[own, rest, missing])
                    }
                }
            }
        };
        (log_out[k], mean_out[k], var_out[k]) = found;
    }
}

/// A line by itself, level by level: each sum is taken from its own maximum.
pub(super) fn alone(s: f64, costs: &[f64], added: &[f64], line: &mut LogLine) {
    let [log, mean, var] = line.input.each_ref().map(|rows| rows.as_flattened());
    let levels = log.len();
    let arch = Arch::new();
    let one = |room: &mut [Vec<f64>; 2], k: usize| {
        let [costs, added] = [costs, added].map(|all| &all[k * levels..][..levels]);
        let [exponents, moved] = room;
        exponents.clear();
        exponents.extend(log.iter().zip(costs).map(|(l, &c)| l - penalty(s, c)));
        moved.clear();
        moved.extend(mean.iter().zip(added).map(|(m, c)| m + c));
        arch.dispatch(LogTotal { exponents, costs: moved, variances: var })
    };
    let found: Vec<(f64, f64, f64)> = if levels * levels >= FORK {
        (0..levels).into_par_iter().map_init(Default::default, one).collect()
    } else {
        let mut room = Default::default();
        (0..levels).map(|k| one(&mut room, k)).collect()
    };
    let [log_out, mean_out, var_out] = line.output.each_mut().map(|rows| rows.as_flattened_mut());
    for (k, found) in found.into_iter().enumerate() {
        (log_out[k], mean_out[k], var_out[k]) = found;
    }
}
