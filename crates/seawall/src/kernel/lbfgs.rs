//! Minimises a smooth function of many variables by L-BFGS.
//!
//! Directions come from the last few steps and gradient changes (two-loop recursion); step
//! lengths meet the weak Wolfe conditions, found by doubling and bisection, which needs no
//! tuning and ends even where the function is not quite smooth.

use std::collections::VecDeque;

/// Steps remembered.
const MEMORY: usize = 12;
/// The decrease asked of a step, as a share of what the slope promises.
const DECREASE: f64 = 1e-4;
/// The share of the slope that may be left after a step.
const CURVATURE: f64 = 0.9;
/// Trials of a step's length at most.
const TRIALS: usize = 60;

/// Where the search ended.
#[derive(Clone, Debug)]
pub(crate) struct Minimum {
    pub point: Vec<f64>,
    pub value: f64,
    /// Whether the gradient became as small as asked, or the value could not be lowered.
    pub converged: bool,
}

/// Minimises from `start` until no entry of the gradient exceeds `tolerance`. `function` returns
/// the value at a point and writes the gradient there; `watch` may stop the search.
pub(crate) fn minimise(
    start: Vec<f64>,
    tolerance: f64,
    most: usize,
    function: &mut dyn FnMut(&[f64], &mut [f64]) -> f64,
    watch: &dyn Fn(usize, f64) -> bool,
) -> Minimum {
    let mut point = start;
    let mut gradient = vec![0.0; point.len()];
    let mut value = function(&point, &mut gradient);
    let mut past: VecDeque<(Vec<f64>, Vec<f64>, f64)> = VecDeque::new();
    let (mut next, mut next_gradient) = (point.clone(), gradient.clone());
    for iterations in 0..most {
        let size = gradient.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
        if size <= tolerance {
            return Minimum { point, value, converged: true };
        }
        if !watch(iterations, value) {
            return Minimum { point, value, converged: false };
        }
        let mut direction = direction(&gradient, &past);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 || !slope.is_finite() {
            past.clear();
            direction = gradient.iter().map(|g| -g).collect();
            slope = -dot(&gradient, &gradient);
        }
        let mut step = if past.is_empty() { (1.0 / size).min(1.0) } else { 1.0 };
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut found = None;
        for _ in 0..TRIALS {
            if !watch(iterations, value) {
                return Minimum { point, value, converged: false };
            }
            for ((n, x), d) in next.iter_mut().zip(&point).zip(&direction) {
                *n = x + step * d;
            }
            let there = function(&next, &mut next_gradient);
            // Where the slope is no number, a step has gone too far.
            let lost = there.is_nan() || next_gradient.iter().any(|g| !g.is_finite());
            if lost || there > value + DECREASE * step * slope {
                high = step;
            } else if dot(&next_gradient, &direction) < CURVATURE * slope {
                low = step;
            } else {
                found = Some(there);
                break;
            }
            step = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * step };
        }
        let Some(there) = found else {
            // Rounding has the last word: nothing lower can be found along the slope.
            return Minimum { point, value, converged: true };
        };
        let moved: Vec<f64> = next.iter().zip(&point).map(|(a, b)| a - b).collect();
        let changed: Vec<f64> = next_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let curvature = dot(&moved, &changed);
        if curvature > 0.0 {
            if past.len() == MEMORY {
                past.pop_front();
            }
            past.push_back((moved, changed, curvature));
        }
        std::mem::swap(&mut point, &mut next);
        std::mem::swap(&mut gradient, &mut next_gradient);
        value = there;
    }
    Minimum { point, value, converged: false }
}

/// The two-loop recursion: minus the inverse Hessian's estimate times the gradient.
fn direction(gradient: &[f64], past: &VecDeque<(Vec<f64>, Vec<f64>, f64)>) -> Vec<f64> {
    let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut shares = Vec::with_capacity(past.len());
    for (moved, changed, curvature) in past.iter().rev() {
        let share = dot(moved, &q) / curvature;
        q.iter_mut().zip(changed).for_each(|(q, c)| *q -= share * c);
        shares.push(share);
    }
    if let Some((_, changed, curvature)) = past.back() {
        let scale = curvature / dot(changed, changed);
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for ((moved, changed, curvature), share) in past.iter().zip(shares.iter().rev()) {
        let back = dot(changed, &q) / curvature;
        q.iter_mut().zip(moved).for_each(|(q, m)| *q += (share - back) * m);
    }
    q
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        // Rosenbrock's function in ten variables.
        let mut function = |x: &[f64], g: &mut [f64]| {
            g.fill(0.0);
            let mut value = 0.0;
            for k in 0..x.len() - 1 {
                let (a, b) = (1.0 - x[k], x[k + 1] - x[k] * x[k]);
                value += a * a + 100.0 * b * b;
                g[k] += -2.0 * a - 400.0 * b * x[k];
                g[k + 1] += 200.0 * b;
            }
            value
        };
        let found = minimise(vec![-1.2; 10], 1e-9, 1000, &mut function, &|_, _| true);
        assert!(found.converged && found.value < 1e-15, "{found:?}");
        assert!(found.point.iter().all(|x| (x - 1.0).abs() < 1e-7), "{found:?}");
    }
}
