//! One record of a CSV file, taken apart.

use memchr::{memchr, memchr_iter, memchr2};
use std::ops::Range;

/// Where a reader is in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Before the first letter of a field.
    Start,
    /// In a field that no quote opened: quotes in it are text.
    Field,
    /// In a field that a quote opened.
    Quoted,
    /// After a quote in such a field: its end, or half of a doubled quote.
    Closing,
}

impl State {
    #[inline]
    pub(super) fn after(self, byte: u8, delimiter: u8) -> Self {
        match (self, byte) {
            (State::Quoted, b'"') => State::Closing,
            (State::Quoted, _) => State::Quoted,
            (State::Start | State::Closing, b'"') => State::Quoted,
            (_, b'\n' | b'\r') => State::Start,
            _ if byte == delimiter => State::Start,
            _ => State::Field,
        }
    }
}

/// The fields of one record: pieces of the block, or of what was left of a quoted one.
#[derive(Default)]
pub(super) struct Fields {
    pieces: Vec<(Range<usize>, bool)>,
    unquoted: Vec<u8>,
    /// Whether the line is blank.
    pub(super) blank: bool,
}

impl Fields {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    #[inline]
    pub(super) fn get<'a>(&'a self, block: &'a [u8], field: usize) -> &'a [u8] {
        let (range, unquoted) = &self.pieces[field];
        if *unquoted { &self.unquoted[range.clone()] } else { &block[range.clone()] }
    }

    /// Takes the record apart that begins at `from`; where the next one begins.
    pub(super) fn record(&mut self, block: &[u8], from: usize, delimiter: u8) -> usize {
        self.pieces.clear();
        self.unquoted.clear();
        let rest = &block[from..];
        let end = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        self.blank = line.is_empty();
        if self.blank {
            return from + after_line(rest, end);
        }
        if memchr(b'"', line).is_some() {
            return self.quoted(block, from, delimiter);
        }
        let mut start = from;
        for at in memchr_iter(delimiter, line) {
            self.pieces.push((start..from + at, false));
            start = from + at + 1;
        }
        self.pieces.push((start..from + end, false));
        from + after_line(rest, end)
    }

    /// The same of a record with quotes, letter by letter.
    fn quoted(&mut self, block: &[u8], from: usize, delimiter: u8) -> usize {
        let (mut state, mut start) = (State::Start, 0);
        let rest = &block[from..];
        for (at, &byte) in rest.iter().enumerate() {
            let before = state;
            state = state.after(byte, delimiter);
            match (before, state) {
                // A quote that opens or may close.
                (State::Start, State::Quoted) | (State::Quoted, State::Closing) => {}
                (_, State::Start) => {
                    self.pieces.push((start..self.unquoted.len(), true));
                    start = self.unquoted.len();
                    if byte != delimiter {
                        return from + after_line(rest, at);
                    }
                }
                _ => self.unquoted.push(byte),
            }
        }
        self.pieces.push((start..self.unquoted.len(), true));
        block.len()
    }
}

/// Where the line begins after one that ends at `end`.
fn after_line(rest: &[u8], end: usize) -> usize {
    match rest.get(end..) {
        Some([b'\r', b'\n', ..]) => end + 2,
        Some([_, ..]) => end + 1,
        _ => end,
    }
}
