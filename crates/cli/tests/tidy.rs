//! House rules of the source tree that neither the compiler nor clippy knows: headers, size of files, left-overs, where
//! `unsafe` may stand, which crate may depend on which.
//!
//! Every rule looks at the tree as it lies on disk, so that it also sees files that are not committed yet. A rule is a
//! function over text, and the last tests show each of them something that it must find.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A longer file does more than one thing.
const MAX_LINES: usize = 700;

/// A header of fewer words says no more than the file's name.
const MIN_HEADER_WORDS: usize = 4;

/// What authors write to themselves.
const LEFTOVERS: &[&str] = &["todo!", "unimplemented!", "dbg!"];

/// Crates whose work needs no `unsafe`.
const SAFE_CRATES: &[&str] = &[
    "compare",
    "imports",
    "report",
    "reproduce",
    "results",
    "stats",
    "store",
    "vfs-api",
    "workloads",
];

/// How lines in the header of a workload begin.
const WORKLOAD_LABELS: &[&str] = &["Shared:", "Should scale:", "Moves:", "Did not scale:"];

/// Top-level directories that hold people's checkouts. Without slashes, for this file has to keep the rule too.
const PRIVATE_ROOTS: &[&str] = &["home", "root", "work", "Users"];

/// Package, and the packages of this workspace that it may depend on, be it for its build, its tests or itself.
const ARROWS: &[(&str, &[&str])] = &[
    ("vfs-api", &[]),
    ("workloads", &["vfs-api"]),
    ("phased", &["vfs-api"]),
    ("stats", &[]),
    ("results", &["stats"]),
    ("report", &["results", "stats"]),
    ("compare", &["results", "stats"]),
    ("bench-ab", &["compare", "harness", "results", "stats", "vfs-api"]),
    ("store", &["results"]),
    ("imports", &["results"]),
    ("contention", &[]),
    ("machine", &["machine"]),
    ("lab", &["machine", "vfs-api"]),
    (
        "harness",
        &[
            "contention",
            "guest",
            "lab",
            "machine",
            "phased",
            "results",
            "vfs-api",
            "workloads",
            "stats",
        ],
    ),
    ("guest", &["results"]),
    ("reproduce", &["harness", "machine", "results", "stats", "vfs-api", "workloads"]),
    ("bench-guest", &["results", "stats"]),
    ("bench-peers", &["results", "stats", "workloads"]),
    ("overhead", &["harness", "results", "stats", "vfs-api", "workloads"]),
    ("bench-simulator", &["machine"]),
    ("xtask", &[]),
    ("bench-lab", &["harness", "lab", "machine", "results", "stats", "vfs-api", "workloads"]),
    (
        "vfscale",
        &[
            "compare",
            "contention",
            "guest",
            "harness",
            "imports",
            "lab",
            "machine",
            "phased",
            "report",
            "reproduce",
            "results",
            "stats",
            "store",
            "vfs-api",
            "workloads",
            "xtask",
        ],
    ),
];

#[test]
fn every_rust_file_begins_with_a_header() {
    assert_none(rust_files().iter().filter_map(|file| {
        let problem = header_problem(&file.text)?;
        Some(format!("{}: {problem}", file.name))
    }));
}

#[test]
fn nothing_is_left_over_from_unfinished_work() {
    assert_none(rust_files().iter().flat_map(|file| file.code_lines_with(has_leftover)));
}

#[test]
fn an_ignored_test_says_why() {
    assert_none(rust_files().iter().flat_map(|file| file.code_lines_with(is_silent_ignore)));
}

#[test]
fn files_are_short() {
    let files = files();
    let code = files.iter().filter(|file| file.is_rust() || file.name.starts_with("scripts/"));
    assert_none(code.filter_map(|file| {
        let lines = file.text.lines().count();
        (lines > MAX_LINES).then(|| format!("{}: {lines} lines, at most {MAX_LINES}", file.name))
    }));
}

#[test]
fn no_path_of_a_developer_machine() {
    let files = files();
    let written_here = files.iter().filter(|file| !file.name.contains("/fixtures/"));
    assert_none(written_here.flat_map(|file| lines_with(&file.name, &file.text, has_private_path)));
}

#[test]
fn the_architecture_describes_every_crate() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("read ARCHITECTURE.md");
    assert_none(crate_dirs().into_iter().filter_map(|name| {
        (!describes(&text, &name))
            .then(|| format!("ARCHITECTURE.md does not describe crates/{name}"))
    }));
}

#[test]
fn every_workload_says_what_is_shared_and_what_should_scale() {
    let files = rust_files();
    let workloads: Vec<_> = files.iter().filter(|file| file.is_workload()).collect();
    assert!(!workloads.is_empty(), "no workload found; has crates/workloads/src moved?");
    assert_none(workloads.iter().flat_map(|file| {
        let missing = missing_labels(&file.text).into_iter();
        missing.map(|label| format!("{}: its header has no line `//! {label} ...`", file.name))
    }));
}

#[test]
fn unsafe_stays_in_the_crates_that_need_it() {
    let is_safe = |file: &&File| {
        SAFE_CRATES.iter().any(|name| file.name.starts_with(&format!("crates/{name}/src/")))
    };
    let files = rust_files();
    assert_none(files.iter().filter(is_safe).flat_map(|file| file.code_lines_with(has_unsafe)));
}

#[test]
fn dependencies_point_one_way() {
    assert_none(workspace_packages().iter().flat_map(wrong_arrows));
}

// The rules.

/// Why `text` does not begin with a header of substance.
fn header_problem(text: &str) -> Option<String> {
    let words = header(text).flat_map(str::split_whitespace).count();
    match words {
        0 => Some("does not begin with a `//!` header".into()),
        _ if words < MIN_HEADER_WORDS => Some("its `//!` header says nothing".into()),
        _ => None,
    }
}

/// The text of the `//!` lines at the top.
fn header(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim)
}

fn has_leftover(code: &str) -> bool {
    LEFTOVERS.iter().any(|name| has_word(code, name))
}

fn is_silent_ignore(code: &str) -> bool {
    // The second form ends a `cfg_attr`.
    code.contains("#[ignore]") || (code.contains("#[cfg_attr") && code.contains("ignore)]"))
}

fn has_unsafe(code: &str) -> bool {
    has_word(code, "unsafe")
}

/// An absolute path into somebody's checkout; `target/home/x` and `https://host/home/` are none.
fn has_private_path(line: &str) -> bool {
    let continues_a_path = |c: char| c.is_alphanumeric() || "._-~*}>)/".contains(c);
    PRIVATE_ROOTS.iter().any(|name| {
        let root = format!("/{name}/");
        line.match_indices(&root).any(|(at, _)| !line[..at].ends_with(continues_a_path))
    })
}

/// Is there a place that names the crate as code or as a directory?
fn describes(text: &str, name: &str) -> bool {
    text.contains(&format!("`{name}`")) || has_word(text, &format!("{name}/"))
}

/// Labels that begin no line of the header, or have nothing after them.
fn missing_labels(text: &str) -> Vec<&'static str> {
    let says = |label: &str| {
        header(text).any(|line| line.strip_prefix(label).is_some_and(|rest| !rest.is_empty()))
    };
    WORKLOAD_LABELS.iter().copied().filter(|label| !says(label)).collect()
}

/// Dependencies of `package` that [`ARROWS`] does not have.
fn wrong_arrows(package: &Package) -> Vec<String> {
    let Package { name, dependencies } = package;
    match ARROWS.iter().find(|(from, _)| from == name) {
        None => vec![format!("{name} is new: say in ARROWS what it may depend on")],
        Some((_, allowed)) => dependencies
            .iter()
            .filter(|dependency| !allowed.contains(&dependency.as_str()))
            .map(|dependency| format!("{name} -> {dependency} is no arrow of the architecture"))
            .collect(),
    }
}

// What the rules look at.

/// A text file of the tree.
struct File {
    /// Path from the root of the repository, with slashes.
    name: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.name.ends_with(".rs")
    }

    /// Helpers beside the workloads need no such header.
    fn is_workload(&self) -> bool {
        self.name.starts_with("crates/workloads/src/")
            && has_word(&code_only(&self.text), "impl Workload for")
    }

    /// Where `found` is true of a line, comments and literals not looked at.
    fn code_lines_with(&self, found: fn(&str) -> bool) -> Vec<String> {
        lines_with(&self.name, &code_only(&self.text), found)
    }
}

fn lines_with(name: &str, text: &str, found: fn(&str) -> bool) -> Vec<String> {
    let lines = text.lines().enumerate().filter(|(_, line)| found(line));
    lines.map(|(index, line)| format!("{name}:{}: {}", index + 1, line.trim())).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rust_files() -> Vec<File> {
    let files: Vec<_> = files().into_iter().filter(File::is_rust).collect();
    assert!(files.len() > ARROWS.len(), "a crate has a file at least, found {}", files.len());
    files
}

/// Every text file of the tree but what is built or kept by tools.
fn files() -> Vec<File> {
    let mut files = Vec::new();
    let mut dirs = vec![root()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).expect("list a directory of the tree") {
            let entry = entry.expect("list a directory of the tree");
            let kind = entry.file_type().expect("type of a directory entry");
            let name = entry.file_name();
            if kind.is_dir() && name != "target" && name != ".git" {
                dirs.push(entry.path());
            } else if kind.is_file()
                && let Ok(text) = fs::read_to_string(entry.path())
            {
                let path = entry.path();
                let name = path.strip_prefix(root()).expect("below the root");
                files.push(File { name: name.display().to_string(), text });
            }
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

fn crate_dirs() -> Vec<String> {
    let dirs = fs::read_dir(root().join("crates")).expect("list crates");
    let names = dirs.map(|entry| entry.expect("list crates").file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect()
}

/// A member of the workspace and the members that it depends on.
struct Package {
    name: String,
    dependencies: Vec<String>,
}

fn workspace_packages() -> Vec<Package> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(root())
        .output()
        .expect("start cargo metadata");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");

    let array = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap_or_default().to_owned();
    array(&metadata["packages"])
        .iter()
        .map(|package| {
            let dependencies = array(&package["dependencies"]);
            // Only what is found by path is ours.
            let ours = dependencies.iter().filter(|dependency| dependency["path"].is_string());
            Package { name: name(package), dependencies: ours.map(name).collect() }
        })
        .collect()
}

/// Fails with all `problems`, one a line.
#[track_caller]
fn assert_none(problems: impl Iterator<Item = String>) {
    let problems: Vec<_> = problems.collect();
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

// Just enough of Rust's lexical structure.

/// Is `word` in `text` and not the end of a longer one? Where it ends in a letter it is not the beginning of one either.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let begins = !before.ends_with(|c| is_word(c) || c == '-');
        let ends = !word.ends_with(is_word) || !after.starts_with(is_word);
        begins && ends
    })
}

/// `text` with blanks for comments and literals; the lines keep their numbers.
fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_word = false;
    while let Some(first) = rest.chars().next() {
        let opaque = opaque_len(rest, in_word);
        let (taken, after) = rest.split_at(opaque.unwrap_or(first.len_utf8()));
        match opaque {
            Some(_) => code.extend(taken.chars().map(|c| if c == '\n' { c } else { ' ' })),
            None => code.push_str(taken),
        }
        in_word = opaque.is_none() && (first.is_alphanumeric() || first == '_');
        rest = after;
    }
    code
}

/// Length of the comment or literal that `text` begins with. `in_word`: what stands before is part of a name, so that an
/// `r` is not the prefix of a raw string.
fn opaque_len(text: &str, in_word: bool) -> Option<usize> {
    if text.starts_with("//") {
        Some(text.find('\n').unwrap_or(text.len()))
    } else if text.starts_with("/*") {
        Some(block_comment_len(text))
    } else if text.starts_with('"') {
        Some(escaped_len(text, '"'))
    } else if let Some(tail) = text.strip_prefix('\'') {
        // A lifetime has no quote behind its first character.
        let mut chars = tail.chars();
        let is_char = chars.next() == Some('\\') || chars.next() == Some('\'');
        is_char.then(|| escaped_len(text, '\''))
    } else if in_word {
        None
    } else {
        ["r", "br", "cr"].iter().find_map(|prefix| raw_string_len(text, prefix))
    }
}

/// Length of a literal that begins and ends with `quote`.
fn escaped_len(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn raw_string_len(text: &str, prefix: &str) -> Option<usize> {
    let tail = text.strip_prefix(prefix)?;
    let body = tail.trim_start_matches('#').strip_prefix('"')?;
    let hashes = &tail[..tail.len() - body.len() - 1];
    let closing = format!("\"{hashes}");
    let end = body.find(&closing).map_or(body.len(), |at| at + closing.len());
    Some(text.len() - body.len() + end)
}

/// Block comments nest.
fn block_comment_len(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while let Some(next) = text[at..].find(['/', '*']) {
        at += next;
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => depth += 1,
            [b'*', b'/', ..] => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

// The rules find what they are for.

#[test]
fn code_is_told_from_comments_and_literals() {
    let cases = [
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */ d */ e", "a                   e"),
        ("/*/ a */ b", "         b"),
        (r#"f("a\"b") c"#, "f(      ) c"),
        (r##"f(r#"a"b"#) c"##, "f(        ) c"),
        (r#"f(br"\") c"#, "f(     ) c"),
        ("r#type + for\"a\"", "r#type + for   "),
        ("'a' '\\'' '\"' 'é' b", "                 b"),
        ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
        ("\"a\nb\" c", "  \n   c"),
    ];
    for (text, code) in cases {
        assert_eq!(code_only(text), code, "of {text:?}");
    }
}

#[test]
fn text_rules_find_what_they_are_for() {
    type Rule = fn(&str) -> bool;
    let cases: &[(&str, Rule, &[&str], &[&str])] = &[
        (
            "header",
            |text| header_problem(text).is_some(),
            &[
                "",
                "fn f() {}",
                "//! placeholder",
                "\n//! Late, but with enough words",
                "/// On the item, not on the file",
            ],
            &["//! Run, curve, point, sample.", "//! Two lines\n//! together say\n//! it."],
        ),
        (
            "leftover",
            |text| has_leftover(&code_only(text)),
            &["todo!()", "x = std::dbg!(y);", "unimplemented!(\"later\")"],
            &["// todo!()", "my_todo!()", "\"dbg!(x)\""],
        ),
        (
            "ignore",
            |text| is_silent_ignore(&code_only(text)),
            &["#[ignore]", "#[cfg_attr(miri, ignore)]"],
            &["#[ignore = \"needs root\"]", "#[cfg_attr(miri, ignore = \"forks\")]", "(ignore)"],
        ),
        (
            "unsafe",
            |text| has_unsafe(&code_only(text)),
            &["unsafe { f() }", "unsafe fn f()", "unsafe impl"],
            &["#![forbid(unsafe_code)]", "/// unsafe", "\"unsafe\""],
        ),
        (
            "labels",
            |text| !missing_labels(text).is_empty(),
            &[
                "//! A file.",
                "//! Shared: a\n//! Should scale: b\n//! Moves:\n//! Did not scale: d",
            ],
            &[
                "//! A file.\n//!\n//! Shared: a\n//! Should scale: b\n//! Moves: c\n//! Did not scale: d",
            ],
        ),
        (
            "description",
            |text| !describes(text, "stats"),
            &["stats", "crates/my-stats/", "the statistics"],
            &["- `stats`: intervals", "crates/stats/", "    stats/   intervals"],
        ),
    ];
    for (rule, finds, bad, good) in cases {
        bad.iter().for_each(|text| assert!(finds(text), "{rule} must find {text:?}"));
        good.iter().for_each(|text| assert!(!finds(text), "{rule} must not find {text:?}"));
    }
}

#[test]
fn a_private_path_is_found_and_a_relative_one_is_not() {
    for name in PRIVATE_ROOTS {
        for bad in ["/{}/x", "dir:/{}/x", "\"/{}/x\"", "cd /{}/x"] {
            let line = bad.replace("{}", name);
            assert!(has_private_path(&line), "{line}");
        }
        for good in ["a/{}/x", "https://host/{}/x", "$TMP/{}/x", "/mnt/{}/x", "/{}", "../{}/x"] {
            let line = good.replace("{}", name);
            assert!(!has_private_path(&line), "{line}");
        }
    }
}

#[test]
fn an_arrow_that_points_back_is_found() {
    let package = |name: &str, dependencies: &[&str]| Package {
        name: name.into(),
        dependencies: dependencies.iter().map(|&name| name.into()).collect(),
    };
    assert!(wrong_arrows(&package("report", &["results", "stats"])).is_empty());
    assert_eq!(wrong_arrows(&package("report", &["results", "harness"])).len(), 1);
    assert_eq!(wrong_arrows(&package("stats", &["results"])).len(), 1);
    assert_eq!(wrong_arrows(&package("unheard-of", &[])).len(), 1);
}
