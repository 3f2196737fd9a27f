//! Names, texts and numbers as a study file and its comments write them.

/// A text on one line of a comment.
pub(super) fn short(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() > 20 { text.chars().take(19).chain(['…']).collect() } else { text }
}

/// A column's name on one line of a comment.
pub(crate) fn shown(name: &str) -> String {
    if name.trim().is_empty() { quoted(name) } else { short(name) }
}

/// A text as TOML quotes it.
pub(crate) fn quoted(text: &str) -> String {
    // JSON's escapes are TOML's too, and stay on one line; but for one that JSON leaves alone.
    serde_json::Value::String(text.to_owned()).to_string().replace('\u{7f}', "\\u007F")
}

/// A bare key where TOML allows one.
pub(crate) fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// A number as TOML and people read it; one with many zeros has an exponent.
pub(crate) fn number(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        1e-6..1e15 => x.to_string(),
        _ => format!("{x:e}"),
    }
}

/// So many of something.
pub(crate) fn many(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// The first few of a list, and how many more there are.
pub(crate) fn listed(all: &[String], most: usize) -> String {
    let mut words = all.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    if all.len() > most {
        words.push_str(&format!(" and {} more", all.len() - most));
    }
    words
}
