//! `[robust]`: the sets of contexts and of outcomes, and where mass may go.

use super::toml_file::Value;
use crate::bound::Set;
use seawall::Result;
use seawall::evaluate::Support;

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
        SetSpec { set: Set::Wasserstein, radii: vec![0.0] }
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
    if radii.is_empty() {
        return Err(radius.error("expected at least one radius"));
    }
    if let Some(r) = radii.iter().find(|r| !(**r >= 0.0 && r.is_finite())) {
        return Err(radius.error(format!("{r}; expected a finite number ≥ 0")));
    }
    table.finish(&["set", "eta", "radius"])?;
    Ok(SetSpec { set, radii })
}
