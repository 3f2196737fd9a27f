//! Worlds in which everything is known: who is there, which action they get and what follows.
//!
//! Five columns make 1,296 places: three numbers a, b, c with six levels each, a nominal d with three, a nominal e with
//! two. The corner is where a and b are both highest: 2.9% of the people.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use seawall::solve::{Matrix, Population};
use seawall::{Feature, Result, Space};
use std::fmt::Write;
use std::sync::Arc;

/// Shares of the levels of each column.
const SHARES: [&[f64]; 5] = [
    &[0.05, 0.10, 0.18, 0.20, 0.30, 0.17],
    &[0.05, 0.10, 0.18, 0.20, 0.30, 0.17],
    &[0.10, 0.30, 0.30, 0.20, 0.07, 0.03],
    &[0.5, 0.3, 0.2],
    &[0.6, 0.4],
];
const NUMBERS: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
const LEVELS: [&str; 3] = ["x", "y", "z"];
const CLUSTERS: usize = 40;

/// What is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Truth {
    /// Nothing depends on anything.
    Flat,
    /// Two splits, one of them for treating alone.
    Tree,
    /// Every column adds a little, on the logit.
    Smooth,
    /// 0.15, and 0.70 where two columns are high at once.
    Both,
    /// 0.15, and 0.50 where either is.
    Saturating,
    /// Control 0.5; treat 0.2, but 0.95 in the corner.
    Corner,
    /// Treating is better by so many hundredths for everybody.
    Effect(u8),
    /// No effect, and who is treated depends on the columns.
    Confounded,
    /// Costs with a long tail.
    Skewed,
    /// Rows in 40 clusters that differ.
    Clusters,
    /// Four actions of unequal shares, of which the greedy policy chooses.
    Four,
}

impl Truth {
    /// All worlds.
    pub const ALL: [Truth; 13] = [
        Truth::Flat,
        Truth::Tree,
        Truth::Smooth,
        Truth::Both,
        Truth::Saturating,
        Truth::Corner,
        Truth::Effect(0),
        Truth::Effect(5),
        Truth::Effect(10),
        Truth::Confounded,
        Truth::Skewed,
        Truth::Clusters,
        Truth::Four,
    ];
    /// Those that are simulated for every model and kind of data.
    pub const MOST: [Truth; 7] = [
        Truth::Flat,
        Truth::Tree,
        Truth::Smooth,
        Truth::Both,
        Truth::Corner,
        Truth::Effect(10),
        Truth::Confounded,
    ];

    /// What it is called in tables.
    pub fn name(self) -> String {
        match self {
            Truth::Effect(hundredths) => format!("effect 0.{hundredths:02}"),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    fn actions(self) -> usize {
        if self == Truth::Four { 4 } else { 2 }
    }
}

/// A world.
#[derive(Clone)]
pub struct World {
    pub truth: Truth,
    /// Whether outcomes are rewards: the same with the other sign.
    pub rewards: bool,
    pub space: Arc<Space>,
    pub population: Vec<f64>,
    /// The mean outcome by place and action.
    pub means: Matrix,
    pub actions: Vec<String>,
}

impl World {
    pub fn new(truth: Truth, rewards: bool) -> Result<Self> {
        let numbers = |name: &str| Feature::numeric(name).levels(NUMBERS);
        let space = Space::grid([
            numbers("a"),
            numbers("b"),
            numbers("c"),
            Feature::nominal("d", LEVELS),
            Feature::nominal("e", ["p", "q"]),
        ])?;
        let level = |x: usize, k: usize| space.code(x, k) as usize;
        let mass = |x: usize| (0..5).map(|k| SHARES[k][level(x, k)]).product();
        let population: Vec<f64> = (0..space.len()).map(mass).collect();
        let names: Vec<String> = match truth.actions() {
            4 => ["one", "two", "three", "four"].map(str::to_owned).to_vec(),
            _ => ["treat", "control"].map(str::to_owned).to_vec(),
        };
        let sign = if rewards { -1.0 } else { 1.0 };
        let mut cells = Vec::new();
        for x in 0..space.len() {
            let at: [usize; 5] = std::array::from_fn(|k| level(x, k));
            cells.extend((0..names.len()).map(|action| sign * mean(truth, at, action)));
        }
        let means = Matrix::new(space.len(), names.len(), cells)?;
        let space = Arc::new(space);
        Ok(World { truth, rewards, space, population, means, actions: names })
    }

    /// The population of a target that is older: a tilted towards high.
    pub fn target(&self) -> Vec<f64> {
        let tilt = |x: usize| (0.25 * self.space.code(x, 0) + 0.1 * self.space.code(x, 1)).exp();
        let all: Vec<f64> = self.population.iter().enumerate().map(|(x, p)| p * tilt(x)).collect();
        let total: f64 = all.iter().sum();
        all.iter().map(|q| q / total).collect()
    }

    /// The chance of each action at a place.
    fn chances(&self, x: usize) -> Vec<f64> {
        match self.truth {
            Truth::Four => vec![0.1, 0.2, 0.3, 0.4],
            Truth::Confounded => {
                let (a, b) = (self.space.code(x, 0), self.space.code(x, 1));
                let p = logistic(-1.5 + 0.45 * a + 0.25 * b);
                vec![p, 1.0 - p]
            }
            _ => vec![0.5, 0.5],
        }
    }

    /// So many rows as CSV; and of the target, if it is to be drawn.
    pub fn csv(&self, rows: usize, seed: u64) -> String {
        let mut draws = Draws(ChaCha8Rng::seed_from_u64(seed));
        let ends = ends(&self.population);
        let sign = if self.rewards { -1.0 } else { 1.0 };
        let effects: Vec<f64> = (0..CLUSTERS).map(|_| 0.06 * draws.normal()).collect();
        let mut text = String::from("a,b,c,d,e,arm,y,site\n");
        for row in 0..rows {
            let x = draws.place(&ends);
            let action =
                if row < self.actions.len() { row } else { draws.choose(&self.chances(x)) };
            let site = draws.below(CLUSTERS);
            let mean = sign * self.means.at(x, action);
            let y = match self.truth {
                Truth::Skewed => mean * (1.2 * draws.normal() - 0.72).exp(),
                Truth::Clusters => f64::from(u8::from(draws.unit() < mean + effects[site])),
                _ => f64::from(u8::from(draws.unit() < mean)),
            };
            self.place(x, &mut text);
            // Writing to a string cannot fail.
            let _ = writeln!(text, ",{},{},s{site}", self.actions[action], sign * y);
        }
        text
    }

    /// So many people of the target as CSV.
    pub fn target_csv(&self, rows: usize, seed: u64) -> String {
        let mut draws = Draws(ChaCha8Rng::seed_from_u64(seed ^ 0x7A46_E700));
        let ends = ends(&self.target());
        let mut text = String::from("a,b,c,d,e\n");
        for _ in 0..rows {
            self.place(draws.place(&ends), &mut text);
            text.push('\n');
        }
        text
    }

    fn place(&self, x: usize, text: &mut String) {
        let code = |k: usize| self.space.code(x, k) as usize;
        let (d, e) = (LEVELS[code(3)], ["p", "q"][code(4)]);
        let _ = write!(text, "{},{},{},{d},{e}", code(0), code(1), code(2));
    }

    /// The true population, or the target's.
    pub fn population_of(&self, target: bool) -> Result<Population> {
        let weights = if target { self.target() } else { self.population.clone() };
        Population::from_weights(self.space.clone(), weights)
    }
}

/// The mean cost of an action where the columns have these levels.
fn mean(truth: Truth, at: [usize; 5], action: usize) -> f64 {
    let [a, b, c, d, e] = at;
    let is = |holds: bool| f64::from(u8::from(holds));
    let (high, either) = (a == 5 && b == 5, a == 5 || b == 5);
    let treat = action == 0;
    let smooth = || {
        let kind = [0.0, 0.3, -0.2][d] + [0.0, 0.2][e];
        logistic(-1.6 + 0.25 * a as f64 + 0.12 * b as f64 - 0.1 * c as f64 + kind)
    };
    match truth {
        Truth::Flat => 0.3,
        Truth::Tree => 0.2 + 0.25 * is(a >= 4) + 0.2 * is(b >= 4 && treat),
        Truth::Smooth => smooth() + 0.04 * is(treat) * (b as f64 - 2.5),
        Truth::Both => {
            if high {
                0.70
            } else {
                0.15
            }
        }
        Truth::Saturating => {
            if either {
                0.50
            } else {
                0.15
            }
        }
        Truth::Corner if treat => {
            if high {
                0.95
            } else {
                0.2
            }
        }
        Truth::Corner => 0.5,
        Truth::Effect(hundredths) => {
            let base = 0.2 + 0.4 * (smooth() - 0.2);
            base - f64::from(hundredths) / 100.0 * is(treat)
        }
        Truth::Confounded => smooth(),
        Truth::Skewed => 0.5 + 2.0 * smooth() + 0.3 * is(treat && b >= 4),
        Truth::Clusters => 0.2 + 0.25 * is(a >= 4) + 0.1 * is(b >= 4 && treat),
        Truth::Four => 0.3 + 0.1 * is(action == a % 4) - 0.03 * action as f64,
    }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn ends(weights: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    weights
        .iter()
        .map(|p| {
            sum += p;
            sum
        })
        .collect()
}

/// Seeded draws.
struct Draws(ChaCha8Rng);

impl Draws {
    fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    fn below(&mut self, most: usize) -> usize {
        ((self.unit() * most as f64) as usize).min(most - 1)
    }

    fn place(&mut self, ends: &[f64]) -> usize {
        let at = self.unit() * ends[ends.len() - 1];
        ends.partition_point(|e| *e <= at).min(ends.len() - 1)
    }

    fn choose(&mut self, chances: &[f64]) -> usize {
        let mut left = self.unit() * chances.iter().sum::<f64>();
        let falls = |p: &f64| {
            left -= p;
            left < 0.0
        };
        chances.iter().position(falls).unwrap_or(chances.len() - 1)
    }
}
