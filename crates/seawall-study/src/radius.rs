//! How far is far enough: radii by what they must cover.
//!
//! - **Chance alone**: the least radius whose worst case reaches the upper confidence limit of the
//!   estimate without a shift, `V(ε) = l̄ + z se`. It shrinks as rows grow and does not know how many
//!   columns there are.
//! - **A target**: its distance from the log, on the columns along which the values vary; others never
//!   carry a worst case, and are shown, not counted. Fixed columns: within their strata.
//! - **Saturation**: where everyone sits at the worst value within reach. Beyond, radii say nothing.

use crate::evaluate::{Comparison, PolicyRadii, Question, evaluate, policy_radii, policy_radii_on};
use crate::prepare::PreparedStudy;
use crate::strata::{StrataShift, matched, on_features};
use crate::study::PolicySpec;
use crate::words::{percent, short};
use seawall::distance::distance;
use seawall::evaluate::Robust;
use seawall::outcome::{Forest, Model};
use seawall::policy::Policy;
use seawall::{
    Entry, Error, Field, Geometry, Kind, Log, Population, Progress, Result, Settings, Space, Stage,
    Support, Watch,
};
use serde::Serialize;
use std::sync::Arc;

/// Random halves where nobody says how many.
pub const SPLITS: usize = 20;
/// How much further than chance a radius goes that is to cover more, where there is no target.
const FURTHER: f64 = 10.0;

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
pub struct TargetDistance {
    /// On the columns along which the values vary.
    pub distance: f64,
    /// How the strata of fixed columns shift, which no radius covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strata: Option<StrataShift>,
}

/// A few distances.
#[derive(Clone, Debug, Serialize)]
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

/// Cost radii of the order `n^(−1/2)` in a leaf of n rows: `constant / √n`, the constant being half
/// the dearest move between outcomes times the root of the number of outcomes seen.
#[derive(Clone, Debug, Serialize)]
pub struct CostRadius {
    /// The constant of the median leaf.
    pub constant: f64,
    /// Its rows.
    pub median_rows: f64,
    /// Its suggestion.
    pub median: f64,
    /// The smallest leaf's suggestion.
    pub smallest_leaf: f64,
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
        if matches!(space.support(), Support::Grid(_)) {
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
    if request.splits == 0 {
        return Err(Error::field(Field::Splits, "is 0; expected at least 1"));
    }
    let mut question = Question::from_study(prepared);
    question.worst = false;
    if question.context.set.needs_known() {
        let set = question.context.set.name();
        let what = format!(
            "is {set}, which needs no radius: leave it out, and every population counts \
                            that meets what is known of the target"
        );
        return Err(Error::field(Field::Set, what));
    }
    if question.context.set.needs_actions() {
        let what = format!(
            "is {}, for which no distance between groups suggests a radius; evaluate tells which one \
             covers chance",
            question.context.set.name()
        );
        return Err(Error::field(Field::Set, what));
    }
    let prepared = &prepared.on_support(question.support)?;
    let (fitted, set) = (prepared.fitted(watch)?, question.context.set);
    let centred = match prepared.study.target.path {
        Some(_) => prepared.clone(),
        None => prepared.without_target(),
    };
    let reference = centred.reference(fitted.log())?;
    let there = reference.population();
    let robust = reference.robust_of(fitted, question.support, question.within())?;
    let estimator = reference.estimator(fitted, watch)?;
    let settings = Settings { watch, ..Settings::default() };
    let values = {
        let costs = question.cost.set.at(question.cost.radii[0]);
        fitted.values_on(robust.points(), costs, settings)?
    };
    let mut made = Vec::new();
    for spec in &question.policies {
        made.push((spec.clone(), prepared.policy(spec, &values, watch)?));
    }
    let used = used_features(prepared, fitted.model(), &made);
    let names: Vec<String> = prepared.log().contexts().names().map(str::to_owned).collect();
    let own = prepared.log().population()?;
    let centre = there.unwrap_or(&own);
    // On the whole space a move is paid for along no column that does not count.
    let relevant = match question.support {
        seawall::evaluate::Support::Space => None,
        _ => Some(Relevant::new(centre, &robust, &used)?),
    };
    let mut policies = Vec::new();
    for (_, policy) in &made {
        let nominal = match &estimator {
            Some(estimator) => estimator.estimates(policy)?.direct(),
            None => fitted.nominal(policy, watch)?.dm,
        };
        policies.push(match &relevant {
            None => policy_radii(&question, (fitted, &robust), (policy, &values), nominal, watch)?,
            Some(relevant) => {
                let all = policy.values(&values)?;
                let own: Vec<f64> = relevant.contexts.iter().map(|&i| all[i]).collect();
                let place = (&relevant.geometry, robust.direction());
                policy_radii_on(&question, place, (policy, &own), nominal, watch)?
            }
        });
    }
    let halves = match set.moves_mass() {
        true => Some(halves(prepared, &used, request, watch)?),
        false => None,
    };
    let target = match &prepared.target {
        Some(target) if set.moves_mass() => {
            let (from, to, strata) = comparable(&own, target.sample.population(), &used)?;
            Some(TargetDistance { distance: distance(&from, &to, watch)?.value, strata })
        }
        _ => None,
    };
    let comparisons = match question.policies.len() > 1 {
        true => {
            let mut all = evaluate(&centred, &question, watch)?.comparisons;
            all.retain(Comparison::leads);
            all
        }
        false => Vec::new(),
    };
    // Where no population within reach is as bad as the limit, nothing short of saturation covers it.
    let chance = policies.iter().map(|p| p.chance.unwrap_or(p.saturation)).fold(0.0, f64::max);
    let saturation = policies.iter().map(|p| p.saturation).fold(0.0, f64::max);
    // Around the target nothing has to cover it.
    let far = target.as_ref().map(|t| t.distance).filter(|_| there.is_none());
    let (recommended, mut words) = recommended(chance, saturation, far);
    words.push_str(&centre_words(target.as_ref(), there.is_some()));
    let grid = matches!(prepared.log().contexts().support(), Support::Grid(_));
    if relevant.is_some() && !grid && used.len() < names.len() {
        words.push_str(
            ". The space is the contexts seen: evaluate pays there for every column that a move \
             changes, these too that do not count, and needs larger radii for the same shift",
        );
    }
    let list = recommended.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let parameters: String =
        set.parameters().iter().map(|(name, value)| format!(", {name} = {value}")).collect();
    // Fixed columns are strata, and carry no distance.
    let space = prepared.log().contexts();
    let free = (0..names.len()).filter(|&k| space.kind(k) != Kind::Fixed);
    let (used_columns, unused_columns) = free.partition(|k| used.contains(k));
    let named = |all: Vec<usize>| all.iter().map(|&k| names[k].clone()).collect();
    Ok(SuggestedRadii {
        policies,
        chance,
        used_columns: named(used_columns),
        unused_columns: named(unused_columns),
        halves,
        target,
        cost: cost_radius(prepared, watch)?,
        comparisons,
        recommended,
        words,
        line: format!("context = {{ set = \"{}\"{parameters}, radius = [{list}] }}", set.name()),
    })
}

/// What the radii are around, and what none of them covers, where there is a target.
fn centre_words(target: Option<&TargetDistance>, around_target: bool) -> String {
    let Some(target) = target else { return String::new() };
    let mut words = match around_target {
        true => format!(
            ". Radii are around the target, as evaluate's are with this study; from the log it is {} away",
            short(target.distance)
        ),
        false => {
            ". Radii are around the log; evaluate --target starts at the target, and only chance \
                  is left to cover there"
                .to_owned()
        }
    };
    if let Some(strata) = target.strata.as_ref().filter(|s| s.total_variation > 0.0) {
        words.push_str(&format!(
            ". The shift of {} by {} no radius covers",
            strata.columns.join(", "),
            percent(strata.total_variation)
        ));
    }
    words
}

/// What to ask for, and why.
fn recommended(chance: f64, saturation: f64, target: Option<f64>) -> (Vec<f64>, String) {
    if saturation <= 0.0 {
        let words = "the values do not vary within reach: no radius changes anything".to_owned();
        return (vec![0.0], words);
    }
    // Past saturation nothing changes.
    let last = rounded(saturation);
    let noise = rounded(chance).min(last);
    let covers = match chance < saturation {
        true => format!("{} covers chance alone", short(noise)),
        false => format!("nothing short of {}, where all is said, covers chance", short(noise)),
    };
    let (beyond, why) = match target {
        Some(far) if far <= noise => {
            (noise, format!("the target is {} away, no further than chance: {covers}", short(far)))
        }
        Some(far) if far >= saturation => {
            (last, format!("{covers}; the target is {} away, beyond all that matters", short(far)))
        }
        Some(far) => {
            let up = rounded(far).min(last);
            (up, format!("{covers}; the target is {} away: {} covers it", short(far), short(up)))
        }
        None => {
            let more = rounded(FURTHER * chance).min(last);
            let words =
                format!("{covers}; {} is up to ten times that, for more than chance", short(more));
            (more, words)
        }
    };
    let all = if beyond > noise { vec![noise, beyond] } else { vec![noise] };
    let end = short(saturation);
    let words = format!(
        "{why}. Beyond {end} everyone sits where the values are worst: larger radii say nothing more"
    );
    (all, words)
}

/// Two significant digits, upwards: a radius is to cover something.
fn rounded(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let exponent = x.log10().floor() - 1.0;
    let digits = (x / 10f64.powf(exponent) - 1e-9).ceil();
    format!("{digits}e{exponent}").parse().unwrap_or(x)
}

fn cost_radius(prepared: &PreparedStudy, watch: Watch<'_>) -> Result<CostRadius> {
    let log = prepared.log();
    let model = prepared.fitted(watch)?.model();
    let outcomes: &Space = log.outcomes();
    // The dearest move between two outcomes: corner to corner, feature by feature.
    let feature = |k: usize| {
        let cost = |j: usize| outcomes.feature_cost(k, 0, j);
        let last = |j: usize| outcomes.feature_cost(k, outcomes.len() - 1, j);
        (0..outcomes.len()).map(|j| cost(j).max(last(j))).fold(0.0, f64::max)
    };
    let dearest: f64 = (0..outcomes.names().len()).map(feature).sum();
    let mut leaves: Vec<(f64, f64)> = model
        .leaves()
        .map_or(&[][..], |l| l.all())
        .iter()
        .map(|leaf| (leaf.weight(), 0.5 * dearest * (leaf.outcomes.len() as f64).sqrt()))
        .collect();
    if let Model::Forest(forest) = model {
        leaves = behind(log, forest, dearest);
    }
    leaves.sort_by(|a, b| a.0.total_cmp(&b.0));
    let suggestion = |&(rows, constant): &(f64, f64)| constant / rows.sqrt();
    let middle = leaves.get(leaves.len() / 2).copied().unwrap_or((f64::NAN, f64::NAN));
    Ok(CostRadius {
        constant: middle.1,
        median_rows: middle.0,
        median: suggestion(&middle),
        smallest_leaf: leaves.first().map_or(f64::NAN, suggestion),
    })
}

/// What stands for leaves in a forest: for each context and action that has rows, the rows of its
/// leaves on average, and the constant for all outcomes of the action.
fn behind(log: &Log, forest: &Forest, dearest: f64) -> Vec<(f64, f64)> {
    let mut seen = vec![vec![false; log.outcomes().len()]; log.actions().len()];
    log.entries().iter().for_each(|e| seen[e.action as usize][e.outcome as usize] = true);
    let outcomes: Vec<f64> =
        seen.iter().map(|seen| seen.iter().filter(|s| **s).count() as f64).collect();
    let same = |a: &Entry, b: &Entry| (a.context, a.action) == (b.context, b.action);
    let cells = log.entries().chunk_by(same).map(|cell| (cell[0].context, cell[0].action as usize));
    cells
        .map(|(context, action)| {
            let rows = forest.rows_behind(context as usize, action);
            (rows, 0.5 * dearest * outcomes[action].sqrt())
        })
        .collect()
}
