//! The groups that a study recorded, each with its rows: those of the log, or of a table beside it.

use super::period::{in_time, period};
use crate::prepare::PreparedStudy;
use crate::study::HistorySpec;
use seawall::transfer::Rows;
use seawall::{Entry, Error, Kind, Log, NewLevel, Result, Value, Watch};
use seawall_table::combine::BinMoments;
use seawall_table::count::{Counted, count, most_cells};
use seawall_table::read::{named, same};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// History groups, in order of time or of their names.
pub(crate) struct History {
    /// What they are recorded by.
    pub(crate) by: HistorySpec,
    pub(crate) groups: Vec<PastGroup>,
    /// Groups left out because they have too few rows, and because they lack an action.
    pub(crate) few: usize,
    pub(crate) lacking: usize,
    /// The log, every group that was recorded numbered by its place, those not counted among them: what
    /// is later must be out of the log whoever it is of.
    pub(crate) log: Arc<Log>,
    /// What rows have in the bins of context columns, by group as they were counted.
    moments: Arc<BinMoments>,
    /// The place of each of those groups.
    places: Vec<u32>,
}

/// A recorded group.
pub(crate) struct PastGroup {
    pub(crate) name: String,
    /// Its rows, on contexts whose bins stand for the numbers that these rows have in them.
    pub(crate) log: Log,
    propensities: Vec<f64>,
    /// Whether its rows are in the study's log.
    pub(crate) inside: bool,
    /// Its place among all groups that were recorded.
    pub(crate) place: u32,
}

impl PastGroup {
    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows { log: &self.log, propensities: &self.propensities }
    }
}

impl History {
    /// The groups of a study, which was counted by them; on the study that has their contexts, too.
    pub(crate) fn new(prepared: &PreparedStudy, watch: Watch<'_>) -> Result<(Self, PreparedStudy)> {
        let Some(by) = prepared.study.history.clone() else {
            return Err(Error::config(format!(
                "{}: no groups are recorded; say [history] by = \"COLUMN\" (a site, a country, a month), \
                 or --by COLUMN",
                prepared.study.path().display()
            )));
        };
        match by.path.clone() {
            None => {
                let (values, log) = (&prepared.counted.groups, prepared.log());
                let propensities = prepared.fitted(watch)?.propensities().to_vec();
                let counted = (values.as_slice(), &prepared.counted.moments);
                let found = Self::of_log(by, counted, (log, &propensities), true)?;
                Ok((found, prepared.clone()))
            }
            Some(path) => {
                let Outside { larger, rows, groups, moments } = outside(prepared, &path, watch)?;
                let propensities = prepared.propensity.propensities(&rows, watch)?;
                let counted = (groups.as_slice(), &moments);
                let found = Self::of_log(by, counted, (&Arc::new(rows), &propensities), false)?;
                Ok((History { log: larger.log().clone(), ..found }, larger))
            }
        }
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.groups.len()
    }

    /// The log without a group, and without those at the same time or later where groups are in time;
    /// and without another one, too.
    pub(crate) fn log_without(&self, group: usize, another: Option<usize>) -> Result<Arc<Log>> {
        if !self.groups[group].inside {
            return Ok(self.log.clone());
        }
        let own = self.groups[group].place;
        let other = another.map(|other| self.groups[other].place);
        let later = |g: u32| self.by.in_time && g != Entry::ALONE && g >= own;
        let rest = self.rest(|g| g == own || later(g) || other == Some(g))?;
        let totals = rest.action_totals();
        match totals.iter().position(|n| *n == 0.0) {
            None => Ok(rest.shared()),
            Some(a) => Err(Error::input(format!(
                "without {:?} no row has the action {:?}",
                self.groups[group].name,
                rest.actions()[a]
            ))),
        }
    }

    /// The log without some groups, on contexts whose bins stand for what the other rows have in them.
    pub(crate) fn rest(&self, out: impl Fn(u32) -> bool) -> Result<Log> {
        let rest = self.log.without_groups(&out)?;
        let kept = |group: u32| !out(place_of(&self.places, group));
        on_moments(rest, &self.moments, kept)
    }

    /// Groups by their values, of a log and the propensities of its entries.
    fn of_log(
        by: HistorySpec,
        (values, moments): (&[Vec<String>], &Arc<BinMoments>),
        (log, propensities): (&Arc<Log>, &[f64]),
        inside: bool,
    ) -> Result<Self> {
        let (names, places) = names(&by, values)?;
        let log = log.regrouped(|g| place_of(&places, g));
        let actions = log.actions().len();
        let mut rows = vec![(0.0, vec![0.0; actions]); names.len()];
        for e in log.entries().iter().filter(|e| e.group != Entry::ALONE) {
            let (all, of): &mut (f64, Vec<f64>) = &mut rows[e.group as usize];
            *all += e.rows();
            of[e.action as usize] += e.rows();
        }
        let (mut few, mut lacking) = (0, 0);
        let mut groups = Vec::new();
        for (g, name) in names.into_iter().enumerate() {
            let (all, of) = &rows[g];
            if *all < by.least {
                few += 1;
            } else if of.contains(&0.0) {
                lacking += 1;
            } else {
                let own = log.of_group(g as u32)?;
                let own = on_moments(own, moments, |group| place_of(&places, group) == g as u32)?;
                let own_propensities = log.entries().iter().zip(propensities);
                let own_propensities = own_propensities.filter(|(e, _)| e.group == g as u32);
                let propensities = own_propensities.map(|(_, p)| *p).collect();
                groups.push(PastGroup { name, log: own, propensities, inside, place: g as u32 });
            }
        }
        if groups.len() < 2 {
            let found = if groups.is_empty() { "no group" } else { "one group only" };
            return Err(Error::input(format!(
                "{}: {found} of at least {} rows and with every action ({few} have fewer rows, {lacking} \
                 lack an action); expected two or more: record groups by another column, or allow \
                 smaller ones with least",
                by.words(),
                by.least
            )));
        }
        let moments = moments.clone();
        Ok(History { by, groups, few, lacking, log: log.shared(), moments, places })
    }
}

/// The place of a group by its number as it was counted.
fn place_of(places: &[u32], group: u32) -> u32 {
    places.get(group as usize).copied().unwrap_or(Entry::ALONE)
}

/// A log on contexts whose bins stand for the numbers that rows of some groups have in them.
fn on_moments(log: Log, moments: &BinMoments, kept: impl Fn(u32) -> bool) -> Result<Log> {
    if moments.is_empty() {
        return Ok(log);
    }
    log.on_contexts(&moments.on(log.contexts(), kept)?, |context| context)
}

/// The groups' names in order, and the place of each number among them.
fn names(by: &HistorySpec, values: &[Vec<String>]) -> Result<(Vec<String>, Vec<u32>)> {
    let labels: Vec<String> = match by.each {
        None => values.iter().map(|v| v.join(", ")).collect(),
        Some(each) => {
            let cut = |v: &Vec<String>| period(&by.by[0], v.first().map_or("", |t| t), each);
            values.iter().map(cut).collect::<Result<_>>()?
        }
    };
    let mut seen = HashSet::new();
    let mut names: Vec<String> = labels.iter().filter(|l| seen.insert(*l)).cloned().collect();
    if by.in_time {
        names = in_time(&by.by[0], names)?;
    }
    let own: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    let place = labels.iter().map(|label| own[label.as_str()]).collect();
    Ok((names, place))
}

/// The rows of a table beside the log.
struct Outside {
    /// The study on the contexts that both have.
    larger: PreparedStudy,
    rows: Log,
    /// The groups' values.
    groups: Vec<Vec<String>>,
    /// What their bins hold.
    moments: Arc<BinMoments>,
}

/// The rows of a table beside the log, on contexts that both have.
fn outside(prepared: &PreparedStudy, path: &Path, watch: Watch<'_>) -> Result<Outside> {
    let past: Counted = match &prepared.past {
        Some(past) => Counted::clone(past),
        None => count(&prepared.study.grouped_data(path.to_owned(), false), watch)?,
    };
    let (own, there) = (prepared.log(), past.log.contexts());
    let mut more = Vec::new();
    for (k, context) in prepared.study.data.contexts.iter().enumerate() {
        more.push(new_levels(prepared, there, k).map_err(|what| {
            Error::input(format!("{}: column {:?}: {what}", path.display(), context.name))
        })?);
    }
    let value = |i: usize, k: usize| match there.number_at(i, k) {
        Some(x) => Value::Number(x),
        None if there.levels(k).is_empty() => Value::Missing,
        None => there.level_values(k).nth(there.code(i, k) as usize).unwrap_or(Value::Missing),
    };
    let used: Vec<usize> = {
        let population = past.log.population()?;
        (0..there.len()).filter(|&i| population.weights()[i] > 0.0).collect()
    };
    let columns = prepared.study.data.contexts.len();
    let places: Vec<Vec<Value<'_>>> =
        used.iter().map(|&i| (0..columns).map(|k| value(i, k)).collect()).collect();
    let kept = prepared.needed_contexts()?;
    let most = most_cells(prepared.study.data.memory, columns, own.actions().len());
    let larger = own.contexts().extended(&more, &kept, &places, most)?;
    let on = prepared.on_extension(&larger, &kept)?;
    let mut place = vec![u32::MAX; there.len()];
    used.iter().zip(&larger.placed).for_each(|(&old, new)| place[old] = *new);
    let action = |name: &String| {
        let known = named(own.actions(), name).and_then(|n| own.action(n).ok());
        known.or_else(|| own.actions().iter().position(|a| same(a, name))).ok_or_else(|| {
            let all = own.actions().join(", ");
            Error::input(format!(
                "{}: the action {name:?} is none of the log's: {all}",
                path.display()
            ))
        })
    };
    let action_of: Vec<usize> = past.log.actions().iter().map(action).collect::<Result<_>>()?;
    let entries = past.log.entries().iter().map(|e| Entry {
        context: place[e.context as usize],
        action: action_of[e.action as usize] as u32,
        ..*e
    });
    let rows = Log::new(
        larger.space.clone(),
        own.actions().to_vec(),
        past.log.outcomes().clone(),
        past.log.values().to_vec(),
        own.direction(),
        entries.collect(),
    );
    let rows = rows.map_err(|e| e.within(path.display()))?;
    Ok(Outside { larger: on, rows, groups: past.groups, moments: past.moments })
}

/// The levels of a column that past groups have and the log does not.
fn new_levels(
    prepared: &PreparedStudy,
    there: &seawall::Space,
    feature: usize,
) -> std::result::Result<Vec<NewLevel>, String> {
    let own = prepared.log().contexts();
    let known = |value: &Value<'_>| own.level_values(feature).any(|v| v == *value);
    let mut more = Vec::new();
    for value in there.level_values(feature).filter(|v| !known(v)) {
        more.push(match (value, own.kind(feature)) {
            (Value::Number(x), _) => NewLevel::Number(x),
            (Value::Level(text), Kind::Nominal | Kind::Fixed) => NewLevel::Level(text.to_owned()),
            (Value::Level(text), _) => {
                return Err(format!(
                    "{text:?} is none of the levels in order; where it would be, the study must say: \
                     levels = [...]"
                ));
            }
            (Value::Missing, _) => {
                return Err("values are missing, and the log has none that are; say missing = true of \
                            the column"
                    .to_owned());
            }
        });
    }
    Ok(more)
}
