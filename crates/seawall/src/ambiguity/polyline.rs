//! Functions of the radius that are straight between their corners: what curves are compared by.

/// A difference between two curves smaller than this share of their values is no difference.
const INDIFFERENT: f64 = 1e-12;

/// A function of the radius: straight between its corners, constant after the last.
pub(super) struct Polyline(pub Vec<(f64, f64)>);

impl Polyline {
    /// The same line, lower by so much.
    pub fn lowered(&self, by: f64) -> Self {
        Polyline(self.0.iter().map(|&(r, v)| (r, v - by)).collect())
    }

    /// The function at a radius; not a number before its first corner.
    pub fn height(&self, radius: f64) -> f64 {
        let at = self.0.partition_point(|&(r, _)| r <= radius);
        match (at.checked_sub(1).map(|i| self.0[i]), self.0.get(at)) {
            (Some((r0, v0)), Some(&(r1, v1))) => v0 + (v1 - v0) * ((radius - r0) / (r1 - r0)),
            (Some((_, v)), None) => v,
            // Before the first corner there is nothing.
            (None, _) => f64::NAN,
        }
    }

    /// The smallest radius after which this is above `other`.
    pub fn first_above(&self, other: &Polyline) -> Option<f64> {
        let mut corners: Vec<f64> = self.0.iter().chain(&other.0).map(|c| c.0).collect();
        corners.sort_unstable_by(f64::total_cmp);
        corners.dedup();
        let largest = |p: &Polyline| p.0.iter().fold(0.0, |m: f64, c| m.max(c.1.abs()));
        let slack = INDIFFERENT * largest(self).max(largest(other));
        let mut before: Option<(f64, f64)> = None;
        for radius in corners {
            let above = self.height(radius) - other.height(radius);
            if above.is_nan() {
                continue;
            }
            if above > slack {
                return Some(match before {
                    // Below, then above: where the straight line between is 0.
                    Some((r, d)) if d < 0.0 => r + (radius - r) * (-d / (above - d)),
                    Some((r, _)) => r,
                    None => radius,
                });
            }
            before = Some((radius, above));
        }
        None
    }
}
