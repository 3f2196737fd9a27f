//! Reads tables and runs Seawall's questions on them from end to end.
//!
//! 1. [`read`]: CSV, Parquet and JSON lines, compressed or not, into columns.
//! 2. [`bound`]: the worst-case mean of a column under a shift of other columns.
//! 3. [`mod@study`]: study files; [`mod@count`]: from data files to a log; [`mod@counted`]: rows that an
//!    engine counted; [`mod@sql`]: the query that does; [`mod@prepare`]: a study with every choice made.
//!    [`mod@target`]: a sample of another population on its contexts; [`mod@known`]: numbers about one that
//!    nobody has seen; [`mod@describe`]: such numbers, written from a table.
//! 4. [`mod@distance`]: how far apart two samples are; [`mod@radius`]: how far is far
//!    enough; [`mod@check`]: everything about the data; [`mod@evaluate`]: what policies would have cost;
//!    [`mod@explain`]: the fitted outcome model, told; [`mod@compare`]: the same under every set.
//! 5. [`mod@learn`]: a policy learned from a study; [`mod@apply`]: applied to a table;
//!    [`mod@forecast`]: what a long solve will take.
//! 6. [`mod@demo`]: a synthetic trial; [`mod@init`]: a study file for a data file.
//! 7. [`mod@report`]: everything on one page for people; [`mod@shift`] and [`mod@words`]: worst cases
//!    and numbers as people read them.
//! 8. [`mod@memory`]: how much of it a study may use; [`mod@fields`]: what each front end calls a field that is wrong.
//! 9. [`mod@trace`]: stochastic runs as CSV and SVG; [`mod@write`]: output files, whole or not at all.
//!
//! Modules, each importing only from those before it: `fields`, `memory`, `read`, `write`, `study`,
//! `words`, `shift`, `overlap`, `count`, `counted`, `other_table`, `prepare`, `target`, `reference`, `check`,
//! `explain`, `sql`, `evaluate`, `radius`, `transfer`, `learn`, `apply`, `forecast`, `compare`, `trace`, `report`,
//! `known`, `init`, `bound`, `distance`, `describe`, `demo`.
//!
//! Terminals are another crate's business, and so is the mathematics: that is [`seawall`].

#![deny(missing_docs)]

pub mod apply;
pub mod bound;
pub mod check;
pub mod compare;
pub mod count;
pub mod counted;
pub mod demo;
pub mod describe;
pub mod distance;
pub mod evaluate;
pub mod explain;
pub mod fields;
pub mod forecast;
pub mod init;
pub mod known;
pub mod learn;
pub mod memory;
mod other_table;
mod overlap;
pub mod prepare;
pub mod radius;
pub mod read;
mod reference;
pub mod report;
pub mod shift;
pub mod sql;
pub mod study;
pub mod target;
pub mod trace;
pub mod transfer;
pub mod words;
pub mod write;
