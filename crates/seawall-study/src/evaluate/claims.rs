//! Sentences that people can quote: what no population costs more than, what some population costs at
//! least, and how much of a worst case may be noise.

use super::{Evaluation, PolicyResult, RobustValue};
use crate::words::{level, limit, number, supported};
use seawall::Direction;
use seawall::outcome::ModelKind;

impl Evaluation {
    /// What can be claimed of a policy at one of its results, and how much of it may be noise, in a few
    /// sentences; None without limits.
    pub fn claim(&self, policy: &PolicyResult, result: usize) -> Option<String> {
        let at = policy.results.get(result)?;
        let model = self.diagnostics.facts.model.kind;
        let [most, least] = at.claims(self.direction, self.has_target(), model)?;
        let mut words = format!("{most}, and {least}.");
        if let Some(noise) = at.noise(self.direction, model) {
            words.push_str(&format!(" The worst case is {noise}."));
        }
        if policy.chosen_here {
            words.push_str(" The policy was chosen on these very rows, so all this is too good.");
        }
        Some(words)
    }
}

impl RobustValue {
    /// What can be claimed with confidence; None without limits, and of kinds of models whose limits were
    /// not simulated. Populations are those around the log, or around the target if there is one.
    pub fn claims(
        &self,
        direction: Direction,
        target: bool,
        model: ModelKind,
    ) -> Option<[String; 2]> {
        let limits = self.noise.limits.filter(|_| is_simulated(model))?;
        let (bad, good) = match direction {
            Direction::Cost => (limits.upper, limits.lower),
            Direction::Reward => (limits.lower, limits.upper),
        };
        let (beyond, least) = match direction {
            Direction::Cost => ("costs more than", "costs at least"),
            Direction::Reward => ("brings less than", "brings at most"),
        };
        let within = self.among(target);
        let that = if self.shift.set.needs_known() { "and" } else { "that" };
        // On the side on which it holds: the bad limit is high for costs, low for rewards.
        let se = self.shown_se().unwrap_or(f64::NAN);
        let tell = |x: f64, up: bool| limit(x, se, up);
        let costs = direction == Direction::Cost;
        let sure = level(limits.level);
        Some([
            format!("With {sure} confidence no population {within} {beyond} {}", tell(bad, costs)),
            format!("there is a population {within} {that} {least} {}", tell(good, !costs)),
        ])
    }

    /// Which populations it is about: `within 0.03 of the target`.
    fn among(&self, target: bool) -> String {
        if !self.shift.set.needs_known() {
            let around = if target { " of the target" } else { "" };
            return format!("within {}{around}", number(self.shift.radius));
        }
        let within = match (self.shift.column_radii.is_empty(), self.shift.radius.is_finite()) {
            (false, _) => ", within the columns' radii,".to_owned(),
            (true, true) => format!(", within {},", number(self.shift.radius)),
            (true, false) => String::new(),
        };
        format!("that meets what is known of the target{within}")
    }

    /// How much of the worst case may be noise, and what to try; None without halves, and where the
    /// difference is within its own error.
    pub fn noise(&self, direction: Direction, model: ModelKind) -> Option<String> {
        let honest = self.noise.honest?;
        let noise = direction.sign() * (self.worst.value - honest.value);
        if noise <= honest.se.max(self.shown_se().filter(|se| !se.is_nan()).unwrap_or(0.0)) {
            return None;
        }
        let tell = |x: f64| supported(x, 10.0 * honest.se);
        let (low, high) = match direction {
            Direction::Cost => (honest.value, self.worst.value),
            Direction::Reward => (self.worst.value, honest.value),
        };
        Some(format!(
            "between {} and {}: {} of it may be noise of the outcome model{}",
            tell(low),
            tell(high),
            tell(noise),
            remedy(model)
        ))
    }
}

/// Whether it was simulated how often the limits of a kind of model hold the truth (docs/measured.md).
fn is_simulated(model: ModelKind) -> bool {
    use ModelKind::{Additive, Boosted, Cells, Forest, Tree};
    matches!(model, Additive | Boosted | Cells | Forest | Tree)
}

/// What makes a model less noisy.
fn remedy(model: ModelKind) -> &'static str {
    match model {
        ModelKind::Cells => "; try a tree or a forest",
        ModelKind::Tree => "; try larger leaves or a forest",
        _ => "",
    }
}
