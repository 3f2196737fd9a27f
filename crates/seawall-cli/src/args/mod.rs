//! What was typed. Parsing does no work: a command turns these into a request.

mod bound;
mod compare;
mod completions;
mod count;
mod describe;
mod distance;
mod known;
mod learn;
mod report;
mod study;
mod transfer;

use clap::{Parser, Subcommand};
use seawall::Set;

/// How bad could it get in another population? Worst cases with certificates.
#[derive(Debug, Parser)]
#[command(name = "seawall", version, long_version = BUILT_WITH, max_term_width = 100, after_help = START)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
    /// Threads to use; all cores if not said. The answer does not depend on it.
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<usize>,
    /// Memory that counting a study's rows and a grid of its contexts may take, as 2GB or 500MB; 4GB
    /// if not said. Counts beyond it go to temporary files, and a grid that does not fit is made of the
    /// contexts seen.
    #[arg(long, global = true, value_name = "SIZE")]
    pub memory: Option<String>,
}

/// The version, and what the program was built with: what a report of a bug needs.
const BUILT_WITH: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nbuilt with ",
    env!("SEAWALL_COMPILER"),
    "\nfor ",
    env!("SEAWALL_TARGET"),
    " (",
    env!("SEAWALL_PROFILE"),
    ")",
);

const START: &str = "\
Start with `seawall demo`: a synthetic trial, checked and evaluated, and its study file to edit.
With your own data: `seawall init DATA`, correct the file, `seawall check`, `seawall evaluate`.";

/// A command, as it was typed.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A synthetic trial: written out with its study file, checked and evaluated
    #[command(after_help = study::DEMO_EXAMPLES)]
    Demo(study::Demo),
    /// Write a study file for a data file, the reasons for each choice in comments
    #[command(after_help = study::INIT_EXAMPLES)]
    Init(study::Init),
    /// Everything about a study's data, nothing robust
    Check(study::Check),
    /// What policies would have cost, nominally and in the worst case
    #[command(after_help = study::EVALUATE_EXAMPLES)]
    Evaluate(study::Evaluate),
    /// Learn a policy whose worst case is as good as it can be
    #[command(after_help = learn::EXAMPLES)]
    Learn(Box<learn::Learn>),
    /// Add the probabilities of a policy's actions to a table
    Predict(learn::Apply),
    /// A policy, or the outcome model of a study, in words
    #[command(after_help = learn::EXPLAIN_EXAMPLES)]
    Explain(learn::Explain),
    /// Write what a table says of its people, column by column, as a study file takes it: for whoever
    /// may not send rows
    #[command(after_help = describe::EXAMPLES)]
    Describe(describe::Describe),
    /// What policies would cost in another population of which something is known, and how much past
    /// shifts say to allow
    #[command(after_help = transfer::EXAMPLES)]
    Transport(Box<transfer::Transfer>),
    /// Every way to a bound, tried on every past group: which would have held?
    #[command(after_help = transfer::BACKTEST_EXAMPLES)]
    Backtest(transfer::Backtest),
    /// The same policies under every set of populations, at radii that cover the same: which sets agree,
    /// and which population each fears
    #[command(after_help = compare::EXAMPLES)]
    Sensitivity(Box<compare::Compare>),
    /// How far apart two samples are, which features carry it, and who would have to become whom
    #[command(after_help = distance::EXAMPLES)]
    Distance(distance::Distance),
    /// How far is far enough: radii that the data suggest, and a line for the study file
    Radius(distance::Radius),
    /// Everything a study says, on one self-contained HTML page
    #[command(after_help = report::EXAMPLES)]
    Report(Box<report::Report>),
    /// Count a study's rows once and write the counted table, which every command takes
    #[command(after_help = count::COUNT_EXAMPLES)]
    Count(count::Count),
    /// Print the query that counts a study's rows where they are: DuckDB, Postgres, Spark, …
    #[command(after_help = count::SQL_EXAMPLES)]
    Sql(count::Sql),
    /// The worst-case mean of a column of a table under a shift of its other columns
    #[command(after_help = bound::EXAMPLES)]
    Bound(bound::Bound),
    /// Install completions of these commands for a shell, and their manual pages
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::Completions),
}

/// How a set of populations is typed.
const SET: &str = "NAME[:PARAMETER=X]";

/// What an option for a set says of itself, and every set as it is written.
fn set_help(about: &str, fits: impl Fn(&str) -> bool) -> String {
    let name = |text: &String| text.split([':', '[']).next().is_some_and(&fits);
    let all: Vec<String> = Set::spellings().filter(name).collect();
    format!("{about}: {}", all.join(", "))
}

/// Whether a set shifts contexts alone and asks nothing of a target: all that a table of values has.
fn is_plain(name: &str) -> bool {
    Set::example(name, &[]).is_ok_and(|set| !set.needs_actions() && !set.needs_known())
}

/// Refuses a set that there is not, before any work. What parameters it needs is looked at later,
/// for `--eta` may give one.
fn set_text(text: &str) -> Result<String, String> {
    let name = text.split(':').next().unwrap_or_default();
    if Set::names().any(|known| known == name) {
        Ok(text.to_owned())
    } else {
        let known: Vec<&str> = Set::names().collect();
        Err(format!("expected one of {}", known.join(", ")))
    }
}

/// Whether the words ask for help, or are none.
pub fn is_help(error: &clap::Error) -> bool {
    let nothing = clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    !error.use_stderr() || error.kind() == nothing
}

/// What was typed wrong, on one line.
pub fn usage_error(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let told = lines.take_while(|line| !line.starts_with("Usage:"));
    let told: Vec<&str> = told.filter(|line| !line.starts_with("For more information")).collect();
    let line = told.join("; ").replace(":; ", ": ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    format!("{line} (seawall --help, or --help after a command, lists what there is)")
}
