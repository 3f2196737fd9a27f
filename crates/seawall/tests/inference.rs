//! The finite-sample bound by hand.
#![allow(clippy::unwrap_used, clippy::panic)]

use seawall::inference::{Constants, finite_sample};

#[test]
fn the_finite_sample_bound_by_hand() {
    let constants = Constants {
        rows: 1e4,
        contexts: 10,
        support: 24,
        actions: 2,
        outcomes: 3,
        largest: 2.0,
        context_mass: 0.05,
        propensity: 0.4,
    };
    let found = finite_sample(&constants, 0.1, (None, None)).unwrap();
    let pairs = (4.0f64 * 10.0 * 2.0 / 0.1).ln();
    let expected = 2.0
        * ((2.0 * 20f64.ln() / 1e4).sqrt()
            + (10.0f64 / 1e4).sqrt()
            + (4.0 * pairs / (1e4 * 0.02)).sqrt()
            + (6.0f64 / (1e4 * 0.02)).sqrt());
    assert!((found.total - expected).abs() < 1e-12 && found.smoothing == 0.0);
    assert!((found.needed - 2.0 * pairs / 0.0004).abs() < 1e-6);
    // Smoothing counts twice: every context that mass may move to, and outcomes.
    let soft = finite_sample(&constants, 0.1, (Some(5.0), Some(5.0))).unwrap();
    assert!((soft.total - found.total - (24f64.ln() + 3f64.ln()) / 5.0).abs() < 1e-12);
    assert!(finite_sample(&constants, 1.0, (None, None)).is_err());
}
