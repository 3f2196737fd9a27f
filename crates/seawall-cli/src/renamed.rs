//! Names of commands and options before this version: accepted once more, with a notice.

use std::ffi::OsString;

/// Commands: the old name, and the new one.
const COMMANDS: [(&str, &str); 3] =
    [("transfer", "transport"), ("apply", "predict"), ("compare", "sensitivity")];
/// Options: the old name, and the new one.
const OPTIONS: [(&str, &str); 5] = [
    ("--full", "--details"),
    ("--halves", "--splits"),
    ("--cost-radius", "--outcome-radius"),
    ("--cost-set", "--outcome-set"),
    ("--known", "--target-facts"),
];

/// What was typed in today's names, and a notice for each old one.
pub fn renewed(typed: impl Iterator<Item = OsString>) -> (Vec<OsString>, Vec<String>) {
    let mut notices = Vec::new();
    let mut command_is_next = true;
    let mut all = Vec::new();
    for (at, word) in typed.enumerate() {
        let text = word.to_str().unwrap_or_default();
        let (name, rest) = text.find('=').map_or((text, ""), |k| text.split_at(k));
        let is_command = at > 0 && command_is_next && !text.starts_with('-');
        let known: &[(&str, &str)] = if is_command { &COMMANDS } else { &OPTIONS };
        command_is_next &= at == 0 || !is_command;
        match known.iter().find(|(old, _)| at > 0 && *old == name) {
            Some((old, new)) => {
                let notice = format!("{old} is now {new}");
                if !notices.contains(&notice) {
                    notices.push(notice);
                }
                all.push(OsString::from(format!("{new}{rest}")));
            }
            None => all.push(word),
        }
    }
    (all, notices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_are_taken_and_told() {
        let ask = |text: &str| {
            let (words, notices) = renewed(text.split(' ').map(OsString::from));
            let words: Vec<String> =
                words.into_iter().filter_map(|w| w.into_string().ok()).collect();
            (words.join(" "), notices.join("; "))
        };
        let (words, notices) =
            ask("seawall transfer s.toml --known=a:mean=1 --halves 3 --halves 4");
        assert_eq!(words, "seawall transport s.toml --target-facts=a:mean=1 --splits 3 --splits 4");
        assert_eq!(
            notices,
            "transfer is now transport; --known is now --target-facts; --halves is now --splits"
        );
        // A file of an old command's name is a file.
        let same = "seawall evaluate compare --splits 3";
        assert_eq!(ask(same), (same.to_owned(), String::new()));
        assert_eq!(ask("seawall --threads 2 apply p d").0, "seawall --threads 2 apply p d");
    }
}
