//! What a box holds of one feature: an interval or a set of levels; and what it costs to get there.

use super::Question;
use crate::kernel::metric::Metric;
use crate::space::{Space, bits};
use std::collections::HashMap;

/// The values of one feature that a box holds, as coordinates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BoxSide {
    /// Every number from one to the other, both included, and perhaps the missing value.
    Line { low: f64, high: f64, missing: bool },
    /// The levels whose bits are set.
    Levels(Vec<u64>),
}

impl BoxSide {
    /// Every level of so many.
    fn all_levels(count: usize) -> Self {
        let mut words = vec![u64::MAX; count.div_ceil(64)];
        if !count.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last = (1 << (count % 64)) - 1;
        }
        BoxSide::Levels(words)
    }

    pub fn is_empty(&self) -> bool {
        match self {
            BoxSide::Line { low, high, missing } => !missing && low > high,
            BoxSide::Levels(words) => words.iter().all(|w| *w == 0),
        }
    }

    pub fn has_level(&self, level: usize) -> bool {
        match self {
            BoxSide::Levels(words) => words[level / 64] >> (level % 64) & 1 == 1,
            BoxSide::Line { .. } => false,
        }
    }

    /// The part where the answer to a question is yes, or no.
    pub fn part(&self, question: &Question, yes: bool) -> Self {
        match (self, question) {
            (&BoxSide::Line { low, high, .. }, Question::AtMost(t)) if yes => {
                BoxSide::Line { low, high: high.min(*t), missing: false }
            }
            (&BoxSide::Line { low, high, missing }, Question::AtMost(t)) => {
                BoxSide::Line { low: low.max(t.next_up()), high, missing }
            }
            (&BoxSide::Line { missing, .. }, Question::IsMissing) if yes => {
                BoxSide::Line { low: f64::INFINITY, high: f64::NEG_INFINITY, missing }
            }
            (&BoxSide::Line { low, high, .. }, Question::IsMissing) => {
                BoxSide::Line { low, high, missing: false }
            }
            (BoxSide::Levels(own), Question::Levels(asked)) => {
                let kept = |(o, a): (&u64, &u64)| if yes { o & a } else { o & !a };
                BoxSide::Levels(own.iter().zip(asked.iter()).map(kept).collect())
            }
            // A question about levels is asked of levels, one about numbers of numbers.
            (side, _) => side.clone(),
        }
    }

    /// Whether a value is on both sides.
    pub fn meets(&self, other: &BoxSide) -> bool {
        match (self, other) {
            (
                BoxSide::Line { low, high, missing },
                BoxSide::Line { low: from, high: to, missing: gone },
            ) => low.max(*from) <= high.min(*to) || *missing && *gone,
            (BoxSide::Levels(a), BoxSide::Levels(b)) => a.iter().zip(b).any(|(a, b)| a & b != 0),
            _ => false,
        }
    }

    /// What is on both sides.
    pub fn common(&self, other: &BoxSide) -> Self {
        match (self, other) {
            (
                BoxSide::Line { low, high, missing },
                BoxSide::Line { low: from, high: to, missing: gone },
            ) => BoxSide::Line {
                low: low.max(*from),
                high: high.min(*to),
                missing: *missing && *gone,
            },
            (BoxSide::Levels(a), BoxSide::Levels(b)) => {
                BoxSide::Levels(a.iter().zip(b).map(|(a, b)| a & b).collect())
            }
            (side, _) => side.clone(),
        }
    }

    /// A question that some values of this side answer unlike another one's within it: where the
    /// other begins or ends, the end that is towards `from` if there are two. None if this side is
    /// within the other.
    pub fn question(&self, other: &BoxSide, from: &BoxSide) -> Option<Question> {
        match (self, other) {
            (
                &BoxSide::Line { low, high, missing },
                &BoxSide::Line { low: begin, high: end, missing: gone },
            ) => {
                let within = begin <= end && low <= high;
                let below = (within && begin > low && begin <= high)
                    .then(|| Question::AtMost(begin.next_down()));
                let above = (within && end < high && end >= low).then_some(Question::AtMost(end));
                let apart = (missing != gone || !within) && missing && low <= high;
                let apart = apart.then_some(Question::IsMissing);
                match from {
                    BoxSide::Line { low, .. } if *low > end => above.or(below).or(apart),
                    _ => below.or(above).or(apart),
                }
            }
            (BoxSide::Levels(own), BoxSide::Levels(asked)) => {
                let outside = own.iter().zip(asked).any(|(o, a)| o & !a != 0);
                let inside = own.iter().zip(asked).any(|(o, a)| o & a != 0);
                (outside && inside).then(|| Question::Levels(asked.clone().into()))
            }
            _ => None,
        }
    }

    /// What tells this side from others of its feature.
    pub fn key(&self) -> Vec<u64> {
        match self {
            BoxSide::Line { low, high, missing } => {
                vec![bits(*low), bits(*high), (*missing).into()]
            }
            BoxSide::Levels(words) => words.clone(),
        }
    }
}

/// The whole of a space, feature by feature.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    /// The features' metrics.
    pub metrics: Vec<Metric>,
    /// The coordinates of each feature's levels; none for a feature whose values are any numbers.
    pub coords: Vec<Vec<f64>>,
    /// What a code is multiplied with to be a coordinate, where values are any numbers.
    pub scales: Vec<f64>,
    /// All of each feature.
    pub whole: Vec<BoxSide>,
}

impl Extent {
    /// Every value between each feature's ends, every level, and what is missing where the points
    /// of the space have missing values.
    pub fn new(space: &Space) -> Self {
        let features = 0..space.names().len();
        let whole = |k: usize| match space.levels(k).len() {
            0 => {
                let ends = (f64::INFINITY, f64::NEG_INFINITY, false);
                let (low, high, missing) = (0..space.len()).fold(ends, |(low, high, none), i| {
                    let at = space.coordinate(k, space.code(i, k));
                    if at.is_nan() { (low, high, true) } else { (low.min(at), high.max(at), none) }
                });
                BoxSide::Line { low, high, missing }
            }
            count => BoxSide::all_levels(count),
        };
        Extent {
            metrics: space.metrics(),
            coords: features.clone().map(|k| space.coords(k).to_vec()).collect(),
            scales: features.clone().map(|k| space.scale(k)).collect(),
            whole: features.map(whole).collect(),
        }
    }

    /// Whether a feature's values are any numbers.
    pub fn is_line(&self, feature: usize) -> bool {
        matches!(self.whole[feature], BoxSide::Line { .. })
    }

    /// The code of the value of a side that is nearest to a code, and what the move costs.
    pub fn landing(&self, feature: usize, side: &BoxSide, code: f64) -> (f64, f64) {
        let metric = self.metrics[feature];
        match side {
            &BoxSide::Line { low, high, missing } => {
                let (scale, x) = (self.scales[feature], code * self.scales[feature]);
                let inside = if x.is_nan() { low } else { x.clamp(low.min(high), high.max(low)) };
                let there = if low <= high { metric.cost(x, inside) } else { f64::INFINITY };
                let gone = if missing { metric.cost(x, f64::NAN) } else { f64::INFINITY };
                if gone < there { (f64::NAN, gone) } else { (inside / scale, there) }
            }
            BoxSide::Levels(words) => {
                let (coords, from) = (&self.coords[feature], code as usize);
                if side.has_level(from) {
                    return (code, 0.0);
                }
                let mut best = (code, f64::INFINITY);
                for (word, &bits) in words.iter().enumerate() {
                    let mut left = bits;
                    while left != 0 {
                        let level = word * 64 + left.trailing_zeros() as usize;
                        left &= left - 1;
                        let cost = metric.cost(coords[from], coords[level]);
                        if cost < best.1 {
                            best = (level as f64, cost);
                        }
                    }
                }
                best
            }
        }
    }

    /// What it costs to get into a side of a feature of any numbers from a code.
    #[inline]
    pub fn line_cost(&self, feature: usize, side: &BoxSide, code: f64) -> f64 {
        let (metric, x) = (self.metrics[feature], code * self.scales[feature]);
        match (side, metric) {
            (BoxSide::Line { low, high, missing: false }, Metric::Square { weight, .. })
                if !x.is_nan() && low <= high =>
            {
                let apart = (low - x).max(x - high).max(0.0);
                weight * apart * apart
            }
            _ => self.landing(feature, side, code).1,
        }
    }

    /// What it costs to get into a side from each level of a feature that has levels.
    pub fn level_costs(&self, feature: usize, side: &BoxSide) -> Vec<f64> {
        let (metric, coords) = (self.metrics[feature], &self.coords[feature]);
        let inside: Vec<usize> = (0..coords.len()).filter(|l| side.has_level(*l)).collect();
        let missing = inside.iter().any(|l| coords[*l].is_nan());
        let mut there: Vec<f64> =
            inside.iter().map(|l| coords[*l]).filter(|x| !x.is_nan()).collect();
        there.sort_unstable_by(f64::total_cmp);
        let cost = |level: usize| {
            let x = coords[level];
            if side.has_level(level) {
                return 0.0;
            }
            let gone = if missing { metric.cost(x, f64::NAN) } else { f64::INFINITY };
            let at = there.partition_point(|z| *z < x);
            let near = [at.checked_sub(1), Some(at)].into_iter().flatten();
            let near = near.filter_map(|k| there.get(k)).map(|z| metric.cost(x, *z));
            // A missing value is as far from all others.
            let any = there.first().filter(|_| x.is_nan()).map(|z| metric.cost(x, *z));
            near.chain(any).fold(gone, f64::min)
        };
        (0..coords.len()).map(cost).collect()
    }
}

/// The sides that boxes have, each kept once.
#[derive(Clone, Debug)]
pub(crate) struct Sides {
    /// Each side and whose it is.
    pub all: Vec<(usize, BoxSide)>,
    known: HashMap<(usize, Vec<u64>), u32>,
    parts: HashMap<(u32, u32, bool), Option<u32>>,
    /// The side of each feature that holds everything.
    pub whole: Vec<u32>,
}

impl Sides {
    /// With the whole of each feature.
    pub fn new(extent: &Extent) -> Self {
        let mut sides = Sides {
            all: Vec::new(),
            known: HashMap::new(),
            parts: HashMap::new(),
            whole: Vec::new(),
        };
        for (feature, side) in extent.whole.iter().enumerate() {
            let id = sides.number(feature, side.clone());
            sides.whole.push(id);
        }
        sides
    }

    fn number(&mut self, feature: usize, side: BoxSide) -> u32 {
        let next = self.all.len() as u32;
        let id = *self.known.entry((feature, side.key())).or_insert(next);
        if id == next {
            self.all.push((feature, side));
        }
        id
    }

    /// The part of a side where the answer to a question is yes, or no; None if it holds nothing.
    /// Questions have numbers so that what was asked before is remembered.
    pub fn part(
        &mut self,
        side: u32,
        (number, question): (u32, &Question),
        yes: bool,
    ) -> Option<u32> {
        if let Some(known) = self.parts.get(&(side, number, yes)) {
            return *known;
        }
        let (feature, own) = &self.all[side as usize];
        let (feature, part) = (*feature, own.part(question, yes));
        let found = if part.is_empty() { None } else { Some(self.number(feature, part)) };
        self.parts.insert((side, number, yes), found);
        found
    }
}
