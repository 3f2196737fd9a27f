//! Steps of the simplex method: how far one goes, what leaves the basis, and the basis's inverse.

use super::{BOUND, Basic, GubColumns, GubSimplex, PASSED};

/// A smaller rate does not block.
const RATE: f64 = 1e-9;
/// Pivots after which the inverse is worked out anew.
const FRESH: usize = 192;

/// What stops a step.
#[derive(Clone, Copy, Debug)]
enum Stop {
    /// A variable of the basis, by its place there, at this bound.
    Basic(usize, f64),
    /// The key of a source.
    Key(usize),
    /// The slack that enters, at its other bound.
    Itself,
}

impl GubSimplex {
    /// One step: as far as the basis allows, and the variable that stops it leaves.
    pub(super) fn enter(
        &mut self,
        columns: &impl GubColumns,
        entering: Basic,
        column: Vec<f64>,
        sign: f64,
    ) {
        let mut rates = self.solve(&column);
        let (length, stop) = self.blocked(entering, &rates, sign);
        for (x, rate) in self.x.iter_mut().zip(&rates) {
            *x -= sign * rate * length;
        }
        let start = match entering {
            Basic::Slack(j) if self.up[j] => self.room[j],
            _ => 0.0,
        };
        let arrived = start + sign * length;
        match stop {
            Stop::Itself => {
                if let Basic::Slack(j) = entering {
                    self.up[j] = !self.up[j];
                }
                return;
            }
            Stop::Basic(at, bound) => self.replace(at, bound, entering, &rates, arrived),
            Stop::Key(source) => {
                let mine = match entering {
                    Basic::Column(s, place) if s == source => Some(place),
                    _ => None,
                };
                let Some(at) = self.of_source(source).next() else {
                    // Nothing else of the source is in the basis: the key is another one.
                    if let Some(place) = mine {
                        self.keys[source] = place;
                    }
                    return;
                };
                let mut column = column;
                if mine.is_some() {
                    // The difference is to the new key from now on.
                    columns.add(source, self.keys[source], 1.0, &mut column);
                    self.swap_key(source, at);
                    columns.add(source, self.keys[source], -1.0, &mut column);
                } else {
                    self.swap_key(source, at);
                }
                rates = self.solve(&column);
                self.replace(at, 0.0, entering, &rates, arrived);
            }
        }
        self.note_sides(length);
        self.pivots += 1;
        if self.pivots >= FRESH {
            self.refresh(columns);
        }
    }

    /// `B⁻¹ column`.
    fn solve(&self, column: &[f64]) -> Vec<f64> {
        let rows = column.len();
        let mut rates = vec![0.0; rows];
        for (at, rate) in rates.iter_mut().enumerate() {
            let row = &self.inverse[at * rows..][..rows];
            *rate = row.iter().zip(column).map(|(b, a)| b * a).sum();
        }
        rates
    }

    /// How far a step goes, and what stops it: of what stops it at about the same length, what does
    /// so at the highest rate.
    fn blocked(&self, entering: Basic, rates: &[f64], sign: f64) -> (f64, Stop) {
        // Each: how far until the bound, the rate at which it comes nearer, and what it is.
        let mut stops: Vec<(f64, f64, Stop)> = Vec::new();
        for (at, &rate) in rates.iter().enumerate() {
            let speed = -sign * rate;
            if speed.abs() < RATE {
                continue;
            }
            let (x, most) = (self.x[at], self.most(self.basis[at]));
            let outside = self.outside(at);
            let bound = match (speed > 0.0, outside) {
                // Going up: from below its bounds to the lower one, else to the upper one.
                (true, below) if below > 0.0 => 0.0,
                (true, above) if above < 0.0 => continue,
                (true, _) => most,
                (false, above) if above < 0.0 => most,
                (false, below) if below > 0.0 => continue,
                (false, _) => 0.0,
            };
            if bound.is_finite() {
                let far = ((bound - x) * speed.signum()).max(0.0);
                stops.push((far, speed.abs(), Stop::Basic(at, bound)));
            }
        }
        let mine = match entering {
            Basic::Column(source, _) => Some(source),
            Basic::Slack(_) => None,
        };
        let mut split = self.split();
        if let Some(source) = mine.filter(|s| !split.contains(s)) {
            split.push(source);
        }
        for source in split {
            let mut speed: f64 = self.of_source(source).map(|at| sign * rates[at]).sum();
            if mine == Some(source) {
                speed -= sign;
            }
            let mass = self.key_mass(source);
            if (speed <= -RATE && mass >= -BOUND) || (speed >= RATE && mass < -BOUND) {
                stops.push((mass.abs().max(0.0), speed.abs(), Stop::Key(source)));
            }
        }
        let reach = stops.iter().map(|(far, rate, _)| (far + PASSED) / rate);
        let reach = reach.fold(f64::INFINITY, f64::min);
        let itself = match entering {
            // Inwards it goes as far as the other bound.
            Basic::Slack(j) if self.up[j] == (sign < 0.0) => self.room[j],
            _ => f64::INFINITY,
        };
        let within = stops.iter().filter(|(far, rate, _)| far / rate <= reach);
        let best = within.max_by(|a, b| a.1.total_cmp(&b.1));
        match best {
            Some(&(far, rate, stop)) if far / rate < itself => (far / rate, stop),
            _ if itself.is_finite() => (itself, Stop::Itself),
            // A step without end cannot be: masses are bounded. Rounding may say so: no step then.
            _ => (0.0, Stop::Itself),
        }
    }

    /// Puts a variable in the place of another, which stays at a bound.
    fn replace(&mut self, at: usize, bound: f64, entering: Basic, rates: &[f64], value: f64) {
        let rows = rates.len();
        if let Basic::Slack(j) = self.basis[at] {
            self.up[j] = bound > 0.0;
        }
        let pivot = rates[at];
        let (before, rest) = self.inverse.split_at_mut(at * rows);
        let (row, after) = rest.split_at_mut(rows);
        row.iter_mut().for_each(|b| *b /= pivot);
        let others = before.chunks_exact_mut(rows).chain(after.chunks_exact_mut(rows));
        let others = others.zip(rates.iter().enumerate().filter(|(k, _)| *k != at));
        for (other, (_, &rate)) in others {
            if rate != 0.0 {
                other.iter_mut().zip(row.iter()).for_each(|(o, b)| *o -= rate * b);
            }
        }
        self.basis[at] = entering;
        self.x[at] = value;
    }

    /// Makes a column of the basis its source's key, and the key that column.
    fn swap_key(&mut self, source: usize, at: usize) {
        let rows = self.right.len();
        let mass = self.key_mass(source);
        let all: Vec<usize> = self.of_source(source).collect();
        let mut row = vec![0.0; rows];
        for other in all {
            let own = &self.inverse[other * rows..][..rows];
            row.iter_mut().zip(own).for_each(|(r, b)| *r -= b);
        }
        self.inverse[at * rows..][..rows].copy_from_slice(&row);
        if let Basic::Column(_, place) = self.basis[at] {
            self.basis[at] = Basic::Column(source, self.keys[source]);
            self.keys[source] = place;
        }
        self.x[at] = mass;
    }

    /// Works out the inverse and the masses from the basis alone. Where rounding made the basis
    /// singular, slacks take the place of what depends on others.
    pub fn refresh(&mut self, columns: &impl GubColumns) {
        let rows = self.right.len();
        self.pivots = 0;
        let wide = 2 * rows;
        // [Bᵀ | I], a row for each variable of the basis; reduced to [I | …].
        let mut table = vec![0.0; rows * wide];
        for (at, basic) in self.basis.iter().enumerate() {
            let row = &mut table[at * wide..][..wide];
            match *basic {
                Basic::Slack(j) => row[j] = 1.0,
                Basic::Column(s, z) => {
                    columns.add(s, z, 1.0, &mut row[..rows]);
                    columns.add(s, self.keys[s], -1.0, &mut row[..rows]);
                }
            }
            row[rows + at] = 1.0;
        }
        let mut of_row: Vec<Option<usize>> = vec![None; rows];
        let mut used = vec![false; rows];
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_by_key(|&at| matches!(self.basis[at], Basic::Column(..)));
        for at in order {
            let row = &table[at * wide..][..rows];
            let free = (0..rows).filter(|&j| !used[j]);
            let Some(j) = free.max_by(|&a, &b| row[a].abs().total_cmp(&row[b].abs())) else {
                break;
            };
            if row[j].abs() < 1e-9 {
                continue;
            }
            used[j] = true;
            of_row[at] = Some(j);
            eliminate(&mut table, wide, at, j);
        }
        let mut repaired = false;
        for (at, row) in of_row.iter().enumerate() {
            if row.is_none()
                && let Some(j) = (0..rows).find(|&j| !used[j])
            {
                used[j] = true;
                self.basis[at] = Basic::Slack(j);
                repaired = true;
            }
        }
        if repaired {
            return self.refresh(columns);
        }
        // Bᵀ = P table, so that the inverse's entry of variable `at` and row `j` is where the row
        // that was reduced to j says it.
        self.inverse = vec![0.0; rows * rows];
        for (at, j) in of_row.iter().enumerate() {
            let Some(j) = *j else { continue };
            for k in 0..rows {
                self.inverse[k * rows + j] = table[at * wide + rows + k];
            }
        }
        let mut left = self.right.clone();
        for (j, left) in left.iter_mut().enumerate() {
            if self.up[j] && !self.basis.contains(&Basic::Slack(j)) {
                *left -= self.room[j];
            }
        }
        for (source, mass) in self.mass.iter().enumerate() {
            columns.add(source, self.keys[source], -mass, &mut left);
        }
        self.x = self.solve(&left);
    }
}

/// Makes a column of the table a unit one.
fn eliminate(table: &mut [f64], wide: usize, at: usize, column: usize) {
    let pivot = table[at * wide + column];
    let (before, rest) = table.split_at_mut(at * wide);
    let (row, after) = rest.split_at_mut(wide);
    row.iter_mut().for_each(|a| *a /= pivot);
    for other in before.chunks_exact_mut(wide).chain(after.chunks_exact_mut(wide)) {
        let factor = other[column];
        if factor != 0.0 {
            other.iter_mut().zip(row.iter()).for_each(|(o, a)| *o -= factor * a);
        }
    }
}
