//! A study file for a data file: kinds guessed from what the columns hold, with the reasons in
//! comments. A guess is there to be corrected; what cannot be guessed is said to be one.

use crate::read::{Distinct, Reading, Stream, columns, files};
use seawall::{Error, Result};
use std::path::Path;

/// Rows looked at.
const ROWS: usize = 100_000;
/// A column of text with more levels than this is taken for a name or a number of record.
const LEVELS: usize = 50;
/// A column of whole numbers with no more than these is taken for levels.
const FEW: usize = 12;
/// Bins aimed at.
const BINS: f64 = 10.0;

const ACTIONS: [&str; 9] =
    ["action", "arm", "treatment", "treat", "item_id", "item", "variant", "drug", "group"];
const REWARDS: [&str; 8] =
    ["reward", "click", "clicked", "conversion", "converted", "revenue", "sale", "profit"];
const COSTS: [&str; 10] =
    ["cost", "loss", "outcome", "y", "dead", "died", "death", "event", "events", "response"];
const PROPENSITIES: [&str; 6] =
    ["propensity", "propensity_score", "pscore", "action_prob", "prob", "action_probability"];
const WEIGHTS: [&str; 4] = ["count", "freq", "frequency", "row_count"];

/// A column and what it was seen to hold.
struct Column {
    name: String,
    distinct: Distinct,
    rows: usize,
}

/// What a column is taken for.
enum Guess {
    Ordinal,
    Nominal,
    Numeric { bin: Option<f64> },
    Constant,
    Name,
}

impl Column {
    fn missing(&self) -> bool {
        let numeric = self.numbers().is_some();
        (0..self.distinct.len()).any(|c| match numeric {
            true => self.distinct.is_missing_number(c),
            false => self.distinct.is_missing(c),
        })
    }

    fn texts(&self) -> Vec<&str> {
        let texts = (0..self.distinct.len()).filter_map(|c| self.distinct.text(c));
        texts.map(String::as_str).collect()
    }

    /// The numbers it holds, if it holds nothing else.
    fn numbers(&self) -> Option<Vec<f64>> {
        let present = (0..self.distinct.len()).filter(|&c| !self.distinct.is_missing_number(c));
        let numbers: Option<Vec<f64>> =
            present.map(|c| self.distinct.number(c).filter(|x| x.is_finite())).collect();
        numbers.filter(|numbers| !numbers.is_empty())
    }

    fn guess(&self) -> Guess {
        let levels = self.texts().len();
        if self.distinct.len() < 2 {
            return Guess::Constant;
        }
        match self.numbers() {
            Some(numbers) => {
                let whole = numbers.iter().all(|x| x.fract() == 0.0);
                let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
                let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                match levels {
                    ..=2 => Guess::Nominal,
                    // As many numbers as rows, one after the other: a number of record.
                    _ if whole && levels == self.rows && high - low < 1.5 * self.rows as f64 => {
                        Guess::Name
                    }
                    _ if whole && levels <= FEW => Guess::Ordinal,
                    _ if levels <= FEW => Guess::Numeric { bin: None },
                    _ => Guess::Numeric { bin: Some(round((high - low) / BINS)) },
                }
            }
            None if levels <= LEVELS => Guess::Nominal,
            None => Guess::Name,
        }
    }

    /// What was seen, for a comment.
    fn seen(&self) -> String {
        let missing = if self.missing() { ", some missing" } else { "" };
        match self.numbers() {
            Some(numbers) if numbers.len() > FEW => {
                let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
                let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                format!("{} numbers from {low} to {high}{missing}", numbers.len())
            }
            _ => {
                let texts = self.texts();
                let some: Vec<String> = texts.iter().take(5).map(|t| short(t)).collect();
                let more = if texts.len() > 5 {
                    format!(", … {} in all", texts.len())
                } else {
                    String::new()
                };
                format!("{}{more}{missing}", some.join(", "))
            }
        }
    }
}

/// A text on one line of a comment.
fn short(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() > 20 { text.chars().take(19).chain(['…']).collect() } else { text }
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

/// A study file for a data file; `shown` is the data's path as the study file will say it.
pub fn init(data: &Path, shown: &str) -> Result<String> {
    let files = files(data)?;
    let names = columns(&files[0])?;
    let readings = vec![Reading::Values; names.len()];
    let mut stream = Stream::new(names.clone(), readings).first(ROWS).lenient();
    let mut rows = 0;
    for file in &files {
        stream.read(file, &mut |columns| {
            rows += columns.rows;
            Ok(())
        })?;
    }
    let (mut all, mut left_out) = (Vec::new(), Vec::new());
    for (name, found) in names.into_iter().zip(stream.into_readable()) {
        match found {
            Ok(distinct) => all.push(Column { name, distinct, rows: rows.min(ROWS) }),
            Err(why) => left_out.push((name, why)),
        }
    }
    let roles = Roles::guess(&all)?;
    Ok(written(&all, &left_out, &roles, shown, rows))
}

/// Which columns are not contexts.
struct Roles {
    action: usize,
    outcome: usize,
    reward: bool,
    propensity: Option<usize>,
    weight: Option<usize>,
    /// Whether the action and the outcome have names that say so.
    named: (bool, bool),
}

impl Roles {
    fn guess(all: &[Column]) -> Result<Self> {
        let by_name = |names: &[&str], fits: &dyn Fn(&Column) -> bool| {
            names
                .iter()
                .find_map(|name| all.iter().position(|c| c.name.to_lowercase() == *name && fits(c)))
        };
        let few =
            |c: &Column| (2..=1000).contains(&c.texts().len()) && !matches!(c.guess(), Guess::Name);
        let propensity = by_name(&PROPENSITIES, &|c| {
            c.numbers().is_some_and(|n| n.iter().all(|p| *p > 0.0 && *p <= 1.0))
        });
        let weight =
            by_name(&WEIGHTS, &|c| c.numbers().is_some_and(|n| n.iter().all(|w| *w >= 0.0)));
        let named_action = by_name(&ACTIONS, &few);
        let free = |at: usize| Some(at) != propensity && Some(at) != weight;
        let action = named_action.or_else(|| {
            (0..all.len()).find(|&k| free(k) && few(&all[k]) && all[k].texts().len() <= LEVELS)
        });
        let action = action.ok_or_else(|| {
            Error::input("no column could be the action: none has between 2 and 1000 values")
        })?;
        let usable = |c: &Column| c.numbers().is_some() || (2..=LEVELS).contains(&c.texts().len());
        let reward = by_name(&REWARDS, &usable).filter(|&k| k != action);
        let cost = by_name(&COSTS, &usable).filter(|&k| k != action);
        let last = || {
            let fits = |k: &usize| {
                *k != action && free(*k) && usable(&all[*k]) && all[*k].distinct.len() > 1
            };
            (0..all.len()).rev().find(fits)
        };
        let outcome = reward.or(cost).or_else(last).ok_or_else(|| {
            Error::input(
                "no column could be the outcome: none but the action holds numbers or a few levels",
            )
        })?;
        Ok(Roles {
            action,
            outcome,
            reward: reward.is_some(),
            propensity,
            weight,
            named: (named_action.is_some(), reward.or(cost).is_some()),
        })
    }

    fn takes(&self, column: usize) -> bool {
        [Some(self.action), Some(self.outcome), self.propensity, self.weight]
            .contains(&Some(column))
    }
}

fn quoted(text: &str) -> String {
    // JSON's escapes are TOML's too, and stay on one line.
    serde_json::Value::String(text.to_owned()).to_string()
}

/// A bare key where TOML allows one.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

fn written(
    all: &[Column],
    left_out: &[(String, String)],
    roles: &Roles,
    shown: &str,
    rows: usize,
) -> String {
    let mut text = String::new();
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    let looked =
        if rows > ROWS { format!(" (the first {ROWS} of them looked at)") } else { String::new() };
    line(format!(
        "# A study of {}, {rows} rows{looked}. Every choice below is a guess from what the",
        short(shown)
    ));
    line(
        "# columns hold: correct it, then run `seawall check` and `seawall evaluate` on this file."
            .to_owned(),
    );
    line("\n[data]".to_owned());
    line(format!("path = {}", quoted(shown)));
    if all[roles.outcome].missing() {
        let name = key(&all[roles.outcome].name);
        line(format!(
            "where = {{ {name} = {{ missing = false }} }}   # the outcome is not always known"
        ));
    } else {
        line("# where = { COLUMN = { not = \"...\" } }   # rows to keep: a value, a list, not, min, max, missing".to_owned());
    }
    if let Some(weight) = roles.weight {
        line(format!(
            "weight = {}   # a guess: how many rows each row stands for",
            quoted(&all[weight].name)
        ));
    }
    line("\n[context]   # what may differ in another population; a move's cost follows from the kind".to_owned());
    let mut cells = 1.0;
    let mut any = false;
    let free = all.iter().enumerate().filter(|(at, _)| !roles.takes(*at));
    for column in free.map(|(_, column)| column) {
        let missing = if column.missing() { ", missing = true" } else { "" };
        let extra = f64::from(u8::from(column.missing()));
        let (kind, levels) = match column.guess() {
            Guess::Ordinal => ("kind = \"ordinal\"".to_owned(), column.texts().len() as f64),
            Guess::Nominal => ("kind = \"nominal\"".to_owned(), column.texts().len() as f64),
            Guess::Numeric { bin: None } => {
                ("kind = \"numeric\"".to_owned(), column.texts().len() as f64)
            }
            Guess::Numeric { bin: Some(bin) } => {
                (format!("kind = \"numeric\", bin = {bin}"), BINS + 1.0)
            }
            Guess::Constant => {
                line(format!("# {}: always the same", short(&column.name)));
                continue;
            }
            Guess::Name => {
                line(format!(
                    "# {}: {}; too many to be levels",
                    short(&column.name),
                    column.seen()
                ));
                continue;
            }
        };
        any = true;
        cells *= levels + extra;
        line(format!("{} = {{ {kind}{missing} }}   # {}", key(&column.name), column.seen()));
    }
    for (name, why) in left_out {
        line(format!("# {}: left out: {why}", short(name)));
    }
    if !any {
        line("# No column looks like a context: add one, for example\n# age = { kind = \"numeric\", bin = 10 }".to_owned());
    } else {
        line(format!(
            "# These make about {cells:.0} cells; bin more coarsely or leave columns out if that is too many."
        ));
    }
    line("# Kinds: numeric (squared difference), ordinal (levels in order: give levels = [...] for text),".to_owned());
    line("# nominal (any change costs the same), fixed (may not change).".to_owned());
    let guess = |named: bool| if named { "" } else { "   # a guess: no column's name says so" };
    line("\n[action]".to_owned());
    line(format!("column = {}{}", quoted(&all[roles.action].name), guess(roles.named.0)));
    if let Some(propensity) = roles.propensity {
        line(format!(
            "propensity = {}   # with which probability the action was taken",
            quoted(&all[propensity].name)
        ));
    }
    line("\n# [propensity]   # left out: the column above, else shares in each context".to_owned());
    line(
        "# design = { ... = 0.5 }   # a trial's own probabilities; or estimate = \"logistic\""
            .to_owned(),
    );
    line("\n[outcome]   # cost: lower is better; reward: higher is better".to_owned());
    let outcome = &all[roles.outcome];
    let word = if roles.reward { "reward" } else { "cost" };
    if outcome.numbers().is_some() {
        line(format!("{word} = {}{}", quoted(&outcome.name), guess(roles.named.1)));
    } else {
        let texts = outcome.texts();
        let bad = texts
            .iter()
            .find(|t| ["y", "yes", "true", "dead"].contains(&t.to_lowercase().as_str()));
        let level = bad.or(texts.first()).copied().unwrap_or_default();
        line(format!(
            "{word} = {{ {} = {{ {} = 1 }} }}{}   # a number for each level, 0 for others: {}",
            key(&outcome.name),
            key(level),
            guess(roles.named.1),
            outcome.seen()
        ));
    }
    line("\n[model]\nkind = \"tree\"            # or \"cells\", or \"table\" with your own predictions\nmax_depth = [2, 3, 4]    # chosen by cross-validation\nmin_samples_leaf = 20".to_owned());
    line("\n[policy]\nkind = \"uniform\"         # what to evaluate; see also --policy".to_owned());
    line("\n[robust]                 # how far the other population may be\ncontext = { set = \"wasserstein\", radius = [0.01, 0.03, 0.1] }".to_owned());
    text
}
