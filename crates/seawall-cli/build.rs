//! What the program was built with, for `seawall --version`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let told = |name: &str| std::env::var(name).unwrap_or_else(|_| "unknown".to_owned());
    let compiler = Command::new(told("RUSTC")).arg("--version").output();
    let compiler = compiler.map(|found| String::from_utf8_lossy(&found.stdout).trim().to_owned());
    let compiler = compiler.unwrap_or_else(|_| "rustc unknown".to_owned());
    println!("cargo::rustc-env=SEAWALL_COMPILER={compiler}");
    println!("cargo::rustc-env=SEAWALL_TARGET={}", told("TARGET"));
    println!("cargo::rustc-env=SEAWALL_PROFILE={}", told("PROFILE"));
}
