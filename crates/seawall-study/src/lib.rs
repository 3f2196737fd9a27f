//! Runs Seawall's questions on tables from end to end.
//!
//! 1. [`bound`]: the worst-case mean of a column under a shift of other columns.
//! 2. [`mod@study`]: study files; [`mod@prepare`]: a study with every choice made.
//!    [`mod@target`]: a sample of another population on its contexts; [`mod@known`]: numbers about one that
//!    nobody has seen; [`mod@describe`]: such numbers, written from a table.
//! 3. [`mod@distance`]: how far apart two samples are; [`mod@radius`]: how far is far
//!    enough; [`mod@check`]: everything about the data; [`mod@evaluate`]: what policies would have cost;
//!    [`mod@explain`]: the fitted outcome model, told; [`mod@compare`]: the same under every set.
//! 4. [`mod@learn`]: a policy learned from a study; [`mod@apply`]: applied to a table;
//!    [`mod@forecast`]: what a long solve will take.
//! 5. [`mod@demo`]: a synthetic trial; [`mod@init`]: a study file for a data file.
//! 6. [`mod@report`]: everything that a page for people tells; [`mod@shift`] and [`mod@words`]: worst cases
//!    and numbers as people read them; [`mod@set_text`]: what is said of each set.
//! 7. [`mod@fields`]: what each front end calls a field that is wrong; [`mod@trace`]: stochastic runs as CSV
//!    and SVG.
//!
//! Modules, each importing only from those before it: `fields`, `study`, `set_text`, `words`, `shift`,
//! `overlap`, `other_table`, `prepare`, `target`, `reference`, `check`, `explain`, `evaluate`, `radius`, `transfer`,
//! `learn`, `apply`, `forecast`, `compare`, `trace`, `report`, `known`, `init`, `bound`, `distance`,
//! `describe`, `demo`.
//!
//! Terminals and pages are other crates' business; so are tables, which are [`seawall_table`]'s, and the
//! mathematics, which is [`seawall`]'s.

#![deny(missing_docs)]

pub mod apply;
pub mod bound;
pub mod check;
pub mod compare;
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
mod other_table;
mod overlap;
pub mod prepare;
pub mod radius;
mod reference;
pub mod report;
pub mod set_text;
pub mod shift;
pub mod study;
pub mod target;
pub mod trace;
pub mod transfer;
pub mod words;
