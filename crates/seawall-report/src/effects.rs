//! An additive model's curves, as numbers for the page's SVG template: a chart a feature, a line of
//! steps an action, all on one scale.

use crate::axis::ticks;
use crate::chart::{Tick, outline};
use crate::csv;
use seawall_study::explain::{EffectFacts, ExplainedModel, Explanation};
use seawall_study::words::short;
use serde::Serialize;

/// Actions with a line of their own.
const ACTIONS: usize = 8;
/// Charts of features, and rows of a pair's table.
const FEATURES: usize = 24;
/// Labels below a chart, at most.
const LABELS: usize = 6;

/// The curves of an additive model.
#[derive(Debug, Serialize)]
pub(super) struct Effects {
    /// The actions that have a line, and how many have none.
    actions: Vec<String>,
    left_out: usize,
    charts: Vec<EffectChart>,
    /// Pairs of features that have a term of their own, in words.
    pairs: Vec<String>,
}

/// One feature's chart, in units of its view box.
#[derive(Debug, Serialize)]
struct EffectChart {
    feature: String,
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    zero: f64,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    /// A path for each action.
    lines: Vec<String>,
    /// The numbers beneath the chart, to save.
    csv: String,
}

/// The curves; None if the model is not additive.
pub(super) fn effects(found: &Explanation) -> Option<Effects> {
    let of = |model: &ExplainedModel| match model {
        ExplainedModel::Additive { effects, .. } => Some(effects.clone()),
        _ => None,
    };
    let all: Vec<Vec<EffectFacts>> =
        found.actions.iter().take(ACTIONS).map(|a| of(&a.model)).collect::<Option<_>>()?;
    let first = all.first()?;
    let single = |e: &&EffectFacts| e.features.len() == 1;
    let (mut low, mut high) = (0.0_f64, 0.0_f64);
    for step in all.iter().flatten().filter(single).flat_map(|e| &e.steps) {
        (low, high) = (low.min(step.effect), high.max(step.effect));
    }
    let room = if high > low { 0.06 * (high - low) } else { 1.0 };
    let range = (low - room, high + room);
    let charts = first.iter().enumerate().filter(|(_, e)| e.features.len() == 1);
    let charts = charts.take(FEATURES).map(|(k, effect)| {
        let lines: Vec<&EffectFacts> = all.iter().filter_map(|of| of.get(k)).collect();
        let names = found.actions.iter().map(|a| a.name.as_str());
        chart(effect, &lines, range, saved(names, &lines))
    });
    let mut pairs: Vec<String> = Vec::new();
    for (effects, action) in all.iter().zip(&found.actions) {
        for pair in effects.iter().filter(|e| e.features.len() == 2) {
            pairs.push(format!("{} ({})", pair.features.join(" × "), action.name));
        }
    }
    Some(Effects {
        actions: found.actions.iter().take(ACTIONS).map(|a| a.name.clone()).collect(),
        left_out: found.actions.len().saturating_sub(ACTIONS),
        charts: charts.collect(),
        pairs,
    })
}

fn chart(
    effect: &EffectFacts,
    lines: &[&EffectFacts],
    (low, high): (f64, f64),
    csv: String,
) -> EffectChart {
    let (width, height) = (352.0, 220.0);
    let (left, right, top, bottom) = (56.0, width - 14.0, 14.0, height - 30.0);
    let count = effect.steps.len().max(1);
    let x = |step: f64| left + (right - left) * step / count as f64;
    let y = |value: f64| bottom - (bottom - top) * (value - low) / (high - low);
    let apart = count.div_ceil(LABELS);
    let label = |k: usize| Tick { at: x(k as f64 + 0.5), text: effect.steps[k].levels.concat() };
    EffectChart {
        feature: effect.features.concat(),
        width,
        height,
        left,
        right,
        top,
        bottom,
        zero: y(0.0),
        x_ticks: (0..effect.steps.len()).step_by(apart).map(label).collect(),
        y_ticks: ticks(low, high, 4.0).map(|v| Tick { at: y(v), text: short(v) }).collect(),
        lines: lines.iter().map(|line| path(line, x, y)).collect(),
        csv,
    }
}

/// What a feature adds, action by action and step by step, to save.
fn saved<'a>(actions: impl Iterator<Item = &'a str>, lines: &[&EffectFacts]) -> String {
    let rows = actions.zip(lines).flat_map(|(action, line)| {
        let feature = line.features.concat();
        line.steps.iter().map(move |step| {
            let levels = step.levels.concat();
            vec![feature.clone(), levels, action.to_owned(), csv::exact(step.effect)]
        })
    });
    csv::table(&["column", "level", "action", "adds"], rows)
}

/// Steps as a path: along each, then up or down to the next; levels without an order stand apart.
fn path(effect: &EffectFacts, x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let step = |k: usize| {
        let at = y(effect.steps[k].effect);
        [(x(k as f64), at), (x(k as f64 + 1.0), at)]
    };
    let missing = |k: usize| effect.steps[k].levels == ["(missing)"];
    let (joined, apart): (Vec<usize>, Vec<usize>) =
        (0..effect.steps.len()).partition(|k| effect.in_order && !missing(*k));
    let curve: Vec<(f64, f64)> = joined.into_iter().flat_map(step).collect();
    let mut path = if curve.is_empty() { String::new() } else { outline(&curve) };
    apart.into_iter().for_each(|k| path.push_str(&outline(&step(k))));
    path
}
