//! What could reverse a verdict unseen: a subgroup by two columns whose difference the model does not have.
//!
//! A verdict that assumes the class of the effect's model is wrong if a corner of two columns is otherwise. For every corner
//! the mean of what the model leaves there, with its standard error, bounds the effect d that the data do not exclude.
//! Adding that effect to the corner's contexts raises the worst difference; if the limit in the model's class is passed
//! by as much as it is away from 0, the corner would reverse the verdict. Of all such corners the largest is told, with
//! the least d that does it.

use super::basis::EvaluationBasis;
use super::effects::{PairEffect, PairValues};
use crate::words::{percent, short};
use seawall::evaluate::Solved;
use seawall::inference::Limits;
use seawall::outcome::{ColumnCorner, Values};
use seawall::{Detail, Kind, Matrix, Result, Settings, Space, Watch};
use serde::Serialize;

/// Corners that are looked at by solving, largest first, at most.
const CORNERS: usize = 48;
/// Solves that find the least effect.
const STEPS: usize = 8;
/// Standard errors within which an effect is not excluded.
const BAND: f64 = 1.96;

/// A subgroup by two columns that the model does not have and that would reverse a verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReversingSubgroup {
    /// Who is in it, in words.
    pub who: String,
    /// Their share of the rows.
    pub share: f64,
    /// By how much their difference would have to be further to the bad side than the model has it.
    pub effect: f64,
    /// By how much it may be: the end of its 95% confidence interval.
    pub not_excluded: f64,
}

/// The search for one pair at one radius.
pub(super) struct ReversalTask<'a> {
    pub(super) basis: &'a EvaluationBasis<'a>,
    /// The modelled difference, and how often it counts.
    pub(super) effect: &'a PairEffect,
    pub(super) factor: f64,
    pub(super) values: &'a PairValues,
    pub(super) cost: usize,
    pub(super) radius: f64,
    /// The limits of the worst difference.
    pub(super) limits: Limits,
}

impl ReversalTask<'_> {
    /// The largest corner that would reverse the verdict and is not excluded; None if there is none.
    pub(super) fn largest(&self, watch: Watch<'_>) -> Result<Option<ReversingSubgroup>> {
        let sign = self.basis.robust.direction().sign();
        let room = -sign * self.limits.in_class;
        let steps = self.basis.fitted.residual_steps();
        let corners = steps.corners(&self.effect.log, &self.effect.values, 0)?;
        // Everybody might move there, and no more.
        let possible = |corner: &&ColumnCorner| self.not_excluded(corner, sign) > room;
        let Some(plain) = self.worst(&|_| 0.0, watch)? else { return Ok(None) };
        for corner in corners.iter().filter(possible).take(CORNERS) {
            let inside = steps.contexts_of(corner);
            let rise = |effect: f64| -> Result<f64> {
                let added = |x: usize| if inside(x) { sign * effect } else { 0.0 };
                let worst = self.worst(&added, watch)?.unwrap_or(plain);
                Ok(sign * (worst - plain))
            };
            let most = self.not_excluded(corner, sign);
            if rise(most)? <= room {
                continue;
            }
            let (mut low, mut high) = (0.0, most);
            for _ in 0..STEPS {
                let middle = 0.5 * (low + high);
                if rise(middle)? > room { high = middle } else { low = middle }
            }
            let who = in_words(self.basis.fitted.log().contexts(), corner, &inside);
            return Ok(Some(ReversingSubgroup {
                who,
                share: corner.share,
                effect: sign * high,
                not_excluded: sign * most,
            }));
        }
        Ok(None)
    }

    /// The end of the interval of what the model leaves in a corner, larger being worse.
    fn not_excluded(&self, corner: &ColumnCorner, sign: f64) -> f64 {
        sign * self.factor * corner.mean + BAND * self.factor.abs() * corner.se
    }

    /// The worst difference with something added to contexts.
    fn worst(&self, added: &dyn Fn(usize) -> f64, watch: Watch<'_>) -> Result<Option<f64>> {
        let PairValues::Effect { values, .. } = self.values else { return Ok(None) };
        let own: &Values = &values[self.cost];
        let more = Matrix::from_fn(own.contexts(), 1, |x, _| added(x));
        let settings = Settings { watch, ..Settings::default() }.detail(Detail::Value);
        let set = self.basis.question.context.set;
        let found: Solved = self.basis.robust.evaluate(
            &self.effect.action,
            &own.plus(&more, 0.0),
            set,
            &[self.radius],
            None,
            settings,
        )?;
        Ok(found.0.first().map(seawall::WorstCase::value))
    }
}

/// Who is in a corner: what its contexts have of both columns.
fn in_words(space: &Space, corner: &ColumnCorner, inside: &dyn Fn(usize) -> bool) -> String {
    let own = |k: usize| {
        let name = space.names().nth(k).unwrap_or_default().to_owned();
        let all: Vec<usize> = (0..space.len()).filter(|&x| inside(x)).collect();
        let by = |a: &&usize, b: &&usize| space.code(**a, k).total_cmp(&space.code(**b, k));
        let ends = all.iter().min_by(by).zip(all.iter().max_by(by));
        let Some((low, high)) = ends.map(|(a, b)| (space.label(*a, k), space.label(*b, k))) else {
            return name;
        };
        let ordered = matches!(space.kind(k), Kind::Numeric | Kind::Ordinal);
        match (low == high, ordered) {
            (true, true) => format!("{name} {low}"),
            (true, false) => format!("{name} = {low}"),
            (false, _) => format!("{name} {low} to {high}"),
        }
    };
    let [first, second] = corner.columns;
    format!("{} and {}", own(first), own(second))
}

impl ReversingSubgroup {
    /// In a sentence.
    pub fn sentence(&self) -> String {
        format!(
            "Not excluded: {} ({} of the rows) would reverse it if their difference is off by {} or more (95% limit {}).",
            self.who,
            percent(self.share),
            short(self.effect),
            short(self.not_excluded)
        )
    }
}
