//! The last pass but one, done only where a source's last line lies.
//!
//! Sources are few and often near each other: of the rows that the last pass but one would fill,
//! the last pass looks at those that hold a source. Each is worked out alone, and where its
//! heights came from with it.

use super::max_plus::PassMethod;
use super::pass::Pass;
use pulp::{Arch, Simd, WithSimd};

/// Rows of a pass, with what the pass makes of them.
#[derive(Clone)]
pub struct Pull {
    /// The first cell of each row's block, and the row's level.
    rows: Vec<(usize, usize)>,
    /// The sources' places in the heights, row after row.
    pub places: Vec<u32>,
    /// The heights after the pass.
    pub heights: Vec<f64>,
    /// The levels that they came from.
    pub from: Vec<f64>,
}

impl Pull {
    /// The rows of a pass that hold sources, if leaving out the others is worth it.
    pub fn new(pass: &Pass, sources: &[u32], cells: usize) -> Option<Self> {
        let dense = matches!(pass.axis.method, PassMethod::Dense { .. });
        if !dense || !matches!(pass.inner, 1..=4 | 6 | 8) {
            return None;
        }
        let mut rows: Vec<usize> = sources.iter().map(|&s| s as usize / pass.inner).collect();
        rows.sort_unstable();
        rows.dedup();
        if 2 * rows.len() * pass.inner > cells {
            return None;
        }
        let place = |&source: &u32| {
            let (row, inside) = (source as usize / pass.inner, source as usize % pass.inner);
            (rows.partition_point(|&r| r < row) * pass.inner + inside) as u32
        };
        let places = sources.iter().map(place).collect();
        let levels = pass.axis.levels;
        let rows: Vec<_> =
            rows.iter().map(|r| (r / levels * levels * pass.inner, r % levels)).collect();
        let room = vec![0.0; rows.len() * pass.inner];
        Some(Pull { rows, places, heights: room.clone(), from: room })
    }

    /// Does the pass for the rows.
    pub fn run(&mut self, pass: &Pass, below: &[f64]) {
        let arch = Arch::new();
        match pass.inner {
            1 => arch.dispatch(Each::<1> { pull: self, pass, below }),
            2 => arch.dispatch(Each::<2> { pull: self, pass, below }),
            3 => arch.dispatch(Each::<3> { pull: self, pass, below }),
            4 => arch.dispatch(Each::<4> { pull: self, pass, below }),
            6 => arch.dispatch(Each::<6> { pull: self, pass, below }),
            _ => arch.dispatch(Each::<8> { pull: self, pass, below }),
        }
    }
}

/// Rows of a length known to the compiler.
struct Each<'a, const I: usize> {
    pull: &'a mut Pull,
    pass: &'a Pass,
    below: &'a [f64],
}

impl<const I: usize> WithSimd for Each<'_, I> {
    type Output = ();

    // Plain loops over the row: compiled for each vector width, they become vector instructions.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Pull { rows, heights, from, .. } = self.pull;
        let levels = self.pass.axis.levels;
        let out = heights.as_chunks_mut::<I>().0.iter_mut().zip(from.as_chunks_mut::<I>().0);
        for (&(block, level), (height, from)) in rows.iter().zip(out) {
            let block = &self.below[block..][..levels * I].as_chunks::<I>().0[..levels];
            let (start, end) = self.pass.windows[level];
            let moves = &self.pass.moves[level * levels..][..levels];
            let (mut best, mut origin) = (block[level], [level as f64; I]);
            let mut at = start as f64;
            for (row, step) in block[start..end].iter().zip(&moves[start..end]) {
                for i in 0..I {
                    let candidate = row[i] + step;
                    let higher = candidate > best[i];
                    best[i] = if higher { candidate } else { best[i] };
                    origin[i] = if higher { at } else { origin[i] };
                }
                at += 1.0;
            }
            (*height, *from) = (best, origin);
        }
    }
}
