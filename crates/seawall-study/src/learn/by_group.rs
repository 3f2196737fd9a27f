//! A learned policy valued on past groups that did not choose it.
//!
//! Groups are dealt to folds; without each fold the policy is learned anew, and each of its groups is
//! predicted for that policy with what will be known of the target and then looked at. What was needed is
//! the allowance of the policy learned from all rows: its centre is as optimistic as theirs were, so the
//! allowance covers the choosing, too. The difference to a baseline comes first: what groups have in
//! common cancels in it.

use super::honest::usual;
use super::{Found, GroupsResult, LearnedPolicy, Question, baseline};
use crate::load::Loaded;
use crate::transfer::{
    Aim, Contrast, Knowledge, Own, Recorded, Request, Score, Trial, check_finite, each,
    grouped_errors, observed, own_noise, possible, quick,
};
use seawall::evaluate::Fitted;
use seawall::policy::Policy;
use seawall::{Entry, Error, Result, Settings, Status, Wasserstein, Watch};

/// Folds that groups are dealt to at most: the policy is learned as often.
const FOLDS: usize = 10;

/// Values a learned policy on past groups; `loaded` is counted by them.
pub fn by_group(
    loaded: &Loaded,
    question: &Question,
    learned: &LearnedPolicy,
    level: f64,
    watch: Watch<'_>,
) -> Result<GroupsResult> {
    let anywhere = loaded.on_support(question.support)?;
    let (recorded, loaded) = Recorded::new(anywhere.as_deref().unwrap_or(loaded), watch)?;
    let quick = quick(&loaded);
    let knowledge = Knowledge::of_target(&loaded)?;
    let folds = recorded.len().min(FOLDS);
    let parts = each(folds, watch, |fold, inside| {
        let own = fold_of(&recorded, fold, folds);
        fold_scores(&quick, question, (&recorded, &knowledge), &own, inside)
    })?;
    let mut scores: Vec<Option<Vec<Score>>> = vec![None; recorded.len()];
    for (group, score) in parts.into_iter().flatten() {
        scores[group] = score;
    }
    let log = loaded.log();
    let policy = learned.file.on(log.contexts(), log.actions())?;
    let fitted = loaded.fitted(watch)?;
    let contrasts = contrasts(&loaded, question, fitted, policy, watch)?;
    let aim = Aim::new(fitted, &knowledge)?;
    let centres = aim.estimates(&contrasts, watch)?;
    check_finite(&contrasts, &centres)?;
    let request = Request { policies: Vec::new(), level, method: None, compare: true };
    let noise = own_noise(&loaded, &knowledge);
    let grouped = grouped_errors(&loaded, &recorded, &knowledge, &contrasts, watch)?;
    let balance = aim.summary(watch)?;
    let mut transfers = Vec::new();
    for (at, (contrast, centre)) in contrasts.iter().zip(&centres).enumerate() {
        let se = grouped.as_ref().map_or(centre.se, |all| all[at].se);
        let bounded =
            Own { recorded: &recorded, scores: &scores, at }.allowance(&request, se, noise)?;
        transfers.push(bounded.around(contrast, centre, (level, log.direction()), balance.clone()));
    }
    let value = transfers.pop().ok_or_else(|| Error::internal("a policy without a value"))?;
    let difference = transfers.pop().ok_or_else(|| Error::internal("no difference"))?;
    Ok(GroupsResult { by: recorded.by.words(), folds, difference, value })
}

/// The groups of a fold: every so many, or in time those that follow each other.
fn fold_of(recorded: &Recorded, fold: usize, folds: usize) -> Vec<usize> {
    let count = recorded.len();
    match recorded.by.in_time {
        false => (fold..count).step_by(folds).collect(),
        true => (fold * count / folds..(fold + 1) * count / folds).collect(),
    }
}

/// The difference to the baseline, and the policy itself.
fn contrasts(
    loaded: &Loaded,
    question: &Question,
    fitted: &Fitted,
    policy: Policy,
    watch: Watch<'_>,
) -> Result<[Contrast; 2]> {
    let settings = Settings { watch, ..Settings::default() };
    let contexts = observed(fitted.log())?;
    let values = fitted.values_on(&contexts, Wasserstein.at(0.0), settings)?;
    let base = match baseline(loaded, question, &values, watch)? {
        Some(policy) => policy,
        None => usual(loaded, question, &values, watch)?,
    };
    let own = Contrast::given(policy.clone(), None);
    Ok([Contrast::given(policy, Some(base)), own])
}

/// Learns without some groups, and looks at each of them; none where it cannot be predicted.
fn fold_scores(
    loaded: &Loaded,
    question: &Question,
    (recorded, knowledge): (&Recorded, &Knowledge),
    own: &[usize],
    watch: Watch<'_>,
) -> Result<Vec<(usize, Option<Vec<Score>>)>> {
    let inside = own.iter().filter(|&&group| recorded.groups[group].inside);
    let places: Vec<u32> = inside.map(|&group| recorded.groups[group].place).collect();
    let first = places.first().copied().filter(|_| recorded.by.in_time);
    let later = |g: u32| g != Entry::ALONE && first.is_some_and(|first| g >= first);
    let rest = recorded.rest(|g| places.contains(&g) || later(g));
    let fitted = rest.and_then(|rest| loaded.fitted_to(&rest.shared(), watch));
    let Some(fitted) = possible(fitted)? else { return Ok(Vec::new()) };
    let Some(found) = possible(Found::new(loaded, &fitted, question, None, watch))? else {
        return Ok(Vec::new());
    };
    if found.learned.status() == Status::Stopped {
        return Err(Error::stopped());
    }
    let policy = found.learned.policy().clone();
    let contrasts = contrasts(loaded, question, &fitted, policy, watch)?;
    let trial = Trial { loaded, recorded, knowledge, contrasts: &contrasts };
    own.iter().map(|&group| Ok((group, trial.scores(&fitted, group, watch)?))).collect()
}
