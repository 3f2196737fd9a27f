//! From a declaration to a checked study.

use super::declared::{DeclaredTable, DeclaredValue};
use super::toml_file;
use super::{
    Actions, Condition, Context, DataSpec, Declared, MissingOutcome, OutcomeSpec, Place,
    ReportSpec, RowSpec, Scale, Study, Term, history, model, policies, robust, target,
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
        toml_file::parse(path, &text)?;
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
fn counts(value: DeclaredValue) -> Result<(Option<String>, bool)> {
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
    checked(toml_file::parse(path, text)?, path, folder, text.to_owned())
}

/// Checks a declaration that a front end made. Messages about all of it call it `path`; files are looked for
/// in `folder`.
pub fn study_from(declared: DeclaredValue, path: &Path, folder: &Path) -> Result<Study> {
    let text = toml_file::written(&declared);
    checked(declared, path, folder, text)
}

/// The keys of a study.
const SECTIONS: [&str; 11] = [
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
];

/// The study that a declaration says; `text` is its file's.
fn checked(declared: DeclaredValue, path: &Path, folder: &Path, text: String) -> Result<Study> {
    let mentions = declared.mentions();
    let mut file = declared.table()?;

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

    let table = file.need("context")?.table()?;
    let under = table.place.section("context");
    let (contexts, scale, places) = contexts(table)?;
    if let (Some(v), Some(name)) = (&cluster, &cluster_name)
        && contexts.iter().any(|c| c.name == *name)
    {
        return Err(v.error(format!(
            "{name:?} is a context column, too: another population has other clusters, so one cannot \
             be what a policy or a model goes by; leave it out of {under}"
        )));
    }

    let actions = actions(file.need("action")?.table()?)?;
    let outcome = outcome(file.need("outcome")?.table()?)?;
    for (context, place) in contexts.iter().zip(&places) {
        if let Some(why) = other_role(&context.name, &actions, &outcome.terms) {
            let what = format!("the column {:?} is under {under}, but {why}", context.name);
            return Err(place.error(format!("{what}; leave it out of {under}")));
        }
    }
    let (model, predictions, unseen, deals) = model::parse(file.take("model"), &actions, folder)?;
    let (propensity, clip) = policies::propensity(file.take("propensity"), &actions)?;
    let policies = policies::policies(file.take("policy"), folder)?;
    let (context_set, cost_set, support) = robust::parse(file.take("robust"), &contexts)?;
    let target = target::parse(file.take("target"), folder, &contexts)?;
    let history = history::parse(file.take("history"), folder, &contexts)?;
    let report = report(file.take("report"))?;
    file.finish(&SECTIONS)?;
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
            declared: Declared { path: path.to_owned(), text, mentions },
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

/// `[context]`: the columns, how they are scaled, and where each is said.
fn contexts(mut table: DeclaredTable) -> Result<(Vec<Context>, Scale, Vec<Place>)> {
    let (mut contexts, mut scale, mut places) = (Vec::new(), Scale::default(), Vec::new());
    for (name, value) in table.rest() {
        if is_scale(&name, &value) {
            scale = value.word(&[("range", Scale::Range), ("spread", Scale::Spread)])?;
        } else {
            places.push(value.place.clone());
            contexts.push(context(name, value)?);
        }
    }
    if contexts.is_empty() {
        let section = table.place.section("context");
        return Err(table.error(format!("{section} names no column")));
    }
    Ok((contexts, scale, places))
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
    if of_action {
        Some("it says which action was taken, which a policy cannot go by")
    } else {
        outcome
            .iter()
            .any(|(column, _)| column == name)
            .then_some("it is part of the outcome, which is not known when an action is taken")
    }
}

/// Whether an entry of `[context]` says how columns are scaled: a column of that name would be a
/// table or a kind.
fn is_scale(name: &str, value: &DeclaredValue) -> bool {
    let kind = |text: String| KINDS.iter().any(|kind| kind.0 == text);
    name == "scale" && value.is_text() && !value.text().is_ok_and(kind)
}

/// `[report]`
fn report(value: Option<DeclaredValue>) -> Result<ReportSpec> {
    let Some(value) = value else { return Ok(ReportSpec::default()) };
    let mut table = value.table()?;
    let title = table.take("title").map(|v| v.text()).transpose()?;
    let outcome = table.take("outcome").map(|v| v.text()).transpose()?;
    table.finish(&["title", "outcome"])?;
    Ok(ReportSpec { title, outcome })
}

/// `{ COL = condition, ... }`
pub(super) fn conditions(value: DeclaredValue) -> Result<Vec<(String, Condition)>> {
    let mut all = Vec::new();
    for (name, value) in value.table()?.rest() {
        all.extend(of_column(value)?.into_iter().map(|condition| (name.clone(), condition)));
    }
    Ok(all)
}

/// The conditions on one column; every one must hold.
fn of_column(value: DeclaredValue) -> Result<Vec<Condition>> {
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
fn within(table: &mut DeclaredTable) -> Result<Option<Condition>> {
    let (min, max) = (table.take("min"), table.take("max"));
    let given: Vec<&DeclaredValue> = min.iter().chain(&max).collect();
    if given.is_empty() {
        return Ok(None);
    }
    if given.iter().all(|v| v.is_number()) {
        let (min, max) = ends(table, min, max)?;
        return Ok((min.is_finite() || max.is_finite()).then_some(Condition::Range { min, max }));
    }
    let moment = |v: &DeclaredValue| {
        let expected = "expected a number, or a date or time like \"2019-11-27\" or \
                        \"2019-11-27T10:00:00\" (both ends alike)";
        Moment::parse(v.time_text().unwrap_or_default()).ok_or_else(|| v.error(expected))
    };
    let (min, max) = (min.as_ref().map(moment), max.as_ref().map(moment));
    let (min, max) = (min.transpose()?, max.transpose()?);
    match (min, max) {
        (Some(first), Some(last)) if !first.not_after(last) => Err(table.error("min is after max")),
        _ => Ok(Some(Condition::Period { min, max })),
    }
}

/// `min = ..., max = ...`, infinite where not said.
fn range(table: &mut DeclaredTable) -> Result<(f64, f64)> {
    let (min, max) = (table.take("min"), table.take("max"));
    ends(table, min, max)
}

fn ends(
    table: &DeclaredTable,
    min: Option<DeclaredValue>,
    max: Option<DeclaredValue>,
) -> Result<(f64, f64)> {
    let end = |v: Option<DeclaredValue>, or: f64| v.map_or(Ok(or), |v| v.number());
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

fn context(name: String, value: DeclaredValue) -> Result<Context> {
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
    let at_least_0 = |v: &DeclaredValue| match v.number()? {
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

fn actions(mut table: DeclaredTable) -> Result<Actions> {
    if let Some(column) = table.take("column") {
        let column = column.text()?;
        let propensity = table.take("propensity").map(|v| v.text()).transpose()?;
        table.finish(&["column", "propensity"])?;
        return Ok(Actions::Column { column, propensity });
    }
    let rules: Vec<_> =
        table.rest().into_iter().map(|(n, v)| Ok((n, conditions(v)?))).collect::<Result<_>>()?;
    if rules.len() < 2 {
        let (section, count) = (table.place.section("action"), rules.len());
        let or = match table.place {
            Place::Line(..) => "column = \"...\"",
            Place::Argument(_) => "the name of a column",
        };
        return Err(
            table.error(format!("{section} names {count} actions; expected two or more, or {or}"))
        );
    }
    Ok(Actions::Rules(rules))
}

fn outcome(mut table: DeclaredTable) -> Result<OutcomeSpec> {
    let (direction, value) = match (table.take("cost"), table.take("reward")) {
        (Some(cost), None) => (Direction::Cost, cost),
        (None, Some(reward)) => (Direction::Reward, reward),
        (Some(_), Some(reward)) => {
            return Err(reward.error("an outcome is a cost or a reward, not both"));
        }
        (None, None) => {
            let section = table.place.section("outcome");
            return Err(table.error(format!("{section} needs cost = ... or reward = ...")));
        }
    };
    let missing = table.take("missing");
    table.finish(&["cost", "reward", "missing"])?;
    if !value.is_table() {
        let terms = vec![(value.text()?, Term::Weight(1.0))];
        let missing = missing_outcome(missing, &terms)?;
        return Ok(OutcomeSpec { direction, terms, missing });
    }
    let term = |(name, v): (String, DeclaredValue)| {
        if v.is_number() {
            return Ok((name, Term::Weight(v.number()?)));
        }
        let level = |(level, v): (String, DeclaredValue)| Ok((level, v.number()?));
        let levels = v.table()?.rest().into_iter().map(level).collect::<Result<_>>()?;
        Ok((name, Term::Levels(levels)))
    };
    let name = value.name.clone();
    let mut value = value.table()?;
    let terms: Vec<_> = value.rest().into_iter().map(term).collect::<Result<_>>()?;
    if terms.is_empty() {
        return Err(value.error(format!("{name:?} names no column")));
    }
    let missing = missing_outcome(missing, &terms)?;
    Ok(OutcomeSpec { direction, terms, missing })
}

/// `missing = "drop"`, `missing = 0`, or `missing = { COL = "drop", ... }`; refused where nothing is said.
fn missing_outcome(
    value: Option<DeclaredValue>,
    terms: &[(String, Term)],
) -> Result<Vec<MissingOutcome>> {
    let Some(value) = value else { return Ok(vec![MissingOutcome::Refused; terms.len()]) };
    let one = |v: &DeclaredValue| match (v.text(), v.number()) {
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
