//! A query, taken apart by the rules of its dialect: what is quoted, and what would be run.

/// A part of a query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Token {
    /// A quoted name, as it is meant.
    Name(String),
    /// A quoted text, as it is meant.
    Text(String),
    /// A keyword, a function, a short name of the query's own.
    Word(String),
    /// A number.
    Number(String),
}

/// How a dialect quotes: whether a quote is doubled and a backslash escapes.
#[derive(Clone, Copy)]
struct Quotes {
    doubles: bool,
    escapes: bool,
}

/// The rules of texts and names, and what a name is quoted with.
fn rules(dialect: &str) -> (Quotes, Quotes, char) {
    let quotes = |doubles, escapes| Quotes { doubles, escapes };
    match dialect {
        "spark" => (quotes(false, true), quotes(true, false), '`'),
        "bigquery" => (quotes(false, true), quotes(false, true), '`'),
        "snowflake" => (quotes(true, true), quotes(true, false), '"'),
        _ => (quotes(true, false), quotes(true, false), '"'),
    }
}

/// The parts of a query; what is wrong, if a text got out of its quotes.
pub fn tokens(dialect: &str, query: &str) -> Result<Vec<Token>, String> {
    let (of_text, of_name, mark) = rules(dialect);
    let mut found = Vec::new();
    let mut rest = query;
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        if letter.is_ascii_whitespace() {
            rest = after;
        } else if letter == '\'' {
            // Postgres lets a backslash escape in a text that E stands before.
            let escaping = found.last() == Some(&Token::Word("E".to_owned()));
            if escaping {
                found.pop();
            }
            let quotes = Quotes { escapes: of_text.escapes || escaping, ..of_text };
            let (text, left) = quoted(after, letter, quotes)?;
            if left.starts_with(['\'', '"', '`']) {
                return Err(format!("two quotes side by side: {text:?}"));
            }
            found.push(Token::Text(text));
            rest = left;
        } else if letter == mark {
            let (name, left) = quoted(after, letter, of_name)?;
            found.push(Token::Name(name));
            rest = left;
        } else if letter.is_ascii_digit() {
            let end = number_end(rest);
            found.push(Token::Number(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if letter.is_ascii_alphabetic() || letter == '_' {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
            found.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if rest.starts_with("--") || rest.starts_with("/*") {
            return Err(format!("a comment: {:?}", rest.chars().take(40).collect::<String>()));
        } else if "(),=<>+-*/|~.:".contains(letter) {
            rest = after;
        } else {
            return Err(format!("{letter:?} outside quotes"));
        }
    }
    Ok(found)
}

/// What a quoted text means, and what comes after it.
fn quoted(text: &str, quote: char, rules: Quotes) -> Result<(String, &str), String> {
    let mut meant = String::new();
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if rules.escapes && letter == '\\' {
            match rest.next().ok_or("a backslash at the end")? {
                'n' => meant.push('\n'),
                'r' => meant.push('\r'),
                'u' => {
                    let digits = rest.as_str().get(..4).ok_or("half a letter")?;
                    let code = u32::from_str_radix(digits, 16).map_err(|e| e.to_string())?;
                    meant.push(char::from_u32(code).ok_or("no letter")?);
                    rest = rest.as_str()[4..].chars();
                }
                letter @ ('\\' | '\'' | '"' | '`') => meant.push(letter),
                other => return Err(format!("\\{other} means something else")),
            }
        } else if letter == quote {
            if rules.doubles && rest.as_str().starts_with(quote) {
                rest.next();
                meant.push(quote);
            } else {
                return Ok((meant, rest.as_str()));
            }
        } else {
            meant.push(letter);
        }
    }
    Err(format!("a quote is never closed: {meant:?}"))
}

/// Where a number ends.
fn number_end(text: &str) -> usize {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut end = digits(text);
    if text[end..].starts_with('.') {
        end += 1 + digits(&text[end + 1..]);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let count = digits(&text[end + 1 + sign..]);
        if count > 0 {
            end += 1 + sign + count;
        }
    }
    end
}
