//! From the words typed to the command that they mean.

use crate::args::{Args, Command};
use crate::cmd;
use crate::failure::Failure;
use clap::CommandFactory;
use seawall_table::memory;

/// Runs the command that was typed.
pub fn run(args: Args) -> Result<(), Failure> {
    if let Some(threads) = args.threads {
        if !(1..=1024).contains(&threads) {
            return Err(Failure::usage(format!(
                "--threads is {threads}; expected a number from 1 to 1024"
            )));
        }
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .map_err(|e| Failure::usage(format!("--threads {threads}: {e}")))?;
    }
    if let Some(size) = &args.memory {
        let bytes = memory::parse(size);
        memory::allow(bytes.map_err(|e| Failure::usage(format!("--memory: {e}")))?);
    }
    match args.command {
        Command::Demo(demo) => cmd::demo::run(&demo.folder),
        Command::Init(init) => {
            let (data, out, asked) = init.meaning();
            cmd::init::run(&data, &out, &asked)
        }
        Command::Check(check) => {
            let (study, toward, json) = check.meaning()?;
            cmd::check::run(&study, &toward, json)
        }
        Command::Evaluate(evaluate) => {
            let (study, changes, outputs) = evaluate.meaning()?;
            cmd::evaluate::run(&study, &changes, &outputs)
        }
        Command::Learn(learn) => {
            let (study, changes, outputs) = learn.meaning()?;
            cmd::learn::run(&study, &changes, &outputs)
        }
        Command::Predict(apply) => cmd::apply::run(&apply.policy, &apply.data, &apply.out),
        Command::Explain(explain) => {
            cmd::explain::run(&explain.file, explain.action.as_deref(), explain.json)
        }
        Command::Describe(describe) => cmd::describe::run(&describe.meaning()),
        Command::Transport(transfer) => cmd::transfer::run(transfer.meaning()?),
        Command::Backtest(backtest) => cmd::backtest::run(backtest.meaning()),
        Command::Sensitivity(compare) => cmd::compare::run(compare.meaning()?),
        Command::Distance(distance) => {
            let (asked, json) = distance.meaning()?;
            cmd::distance::run(&asked, json)
        }
        Command::Radius(radius) => cmd::radius::run(&radius.meaning()?),
        Command::Report(report) => cmd::report::run(report.meaning()?),
        Command::Count(count) => cmd::count::run(&count.study, &count.out),
        Command::Sql(sql) => cmd::sql::run(&sql.study, &sql.dialect, sql.table.as_deref()),
        Command::Bound(bound) => {
            let (request, outputs) = bound.meaning()?;
            cmd::bound::run(&request, &outputs)
        }
        Command::Completions(asked) => {
            let (shell, to) = asked.meaning();
            cmd::completions::run(Args::command(), shell, &to)
        }
    }
}
