//! How a set is written and read: its name and, after a colon, its parameters: `wasserstein`,
//! `entropic:eta=100`.

use super::parameters::{Argument, Given, Parameter, Takes, misfit, parameter_field};
use super::set::{Set, SetRow, TABLE};
use crate::error::{Error, Field, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

impl Set {
    /// The names of all sets, in the table's order.
    pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
        TABLE.iter().map(|row| row.about.name)
    }

    /// How each set is written: its name and its parameters, those that it does without in brackets.
    pub fn spellings() -> impl ExactSizeIterator<Item = String> {
        TABLE.iter().map(|row| {
            let word = |p: &Parameter| match p.takes {
                Takes::Word(_) => format!("{}=NAME", p.name),
                _ => format!("{}=X", p.name),
            };
            let (optional, needed): (Vec<&Parameter>, Vec<&Parameter>) =
                row.about.parameters.iter().partition(|p| p.optional);
            let list =
                |all: &[&Parameter]| all.iter().map(|p| word(p)).collect::<Vec<_>>().join(",");
            let mut text = row.about.name.to_owned();
            if !needed.is_empty() {
                text.push_str(&format!(":{}", list(&needed)));
            }
            if !optional.is_empty() {
                text.push_str(&format!("[:{}]", list(&optional)));
            }
            text
        })
    }

    /// The parameters of a set by name; None if there is no such set.
    pub fn parameters_of(name: &str) -> Option<&'static [Parameter]> {
        TABLE.iter().find(|row| row.about.name == name).map(|row| row.about.parameters)
    }

    /// The set of a name and the parameters given, each as it is written; those that the set does not
    /// have, and those it lacks, are refused.
    pub fn named(name: &str, given: &[(&str, String)]) -> Result<Self> {
        let Some(SetRow { about, make }) = TABLE.iter().find(|row| row.about.name == name) else {
            let known: Vec<&str> = Set::names().collect();
            return Err(Error::field(
                Field::Set,
                format!("is {name:?}; expected one of {}", known.join(", ")),
            ));
        };
        if let Some((other, _)) =
            given.iter().find(|(n, _)| !about.parameters.iter().any(|p| p.name == *n))
        {
            let all = TABLE.iter().map(|row| row.about);
            let owners = all.filter(|a| a.parameters.iter().any(|p| p.name == *other));
            let owners: Vec<&str> = owners.map(|a| a.name).collect();
            let whose = match about.instead.iter().find(|instead| instead.0 == *other) {
                Some((_, instead)) => (*instead).to_owned(),
                None if owners.is_empty() => "no set has it".to_owned(),
                None => format!("it belongs to {}", owners.join(", ")),
            };
            return Err(Error::field(Field::Set, format!("{name} has no {other}: {whose}")));
        }
        if let Some(k) = (1..given.len()).find(|&k| given[..k].iter().any(|g| g.0 == given[k].0)) {
            return Err(Error::field(Field::Set, format!("{name}: {} is given twice", given[k].0)));
        }
        let argument = |parameter: &Parameter| match given.iter().find(|g| g.0 == parameter.name) {
            None if parameter.optional => Ok(None),
            None => {
                let what = format!("{name} needs {}: {}", parameter.name, parameter.hint);
                let error = Error::field(Field::Set, what);
                Err(match parameter_field(parameter.name) {
                    Some(field) => error.advise(field, parameter.examples),
                    None => error,
                })
            }
            Some((_, text)) => match parameter.takes.read(text.trim()) {
                Some(argument) => Ok(Some(argument)),
                None => Err(misfit(name, parameter, text.trim())),
            },
        };
        let arguments: Vec<Option<Argument>> =
            about.parameters.iter().map(argument).collect::<Result<_>>()?;
        Ok(make(&Given(&arguments)))
    }

    /// The set of a name with the parameters given, and the table's first example for each that it needs
    /// and that is not given.
    pub fn example(name: &str, given: &[(&str, String)]) -> Result<Self> {
        let mut all = given.to_vec();
        for parameter in Set::parameters_of(name).unwrap_or_default() {
            let lacks = !parameter.optional && !all.iter().any(|(n, _)| *n == parameter.name);
            if let Some(example) = parameter.examples.first().filter(|_| lacks) {
                all.push((parameter.name, (*example).to_owned()));
            }
        }
        Set::named(name, &all)
    }

    /// One parameter that is a number, if the set has it.
    pub fn parameter(&self, name: &str) -> Option<f64> {
        let number = |argument| match argument {
            Argument::Number(number) => Some(number),
            Argument::Word(_) => None,
        };
        self.parameters().into_iter().find(|(n, _)| *n == name).and_then(|(_, a)| number(a))
    }

    /// The same set with another value of a parameter; unchanged if it has no such one.
    pub fn with_parameter(&self, name: &str, value: f64) -> Result<Self> {
        let own = self.parameters().into_iter();
        let all = own.map(|(n, v)| (n, if n == name { value.to_string() } else { v.to_string() }));
        Set::named(self.name(), &all.collect::<Vec<_>>())
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        for (k, (name, value)) in self.parameters().into_iter().enumerate() {
            write!(f, "{}{name}={value}", if k == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

impl FromStr for Set {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, given) = text.split_once(':').unwrap_or((text, ""));
        let parameter = |part| -> Result<(&str, String)> {
            let (name, value) = str::split_once(part, '=').ok_or_else(|| {
                let what = format!("is {text:?}; expected NAME or NAME:PARAMETER=VALUE,...");
                Error::field(Field::Set, what)
            })?;
            Ok((name.trim(), value.trim().to_owned()))
        };
        let given: Vec<(&str, String)> =
            given.split(',').filter(|p| !p.is_empty()).map(parameter).collect::<Result<_>>()?;
        Set::named(name.trim(), &given)
    }
}

impl Serialize for Set {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Set {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::parameters::Takes;
    use super::*;

    #[test]
    fn sets_are_written_and_read_alike() {
        for name in Set::names() {
            let text = |p: &Parameter| match p.takes {
                Takes::Word(words) => words[0].to_owned(),
                _ => "2.5".to_owned(),
            };
            let given: Vec<(&str, String)> =
                Set::parameters_of(name).unwrap().iter().map(|p| (p.name, text(p))).collect();
            let set = Set::named(name, &given).unwrap();
            assert_eq!(set.to_string().parse::<Set>().unwrap(), set);
            let json = serde_json::to_string(&set).unwrap();
            assert_eq!(serde_json::from_str::<Set>(&json).unwrap(), set);
            assert_eq!(set.exact().exact(), set.exact());
        }
    }

    #[test]
    fn a_slow_curve_and_no_gradient_are_two_properties() {
        let without = |has: fn(&Set) -> bool| -> Vec<&str> {
            let all = Set::names().map(|name| Set::example(name, &[]).unwrap());
            all.filter(|set| !has(set)).map(|set| set.name()).collect()
        };
        assert_eq!(without(Set::quick_curve), ["couplings", "moments", "mmd"]);
        let no_gradient = ["couplings", "moments", "mmd", "joint-kl-dr", "joint-wasserstein"];
        assert_eq!(without(Set::has_gradient), no_gradient);
    }

    #[test]
    fn slips_name_what_was_expected() {
        let slip = |text: &str| text.parse::<Set>().unwrap_err().to_string();
        assert!(slip("wassertein").contains("wasserstein, entropic"), "{}", slip("wassertein"));
        assert!(slip("entropic").contains("needs eta"), "{}", slip("entropic"));
        assert_eq!(slip("entropic:eta=0"), "eta is 0; expected a finite number > 0");
        assert!(slip("kl:eta=1").contains("belongs to entropic"), "{}", slip("kl:eta=1"));
        assert!(slip("entropic:eta").contains("PARAMETER=VALUE"));
    }
}
