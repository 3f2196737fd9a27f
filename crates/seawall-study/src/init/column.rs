//! What a column holds: its values, its kind as a context, and why it cannot be one.

use super::words::{number, short, shown};
use seawall_table::read::{Bins, Distinct, Moment};

/// A column of text with more levels than this is taken for names.
pub(super) const LEVELS: usize = 50;
/// A column of whole numbers with no more than these is taken for levels.
const FEW: usize = 12;
/// Bins aimed at.
const BINS: f64 = 10.0;
/// Floats beyond this are all whole.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// With fewer values than this, whole numbers that all differ may do so by chance.
const BY_CHANCE: usize = 20;

/// A column and what it was seen to hold.
pub(super) struct Column {
    /// Its name.
    pub(super) name: String,
    /// Its values.
    pub(super) distinct: Distinct,
    /// Each row's value, for the rows kept.
    pub(super) codes: Vec<u32>,
    /// The numbers it holds in order, if it holds nothing else.
    numbers: Option<Vec<f64>>,
    /// By code: whether it is none.
    lacking: Vec<bool>,
    /// Whether no two rows have the same value.
    all_differ: bool,
}

/// What a context column is taken for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ColumnKind {
    Ordinal,
    Nominal,
    Numeric { bin: Option<f64> },
}

impl Column {
    pub(super) fn new(name: String, distinct: Distinct, codes: Vec<u32>) -> Self {
        let numbers = numbers(&distinct);
        let lacks = |code: usize| match numbers {
            Some(_) => distinct.is_missing_number(code),
            None => distinct.is_missing(code),
        };
        let lacking = (0..distinct.len()).map(lacks).collect();
        let mut column = Column { name, distinct, codes, numbers, lacking, all_differ: false };
        let mut seen = vec![false; column.distinct.len()];
        column.all_differ = column
            .codes
            .iter()
            .filter(|&&code| !column.lacks(code))
            .all(|&code| !std::mem::replace(&mut seen[code as usize], true));
        column
    }

    /// The numbers it holds in order, if it holds nothing else.
    pub(super) fn numbers(&self) -> Option<&[f64]> {
        self.numbers.as_deref()
    }

    /// Whether a value is none: of numbers `NA` is none too.
    pub(super) fn lacks(&self, code: u32) -> bool {
        self.lacking[code as usize]
    }

    /// Whether some of its values are missing.
    pub(super) fn missing(&self) -> bool {
        self.lacking.contains(&true)
    }

    /// Its values but missing ones: numbers in their order, texts in theirs.
    pub(super) fn levels(&self) -> Vec<&str> {
        let mut codes: Vec<usize> =
            (0..self.distinct.len()).filter(|&code| !self.lacks(code as u32)).collect();
        let text = |code: usize| self.distinct.text(code).map(String::as_str).unwrap_or_default();
        match self.numbers {
            Some(_) => codes.sort_by(|&a, &b| {
                let number = |code: usize| self.distinct.number(code).unwrap_or(f64::NAN);
                number(a).total_cmp(&number(b))
            }),
            None => codes.sort_by_key(|&code| text(code)),
        }
        codes.into_iter().map(text).collect()
    }

    /// How many values it has but missing ones.
    pub(super) fn count(&self) -> usize {
        self.lacking.iter().filter(|lacks| !**lacks).count()
    }

    /// The actions that it names: not `NA`, which is how a missing one is written.
    pub(super) fn actions(&self) -> Vec<&str> {
        let unknown = self.unknown_actions();
        self.levels().into_iter().filter(|level| !unknown.contains(level)).collect()
    }

    /// How missing actions are written where they are, for a study takes them for levels.
    pub(super) fn unknown_actions(&self) -> Vec<&str> {
        let codes = (0..self.distinct.len()).filter(|&c| self.distinct.is_missing_number(c));
        codes.filter_map(|code| self.distinct.text(code)).map(String::as_str).collect()
    }

    fn whole(&self) -> bool {
        self.numbers().is_some_and(|all| all.iter().all(|x| x.fract() == 0.0 && x.abs() < EXACT))
    }

    /// Whether some of its numbers are no whole ones.
    pub(super) fn is_fraction(&self) -> bool {
        self.numbers.is_some() && !self.whole()
    }

    /// Why it is a number or a name of record, if it is one.
    pub(super) fn id(&self) -> Option<String> {
        let (count, rows) = (self.count(), self.codes.len());
        if count <= 2 {
            return None;
        }
        let named = names_a_record(&self.name);
        let (text, whole) = (self.numbers.is_none(), self.whole());
        if self.all_differ && (text || (whole && (named || count >= BY_CHANCE))) {
            return Some(format!("an id: no two rows have the same ({})", self.seen()));
        }
        (named && count > LEVELS)
            .then(|| format!("an id by its name, with {count} values in {rows} rows"))
    }

    /// Why no population can differ in it, if none can: it is constant, a record's name or a time.
    pub(super) fn unfit(&self) -> Option<String> {
        match self.count() {
            0 => return Some("always missing".to_owned()),
            1 if !self.missing() => return Some(format!("always {}", self.seen())),
            _ => {}
        }
        if let Some(why) = self.times() {
            return Some(why);
        }
        if let Some(why) = self.id() {
            return Some(why);
        }
        let count = self.count();
        (self.numbers.is_none() && count > LEVELS).then(|| {
            let odd = self.odd_one().map_or(String::new(), |text| {
                format!(" (numbers but for {:?}, say: empty cells would be missing ones)", text)
            });
            format!("{count} texts, too many to be levels{odd}")
        })
    }

    /// Why it holds dates or times, if most of its values are some.
    fn times(&self) -> Option<String> {
        if self.numbers.is_some() {
            return None;
        }
        let levels = self.levels();
        let times = levels.iter().filter(|text| is_time(text)).count();
        let end = |level: Option<&&str>| short(level.copied().unwrap_or_default());
        (2 * times > levels.len()).then(|| {
            format!("dates or times, from {} to {}", end(levels.first()), end(levels.last()))
        })
    }

    /// A text among what are mostly numbers.
    fn odd_one(&self) -> Option<String> {
        let levels = (0..self.distinct.len()).filter(|&code| !self.distinct.is_missing(code));
        let (numbers, texts): (Vec<usize>, Vec<usize>) =
            levels.partition(|&code| self.distinct.number(code).is_some());
        let text = self.distinct.text(*texts.first()?)?;
        (texts.len() * 4 < numbers.len()).then(|| short(text))
    }

    /// Its kind as a context.
    pub(super) fn kind(&self) -> ColumnKind {
        let Some(numbers) = self.numbers() else { return ColumnKind::Nominal };
        // The numbers of places and items are names.
        if numbers.len() <= 2 || (names_a_record(&self.name) && numbers.len() <= LEVELS) {
            return ColumnKind::Nominal;
        }
        if numbers.len() > FEW {
            let width = round((numbers[numbers.len() - 1] - numbers[0]) / BINS);
            return ColumnKind::Numeric { bin: Some(width).filter(|w| w.is_finite() && *w > 0.0) };
        }
        // Ranks are evenly spaced; 0, 1, 2 and 15 are a count, whose distances matter.
        if self.whole() && evenly_spaced(numbers) {
            ColumnKind::Ordinal
        } else {
            ColumnKind::Numeric { bin: None }
        }
    }

    /// Whether its values may be missing once it is read as a kind: the levels of a nominal column
    /// may well be called `NA`.
    pub(super) fn missing_as(&self, kind: ColumnKind) -> bool {
        match kind {
            ColumnKind::Nominal => {
                (0..self.distinct.len()).any(|code| self.distinct.is_missing(code))
            }
            _ => self.missing(),
        }
    }

    /// By code, which level or bin it is as a kind; missing values are one.
    pub(super) fn cells(&self, kind: ColumnKind) -> Vec<u32> {
        let ColumnKind::Numeric { bin: Some(width) } = kind else {
            return (0..self.distinct.len() as u32).collect();
        };
        let bins = Bins::new(width, (f64::NEG_INFINITY, f64::INFINITY));
        let low = self.numbers().map_or(0.0, |all| bins.bin(all[0], None));
        let bin = |code: usize| {
            let x = self.distinct.number(code)?;
            Some((bins.bin(x, self.distinct.decimal(code)) - low + 1.0).max(0.0) as u32)
        };
        (0..self.distinct.len()).map(|code| bin(code).unwrap_or(u32::MAX)).collect()
    }

    /// How many levels or bins it has as a kind, a missing one among them.
    pub(super) fn width(&self, kind: ColumnKind) -> f64 {
        let mut cells = self.cells(kind);
        cells.sort_unstable();
        cells.dedup();
        cells.len() as f64
    }

    /// What was seen, for a comment.
    pub(super) fn seen(&self) -> String {
        let missing = if self.missing() { ", some missing" } else { "" };
        match self.numbers() {
            Some(numbers) if numbers.len() > FEW => {
                let (low, high) = (number(numbers[0]), number(numbers[numbers.len() - 1]));
                format!("{} numbers from {low} to {high}{missing}", numbers.len())
            }
            _ => {
                let levels = self.levels();
                let some: Vec<String> = levels.iter().take(5).map(|t| short(t)).collect();
                let more = match levels.len() {
                    ..=5 => String::new(),
                    all => format!(", … {all} in all"),
                };
                format!("{}{more}{missing}", some.join(", "))
            }
        }
    }

    /// Its name and what was seen, for a list of columns to choose from.
    pub(super) fn offered(&self) -> String {
        let seen = match self.numbers() {
            Some(numbers) if numbers.len() > FEW => self.seen(),
            _ => {
                let levels = self.levels();
                let some: Vec<String> = levels.iter().take(4).map(|t| short(t)).collect();
                let more = if levels.len() > 4 { ", …" } else { "" };
                let s = if levels.len() == 1 { "" } else { "s" };
                format!("{} value{s}: {}{more}", levels.len(), some.join(", "))
            }
        };
        format!("{} ({seen})", shown(&self.name))
    }
}

/// The numbers of a column in order, if it holds nothing else.
fn numbers(distinct: &Distinct) -> Option<Vec<f64>> {
    let present = (0..distinct.len()).filter(|&code| !distinct.is_missing_number(code));
    let number = |code: usize| distinct.number(code).filter(|x| x.is_finite());
    let mut numbers: Vec<f64> = present.map(number).collect::<Option<_>>()?;
    numbers.sort_unstable_by(f64::total_cmp);
    Some(numbers).filter(|numbers| !numbers.is_empty())
}

fn evenly_spaced(numbers: &[f64]) -> bool {
    numbers.windows(3).all(|w| (w[1] - w[0] - (w[2] - w[1])).abs() <= 1e-9 * (w[2] - w[0]))
}

/// Whether a name says that the column numbers or names records.
pub(super) fn names_a_record(name: &str) -> bool {
    let lower = name.trim().to_lowercase();
    let usual = ["id", "index", "rownames", "row_names", "unnamed: 0", ""];
    let ended = |end: &str| lower.strip_suffix(end).is_some_and(|rest| !rest.is_empty());
    // patientID and userId, but not paid or COVID.
    let camel = ["ID", "Id"]
        .iter()
        .any(|end| name.strip_suffix(end).is_some_and(|rest| rest.ends_with(char::is_lowercase)));
    usual.contains(&lower.as_str())
        || ["_id", ".id", "-id", " id"].iter().any(|end| ended(end))
        || lower.starts_with("id_")
        || camel
}

/// Whether a text is a date or a time: as ISO writes them, or as 27/11/2019, 27.11.19 and Nov-91.
fn is_time(text: &str) -> bool {
    let day = text.split([' ', 'T']).next().unwrap_or(text);
    let one_separator = ['/', '.', '-'].iter().filter(|c| day.contains(**c)).count() == 1;
    let parts: Vec<&str> = day.split(['/', '.', '-']).collect();
    let digits = |part: &&&str| {
        (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let numbers = parts.iter().filter(digits).count();
    let months = parts.iter().filter(|part| is_month(part)).count();
    let spelled = match (numbers, months) {
        (3, 0) | (1 | 2, 1) => one_separator && parts.len() == numbers + months,
        _ => false,
    };
    Moment::parse(text).is_some() || spelled
}

fn is_month(text: &str) -> bool {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let text = text.to_lowercase();
    text.len() >= 3 && MONTHS.iter().any(|month| month.starts_with(&text))
}

/// A round number near another: 1, 2 or 5 times a power of ten.
fn round(x: f64) -> f64 {
    let exponent = x.log10().floor();
    let first = x / 10f64.powf(exponent);
    let digit = match first {
        ..1.5 => 1,
        ..3.5 => 2,
        ..7.5 => 5,
        _ => 10,
    };
    // Through text, so that 3 × 0.1 is written 0.3.
    format!("{digit}e{exponent}").parse().unwrap_or(x)
}
