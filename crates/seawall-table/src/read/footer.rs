//! The footer of a Parquet file, gone through once before the library makes room for what it promises.
//!
//! A list in it says how long it is, and a column how many others it holds. The library believes both:
//! with a changed byte it asks for more memory than there is, and that ends the program. Here every
//! list is held to the bytes that are left, and columns within a column to the number of all.
//!
//! Not here: what the footer means, nor any other damage; the library finds that by itself.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// The length of the footer and a mark stand at a file's end.
const END: usize = 8;
/// Things within things; no footer goes as deep.
const DEEPEST: usize = 16;

/// Whether a file's footer promises more than it holds. What cannot be read is left to the library.
pub(super) fn promises_too_much(file: &File) -> bool {
    let Some(bytes) = footer(file) else { return false };
    Footer { bytes: &bytes, at: 0 }.fields(Place::File, 0).unwrap_or(false)
}

/// The footer's bytes.
fn footer(mut file: &File) -> Option<Vec<u8>> {
    let length = file.metadata().ok()?.len();
    let mut end = [0; END];
    file.seek(SeekFrom::Start(length.checked_sub(END as u64)?)).ok()?;
    file.read_exact(&mut end).ok()?;
    let size = u64::from(u32::from_le_bytes(end[..4].try_into().ok()?));
    file.seek(SeekFrom::Start(length.checked_sub(END as u64 + size)?)).ok()?;
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Where in a footer something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    File,
    /// A column, one of so many.
    Column(u64),
    Elsewhere,
}

/// Thrift's compact protocol. Each step says whether too much is promised; None where it cannot go on.
struct Footer<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Footer<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// A number, seven bits a byte.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn left(&self) -> u64 {
        self.bytes.len().saturating_sub(self.at) as u64
    }

    fn pass(&mut self, count: u64) -> Option<bool> {
        let count = usize::try_from(count).ok().filter(|_| count <= self.left())?;
        self.at += count;
        Some(false)
    }

    /// The fields of a thing, each with its kind and how far its number is from the last one's.
    fn fields(&mut self, place: Place, depth: usize) -> Option<bool> {
        let mut field = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(false);
            }
            field = match head >> 4 {
                0 => signed(self.number()?),
                after => field + i64::from(after),
            };
            let within = match (place, field) {
                // How many others a column holds.
                (Place::Column(all), 5) if head & 0xf == 5 => {
                    if signed(self.number()?) > i64::try_from(all).unwrap_or(i64::MAX) {
                        return Some(true);
                    }
                    continue;
                }
                (Place::File, 2) => Place::Column(0),
                _ => Place::Elsewhere,
            };
            if !matches!(head & 0xf, 1 | 2) && self.value(head & 0xf, within, depth)? {
                return Some(true);
            }
        }
    }

    /// A value of a kind.
    fn value(&mut self, kind: u8, place: Place, depth: usize) -> Option<bool> {
        match kind {
            _ if depth > DEEPEST => None,
            1..=3 => self.pass(1),
            4..=6 => self.number().map(|_| false),
            7 => self.pass(8),
            8 => {
                let length = self.number()?;
                self.pass(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.number()?,
                    count => u64::from(count),
                };
                // Each takes a byte or more.
                if count > self.left() {
                    return Some(true);
                }
                let place = if place == Place::Column(0) { Place::Column(count) } else { place };
                for _ in 0..count {
                    if self.value(head & 0xf, place, depth + 1)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            12 => self.fields(place, depth + 1),
            _ => None,
        }
    }
}

/// A number whose last bit is its sign.
fn signed(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}
