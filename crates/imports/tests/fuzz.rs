//! Mutation fuzzing of every reader, seeded, with the files as corpus.
//!
//! `FUZZ_CASES` says how many inputs (a few thousand by default, for every test run), `FUZZ_SEED` where the stream of them begins; a
//! failure names the seed that repeats it alone. A watchdog ends the program if one input takes a minute.

use fastrand::Rng;
use imports::Format;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[allow(dead_code)] // of each test program a part
mod common;

/// Longest input, bytes.
const LONGEST: usize = 64 << 10;

/// What breaks readers of numbers and tables.
const TOKENS: &[&str] = &[
    "-1",
    "0",
    "-0",
    "nan",
    "-nan",
    "inf",
    "1e999",
    "1e-999",
    "0x10",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "####",
    "±",
    "\u{fffd}",
    "\0",
    "\r\n",
    "\n\n",
    "\u{feff}",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "%",
    "é",
    "\t",
    "                    ",
    "null",
    "1.5",
    ".",
];

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

#[test]
fn mutated_files() {
    let corpus = common::corpus();
    let (first, cases) = (setting("FUZZ_SEED", 1), setting("FUZZ_CASES", 4000));
    // 0: between two inputs.
    let running = AtomicU64::new(0);
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| watch(&running, &done, cases));
        for case in 0..cases {
            let seed = first.wrapping_add(case);
            running.store(seed, Ordering::SeqCst);
            let result = std::panic::catch_unwind(|| one(&corpus, seed));
            done.fetch_add(1, Ordering::SeqCst);
            if let Err(panic) = result {
                done.store(cases, Ordering::SeqCst);
                eprintln!("repeat with FUZZ_SEED={seed} FUZZ_CASES=1");
                std::panic::resume_unwind(panic);
            }
        }
    });
}

/// Ends the program if the count of inputs stands still.
fn watch(running: &AtomicU64, done: &AtomicU64, cases: u64) {
    let mut last = (0, Instant::now());
    loop {
        let count = done.load(Ordering::SeqCst);
        if count >= cases {
            return;
        }
        if count != last.0 {
            last = (count, Instant::now());
        } else if last.1.elapsed() > Duration::from_secs(60) {
            let seed = running.load(Ordering::SeqCst);
            eprintln!("no end: repeat with FUZZ_SEED={seed} FUZZ_CASES=1");
            std::process::abort();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

type File = (&'static Format, std::path::PathBuf, Vec<u8>);

fn one(corpus: &[File], seed: u64) {
    let mut random = Rng::with_seed(seed);
    let (format, _, bytes) = &corpus[random.usize(..corpus.len())];
    let mut bytes = bytes.clone();
    for _ in 0..random.usize(1..8) {
        mutate(&mut random, &mut bytes, corpus);
        bytes.truncate(LONGEST);
    }
    let text = String::from_utf8_lossy(&bytes);
    if let Ok(runs) = (format.parse)("f", &text) {
        runs.iter().for_each(|imported| common::check(format, "f", &imported.run));
    }
    // Whatever it looks like now.
    if let Ok(format) = imports::detect("f", &text) {
        let _ = (format.parse)("f", &text);
    }
}

fn mutate(random: &mut Rng, bytes: &mut Vec<u8>, corpus: &[File]) {
    if bytes.is_empty() {
        bytes.push(random.u8(..));
    }
    let at = random.usize(..bytes.len());
    let end = at + random.usize(..=(bytes.len() - at).min(200));
    match random.u32(..9) {
        0 => bytes[at] ^= 1 << random.u32(..8),
        1 => bytes[at] = random.u8(..),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let again = bytes[at..end].repeat(random.usize(1..20));
            drop(bytes.splice(at..at, again));
        }
        5 | 6 => {
            // In place of a word.
            let is_end = |byte: &u8| byte.is_ascii_whitespace() || b",:;".contains(byte);
            let end = bytes[at..].iter().position(is_end).map_or(bytes.len(), |length| at + length);
            let token = TOKENS[random.usize(..TOKENS.len())].bytes();
            drop(bytes.splice(at..end, token));
        }
        7 => {
            // A line to another place.
            let is_newline = |byte: &u8| *byte == b'\n';
            let end = bytes[at..]
                .iter()
                .position(is_newline)
                .map_or(bytes.len(), |length| at + length + 1);
            let line: Vec<u8> = bytes.drain(at..end).collect();
            let to = random.usize(..=bytes.len());
            drop(bytes.splice(to..to, line));
        }
        _ => {
            let (_, _, other) = &corpus[random.usize(..corpus.len())];
            let from = random.usize(..other.len());
            bytes.extend_from_slice(&other[from..]);
        }
    }
}
