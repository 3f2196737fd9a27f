//! A counter's numbers as the texts of a counted table.

use super::Counter;
use crate::counted::{CountedTable, Place, Role, Tally, Texts, all_truths};
use crate::read::Distinct;
use crate::study::ModelSpec;
use std::collections::HashSet;

impl Counter<'_> {
    /// The same counter, with a counted table in the making.
    pub(super) fn with_tally(self) -> Self {
        let own = |(role, column): (Role, usize)| (role, String::new(), column);
        let mut numbers: Vec<Place> = self.rows.numbers().map(own).collect();
        if let (Some(predicted), ModelSpec::Column { columns, .. }) =
            (&self.predicted, &self.study.model)
        {
            let names = columns.iter().map(|c| c.1.clone()).zip(predicted.columns());
            numbers.extend(names.map(|(name, column)| (Role::Prediction, name, column)));
        }
        // Two actions may share a column of predictions.
        let mut known = HashSet::new();
        numbers.retain(|(role, _, column)| known.insert((*role, *column)));
        let tally = Tally::new(self.study, &self.outcomes, self.rows.cluster, numbers);
        Counter { tally: Some(tally), ..self }
    }

    /// The counted table, if one was wanted.
    pub(super) fn table(&mut self, distinct: &[Distinct]) -> Option<CountedTable> {
        let tally = self.tally.take()?;
        Some(tally.finish(self.study, &CounterTexts { counter: self, distinct }, distinct))
    }
}

struct CounterTexts<'c> {
    counter: &'c Counter<'c>,
    distinct: &'c [Distinct],
}

impl Texts for CounterTexts<'_> {
    fn context(&self, combination: u32) -> Vec<Option<String>> {
        let counter = self.counter;
        let codes = counter.context_ids.codes(combination);
        let text = |(at, code): (usize, u32)| match &counter.binned[at] {
            Some(binned) => {
                let (least, bins) = (counter.study.contexts[at].range.0, &binned.bins);
                // A number that is in the bin and in the range that the study declares.
                binned.bin(code).map(|bin| bins.start(bin).max(least).to_string())
            }
            None => self.distinct[counter.contexts[at]].text(code as usize).cloned(),
        };
        codes.into_iter().enumerate().map(text).collect()
    }

    fn is_truths(&self, column: usize) -> bool {
        let plain = self.counter.binned[column].is_none();
        plain && all_truths(&self.distinct[self.counter.contexts[column]])
    }

    fn action(&self, action: u32) -> Option<String> {
        match self.counter.action_column {
            Some(column) => self.distinct[column].text(action as usize).cloned(),
            None => self.counter.action_names.get(action as usize).cloned(),
        }
    }
}
