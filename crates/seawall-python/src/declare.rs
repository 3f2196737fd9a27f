//! From Python's arguments to a checked study: every value with the argument that says it, so that errors
//! name what the user wrote.

use crate::error::{ConfigError, raised};
use crate::run::run;
use crate::study::Study;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyMapping, PySequence, PyString};
use pyo3_arrow::input::AnyRecordBatch;
use seawall_study::prepare::{load, prepare};
use seawall_study::study::{self, DeclaredValue, Place, Said, study_from};
use seawall_table::count::{check_named, count_batches};
use seawall_table::memory::parse;
use seawall_table::sql::query;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A checked study whose data are not read yet.
#[pyclass(frozen, module = "seawall._native")]
pub struct Declaration {
    study: study::Study,
}

#[pymethods]
impl Declaration {
    /// What the arguments of `seawall.Study` say, by name; None is not said. `note` ends the study's text.
    #[staticmethod]
    fn of_arguments(arguments: &Bound<'_, PyDict>, folder: PathBuf, note: &str) -> PyResult<Self> {
        let arguments = Arguments { all: arguments, folder: &folder };
        let mut study = checked(arguments.whole()?, &folder)?;
        study.data.declared.text.push_str(note);
        Ok(Declaration { study })
    }

    /// What a dictionary says, key by key as a study file does.
    #[staticmethod]
    fn of_dict(study: &Bound<'_, PyMapping>, folder: PathBuf) -> PyResult<Self> {
        let declared = declared(study.as_any(), &Place::Argument("study".to_owned()))?;
        Ok(Declaration { study: checked(declared, &folder)? })
    }

    /// Every name that the declaration mentions: the columns that its data need are among them.
    fn names(&self) -> Vec<&str> {
        self.study.data.declared.mentions.names().collect()
    }

    /// The query that counts the study's rows in an engine; refused if `columns`, those of the table, lack
    /// one that the study names. `name` is what messages call the table.
    fn count_query(
        &self,
        name: &str,
        dialect: &str,
        table: &str,
        columns: Vec<String>,
    ) -> PyResult<String> {
        let written = check_named(&self.study.data, Path::new(name), &columns);
        written.and_then(|()| query(&self.study.data, dialect, Some(table))).map_err(raised)
    }

    /// The study with its data counted: those of a file, or with `data` an Arrow stream, which may be counted
    /// already.
    #[pyo3(signature = (data, name, *, counted, threads, progress, memory))]
    #[allow(clippy::too_many_arguments)] // As Python calls it.
    fn read(
        &self,
        py: Python<'_>,
        data: Option<AnyRecordBatch>,
        name: PathBuf,
        counted: bool,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
        memory: Option<&str>,
    ) -> PyResult<Study> {
        let reader = data.map(|d| d.into_reader()).transpose()?;
        let loaded = run(py, threads, progress.as_ref(), |watch| {
            let mut asked = self.study.clone();
            asked.data.memory = memory.map_or(Ok(asked.data.memory), parse)?;
            let Some(mut reader) = reader else { return load(asked, watch) };
            asked.data.path = name;
            asked.data.counted |= counted;
            let columns: Vec<String> =
                reader.schema().fields().iter().map(|f| f.name().clone()).collect();
            let counted = count_batches(&asked.data, &columns, &mut reader, watch)?;
            prepare(asked, counted, watch)
        })?;
        Ok(Study { loaded: Arc::new(loaded) })
    }
}

fn checked(declared: DeclaredValue, folder: &Path) -> PyResult<study::Study> {
    study_from(declared, Path::new("study"), folder).map_err(raised)
}

/// An argument's value.
pub fn argument(name: &str, value: &Bound<'_, PyAny>) -> PyResult<DeclaredValue> {
    declared(value, &Place::Argument(name.to_owned()))
}

/// A value of Python's and everything in it; what is None is not said.
fn declared(value: &Bound<'_, PyAny>, place: &Place) -> PyResult<DeclaredValue> {
    let said = if value.is_instance_of::<PyBool>() {
        Said::Truth(value.extract()?)
    } else if value.is_instance_of::<PyInt>() {
        Said::Whole(value.str()?.extract()?)
    } else if value.is_instance_of::<PyFloat>() {
        Said::Number(value.extract()?)
    } else if value.is_instance_of::<PyString>() {
        Said::Text(value.extract()?)
    } else if let Ok(mapping) = value.cast::<PyMapping>() {
        let mut entries = Vec::new();
        for entry in mapping.items()?.iter() {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry.extract()?;
            if !value.is_none() {
                let key: String = key.str()?.extract()?;
                let value = declared(&value, &place.child(&key))?;
                entries.push((key, value));
            }
        }
        Said::Table(entries)
    } else if let Ok(path) = value.call_method0(intern!(value.py(), "__fspath__")) {
        return declared(&path, place);
    } else if let Ok(plain) = value.call_method0(intern!(value.py(), "tolist")) {
        // NumPy's arrays and scalars.
        return declared(&plain, place);
    } else if let Ok(values) = value.cast::<PySequence>() {
        let mut list = Vec::new();
        for (k, value) in values.try_iter()?.enumerate() {
            list.push(declared(&value?, &part(place, k))?);
        }
        Said::List(list)
    } else {
        let (shown, kind) = (value.repr()?, value.get_type().name()?);
        return Err(raised(place.error(format!("{shown} ({kind}) cannot be part of a study"))));
    };
    Ok(DeclaredValue::new(place.clone(), said))
}

/// The place of one of several values.
fn part(place: &Place, k: usize) -> Place {
    Place::Argument(format!("{place}[{k}]"))
}

/// The arguments of `seawall.Study`.
struct Arguments<'a, 'py> {
    all: &'a Bound<'py, PyDict>,
    folder: &'a Path,
}

impl<'py> Arguments<'_, 'py> {
    /// An argument, unless it is None.
    fn given(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.all.get_item(name)?.filter(|value| !value.is_none()))
    }

    fn declared(&self, name: &str) -> PyResult<Option<DeclaredValue>> {
        self.given(name)?.map(|value| argument(name, &value)).transpose()
    }

    /// An argument that is a text or a dictionary.
    fn text_or_table(&self, name: &str, or: &str) -> PyResult<Option<DeclaredValue>> {
        let fits = |value: &Bound<'py, PyAny>| {
            value.is_instance_of::<PyString>() || value.cast::<PyMapping>().is_ok()
        };
        if self.given(name)?.is_some_and(|value| !fits(&value)) {
            return Err(self.refused(name, &format!("a text or a dictionary{or}")));
        }
        self.declared(name)
    }

    /// An argument as it was given, which is not what was expected.
    fn refused(&self, name: &str, expected: &str) -> PyErr {
        let shown = self.all.get_item(name).ok().flatten().and_then(|value| value.repr().ok());
        let shown = shown.map_or_else(|| "None".to_owned(), |shown| shown.to_string());
        ConfigError::new_err(format!("{name} is {shown}; expected {expected}"))
    }

    /// Some arguments as keys of a part of the study.
    fn keys<const N: usize>(
        &self,
        keys: [(&str, &str); N],
    ) -> PyResult<Vec<(String, DeclaredValue)>> {
        let mut entries = Vec::new();
        for (key, argument) in keys {
            entries.extend(self.declared(argument)?.map(|value| (key.to_owned(), value)));
        }
        Ok(entries)
    }

    /// The whole study, in the order of a study file.
    fn whole(&self) -> PyResult<DeclaredValue> {
        for name in ["cost", "reward", "where", "weight"] {
            self.text_or_table(name, "")?;
        }
        let (action, propensity) = self.decisions()?;
        let data = [("path", "data"), ("where", "where"), ("weight", "weight")];
        let mut data = self.keys(data)?;
        data.extend(self.keys([("survey_weight", "survey_weight"), ("cluster", "cluster")])?);
        let outcome = [("cost", "cost"), ("reward", "reward"), ("missing", "missing_outcome")];
        let report = self.keys([("title", "title"), ("outcome", "outcome")])?;
        let model = self.text_or_table("model", ", or an object with fit and predict")?;
        let sections = [
            ("data", Some(table("", data))),
            ("context", Some(self.context()?)),
            ("action", Some(action)),
            ("outcome", Some(table("", self.keys(outcome)?))),
            ("model", model.map(|model| keyed(model, "kind"))),
            ("propensity", propensity),
            ("policy", self.policies()?),
            ("robust", Some(self.robust()?)),
            ("target", self.declared("target")?.map(|target| keyed(target, "path"))),
            ("history", self.declared("history")?.map(|history| keyed(history, "by"))),
            ("report", (!report.is_empty()).then(|| table("", report))),
        ];
        let said = |(name, part): (&str, Option<DeclaredValue>)| Some((name.to_owned(), part?));
        Ok(table("", sections.into_iter().filter_map(said).collect()))
    }

    /// A kind for each column, or more about it.
    fn context(&self) -> PyResult<DeclaredValue> {
        let example =
            "a kind for each column, for example {\"age\": \"numeric\", \"sex\": \"nominal\"}";
        let Some(given) = self.given("context")? else {
            return Err(self.refused("context", example));
        };
        let Ok(columns) = given.cast::<PyMapping>() else {
            return Err(self.refused("context", example));
        };
        for entry in columns.items()?.iter() {
            let (name, kind): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry.extract()?;
            if !(kind.is_instance_of::<PyString>() || kind.cast::<PyMapping>().is_ok()) {
                let (name, shown) = (name.str()?, kind.repr()?);
                let place = Place::Argument("context".to_owned()).child(&name.to_string());
                return Err(ConfigError::new_err(format!(
                    "{place} is {shown}; expected a kind, or a dictionary with one"
                )));
            }
        }
        argument("context", &given)
    }

    /// How decisions are recorded, and how they were made.
    fn decisions(&self) -> PyResult<(DeclaredValue, Option<DeclaredValue>)> {
        let action = self.text_or_table("action", "")?;
        let action = action.ok_or_else(|| self.refused("action", "a text or a dictionary"))?;
        let by_column = matches!(action.said, Said::Text(_));
        let mut action = keyed(action, "column");
        let Some(propensity) = self.text_or_table("propensity", "")? else {
            return Ok((action, None));
        };
        match &propensity.said {
            Said::Text(word) if word == "cells" || word == "logistic" => {
                Ok((action, Some(keyed(propensity, "estimate"))))
            }
            Said::Text(_) => {
                let Said::Table(entries) = &mut action.said else { return Ok((action, None)) };
                if !by_column {
                    let what = "a column of propensities needs a column of actions";
                    return Err(raised(propensity.place.error(what)));
                }
                entries.push(("propensity".to_owned(), propensity));
                Ok((action, None))
            }
            _ => Ok((action, Some(propensity))),
        }
    }

    /// Policies as they are typed; none if nothing is.
    fn policies(&self) -> PyResult<Option<DeclaredValue>> {
        let Some(given) = self.declared("policy")? else { return Ok(None) };
        let policies = match given.said {
            Said::List(policies) => policies,
            _ => vec![given],
        };
        let policies: Vec<DeclaredValue> = policies.into_iter().map(|p| self.policy(p)).collect();
        let place = Place::Argument("policy".to_owned());
        Ok((!policies.is_empty()).then(|| DeclaredValue::new(place, Said::List(policies))))
    }

    fn policy(&self, given: DeclaredValue) -> DeclaredValue {
        let (place, Said::Text(text)) = (given.place.clone(), &given.said) else { return given };
        let said = |key: &str, text: &str| {
            (key.to_owned(), DeclaredValue::new(place.clone(), Said::Text(text.to_owned())))
        };
        let entries = match (text.strip_prefix("constant:"), text.as_str()) {
            (Some(action), _) => vec![said("kind", "constant"), said("action", action)],
            (None, "uniform" | "behaviour" | "greedy") => vec![said("kind", text)],
            (None, _) => {
                let path = self.folder.join(text).display().to_string();
                vec![said("kind", "file"), said("path", &path)]
            }
        };
        DeclaredValue::new(place.clone(), Said::Table(entries))
    }

    /// The sets of contexts and of outcomes, each by its name and radii.
    fn robust(&self) -> PyResult<DeclaredValue> {
        let eta = self.declared("eta")?;
        let mut sets = Vec::new();
        let mut entropic = false;
        for (key, set, radius) in
            [("context", "set", "radius"), ("cost", "cost_set", "cost_radius")]
        {
            let mut entries = self.keys([("set", set), ("radius", radius)])?;
            let is = |name: &str| matches!(entries.first(), Some((_, DeclaredValue { said: Said::Text(text), .. })) if text == name);
            let (smooth, known) = (is("entropic"), is("couplings"));
            // What is known of a target needs no radius.
            if !known && !entries.iter().any(|(key, _)| key == "radius") {
                let place = Place::Argument(radius.to_owned());
                entries.push((
                    "radius".to_owned(),
                    DeclaredValue::new(place, Said::Whole("0".to_owned())),
                ));
            }
            if let (true, Some(eta)) = (smooth, &eta) {
                entries.push(("eta".to_owned(), eta.clone()));
            }
            entropic |= smooth;
            sets.push((key.to_owned(), table(set, entries)));
        }
        if eta.is_some() && !entropic {
            let what = "eta belongs to an entropic set: set=\"entropic\"";
            return Err(ConfigError::new_err(what));
        }
        sets.extend(self.keys([("support", "support")])?);
        Ok(table("", sets))
    }
}

/// A part of the study that an argument says as a whole, or several do.
fn table(argument: &str, entries: Vec<(String, DeclaredValue)>) -> DeclaredValue {
    DeclaredValue::new(Place::Argument(argument.to_owned()), Said::Table(entries))
}

/// A dictionary as it is, anything else under one key.
fn keyed(value: DeclaredValue, key: &str) -> DeclaredValue {
    match value.said {
        Said::Table(_) => value,
        _ => DeclaredValue::new(value.place.clone(), Said::Table(vec![(key.to_owned(), value)])),
    }
}
