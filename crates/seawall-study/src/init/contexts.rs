//! Which columns are contexts, and why the others are not.

use super::column::{Column, ColumnKind};
use super::leaks::{OutcomeColumn, Tells, determines, repeats};
use super::roles::{Roles, named_like_an_outcome};
use super::words::{listed, shown};
use super::{Asked, Table};
use foldhash::fast::FixedState;
use std::collections::HashMap;

/// The most columns that a message says the reasons of.
const LISTED: usize = 8;

/// A context.
#[derive(Clone)]
pub(super) struct Chosen {
    pub(super) column: usize,
    pub(super) kind: ColumnKind,
    /// What a comment should warn of.
    pub(super) note: Option<String>,
}

/// The contexts, and columns that are none.
#[derive(Clone)]
pub(super) struct Contexts {
    pub(super) chosen: Vec<Chosen>,
    /// Names and reasons.
    pub(super) left_out: Vec<(String, String)>,
}

impl Contexts {
    /// The contexts asked for, or every column that looks like one; Err if there is none.
    pub(super) fn choose(
        table: &Table,
        roles: &Roles,
        asked: &Asked,
        target: &OutcomeColumn,
    ) -> Result<Self, String> {
        let (mut chosen, mut left_out) = (Vec::new(), Vec::new());
        for (at, column) in table.columns.iter().enumerate() {
            if roles.takes(at) {
                continue;
            }
            let wanted = asked.context.contains(&column.name);
            let why_not = match (wanted, &asked.context[..]) {
                (true, _) => None,
                (false, [_, ..]) => Some("--context names others".to_owned()),
                _ if asked.drop.contains(&column.name) => Some("as --drop says".to_owned()),
                _ => None,
            };
            let found = match why_not {
                Some(why) => Err(why),
                None => {
                    let action = &table.columns[roles.action];
                    // Where propensities are known, who decided by the column left something to chance.
                    let decided = roles.propensity.is_none();
                    judged(column, (action, decided), target)
                }
            };
            match (found, wanted) {
                (Ok(note), _) => chosen.push(Chosen { column: at, kind: column.kind(), note }),
                (Err(why), true) if column.count() < 2 && !column.missing() => {
                    return Err(format!(
                        "--context: the column {:?} is {why}; expected values that differ",
                        column.name
                    ));
                }
                (Err(why), true) => {
                    let note = Some(format!("asked for, but {why}"));
                    chosen.push(Chosen { column: at, kind: column.kind(), note });
                }
                (Err(why), false) => left_out.push((column.name.clone(), why)),
            }
        }
        left_out.extend(table.refused.iter().cloned());
        if chosen.is_empty() {
            let reason = |(name, why): &(String, String)| format!("{} ({why})", shown(name));
            let reasons: Vec<String> = left_out.iter().map(reason).collect();
            let reasons = if reasons.is_empty() {
                "there are no other columns".to_owned()
            } else {
                format!("left out: {}", listed(&reasons, LISTED))
            };
            return Err(format!("no column is left that could be a context; {reasons}"));
        }
        Ok(Contexts { chosen, left_out })
    }

    /// How many combinations of levels there are.
    pub(super) fn combinations(&self, all: &[Column]) -> f64 {
        self.chosen.iter().map(|c| all[c.column].width(c.kind)).product()
    }

    /// The same with no number cut into bins.
    pub(super) fn unbinned(&self) -> Self {
        let mut all = self.clone();
        for chosen in &mut all.chosen {
            if let ColumnKind::Numeric { bin } = &mut chosen.kind {
                *bin = None;
            }
        }
        all
    }

    /// How many cells rows of known outcome are in, and how many such rows there are.
    pub(super) fn cells(&self, all: &[Column], target: &OutcomeColumn) -> (usize, usize) {
        let rows = all.first().map_or(0, |c| c.codes.len());
        let known: Vec<usize> = (0..rows).filter(|&row| target.known(row)).collect();
        let mut cell = vec![0u32; known.len()];
        let mut cells = usize::from(!known.is_empty());
        // Column by column: a cell is a cell of the columns before and a level of this one.
        for chosen in &self.chosen {
            let column = &all[chosen.column];
            let level_of = column.cells(chosen.kind);
            let mut numbered: HashMap<(u32, u32), u32, FixedState> = HashMap::default();
            for (cell, &row) in cell.iter_mut().zip(&known) {
                let next = numbered.len() as u32;
                let level = level_of[column.codes[row] as usize];
                *cell = *numbered.entry((*cell, level)).or_insert(next);
            }
            cells = numbered.len();
        }
        (cells, known.len())
    }
}

/// Whether a column never changes in the rows that the study will keep.
fn constant_where_known(column: &Column, target: &OutcomeColumn) -> bool {
    let mut codes = column.codes.iter().enumerate().filter(|(row, _)| target.known(*row));
    let Some((_, first)) = codes.next() else { return false };
    codes.all(|(_, code)| code == first)
}

/// What is to be said of a column that can be a context; Err says why it cannot.
fn judged(
    column: &Column,
    (action, decided): (&Column, bool),
    target: &OutcomeColumn,
) -> Result<Option<String>, String> {
    if let Some(why) = column.unfit() {
        return Err(why);
    }
    if constant_where_known(column, target) {
        return Err("always the same where the outcome is known".to_owned());
    }
    if repeats(column, action) {
        return Err("the action under other names".to_owned());
    }
    if let Some(why) = decided.then(|| determines(column, action, target)).flatten() {
        return Err(why);
    }
    if named_like_an_outcome(&column.name) {
        return Err(format!("by its name an outcome too ({})", column.seen()));
    }
    match target.told_by(column) {
        Tells::All(why) => Err(why),
        Tells::Much(note) => Ok(Some(note)),
        Tells::Little => Ok(None),
    }
}
