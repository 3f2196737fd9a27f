//! Table 1: evaluating the random policy and learning one by consciousness, over random splits with
//! the paper's selection bias; beside the paper's methods the exact ones it could not have.

use crate::page::{Folder, csv, markdown, mean_and_sd, spread};
use crate::trial::{Split, Trial, mean};
use rayon::prelude::*;
use seawall::distance::distance;
use seawall::evaluate::Robust;
use seawall::learn::{Bsgd, Class, Groups, Schedule, Task, bsgd, groups};
use seawall::policy::{Partition, Policy};
use seawall::{Detail, Entropic, Kl, Result, Settings, Shift, Wasserstein, Watch};
use std::collections::BTreeMap;

/// The paper's radii.
const RADII: [f64; 3] = [0.03, 0.05, 0.1];
const KL_RADII: [f64; 3] = [0.01, 0.1, 1.0];
/// The smoothing, which the paper does not state: `log M / η` is then about 0.09.
pub const ETA: f64 = 100.0;
/// The stochastic schedule: steps, points and contexts a step, and the length of the steps, which
/// was chosen by looking at the convergence figures. With fewer points the gradient's bias is plain:
/// of 400, λ settles above its optimum by half.
pub const SCHEDULE: Schedule = Schedule { steps: 6000, points: 2000, step: 8.0, contexts: 1 };

/// A line of the table: its name, the paper's numbers if it has any.
struct Line {
    key: &'static str,
    name: &'static str,
    paper: Option<[&'static str; 3]>,
}

const LINES: [Line; 12] = [
    Line {
        key: "ope_kl",
        name: "Evaluation: factored KL (radius 0.01, 0.1, 1)",
        paper: Some(["0.30", "0.374", "0.74"]),
    },
    Line {
        key: "ope_sub",
        name: "Evaluation: Wasserstein, sub-support",
        paper: Some(["0.53", "0.61", "0.79"]),
    },
    Line {
        key: "ope_bsgd",
        name: "Evaluation: regularised, by BSGD",
        paper: Some(["0.59", "0.76", "1.05"]),
    },
    Line { key: "ope_entropic", name: "Evaluation: regularised, exactly", paper: None },
    Line { key: "ope_full", name: "**Evaluation: Wasserstein, exact, full support**", paper: None },
    Line {
        key: "opl_kl",
        name: "Learning: factored KL (radius 0.01, 0.1, 1)",
        paper: Some(["0.28", "0.368", "0.69"]),
    },
    Line {
        key: "opl_bsgd",
        name: "Learning: regularised, by BSGD",
        paper: Some(["0.54", "0.62", "0.92"]),
    },
    Line {
        key: "opl_bsgd_exact",
        name: "Learning: that policy's exact worst case, full support",
        paper: None,
    },
    Line { key: "opl_full", name: "**Learning: exact, full support**", paper: None },
    Line { key: "floor", name: "The floor: no policy whatever does better", paper: None },
    Line { key: "train", name: "Expectation, training set", paper: Some(["0.28"; 3]) },
    Line { key: "test", name: "Expectation, testing set", paper: Some(["0.38"; 3]) },
];

/// A split's numbers: a list of three for each line, and a few more.
type Numbers = BTreeMap<&'static str, Vec<f64>>;

/// Writes the table.
pub fn write(trial: &Trial, splits: usize, out: &Folder) -> Result<()> {
    let split = |seed: usize| {
        let found = numbers(trial, seed as u64);
        eprintln!("table 1: split {} of {splits} is done", seed + 1);
        found
    };
    let all: Vec<Numbers> = (0..splits).into_par_iter().map(split).collect::<Result<_>>()?;
    let columns = ["0.03", "0.05", "0.1"];
    let mut header = vec!["method".to_owned()];
    for radius in columns {
        header.extend([format!("radius {radius}"), "paper".to_owned()]);
    }
    let mut rows = vec![header];
    for line in &LINES {
        let mut row = vec![line.name.to_owned()];
        for k in 0..3 {
            row.push(spread(&column(&all, line.key, k)));
            let paper = line.paper.filter(|_| trial.real).map_or("", |p| p[k]);
            row.push(paper.to_owned());
        }
        rows.push(row);
    }
    let mut raw = vec![vec![
        "split".to_owned(),
        "number".to_owned(),
        "radius".to_owned(),
        "value".to_owned(),
    ]];
    for (split, numbers) in all.iter().enumerate() {
        for (key, values) in numbers {
            for (k, value) in values.iter().enumerate() {
                let radius = if key.ends_with("kl") { KL_RADII[k] } else { RADII[k] };
                let one = values.len() == 1;
                let radius = if one { String::new() } else { radius.to_string() };
                raw.push(vec![split.to_string(), (*key).to_owned(), radius, value.to_string()]);
            }
        }
    }
    let text = format!(
        "# Table 1: evaluation and learning under selection bias\n\n{}Mean ± standard deviation \
         over {splits} random splits: half of the patients train, of those not fully alert half are \
         then left out at random; the other half test. Lower is better. Smoothing η = {ETA}; BSGD \
         with {} steps, {} context and {} support points each, their length chosen by looking at \
         the convergence figures; its value is the regularised objective at the average of its \
         iterates, without sampling.\n\n{}\n{}\n{}",
        trial.words(),
        SCHEDULE.steps,
        SCHEDULE.contexts,
        SCHEDULE.points,
        markdown(&rows),
        holds(&all),
        if trial.real { differences(&all) } else { String::new() }
    );
    out.write("table1.csv", &csv(&raw))?;
    out.write("table1.md", &text)
}

/// One column of a line over all splits.
fn column(all: &[Numbers], key: &str, k: usize) -> Vec<f64> {
    all.iter().filter_map(|n| n.get(key)).map(|v| v[k.min(v.len() - 1)]).collect()
}

/// Everything about one split.
fn numbers(trial: &Trial, seed: u64) -> Result<Numbers> {
    let split = trial.split(seed)?;
    let settings = Settings { detail: Detail::Value, ..Settings::default() };
    let uniform = Policy::uniform(&split.train);
    let value = |robust: &Robust, policy: &Policy, set: Shift| -> Result<f64> {
        Ok(robust.worst_case(policy, &split.values, set, settings)?.value())
    };
    let by = trial.groups()?;
    let mut found = Numbers::new();
    let mut push = |key: &'static str, value: f64| found.entry(key).or_default().push(value);
    push("train", mean(&split.train));
    push("test", mean(&split.test));
    push("train_rows", split.train.total());
    push("points", split.full.population().space().len() as f64);
    let (train, test) = (split.train.population()?, split.test.population()?);
    push("train_to_test", distance(&train, &test, Watch::NOBODY)?.value);
    let halves = split.train.folds_of(2, seed)?;
    let (a, b) = (halves.only(0)?.population()?, halves.only(1)?.population()?);
    push("halves", distance(&a, &b, Watch::NOBODY)?.value);
    for radius in KL_RADII {
        let set = Kl.at(radius);
        push("ope_kl", value(&split.full, &uniform, set)?);
        push("opl_kl", exactly(&split, &by, set, settings)?.0);
    }
    for radius in RADII {
        let exact = Wasserstein.at(radius);
        let smooth = Entropic { eta: ETA }.at(radius);
        push("ope_sub", value(&split.observed, &uniform, exact)?);
        push("ope_full", value(&split.full, &uniform, exact)?);
        push("ope_entropic", value(&split.full, &uniform, smooth)?);
        let (_, lambda) = descend(&split, Class::Fixed(uniform.clone()), smooth, seed)?;
        push("ope_bsgd", objective(&split, &uniform, radius, lambda)?);
        let (policy, lambda) = descend(&split, Class::Groups(by.clone()), smooth, seed)?;
        push("opl_bsgd", objective(&split, &policy, radius, lambda)?);
        push("opl_bsgd_exact", value(&split.full, &policy, exact)?);
        let (learned, policy) = exactly(&split, &by, exact, settings)?;
        push("opl_full", learned);
        push("theta_not_alert", treats(trial, &policy, 0));
        push("theta_alert", treats(trial, &policy, 1));
        let task = Task::new(&split.train, &split.full, &split.values, exact)?;
        push("floor", task.floor(settings)?.upper);
    }
    Ok(found)
}

/// The best policy by group, exactly.
fn exactly(
    split: &Split,
    by: &[Partition],
    set: Shift,
    settings: Settings<'_>,
) -> Result<(f64, Policy)> {
    let task = Task::new(&split.train, &split.full, &split.values, set)?;
    let learned = groups(&task, &Groups::new(by.to_vec()), settings)?;
    Ok((learned.value(), learned.policy().clone()))
}

/// The probability of the first action in a group.
fn treats(trial: &Trial, policy: &Policy, group: usize) -> f64 {
    match policy.rule() {
        seawall::policy::Rule::Groups { probabilities, .. } => {
            probabilities.get(group).map_or(f64::NAN, |row| row[0])
        }
        _ => 1.0 / trial.actions().len() as f64,
    }
}

/// The policy and the dual variable that stochastic gradients end with.
fn descend(split: &Split, class: Class, set: Shift, seed: u64) -> Result<(Policy, f64)> {
    let task = Task::new(&split.train, &split.full, &split.values, set)?;
    let asked = Bsgd { class, schedule: SCHEDULE, eta: ETA, seeds: 1, seed, traced: 1 };
    let found = bsgd(&task, &asked, None, None, Settings::default())?;
    Ok((found.learned.policy().clone(), found.lambda))
}

/// The regularised dual objective at a dual variable, without sampling:
/// `ελ + Σ_i p_i (1/η) log (1/M) Σ_j exp(η (l_j − λ c_ij))`. What BSGD descends on.
fn objective(split: &Split, policy: &Policy, radius: f64, lambda: f64) -> Result<f64> {
    let population = split.full.population();
    let (space, l) = (population.space(), split.full.values(policy, &split.values)?);
    let log_mean = |i: usize| {
        let terms: Vec<f64> =
            l.iter().enumerate().map(|(j, l)| ETA * (l - lambda * space.cost(i, j))).collect();
        let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = terms.iter().map(|t| (t - most).exp()).sum();
        (most + (sum / l.len() as f64).ln()) / ETA
    };
    let weights = population.weights();
    let sources: Vec<usize> = (0..l.len()).filter(|&i| weights[i] > 0.0).collect();
    let means: Vec<f64> = sources.par_iter().map(|&i| weights[i] * log_mean(i)).collect();
    Ok(lambda * radius + means.iter().sum::<f64>())
}

/// What must hold of every split, and in how many it does.
fn holds(all: &[Numbers]) -> String {
    let points = all.first().and_then(|n| n.get("points")).map_or(f64::NAN, |v| v[0]);
    let smoothing = points.ln() / ETA;
    let every = |test: &dyn Fn(&Numbers, usize) -> bool| {
        all.iter().filter(|n| (0..3).all(|k| test(n, k))).count()
    };
    let slack = 1e-9;
    let at = |n: &Numbers, key: &str, k: usize| n.get(key).map_or(f64::NAN, |v| v[k]);
    let test = |n: &Numbers| n.get("test").map_or(f64::NAN, |v| v[0]);
    let below_full = every(&|n, k| at(n, "ope_sub", k) <= at(n, "ope_full", k) + slack);
    let within = every(&|n, k| {
        let (smooth, exact) = (at(n, "ope_entropic", k), at(n, "ope_full", k));
        smooth <= exact + slack && exact <= smooth + smoothing
    });
    let bsgd_within = every(&|n, k| {
        let (found, best) = (at(n, "ope_bsgd", k), at(n, "ope_entropic", k));
        found >= best - 1e-6 && (found - at(n, "ope_full", k)).abs() <= smoothing
    });
    let learned = every(&|n, k| {
        at(n, "opl_full", k) <= at(n, "ope_full", k) + slack
            && at(n, "opl_kl", k) <= at(n, "ope_kl", k) + slack
    });
    let above = every(&|n, k| {
        ["ope_sub", "ope_full", "opl_full"].iter().all(|key| at(n, key, k) > test(n))
    });
    let below = all.iter().filter(|n| at(n, "ope_kl", 0) < test(n)).count();
    let splits = all.len();
    format!(
        "## What must hold, and in how many splits it does\n\n\
         - sub-support ≤ full support at every radius: {below_full} of {splits}\n\
         - regularised ≤ exact ≤ regularised + log M / η at every radius: {within} of {splits}\n\
         - BSGD's objective is above the regularised optimum and within log M / η of the exact \
           value: {bsgd_within} of {splits}\n\
         - the learned policy's worst case ≤ the random policy's, Wasserstein and KL: {learned} of \
           {splits}\n\
         - every exact Wasserstein value, sub-support, full support and learned, is above the \
           testing expectation from radius 0.03 on: {above} of {splits}\n\
         - factored KL at 0.01 is below the testing expectation, so no upper bound of it: {below} \
           of {splits}\n"
    )
}

/// A paragraph on each difference from the paper's numbers.
fn differences(all: &[Numbers]) -> String {
    let of = |key: &str, k: usize| mean_and_sd(&column(all, key, k)).0;
    let rows = mean_and_sd(&column(all, "train_rows", 0)).0;
    let theta =
        (spread(&column(all, "theta_not_alert", 0)), spread(&column(all, "theta_alert", 0)));
    format!(
        "## Where these differ from the paper, and why\n\n\
         **Expectations.** Training {:.3} and testing {:.3} against the paper's 0.28 and 0.38. The \
         testing sets agree to about 0.01. Halving the patients that are not fully alert lowers the training mean \
         by what their share and their cost make it, which here is less than the paper prints: no \
         split of these {} comes near 0.28 (the lowest is {:.3}). The paper's training set has 4,340 \
         patients, these have {rows:.0} on average, so the halving is the same; what else set its \
         training set apart, the paper does not say.\n\n\
         **Factored KL.** {:.3}, {:.3} and {:.3} against 0.30, 0.374 and 0.74. The training \
         expectation alone is {:.3} higher than the paper's; the rest grows with the radius, as KL \
         puts ever more weight on the costliest leaves, and ours cost more. The paper's \
         sentence that KL at 0.01 and 0.1 fails to bound the testing expectation depends on its \
         training mean; the list above counts the splits where it fails at 0.01.\n\n\
         **Wasserstein on the sub-support.** {:.3}, {:.3} and {:.3} against 0.53, 0.61 and 0.79. \
         The training mean explains part of it at 0.03; the values grow faster with the radius than \
         the paper's. The paper does not state the scale of its ground cost: here every ordinal and \
         numeric axis has length 1 and a change of sex or of waking costs 1. Two halves of a training \
         set are about as far apart as the paper's 0.03 (below), so the scale is hardly the reason. \
         More likely the leaves are: some hold two to five patients, on other splits other ones, and \
         the adversary seeks out the costliest; values differ between splits by a good part of what \
         they differ from the paper by.\n\n\
         **Full support.** {:.3}, {:.3} and {:.3}, solved exactly on all 9,936 contexts, where the \
         paper had only the lower bound above. What the sub-support hides is {:.3} at radius 0.03 and \
         {:.3} at 0.1.\n\n\
         **Regularised.** BSGD's objective is {:.3}, {:.3} and {:.3} against 0.59, 0.76 and 1.05, and \
         {:.3}, {:.3} and {:.3} if solved without sampling. The paper does not state its η; the \
         regularised value is below the exact one by up to log M / η, and no upper bound of \
         anything by itself.\n\n\
         **Learning.** Exactly {:.3}, {:.3} and {:.3} on the full support; regularised {:.3}, {:.3} \
         and {:.3} against 0.54, 0.62 and 0.92; factored KL {:.3}, {:.3} and {:.3} against 0.28, \
         0.368 and 0.69. At radius 0.03 the best probabilities of treatment are {} for patients not \
         fully alert and {} for those fully alert, where the paper found 0.8 and 1: they vary a \
         good deal from split to split, and nearly as good policies lie far apart.\n\n\
         **The radius.** Two random halves of a training set are {} apart, the paper's single draw \
         was 0.03; the training set is {} from the testing set.\n",
        of("train", 0),
        of("test", 0),
        all.len(),
        column(all, "train", 0).into_iter().fold(f64::INFINITY, f64::min),
        of("ope_kl", 0),
        of("ope_kl", 1),
        of("ope_kl", 2),
        of("train", 0) - 0.28,
        of("ope_sub", 0),
        of("ope_sub", 1),
        of("ope_sub", 2),
        of("ope_full", 0),
        of("ope_full", 1),
        of("ope_full", 2),
        of("ope_full", 0) - of("ope_sub", 0),
        of("ope_full", 2) - of("ope_sub", 2),
        of("ope_bsgd", 0),
        of("ope_bsgd", 1),
        of("ope_bsgd", 2),
        of("ope_entropic", 0),
        of("ope_entropic", 1),
        of("ope_entropic", 2),
        of("opl_full", 0),
        of("opl_full", 1),
        of("opl_full", 2),
        of("opl_bsgd", 0),
        of("opl_bsgd", 1),
        of("opl_bsgd", 2),
        of("opl_kl", 0),
        of("opl_kl", 1),
        of("opl_kl", 2),
        theta.0,
        theta.1,
        spread(&column(all, "halves", 0)),
        spread(&column(all, "train_to_test", 0)),
    )
}
