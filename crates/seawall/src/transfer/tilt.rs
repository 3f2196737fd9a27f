//! The population nearest in KL to a log's that has given means of functions of single columns.
//!
//! ```text
//! min KL(w ‖ p)  with  E_w φ_j = b_j      w_i ∝ p_i e^{s_i},  s_i = Σ_j ν_j (φ_j(x_i) − b_j)
//! dual           min_ν  D(ν) = log Σ_i p_i e^{s_i},    ∇D = E_w φ − b,    ∇²D = Cov_w φ
//! ```
//!
//! Newton's method on the dual, started by raking, and raked again after a step that had to be
//! shortened: a rare level that is to be common is one step for raking and many for Newton. Contexts
//! that must get nothing (a share of 0, a mean at the end of its range) are taken out first, for their
//! `ν` would be infinite.
//!
//! No weights do exactly if some ν has `s_i < 0` at every context (Farkas), and that is where ν then goes.
//! Where neither weights nor such a ν are found, the facts count as not attainable.

use crate::kernel::cholesky::Cholesky;

/// Newton steps at most.
const STEPS: usize = 200;
/// Means that are off by less than this, in their own standard deviations, are met.
const MET: f64 = 1e-11;
/// The same where no step gets closer.
const NEARLY: f64 = 1e-8;
/// A distance from the end of a range that is none.
const TOUCHES: f64 = 1e-12;
/// Scores that are all below 0 by this share of the multipliers' sum say that no weights do.
const CERTAIN: f64 = 1e-9;
/// What is added to the curvature, as a share of its diagonal: facts may say the same twice.
const RIDGE: f64 = 1e-11;
/// The logarithm of the most that raking multiplies a share by at once.
const MOST: f64 = 30.0;

/// What facts say at each context that has rows: `φ_j`, in units of its standard deviation.
pub(super) struct FactMoments {
    /// Each context's share of the log.
    mass: Vec<f64>,
    /// The facts that are not 0 at a context, and what they are there.
    starts: Vec<usize>,
    active: Vec<(u32, f64)>,
    scales: Vec<f64>,
    /// The shares of each column that has some.
    columns: Vec<Vec<u32>>,
}

/// The known shares of one column: which facts they are, and which of them each context has
/// (`u32::MAX` for none).
pub(super) struct Margin {
    pub facts: Vec<u32>,
    pub at: Vec<u32>,
}

/// Weights that meet the facts, `Σ w = 1`.
pub(super) struct Tilt {
    pub weights: Vec<f64>,
    goals: Vec<f64>,
    curvature: Option<Curvature>,
}

/// A covariance of facts, every variance scaled to 1.
struct Curvature {
    factor: Cholesky,
    /// One over the facts' standard deviations.
    scale: Vec<f64>,
}

impl Curvature {
    fn solve(&self, of: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = of.iter().zip(&self.scale).map(|(g, d)| g * d).collect();
        self.factor.solve(&mut x);
        x.iter_mut().zip(&self.scale).for_each(|(x, d)| *x *= d);
        x
    }
}

/// The slopes of a regression on the facts.
pub(super) struct Slopes {
    of: Vec<f64>,
    at_goal: f64,
}

/// Weights at some ν.
struct TiltState {
    weights: Vec<f64>,
    /// `E_w φ − b`.
    gap: Vec<f64>,
    height: f64,
    highest: f64,
}

impl TiltState {
    fn worst(&self) -> f64 {
        self.gap.iter().fold(0.0, |most: f64, g| most.max(g.abs()))
    }
}

impl FactMoments {
    /// Contexts' masses, the known shares by column, and the facts that are means with a number per
    /// context.
    pub fn new(
        mass: Vec<f64>,
        count: usize,
        columns: &[Margin],
        means: &[(u32, Vec<f64>)],
    ) -> Self {
        let mut scales = vec![1.0; count];
        for (fact, numbers) in means {
            let mean = mass.iter().zip(numbers).map(|(p, x)| p * x).sum::<f64>();
            let spread = mass.iter().zip(numbers).map(|(p, x)| p * (x - mean).powi(2)).sum::<f64>();
            scales[*fact as usize] = if spread > 0.0 { spread.sqrt() } else { mean.abs().max(1.0) };
        }
        let (mut starts, mut active) = (vec![0], Vec::new());
        for i in 0..mass.len() {
            let shares = columns.iter().map(|c| c.at[i]).filter(|fact| *fact != u32::MAX);
            active.extend(shares.map(|fact| (fact, 1.0)));
            let numbers = means.iter().filter(|(_, numbers)| numbers[i] != 0.0);
            active.extend(numbers.map(|(fact, x)| (*fact, x[i] / scales[*fact as usize])));
            starts.push(active.len());
        }
        let columns = columns.iter().map(|c| c.facts.clone()).collect();
        FactMoments { mass, starts, active, scales, columns }
    }

    fn at(&self, context: usize) -> &[(u32, f64)] {
        &self.active[self.starts[context]..self.starts[context + 1]]
    }

    /// `E_w φ`, in the facts' own units.
    pub fn means(&self, weights: &[f64]) -> Vec<f64> {
        let means = self.scaled_means(weights);
        means.iter().zip(&self.scales).map(|(m, s)| m * s).collect()
    }

    /// Each context's share of the log.
    pub fn mass(&self) -> &[f64] {
        &self.mass
    }

    /// `E_w φ`, in the facts' standard deviations.
    fn scaled_means(&self, weights: &[f64]) -> Vec<f64> {
        let mut means = vec![0.0; self.scales.len()];
        for (i, w) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            self.at(i).iter().for_each(|(fact, x)| means[*fact as usize] += w * x);
        }
        means
    }

    /// The nearest weights with these means; None if there are none.
    pub fn tilted(&self, goals: &[f64]) -> Option<Tilt> {
        let goals: Vec<f64> = goals.iter().zip(&self.scales).map(|(b, s)| b / s).collect();
        let start = self.on_the_face(&goals)?;
        let mut multipliers = vec![0.0; goals.len()];
        let mut state = self.state(&start, &goals, &multipliers);
        let mut rake = true;
        for _ in 0..STEPS {
            if state.worst() <= MET {
                break;
            }
            if rake {
                self.rake(&state.weights, &goals, &mut multipliers);
                state = self.state(&start, &goals, &multipliers);
            }
            let reach: f64 = multipliers.iter().map(|m: &f64| m.abs()).sum();
            if state.highest < -CERTAIN * (1.0 + reach) {
                return None;
            }
            let step = self.curvature(&state.weights)?.solve(&state.gap);
            let mut length = 1.0;
            let next = loop {
                let tried: Vec<f64> =
                    multipliers.iter().zip(&step).map(|(m, d)| m - length * d).collect();
                let found = self.state(&start, &goals, &tried);
                // Close to the end only the means tell whether a step was one forward.
                let slack = 1e-15 * (1.0 + state.height.abs());
                let lower = found.height < state.height - slack;
                if lower || (found.height <= state.height + slack && found.worst() < state.worst())
                {
                    break Some((tried, found));
                }
                length *= 0.25;
                if length < 1e-8 {
                    break None;
                }
            };
            let Some((tried, found)) = next else { break };
            rake = length < 1.0;
            (multipliers, state) = (tried, found);
        }
        if state.worst().is_nan() || state.worst() > NEARLY {
            return None;
        }
        let curvature = self.curvature(&state.weights);
        Some(Tilt { weights: state.weights, goals, curvature })
    }

    /// The masses of the contexts that may have any weight at all; None if a mean is out of reach.
    fn on_the_face(&self, goals: &[f64]) -> Option<Vec<f64>> {
        let mut mass = self.mass.clone();
        while self.narrow(goals, &mut mass)? {}
        let total: f64 = mass.iter().sum();
        mass.iter_mut().for_each(|p| *p /= total);
        Some(mass)
    }

    /// Facts whose goal is an end of what contexts have: only those at that end may have weight. None
    /// if a goal is beyond the ends, or nobody is left.
    fn ends(&self, goals: &[f64], mass: &[f64]) -> Option<Vec<bool>> {
        let mut left = 0;
        let mut ends = vec![(f64::INFINITY, f64::NEG_INFINITY, 0); goals.len()];
        for (i, _) in mass.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            left += 1;
            for (fact, x) in self.at(i) {
                let (low, high, count) = &mut ends[*fact as usize];
                (*low, *high, *count) = (low.min(*x), high.max(*x), *count + 1);
            }
        }
        let at_end = |(&(low, high, count), goal): (&(f64, f64, i32), &f64)| {
            // Where a fact is not told it is 0.
            let (low, high) =
                if count < left { (low.min(0.0), high.max(0.0)) } else { (low, high) };
            let within = low <= goal + TOUCHES && high >= goal - TOUCHES;
            within.then_some((low >= goal - TOUCHES || high <= goal + TOUCHES) && high > low)
        };
        if left > 0 { ends.iter().zip(goals).map(at_end).collect() } else { None }
    }

    /// Takes out contexts that can have no weight, and says whether there were any.
    fn narrow(&self, goals: &[f64], mass: &mut [f64]) -> Option<bool> {
        let at_end = self.ends(goals, mass)?;
        // Shares that sum to 1 leave nothing for the other levels.
        let sum = |facts: &[u32]| facts.iter().map(|f| goals[*f as usize]).sum::<f64>();
        let whole = self.columns.iter().filter(|facts| sum(facts) >= 1.0 - TOUCHES);
        let (mut columns, mut in_whole) = (0, vec![false; goals.len()]);
        for facts in whole {
            columns += 1;
            facts.iter().for_each(|f| in_whole[*f as usize] = true);
        }
        // Facts that are to be something else than 0 must be told.
        let told: Vec<usize> =
            (0..goals.len()).filter(|&f| at_end[f] && goals[f].abs() > TOUCHES).collect();
        let mut narrower = false;
        for (i, p) in mass.iter_mut().enumerate().filter(|(_, p)| **p > 0.0) {
            let at = self.at(i);
            let covered = at.iter().filter(|(f, _)| in_whole[*f as usize]).count() == columns;
            let off = |(f, x): &(u32, f64)| {
                at_end[*f as usize] && (x - goals[*f as usize]).abs() > TOUCHES
            };
            let silent = |f: &usize| at.iter().all(|(told, _)| *told as usize != *f);
            if !covered || at.iter().any(off) || told.iter().any(silent) {
                *p = 0.0;
                narrower = true;
            }
        }
        Some(narrower)
    }

    fn state(&self, mass: &[f64], goals: &[f64], multipliers: &[f64]) -> TiltState {
        let origin: f64 = goals.iter().zip(multipliers).map(|(b, m)| b * m).sum();
        let score = |i: usize| {
            let own = self.at(i).iter().map(|(fact, x)| multipliers[*fact as usize] * x);
            own.sum::<f64>() - origin
        };
        let mut weights: Vec<f64> = (0..mass.len()).map(score).collect();
        let some = weights.iter().zip(mass).filter(|(_, p)| **p > 0.0);
        let highest = some.fold(f64::NEG_INFINITY, |most, (s, _)| most.max(*s));
        for (w, p) in weights.iter_mut().zip(mass) {
            *w = if *p > 0.0 { p * (*w - highest).exp() } else { 0.0 };
        }
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= total);
        let mut gap = self.scaled_means(&weights);
        gap.iter_mut().zip(goals).for_each(|(m, b)| *m -= b);
        TiltState { weights, gap, height: highest + total.ln(), highest }
    }

    /// One round of raking: each column's shares are made what they are to be, column after column.
    fn rake(&self, weights: &[f64], goals: &[f64], multipliers: &mut [f64]) {
        let mut weights = weights.to_vec();
        for facts in &self.columns {
            let mut now = vec![0.0; goals.len()];
            for (i, w) in weights.iter().enumerate() {
                self.at(i).iter().for_each(|(fact, _)| now[*fact as usize] += w);
            }
            let total: f64 = weights.iter().sum();
            let (mut has, mut wanted) = (0.0, 0.0);
            facts.iter().for_each(|f| {
                (has, wanted) = (has + now[*f as usize], wanted + goals[*f as usize]);
            });
            let rise = |now: f64, goal: f64| {
                if now > 0.0 && goal > 0.0 { (goal / now).ln().clamp(-MOST, MOST) } else { 0.0 }
            };
            // The levels that nothing is said of share what is left.
            let (rest, open) = (total - has, 1.0 - wanted);
            let others =
                if rest > TOUCHES && open > TOUCHES { rise(rest / total, open) } else { 0.0 };
            let mut factors = vec![1.0; goals.len()];
            for &fact in facts {
                let fact = fact as usize;
                let up = rise(now[fact] / total, goals[fact]) - others;
                multipliers[fact] += up;
                factors[fact] = up.exp();
            }
            for (i, w) in weights.iter_mut().enumerate() {
                self.at(i).iter().for_each(|(fact, _)| *w *= factors[*fact as usize]);
            }
        }
    }

    /// The covariance of the facts.
    fn curvature(&self, weights: &[f64]) -> Option<Curvature> {
        let size = self.scales.len();
        let mut matrix = vec![0.0; size * size];
        for (i, w) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            for (j, x) in self.at(i) {
                let (line, scaled) = (&mut matrix[*j as usize * size..][..size], w * x);
                self.at(i).iter().for_each(|(k, y)| line[*k as usize] += scaled * y);
            }
        }
        let means = self.scaled_means(weights);
        let scale = |j: usize| match matrix[j * size + j] - means[j] * means[j] {
            // A fact that is the same everywhere, but for rounding, has no say.
            spread if spread > 1e-14 * matrix[j * size + j] => 1.0 / spread.sqrt(),
            _ => 0.0,
        };
        let scale: Vec<f64> = (0..size).map(scale).collect();
        let mut ridge = RIDGE;
        while ridge < 1.0 {
            let cell = |k: usize| match (k / size, k % size) {
                (i, j) if i == j => 1.0 + ridge,
                (i, j) => (matrix[k] - means[i] * means[j]) * scale[i] * scale[j],
            };
            let factor = Cholesky::new(size, (0..size * size).map(cell).collect());
            if let Some(factor) = factor {
                return Some(Curvature { factor, scale });
            }
            ridge *= 100.0;
        }
        None
    }

    /// `Cov_w(φ)⁻¹ lever`.
    pub fn slopes(&self, tilt: &Tilt, lever: &[f64]) -> Slopes {
        let of = tilt.curvature.as_ref().map_or(vec![0.0; lever.len()], |c| c.solve(lever));
        let at_goal = of.iter().zip(&tilt.goals).map(|(s, b)| s * b).sum();
        Slopes { of, at_goal }
    }

    /// `E_p` of what a regression explains at the log's own contexts, less that at the goal.
    pub fn explained_here(&self, slopes: &Slopes) -> f64 {
        let means = self.scaled_means(&self.mass);
        slopes.of.iter().zip(&means).map(|(s, m)| s * m).sum::<f64>() - slopes.at_goal
    }

    /// `Σ_j slope_j (φ_j(x) − b_j)`.
    pub fn explained(&self, slopes: &Slopes, context: usize) -> f64 {
        let own = self.at(context).iter().map(|(fact, x)| slopes.of[*fact as usize] * x);
        own.sum::<f64>() - slopes.at_goal
    }

    /// Adds `pull φ(x)` to a lever.
    pub fn pull(&self, context: usize, pull: f64, lever: &mut [f64]) {
        self.at(context).iter().for_each(|(fact, x)| lever[*fact as usize] += pull * x);
    }

    /// How many facts there are.
    pub fn facts(&self) -> usize {
        self.scales.len()
    }
}
