//! `[target.known]`: what is known of a target of which nobody is seen, column by column.
//!
//! ```toml
//! [target]
//! size = 1200
//! [target.known]
//! AGE = { mean = 71.4, sd = 11.9 }
//! SEX = { shares = { F = 0.47, M = 0.53 } }
//! RSBP = { mean = [150, 165] }
//! RCONSC = { shares = { F = 0.75, D = 0.22, U = 0.03 }, within = 0.02 }
//! ```
//!
//! The same is typed as `SEX:F=0.47,M=0.53` and `RSBP:mean=150..165`.
//!
//! Not here: which levels the log has, hence what the numbers mean there ([`mod@crate::known`]).

use super::declared::DeclaredValue;
use super::{Context, Study};
use seawall::{Error, Kind, Result};
use seawall_table::read::{nearest, split, unquoted};

/// What may be said of a column.
const KEYS: [&str; 5] = ["mean", "sd", "shares", "within", "size"];

/// A number, or the range that it is in: then `low < high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// It is not below this.
    pub low: f64,
    /// It is not above this.
    pub high: f64,
}

impl Span {
    /// The middle, which stands for a range.
    pub fn middle(self) -> f64 {
        if self.low == self.high { self.low } else { 0.5 * self.low + 0.5 * self.high }
    }
}

/// What is said of one column of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownSpec {
    /// The column.
    pub column: String,
    /// Where it is said: what a message about it begins with.
    pub place: String,
    /// Its mean.
    pub mean: Option<Span>,
    /// The standard deviation beside the mean, for what a sample's size leaves open.
    pub sd: Option<f64>,
    /// Shares of levels, as they are written; a level that is not listed is not known.
    pub shares: Vec<(String, Span)>,
    /// Each number may be off by so much.
    pub within: Option<f64>,
    /// From how many people the numbers are; as for the other columns if not said.
    pub size: Option<f64>,
}

/// `[target.known]`
pub(super) fn parse(value: DeclaredValue) -> Result<Vec<KnownSpec>> {
    value.table()?.rest().into_iter().map(|(column, value)| of_column(column, value)).collect()
}

/// `{ mean = ..., shares = { LEVEL = ... }, ... }`
fn of_column(column: String, value: DeclaredValue) -> Result<KnownSpec> {
    let place = value.whole_place();
    let mut table = value.table()?;
    let number = |v: Option<DeclaredValue>| v.map(|v| v.number()).transpose();
    let mean = table.take("mean").map(span).transpose()?;
    let sd = number(table.take("sd"))?;
    let shares = match table.take("shares") {
        None => Vec::new(),
        Some(shares) => {
            let share = |(level, v)| Ok((level, span(v)?));
            shares.table()?.rest().into_iter().map(share).collect::<Result<_>>()?
        }
    };
    let (within, size) = (number(table.take("within"))?, number(table.take("size"))?);
    table.finish(&KEYS)?;
    Ok(KnownSpec { column, place, mean, sd, shares, within, size })
}

/// A number, or `[low, high]`.
fn span(value: DeclaredValue) -> Result<Span> {
    let expected = || value.error("expected a number, or a range [low, high]");
    match value.numbers().map_err(|_| expected())?[..] {
        [x] => Ok(Span { low: x, high: x }),
        [low, high] => Ok(Span { low, high }),
        _ => Err(expected()),
    }
}

/// How many people: `[target] size` and the option.
pub(super) fn size(size: f64) -> std::result::Result<f64, String> {
    if size > 0.0 && size.is_finite() {
        Ok(size)
    } else {
        Err(format!("the size is {size}; expected a number of people > 0"))
    }
}

impl KnownSpec {
    /// As it is typed: `COLUMN:mean=71.4` or `COLUMN:LEVEL=0.47,LEVEL=0.4..0.6`, and then perhaps
    /// `,sd=14`, `,within=0.02` and `,size=300`. What holds one of `:,=`, or a level of such a name,
    /// stands in double quotes.
    pub fn typed(text: &str) -> Result<Self> {
        let place = format!("--target-facts {text}");
        let refused = |what: String| Error::config(format!("{place}: {what}"));
        let expected = "expected COLUMN:mean=NUMBER or COLUMN:LEVEL=SHARE[,LEVEL=SHARE...]";
        if text.matches('"').count() % 2 == 1 {
            return Err(refused("a quote is opened and never closed".to_owned()));
        }
        let name = split(text, ':')[0];
        let Some(said) = text.get(name.len() + 1..) else {
            return Err(refused(expected.to_owned()));
        };
        let (column, shares) = (unquoted(name).0, Vec::new());
        let (mean, sd, within, size) = (None, None, None, None);
        let mut spec = KnownSpec { column, place: place.clone(), mean, sd, shares, within, size };
        for part in split(said, ',') {
            let [key, number] = split(part, '=')[..] else {
                return Err(refused(format!("{part:?}; {expected}")));
            };
            let (key, quoted) = unquoted(key);
            let value = typed_span(number).ok_or_else(|| {
                refused(format!("{key} is {number:?}; expected a number, or a range as 0.4..0.6"))
            })?;
            let one = match key.as_str() {
                "mean" if !quoted => {
                    if spec.mean.replace(value).is_some() {
                        return Err(refused("mean is said twice".to_owned()));
                    }
                    continue;
                }
                "sd" if !quoted => &mut spec.sd,
                "within" if !quoted => &mut spec.within,
                "size" if !quoted => &mut spec.size,
                _ => {
                    spec.shares.push((key, value));
                    continue;
                }
            };
            if value.low != value.high {
                return Err(refused(format!("{key} is {number:?}; expected one number")));
            }
            if one.replace(value.low).is_some() {
                return Err(refused(format!("{key} is said twice")));
            }
        }
        Ok(spec)
    }

    /// An error about what is said.
    pub(crate) fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::config(format!("{}: {what}", self.place))
    }

    /// Refuses what no column can have, whatever the log holds.
    fn check(&self, contexts: &[Context]) -> Result<()> {
        let Some(context) = contexts.iter().find(|c| c.name == self.column) else {
            let all: Vec<&str> = contexts.iter().map(|c| c.name.as_str()).collect();
            let near = nearest(&self.column, &all)
                .map_or(String::new(), |n| format!("; did you mean {n:?}?"));
            let column = &self.column;
            return Err(self.error(format!(
                "{column:?} is not one of the study's context columns{near} (there are: {})",
                all.join(", ")
            )));
        };
        if self.mean.is_none() && self.shares.is_empty() {
            return Err(self.error("expected mean = ... or shares = { LEVEL = ... }"));
        }
        if self.mean.is_some() && context.kind != Kind::Numeric {
            let kind = context.kind.name();
            return Err(self.error(format!(
                "the column is {kind}, and only a numeric one has a mean; give the shares of its \
                 levels"
            )));
        }
        if self.sd.is_some() && self.mean.is_none() {
            return Err(self.error("sd is said without a mean"));
        }
        for (name, x) in [("sd", self.sd), ("within", self.within)] {
            if let Some(x) = x.filter(|x| !(*x >= 0.0 && x.is_finite())) {
                return Err(self.error(format!("{name} is {x}; expected a finite number ≥ 0")));
            }
        }
        self.size.map(size).transpose().map_err(|what| self.error(what))?;
        let mean = self.mean.map(|span| ("the mean".to_owned(), span));
        let share = |(level, span): &(String, Span)| (format!("the share of {level:?}"), *span);
        for (name, Span { low, high }) in mean.iter().cloned().chain(self.shares.iter().map(share))
        {
            if !(low.is_finite() && high.is_finite()) {
                return Err(self.error(format!("{name} is {low}; expected a finite number")));
            }
            if low > high {
                return Err(self.error(format!(
                    "{name} is from {low} to {high}; expected the lower end of a range first"
                )));
            }
        }
        match self.shares.iter().find(|(_, s)| s.low < 0.0 || s.high > 1.0) {
            None => Ok(()),
            Some((level, share)) => {
                let x = if share.low < 0.0 { share.low } else { share.high };
                Err(self
                    .error(format!("the share of {level:?} is {x}; expected a number from 0 to 1")))
            }
        }
    }
}

/// `0.4` or `0.4..0.6`
fn typed_span(text: &str) -> Option<Span> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    Some(Span { low: low.trim().parse().ok()?, high: high.trim().parse().ok()? })
}

/// Refuses what no column can have.
pub(super) fn check(known: &[KnownSpec], contexts: &[Context]) -> Result<()> {
    known.iter().try_for_each(|spec| spec.check(contexts))
}

impl Study {
    /// The same study with more known of its target: what is said of a column replaces what the study
    /// file says of it, and so does the size.
    pub fn with_known(mut self, more: Vec<KnownSpec>, people: Option<f64>) -> Result<Self> {
        let people = people.map(size).transpose();
        let people = people.map_err(|what| Error::config(format!("--target-size: {what}")))?;
        let place = more.first().map(|spec| spec.place.as_str());
        if let (Some(place), Some(path)) = (place, &self.target.path) {
            return Err(Error::config(format!(
                "{place}: the study names a sample of the target ({}), which says more; leave out \
                 one of the two",
                path.display()
            )));
        }
        for (k, spec) in more.iter().enumerate() {
            if more[..k].iter().any(|other| other.column == spec.column) {
                return Err(spec.error(format!("{:?} is said twice", spec.column)));
            }
        }
        check(&more, &self.data.contexts)?;
        self.target.size = people.or(self.target.size);
        let known = &mut self.target.known;
        for spec in more {
            match known.iter_mut().find(|own| own.column == spec.column) {
                Some(own) => *own = spec,
                None => known.push(spec),
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_typed_is_what_is_written() {
        let found =
            KnownSpec::typed("\"a:b\":F=0.4..0.5, \"x=y\"=0.1,\"mean\"=0.2,size=300").unwrap();
        assert_eq!(found.column, "a:b");
        let names: Vec<&str> = found.shares.iter().map(|s| s.0.as_str()).collect();
        assert_eq!(names, ["F", "x=y", "mean"]);
        assert_eq!(found.shares[0].1, Span { low: 0.4, high: 0.5 });
        assert_eq!((found.size, found.mean, found.within), (Some(300.0), None, None));
        let mean = KnownSpec::typed("T:mean=-5..-2.5,sd=1,within=0.1").unwrap();
        assert_eq!(mean.mean, Some(Span { low: -5.0, high: -2.5 }));
        assert_eq!((mean.sd, mean.within), (Some(1.0), Some(0.1)));
        // A level may hold a colon: the first one ends the column's name.
        assert_eq!(KnownSpec::typed("t:10:30=0.5").unwrap().shares[0].0, "10:30");
        for (typed, what) in [
            ("AGE", "expected COLUMN:mean"),
            ("AGE:", "expected COLUMN:mean"),
            ("AGE:mean", "expected COLUMN:mean"),
            ("AGE:mean=old", "mean is \"old\"; expected a number"),
            ("AGE:mean=1,mean=2", "twice"),
            ("AGE:F=0.1,size=2..3", "expected one number"),
            ("AGE:F=0.1,size=2,size=3", "size is said twice"),
            ("AGE:\"F=0.1", "quote"),
        ] {
            let error = KnownSpec::typed(typed).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--target-facts {typed}: ")), "{error}");
            assert!(error.contains(what), "{typed}: {error}");
        }
    }
}
