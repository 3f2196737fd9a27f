//! A page, read strictly: every tag closed, every attribute in quotes, every `&` an entity. Whatever is
//! not so was not written by the template.

/// What a page is made of.
#[derive(Debug, Default)]
pub struct Page {
    /// Each kind of tag with the names of its attributes.
    pub shapes: Vec<String>,
    /// Attributes that a browser acts on, with their values: links, styles.
    pub acting: Vec<(String, String)>,
    /// What stands in scripts and styles.
    pub raw: Vec<(String, String)>,
    /// What a person reads, piece by piece.
    pub texts: Vec<String>,
}

const VOID: [&str; 5] = ["meta", "input", "br", "hr", "link"];

impl Page {
    /// Reads a page; where it is not as it should be, what stands there.
    pub fn read(html: &str) -> Result<Self, String> {
        let mut page = Page::default();
        let mut open: Vec<String> = Vec::new();
        let mut rest = html.strip_prefix("<!doctype html>").ok_or("no doctype")?;
        while !rest.is_empty() {
            let Some(tag) = rest.strip_prefix('<') else {
                let end = rest.find('<').unwrap_or(rest.len());
                page.texts.push(decoded(&rest[..end])?);
                rest = &rest[end..];
                continue;
            };
            if let Some(closing) = tag.strip_prefix('/') {
                let end = closing.find('>').ok_or("a tag without an end")?;
                let name = &closing[..end];
                if open.pop().as_deref() != Some(name) {
                    return Err(format!("</{name}> closes nothing"));
                }
                rest = &closing[end + 1..];
                continue;
            }
            let (name, own, after) = page.tag(tag)?;
            rest = after;
            if name == "script" || name == "style" {
                let end = format!("</{name}>");
                let at = rest.find(&end).ok_or("a script without an end")?;
                page.raw.push((name, rest[..at].to_owned()));
                rest = &rest[at + end.len()..];
            } else if !own && !VOID.contains(&name.as_str()) {
                open.push(name);
            }
        }
        if open.is_empty() { Ok(page) } else { Err(format!("never closed: {open:?}")) }
    }

    /// An opening tag: its name, whether it closes itself, and what comes after it.
    fn tag<'h>(&mut self, tag: &'h str) -> Result<(String, bool, &'h str), String> {
        let letters = |text: &str| {
            text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(text.len())
        };
        let shown: String = tag.chars().take(60).collect();
        let end = letters(tag);
        if end == 0 {
            return Err(format!("a bare < before {shown:?}"));
        }
        let (name, mut rest) = tag.split_at(end);
        let mut shape = vec![name];
        loop {
            let spaced = rest.trim_start();
            if let Some(after) = spaced.strip_prefix("/>") {
                self.shapes.push(shape.join(" "));
                return Ok((name.to_owned(), true, after));
            }
            if let Some(after) = spaced.strip_prefix('>') {
                self.shapes.push(shape.join(" "));
                return Ok((name.to_owned(), false, after));
            }
            let end = letters(spaced);
            if end == 0 || spaced.len() == rest.len() {
                return Err(format!("no attribute in <{shown:?}"));
            }
            let attribute = &spaced[..end];
            shape.push(attribute);
            rest = &spaced[end..];
            let Some(value) = rest.strip_prefix("=\"") else { continue };
            let end = value.find('"').ok_or("a quote without an end")?;
            let text = decoded(&value[..end])?;
            if matches!(attribute, "href" | "src" | "style") || attribute.starts_with("on") {
                self.acting.push((attribute.to_owned(), text));
            }
            rest = &value[end + 1..];
        }
    }
}

/// A text without its entities.
fn decoded(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let end = rest[at..].find(';').ok_or_else(|| format!("a bare & in {text:?}"))?;
        out.push(match &rest[at + 1..at + end] {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#x27" | "#39" => '\'',
            "#x2f" => '/',
            other => return Err(format!("&{other}; in {text:?}")),
        });
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}
