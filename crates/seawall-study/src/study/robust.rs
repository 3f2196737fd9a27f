//! `[robust]`: the sets of contexts and of outcomes, and where mass may go.
//!
//! A radius is a number or a list of them. A set that is about what is known of the target may have none,
//! or one for each of some columns.

use super::Context;
use super::declared::{DeclaredTable, DeclaredValue, front_end};
use seawall::evaluate::Support;
use seawall::{Error, Result, Set, Shift, Takes, Wasserstein};

/// A kind of set and its radii.
#[derive(Clone, Debug, PartialEq)]
pub struct SetSpec {
    /// Which set.
    pub set: Set,
    /// The radii; of a set that is about what is known of the target perhaps a single infinite one, which
    /// is none.
    pub radii: Vec<f64>,
    /// What moves along single columns may cost on average, where that is said by column: then no radius
    /// holds for all of them together.
    pub column_radii: Vec<(String, f64)>,
}

impl SetSpec {
    /// Nothing shifts.
    pub fn nothing() -> Self {
        SetSpec { set: Wasserstein.into(), radii: vec![0.0], column_radii: Vec::new() }
    }

    /// The set at its first radius.
    pub fn first(&self) -> Shift {
        self.set.at(self.radii.first().copied().unwrap_or(0.0))
    }
}

pub(super) fn parse(
    value: Option<DeclaredValue>,
    contexts: &[Context],
) -> Result<(SetSpec, SetSpec, Support)> {
    let Some(value) = value else {
        return Ok((SetSpec::nothing(), SetSpec::nothing(), Support::All));
    };
    let mut table = value.table()?;
    let set = |v: Option<DeclaredValue>| v.map_or(Ok(SetSpec::nothing()), |v| set(v, contexts));
    let (context, cost) = (table.take("context"), table.take("cost"));
    let cost_place = cost.as_ref().map(DeclaredValue::whole_place);
    let (context, cost) = (set(context)?, set(cost)?);
    if let (true, Some(place)) = (cost.set.needs_known() || cost.set.needs_actions(), cost_place) {
        let (name, why) = (cost.set.name(), no_cost_set(cost.set));
        return Err(Error::config(format!("{place}: {name} is {why}")));
    }
    let words =
        [("grid", Support::All), ("observed", Support::Observed), ("space", Support::Space)];
    let support = table.take("support").map_or(Ok(Support::All), |v| v.word(&words))?;
    table.finish(&["context", "cost", "support"])?;
    Ok((context, cost, support))
}

fn set(value: DeclaredValue, contexts: &[Context]) -> Result<SetSpec> {
    let mut table = value.table()?;
    let named = table.take("set");
    let text = named.as_ref().map_or(Ok("wasserstein".to_owned()), |v| v.text())?;
    let name = text.split(':').next().unwrap_or_default();
    if let (Some(value), None) = (&named, Set::parameters_of(name)) {
        let words: Vec<(&str, ())> = Set::names().map(|name| (name, ())).collect();
        value.word(&words)?;
    }
    let mut known = vec!["set", "radius"];
    let mut given: Vec<(&str, String)> = Vec::new();
    // Every parameter that any set has may stand here; whose it is, the set says.
    for other in Set::names().filter_map(Set::parameters_of).flatten() {
        if let Some(value) = table.take(other.name) {
            let text = match other.takes {
                Takes::Word(_) => value.text()?,
                _ => value.number()?.to_string(),
            };
            given.push((other.name, text));
        }
    }
    let own = Set::parameters_of(name).unwrap_or_default();
    known.extend(own.iter().map(|p| p.name));
    let refused = |e: Error| table.error(e.worded(&front_end(&table.place)));
    let set = match (text.contains(':'), given.first()) {
        (true, Some((other, _))) => {
            let what = format!("{other} is given apart, and {text:?} has its parameters with it");
            return Err(table.error(what));
        }
        (true, None) => text.parse().map_err(refused)?,
        (false, _) => Set::named(name, &given).map_err(refused)?,
    };
    let spec = with_radii(&mut table, set, contexts)?;
    table.finish(&known)?;
    Ok(spec)
}

/// A set with its radii, or those of single columns.
fn with_radii(table: &mut DeclaredTable, set: Set, contexts: &[Context]) -> Result<SetSpec> {
    let none = |column_radii| SetSpec { set, radii: vec![f64::INFINITY], column_radii };
    let radius = match (set.needs_known(), table.take("radius")) {
        (true, None) => return Ok(none(Vec::new())),
        (false, None) => table.need("radius")?,
        (true, Some(radius)) if radius.is_table() => {
            return Ok(none(by_column(radius, contexts)?));
        }
        (_, Some(radius)) => radius,
    };
    let radii = radius.numbers()?;
    if radii.is_empty() {
        return Err(radius.error("expected at least one radius"));
    }
    if let Some(r) = radii.iter().find(|r| !(**r >= 0.0 && r.is_finite())) {
        return Err(radius.error(format!("{r}; expected a finite number ≥ 0")));
    }
    let fits = |r: &f64| set.check_radius(*r).map_err(|e| radius.error(e));
    radii.iter().try_for_each(fits)?;
    Ok(SetSpec { set, radii, column_radii: Vec::new() })
}

/// One radius for each column that is named.
fn by_column(value: DeclaredValue, contexts: &[Context]) -> Result<Vec<(String, f64)>> {
    let all: Vec<&str> = contexts.iter().map(|c| c.name.as_str()).collect();
    let mut table = value.table()?;
    let mut radii = Vec::new();
    for (column, value) in table.rest() {
        if !all.contains(&column.as_str()) {
            let near = seawall_table::read::nearest(&column, &all)
                .map_or(String::new(), |n| format!("; did you mean {n:?}?"));
            return Err(value.error(format!(
                "{column:?} is not one of the study's context columns{near} (there are: {})",
                all.join(", ")
            )));
        }
        let radius = value.number()?;
        if !(radius >= 0.0 && radius.is_finite()) {
            return Err(value.error(format!("{radius}; expected a finite number ≥ 0")));
        }
        radii.push((column, radius));
    }
    if radii.is_empty() {
        Err(table.error("expected at least one column with its radius"))
    } else {
        Ok(radii)
    }
}

/// Why a set is none of outcomes alone.
pub(crate) fn no_cost_set(set: Set) -> &'static str {
    if set.needs_actions() {
        "a set of people with their outcomes: it takes the place of the set of contexts"
    } else {
        "a set of contexts: what is known of a target is about those"
    }
}
