//! The convergence figures: the dual variable and the policy's parameters, for evaluation and
//! learning, by BSGD under Wasserstein and by gradient descent under KL.
//!
//! The library solves KL sets exactly; the descent here exists to draw the paper's figure. On
//! `u = log λ` and θ it follows the gradient of `ελ + λ log Σ p_i exp(l_i(θ)/λ)` with steps that fall
//! as `1/√t`, from starts drawn at random: as the descent itself is deterministic, the spread over
//! runs is that of the starts.

use crate::page::{Folder, csv, mean_and_sd};
use crate::plot::{Line, Plot};
use crate::table1::{ETA, SCHEDULE};
use crate::trial::{Split, Trial};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use seawall::learn::{Bsgd, Class, Groups, Task, bsgd, groups};
use seawall::policy::{Policy, Rule};
use seawall::{Entropic, Kl, Result, Settings, Shift, Wasserstein};
use std::fmt::Write;

const RADIUS: f64 = 0.03;
const KL_RADIUS: f64 = 0.1;
const KL_STEPS: usize = 400;
const TRACED: usize = 200;

/// One quantity over all runs: at each step the runs' values.
struct Trace {
    name: String,
    steps: Vec<(usize, Vec<f64>)>,
    /// What an exact solve says it should be.
    exact: f64,
}

/// Writes the figures.
pub fn write(trial: &Trial, runs: usize, out: &Folder) -> Result<()> {
    let split = trial.split(0)?;
    let by = trial.groups()?;
    let uniform = Policy::uniform(&split.train);
    let settings = Settings::default();
    let wasserstein = Wasserstein.at(RADIUS);
    let smooth = Entropic { eta: ETA }.at(RADIUS);
    let kl = Kl.at(KL_RADIUS);
    let lambda = |policy: &Policy, set: Shift| -> Result<f64> {
        Ok(split.full.worst_case(policy, &split.values, set, settings)?.lambda())
    };
    let mut text = format!(
        "# Convergence\n\n{}One split (seed 0). Lines are means and bands standard deviations over \
         {runs} runs; flat lines are exact. BSGD: radius {RADIUS}, η = {ETA}, {} steps; the traces are of \
         averaged iterates. KL: radius {KL_RADIUS}, gradient descent from random starts.\n\n",
        trial.words(),
        SCHEDULE.steps
    );
    let mut show = |name: &str, title: &str, traces: &[Trace]| -> Result<()> {
        out.write(&format!("{name}.csv"), &csv(&table(traces)))?;
        out.write(&format!("{name}.svg"), &plot(title, traces).svg())?;
        let _ = writeln!(text, "![{title}]({name}.svg)\n");
        for t in traces {
            let (mean, sd) = t.steps.last().map_or((f64::NAN, f64::NAN), |(_, v)| mean_and_sd(v));
            let _ =
                writeln!(text, "- {}: ends at {mean:.4} ± {sd:.4}, exactly {:.4}", t.name, t.exact);
        }
        text.push('\n');
        Ok(())
    };

    // Evaluation.
    let fixed = stochastic(&split, Class::Fixed(uniform.clone()), smooth, runs)?;
    let traces = [fixed.lambda(lambda(&uniform, smooth)?)];
    show("ope-dual-wasserstein", "Evaluation, Wasserstein by BSGD: dual variable", &traces)?;
    let one = [vec![0.5, 0.5], vec![0.5, 0.5]];
    let run = descent(trial, &split, runs, Some(&one))?;
    show(
        "ope-dual-kl",
        "Evaluation, KL by gradient descent: dual variable",
        &[run.lambda(lambda(&uniform, kl)?)],
    )?;

    // Learning; the exact optimum of the regularised problem has no solver, so that of the exact.
    let learned = |set: Shift| -> Result<Policy> {
        let task = Task::new(&split.train, &split.full, &split.values, set)?;
        Ok(groups(&task, &Groups::new(by.clone()), settings)?.policy().clone())
    };
    let best = learned(wasserstein)?;
    let found = stochastic(&split, Class::Groups(by.clone()), smooth, runs)?;
    show(
        "opl-policy-wasserstein",
        "Learning, Wasserstein by BSGD: probability of treatment",
        &found.theta(&best),
    )?;
    show(
        "opl-dual-wasserstein",
        "Learning, Wasserstein by BSGD: dual variable",
        &[found.lambda(lambda(&best, smooth)?)],
    )?;
    let best = learned(kl)?;
    let found = descent(trial, &split, runs, None)?;
    show(
        "opl-policy-kl",
        "Learning, KL by gradient descent: probability of treatment",
        &found.theta(&best),
    )?;
    show(
        "opl-dual-kl",
        "Learning, KL by gradient descent: dual variable",
        &[found.lambda(lambda(&best, kl)?)],
    )?;
    text.push_str(
        "Of the policy's parameters the exact values are those of the exact problem, not the \
         smoothed one that BSGD descends on; where many policies are nearly as good they may differ \
         while the worst cases hardly do.\n",
    );
    out.write("convergence.md", &text)
}

/// What runs went through: step, λ, and the probability of the first action in each group.
struct Runs(Vec<Vec<(usize, f64, Vec<f64>)>>);

impl Runs {
    fn trace(&self, name: &str, exact: f64, of: impl Fn(&(usize, f64, Vec<f64>)) -> f64) -> Trace {
        let length = self.0.iter().map(Vec::len).min().unwrap_or(0);
        let step = |k: usize| (self.0[0][k].0, self.0.iter().map(|run| of(&run[k])).collect());
        Trace { name: name.to_owned(), steps: (0..length).map(step).collect(), exact }
    }

    fn lambda(&self, exact: f64) -> Trace {
        self.trace("λ", exact, |p| p.1)
    }

    fn theta(&self, best: &Policy) -> Vec<Trace> {
        let exact = |group: usize| match best.rule() {
            Rule::Groups { probabilities, .. } => probabilities[group][0],
            _ => f64::NAN,
        };
        let names = ["not fully alert", "fully alert"];
        let each = names.iter().enumerate();
        each.map(|(g, name)| self.trace(name, exact(g), |p| p.2[g])).collect()
    }
}

fn stochastic(split: &Split, class: Class, set: Shift, runs: usize) -> Result<Runs> {
    let task = Task::new(&split.train, &split.full, &split.values, set)?;
    let asked = Bsgd { class, schedule: SCHEDULE, eta: ETA, seeds: runs, seed: 1, traced: TRACED };
    let found = bsgd(&task, &asked, None, None, Settings::default())?;
    let actions = split.train.actions().len();
    let run = |trace: &[seawall::learn::TracePoint]| {
        let first = |theta: &[f64]| theta.chunks(actions).map(|row| row[0]).collect();
        trace.iter().map(|p| (p.step, p.lambda, first(&p.theta))).collect()
    };
    Ok(Runs(found.state.traces().map(run).collect()))
}

/// Gradient descent under KL; with `fixed` the policy stays.
fn descent(
    trial: &Trial,
    split: &Split,
    runs: usize,
    fixed: Option<&[Vec<f64>; 2]>,
) -> Result<Runs> {
    let population = split.full.population();
    let weights = population.weights();
    let seen: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
    let by = trial.groups()?;
    let group: Vec<usize> = {
        // A policy that treats the first group alone tells who is in it.
        let alone = vec![vec![1.0, 0.0], vec![0.0, 1.0]];
        let rule = Rule::Groups { by, probabilities: alone };
        let policy = Policy::new("first group", rule, split.train.contexts(), trial.actions())?;
        seen.iter().map(|&i| usize::from(policy.probability(i, 0) < 0.5)).collect()
    };
    let cost = |i: usize, action: usize| split.values.at(i, action);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut all = Vec::new();
    for _ in 0..runs {
        let mut u = (0.2 + 3.0 * uniform()).ln();
        let mut theta = match fixed {
            Some(rows) => vec![rows[0][0], rows[1][0]],
            None => vec![uniform(), uniform()],
        };
        let mut run = Vec::new();
        for step in 0..KL_STEPS {
            let lambda = u.exp();
            run.push((step, lambda, theta.clone()));
            let l: Vec<f64> = seen
                .iter()
                .zip(&group)
                .map(|(&i, &g)| theta[g] * cost(i, 0) + (1.0 - theta[g]) * cost(i, 1))
                .collect();
            let most = l.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let tilt: Vec<f64> = seen
                .iter()
                .zip(&l)
                .map(|(&i, l)| weights[i] * ((l - most) / lambda).exp())
                .collect();
            let total: f64 = tilt.iter().sum();
            let mean: f64 = tilt.iter().zip(&l).map(|(q, l)| q * l).sum::<f64>() / total;
            // d/dλ of the dual, times dλ/du = λ.
            let slope = KL_RADIUS + total.ln() + most / lambda - mean / lambda;
            let mut by_theta = [0.0; 2];
            for ((q, &i), &g) in tilt.iter().zip(&seen).zip(&group) {
                by_theta[g] += q / total * (cost(i, 0) - cost(i, 1));
            }
            let rate = 1.0 / ((step + 1) as f64).sqrt();
            u -= (4.0 * rate * slope * lambda).clamp(-1.0, 1.0);
            if fixed.is_none() {
                for (t, d) in theta.iter_mut().zip(by_theta) {
                    *t = (*t - 8.0 * rate * d).clamp(0.0, 1.0);
                }
            }
        }
        all.push(run);
    }
    Ok(Runs(all))
}

/// The traces as rows: the step, then mean, standard deviation and exact value of each.
fn table(traces: &[Trace]) -> Vec<Vec<String>> {
    let mut header = vec!["step".to_owned()];
    for t in traces {
        header.extend(["mean", "sd", "exact"].map(|what| format!("{} {what}", t.name)));
    }
    let mut rows = vec![header];
    for k in 0..traces.first().map_or(0, |t| t.steps.len()) {
        let mut row = vec![traces[0].steps[k].0.to_string()];
        for t in traces {
            let (mean, sd) = mean_and_sd(&t.steps[k].1);
            row.extend([mean.to_string(), sd.to_string(), t.exact.to_string()]);
        }
        rows.push(row);
    }
    rows
}

fn plot(title: &str, traces: &[Trace]) -> Plot {
    let mut lines = Vec::new();
    for t in traces {
        let point = |(step, values): &(usize, Vec<f64>)| {
            let (mean, sd) = mean_and_sd(values);
            (*step as f64, mean, sd)
        };
        lines.push(Line {
            name: t.name.clone(),
            points: t.steps.iter().map(point).collect(),
            bars: false,
        });
    }
    for t in traces {
        let ends = [t.steps.first(), t.steps.last()].into_iter().flatten();
        let points = ends.map(|(step, _)| (*step as f64, t.exact, 0.0)).collect();
        lines.push(Line { name: format!("{}, exactly", t.name), points, bars: false });
    }
    Plot {
        title: title.to_owned(),
        x: "step".to_owned(),
        y: String::new(),
        logarithmic: false,
        lines,
    }
}
