//! `seawall bound`.

use crate::failure::Failure;
use crate::request::BoundOutputs;
use crate::show;
use seawall::Watch;
use seawall_study::bound::{Bound, Request, bound};
use seawall_table::write::{csv_field, keep, prepare};
use std::io::Write;

/// Answers, writes the files, then prints.
pub fn run(request: &Request, outputs: &BoundOutputs) -> Result<(), Failure> {
    let wait = show::Wait::new();
    let found = bound(request, Watch::new(&wait.follow()))?;
    drop(wait);
    // All files are complete before the first one takes its name.
    let mut files = Vec::new();
    if let Some(path) = &outputs.curve {
        files.push(prepare(path.clone(), |out| curve(&found, out))?);
    }
    if let Some(path) = &outputs.plan {
        files.push(prepare(path.clone(), |out| plan(&found, out))?);
    }
    keep(files)?;
    let mut out = show::terminal();
    if outputs.json {
        let text = serde_json::to_string(&found).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::bound::print(&found, outputs, &mut out)?;
    }
    Ok(())
}

/// The curve's vertices, by rising radius.
fn curve(found: &Bound, out: &mut dyn Write) -> std::io::Result<()> {
    let Some(curve) = &found.curve else { return Ok(()) };
    writeln!(out, "radius,value,lambda")?;
    for vertex in curve.vertices() {
        let lambda =
            if vertex.lambda.is_finite() { vertex.lambda.to_string() } else { "inf".into() };
        writeln!(out, "{},{},{lambda}", vertex.radius, vertex.value)?;
    }
    Ok(())
}

/// The plans' entries: which row's mass goes to which row's place.
fn plan(found: &Bound, out: &mut dyn Write) -> std::io::Result<()> {
    let space = found.population.space();
    write!(out, "radius,from_row,to_row,mass,cost")?;
    for side in ["from", "to"] {
        for name in space.names() {
            write!(out, ",{}", csv_field(&format!("{side}_{name}")))?;
        }
    }
    writeln!(out)?;
    for (radius, worst) in found.request.radii.iter().zip(&found.worst) {
        for step in worst.plan().iter() {
            let (from, to) = (found.row_of[step.from], found.row_of[step.to]);
            write!(out, "{radius},{from},{to},{},{}", step.mass, step.cost)?;
            for point in [step.from, step.to] {
                for feature in 0..space.names().len() {
                    write!(out, ",{}", csv_field(&space.label(point, feature)))?;
                }
            }
            writeln!(out)?;
        }
    }
    Ok(())
}
