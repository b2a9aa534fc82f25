//! What goes where: results to stdout or whole into a file, everything else to stderr, and nothing that a reader of either
//! has to clean first.

use crate::support::{
    Mount, Ran, Running, Unprivileged, leftovers, on, parse_csv, run, skip, temp_dir, vfscale,
    wait_until, with_plain_environment,
};
use rustix::process::Signal;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A run of a few milliseconds.
const SHORT: [&str; 7] = ["run", "--rounds", "2", "--slice", "2ms", "--time", "100ms"];

fn short(more: &[&str]) -> Command {
    vfscale(&[&SHORT, more].concat())
}

const DEADLINE: Duration = Duration::from_secs(20);

/// Validates against the published schema with a validator that knows nothing of this program.
struct Validator {
    schemas: boon::Schemas,
    index: boon::SchemaIndex,
}

impl Validator {
    fn new() -> Validator {
        let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/run.schema.json");
        let mut schemas = boon::Schemas::new();
        let compiled = boon::Compiler::new().compile(schema, &mut schemas);
        let index = compiled.unwrap_or_else(|error| panic!("{error:#}"));
        Validator { schemas, index }
    }

    fn check(&self, record: &serde_json::Value) -> Result<(), String> {
        self.schemas.validate(record, self.index).map_err(|error| format!("{error:#}"))
    }
}

#[test]
fn the_json_obeys_the_published_schema() {
    let validator = Validator::new();
    let cases: [&[&str]; 6] = [
        &["open_close", "fd_read", "--mode", "process,thread", "--tasks", "1,3"],
        &["--rounds", "8", "--tasks", "1,2"],
        &["--pin", "none", "--tasks", "2"],
        &["--seed", "18446744073709551615"],
        &["unlink_open", "--rounds", "40", "--tasks", "2", "--locks=stacks"],
        &["--on", "dir:.", "--on", "lab:linux-2.6.20", "--locks", "--locks-by", "scheduling"],
    ];
    for args in cases {
        let dir = temp_dir();
        let given = |option: &[&str; 2]| !args.contains(&option[0]);
        let short = [["--rounds", "2"], ["--slice", "2ms"], ["--time", "100ms"]];
        let short: Vec<&str> =
            short.iter().filter(|option| given(option)).flatten().copied().collect();
        let all = [&["run", "--format", "json"], &short[..], args].concat();
        let record = run(vfscale(&all).current_dir(dir.path())).exits(0).json();
        validator.check(&record).unwrap_or_else(|error| panic!("{args:?}: {error}"));

        // It would have noticed.
        for (at, wrong) in [
            ("/schema", "vfscale.run/2".into()),
            ("/curves/0/points/0/tasks", 0.into()),
            ("/curves/0/points/0/samples/0/ops", (-1).into()),
            ("/plan/partial", serde_json::Value::Null),
        ] {
            let mut broken = record.clone();
            *broken.pointer_mut(at).expect(at) = wrong;
            assert!(validator.check(&broken).is_err(), "{at}");
        }
    }
}

#[test]
fn the_json_of_an_interrupted_run_obeys_the_schema() {
    let dir = temp_dir();
    let args = ["run", "--time", "60s", "--slice", "5ms", "--tasks", "1", "--format", "json"];
    let running = Running::start(vfscale(&args).current_dir(dir.path()));
    running.wait_until_it_measures(dir.path(), 1);
    std::thread::sleep(Duration::from_millis(1000));
    running.signal(Signal::INT);
    let record = running.wait(DEADLINE).exits(130).json();
    assert_eq!(record["plan"]["partial"], true);
    Validator::new().check(&record).unwrap_or_else(|error| panic!("{error}"));
}

/// A name of a path is the only free text in the table.
#[test]
fn the_csv_can_be_read_whatever_the_path() {
    let dir = temp_dir();
    for name in ["plain", "comma,and \"quotes\"", "a\nb"] {
        let place = dir.path().join(name);
        fs::create_dir(&place).expect("make a directory");
        let target = on(&place);
        let args =
            ["--tasks", "1,2", "--mode", "process,thread", "--format", "csv", "--on", &target];
        let rows = parse_csv(&run(&mut short(&args)).exits(0).stdout);
        assert_eq!(rows.len(), 5, "{rows:?}");
        assert_eq!(rows[0][..4], ["workload", "target", "mode", "tasks"]);
        assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{rows:?}");
        for (row, (mode, tasks)) in rows[1..].iter().zip([
            ("process", "1"),
            ("process", "2"),
            ("thread", "1"),
            ("thread", "2"),
        ]) {
            assert_eq!(row[..4], ["open_close", &target, mode, tasks]);
            assert!(row[4].parse::<f64>().is_ok_and(|rate| rate > 0.0), "{row:?}");
        }
    }
}

#[test]
fn the_plan_comes_first_and_alone() {
    let dir = temp_dir();
    let args = [
        "run",
        "openbench",
        "--time",
        "30s",
        "--tasks",
        "1,2",
        "--mode",
        "thread",
        "--format",
        "json",
    ];
    let running = Running::start(vfscale(&args).current_dir(dir.path()));
    let planned = wait_until(Duration::from_secs(5), || running.stderr().ends_with("in all\n"));
    assert!(planned, "{:?}", running.stderr());
    let plan = running.stderr();
    running.wait_until_it_measures(dir.path(), 1);
    running.signal(Signal::INT);
    let ran = running.wait(DEADLINE).exits(130);
    assert!(plan.starts_with("plan: openbench on dir:., thread mode; tasks 1,2 on "), "{plan}");
    for part in ["pinned by cores", " rounds of 2 slices of 10ms", "30.0 s in all"] {
        assert!(plan.contains(part), "{part:?} is missing: {plan}");
    }
    assert!(ran.stderr.starts_with(&plan), "{ran}");
    assert!(!ran.stdout.contains("plan:"), "{ran}");
}

#[test]
fn each_stream_has_its_own() {
    let dir = temp_dir();
    for format in ["json", "csv", "markdown", "text"] {
        let ran = run(short(&["--format", format]).current_dir(dir.path())).exits(0);
        let begin = match format {
            "json" => "{\n",
            "csv" => "workload,",
            "markdown" => "## open_close on dir:.",
            _ => "open_close on dir:.",
        };
        assert!(ran.stdout.starts_with(begin), "{format}: {ran}");
        assert!(ran.stdout.ends_with('\n') && !ran.stdout.ends_with("\n\n"), "{format}: {ran}");
        assert_eq!(ran.stderr.lines().count(), 1, "only the plan: {ran}");
        no_control_characters(format, &ran);
    }
}

#[track_caller]
fn no_control_characters(what: &str, ran: &Ran) {
    for (stream, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        let found = text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(found, None, "{what}: {stream} of {ran}");
    }
}

#[test]
fn names_cannot_steer_a_terminal() {
    let dir = temp_dir();
    let name = "red\u{1b}[31m\u{7}\u{9b}1m";
    let place = dir.path().join(name);
    fs::create_dir(&place).expect("make a directory");
    let missing = on(&dir.path().join(format!("{name}/missing")));
    // JSON and CSV are data: there the name stands as it is.
    for format in ["text", "markdown"] {
        let ran = run(&mut short(&["--verbose", "--format", format, "--on", &on(&place)])).exits(0);
        no_control_characters(format, &ran);
        assert!(ran.stdout.contains("red"), "{ran}");
        assert!(ran.stderr.contains("red"), "{ran}");
    }
    no_control_characters("refused", &run(&mut short(&["--on", &missing])).exits(4));
    let file = place.join("out");
    let ran = run(short(&["--output"]).arg(&file).current_dir(dir.path())).exits(0);
    no_control_characters("written", &ran);
}

#[test]
fn ascii_or_unicode_as_the_locale_has_it() {
    let dir = temp_dir();
    // LC_ALL, LC_CTYPE, LANG: the first that is set and not empty decides.
    let cases = [
        ([Some("C"), None, None], false),
        ([Some("C"), Some("C.UTF-8"), Some("en_GB.UTF-8")], false),
        ([Some("POSIX"), None, Some("en_GB.UTF-8")], false),
        ([None, None, None], false),
        ([None, Some("C"), Some("en_GB.UTF-8")], false),
        ([None, None, Some("de_DE.ISO-8859-1")], false),
        ([Some("C.UTF-8"), Some("C"), Some("C")], true),
        ([None, None, Some("de_DE.utf8")], true),
        ([Some(""), None, Some("en_GB.UTF-8")], true),
        ([None, Some("C.UTF-8"), Some("C")], true),
    ];
    for (values, unicode) in cases {
        let mut command = short(&["--tasks", "1,2"]);
        for (name, value) in ["LC_ALL", "LC_CTYPE", "LANG"].iter().zip(values) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let ran = run(command.current_dir(dir.path())).exits(0);
        assert_eq!(!ran.stdout.is_ascii(), unicode, "{values:?}: {ran}");
        let corner = if unicode { "└─" } else { "+-" };
        assert!(ran.stdout.contains(corner), "the plot is missing: {values:?}: {ran}");
        assert!(
            ran.stdout.contains(if unicode { "± 95 %" } else { "+- 95 %" }),
            "{values:?}: {ran}"
        );
    }
}

#[test]
fn verbose_says_more() {
    let dir = temp_dir();
    let [brief, verbose] = [&["--tasks", "1,2"][..], &["--tasks", "1,2", "--verbose"]]
        .map(|args| run(short(args).current_dir(dir.path())).exits(0).stdout);
    for part in ["start skew", "migrations", "\nkernel ", "\nfile system  dir:.: ", "; seed "] {
        assert!(verbose.contains(part), "{part:?} is missing: {verbose}");
        assert!(!brief.contains(part), "{part:?}: {brief}");
    }
}

#[test]
fn a_file_is_written_and_an_old_one_replaced() {
    let dir = temp_dir();
    let file = dir.path().join("result.json");
    for old in [None, Some("old and much longer than the new one ".repeat(2000))] {
        if let Some(old) = &old {
            fs::write(&file, old).expect("write the old file");
        }
        let args = ["--format", "json", "--output", "result.json"];
        let ran = run(short(&args).current_dir(dir.path())).exits(0);
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains("written to ") && ran.stderr.contains("result.json"), "{ran}");
        let text = fs::read_to_string(&file).expect("read the result");
        let record: results::Run = serde_json::from_str(&text).expect("a whole record");
        assert_eq!(record.plan.rounds, 2);
        assert_eq!(leftovers(dir.path()), ["result.json"]);
    }
}

#[test]
fn a_link_stays_and_its_file_is_written() {
    let (dir, elsewhere) = (temp_dir(), temp_dir());
    let (link, file) = (dir.path().join("link"), elsewhere.path().join("real.csv"));
    fs::write(&file, "old").expect("write the old file");
    symlink(&file, &link).expect("make a link");
    run(short(&["--format", "csv", "--output", "link"]).current_dir(dir.path())).exits(0);
    assert!(link.is_symlink(), "the link was replaced");
    assert!(fs::read_to_string(&file).expect("read").starts_with("workload,"));
    assert_eq!(leftovers(elsewhere.path()), ["real.csv"]);
}

/// `/dev/stdout` is such a link, and must not be replaced by root of all users.
#[test]
fn stdout_may_be_named_as_a_file() {
    let dir = temp_dir();
    let link = dir.path().join("stdout");
    symlink("/proc/self/fd/1", &link).expect("make a link");
    // The output of this is a regular file.
    let ran =
        run(short(&["--format", "json", "--output", "stdout"]).current_dir(dir.path())).exits(0);
    assert!(link.is_symlink(), "the link was replaced");
    assert_eq!(ran.record().plan.rounds, 2);
    let piped = Command::new("sh")
        .args([
            "-c",
            "\"$0\" \"$@\" --format csv --output /dev/stdout | cat",
            env!("CARGO_BIN_EXE_vfscale"),
        ])
        .args(SHORT)
        .current_dir(dir.path())
        .output()
        .expect("run a shell");
    assert!(piped.stdout.starts_with(b"workload,"), "{piped:?}");
}

#[test]
fn what_is_no_regular_file_is_written_to_as_it_is() {
    let dir = temp_dir();
    let ran = run(short(&["--output", "/dev/null"]).current_dir(dir.path())).exits(0);
    assert_eq!(ran.stdout, "");
    let null = fs::metadata("/dev/null").expect("stat /dev/null");
    assert!(null.file_type().is_char_device(), "/dev/null was replaced");

    let fifo = dir.path().join("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0)
        .expect("mkfifo");
    let reader = std::thread::spawn({
        let fifo = fifo.clone();
        move || fs::read_to_string(fifo)
    });
    run(short(&["--format", "csv", "--output", "fifo"]).current_dir(dir.path())).exits(0);
    let read = reader.join().expect("the reader").expect("read the fifo");
    assert!(read.starts_with("workload,"), "{read}");
    assert!(fs::metadata(&fifo).expect("stat").file_type().is_fifo(), "the fifo was replaced");
}

/// Checks that an output place is refused before anything is measured.
#[track_caller]
fn refused_before_the_start(command: &mut Command, said: &str, dir: &Path) {
    let before = leftovers(dir);
    let ran = run(command.current_dir(dir)).exits(2);
    assert!(
        ran.stderr.contains("--output") && ran.stderr.contains(said),
        "{said:?} is missing: {ran}"
    );
    assert!(!ran.stderr.contains("plan:"), "{ran}");
    assert_eq!(ran.stdout, "");
    assert_eq!(leftovers(dir), before);
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_start() {
    let dir = temp_dir();
    fs::create_dir(dir.path().join("directory")).expect("make a directory");
    let refused = |file: &str, said| {
        let long = ["run", "--time", "60s", "--output", file];
        refused_before_the_start(&mut vfscale(&long), said, dir.path());
    };
    refused("missing/result", "No such file or directory");
    refused("directory", "is a directory");
    refused("missing/", "is a directory");
    let Some(user) = Unprivileged::new() else { return };
    let closed = temp_dir();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(closed.path(), mode).expect("chmod 755");
    let file = closed.path().join("result");
    let args = ["run", "--time", "60s", "--output", file.to_str().expect("UTF-8")];
    refused_before_the_start(&mut user.vfscale(&args), "Permission denied", dir.path());
    let Some(read_only) = Mount::bind_read_only(dir.path()) else { return };
    refused(read_only.path().join("result").to_str().expect("UTF-8"), "Read-only file system");
}

/// A result that has taken its time is not lost to a full disk, and nor is the one before.
#[test]
fn a_full_disk_loses_neither_the_result_nor_the_old_file() {
    let Some(mount) = Mount::tmpfs("size=64k") else { return };
    let old = "the old result\n";
    let file = mount.path().join("result.json");
    fs::write(&file, old).expect("write the old file");
    fill(&mount.path().join("filler"));
    let dir = temp_dir();
    let path = file.to_str().expect("UTF-8");
    let ran = run(short(&["--format", "json", "--output", path]).current_dir(dir.path())).exits(3);
    assert_eq!(ran.record().plan.rounds, 2, "the whole result is on stdout");
    assert!(ran.stderr.contains(&format!("cannot write {path}")), "{ran}");
    assert!(ran.stderr.contains("the result is on the standard output"), "{ran}");
    assert!(ran.stderr.contains("No space left on device"), "{ran}");
    assert_eq!(fs::read_to_string(&file).expect("read the old file"), old);
    assert_eq!(leftovers(mount.path()), ["filler", "result.json"]);
}

/// Writes until there is no room for another byte.
fn fill(path: &Path) {
    let mut file = File::create(path).expect("make a file");
    for block in [vec![0; 4096], vec![0; 1]] {
        while file.write_all(&block).is_ok() {}
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let dir = temp_dir();
    let commands: [&[&str]; 5] = [
        &["run", "--rounds", "2", "--slice", "2ms", "--time", "100ms", "--format", "json"],
        &["run", "--rounds", "2", "--slice", "2ms", "--time", "100ms"],
        &["list"],
        &["list", "--format", "json"],
        &["doctor"],
    ];
    for args in commands {
        let (reader, writer) = std::io::pipe().expect("make a pipe");
        drop(reader);
        let mut command = vfscale(args);
        let ran = Running::start_onto(command.current_dir(dir.path()), Some(writer.into()), None);
        let ran = ran.wait(DEADLINE).exits(0);
        assert!(
            !ran.stderr.contains("panicked") && !ran.stderr.contains("vfscale:"),
            "{args:?}: {ran}"
        );
    }
    assert_eq!(leftovers(dir.path()), [""; 0]);
}

#[test]
fn head_gets_its_line_and_the_program_exits_with_0() {
    let dir = temp_dir();
    let script = "\"$0\" \"$@\" --tasks 1,2 | head -1; echo ${PIPESTATUS[0]}";
    let mut bash = Command::new("bash");
    bash.args(["-c", script, env!("CARGO_BIN_EXE_vfscale")]).args(SHORT);
    with_plain_environment(bash.current_dir(dir.path()));
    let ran = run(&mut bash).exits(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(matches!(lines[..], [first, "0"] if first.starts_with("open_close on dir:.")), "{ran}");
}

/// Where stdout takes nothing the result is lost, which must not look like success. Where stderr takes nothing only the
/// plan is.
#[test]
fn a_stream_that_takes_nothing_does_not_end_in_a_panic() {
    let dir = temp_dir();
    let full = || -> Option<Stdio> {
        Some(File::options().write(true).open("/dev/full").expect("/dev/full").into())
    };
    for args in [&["--format", "json"][..], &["--format", "text"]] {
        let mut command = short(args);
        let ran = Running::start_onto(command.current_dir(dir.path()), full(), None);
        let ran = ran.wait(DEADLINE).exits(3);
        assert!(ran.stderr.contains("cannot write the result: No space left on device"), "{ran}");
    }
    let mut command = short(&["--format", "json"]);
    let ran = Running::start_onto(command.current_dir(dir.path()), None, full());
    assert_eq!(ran.wait(DEADLINE).exits(0).record().plan.rounds, 2);
    let mut command = short(&["--on", "dir:/nonexistent"]);
    Running::start_onto(command.current_dir(dir.path()), None, full()).wait(DEADLINE).exits(4);
    assert_eq!(leftovers(dir.path()), [""; 0]);
}

/// Runs a shell command with `$PROGRAM` on a pseudo-terminal; what arrives there. None, and said, without script(1).
fn on_terminal(command: &str, environment: &[(&str, &str)]) -> Option<String> {
    let dir = temp_dir();
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", command, "/dev/null"]);
    with_plain_environment(script.current_dir(dir.path()));
    script.env("TERM", "xterm-256color").env("PROGRAM", env!("CARGO_BIN_EXE_vfscale"));
    script.envs(environment.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value))));
    if Command::new("script").arg("--version").output().is_err() {
        skip("no script(1)");
        return None;
    }
    let ran = run(&mut script).exits(0);
    assert_eq!(leftovers(dir.path()), [""; 0]);
    Some(ran.stdout)
}

const RUN: &str = "exec \"$PROGRAM\" run --rounds 6 --slice 10ms --time 200ms --tasks 1,2";

/// Where a sequence that sets colours or weight begins: ESC [ digits and semicolons m.
fn colours(text: &str) -> usize {
    let sequences = text.split("\u{1b}[").skip(1);
    let is_colour = |rest: &&str| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m')
    };
    sequences.filter(is_colour).count()
}

#[test]
fn a_terminal_gets_colours_unless_they_are_unwanted() {
    let result_only = format!("{RUN} 2>/dev/null");
    let coloured = |environment: &[(&str, &str)]| {
        let text = on_terminal(&result_only, environment)?;
        assert!(text.contains("open_close on dir:."), "{text}");
        Some(colours(&text) > 0)
    };
    let Some(plain) = coloured(&[]) else { return };
    assert!(plain, "no colours on a terminal");
    assert_eq!(coloured(&[("NO_COLOR", "1")]), Some(false), "NO_COLOR=1");
    assert_eq!(coloured(&[("NO_COLOR", "")]), Some(true), "an empty NO_COLOR asks for nothing");
    assert_eq!(coloured(&[("TERM", "dumb")]), Some(false), "TERM=dumb");
}

#[test]
fn a_terminal_sees_progress_and_is_clean_afterwards() {
    let Some(text) = on_terminal(&format!("{RUN} >/dev/null"), &[]) else { return };
    assert!(text.starts_with("plan: "), "{text:?}");
    assert!(text.contains("warming up, rounds:") && text.contains("/6"), "no progress: {text:?}");
    let estimated = |tasks: &str| text.contains(&format!("open_close, {tasks}: "));
    assert!(estimated("1 task") || estimated("2 tasks"), "no estimate: {text:?}");
    assert!(text.contains("/s; rounds:") || text.contains(" %; rounds:"), "no estimate: {text:?}");
    assert!(text.contains("s left"), "nothing says how long it takes: {text:?}");
    // The last thing on the line of the progress is its removal.
    assert!(text.trim_end_matches(['\r', '\n']).ends_with("\u{1b}[2K"), "{text:?}");
}

#[test]
fn names_in_data_cannot_steer_a_terminal_and_are_whole_in_a_file() {
    let dir = temp_dir();
    let odd = dir.path().join("a\u{1b}[2Jb\u{202e}c\u{9b}d");
    fs::create_dir(&odd).expect("make a directory");
    let odd = odd.to_str().expect("UTF-8");
    for format in ["csv", "json", "jsonl"] {
        let run = format!(
            "exec \"$PROGRAM\" run --rounds 2 --slice 1ms --tasks 1 --format {format} --on \"dir:$ODD\""
        );
        let Some(text) = on_terminal(&format!("{run} 2>/dev/null"), &[("ODD", odd)]) else {
            return;
        };
        let bad = text.chars().find(|c| matches!(c, '\u{1b}' | '\u{202e}' | '\u{9b}'));
        assert!(bad.is_none() && text.contains("b\\u{202e}c"), "{format}: {text:?}");
        let to_file = format!("{run} 2>/dev/null >\"$ODD/out\"");
        on_terminal(&to_file, &[("ODD", odd)]);
        let text = fs::read_to_string(format!("{odd}/out")).expect("what was redirected");
        assert!(text.contains("b\u{202e}c"), "{format}: {text:?}");
    }
}

#[test]
fn progress_is_of_signs_that_the_terminal_has() {
    let progress = format!("{RUN} >/dev/null");
    let Some(text) = on_terminal(&progress, &[]) else { return };
    assert!(!text.is_ascii(), "{text:?}");
    for environment in [("LC_ALL", "C"), ("LC_ALL", "POSIX"), ("TERM", "dumb")] {
        let text = on_terminal(&progress, &[environment]).unwrap_or_default();
        assert!(text.is_ascii(), "{environment:?}: {text:?}");
    }
    let text = on_terminal(&progress, &[("LC_ALL", "C")]).unwrap_or_default();
    assert!(text.contains("s left") && text.contains("----"), "{text:?}");
}

#[test]
fn no_progress_where_stderr_is_no_terminal() {
    let Some(text) = on_terminal(&format!("{RUN} 2>/dev/null"), &[]) else { return };
    assert!(!text.contains(" left") && !text.contains("\u{1b}[2K"), "{text:?}");
}

#[test]
fn the_plot_is_as_wide_as_the_terminal() {
    for (columns, widest) in [(60, 60), (90, 90), (130, 130)] {
        let command = format!("stty cols {columns} rows 40; {RUN} 2>/dev/null");
        let Some(text) = on_terminal(&command, &[("NO_COLOR", "1")]) else { return };
        let plot = text.lines().filter(|line| line.contains('└'));
        let width = plot.map(|line| line.trim_end().chars().count()).max().expect("a plot");
        assert!(width <= widest && width > widest - 10, "{width} of {columns} columns: {text}");
    }
}
