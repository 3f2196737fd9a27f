//! From here to there: what policies would cost in another population of which something is known, and
//! what recorded groups say of how wrong that is.
//!
//! ```text
//! centre   the log, weighed to be what is known of the target: doubly robust
//! bound    centre + what past groups needed, each left out and predicted from the others with the
//!          same knowledge (by rank, or by a prediction bound); without a history, centre + the worst
//!          coupling of what is known + z se
//! ```
//!
//! Not here: the mathematics ([`seawall::transfer`]).

mod answer;
mod backtest;
mod contrast;
mod history;
mod period;
mod score;

pub use answer::*;
pub use backtest::{Backtest, GroupBounds, Procedure, ProcedureRecord, Retrial, backtest};
pub(crate) use contrast::{Contrast, estimates, in_target, observed};
pub(crate) use history::{History, PastGroup};

use crate::prepare::PreparedStudy;
use crate::reference::{FEW_ROWS, Reference, Target, balance_note};

use crate::study::{HistorySpec, PolicySpec};
use crate::words::number;
use contrast::{coupling_slack, predicted};
pub(crate) use score::{Score, Trial, each, possible};
use seawall::evaluate::{Estimate, Support};
use seawall::outcome::Recipe;
use seawall::policy::Policy;
use seawall::transfer::{Allowance, BalanceSummary, Past, recency_weight};
use seawall::{Direction, Error, Field, Log, Result, Settings, Wasserstein, Watch};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The policies; the study's own if there are none.
    pub policies: Vec<PolicySpec>,
    /// How often bounds are to hold.
    pub level: f64,
    /// How they are made; the best that there are groups for if not said.
    pub method: Option<Method>,
    /// Whether policies are compared with the first one.
    pub compare: bool,
}

/// What policies would cost in a study's target.
pub fn transfer(
    prepared: &PreparedStudy,
    request: &Request,
    watch: Watch<'_>,
) -> Result<Transfers> {
    check_level(request.level)?;
    let (history, prepared) = recorded(prepared, request, watch)?;
    let target = target_of(&prepared)?;
    if history.is_none() && target.is_nothing() {
        return Err(Error::config(format!(
            "{}: nothing is known of the target, and no past groups are recorded; say what is known \
             ([target.known], `seawall describe` writes it; or --target FILE), or how groups are recorded \
             ([history] by = \"COLUMN\")",
            prepared.study.path().display()
        )));
    }
    let fitted = prepared.fitted(watch)?;
    let contrasts = contrasts(&prepared, request, watch)?;
    let reference = Reference::new(&target, fitted.log())?;
    let estimator = in_target(&reference, fitted, watch)?;
    let centres = estimates(&estimator, &contrasts)?;
    check_finite(&contrasts, &centres)?;
    let balance = estimator.balance()?;
    let (bounds, left_out) = match &history {
        None => {
            let support = listed(prepared.study.data.support);
            let slack = coupling_slack((fitted, &reference), &contrasts, support, watch)?;
            let reach = fitted.log().critical(2.0 * request.level - 1.0);
            let bounds = centres.iter().zip(slack).map(|(centre, couplings)| {
                let parts = AllowanceParts { sampling: reach * centre.se, between: 0.0, couplings };
                BoundBasis { method: Method::Couplings, parts, groups: Vec::new() }
            });
            (bounds.collect(), LeftOutGroups::default())
        }
        Some(history) => {
            let of = (&contrasts[..], &centres[..]);
            by_history((&prepared, history, &target), of, request, watch)?
        }
    };
    let thin = thin(&contrasts, fitted.log(), &balance)?;
    let (direction, level) = (fitted.log().direction(), request.level);
    let all = contrasts.iter().zip(&centres).zip(bounds).zip(&thin);
    let transfers = all.map(|(((contrast, centre), bounded), thin): (_, &Option<f64>)| {
        let transfer = bounded.around(contrast, centre, (level, direction), balance.clone());
        Transfer { bound: transfer.bound.filter(|_| thin.is_none()), ..transfer }
    });
    let (transfers, differences): (Vec<Transfer>, Vec<Transfer>) =
        transfers.partition(|t| t.against.is_none());
    let mut notes = thin_notes(&contrasts, &thin);
    notes.extend(general_notes(&prepared, &reference, &contrasts, history.is_some()));
    Ok(Transfers {
        direction,
        known: target_words(&target)?,
        by: history.as_ref().map(|h| h.by.words()),
        in_time: history.as_ref().is_some_and(|h| h.by.in_time),
        condition: condition(history.as_ref(), transfers.first()),
        notes,
        left_out,
        transfers,
        differences,
    })
}

/// The past groups, if bounds are made of them, and the study on contexts that it shares with them.
fn recorded(
    prepared: &PreparedStudy,
    request: &Request,
    watch: Watch<'_>,
) -> Result<(Option<History>, PreparedStudy)> {
    let prepared = prepared.on_support(prepared.study.data.support)?;
    let history = prepared.study.history.is_some() && request.method != Some(Method::Couplings);
    match (history, request.method) {
        (true, _) => {
            let (history, shared) = History::new(&prepared, watch)?;
            Ok((Some(history), shared))
        }
        (false, Some(method @ (Method::Rank | Method::Prediction))) => Err(Error::field(
            Field::Method,
            format!(
                "is {method}, which is made of past groups, and none are recorded: say by which column"
            ),
        )),
        (false, _) => Ok((None, prepared)),
    }
}

/// What is known of the target that a study is asked about, which may be nothing.
pub(crate) fn target_of(prepared: &PreparedStudy) -> Result<Target> {
    match prepared.target_population()? {
        Some(target) => Ok(target),
        None => Target::unknown(prepared.log()),
    }
}

/// What past groups say to allow for each contrast, and the groups that could not be counted.
fn by_history(
    (prepared, history, target): (&PreparedStudy, &History, &Target),
    (contrasts, centres): (&[Contrast], &[Estimate]),
    request: &Request,
    watch: Watch<'_>,
) -> Result<(Vec<BoundBasis>, LeftOutGroups)> {
    let quick = prepared.with_one_deal();
    let scores = Trial { prepared: &quick, history, target, contrasts }.all(watch)?;
    let left_out = LeftOutGroups {
        few_rows: history.few,
        lacking_action: history.lacking,
        unmatched: scores.iter().filter(|s| s.is_none()).count(),
    };
    let noise = grouped_errors(prepared, history, target, contrasts, watch)?;
    let bound = |at: usize| {
        let se = noise.as_ref().map_or(centres[at].se, |all| all[at].se);
        let own = Own { history, scores: &scores, at };
        own.allowance(request, se, own_noise(prepared, target))
    };
    Ok(((0..contrasts.len()).map(bound).collect::<Result<_>>()?, left_out))
}

/// Refuses a level that is none.
fn check_level(level: f64) -> Result<()> {
    if level > 0.5 && level < 1.0 {
        Ok(())
    } else {
        Err(Error::field(
            Field::Level,
            format!("is {level}; expected a number above 0.5 and below 1"),
        ))
    }
}

/// Refuses an estimate that is none.
pub(crate) fn check_finite(contrasts: &[Contrast], centres: &[Estimate]) -> Result<()> {
    let bad =
        contrasts.iter().zip(centres).find(|(_, e)| !(e.value.is_finite() && e.se.is_finite()));
    match bad {
        None => Ok(()),
        Some((contrast, _)) => Err(Error::input(format!(
            "{}: no estimate: the log has no row of what it does, or is too small to fold",
            contrast.policy.name()
        ))),
    }
}

/// The support that couplings are looked for on: one whose places are listed.
pub(crate) fn listed(support: Support) -> Support {
    match support {
        Support::All => Support::All,
        _ => Support::Observed,
    }
}

/// The policies asked about, and each one's difference to the first.
fn contrasts(
    prepared: &PreparedStudy,
    request: &Request,
    watch: Watch<'_>,
) -> Result<Vec<Contrast>> {
    let specs =
        if request.policies.is_empty() { &prepared.study.policies } else { &request.policies };
    let policies = policies(prepared, specs, watch)?;
    let greedy: Vec<bool> = specs.iter().map(|spec| prepared.study.is_greedy(spec)).collect();
    let own = |k: usize| Contrast {
        greedy: [greedy[k], false],
        ..Contrast::given(policies[k].clone(), None)
    };
    let mut all: Vec<Contrast> = (0..policies.len()).map(own).collect();
    if request.compare {
        all.extend((1..policies.len()).map(|k| Contrast {
            greedy: [greedy[k], greedy[0]],
            ..Contrast::given(policies[k].clone(), Some(policies[0].clone()))
        }));
    }
    Ok(all)
}

/// Policies by what is said of them; the greedy one by the plain means.
pub(crate) fn policies(
    prepared: &PreparedStudy,
    specs: &[PolicySpec],
    watch: Watch<'_>,
) -> Result<Vec<Policy>> {
    let settings = Settings { watch, ..Settings::default() };
    let contexts = prepared.contexts_on(Support::Observed)?;
    let values = prepared.fitted(watch)?.values_on(&contexts, Wasserstein.at(0.0), settings)?;
    specs.iter().map(|spec| prepared.policy(spec, &values, watch)).collect()
}

/// The estimates again with every group a cluster: what their noise is where groups differ. None where
/// the groups are not in the log.
pub(crate) fn grouped_errors(
    prepared: &PreparedStudy,
    history: &History,
    target: &Target,
    contrasts: &[Contrast],
    watch: Watch<'_>,
) -> Result<Option<Vec<Estimate>>> {
    if !history.groups.iter().any(|g| g.inside) {
        return Ok(None);
    }
    let log = history.log.clustered_by_group()?.shared();
    let fitted = prepared.with_one_deal().fitted_to(&log, watch)?;
    predicted(&fitted, target, contrasts, watch).map(Some)
}

/// The variance of the target's own mean around what is expected, if its size is known.
pub(crate) fn own_noise(prepared: &PreparedStudy, target: &Target) -> f64 {
    let size = match target {
        Target::Sample(sample) => Some(sample.rows() as f64),
        Target::Facts(_) => prepared.study.target.size,
    };
    size.map_or(0.0, |n| outcome_variance(prepared.log()) / n)
}

/// The variance of the log's outcomes.
pub(crate) fn outcome_variance(log: &Log) -> f64 {
    let (mut mean, mut squares) = (0.0, 0.0);
    for e in log.entries() {
        let share = e.weight / log.total();
        mean += share * log.value(e);
        squares += share * log.value(e).powi(2);
    }
    (squares - mean * mean).max(0.0)
}

/// How a bound is made, and of what.
pub(crate) struct BoundBasis {
    method: Method,
    parts: AllowanceParts,
    groups: Vec<GroupScore>,
}

impl BoundBasis {
    /// The bound around a centre.
    pub(crate) fn around(
        self,
        contrast: &Contrast,
        centre: &Estimate,
        (level, direction): (f64, Direction),
        balance: BalanceSummary,
    ) -> Transfer {
        Transfer {
            policy: contrast.policy.name().to_owned(),
            against: contrast.against.as_ref().map(|p| p.name().to_owned()),
            centre: centre.value,
            se: centre.se,
            bound: Some(centre.value + direction.sign() * self.parts.total()),
            level,
            method: self.method,
            allowance: self.parts,
            balance,
            held: self.groups.iter().filter(|g| g.held).count(),
            groups: self.groups,
        }
    }
}

/// One policy's scores.
pub(crate) struct Own<'a> {
    pub(crate) history: &'a History,
    pub(crate) scores: &'a [Option<Vec<Score>>],
    pub(crate) at: usize,
}

impl Own<'_> {
    /// The groups that could be predicted, with what each counts for.
    fn past(&self) -> Vec<(usize, Score, Past)> {
        let (count, half_life) = (self.history.len(), self.history.by.half_life);
        let scored = self.scores.iter().enumerate();
        let scored = scored.filter_map(|(g, s)| s.as_ref().map(|s| (g, s[self.at])));
        scored.map(|(g, s)| (g, s, s.past(recency_weight(half_life, count - g)))).collect()
    }

    /// What the groups say to allow.
    pub(crate) fn allowance(
        &self,
        request: &Request,
        se: f64,
        own_noise: f64,
    ) -> Result<BoundBasis> {
        let scored = self.past();
        let past: Vec<Past> = scored.iter().map(|s| s.2).collect();
        let allowance = allowance(&past, request, (se, own_noise), &self.history.by)?;
        let method = match allowance.method {
            seawall::transfer::Method::Rank => Method::Rank,
            seawall::transfer::Method::Prediction => Method::Prediction,
        };
        let parts = AllowanceParts {
            sampling: allowance.sampling,
            between: allowance.between,
            couplings: 0.0,
        };
        let group = |(g, score, _): &(usize, Score, Past)| {
            let own = &self.history.groups[*g];
            GroupScore {
                group: own.name.clone(),
                rows: own.log.rows(),
                predicted: score.predicted.value,
                real: score.real.value,
                real_se: score.real.se,
                score: score.needed,
                held: score.needed <= allowance.total,
            }
        };
        Ok(BoundBasis { method, parts, groups: scored.iter().map(group).collect() })
    }
}

/// What past groups say: by rank where there are enough of them for the level, else by prediction.
fn allowance(
    past: &[Past],
    request: &Request,
    (se, own_noise): (f64, f64),
    by: &HistorySpec,
) -> Result<Allowance> {
    let weight: f64 = past.iter().map(|p| p.weight).sum();
    let enough = weight / (weight + 1.0) >= request.level - 1e-12;
    match request.method {
        Some(Method::Rank) => Allowance::rank(past, request.level),
        None if enough && by.at_once == 1.0 => Allowance::rank(past, request.level),
        _ => Allowance::prediction(past, request.level, se, own_noise, by.at_once),
    }
}

/// What is known, in words.
fn target_words(target: &Target) -> Result<Vec<String>> {
    Ok(match target {
        Target::Sample(sample) => vec![format!("contexts of {} people", sample.rows())],
        Target::Facts(known) => {
            let names: Vec<&str> = known.space().names().collect();
            let column = |k: usize| match known.of(k) {
                [] => None,
                [one] => Some(known.describe(one)),
                _ => Some(format!("shares of {}", names[k])),
            };
            (0..names.len()).filter_map(column).collect()
        }
    })
}

/// What the bounds claim, and what they do not.
fn condition(history: Option<&History>, first: Option<&Transfer>) -> String {
    let Some(history) = history else {
        return "Covers contexts that go together otherwise than in the log, and sampling noise; \
                outcomes given context are assumed not to move."
            .to_owned();
    };
    let by = history.by.words();
    let covers = if history.by.in_time {
        format!("Covers shifts like those from one {by} to the next in your record")
    } else {
        format!("Covers shifts like those between your recorded groups ({by})")
    };
    let elsewhere = "it does not cover a move to where no recorded group is like the target: from \
                     hospitals of one country to another country, say";
    let claim = match first.map(|t| (t.method, t.level)) {
        Some((Method::Rank, level)) => format!(
            " If the target is one more of them, its own mean is within the bound with probability at \
             least {}: on average over targets, not for yours alone{}.",
            crate::words::percent(level),
            if history.groups.iter().any(|g| g.inside) {
                ", and nearly so for groups that are in the log"
            } else {
                ""
            }
        ),
        Some((_, level)) => format!(
            " It is a prediction of about {}, which needs effects that are near to normal: weak where they \
             are skewed, or groups are few.",
            crate::words::percent(level)
        ),
        None => String::new(),
    };
    format!("{covers}; {elsewhere}.{claim}")
}

/// The effective sample size of each contrast after reweighting to the target, where it is too small to
/// support a bound; None where it is not.
fn thin(contrasts: &[Contrast], log: &Log, balance: &BalanceSummary) -> Result<Vec<Option<f64>>> {
    let people = log.population()?;
    let rows: Vec<f64> = balance.effective_rows.iter().map(|(_, rows)| *rows).collect();
    // A mean of arms, each weighed by how often the policy takes it.
    let effective = |policy: &Policy| {
        let mut shares = vec![0.0; rows.len()];
        for (x, weight) in people.weights().iter().enumerate().filter(|(_, w)| **w > 0.0) {
            shares.iter_mut().zip(policy.row(x)).for_each(|(share, p)| *share += weight * p);
        }
        let taken = shares.iter().zip(&rows).filter(|(share, _)| **share > 0.0);
        taken.map(|(share, rows)| share * share / rows).sum::<f64>().recip()
    };
    let least = |contrast: &Contrast| {
        let own = effective(&contrast.policy);
        contrast.against.as_ref().map_or(own, |other| own.min(effective(other)))
    };
    Ok(contrasts.iter().map(|c| Some(least(c)).filter(|rows| *rows < FEW_ROWS)).collect())
}

/// A note for each policy that too few rows support a bound for.
fn thin_notes(contrasts: &[Contrast], thin: &[Option<f64>]) -> Vec<String> {
    let alone = contrasts.iter().zip(thin).filter(|(contrast, _)| contrast.against.is_none());
    let note = |(contrast, thin): (&Contrast, &Option<f64>)| {
        Some(format!(
            "the effective sample size of {} after reweighting to the target is {}, below {FEW_ROWS}: \
             no bound is given",
            contrast.policy.name(),
            number((*thin)?)
        ))
    };
    alone.filter_map(note).collect()
}

/// What to know before believing it.
fn general_notes(
    prepared: &PreparedStudy,
    reference: &Reference,
    contrasts: &[Contrast],
    history: bool,
) -> Vec<String> {
    let mut notes: Vec<String> = reference.balance().and_then(balance_note).into_iter().collect();
    notes.extend(prepared.means_note());
    if let Some(c) = contrasts.iter().find(|c| c.greedy[0]) {
        let what = if history {
            "centre is too good; past groups were predicted for one that was chosen without \
                     them, so the allowance covers that"
        } else {
            "estimates are too good"
        };
        let name = c.policy.name();
        notes.push(format!("{name} was chosen on the rows that value it, so its {what}"));
    }
    if history && matches!(prepared.model.recipe, Recipe::Predictions(_)) {
        notes.push(
            "the model's predictions were brought: if they were fitted to past groups, these were not \
             predicted blind"
                .to_owned(),
        );
    }
    notes
}
