//! The native part of the Python package `seawall`: arguments in, JSON and arrays out.
//!
//! - [`declare`]: from arguments to a checked study, whose data are then counted: files, or Arrow streams;
//! - [`study`]: such studies, and every question about them;
//! - [`ask`]: what is asked, from arguments;
//! - [`transfer`]: the questions about other populations and past groups;
//! - [`compare`]: the same policies under several sets;
//! - [`answers`]: what comes of them;
//! - [`arrays`]: worst cases, curves, distances and logged policies on plain arrays;
//! - [`learner`]: estimators of Python's as outcome models;
//! - [`policy`]: a saved policy on rows of its own;
//! - [`run`]: work off the interpreter's lock, with progress and Ctrl-C;
//! - [`frame`]: columns as an Arrow table.
//!
//! Modules, each importing only from those before it: `error`, `answers`, `ask`, `frame`, `learner`, `policy`,
//! `run`, `arrays`, `study`, `declare`, `transfer`, `compare`.
//!
//! What a result is called and how it looks is the business of the Python files beside this.

mod answers;
mod arrays;
mod ask;
mod compare;
mod declare;
mod error;
mod frame;
mod learner;
mod policy;
mod run;
mod study;
mod transfer;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::add(module)?;
    module.add_class::<declare::Declaration>()?;
    module.add_class::<study::Study>()?;
    module.add_class::<answers::Evaluation>()?;
    module.add_class::<answers::Learned>()?;
    module.add_class::<frame::Table>()?;
    module.add_function(wrap_pyfunction!(arrays::worst_case, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::curve, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::has_exact_curve, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::distance, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::evaluate_policy, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::levels, module)?)?;
    module.add_function(wrap_pyfunction!(policy::probabilities, module)?)?;
    module.add_function(wrap_pyfunction!(policy::words, module)?)?;
    module.add_function(wrap_pyfunction!(frame::frame, module)?)?;
    module.add_function(wrap_pyfunction!(run::after_fork, module)?)?;
    module.add_function(wrap_pyfunction!(transfer::with_known, module)?)?;
    module.add_function(wrap_pyfunction!(transfer::with_history, module)?)?;
    module.add_function(wrap_pyfunction!(transfer::history, module)?)?;
    module.add_function(wrap_pyfunction!(transfer::group_query, module)?)?;
    module.add_function(wrap_pyfunction!(transfer::grouped, module)?)?;
    module.add_function(wrap_pyfunction!(transfer::with_past, module)?)?;
    module.add_function(wrap_pyfunction!(transfer::transfer, module)?)?;
    module.add_function(wrap_pyfunction!(transfer::valued_by_group, module)?)?;
    module.add_function(wrap_pyfunction!(transfer::backtest, module)?)?;
    module.add_function(wrap_pyfunction!(transfer::describe, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(study::demo, module)?)
}
