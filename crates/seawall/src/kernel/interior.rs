//! The largest mean over the populations whose features' means are in a ball and, if wanted, whose
//! second moments are bounded:
//!
//! ```text
//! max f·w   w ≥ 0, Σ w = 1, ‖Σ w_j z_j‖ ≤ a, Σ w_j z_j z_jᵀ ⪯ ρ I
//! min t + a‖q‖ + ρ tr Q   t + q·z_j + z_jᵀ Q z_j ≥ f_j for every j, Q ⪰ 0
//! ```
//!
//! A primal–dual interior-point method (Mehrotra's steps in Nesterov and Todd's scaling): each step
//! solves one dense system of as many unknowns as the dual has. Whatever the steps did, both bounds are
//! made feasible at the end of each: t is set to what the inequalities need, and a population is mixed
//! with the nominal one, which is inside (mean 0, second moments I), until it is.
//!
//! Where the set is thin (at radius 0 of a moment set, say) a double cannot tell the system from a
//! singular one, and populations come out too far outside to be mixed: then the search is made again with
//! systems in twice the digits, unless there are too many points for that.
//!
//! Points that the caller knows to be out of reach are not given.

use super::cones::{Ball, Definite};
use super::newton::{Digits, Newton};
use super::program::{BallProgram, ConeParts};
use super::sum::sum;

/// Steps at most.
const STEPS: usize = 150;
/// Bounds this close, relative to the spread of the heights, are as close as rounding lets them be.
const CLOSED: f64 = 1e-12;
/// Bounds further apart than this are worth steps in twice the digits.
const CLOSE: f64 = 1e-9;
/// After so many steps that bring nothing, rounding is all that is left of bounds that are close; others
/// are waited for.
const PATIENCE: usize = 6;
const LONG_PATIENCE: usize = 60;
/// Where a set is thin, steps begin this many times as far inside as elsewhere, and in a ball of this size at
/// least: from its rim they come to nothing.
const INSIDE: f64 = 1000.0;
const WIDE: f64 = 10.0;
/// Before so many steps a search is not given up.
const UNDER_WAY: usize = 25;

/// What was found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The mean of the weights.
    pub lower: f64,
    /// The dual value of q and Q.
    pub upper: f64,
    /// A feasible population.
    pub weights: Vec<f64>,
    /// q, and Q packed.
    pub dual: Vec<f64>,
    /// Steps taken.
    pub steps: usize,
    /// Whether the caller asked to stop.
    pub stopped: bool,
}

/// Solves; `go_on` is told the steps taken and the gap left, and says whether to.
pub fn solve(program: &BallProgram<'_>, go_on: &mut dyn FnMut(usize, f64) -> bool) -> Answer {
    let nominal = sum(program.rows(), |j| program.nominal[j] * program.heights[j]);
    let away = program.heights.iter().fold(0.0, |most: f64, f| most.max((f - nominal).abs()));
    let scale = if away > 0.0 { away } else { 1.0 };
    let heights: Vec<f64> = program.heights.iter().map(|f| (f - nominal) / scale).collect();
    let scaled = BallProgram { heights: &heights, ..*program };
    let precise = scaled.precise();
    let waits = if precise { PATIENCE } else { LONG_PATIENCE };
    let mut go_on = |steps: usize, gap: f64| go_on(steps, gap * scale);
    let mut answer = InteriorSearch::new(scaled, Digits::Single).run(waits, &mut go_on);
    if precise && !answer.stopped && answer.upper - answer.lower > CLOSE {
        let again = InteriorSearch { best: answer, ..InteriorSearch::new(scaled, Digits::Double) };
        answer = again.run(LONG_PATIENCE, &mut go_on);
    }
    answer.lower = nominal + scale * answer.lower;
    answer.upper = nominal + scale * answer.upper;
    answer.dual.iter_mut().for_each(|x| *x *= scale);
    answer
}

/// The state of the search: a dual point, its slacks and their multipliers.
struct InteriorSearch<'a> {
    program: BallProgram<'a>,
    digits: Digits,
    /// t, q, Q packed, and the ball's slack.
    x: Vec<f64>,
    slack: ConeParts,
    multiplier: ConeParts,
    best: Answer,
}

impl<'a> InteriorSearch<'a> {
    /// From the middle: every inequality as far from its end as any other.
    fn new(program: BallProgram<'a>, digits: Digits) -> Self {
        let (n, d) = (program.rows(), program.features);
        let (inside, wide) = match digits {
            Digits::Single => (1.0, program.mean),
            Digits::Double => (INSIDE, program.mean.max(WIDE)),
        };
        let each = inside / n as f64;
        let highest = program.heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut x = vec![0.0; program.width() + 1];
        x[0] = highest + 1.0;
        x[program.width()] = each / wide;
        let ball = |first: f64| {
            let mut all = vec![0.0; d + 1];
            all[0] = first;
            all
        };
        let mut slack = ConeParts { points: Vec::new(), ball: ball(each / wide), matrix: vec![] };
        let mut multiplier = ConeParts { points: vec![each; n], ball: ball(wide), matrix: vec![] };
        if let Some(second) = program.second {
            let first = 1 + d;
            program.diagonal().for_each(|k| x[k] = each / second);
            slack.matrix = x[first..program.width()].to_vec();
            multiplier.matrix = slack.matrix.iter().map(|s| s * second * second / each).collect();
        }
        let high = program.at_points(&x[..program.width()]);
        slack.points = high.iter().zip(program.heights).map(|(h, f)| h - f).collect();
        let best = Answer {
            lower: sum(n, |j| program.nominal[j] * program.heights[j]),
            upper: highest,
            weights: program.nominal.to_vec(),
            dual: vec![0.0; program.width() - 1],
            steps: 0,
            stopped: false,
        };
        InteriorSearch { program, digits, x, slack, multiplier, best }
    }

    /// Steps until bounds are closed, or until so many have brought nothing.
    fn run(mut self, waits: usize, go_on: &mut dyn FnMut(usize, f64) -> bool) -> Answer {
        let (mut idle, before) = (0, self.best.steps);
        for step in 1..=STEPS {
            let gap = self.best.upper - self.best.lower;
            let patience = if gap <= CLOSE { PATIENCE } else { waits };
            if gap <= CLOSED || idle > patience && (step > UNDER_WAY || gap <= CLOSE) {
                break;
            }
            if !go_on(before + step, gap) {
                self.best.stopped = true;
                break;
            }
            if self.step().is_none() {
                break;
            }
            self.best.steps = before + step;
            self.bounds();
            idle = if self.best.upper - self.best.lower < 0.9 * gap { 0 } else { idle + 1 };
        }
        self.best
    }

    /// Keeps the bounds that are better than the best so far.
    fn bounds(&mut self) {
        let program = &self.program;
        let (upper, _) = program.upper(&self.x[..program.width()]);
        if upper < self.best.upper {
            self.best.upper = upper;
            self.best.dual = self.x[1..program.width()].to_vec();
        }
        let total = sum(program.rows(), |j| self.multiplier.points[j]);
        let weights: Vec<f64> = self.multiplier.points.iter().map(|w| w / total).collect();
        let share = program.share(&program.means(&weights));
        let mixed: Vec<f64> = weights
            .iter()
            .zip(program.nominal)
            .map(|(w, p)| share * w + (1.0 - share) * p)
            .collect();
        let lower = sum(program.rows(), |j| mixed[j] * program.heights[j]);
        if lower > self.best.lower {
            self.best.lower = lower;
            self.best.weights = mixed;
        }
    }

    /// One step; None where rounding lets none be taken.
    fn step(&mut self) -> Option<()> {
        let (program, d) = (self.program, self.program.features);
        let (s, z) = (&self.slack, &self.multiplier);
        let ball = Ball::new(&s.ball, &z.ball)?;
        let matrix = match program.second {
            Some(_) => Some(Definite::new(d, &s.matrix, &z.matrix)?),
            None => None,
        };
        let ratio: Vec<f64> = z.points.iter().zip(&s.points).map(|(w, s)| w / s).collect();
        let system = Newton::new(program, &ratio, &ball, matrix.as_ref(), self.digits)?;
        let degree = (program.rows() + 1 + if matrix.is_some() { d } else { 0 }) as f64;
        let mu = s.inner(z) / degree;
        let c = program.objective();
        // Where there is nothing left to do but to close the gap.
        let (_, ds, mut dz) = system.solve(c.iter().map(|c| -c).collect());
        let less = |out: &mut Vec<f64>, own: &[f64]| {
            out.iter_mut().zip(own).for_each(|(out, own)| *out = -own - *out);
        };
        less(&mut dz.points, &z.points);
        less(&mut dz.ball, &z.ball);
        less(&mut dz.matrix, &z.matrix);
        let (far_s, far_z) = self.reach(&ds, &dz, matrix.as_ref());
        let (far_s, far_z) = (far_s.min(1.0), far_z.min(1.0));
        let after =
            s.inner(z) + far_s * ds.inner(z) + far_z * s.inner(&dz) + far_s * far_z * ds.inner(&dz);
        let centre = mu * (after / degree / mu).clamp(0.0, 1.0).powi(3);
        // The step itself: to the middle, and with what the first one left curved.
        let toward = ConeParts {
            points: (0..program.rows())
                .map(|j| (centre - ds.points[j] * dz.points[j]) / s.points[j] - z.points[j])
                .collect(),
            ball: ball.corrected(&ds.ball, &dz.ball, centre),
            matrix: match &matrix {
                Some(matrix) => matrix.corrected(&ds.matrix, &dz.matrix, centre),
                None => Vec::new(),
            },
        };
        // −(c − Φᵀ z) + Φᵀ toward.
        let sum_of: Vec<f64> =
            z.points.iter().zip(&toward.points).map(|(z, toward)| z + toward).collect();
        let mut right = program.means(&sum_of);
        right.push(z.ball[0] + toward.ball[0]);
        for k in 0..d {
            right[1 + k] += z.ball[1 + k] + toward.ball[1 + k];
        }
        for k in 0..z.matrix.len() {
            right[1 + d + k] += z.matrix[k] + toward.matrix[k];
        }
        right.iter_mut().zip(&c).for_each(|(r, c)| *r -= c);
        let (dx, ds, mut dz) = system.solve(right);
        let from = |out: &mut Vec<f64>, own: &[f64]| {
            out.iter_mut().zip(own).for_each(|(out, own)| *out = own - *out);
        };
        from(&mut dz.points, &toward.points);
        from(&mut dz.ball, &toward.ball);
        from(&mut dz.matrix, &toward.matrix);
        let (far_s, far_z) = self.reach(&ds, &dz, matrix.as_ref());
        let keep = 0.99;
        let (far_s, far_z) = ((keep * far_s).min(1.0), (keep * far_z).min(1.0));
        if !(far_s > 1e-14 || far_z > 1e-14) || dx.iter().any(|x| !x.is_finite()) {
            return None;
        }
        self.x.iter_mut().zip(&dx).for_each(|(x, d)| *x += far_s * d);
        self.slack.step(far_s, &ds);
        self.multiplier.step(far_z, &dz);
        Some(())
    }

    /// How far slacks and multipliers may go.
    fn reach(&self, ds: &ConeParts, dz: &ConeParts, matrix: Option<&Definite>) -> (f64, f64) {
        let line = |x: &[f64], d: &[f64]| {
            let each = x.iter().zip(d).filter(|(_, d)| **d < 0.0);
            each.fold(f64::INFINITY, |least, (x, d)| least.min(-x / d))
        };
        let (s, z) = (&self.slack, &self.multiplier);
        let far_s = line(&s.points, &ds.points).min(Ball::reach(&s.ball, &ds.ball));
        let far_z = line(&z.points, &dz.points).min(Ball::reach(&z.ball, &dz.ball));
        match matrix.map(|matrix| matrix.reach(&ds.matrix, &dz.matrix)) {
            Some((s, z)) => (far_s.min(s), far_z.min(z)),
            None => (far_s, far_z),
        }
    }
}
