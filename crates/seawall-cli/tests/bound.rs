//! `seawall bound` through the built binary: formats, outputs, and every kind of bad input.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{folder, json, run};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

const TABLE: &str = "age,sex,loss,n
30,F,0.1,10
40,M,0.4,5
55,F,0.9,2
70,M,1.4,1
80,F,2.5,0
";

const GRID: &str = "x,y,loss
0,a,1
0,b,2
1,a,3
1,b,5
";

const ASK: &str = "--value loss --weight n --context age --context sex --radius 0.1";

#[test]
fn every_format_gives_the_same_answer() {
    let gz = |bytes: &[u8]| {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        to.write_all(bytes).unwrap();
        to.finish().unwrap()
    };
    let lines: String = TABLE
        .lines()
        .skip(1)
        .map(|line| {
            let f: Vec<&str> = line.split(',').collect();
            format!(
                "{{\"age\": {}, \"sex\": \"{}\", \"loss\": {}, \"n\": {}}}\n",
                f[0], f[1], f[2], f[3]
            )
        })
        .collect();
    let parquet = parquet();
    let folder = folder(&[
        ("t.csv", TABLE.as_bytes()),
        ("t.tsv", TABLE.replace(',', "\t").as_bytes()),
        ("bom.csv", format!("\u{feff}{TABLE}").as_bytes()),
        ("t.csv.gz", &gz(TABLE.as_bytes())),
        ("t.csv.zst", &zstd::encode_all(TABLE.as_bytes(), 3).unwrap()),
        ("t.jsonl", lines.as_bytes()),
        ("t.jsonl.gz", &gz(lines.as_bytes())),
        ("t.parquet", &parquet),
        ("t.parquet.zst", &zstd::encode_all(&parquet[..], 3).unwrap()),
    ]);
    let mut answers = Vec::new();
    for file in [
        "t.csv",
        "t.tsv",
        "bom.csv",
        "t.csv.gz",
        "t.csv.zst",
        "t.jsonl",
        "t.jsonl.gz",
        "t.parquet",
        "t.parquet.zst",
    ] {
        let mut found = json(folder.path(), &format!("bound {file} {ASK} --json"));
        assert_eq!(found["rows"], 5, "{file}");
        found["results"][0]["seconds"] = 0.into();
        answers.push((file, found.to_string()));
    }
    for (file, answer) in &answers {
        assert_eq!(answer, &answers[0].1, "{file}");
    }
}

fn parquet() -> Vec<u8> {
    let mut columns: Vec<Vec<&str>> = vec![Vec::new(); 4];
    for line in TABLE.lines().skip(1) {
        columns.iter_mut().zip(line.split(',')).for_each(|(column, field)| column.push(field));
    }
    let numbers = |c: &[&str]| -> ArrayRef {
        Arc::new(c.iter().map(|x| x.parse::<f64>().unwrap()).collect::<Float64Array>())
    };
    let batch = RecordBatch::try_from_iter([
        ("age", numbers(&columns[0])),
        ("sex", Arc::new(StringArray::from(columns[1].clone())) as ArrayRef),
        ("loss", numbers(&columns[2])),
        ("n", numbers(&columns[3])),
    ])
    .unwrap();
    parquet_bytes(&batch)
}

fn parquet_bytes(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn typed_columns_are_read_as_what_they_are() {
    use arrow_array::{Date32Array, DictionaryArray, Int32Array, Int64Array};
    let keys = Int32Array::from(vec![0, 1, 2]);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![10, 1000, 11]));
    let batch = RecordBatch::try_from_iter([
        ("k", Arc::new(DictionaryArray::try_new(keys, numbers.clone()).unwrap()) as ArrayRef),
        ("k2", numbers),
        ("day", Arc::new(Date32Array::from(vec![1, 2, 3])) as ArrayRef),
        ("v", Arc::new(Float64Array::from(vec![1.0, 5.0, 3.0])) as ArrayRef),
    ])
    .unwrap();
    let bytes = parquet_bytes(&batch);
    let folder = folder(&[("t.parquet", &bytes)]);
    let value = |context: &str| {
        let args = format!("bound t.parquet --value v --context {context} --radius 0.1 --json");
        json(folder.path(), &args)["results"][0]["value"].clone()
    };
    assert_eq!(value("k:numeric"), value("k2:numeric"));
    assert_eq!(value("k"), value("k2"));
    value("day:nominal");
    let dates = "bound t.parquet --value v --context day:numeric --radius 0.1";
    refused(&[("t.parquet", &bytes)], dates, &["\"day\"", "expected numbers"]);
}

#[test]
fn json_has_every_field_and_the_bounds_hold() {
    let folder = folder(&[("t.csv", TABLE.as_bytes())]);
    for set in ["wasserstein", "kl", "entropic --eta 20"] {
        let args = format!("bound t.csv {ASK},0,9 --set {set} --json");
        let found = json(folder.path(), &args);
        let keys: Vec<&String> = found.as_object().unwrap().keys().collect();
        assert_eq!(keys[..5], ["rows", "support", "nominal", "direction", "results"]);
        assert_eq!(found["direction"], "lower is better");
        assert_eq!(found["support"], "points");
        let results = found["results"].as_array().unwrap();
        assert_eq!(results.len(), 3);
        for result in results {
            let keys: Vec<&String> = result.as_object().unwrap().keys().collect();
            let expected = [
                "set",
                "radius",
                "eta",
                "value",
                "lower",
                "upper",
                "gap",
                "status",
                "lambda",
                "engine",
                "evaluations",
                "unobserved_mass",
            ];
            assert_eq!(keys[..12], expected, "{set}");
            assert!(keys.iter().any(|key| *key == "seconds"), "{set}");
            let at = |key: &str| result[key].as_f64().unwrap();
            assert!(at("lower") <= at("value") && at("value") <= at("upper"));
            assert_eq!(result["status"], "optimal");
        }
    }
}

#[test]
fn the_plan_and_the_curve_are_what_the_answer_says() {
    let folder = folder(&[("t.csv", TABLE.as_bytes())]);
    let found =
        json(folder.path(), &format!("bound t.csv {ASK},0.02 --json --curve c.csv --plan p.csv"));
    let losses = [0.1, 0.4, 0.9, 1.4, 2.5];
    let weights = [10.0, 5.0, 2.0, 1.0, 0.0].map(|n| n / 18.0);
    let plan = std::fs::read_to_string(folder.path().join("p.csv")).unwrap();
    let mut lines = plan.lines();
    assert_eq!(
        lines.next().unwrap(),
        "radius,from_row,to_row,mass,cost,from_age,from_sex,to_age,to_sex"
    );
    let rows: Vec<Vec<f64>> =
        lines.map(|l| l.split(',').take(5).map(|x| x.parse().unwrap()).collect()).collect();
    for (at, radius) in [0.1, 0.02].into_iter().enumerate() {
        let mut left = [0.0; 5];
        let (mut mean, mut spent) = (0.0, 0.0);
        for row in rows.iter().filter(|r| r[0] == radius) {
            left[row[1] as usize - 1] += row[3];
            mean += row[3] * losses[row[2] as usize - 1];
            spent += row[3] * row[4];
        }
        for (left, p) in left.iter().zip(weights) {
            assert!((left - p).abs() < 1e-15);
        }
        let lower = found["results"][at]["lower"].as_f64().unwrap();
        assert!((mean - lower).abs() < 1e-14 && spent <= radius + 1e-14);
    }
    let curve = std::fs::read_to_string(folder.path().join("c.csv")).unwrap();
    let first: Vec<f64> =
        curve.lines().nth(1).unwrap().split(',').map(|x| x.parse().unwrap()).collect();
    assert!(first[0] == 0.0 && (first[1] - found["nominal"].as_f64().unwrap()).abs() < 1e-15);
    let last: Vec<f64> =
        curve.lines().last().unwrap().split(',').map(|x| x.parse().unwrap()).collect();
    assert!((last[1] - 2.5).abs() < 1e-15 && last[2] == 0.0);
}

#[test]
fn people_get_a_table_and_words() {
    let folder = folder(&[("t.csv", TABLE.as_bytes())]);
    let found = run(folder.path(), &format!("bound t.csv {ASK}"));
    assert_eq!(found.code, 0);
    for words in ["lower is better", "optimal", "of the population", "→", "unobserved"] {
        assert!(found.out.contains(words), "{words:?} is not in:\n{}", found.out);
    }
    let found = run(folder.path(), &format!("bound t.csv {ASK} --reward"));
    assert!(found.out.contains("higher is better") && found.out.contains("lowest"));
    let found = run(folder.path(), &format!("bound t.csv {ASK} --set kl"));
    assert!(found.out.contains("weighed anew"), "{}", found.out);
}

#[test]
fn engines_threads_and_the_grid_agree() {
    let folder = folder(&[("t.csv", TABLE.as_bytes()), ("g.csv", GRID.as_bytes())]);
    let value = |args: &str| json(folder.path(), args)["results"][0]["value"].as_f64().unwrap();
    let base = value(&format!("bound t.csv {ASK} --json"));
    for engine in ["grid", "tree", "scan"] {
        let other = value(&format!("bound t.csv {ASK} --json --engine {engine}"));
        assert!((other - base).abs() < 1e-13, "{engine}");
    }
    for threads in [1, 2] {
        let args = format!("--threads {threads} bound t.csv {ASK} --json");
        assert_eq!(value(&args).to_bits(), base.to_bits());
    }
    let ask = "bound g.csv --value loss --context x --context y --radius 0.3 --json";
    let (points, grid) = (value(ask), value(&format!("{ask} --support grid")));
    assert!((points - grid).abs() < 1e-14);
}

#[test]
fn missing_values_are_a_level_and_kinds_are_guessed() {
    let table = "age,site,loss\n30,a,1\n,b,2\n50,,3\nNA,a,4\n";
    let folder = folder(&[("t.csv", table.as_bytes())]);
    let found = json(
        folder.path(),
        "bound t.csv --value loss --context age --context site --radius 100 --json",
    );
    assert_eq!(found["results"][0]["value"], 4.0);
    // Fixed: rows of site a, b and none keep to themselves.
    let found = json(
        folder.path(),
        "bound t.csv --value loss --context age --context site:fixed --radius 100 --json",
    );
    assert_eq!(found["results"][0]["value"], (4.0 + 4.0 + 2.0 + 3.0) / 4.0);
}

/// Asks for a refusal: exit code 2, one line that holds every word, and no output file.
fn refused(files: &[(&str, &[u8])], args: &str, words: &[&str]) {
    let folder = folder(files);
    let found = run(folder.path(), &format!("{args} --curve c.csv --plan p.csv"));
    assert_eq!(found.code, 2, "{args}: {} {}", found.out, found.err);
    assert_eq!(found.out, "", "{args}");
    let first = found.err.lines().next().unwrap_or_default();
    for word in words {
        assert!(first.contains(word), "{args}: {word:?} is not in {first:?}");
    }
    if !first.contains("invalid value") {
        assert_eq!(found.err.lines().count(), 1, "{args}: {}", found.err);
    }
    let mut left: Vec<PathBuf> =
        std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().path()).collect();
    left.retain(|p| !files.iter().any(|(name, _)| p.ends_with(name)));
    assert!(left.is_empty(), "{args} left {left:?}");
}

fn with(find: &str, put: &str) -> Vec<u8> {
    assert!(TABLE.contains(find));
    TABLE.replacen(find, put, 1).into_bytes()
}

#[test]
fn bad_values_and_weights() {
    let ask = format!("bound t.csv {ASK}");
    for (put, words) in [
        ("40,M,NaN,5", &["t.csv", "row 2", "\"loss\"", "NaN", "finite"][..]),
        ("40,M,,5", &["t.csv", "row 2", "\"loss\"", "missing"]),
        ("40,M,inf,5", &["t.csv", "row 2", "\"loss\"", "inf", "finite"]),
        ("40,M,high,5", &["t.csv", "row 2", "\"loss\"", "\"high\"", "not a number"]),
        ("40,M,0.4,-5", &["t.csv", "row 2", "\"n\"", "-5", "≥ 0"]),
        ("40,M,0.4,NaN", &["t.csv", "row 2", "\"n\"", "NaN"]),
        ("inf,M,0.4,5", &["t.csv", "row 2", "\"age\"", "inf"]),
    ] {
        refused(&[("t.csv", &with("40,M,0.4,5", put))], &ask, words);
    }
    let numeric = "bound t.csv --value loss --context sex:numeric --radius 0.1";
    refused(
        &[("t.csv", TABLE.as_bytes())],
        numeric,
        &["row 1", "\"sex\"", "\"F\"", "not a number"],
    );
    let zero = "age,sex,loss,n\n30,F,0.1,0\n40,M,0.4,0\n";
    refused(&[("t.csv", zero.as_bytes())], &ask, &["t.csv", "\"n\"", "every weight is 0"]);
}

#[test]
fn bad_files() {
    let ask = format!("bound t.csv {ASK}");
    let csv = |bytes: &[u8], words: &[&str]| refused(&[("t.csv", bytes)], &ask, words);
    csv(&with("40,M,0.4,5", "40,M,0.4"), &["t.csv", "row 2", "expected 4"]);
    csv(&with("40,M,0.4,5", "40,M,0.4,5,6"), &["t.csv", "row 2", "expected 4"]);
    csv(b"", &["t.csv", "empty"]);
    csv(b"age,sex,loss,n\n", &["t.csv", "no rows"]);
    csv(
        &with("40,M", "40,\u{e9}")
            .iter()
            .map(|b| if *b > 127 { 0xe9 } else { *b })
            .collect::<Vec<_>>(),
        &["t.csv", "UTF-8"],
    );
    refused(&[], &ask, &["t.csv", "No such file"]);
    refused(&[("t.xlsx", b"x")], &format!("bound t.xlsx {ASK}"), &["t.xlsx", ".csv", ".parquet"]);

    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(TABLE.repeat(2000).as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    let ask_gz = format!("bound t.csv.gz {ASK}");
    refused(&[("t.csv.gz", &gz[..gz.len() / 2])], &ask_gz, &["t.csv.gz"]);
    refused(&[("t.csv.gz", TABLE.as_bytes())], &ask_gz, &["t.csv.gz", "gzip"]);
    let zst = zstd::encode_all(TABLE.as_bytes(), 3).unwrap();
    refused(
        &[("t.csv.zst", &zst[..zst.len() / 2])],
        &format!("bound t.csv.zst {ASK}"),
        &["t.csv.zst"],
    );
    let ask_parquet = format!("bound t.parquet {ASK}");
    let parquet = parquet();
    refused(&[("t.parquet", &parquet[..parquet.len() - 20])], &ask_parquet, &["t.parquet"]);
    refused(&[("t.parquet", b"")], &ask_parquet, &["t.parquet"]);
    refused(&[("t.parquet", TABLE.as_bytes())], &ask_parquet, &["t.parquet"]);
    let good = "{\"age\": 1, \"sex\": \"F\", \"loss\": 1, \"n\": 1}\n";
    for bad in ["{\"age\": 1,\n", "5\n", "[1]\n"] {
        let lines = format!("{good}{good}{bad}");
        let ask = format!("bound t.jsonl {ASK}");
        refused(&[("t.jsonl", lines.as_bytes())], &ask, &["t.jsonl", "row 3", "JSON object"]);
    }
    let open = "age,sex,loss,n,note\n30,F,0.1,10,fine\n40,M,0.4,5,\"oops\n55,F,0.9,2,fine\n";
    csv(open.as_bytes(), &["t.csv", "quote", "never closed"]);
    refused(
        &[("t.jsonl", b"{\"age\": {\"x\": 1}, \"sex\": \"F\", \"loss\": 1, \"n\": 1}\n")],
        &format!("bound t.jsonl {ASK}"),
        &["t.jsonl", "\"age\"", "expected numbers or text"],
    );
}

#[test]
fn bad_questions() {
    let file: &[(&str, &[u8])] = &[("t.csv", TABLE.as_bytes())];
    let ask = |rest: &str, words: &[&str]| {
        refused(file, &format!("bound t.csv --value loss --weight n --context age {rest}"), words);
    };
    ask("--radius -0.1", &["radius", "-0.1", "≥ 0"]);
    ask("--radius nan", &["radius", "NaN"]);
    ask("--radius inf", &["radius", "inf"]);
    ask("--radius much", &["much", "--radius"]);
    ask("--radius 0.1 --set entropic", &["--eta"]);
    ask("--radius 0.1 --set entropic --eta 0", &["--eta", "0", "> 0"]);
    ask("--radius 0.1 --set entropic --eta -3", &["--eta", "-3"]);
    ask("--radius 0.1 --eta 3", &["--eta", "entropic"]);
    ask("--radius 0.1 --context sex:colour", &["colour", "numeric, ordinal, nominal, fixed"]);
    ask("--radius 0.1 --context sex:nominal:-1", &["-1", "≥ 0"]);
    ask("--radius 0.1 --context sez", &["t.csv", "\"sez\"", "did you mean \"sex\""]);
    ask("--radius 0.1 --context age", &["two features", "\"age\""]);
    ask("--radius 0.1 --set entropic --eta 3 --engine tree", &["tree", "scan"]);
    ask("--radius 0.1 --threads 0", &["--threads"]);
    let unknown = "bound t.csv --value gain --context age --radius 0.1";
    refused(file, unknown, &["t.csv", "\"gain\"", "loss"]);
}

#[test]
fn bad_grids() {
    let ask = "bound g.csv --value loss --context x --context y --radius 0.1 --support grid";
    let hole = GRID.replace("1,a,3\n", "");
    refused(&[("g.csv", hole.as_bytes())], ask, &["2 × 2 = 4", "lacks 1", "x=1, y=a"]);
    let twice = format!("{GRID}0,b,7\n");
    refused(&[("g.csv", twice.as_bytes())], ask, &["rows 2 and 5", "x=0, y=b"]);
    let swapped = GRID.replace("1,a,3\n", "0,b,3\n");
    refused(&[("g.csv", swapped.as_bytes())], ask, &["rows 2 and 3", "x=0, y=b"]);
    // 10 rows whose levels span 10¹² cells.
    let names: Vec<String> = (0..12).map(|k| format!("x{k}")).collect();
    let mut huge = format!("{},loss\n", names.join(","));
    for row in 0..10 {
        huge.push_str(&format!("{}1\n", format!("{row},").repeat(12)));
    }
    let contexts: String = names.iter().map(|n| format!(" --context {n}")).collect();
    refused(
        &[("g.csv", huge.as_bytes())],
        &format!("bound g.csv --value loss{contexts} --radius 0.1 --support grid"),
        &["1000000000000 cells", "lacks 999999999990", "x0=0", "x11=1"],
    );
    let points = format!("bound g.csv --value loss{contexts} --radius 0.1 --engine grid");
    refused(
        &[("g.csv", huge.as_bytes())],
        &points,
        &["--engine grid needs", "try --engine tree or --engine scan"],
    );
}

#[test]
fn outputs_never_replace_the_input_or_what_is_no_file() {
    let folder = folder(&[("t.csv", TABLE.as_bytes())]);
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    for (args, words) in [
        ("--curve t.csv", "the file that is read"),
        ("--plan ./t.csv", "the file that is read"),
        ("--plan sub", "not a regular file"),
        ("--plan /dev/null", "not a regular file"),
        ("--curve ./x.csv --plan x.csv", "the same file"),
        ("--curve x.csv --plan no/such/folder.csv", "cannot be written"),
    ] {
        let found = run(folder.path(), &format!("bound t.csv {ASK} {args}"));
        assert_eq!(found.code, 2, "{args}");
        assert!(found.err.contains(words), "{args}: {}", found.err);
        assert!(!folder.path().join("x.csv").exists(), "{args} left a file");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("t.csv")).unwrap(), TABLE);
}

#[test]
fn long_axes_and_free_moves_are_told() {
    let mut long = "x,v\n".to_owned();
    (0..20_000).for_each(|i| long.push_str(&format!("{}.5,{}\n", i * 3, (i * 7919) % 1000)));
    let free = "x,v\na,1\na,2\nb,3\n";
    let folder = folder(&[("long.csv", long.as_bytes()), ("free.csv", free.as_bytes())]);
    for kind in ["numeric", "nominal"] {
        let args = format!("bound long.csv --value v --context x:{kind} --radius 0.001 --json");
        let found = json(folder.path(), &args);
        assert_eq!(found["results"][0]["status"], "optimal");
    }
    let found = json(folder.path(), "bound free.csv --value v --context x --radius 0.1 --json");
    assert!(found["notes"][0].as_str().unwrap().contains("free"), "{found}");
    let found = json(folder.path(), "bound free.csv --value v --context x --radius 9 --json");
    assert_eq!(found["results"][0]["value"], 3.0);
}

#[test]
fn scales_that_cannot_be_computed_are_refused() {
    let file: &[(&str, &[u8])] = &[("t.csv", b"a,b,v\n1,x,1e300\n2,y,2e300\n")];
    let ask = "bound t.csv --value v --context a --context b";
    let folder = folder(file);
    let found = run(folder.path(), &format!("{ask} --radius 0.1 --set entropic --eta 1e300"));
    assert_eq!(found.code, 2);
    assert!(found.err.contains("out of scale"), "{}", found.err);
    let heavy = "bound t.csv --value v --context a:nominal:1e308 --context b:nominal:1e308";
    refused(file, &format!("{heavy} --radius 0.1"), &["lower the weights"]);
    refused(file, &format!("{ask} --radius 0.1 --context v"), &["both the value and a context"]);
    refused(file, "bound t.csv --value v --context a:fixed:2 --radius 1", &["fixed", "weight"]);
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let folder = folder(&[("t.csv", TABLE.as_bytes())]);
    let found = run(folder.path(), &format!("bound t.csv {ASK} --curve no/such/folder.csv"));
    assert_eq!(found.code, 2);
    assert!(found.err.contains("no/such/folder.csv") && found.out.is_empty());
}
