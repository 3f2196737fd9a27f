//! A panic in a library that reads damaged bytes, made an error.
//!
//! The Parquet reader and others like it check much of a file but not all: one changed byte can
//! lead them beyond the end of a slice. What they were reading is lost then, and nothing else is,
//! so the panic is caught where it happens and told as the file's fault.
//!
//! Not here: panics of our own counting, which are bugs and stay panics; a library that asks for
//! more memory than there is, which ends the program whoever watches.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether this thread is in a library whose panics are told as errors.
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// Does the work; if it panics, what the panic said, on one line. What the work changed must not
/// be used afterwards.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    // Panics that become errors are not printed as well; all others as ever.
    HOOK.call_once(|| {
        let printed = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !WATCHED.get() {
                printed(panic);
            }
        }));
    });
    let before = WATCHED.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    WATCHED.set(before);
    done.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let line = text.and_then(|text| text.lines().next()).unwrap_or("it did not say why");
        format!("damaged: its reader gave up ({line})")
    })
}
