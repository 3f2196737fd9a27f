//! The words of `seawall count` and `seawall sql`.

use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;
use seawall_table::sql::DIALECTS;
use std::path::PathBuf;

pub(super) const COUNT_EXAMPLES: &str = "\
Rows that agree in everything that the study looks at become one row with their number, n. With
`path` set to that table and `counted = true` under [data], the same study gives the same answers,
byte for byte, without the rows. Columns that name past groups ([history]) are kept.

Examples:
  seawall count study.toml --out counts.parquet
  seawall count study.toml --out counts.csv";

pub(super) const SQL_EXAMPLES: &str = "\
The result of the query is the table that `seawall count` would write. Save it as Parquet or CSV, name
it under [data] with `counted = true`, and ask as before. Columns are named as in the study file. A
session's time zone should be UTC if a condition is about times.

Examples:
  In DuckDB:
    seawall sql study.toml --dialect duckdb --table \"'log/*.parquet'\" > count.sql
    duckdb -c \"COPY ($(cat count.sql)) TO 'counts.parquet'\"

  In PostgreSQL:
    psql --csv -c \"$(seawall sql study.toml --dialect postgres --table visits)\" > counts.csv";

/// The arguments of `seawall count`.
#[derive(Debug, ClapArgs)]
pub struct Count {
    /// The study file
    pub study: PathBuf,
    /// The table to write: .parquet or .csv
    #[arg(long, value_name = "OUT")]
    pub out: PathBuf,
}

/// The arguments of `seawall sql`.
#[derive(Debug, ClapArgs)]
pub struct Sql {
    /// The study file
    pub study: PathBuf,
    /// Whose SQL it is
    #[arg(long, value_name = "NAME", default_value = "ansi", value_parser = PossibleValuesParser::new(DIALECTS))]
    pub dialect: String,
    /// What stands after FROM, as it is: a table, or what reads one [default: the data file's name]
    #[arg(long, value_name = "TABLE")]
    pub table: Option<String>,
}
