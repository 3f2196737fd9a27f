//! Inner maxima of sums of many trees, source by source, by descending the trees together.
//!
//! The boxes on which such a sum is constant cannot be listed, nor is it a sum over features. A search
//! (`search`) opens boxes from the highest bound down and ends when no bound is above
//! the best place found, or when the work set aside for a source is done: what is then open is the
//! *excess*, and widens the upper bound of whatever is made of it.
//!
//! Every place that was found for a source is kept: at another price the search begins with the best
//! of them.

mod blocks;
#[cfg(test)]
mod fitted;
mod search;

use super::Patience;
use super::boxes::alike;
use crate::ambiguity::plan::Plan;
use crate::ambiguity::transport_oracle::{Assignment, AssignmentPlan, OracleSums, TransportOracle};
use crate::ambiguity::values::{Direction, ValueUnits};
use crate::ambiguity::whole_space::WholeSpace;
use crate::error::{Error, Result};
use crate::kernel::metric::penalty;
use crate::kernel::order::Price;
use crate::kernel::sum::sums;
use crate::population::Population;
use crate::progress::Watch;
use crate::steps::StepFunction;
use blocks::Blocks;
use rayon::prelude::*;
use search::{Place, PlaceSearch};

/// Searches that a curve may take, and its vertices in any case: a search takes long.
const SEARCHES: usize = 100_000;
const FEWEST: usize = 24;
/// Boxes of blocks that an evaluation looks at, about.
const WORK: usize = 1 << 26;

/// Sources and a sum of trees.
pub(in crate::ambiguity) struct DescentEngine<'w> {
    whole: &'w WholeSpace,
    function: &'w StepFunction,
    blocks: Blocks,
    /// Which kind each source is (its own if sources differ), and the kinds' masses.
    kind_of: Option<Vec<u32>>,
    mass: Vec<f64>,
    /// The places known for each kind; the first is to stay.
    places: Vec<Vec<Place>>,
    /// What was found at each price: the place of each kind, and the sums.
    found: Vec<(Price, Vec<u32>, OracleSums)>,
    /// Boxes that may be looked at for one source at one price.
    work: usize,
    patience: Patience<'w>,
}

impl<'w> DescentEngine<'w> {
    pub fn new(
        whole: &'w WholeSpace,
        function: &'w StepFunction,
        direction: Direction,
        watch: Watch<'w>,
    ) -> Result<Self> {
        Self::with_work(whole, function, direction, watch, WORK)
    }

    fn with_work(
        whole: &'w WholeSpace,
        function: &'w StepFunction,
        direction: Direction,
        watch: Watch<'w>,
        work: usize,
    ) -> Result<Self> {
        let units = |largest| ValueUnits::new(largest, direction);
        let blocks = Blocks::new(&whole.extent, function, units)?;
        let (firsts, kind_of) = alike(whole, &blocks.features());
        let mut mass = vec![0.0; firsts.len()];
        for source in 0..whole.sources.len() {
            mass[kind_of.as_ref().map_or(source, |of| of[source] as usize)] += whole.mass(source);
        }
        let space = whole.population.space();
        let stay = |first: &u32| {
            let point = whole.sources[*first as usize] as usize;
            let codes: Box<[f64]> =
                (0..space.names().len()).map(|k| space.code(point, k)).collect();
            let height = blocks.units.scaled(function.at(&whole.extent, |k| codes[k]));
            vec![Place { codes, height, cost: 0.0 }]
        };
        let places: Vec<Vec<Place>> = firsts.par_iter().map(stay).collect();
        let work = work / firsts.len().max(1);
        let patience = Patience::new(watch, firsts.len(), work);
        let found = Vec::new();
        Ok(DescentEngine { whole, function, blocks, kind_of, mass, places, found, work, patience })
    }

    /// The best place of each kind at a price; None if told to stop.
    fn search(&mut self, price: Price) -> Option<(Vec<u32>, OracleSums)> {
        if let Some((_, places, reached)) = self.found.iter().find(|(known, ..)| *known == price) {
            return Some((places.clone(), *reached));
        }
        self.patience.begin();
        let model = (&self.blocks, &self.whole.extent, self.function);
        let one = |places: &Vec<Place>| {
            self.patience.go_on().then(|| {
                let at = best(places, price);
                let known = (places[at].height, places[at].cost);
                let (fresh, excess) =
                    PlaceSearch::new(model, &places[0].codes, price, known, self.work).run();
                (at as u32, fresh, excess)
            })
        };
        let all: Option<Vec<(u32, Option<Place>, f64)>> = self.places.par_iter().map(one).collect();
        let (mut chosen, mut open) = (Vec::new(), Vec::new());
        for (places, (at, fresh, excess)) in self.places.iter_mut().zip(all?) {
            chosen.push(if fresh.is_some() { places.len() as u32 } else { at });
            places.extend(fresh);
            open.push(excess);
        }
        let [value, cost, excess] = sums(chosen.len(), &|kind| {
            let place = &self.places[kind][chosen[kind] as usize];
            [place.height, place.cost, open[kind]].map(|x| self.mass[kind] * x)
        });
        let reached = OracleSums { value, cost, excess };
        self.found.push((price, chosen.clone(), reached));
        Some((chosen, reached))
    }

    fn kind(&self, source: usize) -> usize {
        self.kind_of.as_ref().map_or(source, |of| of[source] as usize)
    }
}

/// The best of some places at a price, the cheaper of two as good.
fn best(places: &[Place], price: Price) -> usize {
    let key = |place: &Place| match price {
        Price::Zero => (place.height, -place.cost),
        Price::At(price) => (place.height - penalty(price, place.cost), -place.cost),
        Price::Infinite => (-place.cost, place.height),
    };
    (1..places.len()).fold(0, |best, at| {
        if crate::kernel::order::better(key(&places[at]), key(&places[best])) { at } else { best }
    })
}

impl TransportOracle for DescentEngine<'_> {
    fn len(&self) -> usize {
        self.whole.sources.len()
    }

    fn mass(&self, source: usize) -> f64 {
        self.whole.mass(source)
    }

    fn start(&mut self) -> OracleSums {
        self.evaluate(Price::Infinite)
    }

    fn evaluate(&mut self, price: Price) -> OracleSums {
        let nothing = OracleSums { value: 0.0, cost: 0.0, excess: f64::INFINITY };
        self.search(price).map_or(nothing, |(_, reached)| reached)
    }

    fn assignments(&mut self, price: Price) -> Result<Vec<Assignment>> {
        let (chosen, _) = self.search(price).ok_or_else(Error::stopped)?;
        let assignment = |source: usize| {
            let kind = self.kind(source);
            let to = chosen[kind];
            let Place { height, cost, .. } = self.places[kind][to as usize];
            Assignment { to, cost, height }
        };
        Ok((0..self.len()).map(assignment).collect())
    }

    fn plan(&mut self, ways: AssignmentPlan) -> Result<(Plan, Population)> {
        self.whole.plan(ways.moves(|s| self.whole.mass(s)), |source, to, changes| {
            let places = &self.places[self.kind(source)];
            let (own, there) = (&places[0].codes, &places[to as usize].codes);
            // Kinds are alike in what matters; in all else a source stays as it is.
            for (k, (from, to)) in (0..).zip(own.iter().zip(there)) {
                if from.to_bits() != to.to_bits() {
                    changes.push((k, *to));
                }
            }
        })
    }

    fn population(&self) -> &Population {
        &self.whole.population
    }

    fn vertices(&self) -> usize {
        (SEARCHES / self.len().max(1)).max(FEWEST)
    }

    fn engine(&self) -> &'static str {
        "descent"
    }

    fn units(&self) -> ValueUnits {
        self.blocks.units
    }

    fn stopped(&self) -> bool {
        self.patience.stopped()
    }
}

#[cfg(test)]
mod tests {
    use super::fitted::LabelledRows;
    use super::*;
    use crate::ambiguity::settings::Settings;
    use crate::ambiguity::solve::PricedSolver;
    use crate::ambiguity::solver::Solver;
    use crate::ambiguity::trials::{Asks, Trial, seconds_of_work};
    use crate::ambiguity::wasserstein::WassersteinSolver;
    use crate::kernel::random::Random;
    use crate::steps::{Question, StepNode, StepTree, Terms, Weighed};

    fn descent(trial: &Trial, work: usize) -> DescentEngine<'_> {
        let Trial { whole, function, direction } = trial;
        DescentEngine::with_work(whole, function, *direction, Watch::NOBODY, work).unwrap()
    }

    #[test]
    fn exact_where_there_is_time() {
        for seed in 0..300 {
            let asks = if seed % 3 == 0 { Asks::Two } else { Asks::Any };
            let trial = match seed % 2 {
                0 => Trial::on_grid(seed, asks),
                _ => Trial::on_points(seed, asks),
            };
            trial.same(trial.solver(Box::new(descent(&trial, usize::MAX))), trial.boxes(), 1e-9);
        }
    }

    #[test]
    fn each_engine_has_a_name_of_its_own() {
        let trial = Trial::on_points(1, Asks::Any);
        let named = |mut solver: Solver<'_>| solver.worst_case(0.01).unwrap().engine();
        assert_eq!(named(trial.boxes()), Some("boxes"));
        assert_eq!(named(trial.solver(Box::new(descent(&trial, 1000)))), Some("descent"));
    }

    #[test]
    fn bounds_hold_where_there_is_none() {
        let mut open = 0;
        for seed in 0..300 {
            let trial = Trial::on_points(seed, Asks::Any);
            let mut truth = trial.boxes();
            let end = truth.curve(0.0).unwrap().vertices().last().unwrap().radius;
            let work = [0, 1, 100, 3000][seed as usize % 4];
            let mut found = trial.solver(Box::new(descent(&trial, work)));
            for share in [0.0, 0.01, 0.1, 0.3, 0.9, 1.1] {
                let radius = share * end;
                let (a, b) = (found.worst_case(radius).unwrap(), truth.worst_case(radius).unwrap());
                let room = 1e-9 * (1.0 + b.value().abs());
                assert!(a.lower() <= b.upper() + room, "{seed}, {radius}: {a:?} {b:?}");
                assert!(a.upper() >= b.lower() - room, "{seed}, {radius}: {a:?} {b:?}");
                trial.attained(&a, radius, 1.0 + b.value().abs());
                open += usize::from(a.gap() > 1e-9);
            }
        }
        assert!(open > 20, "{open}: no work was left undone");
    }

    /// `cargo test --release -p seawall --lib descent::tests::times -- --ignored --nocapture`
    #[test]
    #[ignore = "takes a minute; prints times and gaps"]
    fn times() {
        let number = |name: &str, usual: usize| {
            std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(usual)
        };
        let (rows, features) = (number("ROWS", 3000), number("FEATURES", 10));
        for (name, boosted, trees) in
            [("forest", false, 100), ("boosted", true, 100), ("boosted", true, 500)]
        {
            let random = &mut Random::new(5, 0);
            let drawn = [0, 1].map(|_| LabelledRows::drawn(random, rows, features));
            let population = drawn[0].population();
            let whole = WholeSpace::new(population.space(), &population);
            let scales = whole.extent.scales.clone();
            let terms = drawn.iter().map(|rows| {
                if boosted {
                    rows.boosted(random, &scales, trees)
                } else {
                    rows.forest(random, &scales, trees)
                }
            });
            let terms: Vec<Terms> = terms.collect();
            let split =
                |yes, no| StepNode::Split { feature: 0, question: Question::AtMost(0.0), yes, no };
            let policy =
                StepTree { nodes: vec![split(1, 2), StepNode::Leaf(0), StepNode::Leaf(1)] };
            let rows = (0..2).map(|terms| vec![Weighed { factor: 1.0, terms }]).collect();
            let function = StepFunction { policy, rows, terms };
            let begun = std::time::Instant::now();
            let descent =
                DescentEngine::new(&whole, &function, Direction::Cost, Watch::NOBODY).unwrap();
            let boxes: usize = descent.blocks.blocks.iter().map(|b| b.values.len()).sum();
            println!(
                "{name} {trees}: {} blocks of {boxes} boxes in {:?}",
                descent.blocks.blocks.len(),
                begun.elapsed()
            );
            let settings = Settings::default();
            let solver = WassersteinSolver::new(Box::new(descent), settings).unwrap();
            let solver = Box::new(PricedSolver::new(solver, settings));
            let mut solver = Solver::new(solver, crate::Wasserstein.into());
            let nominal = solver.value_at_zero();
            for radius in [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0] {
                let begun = seconds_of_work();
                let worst = solver.worst_case(radius).unwrap();
                println!(
                    "  {radius}: {nominal:.4} -> {:.4} to {:.4} (open: {:.0}% of the rise) \
                     {} evaluations in {:.2} s of work",
                    worst.lower(),
                    worst.upper(),
                    100.0 * worst.gap() / (worst.upper() - nominal),
                    worst.evaluations(),
                    seconds_of_work() - begun
                );
            }
        }
    }
}
