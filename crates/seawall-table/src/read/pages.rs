//! Pages of a Parquet file that promise more values than they can hold.
//!
//! The library makes room for what a page promises before it looks at what is there: with one changed
//! byte it asks for more memory than there is, and that ends the program. So the counts are compared
//! first: a dictionary's with its bytes, that of the lengths of texts (the delta encodings) with the
//! page's own.
//!
//! Not here: all other damage, which the library finds by itself.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use std::fs::File;
use std::sync::Arc;

/// Refuses a file with such a page in one of the leaf columns wanted.
pub(super) fn check(
    file: File,
    metadata: &ParquetMetaData,
    wanted: impl Fn(usize) -> bool,
) -> Result<()> {
    let file = Arc::new(file);
    for group in metadata.row_groups() {
        let columns = group.columns().iter().enumerate().filter(|(leaf, _)| wanted(*leaf));
        for (_, chunk) in columns {
            if promises_too_much(&file, chunk) {
                let what = "damaged: a page tells of more values than it holds";
                return Err(ParquetError::General(what.to_owned()));
            }
        }
    }
    Ok(())
}

/// Whether one of a chunk's pages does. What cannot be read is left to who reads it in earnest.
fn promises_too_much(file: &Arc<File>, chunk: &ColumnChunkMetaData) -> bool {
    let texts = chunk.encodings().any(|e| counts_lengths(e).is_some());
    let Ok(mut pages) = SerializedPageReader::new(file.clone(), chunk, 0, None) else {
        return false;
    };
    while let Ok(Some(next)) = pages.peek_next_page() {
        if !next.is_dict && !texts {
            // Only its header was read.
            if pages.skip_next_page().is_err() {
                return false;
            }
            continue;
        }
        let Ok(Some(page)) = pages.get_next_page() else { return false };
        if beyond(&page, chunk).unwrap_or(false) {
            return true;
        }
    }
    false
}

/// How many lists of lengths a page of this encoding begins with.
fn counts_lengths(encoding: Encoding) -> Option<usize> {
    match encoding {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => Some(1),
        Encoding::DELTA_BYTE_ARRAY => Some(2),
        _ => None,
    }
}

/// Whether a page tells of more values than it holds; None if that cannot be seen.
fn beyond(page: &Page, chunk: &ColumnChunkMetaData) -> Option<bool> {
    let most = u64::from(page.num_values());
    if let Page::DictionaryPage { buf, .. } = page {
        // Every value takes a byte or more.
        return Some(most > buf.len() as u64);
    }
    let lists = counts_lengths(page.encoding())?;
    let mut rest = values(page, chunk)?;
    for _ in 0..lists {
        let mut lengths = Lengths { bytes: rest, at: 0 };
        let (block, parts, count) = (lengths.number()?, lengths.number()?, lengths.number()?);
        if count > most {
            return Some(true);
        }
        rest = rest.get(lengths.end(block, parts, count)?..)?;
    }
    Some(false)
}

/// A data page without the levels before its values.
fn values<'p>(page: &'p Page, chunk: &ColumnChunkMetaData) -> Option<&'p [u8]> {
    match page {
        Page::DictionaryPage { .. } => None,
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
            buf.get(usize::try_from(levels).ok()?..)
        }
        Page::DataPage { buf, def_level_encoding, rep_level_encoding, .. } => {
            let of = chunk.column_descr();
            let mut rest: &[u8] = buf;
            let levels = [
                (of.max_rep_level(), *rep_level_encoding),
                (of.max_def_level(), *def_level_encoding),
            ];
            for (_, encoding) in levels.into_iter().filter(|(most, _)| *most > 0) {
                let length = u32::from_le_bytes(rest.get(..4)?.try_into().ok()?);
                let after = 4 + usize::try_from(length).ok()?;
                rest = rest.get(after..).filter(|_| encoding == Encoding::RLE)?;
            }
            Some(rest)
        }
    }
}

/// A list of lengths: block size, parts of a block, count and first length, then blocks of differences.
struct Lengths<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Lengths<'_> {
    /// The next number, seven bits a byte.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Where the list ends, its first three numbers being read.
    fn end(&mut self, block: u64, parts: u64, count: u64) -> Option<usize> {
        let of_part = block.checked_div(parts).filter(|of_part| *of_part > 0)?;
        self.number()?;
        let mut left = count.saturating_sub(1);
        while left > 0 {
            self.number()?;
            let from = self.at;
            self.at = from.checked_add(usize::try_from(parts).ok()?)?;
            for width in self.bytes.get(from..self.at)? {
                if left == 0 {
                    break;
                }
                left = left.saturating_sub(of_part);
                let bytes = u64::from(*width).checked_mul(of_part)? / 8;
                self.at = self.at.checked_add(usize::try_from(bytes).ok()?)?;
            }
        }
        Some(self.at)
    }
}
