//! Study files: any text is a study, or one line that names the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seawall_fuzz::told;
use seawall_study::study::study_of;
use seawall_table::sql::{DIALECTS, query};
use std::path::Path;

fuzz_target!(|text: &str| {
    match study_of(Path::new("s.toml"), Path::new("."), text) {
        Err(error) => assert!(told(&error).starts_with("s.toml: "), "{error}"),
        Ok(study) => {
            for dialect in DIALECTS {
                let _ = query(&study.data, dialect, None).map_err(|e| told(&e));
            }
        }
    }
});
