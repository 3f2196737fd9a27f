//! Every way to a bound, tried on every past group: how often it held, and by how much it exceeded what
//! really happened.
//!
//! | procedure | bound |
//! |---|---|
//! | `nominal` | the log without the group, and noise |
//! | `ball` | the worst case within a radius of it: the study's largest, else that between random halves |
//! | `balanced` | the log made like the group by what is known, and noise |
//! | `couplings` | the same, and the worst coupling of what is known |
//! | `history` | the same centre, and what the other groups needed |
//!
//! For the history a group and the one that is judged are left out both, so that neither knows the
//! other. Groups in time are predicted from earlier ones only.

use super::contrast::{Contrast, coupling_slack};
use super::history::History;
use super::score::{Score, Trial, each, possible};
use super::{
    LeftOutGroups, Request, allowance, check_level, listed, outcome_variance, policies, target_of,
};
use crate::prepare::PreparedStudy;
use crate::radius::halves_apart;
use crate::reference::{Reference, Target};
use crate::study::PolicySpec;
use seawall::evaluate::{Evaluator, Support};
use seawall::policy::Policy;
use seawall::transfer::{BoundRecord, Past, recency_weight};
use seawall::{Direction, Error, Result, Settings, Shift, Wasserstein, Watch};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Up to so many groups, pairs of them are left out; beyond, what another group needed was found with
/// the judged one in the log.
const PAIRED: usize = 40;
/// Random halves that say how far a ball goes where the study does not.
const SPLITS: usize = 5;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Retrial {
    /// The policy; the study's first if not said.
    pub policy: Option<PolicySpec>,
    /// How often bounds are to hold.
    pub level: f64,
}

/// A way to a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Procedure {
    /// Nothing shifts.
    Nominal,
    /// The plain ball.
    Ball,
    /// The balanced log.
    Balanced,
    /// The worst coupling of what is known.
    Couplings,
    /// What past groups needed.
    History,
}

impl Procedure {
    const ALL: [Procedure; 5] = [
        Procedure::Nominal,
        Procedure::Ball,
        Procedure::Balanced,
        Procedure::Couplings,
        Procedure::History,
    ];
}

impl fmt::Display for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Procedure::Nominal => "nominal",
            Procedure::Ball => "ball",
            Procedure::Balanced => "balanced",
            Procedure::Couplings => "couplings",
            Procedure::History => "history",
        })
    }
}

/// How every procedure did on every past group.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Backtest {
    /// What groups are recorded by.
    pub by: String,
    /// The policy.
    pub policy: String,
    /// How often bounds are to hold.
    pub level: f64,
    /// Whether lower or higher is better.
    pub direction: Direction,
    /// Whether groups were predicted from earlier ones only.
    pub in_time: bool,
    /// The radius of the ball.
    pub radius: f64,
    /// Procedure by procedure.
    pub procedures: Vec<ProcedureRecord>,
    /// Group by group.
    pub groups: Vec<GroupBounds>,
    /// Groups that are not counted.
    pub left_out: LeftOutGroups,
    /// The procedure with the least excess among those that held as often as they should.
    pub recommended: Procedure,
    /// Why, and what else to know.
    pub notes: Vec<String>,
}

/// How a procedure did.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcedureRecord {
    /// The procedure.
    pub name: Procedure,
    /// Groups that it held for.
    pub held: usize,
    /// Of so many.
    pub of: usize,
    /// By how much its bound was beyond what really happened, on average.
    pub mean_excess: f64,
    /// And in the middle.
    pub median_excess: f64,
}

/// A group, and every procedure's bound.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupBounds {
    /// Its name.
    pub group: String,
    /// Its rows.
    pub rows: f64,
    /// What it really cost.
    pub real: f64,
    /// The bounds, by procedure.
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, f64>"))]
    pub bounds: BTreeMap<Procedure, f64>,
}

/// What the log without a group says of it.
struct Judged {
    score: Score,
    bounds: BTreeMap<Procedure, f64>,
    /// The standard error of the balanced estimate, and the variance that a group of its size has by
    /// chance, as the others tell.
    se: f64,
    own_noise: f64,
}

/// Tries every procedure on every past group.
pub fn backtest(prepared: &PreparedStudy, retrial: &Retrial, watch: Watch<'_>) -> Result<Backtest> {
    check_level(retrial.level)?;
    let (history, prepared) =
        History::new(&prepared.on_support(prepared.study.data.support)?, watch)?;
    let target = match target_of(&prepared)? {
        nothing if nothing.is_nothing() => Target::margins(prepared.log())?,
        known => known,
    };
    let spec = retrial.policy.as_ref().or(prepared.study.policies.first());
    let spec = spec.ok_or_else(|| Error::config("the study has no policy"))?;
    let policy = policies(&prepared, std::slice::from_ref(spec), watch)?.remove(0);
    let (radius, radius_words) = ball(&prepared, &policy, watch)?;
    let greedy = [prepared.study.is_greedy(spec), false];
    let contrasts = [Contrast { greedy, ..Contrast::given(policy.clone(), None) }];
    let quick = prepared.with_one_deal();
    let (history, target, contrasts) = (&history, &target, &contrasts);
    let trial = Trial { prepared: &quick, history, target, contrasts };
    let task = BacktestTask { trial: &trial, level: retrial.level, within: Wasserstein.at(radius) };
    let judged = each(history.len(), watch, |group, inside| task.judge(group, inside))?;
    let mut judged: Vec<Option<Judged>> = judged;
    let paired = task.add_history(&mut judged, watch)?;
    let direction = prepared.log().direction();
    let groups: Vec<GroupBounds> = history
        .groups
        .iter()
        .zip(&judged)
        .filter_map(|(group, judged)| {
            let judged = judged.as_ref()?;
            Some(GroupBounds {
                group: group.name.clone(),
                rows: group.log.rows(),
                real: judged.score.real.value,
                bounds: judged.bounds.clone(),
            })
        })
        .collect();
    let tried = Procedure::ALL.into_iter();
    let tried = tried.filter_map(|name| Some((name, record(name, &groups, direction)?)));
    let (names, records): (Vec<Procedure>, Vec<BoundRecord>) = tried.unzip();
    let recommended = BoundRecord::best(&records, retrial.level)
        .ok_or_else(|| Error::input("no group could be predicted from the others"))?;
    let procedures = names.iter().zip(&records).map(|(n, r)| ProcedureRecord::new(*n, r));
    let mut notes = vec![radius_words];
    if !paired && !history.by.in_time {
        notes.push(format!(
            "with more than {PAIRED} groups, what another group needed was found with the judged one in \
             the log"
        ));
    }
    Ok(Backtest {
        by: history.by.words(),
        policy: policy.name().to_owned(),
        level: retrial.level,
        direction,
        in_time: history.by.in_time,
        radius,
        left_out: LeftOutGroups {
            few_rows: history.few,
            lacking_action: history.lacking,
            unmatched: history.len() - groups.len(),
        },
        procedures: procedures.collect(),
        groups,
        recommended: names[recommended],
        notes,
    })
}

/// How far the plain ball goes, and why.
fn ball(prepared: &PreparedStudy, policy: &Policy, watch: Watch<'_>) -> Result<(f64, String)> {
    let set = &prepared.study.context_set;
    let most = set.radii.iter().copied().filter(|r| r.is_finite()).fold(0.0, f64::max);
    if set.set == Wasserstein.into() && most > 0.0 {
        return Ok((most, format!("the ball's radius is the study's largest, {most}")));
    }
    let apart = halves_apart(prepared, policy, SPLITS, watch)?;
    Ok((apart, format!("the ball's radius is the mean distance between random halves, {apart:.4}")))
}

/// How a procedure did; None where it has no bound.
fn record(name: Procedure, groups: &[GroupBounds], direction: Direction) -> Option<BoundRecord> {
    let excess =
        |g: &GroupBounds| g.bounds.get(&name).map(|bound| direction.sign() * (bound - g.real));
    BoundRecord::new(groups.iter().filter_map(excess).collect())
}

impl ProcedureRecord {
    fn new(name: Procedure, record: &BoundRecord) -> Self {
        let BoundRecord { held, of, mean_excess, median_excess } = *record;
        ProcedureRecord { name, held, of, mean_excess, median_excess }
    }
}

struct BacktestTask<'a> {
    trial: &'a Trial<'a>,
    level: f64,
    within: Shift,
}

impl BacktestTask<'_> {
    /// The bounds that need no other group; none where the group cannot be predicted.
    fn judge(&self, group: usize, watch: Watch<'_>) -> Result<Option<Judged>> {
        let Some(fitted) = possible(self.trial.fitted_without(group, None, watch))? else {
            return Ok(None);
        };
        let Some(scores) = self.trial.scores(&fitted, group, watch)? else { return Ok(None) };
        let score = scores[0];
        let contrast = self.trial.contrasts[0].chosen_by(self.trial.prepared, &fitted, watch)?;
        let contrasts = std::slice::from_ref(&contrast);
        let direction = fitted.log().direction();
        let reach = fitted.log().critical(2.0 * self.level - 1.0);
        let mut bounds = BTreeMap::new();
        let found = fitted.nominal(&contrast.policy, watch)?;
        if let Some(nominal) = found.dr {
            let bound = nominal.value + direction.sign() * reach * nominal.se;
            bounds.insert(Procedure::Nominal, bound);
        }
        // A place where an action was never seen has no value, and so no worst case.
        if let Some(worst) = possible(self.worst(&fitted, &contrast.policy, watch))? {
            bounds.insert(Procedure::Ball, worst);
        }
        let balanced = score.predicted.value + direction.sign() * reach * score.predicted.se;
        bounds.insert(Procedure::Balanced, balanced);
        let own = &self.trial.history.groups[group];
        let known = self.trial.target.measured_on(&own.log)?;
        let support = listed(self.trial.prepared.study.data.support);
        let slack = Reference::new(&known, fitted.log())
            .and_then(|there| coupling_slack((&fitted, &there), contrasts, support, watch));
        // The facts may be about places that the support does not have.
        if let Some(slack) = possible(slack)? {
            bounds.insert(Procedure::Couplings, balanced + direction.sign() * slack[0]);
        }
        // By rows: what differs between groups is counted apart.
        let spread = fitted.log().rows() / found.overlap.effective_sample_size;
        let own_noise = spread * outcome_variance(fitted.log()) / own.log.rows();
        Ok(Some(Judged { score, bounds, se: score.predicted.se, own_noise }))
    }

    /// The worst case in the ball around the log without the group.
    fn worst(&self, fitted: &Evaluator, policy: &Policy, watch: Watch<'_>) -> Result<f64> {
        let support = self.trial.prepared.study.data.support;
        let settings = Settings { watch, ..Settings::default() };
        let robust = fitted.robust(support)?;
        let values = match support {
            Support::Space => fitted.values(Wasserstein.at(0.0), settings)?,
            _ => fitted.values_on(robust.points(), Wasserstein.at(0.0), settings)?,
        };
        Ok(robust.worst_case(policy, &values, self.within, settings)?.value())
    }

    /// Adds the bound that other groups make; whether the judged group was out of the log, too.
    fn add_history(&self, judged: &mut [Option<Judged>], watch: Watch<'_>) -> Result<bool> {
        let history = self.trial.history;
        let count = history.len();
        let paired = !history.by.in_time
            && count <= PAIRED
            && history.groups.iter().any(|group| group.inside);
        let needed = if paired { self.pairs(count, watch)? } else { Vec::new() };
        let sign = self.trial.prepared.log().direction().sign();
        let request =
            Request { policies: Vec::new(), level: self.level, method: None, compare: false };
        let alone: Vec<Option<Score>> =
            judged.iter().map(|j| j.as_ref().map(|j| j.score)).collect();
        for (g, own) in judged.iter_mut().enumerate() {
            let Some(own) = own else { continue };
            let others = (0..count).filter(|&h| h != g && (!history.by.in_time || h < g));
            let past: Vec<Past> = others
                .filter_map(|h| {
                    let score = if paired { needed[h * count + g] } else { alone[h] };
                    let ago = if history.by.in_time { g - h } else { 1 };
                    score.map(|s| s.past(recency_weight(history.by.half_life, ago)))
                })
                .collect();
            if past.len() < 2 {
                continue;
            }
            let made = allowance(&past, &request, (own.se, own.own_noise), &history.by)?;
            let centre = own.score.predicted.value;
            own.bounds.insert(Procedure::History, centre + sign * made.total);
        }
        Ok(paired)
    }

    /// What each group needed with another one out of the log, too: `[group · count + the other]`.
    fn pairs(&self, count: usize, watch: Watch<'_>) -> Result<Vec<Option<Score>>> {
        let pairs: Vec<(usize, usize)> =
            (0..count).flat_map(|g| (0..g).map(move |h| (g, h))).collect();
        let both = each(pairs.len(), watch, |at, inside| {
            let (g, h) = pairs[at];
            let Some(fitted) = possible(self.trial.fitted_without(g, Some(h), inside))? else {
                return Ok([None, None]);
            };
            let first = |scores: Option<Vec<Score>>| scores.map(|s| s[0]);
            Ok([
                first(self.trial.scores(&fitted, g, inside)?),
                first(self.trial.scores(&fitted, h, inside)?),
            ])
        })?;
        let mut needed = vec![None; count * count];
        for (&(g, h), [of_g, of_h]) in pairs.iter().zip(both) {
            (needed[g * count + h], needed[h * count + g]) = (of_g, of_h);
        }
        Ok(needed)
    }
}
