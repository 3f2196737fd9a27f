//! The levels of a feature in the order in which a tree asks about them.

use crate::policy::Test;
use crate::space::{Kind, Space};
use std::collections::HashMap;

/// A question: is the rank of a feature at most (ordered), or exactly (nominal), this?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RankQuestion {
    pub(super) feature: usize,
    pub(super) rank: usize,
}

/// One feature of a support's points, its levels ranked: numeric and ordinal ones by position,
/// missing ones last.
pub(super) struct FeatureRanks {
    name: String,
    pub(super) ordered: bool,
    levels: Vec<RankLevel>,
    /// The rank of each point.
    pub(super) of_point: Vec<u32>,
}

/// What a rank stands for.
#[derive(Clone, Debug, PartialEq)]
enum RankLevel {
    Number(f64),
    Text(String),
    Missing,
}

impl FeatureRanks {
    /// Ranks one feature of a space's points.
    pub(super) fn new(space: &Space, feature: usize, name: &str) -> Self {
        let positions = space.column(feature);
        // Codes that differ are levels that differ; a missing value may have two.
        let key = |point: usize| {
            if positions[point].is_nan() {
                f64::NAN.to_bits()
            } else {
                (space.code(point, feature) + 0.0).to_bits()
            }
        };
        let mut first: HashMap<u64, u32> = HashMap::new();
        let of_point: Vec<u64> = (0..space.len()).map(key).collect();
        for (point, &key) in of_point.iter().enumerate() {
            first.entry(key).or_insert(point as u32);
        }
        let mut distinct: Vec<(u64, u32)> = first.into_iter().collect();
        distinct.sort_unstable_by(|a, b| {
            let position = |point: u32| positions[point as usize];
            position(a.1).total_cmp(&position(b.1)).then(a.1.cmp(&b.1))
        });
        let rank: HashMap<u64, u32> =
            distinct.iter().zip(0..).map(|((key, _), rank)| (*key, rank)).collect();
        let level = |&(_, point): &(u64, u32)| level(space, feature, point as usize, &positions);
        FeatureRanks {
            name: name.to_owned(),
            ordered: matches!(space.kind(feature), Kind::Numeric | Kind::Ordinal),
            levels: distinct.iter().map(level).collect(),
            of_point: of_point.iter().map(|key| rank[key]).collect(),
        }
    }

    /// How many levels there are.
    pub(super) fn len(&self) -> usize {
        self.levels.len()
    }

    /// How many of the ranks, from the first, are worth a question. The last rank of an ordered
    /// feature has everyone on one side; of two nominal levels one question is enough.
    pub(super) fn questions(&self) -> usize {
        match (self.ordered, self.len()) {
            (true, n) | (false, n @ ..=2) => n.saturating_sub(1),
            (false, n) => n,
        }
    }

    /// The question about a rank, as a policy asks it.
    pub(super) fn test(&self, rank: usize) -> Test {
        let feature = self.name.clone();
        if let (true, RankLevel::Number(x)) = (self.ordered, &self.levels[rank]) {
            // Between this number and the next; of two bins' centres that is where they meet, and
            // a number there belongs to the upper one.
            if let Some(RankLevel::Number(next)) = self.levels.get(rank + 1) {
                return Test::Below { feature, number: midway(*x, *next) };
            }
            return Test::AtMost { feature, number: *x };
        }
        let text = |level: &RankLevel| match level {
            RankLevel::Number(x) => Some(x.to_string()),
            RankLevel::Text(text) => Some(text.clone()),
            RankLevel::Missing => None,
        };
        let first = if self.ordered { 0 } else { rank };
        Test::OneOf { feature, levels: self.levels[first..=rank].iter().map(text).collect() }
    }
}

/// What a point holds for a feature.
fn level(space: &Space, feature: usize, point: usize, positions: &[f64]) -> RankLevel {
    if positions[point].is_nan() {
        return RankLevel::Missing;
    }
    match space.number_at(point, feature) {
        Some(number) => RankLevel::Number(number),
        None => RankLevel::Text(space.levels(feature)[space.code(point, feature) as usize].clone()),
    }
}

/// A number above `low` and at most `high`, about midway. Twelve digits of it, so that the middle of
/// 0.25 and 0.35 is 0.3.
fn midway(low: f64, high: f64) -> f64 {
    let middle = 0.5 * low + 0.5 * high;
    let short = format!("{middle:.11e}").parse().unwrap_or(middle);
    let between = |x: &f64| low < *x && *x <= high;
    [short, middle].into_iter().find(between).unwrap_or(high)
}
