//! `seawall evaluate`.

use crate::failure::Failure;
use crate::request::EvaluateOutputs;
use crate::show;
use seawall::{Watch, WorstCase};
use seawall_study::evaluate::{Changes, Comparison, Evaluation, Question, evaluate};
use seawall_study::forecast;
use seawall_table::write::{csv_field, destination, keep, prepare};
use std::io::Write;
use std::path::Path;

/// Answers, writes the files, then prints.
pub fn run(path: &Path, changes: &Changes, outputs: &EvaluateOutputs) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let loaded = super::check::read_knowing(path, &outputs.toward, &wait)?;
    let mut question = changes.apply(Question::from_study(&loaded))?;
    for output in [&outputs.curve, &outputs.worst].into_iter().flatten() {
        for input in loaded.inputs(&question.policies) {
            destination(output, &input)?;
        }
    }
    question.wanted.curve = outputs.curve.is_some();
    question.wanted.worst = outputs.worst.is_some() || !outputs.json;
    show::forecast::say(forecast::evaluation(&loaded, &question, Watch::new(&wait.follow()))?);
    let found = evaluate(&loaded, &question, Watch::new(&wait.follow()))?;
    drop(wait);
    // All files are complete before the first one takes its name.
    let mut files = Vec::new();
    if let Some(path) = &outputs.curve {
        files.push(prepare(path.clone(), |out| curves(&found, out))?);
    }
    if let Some(path) = &outputs.worst {
        files.push(prepare(path.clone(), |out| populations(&found, out))?);
    }
    keep(files)?;
    let mut out = show::terminal();
    if outputs.json {
        let text = serde_json::to_string(&found).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else if outputs.details {
        show::evaluate::print(&found, outputs, &mut out)?;
    } else {
        show::brief::print(&found, outputs, &mut out)?;
    }
    Ok(())
}

/// A pair of policies in the column of policies: `treat minus control`.
fn pair_field(c: &Comparison) -> String {
    csv_field(&format!("{} minus {}", c.policy, c.against))
}

/// The curves' vertices, policy by policy and then pair by pair, by rising radius.
fn curves(found: &Evaluation, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "policy,cost_radius,radius,value,lambda")?;
    let alone = found.policies.iter().map(|p| (csv_field(&p.name), &p.curves));
    let pairs = found.comparisons.iter().map(|c| (pair_field(c), &c.curves));
    for (name, all) in alone.chain(pairs) {
        for (cost_radius, curve) in found.question.cost.radii.iter().zip(all) {
            for vertex in curve.vertices() {
                let lambda = match vertex.lambda {
                    l if l.is_finite() => l.to_string(),
                    _ => "inf".to_owned(),
                };
                let (radius, value) = (vertex.radius, vertex.value);
                writeln!(out, "{name},{cost_radius},{radius},{value},{lambda}")?;
            }
        }
    }
    Ok(())
}

/// Every context that has mass before or after the shift, policy by policy and then pair by pair.
fn populations(found: &Evaluation, out: &mut dyn Write) -> std::io::Result<()> {
    let space = found.population.space();
    write!(out, "policy,radius,cost_radius")?;
    for name in space.names() {
        write!(out, ",{}", csv_field(name))?;
    }
    writeln!(out, ",value,nominal,worst")?;
    for policy in &found.policies {
        let radii = policy.results.len() / policy.values.len().max(1);
        for (k, (answer, worst)) in policy.results.iter().zip(&policy.worst).enumerate() {
            let key = format!(
                "{},{},{}",
                csv_field(&policy.name),
                answer.shift.radius,
                answer.shift.cost_radius
            );
            population(&key, &policy.values[k / radii], worst, out)?;
        }
    }
    for c in &found.comparisons {
        let radii = c.results.len() / c.values.len().max(1);
        let names = pair_field(c);
        for (k, (answer, worst)) in c.results.iter().zip(&c.worst).enumerate() {
            let key = format!("{names},{},{}", answer.radius, answer.cost_radius);
            population(&key, &c.values[k / radii], worst, out)?;
        }
    }
    Ok(())
}

/// One worst case. Values are those of the contexts listed; a place between them has none here.
fn population(
    key: &str,
    values: &[f64],
    worst: &WorstCase,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let (space, before) = (worst.nominal().space(), worst.nominal().weights());
    for (context, (before, after)) in before.iter().zip(worst.weights()).enumerate() {
        if *before == 0.0 && after == 0.0 {
            continue;
        }
        write!(out, "{key}")?;
        for k in 0..space.names().len() {
            write!(out, ",{}", csv_field(&space.label(context, k)))?;
        }
        let value = values.get(context).map_or(String::new(), f64::to_string);
        writeln!(out, ",{value},{before},{after}")?;
    }
    Ok(())
}
