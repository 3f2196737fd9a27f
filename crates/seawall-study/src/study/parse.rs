//! From a TOML text to a checked study.

use super::toml_file::{Source, Table, Value};
use super::{
    Actions, Condition, Context, DataSpec, Declared, MissingOutcome, OutcomeSpec, ReportSpec,
    RowSpec, Scale, Study, Term, history, model, policies, robust, target,
};
use seawall::{Direction, Error, Kind, Result};
use seawall_table::memory;
use seawall_table::read::{DeclaredLevels, Moment};
use std::path::Path;

/// Reads and checks a study file.
pub fn study(path: &Path) -> Result<Study> {
    let bytes =
        std::fs::read(path).map_err(|e| Error::input(format!("{}: {e}", path.display())))?;
    let named = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"));
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Error::input(format!("{}: byte {} is not UTF-8", path.display(), at + 1))
    });
    let text = text.and_then(|text| {
        Source { path, text: &text }.parse()?;
        Ok(text)
    });
    // Under another name a table of data is meant more often than a study with a slip.
    match text {
        Ok(text) => study_of(path, path.parent().unwrap_or(Path::new(".")), &text),
        Err(error) if named => Err(error),
        Err(error) => Err(Error::input(format!(
            "{error}: this is no study file; `seawall init {}` writes one for a table",
            path.display()
        ))),
    }
}

/// A column of counts, which may be fractions where that is said.
fn counts(value: Value<'_>) -> Result<(Option<String>, bool)> {
    if !value.is_table() {
        return Ok((Some(value.text()?), false));
    }
    let mut table = value.table()?;
    let column = table.need("column")?.text()?;
    let fractional = table.take("fractional").map_or(Ok(false), |v| v.truth())?;
    table.finish(&["column", "fractional"])?;
    Ok((Some(column), fractional))
}

/// Checks the text of a study file. Messages call it `path`; other files are looked for in `folder`.
pub fn study_of(path: &Path, folder: &Path, text: &str) -> Result<Study> {
    let source = Source { path, text };
    let mut file = source.parse()?;

    let mut data = file.need("data")?.table()?;
    let data_path = folder.join(data.need("path")?.text()?);
    let counted = data.take("counted").map_or(Ok(false), |v| v.truth())?;
    let filters = data.take("where").map(conditions).transpose()?.unwrap_or_default();
    let (weight, fractional_weight) = data.take("weight").map_or(Ok((None, false)), counts)?;
    let survey_weight = data.take("survey_weight");
    if let (Some(v), Some(_)) = (&survey_weight, &weight) {
        return Err(v.error("weights are either counts (weight) or a survey's, not both"));
    }
    let survey_weight = survey_weight.map(|w| w.text()).transpose()?;
    let cluster = data.take("cluster");
    let cluster_name = cluster.as_ref().map(|v| v.text()).transpose()?;
    data.finish(&["path", "counted", "where", "weight", "survey_weight", "cluster"])?;

    let mut table = file.need("context")?.table()?;
    let (mut contexts, mut scale, mut lines) = (Vec::new(), Scale::default(), Vec::new());
    for (name, value) in table.rest() {
        match is_scale(&name, &value) {
            true => scale = value.word(&[("range", Scale::Range), ("spread", Scale::Spread)])?,
            false => {
                lines.push(value.at);
                contexts.push(context(name, value)?);
            }
        }
    }
    if contexts.is_empty() {
        return Err(table.error("[context] names no column"));
    }
    if let (Some(v), Some(name)) = (&cluster, &cluster_name)
        && contexts.iter().any(|c: &Context| c.name == *name)
    {
        return Err(v.error(format!(
            "{name:?} is a context column, too: another population has other clusters, so one cannot \
             be what a policy or a model goes by; leave it out of [context]"
        )));
    }

    let actions = actions(file.need("action")?.table()?)?;
    let outcome = outcome(file.need("outcome")?.table()?)?;
    for (context, &at) in contexts.iter().zip(&lines) {
        if let Some(why) = other_role(&context.name, &actions, &outcome.terms) {
            let what = format!("the column {:?} is under [context], but {why}", context.name);
            return Err(source.error(at, format!("{what}; leave it out of [context]")));
        }
    }
    let (model, predictions, unseen, deals) = model::parse(file.take("model"), &actions, folder)?;
    let (propensity, clip) = policies::propensity(file.take("propensity"), &actions)?;
    let policies = policies::policies(file.take("policy"), folder)?;
    let (context_set, cost_set, support) = robust::parse(file.take("robust"), &contexts)?;
    let target = target::parse(file.take("target"), folder, &contexts)?;
    let history = history::parse(file.take("history"), folder, &contexts)?;
    let report = report(file.take("report"))?;
    file.finish(&[
        "data",
        "context",
        "action",
        "outcome",
        "model",
        "propensity",
        "policy",
        "robust",
        "target",
        "history",
        "report",
    ])?;
    let rows = RowSpec {
        filters,
        weight,
        fractional_weight,
        survey_weight,
        cluster: cluster_name,
        groups: Vec::new(),
    };
    Ok(Study {
        data: DataSpec {
            declared: Declared { path: path.to_owned(), text: text.to_owned() },
            path: data_path,
            counted,
            rows,
            contexts,
            scale,
            support,
            actions,
            outcome,
            predictions,
            memory: memory::allowed(),
        },
        deals,
        model,
        unseen,
        propensity,
        clip,
        policies,
        context_set,
        cost_set,
        target,
        history,
        report,
    })
}

/// Why a column cannot be a context, if it is the action, decides it, or is in the outcome.
fn other_role(name: &str, actions: &Actions, outcome: &[(String, Term)]) -> Option<&'static str> {
    let decides = |rules: &[(String, Vec<(String, Condition)>)]| {
        let of_rule = |(_, conditions): &(String, Vec<(String, Condition)>)| -> Vec<Condition> {
            let own = conditions.iter().filter(|(column, _)| column == name);
            own.map(|(_, condition)| condition.clone()).collect()
        };
        // What is asked alike of all actions says which rows there are, not which action was taken.
        let all: Vec<Vec<Condition>> = rules.iter().map(of_rule).collect();
        all.windows(2).any(|pair| pair[0] != pair[1])
    };
    let of_action = match actions {
        Actions::Column { column, .. } => column == name,
        Actions::Rules(rules) => decides(rules),
    };
    match of_action {
        true => Some("it says which action was taken, which a policy cannot go by"),
        false => outcome
            .iter()
            .any(|(column, _)| column == name)
            .then_some("it is part of the outcome, which is not known when an action is taken"),
    }
}

/// Whether an entry of `[context]` says how columns are scaled: a column of that name would be a
/// table or a kind.
fn is_scale(name: &str, value: &Value<'_>) -> bool {
    let kind = |text: String| KINDS.iter().any(|kind| kind.0 == text);
    name == "scale" && value.is_text() && !value.text().is_ok_and(kind)
}

/// `[report]`
fn report(value: Option<Value<'_>>) -> Result<ReportSpec> {
    let Some(value) = value else { return Ok(ReportSpec::default()) };
    let mut table = value.table()?;
    let title = table.take("title").map(|v| v.text()).transpose()?;
    let outcome = table.take("outcome").map(|v| v.text()).transpose()?;
    table.finish(&["title", "outcome"])?;
    Ok(ReportSpec { title, outcome })
}

/// `{ COL = condition, ... }`
pub(super) fn conditions(value: Value<'_>) -> Result<Vec<(String, Condition)>> {
    let mut all = Vec::new();
    for (name, value) in value.table()?.rest() {
        all.extend(of_column(value)?.into_iter().map(|condition| (name.clone(), condition)));
    }
    Ok(all)
}

/// The conditions on one column; every one must hold.
fn of_column(value: Value<'_>) -> Result<Vec<Condition>> {
    if !value.is_table() {
        return Ok(vec![Condition::OneOf(value.texts()?)]);
    }
    let mut table = value.table()?;
    let mut found = Vec::new();
    if let Some(not) = table.take("not") {
        found.push(Condition::Not(not.texts()?));
    }
    if let Some(missing) = table.take("missing") {
        found.push(Condition::Missing(missing.truth()?));
    }
    found.extend(within(&mut table)?);
    let empty = found.is_empty().then(|| table.error("expected not, missing, min or max"));
    table.finish(&["not", "missing", "min", "max"])?;
    empty.map_or(Ok(found), Err)
}

/// `min = ..., max = ...` of a condition: numbers, or dates and times.
fn within(table: &mut Table<'_>) -> Result<Option<Condition>> {
    let (min, max) = (table.take("min"), table.take("max"));
    let given: Vec<&Value<'_>> = min.iter().chain(&max).collect();
    if given.is_empty() {
        return Ok(None);
    }
    if given.iter().all(|v| v.is_number()) {
        let (min, max) = ends(table, min, max)?;
        return Ok((min.is_finite() || max.is_finite()).then_some(Condition::Range { min, max }));
    }
    let moment = |v: &Value<'_>| {
        let expected = "expected a number, or a date or time like \"2019-11-27\" or \
                        \"2019-11-27T10:00:00\" (both ends alike)";
        Moment::parse(&v.time_text().unwrap_or_default()).ok_or_else(|| v.error(expected))
    };
    let (min, max) = (min.as_ref().map(moment), max.as_ref().map(moment));
    let (min, max) = (min.transpose()?, max.transpose()?);
    match (min, max) {
        (Some(first), Some(last)) if !first.not_after(last) => Err(table.error("min is after max")),
        _ => Ok(Some(Condition::Period { min, max })),
    }
}

/// `min = ..., max = ...`, infinite where not said.
fn range(table: &mut Table<'_>) -> Result<(f64, f64)> {
    let (min, max) = (table.take("min"), table.take("max"));
    ends(table, min, max)
}

fn ends(table: &Table<'_>, min: Option<Value<'_>>, max: Option<Value<'_>>) -> Result<(f64, f64)> {
    let end = |v: Option<Value<'_>>, or: f64| v.map_or(Ok(or), |v| v.number());
    let min = end(min, f64::NEG_INFINITY)?;
    let max = end(max, f64::INFINITY)?;
    if min > max || min.is_nan() || max.is_nan() {
        return Err(table.error(format!("min {min} is above max {max}")));
    }
    Ok((min, max))
}

const KINDS: [(&str, Kind); 4] = [
    ("numeric", Kind::Numeric),
    ("ordinal", Kind::Ordinal),
    ("nominal", Kind::Nominal),
    ("fixed", Kind::Fixed),
];

fn context(name: String, value: Value<'_>) -> Result<Context> {
    if value.is_text() {
        let kind = value.word(&KINDS)?;
        return Ok(Context {
            name,
            kind,
            levels: None,
            positions: None,
            bin: None,
            range: (f64::NEG_INFINITY, f64::INFINITY),
            weight: None,
            missing: None,
        });
    }
    let mut table = value.table()?;
    let kind = table.need("kind")?.word(&KINDS)?;
    let levels = table.take("levels").map(|v| v.texts()).transpose()?;
    let levels = levels.map(DeclaredLevels::new).transpose();
    let levels =
        levels.map_err(|twice| table.error(format!("the level {twice:?} is listed twice")))?;
    let positions = table.take("positions").map(|v| v.numbers()).transpose()?;
    if let (Some(positions), Some(levels)) = (&positions, &levels)
        && positions.len() != levels.labels().len()
    {
        let (found, count) = (positions.len(), levels.labels().len());
        return Err(table.error(format!("{found} positions for {count} levels")));
    }
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
    let range = range(&mut table)?;
    if range != (f64::NEG_INFINITY, f64::INFINITY) && kind != Kind::Numeric {
        return Err(table.error("min and max belong to a numeric feature"));
    }
    let at_least_0 = |v: &Value<'_>| match v.number()? {
        x if x >= 0.0 && x.is_finite() => Ok(x),
        x => Err(v.error(format!("{x}; expected a finite number ≥ 0"))),
    };
    let weight = table.take("weight").map(|v| at_least_0(&v)).transpose()?;
    let missing = match table.take("missing") {
        None => None,
        Some(v) if v.is_number() => Some(Some(at_least_0(&v)?)),
        Some(v) => v.truth()?.then_some(None),
    };
    table.finish(&["kind", "levels", "positions", "bin", "min", "max", "weight", "missing"])?;
    Ok(Context { name, kind, levels, positions, bin, range, weight, missing })
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

fn outcome(mut table: Table<'_>) -> Result<OutcomeSpec> {
    let (direction, value) = match (table.take("cost"), table.take("reward")) {
        (Some(cost), None) => (Direction::Cost, cost),
        (None, Some(reward)) => (Direction::Reward, reward),
        (Some(_), Some(reward)) => {
            return Err(reward.error("an outcome is a cost or a reward, not both"));
        }
        (None, None) => return Err(table.error("[outcome] needs cost = ... or reward = ...")),
    };
    let missing = table.take("missing");
    table.finish(&["cost", "reward", "missing"])?;
    if !value.is_table() {
        let terms = vec![(value.text()?, Term::Weight(1.0))];
        let missing = missing_outcome(missing, &terms)?;
        return Ok(OutcomeSpec { direction, terms, missing });
    }
    let term = |(name, v): (String, Value<'_>)| {
        if v.is_number() {
            return Ok((name, Term::Weight(v.number()?)));
        }
        let level = |(level, v): (String, Value<'_>)| Ok((level, v.number()?));
        let levels = v.table()?.rest().into_iter().map(level).collect::<Result<_>>()?;
        Ok((name, Term::Levels(levels)))
    };
    let (at, name) = (value.at, value.name.clone());
    let mut value = value.table()?;
    let terms: Vec<_> = value.rest().into_iter().map(term).collect::<Result<_>>()?;
    if terms.is_empty() {
        value.at = at;
        return Err(value.error(format!("{name:?} names no column")));
    }
    let missing = missing_outcome(missing, &terms)?;
    Ok(OutcomeSpec { direction, terms, missing })
}

/// `missing = "drop"`, `missing = 0`, or `missing = { COL = "drop", ... }`; refused where nothing is said.
fn missing_outcome(
    value: Option<Value<'_>>,
    terms: &[(String, Term)],
) -> Result<Vec<MissingOutcome>> {
    let Some(value) = value else { return Ok(vec![MissingOutcome::Refused; terms.len()]) };
    let one = |v: &Value<'_>| match (v.text(), v.number()) {
        (Ok(word), _) if word == "drop" => Ok(MissingOutcome::Dropped),
        (_, Ok(0.0)) => Ok(MissingOutcome::Zero),
        _ => Err(v.error("expected \"drop\" (leave such rows out) or 0 (count them as 0)")),
    };
    if !value.is_table() {
        return Ok(vec![one(&value)?; terms.len()]);
    }
    let mut found = vec![MissingOutcome::Refused; terms.len()];
    for (name, v) in value.table()?.rest() {
        let at = terms.iter().position(|(column, _)| *column == name).ok_or_else(|| {
            let columns: Vec<&str> = terms.iter().map(|(column, _)| column.as_str()).collect();
            v.error(format!("no such column in the outcome; there are {}", columns.join(", ")))
        })?;
        found[at] = one(&v)?;
    }
    Ok(found)
}
