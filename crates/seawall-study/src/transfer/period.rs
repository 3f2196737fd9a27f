//! Groups that follow each other in time: what their names mean, and the periods that moments are cut
//! into.

use crate::study::Each;
use seawall::{Error, Result};
use seawall_table::read::Moment;

/// What is understood as a time.
const FORMATS: &str =
    "a number, or a time like 2019-11, 2019-Q4, 2019-11-27 or 2019-11-27T10:00:00";

/// The period that a moment is in: `2019`, `2019-Q4`, `2019-11` or `2019-11-27`.
pub(super) fn period(column: &str, text: &str, each: Each) -> Result<String> {
    let moment = moment(text).ok_or_else(|| no_time(column, text))?;
    let (stamp, _) = moment.written();
    let (year, month) = (&stamp[..4], &stamp[5..7]);
    Ok(match each {
        Each::Year => year.to_owned(),
        Each::Quarter => {
            let month: usize = month.parse().map_err(|_| no_time(column, text))?;
            format!("{year}-Q{}", (month - 1) / 3 + 1)
        }
        Each::Month => format!("{year}-{month}"),
        Each::Day => stamp[..10].to_owned(),
    })
}

/// Names in order of time: all numbers, or all times.
pub(super) fn in_time(column: &str, names: Vec<String>) -> Result<Vec<String>> {
    let numbers: Option<Vec<f64>> =
        names.iter().map(|n| n.trim().parse().ok().filter(|x: &f64| x.is_finite())).collect();
    if let Some(numbers) = numbers {
        let mut all: Vec<(f64, String)> = numbers.into_iter().zip(names).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        return Ok(all.into_iter().map(|(_, name)| name).collect());
    }
    let stamped = |name: String| match moment(&name) {
        Some(moment) => Ok((moment.written().0, name)),
        None => Err(no_time(column, &name)),
    };
    let mut all: Vec<(String, String)> = names.into_iter().map(stamped).collect::<Result<_>>()?;
    all.sort();
    Ok(all.into_iter().map(|(_, name)| name).collect())
}

fn no_time(column: &str, text: &str) -> Error {
    Error::input(format!("history: column {column:?}: {text:?} is no time; expected {FORMATS}"))
}

/// A moment, the first day of a month, or of a quarter.
fn moment(text: &str) -> Option<Moment> {
    let text = text.trim();
    let year = || text.get(..4).filter(|y| y.bytes().all(|b| b.is_ascii_digit()));
    if let (Some(year), Some(rest)) = (year(), text.get(4..)) {
        let quarter =
            rest.strip_prefix("-Q").or(rest.strip_prefix('Q')).or(rest.strip_prefix(" Q"));
        if let Some(quarter @ 1..=4) = quarter.and_then(|q| q.parse::<usize>().ok()) {
            return Moment::parse(&format!("{year}-{:02}-01", 3 * quarter - 2));
        }
        if rest.len() == 3 && rest.starts_with('-') {
            return Moment::parse(&format!("{text}-01"));
        }
        if rest.is_empty() {
            return Moment::parse(&format!("{text}-01-01"));
        }
    }
    Moment::parse(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn moments_are_cut_and_put_in_order() {
        let cut = |text, each| period("when", text, each).unwrap();
        assert_eq!(cut("2019-11-27T10:00:00", Each::Quarter), "2019-Q4");
        assert_eq!(cut("2019-11-27", Each::Month), "2019-11");
        assert_eq!(cut("2019-02", Each::Year), "2019");
        let order = |names: &[&str]| {
            in_time("when", names.iter().map(|n| (*n).to_owned()).collect()).unwrap()
        };
        assert_eq!(order(&["10", "9", "2"]), ["2", "9", "10"]);
        assert_eq!(order(&["2020-Q1", "2019-Q4"]), ["2019-Q4", "2020-Q1"]);
        let error = in_time("when", vec!["2019-01".into(), "May".into()]).unwrap_err();
        assert!(error.to_string().contains("\"May\" is no time"), "{error}");
    }
}
