//! Context columns that determine the action: there is no overlap.

use crate::overlap::DeterminedAction;
use crate::words::{number, percent};
use seawall::{Kind, Log};
use std::collections::HashMap;

/// A note for each column that tells the action of nearly all rows.
pub(crate) fn overlap_notes(log: &Log) -> Vec<String> {
    let space = log.contexts();
    let names = space.names().enumerate();
    names.filter_map(|(k, name)| told(log, k).map(|how| note(name, &how))).collect()
}

fn note(name: &str, how: &str) -> String {
    format!(
        "no overlap: the context column {name:?} tells the action {how}, so the data do not show what another \
         action would have done for the same people; leave the column out of the contexts if the action is \
         what made it so, or compare only policies that act as the data do there"
    )
}

/// How a column tells the action, if it tells nearly all of it.
fn told(log: &Log, feature: usize) -> Option<String> {
    let (space, actions) = (log.contexts(), log.actions().len());
    let numeric = space.kind(feature) == Kind::Numeric;
    let mut groups: HashMap<u64, (f64, Vec<f64>)> = HashMap::new();
    for e in log.entries() {
        let context = e.context as usize;
        // What is missing is a group, at the end.
        let place = if numeric {
            space.number_at(context, feature).unwrap_or(f64::NAN)
        } else {
            space.code(context, feature)
        };
        let key = if place.is_nan() { f64::NAN.to_bits() } else { place.to_bits() };
        let (_, rows) = groups.entry(key).or_insert_with(|| (place, vec![0.0; actions]));
        rows[e.action as usize] += e.weight;
    }
    let mut groups: Vec<(f64, Vec<f64>)> = groups.into_values().collect();
    groups.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (places, rows): (Vec<f64>, Vec<Vec<f64>>) = groups.into_iter().unzip();
    let found = DeterminedAction::by(&rows, numeric).filter(DeterminedAction::determines)?;
    let of_rows = format!("of {} of rows", percent(found.right));
    let ends = found.after.map(|k| (places[k], places[k + 1])).filter(|e| !e.1.is_nan());
    Some(match ends {
        Some((low, high)) => {
            format!("{of_rows} (a threshold between {} and {})", number(low), number(high))
        }
        None => of_rows,
    })
}
