//! Every command that a document shows is run, and what the documents list is what there is.

use crate::support::{Running, mounts_of_the_documents, run, temp_dir};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).expect(name)
}

/// Lines that begin with "$ " in blocks marked as `console`.
fn commands(document: &str) -> Vec<String> {
    let mut inside = false;
    let mut commands = Vec::new();
    for line in document.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside && let Some(command) = line.strip_prefix("$ ") {
            commands.push(command.to_owned());
        }
    }
    commands
}

#[test]
fn every_command_of_the_readme_works() {
    let commands = commands(&read("README.md"));
    assert!(commands.len() >= 6, "{commands:?}");
    if !mounts_of_the_documents() {
        return;
    }
    let dir = temp_dir();
    let binaries = Path::new(env!("CARGO_BIN_EXE_vfscale")).parent().expect("it is in a folder");
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let line = match words[..] {
            // The built program stands for building and running it.
            ["cargo", "run", "--release", "--", ref arguments @ ..] => {
                format!("vfscale {}", arguments.join(" "))
            }
            ["vfscale", ..] => command.clone(),
            // This test is run by scripts/test, and scripts/test runs the other one.
            ["scripts/test"] | ["scripts/static-build"] => {
                assert!(root().join(words[0]).is_file(), "{command}");
                continue;
            }
            // Benchmarks are built by every test run; they take a minute.
            ["cargo", "run", "--release", "-p", package] => {
                let directory = package.strip_prefix("bench-").unwrap_or(package);
                assert!(root().join("bench").join(directory).is_dir(), "{command}");
                continue;
            }
            _ => panic!("the test does not know how to run: {command}"),
        };
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(dir.path());
        // Runs are stored in a home of the test's own.
        shell.env("PATH", &path).env("HOME", dir.path());
        shell.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
        // A page of `reproduce` takes seconds, and ten times that in a debug build.
        let ran = Running::start(&mut shell).wait(Duration::from_secs(180));
        // What a check finds on a machine that is busy with other tests is not this test's business.
        let finds = words.get(1) == Some(&"check") && ran.code() == Some(1);
        let ran = if finds { ran } else { ran.exits(0) };
        assert!(!ran.stdout.is_empty() || dir.path().join("run.json").exists(), "{command}");
    }
}

#[test]
fn the_readme_lists_every_workload() {
    let readme = read("README.md");
    for info in workloads::ALL {
        let row = format!("| `{}` | {} |", info.name, info.summary);
        assert!(readme.contains(&row), "missing in README.md: {row}");
    }
}

#[test]
fn exit_codes_are_documented_alike() {
    let help = run(Command::new(env!("CARGO_BIN_EXE_vfscale")).arg("--help")).exits(0).stdout;
    for document in [read("README.md"), read("ARCHITECTURE.md"), help] {
        let words = document.split_whitespace().collect::<Vec<_>>().join(" ");
        for code in [
            "1 a regression was found",
            "2 usage",
            "3 the run failed",
            "4 refused before the start",
            "130 interrupted",
        ] {
            assert!(words.contains(code), "{code}: {words}");
        }
    }
}
