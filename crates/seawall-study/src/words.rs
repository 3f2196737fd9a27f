//! Estimates and radii as people read them: the same in the terminal and in the report.

use crate::set_text;
use crate::study::Scale;
use seawall::Set;
use seawall::evaluate::Estimate;

pub use seawall_table::words::{
    between, commands, gap, level, limit, number, percent, printable, radius, rows, short,
    standardised, supported,
};

/// What a radius of a set measures, in sentences: in the study's own scale where people move.
pub fn away(set: Set, scale: Scale) -> String {
    let mut text = set_text::of(set).away.to_owned();
    if set.moves_mass() {
        text.push_str(match scale {
            Scale::Range => {
                " Moving everyone across the whole range of one numeric column, or to another level of \
                 one nominal column, costs 1 with the default weights."
            }
            Scale::Spread => {
                " Two people drawn at random are 1 apart in each column, on average, so a radius of 0.1 \
                 is worth drawing one column anew for a tenth of the people. It bounds a mean squared \
                 distance, not its root."
            }
        });
    }
    if let Some(coding) = set_text::of(set).coding {
        text.push_str(&format!(" Columns: {coding}."));
    }
    text
}

/// An estimate with its interval, to the digits that its standard error supports.
pub fn estimate(e: &Estimate) -> String {
    let Some(interval) = e.interval else { return format!("{} (unknown)", short(e.value)) };
    let [value, low, high] = [e.value, interval.lower, interval.upper].map(|x| supported(x, e.se));
    format!("{value} ({low}, {high})")
}

/// The same of an estimate that the data may have no rows for.
pub fn estimate_if(e: Option<&Estimate>) -> String {
    e.map_or("no such rows".to_owned(), estimate)
}
