//! Random step functions on random spaces, and what engines on the whole of a space are held to.
#![allow(clippy::unwrap_used)]

use super::engine::boxes::{Hulls, ListedBoxes};
use super::problem::Problem;
use super::set::Set;
use super::settings::Settings;
use super::solve::PricedSolver;
use super::solver::Solver;
use super::transport_oracle::TransportOracle;
use super::values::Direction;
use super::wasserstein::{Wasserstein, WassersteinSolver};
use super::whole_space::WholeSpace;
use crate::kernel::random::Random;
use crate::population::Population;
use crate::progress::Watch;
use crate::space::{Feature, Space};
use crate::steps::{Extent, Question, StepFunction, StepNode, StepTree, Terms, Weighed, list};
use std::sync::Arc;

/// A population on a space, and a function on the whole of it.
pub(super) struct Trial {
    pub whole: WholeSpace,
    pub function: StepFunction,
    pub direction: Direction,
}

/// How many features a tree may ask about.
#[derive(Clone, Copy)]
pub(super) enum Asks {
    One,
    Two,
    Any,
}

/// A feature with levels.
fn listed(random: &mut Random, k: usize) -> Feature {
    let count = 2 + random.below(4);
    let labels = (0..count).map(|l| format!("l{l}"));
    let feature = match random.below(4) {
        0 => Feature::ordinal(format!("f{k}"), labels),
        1 => Feature::nominal(format!("f{k}"), labels),
        2 => Feature::fixed(format!("f{k}"), labels.take(2)),
        _ => Feature::numeric(format!("f{k}")).levels((0..count).map(|l| (l * l) as f64)),
    };
    let feature = if random.below(3) == 0 { feature.with_missing() } else { feature };
    if random.below(6) == 0 { feature.weight(0.0) } else { feature }
}

/// The population of some points of a space, some of which weigh nothing.
fn population(random: &mut Random, space: Space) -> Population {
    let weights: Vec<f64> =
        (0..space.len()).map(|_| random.below(4) as f64 * (1.0 + random.unit())).collect();
    let weights = if weights.iter().any(|w| *w > 0.0) { weights } else { vec![1.0; space.len()] };
    let total: f64 = weights.iter().sum();
    let weights = weights.iter().map(|w| w / total).collect();
    Population::from_weights(Arc::new(space), weights).unwrap()
}

impl Trial {
    /// On a small grid.
    pub fn on_grid(seed: u64, asks: Asks) -> Self {
        let random = &mut Random::new(seed, 0);
        let features: Vec<Feature> = (0..1 + random.below(4)).map(|k| listed(random, k)).collect();
        let space = Space::grid(features).unwrap();
        Self::new(random, space, asks)
    }

    /// On points, some of whose features are any numbers.
    pub fn on_points(seed: u64, asks: Asks) -> Self {
        let random = &mut Random::new(seed, 1);
        let count = 1 + random.below(4);
        let rows = 1 + random.below(30);
        let mut features = Vec::new();
        let mut columns = Vec::new();
        for k in 0..count {
            if random.below(3) == 0 {
                let levels = 3;
                features.push(Feature::nominal(format!("f{k}"), ["a", "b", "c"]));
                columns.push((0..rows).map(|_| random.below(levels) as f64).collect());
                continue;
            }
            let missing = random.below(3) == 0;
            let feature = Feature::numeric(format!("f{k}"));
            let feature = if missing { feature.with_missing() } else { feature };
            features.push(if random.below(8) == 0 { feature.weight(0.0) } else { feature });
            let coarse = random.below(2) == 0;
            let number = |_| match (missing && random.below(5) == 0, coarse) {
                (true, _) => f64::NAN,
                (false, true) => random.below(6) as f64,
                (false, false) => 100.0 * random.normal(),
            };
            let mut column: Vec<f64> = (0..rows).map(number).collect();
            column[0] = 0.0;
            columns.push(column);
        }
        let space = Space::points(features, columns).unwrap();
        Self::new(random, space, asks)
    }

    /// Two actions' additive models of so many steps a feature, and a policy of four boxes.
    pub fn additive(rows: usize, columns: usize, steps: usize) -> Self {
        let random = &mut Random::new(3, 0);
        let numbers = (0..columns).map(|_| (0..rows).map(|_| random.normal()).collect()).collect();
        let features = (0..columns).map(|k| Feature::numeric(format!("f{k}")));
        let space = Space::points(features, numbers).unwrap();
        let population =
            Population::from_weights(Arc::new(space), vec![1.0 / rows as f64; rows]).unwrap();
        let whole = WholeSpace::new(population.space(), &population);
        let scales = &whole.extent.scales;
        let term = |random: &mut Random| {
            let trees = (0..columns).map(|k| {
                let nodes = (1..steps).flat_map(|step| {
                    let at = -2.0 + 4.0 * step as f64 / steps as f64;
                    let split = StepNode::Split {
                        feature: k,
                        question: Question::AtMost(at * scales[k]),
                        yes: 2 * step as u32 - 1,
                        no: 2 * step as u32,
                    };
                    [split, StepNode::Leaf(step as u32 - 1)]
                });
                let nodes = nodes.chain([StepNode::Leaf(steps as u32 - 1)]).collect();
                let mut height = 0.0;
                let values = (0..steps).map(|_| {
                    height += 0.02 * random.normal();
                    height
                });
                (Arc::new(StepTree { nodes }), values.collect())
            });
            Terms { base: 0.0, trees: trees.collect() }
        };
        let terms = vec![term(random), term(random)];
        let split = |feature, yes, no| StepNode::Split {
            feature,
            question: Question::AtMost(0.0),
            yes,
            no,
        };
        let leaf = StepNode::Leaf;
        let nodes = vec![split(0, 1, 2), split(1, 3, 4), split(2, 3, 4), leaf(0), leaf(1)];
        let rows = (0..2).map(|terms| vec![Weighed { factor: 1.0, terms }]).collect();
        let function = StepFunction { policy: StepTree { nodes }, rows, terms };
        Trial { whole, function, direction: Direction::Cost }
    }

    fn new(random: &mut Random, space: Space, asks: Asks) -> Self {
        let population = population(random, space);
        let whole = WholeSpace::new(population.space(), &population);
        let function = drawn_function(random, &whole.extent, population.space(), asks);
        let direction = if random.below(2) == 0 { Direction::Cost } else { Direction::Reward };
        Trial { whole, function, direction }
    }

    /// A solver with an engine.
    pub fn solver<'a>(&'a self, oracle: Box<dyn TransportOracle + 'a>) -> Solver<'a> {
        let settings = Settings::default();
        let solver = WassersteinSolver::new(oracle, settings).unwrap();
        Solver::new(Box::new(PricedSolver::new(solver, settings)), Wasserstein.into())
    }

    /// The solver over listed boxes.
    pub fn boxes(&self) -> Solver<'_> {
        let boxes = list(&self.whole.extent, &self.function, 1 << 20).unwrap();
        let hulls = Hulls::new(&self.whole, boxes, self.direction, Watch::NOBODY).unwrap();
        let boxes = ListedBoxes { whole: &self.whole, hulls: hulls.into() };
        self.solver(Box::new(boxes))
    }

    /// The function's values on the points of the space.
    pub fn values(&self) -> Vec<f64> {
        let space = self.whole.population.space();
        (0..space.len())
            .map(|i| self.function.at(&self.whole.extent, |k| space.code(i, k)))
            .collect()
    }

    /// What a solver says is what another says, and its plans attain it.
    pub fn same(&self, mut found: Solver<'_>, mut truth: Solver<'_>, within: f64) {
        let curve = truth.curve(0.0).unwrap();
        let end = curve.vertices().last().unwrap().radius;
        let size = curve.vertices().iter().fold(1.0, |m: f64, v| m.max(v.value.abs()));
        for share in [0.0, 1e-6, 0.01, 0.1, 0.3, 0.7, 0.999, 1.0, 1.5] {
            let radius = share * end;
            let (a, b) = (found.worst_case(radius).unwrap(), truth.worst_case(radius).unwrap());
            let apart = (a.lower() - b.lower()).abs().max((a.upper() - b.upper()).abs());
            assert!(apart <= within * size, "{radius} of {end}: {a:?}\n{b:?}");
            self.attained(&a, radius, size);
        }
        let own = found.curve(0.0).unwrap();
        let own_end = own.vertices().last().unwrap().radius;
        assert!((own_end - end).abs() <= 1e-9 * (1.0 + end), "ends {own_end} and {end}");
        for vertex in curve.vertices() {
            let value = own.at(vertex.radius).value;
            assert!((value - vertex.value).abs() <= within * size, "{vertex:?} {value}");
        }
    }

    /// A plan is feasible, and the function's mean after it is the better of the bounds.
    pub fn attained(&self, worst: &crate::WorstCase, radius: f64, size: f64) {
        let space = worst.nominal().space();
        let (mut mean, mut spent, mut mass) = (0.0, 0.0, 0.0);
        for step in worst.plan().iter() {
            let codes: Vec<f64> =
                (0..space.names().len()).map(|k| space.code(step.to, k)).collect();
            for (k, code) in codes.iter().enumerate() {
                let inside = self.whole.extent.landing(k, &self.whole.extent.whole[k], *code).1;
                assert!(inside <= 0.0, "feature {k} at {code}");
            }
            mean += step.mass * self.function.at(&self.whole.extent, |k| codes[k]);
            spent += step.mass * space.cost(step.from, step.to);
            mass += step.mass;
        }
        let attained = match self.direction {
            Direction::Cost => worst.lower(),
            Direction::Reward => worst.upper(),
        };
        assert!((mean - attained).abs() <= 1e-12 * size, "{mean} is not {attained}");
        assert!(spent <= radius * (1.0 + 1e-9) + 1e-12, "{spent} over {radius}");
        assert!((mass - 1.0).abs() < 1e-12);
    }
}

/// The solver on a grid whose points are listed.
pub(super) fn listed_problem<'a>(trial: &'a Trial, values: &'a [f64]) -> Solver<'a> {
    let problem = Problem::new(&trial.whole.population, values).unwrap().direction(trial.direction);
    Set::from(Wasserstein).solver(&problem, Settings::default()).unwrap()
}

fn drawn_function(random: &mut Random, extent: &Extent, space: &Space, asks: Asks) -> StepFunction {
    let depth = random.below(3);
    let all: Vec<usize> = (0..extent.whole.len()).collect();
    let policy = drawn_tree(random, extent, space, &all, depth);
    let count = 1 + random.below(3);
    let terms: Vec<Terms> = (0..count)
        .map(|_| {
            let trees = (0..random.below(6)).map(|_| {
                let some: Vec<usize> = match asks {
                    Asks::One => vec![random.below(all.len())],
                    Asks::Two => (0..2).map(|_| random.below(all.len())).collect(),
                    Asks::Any => all.clone(),
                };
                let depth = random.below(4);
                let tree = drawn_tree(random, extent, space, &some, depth);
                let values = (0..tree.leaf_count()).map(|_| eighths(random)).collect();
                (Arc::new(tree), values)
            });
            Terms { trees: trees.collect(), base: 0.5 }
        })
        .collect();
    let rows = (0..policy.leaf_count())
        .map(|_| {
            let factors = (0..count).map(|terms| Weighed { factor: eighths(random), terms });
            factors.filter(|w| w.factor != 0.0).collect()
        })
        .collect();
    StepFunction { policy, rows, terms }
}

/// A number whose sums are exact, so that what ties in truth ties here.
fn eighths(random: &mut Random) -> f64 {
    random.below(17) as f64 / 8.0 - 1.0
}

fn drawn_tree(
    random: &mut Random,
    extent: &Extent,
    space: &Space,
    features: &[usize],
    depth: usize,
) -> StepTree {
    let mut nodes = vec![StepNode::Leaf(0)];
    let mut leaves = 0;
    let mut open = vec![(0usize, depth)];
    while let Some((at, depth)) = open.pop() {
        if depth == 0 || random.below(5) == 0 {
            nodes[at] = StepNode::Leaf(leaves);
            leaves += 1;
            continue;
        }
        let feature = features[random.below(features.len())];
        let question = match extent.coords[feature].len() {
            0 if random.below(5) == 0 => Question::IsMissing,
            0 => {
                let code = space.code(random.below(space.len()), feature);
                let at = if code.is_nan() { 0.0 } else { code * extent.scales[feature] };
                Question::AtMost(if random.below(2) == 0 { at } else { at * random.unit() })
            }
            count => {
                let pattern = random.below(1 << count);
                Question::levels(count, |level| pattern >> level & 1 == 1)
            }
        };
        let (yes, no) = (nodes.len(), nodes.len() + 1);
        nodes.extend([StepNode::Leaf(0), StepNode::Leaf(0)]);
        nodes[at] = StepNode::Split { feature, question, yes: yes as u32, no: no as u32 };
        open.extend([(yes, depth - 1), (no, depth - 1)]);
    }
    StepTree { nodes }
}

/// Seconds that this process has worked on all cores, where that is told; a busy machine makes
/// clocks say more.
pub(super) fn seconds_of_work() -> f64 {
    let told = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = told.rsplit(')').next().and_then(|s| s.split_whitespace().nth(11)?.parse().ok());
    ticks.map_or(0.0, |ticks: f64| ticks / 100.0)
}
