//! The tables and figures of Shen, Xu and Zavlanos (TMLR 2024), made again by Seawall's public
//! interface, with what the paper could not have: exact values on the full support.
//!
//! Everything is written under `paper/out/`: Markdown to read, CSV to check, SVG to look at. The
//! same command writes the same bytes.

mod convergence;
mod figure1;
mod page;
mod plot;
mod sample_size;
mod table1;
mod table2;
mod trial;

use clap::{Parser, ValueEnum};
use page::Folder;
use seawall::Result;
use std::path::PathBuf;
use std::process::ExitCode;
use trial::Trial;

/// The paper's tables and figures.
#[derive(Parser)]
#[command(name = "seawall-paper", version)]
struct Args {
    /// Which of them
    #[arg(value_enum)]
    what: What,
    /// The stroke trial's file, IST_corrected.csv.gz, or a folder that holds it; without it a
    /// synthetic trial stands in, and every table says so
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Where to write
    #[arg(long, value_name = "FOLDER", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/out"))]
    out: PathBuf,
    /// Random splits of the trial, and stochastic runs
    #[arg(long, value_name = "N", default_value_t = 20)]
    splits: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    All,
    Table1,
    Table2,
    Figure1,
    Convergence,
    SampleSize,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let out = Folder::new(&args.out)?;
    let wanted = |what: What| args.what == What::All || args.what == what;
    if wanted(What::Table1) || wanted(What::Convergence) {
        let trial = Trial::read(args.data.as_deref(), &out)?;
        if wanted(What::Table1) {
            table1::write(&trial, args.splits, &out)?;
        }
        if wanted(What::Convergence) {
            convergence::write(&trial, args.splits, &out)?;
        }
    }
    if wanted(What::Table2) {
        table2::write(&out)?;
    }
    if wanted(What::Figure1) {
        figure1::write(&out)?;
    }
    if wanted(What::SampleSize) {
        sample_size::write(&out)?;
    }
    Ok(())
}
