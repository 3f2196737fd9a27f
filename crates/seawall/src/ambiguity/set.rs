//! Kinds of shift, without a radius; and a set with its radius.
//!
//! [`ContextSet`]s are about contexts and are solved for a population and values; [`JointSet`]s are about
//! people with their actions and outcomes and need a log and a policy. [`Set`] is either, as it is written
//! and read: a further set is one file of this folder, a variant here and a row of [`TABLE`].

use super::ambiguity_set::{About, AmbiguitySet, SolvableSet};
use super::capabilities::Capabilities;
use super::couplings::Couplings;
use super::cvar::Cvar;
use super::embedding::Kernel;
use super::entropic::Entropic;
use super::geometry::Geometry;
use super::joint_kl::{JointEstimator, JointKl};
use super::joint_wasserstein::JointWasserstein;
use super::kl::Kl;
use super::mmd::Mmd;
use super::moments::Moments;
use super::parameters::{Argument, Given, misfit};
use super::power::PowerDivergence;
use super::sinkhorn::Sinkhorn;
use super::tv::TotalVariation;
use super::wasserstein::Wasserstein;
use crate::error::{Error, Field, Result};
use crate::population::Population;

/// A kind of shift of contexts, without a radius: it has a solver for a population and values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ContextSet {
    /// Every population that moving mass can reach at a mean cost of at most the radius.
    Wasserstein(Wasserstein),
    /// The same, with the adversary's choice smoothed.
    Entropic(Entropic),
    /// Every reweighting of the observed points with a KL divergence of at most the radius.
    Kl(Kl),
    /// Every population of which at most a share, the radius, are other people.
    TotalVariation(TotalVariation),
    /// Every reweighting with a power divergence of at most the radius: χ², Cressie–Read, Hellinger, Burg.
    Power(PowerDivergence),
    /// Every reweighting that gives nobody more than `1/(1 − radius)` times the weight they had.
    Cvar(Cvar),
    /// Every population that meets what is known of the target, within the radius or at all.
    Couplings(Couplings),
    /// Every population that people reach at a small mean cost while each of them is spread out.
    Sinkhorn(Sinkhorn),
    /// Every population whose means and second moments are near those observed.
    Moments(Moments),
    /// Every population whose mean in a kernel's features is near that observed.
    Mmd(Mmd),
}

/// A kind of shift of people with their actions and outcomes, without a radius: its worst case needs a log
/// and a policy ([`Evaluator`](crate::evaluate::Evaluator)).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum JointSet {
    /// Every reweighting of people with their outcomes with a KL divergence of at most the radius.
    Kl(JointKl),
    /// Every population of people, contexts and potential outcomes, that moving both can reach.
    Wasserstein(JointWasserstein),
}

/// A kind of shift, without a radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Set {
    /// One of contexts.
    Context(ContextSet),
    /// One of people with their actions and outcomes.
    Joint(JointSet),
}

/// A set by its name: what it is called, and how it is made of its parameters, which were checked.
pub(super) struct SetRow {
    pub about: &'static About,
    pub make: fn(&Given<'_>) -> Set,
}

/// Every name of a set, in order.
pub(super) const TABLE: &[SetRow] = &[
    SetRow { about: &Wasserstein::ABOUT, make: |_| Wasserstein.into() },
    SetRow { about: &Entropic::ABOUT, make: |given| Entropic { eta: given.number(0) }.into() },
    SetRow { about: &Kl::ABOUT, make: |_| Kl.into() },
    SetRow { about: &TotalVariation::ABOUT, make: |_| TotalVariation.into() },
    SetRow { about: &PowerDivergence::ABOUT_CHI2, make: |_| PowerDivergence::CHI2.into() },
    SetRow {
        about: &PowerDivergence::ABOUT_CRESSIE_READ,
        make: |given| PowerDivergence::cressie_read(given.number(0)).into(),
    },
    SetRow {
        about: &PowerDivergence::ABOUT_HELLINGER,
        make: |_| PowerDivergence::HELLINGER.into(),
    },
    SetRow { about: &PowerDivergence::ABOUT_BURG, make: |_| PowerDivergence::BURG.into() },
    SetRow { about: &Cvar::ABOUT, make: |_| Cvar.into() },
    SetRow { about: &Couplings::ABOUT, make: |_| Couplings.into() },
    SetRow { about: &Sinkhorn::ABOUT, make: |given| Sinkhorn { kappa: given.number(0) }.into() },
    SetRow {
        about: &Moments::ABOUT,
        make: |given| Moments { gamma1: given.number(0), gamma2: given.number(1) }.into(),
    },
    SetRow {
        about: &Mmd::ABOUT,
        make: |given| {
            let kernel = given.word(0).map_or(Kernel::default(), Kernel::named);
            Mmd { kernel, bandwidth: given.optional(1) }.into()
        },
    },
    SetRow { about: &JointKl::ABOUT, make: |_| JointKl::default().into() },
    SetRow {
        about: &JointKl::ABOUT_DOUBLY_ROBUST,
        make: |_| JointKl { estimator: JointEstimator::DoublyRobust }.into(),
    },
    SetRow {
        about: &JointWasserstein::ABOUT,
        make: |given| JointWasserstein { kappa: given.number(0) }.into(),
    },
];

/// Each variant's own set.
macro_rules! solvable {
    ($($kind:ident::$variant:ident($name:ident),)+) => {
        impl ContextSet {
            pub(super) fn solvable(&self) -> &dyn SolvableSet {
                match self {
                    $($kind::$variant(set) => set,)+
                }
            }
        }
    };
}

impl From<ContextSet> for Set {
    fn from(set: ContextSet) -> Self {
        Set::Context(set)
    }
}

impl From<JointSet> for Set {
    fn from(set: JointSet) -> Self {
        Set::Joint(set)
    }
}

/// Every type of set of contexts, handed to a macro: the one list of them.
macro_rules! context_sets {
    ($of:ident) => {
        $of! {
            ContextSet::Wasserstein(Wasserstein),
            ContextSet::Entropic(Entropic),
            ContextSet::Kl(Kl),
            ContextSet::TotalVariation(TotalVariation),
            ContextSet::Power(PowerDivergence),
            ContextSet::Cvar(Cvar),
            ContextSet::Couplings(Couplings),
            ContextSet::Sinkhorn(Sinkhorn),
            ContextSet::Moments(Moments),
            ContextSet::Mmd(Mmd),
        }
    };
}
pub(super) use context_sets;

/// The way from each type of set to the enums, and the set with a radius.
macro_rules! into_set {
    ($($kind:ident::$variant:ident($name:ident),)+) => {
        $(
            impl From<$name> for $kind {
                fn from(set: $name) -> Self {
                    $kind::$variant(set)
                }
            }

            impl From<$name> for Set {
                fn from(set: $name) -> Self {
                    $kind::$variant(set).into()
                }
            }

            impl $name {
                /// The set with a radius.
                pub fn at(self, radius: f64) -> Shift {
                    Shift::new(self, radius)
                }
            }
        )+
    };
}

context_sets!(into_set);
context_sets!(solvable);
into_set! {
    JointSet::Kl(JointKl),
    JointSet::Wasserstein(JointWasserstein),
}

impl Set {
    fn described(&self) -> &dyn AmbiguitySet {
        match self {
            Set::Context(set) => set.solvable(),
            Set::Joint(JointSet::Kl(set)) => set,
            Set::Joint(JointSet::Wasserstein(set)) => set,
        }
    }

    /// The set, if it is one of contexts.
    fn solvable(&self) -> Option<&dyn SolvableSet> {
        match self {
            Set::Context(set) => Some(set.solvable()),
            Set::Joint(_) => None,
        }
    }

    /// The set as one of contexts, which alone are solved for contexts and values; refused if it is about
    /// people with their actions and outcomes.
    pub fn of_contexts(self) -> Result<ContextSet> {
        match self {
            Set::Context(set) => Ok(set),
            Set::Joint(_) => {
                let what = format!(
                    "is {}, which is about people with their actions and outcomes: it is asked of a log \
                     and a policy, not of contexts and values",
                    self.name()
                );
                Err(Error::field(Field::Set, what))
            }
        }
    }

    /// Refuses parameters that no set of this kind can have, however it was made.
    pub(super) fn check(&self) -> Result<()> {
        let about = self.described().about();
        for (parameter, argument) in about.parameters.iter().zip(self.described().arguments()) {
            if let Some(argument) = argument.filter(|a| !parameter.takes.fits(*a)) {
                return Err(misfit(about.name, parameter, &argument.to_string()));
            }
        }
        Ok(())
    }

    /// Refuses a radius that the set cannot have: one below 0 or infinite, unless it is about what is
    /// known of the target, or beyond what the set measures.
    pub fn check_radius(&self, radius: f64) -> Result<()> {
        let no_radius = radius == f64::INFINITY && self.needs_known();
        let what = if radius >= 0.0 && (radius.is_finite() || no_radius) {
            self.solvable().and_then(|set| set.refuses_radius(radius))
        } else {
            Some("expected a finite number ≥ 0")
        };
        match what {
            Some(what) => {
                let radius = Argument::Number(radius);
                Err(Error::field(Field::Radius, format!("is {radius}; {what}")))
            }
            None => Ok(()),
        }
    }

    /// The set's name, as it is written everywhere.
    pub fn name(&self) -> &'static str {
        self.described().about().name
    }

    /// The set's parameters, each with what it is; without those that it does without.
    pub fn parameters(&self) -> Vec<(&'static str, Argument)> {
        let names = self.described().about().parameters.iter().map(|p| p.name);
        names.zip(self.described().arguments()).filter_map(|(name, a)| Some((name, a?))).collect()
    }

    /// What the set can do and what it needs.
    pub fn capabilities(&self) -> Capabilities {
        self.described().capabilities()
    }

    /// See [`Capabilities::moves_mass`].
    pub fn moves_mass(&self) -> bool {
        self.capabilities().moves_mass
    }

    /// See [`Capabilities::uses_distance`].
    pub fn uses_ground_cost(&self) -> bool {
        self.capabilities().uses_distance
    }

    /// See [`Capabilities::reaches_unseen`].
    pub fn reaches_unseen(&self) -> bool {
        self.capabilities().reaches_unseen
    }

    /// See [`Capabilities::exact_curve`].
    pub fn has_exact_curve(&self) -> bool {
        self.capabilities().exact_curve
    }

    /// See [`Capabilities::needs_known`].
    pub fn needs_known(&self) -> bool {
        self.capabilities().needs_known
    }

    /// See [`Capabilities::contains_nominal`].
    pub fn contains_nominal(&self) -> bool {
        self.capabilities().contains_nominal
    }

    /// See [`Capabilities::needs_log`].
    pub fn needs_actions(&self) -> bool {
        self.capabilities().needs_log
    }

    /// See [`Capabilities::needs_outcomes`].
    pub fn needs_outcomes(&self) -> bool {
        self.capabilities().needs_outcomes
    }

    /// See [`Capabilities::smoothed`].
    pub fn is_smoothed(&self) -> bool {
        self.capabilities().smoothed
    }

    /// See [`Capabilities::stays_at_zero`].
    pub fn stays_at_zero(&self) -> bool {
        self.capabilities().stays_at_zero
    }

    /// See [`Capabilities::quick_curve`].
    pub fn quick_curve(&self) -> bool {
        self.capabilities().quick_curve
    }

    /// See [`Capabilities::gradient`].
    pub fn has_gradient(&self) -> bool {
        self.capabilities().gradient
    }

    /// The set of another name that has the same populations, at a radius of its own; this one, if there
    /// is none.
    #[must_use]
    pub fn also(&self) -> Set {
        match self {
            Set::Context(ContextSet::Power(set)) => set.also().into(),
            _ => *self,
        }
    }

    /// The set that a smoothed one stands for; any other is itself.
    #[must_use]
    pub fn exact(&self) -> Set {
        match self {
            Set::Context(ContextSet::Entropic(_)) => Wasserstein.into(),
            _ => *self,
        }
    }

    /// A set like this one whose worst case has a gradient: itself, if it has one already.
    pub(crate) fn smoothed(&self, eta: f64) -> Set {
        match self {
            Set::Context(ContextSet::Wasserstein(_)) => Entropic { eta }.into(),
            _ => *self,
        }
    }

    /// The same set with every parameter that was left to be chosen by the population, as a bandwidth is.
    pub fn resolved(&self, geometry: &Geometry) -> Result<Set> {
        self.check()?;
        match self {
            Set::Context(ContextSet::Mmd(set)) => Ok(set.resolved(geometry)?.into()),
            _ => Ok(*self),
        }
    }

    /// The least radius at which the set contains another population of the geometry's space; infinite
    /// if there is none, None where that is not worked out for this set.
    pub fn containing(&self, geometry: &Geometry, other: &Population) -> Result<Option<f64>> {
        geometry.population().space().same_as(other.space())?;
        self.check()?;
        match self.solvable() {
            Some(set) => set.containing(geometry, other.weights()),
            None => Ok(None),
        }
    }

    /// About how many steps an answer at one radius takes, where that does not follow from the geometry's
    /// own [`work`](Geometry::work).
    pub fn work(&self, geometry: &Geometry) -> Option<f64> {
        self.solvable()?.work(geometry)
    }

    /// About how many bytes of memory an answer takes beside what it takes over any set: matrices with a
    /// row for every point.
    pub fn room(&self, geometry: &Geometry) -> f64 {
        self.solvable().map_or(0.0, |set| set.room(geometry))
    }

    /// By how much a smoothed value may be below the exact worst case on a support of so many
    /// points: `log M / η`; 0 for any other set.
    pub fn smoothing(&self, points: usize) -> f64 {
        self.solvable().map_or(0.0, |set| set.smoothing(points))
    }

    /// The set with a radius.
    pub fn at(self, radius: f64) -> Shift {
        Shift { set: self, radius }
    }
}

/// A set of populations around the observed one: a kind of shift and how far it may go.
///
/// A radius is in the units of the ground cost for the Wasserstein sets, the entropic one, couplings and
/// the Sinkhorn ball (a bound on a mean squared distance, not on its root; the joint one adds what
/// outcomes move at their price); in nats for KL, Burg and the joint KL sets; that divergence for χ²,
/// Cressie–Read and Hellinger; a share of the people for total variation (those replaced) and CVaR
/// (those left out); a multiple of what `gamma1` and `gamma2` allow for moments; a distance of mean
/// embeddings, the root of a square, for MMD.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The kind of shift.
    pub set: Set,
    /// How far it may go.
    pub radius: f64,
}

impl Shift {
    /// A set with a radius.
    pub fn new(set: impl Into<Set>, radius: f64) -> Self {
        Shift { set: set.into(), radius }
    }

    /// The set that a smoothed one stands for, of the same radius.
    #[must_use]
    pub fn exact(&self) -> Self {
        Shift { set: self.set.exact(), radius: self.radius }
    }
}
