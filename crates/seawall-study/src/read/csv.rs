//! What a CSV file leaves open: which separator it has, whether a quote is ever closed, and that a
//! blank line of a file with one column is a row without a value.

use std::io::{BufRead, Read, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A header longer than this is no header.
const LONGEST: u64 = 1 << 20;

/// Where a reader is in a record; the rules are those of the parser that reads after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
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
    fn after(self, byte: u8, delimiter: u8) -> Self {
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

/// Passes a file's bytes on to its parser. Tells at the file's end whether a quote is still open: the rest
/// of the file was then taken for a single field. In a file of one column blank lines become rows,
/// which the parser would skip.
pub(super) struct Lines<R> {
    reader: R,
    delimiter: u8,
    one_column: bool,
    state: State,
    /// Whether the header has been passed.
    begun: bool,
    /// Whether a record has begun on this line.
    filled: bool,
    last: u8,
    /// What is ready to be passed on, in a file of one column.
    ready: Vec<u8>,
    open: Arc<AtomicBool>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R, delimiter: u8, one_column: bool, open: Arc<AtomicBool>) -> Self {
        Lines {
            reader,
            delimiter,
            one_column,
            state: State::Start,
            begun: false,
            filled: false,
            last: b'\n',
            ready: Vec::new(),
            open,
        }
    }

    fn follow(&mut self, bytes: &[u8]) {
        let Some(&last) = bytes.last() else { return };
        let quoted = self.state == State::Quoted || bytes.contains(&b'"');
        // Without quotes nothing but the last letter matters.
        let from = if quoted { bytes } else { &[last] };
        let step = |state: State, byte: &u8| state.after(*byte, self.delimiter);
        self.state = from.iter().fold(self.state, step);
    }

    /// A chunk with a pair of quotes on every blank line after the header.
    fn fill_blank_lines(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let ends = matches!(byte, b'\n' | b'\r') && self.state != State::Quoted;
            let second_half = byte == b'\n' && self.last == b'\r' && !self.filled;
            if ends && !second_half {
                if !self.filled && self.begun {
                    self.ready.extend(b"\"\"");
                }
                self.begun |= self.filled;
            }
            self.filled = !ends;
            self.state = self.state.after(byte, self.delimiter);
            self.last = byte;
            self.ready.push(byte);
        }
    }

    fn end(&self) {
        self.open.store(self.state == State::Quoted, Ordering::Relaxed);
    }
}

impl<R: BufRead> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if !self.one_column {
            let count = self.reader.read(buffer)?;
            match count {
                0 => self.end(),
                _ => self.follow(&buffer[..count]),
            }
            return Ok(count);
        }
        if self.ready.is_empty() {
            let bytes = self.reader.fill_buf()?.to_vec();
            self.reader.consume(bytes.len());
            self.fill_blank_lines(&bytes);
        }
        if self.ready.is_empty() {
            self.end();
        }
        let count = self.ready.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.ready[..count]);
        self.ready.drain(..count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(text: &str, one_column: bool) -> (String, bool) {
        let open = Arc::new(AtomicBool::new(false));
        let mut found = String::new();
        let mut lines = Lines::new(text.as_bytes(), b',', one_column, open.clone());
        lines.read_to_string(&mut found).unwrap();
        (found, open.load(Ordering::Relaxed))
    }

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

    #[test]
    fn quotes_open_at_the_start_of_a_field_only() {
        for (text, open) in [
            ("a\"b,c\n", false),
            ("a,\"b\nc\n", true),
            ("\"a\"\"b\",c\n", false),
            ("\"a\"b\",c\n", false),
            ("\"a\n\",\"b\n", true),
        ] {
            assert_eq!(passed(text, false), (text.to_owned(), open), "{text:?}");
        }
    }

    #[test]
    fn blank_lines_of_one_column_are_rows() {
        for (text, expected) in [
            ("x\n1\n\n2\n\n", "x\n1\n\"\"\n2\n\"\"\n"),
            ("x\r\n1\r\n\r\n2\r\n", "x\r\n1\r\n\"\"\r\n2\r\n"),
            ("\nx\n\n1", "\nx\n\"\"\n1"),
            ("x\n\"a\n\nb\"\n\n", "x\n\"a\n\nb\"\n\"\"\n"),
        ] {
            assert_eq!(passed(text, true).0, expected, "{text:?}");
        }
    }
}
