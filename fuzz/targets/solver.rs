//! Small problems of any size of numbers: every certificate holds and agrees with the dual.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seawall::EngineKind;
use seawall_fuzz::bytes::Bytes;
use seawall_fuzz::certificate::{KINDS, radius_of, set_of, verify};
use seawall_fuzz::problem::{Choices, case_of};

fuzz_target!(init: seawall_fuzz::one_thread(), |bytes: &[u8]| {
    let r = &mut Bytes(bytes);
    let kind = r.below(KINDS);
    let engines = [EngineKind::Auto, EngineKind::Grid, EngineKind::Scan, EngineKind::Tree];
    // A smoothed set has no tree.
    let engine = engines[r.below(if kind == 1 { 3 } else { 4 })];
    let far = [0, 0, 0, 3, -3, 9, 60, -60][r.below(8)];
    let set = set_of(kind, r);
    let mut case = case_of(r);
    let radius = radius_of(set, &case, r);
    // η has the units of one over the values.
    if kind != 1 {
        let factor = 10f64.powi(far);
        let offset = [0.0, 0.0, 1.0, -100.0][r.below(4)] * factor;
        case.values.iter_mut().for_each(|f| *f = *f * factor + offset);
    }
    if let Err(what) = verify(set, &case, radius, engine) {
        panic!("{what}\n{:?}\n{:?}", case.values, case.weights());
    }
});
