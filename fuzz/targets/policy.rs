//! Policy files: any text is a policy, or one line; a policy's chances are chances, and it is the same
//! policy after it was saved and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seawall::policy::Policy;
use seawall::policy::file::PolicyFile;
use seawall::{Feature, Space};
use seawall_fuzz::{reading, told};
use seawall_study::apply::apply;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

const ROWS: &[u8] = b"age,site,grade\n45,north,mild\n61.5,south,severe\n,north,\n65,,mild\n";

fuzz_target!(init: seawall_fuzz::one_thread(), |text: &str| {
    let file = match PolicyFile::from_json(text) {
        Ok(file) => file,
        Err(error) => return drop(told(&error)),
    };
    match file.validate() {
        Ok(()) => drop(file.explain()),
        Err(error) => drop(told(&error)),
    }
    match apply(&file, rows()) {
        Ok(applied) => applied.write(&mut Vec::new()).expect("memory can be written"),
        Err(error) => drop(told(&error)),
    }
    let (space, actions) = (space(), ["treat", "control"].map(str::to_owned));
    let policy = match file.on(&space, &actions) {
        Ok(policy) => policy,
        Err(error) => return drop(told(&error)),
    };
    for context in 0..space.len() {
        let row = policy.row(context);
        let total: f64 = row.iter().sum();
        assert!(row.iter().all(|p| (0.0..=1.0 + 1e-9).contains(p)), "{row:?}");
        assert!((total - 1.0).abs() <= 1e-6, "{row:?}");
    }
    let saved = PolicyFile::new(&policy, &space, &actions).expect("it fits its own space");
    let saved = saved.to_json().expect("a policy can be written");
    let again = PolicyFile::from_json(&saved).expect("what was written can be read");
    same(&policy, &again.on(&space, &actions).expect("and fits"));
});

fn same(a: &Policy, b: &Policy) {
    for context in 0..a.space().len() {
        let pairs = a.row(context).iter().zip(b.row(context));
        let near = pairs.clone().all(|(a, b)| (a - b).abs() <= 1e-9);
        assert!(near, "context {context}: {:?} and {:?}", a.row(context), b.row(context));
    }
}

fn space() -> Arc<Space> {
    static SPACE: OnceLock<Arc<Space>> = OnceLock::new();
    let made = || {
        let features = [
            Feature::numeric("age").levels([45.0, 55.0, 65.0]).with_missing(),
            Feature::nominal("site", ["north", "south"]),
            Feature::ordinal("grade", ["mild", "severe"]).with_missing(),
        ];
        Arc::new(Space::grid(features).expect("a space"))
    };
    SPACE.get_or_init(made).clone()
}

fn rows() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| reading::file("rows.csv", ROWS))
}
