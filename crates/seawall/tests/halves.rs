//! Populations found on one half and valued on the other, held to the same by hand.
#![allow(clippy::unwrap_used)]

use seawall::evaluate::{Evaluator, FitOptions, Propensity, Robust, Support, ValueRange};
use seawall::inference::{
    Correction, Crossing, Estimand, FIRST_SPLITS, HalfFit, HalfQuestion, SplitNoise, Splits,
    crossings, halves,
};
use seawall::outcome::{Recipe, TreeSettings, Unseen};
use seawall::policy::Policy;
use seawall::{Detail, Direction, Entry, Feature, Log, Settings, Space, Wasserstein, Watch};
use std::sync::Arc;

/// A small log of two features and two actions, costs 0 to 3.
fn log(seed: u64, rows: usize) -> Arc<Log> {
    let mut state = seed;
    let mut below = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let space = Space::grid([
        Feature::numeric("age").levels(vec![1.0, 2.0, 3.0, 4.0]),
        Feature::nominal("sex", ["F", "M"]),
    ]);
    let outcomes = Space::grid([Feature::numeric("cost").levels(vec![0.0, 1.0, 3.0])]).unwrap();
    let entry = |_| Entry {
        context: below(8) as u32,
        action: below(2) as u32,
        outcome: below(3) as u32,
        ..Entry::default()
    };
    let entries = (0..rows).map(entry).collect();
    let names = vec!["treat".to_owned(), "control".to_owned()];
    let values = vec![0.0, 1.0, 3.0];
    let space = Arc::new(space.unwrap());
    Log::new(space, names, Arc::new(outcomes), values, Direction::Cost, entries).unwrap().shared()
}

/// Everything by hand: the population of one half by its own solve, the mean of the other half's
/// values over it, the noise of its leaves, and the correction row by row.
#[test]
fn crossings_are_what_they_say() {
    let settings = Settings::default();
    let stump = TreeSettings { max_depth: 2, min_samples_leaf: 3.0, ..TreeSettings::default() };
    for (seed, recipe) in [(1, Recipe::Cells), (2, Recipe::Tree(vec![stump; 2]))] {
        let log = log(seed, 90);
        let options = FitOptions { unseen: Unseen::Mean, ..FitOptions::default() };
        let design = Propensity::Design(vec![0.5, 0.5]);
        let fitted = Evaluator::new(&log, &recipe, &design, options, Watch::NOBODY).unwrap();
        let correction = Correction::new(&fitted).unwrap();
        let (a, b) = (Policy::uniform(&log), Policy::constant(&log, "treat").unwrap());
        let asked = [Estimand::Value(&a), Estimand::Difference(&a, &b)];
        let (costs, radii) = ([Wasserstein.at(0.0), Wasserstein.at(0.05)], [0.05, 0.3]);
        let question = HalfQuestion {
            recipe: &recipe,
            unseen: Unseen::Mean,
            costs: &costs,
            set: Wasserstein.into(),
            radii: &radii,
            support: Support::All,
        };
        let marked = [true; 8];
        let found = halves(&log, &Splits::Exactly(3), 5, Watch::NOBODY, &|one, other, _, _| {
            assert_eq!(one.total() + other.total(), log.total());
            let half = |log| HalfFit::new(log, &question, None, settings);
            let (first, second) = (half(one)?, half(other)?);
            let both = [&first, &second];
            let found = crossings(both, &asked, &question, (&correction, &marked), settings)?;
            let mut at = 0;
            for &cost in &costs {
                for chosen in [None, Some(&b)] {
                    for &radius in &radii {
                        for (side, (own, there)) in [(one, other), (other, one)].iter().enumerate()
                        {
                            let of = |log: &Log| {
                                let model = recipe.fit(log, Watch::NOBODY).unwrap();
                                let unseen = Unseen::Mean;
                                ValueRange::from_model(&model, log, cost, unseen, settings).unwrap()
                            };
                            let robust = Robust::new(own, Support::All).unwrap();
                            let (own_range, range) = (of(own), of(there));
                            let values = |range: &ValueRange| match chosen {
                                None => robust.values(&a, &range.worst).unwrap(),
                                Some(b) => robust.difference(&a, b, range).unwrap(),
                            };
                            let population = own.population().unwrap();
                            let own_values = values(&own_range);
                            let problem = seawall::Problem::new(&population, &own_values).unwrap();
                            let worst = Wasserstein.at(radius).worst_case(&problem, settings);
                            let worst = worst.unwrap();
                            let q = worst.weights();
                            let honest: f64 =
                                q.iter().zip(values(&range)).map(|(q, l)| q * l).sum();
                            let c: &Crossing = &found[at];
                            assert!((c.fitted[side] - worst.value()).abs() < 1e-9);
                            assert!((c.honest[side] - honest).abs() < 1e-9);
                            assert!(c.noise[side] >= 0.0);
                            if cost.radius == 0.0 {
                                let chances = asked[usize::from(chosen.is_some())].chances();
                                let seen = log.cell_totals();
                                let mut value = 0.0;
                                for (x, q) in q.iter().enumerate() {
                                    for k in 0..2 {
                                        let m = if seen.at(x, k) > 0.0 {
                                            own_range.worst.at(x, k)
                                        } else {
                                            range.worst.at(x, k)
                                        };
                                        value += q * chances.at(x, k) * m;
                                    }
                                }
                                let shares = log.population().unwrap();
                                for e in there.entries() {
                                    let (x, k) = (e.context as usize, e.action as usize);
                                    let ratio = q[x] / shares.weights()[x] * chances.at(x, k) / 0.5;
                                    let left = there.value(e) - own_range.worst.at(x, k);
                                    value += e.weight / there.total() * ratio * left;
                                }
                                let corrected = c.corrected[side].0;
                                assert!((corrected - value).abs() < 1e-9, "{corrected} {value}");
                            }
                        }
                        at += 1;
                    }
                }
            }
            assert_eq!(at, found.len());
            Ok(found)
        });
        assert_eq!(found.unwrap().len(), 8);
    }
}

/// Means over halvings, standard errors, and limits that hold both values.
#[test]
fn halvings_are_summed_up() {
    let none = [(f64::NAN, f64::NAN); 2];
    let of = |fitted, honest, noise| Crossing { fitted, honest, noise, corrected: none };
    let two = [of([3.0, 5.0], [1.0, 2.0], [0.04, 0.04]), of([4.0, 4.0], [2.0, 3.0], [0.0, 0.08])];
    let found = SplitNoise::new(&two);
    assert_eq!(found.honest, 2.0);
    // Halves 1 and 1 apart: half their mean square is 0.5, more than the noise of 0.04.
    assert!((found.honest_se - 0.5f64.sqrt()).abs() < 1e-15);
    assert!((found.fitted_se - 0.5 * 2f64.sqrt()).abs() < 1e-15);
    // A model that does not say its noise has that of the halves.
    let unsaid = SplitNoise::new(&[of([3.0, 5.0], [1.0, 2.0], [f64::NAN; 2])]);
    assert!((unsaid.honest_se - 0.5f64.sqrt()).abs() < 1e-15);
    for direction in [Direction::Cost, Direction::Reward] {
        for value in [1.0, 2.0, 4.0] {
            let limits = found.limits((value, value + 0.5), direction, 0.95, None);
            assert!(limits.lower <= value && value <= limits.upper);
            assert!(limits.lower <= found.honest && found.honest <= limits.upper);
            let allowed = if direction == Direction::Cost { 0.5 } else { 0.0 };
            assert_eq!(limits.smoothing, allowed);
        }
    }
    let (cost, reward) = (Direction::Cost, Direction::Reward);
    let limits = found.limits((4.0, 4.0), cost, 0.95, None);
    // Student's with 2 degrees.
    assert!((limits.upper - 4.0 - 4.302_652_73 * found.fitted_se).abs() < 1e-6);
    let few = found.limits((4.0, 4.0), cost, 0.95, Some(2));
    assert!(few.upper > limits.upper, "two clusters say less");
    let turned = SplitNoise { honest: -found.honest, ..found };
    let other = turned.limits((-4.0, -4.0), reward, 0.95, None);
    assert_eq!((other.lower, other.upper), (-limits.upper, -limits.lower));
}

/// As many splits as bring the error of the honest value below a tenth of its limits' width.
#[test]
fn splits_are_as_many_as_their_error_asks_for() {
    let none = [(f64::NAN, f64::NAN); 2];
    let split = |honest: f64| Crossing {
        fitted: [2.0, 2.0],
        honest: [honest, honest],
        noise: [0.25, 0.25],
        corrected: none,
    };
    let needed = |spread: f64| {
        let found = SplitNoise::new(&[split(1.0 - spread), split(1.0), split(1.0 + spread)]);
        assert!((found.spread - spread).abs() < 1e-12);
        let limits = found.limits((2.0, 2.0), Direction::Cost, 0.95, None);
        let (needed, width) = (found.splits_needed(&limits), limits.upper - limits.lower);
        assert!(spread / (needed.max(1) as f64).sqrt() <= 0.1 * width + 1e-12);
        assert!(needed <= 1 || spread / (needed as f64 - 1.0).sqrt() > 0.1 * width);
        needed
    };
    assert_eq!(needed(0.0), 0);
    assert!(needed(0.5) > 1 && needed(1.0) > needed(0.5));

    // No fewer than the first few and no more than allowed; the first ones are the same whatever is decided.
    let log = log(3, 60);
    let ask = |a: &Log, _: &Log, halving: usize, _: Watch<'_>| {
        Ok(vec![split(a.entries().iter().map(|e| e.weight).sum::<f64>() + halving as f64)])
    };
    let seen = std::cell::Cell::new(0);
    let enough = |wanted: usize| {
        let decide = |halved: &[SplitNoise]| {
            seen.set(halved[0].halvings);
            wanted
        };
        halves(&log, &Splits::Enough(20, &decide), 1, Watch::NOBODY, &ask).unwrap()
    };
    let exactly =
        |count: usize| halves(&log, &Splits::Exactly(count), 1, Watch::NOBODY, &ask).unwrap();
    for (wanted, count) in [(0, FIRST_SPLITS), (FIRST_SPLITS, FIRST_SPLITS), (12, 12), (99, 20)] {
        assert_eq!(format!("{:?}", enough(wanted)), format!("{:?}", exactly(count)));
        assert_eq!(seen.get(), FIRST_SPLITS);
    }
}

/// The same bytes on any number of threads; another seed is another deal; none is refused.
#[test]
fn halves_are_the_same_on_any_number_of_threads() {
    let log = log(7, 200);
    let policy = Policy::uniform(&log);
    let costs = [Wasserstein.at(0.0)];
    let recipe = Recipe::Cells;
    let question = HalfQuestion {
        recipe: &recipe,
        unseen: Unseen::Mean,
        costs: &costs,
        set: Wasserstein.into(),
        radii: &[0.1],
        support: Support::Observed,
    };
    let options = FitOptions { unseen: Unseen::Mean, ..FitOptions::default() };
    let design = Propensity::Design(vec![0.5, 0.5]);
    let fitted = Evaluator::new(&log, &recipe, &design, options, Watch::NOBODY).unwrap();
    let correction = Correction::new(&fitted).unwrap();
    let run = |threads: usize, seed: u64, count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            halves(&log, &Splits::Exactly(count), seed, Watch::NOBODY, &|a, b, _, watch| {
                let settings = Settings { watch, ..Settings::default() }.detail(Detail::Population);
                let half = |log| HalfFit::new(log, &question, None, settings);
                let asked = [Estimand::Value(&policy)];
                let (a, b) = (half(a)?, half(b)?);
                crossings([&a, &b], &asked, &question, (&correction, &[]), settings)
            })
        })
    };
    let text = |found: &[SplitNoise]| format!("{found:?}");
    let (one, four) = (run(1, 1, 12).unwrap(), run(4, 1, 12).unwrap());
    assert_eq!(text(&one), text(&four));
    assert_ne!(text(&one), text(&run(1, 2, 12).unwrap()));
    assert!(run(1, 1, 0).unwrap_err().to_string().contains("halves"));
    // Two rows cannot be halved by three clusters' worth, one cannot at all.
    let single = log.reweighted(|i, _| f64::from(u8::from(i == 0))).unwrap();
    assert!(single.folds(2).is_err());
}
