//! The words of `seawall completions`.

use crate::request::CompletionsPlace;
use clap::{Args as ClapArgs, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Files go where the shell and man look for a user's own: under XDG_DATA_HOME (~/.local/share) and, for
fish, XDG_CONFIG_HOME (~/.config). Nothing else is changed; what is left to do is said.

Examples:
  seawall completions bash
  seawall completions zsh --print > _seawall
  seawall completions fish --folder packaging        # for who makes a package";

/// The arguments of `seawall completions`.
#[derive(Debug, ClapArgs)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: ShellName,
    /// Print the completions; install nothing
    #[arg(long, conflicts_with = "folder")]
    print: bool,
    /// Write completions and manual pages to this folder, which must be there, in place of the user's own
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ShellName {
    Bash,
    Zsh,
    Fish,
}

impl Completions {
    /// What the words ask for.
    pub fn meaning(self) -> (Shell, CompletionsPlace) {
        let shell = match self.shell {
            ShellName::Bash => Shell::Bash,
            ShellName::Zsh => Shell::Zsh,
            ShellName::Fish => Shell::Fish,
        };
        let to = match (self.print, self.folder) {
            (true, _) => CompletionsPlace::Screen,
            (false, Some(folder)) => CompletionsPlace::Folder(folder),
            (false, None) => CompletionsPlace::User,
        };
        (shell, to)
    }
}
