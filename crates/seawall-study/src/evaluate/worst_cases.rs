//! Worst cases of every policy: values with their bounds, populations, curves, and the radii that mean something
//! to a policy.

use super::basis::EvaluationBasis;
use super::differences::{SolvedDifferences, differences};
use super::effects::Effects;
use super::estimates::Estimates;
use super::values::{ShiftFacts, SolvedShift};
use super::{CURVE_TOLERANCE, PolicyRadii, joint_sets, policy_radii};
use seawall::evaluate::{JointEstimate, Support};
use seawall::outcome::Values;
use seawall::policy::Policy;
use seawall::{Curve, Detail, Error, Progress, Result, Settings, Stage, Status, Watch, WorstCase};

/// Worst cases, by policy and by compared pair.
pub(super) struct WorstCases {
    pub(super) policies: Vec<PolicyWorstCases>,
    /// Pair by pair, as the basis has them.
    pub(super) differences: Vec<SolvedDifferences>,
}

/// Worst cases of one policy: every context radius at every cost radius.
pub(super) struct PolicyWorstCases {
    pub(super) radii: PolicyRadii,
    pub(super) values: Vec<SolvedShift>,
    /// The worst cases themselves, in the same order.
    pub(super) worst: Vec<WorstCase>,
    /// The curves, one per cost radius, if asked for.
    pub(super) curves: Vec<Curve>,
    /// The policy's value in each context of the support, one list per cost radius.
    pub(super) by_context: Vec<Vec<f64>>,
    /// What they rest on that no data can say.
    pub(super) notes: Vec<String>,
}

impl WorstCases {
    pub(super) fn new(
        basis: &EvaluationBasis<'_>,
        effects: &Effects,
        estimates: &Estimates,
        watch: Watch<'_>,
    ) -> Result<Self> {
        let one = |policy: usize| {
            let direct = estimates.policies[policy].direct();
            let own = &basis.policies[policy].policy;
            let both = (basis.fitted, &*basis.robust);
            let radii = policy_radii(&basis.question, both, (own, &basis.costs[0]), direct, watch)?;
            PolicyWorstCases::new(basis, own, radii, watch)
        };
        Ok(WorstCases {
            policies: (0..basis.policies.len()).map(one).collect::<Result<_>>()?,
            differences: differences(basis, effects, estimates, watch)?,
        })
    }
}

/// The worst cases at one cost radius, and the curve if it was asked for.
struct AtCostRadius {
    values: Vec<SolvedShift>,
    worst: Vec<WorstCase>,
    curve: Option<Curve>,
}

impl PolicyWorstCases {
    fn new(
        basis: &EvaluationBasis<'_>,
        policy: &Policy,
        radii: PolicyRadii,
        watch: Watch<'_>,
    ) -> Result<Self> {
        let question = &basis.question;
        let follow = |progress: Progress<'_>| {
            watch.go_on(Progress { stage: Stage::Policy(policy.name()), ..progress })
        };
        let settings = Settings {
            detail: if question.wanted.worst { Detail::Plan } else { Detail::Population },
            plan_floor: 1e-5,
            max_vertices: question.vertices(&basis.robust),
            max_radius: question.wanted.curve_up_to,
            watch: Watch::new(&follow),
            ..Settings::default()
        };
        let (mut values, mut worst, mut curves) = (Vec::new(), Vec::new(), Vec::new());
        for (costs, &cost_radius) in basis.costs.iter().zip(&question.cost.radii) {
            let at = AtCostRadius::new(basis, policy, (costs, cost_radius), settings)?;
            // A curve has no status of its own, so the watch is asked once more.
            watch.tell(Progress::at(Stage::Policy(policy.name())))?;
            values.extend(at.values);
            worst.extend(at.worst);
            curves.extend(at.curve);
        }
        let by_context = basis.costs.iter().map(|v| basis.robust.values(policy, v));
        let by_context = by_context.collect::<Result<_>>()?;
        let notes = joint_sets::notes(basis, policy, &values, watch)?;
        Ok(PolicyWorstCases { radii, values, worst, curves, by_context, notes })
    }
}

impl AtCostRadius {
    fn new(
        basis: &EvaluationBasis<'_>,
        policy: &Policy,
        (costs, cost_radius): (&Values, f64),
        settings: Settings<'_>,
    ) -> Result<Self> {
        let (question, robust) = (&basis.question, &*basis.robust);
        let (set, radii) = (question.context.set, &question.context.radii);
        let tolerance = curve_tolerance(basis, policy, costs)?;
        let (worst, curve) =
            basis.fitted.worst_cases(robust, policy, costs, set, radii, tolerance, settings)?;
        if worst.iter().any(|case| case.status() == Status::Stopped) {
            return Err(Error::stopped());
        }
        let estimates = joint_sets::estimates(question, basis.fitted, policy, settings)?;
        // By how much entropic costs may be too good, on the safe side.
        let safe_side = robust.direction().sign() * costs.smoothing();
        let value = |((&radius, case), estimate): ((&f64, &WorstCase), Option<JointEstimate>)| {
            let shift = ShiftFacts::new(question, radius, cost_radius, support(basis));
            SolvedShift::new(shift, case, safe_side, estimate)
        };
        let values = radii.iter().zip(&worst).zip(estimates).map(value).collect();
        Ok(AtCostRadius { values, worst, curve })
    }
}

/// How closely the curve is followed, if it was asked for.
fn curve_tolerance(
    basis: &EvaluationBasis<'_>,
    policy: &Policy,
    costs: &Values,
) -> Result<Option<f64>> {
    let set = basis.question.context.set;
    if !basis.question.wanted.curve {
        return Ok(None);
    }
    if set.has_exact_curve() {
        return Ok(Some(0.0));
    }
    let all = if set.needs_actions() {
        basis.fitted.log().values().to_vec()
    } else {
        basis.robust.values(policy, costs)?
    };
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Ok(Some((CURVE_TOLERANCE * (high - low)).max(f64::MIN_POSITIVE)))
}

/// The support as it is told: all contexts of a space that was too large for a grid are those observed.
fn support(basis: &EvaluationBasis<'_>) -> Support {
    let space = basis.robust.population().space();
    let grid = matches!(space.layout(), seawall::Layout::Grid(_));
    match basis.question.support {
        Support::All if !grid => Support::Observed,
        support => support,
    }
}
