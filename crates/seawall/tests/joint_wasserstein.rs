//! People who move with what would happen to them: against linear programs over plans, moves of outcomes
//! and free couplings of the margins; and what theory says of the ends.
#![allow(clippy::unwrap_used)]

use crate::common::Random;
use microlp::{ComparisonOp, LinearExpr, OptimizationDirection};
use seawall::evaluate::{Evaluator, FitOptions, Propensity, Robust, Support};
use seawall::outcome::{Recipe, TreeSettings, Unseen};
use seawall::policy::Policy;
use seawall::{
    Direction, Entry, Feature, JointWasserstein, Log, Matrix, Settings, Space, Status, Wasserstein,
    Watch, WorstCase,
};
use std::sync::Arc;

/// A matrix of what each context and action has.
pub(crate) fn table(contexts: usize, actions: usize, of: impl Fn(usize, usize) -> f64) -> Matrix {
    let cells = (0..contexts).flat_map(|x| (0..actions).map(move |a| (x, a)));
    Matrix::new(contexts, actions, cells.map(|(x, a)| of(x, a)).collect()).unwrap()
}

/// How a random log's policy acts.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Acts {
    Certainly,
    AtRandom,
    Alike,
}

/// A log, a policy, and what is asked.
pub(crate) struct Trial {
    pub(crate) fitted: Evaluator,
    pub(crate) robust: Arc<Robust>,
    pub(crate) policy: Policy,
    pub(crate) kappa: f64,
}

impl Trial {
    pub(crate) fn new(seed: u64, actions: usize, acts: Acts) -> Self {
        let r = &mut Random(seed);
        let levels = 1 + r.below(3);
        let second = match r.below(3) {
            0 => Feature::fixed("site", ["a", "b"]),
            1 => Feature::nominal("site", ["a", "b"]).weight([0.0, 0.3, 1.0][r.below(3)]),
            _ => Feature::nominal("site", ["a"]),
        };
        let age = Feature::numeric("age").levels((0..levels).map(|k| (k * k) as f64));
        let space = Arc::new(Space::grid([age, second]).unwrap());
        let outcomes =
            Arc::new(Space::grid([Feature::numeric("y").levels([0., 1., 2., 3.])]).unwrap());
        let tied = r.chance(0.5);
        let values: Vec<f64> = (0..4)
            .map(|_| if tied { r.below(3) as f64 - 1.0 } else { 4.0 * r.unit() - 2.0 })
            .collect();
        let mut entries = Vec::new();
        for context in 0..space.len() {
            // Some places have nobody; at least one has.
            if context > 0 && r.chance(0.3) {
                continue;
            }
            for action in 0..actions {
                for _ in 0..if r.chance(0.1) { 0 } else { 1 + r.below(3) } {
                    entries.push(Entry {
                        context: context as u32,
                        action: action as u32,
                        outcome: r.below(4) as u32,
                        propensity: f64::NAN,
                        weight: 1.0 + r.below(4) as f64,
                        ..Entry::default()
                    });
                }
            }
        }
        for action in 0..actions {
            let outcome = r.below(4) as u32;
            let (context, action) = (0, action as u32);
            entries.push(Entry {
                context,
                action,
                outcome,
                propensity: f64::NAN,
                weight: 1.0,
                ..Entry::default()
            });
        }
        let names: Vec<String> = (0..actions).map(|a| format!("a{a}")).collect();
        let direction = if r.chance(0.5) { Direction::Cost } else { Direction::Reward };
        let log = Log::new(space, names, outcomes, values, direction, entries).unwrap().shared();
        let unseen = if r.chance(0.5) { Unseen::Mean } else { Unseen::Worst };
        let recipe = match r.below(3) {
            0 => Recipe::Tree(vec![
                TreeSettings { max_depth: 1, ..TreeSettings::default() };
                actions
            ]),
            _ => Recipe::Cells,
        };
        let options = FitOptions { unseen, ..FitOptions::default() };
        let fitted =
            Evaluator::new(&log, &recipe, &Propensity::Cells, options, Watch::NOBODY).unwrap();
        let support = if r.chance(0.7) { Support::All } else { Support::Observed };
        let robust = fitted.robust(support).unwrap();
        let mut cells = Vec::new();
        let same: Vec<f64> = (0..actions).map(|_| r.below(4) as f64 + 0.5).collect();
        for _ in 0..log.contexts().len() {
            let own = r.below(actions);
            let mut row: Vec<f64> = match acts {
                Acts::Certainly => (0..actions).map(|a| f64::from(u8::from(a == own))).collect(),
                Acts::AtRandom => (0..actions).map(|_| r.below(4) as f64 + 0.01).collect(),
                Acts::Alike => same.clone(),
            };
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= total);
            cells.extend(row);
        }
        let matrix = Matrix::new(log.contexts().len(), actions, cells).unwrap();
        let policy = Policy::table("some", log.contexts(), log.actions(), &matrix).unwrap();
        let kappa = [0.05, 0.3, 1.0, 4.0][r.below(4)];
        Trial { fitted, robust, policy, kappa }
    }

    pub(crate) fn log(&self) -> &Log {
        self.fitted.log()
    }

    pub(crate) fn set(&self) -> JointWasserstein {
        JointWasserstein { kappa: self.kappa }
    }

    pub(crate) fn ask(&self, set: JointWasserstein, radii: &[f64]) -> Vec<WorstCase> {
        let values = self.values();
        let (robust, policy) = (&self.robust, &self.policy);
        let settings = Settings::default();
        self.fitted.worst_cases(robust, policy, &values, set, radii, None, settings).unwrap().0
    }

    pub(crate) fn values(&self) -> Arc<seawall::outcome::Values> {
        self.fitted.values(Wasserstein.at(0.0), Settings::default()).unwrap()
    }

    /// The worst value there is.
    pub(crate) fn top(&self) -> f64 {
        let sign = self.log().direction().sign();
        sign * self.log().values().iter().map(|y| sign * y).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The outcomes of a context under an action, with shares.
    pub(crate) fn margin(&self, context: usize, action: usize) -> Vec<(f64, f64)> {
        let (log, leaves) = (self.log(), self.fitted.model().leaves().unwrap());
        let seen: Vec<(f64, f64)> = match leaves.leaf_of(context, action) {
            Some(leaf) => {
                let outcomes = &leaves.all()[leaf].outcomes;
                outcomes.iter().map(|o| (log.values()[o.0 as usize], o.1)).collect()
            }
            None if self.fitted.options().unseen == Unseen::Worst => vec![(self.top(), 1.0)],
            None => {
                let own = log.entries().iter().filter(|e| e.action as usize == action);
                own.map(|e| (log.value(e), e.weight)).collect()
            }
        };
        let total: f64 = seen.iter().map(|o| o.1).sum();
        seen.into_iter().map(|(y, w)| (y, w / total)).collect()
    }

    /// The largest mean over plans and moves of outcomes, as costs, and over couplings of the margins
    /// or with the joint shares that are given.
    pub(crate) fn program(&self, radius: f64, joint: Option<Coupled<'_>>) -> f64 {
        self.program_by(radius, joint, None)
    }

    /// The same where people go as a plan says.
    pub(crate) fn program_by(
        &self,
        radius: f64,
        joint: Option<Coupled<'_>>,
        plan: Option<&seawall::Plan>,
    ) -> f64 {
        let (log, robust) = (self.log(), &self.robust);
        let (sign, top) = (log.direction().sign(), self.top());
        let (space, weights) = (robust.population().space(), robust.population().weights());
        let mut lp = microlp::Problem::new(OptimizationDirection::Maximize);
        let mut budget = LinearExpr::empty();
        let mut gone = vec![LinearExpr::empty(); space.len() * space.len()];
        for i in (0..space.len()).filter(|&i| weights[i] > 0.0) {
            let margins: Vec<Vec<(f64, f64)>> = (0..log.actions().len())
                .map(|action| self.margin(robust.points()[i], action))
                .collect();
            let people: Vec<Joint> = match joint {
                Some(joint) => joint(&margins),
                None => product(&margins),
            };
            let mut rows: Vec<Vec<LinearExpr>> =
                margins.iter().map(|m| vec![LinearExpr::empty(); m.len()]).collect();
            for person in &people {
                let mut own = LinearExpr::empty();
                for j in 0..space.len() {
                    let way = space.cost(i, j);
                    if !way.is_finite() {
                        continue;
                    }
                    let row = self.policy.row(robust.points()[j]);
                    let met: Vec<usize> = (0..row.len()).filter(|&a| row[a] > 0.0).collect();
                    // Each outcome that is met stays, goes half of the way or all of it; no program
                    // keeps a budget of which one move takes 1e12 times as much as another.
                    let moves = if self.kappa > 1e6 { 1 } else { 3usize.pow(met.len() as u32) };
                    for moves in 0..moves {
                        let (mut value, mut cost) = (0.0, way);
                        for (at, &a) in met.iter().enumerate() {
                            let by = [0.0, 0.5, 1.0][moves / 3usize.pow(at as u32) % 3];
                            let y = margins[a][person.at[a]].0;
                            value += row[a] * sign * (y + by * (top - y));
                            cost += self.kappa * by * (top - y).abs();
                        }
                        let mass = lp.add_var(value, (0.0, f64::INFINITY));
                        budget.add(mass, cost);
                        own.add(mass, 1.0);
                        gone[i * space.len() + j].add(mass, 1.0);
                        if joint.is_none() {
                            (0..margins.len()).for_each(|a| rows[a][person.at[a]].add(mass, 1.0));
                        }
                    }
                }
                if joint.is_some() {
                    lp.add_constraint(own, ComparisonOp::Eq, weights[i] * person.share);
                }
            }
            if joint.is_none() {
                for (a, rows) in rows.into_iter().enumerate() {
                    // The last of each but the first action follows from the others.
                    let count = rows.len() - usize::from(a > 0);
                    for (row, y) in rows.into_iter().zip(&margins[a]).take(count) {
                        lp.add_constraint(row, ComparisonOp::Eq, weights[i] * y.1);
                    }
                }
            }
        }
        lp.add_constraint(budget, ComparisonOp::Le, radius);
        if let Some(plan) = plan {
            let mut most = vec![1e-9; gone.len()];
            plan.iter().for_each(|step| most[step.from * space.len() + step.to] += step.mass);
            for (row, most) in gone.into_iter().zip(most) {
                lp.add_constraint(row, ComparisonOp::Le, most);
            }
        }
        sign * lp.solve().unwrap().solution().unwrap().objective()
    }
}

/// Which people there are in a context of these margins.
pub(crate) type Coupled<'a> = &'a dyn Fn(&[Vec<(f64, f64)>]) -> Vec<Joint>;

/// Some people of one context: which outcome of each action, and their share.
pub(crate) struct Joint {
    pub(crate) at: Vec<usize>,
    pub(crate) share: f64,
}

/// Every combination; its share as if outcomes had nothing to do with each other.
pub(crate) fn product(margins: &[Vec<(f64, f64)>]) -> Vec<Joint> {
    let mut all = vec![Joint { at: Vec::new(), share: 1.0 }];
    for margin in margins {
        let longer = |one: &Joint| -> Vec<Joint> {
            let next = |(k, y): (usize, &(f64, f64))| Joint {
                at: [&one.at[..], &[k]].concat(),
                share: one.share * y.1,
            };
            margin.iter().enumerate().map(next).collect()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Like beside like: by quantiles.
pub(crate) fn together(margins: &[Vec<(f64, f64)>]) -> Vec<Joint> {
    let order = |margin: &Vec<(f64, f64)>| {
        let mut order: Vec<usize> = (0..margin.len()).collect();
        order.sort_by(|&a, &b| margin[a].0.total_cmp(&margin[b].0));
        order
    };
    let orders: Vec<Vec<usize>> = margins.iter().map(order).collect();
    let mut cuts = vec![0.0, 1.0];
    for (margin, order) in margins.iter().zip(&orders) {
        let mut total = 0.0;
        for &k in order {
            total += margin[k].1;
            cuts.push(total);
        }
    }
    cuts.sort_by(f64::total_cmp);
    let pieces = cuts.windows(2).filter(|c| c[1] - c[0] > 1e-12);
    let piece = |c: &[f64]| {
        let middle = 0.5 * (c[0] + c[1]);
        let quantile = |(margin, order): (&Vec<(f64, f64)>, &Vec<usize>)| {
            let mut total = 0.0;
            let at = order.iter().find(|&&k| {
                total += margin[k].1;
                middle < total
            });
            *at.unwrap_or(&order[order.len() - 1])
        };
        Joint { at: margins.iter().zip(&orders).map(quantile).collect(), share: c[1] - c[0] }
    };
    let mut all: Vec<Joint> = pieces.map(piece).collect();
    let total: f64 = all.iter().map(|j| j.share).sum();
    all.iter_mut().for_each(|j| j.share /= total);
    all
}

/// The value, the best coupling's and the population, all held to programs.
pub(crate) fn hold(trial: &Trial, radius: f64, what: &str) {
    let worst = &trial.ask(trial.set(), &[radius])[0];
    let sign = trial.log().direction().sign();
    let truth = trial.program(radius, None);
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * (1.0 + b.abs());
    assert!(close(worst.value(), truth), "{what}: {} is not {truth}", worst.value());
    assert!(worst.lower() <= truth + 1e-6 && truth <= worst.upper() + 1e-6, "{what}");
    assert_eq!(worst.status(), Status::Optimal, "{what}: {}", worst.gap());
    let (best, kind) = (worst.best_coupling().unwrap(), trial.program(radius, Some(&together)));
    assert!(close(best, kind), "{what}: best coupling {best} is not {kind}");
    let any = sign * trial.program(radius, Some(&product));
    assert!(sign * best <= any + 1e-6 && any <= sign * worst.value() + 1e-6, "{what}");
    // The population: everyone leaves, all mass arrives, and the radius pays for it.
    let weights = trial.robust.population().weights();
    let mut left = vec![0.0; weights.len()];
    let mut spent = 0.0;
    for step in worst.plan().iter() {
        left[step.from] += step.mass;
        spent += step.mass * step.cost;
        let ground = trial.robust.population().space().cost(step.from, step.to);
        assert!(step.cost >= ground - 1e-9, "{what}: {} for {ground}", step.cost);
    }
    assert!(left.iter().zip(weights).all(|(a, b)| (a - b).abs() < 1e-12), "{what}");
    assert!(spent <= radius * (1.0 + 1e-9) + 1e-12, "{what}: {spent} of {radius}");
    assert!((worst.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12, "{what}");
    // People who go where it says can reach the value.
    let attained = trial.program_by(radius, None, Some(worst.plan()));
    assert!(close(attained, worst.value()), "{what}: {attained} of {}", worst.value());
}

#[test]
fn certain_policies_of_two_and_three_actions_agree_with_linear_programs() {
    for seed in crate::common::cases(300) {
        let trial = Trial::new(seed, 2 + usize::from(seed % 3 == 0), Acts::Certainly);
        let radius = [0.0, 0.02, 0.1, 0.4, 1.5][(seed % 5) as usize];
        hold(&trial, radius, &format!("seed {seed}"));
    }
}

#[test]
fn policies_that_draw_one_of_two_actions_agree_with_linear_programs() {
    for seed in 300..450 {
        let trial = Trial::new(seed, 2, Acts::AtRandom);
        let radius = [0.0, 0.02, 0.1, 0.4, 1.5][(seed % 5) as usize];
        hold(&trial, radius, &format!("seed {seed}"));
    }
}

#[test]
fn policies_that_draw_alike_everywhere_agree_with_linear_programs() {
    for seed in 450..500 {
        let trial = Trial::new(seed, 2 + usize::from(seed % 3 == 0), Acts::Alike);
        let radius = [0.0, 0.02, 0.1, 0.4, 1.5][(seed % 5) as usize];
        hold(&trial, radius, &format!("seed {seed}"));
        // Linear in the outcomes: data say it all.
        let worst = &trial.ask(trial.set(), &[radius])[0];
        assert_eq!(worst.best_coupling(), Some(worst.value()));
    }
}

#[test]
fn the_curve_is_exact_concave_and_ends_at_the_worst_outcome() {
    for seed in crate::common::cases(120) {
        let acts = [Acts::Certainly, Acts::AtRandom, Acts::Alike][(seed % 3) as usize];
        let trial = Trial::new(1000 + seed, 2 + usize::from(acts == Acts::Certainly), acts);
        let (sign, values) = (trial.log().direction().sign(), trial.values());
        let radii = [0.0, 0.003, 0.01, 0.05, 0.2, 0.6, 1.0, 3.0, 20.0, 1e6];
        let (robust, policy) = (&trial.robust, &trial.policy);
        let settings = Settings::default();
        let (worst, curve) = trial
            .fitted
            .worst_cases(robust, policy, &values, trial.set(), &radii, Some(0.0), settings)
            .unwrap();
        let curve = curve.unwrap();
        assert!(curve.is_exact(), "{seed}");
        let heights: Vec<f64> = worst.iter().map(|w| sign * w.value()).collect();
        for k in 0..radii.len() {
            let (read, height) = (sign * curve.at(radii[k]).value, heights[k]);
            assert!(
                (read - height).abs() <= 1e-9 * (1.0 + height.abs()),
                "{seed}: {read} {height}"
            );
            assert!(worst[k].lower() <= worst[k].upper());
            // What was asked together is what is asked alone, each radius to rounding.
            let alone = sign * trial.ask(trial.set(), &radii[k..=k])[0].value();
            assert!((alone - height).abs() <= 1e-12 * (1.0 + height.abs()), "{seed}");
        }
        for k in 1..radii.len() {
            assert!(heights[k] >= heights[k - 1] - 1e-12, "{seed}: falls");
        }
        for k in 2..radii.len() {
            let slope = |a: usize, b: usize| (heights[b] - heights[a]) / (radii[b] - radii[a]);
            assert!(slope(k - 2, k - 1) >= slope(k - 1, k) - 1e-9, "{seed}: bends up");
        }
        assert_eq!(worst[radii.len() - 1].value(), trial.top(), "{seed}");
    }
}

#[test]
fn radius_zero_is_the_direct_method_where_no_move_is_free() {
    let mut tried = 0;
    for seed in crate::common::cases(200) {
        let acts = [Acts::Certainly, Acts::AtRandom][(seed % 2) as usize];
        let trial = Trial::new(2000 + seed, 2, acts);
        let space = trial.robust.population().space();
        let n = space.len();
        if (0..n).any(|i| (0..n).any(|j| i != j && space.cost(i, j) == 0.0)) {
            continue;
        }
        tried += 1;
        let own = trial.robust.values(&trial.policy, &trial.values()).unwrap();
        let mean = trial.robust.population().mean(&own).unwrap();
        let worst = &trial.ask(trial.set(), &[0.0])[0];
        assert!((worst.value() - mean).abs() <= 1e-12 * (1.0 + mean.abs()), "{seed}");
        let (weights, stay) = (worst.weights(), trial.robust.population().weights());
        assert!(weights.iter().zip(stay).all(|(a, b)| (a - b).abs() < 1e-15), "{seed}");
    }
    assert!(tried >= crate::common::cases::enough(100), "{tried}");
}

/// Where no place with another action is within reach, every policy that draws nothing loses `ε/κ`.
#[test]
fn without_moves_of_contexts_every_policy_loses_the_same() {
    let contexts = Arc::new(Space::grid([Feature::fixed("site", ["a", "b", "c"])]).unwrap());
    let outcomes = Arc::new(Space::grid([Feature::numeric("y").levels([0., 1., 2., 5.])]).unwrap());
    for direction in [Direction::Cost, Direction::Reward] {
        let r = &mut Random(7);
        let mut entries = Vec::new();
        for k in 0..60 {
            let (context, action) = (k % 3, k / 3 % 2);
            let outcome = r.below(3) as u32;
            let weight = 1.0 + r.unit();
            let propensity = f64::NAN;
            entries.push(Entry {
                context,
                action,
                outcome,
                propensity,
                weight,
                ..Entry::default()
            });
        }
        let (values, names) = (vec![0.0, 1.0, 2.0, 5.0], vec!["p".to_owned(), "q".to_owned()]);
        let log = Log::new(contexts.clone(), names, outcomes.clone(), values, direction, entries);
        let log = log.unwrap().shared();
        let options = FitOptions::default();
        let fitted =
            Evaluator::new(&log, &Recipe::Cells, &Propensity::Cells, options, Watch::NOBODY)
                .unwrap();
        let robust = fitted.robust(Support::All).unwrap();
        let plain = fitted.values(Wasserstein.at(0.0), Settings::default()).unwrap();
        let (set, top) =
            (JointWasserstein { kappa: 0.7 }, if direction == Direction::Cost { 5. } else { 0. });
        for chosen in 0..8usize {
            let at = |x: usize, a: usize| f64::from(u8::from(chosen >> x & 1 == a));
            let matrix = table(3, 2, at);
            let policy = Policy::table("some", log.contexts(), log.actions(), &matrix).unwrap();
            let nominal = fitted.nominal(&policy, Watch::NOBODY).unwrap().dm.value;
            let radii = [0.0, 0.1, 0.5, 1.0, 2.0, 10.0];
            let settings = Settings::default();
            let (worst, _) =
                fitted.worst_cases(&robust, &policy, &plain, set, &radii, None, settings).unwrap();
            for (worst, radius) in worst.iter().zip(radii) {
                let loss = (radius / 0.7_f64).min((top - nominal).abs());
                let truth = nominal + direction.sign() * loss;
                assert!((worst.value() - truth).abs() < 1e-12, "{} {truth}", worst.value());
                assert!((worst.best_coupling().unwrap() - truth).abs() < 1e-12);
                let population = robust.population().weights();
                assert!(worst.weights().iter().zip(population).all(|(a, b)| (a - b).abs() < 1e-12));
            }
            let note = robust.loses_alike(&policy, set, Watch::NOBODY).unwrap().unwrap();
            assert!(note.contains("1.428") && note.contains("some"), "{note}");
        }
        let uniform = Policy::uniform(&log);
        assert_eq!(robust.loses_alike(&uniform, set, Watch::NOBODY).unwrap(), None);
    }
    let trial = (0..).map(|seed| Trial::new(seed, 2, Acts::Certainly)).find(|trial| {
        trial.robust.loses_alike(&trial.policy, trial.set(), Watch::NOBODY).unwrap().is_none()
    });
    assert!(trial.is_some());
}
