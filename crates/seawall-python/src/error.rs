//! Errors as Python knows them: one family, the library's own words.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{create_exception, exceptions::PyOSError};
use seawall_study::fields::FrontEnd;
use seawall_study::words::printable;

create_exception!(seawall, SeawallError, PyException, "Anything that Seawall refuses.");
create_exception!(seawall, InputError, SeawallError, "The data cannot be used.");
create_exception!(seawall, ConfigError, SeawallError, "What is asked cannot be meant.");
create_exception!(seawall, NumericError, SeawallError, "A computation failed.");
create_exception!(
    seawall,
    Stopped,
    SeawallError,
    "The work was stopped before there was an answer."
);

/// Puts the exceptions into the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("SeawallError", py.get_type::<SeawallError>())?;
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("NumericError", py.get_type::<NumericError>())?;
    module.add("Stopped", py.get_type::<Stopped>())
}

/// The library's error as an exception; what Python raised before it is its cause.
pub fn raised(error: seawall::Error) -> PyErr {
    // What is printed on a terminal does not command it.
    let words = printable(&error.worded(&FrontEnd::Python)).into_owned();
    let raised = of_kind(&error, words);
    let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<PyErr>());
    if let Some(cause) = cause {
        Python::attach(|py| raised.set_cause(py, Some(cause.clone_ref(py))));
    }
    raised
}

fn of_kind(error: &seawall::Error, words: String) -> PyErr {
    if error.is_input() || error.is_io() {
        InputError::new_err(words)
    } else if error.is_config() {
        ConfigError::new_err(words)
    } else if error.is_stopped() {
        Stopped::new_err(words)
    } else {
        NumericError::new_err(words)
    }
}

/// JSON as text, the bytes that the program prints.
pub fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyOSError::new_err(e.to_string()))
}
