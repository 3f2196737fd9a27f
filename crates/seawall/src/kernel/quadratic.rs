//! Small dense quadratic programs over simplices, boxes and general rows:
//!
//! ```text
//! min ½ κ‖x‖² + c·x   Σ_{j in block} x_j = 1 for each block,  G x ≤ h,  least ≤ x ≤ most
//! ```
//!
//! A primal-dual interior-point method with Mehrotra's predictor and corrector. With slacks s and
//! multipliers z of the inequalities and y of the blocks, a step solves
//!
//! ```text
//! H dx + Eᵀ dy = r,  E dx = −r_e,   H = κ I + Gᵀ diag(z/s) G + (the diagonal of the boxes)
//! ```
//!
//! by a Cholesky factor of H and one of E H⁻¹ Eᵀ. The caller does not rely on convergence: the cutting-plane
//! method computes its own bounds from the multipliers.

use super::cholesky::{Cholesky, dot};

/// Steps at most.
const STEPS: usize = 100;
/// How far towards the boundary a step goes.
const BACK_OFF: f64 = 0.995;
/// Residuals above this, relative to the problem's size, after the last step mean that there is no solution.
const UNSOLVED: f64 = 1e-4;

/// The problem. Blocks are consecutive variables from the first on; variables after the last block are
/// in none.
pub struct QuadraticProgram {
    /// κ.
    pub square: f64,
    /// c.
    pub linear: Vec<f64>,
    /// How many variables each block has.
    pub blocks: Vec<usize>,
    /// The rows of G, each with its h.
    pub rows: Vec<(Vec<f64>, f64)>,
    /// Smallest values, minus infinity for none.
    pub least: Vec<f64>,
    /// Largest values, infinity for none.
    pub most: Vec<f64>,
}

/// The point found and the multipliers of the rows.
pub struct QuadraticSolution {
    /// x.
    pub x: Vec<f64>,
    /// z of each row of G.
    pub rows: Vec<f64>,
}

/// A bound of one variable: `sign · x ≤ right`.
struct VariableBound {
    variable: usize,
    sign: f64,
    right: f64,
}

/// The problem in its free variables.
struct Reduced {
    square: f64,
    linear: Vec<f64>,
    /// The free variables of each block that has any, and what is left of its 1.
    blocks: Vec<(Vec<usize>, f64)>,
    rows: Vec<(Vec<f64>, f64)>,
    bounds: Vec<VariableBound>,
}

struct Iterate {
    x: Vec<f64>,
    /// Multipliers of the blocks.
    y: Vec<f64>,
    /// Slacks and multipliers, of the rows and then of the bounds.
    s: Vec<f64>,
    z: Vec<f64>,
}

struct Residuals {
    dual: Vec<f64>,
    blocks: Vec<f64>,
    primal: Vec<f64>,
}

impl Residuals {
    fn size(&self) -> f64 {
        let all = self.dual.iter().chain(&self.blocks).chain(&self.primal);
        all.fold(0.0, |m: f64, r| m.max(r.abs()))
    }
}

impl QuadraticProgram {
    /// Solves to a tolerance relative to the largest coefficient; None if no point meets the constraints.
    pub fn solve(&self, tolerance: f64) -> Option<QuadraticSolution> {
        let mut x = self.constants();
        let free: Vec<usize> = (0..x.len()).filter(|&j| x[j].is_nan()).collect();
        let reduced = self.reduced(&free, &x);
        let found = reduced.solve(tolerance)?;
        for (&j, value) in free.iter().zip(&found.x) {
            x[j] = *value;
        }
        Some(QuadraticSolution { x, rows: found.z[..self.rows.len()].to_vec() })
    }

    /// The values of the variables that can have no other one, NaN for those that are free. A variable
    /// whose bounds meet, or that is alone in its block, leaves no interior.
    fn constants(&self) -> Vec<f64> {
        let bounds = self.least.iter().zip(&self.most);
        let mut x: Vec<f64> =
            bounds.map(|(least, most)| if least < most { f64::NAN } else { *most }).collect();
        let mut first = 0;
        for &size in &self.blocks {
            let block = &mut x[first..first + size];
            let known: f64 = block.iter().filter(|x| !x.is_nan()).sum();
            let mut free = block.iter_mut().filter(|x| x.is_nan());
            if let (Some(only), None) = (free.next(), free.next()) {
                *only = 1.0 - known;
            }
            first += size;
        }
        x
    }

    fn reduced(&self, free: &[usize], x: &[f64]) -> Reduced {
        let mut place = vec![None; self.linear.len()];
        free.iter().enumerate().for_each(|(k, &j)| place[j] = Some(k));
        let fixed: Vec<f64> = x.iter().map(|x| if x.is_nan() { 0.0 } else { *x }).collect();
        let mut first = 0;
        let mut blocks = Vec::new();
        for &size in &self.blocks {
            let all = first..first + size;
            let members: Vec<usize> = all.clone().filter_map(|j| place[j]).collect();
            if !members.is_empty() {
                blocks.push((members, 1.0 - all.map(|j| fixed[j]).sum::<f64>()));
            }
            first += size;
        }
        let row = |(row, right): &(Vec<f64>, f64)| {
            let kept = free.iter().map(|&j| row[j]).collect();
            (kept, right - row.iter().zip(&fixed).map(|(g, x)| g * x).sum::<f64>())
        };
        let bound = |(variable, &j): (usize, &usize)| {
            let least = VariableBound { variable, sign: -1.0, right: -self.least[j] };
            let most = VariableBound { variable, sign: 1.0, right: self.most[j] };
            [least, most].into_iter().filter(|b| b.right.is_finite())
        };
        Reduced {
            square: self.square,
            linear: free.iter().map(|&j| self.linear[j]).collect(),
            blocks,
            rows: self.rows.iter().map(row).collect(),
            bounds: free.iter().enumerate().flat_map(bound).collect(),
        }
    }
}

impl Reduced {
    /// `G x` of the rows and then of the bounds.
    fn inequalities(&self, x: &[f64]) -> Vec<f64> {
        let rows = self.rows.iter().map(|(row, _)| dot(row, x));
        rows.chain(self.bounds.iter().map(|b| b.sign * x[b.variable])).collect()
    }

    /// `Gᵀ z`, added to `sum`.
    fn add_transposed(&self, z: &[f64], sum: &mut [f64]) {
        for ((row, _), z) in self.rows.iter().zip(z) {
            sum.iter_mut().zip(row).for_each(|(sum, g)| *sum += g * z);
        }
        for (bound, z) in self.bounds.iter().zip(&z[self.rows.len()..]) {
            sum[bound.variable] += bound.sign * z;
        }
    }

    fn right(&self) -> impl Iterator<Item = f64> {
        self.rows.iter().map(|r| r.1).chain(self.bounds.iter().map(|b| b.right))
    }

    fn residuals(&self, at: &Iterate) -> Residuals {
        let mut dual: Vec<f64> =
            self.linear.iter().zip(&at.x).map(|(c, x)| self.square * x + c).collect();
        for ((members, _), y) in self.blocks.iter().zip(&at.y) {
            members.iter().for_each(|&j| dual[j] += y);
        }
        self.add_transposed(&at.z, &mut dual);
        let block = |(members, right): &(Vec<usize>, f64)| {
            members.iter().map(|&j| at.x[j]).sum::<f64>() - right
        };
        let left = self.inequalities(&at.x);
        let primal = left.iter().zip(&at.s).zip(self.right()).map(|((g, s), h)| g + s - h);
        Residuals {
            dual,
            blocks: self.blocks.iter().map(block).collect(),
            primal: primal.collect(),
        }
    }

    /// Blocks shared evenly, slacks at least 1.
    fn start(&self) -> Iterate {
        let mut x = vec![0.0; self.linear.len()];
        for (members, right) in &self.blocks {
            members.iter().for_each(|&j| x[j] = right / members.len() as f64);
        }
        let left = self.inequalities(&x);
        let s: Vec<f64> = left.iter().zip(self.right()).map(|(g, h)| (h - g).max(1.0)).collect();
        let z = vec![1.0; s.len()];
        Iterate { x, y: vec![0.0; self.blocks.len()], s, z }
    }

    fn solve(&self, tolerance: f64) -> Option<Iterate> {
        let scale =
            self.right().chain(self.linear.iter().copied()).fold(1.0, |m: f64, x| m.max(x.abs()));
        let mut at = self.start();
        let mut best: Option<(f64, Iterate)> = None;
        for _ in 0..STEPS {
            let residuals = self.residuals(&at);
            let gap = dot(&at.s, &at.z) / at.s.len().max(1) as f64;
            let error = residuals.size().max(gap) / scale;
            if !at.x.iter().chain(&at.z).all(|x| x.is_finite()) {
                break;
            }
            let copy = |at: &Iterate| Iterate {
                x: at.x.clone(),
                y: at.y.clone(),
                s: at.s.clone(),
                z: at.z.clone(),
            };
            if best.as_ref().is_none_or(|(least, _)| error < *least) {
                best = Some((error, copy(&at)));
            }
            if error <= tolerance {
                break;
            }
            let Some(next) = self.step(&at, &residuals, gap) else { break };
            at = next;
        }
        let (error, found) = best?;
        (error <= UNSOLVED).then_some(found)
    }

    /// One step: the predictor tells how much centering the corrector needs.
    fn step(&self, at: &Iterate, residuals: &Residuals, gap: f64) -> Option<Iterate> {
        let system = System::new(self, at)?;
        let product: Vec<f64> = at.s.iter().zip(&at.z).map(|(s, z)| s * z).collect();
        let ahead = system.direction(residuals, &product);
        let (primal, dual) = (reach(&at.s, &ahead.s), reach(&at.z, &ahead.z));
        let pairs = at.s.iter().zip(&ahead.s).zip(at.z.iter().zip(&ahead.z));
        let after: f64 =
            pairs.map(|((s, ds), (z, dz))| (s + primal * ds) * (z + dual * dz)).sum::<f64>()
                / at.s.len().max(1) as f64;
        let centering = (after / gap.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0).powi(3) * gap;
        // Complementarity must not run ahead of feasibility: steps would end at the boundary.
        let centering = centering.max(gap.min(0.1 * residuals.size()));
        let corrected: Vec<f64> = product
            .iter()
            .zip(ahead.s.iter().zip(&ahead.z))
            .map(|(sz, (ds, dz))| sz + ds * dz - centering)
            .collect();
        let step = system.direction(residuals, &corrected);
        // One length for both sides where the objective is curved: the residual of the dual has both.
        let (mut primal, mut dual) = (reach(&at.s, &step.s), reach(&at.z, &step.z));
        if self.square > 0.0 {
            primal = primal.min(dual);
            dual = primal;
        }
        let (primal, dual) = ((BACK_OFF * primal).min(1.0), (BACK_OFF * dual).min(1.0));
        let moved = |from: &[f64], by: &[f64], length: f64| -> Vec<f64> {
            from.iter().zip(by).map(|(x, d)| x + length * d).collect()
        };
        Some(Iterate {
            x: moved(&at.x, &step.x, primal),
            y: moved(&at.y, &step.y, dual),
            s: moved(&at.s, &step.s, primal),
            z: moved(&at.z, &step.z, dual),
        })
    }
}

/// How far one can go before an entry is 0.
fn reach(from: &[f64], by: &[f64]) -> f64 {
    let lengths = from.iter().zip(by).filter(|(_, d)| **d < 0.0).map(|(x, d)| -x / d);
    lengths.fold(1.0 / BACK_OFF, f64::min)
}

/// The factored system of a step.
struct System<'p> {
    program: &'p Reduced,
    at: &'p Iterate,
    size: usize,
    matrix: Vec<f64>,
    factor: Cholesky,
    /// `H⁻¹ Eᵀ`, a column for each block, and the factor of `E H⁻¹ Eᵀ`.
    columns: Vec<Vec<f64>>,
    schur: Option<Cholesky>,
}

impl<'p> System<'p> {
    fn new(program: &'p Reduced, at: &'p Iterate) -> Option<Self> {
        let size = program.linear.len();
        let mut matrix = vec![0.0; size * size];
        for ((row, _), (s, z)) in program.rows.iter().zip(at.s.iter().zip(&at.z)) {
            let weight = z / s;
            for (i, g) in row.iter().enumerate().filter(|(_, g)| **g != 0.0) {
                let of_row = &mut matrix[i * size..][..=i];
                of_row.iter_mut().zip(row).for_each(|(h, other)| *h += weight * g * other);
            }
        }
        let first = program.rows.len();
        for (bound, (s, z)) in program.bounds.iter().zip(at.s[first..].iter().zip(&at.z[first..])) {
            matrix[bound.variable * (size + 1)] += z / s;
        }
        let most = (0..size).fold(0.0, |m: f64, j| m.max(matrix[j * (size + 1)]));
        for i in 0..size {
            // Rounding must not make the matrix indefinite.
            matrix[i * (size + 1)] += program.square + 1e-16 * most;
            for j in 0..i {
                matrix[j * size + i] = matrix[i * size + j];
            }
        }
        let factor = Cholesky::new(size, matrix.clone())?;
        let column = |(members, _): &(Vec<usize>, f64)| {
            let mut column = vec![0.0; size];
            members.iter().for_each(|&j| column[j] = 1.0);
            factor.solve(&mut column);
            column
        };
        let columns: Vec<Vec<f64>> = program.blocks.iter().map(column).collect();
        let count = columns.len();
        let entry = |k: usize| {
            let (members, column) = (&program.blocks[k / count].0, &columns[k % count]);
            members.iter().map(|&j| column[j]).sum::<f64>()
        };
        let schur = match count {
            0 => None,
            _ => Some(Cholesky::new(count, (0..count * count).map(entry).collect())?),
        };
        Some(System { program, at, size, matrix, factor, columns, schur })
    }

    /// `H dx + Eᵀ dy = upper, E dx = lower`, improved once by its own residual.
    fn solve(&self, upper: &[f64], lower: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut dx, mut dy) = self.solve_once(upper, lower);
        let mut left: Vec<f64> = (0..self.size)
            .map(|i| upper[i] - dot(&self.matrix[i * self.size..][..self.size], &dx))
            .collect();
        let mut below = lower.to_vec();
        for (((members, _), y), below) in self.program.blocks.iter().zip(&dy).zip(&mut below) {
            members.iter().for_each(|&j| left[j] -= y);
            *below -= members.iter().map(|&j| dx[j]).sum::<f64>();
        }
        let (more_x, more_y) = self.solve_once(&left, &below);
        dx.iter_mut().zip(&more_x).for_each(|(x, more)| *x += more);
        dy.iter_mut().zip(&more_y).for_each(|(y, more)| *y += more);
        (dx, dy)
    }

    fn solve_once(&self, upper: &[f64], lower: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut dx = upper.to_vec();
        self.factor.solve(&mut dx);
        let Some(schur) = &self.schur else { return (dx, Vec::new()) };
        let blocks = self.program.blocks.iter();
        let mut dy: Vec<f64> = blocks
            .zip(lower)
            .map(|((members, _), lower)| members.iter().map(|&j| dx[j]).sum::<f64>() - lower)
            .collect();
        schur.solve(&mut dy);
        for (column, y) in self.columns.iter().zip(&dy) {
            dx.iter_mut().zip(column).for_each(|(x, c)| *x -= c * y);
        }
        (dx, dy)
    }

    /// The direction that removes the residuals and makes `s z` smaller by `product`.
    fn direction(&self, residuals: &Residuals, product: &[f64]) -> Iterate {
        let at = self.at;
        let pull: Vec<f64> = (0..at.s.len())
            .map(|i| (product[i] - at.z[i] * residuals.primal[i]) / at.s[i])
            .collect();
        let mut upper: Vec<f64> = residuals.dual.iter().map(|r| -r).collect();
        self.program.add_transposed(&pull, &mut upper);
        let lower: Vec<f64> = residuals.blocks.iter().map(|r| -r).collect();
        let (x, y) = self.solve(&upper, &lower);
        let along = self.program.inequalities(&x);
        let s: Vec<f64> = residuals.primal.iter().zip(&along).map(|(r, g)| -r - g).collect();
        let z = (0..s.len()).map(|i| -(product[i] + at.z[i] * s[i]) / at.s[i]).collect();
        Iterate { x, y, s, z }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::random::Random;
    use clarabel::algebra::CscMatrix;
    use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};

    /// The same problem in Clarabel.
    fn reference(program: &QuadraticProgram) -> f64 {
        let count = program.linear.len();
        let (mut entries, mut right) = (Vec::new(), Vec::new());
        let mut first = 0;
        for &size in &program.blocks {
            entries.extend((first..first + size).map(|j| (right.len(), j, 1.0)));
            right.push(1.0);
            first += size;
        }
        let equalities = right.len();
        for (row, most) in &program.rows {
            entries.extend(row.iter().enumerate().map(|(j, x)| (right.len(), j, *x)));
            right.push(*most);
        }
        for j in 0..count {
            for (sign, bound) in [(-1.0, -program.least[j]), (1.0, program.most[j])] {
                if bound.is_finite() {
                    entries.push((right.len(), j, sign));
                    right.push(bound);
                }
            }
        }
        let a = CscMatrix::new_from_triplets(
            right.len(),
            count,
            entries.iter().map(|e| e.0).collect(),
            entries.iter().map(|e| e.1).collect(),
            entries.iter().map(|e| e.2).collect(),
        );
        let mut square = CscMatrix::identity(count);
        square.nzval.iter_mut().for_each(|x| *x = program.square);
        let cones = [
            SupportedConeT::ZeroConeT(equalities),
            SupportedConeT::NonnegativeConeT(right.len() - equalities),
        ];
        let settings = DefaultSettings { verbose: false, ..DefaultSettings::default() };
        let solver = DefaultSolver::new(&square, &program.linear, &a, &right, &cones, settings);
        let mut solver = solver.unwrap();
        solver.solve();
        solver.solution.obj_val
    }

    /// A feasible problem like those of the cutting-plane method.
    fn random_program(random: &mut Random) -> QuadraticProgram {
        let blocks: Vec<usize> = (0..1 + random.below(4)).map(|_| 1 + random.below(4)).collect();
        let count: usize = blocks.iter().sum();
        let height = random.below(2);
        let variables = count + height;
        let row = |random: &mut Random| {
            let row: Vec<f64> = (0..count).map(|_| random.unit() - 0.3).collect();
            // Met where the first variable of every block is 1.
            let firsts = blocks.iter().scan(0, |first, size| {
                *first += size;
                Some(*first - size)
            });
            let right = firsts.map(|j| row[j]).sum::<f64>() + 0.1 * random.unit();
            (row.into_iter().chain(std::iter::repeat_n(-1.0, height)).collect(), right)
        };
        let rows = (0..1 + random.below(12)).map(|_| row(random)).collect();
        let pinned = |random: &mut Random| if random.below(9) == 0 { 0.0 } else { 1.0 };
        let mut most: Vec<f64> = (0..count).map(|_| pinned(random)).collect();
        let mut first = 0;
        for size in &blocks {
            most[first] = 1.0;
            first += size;
        }
        most.extend(std::iter::repeat_n(f64::INFINITY, height));
        let least = most.iter().map(|m| if m.is_finite() { 0.0 } else { -f64::INFINITY });
        let linear = (0..variables).map(|j| if j < count { random.unit() - 0.5 } else { 1.0 });
        QuadraticProgram {
            square: if height == 0 { 1.0 } else { 0.0 },
            linear: linear.collect(),
            blocks,
            rows,
            least: least.collect(),
            most,
        }
    }

    #[test]
    fn random_programs_agree_with_clarabel() {
        let mut random = Random::new(7, 0);
        let mut solved = 0;
        for _ in 0..400 {
            let program = random_program(&mut random);
            let Some(found) = program.solve(1e-12) else { continue };
            solved += 1;
            let value =
                dot(&program.linear, &found.x) + 0.5 * program.square * dot(&found.x, &found.x);
            let expected = reference(&program);
            assert!((value - expected).abs() < 1e-6, "{value} {expected}");
            for (row, most) in &program.rows {
                assert!(dot(row, &found.x) <= most + 1e-8);
            }
        }
        assert!(solved > 390, "{solved}");
    }
}
