//! Tables: read, counted into a [`seawall::Log`], written.
//!
//! 1. [`mod@read`]: CSV, Parquet and JSON lines, compressed or not, into columns; [`mod@write`]: output
//!    files, whole or not at all.
//! 2. [`mod@spec`]: which rows and columns of a table count; [`mod@declared`]: where that was said.
//! 3. [`mod@count`]: from data files to a log, out of [`mod@combine`], its parts; [`mod@counted`]: rows that
//!    an engine counted; [`mod@sql`]: the query that does.
//! 4. [`mod@memory`]: how much of it that may use; [`mod@words`]: numbers as people read them.
//!
//! Modules, each importing only from those before it: `words`, `memory`, `read`, `write`, `declared`, `spec`,
//! `combine`, `counted`, `count`, `sql`.
//!
//! Not here: policies, models, and anything that is estimated.

#![deny(missing_docs)]

pub mod combine;
pub mod count;
pub mod counted;
pub mod declared;
pub mod memory;
pub mod read;
pub mod spec;
pub mod sql;
pub mod words;
pub mod write;
