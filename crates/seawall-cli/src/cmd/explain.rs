//! `seawall explain`: a policy file, or the outcome model of a study, in words.

use super::{apply, check};
use crate::failure::Failure;
use crate::show;
use seawall::Watch;
use seawall_study::explain::explain;
use std::io::Write;
use std::path::Path;

/// Prints a policy or a study's model; which is meant the file's name tells.
pub fn run(path: &Path, action: Option<&str>, json: bool) -> Result<(), Failure> {
    if path.extension().is_some_and(|e| e == "json") {
        if action.is_some() || json {
            let what =
                "--action and --json are for the outcome model of a study; this is a policy file";
            return Err(Failure::usage(format!("{}: {what}", path.display())));
        }
        return apply::explain(path);
    }
    let wait = show::Wait::new();
    let loaded = check::read(path, &wait)?;
    let found = explain(&loaded, action, Watch::new(&wait.follow()))?;
    drop(wait);
    let mut out = show::terminal();
    if json {
        let text = serde_json::to_string(&found).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        show::explain::print(&found, &mut out)?;
    }
    Ok(())
}
