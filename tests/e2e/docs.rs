//! Every command that a document shows is run, and what the documents list is what there is.

use crate::support::{Running, mounts_of_the_documents, run, temp_dir, vfscale};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use xtask::blocks;

pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).expect(name)
}

fn commands(document: &str) -> Vec<String> {
    blocks::commands(document).into_iter().map(|shown| shown.command).collect()
}

/// What to type for a command of a document; none for what is not run here.
fn line(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split(' ').collect();
    match words[..] {
        // The built program stands for building and running it.
        ["cargo", "run", "--release", "--", ref arguments @ ..] => {
            Some(format!("vfscale {}", arguments.join(" ")))
        }
        ["vfscale", ..] => Some(command.to_owned()),
        // This test is run by scripts/test, and scripts/test runs the other one.
        ["scripts/test"] | ["scripts/static-build"] => {
            assert!(root().join(words[0]).is_file(), "{command}");
            None
        }
        // Benchmarks are built by every test run; they take a minute.
        ["cargo", "run", "--release", "-p", package] => {
            let directory = package.strip_prefix("bench-").unwrap_or(package);
            assert!(root().join("bench").join(directory).is_dir(), "{command}");
            None
        }
        _ => panic!("the test does not know how to run: {command}"),
    }
}

/// Runs the commands of a document, one after another, in a directory that is also their home.
fn run_all(document: &str, commands: &[String]) {
    run_lines(document, commands.iter().filter_map(|command| line(command)));
}

/// Runs lines of a shell likewise.
fn run_lines(document: &str, lines: impl IntoIterator<Item = String>) {
    let dir = temp_dir();
    let binaries = Path::new(env!("CARGO_BIN_EXE_vfscale")).parent().expect("it is in a folder");
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    for line in lines {
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(dir.path());
        // Runs are stored in a home of the test's own.
        shell.env("PATH", &path).env("HOME", dir.path());
        shell.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
        // A page of `reproduce` takes seconds, and ten times that in a debug build.
        let ran = Running::start(&mut shell).wait(Duration::from_secs(180));
        // What a check finds on a machine that is busy with other tests is not this test's business.
        let checks = line.starts_with("vfscale check ") || line.contains(" --fail-on ");
        let finds = checks && ran.code() == Some(1);
        assert!(finds || ran.code() == Some(0), "{document}: {line}: {ran}");
        let into = ["--output ", " > ~/"].iter().find_map(|how| Some(line.split_once(how)?.1));
        let wrote = into
            .is_some_and(|file| dir.path().join(file.split(' ').next().unwrap_or(file)).exists());
        // What there is nothing to say about, and a folder of pages.
        let silent = line.starts_with("vfscale man ") || line.starts_with("vfscale clean ");
        assert!(!ran.stdout.is_empty() || wrote || silent, "{document}: {line}");
    }
}

#[test]
fn every_command_of_the_readme_works() {
    let commands = commands(&read("README.md"));
    assert!(commands.len() >= 6, "{commands:?}");
    if mounts_of_the_documents() {
        run_all("README.md", &commands);
    }
}

/// Commands that the help shows as examples, of every subcommand and of the program.
fn examples() -> Vec<String> {
    let help = |arguments: &[&str]| run(&mut vfscale(arguments)).exits(0).stdout;
    let whole = help(&["--help"]);
    let (_, rest) = whole.split_once("\nCommands:\n").expect("the commands are listed");
    let listed = rest.lines().take_while(|line| !line.is_empty());
    let commands = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let mut examples = Vec::new();
    let commands = commands.filter(|name| !name.is_empty() && *name != "help");
    for text in commands.map(|name| help(&[name, "--help"])).chain([whole.clone()]) {
        let (_, below) = text.split_once("\nExamples:\n").expect("every command has examples");
        let (below, _) = below.split_once("\n\n").unwrap_or((below, ""));
        let below = below.replace("\\\n          ", "");
        examples.extend(
            below.lines().filter_map(|line| line.strip_prefix("      ")).map(str::to_owned),
        );
    }
    examples
}

/// The same command in a second, where it takes a budget: what is tested is that it is understood and done.
fn hurried(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    let budget = ["run", "compare", "check", "power", "reproduce"].contains(&words[1]);
    match words.iter().position(|word| *word == "--time") {
        Some(at) => words[at + 1] = "1s",
        // Stored runs are compared as they are.
        None if budget && !line.contains(" base ") => words.extend(["--time", "1s"]),
        None => {}
    }
    words.join(" ")
}

#[test]
fn every_example_of_the_help_works() {
    let examples = examples();
    assert!(examples.len() > 35, "{examples:?}");
    if !mounts_of_the_documents() {
        return;
    }
    let readme = commands(&read("README.md"));
    // Kernels are fetched and booted by the tests of guests; a page of `reproduce` takes long enough once.
    let elsewhere = |line: &str| {
        line.contains("guest:")
            || line.contains(" fetch-kernel ")
            || (line.contains(" reproduce ") && readme.contains(&line.to_owned()))
    };
    let files = root().join("crates/imports/tests/files");
    let setup = [
        "mkdir -p .local/share/bash-completion/completions .zfunc .config/fish/completions .local/share/man/man1 && echo made".to_owned(),
        format!("cp {files}/will-it-scale/open1.csv open1.csv && cp {files}/fio/fio-3.json results.json && echo copied", files = files.display()),
        "vfscale run fstat --save base --time 1s".to_owned(),
        "vfscale run fstat --save patched --time 1s --format json --output run.json".to_owned(),
    ];
    let shown = examples.iter().filter(|line| !elsewhere(line)).map(|line| hurried(line));
    run_lines("the help", setup.into_iter().chain(shown));
}

/// Pages of the book, as paths from the root, in the order of the summary.
fn pages() -> Vec<String> {
    let links = links(&read("docs/SUMMARY.md"));
    assert!(links.len() > 15, "{links:?}");
    links.into_iter().map(|link| format!("docs/{link}")).collect()
}

/// Where the links of a Markdown text lead; code blocks have none.
fn links(text: &str) -> Vec<String> {
    let mut code = false;
    let mut links = Vec::new();
    for line in text.lines() {
        code ^= line.starts_with("```");
        let ends = line.split("](").skip(1).filter(|_| !code);
        links.extend(ends.filter_map(|rest| rest.split_once(')')).map(|(link, _)| link.to_owned()));
    }
    links
}

/// A head as a link names it: lower case, dashes for blanks, nothing else but letters, digits and `_`.
fn anchor(head: &str) -> String {
    let text = head.trim_start_matches('#').trim().to_lowercase();
    let keep = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    text.chars().filter(keep).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_command_of_the_guide_works() {
    let pages = pages();
    if !mounts_of_the_documents() {
        return;
    }
    let mut count = 0;
    for page in &pages {
        // What is generated is run where it is compared.
        let shown = blocks::commands(&read(page)).into_iter().filter(|shown| !shown.generated);
        let commands: Vec<String> = shown.map(|shown| shown.command).collect();
        run_all(page, &commands);
        count += commands.len();
    }
    assert!(count > 30, "{count}");
}

#[test]
fn every_page_is_in_the_summary_once() {
    let mut listed = pages();
    listed.sort();
    let files = blocks::files(root()).expect("docs can be listed");
    let mut files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    files.retain(|file| file != "docs/SUMMARY.md");
    files.sort();
    assert_eq!(listed, files);
}

#[test]
fn no_link_of_a_document_is_dead() {
    let mut documents = pages();
    documents.extend(["README.md", "ARCHITECTURE.md", "docs/SUMMARY.md"].map(str::to_owned));
    let mut dead = Vec::new();
    for document in &documents {
        let text = read(document);
        for link in links(&text) {
            if link.contains("://") {
                continue;
            }
            let (file, head) = link.split_once('#').unwrap_or((&link, ""));
            let there = root().join(document).with_file_name(file);
            let there = if file.is_empty() { root().join(document) } else { there };
            let found = match std::fs::read_to_string(&there) {
                Ok(text) => {
                    head.is_empty()
                        || text.lines().any(|line| line.starts_with('#') && anchor(line) == head)
                }
                Err(_) => false,
            };
            // The book has no page outside of its folder.
            let leaves = document.starts_with("docs/")
                && there.canonicalize().is_ok_and(|there| {
                    !there.starts_with(root().join("docs").canonicalize().expect("docs"))
                });
            if !found || leaves {
                dead.push(format!("{document}: {link}"));
            }
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

/// First cells of the tables' rows below a head, without their backquotes.
fn documented(text: &str, head: &str) -> BTreeSet<String> {
    let below = text.split_once(&format!("\n## {head}\n")).expect(head).1;
    let section = below.split("\n## ").next().unwrap_or(below);
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    cells.map(|(key, _)| key.to_owned()).collect()
}

#[test]
fn every_key_of_a_machine_file_is_documented_and_no_other() {
    let text = read("docs/machine-format.md");
    let mut found: [BTreeSet<String>; 5] = Default::default();
    let mut note = |table: &toml::Table, at: usize| found[at].extend(table.keys().cloned());
    let entries = std::fs::read_dir(root().join("machines")).expect("list machines");
    for entry in entries {
        let path = entry.expect("list machines").path();
        let machine = std::fs::read_to_string(&path).expect("a machine file is text");
        let machine: toml::Table = machine.parse().expect("a machine file is TOML");
        note(&machine, 0);
        for (key, value) in &machine {
            match value {
                toml::Value::Table(table) if key == "bus" => note(table, 3),
                toml::Value::Table(table) if key == "node" => note(table, 4),
                toml::Value::Table(table) => note(table, 1),
                toml::Value::Array(levels) => {
                    levels.iter().filter_map(toml::Value::as_table).for_each(|t| note(t, 2));
                }
                _ => {}
            }
        }
    }
    for (keys, head) in found.iter().zip(["Top level", "Value", "Level", "Bus", "Node"]) {
        assert_eq!(*keys, documented(&text, head), "{head}");
    }
}

#[test]
fn the_machine_of_the_document_can_be_used() {
    let text = read("docs/machine-format.md");
    let machine = text.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```"));
    let dir = temp_dir();
    let file = dir.path().join("two.toml");
    std::fs::write(&file, machine.expect("there is an example").0).expect("write it");
    let arguments = "run fstat --on sim:./two.toml/linux-6.18 --tasks 1,4 --rounds 2 --format csv";
    let words: Vec<&str> = arguments.split(' ').collect();
    let ran = run(vfscale(&words).current_dir(dir.path())).exits(0);
    assert_eq!(ran.stdout.lines().count(), 3, "{ran}");
}

#[test]
fn what_surrounds_the_program_is_documented_as_in_the_manual() {
    let page = read("docs/guide/surroundings.md");
    let manual = read("docs/man/vfscale.1");
    let names = |text: &str| -> BTreeSet<String> {
        let name = |word: &str| {
            let upper = |c: char| c.is_ascii_uppercase() || c == '_';
            (word.len() > 3 && word.chars().all(upper)).then(|| word.to_owned())
        };
        let is_word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        text.split(is_word).filter_map(name).collect()
    };
    let (_, rest) = manual.split_once(".SH ENVIRONMENT").expect("a section");
    let environment = rest.split(".SH").next().unwrap_or(rest);
    let documented = documented(&page, "Environment");
    for name in names(environment).into_iter().filter(|name| name != "ASCII") {
        assert!(documented.contains(&name) || page.contains(&format!("`{name}`")), "{name}");
    }
    let codes = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    let codes: Vec<u8> = codes.filter_map(|code| code.parse().ok()).collect();
    assert_eq!(codes, [0, 1, 2, 3, 4, 130]);
}

#[test]
fn the_readme_lists_the_mails_workloads_and_every_suite() {
    let readme = read("README.md");
    for suite in vfs_api::Suite::ALL {
        let name = format!("`{}`", suite.name());
        assert!(readme.contains(&name), "missing in README.md: the suite {name}");
    }
    for info in workloads::suite(vfs_api::Suite::Mails) {
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
