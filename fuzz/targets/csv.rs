//! CSV: any bytes are rows, or one line that names the file; and the rows are those that reading letter
//! by letter finds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seawall_fuzz::plain_csv::records;
use seawall_fuzz::reading::{columns, file, read};
use seawall_table::read::Reading;

fuzz_target!(init: seawall_fuzz::one_thread(), |bytes: &[u8]| {
    read("d.csv", bytes);
    compare(bytes);
});

/// The cells of up to three columns, in both ways.
fn compare(bytes: &[u8]) {
    let records = records(bytes);
    let Some((header, rows)) = records.split_first() else { return };
    let names = header.iter().map(|name| std::str::from_utf8(name).ok());
    let Some(names) = names.collect::<Option<Vec<&str>>>() else { return };
    let alone = |k: &usize| names.iter().filter(|name| **name == names[*k]).count() == 1;
    let places: Vec<usize> = (0..names.len()).filter(alone).take(3).collect();
    let wanted: Vec<(&str, Reading)> =
        places.iter().map(|&k| (names[k], Reading::Values)).collect();
    if wanted.is_empty() {
        return;
    }
    let Ok((table, distinct)) = columns(&file("d.csv", bytes), &wanted) else { return };
    assert_eq!(table.rows, rows.len(), "rows");
    for (row, record) in rows.iter().enumerate() {
        for (at, &place) in places.iter().enumerate() {
            let code = table.codes[at][row] as usize;
            let read = distinct[at].text(code).map(|text| text.as_bytes());
            let plain = Some(record[place].as_slice()).filter(|cell| !cell.is_empty());
            // A number may be spelled otherwise.
            let number = distinct[at].number(code).is_some();
            assert!(
                read == plain || number,
                "row {row}, {:?}: {read:?}, not {plain:?}",
                wanted[at].0
            );
        }
    }
}
