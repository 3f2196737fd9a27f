//! A learned policy valued on past groups that did not choose it.
//!
//! Groups are dealt to folds; without each fold the policy is learned anew, and each of its groups is
//! predicted for that policy with what will be known of the target and then looked at. What was needed is
//! the allowance of the policy learned from all rows: its centre is as optimistic as theirs were, so the
//! allowance covers the choosing, too. The difference to a baseline comes first: what groups have in
//! common cancels in it.

use super::honest::usual;
use super::{Found, GroupsResult, LearnedPolicy, Question, baseline};
use crate::prepare::PreparedStudy;
use crate::reference::{Reference, Target};
use crate::transfer::{
    Contrast, History, Own, Request, Score, Trial, check_finite, each, estimates, grouped_errors,
    in_target, observed, own_noise, possible, target_of,
};
use seawall::evaluate::Evaluator;
use seawall::policy::Policy;
use seawall::{Entry, Error, Result, Settings, Status, Wasserstein, Watch};

/// Folds that groups are dealt to at most: the policy is learned as often.
const FOLDS: usize = 10;

/// Values a learned policy on past groups; `prepared` is counted by them.
pub fn by_group(
    prepared: &PreparedStudy,
    question: &Question,
    learned: &LearnedPolicy,
    level: f64,
    watch: Watch<'_>,
) -> Result<GroupsResult> {
    let (history, prepared) = History::new(&prepared.on_support(question.support)?, watch)?;
    let quick = prepared.with_one_deal();
    let target = target_of(&prepared)?;
    let folds = history.len().min(FOLDS);
    let parts = each(folds, watch, |fold, inside| {
        let own = fold_of(&history, fold, folds);
        fold_scores(&quick, question, (&history, &target), &own, inside)
    })?;
    let mut scores: Vec<Option<Vec<Score>>> = vec![None; history.len()];
    for (group, score) in parts.into_iter().flatten() {
        scores[group] = score;
    }
    let log = prepared.log();
    let policy = learned.kept.file.on(log.contexts(), log.actions())?;
    let fitted = prepared.fitted(watch)?;
    let contrasts = contrasts(&prepared, question, fitted, policy, watch)?;
    let reference = Reference::new(&target, fitted.log())?;
    let estimator = in_target(&reference, fitted, watch)?;
    let centres = estimates(&estimator, &contrasts)?;
    check_finite(&contrasts, &centres)?;
    let request = Request { policies: Vec::new(), level, method: None, compare: true };
    let noise = own_noise(&prepared, &target);
    let grouped = grouped_errors(&prepared, &history, &target, &contrasts, watch)?;
    let balance = estimator.balance()?;
    let mut transfers = Vec::new();
    for (at, (contrast, centre)) in contrasts.iter().zip(&centres).enumerate() {
        let se = grouped.as_ref().map_or(centre.se, |all| all[at].se);
        let bounded =
            Own { history: &history, scores: &scores, at }.allowance(&request, se, noise)?;
        transfers.push(bounded.around(contrast, centre, (level, log.direction()), balance.clone()));
    }
    let value = transfers.pop().ok_or_else(|| Error::internal("a policy without a value"))?;
    let difference = transfers.pop().ok_or_else(|| Error::internal("no difference"))?;
    Ok(GroupsResult { by: history.by.words(), folds, difference, value })
}

/// The groups of a fold: every so many, or in time those that follow each other.
fn fold_of(history: &History, fold: usize, folds: usize) -> Vec<usize> {
    let count = history.len();
    if history.by.in_time {
        (fold * count / folds..(fold + 1) * count / folds).collect()
    } else {
        (fold..count).step_by(folds).collect()
    }
}

/// The difference to the baseline, and the policy itself.
fn contrasts(
    prepared: &PreparedStudy,
    question: &Question,
    fitted: &Evaluator,
    policy: Policy,
    watch: Watch<'_>,
) -> Result<[Contrast; 2]> {
    let settings = Settings { watch, ..Settings::default() };
    let contexts = observed(fitted.log())?;
    let values = fitted.values_on(&contexts, Wasserstein.at(0.0), settings)?;
    let base = match baseline(prepared, question, &values, watch)? {
        Some(policy) => policy,
        None => usual(prepared, question, &values, watch)?,
    };
    let own = Contrast::given(policy.clone(), None);
    Ok([Contrast::given(policy, Some(base)), own])
}

/// Learns without some groups, and looks at each of them; none where it cannot be predicted.
fn fold_scores(
    prepared: &PreparedStudy,
    question: &Question,
    (history, target): (&History, &Target),
    own: &[usize],
    watch: Watch<'_>,
) -> Result<Vec<(usize, Option<Vec<Score>>)>> {
    let inside = own.iter().filter(|&&group| history.groups[group].inside);
    let places: Vec<u32> = inside.map(|&group| history.groups[group].place).collect();
    let first = places.first().copied().filter(|_| history.by.in_time);
    let later = |g: u32| g != Entry::ALONE && first.is_some_and(|first| g >= first);
    let rest = history.rest(|g| places.contains(&g) || later(g));
    let fitted = rest.and_then(|rest| prepared.fitted_to(&rest.shared(), watch));
    let Some(fitted) = possible(fitted)? else { return Ok(Vec::new()) };
    let Some(found) = possible(Found::new(prepared, &fitted, question, None, watch))? else {
        return Ok(Vec::new());
    };
    if found.learned.status() == Status::Stopped {
        return Err(Error::stopped());
    }
    let policy = found.learned.policy().clone();
    let contrasts = contrasts(prepared, question, &fitted, policy, watch)?;
    let trial = Trial { prepared, history, target, contrasts: &contrasts };
    own.iter().map(|&group| Ok((group, trial.scores(&fitted, group, watch)?))).collect()
}
