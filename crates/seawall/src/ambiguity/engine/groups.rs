//! Points that share their fixed features: mass stays inside such a group.

use crate::kernel::metric::Metric;
use crate::space::{Kind, Space};
use std::collections::HashMap;

/// The points of one combination of fixed levels, without those features.
pub(in crate::ambiguity) struct Group {
    /// The points, by their index in the space.
    pub members: Vec<u32>,
    /// Their coordinates along the other features, one column each.
    pub columns: Vec<Vec<f64>>,
}

impl Group {
    /// The coordinates of a member.
    pub fn row(&self, local: usize, out: &mut Vec<f64>) {
        out.clear();
        out.extend(self.columns.iter().map(|c| c[local]));
    }
}

/// The groups of a space, in order of appearance, and the metrics of the features that vary.
pub(in crate::ambiguity) fn groups(space: &Space) -> (Vec<Metric>, Vec<Group>) {
    let features = 0..space.names().len();
    let (fixed, free): (Vec<usize>, Vec<usize>) =
        features.partition(|&k| space.kind(k) == Kind::Fixed);
    let fixed: Vec<Vec<f64>> = fixed.into_iter().map(|k| space.column(k)).collect();
    let columns: Vec<Vec<f64>> = free.iter().map(|&k| space.column(k)).collect();
    let all = space.metrics();
    let metrics = free.iter().map(|&k| all[k]).collect();

    let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut members: Vec<Vec<u32>> = Vec::new();
    for i in 0..space.len() {
        let key = fixed.iter().map(|c| if c[i].is_nan() { u64::MAX } else { c[i].to_bits() });
        let at = *places.entry(key.collect()).or_insert(members.len());
        if at == members.len() {
            members.push(Vec::new());
        }
        members[at].push(i as u32);
    }
    let pick = |m: &[u32]| -> Vec<Vec<f64>> {
        columns.iter().map(|c| m.iter().map(|&i| c[i as usize]).collect()).collect()
    };
    let groups = members.into_iter().map(|m| Group { columns: pick(&m), members: m }).collect();
    (metrics, groups)
}
