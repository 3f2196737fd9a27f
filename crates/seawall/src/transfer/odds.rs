//! How much more common each context is in a target than in a log: `ω(x) = q(x)/p(x)`, by a
//! logistic model of "is from the target".
//!
//! ```text
//! P(target|x) = s(βᵀφ(x)),  minimising  Σ_log log(1 + e^{βᵀφ}) + Σ_target log(1 + e^{−βᵀφ}) + (1/2) Σ β²
//! ω(x) = e^{βᵀφ(x)},  divided by its mean over the log
//! ```
//!
//! over the encoded features of [`crate::policy::encode`], the intercept unpenalised, the target's
//! weights scaled to sum to its rows; Newton's method. Beside the odds it keeps what their own noise adds to an estimate: the influence of each
//! row on β, `H⁻¹ φ (1{target} − s)`.

use super::TargetSample;
use crate::error::{Error, Result};
use crate::kernel::cholesky::Cholesky;
use crate::log::Log;
use crate::policy::encode;
use crate::progress::{Progress, Stage, Watch};

/// Newton steps at most.
const STEPS: usize = 100;
/// What multiplies half the squared weights.
const RIDGE: f64 = 1.0;
/// A step shorter than this is the last.
const SETTLED: f64 = 1e-10;

/// The odds of every context that the log or the target has.
pub struct Odds {
    /// By context; NaN where neither has rows.
    of: Vec<f64>,
    /// By context: P(target|x).
    chance: Vec<f64>,
    /// One row of features per context that has rows, and where it is.
    features: Vec<f64>,
    place: Vec<u32>,
    width: usize,
    hessian: Cholesky,
}

impl Odds {
    /// Fits the model.
    pub fn new(log: &Log, target: &TargetSample, watch: Watch<'_>) -> Result<Self> {
        let space = log.contexts();
        let mut here = vec![0.0; space.len()];
        log.entries().iter().for_each(|e| here[e.context as usize] += e.weight);
        let scale = target.scale();
        let there: Vec<f64> = target.weights().iter().map(|w| w * scale).collect();
        let some: Vec<usize> =
            (0..space.len()).filter(|&i| here[i] > 0.0 || there[i] > 0.0).collect();
        let encoded = encode(space);
        let width = encoded.len() + 1;
        let mut features = vec![1.0; some.len() * width];
        for (j, column) in encoded.iter().enumerate() {
            let column = column.column(space)?;
            some.iter().enumerate().for_each(|(r, &i)| features[r * width + j + 1] = column[i]);
        }
        let counts: Vec<(f64, f64)> = some.iter().map(|&i| (here[i], there[i])).collect();
        let (beta, hessian) = fit(&features, &counts, width, watch)?;
        let score = |row: &[f64]| row.iter().zip(&beta).map(|(x, b)| x * b).sum::<f64>();
        let (mut of, mut chance) = (vec![f64::NAN; space.len()], vec![f64::NAN; space.len()]);
        let mut place = vec![u32::MAX; space.len()];
        let (mut mass, mut rows) = (0.0, 0.0);
        for (r, (&i, row)) in some.iter().zip(features.chunks(width)).enumerate() {
            let score = score(row);
            (of[i], chance[i], place[i]) = (score.exp(), logistic(score), r as u32);
            (mass, rows) = (mass + here[i] * of[i], rows + here[i]);
        }
        if !(mass > 0.0 && mass.is_finite()) {
            return Err(Error::input(
                "the odds of the target to the log have no finite sum: columns are out of scale",
            ));
        }
        of.iter_mut().for_each(|odds| *odds *= rows / mass);
        Ok(Odds { of, chance, features, place, width, hessian })
    }

    /// The odds of a context, 1 on average over the log; NaN where nobody was seen.
    pub fn at(&self, context: usize) -> f64 {
        self.of[context]
    }

    fn row(&self, context: usize) -> &[f64] {
        &self.features[self.place[context] as usize * self.width..][..self.width]
    }

    /// `H⁻¹ Σ_i pull_i φ(x_i)`: where an estimate that moves by `pull` with each row's log odds is
    /// pulled.
    pub(super) fn lever(&self, pulls: impl Iterator<Item = (usize, f64)>) -> Vec<f64> {
        let mut sum = vec![0.0; self.width];
        for (context, pull) in pulls {
            sum.iter_mut().zip(self.row(context)).for_each(|(s, x)| *s += pull * x);
        }
        self.hessian.solve(&mut sum);
        sum
    }

    /// What one row of the target (or of the log) adds to an estimate through the odds' own noise.
    pub(super) fn influence(&self, lever: &[f64], context: usize, target: bool) -> f64 {
        let score = f64::from(u8::from(target)) - self.chance[context];
        score * self.row(context).iter().zip(lever).map(|(x, l)| x * l).sum::<f64>()
    }
}

fn logistic(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

/// Newton's method, halving steps that do not lower the loss.
fn fit(
    features: &[f64],
    counts: &[(f64, f64)],
    width: usize,
    watch: Watch<'_>,
) -> Result<(Vec<f64>, Cholesky)> {
    let score = |row: &[f64], beta: &[f64]| row.iter().zip(beta).map(|(x, b)| x * b).sum::<f64>();
    let loss = |beta: &[f64]| -> f64 {
        let rows = features.chunks(width).zip(counts).map(|(row, (here, there))| {
            let s = score(row, beta);
            // log(1 + e^s), safely.
            let soft = s.max(0.0) + (-s.abs()).exp().ln_1p();
            here * soft + there * (soft - s)
        });
        rows.sum::<f64>() + 0.5 * RIDGE * beta[1..].iter().map(|b| b * b).sum::<f64>()
    };
    let (mut here, mut there) = (0.0, 0.0);
    counts.iter().for_each(|(h, t)| (here, there) = (here + h, there + t));
    let mut beta = vec![0.0; width];
    beta[0] = (there / here).ln();
    let mut height = loss(&beta);
    for step in 0..STEPS {
        watch.tell(Progress::at(Stage::Fitting).done(step))?;
        let mut gradient = vec![0.0; width];
        let mut hessian = vec![0.0; width * width];
        for (row, (here, there)) in features.chunks(width).zip(counts) {
            let p = logistic(score(row, &beta));
            let (pull, curve) = (there - (here + there) * p, (here + there) * p * (1.0 - p));
            for (j, x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                gradient[j] += pull * x;
                let scaled = curve * x;
                let line = &mut hessian[j * width..][..=j];
                line.iter_mut().zip(row).for_each(|(h, y)| *h += scaled * y);
            }
        }
        for j in 0..width {
            // Only the lower half was summed.
            (0..j).for_each(|k| hessian[k * width + j] = hessian[j * width + k]);
            hessian[j * width + j] += if j == 0 { 1e-9 * (here + there) } else { RIDGE };
            gradient[j] -= if j == 0 { 0.0 } else { RIDGE * beta[j] };
        }
        let factored = Cholesky::new(width, hessian)
            .ok_or_else(|| Error::numeric("the logistic odds have no definite curvature"))?;
        factored.solve(&mut gradient);
        let mut length = 1.0;
        let longest = gradient.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
        loop {
            let next: Vec<f64> = beta.iter().zip(&gradient).map(|(b, g)| b + length * g).collect();
            let found = loss(&next);
            if found <= height || length < 1e-6 {
                (beta, height) = (next, found.min(height));
                break;
            }
            length *= 0.5;
        }
        if longest <= SETTLED || length < 1e-6 {
            return Ok((beta, factored));
        }
    }
    Err(Error::numeric(format!("the logistic odds did not settle in {STEPS} steps")))
}
