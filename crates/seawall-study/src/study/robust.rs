//! `[robust]`: the sets of contexts and of outcomes, and where mass may go.

use super::toml_file::Value;
use seawall::evaluate::Support;
use seawall::{Ambiguity, Result, Set, Wasserstein};

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
    let words = [("grid", Support::All), ("observed", Support::Observed)];
    let support = table.take("support").map_or(Ok(Support::All), |v| v.word(&words))?;
    table.finish(&["context", "cost", "support"])?;
    Ok((context, cost, support))
}

fn set(value: Value<'_>) -> Result<SetSpec> {
    let mut table = value.table()?;
    let named = table.take("set");
    let words: Vec<(&str, &str)> = Set::names().map(|name| (name, name)).collect();
    let name = named.as_ref().map_or(Ok("wasserstein"), |v| v.word(&words))?;
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
    let set = Set::named(name, &given).map_err(|e| table.error(e))?;
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
