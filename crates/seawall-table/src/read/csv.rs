//! CSV on all cores: a file is cut into blocks of whole records, blocks are taken apart at the same
//! time, and their rows are passed on in the file's order, while further blocks are read.
//!
//! - Where blocks end depends on the bytes alone, so neither rows nor messages depend on how many
//!   threads there are.
//! - A field that nobody asked for is passed over: neither kept nor looked at.
//! - A quote opens a field at its start only; one inside is a letter; a doubled one in a quoted field
//!   is one. Lines end in `\n`, `\r` or both. An empty field is a missing value.
//! - A blank line is no row, but in a file of one column it is a row without a value.
//!
//! Not here: what the texts mean.

use super::guard::guarded;
use super::record::{Fields, State};
use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use memchr::{memchr, memrchr};
use rayon::prelude::*;
use std::io::{BufRead, Read, Result};
use std::sync::Arc;

/// A header longer than this is no header.
const LONGEST: u64 = 1 << 20;
/// Bytes of a block, more if a record is longer.
const BLOCK: usize = 1 << 20;
/// A record longer than this is none; a column of a block of them can still be counted in 32 bits.
const LONGEST_RECORD: usize = 1 << 30;
/// What is said of a quote without an end.
pub(super) const OPEN_QUOTE: &str = "a quote (\") is opened and never closed";
/// What is said of a record without an end.
const TOO_LONG: &str = "a record is longer than 1 GiB";

/// The separator of a file that should have commas: where its header has none, a semicolon or a
/// tab, whichever there are more of.
pub(super) fn separator(reader: impl BufRead) -> Result<u8> {
    let (mut commas, mut semicolons, mut tabs) = (0, 0, 0);
    let (mut quoted, mut begun) = (false, false);
    for byte in reader.take(LONGEST).bytes() {
        match byte? {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'\n' | b'\r' if begun => break,
            b'\n' | b'\r' => continue,
            b',' => commas += 1,
            b';' => semicolons += 1,
            b'\t' => tabs += 1,
            _ => {}
        }
        begun = true;
    }
    Ok(match (commas, semicolons, tabs) {
        (0, 0, 0) | (1.., _, _) => b',',
        _ if semicolons >= tabs => b';',
        _ => b'\t',
    })
}

/// The names in a file's first record.
pub(super) fn header(
    reader: impl BufRead,
    delimiter: u8,
) -> std::result::Result<Vec<String>, String> {
    let mut blocks = Blocks::new(reader, delimiter, BLOCK);
    let block = match blocks.next().map_err(|e| e.to_string())? {
        Some(block) => block,
        None => return Err("the file has no header".to_owned()),
    };
    let (mut fields, mut at) = (Fields::default(), 0);
    while at < block.len() {
        at = fields.record(&block, at, delimiter);
        if !fields.blank {
            let name = |k: usize| {
                let text = std::str::from_utf8(fields.get(&block, k));
                text.map(str::to_owned)
                    .map_err(|_| format!("the name of column {} is not UTF-8", k + 1))
            };
            return (0..fields.len()).map(name).collect();
        }
    }
    Err("the file has no header".to_owned())
}

/// How a file's records are read.
pub(super) struct Layout {
    pub(super) delimiter: u8,
    /// How many fields a record has.
    pub(super) columns: usize,
    /// The columns wanted, each once, in the file's order.
    pub(super) wanted: Vec<usize>,
}

/// The rows of a block: the columns wanted, and what stopped the reading if anything did.
pub(super) struct Rows {
    /// Texts, none where a field is empty.
    pub(super) columns: Vec<ArrayRef>,
    pub(super) rows: usize,
    /// What is wrong with the row after the last one.
    fault: Option<Fault>,
}

/// What is wrong with a row.
enum Fault {
    /// It has another number of fields.
    Fields(String),
    /// A field of this column, one of the file's, is no text.
    NoText(usize),
}

/// Why a file was not read to its end.
pub(super) enum Stopped<E> {
    /// Its bytes are not what they should be.
    Broken(String),
    /// So many rows in, one has another number of fields.
    Row(usize, String),
    /// So many rows in, a field of a column is no text.
    NoText(usize, usize),
    /// Whoever takes the rows wants no more.
    Refused(E),
}

/// Blocks read together, and what ended the reading if anything did.
#[derive(Default)]
struct Group {
    blocks: Vec<Vec<u8>>,
    broken: Option<String>,
}

/// Passes a file's rows on, block after block: some blocks are read while those before them are taken
/// apart and the rows of those before these are counted.
pub(super) fn read<E>(
    reader: impl BufRead + Send,
    layout: &Layout,
    take: &mut dyn FnMut(Rows) -> std::result::Result<(), E>,
) -> std::result::Result<(), Stopped<E>> {
    let mut blocks = Blocks::new(reader, layout.delimiter, BLOCK);
    // A block more than threads, so that none waits.
    let most = rayon::current_num_threads() + 1;
    let mut taker = Taker { take, rows: 0 };
    let (mut group, mut begun) = (blocks.group(most), false);
    let mut ready: Vec<Rows> = Vec::new();
    loop {
        let (mut after, mut parsed) = (Group::default(), Vec::new());
        let ended = group.blocks.len() < most;
        rayon::in_place_scope(|scope| {
            let (blocks, after, parsed, current) = (&mut blocks, &mut after, &mut parsed, &group);
            if !ended {
                scope.spawn(move |_| *after = blocks.group(most));
            }
            scope.spawn(move |_| {
                let parse = |(k, block): (usize, &Vec<u8>)| {
                    let parsed = guarded(|| rows(block, layout, !begun && k == 0));
                    let broken =
                        |what| Rows { columns: vec![], rows: 0, fault: Some(Fault::Fields(what)) };
                    parsed.unwrap_or_else(broken)
                };
                current.blocks.par_iter().enumerate().map(parse).collect_into_vec(parsed);
            });
            std::mem::take(&mut ready).into_iter().try_for_each(|rows| taker.pass(rows))
        })?;
        begun = true;
        ready = parsed;
        if ended {
            // What cannot be read is said after the rows before it.
            ready.into_iter().try_for_each(|rows| taker.pass(rows))?;
            return group.broken.map_or(Ok(()), |what| Err(Stopped::Broken(what)));
        }
        group = after;
    }
}

/// Who takes the rows, and how many there were.
struct Taker<'t, E> {
    take: &'t mut dyn FnMut(Rows) -> std::result::Result<(), E>,
    rows: usize,
}

impl<E> Taker<'_, E> {
    /// Passes on the rows of a block, then what is wrong after them.
    fn pass(&mut self, mut rows: Rows) -> std::result::Result<(), Stopped<E>> {
        let (fault, count) = (rows.fault.take(), rows.rows);
        if count > 0 {
            (self.take)(rows).map_err(Stopped::Refused)?;
        }
        self.rows += count;
        match fault {
            None => Ok(()),
            Some(Fault::Fields(what)) => Err(Stopped::Row(self.rows, what)),
            Some(Fault::NoText(column)) => Err(Stopped::NoText(self.rows, column)),
        }
    }
}

/// A file cut into blocks that end where a record ends.
struct Blocks<R> {
    reader: R,
    delimiter: u8,
    size: usize,
    /// What was read after the last block's end.
    rest: Vec<u8>,
    begun: bool,
    ended: bool,
}

impl<R: BufRead> Blocks<R> {
    fn new(reader: R, delimiter: u8, size: usize) -> Self {
        Blocks { reader, delimiter, size, rest: Vec::new(), begun: false, ended: false }
    }

    /// The next blocks, so many unless the file ends before or cannot be read on.
    fn group(&mut self, most: usize) -> Group {
        let mut group = Group::default();
        while group.blocks.len() < most && group.broken.is_none() {
            match self.next() {
                Ok(Some(block)) => group.blocks.push(block),
                Ok(None) => break,
                Err(error) => group.broken = Some(error.to_string()),
            }
        }
        group
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if !std::mem::replace(&mut self.begun, true) {
            self.skip_blank_lines()?;
        }
        let mut block = std::mem::take(&mut self.rest);
        let (mut state, mut seen, mut end) = (State::Start, 0, 0);
        while !self.ended {
            let room = LONGEST_RECORD + 1 - block.len();
            let size = self.size.max(block.len()).min(room) as u64;
            self.ended = self.reader.by_ref().take(size).read_to_end(&mut block)? < size as usize;
            (state, end) = self.follow(&block, seen, state, end);
            seen = block.len();
            if end > 0 && !self.ended {
                self.rest = block.split_off(end);
                return Ok(Some(block));
            }
            if block.len() > LONGEST_RECORD {
                let what = if state == State::Quoted { OPEN_QUOTE } else { TOO_LONG };
                return Err(std::io::Error::other(what));
            }
        }
        if state == State::Quoted || self.follow(&block, seen, state, end).0 == State::Quoted {
            return Err(std::io::Error::other(OPEN_QUOTE));
        }
        Ok((!block.is_empty()).then_some(block))
    }

    /// Passes over what is before the header, so that the first block begins with it.
    fn skip_blank_lines(&mut self) -> Result<()> {
        loop {
            let bytes = self.reader.fill_buf()?;
            let blank = bytes.iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
            if blank == 0 {
                return Ok(());
            }
            self.reader.consume(blank);
        }
    }

    /// The state after a block's bytes from `seen` on, and where its last whole record ends.
    fn follow(&self, block: &[u8], seen: usize, state: State, end: usize) -> (State, usize) {
        let new = &block[seen..];
        let Some(&last) = new.last() else { return (state, end) };
        if state != State::Quoted && memchr(b'"', new).is_none() {
            // Without quotes every line is a record, and only the last letter matters.
            let found = memrchr(b'\n', new).map(|at| seen + at + 1);
            if let Some(found) = found {
                return (state.after(last, self.delimiter), found);
            }
        }
        let (mut state, mut end) = (state, end);
        for (at, &byte) in new.iter().enumerate() {
            let before = state;
            state = state.after(byte, self.delimiter);
            // Not between the two halves of a line's end.
            let whole =
                byte == b'\n' || (byte == b'\r' && new.get(at + 1).is_some_and(|b| *b != b'\n'));
            if whole && before != State::Quoted {
                end = seen + at + 1;
            }
        }
        (state, end)
    }
}

/// The fields of one column in a block, one after the other.
struct Texts {
    bytes: Vec<u8>,
    /// Where each begins, and where the last one ends.
    ends: Vec<i32>,
}

impl Texts {
    fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as i32);
    }

    /// The first field that is no text.
    fn first_broken(&self) -> Option<usize> {
        let text =
            |ends: &[i32]| std::str::from_utf8(&self.bytes[ends[0] as usize..ends[1] as usize]);
        self.ends.windows(2).position(|ends| text(ends).is_err())
    }

    fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows + 1);
        self.bytes.truncate(self.ends[rows] as usize);
    }

    /// As an array; None if a field is no text.
    fn array(&self) -> Option<ArrayRef> {
        let present: NullBuffer = self.ends.windows(2).map(|ends| ends[0] < ends[1]).collect();
        let present = (present.null_count() > 0).then_some(present);
        let ends = OffsetBuffer::new(self.ends.clone().into());
        let bytes = Buffer::from_slice_ref(&self.bytes);
        Some(Arc::new(StringArray::try_new(ends, bytes, present).ok()?))
    }
}

/// Takes a block apart; the first one of a file begins with its header.
fn rows(block: &[u8], layout: &Layout, mut header: bool) -> Rows {
    let mut columns: Vec<Texts> =
        layout.wanted.iter().map(|_| Texts { bytes: Vec::new(), ends: vec![0] }).collect();
    let (mut fields, mut at) = (Fields::default(), 0);
    let (mut rows, mut fault) = (0, None);
    while at < block.len() {
        at = fields.record(block, at, layout.delimiter);
        if fields.blank && (header || layout.columns > 1) {
            continue;
        }
        if std::mem::take(&mut header) {
            continue;
        }
        if fields.blank {
            columns.iter_mut().for_each(|texts| texts.push(b""));
        } else if fields.len() == layout.columns {
            for (texts, &column) in columns.iter_mut().zip(&layout.wanted) {
                texts.push(fields.get(block, column));
            }
        } else {
            let more = if fields.len() > layout.columns { "more than " } else { "" };
            let (expected, got) = (layout.columns, fields.len().min(layout.columns));
            fault = Some(Fault::Fields(format!("expected {expected} got {more}{got} fields")));
            break;
        }
        rows += 1;
    }
    let arrays = |columns: &[Texts]| columns.iter().map(Texts::array).collect::<Option<Vec<_>>>();
    if let Some(columns) = arrays(&columns) {
        return Rows { columns, rows, fault };
    }
    // The first row, and in it the first column, that is no text.
    for (texts, &column) in columns.iter().zip(&layout.wanted) {
        if let Some(row) = texts.first_broken().filter(|row| *row < rows) {
            (rows, fault) = (row, Some(Fault::NoText(column)));
        }
    }
    columns.iter_mut().for_each(|texts| texts.truncate(rows));
    Rows { columns: arrays(&columns).unwrap_or_default(), rows, fault }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;

    #[test]
    fn separators() {
        for (header, expected) in [
            ("a,b;c\n1;2;3", b','),
            ("a;b\n1,5;2", b';'),
            ("a\tb\n", b'\t'),
            ("\"a,b\";c\n", b';'),
            ("\n\na;b\n", b';'),
            ("a\nb;c\n", b','),
        ] {
            assert_eq!(separator(header.as_bytes()).unwrap(), expected, "{header:?}");
        }
    }

    /// The records of a text, cut into blocks of at least so many bytes.
    fn records(
        text: &str,
        columns: usize,
        size: usize,
    ) -> std::result::Result<Vec<Vec<String>>, String> {
        let layout = Layout { delimiter: b',', columns, wanted: (0..columns).collect() };
        let mut blocks = Blocks::new(text.as_bytes(), b',', size);
        let (mut found, mut header) = (Vec::new(), true);
        while let Some(block) = blocks.next().map_err(|e| e.to_string())? {
            let rows = rows(&block, &layout, std::mem::take(&mut header));
            for row in 0..rows.rows {
                let text = |column: &ArrayRef| column.as_string::<i32>().value(row).to_owned();
                found.push(rows.columns.iter().map(text).collect());
            }
            match rows.fault {
                Some(Fault::Fields(what)) => {
                    return Err(format!("row {}: {what}", found.len() + 1));
                }
                Some(Fault::NoText(_)) => return Err("no text".to_owned()),
                None => {}
            }
        }
        Ok(found)
    }

    #[test]
    fn quotes_open_at_the_start_of_a_field_only() {
        let one = |text: &str| records(&format!("x,y\n{text}"), 2, 1 << 20);
        assert_eq!(one("a\"b,c\n").unwrap(), [["a\"b", "c"]]);
        assert_eq!(one("\"a\"\"b\",c\n").unwrap(), [["a\"b", "c"]]);
        assert_eq!(one("\"a\"b\",c\n").unwrap(), [["ab\"", "c"]]);
        assert_eq!(
            one("\"a\n,b\",\"\"\r\n\r\nd,\"e\r\nf\"").unwrap(),
            [["a\n,b", ""], ["d", "e\r\nf"]]
        );
        for open in ["a,\"b\nc\n", "\"a\n\",\"b\n", "\""] {
            assert_eq!(one(open).unwrap_err(), OPEN_QUOTE, "{open:?}");
        }
        assert_eq!(one("a,b\nc\n").unwrap_err(), "row 2: expected 2 got 1 fields");
        assert_eq!(one("a,b,c\n").unwrap_err(), "row 1: expected 2 got more than 2 fields");
    }

    #[test]
    fn blank_lines_of_one_column_are_rows() {
        for (text, expected) in [
            ("x\n1\n\n2\n\n", &["1", "", "2", ""][..]),
            ("x\r\n1\r\n\r\n2\r\n", &["1", "", "2"]),
            ("\nx\n\n1", &["", "1"]),
            ("x\n\"a\n\nb\"\n\n", &["a\n\nb", ""]),
        ] {
            for size in [1, 2, 3, 1 << 20] {
                let found = records(text, 1, size).unwrap();
                let found: Vec<&str> = found.iter().map(|r| r[0].as_str()).collect();
                assert_eq!(found, expected, "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn where_blocks_end_changes_nothing() {
        let mut state = 7u64;
        for round in 0..3000 {
            let mut text = "x,y\n".to_owned();
            for _ in 0..round % 40 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let pieces =
                    ["a", ",", "\"", "\n", "\r", "\r\n", "\"\"", "é", "b,c\n", "\"d\",e\n"];
                text += pieces[(state >> 33) as usize % pieces.len()];
            }
            let whole = records(&text, 2, 1 << 20);
            for size in [1, 2, 5, 16] {
                let found = records(&text, 2, size);
                // An open quote is found out at the file's end, after the rows before it.
                if whole.as_ref().err().is_none_or(|e| e != OPEN_QUOTE) {
                    assert_eq!(found, whole, "{text:?} by {size}");
                } else {
                    assert!(found.is_err(), "{text:?} by {size}");
                }
            }
        }
    }
}
