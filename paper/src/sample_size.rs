//! Sample size: how the error of a robust value falls with the number of rows, on a population that
//! is known. Theorem 3.1 says as `n^(−1/2)`, with constants that are shown beside it.
//!
//! The population: 24 contexts (age 6 levels, site 4), two actions drawn by a fair coin, outcomes 0
//! or 1 with a probability that rises with age, faster under one action. Its worst case is worked
//! out from the true weights and costs; a sample's from the sample alone.

use crate::page::{Folder, csv, markdown, mean_and_sd, row};
use crate::plot::{Line, Plot};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use seawall::evaluate::{Robust, Support};
use seawall::inference::{Constants, finite_sample};
use seawall::outcome::{Recipe, Unseen};
use seawall::policy::Policy;
use seawall::{Direction, Entry, Feature, Log, Result, Settings, Space, Wasserstein, Watch};
use std::sync::Arc;

const SIZES: [usize; 7] = [250, 500, 1000, 2000, 4000, 8000, 16000];
const SAMPLES: usize = 200;
const RADIUS: f64 = 0.03;
const DELTA: f64 = 0.05;

/// The true weight of a context and the true mean of an action in it.
fn truth(age: usize, site: usize, action: usize) -> (f64, f64) {
    let weight = [0.1, 0.15, 0.25, 0.25, 0.15, 0.1][age] * [0.4, 0.3, 0.2, 0.1][site];
    let mean = 0.1 + 0.02 * site as f64 + [0.05, 0.12][action] * age as f64;
    (weight, mean)
}

/// The log in which every possible row weighs what it should: the population itself.
fn population() -> Result<Log> {
    let ages = (0..6).map(|k| 45.0 + 10.0 * f64::from(k));
    let contexts = Arc::new(Space::grid([
        Feature::numeric("age").levels(ages),
        Feature::nominal("site", ["north", "east", "south", "west"]),
    ])?);
    let outcomes = Arc::new(Space::grid([Feature::numeric("event").levels([0.0, 1.0])])?);
    let mut entries = Vec::new();
    for context in 0..24 {
        for action in 0..2 {
            let (weight, mean) = truth(context / 4, context % 4, action);
            for (outcome, share) in [(0, 1.0 - mean), (1, mean)] {
                entries.push(Entry {
                    context: context as u32,
                    action: action as u32,
                    outcome,
                    propensity: 0.5,
                    weight: 0.5 * weight * share,
                    ..Entry::default()
                });
            }
        }
    }
    let actions = ["mild", "harsh"].map(str::to_owned).to_vec();
    Log::new(contexts, actions, outcomes, vec![0.0, 1.0], Direction::Cost, entries)
}

/// So many rows drawn from the population.
fn sample(truth: &Log, rows: usize, random: &mut ChaCha8Rng) -> Result<Log> {
    let ends: Vec<f64> = truth
        .entries()
        .iter()
        .scan(0.0, |sum, e| {
            *sum += e.weight;
            Some(*sum)
        })
        .collect();
    let mut counts = vec![0.0; ends.len()];
    for _ in 0..rows {
        let unit = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64 * truth.total();
        counts[ends.partition_point(|end| *end <= unit).min(ends.len() - 1)] += 1.0;
    }
    truth.reweighted(|entry, _| counts[entry])
}

/// The robust value of the even policy.
fn value(log: &Log) -> Result<f64> {
    let settings = Settings::default();
    let model = Recipe::Cells.fit(log, Watch::NOBODY)?;
    let costs = Wasserstein.at(0.0);
    let values = model.values(log, costs, Unseen::Mean, settings)?;
    let set = Wasserstein.at(RADIUS);
    let robust = Robust::new(log, Support::All)?;
    Ok(robust.worst_case(&Policy::uniform(log), &values, set, settings)?.value())
}

/// Writes the check.
pub fn write(out: &Folder) -> Result<()> {
    let truth = population()?;
    let exact = value(&truth)?;
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut rows = vec![row(["rows", "mean error", "95% quantile", "times √n", "theorem 3.1"])];
    let (mut means, mut bounds) = (Vec::new(), Vec::new());
    for size in SIZES {
        let mut errors = Vec::new();
        for _ in 0..SAMPLES {
            errors.push((value(&sample(&truth, size, &mut random)?)? - exact).abs());
        }
        errors.sort_by(f64::total_cmp);
        let (mean, _) = mean_and_sd(&errors);
        let constants = Constants {
            rows: size as f64,
            contexts: 24,
            support: 24,
            actions: 2,
            outcomes: 2,
            largest: 1.0,
            context_mass: 0.1 * 0.1,
            propensity: 0.5,
        };
        let bound = finite_sample(&constants, DELTA, (None, None))?;
        rows.push(vec![
            size.to_string(),
            format!("{mean:.5}"),
            format!("{:.5}", errors[SAMPLES * 95 / 100]),
            format!("{:.3}", mean * (size as f64).sqrt()),
            format!("{:.3}", bound.total),
        ]);
        means.push((size as f64, mean, 0.0));
        bounds.push((size as f64, bound.total, 0.0));
    }
    let (all_slope, slope) = (slope(&means), slope(&means[SIZES.len() - 4..]));
    let first = means[0];
    let rate = SIZES.map(|n| (n as f64, first.1 * (first.0 / n as f64).sqrt(), 0.0)).to_vec();
    let line = |name: &str, points: Vec<(f64, f64, f64)>| Line {
        name: name.to_owned(),
        points,
        bars: false,
    };
    let plot = Plot {
        title: "Error of the robust value against the number of rows".to_owned(),
        x: "rows".to_owned(),
        y: "mean absolute error".to_owned(),
        logarithmic: true,
        lines: vec![
            line("measured", means),
            line("n^(−1/2)", rate),
            line("theorem 3.1, δ = 0.05", bounds),
        ],
    };
    let text = format!(
        "# Sample size\n\nA known population of 24 contexts, two actions and outcomes 0 or 1 (made \
         up; no trial's data). True worst case of the even policy at radius {RADIUS}: {exact:.6}. \
         {SAMPLES} samples of each size. The error falls as n to the power {slope:.2} over the four largest \
         sizes, where the theorem says −0.5, and faster, {all_slope:.2}, over all: at few rows a cell \
         the adversary finds the noise, which adds to the error. The theorem's bound holds and is far above the errors, as such bounds are.\n\n{}\n\
         ![error against rows](sample-size.svg)\n",
        markdown(&rows)
    );
    out.write("sample-size.csv", &csv(&rows))?;
    out.write("sample-size.svg", &plot.svg())?;
    out.write("sample-size.md", &text)
}

/// The slope of a straight line through the logarithms.
fn slope(points: &[(f64, f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|p| (p.0.ln(), p.1.ln())).collect();
    let count = logs.len() as f64;
    let middle = logs.iter().fold((0.0, 0.0), |m, p| (m.0 + p.0 / count, m.1 + p.1 / count));
    let (top, bottom) = logs.iter().fold((0.0, 0.0), |s, p| {
        let apart = p.0 - middle.0;
        (s.0 + apart * (p.1 - middle.1), s.1 + apart * apart)
    });
    top / bottom
}
