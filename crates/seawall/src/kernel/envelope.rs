//! The upper envelope of downward parabolas: `out_k = max_j h_j − s (t_k − t_j)²` in O(K).
//!
//! The squared-difference transform of a long axis. Positions are sorted and need not be even
//! or distinct. Entries of `−∞` are places that do not exist. The parabolas' order on the
//! envelope is decided in floating point; near a tie either of two gives the same height to
//! rounding, and the height that is returned is always that of a real entry.

/// Room for one line's envelope.
#[derive(Default)]
pub struct Envelope {
    /// Which entries are on the envelope, from left to right.
    top: Vec<u32>,
    /// Where each begins to be the highest.
    start: Vec<f64>,
}

impl Envelope {
    /// Calls `found(k, j)` for every position `k`, with `j` the entry that is highest there.
    ///
    /// `t` is sorted; `steepness` is positive. Nothing is called where no entry exists.
    pub fn build(
        &mut self,
        t: &[f64],
        h: &[f64],
        steepness: f64,
        mut found: impl FnMut(usize, usize),
    ) {
        self.top.clear();
        self.start.clear();
        for q in 0..t.len() {
            if h[q] == f64::NEG_INFINITY {
                continue;
            }
            let mut start = f64::NEG_INFINITY;
            let mut hidden = false;
            while let Some(&r) = self.top.last() {
                let r = r as usize;
                if t[q] == t[r] {
                    if h[q] <= h[r] {
                        hidden = true;
                        break;
                    }
                } else {
                    start = overtakes(t[r], h[r], t[q], h[q], steepness);
                    if self.start.last().is_some_and(|&s| start > s) {
                        break;
                    }
                }
                self.top.pop();
                self.start.pop();
                start = f64::NEG_INFINITY;
            }
            if !hidden {
                self.top.push(q as u32);
                self.start.push(start);
            }
        }
        if self.top.is_empty() {
            return;
        }
        let mut at = 0;
        for (k, &x) in t.iter().enumerate() {
            while at + 1 < self.top.len() && self.start[at + 1] < x {
                at += 1;
            }
            found(k, self.top[at] as usize);
        }
    }
}

/// Where the parabola at `tq` overtakes the one at `tr < tq`.
#[inline(always)]
fn overtakes(tr: f64, hr: f64, tq: f64, hq: f64, steepness: f64) -> f64 {
    let middle = 0.5 * (tr + tq);
    if hr == hq { middle } else { middle + (hr - hq) / (2.0 * steepness * (tq - tr)) }
}
