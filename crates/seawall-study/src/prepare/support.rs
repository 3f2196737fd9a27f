//! A study on a support, and on larger and smaller spaces than it was counted on.

use super::model::{ModelChoice, predictions};
use super::{PlacedTarget, PreparedStudy, TargetFacts};
use crate::study::ModelSpec;
use seawall::evaluate::Support;
use seawall::outcome::Recipe;
use seawall::{Extension, Result, Space};
use seawall_table::count::Counted;
use std::sync::Arc;

impl PreparedStudy {
    /// The contexts of a support: all, or those with rows of the log or the target.
    pub fn contexts_on(&self, support: Support) -> Result<Vec<usize>> {
        let own = self.log().population()?;
        let there = self.target.as_ref().map(|t| t.sample.population().weights());
        let seen = |i: usize| own.weights()[i] > 0.0 || there.is_some_and(|t| t[i] > 0.0);
        let on = |i: &usize| support == Support::All || seen(*i);
        Ok((0..own.weights().len()).filter(on).collect())
    }

    /// The contexts that a larger space must keep: those with rows, and all that predictions are for.
    pub(crate) fn needed_contexts(&self) -> Result<Vec<usize>> {
        let population = self.log().population()?;
        let all = matches!(self.model.recipe, Recipe::Predictions(_));
        let needed = |&i: &usize| all || population.weights()[i] > 0.0;
        Ok((0..population.weights().len()).filter(needed).collect())
    }

    /// The same study on a larger space, the contexts `kept` being where it says.
    pub(crate) fn on_extension(&self, larger: &Extension, kept: &[usize]) -> Result<Self> {
        let mut place = vec![u32::MAX; self.log().contexts().len()];
        kept.iter().zip(&larger.kept).for_each(|(&old, new)| place[old] = *new);
        let log = self.log().on_contexts(&larger.space, |old| place[old as usize])?;
        let recipe = match (&self.model.recipe, &self.study.model) {
            (Recipe::Predictions(_), ModelSpec::Table(path)) if !self.model.supplied => {
                Recipe::Predictions(predictions(path, &self.study, &log)?)
            }
            (Recipe::Predictions(own), _) => {
                let mut old = vec![None; larger.space.len()];
                kept.iter().zip(&larger.kept).for_each(|(&was, &is)| old[is as usize] = Some(was));
                Recipe::Predictions(own.on(&old)?)
            }
            (recipe, _) => recipe.clone(),
        };
        let counted = Counted { log: log.shared(), ..self.counted.clone() };
        let model = self.model.with_recipe(recipe);
        Ok(PreparedStudy { counted, model, ..self.unfitted() })
    }

    /// The same study with another support, if one is named.
    #[must_use]
    pub fn with_support(mut self, support: Option<Support>) -> Self {
        self.study.data.support = support.unwrap_or(self.study.data.support);
        self
    }

    /// The study on the support that a question is asked on: the one place where supports are told apart.
    ///
    /// | support | contexts |
    /// |---|---|
    /// | [`All`](Support::All), [`Observed`](Support::Observed) | those counted |
    /// | [`Space`](Support::Space) | those with rows, or that the target has; a numeric column that is not cut into bins takes any number |
    pub(crate) fn on_support(&self, support: Support) -> Result<Self> {
        if support != Support::Space
            || self.study.data.support == Support::Space && self.is_anywhere()
        {
            return Ok(self.clone());
        }
        if let Some(made) = self.on_space.get() {
            return Ok(PreparedStudy::clone(made));
        }
        let made = Box::new(self.anywhere()?);
        Ok(PreparedStudy::clone(self.on_space.get_or_init(|| made)))
    }

    fn anywhere(&self) -> Result<Self> {
        let places = self.contexts_on(Support::Observed)?;
        let contexts = &self.study.data.contexts;
        let space = Arc::new(self.log().contexts().with_any_number(&places, |k| {
            contexts.get(k).is_some_and(|c| c.bin.is_none() && c.levels.is_none())
        })?);
        let at = self.at_places(&space, &places)?;
        let mut study = self.study.clone();
        study.data.support = Support::Space;
        let (candidates, supplied) = (self.model.candidates.clone(), self.model.supplied);
        let model = ModelChoice { candidates, supplied, ..at.model.clone() };
        Ok(PreparedStudy { study, model, ..at })
    }

    /// Whether contexts are those with rows, and numbers that are not cut into bins any numbers.
    fn is_anywhere(&self) -> bool {
        let space = self.log().contexts();
        let listed = matches!(space.layout(), seawall::Layout::Points(_));
        let any = |(k, c): (usize, &crate::study::Context)| {
            let free = c.kind == seawall::Kind::Numeric && c.bin.is_none() && c.levels.is_none();
            !free || space.levels(k).is_empty()
        };
        listed && self.study.data.contexts.iter().enumerate().all(any)
    }

    /// The same study with the rows of some places alone, those of a smaller space.
    pub(crate) fn at_places(&self, space: &Arc<Space>, places: &[usize]) -> Result<Self> {
        let log = self.log().at_places(space, places)?;
        let old: Vec<Option<usize>> = places.iter().map(|x| Some(*x)).collect();
        let recipe = match &self.model.recipe {
            Recipe::Predictions(own) => Recipe::Predictions(own.on(&old)?),
            recipe => recipe.clone(),
        };
        let target = match &self.target {
            None => None,
            Some(target) => {
                let sample = Arc::new(target.sample.at_places(space, places)?);
                let facts = TargetFacts { rows: sample.rows(), ..target.facts.clone() };
                let (file, moments) = (target.file.clone(), target.moments.clone());
                Some(Arc::new(PlacedTarget { sample, facts, file, moments }))
            }
        };
        let counted = Counted { log: log.shared(), ..self.counted.clone() };
        let (candidates, supplied) = (Vec::new(), true);
        let model = ModelChoice { candidates, supplied, ..self.model.with_recipe(recipe) };
        Ok(PreparedStudy { counted, model, target, ..self.unfitted() })
    }
}
