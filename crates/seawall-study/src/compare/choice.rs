//! Who is best under a set, whether that one is worse anywhere in it, and whether the log tells it from the
//! others.

use super::answer::{NoWorse, OnLog};
use super::{Ground, ROUNDING};
use seawall::evaluate::Estimate;
use seawall::{Detail, Direction, Error, Result, Set, Settings, Status, Watch, WorstCase};

impl Ground<'_> {
    /// One policy beside that of the others which the log tells from it least, nothing shifting; None if
    /// there is no other.
    pub(super) fn on_log(&self, policy: usize, watch: Watch<'_>) -> Result<Option<OnLog>> {
        let direction = self.robust.direction();
        let mut least: Option<(f64, usize, Estimate)> = None;
        for k in (0..self.policies.len()).filter(|k| *k != policy) {
            let found =
                self.fitted.nominal_difference(&self.policies[policy], &self.policies[k], watch)?;
            let thin = self.thin[policy] || self.thin[k];
            let found = if thin { found.best().without_interval() } else { found.best() };
            let end = found.interval.map_or(f64::INFINITY, |i| match direction {
                Direction::Cost => i.upper,
                Direction::Reward => -i.lower,
            });
            if least.is_none_or(|(before, _, _)| end > before) {
                least = Some((end, k, found));
            }
        }
        Ok(least.map(|(_, k, found)| {
            OnLog::new((self.policies[policy].name(), self.policies[k].name()), found, direction)
        }))
    }

    /// By how much one policy could be worse than any other in one population of a set.
    pub(super) fn no_worse(
        &self,
        best: usize,
        set: Set,
        radius: f64,
        settings: Settings<'_>,
    ) -> Result<Option<NoWorse>> {
        let robust = self.robust_for(set)?;
        let (sign, policy) = (robust.direction().sign(), &self.policies[best]);
        let settings = settings.detail(Detail::Value);
        let mut most: Option<NoWorse> = None;
        for (k, against) in self.policies.iter().enumerate().filter(|(k, _)| *k != best) {
            let pair = (policy, against);
            let (found, _) =
                robust.worst_difference(pair, &self.range, set, &[radius], None, settings)?;
            let Some(case) = found.first() else { continue };
            if case.status() == Status::Stopped {
                return Err(Error::stopped());
            }
            let by = sign * case.value();
            let size = robust.values(&self.policies[k], &self.range.worst)?;
            let size = size.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            if most.as_ref().is_none_or(|m| by > m.by) {
                most = Some(NoWorse {
                    holds: by <= ROUNDING * size,
                    by,
                    against: against.name().to_owned(),
                    gap: case.gap(),
                    status: case.status(),
                });
            }
        }
        Ok(most)
    }
}

/// The policies whose worst case is best: all whose bounds do not tell them from it.
pub(super) fn best(cases: &[WorstCase], direction: Direction) -> Vec<usize> {
    // Costs, rewards turned round: the bounds of each.
    let bounds = |case: &WorstCase| match direction {
        Direction::Cost => (case.lower(), case.upper()),
        Direction::Reward => (-case.upper(), -case.lower()),
    };
    let least = cases.iter().map(|c| bounds(c).1).fold(f64::INFINITY, f64::min);
    let near = |case: &WorstCase| {
        let (low, high) = bounds(case);
        low - least <= ROUNDING * high.abs().max(least.abs())
    };
    (0..cases.len()).filter(|&k| near(&cases[k])).collect()
}
