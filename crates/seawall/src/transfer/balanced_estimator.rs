//! The balanced doubly robust centre: what a policy would cost in a target of which only means and
//! shares are known, outcomes given contexts being as in the log.
//!
//! With `ω` the odds and `p̃` the population of a [`Balance`], `ρ = π/π₀`, `r` the residuals of rows that
//! the model was not fitted to, `M_a = E_p̃ π(a|x)` and `W_a = Σ_{i: a} ω ρ`:
//!
//! ```text
//! c = E_p̃[l̂] + Σ_a M_a c_a,      c_a = Σ_{i: a} ω_i ρ_i r_i / W_a
//! ```
//!
//! so that an action's weights sum to what the policy does of it under `p̃`. Two ways lead to the truth:
//! the target is a tilt of the log's population (`log ω` linear in the facts), whatever the model; or the
//! policy's true values are linear in the facts, whatever the target. Where neither is so, what is known
//! does not say what the policy costs, and no model helps: `p̃` is one coupling of the margins among many,
//! and worst cases given them are the answer. Its variance is that of the rows' influences
//!
//! ```text
//! (ω (g(x) − E_p̃ g) − ω Bᵀ(φ(x) − b) + η Bᵀ(φ(x) − E_p φ))/n        g = l̂ + Σ_a c_a π(a|·)
//!   + M_a ω ρ (r − c_a)/W_a + (mass_p̃(L) − mass_w(L)) (y − m_L)/n_L
//! B = Cov_p̃(φ)⁻¹ (Cov_p̃(φ, g) + Σ_a M_a Σ_{i: a} ω ρ (r − c_a) φ / W_a)
//! ```
//!
//! as for a calibrated survey: what the facts explain is no noise, since they are known. They are taken
//! as known exactly, a range as its value. The last term is the noise of the row's leaf. The shape of
//! trees, the propensities and `η` are taken as given.

use super::Balance;
use super::cross_fitted::{CrossFittedRows, EntryPart};
use crate::error::Result;
use crate::evaluate::{Estimate, Evaluator};
use crate::policy::Policy;
use crate::progress::Watch;

/// A log, and what it weighs to be like a target.
///
/// ```
/// use seawall::evaluate::{Evaluator, FitOptions, Propensity};
/// use seawall::outcome::Recipe;
/// use seawall::policy::Policy;
/// use seawall::transfer::{Balance, BalancedEstimator, EFFECTIVE};
/// use seawall::{Direction, Fact, Feature, Known, Log, Quantity, Watch};
/// let ages = [40.0, 40.0, 60.0, 60.0, 80.0, 80.0].repeat(40);
/// let taken = ["treat", "wait"].repeat(120);
/// let costs: Vec<f64> = ages.iter().map(|age| (age / 20.0) - 1.0).collect();
/// let age = [Feature::numeric("age")];
/// let log = Log::from_rows(age, vec![ages], &taken, &costs, None, Direction::Cost)?.shared();
/// let options = FitOptions::default();
/// let fitted = Evaluator::new(&log, &Recipe::Cells, &Propensity::Cells, options, Watch::NOBODY)?;
/// let older = Known::new(log.contexts().clone(), vec![Fact::exact(0, Quantity::Mean, 70.0)])?;
/// let balance = Balance::new(&log, &older, EFFECTIVE)?;
/// let centre = BalancedEstimator::new(&fitted, &balance, Watch::NOBODY)?;
/// let found = centre.estimate(&Policy::constant(&log, "wait")?)?.expect("the data have rows of it");
/// assert!((found.value - 2.5).abs() < 1e-9);
/// # Ok::<(), seawall::Error>(())
/// ```
pub struct BalancedEstimator<'a> {
    dealt: CrossFittedRows<'a>,
    balance: &'a Balance,
    residuals: Vec<f64>,
}

/// An estimate, and by part of the log what each of its rows adds to it.
struct Influence {
    value: f64,
    parts: Vec<f64>,
}

impl<'a> BalancedEstimator<'a> {
    /// A fitted log, and its balance: on the same space.
    pub fn new(fitted: &'a Evaluator, balance: &'a Balance, watch: Watch<'a>) -> Result<Self> {
        fitted.log().contexts().same_as(balance.population().space())?;
        let dealt = CrossFittedRows::new(fitted, watch)?;
        let residuals = dealt.residuals()?;
        Ok(BalancedEstimator { dealt, balance, residuals })
    }

    /// The weights.
    pub fn balance(&self) -> &Balance {
        self.balance
    }

    /// What a policy would cost; None where the log is too small to fold, or has no row of what the
    /// policy does.
    pub fn estimate(&self, policy: &Policy) -> Result<Option<Estimate>> {
        Ok(self.with_error(&self.influence(policy)?))
    }

    /// By how much a policy would cost more than another; None as for [`estimate`](Self::estimate).
    pub fn difference(&self, policy: &Policy, against: &Policy) -> Result<Option<Estimate>> {
        let (a, b) = (self.influence(policy)?, self.influence(against)?);
        let parts = a.parts.iter().zip(&b.parts).map(|(a, b)| a - b).collect();
        Ok(self.with_error(&Influence { value: a.value - b.value, parts }))
    }

    /// `(Σ ωρ)² / Σ (ωρ)²`: how many rows of the log the weighted ones are worth for a policy.
    pub fn effective_rows(&self, policy: &Policy) -> Result<f64> {
        let weighed = self.dealt.weighed(policy, |x| self.balance.odds(x))?;
        Ok(self.dealt.effective(&weighed))
    }

    fn with_error(&self, influence: &Influence) -> Option<Estimate> {
        let clusters = self.dealt.fitted.log().clusters();
        let variance = self.dealt.variance(&influence.parts);
        let known = !influence.value.is_nan() && !variance.is_nan();
        known.then(|| Estimate::new(influence.value, variance.sqrt(), clusters))
    }

    fn influence(&self, policy: &Policy) -> Result<Influence> {
        let (dealt, shares) = (&self.dealt, self.balance.population().weights());
        let weighed = dealt.weighed(policy, |x| self.balance.odds(x))?;
        let actions = dealt.fitted.log().actions().len();
        let (mut mass, mut sums) = (vec![0.0; actions], vec![(0.0, 0.0); actions]);
        for (x, q) in shares.iter().enumerate().filter(|(_, q)| **q > 0.0) {
            mass.iter_mut().zip(policy.row(x)).for_each(|(m, p)| *m += q * p);
        }
        for ((part, w), r) in dealt.parts.iter().zip(&weighed).zip(&self.residuals) {
            let sum: &mut (f64, f64) = &mut sums[dealt.action(part)];
            *sum = (sum.0 + part.rows * w, sum.1 + part.rows * w * r);
        }
        // What an action's residuals add for each unit of its mass; none where it is not taken.
        let extra =
            |(m, (weight, sum)): (&f64, &(f64, f64))| if *m > 0.0 { sum / weight } else { 0.0 };
        let extra: Vec<f64> = mass.iter().zip(&sums).map(extra).collect();
        let mut values = dealt.direct(policy)?;
        for (x, value) in values.iter_mut().enumerate() {
            *value += policy.row(x).iter().zip(&extra).map(|(p, c)| p * c).sum::<f64>();
        }
        let there = || shares.iter().enumerate().filter(|(_, q)| **q > 0.0);
        let value: f64 = there().map(|(x, q)| q * values[x]).sum();
        // A row's own weight in the sum of its action's residuals.
        let weight = |part: &EntryPart, w: f64| match dealt.action(part) {
            a if mass[a] > 0.0 => mass[a] * w / sums[a].0,
            _ => 0.0,
        };
        let residual =
            |part: &EntryPart, w: f64, r: f64| weight(part, w) * (r - extra[dealt.action(part)]);
        let parts = || dealt.parts.iter().zip(&weighed).zip(&self.residuals);
        let pulls = there().map(|(x, q)| (x, q * (values[x] - value)));
        let pulls = pulls.chain(
            parts().map(|((part, w), r)| (dealt.context(part), part.rows * residual(part, *w, *r))),
        );
        let calibration = self.balance.calibration(pulls);
        let total = dealt.fitted.log().total();
        let mut own: Vec<f64> = parts()
            .map(|((part, w), r)| {
                let x = dealt.context(part);
                let spread = self.balance.odds(x) * (values[x] - value) + calibration(x);
                spread / total + residual(part, *w, *r)
            })
            .collect();
        let weights: Vec<f64> =
            parts().map(|((part, w), _)| part.rows * weight(part, *w)).collect();
        dealt.add_model_noise(policy, shares, &weights, &mut own);
        Ok(Influence { value, parts: own })
    }
}
