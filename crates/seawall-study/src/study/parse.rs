//! From a TOML text to a checked study.

use super::toml_file::{Source, Table, Value};
use super::{Actions, Condition, Context, Model, SetSpec, Study, Term};
use crate::bound::Set;
use seawall::outcome::{TreeSettings, Unseen};
use seawall::{Direction, Error, Kind, Result};
use std::path::Path;

/// Reads and checks a study file.
pub fn study(path: &Path) -> Result<Study> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Error::input(format!("{}: {e}", path.display())))?;
    let source = Source { path, text: &text };
    let mut file = source.parse()?;
    let folder = path.parent().unwrap_or(Path::new("."));

    let mut data = file.need("data")?.table()?;
    let data_path = folder.join(data.need("path")?.text()?);
    let filters = data.take("where").map(conditions).transpose()?.unwrap_or_default();
    let weight = data.take("weight").map(|w| w.text()).transpose()?;
    data.finish(&["path", "where", "weight"])?;

    let mut table = file.need("context")?.table()?;
    let contexts: Vec<Context> =
        table.rest().into_iter().map(|(name, v)| context(name, v)).collect::<Result<_>>()?;
    if contexts.is_empty() {
        return Err(table.error("[context] names no column"));
    }

    let actions = actions(file.need("action")?.table()?)?;
    let (direction, outcome) = outcome(file.need("outcome")?.table()?)?;
    let (model, unseen) = match file.take("model") {
        Some(table) => model(table.table()?, &actions)?,
        None => (Model::Cells, Unseen::Error),
    };
    let (context_set, cost_set) = match file.take("robust") {
        Some(table) => robust(table.table()?)?,
        None => (nothing(), nothing()),
    };
    file.finish(&["data", "context", "action", "outcome", "model", "robust"])?;
    Ok(Study {
        path: path.to_owned(),
        text: text.clone(),
        data: data_path,
        filters,
        weight,
        contexts,
        actions,
        direction,
        outcome,
        model,
        unseen,
        context_set,
        cost_set,
    })
}

fn nothing() -> SetSpec {
    SetSpec { set: Set::Wasserstein, radii: vec![0.0] }
}

/// `{ COL = condition, ... }`
fn conditions(value: Value<'_>) -> Result<Vec<(String, Condition)>> {
    value.table()?.rest().into_iter().map(|(name, v)| Ok((name, condition(v)?))).collect()
}

fn condition(value: Value<'_>) -> Result<Condition> {
    if !value.is_table() {
        return Ok(Condition::OneOf(value.texts()?));
    }
    let mut table = value.table()?;
    let found = if let Some(not) = table.take("not") {
        Condition::Not(not.texts()?)
    } else if let Some(missing) = table.take("missing") {
        Condition::Missing(missing.truth()?)
    } else {
        let end = |v: Option<Value<'_>>, or: f64| v.map_or(Ok(or), |v| v.number());
        let min = end(table.take("min"), f64::NEG_INFINITY)?;
        let max = end(table.take("max"), f64::INFINITY)?;
        if min.is_infinite() && max.is_infinite() {
            return Err(table.error("expected one of not, missing, min, max"));
        }
        if min > max {
            return Err(table.error(format!("min {min} is above max {max}")));
        }
        Condition::Range { min, max }
    };
    table.finish(&["not", "missing", "min", "max"])?;
    Ok(found)
}

const KINDS: [(&str, Kind); 4] = [
    ("numeric", Kind::Numeric),
    ("ordinal", Kind::Ordinal),
    ("nominal", Kind::Nominal),
    ("fixed", Kind::Fixed),
];

fn context(name: String, value: Value<'_>) -> Result<Context> {
    let mut table = value.table()?;
    let kind = table.need("kind")?.word(&KINDS)?;
    let levels = table.take("levels").map(|v| v.texts()).transpose()?;
    let positions = table.take("positions").map(|v| v.numbers()).transpose()?;
    let bin = table.take("bin");
    if let (Some(bin), true) = (&bin, kind != Kind::Numeric) {
        return Err(bin.error("only a numeric feature can be binned"));
    }
    let bin = match bin {
        Some(bin) => match bin.number()? {
            width if width > 0.0 && width.is_finite() => Some(width),
            width => return Err(bin.error(format!("{width}; expected a number > 0"))),
        },
        None => None,
    };
    if levels.is_some() && kind == Kind::Numeric {
        return Err(table.error("a numeric feature takes no levels; bin it instead"));
    }
    if positions.is_some() && (kind != Kind::Ordinal || levels.is_none()) {
        return Err(table.error("positions belong to an ordinal feature with levels"));
    }
    let weight = table.take("weight").map(|v| v.number()).transpose()?;
    let missing = match table.take("missing") {
        None => None,
        Some(v) if v.is_number() => Some(Some(v.number()?)),
        Some(v) => v.truth()?.then_some(None),
    };
    table.finish(&["kind", "levels", "positions", "bin", "weight", "missing"])?;
    Ok(Context { name, kind, levels, positions, bin, weight, missing })
}

fn actions(mut table: Table<'_>) -> Result<Actions> {
    if let Some(column) = table.take("column") {
        let column = column.text()?;
        let propensity = table.take("propensity").map(|v| v.text()).transpose()?;
        table.finish(&["column", "propensity"])?;
        return Ok(Actions::Column { column, propensity });
    }
    let at = table.at;
    let rules: Vec<_> =
        table.rest().into_iter().map(|(n, v)| Ok((n, conditions(v)?))).collect::<Result<_>>()?;
    if rules.len() < 2 {
        table.at = at;
        return Err(table.error(format!(
            "[action] names {} actions; expected two or more, or \
                                        column = \"...\"",
            rules.len()
        )));
    }
    Ok(Actions::Rules(rules))
}

fn outcome(mut table: Table<'_>) -> Result<(Direction, Vec<(String, Term)>)> {
    let (direction, value) = match (table.take("cost"), table.take("reward")) {
        (Some(cost), None) => (Direction::Cost, cost),
        (None, Some(reward)) => (Direction::Reward, reward),
        (Some(_), Some(reward)) => {
            return Err(reward.error("an outcome is a cost or a reward, not both"));
        }
        (None, None) => return Err(table.error("[outcome] needs cost = ... or reward = ...")),
    };
    table.finish(&["cost", "reward"])?;
    if !value.is_table() {
        return Ok((direction, vec![(value.text()?, Term::Weight(1.0))]));
    }
    let term = |(name, v): (String, Value<'_>)| {
        if v.is_number() {
            return Ok((name, Term::Weight(v.number()?)));
        }
        let level = |(level, v): (String, Value<'_>)| Ok((level, v.number()?));
        let levels = v.table()?.rest().into_iter().map(level).collect::<Result<_>>()?;
        Ok((name, Term::Levels(levels)))
    };
    let terms: Vec<_> = value.table()?.rest().into_iter().map(term).collect::<Result<_>>()?;
    Ok((direction, terms))
}

fn model(mut table: Table<'_>, actions: &Actions) -> Result<(Model, Unseen)> {
    let words = [("cells", false), ("tree", true)];
    let is_tree = table.need("kind")?.word(&words)?;
    let unseen = match table.take("unseen") {
        Some(v) => {
            v.word(&[("error", Unseen::Error), ("mean", Unseen::Mean), ("worst", Unseen::Worst)])?
        }
        None => Unseen::Error,
    };
    if !is_tree {
        table.finish(&["kind", "unseen"])?;
        return Ok((Model::Cells, unseen));
    }
    let mut settings = TreeSettings::default();
    if let Some(v) = table.take("max_depth") {
        match v.number()? {
            depth if depth >= 0.0 && depth.fract() == 0.0 && depth < 64.0 => {
                settings.max_depth = depth as usize;
            }
            depth => return Err(v.error(format!("{depth}; expected a whole number from 0 to 63"))),
        }
    }
    for (key, field) in [
        ("min_samples_split", &mut settings.min_samples_split),
        ("ccp_alpha", &mut settings.ccp_alpha),
    ] {
        if let Some(v) = table.take(key) {
            *field = v.number()?;
        }
    }
    let mut min_samples_leaf = Vec::new();
    match table.take("min_samples_leaf") {
        Some(v) if v.is_table() => {
            for (name, v) in v.table()?.rest() {
                if let Actions::Rules(rules) = actions
                    && !rules.iter().any(|(n, _)| *n == name)
                {
                    let known: Vec<&str> = rules.iter().map(|(n, _)| n.as_str()).collect();
                    return Err(v.error(format!("no such action; there are {}", known.join(", "))));
                }
                min_samples_leaf.push((name, v.number()?));
            }
        }
        Some(v) => settings.min_samples_leaf = v.number()?,
        None => {}
    }
    table.finish(&[
        "kind",
        "unseen",
        "max_depth",
        "min_samples_leaf",
        "min_samples_split",
        "ccp_alpha",
    ])?;
    Ok((Model::Tree { settings, min_samples_leaf }, unseen))
}

fn robust(mut table: Table<'_>) -> Result<(SetSpec, SetSpec)> {
    let set = |v: Option<Value<'_>>| v.map_or(Ok(nothing()), set);
    let sets = (set(table.take("context"))?, set(table.take("cost"))?);
    table.finish(&["context", "cost"])?;
    Ok(sets)
}

fn set(value: Value<'_>) -> Result<SetSpec> {
    let mut table = value.table()?;
    let words = [("wasserstein", 0), ("entropic", 1), ("kl", 2)];
    let named = table.take("set").map_or(Ok(0), |v| v.word(&words))?;
    let eta = table.take("eta");
    let set = match (named, eta) {
        (0, None) => Set::Wasserstein,
        (1, Some(eta)) => match eta.number()? {
            x if x > 0.0 && x.is_finite() => Set::Entropic { eta: x },
            x => return Err(eta.error(format!("{x}; expected a finite number > 0"))),
        },
        (1, None) => return Err(table.error("an entropic set needs eta = ...")),
        (_, None) => Set::Kl,
        (_, Some(eta)) => return Err(eta.error("only an entropic set has an eta")),
    };
    let radius = table.need("radius")?;
    let radii = radius.numbers()?;
    if let Some(r) = radii.iter().find(|r| !(**r >= 0.0 && r.is_finite())) {
        return Err(radius.error(format!("{r}; expected a finite number ≥ 0")));
    }
    table.finish(&["set", "eta", "radius"])?;
    Ok(SetSpec { set, radii })
}
