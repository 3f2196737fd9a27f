//! Which policy leads, and which other it could lose most to in one and the same population.

use crate::evaluate::{Comparison, Evaluation};

/// The policy that could lose least to any other in one population.
pub fn leader(found: &Evaluation, k: usize) -> usize {
    let sign = found.direction.sign();
    let regret = |at: usize| {
        let name = &found.policies[at].name;
        let own = found.comparisons.iter().filter(|c| c.policy == *name);
        own.filter_map(|c| c.results.get(k))
            .map(|r| sign * r.bounds.worst.value)
            .fold(f64::NEG_INFINITY, f64::max)
    };
    let rivals = |at: usize| {
        let name = &found.policies[at].name;
        found.comparisons.iter().filter(|c| c.policy == *name).count()
    };
    // Of those compared with most: where not every pair was, the others have one rival alone.
    let most = (0..found.policies.len()).map(rivals).max().unwrap_or(0);
    let compared = (0..found.policies.len()).filter(|&at| rivals(at) == most);
    compared.min_by(|&a, &b| regret(a).total_cmp(&regret(b))).unwrap_or(0)
}

/// The comparison of a policy with the rival that it could lose most to.
pub fn closest(found: &Evaluation, leader: usize, k: usize) -> Option<&Comparison> {
    let (name, sign) = (&found.policies.get(leader)?.name, found.direction.sign());
    let own = found.comparisons.iter().filter(|c| c.policy == *name);
    let worst = |c: &&Comparison| {
        c.results.get(k).map_or(f64::NEG_INFINITY, |r| sign * r.bounds.worst.value)
    };
    own.max_by(|a, b| worst(a).total_cmp(&worst(b)))
}
