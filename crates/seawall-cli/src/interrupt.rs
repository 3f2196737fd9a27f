//! Ctrl-C: what is half done is left as if it had never been begun.
//!
//! A command ends at once, with one line and the exit code of what is interrupted; only a file that
//! is between two names gets its own first. A command that has something to show when it is stopped
//! early heeds Ctrl-C instead: it asks whether it came, and ends by itself. A second one ends it
//! like the others.

use crate::failure::INTERRUPTED;
use crate::show;
use seawall_table::write::undisturbed;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
static HEEDED: AtomicBool = AtomicBool::new(false);
static ENDING: AtomicBool = AtomicBool::new(false);

/// Looks out for Ctrl-C from now on. Where that cannot be done, it ends the program as ever.
pub fn look_out() {
    let _ = ctrlc::set_handler(|| {
        let again = ASKED.swap(true, Ordering::SeqCst);
        if again || !HEEDED.load(Ordering::SeqCst) {
            end();
        }
    });
}

/// From now on Ctrl-C is only noted, unless it came already.
pub fn heed() {
    HEEDED.store(true, Ordering::SeqCst);
}

/// Whether it came.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Ends the program as its command ended; what comes after that comes too late, and where Ctrl-C is about
/// to end it, that does.
pub fn is_over() {
    if ENDING.swap(true, Ordering::SeqCst) {
        loop {
            std::thread::park();
        }
    }
}

fn end() {
    let _undisturbed = undisturbed();
    if ENDING.swap(true, Ordering::SeqCst) {
        return;
    }
    let mut err = std::io::stderr();
    if err.is_terminal() {
        // What showed the progress is still on the line.
        let _ = write!(err, "\r\u{1b}[2K");
    }
    show::complain("error", "interrupted");
    std::process::exit(i32::from(INTERRUPTED));
}
