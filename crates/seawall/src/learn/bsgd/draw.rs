//! Places drawn uniformly from a support, listed or not.

use super::model::{ClassModel, Seen};
use super::{Class, Walk};
use crate::error::{Error, Field, Result};
use crate::kernel::random::Random;
use crate::learn::Task;
use crate::outcome::Predictor;
use crate::policy::encode;

/// A place drawn from the support.
pub(super) struct DrawnPlace {
    pub(super) seen: Seen,
    /// Each action's cost there.
    pub(super) costs: Vec<f64>,
    /// The point of the support, where a difference has a kink there.
    pub(super) kinked: Option<usize>,
    /// What the move from the source costs.
    pub(super) away: f64,
}

/// Where places are drawn from.
pub(super) enum Draw<'d> {
    /// The task's support.
    Points,
    /// Every combination of levels, far too many to list.
    Product {
        predictor: &'d Predictor,
        /// Levels of each feature.
        levels: Vec<usize>,
        /// For groups: each partition's feature, its parts by level, and their number.
        parts: Vec<(usize, Vec<usize>, usize)>,
        /// For softmax: each column's feature and its number by level.
        columns: Vec<(usize, Vec<f64>)>,
    },
}

impl<'d> Draw<'d> {
    pub(super) fn new(
        task: &Task<'_>,
        class: &Class,
        product: Option<&'d Predictor>,
    ) -> Result<Self> {
        let Some(predictor) = product else { return Ok(Draw::Points) };
        predictor.check_against(task.log)?;
        if task.baseline.is_some() {
            return Err(Error::field(
                Field::Against,
                "is known on listed points only, and these combinations are too many to list",
            )
            .advise(Field::Support, &["observed"]));
        }
        let space = task.log.contexts();
        let levels: Vec<usize> = (0..space.names().len()).map(|k| space.levels(k).len()).collect();
        if let Some(k) = levels.iter().position(|&n| n == 0) {
            let name = space.names().nth(k).unwrap_or_default();
            return Err(Error::config(format!("feature {name:?} has no levels to draw from")));
        }
        let (mut parts, mut columns) = (Vec::new(), Vec::new());
        match class {
            Class::Fixed(_) => {
                return Err(Error::config("a fixed policy is known on listed points only"));
            }
            Class::Groups(by) => {
                for partition in by {
                    let k = space.feature(&partition.feature)?;
                    let part = |value| {
                        partition.part(value).ok_or_else(|| {
                            Error::config(format!(
                                "a level of {:?} is in no part",
                                partition.feature
                            ))
                        })
                    };
                    let of: Vec<usize> = space.level_values(k).map(part).collect::<Result<_>>()?;
                    parts.push((k, of, partition.len()));
                }
            }
            Class::Softmax(_) => {
                for column in encode(space) {
                    let k = space.feature(&column.feature)?;
                    columns
                        .push((k, space.level_values(k).map(|v| column.encode_value(v)).collect()));
                }
            }
        }
        Ok(Draw::Product { predictor, levels, parts, columns })
    }

    pub(super) fn draw(
        &self,
        walk: &Walk<'_, '_>,
        source: usize,
        random: &mut Random,
    ) -> DrawnPlace {
        let task = walk.task;
        let space = task.population().space();
        match self {
            Draw::Points => {
                let point = random.below(space.len());
                let costs = task.costs.iter().map(|c| c[point]).collect();
                let kinked = task.kink().map(|_| point);
                let away = space.cost(source, point);
                DrawnPlace { seen: walk.model.seen(point), costs, kinked, away }
            }
            Draw::Product { predictor, levels, parts, columns } => {
                let codes: Vec<f64> = levels.iter().map(|&n| random.below(n) as f64).collect();
                let sign = task.sign();
                let costs = (0..task.costs.len()).map(|a| sign * predictor.at(&codes, a)).collect();
                let level = |k: usize| codes[k] as usize;
                let seen = if let ClassModel::Groups { .. } = walk.model {
                    let mut group = 0;
                    for (k, part, count) in parts {
                        group = group * count + part[level(*k)];
                    }
                    Seen::Group(group)
                } else {
                    let encoded = columns.iter().map(|(k, by_level)| by_level[level(*k)]);
                    Seen::Features(std::iter::once(1.0).chain(encoded).collect())
                };
                DrawnPlace { seen, costs, kinked: None, away: space.cost_to(source, &codes) }
            }
        }
    }
}
