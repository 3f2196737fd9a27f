//! An outcome as it is typed: a column, or a sum like `ISC14 + NK14 + 3*DDEAD=Y`.
//!
//! ```text
//! sum   =  [-] term { (+ | -) term }        a minus between terms has a blank before and after it
//! term  =  [number *] column [= level]
//! ```
//!
//! A name with one of these signs in it stands in double quotes; a quote in it is doubled.

use crate::study::Term;
use seawall_table::read::same;

/// A part of a sum, as it is typed.
struct Part {
    weight: f64,
    column: String,
    level: Option<String>,
}

/// What is typed: a name, quoted or not, or a sign.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Name { text: String, quoted: bool },
    Sign(char),
}

/// The columns of a typed outcome and what each adds; Err says what was expected.
pub(super) fn parse(text: &str) -> Result<Vec<(String, Term)>, String> {
    let mut terms: Vec<(String, Term)> = Vec::new();
    for part in parts(&tokens(text)?)? {
        add(&mut terms, part)?;
    }
    Ok(terms)
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let letters: Vec<char> = text.chars().collect();
    let blank = |at: usize| letters.get(at).is_none_or(|c| c.is_whitespace());
    // A minus is a sign at the start and between blanks; else it is a letter of a name.
    let sign = |at: usize| match letters[at] {
        '+' | '*' | '=' => true,
        '-' => letters[..at].iter().all(|c| c.is_whitespace()) || (blank(at - 1) && blank(at + 1)),
        _ => false,
    };
    let (mut found, mut at) = (Vec::new(), 0);
    while at < letters.len() {
        if letters[at].is_whitespace() {
            at += 1;
        } else if sign(at) {
            found.push(Token::Sign(letters[at]));
            at += 1;
        } else if letters[at] == '"' {
            let (name, after) = quoted_name(&letters, at + 1)
                .ok_or_else(|| "a quote (\") is opened and never closed".to_owned())?;
            found.push(Token::Name { text: name, quoted: true });
            at = after;
        } else {
            let from = at;
            while at < letters.len() && letters[at] != '"' && !sign(at) {
                at += 1;
            }
            let name: String = letters[from..at].iter().collect();
            found.push(Token::Name { text: name.trim_end().to_owned(), quoted: false });
        }
    }
    Ok(found)
}

/// A quoted name that begins after its quote, and where what follows it begins.
fn quoted_name(letters: &[char], mut at: usize) -> Option<(String, usize)> {
    let mut name = String::new();
    loop {
        match (letters.get(at)?, letters.get(at + 1)) {
            ('"', Some('"')) => {
                name.push('"');
                at += 2;
            }
            ('"', _) => return Some((name, at + 1)),
            (letter, _) => {
                name.push(*letter);
                at += 1;
            }
        }
    }
}

fn parts(tokens: &[Token]) -> Result<Vec<Part>, String> {
    let expected = "expected a sum of columns like a + 3*b=Y (a name with + * = in it in double \
                    quotes)";
    let mut parts = Vec::new();
    let mut rest = tokens;
    let mut sign = 1.0;
    if let [Token::Sign('-'), after @ ..] = rest {
        (sign, rest) = (-1.0, after);
    }
    loop {
        let (mut weight, column);
        (weight, column, rest) = match rest {
            [
                Token::Name { text, quoted: false },
                Token::Sign('*'),
                Token::Name { text: column, .. },
                after @ ..,
            ] => {
                let number: Option<f64> = text.parse().ok().filter(|x: &f64| x.is_finite());
                let number = number.ok_or_else(|| {
                    format!(
                        "{text:?} is no number; before * a number is expected, as in 3*{column}"
                    )
                })?;
                (number, column, after)
            }
            [Token::Name { text, .. }, after @ ..] => (1.0, text, after),
            _ => return Err(expected.to_owned()),
        };
        weight *= sign;
        let level;
        (level, rest) = match rest {
            [Token::Sign('='), Token::Name { text, .. }, after @ ..] => (Some(text.clone()), after),
            _ => (None, rest),
        };
        parts.push(Part { weight, column: column.clone(), level });
        (sign, rest) = match rest {
            [] => return Ok(parts),
            [Token::Sign('+'), after @ ..] => (1.0, after),
            [Token::Sign('-'), after @ ..] => (-1.0, after),
            _ => return Err(expected.to_owned()),
        };
    }
}

/// Adds a part to a sum in which each column stands once, as a study file has it.
fn add(terms: &mut Vec<(String, Term)>, part: Part) -> Result<(), String> {
    let Part { weight, column, level } = part;
    match (terms.iter_mut().find(|(name, _)| *name == column), level) {
        (None, None) => terms.push((column, Term::Weight(weight))),
        (None, Some(level)) => terms.push((column, Term::Levels(vec![(level, weight)]))),
        (Some((_, Term::Weight(sum))), None) => *sum += weight,
        (Some((_, Term::Levels(levels))), Some(level)) => {
            match levels.iter_mut().find(|(known, _)| same(known, &level)) {
                Some((_, sum)) => *sum += weight,
                None => levels.push((level, weight)),
            }
        }
        (Some(_), _) => {
            return Err(format!(
                "the column {column:?} counts as a number and by level; expected one of them"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(name: &str, x: f64) -> (String, Term) {
        (name.to_owned(), Term::Weight(x))
    }

    fn levels(name: &str, all: &[(&str, f64)]) -> (String, Term) {
        let all = all.iter().map(|(level, x)| ((*level).to_owned(), *x)).collect();
        (name.to_owned(), Term::Levels(all))
    }

    #[test]
    fn sums() {
        for (text, expected) in [
            ("a", vec![weight("a", 1.0)]),
            ("a+b + 3*c=Y", vec![weight("a", 1.0), weight("b", 1.0), levels("c", &[("Y", 3.0)])]),
            ("- 2*a - b", vec![weight("a", -2.0), weight("b", -1.0)]),
            ("x + -0.5*y-z", vec![weight("x", 1.0), weight("y-z", -0.5)]),
            (
                "\"a + \"\"b\"\"\" + age at entry",
                vec![weight("a + \"b\"", 1.0), weight("age at entry", 1.0)],
            ),
            ("c=Y+2*c=N + c=Y", vec![levels("c", &[("Y", 2.0), ("N", 2.0)])]),
            ("rx=\"Lev+5FU\"", vec![levels("rx", &[("Lev+5FU", 1.0)])]),
            ("a + a", vec![weight("a", 2.0)]),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        for (text, words) in [
            ("", "expected a sum"),
            ("a +", "expected a sum"),
            ("a b=c=d", "expected a sum"),
            ("*a", "expected a sum"),
            ("a*3", "before * a number"),
            ("\"a", "never closed"),
            ("a + a=1", "as a number and by level"),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.contains(words), "{text}: {found}");
        }
    }
}
