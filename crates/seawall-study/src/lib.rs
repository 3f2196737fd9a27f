//! Reads tables and runs Seawall's questions on them from end to end.
//!
//! 1. [`read`]: CSV, Parquet and JSON lines, compressed or not, into columns.
//! 2. [`bound`]: the worst-case mean of a column under a shift of other columns.
//! 3. [`mod@study`]: study files; [`mod@count`]: from a data file to a log.
//! 4. [`mod@write`]: output files, whole or not at all.
//!
//! Terminals are another crate's business, and so is the mathematics: that is [`seawall`].

#![deny(missing_docs)]

pub mod bound;
pub mod count;
pub mod read;
pub mod study;
pub mod write;
