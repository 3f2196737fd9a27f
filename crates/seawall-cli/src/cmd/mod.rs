//! One file a command: runs a request and shows what came of it.

pub mod apply;
pub mod backtest;
pub mod bound;
pub mod check;
pub mod compare;
pub mod completions;
pub mod count;
pub mod demo;
pub mod describe;
pub mod distance;
pub mod evaluate;
pub mod explain;
pub mod init;
pub mod learn;
pub mod radius;
pub mod report;
pub mod sql;
pub mod transfer;
