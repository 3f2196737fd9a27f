//! Places beside points: each is a point of a list with some of its features changed.
//!
//! Where mass moves, most of a place is as it was: what is kept is what changed.

/// Places, each a point and what differs from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    from: Vec<u32>,
    /// Where each place's changes end.
    ends: Vec<u32>,
    /// Feature and code.
    changes: Vec<(u32, f64)>,
}

impl Places {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.from.len()
    }

    /// Adds a place.
    pub(crate) fn push(&mut self, from: u32, changes: &[(u32, f64)]) {
        self.from.push(from);
        self.changes.extend_from_slice(changes);
        self.ends.push(self.changes.len() as u32);
    }

    /// What a place holds for a feature, `code` saying what its point does.
    #[inline]
    pub(crate) fn code(&self, place: usize, feature: usize, code: impl Fn(usize) -> f64) -> f64 {
        let first = place.checked_sub(1).map_or(0, |before| self.ends[before]) as usize;
        let changes = &self.changes[first..self.ends[place] as usize];
        let changed = changes.iter().find(|c| c.0 as usize == feature);
        changed.map_or_else(|| code(self.from[place] as usize), |c| c.1)
    }
}
