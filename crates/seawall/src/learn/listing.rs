//! Every tree that costs less than a limit, cheapest first: what the search for the best single tree goes through.

use super::node::Node;
use super::ranks::RankQuestion;
use super::search::{Costs, GoOn, RankedPoints};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Trees and their costs, cheapest first.
pub(super) type Listed = Vec<(f64, Node)>;

/// What became of a list of trees.
pub(super) enum Listing {
    All(Listed),
    TooMany,
    Stopped,
}

/// Which trees to list.
#[derive(Clone, Copy)]
pub(super) struct Window {
    /// Those that cost less than this.
    pub(super) limit: f64,
    /// So many at most.
    pub(super) most: usize,
}

/// A list that several threads add to.
struct Shared {
    window: Window,
    /// How many trees there are so far, whoever found them: too many once are too many.
    count: AtomicUsize,
}

impl Shared {
    fn is_full(&self) -> bool {
        self.count.load(Ordering::Relaxed) > self.window.most
    }

    /// Adds the trees of a question and its sides; what became of the list if that ends it.
    fn join(
        &self,
        question: RankQuestion,
        sides: (Listing, Listing),
        own: &mut Listed,
    ) -> Option<Listing> {
        let before = own.len();
        match sides {
            (Listing::Stopped, _) | (_, Listing::Stopped) => Some(Listing::Stopped),
            (Listing::All(yes), Listing::All(no)) => {
                let fits = join(question, &yes, &no, self.window, own);
                let more = own.len() - before;
                let count = self.count.fetch_add(more, Ordering::Relaxed) + more;
                (!fits || count > self.window.most).then_some(Listing::TooMany)
            }
            _ => Some(Listing::TooMany),
        }
    }
}

impl RankedPoints {
    /// Every tree of a depth that costs less than the window's limit, cheapest first.
    pub(super) fn list(
        &self,
        costs: &Costs<'_>,
        points: &[u32],
        depth: usize,
        window: Window,
        go_on: GoOn<'_>,
    ) -> Listing {
        let whole = self.histogram(costs, points);
        if depth <= 1 {
            return self.stumps(&whole, costs.least, depth, window);
        }
        let mut all = self.leaves(&self.totals(&whole), window.limit);
        let list = Shared { window, count: AtomicUsize::new(all.len()) };
        let found = if depth == 2 {
            match self.pairs((costs, points), &whole, &list, go_on) {
                Some(found) => found,
                None => return Listing::Stopped,
            }
        } else {
            let below = |question| self.below(question, (costs, points), depth, &list, go_on);
            let questions: Vec<RankQuestion> = self.questions().collect();
            questions.into_par_iter().map(below).collect()
        };
        let stopped = found.iter().any(|part| matches!(part, Listing::Stopped));
        for part in found {
            match part {
                Listing::All(own) => all.extend(own),
                _ if stopped => return Listing::Stopped,
                _ => return Listing::TooMany,
            }
        }
        sorted(all)
    }

    /// The trees of two questions on the way to a leaf, by part of the root questions; None if it was stopped.
    fn pairs(
        &self,
        (costs, points): (&Costs<'_>, &[u32]),
        whole: &[f64],
        list: &Shared,
        go_on: GoOn<'_>,
    ) -> Option<Vec<Listing>> {
        let (least, window) = (costs.least, list.window);
        let visit = |own: &mut Listing, question, (left, right): (&[f64], &[f64])| {
            let (a, b) = (self.stump(left, least).0, self.stump(right, least).0);
            if a + b >= window.limit {
                return true;
            }
            let stumps = |side: &[f64], other: f64| {
                let limit = window.limit - other;
                self.stumps(side, least, 1, Window { limit, ..window })
            };
            let Listing::All(listed) = own else { return false };
            match list.join(question, (stumps(left, b), stumps(right, a)), listed) {
                _ if list.is_full() => *own = Listing::TooMany,
                None => return true,
                Some(end) => *own = end,
            }
            false
        };
        self.each_split((costs, points), whole, go_on, || Listing::All(Vec::new()), visit)
    }

    /// The trees below one root question, of more than two questions on the way to a leaf.
    fn below(
        &self,
        question: RankQuestion,
        (costs, points): (&Costs<'_>, &[u32]),
        depth: usize,
        list: &Shared,
        go_on: GoOn<'_>,
    ) -> Listing {
        let (mut own, window) = (Vec::new(), list.window);
        let Some((left, right)) = self.divide(costs, points, question) else {
            return Listing::All(own);
        };
        let best = |side: &[u32]| self.best(costs, side, depth - 1, go_on);
        let (Some((a, _)), Some((b, _))) = (best(&left), best(&right)) else {
            return Listing::Stopped;
        };
        if a + b >= window.limit {
            return Listing::All(own);
        }
        let side = |side: &[u32], other: f64| {
            if list.is_full() {
                Listing::TooMany
            } else {
                let window = Window { limit: window.limit - other, ..window };
                self.list(costs, side, depth - 1, window, go_on)
            }
        };
        let sides = (side(&left, b), side(&right, a));
        list.join(question, sides, &mut own).unwrap_or(Listing::All(own))
    }

    /// Every action that may be taken and costs less than a limit, in order.
    fn leaves(&self, sums: &[f64], limit: f64) -> Listed {
        let actions = (0..self.actions).filter(|&a| sums[a] < limit && self.takes(sums, a));
        actions.map(|a| (sums[a], Node::Action(a))).collect()
    }

    /// Every tree of at most `depth` ≤ 1 questions that costs less than the window's limit, from
    /// a histogram.
    fn stumps(&self, histogram: &[f64], least: f64, depth: usize, window: Window) -> Listing {
        let mut all = self.leaves(&self.totals(histogram), window.limit);
        let mut fits = all.len() <= window.most;
        if depth == 1 {
            self.each_division(histogram, least, |question, left, right| {
                let (a, b) = (self.action(left).0, self.action(right).0);
                if fits && a + b < window.limit {
                    let mut yes = self.leaves(left, window.limit - b);
                    let mut no = self.leaves(right, window.limit - a);
                    yes.sort_by(|x, y| x.0.total_cmp(&y.0));
                    no.sort_by(|x, y| x.0.total_cmp(&y.0));
                    fits = join(question, &yes, &no, window, &mut all);
                }
            });
        }
        if fits { sorted(all) } else { Listing::TooMany }
    }
}

/// Adds every pair of sides that costs less than the limit; false if that is too many.
fn join(
    question: RankQuestion,
    yes: &Listed,
    no: &Listed,
    window: Window,
    all: &mut Listed,
) -> bool {
    for (a, yes) in yes {
        for (b, no) in no.iter().take_while(|(b, _)| a + b < window.limit) {
            // The same on both sides is no question at all.
            if yes == no {
                continue;
            }
            all.push((a + b, Node::ask(question, yes.clone(), no.clone())));
            if all.len() > window.most {
                return false;
            }
        }
    }
    true
}

fn sorted(mut all: Listed) -> Listing {
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    Listing::All(all)
}

#[cfg(test)]
mod tests {
    use super::super::rivals::Rivals;
    use super::*;
    use crate::policy::Branch;
    use crate::space::{Feature, Space};
    use proptest::prelude::*;

    fn space() -> Space {
        Space::grid([
            Feature::numeric("u").levels([0.0, 1.0, 2.0, 4.0]),
            Feature::nominal("v", ["a", "b", "c"]),
            Feature::ordinal("w", ["low", "high"]),
        ])
        .unwrap()
    }

    /// Every tree of a depth whose questions divide the points, none with alike sides.
    fn every(points: &RankedPoints, of: &[u32], depth: usize) -> Vec<Node> {
        let mut all: Vec<Node> = (0..points.actions).map(Node::Action).collect();
        for question in points.questions().filter(|_| depth > 0) {
            let (left, right): (Vec<u32>, Vec<u32>) =
                of.iter().partition(|&&i| points.holds(question, i as usize));
            if left.is_empty() || right.is_empty() {
                continue;
            }
            let rights = every(points, &right, depth - 1);
            for yes in every(points, &left, depth - 1) {
                let others = rights.iter().filter(|no| **no != yes);
                all.extend(others.map(|no| Node::ask(question, yes.clone(), no.clone())));
            }
        }
        all
    }

    proptest! {
        #[test]
        fn leaves_take_only_what_their_points_have(
            quarters in proptest::collection::vec(0..9u32, 48),
            rows in proptest::collection::vec(0..4u32, 48),
            depth in 0..3usize,
        ) {
            let seen: Vec<bool> = rows.iter().map(|n| *n == 0).collect();
            let points = RankedPoints::new(&space(), 2).taking_only(seen.clone());
            let costs: Vec<f64> = quarters.iter().map(|q| f64::from(*q) / 4.0).collect();
            let all: Vec<u32> = (0..24).collect();
            let fits = |tree: &Node| allowed(&points, &seen, tree, &all);
            let cost = |tree: &Node| -> f64 {
                all.iter().map(|&i| costs[2 * i as usize + points.chosen(tree, i as usize)]).sum()
            };
            let every = every(&points, &all, depth);
            let least = every.iter().filter(|t| fits(t)).map(cost).fold(f64::INFINITY, f64::min);
            let given = Costs { costs: &costs, mass: &[1.0; 24], least: 0.0 };
            let best = points.best(&given, &all, depth, &|| true);
            prop_assert_eq!(best.as_ref().map(|b| b.0), Some(least));
            prop_assert!(best.is_some_and(|b| fits(&b.1)));
        }
    }

    /// Whether every leaf takes what some of its points have, or has none that have anything.
    fn allowed(points: &RankedPoints, seen: &[bool], tree: &Node, of: &[u32]) -> bool {
        match tree {
            Node::Action(a) => {
                let has = |a: usize| of.iter().any(|&i| seen[2 * i as usize + a]);
                has(*a) || !(has(0) || has(1))
            }
            Node::Ask(question, yes, no) => {
                let (left, right): (Vec<u32>, Vec<u32>) =
                    of.iter().partition(|&&i| points.holds(*question, i as usize));
                allowed(points, seen, yes, &left) && allowed(points, seen, no, &right)
            }
        }
    }

    proptest! {
        #[test]
        fn a_list_holds_every_tree_below_its_limit(
            quarters in proptest::collection::vec(0..9u32, 48),
            depth in 1..3usize,
            share in 0.0..1.0f64,
        ) {
            let points = RankedPoints::new(&space(), 2);
            let costs: Vec<f64> = quarters.iter().map(|q| f64::from(*q) / 4.0).collect();
            let all: Vec<u32> = (0..24).collect();
            let cost = |tree: &Node| -> f64 {
                all.iter().map(|&i| costs[2 * i as usize + points.chosen(tree, i as usize)]).sum()
            };
            let every = every(&points, &all, depth);
            let least = every.iter().map(cost).fold(f64::INFINITY, f64::min);
            let most = every.iter().map(cost).fold(0.0, f64::max);
            let window = Window { limit: least + share * (most - least), most: usize::MAX };
            let given = Costs { costs: &costs, mass: &[1.0; 24], least: 0.0 };
            let Listing::All(listed) = points.list(&given, &all, depth, window, &|| true) else {
                return Err(TestCaseError::fail("the list was not finished"));
            };
            // Quarters add up exactly, whatever the order.
            prop_assert!(listed.iter().all(|(c, tree)| *c == cost(tree)));
            prop_assert!(listed.is_sorted_by(|a, b| a.0 <= b.0));
            let expected = every.iter().filter(|tree| cost(tree) < window.limit);
            prop_assert_eq!(listed.len(), expected.clone().count());
            prop_assert!(expected.clone().all(|tree| listed.iter().any(|(_, t)| t == tree)));
            let best = points.best(&given, &all, depth, &|| true);
            prop_assert_eq!(best.map(|b| b.0), Some(least));

            // What rivals read off their sums is what the points add up to.
            let columns: Vec<Vec<f64>> =
                (0..2).map(|a| costs.iter().skip(a).step_by(2).copied().collect()).collect();
            let mut rivals = Rivals::new(&points, &columns, depth);
            rivals.add(1.0, &[1.0; 24]);
            for tree in &every {
                prop_assert!(rivals.ruling_out(tree, 1.0 + cost(tree)).is_some());
                prop_assert!(rivals.ruling_out(tree, 1.25 + cost(tree)).is_none());
            }
        }
    }

    #[test]
    fn questions_whose_sides_are_alike_are_not_asked() {
        let points = RankedPoints::new(&space(), 2);
        let asked = |feature: usize, yes: Node, no: Node| {
            Node::ask(RankQuestion { feature, rank: 0 }, yes, no)
        };
        let leaf = Node::Action;
        let stump = || asked(1, leaf(0), leaf(1));
        let alike = asked(0, stump(), asked(2, stump(), stump()));
        assert_eq!(points.branch(&alike), points.branch(&stump()));
        assert_eq!(points.branch(&asked(0, leaf(1), leaf(1))), Branch::Leaf(vec![0.0, 1.0]));
        assert_eq!(points.branch(&stump()), points.grown(&stump()));
    }
}
