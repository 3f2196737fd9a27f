//! The report's page with any names in it: made of the template's tags alone, and the names are all
//! there.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seawall::Watch;
use seawall_fuzz::bytes::{texts, toml};
use seawall_fuzz::html::Page;
use seawall_fuzz::{reading, told};
use seawall_report::report;
use seawall_study::prepare::load;
use seawall_study::report::{Request, answers};
use seawall_study::study::study_of;
use seawall_study::words::printable;
use std::collections::HashSet;
use std::sync::OnceLock;

fuzz_target!(init: prepare(), |data: &[u8]| {
    if data.len() > 600 {
        return;
    }
    let names = texts(data, 9);
    let Some(html) = page(&names) else { return };
    let read = Page::read(&html).unwrap_or_else(|what| panic!("{what}"));
    let known = known();
    for shape in &read.shapes {
        assert!(known.shapes.contains(shape), "<{shape}> is not the template's");
    }
    for (attribute, value) in &read.acting {
        assert!(attribute == "href" || attribute == "style", "{attribute}");
        // A table to save has its names in per cent signs.
        let (text, more) = match value.strip_prefix("data:text/csv;charset=utf-8,") {
            Some(table) if attribute == "href" => (table, ",_"),
            _ => (value.as_str(), ":#"),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "%.-".contains(c) || more.contains(c);
        assert!(text.chars().all(plain), "{attribute}={value:?}");
    }
    let code = |raw: &[(String, String)]| -> Vec<String> {
        let all = raw.iter().map(|(_, text)| text.clone());
        all.filter(|text| !text.starts_with('{')).collect()
    };
    assert_eq!(code(&read.raw), known.code, "scripts and styles are the template's");
    let data: Vec<_> = read.raw.iter().filter(|(_, text)| text.starts_with('{')).collect();
    assert_eq!(data.len(), 1);
    let json: serde_json::Value = serde_json::from_str(&data[0].1).expect("JSON");
    assert!(json["strings"].is_array());
    let commands = |c: char| seawall_study::words::commands(c);
    assert!(!html.contains(commands), "a letter that commands");
    let title = format!("{} · Seawall report", printable(&names[0]));
    assert!(read.texts.contains(&title), "{title:?} is not the title");
});

/// Before the clock of the first input runs: what takes as long as several of them.
fn prepare() {
    seawall_fuzz::one_thread();
    known();
}

/// The page of a small study with these names; None if they make none.
fn page(names: &[String]) -> Option<String> {
    let [title, outcome, c, d, a, y, low, high, arm] = names else { return None };
    let cell = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut log: String = [c, d, a, y].map(|name| cell(name)).join(",") + "\n";
    for k in 0..24 {
        let level = cell([low, high][k % 2]);
        let group = cell(["one", "two", high.as_str()][k / 2 % 3]);
        let action = cell([arm.as_str(), "other"][k / 6 % 2]);
        log += &format!("{level},{group},{action},{}\n", k * 7 % 11);
    }
    reading::file("log.csv", log.as_bytes());
    let [title, outcome, c, d, a, y, arm] = [title, outcome, c, d, a, y, arm].map(|t| toml(t));
    let text = format!(
        "[data]\npath = \"log.csv\"\n[context]\n{c} = {{ kind = \"nominal\", missing = true }}\n\
         {d} = {{ kind = \"nominal\", missing = true }}\n[action]\ncolumn = {a}\n[outcome]\ncost = {y}\n\
         [model]\nkind = \"cells\"\nunseen = \"mean\"\n[[policy]]\nkind = \"uniform\"\n[[policy]]\n\
         kind = \"greedy\"\n[[policy]]\nkind = \"constant\"\naction = {arm}\n[robust]\n\
         context = {{ set = \"wasserstein\", radius = 0.05 }}\n[report]\ntitle = {title}\n\
         outcome = {outcome}\n"
    );
    let folder = reading::folder();
    let request = Request {
        policies: Vec::new(),
        support: None,
        learn: Vec::new(),
        halves: None,
        seed: 1,
        transfer: None,
        compare: None,
    };
    let made = study_of(&folder.join("s.toml"), folder, &text)
        .and_then(|study| load(study, Watch::NOBODY))
        .and_then(|loaded| answers(&loaded, request, Watch::NOBODY))
        .and_then(report);
    match made {
        Ok(report) => Some(report.html().expect("a page")),
        Err(error) => {
            told(&error);
            None
        }
    }
}

/// What pages of harmless names are made of.
struct Known {
    shapes: HashSet<String>,
    code: Vec<String>,
}

fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let names = |text: &str| texts(text.as_bytes(), 9);
        let harmless = ["", "t\u{1e}o\u{1e}c\u{1e}d\u{1e}a\u{1e}y\u{1e}1\u{1e}2\u{1e}3"];
        // A level that is missing, and a column of one level.
        let others = [
            "t\u{1e}o\u{1e}c\u{1e}d\u{1e}a\u{1e}y\u{1e}\u{1e}b",
            "t\u{1e}o\u{1e}c\u{1e}d\u{1e}a\u{1e}y\u{1e}b\u{1e}b",
        ];
        let (mut shapes, mut code) = (HashSet::new(), Vec::new());
        for text in harmless.into_iter().chain(others) {
            let html = page(&names(text)).expect("harmless names make a page");
            let read = Page::read(&html).expect("the template is well formed");
            shapes.extend(read.shapes);
            code = read.raw.into_iter().map(|raw| raw.1).filter(|t| !t.starts_with('{')).collect();
        }
        Known { shapes, code }
    })
}
