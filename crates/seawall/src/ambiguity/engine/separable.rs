//! Inner maxima of a function that is a sum over features, feature by feature.
//!
//! In a box of the policy's, with `f(z) = base + Σ_k h_k(z_k)`, the maximum separates:
//!
//! ```text
//! max_z (f(z) − λ c(x, z)) = base + Σ_k max_{z_k} (h_k(z_k) − λ c_k(x_k, z_k))
//! ```
//!
//! Of each feature a price makes a table: the envelope of its steps, in which a number is looked up,
//! or the best move from each level. Features that some trees ask about together are gone through by
//! the combinations of their kinds of values. No work depends on how many places there are:
//!
//! ```text
//! O(sources · boxes of the policy's · features) a price
//! ```

use super::Patience;
use super::boxes::alike;
use super::separable_table::{Spot, Table, key};
use crate::ambiguity::plan::Plan;
use crate::ambiguity::transport_oracle::{Assignment, AssignmentPlan, OracleSums, TransportOracle};
use crate::ambiguity::values::{Direction, ValueUnits};
use crate::ambiguity::whole_space::WholeSpace;
use crate::error::{Error, Result};
use crate::kernel::order::Price;
use crate::kernel::sum::sums;
use crate::population::Population;
use crate::progress::Watch;
use crate::steps::{FactorPart, Joint, Separated};
use rayon::prelude::*;

/// Sources side by side.
const LANES: usize = 64;
/// Heights this close, as a share of the largest, are the same but for rounding.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// Steps that the evaluations of a curve may take: some seconds; but so many vertices in any case.
const CURVE: usize = 4_000_000_000;
const FEWEST: usize = 48;

/// Sources and a function of separate features.
pub(in crate::ambiguity) struct Separable<'w> {
    whole: &'w WholeSpace,
    function: Separated,
    units: ValueUnits,
    /// Heights closer than this are the same.
    rounding: f64,
    /// The first source of each kind, which kind each source is (its own if sources differ), and
    /// the kinds' masses.
    firsts: Vec<u32>,
    kind_of: Option<Vec<u32>>,
    mass: Vec<f64>,
    /// The prices that assignments were asked for: a place is named by its price.
    asked: Vec<Price>,
    patience: Patience<'w>,
    /// About how many steps an evaluation takes.
    work: usize,
}

impl<'w> Separable<'w> {
    pub fn new(
        whole: &'w WholeSpace,
        mut function: Separated,
        direction: Direction,
        watch: Watch<'w>,
    ) -> Self {
        let units = ValueUnits::new(function.largest, direction);
        function.turn(|value| units.scaled(value));
        let rounding = ROUNDING * units.scaled(function.largest).abs();
        let (firsts, kind_of) = alike(whole, &function.features());
        let mut mass = vec![0.0; firsts.len()];
        for source in 0..whole.sources.len() {
            mass[kind_of.as_ref().map_or(source, |of| of[source] as usize)] += whole.mass(source);
        }
        let lookups = |part: &FactorPart| {
            let own = part.places.iter().map(|p| p.profiles.len() + p.combinations());
            part.shared.len() + own.sum::<usize>()
        };
        let steps = 8 * LANES * function.parts.iter().map(lookups).sum::<usize>();
        let patience = Patience::new(watch, firsts.len().div_ceil(LANES), steps);
        let work = steps * firsts.len() / LANES;
        let asked = Vec::new();
        Separable { whole, function, units, rounding, firsts, kind_of, mass, asked, patience, work }
    }

    /// The tables of a price.
    fn at(&self, price: Price) -> At<'_> {
        let table = |profile| Table::new(&self.whole.extent, profile, price);
        At { of: self, price, tables: self.function.profiles.iter().map(table).collect() }
    }

    /// The best of every kind of source at a price, block by block; None if told to stop.
    fn blocks<T: Send>(
        &self,
        price: Price,
        each: impl Fn(usize, &[LaneBest]) -> T + Sync,
    ) -> Option<Vec<T>> {
        let at = self.at(price);
        self.patience.begin();
        let block = |scratch: &mut LaneScratch, (number, block): (usize, &[u32])| {
            self.patience.go_on().then(|| {
                at.best(block, scratch);
                each(number * LANES, &scratch.best[..block.len()])
            })
        };
        self.firsts
            .par_chunks(LANES)
            .enumerate()
            .map_init(|| LaneScratch::new(self.function.profiles.len()), block)
            .collect()
    }
}

impl TransportOracle for Separable<'_> {
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
        let weighed = |first: usize, best: &[LaneBest]| {
            let all = best.iter().zip(&self.mass[first..]);
            all.fold([0.0, 0.0], |[value, cost], (b, m)| [value + m * b.height, cost + m * b.cost])
        };
        let blocks = self.blocks(price, weighed).unwrap_or_default();
        let [value, cost] = sums(blocks.len(), &|block| blocks[block]);
        OracleSums { value, cost, excess: 0.0 }
    }

    fn assignments(&mut self, price: Price) -> Result<Vec<Assignment>> {
        let known = self.asked.iter().position(|asked| *asked == price);
        let to = known.unwrap_or(self.asked.len()) as u32;
        if known.is_none() {
            self.asked.push(price);
        }
        let assignment = |best: &LaneBest| Assignment { to, cost: best.cost, height: best.height };
        let of_kind: Vec<Vec<Assignment>> = self
            .blocks(price, |_, best| best.iter().map(assignment).collect())
            .ok_or_else(Error::stopped)?;
        let of_kind = of_kind.concat();
        Ok(match &self.kind_of {
            None => of_kind,
            Some(kinds) => kinds.iter().map(|&kind| of_kind[kind as usize]).collect(),
        })
    }

    fn plan(&mut self, ways: AssignmentPlan) -> Result<(Plan, Population)> {
        let mut named = ways.to.clone();
        named.extend(ways.split.map(|(.., to)| to));
        named.sort_unstable();
        named.dedup();
        let of_price = |&to: &u32| (to, self.at(self.asked[to as usize]));
        let tables: Vec<(u32, At<'_>)> = named.iter().map(of_price).collect();
        let mut scratch = LaneScratch::new(self.function.profiles.len());
        self.whole.plan(ways.moves(|s| self.whole.mass(s)), |source, to, changes| {
            if let Some((_, at)) = tables.iter().find(|(price, _)| *price == to) {
                let mut codes = self.whole.codes(source);
                at.place(source as u32, &mut codes, &mut scratch);
                changes.extend((0..).zip(codes));
            }
        })
    }

    fn population(&self) -> &Population {
        &self.whole.population
    }

    fn vertices(&self) -> usize {
        (CURVE / self.work.max(1)).max(FEWEST)
    }

    fn engine(&self) -> &'static str {
        "separable"
    }

    fn units(&self) -> ValueUnits {
        self.units
    }

    fn stopped(&self) -> bool {
        self.patience.stopped()
    }
}

/// Where a source does best.
#[derive(Clone, Copy, Debug)]
struct LaneBest {
    height: f64,
    cost: f64,
    part: u32,
    place: u32,
}

const NOWHERE: LaneBest =
    LaneBest { height: f64::NEG_INFINITY, cost: f64::INFINITY, part: u32::MAX, place: u32::MAX };

/// Heights and costs side by side.
#[derive(Clone, Copy)]
struct Lanes {
    height: [f64; LANES],
    cost: [f64; LANES],
}

impl Lanes {
    const ZERO: Lanes = Lanes { height: [0.0; LANES], cost: [0.0; LANES] };

    fn of(height: f64) -> Self {
        Lanes { height: [height; LANES], cost: [0.0; LANES] }
    }

    fn add(&mut self, other: &Lanes) {
        self.height.iter_mut().zip(&other.height).for_each(|(a, b)| *a += b);
        self.cost.iter_mut().zip(&other.cost).for_each(|(a, b)| *a += b);
    }
}

/// Room for one block.
struct LaneScratch {
    /// What the block's sources reach in each profile that not all boxes have.
    known: Vec<Option<Box<Lanes>>>,
    best: [LaneBest; LANES],
}

impl LaneScratch {
    fn new(profiles: usize) -> Self {
        LaneScratch { known: vec![None; profiles], best: [NOWHERE; LANES] }
    }
}

/// A price's tables.
struct At<'s> {
    of: &'s Separable<'s>,
    price: Price,
    tables: Vec<Table>,
}

impl At<'_> {
    /// Finds where each source of a block does best.
    fn best(&self, block: &[u32], scratch: &mut LaneScratch) {
        scratch.best = [NOWHERE; LANES];
        for (p, part) in self.of.function.parts.iter().enumerate() {
            let mut shared = Lanes::of(part.base);
            let mut found = Lanes::ZERO;
            for &profile in &part.shared {
                self.look_up(profile, block, &mut found);
                shared.add(&found);
            }
            self.look_up_own(part, block, &mut scratch.known);
            for (q, place) in part.places.iter().enumerate() {
                let mut sum = shared;
                for &profile in &place.profiles {
                    if let Some(lanes) = &scratch.known[profile as usize] {
                        sum.add(lanes);
                    }
                }
                for joint in &place.joints {
                    self.join(joint, &scratch.known, &mut found);
                    sum.add(&found);
                }
                for (lane, best) in scratch.best[..block.len()].iter_mut().enumerate() {
                    let (height, cost) = (sum.height[lane], sum.cost[lane]);
                    if self.is_better((height, cost), (best.height, best.cost)) {
                        *best = LaneBest { height, cost, part: p as u32, place: q as u32 };
                    }
                }
            }
        }
    }

    /// Whether one height and cost is to be preferred to another; at no price the cheaper of heights
    /// that are the same but for rounding.
    #[inline(always)]
    fn is_better(&self, a: (f64, f64), b: (f64, f64)) -> bool {
        match self.price {
            Price::Zero if (a.0 - b.0).abs() <= self.of.rounding => a.1 < b.1,
            Price::Zero => a.0 > b.0,
            price => crate::kernel::order::better(key(price, a.0, a.1), key(price, b.0, b.1)),
        }
    }

    /// Looks a block up in the profiles that not all boxes of a part have.
    fn look_up_own(&self, part: &FactorPart, block: &[u32], known: &mut [Option<Box<Lanes>>]) {
        let mut own: Vec<u32> = Vec::new();
        for place in &part.places {
            own.extend(&place.profiles);
            own.extend(place.joints.iter().flat_map(|j| j.kinds.iter().flatten().flatten()));
        }
        own.sort_unstable();
        own.dedup();
        for profile in own {
            let lanes = known[profile as usize].get_or_insert_with(|| Box::new(Lanes::ZERO));
            self.look_up(profile, block, lanes);
        }
    }

    /// What each source of a block reaches in a profile.
    fn look_up(&self, profile: u32, block: &[u32], found: &mut Lanes) {
        let feature = self.of.function.profiles[profile as usize].feature;
        let whole = self.of.whole;
        let space = whole.population.space();
        let table = &self.tables[profile as usize];
        let codes = space.codes(feature);
        // The column is looked for once and not for every source.
        let code = |s: u32| {
            let point = whole.sources[s as usize] as usize;
            match codes.get(point) {
                Some(code) => *code,
                None => space.code(point, feature),
            }
        };
        match table {
            Table::Levels(spots) => {
                for (lane, &s) in block.iter().enumerate() {
                    let Spot { height, cost, .. } = spots[code(s) as usize];
                    (found.height[lane], found.cost[lane]) = (height, cost);
                }
            }
            Table::Numbers(numbers) => {
                let scale = whole.extent.scales[feature];
                for (lane, &s) in block.iter().enumerate() {
                    let (height, cost) = numbers.look_up(code(s) * scale);
                    (found.height[lane], found.cost[lane]) = (height, cost);
                }
            }
        }
    }

    /// The best combination of kinds for each source of a block.
    fn join(&self, joint: &Joint, known: &[Option<Box<Lanes>>], best: &mut Lanes) {
        *best = Lanes { height: [NOWHERE.height; LANES], cost: [NOWHERE.cost; LANES] };
        for (combination, &value) in joint.table.iter().enumerate() {
            let Some(profiles) = profiles_of(joint, combination) else { continue };
            let mut sum = Lanes::of(value);
            for lanes in profiles.iter().filter_map(|p| known[*p as usize].as_ref()) {
                sum.add(lanes);
            }
            for lane in 0..LANES {
                let found = (sum.height[lane], sum.cost[lane]);
                if self.is_better(found, (best.height[lane], best.cost[lane])) {
                    (best.height[lane], best.cost[lane]) = found;
                }
            }
        }
    }

    /// Writes the codes of the place where a source does best.
    fn place(&self, source: u32, codes: &mut [f64], scratch: &mut LaneScratch) {
        let function = &self.of.function;
        let first = match &self.of.kind_of {
            None => source,
            Some(kinds) => self.of.firsts[kinds[source as usize] as usize],
        };
        self.best(&[first], scratch);
        let LaneBest { part, place, .. } = scratch.best[0];
        let Some(part) = function.parts.get(part as usize) else { return };
        let place = &part.places[place as usize];
        // Another part may have looked up what is known under the same number since.
        self.look_up_own(part, &[first], &mut scratch.known);
        let mut profiles: Vec<u32> = part.shared.iter().chain(&place.profiles).copied().collect();
        for joint in &place.joints {
            let mut best = NOWHERE;
            for combination in 0..joint.table.len() {
                let Some(kinds) = profiles_of(joint, combination) else { continue };
                let mut sum = (joint.table[combination], 0.0);
                for lanes in kinds.iter().filter_map(|p| scratch.known[*p as usize].as_ref()) {
                    sum = (sum.0 + lanes.height[0], sum.1 + lanes.cost[0]);
                }
                if self.is_better(sum, (best.height, best.cost)) {
                    let place = combination as u32;
                    best = LaneBest { height: sum.0, cost: sum.1, place, ..best };
                }
            }
            profiles.extend(profiles_of(joint, best.place as usize).into_iter().flatten());
        }
        for profile in profiles {
            let feature = function.profiles[profile as usize].feature;
            let scale = self.of.whole.extent.scales[feature];
            codes[feature] = self.tables[profile as usize].landing(codes[feature], scale);
        }
    }
}

/// The profiles of a combination of kinds; None where one of them holds nothing.
fn profiles_of(joint: &Joint, combination: usize) -> Option<Vec<u32>> {
    let mut left = combination;
    let kind = |kinds: &Vec<Option<u32>>| {
        let kind = kinds.get(left % kinds.len().max(1)).copied().flatten();
        left /= kinds.len().max(1);
        kind
    };
    joint.kinds.iter().rev().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ambiguity::trials::{Asks, Trial, listed_problem, seconds_of_work};
    use crate::steps::separate;

    fn separable(trial: &Trial) -> Separable<'_> {
        let separated = separate(&trial.whole.extent, &trial.function).unwrap();
        Separable::new(&trial.whole, separated, trial.direction, Watch::NOBODY)
    }

    #[test]
    fn the_same_as_every_place_of_a_grid_listed() {
        for seed in 0..600 {
            let asks = if seed % 2 == 0 { Asks::One } else { Asks::Two };
            let trial = Trial::on_grid(seed, asks);
            let values = trial.values();
            let found = trial.solver(Box::new(separable(&trial)));
            trial.same(found, listed_problem(&trial, &values), 1e-12);
        }
    }

    #[test]
    fn the_same_as_listed_boxes_off_grids() {
        for seed in 0..600 {
            let asks = if seed % 2 == 0 { Asks::One } else { Asks::Two };
            let trial = Trial::on_points(seed, asks);
            trial.same(trial.solver(Box::new(separable(&trial))), trial.boxes(), 1e-12);
        }
    }

    #[test]
    fn the_same_bits_on_any_number_of_threads() {
        let trial = Trial::on_points(7, Asks::Two);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let reached = pool.install(|| separable(&trial).evaluate(Price::At(0.3)));
            (reached.value.to_bits(), reached.cost.to_bits())
        };
        assert_eq!(on(1), on(2));
    }

    /// `cargo test --release -p seawall --lib separable::tests::times -- --ignored --nocapture`
    #[test]
    #[ignore = "takes a minute; prints times"]
    fn times() {
        for (rows, columns) in [(100_000, 30), (1_000_000, 30), (100_000, 200)] {
            let trial = Trial::additive(rows, columns, 32);
            let begun = std::time::Instant::now();
            let mut engine = separable(&trial);
            println!("{rows} x {columns}: made in {:.2?}", begun.elapsed());
            for price in [Price::Infinite, Price::Zero, Price::At(3.0), Price::At(0.3)] {
                let (begun, worked) = (std::time::Instant::now(), seconds_of_work());
                let reached: f64 = (0..10).map(|_| engine.evaluate(price).value).sum();
                let (took, work) = (begun.elapsed() / 10, (seconds_of_work() - worked) / 10.0);
                println!("  {price:?}: {:.4} in {took:.2?}, {work:.3} s of work", reached / 10.0);
            }
            let (begun, worked) = (std::time::Instant::now(), seconds_of_work());
            let worst = trial.solver(Box::new(engine)).worst_case(0.1).unwrap();
            let (evaluations, work) = (worst.evaluations(), seconds_of_work() - worked);
            let took = begun.elapsed();
            println!("  worst case, {evaluations} evaluations: {took:.2?}, {work:.2} s of work");
        }
    }
}
