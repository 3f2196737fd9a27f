//! What people see: tables, words, progress.

pub mod backtest;
mod balance;
pub mod bound;
pub mod brief;
mod by;
pub mod check;
pub mod compare;
pub mod distance;
pub mod evaluate;
pub mod explain;
pub mod forecast;
pub mod learn;
pub mod radius;
mod shift;
mod terminal;
pub mod transfer;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use seawall::Progress;
pub use seawall_study::words::{
    between, gap, level, limit, number, percent, radius, short, standardised, supported,
};
use seawall_study::words::{commands, printable};
use std::io::Write;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
pub use terminal::{complain, data, one_line, terminal};

/// Says what is being done, on a terminal, once it has taken a second.
pub struct Wait {
    started: Instant,
    bar: OnceLock<ProgressBar>,
    repeated: forecast::Repeated,
}

impl Wait {
    /// Starts the clock.
    pub fn new() -> Self {
        let repeated = forecast::Repeated::default();
        Wait { started: Instant::now(), bar: OnceLock::new(), repeated }
    }

    /// Shows how far work has got; it is to go on.
    pub fn show(&self, progress: Progress<'_>) -> bool {
        self.repeated.look(&progress);
        forecast::overdue(self.started.elapsed(), &progress);
        if self.started.elapsed() >= Duration::from_secs(1) {
            self.bar
                .get_or_init(bar)
                .set_message(printable(&one_line(&progress.to_string())).into_owned());
        }
        true
    }

    /// A function that shows progress, for a watch.
    pub fn follow(&self) -> impl Fn(Progress<'_>) -> bool + Sync {
        |progress| self.show(progress)
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

/// A line under the header and nothing else.
const LINED_HEADER: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// An empty table; every column but the first is aligned to the right.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(LINED_HEADER);
    match terminal_width() {
        Some(width) => {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width);
        }
        None => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    table.set_header(header);
    for column in 1..header.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// How wide the terminal is; None where there is none.
fn terminal_width() -> Option<u16> {
    Table::new().width()
}

/// How wide texts are: as the terminal, but not so wide that lines get lost.
pub fn width() -> usize {
    terminal_width().map_or(80, |w| usize::from(w).min(120))
}

/// A text on lines that fit; later ones are indented.
pub fn wrapped(text: &str, out: &mut dyn Write) -> std::io::Result<()> {
    let room = width();
    let mut line = String::new();
    for word in text.split(' ') {
        let next = line.chars().count() + 1 + word.chars().count();
        if next > room && !line.trim().is_empty() {
            writeln!(out, "{line}")?;
            line = " ".to_owned();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{line}")
}

/// A name or level for people: on one line, and not too long.
pub fn label(text: &str) -> String {
    const LONGEST: usize = 24;
    let plain = |c: char| if c.is_control() || commands(c) { ' ' } else { c };
    let clean = text.chars().map(plain);
    if clean.clone().count() > LONGEST {
        clean.take(LONGEST - 1).chain(['…']).collect()
    } else {
        clean.collect()
    }
}

/// What can be said of the first of two policies, in a word or two.
fn verdict(decision: &seawall_study::evaluate::Decision) -> String {
    use seawall_study::evaluate::Verdict;
    let word = match decision.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Depends => "depends",
        Verdict::Undecided => "undecided",
    };
    let assumed = decision.assumes.is_some() && !decision.is_strict();
    if assumed { format!("{word}, assuming") } else { word.to_owned() }
}

/// An interval, to one digit of its standard error, rounded outwards.
fn ends(interval: Option<(f64, f64)>, se: f64) -> String {
    interval.map_or(String::new(), |(low, high)| {
        format!("({}, {})", limit(low, se, false), limit(high, se, true))
    })
}
