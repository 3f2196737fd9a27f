//! What the fuzz targets share: choices made from bytes, a file to be read, and strict readers of HTML
//! and SQL that say whether a text got out of its quotes.
//!
//! A target fails by panicking. A panic that the readers' guard turns into an error is none: the
//! guard's hook stands before the fuzzer's, so that only what reaches the caller is counted.

pub mod bytes;
pub mod html;
pub mod plain_csv;
pub mod reading;
pub mod sql;

#[path = "../../crates/seawall/tests/common/certificate.rs"]
pub mod certificate;
#[path = "../../crates/seawall/tests/common/problem.rs"]
pub mod problem;

/// One thread: a run is repeated exactly by its input alone.
pub fn one_thread() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("no pool yet");
}

/// An error's words, which must be there and not say that the fault is ours. A front end folds names of
/// several lines into one.
pub fn told(error: &seawall::Error) -> String {
    let text = error.to_string();
    assert!(!text.is_empty() && !error.is_internal(), "{text:?}");
    text
}
