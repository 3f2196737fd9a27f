//! How far is far enough: radii that the data themselves suggest.

use crate::distance::{between, target};
use crate::evaluate::{Question, evaluate};
use crate::load::Loaded;
use seawall::distance::distance;
use seawall::inference::{Resampling, bootstrap};
use seawall::{Error, Field, Log, Progress, Result, Stage, Watch};
use serde::Serialize;
use std::path::Path;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// A sample of the other population, without actions or outcomes.
    pub target: Option<&'a Path>,
    /// Random halves, and bootstrap replicates.
    pub splits: usize,
    /// The seed.
    pub seed: u64,
}

/// What came of it, as plain data.
#[derive(Clone, Debug, Serialize)]
pub struct SuggestedRadii {
    /// Distances between random halves of the log.
    pub halves: Spread,
    /// Distances between the log and itself drawn again.
    pub bootstrap: Spread,
    /// The distance to the target, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
    /// Cost radii.
    pub cost: CostRadius,
    /// Where the study's policies stop being better than one another.
    pub breakdown: Vec<crate::evaluate::PolicyBreakdown>,
    /// The radii recommended: noise, and what is beyond it.
    pub recommended: Vec<f64>,
    /// Why, in words.
    pub words: String,
    /// The line for the study file.
    pub line: String,
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

/// Random halves where nobody says how many.
pub const SPLITS: usize = 20;

/// Distances between random halves of the log.
pub fn halves(loaded: &Loaded, splits: usize, seed: u64, watch: Watch<'_>) -> Result<Spread> {
    let mut halves = Vec::new();
    for split in 0..splits {
        let progress = Progress::at(Stage::Halves).done(split).out_of(splits);
        watch.tell(progress)?;
        let inside = |_: Progress<'_>| watch.go_on(progress);
        let folds = loaded.log().folds_of(2, seed.wrapping_add(split as u64))?;
        let (a, b) = (folds.only(0)?.population()?, folds.only(1)?.population()?);
        halves.push(distance(&a, &b, Watch::new(&inside))?.value);
    }
    Ok(Spread::from_distances(halves))
}

/// The distance from the log to a sample of another population.
pub fn to_target(loaded: &Loaded, path: &Path, watch: Watch<'_>) -> Result<f64> {
    Ok(between(&loaded.log().population()?, &target(loaded, path)?, watch)?.distance)
}

/// Suggests radii.
pub fn radius(loaded: &Loaded, request: &Request<'_>, watch: Watch<'_>) -> Result<SuggestedRadii> {
    let log = loaded.log();
    if request.splits == 0 {
        return Err(Error::field(Field::Splits, "is 0; expected at least 1"));
    }
    let halves = halves(loaded, request.splits, request.seed, watch)?;
    let whole = log.population()?;
    let ask = |drawn: &Log, watch: Watch<'_>| {
        Ok(vec![distance(&whole, &drawn.population()?, watch)?.value])
    };
    let drawn = bootstrap(log, request.splits, Resampling::Multinomial, request.seed, watch, &ask)?;
    let target = match request.target {
        Some(path) => Some(to_target(loaded, path, watch)?),
        None => None,
    };
    let mut question = Question::from_study(loaded);
    question.worst = false;
    let breakdown = match question.policies.len() > 1 {
        true => evaluate(loaded, &question, watch)?.breakdown,
        false => Vec::new(),
    };
    let bootstrap = Spread::from_distances(drawn.all.into_iter().flatten().collect());
    // A target that is no further than chance is covered with it.
    let near = target.filter(|far| *far <= halves.upper).unwrap_or(0.0);
    let noise = rounded(halves.mean.max(near));
    let beyond = rounded(target.unwrap_or(2.0 * halves.upper).max(halves.upper));
    let recommended = if beyond > noise { vec![noise, beyond] } else { vec![noise] };
    let words = match target {
        Some(far) if far <= halves.upper => format!(
            "the target is no further from the log ({far:.4}) than two halves of the log are from \
             each other ({:.4} on average): a radius of {noise} covers both",
            halves.mean
        ),
        Some(far) => format!(
            "the target is {far:.4} away, beyond the {:.4} that two halves of the log are apart: \
             {noise} covers chance alone, {beyond} covers the target",
            halves.mean
        ),
        None => format!(
            "two halves of the log are {:.4} apart on average, by chance alone: {noise} is the \
             least that makes sense, {beyond} is twice what 95% of such distances stay below",
            halves.mean
        ),
    };
    let list = recommended.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    Ok(SuggestedRadii {
        halves,
        bootstrap,
        target,
        cost: cost_radius(loaded, watch)?,
        breakdown,
        recommended,
        words,
        line: format!("context = {{ set = \"wasserstein\", radius = [{list}] }}"),
    })
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

fn cost_radius(loaded: &Loaded, watch: Watch<'_>) -> Result<CostRadius> {
    let log = loaded.log();
    let model = loaded.fitted(watch)?.model();
    let outcomes = log.outcomes();
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
