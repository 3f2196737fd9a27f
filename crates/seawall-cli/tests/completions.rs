//! Completions and manual pages of the built program.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::run;
use assert_cmd::Command;
use tempfile::TempDir;

#[test]
fn completions_and_pages_are_installed_for_the_user() {
    let commands = ["evaluate", "learn", "report", "bound", "completions"];
    for (shell, file) in [
        ("bash", "data/bash-completion/completions/seawall"),
        ("zsh", "data/zsh/site-functions/_seawall"),
        ("fish", "config/fish/completions/seawall.fish"),
    ] {
        let folder = TempDir::new().unwrap();
        let found = Command::cargo_bin("seawall")
            .unwrap()
            .env("XDG_DATA_HOME", folder.path().join("data"))
            .env("XDG_CONFIG_HOME", folder.path().join("config"))
            .args(["completions", shell])
            .output()
            .unwrap();
        assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
        let script = std::fs::read_to_string(folder.path().join(file)).unwrap();
        let printed = run(folder.path(), &format!("completions {shell} --print"));
        assert_eq!(printed.out, script);
        for command in commands {
            assert!(script.contains(command), "{shell}: {command}");
            let page = folder.path().join(format!("data/man/man1/seawall-{command}.1"));
            assert!(std::fs::read_to_string(page).unwrap().contains(".SH"), "{command}");
        }
        assert!(folder.path().join("data/man/man1/seawall.1").exists());
    }
}

#[test]
fn bash_takes_what_it_is_given() {
    let folder = TempDir::new().unwrap();
    let script = folder.path().join("seawall.bash");
    std::fs::write(&script, run(folder.path(), "completions bash --print").out).unwrap();
    let asked = "source seawall.bash && COMP_WORDS=(seawall eval) COMP_CWORD=1 && _seawall seawall eval seawall && echo \"${COMPREPLY[@]}\"";
    let found = std::process::Command::new("bash")
        .args(["-c", asked])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout).trim(), "evaluate", "{found:?}");
}

#[test]
fn a_folder_that_is_not_there_is_refused_and_nothing_is_written() {
    let folder = TempDir::new().unwrap();
    let found = run(folder.path(), "completions fish --folder nowhere");
    assert_eq!(found.code, 2);
    assert!(found.err.contains("nowhere") && found.err.lines().count() == 1, "{}", found.err);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(run(folder.path(), "completions tcsh").code, 2);
}

#[test]
fn the_version_says_what_it_was_built_with() {
    let folder = TempDir::new().unwrap();
    let short = run(folder.path(), "-V").out;
    assert_eq!(short, format!("seawall {}\n", env!("CARGO_PKG_VERSION")));
    let long = run(folder.path(), "--version").out;
    assert!(long.starts_with(short.trim()) && long.contains("built with rustc 1."), "{long}");
}
