//! Seawall's answers as people read them: sentences, charts, and one self-contained HTML page.
//!
//! 1. [`mod@drivers`]: who would have to become whom, in words; [`mod@wording`]: other answers in a few.
//! 2. [`report()`]: everything that a study says ([`seawall_study::report::answers`]), worded; its page is
//!    [`Report::html`].
//!
//! The page's radius slider moves through stops at each of which everything was solved for; its script only
//! swaps texts. Without the script the page shows the study's first radius, and a table of all of the
//! study's radii. Nothing on the page depends on the time or the place. Printed, it is two pages: the
//! essential, and a line about the rest.
//!
//! Modules, each importing only from those before it: `drivers`, `wording`, `csv`, `live`, `digits`, `axis`,
//! `sentences`, `marks`, `chart`, `love`, `history`, `effects`, `differences`, `populations`, `policies`,
//! `assumptions`, `sets`, `transfer`, `worst`, `methods`, `report`, `page`.
//!
//! Answers go in, text comes out: nothing here reads a table, fits or solves.

#![deny(missing_docs)]

mod assumptions;
mod axis;
mod chart;
mod csv;
mod differences;
mod digits;
pub mod drivers;
mod effects;
mod history;
mod live;
mod love;
mod marks;
mod methods;
mod page;
mod policies;
mod populations;
mod report;
mod sentences;
mod sets;
mod transfer;
pub mod wording;
mod worst;

pub use report::{Report, report};
