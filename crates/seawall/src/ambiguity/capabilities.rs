//! What a set can do.

/// What an ambiguity set can do and what it needs, known before any problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// People move to other places, rather than being reweighted where they are. Only then is a radius in
    /// the units of the ground cost, and a worst case a plan of moves.
    pub moves_mass: bool,
    /// What a move costs matters to the set.
    pub uses_distance: bool,
    /// Places without rows may gain mass. Where people do not move, it costs the same wherever those places
    /// are, behind a fixed feature too.
    pub reaches_unseen: bool,
    /// The worst case against the radius is made of finitely many straight lines, so that a curve of
    /// tolerance 0 can be asked for.
    pub exact_curve: bool,
    /// A curve takes about as long as a few answers; where it does not, a radius at which something happens
    /// is told between the radii asked about.
    pub quick_curve: bool,
    /// The worst case, or that of a smooth set in its place, has a gradient by the policy: softmax policies
    /// can be learned.
    pub gradient: bool,
    /// The value is a smoothed one, which alone is no bound of the worst case.
    pub smoothed: bool,
    /// The population itself is in the set at every radius.
    pub contains_nominal: bool,
    /// At radius 0 nobody moves who does not move for free.
    pub stays_at_zero: bool,
    /// Only populations count that meet what is known of the target
    /// ([`Geometry::knowing`](super::Geometry::knowing)). Only then may a radius be infinite.
    pub needs_known: bool,
    /// The set is about people with their actions and outcomes: it needs a log and a policy
    /// ([`Evaluator`](crate::evaluate::Evaluator)), not contexts and values.
    pub needs_log: bool,
    /// The value needs an outcome model that keeps outcomes, not values alone.
    pub needs_outcomes: bool,
}

impl Capabilities {
    /// Those of most sets that move mass.
    pub(super) const MOVES_MASS: Self = Capabilities {
        moves_mass: true,
        uses_distance: true,
        reaches_unseen: true,
        exact_curve: false,
        quick_curve: true,
        gradient: true,
        smoothed: false,
        contains_nominal: true,
        stays_at_zero: true,
        needs_known: false,
        needs_log: false,
        needs_outcomes: false,
    };

    /// Those of most sets that reweight people where they are.
    pub(super) const REWEIGHTS: Self = Capabilities {
        moves_mass: false,
        uses_distance: false,
        reaches_unseen: false,
        ..Capabilities::MOVES_MASS
    };
}
