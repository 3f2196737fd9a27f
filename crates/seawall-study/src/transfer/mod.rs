//! From here to there: what policies would cost in another population of which something is known, and
//! what recorded groups say of how wrong that is.

mod period;
mod recorded;
