//! Exact search for the best decision tree against weighted points.
//!
//! Point `i` costs `c_a(i)` under action `a`. A tree of depth `d` asks up to `d` questions of a
//! point (is a number or rank at most this? is a level this one?) and chooses an action; its cost
//! is the sum over points. For every root question in turn the histograms of both sides are kept
//! up as points cross from one side to the other, so a depth-2 tree over `n` points, `F` features
//! of `K` levels and `A` actions takes `O(F² n A + (F K)² A)`, and each further level of depth a
//! factor of the number of questions.
//!
//! A leaf's mass may be asked to be at least so much.

use crate::policy::{Branch, Test};
use crate::space::{Kind, Space, Value};

/// A question: is the rank of a feature at most (ordered), or exactly (nominal), this?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) feature: usize,
    pub(super) rank: usize,
}

/// A tree that chooses actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Action(usize),
    Ask(Question, Box<Node>, Box<Node>),
}

/// The levels of one feature, ranked.
struct Ranked {
    name: String,
    ordered: bool,
    /// The ranks' values: the number, or the level's text; None for a missing value.
    values: Vec<Ranks>,
    /// The rank of each point.
    of: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq)]
enum Ranks {
    Number(f64),
    Level(String),
    Missing,
}

/// The points of a support with their features' levels ranked.
pub(super) struct Points {
    features: Vec<Ranked>,
    /// Where each feature's levels begin in a histogram, and the number of all.
    offset: Vec<usize>,
    bins: usize,
    actions: usize,
}

/// What points cost and weigh.
pub(super) struct Costs<'c> {
    /// `[point · actions + action]`.
    pub(super) costs: &'c [f64],
    /// The mass of each point.
    pub(super) mass: &'c [f64],
    /// The mass of a leaf, at least.
    pub(super) least: f64,
}

/// Sums by level: `[bin · (actions + 1) + action]`, the mass last.
type Histogram = Vec<f64>;

impl Points {
    /// Ranks the features of a space's points. Numeric and ordinal levels by position, missing
    /// ones last.
    pub(super) fn new(space: &Space, actions: usize) -> Self {
        let mut features = Vec::new();
        for (k, name) in space.names().enumerate() {
            let text = |value: Value<'_>| match value {
                Value::Number(x) => Ranks::Number(x),
                Value::Level(level) => Ranks::Level(level.to_owned()),
                Value::Missing => Ranks::Missing,
            };
            let all = space.each(k, text);
            let position: Vec<f64> = space.column(k);
            let ordered = matches!(space.kind(k), Kind::Numeric | Kind::Ordinal);
            let mut distinct: Vec<(f64, Ranks)> = Vec::new();
            for (x, value) in position.iter().zip(&all) {
                if !distinct.iter().any(|(_, v)| v == value) {
                    distinct.push((*x, value.clone()));
                }
            }
            distinct.sort_by(|a, b| a.0.total_cmp(&b.0));
            let rank = |value: &Ranks| distinct.iter().position(|(_, v)| v == value).unwrap_or(0);
            let of = all.iter().map(|v| rank(v) as u32).collect();
            let values = distinct.iter().map(|(_, v)| v.clone()).collect();
            features.push(Ranked { name: name.to_owned(), ordered, values, of });
        }
        let mut offset = Vec::new();
        let mut bins = 0;
        for f in &features {
            offset.push(bins);
            bins += f.values.len();
        }
        Points { features, offset, bins, actions }
    }

    fn width(&self) -> usize {
        self.actions + 1
    }

    fn holds(&self, question: Question, point: usize) -> bool {
        let f = &self.features[question.feature];
        let rank = f.of[point] as usize;
        if f.ordered { rank <= question.rank } else { rank == question.rank }
    }

    /// Every question that can tell two points apart.
    fn questions(&self) -> impl Iterator<Item = Question> {
        self.features.iter().enumerate().flat_map(|(feature, f)| {
            // The last rank of an ordered feature has everyone on one side; of two nominal levels
            // one question is enough.
            let count = match (f.ordered, f.values.len()) {
                (true, n) => n.saturating_sub(1),
                (false, ..=2) => f.values.len().saturating_sub(1),
                (false, n) => n,
            };
            (0..count).map(move |rank| Question { feature, rank })
        })
    }

    fn add(&self, histogram: &mut [f64], costs: &Costs<'_>, point: usize) {
        let width = self.width();
        let row = &costs.costs[point * self.actions..][..self.actions];
        for (f, offset) in self.features.iter().zip(&self.offset) {
            let bin = &mut histogram[(offset + f.of[point] as usize) * width..][..width];
            bin.iter_mut().zip(row).for_each(|(b, c)| *b += c);
            bin[self.actions] += costs.mass[point];
        }
    }

    fn histogram(&self, costs: &Costs<'_>, points: &[u32]) -> Histogram {
        let mut histogram = vec![0.0; self.bins * self.width()];
        points.iter().for_each(|&i| self.add(&mut histogram, costs, i as usize));
        histogram
    }

    /// The sums of a histogram over the ranks where a question holds.
    fn side(&self, histogram: &[f64], question: Question, sums: &mut [f64]) {
        let (width, offset) = (self.width(), self.offset[question.feature]);
        sums.fill(0.0);
        let first = if self.features[question.feature].ordered { 0 } else { question.rank };
        for rank in first..=question.rank {
            let bin = &histogram[(offset + rank) * width..][..width];
            sums.iter_mut().zip(bin).for_each(|(s, b)| *s += b);
        }
    }

    fn totals(&self, histogram: &[f64]) -> Vec<f64> {
        let width = self.width();
        let mut sums = vec![0.0; width];
        for rank in 0..self.features[0].values.len() {
            sums.iter_mut().zip(&histogram[rank * width..][..width]).for_each(|(s, b)| *s += b);
        }
        sums
    }

    /// The cheapest action.
    fn action(&self, sums: &[f64]) -> (f64, usize) {
        let mut best = 0;
        for a in 1..self.actions {
            if sums[a] < sums[best] {
                best = a;
            }
        }
        (sums[best], best)
    }

    /// The best tree of at most one question, from a histogram.
    fn stump(&self, histogram: &[f64], least: f64) -> (f64, Node) {
        let totals = self.totals(histogram);
        let (cost, action) = self.action(&totals);
        let mut best = (cost, Node::Action(action));
        let width = self.width();
        let (mut left, mut right) = (vec![0.0; width], vec![0.0; width]);
        let mut before: Option<Question> = None;
        for question in self.questions() {
            let ordered = self.features[question.feature].ordered;
            let same = before.is_some_and(|b| b.feature == question.feature);
            if ordered && same {
                // One more rank on the left.
                let at = (self.offset[question.feature] + question.rank) * width;
                left.iter_mut().zip(&histogram[at..at + width]).for_each(|(l, b)| *l += b);
            } else {
                self.side(histogram, question, &mut left);
            }
            before = Some(question);
            right.iter_mut().zip(&totals).zip(&left).for_each(|((r, t), l)| *r = t - l);
            if left[self.actions] < least || right[self.actions] < least {
                continue;
            }
            let ((a, yes), (b, no)) = (self.action(&left), self.action(&right));
            if a + b < best.0 && yes != no {
                let sides = (Box::new(Node::Action(yes)), Box::new(Node::Action(no)));
                best = (a + b, Node::Ask(question, sides.0, sides.1));
            }
        }
        best
    }

    /// The best tree of at most two questions on the way to a leaf.
    fn pair(&self, costs: &Costs<'_>, points: &[u32]) -> (f64, Node) {
        let whole = self.histogram(costs, points);
        let mut best = self.stump(&whole, costs.least);
        let total_mass = self.totals(&whole)[self.actions];
        for (feature, f) in self.features.iter().enumerate() {
            let mut by_rank: Vec<Vec<u32>> = vec![Vec::new(); f.values.len()];
            points.iter().for_each(|&i| by_rank[f.of[i as usize] as usize].push(i));
            let mut left = vec![0.0; whole.len()];
            let mut right = whole.clone();
            for question in self.questions().filter(|q| q.feature == feature) {
                if !f.ordered {
                    left.fill(0.0);
                }
                by_rank[question.rank].iter().for_each(|&i| self.add(&mut left, costs, i as usize));
                right.iter_mut().zip(&whole).zip(&left).for_each(|((r, w), l)| *r = w - l);
                let mass = self.totals(&left)[self.actions];
                if mass < costs.least || total_mass - mass < costs.least {
                    continue;
                }
                let (a, yes) = self.stump(&left, costs.least);
                let (b, no) = self.stump(&right, costs.least);
                if a + b < best.0 {
                    best = (a + b, Node::Ask(question, Box::new(yes), Box::new(no)));
                }
            }
        }
        best
    }

    /// The best tree of a depth, and its cost.
    pub(super) fn best(&self, costs: &Costs<'_>, points: &[u32], depth: usize) -> (f64, Node) {
        match depth {
            0 => {
                let (cost, action) = self.action(&self.totals(&self.histogram(costs, points)));
                (cost, Node::Action(action))
            }
            1 => self.stump(&self.histogram(costs, points), costs.least),
            2 => self.pair(costs, points),
            _ => {
                let mut best = self.pair(costs, points);
                for question in self.questions() {
                    let Some((left, right)) = self.divide(costs, points, question) else {
                        continue;
                    };
                    let (a, yes) = self.best(costs, &left, depth - 1);
                    let (b, no) = self.best(costs, &right, depth - 1);
                    if a + b < best.0 {
                        best = (a + b, Node::Ask(question, Box::new(yes), Box::new(no)));
                    }
                }
                best
            }
        }
    }

    /// The points on either side of a question; None if one side is empty or too light.
    fn divide(
        &self,
        costs: &Costs<'_>,
        points: &[u32],
        question: Question,
    ) -> Option<(Vec<u32>, Vec<u32>)> {
        let (left, right): (Vec<u32>, Vec<u32>) =
            points.iter().partition(|&&i| self.holds(question, i as usize));
        let heavy = |side: &[u32]| {
            !side.is_empty()
                && side.iter().map(|&i| costs.mass[i as usize]).sum::<f64>() >= costs.least
        };
        (heavy(&left) && heavy(&right)).then_some((left, right))
    }

    /// Every tree of a depth that costs less than `limit`, cheapest first; None if there are more
    /// than `most`.
    pub(super) fn list(
        &self,
        costs: &Costs<'_>,
        points: &[u32],
        depth: usize,
        limit: f64,
        most: usize,
    ) -> Option<Vec<(f64, Node)>> {
        let totals = self.totals(&self.histogram(costs, points));
        let mut all: Vec<(f64, Node)> = (0..self.actions)
            .filter(|&a| totals[a] < limit)
            .map(|a| (totals[a], Node::Action(a)))
            .collect();
        if depth > 0 {
            for question in self.questions() {
                let Some((left, right)) = self.divide(costs, points, question) else { continue };
                let (a, b) =
                    (self.best(costs, &left, depth - 1).0, self.best(costs, &right, depth - 1).0);
                if a + b >= limit {
                    continue;
                }
                let yes = self.list(costs, &left, depth - 1, limit - b, most)?;
                let no = self.list(costs, &right, depth - 1, limit - a, most)?;
                for (a, yes) in &yes {
                    for (b, no) in no.iter().take_while(|(b, _)| a + b < limit) {
                        // The same action on both sides is no question at all.
                        if matches!((yes, no), (Node::Action(x), Node::Action(y)) if x == y) {
                            continue;
                        }
                        let node = Node::Ask(question, Box::new(yes.clone()), Box::new(no.clone()));
                        all.push((a + b, node));
                        if all.len() > most {
                            return None;
                        }
                    }
                }
            }
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some(all)
    }

    /// The action of a point.
    pub(super) fn chosen(&self, node: &Node, point: usize) -> usize {
        let mut at = node;
        loop {
            match at {
                Node::Action(action) => return *action,
                Node::Ask(question, yes, no) => {
                    at = if self.holds(*question, point) { yes } else { no };
                }
            }
        }
    }

    /// The tree as a policy's branch.
    pub(super) fn branch(&self, node: &Node) -> Branch {
        match node {
            Node::Action(action) => {
                Branch::Leaf((0..self.actions).map(|a| f64::from(u8::from(a == *action))).collect())
            }
            Node::Ask(question, yes, no) => Branch::Split {
                test: self.test(*question),
                yes: Box::new(self.branch(yes)),
                no: Box::new(self.branch(no)),
            },
        }
    }

    fn test(&self, question: Question) -> Test {
        let f = &self.features[question.feature];
        let (feature, rank) = (f.name.clone(), question.rank);
        if let (true, Ranks::Number(x)) = (f.ordered, &f.values[rank]) {
            // Midway to the next number, so that numbers between are on the nearer side.
            let number = match f.values.get(rank + 1) {
                Some(Ranks::Number(next)) => midway(*x, *next),
                _ => *x,
            };
            return Test::AtMost { feature, number };
        }
        let text = |value: &Ranks| match value {
            Ranks::Number(x) => Some(x.to_string()),
            Ranks::Level(level) => Some(level.clone()),
            Ranks::Missing => None,
        };
        let first = if f.ordered { 0 } else { rank };
        Test::OneOf { feature, levels: f.values[first..=rank].iter().map(text).collect() }
    }
}

/// A number between two, or the lower one of neighbouring floats. Twelve digits of it, so that the
/// middle of 0.25 and 0.35 is 0.3.
fn midway(low: f64, high: f64) -> f64 {
    let middle = 0.5 * low + 0.5 * high;
    let short = format!("{middle:.11e}").parse().unwrap_or(middle);
    let between = |x: &f64| low <= *x && *x < high;
    [short, middle].into_iter().find(between).unwrap_or(low)
}
