//! How far apart two samples are, in words.

use super::{label, number, percent, shift, table};
use seawall::Move;
use seawall_study::distance::SampleDistance;
use std::io::{Result, Write};
use std::path::Path;

/// Prints everything.
pub fn print(answer: &SampleDistance, from: &Path, to: &Path, out: &mut dyn Write) -> Result<()> {
    writeln!(
        out,
        "From {} ({} points) to {} ({} points):",
        from.display(),
        answer.from_points,
        to.display(),
        answer.to_points
    )?;
    writeln!(
        out,
        "Transport distance {} (between {} and {}, {}, {:.1} ms), in units of the ground cost: a \
         radius of this reaches it.",
        number(answer.distance),
        number(answer.lower),
        number(answer.upper),
        answer.status,
        1e3 * answer.seconds
    )?;
    let divergence = match (&answer.kl, &answer.kl_reason) {
        (Some(kl), _) => number(*kl),
        (None, Some(reason)) => reason.clone(),
        (None, None) => "infinite".to_owned(),
    };
    writeln!(out, "KL: {divergence}. Total variation: {}.\n", number(answer.total_variation))?;
    if let Some(strata) = &answer.strata {
        writeln!(
            out,
            "Within the strata of {}, weighed as in the first; their own shares differ by {} (total \
             variation), which no radius covers{}.\n",
            strata.columns.iter().map(|c| label(c)).collect::<Vec<_>>().join(", "),
            number(strata.total_variation),
            if strata.unmatched > 0.0 {
                format!(
                    ", and {} of the second are in strata of their own",
                    percent(strata.unmatched)
                )
            } else {
                String::new()
            }
        )?;
    }
    let mut shown = table(&["feature", "kind", "cost", "share of the distance"]);
    for (k, (name, cost)) in answer.features.iter().enumerate() {
        let cost = cost.as_f64().unwrap_or(f64::NAN);
        let share = if answer.distance > 0.0 { cost / answer.distance } else { 0.0 };
        let kind = answer.space.kind(k).name().to_owned();
        shown.add_row([label(name), kind, number(cost), percent(share)]);
    }
    writeln!(out, "{shown}")?;
    let moves = answer.plan.plan.iter();
    let moves = moves.map(|m| Move { from: m.from, to: m.to, mass: m.mass, cost: m.cost });
    shift::commonest(&answer.space, moves, out)
}
