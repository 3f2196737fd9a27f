//! The upper envelope of plateaus that fall away as squares on both sides:
//! `max_j h_j − s · dist(x, [a_j, b_j])²` for any `x`.
//!
//! What a step function of one feature is worth to a source at a price. With `t` to the right of `r`
//! the difference `t − r` never falls, so each plateau is the highest on one stretch, and the
//! stretches come in the plateaus' order. The stretches' ends are decided in floating point; near a
//! tie either of two gives the same height to rounding.

/// Numbers between two ends, and the height there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The height.
    pub height: f64,
}

impl Plateau {
    /// The place nearest to a number.
    #[inline(always)]
    pub fn nearest(&self, x: f64) -> f64 {
        x.max(self.low).min(self.high)
    }
}

/// Parts of the range, each with a stretch to begin to look at.
const HINTS: usize = 256;

/// Which plateau is the highest where.
#[derive(Clone, Debug)]
pub struct PlateauEnvelope {
    /// Where each stretch begins, by rising number; one more that is never reached ends them.
    starts: Vec<f64>,
    /// The stretches' plateaus, and which of those given they are.
    tops: Vec<(Plateau, u32)>,
    /// A stretch near the numbers of each part of the range.
    hints: Vec<u32>,
    /// Where the range begins, and parts in a unit.
    origin: f64,
    parts: f64,
}

impl PlateauEnvelope {
    /// Of plateaus that do not overlap, by rising number; `steepness` is positive. With none the
    /// envelope is nowhere.
    pub fn new(plateaus: &[Plateau], steepness: f64) -> Self {
        Self::of(plateaus, |r, t| overtakes(r, t, steepness))
    }

    /// The nearest plateau, of whatever height.
    pub fn nearest(plateaus: &[Plateau]) -> Self {
        // Past the middle of the gap, and where there is none with the next one's first number.
        Self::of(plateaus, |r, t| (0.5 * r.high + 0.5 * t.low).max(r.high.next_up()))
    }

    fn of(plateaus: &[Plateau], overtakes: impl Fn(&Plateau, &Plateau) -> f64) -> Self {
        let mut starts: Vec<f64> = Vec::new();
        let mut tops: Vec<(Plateau, u32)> = Vec::new();
        for (t, plateau) in plateaus.iter().enumerate() {
            let mut start = f64::NEG_INFINITY;
            while let (Some((last, _)), Some(&begun)) = (tops.last(), starts.last()) {
                start = overtakes(last, plateau);
                if start > begun {
                    break;
                }
                tops.pop();
                starts.pop();
                start = f64::NEG_INFINITY;
            }
            if start < f64::INFINITY {
                starts.push(start);
                tops.push((*plateau, t as u32));
            }
        }
        let end = |x: Option<&Plateau>, of: fn(&Plateau) -> f64| x.map_or(0.0, of);
        let origin = end(plateaus.first(), |p| p.low);
        let parts = HINTS as f64 / (end(plateaus.last(), |p| p.high) - origin);
        // A single place has no parts; neither has a range that cannot be told from one.
        let parts = if parts.is_finite() { parts } else { 0.0 };
        starts.push(f64::INFINITY);
        let mut at = 0;
        let hint = |part: usize| {
            let x = if parts > 0.0 { origin + part as f64 / parts } else { origin };
            while starts.get(at + 1).is_some_and(|start| *start <= x) {
                at += 1;
            }
            at.min(tops.len().saturating_sub(1)) as u32
        };
        let hints = (0..HINTS).map(hint).collect();
        PlateauEnvelope { starts, tops, hints, origin, parts }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.tops.is_empty()
    }

    /// The plateau that is the highest at a number, and which it is. The envelope is somewhere.
    #[inline(always)]
    pub fn at(&self, x: f64) -> (Plateau, u32) {
        self.tops[self.stretch(x)]
    }

    /// The same and those of the stretches beside it: one of them is the highest even where numbers
    /// are too coarse to tell where a stretch begins.
    pub fn around(&self, x: f64) -> &[(Plateau, u32)] {
        let at = self.stretch(x);
        &self.tops[at.saturating_sub(1)..(at + 2).min(self.tops.len())]
    }

    #[inline(always)]
    fn stretch(&self, x: f64) -> usize {
        let part = (((x - self.origin) * self.parts) as usize).min(HINTS - 1);
        let mut at = self.hints[part] as usize;
        while self.starts[at + 1] <= x {
            at += 1;
        }
        while self.starts[at] > x {
            at -= 1;
        }
        at
    }
}

/// Where plateau `t`, to the right, overtakes plateau `r`: the lowest number where it is higher, or
/// as high and nearer.
fn overtakes(r: &Plateau, t: &Plateau, steepness: f64) -> f64 {
    let gap = t.low - r.high;
    let fall = steepness * gap * gap;
    if t.height - fall > r.height {
        // On `r` itself, or left of it.
        let on = t.low - ((t.height - r.height) / steepness).sqrt();
        return if on >= r.low { on.next_up() } else { flanks((r.low, r), (t.low, t), steepness) };
    }
    if r.height - fall >= t.height {
        // On `t` itself, or right of it.
        let on = r.high + ((r.height - t.height) / steepness).sqrt();
        return if on <= t.high {
            on.max(t.low)
        } else {
            flanks((r.high, r), (t.high, t), steepness)
        };
    }
    flanks((r.high, r), (t.low, t), steepness)
}

/// Where the squares from two places meet.
fn flanks((from, r): (f64, &Plateau), (to, t): (f64, &Plateau), steepness: f64) -> f64 {
    let apart = to - from;
    if apart <= 0.0 {
        // The same place: the higher one is higher everywhere.
        return if t.height > r.height { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let middle = 0.5 * (from + to);
    if r.height == t.height {
        return middle;
    }
    middle + (r.height - t.height) / (2.0 * steepness * apart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::random::Random;

    fn drawn(random: &mut Random) -> Vec<Plateau> {
        let mut at = random.unit();
        (0..1 + random.below(12))
            .map(|_| {
                let low = if random.below(2) == 0 { at.next_up() } else { at + random.unit() };
                let high = if random.below(3) == 0 { low } else { low + random.unit() };
                at = high;
                Plateau { low, high, height: random.below(5) as f64 / 4.0 }
            })
            .collect()
    }

    #[test]
    fn the_highest_of_all_plateaus_is_found() {
        let mut random = Random::new(1, 0);
        for _ in 0..2000 {
            let plateaus = drawn(&mut random);
            let steepness = (random.normal() * 3.0).exp();
            let envelope = PlateauEnvelope::new(&plateaus, steepness);
            let worth = |p: &Plateau, x: f64| {
                let apart = x - p.nearest(x);
                p.height - steepness * apart * apart
            };
            let ends = plateaus.iter().flat_map(|p| [p.low, p.high, p.high.next_up()]);
            let more: Vec<f64> = (0..40).map(|_| random.unit() * 20.0 - 2.0).collect();
            for x in ends.chain(more) {
                let best = plateaus.iter().map(|p| worth(p, x)).fold(f64::NEG_INFINITY, f64::max);
                let (found, which) = envelope.at(x);
                assert_eq!(found, plateaus[which as usize]);
                let size = 1.0 + steepness * x * x;
                assert!((worth(&found, x) - best).abs() <= 1e-13 * size, "{x} {best} {found:?}");
            }
        }
    }

    #[test]
    fn the_nearest_plateau_is_found() {
        let mut random = Random::new(2, 0);
        for _ in 0..500 {
            let plateaus = drawn(&mut random);
            let envelope = PlateauEnvelope::nearest(&plateaus);
            let apart = |p: &Plateau, x: f64| (x - p.nearest(x)).abs();
            let ends = plateaus.iter().flat_map(|p| [p.low, p.high, p.high.next_up()]);
            for x in ends.chain((0..20).map(|k| f64::from(k) * 0.7 - 1.0)) {
                let best = plateaus.iter().map(|p| apart(p, x)).fold(f64::INFINITY, f64::min);
                let found = apart(&envelope.at(x).0, x);
                assert!(found <= best + 1e-14 && (best > 0.0 || found == 0.0), "{x}");
            }
        }
    }
}
