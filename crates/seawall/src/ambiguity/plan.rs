//! Where the mass goes: a sparse plan from the observed population to the worst-case one.

use crate::space::Space;
use std::sync::Arc;

/// One entry of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// The point the mass comes from.
    pub from: usize,
    /// The point it goes to; the same where it stays.
    pub to: usize,
    /// How much mass.
    pub mass: f64,
    /// What a unit of mass pays: the ground cost of the move where people move. Where they are weighed
    /// anew it is the point's share of what is spent, for KL the logarithm of its new weight over its
    /// old one. `Σ mass · cost` is what was spent of the radius, but for these: the Sinkhorn ball, which
    /// pays for every nat of spread too; moments and MMD, whose distance is no sum over people.
    pub cost: f64,
}

/// A sparse plan: entries of positive mass, the stays among them.
#[derive(Clone, Debug)]
pub struct Plan {
    space: Arc<Space>,
    from: Vec<u32>,
    to: Vec<u32>,
    mass: Vec<f64>,
    /// What each entry pays, where it is not the ground cost.
    paid: Option<Vec<f64>>,
    left_out: f64,
}

impl Plan {
    /// An empty plan on a space.
    pub(super) fn new(space: &Arc<Space>) -> Self {
        Plan {
            space: space.clone(),
            from: Vec::new(),
            to: Vec::new(),
            mass: Vec::new(),
            paid: None,
            left_out: 0.0,
        }
    }

    /// A plan that takes each source to one target, all of its mass.
    pub(super) fn of_targets(
        space: &Arc<Space>,
        from: Vec<u32>,
        to: Vec<u32>,
        weights: &[f64],
    ) -> Self {
        let mass = from.iter().map(|&i| weights[i as usize]).collect();
        Plan { from, to, mass, ..Plan::new(space) }
    }

    /// Sends a share of an entry's mass to another target.
    pub(super) fn split(&mut self, entry: usize, share: f64, to: u32) {
        let (from, mass) = (self.from[entry], self.mass[entry]);
        self.mass[entry] = mass * (1.0 - share);
        self.push(from, to, mass * share);
    }

    /// Adds an entry that pays the ground cost; nothing is added for no mass.
    pub(super) fn push(&mut self, from: u32, to: u32, mass: f64) {
        if mass > 0.0 {
            self.from.push(from);
            self.to.push(to);
            self.mass.push(mass);
        }
    }

    /// Adds an entry that pays a price of its own.
    pub(super) fn push_paid(&mut self, from: u32, to: u32, mass: f64, paid: f64) {
        if mass > 0.0 {
            self.push(from, to, mass);
            self.paid.get_or_insert_default().push(paid);
        }
    }

    /// Says how much mass is in entries too light to be listed.
    pub(super) fn leave_out(&mut self, mass: f64) {
        self.left_out = mass;
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.mass.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.mass.is_empty()
    }

    /// The mass in entries too light to be listed; 0 but for entropic plans and those of the
    /// Sinkhorn ball, which spread everybody.
    pub fn left_out(&self) -> f64 {
        self.left_out
    }

    /// One entry.
    pub fn get(&self, entry: usize) -> Move {
        let (from, to) = (self.from[entry] as usize, self.to[entry] as usize);
        let cost = match &self.paid {
            Some(paid) => paid[entry],
            None => self.space.cost(from, to),
        };
        Move { from, to, mass: self.mass[entry], cost }
    }

    /// Every entry.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Move> {
        (0..self.len()).map(|entry| self.get(entry))
    }

    /// Where an entry's mass comes from and goes to, and how much it is.
    pub(super) fn route(&self, entry: usize) -> (usize, usize, f64) {
        (self.from[entry] as usize, self.to[entry] as usize, self.mass[entry])
    }

    /// Where an entry's mass goes, and how much.
    pub(super) fn arrival(&self, entry: usize) -> (usize, f64) {
        (self.to[entry] as usize, self.mass[entry])
    }

    /// The heaviest moves between different places, heaviest first; of moves as heavy, the
    /// dearest first.
    pub fn largest(&self, count: usize) -> Vec<Move> {
        let mut moves: Vec<Move> = self.iter().filter(|m| m.from != m.to).collect();
        let ahead = |a: &Move, b: &Move| {
            let by_size = b.mass.total_cmp(&a.mass).then(b.cost.total_cmp(&a.cost));
            by_size.then((a.from, a.to).cmp(&(b.from, b.to)))
        };
        if moves.len() > count && count > 0 {
            moves.select_nth_unstable_by(count - 1, ahead);
        }
        moves.truncate(count);
        moves.sort_unstable_by(ahead);
        moves
    }

    /// The population that the plan leads to: one weight per point.
    pub fn arrivals(&self) -> Vec<f64> {
        let mut weights = vec![0.0; self.space.len()];
        for (to, mass) in (0..self.len()).map(|e| self.arrival(e)) {
            weights[to] += mass;
        }
        weights
    }
}
