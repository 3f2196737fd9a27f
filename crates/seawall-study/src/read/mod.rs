//! Tables: CSV, Parquet and JSON lines, gzip- or zstd-compressed or not, into columns.
//!
//! Only the columns asked for are kept. A column is numbers (NaN where missing) or levels of
//! text. Every complaint names the file, the row (counted from 1, without the header), the
//! column, the value, and what was expected.
//!
//! Not here: what the columns mean.

mod file;
mod stream;
mod table;

pub use file::files;
pub(crate) use file::{columns, nearest, unknown_column};
pub use stream::{Columns, Distinct, Stream};
pub use table::{Column, Table, Wanted, table};
