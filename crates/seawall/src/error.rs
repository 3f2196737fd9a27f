//! One error for the whole library, with a few questions it can answer.
//!
//! An error may be about a [`Field`], something that the caller chose. The library calls a field
//! by its plain name; a front end that calls it otherwise (`--cost-radius`, `cost_radius=`) asks
//! for the message in its own words with [`Error::worded`].

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// What went wrong, in one line that names the thing, its value and what was expected.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    /// What the message is said of, outermost first: a file, a policy.
    within: Vec<String>,
    /// The field that the message is about; the message then goes on after its name.
    field: Option<Field>,
    message: String,
    advice: Option<(Field, &'static [&'static str])>,
    cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ErrorKind {
    Input,
    Config,
    Numeric,
    Stopped,
    Io,
    Internal,
}

/// The library's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Something that a caller chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // The variants are the names.
pub enum Field {
    Accuracy,
    Against,
    AtLeast,
    AtMost,
    Batch,
    Bounds,
    Budget,
    By,
    CcpAlpha,
    Clip,
    Contexts,
    CostRadius,
    CostSet,
    Depth,
    Engine,
    Eta,
    Features,
    Folds,
    Halves,
    LeastShare,
    Level,
    Method,
    MinSamplesLeaf,
    MinSamplesSplit,
    MinShare,
    /// What becomes of rows without an outcome.
    MissingOutcome,
    Model,
    Pairs,
    Penalty,
    Policy,
    Propensity,
    Radius,
    Restarts,
    Ridge,
    Rounds,
    Seeds,
    Set,
    Sharpness,
    Shrinkage,
    Splits,
    Step,
    Steps,
    Support,
    Temperature,
    Threads,
    Tolerance,
    Trees,
    Unseen,
    WorstBudget,
}

impl Field {
    /// The field's plain name.
    pub fn name(self) -> &'static str {
        match self {
            Field::Accuracy => "accuracy",
            Field::Against => "baseline",
            Field::AtLeast => "least probability",
            Field::AtMost => "largest probability",
            Field::Batch => "batch",
            Field::Halves => "halves",
            Field::Bounds => "bounds",
            Field::By => "by",
            Field::Budget => "budget",
            Field::CcpAlpha => "ccp_alpha",
            Field::Clip => "clip",
            Field::Contexts => "contexts",
            Field::CostRadius => "cost radius",
            Field::CostSet => "cost set",
            Field::Depth => "depth",
            Field::Engine => "engine",
            Field::Eta => "eta",
            Field::Features => "features",
            Field::Folds => "folds",
            Field::LeastShare => "least share",
            Field::Level => "level",
            Field::Method => "method",
            Field::MinSamplesLeaf => "min_samples_leaf",
            Field::MinSamplesSplit => "min_samples_split",
            Field::MinShare => "min_share",
            Field::MissingOutcome => "missing",
            Field::Model => "model",
            Field::Pairs => "pairs",
            Field::Penalty => "penalty",
            Field::Policy => "policy",
            Field::Propensity => "propensity",
            Field::Radius => "radius",
            Field::Restarts => "restarts",
            Field::Ridge => "ridge",
            Field::Rounds => "rounds",
            Field::Seeds => "seeds",
            Field::Set => "set",
            Field::Sharpness => "sharpness",
            Field::Shrinkage => "shrinkage",
            Field::Splits => "splits",
            Field::Step => "step",
            Field::Steps => "steps",
            Field::Support => "support",
            Field::Temperature => "temperature",
            Field::Threads => "threads",
            Field::Tolerance => "tolerance",
            Field::Trees => "trees",
            Field::Unseen => "unseen",
            Field::WorstBudget => "worst-case budget",
        }
    }
}

/// How a front end calls the fields.
pub trait Wording {
    /// The field as the subject of a sentence: `--eta`, in `--eta is 0; expected …`.
    fn subject(&self, field: Field) -> String;

    /// How the field is given a value: `--method bsgd`.
    fn setting(&self, field: Field, value: &str) -> String;
}

/// A value as it is written in a file or in code: a text in quotes, a number without.
pub fn quoted(value: &str) -> String {
    if value.parse::<f64>().is_ok() { value.to_owned() } else { format!("{value:?}") }
}

/// The fields' plain names.
struct Plain;

impl Wording for Plain {
    fn subject(&self, field: Field) -> String {
        field.name().to_owned()
    }

    fn setting(&self, field: Field, value: &str) -> String {
        format!("{} = {}", field.name(), quoted(value))
    }
}

impl Error {
    fn new(kind: ErrorKind, message: impl fmt::Display) -> Self {
        let message = message.to_string();
        Error { kind, within: Vec::new(), field: None, message, advice: None, cause: None }
    }

    /// The data are wrong: a value, a weight, a level, a length.
    pub fn input(message: impl fmt::Display) -> Self {
        Error::new(ErrorKind::Input, message)
    }

    /// The question is wrong: an option, a combination of them.
    pub fn config(message: impl fmt::Display) -> Self {
        Error::new(ErrorKind::Config, message)
    }

    /// The question is wrong in one field; `message` goes on after the field's name:
    /// `is -1; expected a finite number ≥ 0`.
    pub fn field(field: Field, message: impl fmt::Display) -> Self {
        Error { field: Some(field), ..Error::config(message) }
    }

    /// The numbers are beyond what can be computed.
    pub fn numeric(message: impl fmt::Display) -> Self {
        Error::new(ErrorKind::Numeric, message)
    }

    /// Whoever watched asked to stop, and there is nothing to show yet.
    pub fn stopped() -> Self {
        Error::new(ErrorKind::Stopped, "stopped")
    }

    /// A file could not be read or written.
    pub fn io(path: &Path, message: impl fmt::Display) -> Self {
        Error::new(ErrorKind::Io, format!("{}: {message}", path.display()))
    }

    /// Something that cannot happen, happened: the library's own fault, or that of an engine that
    /// was handed in.
    pub fn internal(message: impl fmt::Display) -> Self {
        Error::new(ErrorKind::Internal, message)
    }

    /// Whether the data are at fault.
    pub fn is_input(&self) -> bool {
        self.kind == ErrorKind::Input
    }

    /// Whether the question is at fault.
    pub fn is_config(&self) -> bool {
        self.kind == ErrorKind::Config
    }

    /// Whether the numbers are beyond what can be computed.
    pub fn is_numeric(&self) -> bool {
        self.kind == ErrorKind::Numeric
    }

    /// Whether whoever watched asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.kind == ErrorKind::Stopped
    }

    /// Whether a file could not be read or written.
    pub fn is_io(&self) -> bool {
        self.kind == ErrorKind::Io
    }

    /// Whether the library, or an engine that was handed in, is at fault.
    pub fn is_internal(&self) -> bool {
        self.kind == ErrorKind::Internal
    }

    /// The field that is wrong, if it is one.
    pub fn about(&self) -> Option<Field> {
        self.field
    }

    /// The same error, said of something: `context: message`.
    #[must_use]
    pub fn within(mut self, context: impl fmt::Display) -> Self {
        self.within.insert(0, context.to_string());
        self
    }

    /// The same error, of another field: a front end that takes one thing for two purposes knows
    /// which was meant.
    #[must_use]
    pub fn about_field(mut self, field: Field) -> Self {
        if self.field.is_some() {
            self.field = Some(field);
        }
        self
    }

    /// The same error with what caused it, its [`source`](std::error::Error::source).
    #[must_use]
    pub fn caused_by(mut self, cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }

    /// Values of a field that would do.
    #[must_use]
    pub fn advise(mut self, field: Field, values: &'static [&'static str]) -> Self {
        self.advice = Some((field, values));
        self
    }

    /// Without what to try of a field, where there is no such choice.
    #[must_use]
    pub fn unadvised(mut self, field: Field) -> Self {
        self.advice = self.advice.filter(|(advised, _)| *advised != field);
        self
    }

    /// The message in a front end's words.
    pub fn worded(&self, wording: &dyn Wording) -> String {
        let mut text = String::new();
        for context in &self.within {
            text.push_str(context);
            text.push_str(": ");
        }
        if let Some(field) = self.field {
            text.push_str(&wording.subject(field));
            text.push(' ');
        }
        text.push_str(&self.message);
        if let Some((field, values)) = self.advice {
            let settings: Vec<String> =
                values.iter().map(|value| wording.setting(field, value)).collect();
            text.push_str("; try ");
            text.push_str(&settings.join(" or "));
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.worded(&Plain))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| &**cause as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Flags;

    impl Wording for Flags {
        fn subject(&self, field: Field) -> String {
            format!("--{}", field.name().replace(' ', "-"))
        }
        fn setting(&self, field: Field, value: &str) -> String {
            format!("{} {value}", self.subject(field))
        }
    }

    #[test]
    fn a_front_end_words_fields_and_advice() {
        let error = Error::field(Field::CostRadius, "is -1; expected a number ≥ 0")
            .advise(Field::Unseen, &["mean", "worst"])
            .within("study.toml");
        assert_eq!(
            error.to_string(),
            "study.toml: cost radius is -1; expected a number ≥ 0; try unseen = \"mean\" or unseen \
             = \"worst\""
        );
        assert_eq!(
            error.worded(&Flags),
            "study.toml: --cost-radius is -1; expected a number ≥ 0; try --unseen mean or --unseen \
             worst"
        );
        assert!(error.is_config() && error.about() == Some(Field::CostRadius));
    }
}
