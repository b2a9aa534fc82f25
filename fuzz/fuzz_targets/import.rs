//! Coverage-guided fuzzing of the import formats, one in each process: FORMAT names it, or else every format gets every input.
//!
//! No input may make a reader panic, hang (libFuzzer's -timeout), take more memory than a small multiple of the input, or give
//! a run that breaks the rules of the record. scripts/fuzz builds and runs it; FORMAT=fio cargo +nightly fuzz run import does too.

#![no_main]

use imports::{FORMATS, Format};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

#[allow(dead_code)] // of what the tests have in common a part
#[path = "../../crates/imports/tests/common/mod.rs"]
mod common;
#[path = "../../crates/imports/tests/common/counting.rs"]
mod counting;

/// The formats that are fuzzed.
static CHOSEN: LazyLock<Vec<&Format>> = LazyLock::new(|| match std::env::var("FORMAT") {
    Ok(name) => vec![Format::by_name(&name).expect("FORMAT is the name of a format")],
    Err(_) => FORMATS.iter().collect(),
});

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for format in &*CHOSEN {
        let (peak, parsed) = counting::peak_of(|| (format.parse)("f", &text));
        assert!(
            peak <= counting::allowed(text.len()),
            "{}: {peak} bytes for {}",
            format.name,
            text.len()
        );
        for imported in parsed.iter().flatten() {
            common::check(format, "f", &imported.run);
        }
    }
    // What it looks like, which any file is asked; several or none are no error here.
    let _ = imports::detect("f", &text);
});
