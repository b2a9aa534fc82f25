//! The facade costs nothing: code generic over `Platform`, for `Real`, compiles to the instructions of the same code written by
//! hand on std's atomics.
//!
//! `same_instructions/facade.rs` and `same_instructions/by_hand.rs` are compiled as crates of their own, so that the compiler
//! cannot fold equal functions into one, and as a program would compile them (release, but one unit and no LTO, which could only
//! help). Then the instructions are compared, function by function.

#[path = "same_instructions/by_hand.rs"]
mod by_hand;
#[path = "same_instructions/facade.rs"]
mod facade;

use machine::sync::PerCpu;
use machine::{Cpu, Real};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// Begins a comment in assembler text.
const COMMENT: &str = if cfg!(target_arch = "x86_64") { "#" } else { "//" };

/// Makes a workspace of the two crates; answers its directory.
fn write_workspace() -> PathBuf {
    let machine = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = machine.join("tests/same_instructions");
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("same_instructions");
    let package = |name: &str, dependencies: &str| {
        let dir = root.join(name);
        fs::create_dir_all(&dir).unwrap();
        let source = sources.join(name).with_extension("rs");
        let manifest = format!(
            "[package]\nname = {name:?}\nedition = \"2024\"\n\
             [lib]\npath = {source:?}\n[dependencies]\n{dependencies}\n"
        );
        fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    };
    package("facade", &format!("machine = {{ path = {machine:?} }}"));
    package("by_hand", "");
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"facade\", \"by_hand\"]\n\
                     [profile.release]\ncodegen-units = 1\n";
    fs::write(root.join("Cargo.toml"), workspace).unwrap();
    // The versions that this workspace has, which are on this machine already.
    fs::copy(machine.join("../../Cargo.lock"), root.join("Cargo.lock")).unwrap();
    root
}

/// Compiles a crate to assembler text.
fn assembler(root: &Path, package: &str) -> String {
    let out = root.join(package).with_extension("s");
    let output = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["rustc", "--offline", "--quiet", "--release", "--package", package])
        .arg("--target-dir")
        .arg(root.join("target"))
        .args(["--", "--emit"])
        .arg(format!("asm={}", out.display()))
        // Somebody's coverage or sanitizer would be in the functions too.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read_to_string(out).unwrap()
}

/// A name that the compiler gives out by counting or hashing: a label of the file, or a constant.
fn is_local(word: &str) -> bool {
    word.starts_with(".L")
}

/// The instructions with local names numbered in the order in which they come. Directives are left out: they are no instructions.
fn normalised<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut numbers = HashMap::new();
    let mut normalised = Vec::new();
    for line in lines {
        let line = line.split(COMMENT).next().unwrap_or_default().trim();
        let label = line.ends_with(':');
        if line.is_empty() || (line.starts_with('.') && !label) {
            continue;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._$".contains(c);
        let mut text = String::new();
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let word = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            if is_name(first) && is_local(&rest[..word]) {
                let next = numbers.len();
                let number = *numbers.entry(rest[..word].to_owned()).or_insert(next);
                text.push_str(&format!(".L{number}"));
                rest = &rest[word..];
            } else {
                let end = word.max(first.len_utf8());
                text.push_str(&rest[..end]);
                rest = &rest[end..];
            }
        }
        // Columns are set by tabs.
        normalised.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    // A label that nobody jumps to says nothing (the function's begin and end among them).
    let used = |label: &str| {
        let name = label.trim_end_matches(':');
        normalised
            .iter()
            .any(|line| !line.ends_with(':') && line.split([' ', ',', '(']).any(|w| w == name))
    };
    normalised.iter().filter(|line| !line.ends_with(':') || used(line)).cloned().collect()
}

/// The instructions of a function.
fn function(assembler: &str, name: &str) -> Vec<String> {
    let begin = format!("{name}:");
    let mut lines = assembler.lines().skip_while(|line| !line.starts_with(&begin));
    assert!(lines.next().is_some(), "no function {name}");
    let end = format!(".size\t{name},");
    let instructions = normalised(lines.take_while(|line| !line.trim().starts_with(&end)));
    assert!(instructions.iter().any(|line| line.starts_with("ret")), "{name}: {instructions:?}");
    instructions
}

#[test]
fn the_facade_compiles_to_what_is_written_by_hand() {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        eprintln!(
            "SKIPPED: same instructions: the assembler text of this architecture is not known here"
        );
        return;
    }
    let root = write_workspace();
    let facade = assembler(&root, "facade");
    let by_hand = assembler(&root, "by_hand");
    let pair = |name: &str| {
        (
            function(&facade, &format!("facade_{name}")),
            function(&by_hand, &format!("by_hand_{name}")),
        )
    };
    for name in ["look_up", "put", "increment", "locked_increment"] {
        let (facade, by_hand) = pair(name);
        assert_eq!(facade, by_hand, "{name}: through the facade and by hand");
    }
    // And it would be seen: a fence more is a difference, and so is any other function.
    let (with, without) = pair("fence");
    assert_ne!(with, without, "one has a fence more");
    assert_ne!(pair("increment").0, pair("locked_increment").0);
}

#[test]
fn names_and_comments_do_not_matter_but_instructions_do() {
    let lines = |text: &'static str| normalised(text.lines());
    let a =
        lines("\t.cfi_startproc\n.LBB0_1:\n\tmovq\t(%rdi), %rax\n\tjne\t.LBB0_1\n.Lfunc_end0:\n");
    let b = lines(".LBB7_3:\n\tmovq (%rdi), %rax\n\tjne\t.LBB7_3\n");
    assert_eq!(a, b);
    assert_eq!(a, [".L0:", "movq (%rdi), %rax", "jne .L0"]);
    assert_ne!(a, lines(".LBB7_3:\n\tmovq (%rdi), %rax\n\tje\t.LBB7_3\n"), "another condition");
    assert_ne!(a, lines(".LBB7_3:\n\tmovq (%rdi), %rcx\n\tjne\t.LBB7_3\n"), "another register");
    let forth = lines("\tje\t.LBB1_2\n\tnop\n.LBB1_2:\n\tnop\n.LBB1_3:\n\tje\t.LBB1_3\n");
    let back = lines("\tje\t.LBB1_3\n\tnop\n.LBB1_2:\n\tnop\n.LBB1_3:\n\tje\t.LBB1_3\n");
    assert_ne!(forth, back, "another place to jump to");
}

#[test]
fn both_do_the_same() {
    let file = facade::File { count: AtomicU64::new(1) };
    let slots = [(&raw const file).cast_mut(), std::ptr::null_mut()].map(AtomicPtr::new);
    let table = facade::Table { slots: Box::new(slots) };
    let files = facade::Files { table: AtomicPtr::new((&raw const table).cast_mut()) };
    let hand_file = by_hand::File { count: AtomicU64::new(1) };
    let slots = [(&raw const hand_file).cast_mut(), std::ptr::null_mut()].map(AtomicPtr::new);
    let table = by_hand::Table { slots: Box::new(slots) };
    let hand_files = by_hand::Files { table: AtomicPtr::new((&raw const table).cast_mut()) };
    for (fd, there) in [(0, true), (1, false), (2, false), (-1, false)] {
        assert_eq!(facade::facade_look_up(&files, fd).is_some(), there, "{fd}");
        assert_eq!(by_hand::by_hand_look_up(&hand_files, fd).is_some(), there, "{fd}");
    }
    let counts = || (file.count.load(Relaxed), hand_file.count.load(Relaxed));
    assert_eq!(counts(), (2, 2));
    for last in [false, true] {
        assert_eq!(facade::facade_put(&file), last);
        assert_eq!(by_hand::by_hand_put(&hand_file), last);
    }

    let counters = PerCpu::<Real, _>::new(2, |_| AtomicU64::new(0));
    facade::facade_increment(&counters, 1);
    facade::facade_locked_increment(&counters, 1);
    let counter = || by_hand::Counter(AtomicU64::new(0));
    let hand_counters = by_hand::Counters { counters: Box::new([counter(), counter()]) };
    by_hand::by_hand_increment(&hand_counters, 1);
    by_hand::by_hand_locked_increment(&hand_counters, 1);
    let (this, that) = (counters.get(Cpu(1)), &hand_counters.counters[1].0);
    assert_eq!((this.load(Relaxed), that.load(Relaxed)), (2, 2));
    assert_eq!(facade::facade_fence(this, that), by_hand::by_hand_fence(that, this) + 1);
}
