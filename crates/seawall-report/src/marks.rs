//! Radii that mean something, marked on the charts.

use crate::sentences::isolated;
use seawall_study::evaluate::Evaluation;
use seawall_study::report::{Stops, round_up};
use seawall_study::words::{number, short};
use serde::Serialize;

/// A radius that means something.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Mark {
    /// Where.
    pub radius: f64,
    /// The radius as it is shown.
    pub text: String,
    /// What it means.
    pub words: String,
    /// Which stop it is.
    pub stop: usize,
}

/// A mark at the stop nearest to a radius.
fn mark(stops: &Stops, radius: f64, words: String) -> Mark {
    let stop = stops.nearest(radius);
    let radius = stops.radii[stop];
    Mark { radius, text: number(radius), words, stop }
}

/// Radii that mean something.
pub(super) fn marks(stops: &Stops, found: &Evaluation) -> Vec<Mark> {
    let mut marks = Vec::new();
    let chance = found.policies.iter().filter_map(|p| p.radii.chance).fold(0.0, f64::max);
    if chance > 0.0 && chance <= stops.largest {
        marks.push(mark(
            stops,
            round_up(chance),
            "the worst case of every policy reaches the 95% limit of its estimate without a shift: \
             less covers no more than chance"
                .to_owned(),
        ));
    }
    let last = found.policies.iter().map(|p| p.radii.saturation).fold(0.0, f64::max);
    if last > 0.0 && last <= stops.largest {
        let words =
            "beyond, everyone sits where the values are worst: larger radii say nothing more";
        marks.push(mark(stops, last, words.to_owned()));
    }
    for c in found.comparisons.iter().filter(|c| c.leads()) {
        let radius = c.robustness_radius.plug_in.value;
        if radius > 0.0 && radius <= stops.largest {
            let words = format!(
                "up to here {} is, as fitted, no worse than {} in every population",
                isolated(&c.policy),
                isolated(&c.against)
            );
            let mark = mark(stops, radius, words);
            // Shown where it is, though the slider stops nearby.
            marks.push(Mark { radius, text: short(radius), ..mark });
        }
    }
    marks.sort_by(|a, b| a.radius.total_cmp(&b.radius));
    marks.truncate(26);
    marks
}
