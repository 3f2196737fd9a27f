//! `seawall completions`: what a shell completes and what `man` shows, made from the arguments.

use crate::failure::Failure;
use crate::request::CompletionsPlace;
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use seawall_table::write::{keep, prepare};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file and what it holds.
type Page = (PathBuf, Vec<u8>);

/// Writes the completions of a shell and the manual pages.
pub fn run(command: Command, shell: Shell, to: &CompletionsPlace) -> Result<(), Failure> {
    let script = script(command.clone(), shell);
    let (completions, manual) = match to {
        CompletionsPlace::Screen => return Ok(std::io::stdout().write_all(&script)?),
        CompletionsPlace::Folder(folder) => (folder.clone(), folder.clone()),
        CompletionsPlace::User => (completions_folder(shell)?, data_home()?.join("man/man1")),
    };
    let name = match (shell, to) {
        (Shell::Zsh, _) => "_seawall",
        (Shell::Fish, _) => "seawall.fish",
        (_, CompletionsPlace::Folder(_)) => "seawall.bash",
        _ => "seawall",
    };
    if let CompletionsPlace::User = to {
        for folder in [&completions, &manual] {
            std::fs::create_dir_all(folder).map_err(|e| refused(folder, &e))?;
        }
    }
    let mut files = vec![(completions.join(name), script)];
    files.extend(manual_pages(command)?.into_iter().map(|(page, text)| (manual.join(page), text)));
    let ready = files
        .into_iter()
        .map(|(path, text)| prepare(path, |out| out.write_all(&text)))
        .collect::<seawall::Result<Vec<_>>>()?;
    let pages = ready.len() - 1;
    keep(ready)?;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "Wrote {} and {pages} manual pages to {}.",
        completions.join(name).display(),
        manual.display()
    )?;
    if let (CompletionsPlace::User, Shell::Zsh) = (to, shell) {
        writeln!(
            out,
            "zsh looks there if ~/.zshrc has, before compinit: fpath+=({})",
            completions.display()
        )?;
    }
    Ok(())
}

/// What the shell reads.
fn script(mut command: Command, shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "seawall", &mut script);
    script
}

/// A page for the program and one for each command.
fn manual_pages(command: Command) -> Result<Vec<Page>, Failure> {
    let mut pages = Vec::new();
    let render = |command: Command, name: String| -> Result<Page, Failure> {
        let mut text = Vec::new();
        // A page is no place for the compiler's version: it would differ from build to build.
        let command = command.long_version(env!("CARGO_PKG_VERSION"));
        Man::new(command).render(&mut text)?;
        Ok((PathBuf::from(format!("{name}.1")), text))
    };
    for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
        let name = format!("seawall-{}", sub.get_name());
        // clap wants a name that lives as long as the program; the pages are made once.
        let called: &'static str = Box::leak(name.clone().into_boxed_str());
        pages.push(render(sub.clone().name(called), name)?);
    }
    pages.push(render(command, "seawall".to_owned())?);
    Ok(pages)
}

/// Where a shell looks for a user's completions.
fn completions_folder(shell: Shell) -> Result<PathBuf, Failure> {
    Ok(match shell {
        Shell::Zsh => data_home()?.join("zsh/site-functions"),
        Shell::Fish => home("XDG_CONFIG_HOME", ".config")?.join("fish/completions"),
        _ => data_home()?.join("bash-completion/completions"),
    })
}

fn data_home() -> Result<PathBuf, Failure> {
    home("XDG_DATA_HOME", ".local/share")
}

/// A user's folder: by its variable, else under the home.
fn home(variable: &str, under: &str) -> Result<PathBuf, Failure> {
    let folder = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let found = folder(variable).or_else(|| Some(folder("HOME")?.join(under)));
    found.ok_or_else(|| {
        Failure::usage(format!(
            "neither {variable} nor HOME is set; try --folder FOLDER, or --print"
        ))
    })
}

fn refused(folder: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{}: cannot be made: {error}; try --folder FOLDER", folder.display()))
}
