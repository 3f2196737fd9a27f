//! Columns that say the same: a move along both is paid for twice, and either would do.
//!
//! Two columns of levels by Cramér's V, two of numbers by their correlation, both weighed by rows.

use seawall::{Kind, Log, Value};
use std::collections::HashMap;

/// As strongly related as this, two columns say the same.
const SAME: f64 = 0.95;
/// Columns of more levels are not looked at: each level would have too few rows.
const MOST_LEVELS: usize = 50;
/// Contexts looked at: about so many tell as well as all.
const MOST_CONTEXTS: usize = 5000;
/// Columns looked at.
const MOST_COLUMNS: usize = 200;

/// A note for each pair of columns that say the same.
pub(super) fn twins(log: &Log) -> Vec<String> {
    let space = log.contexts();
    let mut rows: HashMap<u32, f64> = HashMap::new();
    for e in log.entries() {
        *rows.entry(e.context).or_default() += e.weight;
    }
    let mut rows: Vec<(usize, f64)> = rows.into_iter().map(|(x, n)| (x as usize, n)).collect();
    rows.sort_by_key(|r| r.0);
    let step = rows.len().div_ceil(MOST_CONTEXTS);
    let rows: Vec<(usize, f64)> = rows.into_iter().step_by(step.max(1)).collect();
    let names: Vec<&str> = space.names().take(MOST_COLUMNS).collect();
    let numbers: Vec<Option<Vec<f64>>> = (0..names.len())
        .map(|k| {
            (space.kind(k) == Kind::Numeric).then(|| {
                let of = space.each(k, |v| if let Value::Number(x) = v { x } else { f64::NAN });
                rows.iter().map(|r| of[r.0]).collect()
            })
        })
        .collect();
    let levels: Vec<Vec<usize>> = (0..names.len())
        .map(|k| rows.iter().map(|r| space.code(r.0, k) as usize).collect())
        .collect();
    let count = |k: usize| space.levels(k).len();
    let mut notes = Vec::new();
    for a in 0..names.len() {
        for b in a + 1..names.len() {
            let strength = match (&numbers[a], &numbers[b]) {
                (Some(x), Some(y)) => correlation(x, y, &rows).abs(),
                (None, None) if count(a) <= MOST_LEVELS && count(b) <= MOST_LEVELS => {
                    cramer((&levels[a], count(a)), (&levels[b], count(b)), &rows)
                }
                _ => 0.0,
            };
            if strength >= SAME {
                notes.push(format!(
                    "columns {:?} and {:?} say nearly the same ({strength:.2}): a shift of both is \
                     paid for twice; leave one out, or halve their weights",
                    names[a], names[b]
                ));
            }
        }
    }
    notes
}

fn correlation(x: &[f64], y: &[f64], rows: &[(usize, f64)]) -> f64 {
    let both = || {
        let pairs = x.iter().zip(y).zip(rows);
        pairs.filter(|((x, y), _)| !x.is_nan() && !y.is_nan()).map(|((x, y), r)| (*x, *y, r.1))
    };
    let total: f64 = both().map(|b| b.2).sum();
    let mean = |of: fn(&(f64, f64, f64)) -> f64| both().map(|b| b.2 * of(&b)).sum::<f64>() / total;
    let (mx, my) = (mean(|b| b.0), mean(|b| b.1));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y, n) in both() {
        xx += n * (x - mx) * (x - mx);
        yy += n * (y - my) * (y - my);
        xy += n * (x - mx) * (y - my);
    }
    if xx > 0.0 && yy > 0.0 { xy / (xx * yy).sqrt() } else { 0.0 }
}

fn cramer((a, na): (&[usize], usize), (b, nb): (&[usize], usize), rows: &[(usize, f64)]) -> f64 {
    let (mut table, mut of_a, mut of_b) = (vec![0.0; na * nb], vec![0.0; na], vec![0.0; nb]);
    let mut total = 0.0;
    for ((&i, &j), (_, n)) in a.iter().zip(b).zip(rows) {
        table[i * nb + j] += n;
        of_a[i] += n;
        of_b[j] += n;
        total += n;
    }
    let used = |of: &[f64]| of.iter().filter(|n| **n > 0.0).count();
    let least = used(&of_a).min(used(&of_b));
    if least < 2 {
        return 0.0;
    }
    let mut squares = 0.0;
    for i in 0..na {
        for j in 0..nb {
            let expected = of_a[i] * of_b[j] / total;
            if expected > 0.0 {
                squares += (table[i * nb + j] - expected).powi(2) / expected;
            }
        }
    }
    (squares / total / (least - 1) as f64).sqrt()
}
