//! Columns, levels and actions by name, as they are typed, and the name that was probably meant.

use super::decimal::same;

/// What is said of a column that a table does not have: the names that there are, the nearest first.
pub fn unknown_column(name: &str, all: &[&str]) -> String {
    let hint = nearest(name, all).map_or(String::new(), |n| format!("; did you mean {n:?}?"));
    let mut listed = all.iter().take(20).copied().collect::<Vec<_>>().join(", ");
    if all.len() > 20 {
        listed.push_str(&format!(" and {} more", all.len() - 20));
    }
    format!("no column named {name:?}{hint} (there are: {listed})")
}

/// The name that was probably meant, if one is near enough.
pub fn nearest<'a>(name: &str, all: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let apart = |other: &&&str| edits(&other.to_lowercase(), &name);
    let near = all.iter().min_by_key(apart)?;
    let apart = edits(&near.to_lowercase(), &name);
    let length = name.chars().count();
    (apart <= 1 + length / 4 && apart < length).then_some(near)
}

/// How many letters must be changed, added or taken away.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(before + 1);
        }
    }
    row[b.len()]
}

/// The one of some names that a text means: itself, or the same number.
pub fn named<'a>(names: &'a [String], text: &str) -> Option<&'a String> {
    let exactly = names.iter().find(|name| *name == text);
    exactly.or_else(|| names.iter().find(|name| same(name, text)))
}

/// A text cut at a letter, but not inside double quotes.
pub fn split(text: &str, at: char) -> Vec<&str> {
    let mut quoted = false;
    let cut = |letter: char| {
        quoted ^= letter == '"';
        letter == at && !quoted
    };
    text.split(cut).collect()
}

/// A name or a level as it is typed, and whether quotes were around it.
pub fn unquoted(typed: &str) -> (String, bool) {
    let typed = typed.trim();
    match typed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => (inner.replace("\"\"", "\""), true),
        None => (typed.to_owned(), false),
    }
}
