//! What is left of a run that is killed: nothing, as long as its janitor lives, and otherwise what `vfscale clean` finds.

use crate::procs::{
    assert_gone, end, janitor, of_run, start, start_long, wait_until_busy, with_deadline,
};
use crate::support::{
    Mount, Ran, Running, dir_is_empty, is_alive, killed_by, leftovers, on, run, signal_process,
    temp_dir, vfscale, wait_until,
};
use rustix::process::Signal;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Both modes, a workload that makes no files while it is measured and two that never stop making them.
const RUNS: [(&str, &str); 4] = [
    ("open_close", "process"),
    ("unlink_open", "process"),
    ("creat_close", "thread"),
    ("unlink_open", "thread"),
];

/// Starts each of [`RUNS`], hits it and checks that within two seconds nothing is left of it. Answers how they ended.
#[track_caller]
fn hit_each(hit: impl Fn(&Running, &Path)) -> Vec<Ran> {
    let _quiet = with_deadline();
    let one = |(workload, mode)| {
        let target = temp_dir();
        let running = start_long(target.path(), workload, mode);
        let since = Instant::now();
        hit(&running, target.path());
        let ran = end(running);
        assert_gone(target.path(), &[], since);
        ran
    };
    RUNS.map(one).into()
}

#[test]
fn nothing_is_left_of_a_main_process_that_is_killed() {
    for ran in hit_each(|running, _| running.signal(Signal::KILL)) {
        assert_eq!(killed_by(&ran), Some(Signal::KILL.as_raw()), "{ran}");
        assert_eq!(ran.stdout, "", "{ran}");
    }
}

#[test]
fn nothing_is_left_of_a_main_process_that_crashes() {
    // Not SIGSEGV: a handler of Rust's takes the first one for a stack overflow.
    for signal in [Signal::ABORT, Signal::QUIT] {
        let _quiet = with_deadline();
        let target = temp_dir();
        let running = start_long(target.path(), "unlink_open", "process");
        let since = Instant::now();
        running.signal(signal);
        let ran = end(running);
        assert_eq!(killed_by(&ran), Some(signal.as_raw()), "{ran}");
        assert_gone(target.path(), &[], since);
    }
}

#[test]
fn nothing_is_left_of_a_process_group_that_is_killed() {
    for ran in hit_each(|running, _| running.signal_group(Signal::KILL)) {
        assert_eq!(killed_by(&ran), Some(Signal::KILL.as_raw()), "{ran}");
    }
}

#[test]
fn nothing_is_left_when_all_but_the_janitor_are_killed() {
    let kill = |running: &Running, target: &Path| {
        let janitor = janitor(running).pid;
        let mut all = of_run(target);
        all.retain(|process| process.pid != janitor);
        assert!(all.len() >= 2, "main and tasks: {all:?}");
        // The tasks first: the main process then has a moment to see them die.
        all.sort_by_key(|process| process.pid == running.pid());
        for process in all {
            // A task may have died with another one.
            if is_alive(process.pid) {
                signal_process(process.pid, Signal::KILL);
            }
        }
    };
    for ran in hit_each(kill) {
        assert_eq!(ran.stdout, "", "{ran}");
    }
}

/// systemd and `pkill vfscale` send SIGTERM to all processes at once, the janitor too.
#[test]
fn nothing_is_left_when_all_are_asked_to_end() {
    let ask = |_: &Running, target: &Path| {
        for process in of_run(target) {
            if is_alive(process.pid) {
                signal_process(process.pid, Signal::TERM);
            }
        }
    };
    for ran in hit_each(ask) {
        assert!(matches!(ran.code(), Some(3 | 130)), "{ran}");
    }
}

#[test]
fn nothing_is_left_after_a_signal_that_asks_to_end() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        for ran in hit_each(|running, _| running.signal(signal)) {
            assert_eq!(ran.code(), Some(130), "{signal:?}: {ran}");
        }
    }
}

#[test]
fn ctrl_c_shows_what_was_measured_and_says_that_it_is_part() {
    let target = temp_dir();
    let args = "--tasks 1,2 --slice 5ms --rounds 1000000 --format json";
    let args: Vec<&str> = args.split(' ').collect();
    let running = start(target.path(), &args);
    // Warm-up ends after twenty rounds at the latest: 300 ms of CPU time.
    wait_until_busy(&running, target.path(), 2, Duration::from_secs(1));
    // As the keyboard does: to the group.
    running.signal_group(Signal::INT);
    let record = end(running).exits(130).record();
    assert!(record.plan.partial);
    assert!((1..1_000_000).contains(&record.plan.rounds), "{:?}", record.plan);
    for point in &record.curves[0].points {
        let complete = record.plan.rounds as usize * point.tasks as usize;
        assert_eq!(point.samples.len(), complete, "only whole rounds, and all of them");
    }
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_a_task_that_hangs() {
    let _quiet = with_deadline();
    let target = temp_dir();
    let running = start_long(target.path(), "unlink_open", "process");
    // Holds up the orderly end for two seconds.
    signal_process(running.tasks()[0].pid, Signal::STOP);
    std::thread::sleep(Duration::from_millis(100));
    running.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(100));
    assert!(is_alive(running.pid()), "it ends in order: {}", running.stderr());
    let since = Instant::now();
    running.signal(Signal::INT);
    let ran = end(running).exits(130);
    assert!(since.elapsed() < Duration::from_secs(1), "at once: {:?}", since.elapsed());
    assert_eq!(ran.stdout, "", "{ran}");
    assert_gone(target.path(), &[], since);
}

#[test]
fn a_task_that_is_killed_ends_the_run_without_a_result() {
    for (workload, mode) in RUNS {
        let _quiet = with_deadline();
        let target = temp_dir();
        let running = start_long(target.path(), workload, mode);
        let tasks = running.tasks();
        let (number, victim) = tasks.iter().enumerate().next_back().expect("it has tasks");
        let since = Instant::now();
        signal_process(victim.pid, Signal::KILL);
        let ran = end(running).exits(3);
        assert_eq!(ran.stdout, "", "{ran}");
        let who = format!("task {number} ({mode} {}, CPU ", victim.pid);
        for part in [&who, "SIGKILL", "run again"] {
            assert!(ran.stderr.contains(part), "{part}: {ran}");
        }
        assert_gone(target.path(), &[], since);
    }
}

/// Kills at every moment of a run's first ones, and often about the one at which its directory appears: around the making of
/// each process and file.
#[test]
fn nothing_is_left_whenever_a_run_is_killed() {
    let _quiet = with_deadline();
    let target = temp_dir();
    let wait = |step: u32| match step % 3 {
        0 => std::thread::sleep(Duration::from_micros(250) * step),
        _ => {
            let appeared = spin_until(|| !dir_is_empty(target.path()), Duration::from_secs(10));
            assert!(appeared, "no run directory");
            let since = Instant::now();
            spin_until(
                || since.elapsed() > Duration::from_micros(5) * step,
                Duration::from_secs(1),
            );
        }
    };
    for step in 0..90 {
        let running = start(target.path(), &["unlink_open", "--tasks", "2", "--time", "30s"]);
        wait(step);
        let since = Instant::now();
        match step % 2 {
            0 => running.signal(Signal::KILL),
            _ => running.signal_group(Signal::KILL),
        }
        end(running);
        assert_gone(target.path(), &[], since);
    }
}

/// As `wait_until`, without a pause between looks.
fn spin_until(is_so: impl Fn() -> bool, deadline: Duration) -> bool {
    let since = Instant::now();
    while !is_so() {
        if since.elapsed() > deadline {
            return false;
        }
    }
    true
}

/// SIGXFSZ kills the main process between the making of the marker and its writing: a file size limit of 0 is the one way to
/// hit that moment every time.
#[test]
fn nothing_is_left_of_a_main_process_that_dies_while_it_marks_its_directory() {
    let _quiet = with_deadline();
    let target = temp_dir();
    let mut command = Command::new("sh");
    // Its output shall not be what hits the limit.
    let script = "ulimit -f 0; exec \"$@\" >/dev/null 2>&1";
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_vfscale")]);
    command.args(["run", "--time", "1s", "--on", &on(target.path())]);
    let since = Instant::now();
    let ran = end(Running::start(&mut command));
    assert_ne!(ran.code(), Some(0), "{ran}");
    assert_gone(target.path(), &[], since);
}

#[test]
fn two_runs_in_one_directory_leave_each_other_alone() {
    let _quiet = with_deadline();
    let target = temp_dir();
    let one = start_long(target.path(), "unlink_open", "process");
    let dir = run_dir(target.path());
    let other = start(target.path(), &["unlink_open", "--rounds", "3", "--slice", "5ms"]);
    end(other).exits(0);
    assert_eq!(run_dir(target.path()), dir, "the other's is gone, and this one's is not");
    assert!(is_alive(one.pid()) && one.tasks().len() == 2, "{}", one.stderr());
    let other = start_long(target.path(), "creat_close", "thread");
    let since = Instant::now();
    one.signal(Signal::KILL);
    end(one);
    let gone = wait_until(Duration::from_secs(2), || leftovers(target.path()).len() == 1);
    assert!(gone && !dir.exists(), "{:?}", leftovers(target.path()));
    assert!(is_alive(other.pid()) && other.tasks().len() == 1, "{}", other.stderr());
    other.signal(Signal::KILL);
    end(other);
    assert_gone(target.path(), &[], since);
}

#[test]
fn a_run_whose_janitor_is_killed_cleans_up_itself() {
    for mode in ["process", "thread"] {
        let target = temp_dir();
        let args =
            ["unlink_open", "--mode", mode, "--tasks", "2", "--time", "1s", "--format", "json"];
        let running = start(target.path(), &args);
        running.wait_until_it_measures(target.path(), 1);
        signal_process(janitor(&running).pid, Signal::KILL);
        let record = end(running).exits(0).record();
        assert!(!record.plan.partial && record.plan.rounds > 0, "{:?}", record.plan);
        assert_gone(target.path(), &[], Instant::now());
    }
}

/// Whoever reads a run's output to its end does not wait for the janitor, be it held up for long.
#[test]
fn the_output_ends_with_a_main_process_that_is_killed() {
    // A mount namespace comes with it, so that the obstacle cannot outlive the test.
    let Some(target) = Mount::tmpfs("size=1m") else { return };
    let _quiet = with_deadline();
    let mut command = vfscale(&["run", "unlink_open", "--time", "30s", "--on", &on(target.path())]);
    let (mut reader, writer) = std::io::pipe().expect("make a pipe");
    let error = writer.try_clone().expect("duplicate a descriptor");
    let mut child = command.stdin(Stdio::null()).stdout(writer).stderr(error).spawn().unwrap();
    // It holds the writing end as well.
    drop(command);
    let tasks = || of_run(target.path()).len() >= 4 && !dir_is_empty(target.path());
    assert!(wait_until(Duration::from_secs(10), tasks), "main, janitor and tasks");
    let obstacle = Obstacle::put(&run_dir(target.path()));
    let since = Instant::now();
    child.kill().expect("kill the program");
    child.wait().expect("wait for the program");
    let mut said = String::new();
    reader.read_to_string(&mut said).expect("read its output");
    let ended = since.elapsed();
    assert!(ended < Duration::from_secs(1), "the output ended after {ended:?}: {said}");
    assert!(!said.contains("panicked at"), "{said}");
    // With the obstacle gone the janitor succeeds after all.
    assert!(!dir_is_empty(target.path()), "the obstacle is none");
    let since = Instant::now();
    drop(obstacle);
    assert_gone(target.path(), &[], since);
}

/// Something that nobody can remove by unlink and rmdir.
struct Obstacle(PathBuf);

impl Obstacle {
    fn put(dir: &Path) -> Obstacle {
        let point = dir.join("obstacle");
        fs::create_dir(&point).expect("make a mount point");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&point).status();
        assert!(mounted.expect("run mount").success());
        Obstacle(point)
    }
}

impl Drop for Obstacle {
    fn drop(&mut self) {
        // Its failure shows in what is left.
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// The one run directory in `target`.
#[track_caller]
fn run_dir(target: &Path) -> PathBuf {
    let names = leftovers(target);
    let [name] = &names[..] else { panic!("not one run directory: {names:?}") };
    assert!(name.starts_with("vfscale-run."), "{name}");
    target.join(name)
}

/// A directory that holds what a run has left there, and the path of it.
#[track_caller]
fn leftover() -> (TempDir, PathBuf) {
    let target = temp_dir();
    let running = start_long(target.path(), "open_close", "process");
    signal_process(janitor(&running).pid, Signal::KILL);
    running.signal(Signal::KILL);
    end(running);
    let gone = wait_until(Duration::from_secs(2), || of_run(target.path()).is_empty());
    assert!(gone, "tasks die with the main process: {:?}", of_run(target.path()));
    let dir = run_dir(target.path());
    assert!(dir.join("c0/f1").exists(), "nobody was there to remove it");
    (target, dir)
}

#[track_caller]
fn clean(target: &Path, args: &[&str]) -> Ran {
    let ran = run(vfscale(&["clean"]).args(args).arg(target));
    assert!(!ran.stderr.contains("panicked at"), "{ran}");
    ran
}

#[test]
fn clean_removes_what_a_run_without_janitor_leaves() {
    let (target, dir) = leftover();
    let precious = target.path().join("precious");
    fs::write(&precious, "x").unwrap();
    let ran = clean(target.path(), &[]).exits(0);
    assert_eq!(ran.stdout, format!("{}: removed\n", dir.display()));
    assert_eq!(leftovers(target.path()), ["precious"]);
    let ran = clean(target.path(), &[]).exits(0);
    assert!(ran.stdout.contains("nothing to clean"), "{ran}");
}

#[test]
fn clean_leaves_a_run_that_is_going_alone() {
    let target = temp_dir();
    let args = ["open_close", "--tasks", "2", "--time", "2s"];
    let running = start(target.path(), &args);
    running.wait_until_it_measures(target.path(), 2);
    // With and without a janitor, with and without force.
    for force in [&["--force"][..], &[]] {
        let ran = clean(target.path(), force).exits(0);
        let why = format!("not removed: its run (process {}) is still going", running.pid());
        assert!(ran.stdout.contains(&why), "{ran}");
        if !force.is_empty() {
            signal_process(janitor(&running).pid, Signal::KILL);
        }
    }
    assert!(run_dir(target.path()).join("c0/f1").exists());
    end(running).exits(0);
    assert_gone(target.path(), &[], Instant::now());
}

#[test]
fn clean_removes_nothing_that_is_not_marked() {
    let target = temp_dir();
    let dir = target.path().join("vfscale-run.1.0123456789abcdef");
    let markers = [None, Some(""), Some("vfscale\npid=1\n"), Some("pid=1\nstart=1\n")];
    for marker in markers {
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("precious"), "x").unwrap();
        if let Some(marker) = marker {
            fs::write(dir.join(".vfscale-run"), marker).unwrap();
        }
        for force in [&[][..], &["--force"]] {
            let ran = clean(target.path(), force).exits(0);
            assert!(ran.stdout.contains("not removed: it has no marker"), "{marker:?}: {ran}");
            assert!(dir.join("precious").exists(), "{marker:?}");
        }
    }
}

/// The text of a marker with other values of some keys.
fn marked(text: &str, values: &[(&str, &str)]) -> String {
    let line = |line: &str| {
        let other = line.split_once('=').and_then(|(key, _)| values.iter().find(|v| v.0 == key));
        other.map_or(line.to_owned(), |(key, value)| format!("{key}={value}")) + "\n"
    };
    text.lines().map(line).collect()
}

#[test]
fn clean_removes_what_another_machine_marked_only_by_force() {
    let (target, dir) = leftover();
    let marker = dir.join(".vfscale-run");
    let text = fs::read_to_string(&marker).unwrap();
    let boot = ("boot", "00000000-0000-0000-0000-000000000000");
    let elsewhere: [&[(&str, &str)]; 2] =
        [&[boot, ("host", "elsewhere")], &[("pid_namespace", "pid:[1]")]];
    for values in elsewhere {
        fs::write(&marker, marked(&text, values)).unwrap();
        let ran = clean(target.path(), &[]).exits(0);
        assert!(ran.stdout.contains("not removed"), "{ran}");
        assert!(ran.stdout.contains("use --force"), "{ran}");
        assert!(dir.join("c0/f1").exists());
    }
    clean(target.path(), &["--force"]).exits(0);
    assert!(dir_is_empty(target.path()));
}

#[test]
fn clean_takes_nobody_else_for_the_run() {
    // The pid has come to another process: this one. The machine has been booted since.
    let pid = std::process::id().to_string();
    let boot = ("boot", "00000000-0000-0000-0000-000000000000");
    let others: [&[(&str, &str)]; 2] = [&[("pid", &pid)], &[("pid", &pid), boot]];
    for values in others {
        let (target, dir) = leftover();
        let marker = dir.join(".vfscale-run");
        let text = fs::read_to_string(&marker).unwrap();
        fs::write(&marker, marked(&text, values)).unwrap();
        let ran = clean(target.path(), &[]).exits(0);
        assert_eq!(ran.stdout, format!("{}: removed\n", dir.display()));
        assert!(dir_is_empty(target.path()));
    }
}

#[test]
fn clean_follows_no_link_out_of_a_leftover() {
    let (target, dir) = leftover();
    let outside = temp_dir();
    fs::write(outside.path().join("precious"), "x").unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.join("c0/link")).unwrap();
    std::os::unix::fs::symlink(outside.path(), target.path().join("vfscale-run.2.0")).unwrap();
    clean(target.path(), &["--force"]).exits(0);
    assert_eq!(leftovers(target.path()), ["vfscale-run.2.0"]);
    assert!(outside.path().join("precious").exists());
}

#[test]
fn nothing_on_another_mount_is_removed() {
    if !crate::support::is_root_or_skip() {
        return;
    }
    let dir = crate::support::temp_dir();
    let run_dir = dir.path().join("vfscale-run.4999999.0");
    let precious = dir.path().join("precious");
    std::fs::create_dir_all(run_dir.join("c0")).expect("made");
    std::fs::create_dir(&precious).expect("made");
    std::fs::write(precious.join("file"), "x").expect("written");
    // A marker as a run of this boot leaves it that is gone.
    let line = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let namespace = std::fs::read_link("/proc/self/ns/pid").expect("a pid namespace");
    let marker = format!(
        "vfscale run directory, version 1\npid=4999999\nstart=1\nboot={}\nhost={}\nmachine={}\npid_namespace={}\n",
        line("/proc/sys/kernel/random/boot_id"),
        line("/proc/sys/kernel/hostname"),
        line("/etc/machine-id"),
        namespace.display(),
    );
    std::fs::write(run_dir.join(".vfscale-run"), marker).expect("written");
    // A bind mount of the same file system: the device is the same, the mount is not.
    let script = "mount --bind precious vfscale-run.4999999.0/c0 && exec \"$0\" clean .";
    let mut command = std::process::Command::new("unshare");
    command.args(["-m", "sh", "-c", script, env!("CARGO_BIN_EXE_vfscale")]).current_dir(dir.path());
    let ran = crate::support::run(&mut command).exits(3);
    assert!(ran.stdout.contains("mount point"), "{}", ran.stdout);
    assert!(precious.join("file").exists(), "what is mounted there is not ours");
    // Without the mount it is a leftover like any other.
    crate::support::run(&mut crate::support::vfscale(&[
        "clean",
        dir.path().to_str().expect("UTF-8"),
    ]))
    .exits(0);
    assert!(!run_dir.exists());
}
