//! The numbers beneath a figure, every digit of them, as a table to save.
//!
//! A table travels in the page as the address of a link, so that it is saved without a script and
//! without a network.

/// A table to save: its address as a link has it.
pub(super) fn table(columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = line(columns.iter().map(|name| (*name).to_owned()));
    rows.into_iter().for_each(|row| text.push_str(&line(row)));
    format!("data:text/csv;charset=utf-8,{}", encoded(&text))
}

/// A number with every digit that it has; an empty cell where there is none.
pub(super) fn exact(x: f64) -> String {
    if x.is_finite() { x.to_string() } else { String::new() }
}

/// The same of one that may be absent.
pub(super) fn exact_if(x: Option<f64>) -> String {
    x.map_or(String::new(), exact)
}

fn line(cells: impl IntoIterator<Item = String>) -> String {
    let cell = |text: String| {
        if text.contains(['"', ',', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text
        }
    };
    format!("{}\r\n", cells.into_iter().map(cell).collect::<Vec<_>>().join(","))
}

/// A text within an address: letters and digits as they are, every other byte by its number.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b',' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_cells_and_numbers_whole() {
        let link = table(&["a", "b"], [vec!["x,\"y\"".to_owned(), exact(0.1 + 0.2)]]);
        assert_eq!(
            link,
            "data:text/csv;charset=utf-8,a,b%0D%0A%22x,%22%22y%22%22%22,0.30000000000000004%0D%0A"
        );
        assert_eq!((exact(f64::NAN), exact_if(None)), (String::new(), String::new()));
        assert!(!table(&["<&'\">"], []).contains(['<', '&', '\'', '"', '>']));
    }
}
