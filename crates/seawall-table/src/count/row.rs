//! What a row has beside its context, action and outcome: its propensity, what it weighs, its cluster
//! and its recorded group.

use crate::combine::Combinations;
use crate::counted::Role;
use crate::read::{Columns, Distinct, Reading};
use crate::spec::DataSpec;
use seawall::Entry;

/// The columns that say it.
pub(super) struct RowColumns {
    propensity: Option<usize>,
    /// How many rows one stands for, and whether that may be a part of one.
    weight: Option<usize>,
    pub(super) fractional: bool,
    survey: Option<usize>,
    pub(super) cluster: Option<usize>,
    /// The columns whose values together name a recorded group, and the combinations seen.
    pub(super) history: Vec<usize>,
    groups: Combinations,
}

/// What is said.
#[derive(Clone, Copy)]
pub(super) struct RowFacts {
    pub(super) propensity: f64,
    /// How many units it weighs, and what one does. Rows of one unit are added up in units, so that
    /// a survey's weights are multiplied once and not added one by one.
    pub(super) units: f64,
    pub(super) unit: f64,
    /// The code of its cluster.
    pub(super) cluster: u32,
    /// The number of its recorded group, as they appear.
    pub(super) group: u32,
}

impl RowFacts {
    /// Of a row of which nothing is said.
    pub(super) const NONE: RowFacts = RowFacts {
        propensity: f64::NAN,
        units: 0.0,
        unit: 1.0,
        cluster: Entry::ALONE,
        group: Entry::ALONE,
    };

    pub(super) fn weight(&self) -> f64 {
        self.units * self.unit
    }
}

/// A column's value that will not do, and why.
type Complaint = (usize, String);

impl RowColumns {
    pub(super) fn new(
        data: &DataSpec,
        propensity: Option<usize>,
        mut column_of: impl FnMut(Role, &str, Reading) -> usize,
    ) -> Self {
        let number = Reading::Numbers;
        RowColumns {
            propensity,
            weight: data.rows.weight.as_ref().map(|w| column_of(Role::Weight, w, number)),
            fractional: data.rows.fractional_weight,
            survey: data
                .rows
                .survey_weight
                .as_ref()
                .map(|w| column_of(Role::SurveyWeight, w, number)),
            cluster: data
                .rows
                .cluster
                .as_ref()
                .map(|c| column_of(Role::Cluster, c, Reading::Values)),
            groups: Combinations::new(data.rows.groups.len()),
            history: data
                .rows
                .groups
                .iter()
                .map(|c| column_of(Role::History, c, Reading::Values))
                .collect(),
        }
    }

    /// The columns of numbers, with what each is.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (Role, usize)> + '_ {
        let of = |role: Role, column: Option<usize>| column.map(|c| (role, c));
        let all = [
            of(Role::Propensity, self.propensity),
            of(Role::Weight, self.weight),
            of(Role::SurveyWeight, self.survey),
        ];
        all.into_iter().flatten()
    }

    /// Whether rows of one result may yet differ.
    pub(super) fn tells_apart(&self) -> bool {
        self.propensity.is_some()
            || self.survey.is_some()
            || self.cluster.is_some()
            || !self.history.is_empty()
    }

    /// Whether rows have a survey's weights.
    pub(super) fn has_survey(&self) -> bool {
        self.survey.is_some()
    }

    /// What a row says; which recorded group it is of is another question ([`RowColumns::group`]).
    pub(super) fn facts(&self, columns: &Columns<'_>, row: usize) -> Result<RowFacts, Complaint> {
        let number = |column: Option<usize>| column.map(|c| (c, columns.numbers[c][row]));
        let propensity = match number(self.propensity) {
            None => f64::NAN,
            Some((_, p)) if p > 0.0 && p <= 1.0 => p,
            Some((c, p)) => {
                return Err((c, format!("{p}; expected a propensity above 0 and at most 1")));
            }
        };
        let not_a_weight = |w: f64| format!("the weight is {w}; expected a finite number ≥ 0");
        let weight = match number(self.weight) {
            None => 1.0,
            Some((c, w)) if !(w >= 0.0 && w.is_finite()) => return Err((c, not_a_weight(w))),
            Some((c, w)) if w.fract() != 0.0 && !self.fractional => {
                return Err((
                    c,
                    format!(
                        "the weight is {w}, which is no number of rows: which is meant? Say survey_weight \
                     in place of weight if it says for how many people a row stands, or \
                     weight = {{ column = \"…\", fractional = true }} if rows were counted in parts"
                    ),
                ));
            }
            Some((_, w)) => w,
        };
        let (units, unit) = match number(self.survey) {
            None => (weight, 1.0),
            Some((c, w)) if !(w >= 0.0 && w.is_finite()) => return Err((c, not_a_weight(w))),
            // A row that weighs nothing changes nothing.
            Some((_, 0.0)) => (0.0, 1.0),
            Some((_, w)) => (1.0, w),
        };
        let cluster = match self.cluster {
            None => Entry::ALONE,
            Some(c) => {
                let code = columns.codes[c][row];
                if columns.distinct[c].is_missing(code as usize) {
                    let what = "the cluster is missing; expected one for every row: leave such rows \
                                out with where = { ... = { missing = false } }";
                    return Err((c, what.to_owned()));
                }
                code
            }
        };
        let missing = |&&c: &&usize| columns.distinct[c].is_missing(columns.codes[c][row] as usize);
        if let Some(c) = self.history.iter().find(missing) {
            let what = "the group is missing; expected one for every row: leave such rows out \
                        with where = { ... = { missing = false } }";
            return Err((*c, what.to_owned()));
        }
        Ok(RowFacts { propensity, units, unit, cluster, group: Entry::ALONE })
    }

    /// The number of a row's recorded group, as they appear.
    pub(super) fn group(&mut self, columns: &Columns<'_>, row: usize) -> u32 {
        if self.history.is_empty() {
            Entry::ALONE
        } else {
            self.groups.id(self.history.iter().map(|&c| columns.codes[c][row]))
        }
    }

    /// The values of every recorded group, in order of numbers, then of texts, column by column; and the
    /// number of each group as rows were counted.
    pub(super) fn recorded_groups(&self, distinct: &[Distinct]) -> (Vec<Vec<String>>, Vec<u32>) {
        let all: Vec<Vec<u32>> =
            (0..self.groups.count() as u32).map(|group| self.groups.codes(group)).collect();
        if self.history.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let ranks: Vec<Vec<u32>> = self.history.iter().map(|&c| ranks(&distinct[c])).collect();
        let rank = |group: &usize| -> Vec<u32> {
            all[*group].iter().zip(&ranks).map(|(&code, ranks)| ranks[code as usize]).collect()
        };
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(rank);
        let mut place = vec![0; all.len()];
        order.iter().enumerate().for_each(|(at, &group)| place[group] = at as u32);
        let text = |(&code, &c): (&u32, &usize)| distinct[c].text(code as usize).cloned();
        let values = |&group: &usize| {
            all[group].iter().zip(&self.history).map(|v| text(v).unwrap_or_default()).collect()
        };
        (order.iter().map(values).collect(), place)
    }

    /// The number of each cluster's code: in order of numbers, then of texts, not of appearance.
    pub(super) fn cluster_numbers(&self, distinct: &[Distinct]) -> Vec<u32> {
        self.cluster.map_or(Vec::new(), |c| ranks(&distinct[c]))
    }
}

/// The place of each of a column's values in order of numbers, then of texts.
fn ranks(distinct: &Distinct) -> Vec<u32> {
    let mut order: Vec<u32> = (0..distinct.len() as u32).collect();
    let key = |code: &u32| (distinct.number(*code as usize), distinct.text(*code as usize));
    order.sort_by(|a, b| {
        let ((x, a), (y, b)) = (key(a), key(b));
        let number = |x: Option<f64>| x.unwrap_or(f64::INFINITY);
        let none_last = x.is_none().cmp(&y.is_none());
        none_last.then(number(x).total_cmp(&number(y))).then(a.cmp(&b))
    });
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, code)| place[*code as usize] = at as u32);
    place
}
