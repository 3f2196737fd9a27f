//! CSV letter by letter, the slow way: what the reader's rows are held to.

/// A file's records, the header first: without blank lines, but in a file of one column those are rows.
pub fn records(bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let separator = separator(bytes);
    let (mut all, mut at) = (Vec::<Vec<Vec<u8>>>::new(), 0);
    while at < bytes.len() {
        if matches!(bytes[at], b'\n' | b'\r') {
            at = after_line(bytes, at);
            if all.first().is_some_and(|header| header.len() == 1) {
                all.push(vec![Vec::new()]);
            }
            continue;
        }
        let mut record = Vec::new();
        loop {
            let (field, end) = field(bytes, at, separator);
            record.push(field);
            at = end;
            if bytes.get(at) != Some(&separator) {
                break;
            }
            at += 1;
        }
        at = after_line(bytes, at);
        all.push(record);
    }
    all
}

/// The field that begins at a place, and where it ends.
fn field(bytes: &[u8], from: usize, separator: u8) -> (Vec<u8>, usize) {
    let (mut text, mut at) = (Vec::new(), from);
    if bytes.get(at) == Some(&b'"') {
        at += 1;
        while at < bytes.len() {
            match (bytes[at], bytes.get(at + 1)) {
                (b'"', Some(b'"')) => at += 1,
                (b'"', _) => break,
                _ => {}
            }
            text.push(bytes[at]);
            at += 1;
        }
        at = (at + 1).min(bytes.len());
    }
    // What stands after a closed quote belongs to the field.
    while at < bytes.len() && bytes[at] != separator && !matches!(bytes[at], b'\n' | b'\r') {
        text.push(bytes[at]);
        at += 1;
    }
    (text, at)
}

fn after_line(bytes: &[u8], end: usize) -> usize {
    match bytes.get(end..) {
        Some([b'\r', b'\n', ..]) => end + 2,
        Some([_, ..]) => end + 1,
        _ => end,
    }
}

/// A comma, if the header has one outside quotes; else the commoner of semicolon and tab.
fn separator(bytes: &[u8]) -> u8 {
    let header = bytes.iter().skip_while(|b| matches!(b, b'\n' | b'\r'));
    let (mut quoted, mut counts) = (false, [0usize; 3]);
    for &byte in header {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            _ if quoted => {}
            _ => {
                if let Some(k) = b",;\t".iter().position(|b| *b == byte) {
                    counts[k] += 1;
                }
            }
        }
    }
    match counts {
        [0, 0, 0] => b',',
        [commas, _, _] if commas > 0 => b',',
        [_, semicolons, tabs] if semicolons >= tabs => b';',
        _ => b'\t',
    }
}
