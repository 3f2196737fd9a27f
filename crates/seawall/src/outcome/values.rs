//! What each action would cost in each context.

use super::everywhere::Everywhere;
use crate::ambiguity::Shift;
use crate::error::{Error, Field, Result};
use crate::log::Log;
use crate::matrix::Matrix;
use crate::space::Space;
use std::sync::Arc;

/// `m(x, a)` for every context and action.
#[derive(Clone, Debug)]
pub struct Values {
    pub(super) space: Arc<Space>,
    pub(super) matrix: Matrix,
    pub(super) slack: f64,
    pub(super) smoothing: f64,
    /// The same as sums of steps, where they are.
    pub(super) everywhere: Option<Arc<Everywhere>>,
}

impl Values {
    /// Given values of every context of a space and every action.
    pub fn new(space: &Arc<Space>, matrix: Matrix) -> Result<Self> {
        if matrix.contexts() != space.len() {
            let (found, contexts) = (matrix.contexts(), space.len());
            return Err(Error::input(format!("{found} rows of values for {contexts} contexts")));
        }
        if let Some(v) = matrix.cells().iter().find(|v| !v.is_finite()) {
            return Err(Error::input(format!("a value is {v}; expected a finite number")));
        }
        let (slack, smoothing, everywhere) = (0.0, 0.0, None);
        Ok(Values { space: space.clone(), matrix, slack, smoothing, everywhere })
    }

    /// The contexts that they are of.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// The values themselves.
    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// The value of an action in a context.
    #[inline(always)]
    pub fn at(&self, context: usize, action: usize) -> f64 {
        self.matrix.at(context, action)
    }

    /// The number of contexts.
    pub fn contexts(&self) -> usize {
        self.matrix.contexts()
    }

    /// The number of actions.
    pub fn actions(&self) -> usize {
        self.matrix.actions()
    }

    /// The values are on the safe side of the true worst (or best) means by at most this.
    pub fn slack(&self) -> f64 {
        self.slack
    }

    /// Other values of the same kind, on another space.
    pub(crate) fn with_matrix(&self, space: &Arc<Space>, matrix: Matrix) -> Result<Self> {
        let (slack, smoothing) = (self.slack, self.smoothing);
        Ok(Values { slack, smoothing, ..Values::new(space, matrix)? })
    }

    /// So many times the same values.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        let value = |x: usize, a: usize| factor * self.at(x, a);
        let matrix = Matrix::from_fn(self.contexts(), self.actions(), value);
        let everywhere = self.everywhere.clone().map(|own| {
            Everywhere::new(move || own.terms().iter().map(|terms| terms.times(factor)).collect())
        });
        let size = factor.abs();
        let (slack, smoothing) = (size * self.slack, size * self.smoothing);
        Values { matrix, everywhere, slack, smoothing, space: self.space.clone() }
    }

    /// The same values with something added, context by context and action by action, that is on the safe side by at
    /// most `slack`; nothing is known of them elsewhere.
    #[must_use]
    pub fn plus(&self, added: &Matrix, slack: f64) -> Self {
        let matrix =
            Matrix::from_fn(self.contexts(), self.actions(), |x, a| self.at(x, a) + added.at(x, a));
        Values { matrix, everywhere: None, slack: self.slack + slack, ..self.clone() }
    }

    /// What each action costs anywhere in the space, listed or not; None where nobody knows.
    pub(crate) fn everywhere(&self) -> Option<&Arc<Everywhere>> {
        self.everywhere.as_ref()
    }

    /// Whether they say what each action costs anywhere in the space, listed or not, as
    /// [`Support::Space`](crate::evaluate::Support::Space) asks for: those of trees, of boosted and
    /// additive models, and of forests where outcomes do not shift.
    pub fn are_everywhere(&self) -> bool {
        self.everywhere.is_some()
    }

    /// Values over a smoothed set are on the unsafe side of the exact worst cases by at most
    /// this, `log |Ξ| / η`; 0 for any other set.
    pub fn smoothing(&self) -> f64 {
        self.smoothing
    }
}

/// How many contexts each action has no value in.
pub(super) fn unseen_in(values: &Matrix) -> Vec<usize> {
    let count = |action: usize| values.rows().filter(|row| row[action].is_nan()).count();
    (0..values.actions()).map(count).collect()
}

/// Values without outcomes, filled where there is none; a cost radius has nothing to act on.
pub(super) fn filled(
    what: &str,
    values: &Matrix,
    log: &Log,
    costs: Shift,
    fill: &[f64],
) -> Result<Values> {
    if costs.radius > 0.0 {
        return Err(Error::field(
            Field::CostRadius,
            format!(
                "is {}: {what} have no outcomes for it to act on; use 0, or a model of cells, a \
                 tree or a forest",
                costs.radius
            ),
        ));
    }
    let value = |context, action: usize| match values.at(context, action) {
        v if v.is_nan() => fill[action],
        v => v,
    };
    Values::new(log.contexts(), Matrix::from_fn(values.contexts(), values.actions(), value))
}
