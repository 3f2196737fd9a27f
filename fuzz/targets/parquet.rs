//! Parquet: any bytes are rows, or one line that names the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seawall_fuzz::reading::read;

fuzz_target!(init: seawall_fuzz::one_thread(), |bytes: &[u8]| read("d.parquet", bytes));
