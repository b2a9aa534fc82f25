//! What `cargo xtask docs` writes is what is checked in, and manual pages and completions work where they are used.
//!
//! `BLESS=1 cargo test -p vfscale --test e2e generated` writes it anew, as `cargo xtask docs` does.

use crate::docs::root;
use crate::support::{run, skip, temp_dir, vfscale};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use xtask::Program;

fn have(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

fn pages() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs/man")).expect("list docs/man");
    let mut pages: Vec<PathBuf> =
        entries.map(|entry| entry.expect("list docs/man").path()).collect();
    pages.sort();
    assert!(pages.len() > 10, "{pages:?}");
    pages
}

#[test]
fn what_is_checked_in_is_what_comes_out() {
    // A simulation's last digits are those of the build, and `cargo xtask docs` makes a debug build.
    if !cfg!(debug_assertions) {
        return skip("needs a debug build");
    }
    let program = Program::new(env!("CARGO_BIN_EXE_vfscale"));
    let all = xtask::docs::generate(&program, root()).expect("it can be generated");
    if std::env::var_os("BLESS").is_some() {
        xtask::docs::write(&all, root()).expect("it can be written");
    }
    let found = xtask::docs::differences(&all, root()).expect("it can be compared");
    assert!(found.is_empty(), "{}\nrun: cargo xtask docs", found.join("\n"));
}

#[test]
fn groff_has_nothing_to_say_about_the_manual_pages() {
    if !have("man") || !have("groff") {
        return skip("needs man and groff");
    }
    for page in pages() {
        let mut man = Command::new("man");
        man.args(["--warnings", "-E", "UTF-8", "-Tutf8", "-l"]).arg(&page);
        let ran = run(man.env("MANWIDTH", "80").env("LC_ALL", "C.UTF-8")).exits(0);
        assert_eq!(ran.stderr, "", "{}", page.display());
        // Bold letters are letters that are struck twice.
        let letters: Vec<char> = ran.stdout.chars().collect();
        let struck = |at: usize| letters.get(at + 1) == Some(&'\u{8}') || letters[at] == '\u{8}';
        let plain: String =
            (0..letters.len()).filter(|at| !struck(*at)).map(|at| letters[at]).collect();
        for head in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS"] {
            assert!(plain.contains(&format!("\n{head}\n")), "{}: {head}", page.display());
        }
    }
}

#[test]
fn mandoc_finds_no_error_in_the_manual_pages() {
    if !have("mandoc") {
        return skip("needs mandoc");
    }
    for page in pages() {
        // Style and warnings about the generator's macros are not errors.
        let ran = run(Command::new("mandoc").args(["-T", "lint", "-W", "error"]).arg(&page));
        assert_eq!((ran.code(), &*ran.stdout), (Some(0), ""), "{}: {ran}", page.display());
    }
}

#[test]
fn manual_pages_go_to_a_directory_that_is_there() {
    let dir = temp_dir();
    let there = dir.path().to_str().expect("UTF-8");
    let ran = run(&mut vfscale(&["man", there])).exits(0);
    assert!(ran.stderr.contains("written to"), "{ran}");
    let missing = format!("{there}/missing");
    let ran = run(&mut vfscale(&["man", &missing])).exits(2);
    assert!(ran.stderr.contains("make it first"), "{ran}");
}

/// What bash offers for the last of these words.
fn bash_offers(words: &[&str]) -> Vec<String> {
    let dir = temp_dir();
    let script = dir.path().join("vfscale");
    let completions = run(&mut vfscale(&["completions", "bash"])).exits(0).stdout;
    fs::write(&script, completions).expect("write the completions");
    let last = words.len() - 1;
    let line = format!(
        "source {script}; COMP_WORDS=({words}); COMP_CWORD={last}; \
         _vfscale vfscale '{this}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script = script.display(),
        words = words.iter().map(|word| format!("'{word}' ")).collect::<String>(),
        this = words[last],
        before = words[last - 1],
    );
    let ran = run(Command::new("bash").args(["--norc", "-c", &line])).exits(0);
    assert_eq!(ran.stderr, "");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_workloads_and_formats() {
    if !have("bash") {
        return skip("needs bash");
    }
    assert_eq!(bash_offers(&["vfscale", "comp"]), ["compare", "completions"]);
    assert_eq!(bash_offers(&["vfscale", "run", "--pre"]), ["--precision"]);
    assert_eq!(bash_offers(&["vfscale", "run", "open_c"]), ["open_close"]);
    assert_eq!(bash_offers(&["vfscale", "run", "--format", "mark"]), ["markdown"]);
    assert_eq!(bash_offers(&["vfscale", "compare", "--format", "ma"]), ["markdown", "mail"]);
    assert_eq!(bash_offers(&["vfscale", "list", "work"]), ["workloads"]);
}

#[test]
fn zsh_and_fish_take_their_completions() {
    let dir = temp_dir();
    for shell in ["zsh", "fish"] {
        if !have(shell) {
            skip(&format!("needs {shell}"));
            continue;
        }
        let file = dir.path().join(shell);
        let completions = run(&mut vfscale(&["completions", shell])).exits(0).stdout;
        fs::write(&file, completions).expect("write the completions");
        let ran = run(Command::new(shell).arg("-n").arg(&file)).exits(0);
        assert_eq!(ran.stderr, "", "{shell}");
    }
}
