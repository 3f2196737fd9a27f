//! Counted tables: a study's rows, those that agree in everything the study looks at made one row with
//! their number. `seawall count` writes one, `seawall sql` prints the query that makes it in an engine,
//! and a study with `counted = true` under `[data]` starts from it.
//!
//! | column | what it holds |
//! |---|---|
//! | `n` | how many rows, a whole number from 1 on |
//! | `left_out` | empty for rows that are used; else why they are not: `conditions`, `no action` |
//! | `action` | the action taken |
//! | `context_NAME` | a context column; a number that is binned by one number of its bin |
//! | `mean_NAME`, `sd_NAME` | mean and standard deviation of the numbers that rows have in that bin |
//! | `outcome_NAME` | a column of the outcome |
//! | `propensity`, `weight`, `survey_weight`, `cluster` | as the study has them, or no such column |
//! | `history_NAME` | a column that names recorded groups, if the study has them |
//! | `prediction_NAME` | a column of predicted values, if the model is made of them |
//!
//! Of rows left out nothing is kept but the outcome columns that count by level: which levels there are
//! is looked for in every row. Rows of the table may come in any order and be cut into several files;
//! the same group may come twice. The answer has the same bytes as from the rows themselves. Without
//! `mean_NAME` and `sd_NAME`, which tell the number itself where `n` is 1, means of binned columns are those
//! of the middles of bins, and a note says so where one is used.
//!
//! Not here: what the values mean. They are read as those of any table.

mod groups;
mod layout;
mod table;

pub(crate) use groups::{GroupShard, Groups, Place};
pub(crate) use layout::{LEFT_OUT, LeftOut, N, Role, TableColumns};
pub use table::CountedTable;
