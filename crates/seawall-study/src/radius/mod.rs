//! How far is far enough: radii by what they must cover.
//!
//! - **Chance alone**: the least radius whose worst case reaches the upper confidence limit of the
//!   estimate without a shift, `V(ε) = l̄ + z se`. It shrinks as rows grow and does not know how many
//!   columns there are.
//! - **A target**: its distance from the log, on the columns along which the values vary; others never
//!   carry a worst case, and are shown, not counted. Fixed columns: within their strata.
//! - **Saturation**: where everyone sits at the worst value within reach. Beyond, radii say nothing.

mod words;

use crate::evaluate::{
    Comparison, PolicyRadii, Question, Wanted, evaluate, policy_radii, policy_radii_on,
};
use crate::prepare::PreparedStudy;
use crate::reference::Reference;
use crate::study::PolicySpec;
use seawall::distance::{StrataShift, distance, matched, on_features};
use seawall::evaluate::{Evaluator, Robust};
use seawall::outcome::{Model, OutcomeRadius, Values, outcome_radii};
use seawall::policy::Policy;
use seawall::{
    Error, Field, Geometry, Kind, Layout, Population, Progress, Result, Settings, Space, Stage,
    Watch,
};
use serde::Serialize;
use std::sync::Arc;
use words::{centre_words, line, recommended};

/// Random halves where nobody says how many.
pub const SPLITS: usize = 20;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// Random halves.
    pub splits: usize,
    /// The seed.
    pub seed: u64,
}

/// What came of it, as plain data.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuggestedRadii {
    /// For each of the study's policies, what covers chance and where its worst case saturates.
    pub policies: Vec<PolicyRadii>,
    /// The radius that covers chance for every one of them.
    pub chance: f64,
    /// The columns along which the values vary: only these are counted in distances.
    pub used_columns: Vec<String>,
    /// The others.
    pub unused_columns: Vec<String>,
    /// Distances between random halves of the log, for a set that moves people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halves: Option<Spread>,
    /// The distance to the target, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetDistance>,
    /// Cost radii.
    pub cost: CostRadius,
    /// The study's policies pair by pair, each better than the other if nothing shifts.
    pub comparisons: Vec<Comparison>,
    /// The radii recommended: chance, and what is beyond it.
    pub recommended: Vec<f64>,
    /// Why, in words.
    pub words: String,
    /// The line for the study file.
    pub line: String,
}

/// How far a target is.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetDistance {
    /// On the columns along which the values vary.
    pub distance: f64,
    /// How the strata of fixed columns shift, which no radius covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strata: Option<StrataShift>,
}

/// A few distances.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// How many.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub sd: f64,
    /// The smallest.
    pub smallest: f64,
    /// The median.
    pub median: f64,
    /// The 95% quantile.
    pub upper: f64,
    /// The largest.
    pub largest: f64,
}

/// Cost radii of the order `n^(−1/2)` in a leaf of n rows ([`outcome_radii`]); None of a model without
/// leaves.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CostRadius {
    /// The constant of the median leaf: its suggestion is this over the root of its rows.
    pub constant: Option<f64>,
    /// Its rows.
    pub median_rows: Option<f64>,
    /// Its suggestion.
    pub median: Option<f64>,
    /// The smallest leaf's suggestion.
    pub smallest_leaf: Option<f64>,
}

impl Spread {
    fn from_distances(mut all: Vec<f64>) -> Self {
        all.sort_unstable_by(f64::total_cmp);
        let count = all.len() as f64;
        let mean = all.iter().sum::<f64>() / count;
        let squares: f64 = all.iter().map(|x| (x - mean).powi(2)).sum();
        let at = |share: f64| {
            let place = (count - 1.0) * share;
            let (low, high) = (all[place.floor() as usize], all[place.ceil() as usize]);
            low + (high - low) * place.fract()
        };
        Spread {
            count: all.len(),
            mean,
            sd: (squares / (count - 1.0).max(1.0)).sqrt(),
            smallest: at(0.0),
            median: at(0.5),
            upper: at(0.95),
            largest: at(1.0),
        }
    }
}

/// Contexts told apart only by the features along which the values vary, and fixed ones: on points
/// rather than a grid a move would else be paid for along every other column, too.
struct Relevant {
    geometry: Arc<Geometry>,
    /// A context of the log for each point.
    contexts: Vec<usize>,
}

impl Relevant {
    fn new(population: &Population, robust: &Robust, used: &[usize]) -> Result<Self> {
        let space = population.space();
        if matches!(space.layout(), Layout::Grid(_)) {
            let contexts = robust.points().to_vec();
            return Ok(Relevant { geometry: robust.geometry().clone(), contexts });
        }
        let features = counted(space, used);
        if features.is_empty() {
            // Nothing varies: anywhere is as good as anywhere else.
            let contexts = robust.points().to_vec();
            return Ok(Relevant { geometry: robust.geometry().clone(), contexts });
        }
        let (smaller, places) = space.on_features(&features)?;
        let (mut weights, mut contexts) = (vec![0.0; smaller.len()], vec![0; smaller.len()]);
        for (context, (w, &place)) in population.weights().iter().zip(&places).enumerate() {
            weights[place as usize] += w;
            contexts[place as usize] = context;
        }
        let population = Population::from_weights(Arc::new(smaller), weights)?;
        Ok(Relevant { geometry: Geometry::new(&population).shared(), contexts })
    }
}

/// The features that count: those used, and fixed ones.
fn counted(space: &Space, used: &[usize]) -> Vec<usize> {
    let counts = |k: &usize| used.contains(k) || space.kind(*k) == Kind::Fixed;
    (0..space.names().len()).filter(counts).collect()
}

/// The features along which values may vary: those that the outcome model asks about, and those that
/// a policy looks at.
fn used_features(
    prepared: &PreparedStudy,
    model: &Model,
    policies: &[(PolicySpec, Policy)],
) -> Vec<usize> {
    let space = prepared.log().contexts();
    let count = space.names().len();
    let mut used = vec![false; count];
    let mut mark = |importance: &[f64]| {
        let shares = used.iter_mut().zip(importance);
        shares.for_each(|(used, share)| *used |= *share > 0.0);
    };
    let actions = 0..prepared.log().actions().len();
    match model {
        Model::Leaves(leaves) if !leaves.trees().is_empty() => {
            for tree in leaves.trees() {
                let splits = (0..tree.len()).filter_map(|node| tree.split(node));
                splits.for_each(|split| used[split.feature] = true);
            }
        }
        Model::Forest(forest) => actions.for_each(|a| mark(forest.importance(a))),
        Model::Boosted(boosted) => actions.for_each(|a| mark(boosted.importance(a))),
        _ => return (0..count).collect(),
    }
    // The greedy policy looks at what the model does.
    for (_, policy) in policies.iter().filter(|(spec, _)| !prepared.study.is_greedy(spec)) {
        for name in policy.rule().features() {
            if let Ok(k) = space.feature(&name) {
                used[k] = true;
            }
        }
    }
    (0..count).filter(|&k| used[k]).collect()
}

/// Two populations on the features that count and the fixed ones, within strata.
fn comparable(
    a: &Population,
    b: &Population,
    used: &[usize],
) -> Result<(Population, Population, Option<StrataShift>)> {
    let features = counted(a.space(), used);
    if features.is_empty() {
        return Ok((a.clone(), a.clone(), None));
    }
    let both = on_features([a, b], &features)?;
    matched(&both[0], &both[1])
}

/// Distances between random halves of the log on the columns that count, within strata.
fn halves(
    prepared: &PreparedStudy,
    used: &[usize],
    request: &Request,
    watch: Watch<'_>,
) -> Result<Spread> {
    let log = prepared.log();
    let features = counted(log.contexts(), used);
    let mut halves = Vec::new();
    for split in 0..request.splits {
        let progress = Progress::at(Stage::Halves).done(split).out_of(request.splits);
        watch.tell(progress)?;
        let inside = |_: Progress<'_>| watch.go_on(progress);
        let folds = log.halves_on(&features, request.seed.wrapping_add(split as u64))?;
        let (a, b) = (folds.only(0)?.population()?, folds.only(1)?.population()?);
        let (a, b, _) = comparable(&a, &b, used)?;
        halves.push(distance(&a, &b, Watch::new(&inside))?.value);
    }
    Ok(Spread::from_distances(halves))
}

/// The mean distance between random halves of the log, on the columns along which a policy's values
/// vary.
pub(crate) fn halves_apart(
    prepared: &PreparedStudy,
    policy: &Policy,
    splits: usize,
    watch: Watch<'_>,
) -> Result<f64> {
    let made = [(PolicySpec::Uniform, policy.clone())];
    let used = used_features(prepared, prepared.fitted(watch)?.model(), &made);
    let request = Request { splits, seed: 1 };
    Ok(halves(prepared, &used, &request, watch)?.mean)
}

/// Suggests radii: around the log; around the target if the study itself names one, for evaluate then
/// starts there.
pub fn radius(
    prepared: &PreparedStudy,
    request: &Request,
    watch: Watch<'_>,
) -> Result<SuggestedRadii> {
    let question = question(prepared, request)?;
    let prepared = &prepared.on_support(question.support)?;
    let fitted = prepared.fitted(watch)?;
    let centred = if prepared.study.target.path.is_some() {
        prepared.clone()
    } else {
        prepared.without_target()
    };
    let reference = centred.reference(fitted.log())?;
    let ball = Ball::new(prepared, &question, (fitted, &reference), watch)?;
    let policies = ball.policies(watch)?;
    let (own, moves) = (prepared.log().population()?, question.context.set.moves_mass());
    let halves = moves.then(|| halves(prepared, &ball.used, request, watch)).transpose()?;
    let target = match &prepared.target {
        Some(target) if moves => {
            let (from, to, strata) = comparable(&own, target.sample.population(), &ball.used)?;
            Some(TargetDistance { distance: distance(&from, &to, watch)?.value, strata })
        }
        _ => None,
    };
    let comparisons = if question.policies.len() > 1 {
        let all = evaluate(&centred, &question, watch)?.comparisons;
        all.into_iter().filter(Comparison::leads).collect()
    } else {
        Vec::new()
    };
    // Where no population within reach is as bad as the limit, nothing short of saturation covers it.
    let chance = policies.iter().map(|p| p.chance.unwrap_or(p.saturation)).fold(0.0, f64::max);
    let saturation = policies.iter().map(|p| p.saturation).fold(0.0, f64::max);
    // Around the target nothing has to cover it.
    let around_target = reference.population().is_some();
    let far = target.as_ref().map(|t| t.distance).filter(|_| !around_target);
    let (recommended, mut words) = recommended(chance, saturation, far);
    words.push_str(&centre_words(target.as_ref(), around_target));
    words.push_str(ball.space_words());
    let (used_columns, unused_columns) = ball.columns();
    Ok(SuggestedRadii {
        policies,
        chance,
        used_columns,
        unused_columns,
        halves,
        target,
        cost: cost_radius(prepared, watch)?,
        comparisons,
        line: line(question.context.set, &recommended),
        recommended,
        words,
    })
}

/// What evaluate is asked about radii; refused for sets that need none, or whose no distance suggests.
fn question(prepared: &PreparedStudy, request: &Request) -> Result<Question> {
    if request.splits == 0 {
        return Err(Error::field(Field::Splits, "is 0; expected at least 1"));
    }
    let question = Question {
        wanted: Wanted { worst: false, ..Wanted::default() },
        ..Question::from_study(prepared)
    };
    let set = question.context.set;
    if set.needs_known() {
        let what = format!(
            "is {}, which needs no radius: leave it out, and every population counts \
                            that meets what is known of the target",
            set.name()
        );
        return Err(Error::field(Field::Set, what));
    }
    if set.needs_actions() {
        let what = format!(
            "is {}, for which no distance between groups suggests a radius; evaluate tells which one \
             covers chance",
            set.name()
        );
        return Err(Error::field(Field::Set, what));
    }
    Ok(question)
}

/// What radii are of: policies with their values, around a population.
struct Ball<'a> {
    prepared: &'a PreparedStudy,
    question: &'a Question,
    fitted: &'a Evaluator,
    reference: &'a Reference,
    robust: Arc<Robust>,
    values: Arc<Values>,
    policies: Vec<Policy>,
    /// The columns along which values may vary.
    used: Vec<usize>,
    /// The population on those alone. On the whole space a move is paid for along no column that does not
    /// count.
    relevant: Option<Relevant>,
}

impl<'a> Ball<'a> {
    fn new(
        prepared: &'a PreparedStudy,
        question: &'a Question,
        (fitted, reference): (&'a Evaluator, &'a Reference),
        watch: Watch<'_>,
    ) -> Result<Self> {
        let robust = reference.robust_of(fitted, question.support, question.within())?;
        let settings = Settings { watch, ..Settings::default() };
        let costs = question.cost.set.at(question.cost.radii[0]);
        let values = fitted.values_on(robust.points(), costs, settings)?;
        let policy = |spec: &PolicySpec| Ok((spec.clone(), prepared.policy(spec, &values, watch)?));
        let made: Vec<(PolicySpec, Policy)> =
            question.policies.iter().map(policy).collect::<Result<_>>()?;
        let used = used_features(prepared, fitted.model(), &made);
        let own = prepared.log().population()?;
        let centre = reference.population().unwrap_or(&own);
        let relevant = match question.support {
            seawall::evaluate::Support::Space => None,
            _ => Some(Relevant::new(centre, &robust, &used)?),
        };
        let policies = made.into_iter().map(|(_, policy)| policy).collect();
        Ok(Ball { prepared, question, fitted, reference, robust, values, policies, used, relevant })
    }

    /// For each policy, what covers chance and where its worst case saturates.
    fn policies(&self, watch: Watch<'_>) -> Result<Vec<PolicyRadii>> {
        let estimator = self.reference.estimator(self.fitted, watch)?;
        let one = |policy: &Policy| {
            let nominal = match &estimator {
                Some(estimator) => estimator.estimates(policy)?.direct(),
                None => None,
            };
            let nominal = match nominal {
                Some(there) => there,
                None => self.fitted.nominal(policy, watch)?.dm,
            };
            match &self.relevant {
                None => {
                    let (both, own) = ((self.fitted, &*self.robust), (policy, &*self.values));
                    policy_radii(self.question, both, own, nominal, watch)
                }
                Some(relevant) => {
                    let all = policy.values(&self.values)?;
                    let own: Vec<f64> = relevant.contexts.iter().map(|&i| all[i]).collect();
                    let place = (&relevant.geometry, self.robust.direction());
                    policy_radii_on(self.question, place, (policy, &own), nominal, watch)
                }
            }
        };
        self.policies.iter().map(one).collect()
    }

    /// The names of the columns along which values vary, and of the others; fixed ones are strata, and carry no
    /// distance.
    fn columns(&self) -> (Vec<String>, Vec<String>) {
        let space = self.prepared.log().contexts();
        let names: Vec<&str> = space.names().collect();
        let free = (0..names.len()).filter(|&k| space.kind(k) != Kind::Fixed);
        let (used, unused): (Vec<usize>, Vec<usize>) = free.partition(|k| self.used.contains(k));
        let named = |all: Vec<usize>| all.iter().map(|&k| names[k].to_owned()).collect();
        (named(used), named(unused))
    }

    /// What to know of a space that is the contexts seen.
    fn space_words(&self) -> &'static str {
        let space = self.prepared.log().contexts();
        let grid = matches!(space.layout(), Layout::Grid(_));
        if self.relevant.is_some() && !grid && self.used.len() < space.names().count() {
            ". The space is the contexts seen: evaluate pays there for every column that a move \
             changes, these too that do not count, and needs larger radii for the same shift"
        } else {
            ""
        }
    }
}

fn cost_radius(prepared: &PreparedStudy, watch: Watch<'_>) -> Result<CostRadius> {
    let radii = outcome_radii(prepared.log(), prepared.fitted(watch)?.model());
    let middle = radii.get(radii.len() / 2);
    Ok(CostRadius {
        constant: middle.map(|leaf| leaf.constant),
        median_rows: middle.map(|leaf| leaf.rows),
        median: middle.map(OutcomeRadius::radius),
        smallest_leaf: radii.first().map(OutcomeRadius::radius),
    })
}
