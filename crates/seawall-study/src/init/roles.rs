//! Which column is what: as it was asked for, or by a name that says so. Never by its place: where
//! no name does, the columns that could be meant are listed.

use super::Asked;
use super::column::Column;
use super::expression;
use super::leaks::repeats;
use super::words::{listed, short};
use crate::study::Term;
use seawall_table::read::{nearest, unknown_column};

/// Columns of choices, the surest names first.
const ACTIONS: [&str; 7] = ["action", "item_id", "arm", "treatment", "treat", "treated", "rx"];
/// Names that are taken for a choice if there is none of the others.
const LIKE_ACTIONS: [&str; 4] = ["variant", "drug", "item", "group"];
const REWARDS: [&str; 8] =
    ["reward", "click", "clicked", "conversion", "converted", "revenue", "sale", "profit"];
const COSTS: [&str; 10] =
    ["cost", "loss", "outcome", "y", "dead", "died", "death", "event", "events", "response"];
const PROPENSITIES: [&str; 6] =
    ["propensity", "propensity_score", "pscore", "action_prob", "prob", "action_probability"];
const WEIGHTS: [&str; 4] = ["count", "freq", "frequency", "row_count"];
/// Levels that say that something happened.
const HAPPENED: [&str; 8] = ["y", "yes", "true", "t", "dead", "died", "event", "click"];

/// The most values of an action that is not asked for.
const FEW_ACTIONS: usize = 20;
/// The most values of any action.
const MOST_ACTIONS: usize = 1000;
/// The most levels of an outcome of text that is not asked for.
const MOST_LEVELS: usize = 20;
/// The most columns that are listed to choose from.
const LISTED: usize = 12;

/// What each column that is no context is.
pub(super) struct Roles {
    pub(super) action: usize,
    /// Why it is that.
    pub(super) action_why: String,
    pub(super) outcome: Outcome,
    pub(super) propensity: Option<usize>,
    pub(super) weight: Option<usize>,
}

/// The outcome: a sum over columns.
pub(super) struct Outcome {
    pub(super) reward: bool,
    pub(super) terms: Vec<(usize, Term)>,
    /// As a person would type it.
    pub(super) typed: String,
    /// Why it is that.
    pub(super) why: String,
}

impl Roles {
    /// The roles that were asked for or that names tell; Err says what is wrong or missing.
    pub(super) fn find(
        all: &[Column],
        refused: &[(String, String)],
        asked: &Asked,
    ) -> Result<Self, String> {
        let roles = Named { all, refused, asked };
        let outcome = match &asked.outcome {
            Some((reward, text)) => Some(roles.asked_outcome(*reward, text)?),
            None => None,
        };
        let action = match &asked.action {
            Some(name) => Some(roles.asked_action(name)?),
            None => None,
        };
        roles.refuse_two_roles(action, outcome.as_ref())?;
        let taken: Vec<usize> = outcome.iter().flat_map(Outcome::columns).collect();
        let action = match action {
            Some(at) => Ok((at, "as --action says".to_owned())),
            None => roles.named_action(&taken),
        };
        let taken: Vec<usize> = action.iter().map(|(at, _)| *at).collect();
        let outcome = match outcome {
            Some(outcome) => Ok(outcome),
            None => roles.named_outcome(&taken),
        };
        let ((action, action_why), outcome) = match (action, outcome) {
            (Ok(action), Ok(outcome)) => (action, outcome),
            (action, outcome) => {
                let asks: Vec<String> = action.err().into_iter().chain(outcome.err()).collect();
                return Err(asks.join("; and "));
            }
        };
        let free = |at: &usize| *at != action && outcome.terms.iter().all(|(k, _)| k != at);
        let propensity = roles.by_name(&PROPENSITIES, |c| within(c, |p| p > 0.0 && p <= 1.0));
        let weight = roles.by_name(&WEIGHTS, |c| within(c, |w| w >= 0.0));
        let (propensity, weight) = (propensity.filter(free), weight.filter(free));
        Ok(Roles { action, action_why, outcome, propensity, weight })
    }

    /// Whether a column has a role, and is no context.
    pub(super) fn takes(&self, column: usize) -> bool {
        let others = [Some(self.action), self.propensity, self.weight];
        others.contains(&Some(column)) || self.outcome.columns().any(|k| k == column)
    }
}

impl Outcome {
    fn columns(&self) -> impl Iterator<Item = usize> {
        self.terms.iter().map(|(column, _)| *column)
    }

    /// `cost` or `reward`.
    pub(super) fn word(&self) -> &'static str {
        if self.reward { "reward" } else { "cost" }
    }
}

/// Whether a name says that a column is an outcome.
pub(super) fn named_like_an_outcome(name: &str) -> bool {
    let name = name.to_lowercase();
    REWARDS.iter().chain(&COSTS).any(|usual| *usual == name)
}

/// Whether a column holds nothing but such numbers.
fn within(column: &Column, fits: impl Fn(f64) -> bool) -> bool {
    !column.missing() && column.numbers().is_some_and(|all| all.iter().all(|x| fits(*x)))
}

/// The columns by their names.
struct Named<'a> {
    all: &'a [Column],
    /// Columns that could not be read, and why.
    refused: &'a [(String, String)],
    asked: &'a Asked,
}

impl Named<'_> {
    /// A column that was asked for.
    fn column(&self, option: &str, name: &str) -> Result<usize, String> {
        if let Some((_, why)) = self.refused.iter().find(|(refused, _)| refused == name) {
            return Err(format!("{option}: the column {name:?}: {why}"));
        }
        self.all.iter().position(|c| c.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.all.iter().map(|c| c.name.as_str()).collect();
            format!("{option}: {}", unknown_column(name, &names))
        })
    }

    /// The columns with usual names that fit, in the names' order; what was asked to be a context,
    /// or left out, is not among them.
    fn all_by_name(&self, names: &[&str], fits: impl Fn(&Column) -> bool) -> Vec<usize> {
        let asked = |c: &Column| self.asked.context.contains(&c.name) || self.drops(c);
        let called = |name: &&str| {
            self.all.iter().position(|c| c.name.to_lowercase() == **name && !asked(c) && fits(c))
        };
        names.iter().filter_map(called).collect()
    }

    fn by_name(&self, names: &[&str], fits: impl Fn(&Column) -> bool) -> Option<usize> {
        self.all_by_name(names, fits).first().copied()
    }

    fn drops(&self, column: &Column) -> bool {
        self.asked.drop.contains(&column.name)
    }

    fn asked_action(&self, name: &str) -> Result<usize, String> {
        let at = self.column("--action", name)?;
        match self.all[at].actions().len() {
            2..=MOST_ACTIONS => Ok(at),
            count => Err(format!(
                "--action: the column {name:?} has {count} values; expected 2 to {MOST_ACTIONS}"
            )),
        }
    }

    /// The action by its name, and why; Err asks for it.
    fn named_action(&self, taken: &[usize]) -> Result<(usize, String), String> {
        let fits = |c: &Column| {
            let many = ["item_id", "action"].contains(&c.name.to_lowercase().as_str());
            let most = if many { MOST_ACTIONS } else { FEW_ACTIONS };
            (2..=most).contains(&c.actions().len()) && (many || c.unfit().is_none())
        };
        let free = |names: &[&str]| -> Vec<usize> {
            let found = self.all_by_name(names, fits);
            found.into_iter().filter(|at| !taken.contains(at)).collect()
        };
        let mut named = free(&ACTIONS);
        if named.is_empty() {
            named = free(&LIKE_ACTIONS);
        }
        // Two columns that say the same under other names are one.
        if let [first, others @ ..] = &named[..]
            && others.iter().all(|k| repeats(&self.all[*k], &self.all[*first]))
        {
            return Ok((*first, "its name says so".to_owned()));
        }
        let could_be = |c: &Column| {
            (2..=FEW_ACTIONS).contains(&c.actions().len())
                && c.unfit().is_none()
                && !c.is_fraction()
        };
        let mut offered: Vec<usize> = (0..self.all.len())
            .filter(|k| !taken.contains(k) && could_be(&self.all[*k]))
            .filter(|&k| !named_like_an_outcome(&self.all[k].name))
            .collect();
        offered.sort_by_key(|k| (!named.contains(k), self.all[*k].count()));
        // One whose name says so has too many values to be taken unasked, but may be meant.
        let usual: Vec<&str> = ACTIONS.iter().chain(&LIKE_ACTIONS).copied().collect();
        let long = |c: &Column| (FEW_ACTIONS + 1..=MOST_ACTIONS).contains(&c.count());
        let long = self.all_by_name(&usual, |c| long(c) && c.id().is_none());
        let offered: Vec<usize> = long.into_iter().chain(offered).collect();
        let why = match named.len() {
            0 => "no column's name says that it is the action",
            _ => "more than one column's name says that it is the action",
        };
        Err(format!("{why}: say --action COL; {}", self.choice(&offered)))
    }

    fn asked_outcome(&self, reward: bool, text: &str) -> Result<Outcome, String> {
        let option = if reward { "--reward" } else { "--cost" };
        let about = |what: String| format!("{option}: {what}");
        // A column may be called `a + b`.
        let terms = if self.all.iter().any(|c| c.name == text) {
            vec![(text.to_owned(), Term::Weight(1.0))]
        } else {
            expression::parse(text).map_err(about)?
        };
        let mut found = Vec::new();
        for (name, term) in terms {
            let at = self.column(option, &name)?;
            let term = self.countable(at, term).map_err(about)?;
            found.push((at, term));
        }
        let why = format!("as {option} says");
        Ok(Outcome { reward, terms: found, typed: text.trim().to_owned(), why })
    }

    /// A term whose levels there are, or whose column holds numbers.
    fn countable(&self, at: usize, term: Term) -> Result<Term, String> {
        let column = &self.all[at];
        let shown: Vec<String> = column.levels().into_iter().map(short).collect();
        let there = listed(&shown, LISTED);
        match term {
            Term::Weight(_) if column.numbers().is_some() => Ok(term),
            Term::Weight(weight) => match happened(column) {
                Some(level) => Ok(Term::Levels(vec![(level, weight)])),
                None => Err(format!(
                    "the column {:?} holds no numbers: say which of its levels counts, as in \
                     {}=LEVEL (there are: {there})",
                    column.name, column.name
                )),
            },
            Term::Levels(levels) => {
                let seen = |level: &str| {
                    (0..column.distinct.len()).any(|code| column.distinct.is(code, level))
                };
                let Some((unseen, _)) = levels.iter().find(|(level, _)| !seen(level)) else {
                    return Ok(Term::Levels(levels));
                };
                let near = nearest(unseen, &column.levels())
                    .map_or(String::new(), |near| format!("; did you mean {near:?}?"));
                Err(format!(
                    "the column {:?} has no level {unseen:?}{near} (there are: {there})",
                    column.name
                ))
            }
        }
    }

    /// The outcome by its name; Err asks for it.
    fn named_outcome(&self, taken: &[usize]) -> Result<Outcome, String> {
        let counts = |c: &Column| {
            let varies = c.count() > 1;
            varies && (c.numbers().is_some() || (c.count() <= MOST_LEVELS && happened(c).is_some()))
        };
        let free = |names: &[&str]| -> Vec<usize> {
            let found = self.all_by_name(names, counts);
            found.into_iter().filter(|at| !taken.contains(at)).collect()
        };
        let (rewards, costs) = (free(&REWARDS), free(&COSTS));
        let (at, reward) = match (rewards.first(), costs.first()) {
            (Some(at), None) => (*at, true),
            (None, Some(at)) => (*at, false),
            (first, _) => return Err(self.ask_for_outcome(first.is_some(), taken)),
        };
        let term = self.countable(at, Term::Weight(1.0))?;
        let typed = self.all[at].name.clone();
        Ok(Outcome { reward, terms: vec![(at, term)], typed, why: "its name says so".to_owned() })
    }

    fn ask_for_outcome(&self, both: bool, taken: &[usize]) -> String {
        let could_be = |c: &Column| {
            let few = (2..=MOST_LEVELS).contains(&c.count());
            c.unfit().is_none() && c.count() > 1 && (few || c.numbers().is_some())
        };
        let mut offered: Vec<usize> =
            (0..self.all.len()).filter(|k| !taken.contains(k) && could_be(&self.all[*k])).collect();
        // Events and amounts are what is counted most often; ranks and names of places are not.
        offered.sort_by_key(|&k| {
            let column = &self.all[k];
            (!named_like_an_outcome(&column.name), column.count() != 2, column.numbers().is_none())
        });
        let why = if both {
            "one column's name says that it is a cost, another's that it is a reward"
        } else {
            "no column's name says that it is the outcome"
        };
        let choice = self.choice(&offered);
        format!("{why}: say --cost COL (lower is better) or --reward COL (higher); {choice}")
    }

    fn choice(&self, offered: &[usize]) -> String {
        let all: Vec<String> = offered.iter().map(|&k| self.all[k].offered()).collect();
        if all.is_empty() {
            "no column looks like one".to_owned()
        } else {
            format!("could be: {}", listed(&all, LISTED))
        }
    }

    /// Refuses names that are no column, and columns that are asked to be two things.
    fn refuse_two_roles(
        &self,
        action: Option<usize>,
        outcome: Option<&Outcome>,
    ) -> Result<(), String> {
        let option = |o: &Outcome| if o.reward { "--reward" } else { "--cost" };
        let mut roles: Vec<(usize, &str)> = action.map(|at| (at, "--action")).into_iter().collect();
        roles.extend(outcome.iter().flat_map(|o| o.columns().map(|at| (at, option(o)))));
        for (names, option) in [(&self.asked.context, "--context"), (&self.asked.drop, "--drop")] {
            for name in names {
                roles.push((self.column(option, name)?, option));
            }
        }
        for (k, (at, role)) in roles.iter().enumerate() {
            let other = roles[..k].iter().find(|(before, was)| before == at && was != role);
            if let Some((_, other)) = other {
                let name = &self.all[*at].name;
                return Err(format!(
                    "the column {name:?} is given to {other} and to {role}; expected one of them"
                ));
            }
        }
        Ok(())
    }
}

/// The level of a column of text that says that something happened.
fn happened(column: &Column) -> Option<String> {
    let levels = column.levels();
    let found = levels.iter().find(|level| HAPPENED.contains(&level.to_lowercase().as_str()))?;
    column.numbers().is_none().then(|| (*found).to_owned())
}
