//! How the log was made what is known of a target, before any number.

use super::{label, number, percent, table, wrapped};
use seawall::transfer::{BalanceStatus, BalanceSummary};
use std::io::{Result, Write};

/// How the log was made like the target.
pub(super) fn print(balance: &BalanceSummary, out: &mut dyn Write) -> Result<()> {
    let rows = |(action, n): &(String, f64)| format!("{} {}", label(action), number(n.round()));
    let rows: Vec<String> = balance.effective_rows.iter().map(rows).collect();
    let status = match balance.status {
        BalanceStatus::Matched => "matched".to_owned(),
        BalanceStatus::MatchedInPart => {
            let mut why = Vec::new();
            if balance.mixed > 0.0 {
                why.push(format!("{} of the log's own margins mixed in", percent(balance.mixed)));
            }
            if balance.unseen > 0.0 {
                why.push(format!("{} of the target on levels never seen", percent(balance.unseen)));
            }
            format!("matched in part ({})", why.join("; "))
        }
    };
    wrapped(&format!("Balance: {status}. Effective rows: {}.", rows.join(", ")), out)?;
    if balance.columns.is_empty() {
        return Ok(());
    }
    let mut shown = table(&["column", "standardised difference before", "after"]);
    for column in &balance.columns {
        shown.add_row([label(&column.name), apart(column.before), apart(column.after)]);
    }
    writeln!(out, "{shown}")
}

/// A standardised difference: two digits are what it deserves.
fn apart(difference: f64) -> String {
    // Adding 0 takes a minus away from nothing.
    format!("{:.2}", (difference * 100.0).round() / 100.0 + 0.0)
}
