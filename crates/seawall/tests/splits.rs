//! Worst cases found on one part of the rows and valued on the other, held to the same by hand.
#![allow(clippy::unwrap_used)]

use seawall::evaluate::{Robust, Support, ValueRange};
use seawall::inference::{
    Estimand, FIRST_SPLITS, LimitPlan, NoisyValue, PartFit, PartQuestion, SplitNoise, SplitValue,
    Splits, split_noise, split_values,
};
use seawall::outcome::{ModelSearch, Recipe, ResidualKind, ResidualSteps, TreeSettings, Unseen};
use seawall::policy::Policy;
use seawall::{Direction, Entry, Feature, Folds, Log, Settings, Shift, Space, Wasserstein, Watch};
use std::sync::Arc;

/// How closely a part's worst case is found, times the largest cost.
const CLOSE: f64 = 1e-3;

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

/// The part of a split with its model and its own population.
fn part(log: Log, search: &ModelSearch, costs: &[Shift], support: Support) -> PartFit {
    let robust = Arc::new(Robust::new(&log, support).unwrap());
    let settings = Settings::default();
    PartFit::new(log, (search, Unseen::Mean), costs, robust, settings).unwrap()
}

/// Everything by hand: the population of one part by its own solve, and the mean of the other part's values over it; of
/// the fitted models, and of models with what is left in their residuals.
#[test]
fn split_values_are_what_they_say() {
    let settings = Settings::default();
    let stump = TreeSettings { max_depth: 2, min_samples_leaf: 3.0, ..TreeSettings::default() };
    for (seed, recipe) in [(1, Recipe::Cells), (2, Recipe::Tree(vec![stump; 2]))] {
        let log = log(seed, 90);
        let (a, b) = (Policy::uniform(&log), Policy::constant(&log, "treat").unwrap());
        let asked = [Estimand::Value(&a), Estimand::Difference(&a, &b)];
        let (costs, radii) = ([Wasserstein.at(0.0), Wasserstein.at(0.05)], [0.05, 0.3]);
        let (search, steps) = (ModelSearch::Fixed(recipe.clone()), ResidualSteps::new(&log));
        let kinds = [ResidualKind::Additive, ResidualKind::Pairwise];
        let question = PartQuestion { ranges: 6, set: Wasserstein.into(), radii: &radii };
        let ask = |folds: &Folds<'_>, _: usize, _: Watch<'_>| {
            let logs = [folds.only(0)?, folds.only(1)?];
            assert_eq!(logs[0].total() + logs[1].total(), log.total());
            let fit = |log: &Log| {
                let part = part(log.clone(), &search, &costs, Support::All);
                part.with_rougher(&steps, &kinds, false).unwrap()
            };
            let parts = [fit(&logs[0]), fit(&logs[1])];
            let both = [&parts[0], &parts[1]];
            let found = split_values(both, [&asked, &asked], &question, settings)?;
            let mut found_in_order = found.iter();
            for range in 0..6 {
                for against in [None, Some(&b)] {
                    for radius in radii {
                        let found = found_in_order.next().unwrap();
                        for (side, other) in [(0, 1), (1, 0)] {
                            let robust = Robust::new(&logs[side], Support::All).unwrap();
                            let values = |k: usize| {
                                let range = by_hand(&logs[k], &recipe, &costs, &steps, range);
                                match against {
                                    None => robust.values(&a, &range.worst).unwrap(),
                                    Some(b) => robust.difference(&a, b, &range).unwrap(),
                                }
                            };
                            let population = logs[side].population().unwrap();
                            let own = values(side);
                            let problem = seawall::Problem::new(&population, &own).unwrap();
                            let worst =
                                Wasserstein.at(radius).worst_case(&problem, settings).unwrap();
                            let apart = (found.plug_in[side] - worst.value()).abs();
                            assert!(apart < CLOSE, "{recipe:?}, {range}, {radius}: {apart}");
                            // Its population may be another of those that are nearly as bad.
                            if range < 2 {
                                let mean = |(q, l): (&f64, f64)| q * l;
                                let there: f64 =
                                    worst.weights().iter().zip(values(other)).map(mean).sum();
                                assert!((found.held_out[side] - there).abs() < 0.05);
                            }
                            assert!(found.noise[side].is_some_and(|n| n >= 0.0));
                        }
                    }
                }
            }
            assert!(found_in_order.next().is_none());
            Ok(found)
        };
        let found = split_noise(&log, &Splits::Exactly(3), 5, Watch::NOBODY, &ask);
        assert_eq!(found.unwrap().len(), 24);
    }
}

/// The values of a part's model by set of outcomes: as they are, with effects of columns, with effects of pairs of columns.
fn by_hand(
    log: &Log,
    recipe: &Recipe,
    costs: &[Shift],
    steps: &ResidualSteps,
    range: usize,
) -> ValueRange {
    let (settings, unseen) = (Settings::default(), Unseen::Mean);
    let model = recipe.fit(log, Watch::NOBODY).unwrap();
    let own =
        ValueRange::from_model(&model, log, costs[range % costs.len()], unseen, settings).unwrap();
    let plain = model.values(log, Wasserstein.at(0.0), unseen, settings).unwrap();
    // Effects of pairs are found from where those of columns were left.
    let kinds = [ResidualKind::Additive, ResidualKind::Pairwise];
    let left = steps.left_over(log, &plain, &kinds).unwrap();
    match range / costs.len() {
        0 => own,
        k => own.with_left_over(&left[k - 1]),
    }
}

/// A rule that rows choose is a part's own: with other estimands on either part, each is valued on the other's rows.
#[test]
fn estimands_may_differ_by_part() {
    let (log, settings) = (log(4, 80), Settings::default());
    let (a, b) = (Policy::uniform(&log), Policy::constant(&log, "treat").unwrap());
    let search = ModelSearch::Fixed(Recipe::Cells);
    let folds = log.split(1, 0).unwrap();
    let [one, two] =
        [0, 1].map(|k| part(folds.only(k).unwrap(), &search, &[Wasserstein.at(0.0)], Support::All));
    let question = PartQuestion { ranges: 1, set: Wasserstein.into(), radii: &[0.1] };
    let ask = |x: &Policy, y: &Policy| {
        let (x, y) = ([Estimand::Value(x)], [Estimand::Value(y)]);
        split_values([&one, &two], [&x, &y], &question, settings).unwrap()[0]
    };
    let (own, other, mixed) = (ask(&a, &a), ask(&b, &b), ask(&a, &b));
    assert_eq!(mixed.plug_in, [own.plug_in[0], other.plug_in[1]]);
    assert_eq!(mixed.held_out, [own.held_out[0], other.held_out[1]]);
}

fn value(plug_in: [f64; 2], held_out: [f64; 2], noise: [Option<f64>; 2]) -> SplitValue {
    SplitValue { plug_in, held_out, noise }
}

/// Means over splits, and their standard errors.
#[test]
fn splits_are_summed_up() {
    let two = [
        value([3.0, 5.0], [1.0, 2.0], [Some(0.04); 2]),
        value([4.0, 4.0], [2.0, 3.0], [Some(0.0), Some(0.08)]),
    ];
    let found = SplitNoise::new(&two);
    assert_eq!(found.held_out, 2.0);
    // Parts 1 and 1 apart: half their mean square is 0.5, more than the noise of 0.04; and H averages two of them.
    assert!((found.held_out_se - 0.5).abs() < 1e-15);
    assert!((found.plug_in_se - 0.5 * 2f64.sqrt()).abs() < 1e-15);
    // A model that does not say its noise has that of the parts.
    let unsaid = SplitNoise::new(&[value([3.0, 5.0], [1.0, 2.0], [None; 2])]);
    assert!((unsaid.held_out_se - 0.5).abs() < 1e-15);
    let twice = SplitNoise::new(&two.map(|v| v.times(-2.0)));
    assert_eq!(twice.held_out, -2.0 * found.held_out);
    assert!((twice.held_out_se - 2.0 * found.held_out_se).abs() < 1e-15);
}

/// The formula of the limits, term by term, for costs and for rewards.
#[test]
fn limits_are_the_formula() {
    let noise =
        SplitNoise { held_out: 2.0, held_out_se: 0.3, plug_in_se: 0.5, spread: 0.0, splits: 20 };
    let own = NoisyValue { plug_in: 3.5, noise };
    let more = NoisyValue { plug_in: 4.0, noise: SplitNoise { held_out: 2.5, ..noise } };
    let most = NoisyValue { plug_in: 4.5, noise: SplitNoise { held_out: 1.0, ..noise } };
    let plan = LimitPlan {
        direction: Direction::Cost,
        level: 0.95,
        together: 1,
        clusters: None,
        apart: false,
    };
    let limits = plan.limits(&own, [Some(&more), Some(&most)]);
    let c = 2.085_963_447_265_837; // Student's with 20 degrees
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
    near(limits.lower, 2.0 - c * 0.3);
    near(limits.in_class, 2.0 + 1.0 + c * 0.5);
    near(limits.upper, 2.5 + 1.0 + c * 0.5);
    // An allowance for more never makes a limit better.
    near(limits.pairwise.unwrap(), limits.upper.max(1.0 + 3.5 * 2.0 / 3.0 + c * 0.5));
    // Without rougher models there is no allowance.
    let alone = plan.limits(&own, [None, None]);
    assert_eq!((alone.upper, alone.pairwise), (alone.in_class, None));
    // Few clusters are fewer degrees.
    let few = LimitPlan { clusters: Some(5), ..plan }.limits(&own, [None, None]);
    assert!(few.upper > alone.upper && few.lower < alone.lower);
    // Several together take more.
    let two = LimitPlan { together: 2, ..plan }.limits(&own, [None, None]);
    near(two.in_class, 3.0 + 2.423_116_5 * 0.5);
    // Rewards are costs with the other sign.
    let turned = |of: &NoisyValue| NoisyValue {
        plug_in: -of.plug_in,
        noise: SplitNoise { held_out: -of.noise.held_out, ..of.noise },
    };
    let plan = LimitPlan { direction: Direction::Reward, ..plan };
    let reward = plan.limits(&turned(&own), [Some(&turned(&more)), Some(&turned(&most))]);
    assert_eq!(reward, limits.negated());
    // Effects that are solved apart are added, and take nothing away.
    let apart = LimitPlan { direction: Direction::Cost, apart: true, ..plan };
    let left = NoisyValue { plug_in: -1.0, noise: SplitNoise { held_out: -2.0, ..noise } };
    assert_eq!(apart.limits(&own, [Some(&left), None]).upper, alone.upper);
    near(apart.limits(&own, [Some(&own), None]).upper, 2.0 * alone.upper);
}

/// As many splits as bring the error of the held-out value below a tenth of its limits' width.
#[test]
fn splits_are_as_many_as_their_error_asks_for() {
    let split = |held_out: f64| value([2.0; 2], [held_out; 2], [Some(0.25); 2]);
    let needed = |spread: f64| {
        let found = SplitNoise::new(&[split(1.0 - spread), split(1.0), split(1.0 + spread)]);
        assert!((found.spread - spread).abs() < 1e-12);
        let width = 2.0;
        let needed = found.splits_needed(width);
        assert!(spread / (needed.max(1) as f64).sqrt() <= 0.1 * width + 1e-12);
        assert!(needed <= 1 || spread / (needed as f64 - 1.0).sqrt() > 0.1 * width);
        needed
    };
    assert_eq!(needed(0.0), 0);
    assert!(needed(0.5) > 1 && needed(1.0) > needed(0.5));

    // No fewer than the first few and no more than allowed; the first ones are the same whatever is decided.
    let log = log(3, 60);
    let ask = |folds: &Folds<'_>, at: usize, _: Watch<'_>| {
        Ok(vec![split(folds.only(0)?.population()?.weights()[0] + at as f64)])
    };
    let seen = std::cell::Cell::new(0);
    let enough = |wanted: usize| {
        let decide = |found: &[SplitNoise]| {
            seen.set(found[0].splits);
            wanted
        };
        split_noise(&log, &Splits::Enough(20, &decide), 1, Watch::NOBODY, &ask).unwrap()
    };
    let exactly =
        |count: usize| split_noise(&log, &Splits::Exactly(count), 1, Watch::NOBODY, &ask).unwrap();
    for (wanted, count) in [(0, FIRST_SPLITS), (FIRST_SPLITS, FIRST_SPLITS), (12, 12), (99, 20)] {
        assert_eq!(enough(wanted), exactly(count));
        assert_eq!(seen.get(), FIRST_SPLITS);
    }
}

/// The same bytes on any number of threads; another seed is another deal; none is refused.
#[test]
fn splits_are_the_same_on_any_number_of_threads() {
    let log = log(7, 200);
    let policy = Policy::uniform(&log);
    let (search, costs) = (ModelSearch::Fixed(Recipe::Cells), [Wasserstein.at(0.0)]);
    let question = PartQuestion { ranges: 1, set: Wasserstein.into(), radii: &[0.1] };
    let run = |threads: usize, seed: u64, count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let ask = |folds: &Folds<'_>, _: usize, watch: Watch<'_>| {
            let settings = Settings { watch, ..Settings::default() };
            let fit = |k: usize| part(folds.only(k).unwrap(), &search, &costs, Support::Observed);
            let asked = [Estimand::Value(&policy)];
            split_values([&fit(0), &fit(1)], [&asked, &asked], &question, settings)
        };
        pool.install(|| split_noise(&log, &Splits::Exactly(count), seed, Watch::NOBODY, &ask))
    };
    let (one, four) = (run(1, 1, 12).unwrap(), run(4, 1, 12).unwrap());
    assert_eq!(one, four);
    assert_ne!(one, run(1, 2, 12).unwrap());
    assert!(run(1, 1, 0).unwrap_err().to_string().contains("halves"));
    let single = log.reweighted(|i, _| f64::from(u8::from(i == 0))).unwrap();
    assert!(single.folds(2).is_err());
}
