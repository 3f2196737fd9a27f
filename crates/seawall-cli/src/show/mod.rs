//! What people see: tables, words, progress.

pub mod bound;
pub mod check;
pub mod distance;
pub mod evaluate;
pub mod learn;
pub mod radius;
mod shift;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
pub use seawall_study::words::{between, gap, level, number, percent, short};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Says what is being done, on a terminal, once it has taken a second.
pub struct Wait {
    started: Instant,
    bar: Arc<OnceLock<ProgressBar>>,
}

impl Wait {
    /// Starts the clock.
    pub fn new() -> Self {
        Wait { started: Instant::now(), bar: Arc::new(OnceLock::new()) }
    }

    /// Says what is being done by something that reports nothing itself.
    pub fn hold(&self, words: &'static str) {
        let place = Arc::downgrade(&self.bar);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(1));
            if let Some(place) = place.upgrade() {
                place.get_or_init(bar).set_message(words);
            }
        });
    }

    /// Says it; the work is to go on.
    pub fn say(&self, words: impl FnOnce() -> String) -> bool {
        if self.started.elapsed() < Duration::from_secs(1) {
            return true;
        }
        self.bar.get_or_init(bar).set_message(words());
        true
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
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    for column in 1..header.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A name or level for people: on one line, and not too long.
pub fn label(text: &str) -> String {
    const LONGEST: usize = 24;
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    if clean.clone().count() > LONGEST {
        clean.take(LONGEST - 1).chain(['…']).collect()
    } else {
        clean.collect()
    }
}
