//! The worst-case mean of a column of a table under a shift of its other columns.
//!
//! Each row is a point of the support: its context columns say where it is, its value column
//! what the function is there, its weight column how much of the population it holds (0: a place
//! that mass may move to). With a grid support every combination of levels must have one row.

mod axis;
mod support;

pub(crate) use axis::Axis;

use crate::evaluate::{SolveFacts, check_radii, set_name};
use crate::words::number;
use seawall::{
    CertifiedValue, Curve, Detail, Direction, EngineKind, Error, Field, Geometry, Kind, Population,
    Problem, Progress, Result, Set, Settings, Shift, Stage, Status, Watch, WorstCase,
};
use seawall_table::read::{Order, Reading, Table, tables};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use support::Axes;

/// Past so many vertices the exact curve is left unfinished, and its error said.
const CURVE_VERTICES: usize = 20_000;
/// How closely smooth curves are followed, relative to the values' range.
const CURVE_TOLERANCE: f64 = 1e-6;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The table.
    pub path: PathBuf,
    /// The column whose mean is asked for.
    pub value: String,
    /// The column of weights; each row weighs the same without one.
    pub weight: Option<String>,
    /// The columns that may shift.
    pub contexts: Vec<Context>,
    /// The radii.
    pub radii: Vec<f64>,
    /// Which set.
    pub set: Set,
    /// Whether rows are scattered points or the cells of a grid.
    pub support: SupportKind,
    /// Which engine.
    pub engine: EngineKind,
    /// Whether higher values are worse or better.
    pub direction: Direction,
    /// Whether the whole curve is wanted too.
    pub curve: bool,
    /// Whether the plans must list even light entries.
    pub plan: bool,
    /// Whether the largest moves will be told.
    pub moves: bool,
}

/// The two kinds of support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SupportKind {
    /// Each row is a point.
    Points,
    /// Each row is a cell of the grid of all levels.
    Grid,
}

/// A column that may shift.
#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    /// The column's name.
    pub name: String,
    /// Its kind; numeric if all its values are numbers, else nominal, if not said.
    pub kind: Option<Kind>,
    /// The levels of an ordinal column in order, where that is said.
    pub order: Vec<String>,
    /// What multiplies its cost.
    pub weight: Option<f64>,
}

/// The worst case at one radius, as plain data.
#[derive(Clone, Debug, Serialize)]
pub struct RadiusBound {
    /// The set.
    #[serde(serialize_with = "set_name")]
    pub set: Set,
    /// The radius, in what the set measures by.
    pub radius: f64,
    /// The sharpness of an entropic set.
    pub eta: Option<f64>,
    /// The worst-case mean with its bounds.
    #[serde(flatten)]
    pub worst: CertifiedValue,
    /// How it was solved.
    #[serde(flatten)]
    pub solve: SolveFacts,
    /// How long the solve took.
    pub seconds: f64,
    /// For an entropic set: the mean entropy of where a unit of mass goes, in nats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entropy: Option<f64>,
}

/// All answers to a request.
#[derive(Clone, Debug, Serialize)]
pub struct Bound {
    /// Rows read.
    pub rows: usize,
    /// The kind of support.
    pub support: SupportKind,
    /// The mean if nothing shifts.
    pub nominal: f64,
    /// Whether lower or higher is better.
    pub direction: Direction,
    /// One answer per radius.
    pub results: Vec<RadiusBound>,
    /// What a reader should know about the data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The worst cases themselves, one per radius.
    #[serde(skip)]
    pub worst: Vec<WorstCase>,
    /// The whole curve, if asked for.
    #[serde(skip)]
    pub curve: Option<Curve>,
    /// The population; its space describes the plans' points.
    #[serde(skip)]
    pub population: Population,
    /// The row, counted from 1, of each point of the space.
    #[serde(skip)]
    pub row_of: Vec<usize>,
    /// What was asked.
    #[serde(skip)]
    pub request: Request,
}

/// Answers a request.
pub fn bound(request: &Request, watch: Watch<'_>) -> Result<Bound> {
    let wanted = wanted(request)?;
    let (tables, distinct) = tables(&[&request.path], &wanted, watch)?;
    let table = &tables[0];
    let values = &table.numbers[0];
    table.check_numbers(0, &request.value, "a finite number", f64::is_finite)?;
    let weights = match &request.weight {
        Some(name) => {
            let fits = |p: f64| p >= 0.0 && p.is_finite();
            table.check_numbers(1, name, "a finite number ≥ 0", fits)?;
            table.numbers[1].clone()
        }
        None => vec![1.0; table.rows],
    };
    if weights.iter().all(|&p| p == 0.0) {
        let name = request.weight.as_deref().unwrap_or_default();
        return Err(table.error(format!("column {name:?}: every weight is 0")));
    }
    let first = 1 + usize::from(request.weight.is_some());
    let axis = |(k, context): (usize, &Context)| {
        Axis::new(context, &tables, first + k, &distinct[first + k], Order::Appearance)
    };
    let axes = request.contexts.iter().enumerate().map(axis).collect::<Result<_>>()?;
    let axes = Axes { table, first, axes };
    let (space, row_of) = match request.support {
        SupportKind::Points => axes.points()?,
        SupportKind::Grid => axes.grid()?,
    };
    let values: Vec<f64> = row_of.iter().map(|&row| values[row - 1]).collect();
    let weights = row_of.iter().map(|&row| weights[row - 1]).collect();
    let population = Population::from_weights(Arc::new(space), weights)?;
    // Here are no contexts that nobody was seen in beside those that rows of weight 0 ask for.
    solve(request, table, population, &values, row_of, watch)
        .map_err(|error| error.unadvised(Field::Support))
}

fn solve(
    request: &Request,
    table: &Table,
    population: Population,
    values: &[f64],
    row_of: Vec<usize>,
    watch: Watch<'_>,
) -> Result<Bound> {
    let geometry = Geometry::with(&population, request.engine).shared();
    // What was left to be chosen by the population is told with the answer.
    let request = &Request { set: request.set.resolved(&geometry)?, ..request.clone() };
    let problem = Problem::on(&geometry, values)?.direction(request.direction);
    let settings = Settings {
        detail: if request.plan || request.moves { Detail::Plan } else { Detail::Population },
        plan_floor: if request.plan { 1e-9 } else { 1e-5 },
        max_vertices: CURVE_VERTICES,
        watch,
        ..Settings::default()
    };
    let mut solver = request.set.solver(&problem, settings)?;
    let (mut worst, mut results) = (Vec::new(), Vec::new());
    for &radius in &request.radii {
        let start = Instant::now();
        let case = solver.worst_case(radius)?;
        if case.status() == Status::Stopped {
            return Err(Error::stopped());
        }
        let seconds = start.elapsed().as_secs_f64();
        results.push(radius_bound(request.set.at(radius), &case, seconds));
        worst.push(case);
    }
    let curve = match (request.curve, request.set.has_exact_curve()) {
        (false, _) => None,
        (true, true) => Some(solver.curve(0.0)?),
        (true, false) => {
            let range = |(low, high): (f64, f64), &f: &f64| (low.min(f), high.max(f));
            let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), range);
            let tolerance = (CURVE_TOLERANCE * (high - low)).max(f64::MIN_POSITIVE);
            Some(solver.curve(tolerance)?)
        }
    };
    watch.tell(Progress::at(Stage::Curve))?;
    let nominal = problem.nominal();
    let notes = notes(request, nominal, solver.value_at_zero());
    drop(solver);
    Ok(Bound {
        rows: table.rows,
        support: request.support,
        nominal,
        direction: request.direction,
        results,
        notes,
        worst,
        curve,
        population,
        row_of,
        request: request.clone(),
    })
}

fn radius_bound(within: Shift, case: &WorstCase, seconds: f64) -> RadiusBound {
    RadiusBound {
        set: within.set,
        radius: within.radius,
        eta: within.set.parameter("eta"),
        worst: case.certified(),
        solve: SolveFacts::new(case, 0.0),
        seconds,
        entropy: case.smoothed().map(|s| s.entropy),
    }
}

/// What a reader should know before trusting a number.
fn notes(request: &Request, nominal: f64, at_zero: f64) -> Vec<String> {
    let mut notes = Vec::new();
    let free = (at_zero - nominal).abs() > 1e-9 * nominal.abs().max(at_zero.abs());
    if request.set.moves_mass() && request.set.stays_at_zero() && free {
        notes.push(format!(
            "some moves are free (rows with the same context but different values, or a column of \
             weight 0), so the worst case is {} already at radius 0, not the nominal mean",
            number(at_zero)
        ));
    }
    if request.set.is_smoothed() {
        notes.push(
            "an entropic value alone is no bound of the worst case: exact_lower and exact_upper \
             are"
            .to_owned(),
        );
    }
    notes
}

/// The columns to read: the value, the weight, then the contexts.
fn wanted(request: &Request) -> Result<Vec<(&str, Reading)>> {
    if request.contexts.is_empty() {
        return Err(Error::config("name at least one context column that may shift"));
    }
    if request.radii.is_empty() {
        return Err(Error::config("give at least one radius"));
    }
    check_radii(Field::Radius, request.set, &request.radii)?;
    if let Some(context) = request.contexts.iter().find(|c| c.name == request.value) {
        return Err(Error::config(format!(
            "{:?} is both the value and a context: the value follows from where a row is",
            context.name
        )));
    }
    let fixed = |c: &&Context| c.kind == Some(Kind::Fixed) && c.weight.is_some();
    if let Some(context) = request.contexts.iter().find(fixed) {
        return Err(Error::config(format!(
            "{:?} is fixed, so its weight means nothing; leave it out",
            context.name
        )));
    }
    let mut wanted = vec![(request.value.as_str(), Reading::Numbers)];
    wanted.extend(request.weight.as_deref().map(|name| (name, Reading::Numbers)));
    wanted.extend(request.contexts.iter().map(|c| (c.name.as_str(), Reading::Values)));
    Ok(wanted)
}
