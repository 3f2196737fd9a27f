//! One worst case, checked from outside: its bounds, its population, and a slow, obvious value.
//!
//! The population must be in the set and attain the lower bound; what holds from above is written out
//! anew: the exact optimum where sorting finds it, else the dual at the answer's own price, which is
//! above the truth at any price. So the two together prove the value, whatever the solver did.
//!
//! Not here: sets whose check needs a cone program or a linear one; other tests have those.
#![allow(dead_code)]

use super::problem::{Case, Choices, reference};
use seawall::{
    Cvar, EngineKind, Entropic, Kl, PowerDivergence, Set, Settings, Status, TotalVariation,
    Wasserstein, WorstCase,
};

/// How many kinds of sets there are to choose from.
pub const KINDS: usize = 9;

/// A set of each kind, its parameter chosen.
pub fn set_of(kind: usize, r: &mut impl Choices) -> Set {
    match kind % KINDS {
        0 => Wasserstein.into(),
        1 => Entropic { eta: 10f64.powf(6.0 * r.unit() - 2.0) }.into(),
        2 => Kl.into(),
        3 => TotalVariation.into(),
        4 => PowerDivergence::CHI2.into(),
        5 => {
            let orders = [3.0, 1.5, 6.0, 0.3, 0.9, -0.5, -2.0, 2.0];
            let free = 8.0 * r.unit() - 3.0;
            // Near 0 and 1 the family is Burg's and KL's, and its formula 0/0.
            let apart = (free - 1.0).abs() > 0.02 && free.abs() > 0.02;
            let k = if apart && r.chance(0.5) { free } else { orders[r.below(8)] };
            PowerDivergence::cressie_read(k).into()
        }
        6 => PowerDivergence::HELLINGER.into(),
        7 => PowerDivergence::BURG.into(),
        _ => Cvar.into(),
    }
}

/// A radius worth asking: none, tiny, some, most, all, more than all.
pub fn radius_of(set: Set, case: &Case, r: &mut impl Choices) -> f64 {
    let unit = match set.name() {
        "wasserstein" | "entropic" => case.scale(),
        _ => 1.0,
    };
    let radius = match r.below(8) {
        0 => 0.0,
        1 => unit * 10f64.powf(10.0 * r.unit() - 12.0),
        2..=5 => unit * r.unit(),
        6 => unit * 0.1 * r.unit(),
        _ => 4.0 * unit * r.unit(),
    };
    // Somebody is always left of a share.
    if set.name() == "cvar" { radius.min(0.999) } else { radius }
}

/// What was found of one answer, as shares of the largest value's size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// How far apart the bounds are.
    pub gap: f64,
    /// How far the value is from the obvious one.
    pub off: f64,
}

/// Solves and checks; what is wrong, if anything.
pub fn verify(set: Set, case: &Case, radius: f64, engine: EngineKind) -> Result<Found, String> {
    let problem = case.problem().engine(engine);
    let worst = set.at(radius).worst_case(&problem, Settings::default());
    let worst = worst.map_err(|e| format!("no answer: {e}"))?;
    let found = checked(set, case, radius, &worst);
    found.map_err(|what| format!("{set}, radius {radius:e}, {engine}: {what}"))
}

/// The first complaint, if a truth does not hold.
fn hold(truth: bool, what: impl Fn() -> String) -> Result<(), String> {
    if truth { Ok(()) } else { Err(what()) }
}

fn checked(set: Set, case: &Case, radius: f64, worst: &WorstCase) -> Result<Found, String> {
    let points = case.space().len() as f64;
    // A smoothed value is below the exact one by up to log M / η.
    let smooth = set.parameter("eta").map_or(0.0, |eta| points.ln() / eta);
    let size = case.values.iter().fold(smooth.max(1e-300), |m: f64, f| m.max(f.abs()));
    let close = size * tolerance(set);
    let (lower, upper, value) = (worst.lower(), worst.upper(), worst.value());
    hold(worst.status() == Status::Optimal, || format!("{}, gap {}", worst.status(), worst.gap()))?;
    hold(lower <= value && value <= upper, || format!("{lower} {value} {upper}"))?;
    hold(worst.gap() <= close, || format!("the gap is {}", worst.gap()))?;
    let attained = match set.name() {
        "wasserstein" => by_moves(case, radius, worst)?,
        "entropic" => lower,
        _ => by_weights(set, case, radius, worst)?,
    };
    hold((attained - lower).abs() <= close, || format!("{attained} attained, {lower} told"))?;
    let obvious = match set.name() {
        "wasserstein" => reference(case, radius),
        "tv" => shifted(case, radius),
        "cvar" => worst_share(case, radius),
        "entropic" => smoothed(set, case, radius, worst)?,
        _ => divergence_dual(set, case, radius, worst.lambda()),
    };
    hold((value - obvious).abs() <= close, || format!("{value}, but obviously {obvious}"))?;
    Ok(Found { gap: worst.gap() / size, off: (value - obvious).abs() / size })
}

/// How near is near, as a share of the values' size: sums where sorting finds the optimum; searches
/// in floating point elsewhere.
fn tolerance(set: Set) -> f64 {
    match set.name() {
        "wasserstein" | "tv" | "cvar" => 1e-11,
        _ => 1e-9,
    }
}

/// The mean after the plan's moves, which must leave nobody behind and cost no more than the radius.
fn by_moves(case: &Case, radius: f64, worst: &WorstCase) -> Result<f64, String> {
    let (mut left, mut spent, mut mean) = (vec![0.0; case.space().len()], 0.0, 0.0);
    for step in worst.plan().iter() {
        hold(step.mass > 0.0, || format!("a move of {}", step.mass))?;
        left[step.from] += step.mass;
        spent += step.mass * case.space().cost(step.from, step.to);
        mean += step.mass * case.values[step.to];
    }
    for (i, (left, p)) in left.iter().zip(case.weights()).enumerate() {
        hold((left - p).abs() <= 1e-13, || format!("{left} leave point {i}, which has {p}"))?;
    }
    let budget = radius * (1.0 + 1e-11) + 1e-12 * case.scale();
    hold(spent <= budget, || format!("{spent} spent"))?;
    Ok(mean)
}

/// The mean after weighing anew, which must be a population of the set.
fn by_weights(set: Set, case: &Case, radius: f64, worst: &WorstCase) -> Result<f64, String> {
    let (p, q) = (case.weights(), worst.weights());
    hold(q.len() == p.len() && q.iter().all(|q| *q >= 0.0), || format!("weights {q:?}"))?;
    let total: f64 = q.iter().sum();
    hold((total - 1.0).abs() <= 1e-10, || format!("the weights' sum is {total}"))?;
    let pairs = || p.iter().zip(&q).map(|(p, q)| (*p, *q));
    let apart = match set.name() {
        "tv" => pairs().map(|(p, q)| 0.5 * (q - p).abs()).sum(),
        "cvar" => pairs().filter(|x| x.1 > 0.0).map(|(p, q)| 1.0 - p / q).fold(0.0, f64::max),
        _ => pairs().map(|(p, q)| between(set, p, q)).sum::<f64>(),
    };
    let slack = 1e-8 * radius + 1e-11;
    hold(apart <= radius + slack, || format!("the population is {apart} away"))?;
    Ok(q.iter().zip(&case.values).map(|(q, f)| q * f).sum())
}

/// One point's part of a divergence: `p φ(q/p)`, and its limit where nobody was.
fn between(set: Set, p: f64, q: f64) -> f64 {
    if p == 0.0 {
        return if q == 0.0 { 0.0 } else { q * slope(set) };
    }
    let t = q / p;
    p * match (set.name(), set.parameter("k")) {
        ("kl", _) if t == 0.0 => 1.0,
        ("kl", _) => t * t.ln() - t + 1.0,
        ("chi2", _) => (t - 1.0) * (t - 1.0),
        ("hellinger", _) => (t.sqrt() - 1.0).powi(2),
        ("burg", _) => -t.ln() + t - 1.0,
        (_, Some(k)) => (t.powf(k) - k * t + k - 1.0) / (k * (k - 1.0)),
        _ => f64::NAN,
    }
}

/// What a unit of mass costs where nobody was seen.
fn slope(set: Set) -> f64 {
    match (set.name(), set.parameter("k")) {
        ("hellinger" | "burg", _) => 1.0,
        (_, Some(k)) if k < 1.0 => 1.0 / (1.0 - k),
        _ => f64::INFINITY,
    }
}

/// φ*: what a price is worth.
fn conjugate(name: &str, order: Option<f64>, s: f64) -> f64 {
    match (name, order) {
        ("kl", _) => s.exp_m1(),
        ("chi2", _) if s > -2.0 => s + s * s / 4.0,
        ("chi2", _) => -1.0,
        ("hellinger" | "burg", _) if s >= 1.0 => f64::INFINITY,
        ("hellinger", _) => s / (1.0 - s),
        ("burg", _) => -(-s).ln_1p(),
        (_, Some(k)) if 1.0 + (k - 1.0) * s <= 0.0 => {
            if k < 1.0 && k > 0.0 {
                f64::INFINITY
            } else {
                -1.0 / k
            }
        }
        (_, Some(k)) => (k / (k - 1.0) * ((k - 1.0) * s).ln_1p()).exp_m1() / k,
        _ => f64::NAN,
    }
}

/// `λε + min_μ μ + Σ p λ φ*((f − μ)/λ)`: above the truth at every λ, and the truth at the right one.
fn divergence_dual(set: Set, case: &Case, radius: f64, price: f64) -> f64 {
    let seen: Vec<(f64, f64)> =
        case.weights().iter().zip(&case.values).map(|(p, f)| (*p, *f)).collect();
    let reached = seen.iter().filter(|x| x.0 > 0.0 || slope(set).is_finite());
    let top = reached.map(|x| x.1).fold(f64::NEG_INFINITY, f64::max);
    let seen: Vec<(f64, f64)> = seen.iter().copied().filter(|x| x.0 > 0.0).collect();
    if price == f64::INFINITY || radius == 0.0 {
        return seen.iter().map(|(p, f)| p * f).sum();
    }
    if price == 0.0 {
        return top;
    }
    let bottom = seen.iter().map(|x| x.1).fold(f64::INFINITY, f64::min);
    let low = bottom.max(top - price * slope(set)).min(top);
    let (name, order) = (set.name(), set.parameter("k"));
    let least = least(low, top, &mut |mu| {
        let each = seen.iter().map(|(p, f)| p * price * conjugate(name, order, (f - mu) / price));
        let total = mu + each.sum::<f64>();
        if total.is_nan() { f64::INFINITY } else { total }
    });
    price * radius + least
}

/// The least of a function that falls and then rises, between two numbers.
fn least(from: f64, to: f64, f: &mut dyn FnMut(f64) -> f64) -> f64 {
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let (mut a, mut b) = (from, to);
    let (mut c, mut d) = (b - golden * (b - a), a + golden * (b - a));
    let (mut at_c, mut at_d) = (f(c), f(d));
    let ends = f(a).min(f(b));
    for _ in 0..72 {
        // Where it is infinite it falls.
        if at_c <= at_d && at_c.is_finite() {
            (b, d, at_d) = (d, c, at_c);
            c = b - golden * (b - a);
            at_c = f(c);
        } else {
            (a, c, at_c) = (c, d, at_d);
            d = a + golden * (b - a);
            at_d = f(d);
        }
    }
    at_c.min(at_d).min(ends)
}

/// Total variation by hand: the radius' share leaves the lowest values for the highest of all.
fn shifted(case: &Case, radius: f64) -> f64 {
    let top = case.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut rising: Vec<(f64, f64)> =
        case.values.iter().zip(case.weights()).map(|(f, p)| (*f, *p)).collect();
    rising.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut left, mut mean) = (radius, 0.0);
    for (f, p) in rising {
        let leaves = p.min(left);
        left -= leaves;
        mean += (p - leaves) * f + leaves * top;
    }
    mean
}

/// The mean of the worst share `1 − ε`, by sorting.
fn worst_share(case: &Case, radius: f64) -> f64 {
    let mut falling: Vec<(f64, f64)> =
        case.values.iter().zip(case.weights()).map(|(f, p)| (*f, *p)).collect();
    falling.retain(|x| x.1 > 0.0);
    falling.sort_by(|a, b| b.0.total_cmp(&a.0));
    let share = 1.0 - radius;
    if share <= 0.0 {
        return falling[0].0;
    }
    let (mut left, mut mean, mut last) = (1.0f64, 0.0, falling[0].0);
    for (f, p) in falling {
        let mass = (p / share).min(left);
        (left, last) = (left - mass, f);
        mean += mass * f;
        if left <= 0.0 {
            break;
        }
    }
    mean + left * last
}

/// The smoothed dual at the answer's price, which nothing near it may be below: it bends upwards.
fn smoothed(set: Set, case: &Case, radius: f64, worst: &WorstCase) -> Result<f64, String> {
    let eta = set.parameter("eta").unwrap_or(1.0);
    let points = case.space().len() as f64;
    let price = worst.lambda();
    let exact = reference(case, radius);
    let scale = case.values.iter().fold(points.ln() / eta, |m: f64, f| m.max(f.abs()));
    let slack = 1e-9 * scale;
    let (value, gap) = (worst.value(), points.ln() / eta);
    hold(value <= exact + slack && exact <= value + gap + slack, || {
        format!("{value} smoothed, {exact} exactly, at most {gap} apart")
    })?;
    // At radius 0 people only move for free, each as often as there are such places.
    let at = |price: f64| {
        if price == f64::INFINITY {
            free_moves(case, eta)
        } else {
            smoothed_dual(case, radius, eta, price)
        }
    };
    let here = at(price);
    if price.is_finite() {
        let step =
            if price == 0.0 { 1e-3 * scale / case.scale().max(1e-300) } else { 1e-3 * price };
        for near in [price + step, (price - step).max(0.0)] {
            let there = at(near);
            hold(there >= here - slack, || {
                format!("the dual is {here} at λ {price}, {there} at {near}")
            })?;
        }
    }
    Ok(here)
}

/// `ελ + Σ p_i (1/η) log Σ_j exp(η (f_j − λ c_ij)) / M`.
fn smoothed_dual(case: &Case, radius: f64, eta: f64, price: f64) -> f64 {
    mean_of_logs(case, eta, &|c, f| c.is_finite().then_some(f - price * c)) + radius * price
}

fn free_moves(case: &Case, eta: f64) -> f64 {
    mean_of_logs(case, eta, &|c, f| (c == 0.0).then_some(f))
}

fn mean_of_logs(case: &Case, eta: f64, of: &dyn Fn(f64, f64) -> Option<f64>) -> f64 {
    let n = case.space().len();
    let sources = (0..n).filter(|&i| case.weights()[i] > 0.0);
    let each = sources.map(|i| {
        let heights: Vec<f64> =
            (0..n).filter_map(|j| of(case.space().cost(i, j), case.values[j])).collect();
        let top = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = heights.iter().map(|h| (eta * (h - top)).exp()).sum();
        case.weights()[i] * (top + (total.ln() - (n as f64).ln()) / eta)
    });
    each.sum()
}
