//! Transport between sources and targets along given arcs: a primal network simplex.
//!
//! ```text
//! min Σ c_a x_a   with   Σ out of i = p_i,  Σ into j = q_j,  x ≥ 0
//! ```
//!
//! The basis is a spanning tree over sources, targets and a root that every node is tied to by a
//! dear artificial arc, so that any arcs will do to begin with and more can be added between runs:
//! the tree is kept. Potentials make every tree arc's reduced cost `c + π_from − π_to` zero; an arc
//! whose reduced cost is negative enters, and the flow round its cycle empties another. Of several
//! that empty at once the last one round the cycle leaves (strongly feasible trees), so that no
//! sequence of trees repeats.

const NONE: u32 = u32::MAX;

/// An arc from a source to a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arc {
    pub from: u32,
    pub to: u32,
    pub cost: f64,
}

/// A transport problem being solved.
pub struct Flow {
    sources: usize,
    /// The artificial arcs first, one per node.
    arcs: Vec<Arc>,
    flow: Vec<f64>,
    /// Whether an arc is in the tree.
    basic: Vec<bool>,
    potential: Vec<f64>,
    parent: Vec<u32>,
    /// The arc to the parent.
    up: Vec<u32>,
    depth: Vec<u32>,
    first_child: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    /// Where the search for an arc to enter goes on.
    at: usize,
    stack: Vec<u32>,
    /// Trees so far.
    pub pivots: usize,
}

impl Flow {
    /// Nothing but artificial arcs, each costing `dear`: more than any arc.
    pub fn new(supply: &[f64], demand: &[f64], dear: f64) -> Self {
        let (sources, nodes) = (supply.len(), supply.len() + demand.len());
        let root = nodes as u32;
        let artificial = |node: usize| {
            if node < sources {
                Arc { from: node as u32, to: root, cost: dear }
            } else {
                Arc { from: root, to: node as u32, cost: dear }
            }
        };
        let mut flow = Flow {
            sources,
            arcs: (0..nodes).map(artificial).collect(),
            flow: supply.iter().chain(demand).copied().collect(),
            basic: vec![true; nodes],
            potential: (0..nodes).map(|n| if n < sources { -dear } else { dear }).collect(),
            parent: vec![root; nodes],
            up: (0..root).collect(),
            depth: vec![1; nodes],
            first_child: vec![NONE; nodes + 1],
            next: vec![NONE; nodes + 1],
            previous: vec![NONE; nodes + 1],
            at: 0,
            stack: Vec::new(),
            pivots: 0,
        };
        flow.potential.push(0.0);
        flow.parent.push(NONE);
        flow.up.push(NONE);
        flow.depth.push(0);
        (0..root).for_each(|node| flow.hang(node, root));
        flow
    }

    /// Adds an arc from a source to a target, both counted from 0.
    pub fn add(&mut self, from: usize, to: usize, cost: f64) {
        self.arcs.push(Arc { from: from as u32, to: (self.sources + to) as u32, cost });
        self.flow.push(0.0);
        self.basic.push(false);
    }

    /// A target's potential, counted from 0: what a unit is worth there.
    pub fn target_potential(&self, target: usize) -> f64 {
        self.potential[self.sources + target]
    }

    /// A source's potential.
    pub fn source_potential(&self, source: usize) -> f64 {
        self.potential[source]
    }

    /// The arcs that carry something: source, target, mass and cost.
    pub fn carried(&self) -> impl Iterator<Item = (usize, usize, f64, f64)> {
        let real = self.arcs.iter().zip(&self.flow).skip(self.parent.len() - 1);
        real.filter(|(_, x)| **x > 0.0)
            .map(|(a, x)| (a.from as usize, a.to as usize - self.sources, *x, a.cost))
    }

    /// What still goes by artificial arcs.
    pub fn stranded(&self) -> f64 {
        self.flow[..self.sources].iter().sum()
    }

    fn reduced(&self, arc: usize) -> f64 {
        let Arc { from, to, cost } = self.arcs[arc];
        cost + self.potential[from as usize] - self.potential[to as usize]
    }

    /// Pivots until no arc's reduced cost is below `−tolerance`, or rounding keeps it from ending:
    /// the tree is then feasible all the same, and whoever asks has bounds of their own.
    ///
    /// Asks now and then whether to go on; false if it was told to stop.
    pub fn solve(&mut self, tolerance: f64, go_on: &dyn Fn() -> bool) -> bool {
        let most = self.pivots + 1_000_000 + 100 * self.arcs.len();
        while self.pivots < most
            && let Some(arc) = self.entering(tolerance)
        {
            self.pivot(arc);
            if self.pivots.is_multiple_of(1024) && !go_on() {
                return false;
            }
        }
        true
    }

    /// The most negative arc of a block, blocks in turn; None if no arc is negative.
    fn entering(&mut self, tolerance: f64) -> Option<usize> {
        let count = self.arcs.len();
        let block = ((count as f64).sqrt() as usize).max(64);
        let (mut best, mut least) = (None, -tolerance);
        let mut looked = 0;
        while looked < count {
            for _ in 0..block.min(count - looked) {
                if self.at >= count {
                    self.at = 0;
                }
                if !self.basic[self.at] {
                    let reduced = self.reduced(self.at);
                    if reduced < least {
                        (best, least) = (Some(self.at), reduced);
                    }
                }
                self.at += 1;
                looked += 1;
            }
            if best.is_some() {
                return best;
            }
        }
        None
    }

    fn pivot(&mut self, entering: usize) {
        self.pivots += 1;
        let Arc { from: u, to: v, .. } = self.arcs[entering];
        let reduced = self.reduced(entering);
        // Up from both ends to where they meet, and on the way the least flow that is undone.
        let (mut a, mut b) = (u, v);
        let mut most = f64::INFINITY;
        let (mut leaving, mut on_u) = (NONE, true);
        let (mut least_v, mut leaving_v) = (f64::INFINITY, NONE);
        while a != b {
            if self.depth[a as usize] >= self.depth[b as usize] {
                // The cycle comes down to u: arcs that point up are undone.
                let arc = self.up[a as usize] as usize;
                if self.arcs[arc].from == a && self.flow[arc] < most {
                    (most, leaving) = (self.flow[arc], a);
                }
                a = self.parent[a as usize];
            } else {
                // The cycle goes up from v: arcs that point down are undone.
                let arc = self.up[b as usize] as usize;
                if self.arcs[arc].to == b && self.flow[arc] <= least_v {
                    (least_v, leaving_v) = (self.flow[arc], b);
                }
                b = self.parent[b as usize];
            }
        }
        if least_v <= most {
            (most, leaving, on_u) = (least_v, leaving_v, false);
        }
        let (join, amount) = (a, most);
        for (end, with) in [(u, false), (v, true)] {
            let mut node = end;
            while node != join {
                let arc = self.up[node as usize] as usize;
                let points_up = self.arcs[arc].from == node;
                if points_up == with {
                    self.flow[arc] += amount;
                } else {
                    self.flow[arc] -= amount;
                }
                node = self.parent[node as usize];
            }
        }
        self.flow[entering] += amount;
        let left = self.up[leaving as usize] as usize;
        self.flow[left] = 0.0;
        self.basic[left] = false;
        self.basic[entering] = true;
        // The part below the leaving arc hangs from the entering one now.
        let (inner, outer, shift) = if on_u { (u, v, -reduced) } else { (v, u, reduced) };
        self.rehang(inner, outer, leaving, entering as u32);
        self.refresh(inner, shift);
    }

    /// Turns the path from `inner` up to `top` round, so that `inner` is a child of `outer`.
    fn rehang(&mut self, inner: u32, outer: u32, top: u32, arc: u32) {
        let (mut node, mut parent, mut by) = (inner, outer, arc);
        loop {
            let (old_parent, old_by) = (self.parent[node as usize], self.up[node as usize]);
            self.unhang(node, old_parent);
            self.parent[node as usize] = parent;
            self.up[node as usize] = by;
            self.hang(node, parent);
            if node == top {
                return;
            }
            (parent, by, node) = (node, old_by, old_parent);
        }
    }

    fn hang(&mut self, node: u32, parent: u32) {
        let first = self.first_child[parent as usize];
        self.next[node as usize] = first;
        self.previous[node as usize] = NONE;
        if first != NONE {
            self.previous[first as usize] = node;
        }
        self.first_child[parent as usize] = node;
    }

    fn unhang(&mut self, node: u32, parent: u32) {
        let (before, after) = (self.previous[node as usize], self.next[node as usize]);
        match before {
            NONE => self.first_child[parent as usize] = after,
            before => self.next[before as usize] = after,
        }
        if after != NONE {
            self.previous[after as usize] = before;
        }
    }

    /// Depths and potentials of a subtree.
    fn refresh(&mut self, top: u32, shift: f64) {
        let mut stack = std::mem::take(&mut self.stack);
        stack.push(top);
        while let Some(node) = stack.pop() {
            let n = node as usize;
            self.depth[n] = self.depth[self.parent[n] as usize] + 1;
            self.potential[n] += shift;
            let mut child = self.first_child[n];
            while child != NONE {
                stack.push(child);
                child = self.next[child as usize];
            }
        }
        self.stack = stack;
    }

    /// Works out all potentials anew from the tree, so that rounding does not pile up.
    pub fn renew(&mut self) {
        let mut stack = vec![self.parent.len() as u32 - 1];
        while let Some(node) = stack.pop() {
            let mut child = self.first_child[node as usize];
            while child != NONE {
                let Arc { from, cost, .. } = self.arcs[self.up[child as usize] as usize];
                let base = self.potential[node as usize];
                self.potential[child as usize] =
                    if from == child { base - cost } else { base + cost };
                stack.push(child);
                child = self.next[child as usize];
            }
        }
    }
}
