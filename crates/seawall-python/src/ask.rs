//! What is asked, from arguments: policies, sets, samples and their confidence.

use crate::error::{ConfigError, raised};
use pyo3::prelude::*;
use seawall::evaluate::Support;
use seawall::policy::file::PolicyFile;
use seawall::{Error, Field, Set, Wording};
use seawall_study::evaluate::{HALVINGS, Halving};
use seawall_study::fields::FrontEnd;
use seawall_study::prepare::PreparedStudy;
use seawall_study::study::{PolicySpec, SetSpec, Study};

/// Where mass may go.
pub fn support(name: Option<&str>) -> PyResult<Option<Support>> {
    match name {
        None => Ok(None),
        Some("grid") => Ok(Some(Support::All)),
        Some("observed") => Ok(Some(Support::Observed)),
        Some("space") => Ok(Some(Support::Space)),
        Some(name) => Err(ConfigError::new_err(format!(
            "support is {name:?}; expected \"grid\", \"observed\" or \"space\""
        ))),
    }
}

/// Policies as they are typed, or the JSON of saved ones.
pub fn policies(texts: &[String]) -> PyResult<Vec<PolicySpec>> {
    let spec = |text: &String| {
        if text.trim_start().starts_with('{') {
            Ok(PolicySpec::Made(Box::new(PolicyFile::from_json(text).map_err(raised)?)))
        } else {
            Ok(PolicySpec::typed(text))
        }
    };
    texts.iter().map(spec).collect()
}

/// The kind of policy is the value of `learn=` where a report learns it.
struct OfLearn;

impl Wording for OfLearn {
    fn subject(&self, field: Field) -> String {
        match field {
            Field::Policy => "learn".to_owned(),
            field => FrontEnd::Python.subject(field),
        }
    }

    fn setting(&self, field: Field, value: &str) -> String {
        FrontEnd::Python.setting(field, value)
    }
}

/// The error of a kind of policy that a report is to learn.
pub fn learned(error: &Error) -> PyErr {
    ConfigError::new_err(error.worded(&OfLearn))
}

/// Sample splits; none for 0, and as many as there is time for if not said.
pub fn halving(count: Option<usize>, level: f64, seed: u64) -> Option<Halving> {
    let (fewer, count) = (count.is_none(), count.unwrap_or(HALVINGS));
    (count > 0).then_some(Halving { count, level, seed, fewer })
}

/// A set with a radius for each of some columns, and none for all of them together.
pub fn by_column(study: &Study, set: Set, column_radii: Vec<(String, f64)>) -> PyResult<SetSpec> {
    if !set.needs_known() {
        let what = format!("is given by column, and the set {} has one for all", set.name());
        return Err(raised(Error::field(Field::Radius, what).advise(Field::Set, &["couplings"])));
    }
    let all: Vec<&str> = study.data.contexts.iter().map(|c| c.name.as_str()).collect();
    if let Some((column, _)) = column_radii.iter().find(|(name, _)| !all.contains(&&**name)) {
        return Err(ConfigError::new_err(format!(
            "radius: {column:?} is not one of the study's context columns (there are: {})",
            all.join(", ")
        )));
    }
    Ok(SetSpec { set, radii: vec![f64::INFINITY], column_radii })
}

/// Refuses a set of what is known of a target of which nothing is.
pub fn check_known(loaded: &PreparedStudy, set: Set) -> PyResult<()> {
    if !set.needs_known() || loaded.target.is_some() || !loaded.study.target.known.is_empty() {
        return Ok(());
    }
    Err(ConfigError::new_err(format!(
        "set is {}, the populations that meet what is known of a target, and nothing is known of one; say \
         what is known (target=Target(known=...), as describe() has it), or give a sample (target=)",
        set.name()
    )))
}
