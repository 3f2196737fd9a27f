//! What a field is called: an option of the program, a key of a study file, an argument in Python.
//!
//! Errors carry a [`Field`]; each front end words it with its own column of this one table.

use seawall::{Field, Wording, quoted};

/// Who speaks to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontEnd {
    /// The program: options, and a study file's keys where there is no option.
    Cli,
    /// A study file.
    Study,
    /// The Python package: arguments, and a study file's keys where there is none.
    Python,
}

/// One field's names.
struct Names {
    field: Field,
    option: Option<&'static str>,
    /// The table of a study file, and the key in it.
    key: Option<(&'static str, &'static str)>,
    argument: Option<&'static str>,
}

const fn names(
    field: Field,
    option: Option<&'static str>,
    key: Option<(&'static str, &'static str)>,
    argument: Option<&'static str>,
) -> Names {
    Names { field, option, key, argument }
}

#[rustfmt::skip]
const TABLE: &[Names] = &[
    names(Field::Accuracy, Some("--delta"), None, None),
    names(Field::Against, Some("--against"), None, Some("against")),
    names(Field::AtLeast, Some("--at-least"), None, None),
    names(Field::AtMost, Some("--at-most"), None, None),
    names(Field::Batch, Some("--batch"), None, None),
    names(Field::Bounds, Some("--bounds"), None, Some("bounds")),
    names(Field::Budget, Some("--budget"), None, None),
    names(Field::By, Some("--by"), None, Some("by")),
    names(Field::CcpAlpha, None, Some(("model", "ccp_alpha")), None),
    names(Field::Clip, None, Some(("propensity", "clip")), None),
    names(Field::Contexts, Some("--contexts"), None, None),
    names(Field::CostRadius, Some("--outcome-radius"), Some(("robust", "cost.radius")), Some("cost_radius")),
    names(Field::CostSet, Some("--outcome-set"), Some(("robust", "cost.set")), Some("cost_set")),
    names(Field::Depth, None, Some(("model", "depth")), None),
    names(Field::Engine, Some("--engine"), None, Some("engine")),
    names(Field::Eta, Some("--eta"), Some(("robust", "context.eta")), Some("eta")),
    names(Field::Features, None, Some(("model", "features")), None),
    names(Field::Folds, None, Some(("model", "folds")), None),
    names(Field::Halves, Some("--splits"), None, Some("splits")),
    names(Field::LeastShare, Some("--least-share"), None, None),
    names(Field::Level, Some("--level"), None, Some("level")),
    names(Field::Method, Some("--method"), None, Some("method")),
    names(Field::MinSamplesLeaf, None, Some(("model", "min_samples_leaf")), None),
    names(Field::MinSamplesSplit, None, Some(("model", "min_samples_split")), None),
    names(Field::MinShare, None, Some(("model", "min_share")), None),
    names(Field::MissingOutcome, None, Some(("outcome", "missing")), Some("missing_outcome")),
    names(Field::Model, None, Some(("model", "kind")), Some("model")),
    names(Field::Pairs, None, Some(("model", "pairs")), None),
    names(Field::Penalty, None, Some(("model", "penalty")), None),
    names(Field::Policy, Some("--policy"), Some(("policy", "kind")), Some("policy")),
    names(Field::Propensity, None, Some(("propensity", "design")), Some("propensity")),
    names(Field::Radius, Some("--radius"), Some(("robust", "context.radius")), Some("radius")),
    names(Field::Restarts, Some("--restarts"), None, None),
    names(Field::Ridge, Some("--ridge"), Some(("propensity", "ridge")), None),
    names(Field::Rounds, None, Some(("model", "rounds")), None),
    names(Field::Seeds, Some("--seeds"), None, None),
    names(Field::Set, Some("--set"), Some(("robust", "context.set")), Some("set")),
    names(Field::Shrinkage, None, Some(("model", "shrinkage")), None),
    names(Field::Splits, Some("--splits"), None, Some("splits")),
    names(Field::Step, Some("--step"), None, None),
    names(Field::Steps, Some("--steps"), None, None),
    names(Field::Support, Some("--support"), Some(("robust", "support")), Some("support")),
    names(Field::Temperature, Some("--temperature"), None, None),
    names(Field::Threads, Some("--threads"), None, Some("threads")),
    names(Field::Tolerance, Some("--tolerance"), None, None),
    names(Field::Trees, None, Some(("model", "trees")), None),
    names(Field::Unseen, None, Some(("model", "unseen")), None),
    names(Field::WorstBudget, Some("--worst-budget"), None, None),
];

impl FrontEnd {
    fn own(self, field: Field) -> (Option<&'static str>, Option<(&'static str, &'static str)>) {
        let found = TABLE.iter().find(|n| n.field == field);
        let own = found.and_then(|n| match self {
            FrontEnd::Cli => n.option,
            FrontEnd::Python => n.argument,
            FrontEnd::Study => None,
        });
        (own, found.and_then(|n| n.key))
    }
}

impl Wording for FrontEnd {
    fn subject(&self, field: Field) -> String {
        match self.own(field) {
            (Some(name), _) => name.to_owned(),
            (None, Some((table, key))) if *self == FrontEnd::Python => format!("{table}[{key:?}]"),
            (None, Some((table, key))) => format!("[{table}] {key}"),
            (None, None) => field.name().to_owned(),
        }
    }

    fn setting(&self, field: Field, value: &str) -> String {
        match (self, self.own(field)) {
            (FrontEnd::Cli, (Some(name), _)) => format!("{name} {value}"),
            (_, (Some(name), _)) => format!("{name}={}", quoted(value)),
            (FrontEnd::Python, (None, Some((table, key)))) => {
                format!("{table}={{{key:?}: {}}}", quoted(value))
            }
            (_, (None, Some((table, key)))) => format!("{key} = {} in [{table}]", quoted(value)),
            (_, (None, None)) => format!("{} {value}", field.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seawall::Error;

    #[test]
    fn each_front_end_has_its_words() {
        let error = Error::field(Field::CostRadius, "is -1").advise(Field::Unseen, &["mean"]);
        let unseen = "; try unseen = \"mean\" in [model]";
        assert_eq!(error.worded(&FrontEnd::Cli), format!("--outcome-radius is -1{unseen}"));
        let python = "cost_radius is -1; try model={\"unseen\": \"mean\"}";
        assert_eq!(error.worded(&FrontEnd::Python), python);
        assert_eq!(
            Error::field(Field::Ridge, "is -1").worded(&FrontEnd::Python),
            "propensity[\"ridge\"] is -1"
        );
        assert_eq!(error.worded(&FrontEnd::Study), format!("[robust] cost.radius is -1{unseen}"));
        let method = Error::config("no").advise(Field::Method, &["gradient", "bsgd"]);
        assert_eq!(method.worded(&FrontEnd::Cli), "no; try --method gradient or --method bsgd");
        let python = "no; try method=\"gradient\" or method=\"bsgd\"";
        assert_eq!(method.worded(&FrontEnd::Python), python);
    }
}
