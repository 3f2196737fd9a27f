//! What a counter passes on to become a counted table.

use super::Counter;
use crate::counted::{CountedTable, Groups, Place, Role};
use crate::memory::size;
use crate::read::{BinnedColumn, Distinct, Seen};
use seawall::{Error, Result};
use std::collections::HashSet;

impl Counter<'_> {
    /// The same counter, with a counted table in the making.
    pub(super) fn with_table(self) -> Self {
        let data = self.data;
        let contexts = data.contexts.iter().map(|c| c.name.clone()).zip(&self.contexts);
        let outcomes = data.outcome.terms.iter().map(|o| o.0.clone()).zip(&self.outcomes);
        let mut places: Vec<Place> = contexts.map(|(n, &c)| (Role::Context, n, c)).collect();
        places.extend(outcomes.map(|(n, &c)| (Role::Outcome, n, c)));
        places.extend(self.rows.cluster.map(|c| (Role::Cluster, String::new(), c)));
        let groups = data.rows.groups.iter().cloned().zip(&self.rows.history);
        places.extend(groups.map(|(name, &c)| (Role::History, name, c)));
        places.extend(self.rows.numbers().map(|(role, c)| (role, String::new(), c)));
        if let (Some(predicted), Some(said)) = (&self.predicted, &data.predictions) {
            let names = said.columns.iter().map(|c| c.1.clone()).zip(predicted.columns());
            places.extend(names.map(|(name, c)| (Role::Prediction, name, c)));
        }
        // Two actions may share a column of predictions.
        let mut known = HashSet::new();
        places.retain(|(role, _, column)| known.insert((*role, *column)));
        let groups = Groups::new(data, &self.readings, places, &self.sums.columns);
        Counter { groups: Some(groups), ..self }
    }

    /// Refuses a table that takes more than half of the memory, counting taking the other half: its
    /// groups go to no file.
    pub(super) fn check_groups(&self) -> Result<()> {
        let (memory, groups) = (self.data.memory, self.groups.as_ref());
        match groups.filter(|groups| groups.bytes() as u64 > memory / 2) {
            None => Ok(()),
            Some(groups) => Err(Error::input(format!(
                "{}: a counted table of {} groups and more takes more than half of the {} that --memory \
                 allows; raise --memory, cut numeric columns into bins (bin = ...), or have an engine \
                 count: seawall sql",
                self.data.path.display(),
                groups.len(),
                size(memory)
            ))),
        }
    }

    /// The counted table, if one was wanted.
    pub(super) fn counted_table(
        &mut self,
        distinct: &[Distinct],
        binned: &[Option<BinnedColumn>],
    ) -> Result<Option<CountedTable>> {
        let Some(groups) = self.groups.take() else { return Ok(None) };
        let seen = Seen { readings: &self.readings, distinct, binned };
        let action = |action: u32| match self.action_column {
            Some(column) => distinct[column].text(action as usize).cloned(),
            None => self.action_names.get(action as usize).cloned(),
        };
        groups.finish(self.data, &seen, action).map(Some)
    }
}
