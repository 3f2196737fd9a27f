//! Names that would command a terminal or break a drawing: escaped wherever a person reads them,
//! whole wherever a program does.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run};
use std::path::Path;
use std::process::Command;

/// A red word and a cleared screen, a carriage return, a C1 control and a mark that turns texts.
const EVIL: &str = "\u{1b}[31mred\u{1b}[2J\u{8}\u{9b}31m\u{202e}";

const STUDY: &str = r#"[data]
path = "log.csv"
[context]
"c\u001b[31m" = { kind = "nominal" }
u = { kind = "nominal" }
[action]
column = "arm"
[outcome]
cost = "y"
[model]
kind = "additive"
[robust]
context = { set = "wasserstein", radius = 0.05 }
"#;

fn study() -> tempfile::TempDir {
    let mut log = "c\u{1b}[31m,u,arm,y\n".to_owned();
    for k in 0..200 {
        let level = if k % 2 == 0 { format!("{EVIL}{}", k % 3) } else { "plain".to_owned() };
        let arm = if (k / 2) % 2 == 0 { format!("arm{EVIL}") } else { "b".to_owned() };
        log += &format!("{level},{},{arm},{}\n", k % 5, k * 7 % 11);
    }
    folder(&[("s.toml", STUDY.as_bytes()), ("log.csv", log.as_bytes())])
}

/// Whether a text commands nothing.
fn harmless(text: &str) -> bool {
    let commands = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
    !text.contains(commands)
}

#[test]
fn names_do_not_command_the_terminal() {
    let there = study();
    let path = there.path();
    std::fs::write(path.join("\u{1b}[31m.csv"), "a\nx\n").unwrap();
    let mut seen = 0;
    for (code, args) in [
        (0, "check s.toml"),
        (0, "explain s.toml"),
        (0, "evaluate s.toml --splits 0 --curve c.csv"),
        (0, "learn s.toml --policy tree:1 --no-honest --out tree.json"),
        (0, "learn s.toml --policy softmax --no-honest --out softmax.json"),
        (0, "explain tree.json"),
        (0, "explain softmax.json"),
        (0, "radius s.toml"),
        (0, "distance log.csv log.csv --context u:nominal"),
        (2, "distance log.csv \u{1b}[31m.csv --context u:nominal"),
        (2, "check \u{1b}[31m.toml"),
        (2, "evaluate s.toml --policy constant:\u{1b}[31mx"),
        (2, "learn s.toml --policy \u{1b}[31mx"),
        (2, "check s.toml --\u{1b}[31mx"),
        (2, "predict \u{1b}[31m.json log.csv"),
        (0, "predict tree.json log.csv --out applied\u{1b}[31m.csv"),
    ] {
        let found = run(path, args);
        assert_eq!(found.code, code, "{args:?}: {}", found.err);
        assert!(harmless(&found.out), "{args:?}: {:?}", found.out);
        assert!(harmless(&found.err), "{args:?}: {:?}", found.err);
        assert!(found.err.lines().count() <= 1, "{args:?}: {}", found.err);
        seen += usize::from(found.out.contains("\\u001b") || found.err.contains("u001b"));
    }
    assert!(seen >= 8, "names were seen in {seen} answers only");
    // What a program reads has the names as they are.
    let found = json(path, "check s.toml --json");
    assert_eq!(found["actions"][0]["name"], format!("arm{EVIL}"));
    let file = std::fs::read_to_string(path.join("tree.json")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&file).unwrap();
    assert_eq!(file["actions"][0], format!("arm{EVIL}"));
    let table = run(path, "predict tree.json log.csv");
    assert!(table.out.contains(EVIL) && table.code == 0);
}

/// Parses every drawing of a page, or a file that is one, as XML.
fn drawings(page: &Path) -> usize {
    let parse = "import re, sys, xml.dom.minidom as d
text = open(sys.argv[1], encoding='utf-8').read()
found = re.findall(r'<svg\\b.*?</svg>', text, re.S)
[d.parseString(svg.encode()) for svg in found]
print(len(found))";
    let parsed = Command::new("python3").args(["-c", parse]).arg(page).output().unwrap();
    assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
    String::from_utf8(parsed.stdout).unwrap().trim().parse().unwrap()
}

#[test]
fn control_characters_in_names_leave_drawings_whole() {
    let there = study();
    let path = there.path();
    let found = run(path, "report s.toml --no-learn --splits 0");
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(drawings(&path.join("report.html")) > 2);
    let page = std::fs::read_to_string(path.join("report.html")).unwrap();
    assert!(harmless(&page.replace('\t', " ")) && page.contains("arm\\u001b[31mred"));
    let words = "learn s.toml --policy groups:u --method bsgd --steps 200 --batch 20";
    let found = run(path, &format!("{words} --no-honest --trace trace.csv"));
    assert_eq!(found.code, 0, "{}", found.err);
    assert_eq!(drawings(&path.join("trace.svg")), 1);
}
