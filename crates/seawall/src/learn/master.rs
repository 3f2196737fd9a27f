//! The master problem of the cutting-plane method: the best parameters against the populations
//! found so far, and a point of a level set near the best so far.

use super::class::Polytope;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

/// A population's lower bound of the worst case: `constant + Σ_j row_j θ_j`.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    pub(super) constant: f64,
    pub(super) row: Vec<f64>,
}

/// What a master problem answers.
pub(super) struct MasterSolution {
    pub(super) theta: Vec<f64>,
    /// The multipliers of the cuts.
    pub(super) cuts: Vec<f64>,
    /// The multipliers of the polytope's rows.
    pub(super) rows: Vec<f64>,
}

/// Entries of a sparse matrix, column by column at the end.
#[derive(Default)]
struct Matrix {
    rows: Vec<usize>,
    columns: Vec<usize>,
    entries: Vec<f64>,
    right: Vec<f64>,
}

impl Matrix {
    /// A row `Σ entries x (+ s) = right`.
    fn row(&mut self, entries: impl Iterator<Item = (usize, f64)>, right: f64) {
        let row = self.right.len();
        for (column, x) in entries.filter(|e| e.1 != 0.0) {
            self.rows.push(row);
            self.columns.push(column);
            self.entries.push(x);
        }
        self.right.push(right);
    }
}

/// `min_θ max_k cut_k(θ)` over the polytope.
pub(super) fn least(polytope: &Polytope, cuts: &[Cut]) -> Option<MasterSolution> {
    solve(polytope, cuts, None)
}

/// The point of `{θ : cut_k(θ) ≤ level}` nearest to `centre`.
pub(super) fn nearest(
    polytope: &Polytope,
    cuts: &[Cut],
    level: f64,
    centre: &[f64],
) -> Option<MasterSolution> {
    solve(polytope, cuts, Some((level, centre)))
}

fn solve(
    polytope: &Polytope,
    cuts: &[Cut],
    level: Option<(f64, &[f64])>,
) -> Option<MasterSolution> {
    let count = polytope.len();
    // Heights are divided by the largest: the solver's tolerances are absolute.
    let sizes = cuts.iter().flat_map(|c| &c.row).fold(1e-300, |m: f64, x| m.max(x.abs()));
    let scale = 1.0 / sizes;
    // One more variable, the height of the cuts, unless a level is given.
    let variables = count + usize::from(level.is_none());
    let mut matrix = Matrix::default();
    let mut first = 0;
    for &size in &polytope.blocks {
        matrix.row((first..first + size).map(|j| (j, 1.0)), 1.0);
        first += size;
    }
    let equalities = matrix.right.len();
    for cut in cuts {
        let row = cut.row.iter().map(|x| x * scale).enumerate();
        match level {
            Some((level, _)) => matrix.row(row, (level - cut.constant) * scale),
            None => matrix.row(row.chain([(count, -1.0)]), -cut.constant * scale),
        }
    }
    for row in &polytope.rows {
        matrix.row(row.row.iter().copied().enumerate(), row.most);
    }
    for j in 0..count {
        matrix.row(std::iter::once((j, -1.0)), -polytope.least[j]);
        matrix.row(std::iter::once((j, 1.0)), polytope.most[j]);
    }
    let inequalities = matrix.right.len() - equalities;
    let Matrix { rows, columns, entries, right } = matrix;
    let a = CscMatrix::new_from_triplets(right.len(), variables, rows, columns, entries);
    let (square, linear) = match level {
        Some((_, centre)) => {
            (CscMatrix::identity(count), centre.iter().map(|c| -c).collect::<Vec<_>>())
        }
        None => {
            let mut linear = vec![0.0; variables];
            linear[count] = 1.0;
            (CscMatrix::zeros((variables, variables)), linear)
        }
    };
    let cones =
        [SupportedConeT::ZeroConeT(equalities), SupportedConeT::NonnegativeConeT(inequalities)];
    let tight = if level.is_none() { 1e-12 } else { 1e-9 };
    let settings = DefaultSettings {
        verbose: false,
        tol_gap_abs: tight,
        tol_gap_rel: tight,
        tol_feas: tight,
        max_iter: 100,
        ..DefaultSettings::default()
    };
    let mut solver = DefaultSolver::new(&square, &linear, &a, &right, &cones, settings).ok()?;
    solver.solve();
    let solution = &solver.solution;
    let usable = matches!(
        solution.status,
        SolverStatus::Solved
            | SolverStatus::AlmostSolved
            | SolverStatus::MaxIterations
            | SolverStatus::InsufficientProgress
            | SolverStatus::NumericalError
    );
    let finite = solution.x.iter().chain(&solution.z).all(|x| x.is_finite());
    (usable && finite).then(|| MasterSolution {
        theta: solution.x[..count].to_vec(),
        cuts: solution.z[equalities..][..cuts.len()].to_vec(),
        // Back in the cuts' own units.
        rows: solution.z[equalities + cuts.len()..][..polytope.rows.len()]
            .iter()
            .map(|z| z * sizes)
            .collect(),
    })
}
