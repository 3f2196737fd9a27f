//! The lattice under a support: a grid is its own; points are laid on the lattice of the levels that
//! they use.

use crate::kernel::max_plus;
use crate::space::{Grid, Layout, Space};

/// Above this many cells a lattice is not built for scattered points.
pub(super) const MOST_CELLS: usize = 1 << 27;

/// A lattice and how the support lies on it.
pub(super) struct Shape {
    /// Each feature's coordinates.
    pub coords: Vec<Vec<f64>>,
    pub grid: Grid,
    /// For points: the cell of each.
    pub cells: Option<Vec<u32>>,
    /// Steps that a cell takes in the passes over all axes.
    steps: usize,
}

impl Shape {
    /// The lattice under a support, if it is not too large.
    pub fn new(space: &Space) -> Option<Self> {
        match space.layout() {
            Layout::Grid(grid) => {
                let features = grid.levels().len();
                let coords = (0..features).map(|k| space.coords(k).to_vec()).collect();
                let steps = steps(space, grid);
                Some(Shape { coords, grid: grid.clone(), cells: None, steps })
            }
            Layout::Points(points) => points_shape(space, points.len()),
        }
    }

    /// The cost of one pass over every axis, in cell-steps.
    pub fn work(&self) -> f64 {
        self.grid.len() as f64 * self.steps as f64
    }

    /// The cell of a point.
    #[inline(always)]
    pub fn cell(&self, point: usize) -> usize {
        self.cells.as_ref().map_or(point, |cells| cells[point] as usize)
    }
}

/// Steps that a cell takes in the passes over all axes.
fn steps(space: &Space, grid: &Grid) -> usize {
    let levels = grid.levels().iter().zip(space.metrics());
    levels.map(|(&k, metric)| max_plus::steps(metric, k)).sum()
}

/// Levels up to which distinct coordinates are found by looking each one up.
const FEW_LEVELS: usize = 64;

/// The distinct coordinates of a column in order, one for all missing values, last.
fn distinct_coordinates(mut column: Vec<f64>) -> Vec<f64> {
    let mut few: Vec<f64> = Vec::new();
    let mut missing = false;
    for &x in &column {
        if x.is_nan() {
            missing = true;
            continue;
        }
        let at = few.partition_point(|&level| level < x);
        if few.get(at) != Some(&x) {
            few.insert(at, x);
        }
        if few.len() > FEW_LEVELS {
            break;
        }
    }
    if few.len() <= FEW_LEVELS {
        few.extend(missing.then_some(f64::NAN));
        return few;
    }
    // NaN has one bit pattern per sign; missing is one level.
    column.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = f64::NAN);
    column.sort_unstable_by(f64::total_cmp);
    column.dedup_by(|a, b| a == b || (a.is_nan() && b.is_nan()));
    column
}

/// The lattice of the coordinates that scattered points use.
fn points_shape(space: &Space, points: usize) -> Option<Shape> {
    let features = space.names().len();
    let mut coords: Vec<Vec<f64>> = Vec::with_capacity(features);
    let mut cells = 1usize;
    for k in 0..features {
        let distinct = distinct_coordinates(space.column(k));
        cells = cells.checked_mul(distinct.len()).filter(|&n| n <= MOST_CELLS)?;
        coords.push(distinct);
    }
    let grid = Grid::new(coords.iter().map(Vec::len).collect()).ok()?;
    let mut place = vec![0u32; points];
    for (k, levels) in coords.iter().enumerate() {
        for (place, x) in place.iter_mut().zip(space.column(k)) {
            let level =
                if x.is_nan() { levels.len() - 1 } else { levels.partition_point(|&l| l < x) };
            *place += (level * grid.stride(k)) as u32;
        }
    }
    let steps = steps(space, &grid);
    Some(Shape { coords, grid, cells: Some(place), steps })
}
