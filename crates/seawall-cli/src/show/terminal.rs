//! Standard output, on which names cannot command the terminal.
//!
//! A level, an action, a column or a file may be named anything, an escape sequence that clears
//! the screen as well. Control characters are written as `\u001b`: so in JSON and TOML, too, where
//! they then mean what they meant.

use seawall_study::words::printable;
use std::io::{IsTerminal, Result, Stdout, StdoutLock, Write};

/// Standard output for words and JSON.
pub fn terminal() -> Terminal<StdoutLock<'static>> {
    Terminal { out: stdout().lock(), held: Vec::new(), raw: false }
}

/// Standard output for a table or a file's text: untouched unless a terminal shows it.
pub fn data() -> Terminal<StdoutLock<'static>> {
    let raw = !stdout().is_terminal();
    Terminal { raw, ..terminal() }
}

fn stdout() -> Stdout {
    std::io::stdout()
}

/// A writer of UTF-8 that escapes what would command a terminal.
pub struct Terminal<W: Write> {
    out: W,
    /// The beginning of a letter whose end has not come yet.
    held: Vec<u8>,
    raw: bool,
}

impl<W: Write> Write for Terminal<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if self.raw || (self.held.is_empty() && bytes.iter().all(|b| (0x20..0x7f).contains(b))) {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        self.held.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.held) {
            Ok(text) => text.len(),
            // A letter cut in two waits for its end; what is no letter goes as it is.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.held.len(),
        };
        let rest = self.held.split_off(whole);
        let text = String::from_utf8_lossy(&self.held);
        let written = self.out.write_all(printable(&text).as_bytes());
        self.held = rest;
        written.map(|()| bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }
}

/// One line on standard error.
pub fn complain(kind: &str, text: &str) {
    // Who cannot read it has the exit code.
    let _ = writeln!(std::io::stderr(), "{kind}: {}", printable(&one_line(text)));
}

/// A text on one line.
pub fn one_line(text: &str) -> String {
    text.replace(['\n', '\r', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_command_a_terminal_is_escaped_wherever_writes_end() {
        let text = "a\u{1b}[31mé\u{9b}2J\r…\u{202e}─\n\tb\u{7f}";
        let expected = "a\\u001b[31mé\\u009b2J\\u000d…\\u202e─\n\tb\\u007f";
        for size in 1..text.len() {
            let mut terminal = Terminal { out: Vec::new(), held: Vec::new(), raw: false };
            text.as_bytes().chunks(size).for_each(|part| terminal.write_all(part).unwrap());
            assert_eq!(String::from_utf8(terminal.out).unwrap(), expected, "{size}");
        }
    }
}
