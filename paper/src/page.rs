//! Where the pages go, and tables in Markdown and CSV.

use seawall::{Error, Result};
use seawall_table::write::{csv_field, prepare};
use std::path::{Path, PathBuf};

/// The folder that everything is written to.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder if it is not there.
    pub fn new(path: &Path) -> Result<Self> {
        let made = std::fs::create_dir_all(path).and_then(|()| path.canonicalize());
        let path = made.map_err(|e| Error::input(format!("{}: {e}", path.display())))?;
        Ok(Folder(path))
    }

    /// A file's path.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file whole, and says so.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path(name);
        prepare(path.clone(), |out| out.write_all(text.as_bytes()))?.keep()?;
        println!("{}", path.display());
        Ok(())
    }
}

/// Rows as a Markdown table; the first row is the header.
pub fn markdown(rows: &[Vec<String>]) -> String {
    let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
    let mut text = String::new();
    for (k, row) in rows.iter().enumerate() {
        text.push_str(&line(row));
        if k == 0 {
            text.push_str(&line(&vec!["---".to_owned(); row.len()]));
        }
    }
    text
}

/// Rows as CSV.
pub fn csv(rows: &[Vec<String>]) -> String {
    let line = |row: &Vec<String>| {
        let fields: Vec<String> = row.iter().map(|f| csv_field(f)).collect();
        format!("{}\n", fields.join(","))
    };
    rows.iter().map(line).collect()
}

/// A row of texts.
pub fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.iter().map(|c| (*c).to_owned()).collect()
}

/// The mean and the standard deviation of some numbers.
pub fn mean_and_sd(all: &[f64]) -> (f64, f64) {
    let count = all.len() as f64;
    let mean = all.iter().sum::<f64>() / count;
    let squares: f64 = all.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0)).sqrt())
}

/// `0.53 ± 0.02`
pub fn spread(all: &[f64]) -> String {
    let (mean, sd) = mean_and_sd(all);
    format!("{mean:.3} ± {sd:.3}")
}
