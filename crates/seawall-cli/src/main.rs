//! The program `seawall`. This file only turns results into exit codes: 0 for an answer, 2 for
//! input or options that cannot be used, 130 for a run that was interrupted, 1 for anything else.
//!
//! Modules, each importing only from those before it: `failure`, `request`, `args`, `renamed`, `show`, `interrupt`,
//! `cmd`, `run`.

mod args;
mod cmd;
mod failure;
mod interrupt;
mod renamed;
mod request;
mod run;
mod show;

use clap::Parser;
use failure::Failure;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let (typed, notices) = renamed::renewed(std::env::args_os());
    for notice in notices {
        show::complain("note", &notice);
    }
    let args = match args::Args::try_parse_from(typed) {
        Ok(args) => args,
        // Help and versions were asked for, or nothing at all.
        Err(error) if args::is_help(&error) => return help(&error),
        Err(error) => {
            show::complain("error", &args::usage_error(&error));
            return ExitCode::from(2);
        }
    };
    interrupt::look_out();
    let found = run::run(args);
    interrupt::is_over();
    ended(found)
}

/// Prints help; without an error, unless none was asked for.
fn help(text: &clap::Error) -> ExitCode {
    let printed = text.print().and_then(|()| std::io::stdout().flush());
    match printed.map_err(Failure::Output) {
        Ok(()) if text.use_stderr() => ExitCode::from(2),
        printed => ended(printed),
    }
}

/// The exit code of what came, and one line about what went wrong.
fn ended(found: Result<(), Failure>) -> ExitCode {
    match found {
        Ok(()) => ExitCode::SUCCESS,
        // Who stops reading has had enough: no error.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            // One line, whatever a file's names hold.
            show::complain("error", &failure.to_string());
            ExitCode::from(failure.code())
        }
    }
}
