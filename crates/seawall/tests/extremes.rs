//! Numbers and shapes at the edge: huge, tiny, tied, alone, many; and what is refused.
#![allow(clippy::unwrap_used, clippy::panic)]

use seawall::{
    Detail, EngineKind, Entropic, Feature, Kl, Population, Problem, Settings, Shift, Space, Status,
    Wasserstein, Watch,
};
use std::sync::Arc;

const ENGINES: [EngineKind; 3] = [EngineKind::Grid, EngineKind::Tree, EngineKind::Scan];

fn line(n: usize) -> Arc<Space> {
    Arc::new(Space::grid([Feature::numeric("x").levels((0..n).map(|k| k as f64))]).unwrap())
}

fn population(space: &Arc<Space>, weights: &[f64]) -> Population {
    Population::from_weights(space.clone(), weights.to_vec()).unwrap()
}

#[test]
fn values_of_any_magnitude_scale() {
    let seen = population(&line(4), &[3.0, 1.0, 0.0, 2.0]);
    let base = [0.1, 0.7, -0.3, 0.9];
    for engine in ENGINES {
        let set = Wasserstein.at(0.05);
        let plain = Problem::new(&seen, &base).unwrap();
        let plain = set.worst_case(&plain.clone().engine(engine), Settings::default()).unwrap();
        for magnitude in [1e-300, 1e-150, 1e150, 1e300] {
            let values = base.map(|f| f * magnitude);
            let problem = Problem::new(&seen, &values).unwrap();
            let worst =
                set.worst_case(&problem.clone().engine(engine), Settings::default()).unwrap();
            let relative = worst.value() / magnitude / plain.value() - 1.0;
            assert!(relative.abs() < 1e-12, "{engine:?} at {magnitude}: off by {relative}");
            assert_eq!(worst.status(), Status::Optimal);
            assert!(worst.gap() <= 1e-9 * worst.value().abs());
        }
    }
}

#[test]
fn values_as_far_apart_as_numbers_go() {
    let seen = population(&line(3), &[1.0, 1.0, 1.0]);
    let values = [-1.7e308, 0.0, 1.7e308];
    let problem = Problem::new(&seen, &values).unwrap();
    for engine in ENGINES {
        for set in [Wasserstein.at(0.1), Wasserstein.at(9.0), Kl.at(0.5)] {
            let worst =
                set.worst_case(&problem.clone().engine(engine), Settings::default()).unwrap();
            assert!(worst.value().is_finite() && worst.value() > 0.0, "{set:?}: {}", worst.value());
            assert_eq!(worst.status(), Status::Optimal);
        }
        let all = Wasserstein.at(9.0);
        let worst = all.worst_case(&problem.clone().engine(engine), Settings::default()).unwrap();
        assert!((worst.value() / 1.7e308 - 1.0).abs() < 1e-15);
    }
}

#[test]
fn weights_down_to_the_smallest() {
    let space = line(3);
    let tiny = population(&space, &[1e-300, 1e-300, 0.0]);
    let even = population(&space, &[1.0, 1.0, 0.0]);
    let values = [0.0, 1.0, 5.0];
    for engine in ENGINES {
        for set in [Wasserstein.at(0.2), Kl.at(0.2)] {
            let solve = |p: &Population| {
                let problem = Problem::new(p, &values).unwrap();
                set.worst_case(&problem.clone().engine(engine), Settings::default())
                    .unwrap()
                    .value()
            };
            assert_eq!(solve(&tiny), solve(&even), "only the weights' ratios matter");
        }
        // A weight of 1e-300 beside 1: there, but of no account.
        let faint = population(&space, &[1.0, 1e-300, 0.0]);
        let problem = Problem::new(&faint, &values).unwrap();
        for set in [Wasserstein.at(0.01), Entropic { eta: 100.0 }.at(0.01)] {
            if engine == EngineKind::Tree && set.set.name() == "entropic" {
                continue;
            }
            let worst =
                set.worst_case(&problem.clone().engine(engine), Settings::default()).unwrap();
            assert!(worst.value().is_finite() && worst.status() == Status::Optimal);
        }
    }
}

#[test]
fn a_single_point_and_a_constant_have_nowhere_to_go() {
    let alone = population(&line(1), &[1.0]);
    let flat = population(&line(5), &[1.0, 0.0, 2.0, 0.0, 1.0]);
    for engine in ENGINES {
        for radius in [0.0, 0.1, 1e9] {
            for (seen, values) in [(&alone, vec![4.0]), (&flat, vec![4.0; 5])] {
                let problem = Problem::new(seen, &values).unwrap();
                for set in [Wasserstein.at(radius), Kl.at(radius)] {
                    let worst = set
                        .worst_case(&problem.clone().engine(engine), Settings::default())
                        .unwrap();
                    assert!((worst.value() - 4.0).abs() < 1e-14 && worst.lambda() == 0.0);
                    assert_eq!(worst.gap(), 0.0);
                }
                let problem = problem.engine(engine);
                let mut solver = Wasserstein.solver(&problem, Settings::default()).unwrap();
                let curve = solver.curve(0.0).unwrap();
                assert_eq!(curve.vertices().len(), 1);
                assert!((curve.at(radius).value - 4.0).abs() < 1e-14);
            }
        }
    }
}

#[test]
fn a_million_tied_values_and_a_million_points_in_one_place() {
    let n = 1_000_000;
    let spread: Vec<f64> = (0..n).map(|i| (i % 1000) as f64 + 1e-3 * (i / 1000) as f64).collect();
    let values: Vec<f64> = (0..n).map(|i| f64::from(i % 7 == 0)).collect();
    let apart = Space::points([Feature::numeric("x")], vec![spread]).unwrap();
    let together = Space::points([Feature::numeric("x")], vec![vec![2.0; n]]).unwrap();
    for (space, value) in [(apart, None), (together, Some(1.0))] {
        let seen = population(&Arc::new(space), &vec![1.0; n]);
        let problem = Problem::new(&seen, &values).unwrap();
        let set = Wasserstein.at(1e-9);
        let worst =
            set.worst_case(&problem.clone().engine(EngineKind::Tree), Settings::default()).unwrap();
        assert_eq!(worst.status(), Status::Optimal);
        assert!(worst.value() >= problem.nominal());
        if let Some(value) = value {
            assert!((worst.value() - value).abs() < 1e-12, "moves in one place are free");
        }
    }
}

#[test]
fn long_axes_agree_with_all_pairs() {
    // Uneven, unsorted and repeated positions, missing values and walls, past the dense kernel.
    let mut state = 9u64;
    let mut draw = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    for round in 0..20 {
        let positions: Vec<f64> = (0..150)
            .map(|k| if k % 3 == 0 { (draw() * 40.0).floor() } else { draw() * 40.0 })
            .collect();
        let labels: Vec<String> = (0..150).map(|k| format!("l{k}")).collect();
        let long = Feature::ordinal("long", labels).positions(positions).with_missing();
        let names = ["a", "b", "c", "d", "e", "f"];
        let space = Arc::new(
            Space::grid([
                Feature::nominal("flat", names).with_missing().missing_cost(0.4),
                long,
                Feature::fixed("wall", ["u", "v"]),
            ])
            .unwrap(),
        );
        let weights: Vec<f64> =
            (0..space.len()).map(|_| if draw() < 0.7 { 0.0 } else { draw() }).collect();
        let values: Vec<f64> = (0..space.len()).map(|_| draw() * draw()).collect();
        let seen = population(&space, &weights);
        let problem = Problem::new(&seen, &values).unwrap();
        for radius in [0.0, 0.01, 3.0, 1e4] {
            let set = Wasserstein.at(radius);
            let solve = |engine| {
                set.worst_case(&problem.clone().engine(engine), Settings::default()).unwrap()
            };
            let scan = solve(EngineKind::Scan);
            for engine in [EngineKind::Grid, EngineKind::Tree] {
                let worst = solve(engine);
                let off = (worst.value() - scan.value()).abs();
                assert!(off <= 1e-12, "round {round} {engine:?} radius {radius}: off by {off}");
                assert_eq!(worst.status(), Status::Optimal);
            }
        }
    }
}

#[test]
fn the_same_bits_on_one_thread_and_on_two() {
    let levels = |n: usize| (0..n).map(|k| k.to_string()).collect::<Vec<_>>();
    let space = Arc::new(
        Space::grid([
            Feature::numeric("a").levels((0..70).map(|k| (k * k) as f64)),
            Feature::nominal("b", levels(8)),
            Feature::ordinal("c", levels(40)),
            Feature::ordinal("d", levels(3)),
        ])
        .unwrap(),
    );
    let n = space.len();
    let noise = |i: usize, salt: usize| ((i * 2_654_435_761 + salt * 40_503) % 10_007) as f64 / 1e4;
    let seen = population(&space, &(0..n).map(|i| noise(i, 1)).collect::<Vec<_>>());
    let values: Vec<f64> = (0..n).map(|i| noise(i, 2)).collect();
    let problem = Problem::new(&seen, &values).unwrap();
    for set in [Wasserstein.at(0.02), Entropic { eta: 50.0 }.at(0.02), Kl.at(0.1)] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let settings = Settings { detail: Detail::Population, ..Settings::default() };
            let worst = pool.install(|| set.worst_case(&problem, settings).unwrap());
            let plan: Vec<_> =
                worst.plan().iter().map(|m| (m.from, m.to, m.mass.to_bits())).collect();
            ([worst.value(), worst.lower(), worst.upper(), worst.lambda()].map(f64::to_bits), plan)
        };
        assert_eq!(on(1), on(2), "{set:?}");
    }
}

#[test]
fn tree_and_scan_give_the_same_bits_on_any_number_of_threads() {
    let noise = |i: usize, salt: usize| ((i * 2_654_435_761 + salt * 40_503) % 10_007) as f64 / 1e4;
    let columns = (0..3).map(|k| (0..3000).map(|i| noise(i, k)).collect()).collect();
    let space = Arc::new(Space::points(["x", "y", "z"].map(Feature::numeric), columns).unwrap());
    let seen = population(&space, &(0..3000).map(|i| noise(i, 7)).collect::<Vec<_>>());
    let values: Vec<f64> = (0..3000).map(|i| noise(i, 8)).collect();
    let problem = Problem::new(&seen, &values).unwrap();
    let set = Wasserstein.at(0.02);
    for engine in [EngineKind::Tree, EngineKind::Scan] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let worst = pool.install(|| {
                set.worst_case(&problem.clone().engine(engine), Settings::default()).unwrap()
            });
            [worst.value(), worst.lower(), worst.upper(), worst.lambda()].map(f64::to_bits)
        };
        assert_eq!(on(1), on(2), "{engine:?}");
        assert_eq!(on(1), on(3), "{engine:?}");
    }
}

#[test]
fn a_watcher_can_stop_and_is_told_the_bounds() {
    let seen = population(&line(50), &(0..50).map(|k| f64::from(k % 5)).collect::<Vec<_>>());
    let values: Vec<f64> = (0..50).map(|k| (f64::from(k) / 9.0).powi(2)).collect();
    let problem = Problem::new(&seen, &values).unwrap();
    let settings = Settings { watch: Watch::new(&|_| false), ..Settings::default() };
    let exact = Settings::default();
    let set = Wasserstein.at(0.01);
    let truth = set.worst_case(&problem, exact).unwrap().value();
    let stopped = set.worst_case(&problem, settings).unwrap();
    assert_eq!(stopped.status(), Status::Stopped);
    assert!(stopped.lower() <= truth && truth <= stopped.upper() && stopped.gap() > 0.0);
}

#[test]
fn what_is_refused_is_named() {
    let space = line(3);
    let refused = |weights: &[f64]| {
        Population::from_weights(space.clone(), weights.to_vec()).unwrap_err().to_string()
    };
    assert!(refused(&[1.0, 2.0]).contains("2 weights for 3 points"));
    assert!(refused(&[1.0, -2.0, 0.0]).contains("point 1 is -2"));
    assert!(refused(&[1.0, f64::NAN, 0.0]).contains("NaN"));
    assert!(refused(&[0.0; 3]).contains("all weights are 0"));
    let seen = population(&space, &[1.0; 3]);
    let bad = |values: &[f64]| Problem::new(&seen, values).unwrap_err().to_string();
    assert!(bad(&[0.0, 1.0, f64::INFINITY]).contains("point 2 is inf"));
    assert!(bad(&[0.0]).contains("1 values for 3 points"));
    let values = [0.0, 1.0, 2.0];
    let problem = Problem::new(&seen, &values).unwrap();
    let ask = |set: Shift| set.worst_case(&problem, Settings::default()).unwrap_err();
    for radius in [-0.1, f64::NAN, f64::INFINITY] {
        for set in [Wasserstein.at(radius), Entropic { eta: 1.0 }.at(radius), Kl.at(radius)] {
            assert!(ask(set).is_config() && ask(set).to_string().contains("radius"));
        }
    }
    for eta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(ask(Entropic { eta }.at(0.1)).to_string().contains("eta"));
    }
    let levels = |n: usize| (0..n).map(|k| k.to_string()).collect::<Vec<_>>();
    let huge = (0..12).map(|k| Feature::nominal(format!("x{k}"), levels(10)));
    assert!(Space::grid(huge).unwrap_err().to_string().contains("too large"));
    let names = |f: Feature| Space::grid([f]).unwrap_err().to_string();
    assert!(names(Feature::numeric("x")).contains("needs its levels"));
    assert!(names(Feature::nominal("x", Vec::<String>::new())).contains("no levels"));
    assert!(names(Feature::nominal("x", ["a"]).weight(-1.0)).contains("weight is -1"));
    assert!(names(Feature::ordinal("x", ["a"]).positions([0.0, 1.0])).contains("2 positions"));
    assert!(names(Feature::nominal("x", ["a"]).positions([0.0])).contains("no positions"));
    let twice = [Feature::nominal("x", ["a"]), Feature::nominal("x", ["b"])];
    assert!(Space::grid(twice).unwrap_err().to_string().contains("two features"));
    let points = Space::points([Feature::nominal("x", ["a", "b"])], vec![vec![0.0, 2.0]]);
    assert!(points.unwrap_err().to_string().contains("one of its 2 levels"));
}
