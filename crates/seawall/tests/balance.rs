//! Balancing: against an exponential-cone program and plain raking, its statuses, what it must not
//! depend on; and the centre under its weights: unbiased, and held by its intervals.

#![allow(clippy::unwrap_used)]

use crate::common::Random;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use seawall::transfer::{Balance, BalanceStatus, EFFECTIVE};
use seawall::{Direction, Entry, Fact, Feature, Known, Log, Population, Quantity, Space};
use std::sync::Arc;

/// A log with these weights of contexts, one action, one outcome.
pub(crate) fn log_of(space: &Arc<Space>, weights: &[f64]) -> Log {
    let rows = weights.iter().enumerate().filter(|(_, w)| **w > 0.0);
    let entry = |(x, w): (usize, &f64)| Entry { context: x as u32, weight: *w, ..Entry::default() };
    let outcomes = Arc::new(Space::grid([Feature::numeric("y").levels([0.0])]).unwrap());
    let (actions, values) = (vec!["a".to_owned()], vec![0.0]);
    let entries = rows.map(entry).collect();
    Log::new(space.clone(), actions, outcomes, values, Direction::Cost, entries).unwrap()
}

/// `min Σ t` with `w ≥ 0`, `Σ w = 1`, `Σ w φ_j = b_j` and `w exp(−t/w) ≤ p`.
pub(crate) fn cone_program(
    p: &[f64],
    features: &[Vec<f64>],
    goals: &[f64],
) -> (Vec<f64>, SolverStatus) {
    let n = p.len();
    let (mut rows, mut cols, mut entries, mut b) = (vec![], vec![], vec![], vec![1.0]);
    let mut put = |r: usize, c: usize, x: f64| {
        rows.push(r);
        cols.push(c);
        entries.push(x);
    };
    (0..n).for_each(|i| put(0, i, 1.0));
    for (j, (values, goal)) in features.iter().zip(goals).enumerate() {
        (0..n).for_each(|i| put(1 + j, i, values[i]));
        b.push(*goal);
    }
    let first = 1 + features.len();
    for (i, p) in p.iter().enumerate() {
        put(first + 3 * i, n + i, 1.0);
        put(first + 3 * i + 1, i, -1.0);
        b.extend([0.0, 0.0, *p]);
    }
    let a = CscMatrix::new_from_triplets(first + 3 * n, 2 * n, rows, cols, entries);
    let cost: Vec<f64> = vec![0.0; n].into_iter().chain(vec![1.0; n]).collect();
    let mut cones = vec![SupportedConeT::ZeroConeT(first)];
    cones.extend((0..n).map(|_| SupportedConeT::ExponentialConeT()));
    let settings = DefaultSettings {
        verbose: false,
        tol_gap_abs: 1e-12,
        tol_gap_rel: 1e-12,
        tol_feas: 1e-12,
        ..DefaultSettings::default()
    };
    let zero = CscMatrix::zeros((2 * n, 2 * n));
    let mut solver = DefaultSolver::new(&zero, &cost, &a, &b, &cones, settings).unwrap();
    solver.solve();
    (solver.solution.x[..n].to_vec(), solver.solution.status)
}

/// A random space, log and target: numbers, levels, missing values, partial margins.
pub(crate) fn problem(seed: u64) -> (Log, Known) {
    let r = &mut Random(seed);
    let mut features = vec![];
    for k in 0..1 + r.below(3) {
        let n = 2 + r.below(3);
        let labels: Vec<String> = (0..n).map(|l| format!("l{l}")).collect();
        let mut feature = match r.below(2) {
            0 => Feature::numeric(format!("x{k}")).levels((0..n).map(|l| (l * l) as f64 * 3.0)),
            _ => Feature::nominal(format!("x{k}"), labels),
        };
        if r.chance(0.3) {
            feature = feature.with_missing();
        }
        features.push(feature);
    }
    let space = Arc::new(Space::grid(features).unwrap());
    let mut weights =
        || (0..space.len()).map(|_| (0.1 + r.unit()) * 2f64.powi(r.below(6) as i32)).collect();
    let (own, other): (Vec<f64>, Vec<f64>) = (weights(), weights());
    let target = Population::from_weights(space.clone(), other).unwrap();
    let mut facts = vec![];
    for feature in 0..space.names().len() {
        let levels = space.levels(feature).len();
        let numeric = (0..space.len()).any(|i| space.number_at(i, feature).is_some());
        match r.below(4) {
            0 if numeric => facts.push(Fact::exact(feature, Quantity::Mean, 0.0)),
            1 if numeric => {
                facts.push(Fact::exact(feature, Quantity::Mean, 0.0));
                facts.push(Fact::exact(feature, Quantity::Share(0), 0.0));
            }
            2 => facts.push(Fact::exact(feature, Quantity::Share(r.below(levels)), 0.0)),
            _ => facts.extend((0..levels).map(|l| Fact::exact(feature, Quantity::Share(l), 0.0))),
        }
    }
    // Each fact as the target has it.
    let facts = facts.into_iter().map(|fact| {
        let of = |i: usize| target.weights()[i];
        let value = match fact.quantity {
            Quantity::Share(_) => (0..space.len()).map(|i| of(i) * fact.at(&space, i)).sum(),
            Quantity::Mean => {
                let number = |i: usize| space.number_at(i, fact.feature);
                let some = || (0..space.len()).filter_map(|i| Some((number(i)?, of(i))));
                some().map(|(x, q)| x * q).sum::<f64>() / some().map(|(_, q)| q).sum::<f64>()
            }
        };
        Fact::exact(fact.feature, fact.quantity, value)
    });
    let known = Known::new(space.clone(), facts.collect()).unwrap();
    (log_of(&space, &own), known)
}

#[test]
fn weights_equal_an_exponential_cone_program() {
    let (mut furthest, mut solved) = (0.0_f64, 0);
    for seed in crate::common::cases(200) {
        let (log, known) = problem(seed);
        let balance = Balance::new(&log, &known, 0.0).unwrap();
        assert_eq!(balance.status(), BalanceStatus::Matched, "{seed}");
        let p = log.population().unwrap();
        let space = log.contexts();
        let at = |fact: &Fact| (0..space.len()).map(|i| fact.at(space, i)).collect();
        let features: Vec<Vec<f64>> = known.facts().iter().map(at).collect();
        let goals: Vec<f64> = known.facts().iter().map(Fact::goal).collect();
        let (program, status) = cone_program(p.weights(), &features, &goals);
        let found = balance.population().weights();
        let divergence = |w: &[f64], from: &[f64]| -> f64 {
            w.iter().zip(from).map(|(w, p)| w.max(1e-300) * (w.max(1e-300) / p).ln()).sum()
        };
        let apart = found.iter().zip(&program).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        let above = divergence(&program, p.weights()) - divergence(found, p.weights());
        // Where the program stopped short of its tolerance, its weights are further from the optimum
        // than ours: for weights w that meet the facts, KL(w ‖ p) is above the least by KL(w ‖ ours).
        assert!(above > -1e-10 && above < 1e-7, "{seed}: {above}");
        if status == SolverStatus::Solved {
            solved += 1;
            furthest = furthest.max(apart);
        }
        assert!(known.holds_for(balance.population(), 1e-9).unwrap(), "{seed}");
        let mean: f64 = p.weights().iter().enumerate().map(|(x, p)| p * balance.odds(x)).sum();
        assert!((mean - 1.0).abs() < 1e-12);
    }
    println!("weights of {solved} solved programs within {furthest:.1e}");
    assert!(furthest < 1e-7 && solved >= crate::common::cases::enough(150), "{furthest}, {solved}");
}

/// Iterative proportional fitting of a table to margins, until nothing moves.
pub(crate) fn raked(table: &[Vec<f64>], rows: &[f64], columns: &[f64]) -> Vec<Vec<f64>> {
    let mut table = table.to_vec();
    for _ in 0..10_000 {
        for (row, goal) in table.iter_mut().zip(rows) {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|x| *x *= goal / sum);
        }
        for (k, goal) in columns.iter().enumerate() {
            let sum: f64 = table.iter().map(|row| row[k]).sum();
            table.iter_mut().for_each(|row| row[k] *= goal / sum);
        }
    }
    table
}

pub(crate) fn table_case(table: &[Vec<f64>], rows: &[f64], columns: &[f64]) -> (Log, Known) {
    let levels = |n: usize| (0..n).map(|k| format!("{k}")).collect::<Vec<_>>();
    let features = [
        Feature::nominal("row", levels(rows.len())),
        Feature::nominal("column", levels(columns.len())),
    ];
    let space = Arc::new(Space::grid(features).unwrap());
    let total: f64 = rows.iter().sum();
    let share = |feature: usize, goals: &[f64]| -> Vec<Fact> {
        let fact =
            |(k, goal): (usize, &f64)| Fact::exact(feature, Quantity::Share(k), goal / total);
        goals.iter().enumerate().map(fact).collect()
    };
    let known = Known::new(space.clone(), [share(0, rows), share(1, columns)].concat()).unwrap();
    let of = |x: usize| table[space.code(x, 0) as usize][space.code(x, 1) as usize];
    let weights: Vec<f64> = (0..space.len()).map(of).collect();
    (log_of(&space, &weights), known)
}

#[test]
fn margins_of_tables_are_raked() {
    // Deming and Stephan's way with a 3 by 4 table (Bishop, Fienberg and Holland's layout), a 4 by 4
    // one of occupations by fathers, and one with empty cells.
    let tables = [
        (
            vec![
                vec![40.0, 30.0, 20.0, 10.0],
                vec![35.0, 50.0, 100.0, 75.0],
                vec![30.0, 80.0, 70.0, 120.0],
            ],
            vec![150.0, 300.0, 400.0],
            vec![200.0, 300.0, 200.0, 150.0],
        ),
        (
            vec![vec![1.0, 2.0, 1.0], vec![3.0, 5.0, 5.0], vec![6.0, 2.0, 2.0]],
            vec![5.0, 15.0, 8.0],
            vec![11.0, 9.0, 8.0],
        ),
        (
            vec![vec![10.0, 0.0, 5.0], vec![0.0, 8.0, 3.0], vec![2.0, 7.0, 0.0]],
            vec![10.0, 20.0, 12.0],
            vec![14.0, 18.0, 10.0],
        ),
    ];
    for (table, rows, columns) in tables {
        let (log, known) = table_case(&table, &rows, &columns);
        let balance = Balance::new(&log, &known, 0.0).unwrap();
        let expected = raked(&table, &rows, &columns);
        let total: f64 = rows.iter().sum();
        for (x, found) in balance.population().weights().iter().enumerate() {
            let space = log.contexts();
            let cell = expected[space.code(x, 0) as usize][space.code(x, 1) as usize] / total;
            assert!((found - cell).abs() < 1e-9, "{found} and {cell}");
        }
    }
}

/// Two actions, ages 0 to 9 by two sexes, as often as said.
pub(crate) fn people(count: impl Fn(usize, usize, usize) -> f64) -> Log {
    let space = Arc::new(grid());
    let outcomes = Arc::new(Space::grid([Feature::numeric("y").levels([0.0])]).unwrap());
    let mut entries = vec![];
    for x in 0..space.len() {
        for action in 0..2 {
            let weight = count(x / 2, x % 2, action);
            let (context, action) = (x as u32, action as u32);
            entries.push(Entry { context, action, weight, ..Entry::default() });
        }
    }
    let actions = ["wait", "treat"].map(str::to_owned).to_vec();
    Log::new(space, actions, outcomes, vec![0.0], Direction::Cost, entries).unwrap()
}

pub(crate) fn grid() -> Space {
    let age = Feature::numeric("age").levels((0..10).map(|k| k as f64));
    Space::grid([age, Feature::nominal("sex", ["F", "M"])]).unwrap()
}

pub(crate) fn mean_age(value: f64) -> Fact {
    Fact::exact(0, Quantity::Mean, value)
}

pub(crate) fn share_of(level: usize, value: f64) -> Fact {
    Fact::exact(1, Quantity::Share(level), value)
}

pub(crate) fn balanced(log: &Log, facts: Vec<Fact>) -> seawall::Result<Balance> {
    Balance::new(log, &Known::new(log.contexts().clone(), facts).unwrap(), EFFECTIVE)
}

#[test]
fn what_is_attainable_is_matched_and_told() {
    let log = people(|_, _, _| 20.0);
    let balance = balanced(&log, vec![mean_age(6.0), share_of(0, 0.3)]).unwrap();
    assert_eq!(
        (balance.status(), balance.mixed(), balance.unseen()),
        (BalanceStatus::Matched, 0.0, 0.0)
    );
    assert!(balance.effective_rows().iter().all(|n| (30.0..400.0).contains(n)));
    let [age, sex] = balance.columns() else { unreachable!() };
    // Ages 0 to 9 have mean 4.5 and variance 8.25.
    assert!((age.before - 1.5 / 8.25_f64.sqrt()).abs() < 1e-9 && age.after.abs() < 1e-9);
    let spread = (0.5_f64 * (0.25 + 0.21)).sqrt();
    assert!((sex.before - 0.2 / spread).abs() < 1e-9 && sex.after.abs() < 1e-9);
    assert_eq!(balance.facts()[0].name, "mean of age");
    assert!((balance.facts()[0].before - 4.5).abs() < 1e-12);
    let json = serde_json::to_value(balance.summary()).unwrap();
    assert_eq!(json["status"], "matched");
    assert!(json["effective_rows"]["treat"].as_f64().unwrap() > 30.0);
    // Older is signed.
    let younger = balanced(&log, vec![mean_age(3.0)]).unwrap();
    assert!((younger.columns()[0].before + 1.5 / 8.25_f64.sqrt()).abs() < 1e-9);
}

#[test]
fn the_ends_of_ranges_are_reached() {
    let log = people(|_, _, _| 40.0);
    let oldest = balanced(&log, vec![mean_age(9.0)]).unwrap();
    assert_eq!(oldest.status(), BalanceStatus::Matched);
    assert!((oldest.odds(18) - 10.0).abs() < 1e-9 && oldest.odds(0) == 0.0);
    for facts in
        [vec![share_of(0, 0.0)], vec![share_of(1, 1.0)], vec![share_of(0, 0.0), share_of(1, 1.0)]]
    {
        let men = balanced(&log, facts).unwrap();
        assert!((men.odds(1) - 2.0).abs() < 1e-9 && men.odds(0) == 0.0);
    }
    // A missing value is no number: the others' mean is what is known.
    let age = Feature::numeric("age").levels([0.0, 1.0]).with_missing();
    let space = Arc::new(Space::grid([age]).unwrap());
    let log = log_of(&space, &[100.0, 100.0, 50.0]);
    let balance = balanced(&log, vec![mean_age(0.8)]).unwrap();
    let [zero, one, _] = balance.population().weights() else { unreachable!() };
    assert!((one / (zero + one) - 0.8).abs() < 1e-9);
}

#[test]
fn what_is_not_is_matched_in_part() {
    // Nobody older than 4: a mean of 6 is to be mixed with the log's own, 2.
    let young = people(|age, _, _| if age < 5 { 40.0 } else { 0.0 });
    let balance = balanced(&young, vec![mean_age(5.0)]).unwrap();
    assert_eq!(balance.status(), BalanceStatus::MatchedInPart);
    // At least 1/3 of the log's own, for a mean of 4, and a little for the rows: 80 of each action there.
    assert!((0.33..=0.35).contains(&balance.mixed()), "{}", balance.mixed());
    assert!(
        balance.columns()[0].after > 0.0
            && balance.columns()[0].after < balance.columns()[0].before
    );
    assert!(balance.effective_rows().iter().all(|n| *n >= EFFECTIVE));
    // Enough rows everywhere, but few of the treated are old.
    let lopsided = people(|age, _, action| if action == 1 && age > 7 { 2.0 } else { 30.0 });
    let balance = balanced(&lopsided, vec![mean_age(8.9)]).unwrap();
    assert_eq!(balance.status(), BalanceStatus::MatchedInPart);
    assert!(balance.mixed() > 0.0 && balance.effective_rows()[1] >= EFFECTIVE);
    let less = Known::new(lopsided.contexts().clone(), vec![mean_age(8.9)]).unwrap();
    assert_eq!(Balance::new(&lopsided, &less, 2.0).unwrap().mixed(), 0.0);
    // One hundredth less would not have done.
    let goal = |share: f64| mean_age((1.0 - share) * 8.9 + share * balance.facts()[0].before);
    let kept = |share: f64| {
        let known = Known::new(lopsided.contexts().clone(), vec![goal(share)]).unwrap();
        Balance::new(&lopsided, &known, 0.0).unwrap().effective_rows()[1]
    };
    assert!(kept(balance.mixed()) >= EFFECTIVE - 1e-6 && kept(balance.mixed() - 0.01) < EFFECTIVE);
    // A level that nobody has: the others' shares are scaled up.
    let space = Arc::new(Space::grid([Feature::nominal("site", ["n", "s", "w"])]).unwrap());
    let log = log_of(&space, &[100.0, 300.0, 0.0]);
    let shares = [0.45, 0.45, 0.1].into_iter().enumerate();
    let facts = shares.map(|(k, b)| Fact::exact(0, Quantity::Share(k), b)).collect();
    let balance = balanced(&log, facts).unwrap();
    assert_eq!((balance.status(), balance.mixed()), (BalanceStatus::MatchedInPart, 0.0));
    assert!((balance.unseen() - 0.1).abs() < 1e-12);
    assert!((balance.population().weights()[0] - 0.5).abs() < 1e-9);
    assert_eq!(serde_json::to_value(balance.summary()).unwrap()["status"], "matched in part");
}

#[test]
fn what_cannot_be_matched_is_refused_by_its_columns() {
    let refused = |log: &Log, facts: Vec<Fact>| {
        let error = balanced(log, facts).err().unwrap();
        assert!(error.is_input());
        error.to_string()
    };
    // Nobody older than 4 and a mean of 8: half of 2 and half of 8 is 5.
    let young = people(|age, _, _| if age < 5 { 40.0 } else { 0.0 });
    let message = refused(&young, vec![mean_age(8.0), share_of(0, 0.4)]);
    let expected =
        "the target cannot be matched: column \"age\": mean of age is to be 8 (the log has 2)";
    assert!(message.starts_with(expected), "{message}");
    // All women are young and all men are old: the two columns say the same.
    let split = people(|age, sex, _| if (age < 5) == (sex == 0) { 40.0 } else { 0.0 });
    let young_share = |b: f64| {
        let each = (0..10).map(|k| if k < 5 { b / 5.0 } else { (1.0 - b) / 5.0 }).enumerate();
        each.map(|(k, b)| Fact::exact(0, Quantity::Share(k), b)).collect::<Vec<_>>()
    };
    let message = refused(&split, [young_share(0.3), vec![share_of(0, 0.6)]].concat());
    assert!(message.contains("columns \"age\" and \"sex\""), "{message}");
    assert!(message.contains("share of sex=F is to be 0.6 (the log has 0.5)"), "{message}");
    let fine = balanced(&split, [young_share(0.3), vec![share_of(0, 0.3)]].concat()).unwrap();
    assert_eq!(fine.status(), BalanceStatus::Matched);
    // Nothing of a column was ever seen.
    let space = Arc::new(Space::grid([Feature::nominal("site", ["n", "s", "w"])]).unwrap());
    let log = log_of(&space, &[100.0, 0.0, 0.0]);
    let facts =
        vec![Fact::exact(0, Quantity::Share(1), 0.4), Fact::exact(0, Quantity::Share(2), 0.6)];
    let message = refused(&log, facts);
    assert!(
        message.contains("column \"site\": no row of the log has any of the levels"),
        "{message}"
    );
    // Too few rows of one action, whatever is mixed in.
    let few = people(|age, _, action| match (age, action) {
        (0, _) => 60.0,
        (9, _) => 1.0,
        _ => 10.0,
    });
    let message = refused(&few, vec![Fact::exact(0, Quantity::Share(9), 0.9)]);
    assert!(message.contains("the rows of action \"wait\" are worth"), "{message}");
}

#[test]
fn neither_order_nor_splitting_rows_matters() {
    for seed in crate::common::cases(40) {
        let (log, known) = problem(seed);
        let found = Balance::new(&log, &known, 0.0).unwrap();
        let mut facts = known.facts().to_vec();
        facts.reverse();
        let turned = Known::new(known.space().clone(), facts).unwrap();
        let turned = Balance::new(&log, &turned, 0.0).unwrap();
        // Each entry in two, of a quarter and three quarters.
        let split = |e: &Entry| [0.25, 0.75].map(|share| Entry { weight: share * e.weight, ..*e });
        let entries = log.entries().iter().flat_map(split).collect();
        let (actions, values) = (log.actions().to_vec(), log.values().to_vec());
        let (contexts, outcomes) = (log.contexts().clone(), log.outcomes().clone());
        let parts =
            Log::new(contexts, actions, outcomes, values, Direction::Cost, entries).unwrap();
        let parts = Balance::new(&parts, &known, 0.0).unwrap();
        for x in 0..known.space().len() {
            assert!((found.odds(x) - turned.odds(x)).abs() < 1e-8, "{seed}");
            assert!((found.odds(x) - parts.odds(x)).abs() < 1e-8, "{seed}");
        }
        let rows = found.effective_rows().iter().zip(parts.effective_rows());
        rows.for_each(|(a, b)| assert!((a - b).abs() < 1e-6 * a));
    }
}

#[test]
fn long_columns_and_many_contexts_are_balanced() {
    let r = &mut Random(3);
    // 500 levels, a few rare ones wanted often, and 100,000 contexts.
    let site = Feature::nominal("site", (0..500).map(|k| format!("s{k}")));
    let axis = |name: &str, n: usize| Feature::numeric(name).levels((0..n).map(|k| k as f64));
    let space = Arc::new(Space::grid([site, axis("a", 10), axis("b", 5), axis("c", 4)]).unwrap());
    let weights = |r: &mut Random, steep: f64| -> Vec<f64> {
        let level: Vec<f64> = (0..500).map(|_| (steep * (r.unit() - 0.5)).exp()).collect();
        (0..space.len()).map(|x| level[space.code(x, 0) as usize] * (0.5 + r.unit())).collect()
    };
    let (own, other) = (weights(r, 12.0), weights(r, 8.0));
    let log = log_of(&space, &own);
    let target = Population::from_weights(space.clone(), other).unwrap();
    let known = Known::margins_of(&target).unwrap();
    let balance = Balance::new(&log, &known, 0.0).unwrap();
    assert_eq!(balance.status(), BalanceStatus::Matched);
    assert!(known.holds_for(balance.population(), 1e-8).unwrap());
}
