//! Texts that follow the slider: one for each of its stops, told once and shared.
//!
//! Everything is worded here, so that the page's script only puts texts in their places and a
//! number reads the same as in the terminal.

use seawall_study::words::printable;
use serde::Serialize;
use std::collections::HashMap;

/// A place on the page whose text follows the slider.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Live {
    /// Which column of texts it shows.
    id: usize,
    /// What it shows before anybody touches the slider.
    now: String,
}

/// All texts: a list of distinct ones, and for each place which of them it shows at each stop.
#[derive(Debug, Serialize)]
pub(super) struct Texts {
    strings: Vec<String>,
    places: Vec<Vec<usize>>,
    #[serde(skip)]
    known: HashMap<String, usize>,
    #[serde(skip)]
    start: usize,
}

impl Texts {
    /// None yet; the page starts at this stop.
    pub(super) fn new(start: usize) -> Self {
        Texts { strings: Vec::new(), places: Vec::new(), known: HashMap::new(), start }
    }

    /// A place that shows these texts, one for each stop.
    pub(super) fn add(&mut self, texts: impl IntoIterator<Item = String>) -> Live {
        let texts: Vec<usize> = texts.into_iter().map(|text| self.index_of(text)).collect();
        let now = texts.get(self.start).map_or(String::new(), |&k| self.strings[k].clone());
        self.places.push(texts);
        Live { id: self.places.len() - 1, now }
    }

    fn index_of(&mut self, text: String) -> usize {
        let text = printable(&text).into_owned();
        let next = self.strings.len();
        let strings = &mut self.strings;
        *self.known.entry(text).or_insert_with_key(|text| {
            strings.push(text.clone());
            next
        })
    }
}
