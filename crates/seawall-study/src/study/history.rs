//! `[history]`: groups that were recorded (sites, countries, months), which say how much costs have
//! shifted between them.

use super::Context;
use super::declared::DeclaredValue;
use crate::fields::FrontEnd;
use seawall::{Error, Result};
use std::path::{Path, PathBuf};

/// Rows that a group needs where nothing is said.
pub const LEAST: f64 = 20.0;

/// What is said of recorded groups.
#[derive(Clone, Debug, PartialEq)]
pub struct HistorySpec {
    /// The columns whose values together name a group.
    pub by: Vec<String>,
    /// A table of groups that are not in the log.
    pub path: Option<PathBuf>,
    /// Rows that a group needs to be counted.
    pub least: f64,
    /// Whether groups follow each other in time, so that only earlier ones may predict a later one.
    pub in_time: bool,
    /// The period that moments are cut into.
    pub each: Option<Each>,
    /// How many groups back one counts half.
    pub half_life: Option<f64>,
    /// Of how many groups at once the target is made: what differs between them averages out.
    pub at_once: f64,
}

/// A period of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    /// A calendar year.
    Year,
    /// A quarter of one.
    Quarter,
    /// A month.
    Month,
    /// A day.
    Day,
}

impl HistorySpec {
    /// Groups by some columns, in no order.
    pub fn by(by: Vec<String>) -> Self {
        let (path, each, half_life) = (None, None, None);
        HistorySpec { by, path, least: LEAST, in_time: false, each, half_life, at_once: 1.0 }
    }

    /// The groups in words: `HOSPNUM`, `country and site`.
    pub fn words(&self) -> String {
        self.by.join(" and ")
    }

    /// Refuses a column that is a context, too: what names a group must not predict it.
    /// `under` is what the contexts are said under.
    pub fn check(&self, contexts: &[Context], under: &str) -> Result<()> {
        match self.by.iter().find(|name| contexts.iter().any(|c| c.name == **name)) {
            None => Ok(()),
            Some(name) => Err(Error::config(format!(
                "{name:?} is a context column, too: another population is another group, so a group \
                 cannot be what a policy or a model goes by; leave it out of {under}"
            ))),
        }
    }
}

/// What is asked of recorded groups in place of what the study file says; what is not said stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryChanges {
    /// The columns whose values together name a group: then nothing of the study's own history stays.
    pub by: Vec<String>,
    /// A table of groups that are not in the log.
    pub path: Option<PathBuf>,
    /// Rows that a group needs to be counted.
    pub least: Option<f64>,
    /// Whether groups follow each other in time; periods do unless it is said that they do not.
    pub in_time: Option<bool>,
    /// The period that moments are cut into.
    pub each: Option<Each>,
    /// How many groups back one counts half.
    pub half_life: Option<f64>,
}

impl HistoryChanges {
    /// Whether anything is asked of groups but which they are.
    fn asks(&self) -> bool {
        let periods = self.each.is_some() || self.in_time == Some(true) || self.half_life.is_some();
        self.least.is_some() || periods
    }

    /// The history that is meant; None if there is none. Messages are in the words of who asked.
    pub fn apply(
        self,
        own: Option<HistorySpec>,
        contexts: &[Context],
        asked_in: FrontEnd,
    ) -> Result<Option<HistorySpec>> {
        let word = |name: &str| match asked_in {
            FrontEnd::Cli => format!("--{}", name.replace('_', "-")),
            // There it is a part of the history.
            FrontEnd::Python if name == "history" => "table".to_owned(),
            FrontEnd::Study | FrontEnd::Python => name.to_owned(),
        };
        let refused = |what: String| Err(Error::config(what));
        let asks = self.asks();
        let mut spec = match (self.by.is_empty(), own) {
            (false, _) => HistorySpec::by(self.by),
            (true, Some(own)) => own,
            (true, None) if self.path.is_some() => {
                let (history, by) = (word("history"), word("by"));
                return refused(format!("{history} needs {by}: the column that names its groups"));
            }
            (true, None) if asks => {
                let by = word("by");
                return refused(format!(
                    "past groups are asked about with {by}: the column that names them"
                ));
            }
            (true, None) => return Ok(None),
        };
        let under = match asked_in {
            FrontEnd::Cli | FrontEnd::Study => "[context]",
            FrontEnd::Python => "context",
        };
        spec.check(contexts, under).map_err(|e| e.within(word("by")))?;
        spec.path = self.path.or(spec.path);
        if let Some(least) = self.least {
            if !(least >= 1.0 && least.is_finite()) {
                let least_word = word("least");
                return refused(format!(
                    "{least_word} is {least}; expected a number of rows from 1 on"
                ));
            }
            spec.least = least;
        }
        spec.in_time = self.in_time.unwrap_or(spec.in_time || self.each.is_some());
        spec.each = self.each.or(spec.each);
        if spec.in_time && spec.by.len() > 1 {
            return refused(format!("groups in time are named by one column: {}", word("by")));
        }
        if !spec.in_time {
            spec.half_life = None;
        }
        if let Some(half_life) = self.half_life {
            let half_life_word = word("half_life");
            if !(half_life > 0.0 && half_life.is_finite()) {
                return refused(format!(
                    "{half_life_word} is {half_life}; expected a number of groups above 0"
                ));
            }
            if !spec.in_time {
                let in_time = word("in_time");
                return refused(format!("{half_life_word} needs groups in time: say {in_time}"));
            }
            spec.half_life = Some(half_life);
        }
        Ok(Some(spec))
    }
}

pub(super) fn parse(
    value: Option<DeclaredValue>,
    folder: &Path,
    contexts: &[Context],
) -> Result<Option<HistorySpec>> {
    let Some(value) = value else { return Ok(None) };
    let mut table = value.table()?;
    let by = table.need("by")?;
    let mut spec = HistorySpec::by(by.texts()?);
    if spec.by.is_empty() {
        return Err(by.error("expected at least one column"));
    }
    spec.check(contexts, &by.place.section("context")).map_err(|e| by.error(e.to_string()))?;
    spec.path = table.take("path").map(|v| v.text()).transpose()?.map(|p| folder.join(p));
    if let Some(v) = table.take("least") {
        spec.least = match v.number()? {
            n if n >= 1.0 && n.is_finite() => n,
            n => return Err(v.error(format!("{n}; expected a number of rows from 1 on"))),
        };
    }
    let order = table.take("order").map(|v| v.word(&[("time", true), ("none", false)]));
    let each = table.take("each").map(|v| v.word(&PERIODS)).transpose()?;
    (spec.in_time, spec.each) = (order.transpose()?.unwrap_or(each.is_some()), each);
    if let Some(v) = table.take("half_life") {
        spec.half_life = match v.number()? {
            n if n > 0.0 && n.is_finite() => Some(n),
            n => return Err(v.error(format!("{n}; expected a number of groups above 0"))),
        };
        if !spec.in_time {
            return Err(v.error("half_life needs groups in time: say order = \"time\""));
        }
    }
    if let Some(v) = table.take("at_once") {
        spec.at_once = match v.number()? {
            n if n >= 1.0 && n.is_finite() => n,
            n => return Err(v.error(format!("{n}; expected a number of groups from 1 on"))),
        };
    }
    if spec.in_time && spec.by.len() > 1 {
        return Err(by.error("groups in time are named by one column"));
    }
    table.finish(&["by", "path", "least", "order", "each", "half_life", "at_once"])?;
    Ok(Some(spec))
}

/// Periods by name.
pub const PERIODS: [(&str, Each); 4] =
    [("year", Each::Year), ("quarter", Each::Quarter), ("month", Each::Month), ("day", Each::Day)];
