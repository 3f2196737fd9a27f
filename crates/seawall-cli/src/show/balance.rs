//! How the log was made what is known of a target, before any number.

use super::{label, number, standardised, table, wrapped};
use seawall::transfer::BalanceSummary;
use seawall_report::wording;
use std::io::{Result, Write};

/// How the log was made like the target.
pub(super) fn print(balance: &BalanceSummary, out: &mut dyn Write) -> Result<()> {
    let rows = |(action, n): &(String, f64)| format!("{} {}", label(action), number(n.round()));
    let rows: Vec<String> = balance.effective_rows.iter().map(rows).collect();
    let status = wording::balance(balance);
    wrapped(&format!("Balance: {status}. Effective rows: {}.", rows.join(", ")), out)?;
    if balance.columns.is_empty() {
        return Ok(());
    }
    let mut shown = table(&["column", "standardised difference before", "after"]);
    for column in &balance.columns {
        let [before, after] = [column.before, column.after].map(standardised);
        shown.add_row([label(&column.name), before, after]);
    }
    writeln!(out, "{shown}")
}
