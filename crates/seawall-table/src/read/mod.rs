//! Tables: CSV, Parquet and JSON lines, gzip- or zstd-compressed or not, into columns.
//!
//! Only the columns asked for are kept. A column is read by its distinct values ([`Distinct`] says
//! when two are the same) or as plain numbers. Every complaint names the file, the row (counted
//! from 1, without the header), the column, the value, and what was expected.
//!
//! Not here: what the columns mean.

mod bins;
mod cell;
mod convert;
mod csv;
mod decimal;
mod distinct;
mod file;
mod footer;
mod guard;
mod json;
mod levels;
mod line;
mod moment;
mod names;
mod pages;
mod record;
mod stream;
mod table;

pub use bins::Bins;
pub use convert::shown;
pub(crate) use decimal::plain;
pub use decimal::{Decimal, same};
pub use distinct::Distinct;
pub use file::{columns, files};
pub use levels::{DeclaredLevels, Levels, Order, levels_of_texts};
pub use line::{BinnedColumn, Line};
pub use moment::Moment;
pub use names::{named, nearest, split, unknown_column, unquoted};
pub use stream::{Columns, Reading, Seen, Stream};
pub use table::{Table, tables};
