//! Weights where a linear program says what is attainable, and at extreme sizes.

use crate::balance::*;
use crate::common::Random;
use seawall::transfer::{Balance, BalanceStatus};
use seawall::{Fact, Feature, Known, Quantity, Space};
use std::sync::Arc;

/// Whether any weights on the cells that have rows have these margins.
pub(crate) fn attainable(table: &[Vec<f64>], rows: &[f64], columns: &[f64]) -> bool {
    let mut program = microlp::Problem::new(microlp::OptimizationDirection::Minimize);
    let mut sums = vec![microlp::LinearExpr::empty(); rows.len() + columns.len()];
    for (i, row) in table.iter().enumerate() {
        for (k, _) in row.iter().enumerate().filter(|(_, n)| **n > 0.0) {
            let cell = program.add_var(0.0, (0.0, f64::INFINITY));
            sums[i].add(cell, 1.0);
            sums[rows.len() + k].add(cell, 1.0);
        }
    }
    for (sum, goal) in sums.into_iter().zip(rows.iter().chain(columns)) {
        program.add_constraint(sum, microlp::ComparisonOp::Eq, *goal);
    }
    program.solve().is_ok()
}

#[test]
fn what_a_linear_program_attains_is_attained() {
    let (mut can, mut cannot) = (0, 0);
    for seed in crate::common::cases(600) {
        let r = &mut Random(seed);
        let (height, width) = (2 + r.below(3), 2 + r.below(3));
        // Every row and column of the table has somebody.
        let table: Vec<Vec<f64>> = (0..height)
            .map(|i| {
                let cell = |k: usize| i % width == k || k % height == i || r.chance(0.4);
                (0..width).map(cell).map(|some| if some { 30.0 } else { 0.0 }).collect()
            })
            .collect();
        // Small counts, many of them 0: margins are often at the end of what can be.
        let mut other: Vec<Vec<f64>> = vec![vec![0.0; width]; height];
        for _ in 0..1 + r.below(12) {
            let (i, k) = (r.below(height), r.below(width));
            if table[i][k] > 0.0 || r.chance(0.3) {
                other[i][k] += 1.0;
            }
        }
        let rows: Vec<f64> = other.iter().map(|row| row.iter().sum()).collect();
        let columns: Vec<f64> = (0..width).map(|k| other.iter().map(|row| row[k]).sum()).collect();
        if rows.iter().sum::<f64>() == 0.0 {
            continue;
        }
        let expected = attainable(&table, &rows, &columns);
        let (log, known) = table_case(&table, &rows, &columns);
        let found = Balance::new(&log, &known, 0.0).is_ok_and(|b| b.mixed() == 0.0);
        assert_eq!(found, expected, "{seed}: {table:?} {rows:?} {columns:?}");
        if expected { can += 1 } else { cannot += 1 }
    }
    println!("{can} attainable, {cannot} not");
    assert!(
        can >= crate::common::cases::enough(100) && cannot >= crate::common::cases::enough(50),
        "{can} {cannot}"
    );
}

#[test]
fn extremes_are_matched() {
    let facts = |value: f64, share: f64| vec![mean_age(value), share_of(0, share)];
    for scale in [1e-200, 1.0, 1e200] {
        let log = people(|age, sex, _| scale * (1.0 + (age * 7 + sex * 3) as f64));
        for (value, share) in [
            (8.999_999, 0.5),
            (1e-9, 0.5),
            (4.0, 1e-9),
            (4.0, 1.0 - 1e-9),
            (8.99, 1e-6),
            (0.0, 0.0),
        ] {
            let known = Known::new(log.contexts().clone(), facts(value, share)).unwrap();
            let balance = Balance::new(&log, &known, 0.0).unwrap();
            assert_eq!(balance.status(), BalanceStatus::Matched, "{value} {share}");
            assert!(known.holds_for(balance.population(), 1e-8).unwrap(), "{value} {share}");
        }
    }
    // GubSimplex that differ by 8 orders, and numbers far from 0.
    let space = Space::grid([Feature::numeric("year").levels([1e9, 1e9 + 1.0, 1e9 + 2.0])]);
    let space = Arc::new(space.unwrap());
    let log = log_of(&space, &[1.0, 1e-4, 1e-8]);
    let known = Known::new(space.clone(), vec![Fact::exact(0, Quantity::Mean, 1e9 + 1.5)]).unwrap();
    let balance = Balance::new(&log, &known, 0.0).unwrap();
    let [one, two, three] = balance.population().weights() else { unreachable!() };
    assert!((two + 2.0 * three - 1.5).abs() < 1e-6, "{one} {two} {three}");
    // Shares in the middle of ranges need not sum to 1.
    let log = people(|_, _, _| 20.0);
    let about = |level, value| share_of(level, value).give_or_take(0.05);
    let balance = balanced(&log, vec![about(0, 0.3), about(1, 0.68)]).unwrap();
    let women: f64 = balance.population().weights().iter().step_by(2).sum();
    assert!((women - 0.3 / 0.98).abs() < 1e-9 && balance.status() == BalanceStatus::Matched);
    assert!(Balance::new(&log, &known, 0.0).is_err());
    let known = Known::new(log.contexts().clone(), vec![mean_age(5.0)]).unwrap();
    assert!(Balance::new(&log, &known, f64::NAN).is_err());
}
