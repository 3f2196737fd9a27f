//! Work off the interpreter's lock: on a thread of its own, watched from the caller's, which tells
//! the progress and looks for Ctrl-C.

use crate::error::{ConfigError, NumericError, raised};
use pyo3::prelude::*;
use seawall::{Progress, Watch};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often the caller's thread looks up.
const TICK: Duration = Duration::from_millis(50);

/// Whether this process was forked from one that had loaded the package.
static FORKED: AtomicBool = AtomicBool::new(false);

/// To be called in a child process, after it was forked.
#[pyfunction]
pub fn after_fork() {
    FORKED.store(true, Ordering::Relaxed);
}

/// What the work tells while it goes on.
#[derive(Default)]
struct Watcher {
    stop: AtomicBool,
    wanted: AtomicBool,
    words: Mutex<Option<String>>,
}

impl Watcher {
    /// Takes in how far the work has got; false means stop.
    pub fn follow(&self, progress: Progress<'_>) -> bool {
        // Words are made only when somebody is about to read them.
        if self.wanted.swap(false, Ordering::Relaxed)
            && let Ok(mut place) = self.words.lock()
        {
            *place = Some(progress.to_string());
        }
        !self.stop.load(Ordering::Relaxed)
    }

    fn said(&self) -> Option<String> {
        self.wanted.store(true, Ordering::Relaxed);
        self.words.lock().ok().and_then(|mut words| words.take())
    }
}

/// Does the work. `threads` limits how many are used; `progress` is called with words.
pub fn run<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(Watch<'_>) -> seawall::Result<T> + Send,
) -> PyResult<T> {
    let forked = FORKED.load(Ordering::Relaxed);
    let pool = match threads {
        // The threads of the process that this one was forked from are not here.
        None if forked => {
            let pool = rayon::ThreadPoolBuilder::new().build();
            Some(pool.map_err(|e| NumericError::new_err(format!("threads: {e}")))?)
        }
        None => None,
        Some(n @ 1..=1024) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
            Some(pool.map_err(|e| ConfigError::new_err(format!("threads={n}: {e}")))?)
        }
        Some(n) => {
            let words = format!("threads is {n}; expected a number from 1 to 1024");
            return Err(ConfigError::new_err(words));
        }
    };
    let watcher = Watcher::default();
    let (result, interrupted) = py.detach(|| {
        let (done, finished) = channel::<()>();
        let mut interrupted: Option<PyErr> = None;
        let watcher = &watcher;
        std::thread::scope(|scope| {
            let worker = scope.spawn(move || {
                // Dropped when the work ends, however it ends.
                let _done = done;
                let follow = |progress: Progress<'_>| watcher.follow(progress);
                let watch = Watch::new(&follow);
                match pool {
                    Some(pool) => pool.install(|| work(watch)),
                    None => work(watch),
                }
            });
            while let Err(RecvTimeoutError::Timeout) = finished.recv_timeout(TICK) {
                let told = watcher.said();
                let looked = Python::attach(|py| -> PyResult<()> {
                    py.check_signals()?;
                    if let (Some(call), Some(words)) = (progress, told) {
                        call.call1(py, (words,))?;
                    }
                    Ok(())
                });
                if let Err(error) = looked {
                    watcher.stop.store(true, Ordering::Relaxed);
                    interrupted.get_or_insert(error);
                }
            }
            (worker.join(), interrupted)
        })
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    match result {
        Ok(result) => result.map_err(raised),
        Err(_) => Err(NumericError::new_err("an internal error; please report it with the input")),
    }
}
