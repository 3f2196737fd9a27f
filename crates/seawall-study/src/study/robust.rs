//! `[robust]`: the sets of contexts and of outcomes, and where mass may go.

use super::toml_file::Value;
use crate::fields::FrontEnd;
use seawall::evaluate::Support;
use seawall::{Ambiguity, Error, Result, Set, Wasserstein};

/// A kind of set and its radii.
#[derive(Clone, Debug, PartialEq)]
pub struct SetSpec {
    /// Which set.
    pub set: Set,
    /// The radii.
    pub radii: Vec<f64>,
}

impl SetSpec {
    /// Nothing shifts.
    pub fn nothing() -> Self {
        SetSpec { set: Wasserstein.into(), radii: vec![0.0] }
    }

    /// The set at its first radius.
    pub fn first(&self) -> Ambiguity {
        self.set.at(self.radii.first().copied().unwrap_or(0.0))
    }
}

pub(super) fn parse(value: Option<Value<'_>>) -> Result<(SetSpec, SetSpec, Support)> {
    let Some(value) = value else {
        return Ok((SetSpec::nothing(), SetSpec::nothing(), Support::All));
    };
    let mut table = value.table()?;
    let set = |v: Option<Value<'_>>| v.map_or(Ok(SetSpec::nothing()), set);
    let (context, cost) = (set(table.take("context"))?, set(table.take("cost"))?);
    let words =
        [("grid", Support::All), ("observed", Support::Observed), ("space", Support::Space)];
    let support = table.take("support").map_or(Ok(Support::All), |v| v.word(&words))?;
    table.finish(&["context", "cost", "support"])?;
    Ok((context, cost, support))
}

fn set(value: Value<'_>) -> Result<SetSpec> {
    let mut table = value.table()?;
    let named = table.take("set");
    let text = named.as_ref().map_or(Ok("wasserstein".to_owned()), |v| v.text())?;
    let name = text.split(':').next().unwrap_or_default();
    if let (Some(value), None) = (&named, Set::parameters_of(name)) {
        let words: Vec<(&str, ())> = Set::names().map(|name| (name, ())).collect();
        value.word(&words)?;
    }
    let mut known = vec!["set", "radius"];
    let mut given: Vec<(&str, f64)> = Vec::new();
    // Every parameter that any set has may stand here; whose it is, the set says.
    for other in Set::names().filter_map(Set::parameters_of).flatten() {
        if let Some(value) = table.take(other.name) {
            given.push((other.name, value.number()?));
        }
    }
    let own = Set::parameters_of(name).unwrap_or_default();
    known.extend(own.iter().map(|p| p.name));
    let refused = |e: Error| table.error(e.worded(&FrontEnd::Study));
    let set = match (text.contains(':'), given.first()) {
        (true, Some((other, _))) => {
            let what = format!("{other} is given apart, and {text:?} has its parameters with it");
            return Err(table.error(what));
        }
        (true, None) => text.parse().map_err(refused)?,
        (false, _) => Set::named(name, &given).map_err(refused)?,
    };
    let radius = table.need("radius")?;
    let radii = radius.numbers()?;
    if radii.is_empty() {
        return Err(radius.error("expected at least one radius"));
    }
    if let Some(r) = radii.iter().find(|r| !(**r >= 0.0 && r.is_finite())) {
        return Err(radius.error(format!("{r}; expected a finite number ≥ 0")));
    }
    table.finish(&known)?;
    Ok(SetSpec { set, radii })
}
