//! Limits on the run: of open files, processes, CPUs and CPU time, and many more tasks than CPUs. Each is either kept or
//! refused with numbers and advice; none is found out half-way.

use crate::procs::{alone, assert_gone, end, of_run, wait_until_busy, with_deadline};
use crate::support::{
    Running, Unprivileged, dir_is_empty, leftovers, on, run, skip, temp_dir, vfscale, wait_until,
};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Arguments of a short run.
const SHORT: [&str; 6] = ["--rounds", "2", "--slice", "5ms", "--format", "json"];

/// `vfscale run` of `args` on `target`, short.
fn short(target: &Path, args: &[&str]) -> Command {
    let mut command = vfscale(&["run", "--on", &on(target)]);
    command.args(SHORT).args(args);
    command
}

/// Lets the command begin with `action`, in the new process.
pub(crate) fn begin_with(
    command: &mut Command,
    action: impl FnMut() -> std::io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: all actions of these tests are single system calls and neither allocate nor lock.
    unsafe { command.pre_exec(action) };
}

/// Starts the command with these limits.
fn limit(command: &mut Command, resource: Resource, soft: u64, hard: u64) {
    let limit = Rlimit { current: Some(soft), maximum: Some(hard) };
    begin_with(command, move || Ok(setrlimit(resource, limit)?));
}

/// Runs and checks that it is refused for a reason that holds each of `parts`, and that nothing was made on `target`.
#[track_caller]
fn is_refused(command: &mut Command, target: &Path, parts: &[&str]) {
    let ran = run(command).exits(4);
    assert_eq!(ran.stdout, "", "{ran}");
    for part in parts {
        assert!(ran.stderr.contains(part), "{part}: {ran}");
    }
    assert!(!ran.stderr.contains("plan:"), "refused before the start: {ran}");
    assert!(dir_is_empty(target), "{ran}");
}

/// Runs and checks that every point has a sample of every task in every round; answers the record.
#[track_caller]
fn works(command: &mut Command, target: &Path) -> results::Run {
    let ran = end(Running::start(command)).exits(0);
    assert_eq!(ran.stderr.lines().count(), 1, "the plan, and nothing to complain about: {ran}");
    let record = ran.record();
    for point in record.curves.iter().flat_map(|curve| &curve.points) {
        let mut whose: Vec<(u32, u32)> = point.samples.iter().map(|s| (s.round, s.task)).collect();
        whose.dedup();
        let rounds = 0..record.plan.rounds;
        let all: Vec<(u32, u32)> =
            rounds.flat_map(|round| (0..point.tasks).map(move |task| (round, task))).collect();
        assert_eq!(whose, all);
    }
    assert_gone(target, &[], Instant::now());
    record
}

#[test]
fn a_process_per_task_needs_few_open_files() {
    let target = temp_dir();
    let mut command = short(target.path(), &["fd_read", "--tasks", "2"]);
    limit(&mut command, Resource::Nofile, 16, 16);
    works(&mut command, target.path());
}

#[test]
fn threads_that_need_more_open_files_than_allowed_are_refused() {
    let target = temp_dir();
    let args = ["fd_read", "--tasks", "64", "--mode", "thread"];
    let mut command = short(target.path(), &args);
    limit(&mut command, Resource::Nofile, 16, 16);
    let parts = [
        " open files in one process; the limit is 16 (RLIMIT_NOFILE)",
        "fewer --tasks",
        "--mode process",
        "ulimit -Hn",
    ];
    is_refused(&mut command, target.path(), &parts);

    // The number it asks for is enough, and one less is not.
    let said = run(&mut command).stderr;
    let need = said.split_once("the run needs ").expect("it says how many").1;
    let need: u64 = need.split_once(' ').unwrap().0.parse().expect("a number");
    assert!((64 + 3..64 + 16).contains(&need), "{said}");
    let mut command = short(target.path(), &args);
    limit(&mut command, Resource::Nofile, 16, need - 1);
    is_refused(&mut command, target.path(), &["RLIMIT_NOFILE"]);
    let mut command = short(target.path(), &args);
    limit(&mut command, Resource::Nofile, 16, need);
    works(&mut command, target.path());
}

#[test]
fn a_soft_limit_of_open_files_is_raised_without_a_word() {
    let target = temp_dir();
    let mut command = short(target.path(), &["fd_read", "--tasks", "64", "--mode", "thread"]);
    limit(&mut command, Resource::Nofile, 16, 4096);
    works(&mut command, target.path());
}

/// A user whom no other test is: processes are counted by user.
const USER: u32 = 64_321;

/// A process of [`USER`] that only waits; killed on drop.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Sleeper {
        let mut command = Command::new("sleep");
        Sleeper(
            command.arg("60").uid(USER).gid(USER).stdout(Stdio::null()).spawn().expect("run sleep"),
        )
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        // Fails if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn too_few_processes_for_a_user_are_refused_or_named_as_the_reason() {
    let Some(user) = Unprivileged::new() else { return };
    let target = temp_dir();
    let command = |mode, processes| {
        let args = ["run", "--tasks", "6", "--mode", mode, "--on", &on(target.path())];
        let mut command = user.vfscale(&args);
        command.args(SHORT).uid(USER).gid(USER);
        limit(&mut command, Resource::Nproc, processes, processes);
        command
    };
    for mode in ["process", "thread"] {
        // Six tasks, the janitor and what hosts threads.
        let parts = ["needs 8 tasks; RLIMIT_NPROC is 7", "use fewer --tasks", "ulimit -u"];
        is_refused(&mut command(mode, 7), target.path(), &parts);
        works(&mut command(mode, 16), target.path());
    }
    // Eight are enough, but others have taken some of them.
    let _sleepers: Vec<Sleeper> = (0..4).map(|_| Sleeper::start()).collect();
    for (mode, what) in [("process", "cannot make a process: "), ("thread", "clone: ")] {
        let ran = end(Running::start(&mut command(mode, 8))).exits(3);
        assert_eq!(ran.stdout, "", "{ran}");
        for part in [what, "Resource temporarily unavailable", "use fewer --tasks", "ulimit -u"] {
            assert!(ran.stderr.contains(part), "{part}: {ran}");
        }
        assert_gone(target.path(), &[], Instant::now());
    }
}

/// A control group made for a test; removed on drop.
struct Cgroup(PathBuf);

impl Cgroup {
    /// As [`Cgroup::try_make`]. If it cannot be made, says that the test is skipped.
    fn make(controller: &str) -> Option<Cgroup> {
        Cgroup::try_make(controller).map_err(|why| skip(&why)).ok()
    }

    /// Below this process's own group of the controller, where that is mounted in the usual place.
    fn try_make(controller: &str) -> Result<Cgroup, String> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Relaxed);
        let parent = own_cgroup(controller)
            .ok_or_else(|| format!("no cgroup with the controller {controller} to make one in"))?;
        let dir = parent.join(format!("vfscale-e2e-{}-{number}", std::process::id()));
        fs::create_dir(&dir).map_err(|error| format!("cannot make {}: {error}", dir.display()))?;
        Ok(Cgroup(dir))
    }

    fn set(&self, file: &str, value: &str) {
        let file = self.0.join(file);
        fs::write(&file, value).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }

    fn is_v2(&self) -> bool {
        self.0.join("cgroup.controllers").exists()
    }

    /// Starts the command in it.
    fn hold(&self, command: &mut Command) {
        let mut procs = File::options().write(true).open(self.0.join("cgroup.procs")).unwrap();
        begin_with(command, move || procs.write_all(b"0"));
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Processes that have just died leave it a moment later.
        let removed = wait_until(Duration::from_secs(2), || fs::remove_dir(&self.0).is_ok());
        if !removed {
            eprintln!("left behind: {}", self.0.display());
        }
    }
}

/// The directory of this process's group in the hierarchy that has the controller, if a group can be made in it.
fn own_cgroup(controller: &str) -> Option<PathBuf> {
    let root = Path::new("/sys/fs/cgroup");
    let memberships = fs::read_to_string("/proc/self/cgroup").ok()?;
    let of = |controllers: &dyn Fn(&str) -> bool| {
        memberships.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (names, path) = rest.split_once(':')?;
            controllers(names).then(|| path.trim_start_matches('/').to_owned())
        })
    };
    if let Some(path) = of(&|names| names.split(',').any(|name| name == controller)) {
        return Some(root.join(controller).join(path)).filter(|dir| dir.is_dir());
    }
    // In version 2 only what the parent hands down can be limited, and handing it down is not a test's business.
    let dir = root.join(of(&|names| names.is_empty())?);
    let handed_down = fs::read_to_string(dir.join("cgroup.subtree_control")).ok()?;
    handed_down.split_whitespace().any(|name| name == controller).then_some(dir)
}

#[test]
fn a_quota_of_cpu_time_is_seen_and_said() {
    let Some(cgroup) = Cgroup::make("cpu") else { return };
    if cgroup.is_v2() {
        cgroup.set("cpu.max", "50000 100000");
    } else {
        cgroup.set("cpu.cfs_period_us", "100000");
        cgroup.set("cpu.cfs_quota_us", "50000");
    }
    let target = temp_dir();
    let mut command = short(target.path(), &["--tasks", "1"]);
    cgroup.hold(&mut command);
    let record = works(&mut command, target.path());
    let warning = record.warnings.iter().find(|warning| warning.code == "cfs-quota");
    let warning = warning.unwrap_or_else(|| panic!("no warning: {:?}", record.warnings));
    assert!(warning.message.contains("allows 0.5 CPUs"), "{warning:?}");
    let dir = cgroup.0.to_str().unwrap();
    assert!(warning.message.contains(dir) && warning.advice.contains(dir), "{warning:?}");
    assert_eq!(record.host.quota.map(|quota| quota.cpus), Some(0.5));

    let record = works(&mut short(target.path(), &["--tasks", "1"]), target.path());
    assert!(record.warnings.iter().all(|warning| !warning.message.contains(dir)));
}

#[test]
fn a_cgroup_with_room_for_fewer_tasks_is_refused() {
    let Some(cgroup) = Cgroup::make("pids") else { return };
    let target = temp_dir();
    // The program itself, its janitor, two tasks, and what could host them as threads.
    cgroup.set("pids.max", "5");
    for (tasks, mode) in [("2", "process"), ("2", "thread")] {
        let mut command = short(target.path(), &["--tasks", tasks, "--mode", mode]);
        cgroup.hold(&mut command);
        works(&mut command, target.path());
    }
    for mode in ["process", "thread"] {
        let mut command = short(target.path(), &["--tasks", "3", "--mode", mode]);
        cgroup.hold(&mut command);
        let parts = ["needs 5 tasks; what pids.max of the cgroup leaves is 4", "fewer --tasks"];
        is_refused(&mut command, target.path(), &parts);
    }
}

#[test]
fn tasks_stay_on_the_one_cpu_that_is_allowed() {
    let target = temp_dir();
    let allowed = sched_getaffinity(None).expect("read the affinity");
    let cpu = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu)).expect("there is a CPU");
    let mut one = CpuSet::new();
    one.set(cpu);
    for mode in ["process", "thread"] {
        let mut command = short(target.path(), &["--tasks", "1,3", "--mode", mode]);
        begin_with(&mut command, move || Ok(sched_setaffinity(None, &one)?));
        let record = works(&mut command, target.path());
        let cpu = cpu as u32;
        assert_eq!(record.host.cpus, [cpu]);
        let points = &record.curves[0].points;
        assert_eq!(points[0].cpus, [cpu]);
        assert_eq!(points[1].cpus, [cpu; 3], "it wraps round");
        let samples = || points.iter().flat_map(|point| &point.samples);
        assert!(samples().all(|sample| sample.cpu == [cpu; 2]), "{:?}", samples());
        let codes: Vec<&str> = record.warnings.iter().map(|w| w.code.as_str()).collect();
        assert!(codes.contains(&"more-tasks-than-cpus"), "{codes:?}");
    }
}

#[test]
fn tasks_of_all_cpus_take_turns_in_order() {
    let target = temp_dir();
    let record =
        works(&mut short(target.path(), &["--tasks", "5", "--pin", "cores"]), target.path());
    let cpus = &record.curves[0].points[0].cpus;
    let usable = record.host.cpus.len();
    for (task, cpu) in cpus.iter().enumerate() {
        assert_eq!(*cpu, cpus[task % usable], "{cpus:?}");
    }
    let mut used = cpus.clone();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), usable.min(5), "{cpus:?}");
}

/// As [`works`], with tasks by the hundred: in a cgroup of their own, if possible, all of them together weigh as much as one
/// task of another test.
#[track_caller]
fn works_aside(command: &mut Command, target: &Path) -> results::Run {
    let cgroup = Cgroup::try_make("cpu");
    if let Ok(cgroup) = &cgroup {
        cgroup.hold(command);
    }
    works(command, target)
}

#[test]
fn many_tasks_share_few_cpus() {
    let _alone = alone();
    let target = temp_dir();
    for (tasks, mode) in [("256", "process"), ("512", "thread")] {
        let args = ["--tasks", tasks, "--mode", mode];
        works_aside(&mut short(target.path(), &args), target.path());
    }
}

#[test]
fn the_most_tasks_that_can_be_asked_for_work_as_threads() {
    let most = 4096;
    let files = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    if files < most + 100 {
        skip(&format!("needs {most} open files, {files} are allowed"));
        return;
    }
    let _alone = alone();
    let target = temp_dir();
    let args = "--tasks 4096 --mode thread --rounds 1 --slice 50ms --format json";
    let mut command = vfscale(&["run", "--on", &on(target.path())]);
    let record = works_aside(command.args(args.split(' ')), target.path());
    assert_eq!(record.curves[0].points[0].tasks, 4096);
}

/// Files that a run opens must not take the place of its output: with descriptors 0 to 2 closed they would.
#[test]
fn closed_standard_descriptors_are_not_taken_by_files_of_the_target() {
    let _quiet = with_deadline();
    let closings: [&[i32]; 5] = [&[0], &[1], &[2], &[1, 2], &[0, 1, 2]];
    for closed in closings {
        let target = temp_dir();
        let elsewhere = temp_dir();
        let record = elsewhere.path().join("record");
        let args = [
            "run",
            "truncate_by_byte",
            "open_close",
            "--tasks",
            "2",
            "--time",
            "30s",
            "--slice",
            "5ms",
        ];
        let mut command = vfscale(&args);
        command.args(["--format", "json", "--on", &on(target.path()), "-o"]).arg(&record);
        begin_with(&mut command, move || {
            for fd in closed {
                // SAFETY: the new process uses none of them between here and exec.
                unsafe { rustix::io::close(*fd) };
            }
            Ok(())
        });
        let running = Running::start(&mut command);
        // Warm-up ends after twenty rounds at the latest: 400 ms of CPU time.
        wait_until_busy(&running, target.path(), 2, Duration::from_millis(800));
        let all = of_run(target.path());
        assert!(all.len() >= 4, "main, janitor, tasks: {all:?}");
        for process in all {
            for fd in closed {
                let fd = format!("/proc/{}/fd/{fd}", process.pid);
                let open = fs::read_link(&fd).unwrap_or_else(|error| panic!("{fd}: {error}"));
                assert_eq!(open, Path::new("/dev/null"), "{closed:?}: {process:?}");
            }
        }
        let own = target.path().join(&leftovers(target.path())[0]).join("c1/f0");
        assert_eq!(fs::metadata(own).unwrap().len(), 0, "open_close writes nothing");
        running.signal(Signal::INT);
        end(running).exits(130);
        let record: results::Run = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
        assert_eq!(record.curves.len(), 2);
        assert_gone(target.path(), &[], Instant::now());
    }
}
