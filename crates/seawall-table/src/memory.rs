//! How much memory a study may use: `2GB`, `500MB`, in powers of a thousand, or `2GiB` in those of 1024.
//!
//! Counting beyond it goes to temporary files, and a grid that would not fit is not made. The default
//! does not depend on the machine, because which grids are made does not either. What the machine
//! does not have is refused before it is taken, with the number.

use seawall::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a study may use if nobody says.
pub const DEFAULT: u64 = 4_000_000_000;

/// What a study of this program may use, like the number of its threads.
static ALLOWED: AtomicU64 = AtomicU64::new(DEFAULT);

/// Says what every study that is read from now on may use, in bytes.
pub fn allow(bytes: u64) {
    ALLOWED.store(bytes, Ordering::Relaxed);
}

/// What a study may use, in bytes, unless it is told otherwise.
pub fn allowed() -> u64 {
    ALLOWED.load(Ordering::Relaxed)
}

/// The memory that this program can still get, in bytes: what nobody uses, or less where the program
/// may not take as much. None where the system does not say.
pub fn at_hand() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let free = read("/proc/meminfo").and_then(|text| kilobytes(&text, "MemAvailable:"))?;
    let taken = read("/proc/self/status").and_then(|text| kilobytes(&text, "VmSize:"))?;
    let most = read("/proc/self/limits").and_then(|text| address_space(&text));
    Some(most.map_or(free, |most| free.min(most.saturating_sub(taken))))
}

/// A line like `VmSize:  123 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(number * 1024)
}

/// The soft limit of the line `Max address space`, in bytes; None if there is none.
fn address_space(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Refuses what takes more memory than there is: `what` goes before and `instead` after the numbers.
pub fn needs(bytes: f64, what: &str, instead: &str) -> Result<()> {
    match at_hand().filter(|left| bytes > *left as f64) {
        Some(left) => Err(Error::config(format!(
            "{what} about {} of memory, and {} is at hand; {instead}",
            size(bytes.min(1e18) as u64),
            size(left)
        ))),
        None => Ok(()),
    }
}

/// Less than this leaves no room to work in.
const LEAST: u64 = 1_000_000;

const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

/// Bytes from a text like `2GB`.
pub fn parse(text: &str) -> Result<u64> {
    let wrong = || {
        Error::config(format!(
            "{text:?} is no memory; expected a size of at least 1MB: 2GB, 500MB, 1.5GiB"
        ))
    };
    let trimmed = text.trim();
    let unit = |(name, _): &&(&str, u64)| {
        trimmed.to_ascii_lowercase().ends_with(&name.to_ascii_lowercase())
    };
    let (name, unit) = UNITS.iter().find(unit).ok_or_else(wrong)?;
    let number = trimmed[..trimmed.len() - name.len()].trim_end();
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = number * *unit as f64;
    if bytes >= LEAST as f64 && bytes < 1e18 { Ok(bytes as u64) } else { Err(wrong()) }
}

/// Bytes as people read them.
pub fn size(bytes: u64) -> String {
    let unit = UNITS[4..].iter().find(|(_, unit)| bytes >= *unit).unwrap_or(&("B", 1));
    let amount = bytes as f64 / unit.1 as f64;
    let digits = if amount < 10.0 && amount.fract() != 0.0 { 1 } else { 0 };
    format!("{amount:.digits$} {}", unit.0)
}

/// A size that is enough, as it would be typed.
pub(crate) fn rounded_up(bytes: u64) -> String {
    match bytes.div_ceil(1_000_000_000) {
        1 => format!("{}MB", bytes.div_ceil(1_000_000)),
        gigabytes => format!("{gigabytes}GB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("2GB", 2_000_000_000),
            ("1.5 GiB", 3 << 29),
            ("500mb", 500_000_000),
            ("1000000B", 1_000_000),
        ] {
            assert_eq!(parse(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "2", "GB", "-1GB", "nanGB", "1KB", "infGB", "1e30TB", "\u{e9}"] {
            assert!(parse(text).unwrap_err().to_string().contains("expected a size"), "{text}");
        }
        let status = "Name:\tx\nVmSize:\t  2048 kB\n";
        assert_eq!(kilobytes(status, "VmSize:"), Some(2 << 20));
        let limits = "Max cpu time unlimited unlimited seconds\nMax address space  500 900 bytes\n";
        assert_eq!(address_space(limits), Some(500));
        assert_eq!(address_space("Max address space  unlimited unlimited bytes"), None);
        assert_eq!((size(8_080_000_000), size(12_000_000)), ("8.1 GB".into(), "12 MB".into()));
        assert_eq!(
            (rounded_up(1_500_000), rounded_up(1_500_000_001)),
            ("2MB".into(), "2GB".into())
        );
    }
}
