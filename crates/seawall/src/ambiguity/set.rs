//! Kinds of shift, without a radius; and a set with its radius.
//!
//! A set is one file of this folder: a small type that says what the set is called, what it needs
//! to know ([`About`]) and how it is solved ([`Shift`]). The table in the folder's `mod.rs` makes
//! them all into [`Set`]; everything else asks a set what it can do and never which one it is.
//!
//! A set is written by its name and, after a colon, its parameters: `wasserstein`,
//! `entropic:eta=100`.

use super::geometry::Geometry;
use super::problem::Problem;
use super::settings::Settings;
use super::solver::{Solve, Solver};
use super::worst_case::WorstCase;
use super::{Set, TABLE};
use crate::error::{Error, Field, Result};
use crate::population::Population;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// What a parameter of a set may be.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Takes {
    /// A finite number above 0.
    Positive,
    /// A finite number that is not below this.
    AtLeast(f64),
    /// A finite number other than 0 and 1.
    NeitherZeroNorOne,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// What a set needs to know beside a radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, as it is written everywhere.
    pub name: &'static str,
    /// What a reader should know to choose it.
    pub hint: &'static str,
    /// Values to try.
    pub examples: &'static [&'static str],
    /// What it may be.
    pub takes: Takes,
    /// Whether the set can do without it.
    pub optional: bool,
}

/// What a parameter of a set is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// A number.
    Number(f64),
    /// A word.
    Word(&'static str),
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Not hundreds of zeros.
            Argument::Number(x) if *x != 0.0 && !(1e-9..1e16).contains(&x.abs()) => {
                write!(f, "{x:e}")
            }
            Argument::Number(number) => write!(f, "{number}"),
            Argument::Word(word) => f.write_str(word),
        }
    }
}

impl Takes {
    /// Whether this is what is taken.
    fn fits(&self, argument: Argument) -> bool {
        match (self, argument) {
            (Takes::Positive, Argument::Number(x)) => x > 0.0 && x.is_finite(),
            (Takes::AtLeast(least), Argument::Number(x)) => x >= *least && x.is_finite(),
            (Takes::NeitherZeroNorOne, Argument::Number(x)) => {
                x != 0.0 && x != 1.0 && x.is_finite()
            }
            (Takes::Word(words), Argument::Word(word)) => words.contains(&word),
            _ => false,
        }
    }

    /// What a text means, if it is what is taken.
    fn read(&self, text: &str) -> Option<Argument> {
        let argument = match self {
            Takes::Word(words) => Argument::Word(words.iter().find(|word| **word == text)?),
            _ => Argument::Number(text.parse().ok()?),
        };
        Some(argument).filter(|a| self.fits(*a))
    }
}

impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Takes::Positive => f.write_str("a finite number > 0"),
            Takes::AtLeast(least) => write!(f, "a finite number ≥ {least}"),
            Takes::NeitherZeroNorOne => f.write_str("a finite number other than 0 and 1"),
            Takes::Word(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

/// A set's parameters as given, checked, in the order of its table.
pub(super) struct Given<'g>(&'g [Option<Argument>]);

impl Given<'_> {
    /// A number that may be left out.
    pub fn optional(&self, at: usize) -> Option<f64> {
        match self.0.get(at) {
            Some(Some(Argument::Number(number))) => Some(*number),
            _ => None,
        }
    }

    /// A word that may be left out.
    pub fn word(&self, at: usize) -> Option<&'static str> {
        match self.0.get(at) {
            Some(Some(Argument::Word(word))) => Some(word),
            _ => None,
        }
    }

    /// A number that the set cannot do without.
    pub fn number(&self, at: usize) -> f64 {
        self.optional(at).unwrap_or(f64::NAN)
    }
}

/// What a set is called, and how it is made of its parameters.
pub(super) struct About {
    pub name: &'static str,
    /// What a radius measures, in a sentence for people.
    pub away: &'static str,
    pub parameters: &'static [Parameter],
    /// From its parameters, which were checked.
    pub make: fn(&Given<'_>) -> Set,
}

/// What a set can do and how it is solved.
pub(super) trait Shift {
    /// Its row of the table.
    fn about(&self) -> &'static About;

    /// Its parameters, in the table's order; those it does without are None.
    fn arguments(&self) -> Vec<Option<Argument>> {
        Vec::new()
    }

    /// Whether people move to other places, rather than being weighed anew where they are.
    fn moves_mass(&self) -> bool;

    /// Whether what a move costs matters to it at all.
    fn uses_ground_cost(&self) -> bool {
        self.moves_mass()
    }

    /// What a fixed column means, where it is not that nobody moves across it: the rest of a sentence.
    fn fixed(&self) -> Option<&'static str> {
        let weighed = "nobody moves, and people are weighed anew: shares of its levels may shift";
        (!self.moves_mass()).then_some(weighed)
    }

    /// How columns count where the ground cost does not say it: the rest of a sentence.
    fn coding(&self) -> Option<&'static str> {
        None
    }

    /// What it fears where contexts stay as they are and the worst case is worse all the same.
    fn fears(&self) -> Option<&'static str> {
        None
    }

    /// The set of another name that has the same populations, at a radius of its own.
    fn also(&self) -> Option<Set> {
        None
    }

    /// What says the same as a parameter that it has not.
    fn instead_of(&self, _parameter: &str) -> Option<&'static str> {
        None
    }

    /// Whether places where nobody was seen may gain mass.
    fn reaches_unseen(&self) -> bool {
        self.moves_mass()
    }

    /// Whether the worst case against the radius is made of finitely many straight lines.
    fn has_exact_curve(&self) -> bool;

    /// Whether a curve takes about as long as a few answers: where it does not, nothing that was not asked
    /// for is read off one.
    fn quick_curve(&self) -> bool {
        !self.needs_known()
    }

    /// Whether its worst case, or that of a smooth set in its place (`smoothed`), has a gradient by the
    /// policy that is worked out: only then is softmax learned under it.
    fn has_gradient(&self) -> bool;

    /// Whether at radius 0 nobody moves who does not move for free.
    fn stays_at_zero(&self) -> bool {
        self.smooths().is_none() && self.contains_nominal()
    }

    /// About how many steps an answer takes, where that does not follow from the geometry.
    fn work(&self, _geometry: &Geometry) -> Option<f64> {
        None
    }

    /// About how many bytes an answer takes beside what every one takes.
    fn room(&self, _geometry: &Geometry) -> f64 {
        0.0
    }

    /// The same set with what was left to be chosen by the population.
    fn resolved(&self, _geometry: &Geometry) -> Result<Option<Set>> {
        Ok(None)
    }

    /// Whether it is about what is known of the target: then the population itself may not be in it,
    /// however small the radius, and an infinite one makes sense.
    fn needs_known(&self) -> bool {
        false
    }

    /// Whether the population itself is in the set at every radius.
    fn contains_nominal(&self) -> bool {
        !self.needs_known()
    }

    /// Whether it is about people with their actions and outcomes, so that contexts and values alone do
    /// not say what its worst case is.
    fn needs_actions(&self) -> bool {
        false
    }

    /// Whether its value hangs on an outcome model that keeps outcomes, not values alone.
    fn needs_outcomes(&self) -> bool {
        false
    }

    /// What a radius must be beside not negative, if anything, where this one is not.
    fn refuses_radius(&self, _radius: f64) -> Option<&'static str> {
        None
    }

    /// The least radius at which the set contains another population of the same space, by its weights;
    /// infinite if there is none, None where nobody worked it out for this set.
    fn containing(&self, _geometry: &Geometry, _other: &[f64]) -> Result<Option<f64>> {
        Ok(None)
    }

    /// What becomes of the people where nobody moves, in a few words.
    fn fate(&self) -> &'static str {
        "nobody moves; people are weighed anew"
    }

    /// What it is called among statisticians and how it was solved; its name as written, if nothing is
    /// said here.
    fn method(&self) -> Option<String> {
        None
    }

    /// By how much the value may be below the exact worst case on a support of so many points.
    fn smoothing(&self, _points: usize) -> f64 {
        0.0
    }

    /// The set that this one smooths, if it does.
    fn smooths(&self) -> Option<Set> {
        None
    }

    /// A smooth set that stands in for this one where gradients are wanted, `eta` being how sharp.
    fn smoothed(&self, _eta: f64) -> Option<Set> {
        None
    }

    /// A solver of a problem.
    fn solver<'a>(
        &self,
        problem: &Problem<'a>,
        settings: Settings<'a>,
    ) -> Result<Box<dyn Solve + 'a>>;
}

/// What a set says that is about people with their actions where contexts and values alone are given.
pub(super) fn asked_of_a_log(name: &str) -> Error {
    let what = format!(
        "is {name}, which is about people with their actions and outcomes: it is asked of a log and a \
         policy, not of contexts and values"
    );
    Error::field(Field::Set, what)
}

/// What makes a problem smaller on any support.
pub(super) const SMALLER: &str =
    "take a sample of the rows, coarser values (wider bins, merged levels) or fewer columns";

/// The refusal of a population that is too large: on a grid with places where nobody is, those observed
/// are fewer.
pub(super) fn smaller(population: &Population, error: Error) -> Error {
    let grid = matches!(population.space().support(), crate::space::Support::Grid(_));
    match grid && population.weights().contains(&0.0) {
        true => error.advise(Field::Support, &["observed"]),
        false => error,
    }
}

/// A parameter that is not what its set takes.
fn misfit(set: &str, parameter: &Parameter, text: &str) -> Error {
    let what = format!("is {text}; expected {}", parameter.takes);
    match parameter_field(parameter.name) {
        Some(field) => Error::field(field, what),
        None => Error::field(Field::Set, format!("{set}: {} {what}", parameter.name)),
    }
}

/// The field of its own that a parameter has, if it has one.
fn parameter_field(name: &str) -> Option<Field> {
    (name == "eta").then_some(Field::Eta)
}

impl Set {
    /// The names of all sets, in the table's order.
    pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
        TABLE.iter().map(|about| about.name)
    }

    /// The parameters of a set by name; None if there is no such set.
    pub fn parameters_of(name: &str) -> Option<&'static [Parameter]> {
        TABLE.iter().find(|about| about.name == name).map(|about| about.parameters)
    }

    /// The set of a name and the parameters given, each as it is written; those that the set does not
    /// have, and those it lacks, are refused.
    pub fn named(name: &str, given: &[(&str, String)]) -> Result<Self> {
        let Some(about) = TABLE.iter().find(|about| about.name == name) else {
            let known: Vec<&str> = Set::names().collect();
            return Err(Error::field(
                Field::Set,
                format!("is {name:?}; expected one of {}", known.join(", ")),
            ));
        };
        if let Some((other, _)) =
            given.iter().find(|(n, _)| !about.parameters.iter().any(|p| p.name == *n))
        {
            let owners = TABLE.iter().filter(|a| a.parameters.iter().any(|p| p.name == *other));
            let owners: Vec<&str> = owners.map(|a| a.name).collect();
            let nothing = vec![None; about.parameters.len()];
            let own = (about.make)(&Given(&nothing));
            let whose = match own.shift().instead_of(other) {
                Some(instead) => instead.to_owned(),
                None if owners.is_empty() => "no set has it".to_owned(),
                None => format!("it belongs to {}", owners.join(", ")),
            };
            return Err(Error::field(Field::Set, format!("{name} has no {other}: {whose}")));
        }
        if let Some(k) = (1..given.len()).find(|&k| given[..k].iter().any(|g| g.0 == given[k].0)) {
            return Err(Error::field(Field::Set, format!("{name}: {} is given twice", given[k].0)));
        }
        let argument = |parameter: &Parameter| match given.iter().find(|g| g.0 == parameter.name) {
            None if parameter.optional => Ok(None),
            None => {
                let what = format!("{name} needs {}: {}", parameter.name, parameter.hint);
                let error = Error::field(Field::Set, what);
                Err(match parameter_field(parameter.name) {
                    Some(field) => error.advise(field, parameter.examples),
                    None => error,
                })
            }
            Some((_, text)) => match parameter.takes.read(text.trim()) {
                Some(argument) => Ok(Some(argument)),
                None => Err(misfit(name, parameter, text.trim())),
            },
        };
        let arguments: Vec<Option<Argument>> =
            about.parameters.iter().map(argument).collect::<Result<_>>()?;
        Ok((about.make)(&Given(&arguments)))
    }

    /// The set of a name with the parameters given, and the table's first example for each that it needs
    /// and that is not given.
    pub fn example(name: &str, given: &[(&str, String)]) -> Result<Self> {
        let mut all = given.to_vec();
        for parameter in Set::parameters_of(name).unwrap_or_default() {
            let lacks = !parameter.optional && !all.iter().any(|(n, _)| *n == parameter.name);
            if let Some(example) = parameter.examples.first().filter(|_| lacks) {
                all.push((parameter.name, (*example).to_owned()));
            }
        }
        Set::named(name, &all)
    }

    /// Refuses parameters that no set of this kind can have, however it was made.
    pub(super) fn check(&self) -> Result<()> {
        let about = self.shift().about();
        for (parameter, argument) in about.parameters.iter().zip(self.shift().arguments()) {
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
        let what = match radius >= 0.0 && (radius.is_finite() || no_radius) {
            true => self.shift().refuses_radius(radius),
            false => Some("expected a finite number ≥ 0"),
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
        self.shift().about().name
    }

    /// The set's parameters, each with what it is; without those that it does without.
    pub fn parameters(&self) -> Vec<(&'static str, Argument)> {
        let names = self.shift().about().parameters.iter().map(|p| p.name);
        names.zip(self.shift().arguments()).filter_map(|(name, a)| Some((name, a?))).collect()
    }

    /// One parameter that is a number, if the set has it.
    pub fn parameter(&self, name: &str) -> Option<f64> {
        let number = |argument| match argument {
            Argument::Number(number) => Some(number),
            Argument::Word(_) => None,
        };
        self.parameters().into_iter().find(|(n, _)| *n == name).and_then(|(_, a)| number(a))
    }

    /// The same set with another value of a parameter; unchanged if it has no such one.
    pub fn with_parameter(&self, name: &str, value: f64) -> Result<Self> {
        let own = self.parameters().into_iter();
        let all = own.map(|(n, v)| (n, if n == name { value.to_string() } else { v.to_string() }));
        Set::named(self.name(), &all.collect::<Vec<_>>())
    }

    /// Whether people move to other places, rather than being weighed anew where they are. Only
    /// then is a radius in the units of the ground cost, and a worst case a plan of moves.
    pub fn moves_mass(&self) -> bool {
        self.shift().moves_mass()
    }

    /// Whether what a move costs matters to the set at all.
    pub fn uses_ground_cost(&self) -> bool {
        self.shift().uses_ground_cost()
    }

    /// What a fixed column means in this set, as the rest of a sentence; None where nobody moves across it.
    pub fn fixed(&self) -> Option<&'static str> {
        self.shift().fixed()
    }

    /// How columns count, as the rest of a sentence, where the ground cost does not say it.
    pub fn coding(&self) -> Option<&'static str> {
        self.shift().coding()
    }

    /// What the set fears where contexts stay as they are and the worst case is worse all the same, in a
    /// few words.
    pub fn fears(&self) -> Option<&'static str> {
        self.shift().fears()
    }

    /// The set of another name that has the same populations, at a radius of its own; this one, if there
    /// is none.
    #[must_use]
    pub fn also(&self) -> Set {
        self.shift().also().unwrap_or(*self)
    }

    /// Whether places where nobody was seen may gain mass. Where people do not move, it costs the same
    /// wherever they are, behind a fixed feature too.
    pub fn reaches_unseen(&self) -> bool {
        self.shift().reaches_unseen()
    }

    /// What a radius measures, in a sentence for people.
    pub fn away(&self) -> &'static str {
        self.shift().about().away
    }

    /// What becomes of the people of a set that moves nobody, in a few words.
    pub fn fate(&self) -> &'static str {
        self.shift().fate()
    }

    /// What the set is called among statisticians, and how it is solved.
    pub fn method(&self) -> String {
        self.shift().method().unwrap_or_else(|| format!("{self}, solved exactly"))
    }

    /// Whether the worst case against the radius is made of finitely many straight lines, so that
    /// a curve of tolerance 0 can be asked for.
    pub fn has_exact_curve(&self) -> bool {
        self.shift().has_exact_curve()
    }

    /// Whether only populations count that meet what is known of the target
    /// ([`Geometry::knowing`](super::Geometry::knowing)). Only then may a radius be infinite, which is
    /// no radius at all.
    pub fn needs_known(&self) -> bool {
        self.shift().needs_known()
    }

    /// Whether the population itself is in the set at every radius. It may not be in one about what is
    /// known of the target, nor in one that spreads people out.
    pub fn contains_nominal(&self) -> bool {
        self.shift().contains_nominal()
    }

    /// Whether the set is about people with their actions and outcomes: then it is asked of a log and a
    /// policy, not of contexts and values ([`Fitted`](crate::evaluate::Fitted)).
    pub fn needs_actions(&self) -> bool {
        self.shift().needs_actions()
    }

    /// Whether its value hangs on an outcome model that keeps outcomes, not values alone.
    pub fn needs_outcomes(&self) -> bool {
        self.shift().needs_outcomes()
    }

    /// The least radius at which the set contains another population of the geometry's space; infinite
    /// if there is none, None where that is not worked out for this set.
    pub fn containing(&self, geometry: &Geometry, other: &Population) -> Result<Option<f64>> {
        geometry.population().space().same_as(other.space())?;
        self.check()?;
        self.shift().containing(geometry, other.weights())
    }

    /// Whether the value is a smoothed one, which alone is no bound of the worst case.
    pub fn is_smoothed(&self) -> bool {
        self.shift().smooths().is_some()
    }

    /// Whether at radius 0 nobody moves who does not move for free.
    pub fn stays_at_zero(&self) -> bool {
        self.shift().stays_at_zero()
    }

    /// Whether a curve takes about as long as a few answers; where it does not, a radius at which
    /// something happens is told between the radii asked about.
    pub fn quick_curve(&self) -> bool {
        self.shift().quick_curve()
    }

    /// Whether softmax policies can be learned under the set: its worst case, or that of a smooth set in its
    /// place, has a gradient by the policy that is worked out.
    pub fn has_gradient(&self) -> bool {
        self.shift().has_gradient()
    }

    /// About how many steps an answer at one radius takes, where that does not follow from the geometry's
    /// own [`work`](Geometry::work).
    pub fn work(&self, geometry: &Geometry) -> Option<f64> {
        self.shift().work(geometry)
    }

    /// About how many bytes of memory an answer takes beside what it takes over any set: matrices with a
    /// row for every point.
    pub fn room(&self, geometry: &Geometry) -> f64 {
        self.shift().room(geometry)
    }

    /// The same set with every parameter that was left to be chosen by the population, as a bandwidth is.
    pub fn resolved(&self, geometry: &Geometry) -> Result<Set> {
        self.check()?;
        Ok(self.shift().resolved(geometry)?.unwrap_or(*self))
    }

    /// By how much a smoothed value may be below the exact worst case on a support of so many
    /// points: `log M / η`; 0 for any other set.
    pub fn smoothing(&self, points: usize) -> f64 {
        self.shift().smoothing(points)
    }

    /// The set that a smoothed one stands for; any other is itself.
    #[must_use]
    pub fn exact(&self) -> Set {
        self.shift().smooths().unwrap_or(*self)
    }

    /// A set like this one whose worst case has a gradient: itself, if it has one already.
    pub(crate) fn smoothed(&self, eta: f64) -> Set {
        self.shift().smoothed(eta).unwrap_or(*self)
    }

    /// The set with a radius.
    pub fn at(self, radius: f64) -> Ambiguity {
        Ambiguity { set: self, radius }
    }

    /// A solver of a problem over sets of this kind, to be asked at any number of radii.
    pub fn solver<'a>(&self, problem: &Problem<'a>, settings: Settings<'a>) -> Result<Solver<'a>> {
        self.check()?;
        Ok(Solver::new(self.shift().solver(problem, settings)?, *self))
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        for (k, (name, value)) in self.parameters().into_iter().enumerate() {
            write!(f, "{}{name}={value}", if k == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

impl FromStr for Set {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, given) = text.split_once(':').unwrap_or((text, ""));
        let parameter = |part| -> Result<(&str, String)> {
            let (name, value) = str::split_once(part, '=').ok_or_else(|| {
                let what = format!("is {text:?}; expected NAME or NAME:PARAMETER=VALUE,...");
                Error::field(Field::Set, what)
            })?;
            Ok((name.trim(), value.trim().to_owned()))
        };
        let given: Vec<(&str, String)> =
            given.split(',').filter(|p| !p.is_empty()).map(parameter).collect::<Result<_>>()?;
        Set::named(name.trim(), &given)
    }
}

impl Serialize for Set {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Set {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
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
pub struct Ambiguity {
    /// The kind of shift.
    pub set: Set,
    /// How far it may go.
    pub radius: f64,
}

impl Ambiguity {
    /// A set with a radius.
    pub fn new(set: impl Into<Set>, radius: f64) -> Self {
        Ambiguity { set: set.into(), radius }
    }

    /// The worst case over this set.
    pub fn worst_case(&self, problem: &Problem<'_>, settings: Settings<'_>) -> Result<WorstCase> {
        self.set.solver(problem, settings)?.worst_case(self.radius)
    }

    /// The set that a smoothed one stands for, of the same radius.
    #[must_use]
    pub fn exact(&self) -> Self {
        Ambiguity { set: self.set.exact(), radius: self.radius }
    }
}

/// Makes the table of sets: their modules, the enum, and the way from one to the other.
macro_rules! sets {
    ($($(#[$doc:meta])* $module:ident::$name:ident,)+) => {
        $(mod $module;)+
        $(use $module::$name;)+

        /// Every set, by its type.
        pub mod sets {
            $(pub use super::$module::$name;)+
        }

        /// A kind of shift, without a radius.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Set {
            $($(#[$doc])* $name($name),)+
        }

        /// What every set is called and how it is made, in order.
        const TABLE: &[&set::About] = &[$(&$name::ABOUT),+];

        impl Set {
            fn shift(&self) -> &dyn set::Shift {
                match self {
                    $(Set::$name(set) => set,)+
                }
            }
        }

        $(
            impl From<$name> for Set {
                fn from(set: $name) -> Self {
                    Set::$name(set)
                }
            }

            impl $name {
                /// The set with a radius.
                pub fn at(self, radius: f64) -> set::Ambiguity {
                    set::Ambiguity::new(self, radius)
                }

                /// A solver of a problem, to be asked at any number of radii.
                pub fn solver<'a>(
                    self,
                    problem: &Problem<'a>,
                    settings: Settings<'a>,
                ) -> crate::error::Result<Solver<'a>> {
                    Set::from(self).solver(problem, settings)
                }
            }
        )+
    };
}
pub(super) use sets;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sets_are_written_and_read_alike() {
        for name in Set::names() {
            let text = |p: &Parameter| match p.takes {
                Takes::Word(words) => words[0].to_owned(),
                _ => "2.5".to_owned(),
            };
            let given: Vec<(&str, String)> =
                Set::parameters_of(name).unwrap().iter().map(|p| (p.name, text(p))).collect();
            let set = Set::named(name, &given).unwrap();
            assert_eq!(set.to_string().parse::<Set>().unwrap(), set);
            let json = serde_json::to_string(&set).unwrap();
            assert_eq!(serde_json::from_str::<Set>(&json).unwrap(), set);
            assert_eq!(set.exact().exact(), set.exact());
        }
    }

    #[test]
    fn a_slow_curve_and_no_gradient_are_two_properties() {
        let without = |has: fn(&Set) -> bool| -> Vec<&str> {
            let all = Set::names().map(|name| Set::example(name, &[]).unwrap());
            all.filter(|set| !has(set)).map(|set| set.name()).collect()
        };
        assert_eq!(without(Set::quick_curve), ["couplings", "moments", "mmd"]);
        let no_gradient = ["couplings", "moments", "mmd", "joint-kl-dr", "joint-wasserstein"];
        assert_eq!(without(Set::has_gradient), no_gradient);
    }

    #[test]
    fn slips_name_what_was_expected() {
        let slip = |text: &str| text.parse::<Set>().unwrap_err().to_string();
        assert!(slip("wassertein").contains("wasserstein, entropic"), "{}", slip("wassertein"));
        assert!(slip("entropic").contains("needs eta"), "{}", slip("entropic"));
        assert_eq!(slip("entropic:eta=0"), "eta is 0; expected a finite number > 0");
        assert!(slip("kl:eta=1").contains("belongs to entropic"), "{}", slip("kl:eta=1"));
        assert!(slip("entropic:eta").contains("PARAMETER=VALUE"));
    }
}
