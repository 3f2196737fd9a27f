//! What policies would cost in a target, beside the rest of a report.
//!
//! Only policies that were given are here. A policy that the report learned was chosen on the rows that
//! would predict for it, so the allowance of past groups would not be its own.

use super::dedup;
use crate::prepare::PreparedStudy;
use crate::study::PolicySpec;
use crate::transfer::{Request, Transfers, transfer};
use seawall::{Result, Watch};

/// What policies would cost in a target, for the page, or why there is none.
#[derive(Clone, Debug)]
pub enum Transferred {
    /// What was found.
    Found(Box<Transfers>),
    /// Why nothing was.
    Refused(String),
}

impl Transferred {
    /// What policies would cost in a study's target; the study's own policies if there are none. None
    /// where nothing is known of a target and no past groups are recorded. Past groups that are in the
    /// log must have been counted ([`Study::grouped`](crate::study::Study::grouped)).
    ///
    /// A target that the log cannot be made like leaves the rest of a report as it was, so it is told
    /// there. Whoever records groups asks for them: what is wrong with those is an error.
    pub fn of(
        loaded: &PreparedStudy,
        policies: &[PolicySpec],
        level: f64,
        watch: Watch<'_>,
    ) -> Result<Option<Self>> {
        let study = &loaded.study;
        let recorded = study.history.is_some();
        if !recorded && loaded.target.is_none() && study.target.known.is_empty() {
            return Ok(None);
        }
        let mut policies =
            if policies.is_empty() { study.policies.clone() } else { policies.to_vec() };
        dedup(&mut policies);
        let request = Request { policies, level, method: None, compare: true };
        match transfer(loaded, &request, watch) {
            Ok(found) => Ok(Some(Transferred::Found(Box::new(found)))),
            Err(e) if !recorded && (e.is_input() || e.is_numeric()) => {
                Ok(Some(Transferred::Refused(e.to_string())))
            }
            Err(e) => Err(e),
        }
    }
}
