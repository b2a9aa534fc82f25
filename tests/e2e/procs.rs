//! A run as its processes: started, seen at work, hit, and seen gone.

use crate::support::{self, Process, Ran, Running};
use rustix::process::{Pid, Signal};
use std::fs;
use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

/// So soon after a run's end, however it came, nothing of it is left: two seconds, and a margin for looking.
const GONE: Duration = Duration::from_millis(2500);
/// A run that takes longer hangs, even one with thousands of tasks.
const END: Duration = Duration::from_secs(60);

/// Held shared where a deadline counts, and alone where a test keeps all CPUs busy.
static LOAD: RwLock<()> = RwLock::new(());

/// While it is held no test that holds [`alone`] loads the machine.
pub(crate) fn with_deadline() -> RwLockReadGuard<'static, ()> {
    LOAD.read().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no test that counts on a deadline runs, and keeps the others waiting.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    LOAD.write().unwrap_or_else(PoisonError::into_inner)
}

/// Live processes of runs on `target`, whoever their parent is now: a forked process has its parent's command line.
pub(crate) fn of_run(target: &Path) -> Vec<Process> {
    let on = support::on(target);
    let names_it = |process: &Process| {
        // A zombie has no command line any more.
        let line = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|arg| arg == on.as_bytes())
    };
    support::processes().into_iter().filter(names_it).collect()
}

/// Starts a run on `target`.
pub(crate) fn start(target: &Path, args: &[&str]) -> Running {
    let on = support::on(target);
    Running::start(support::vfscale(&["run", "--on", &on]).args(args))
}

/// Starts a run of two tasks on `target` that takes half a minute, and waits until they work.
#[track_caller]
pub(crate) fn start_long(target: &Path, workload: &str, mode: &str) -> Running {
    let args = [workload, "--mode", mode, "--tasks", "1,2", "--time", "30s", "--format", "json"];
    let running = start(target, &args);
    let tasks = if mode == "thread" { 1 } else { 2 };
    wait_until_busy(&running, target, tasks, Duration::from_millis(20));
    running
}

/// Waits until a run's directory is there and its tasks' processes, of which there are so many, have had `busy` of CPU time.
#[track_caller]
pub(crate) fn wait_until_busy(running: &Running, target: &Path, tasks: usize, busy: Duration) {
    running.wait_until_it_measures(target, tasks);
    let used = || running.tasks().iter().map(|task| cpu_time(task.pid)).sum::<Duration>();
    let works = support::wait_until(Duration::from_secs(10), || used() >= busy);
    assert!(works, "its tasks do nothing: {}", running.stderr());
}

/// CPU time of all threads of a process so far; nothing if it is gone.
fn cpu_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    // State, the first here, is field 3; utime and stime are fields 14 and 15.
    let ticks: u64 =
        fields.split_whitespace().skip(11).take(2).filter_map(|f| f.parse::<u64>().ok()).sum();
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// The janitor of a run.
#[track_caller]
pub(crate) fn janitor(running: &Running) -> Process {
    let find = || running.children().into_iter().find(|child| child.session == child.pid);
    let leads = support::wait_until(Duration::from_secs(2), || find().is_some());
    find().filter(|_| leads).expect("a run has a janitor, which leads a session")
}

/// Waits for a run's end. Whatever happened to it, it has not panicked.
#[track_caller]
pub(crate) fn end(running: Running) -> Ran {
    let ran = running.wait(END);
    assert!(!ran.stderr.contains("panicked at"), "{ran}");
    ran
}

/// Checks that since `hit` it has not taken too long until no process of a run on `target` was there, and nothing in `target`
/// but `kept`.
#[track_caller]
pub(crate) fn assert_gone(target: &Path, kept: &[&str], hit: Instant) {
    let left = || {
        let mut names = support::leftovers(target);
        names.retain(|name| !kept.contains(&name.as_str()));
        names
    };
    let patience = GONE.saturating_sub(hit.elapsed());
    let gone = support::wait_until(patience, || of_run(target).is_empty() && left().is_empty());
    let (processes, names) = (of_run(target), left());
    // What should not be there would disturb the other tests.
    for pid in processes.iter().filter_map(|process| Pid::from_raw(process.pid as i32)) {
        // Fails if it has just ended.
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
    assert!(gone, "left {:?} after it was hit: {names:?}, {processes:#?}", hit.elapsed());
}
