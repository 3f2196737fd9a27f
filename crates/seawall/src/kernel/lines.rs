//! Walks the lines of a grid along one axis, a few at a time, in place.
//!
//! A row-major grid seen from one axis is `outer × K × inner`: `outer · inner` lines of `K`
//! cells, a line's cells `inner` apart. A kernel is handed `L` lines at once, side by
//! side, so that its inner loop runs across lines and becomes vector instructions whatever the
//! axis. What a kernel does along the line is its own affair.

use rayon::prelude::*;

/// Work (cells times levels) below which a second thread costs more than it saves.
const FORK: usize = 1 << 19;
/// Cells a parallel job should have at least.
const JOB: usize = 1 << 14;

/// `L` lines of `M` arrays: `input[m][k]` is level `k` of array `m`.
pub struct Tile<const M: usize, const L: usize> {
    /// What the grid holds.
    pub input: [Vec<[f64; L]>; M],
    /// What the kernel leaves behind.
    pub output: [Vec<[f64; L]>; M],
}

impl<const M: usize, const L: usize> Tile<M, L> {
    fn new(levels: usize) -> Self {
        let rows = || std::array::from_fn(|_| vec![[0.0; L]; levels]);
        Tile { input: rows(), output: rows() }
    }
}

/// Applies `kernel` to every line of an axis of `levels` cells that are `inner` apart.
///
/// All arrays have the same length, a multiple of `levels · inner`. Lanes past the last line of
/// a tile repeat its first line, so that a kernel never meets numbers that are not in the grid.
pub fn for_each<const M: usize, const L: usize>(
    levels: usize,
    inner: usize,
    arrays: [&mut [f64]; M],
    kernel: &(impl Fn(&mut Tile<M, L>) + Sync),
) {
    let cells = arrays[0].len();
    let parallel = cells * levels >= FORK && rayon::current_num_threads() > 1;
    if inner >= L {
        let mut jobs = Vec::new();
        let piece = if parallel { (JOB / levels).max(1).next_multiple_of(L) } else { inner };
        let mut tile = (!parallel).then(|| Tile::new(levels));
        for block in blocks(arrays, levels * inner) {
            match &mut tile {
                Some(tile) => rows(block.map(|a| a.chunks_mut(inner).collect()), tile, kernel),
                None => split(block, inner, piece, &mut jobs),
            }
        }
        jobs.into_par_iter()
            .for_each_init(|| Tile::new(levels), |tile, job| rows(job, tile, kernel));
    } else {
        // Whole blocks, as many as make a fair job.
        let job =
            if parallel { (JOB / (levels * inner)).max(1).next_multiple_of(L) } else { cells };
        let jobs: Vec<_> = blocks(arrays, job * levels * inner).collect();
        let run = |tile: &mut Tile<M, L>, job| short(levels, inner, job, tile, kernel);
        if parallel {
            jobs.into_par_iter().for_each_init(|| Tile::new(levels), run);
        } else {
            let mut tile = Tile::new(levels);
            jobs.into_iter().for_each(|job| run(&mut tile, job));
        }
    }
}

/// The arrays cut into consecutive blocks, the same block of each together.
fn blocks<'a, const M: usize>(
    arrays: [&'a mut [f64]; M],
    block: usize,
) -> impl Iterator<Item = [&'a mut [f64]; M]> {
    let mut chunks = arrays.map(|a| a.chunks_mut(block));
    std::iter::from_fn(move || {
        let mut next: [Option<&'a mut [f64]>; M] = chunks.each_mut().map(Iterator::next);
        next.iter()
            .all(Option::is_some)
            .then(|| next.each_mut().map(|a| a.take().unwrap_or_default()))
    })
}

/// The rows of one job: for each array, a slice per level.
type JobRows<'a, const M: usize> = [Vec<&'a mut [f64]>; M];

/// Cuts a block's rows into pieces that different threads may write.
fn split<'a, const M: usize>(
    block: [&'a mut [f64]; M],
    inner: usize,
    piece: usize,
    jobs: &mut Vec<JobRows<'a, M>>,
) {
    let first = jobs.len();
    jobs.extend((0..inner.div_ceil(piece)).map(|_| std::array::from_fn(|_| Vec::new())));
    for (m, array) in block.into_iter().enumerate() {
        for row in array.chunks_mut(inner) {
            for (job, part) in jobs[first..].iter_mut().zip(row.chunks_mut(piece)) {
                job[m].push(part);
            }
        }
    }
}

/// Lines whose neighbours are next to each other in memory.
fn rows<const M: usize, const L: usize>(
    mut rows: JobRows<'_, M>,
    tile: &mut Tile<M, L>,
    kernel: &impl Fn(&mut Tile<M, L>),
) {
    let inner = rows[0][0].len();
    for start in (0..inner).step_by(L) {
        let lanes = L.min(inner - start);
        for (array, input) in rows.iter().zip(&mut tile.input) {
            for (row, lane) in array.iter().zip(input) {
                match row[start..].first_chunk() {
                    Some(whole) => *lane = *whole,
                    None => {
                        lane[..lanes].copy_from_slice(&row[start..]);
                        lane[lanes..].fill(row[start]);
                    }
                }
            }
        }
        kernel(tile);
        for (array, output) in rows.iter_mut().zip(&tile.output) {
            for (row, lane) in array.iter_mut().zip(output) {
                match row[start..].first_chunk_mut() {
                    Some(whole) => *whole = *lane,
                    None => row[start..].copy_from_slice(&lane[..lanes]),
                }
            }
        }
    }
}

/// Lines that are short steps apart: as many whole blocks as fit side by side.
fn short<const M: usize, const L: usize>(
    levels: usize,
    inner: usize,
    mut arrays: [&mut [f64]; M],
    tile: &mut Tile<M, L>,
    kernel: &impl Fn(&mut Tile<M, L>),
) {
    let (block, side) = (levels * inner, L / inner);
    let cells = arrays[0].len();
    for start in (0..cells).step_by(side * block) {
        let here = start..cells.min(start + side * block);
        let filled = here.len() / levels;
        for (array, input) in arrays.iter().zip(&mut tile.input) {
            gather(inner, &array[here.clone()], input);
            if filled < L {
                for lane in input {
                    let first = lane[0];
                    lane[filled..].fill(first);
                }
            }
        }
        kernel(tile);
        for (array, output) in arrays.iter_mut().zip(&tile.output) {
            scatter(inner, &mut array[here.clone()], output);
        }
    }
}

/// Lays blocks side by side: `rows[k][b · inner + i] = blocks[(b · levels + k) · inner + i]`.
pub(super) fn gather<const L: usize>(inner: usize, blocks: &[f64], rows: &mut [[f64; L]]) {
    match inner {
        1 => gather_by::<1, L>(blocks, rows),
        2 => gather_by::<2, L>(blocks, rows),
        4 => gather_by::<4, L>(blocks, rows),
        8 => gather_by::<8, L>(blocks, rows),
        _ => {
            let levels = rows.len();
            for (b, block) in blocks.chunks_exact(levels * inner).enumerate() {
                for (row, from) in rows.iter_mut().zip(block.chunks_exact(inner)) {
                    row[b * inner..][..inner].copy_from_slice(from);
                }
            }
        }
    }
}

/// The same for an `inner` known to the compiler: a call to copy a few numbers would cost more
/// than they do.
#[inline(always)]
fn gather_by<const I: usize, const L: usize>(blocks: &[f64], rows: &mut [[f64; L]]) {
    let (blocks, levels) = (blocks.as_chunks::<I>().0, rows.len());
    for (k, row) in rows.iter_mut().enumerate() {
        let from = blocks.iter().skip(k).step_by(levels);
        for (to, from) in row.as_chunks_mut::<I>().0.iter_mut().zip(from) {
            *to = *from;
        }
    }
}

/// Puts blocks back: the inverse of [`gather`].
pub(super) fn scatter<const L: usize>(inner: usize, blocks: &mut [f64], rows: &[[f64; L]]) {
    match inner {
        1 => scatter_by::<1, L>(blocks, rows),
        2 => scatter_by::<2, L>(blocks, rows),
        4 => scatter_by::<4, L>(blocks, rows),
        8 => scatter_by::<8, L>(blocks, rows),
        _ => {
            let levels = rows.len();
            for (b, block) in blocks.chunks_exact_mut(levels * inner).enumerate() {
                for (row, to) in rows.iter().zip(block.chunks_exact_mut(inner)) {
                    to.copy_from_slice(&row[b * inner..][..inner]);
                }
            }
        }
    }
}

#[inline(always)]
fn scatter_by<const I: usize, const L: usize>(blocks: &mut [f64], rows: &[[f64; L]]) {
    let (blocks, levels) = (blocks.as_chunks_mut::<I>().0, rows.len());
    for (k, row) in rows.iter().enumerate() {
        let to = blocks.iter_mut().skip(k).step_by(levels);
        for (from, to) in row.as_chunks::<I>().0.iter().zip(to) {
            *to = *from;
        }
    }
}
