//! `seawall describe`.

use crate::failure::Failure;
use crate::request::DescribeRequest;
use crate::show;
use seawall::Watch;
use seawall_study::describe::describe;
use seawall_study::study::study;
use seawall_table::read::files;
use seawall_table::write::{destination, prepare};
use std::io::Write;

/// Describes a table, and prints the block or writes it: whole, or not at all.
pub fn run(request: &DescribeRequest) -> Result<(), Failure> {
    let study = study(&request.study)?;
    let out = request.out.as_ref().map(|out| destination(out, &request.study)).transpose()?;
    if let Some(out) = &out {
        let mut inputs = files(&study.data.path)?;
        if let Some(target) = request.target.as_ref().or(study.target.path.as_ref()) {
            inputs.extend(files(target)?);
        }
        for input in inputs {
            destination(out, &input)?;
        }
    }
    let wait = show::Wait::new();
    let target = request.target.as_deref();
    let found = describe(study, target, &request.asked, Watch::new(&wait.follow()))?;
    drop(wait);
    let text = if request.json { format!("{}\n", found.json()) } else { found.toml() };
    let Some(out) = out else {
        show::data().write_all(text.as_bytes())?;
        return Ok(());
    };
    prepare(out.clone(), |file| file.write_all(text.as_bytes()))?.keep()?;
    writeln!(show::terminal(), "What {} says of its people is in {}.", found.path, out.display())?;
    Ok(())
}
