//! Errors as Python knows them: one family, the library's own words.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::{create_exception, exceptions::PyOSError};

create_exception!(seawall, SeawallError, PyException, "Anything that Seawall refuses.");
create_exception!(seawall, InputError, SeawallError, "The data cannot be used.");
create_exception!(seawall, ConfigError, SeawallError, "What is asked cannot be meant.");
create_exception!(seawall, NumericError, SeawallError, "A computation failed.");

/// Puts the exceptions into the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("SeawallError", py.get_type::<SeawallError>())?;
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("NumericError", py.get_type::<NumericError>())
}

/// The library's error as an exception.
pub fn raised(error: seawall::Error) -> PyErr {
    let words = error.to_string();
    if error.is_input() {
        InputError::new_err(words)
    } else if error.is_config() {
        ConfigError::new_err(words)
    } else {
        NumericError::new_err(words)
    }
}

/// JSON as text, the bytes that the program prints.
pub fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyOSError::new_err(e.to_string()))
}
