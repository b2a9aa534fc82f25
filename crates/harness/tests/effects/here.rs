//! On file systems of this kernel: each workload for some time, its tasks as processes and as threads, and as an ordinary user
//! where root is not needed.
//!
//! All of it happens in a process that the test starts from its own program: it takes a mount namespace, goes from directory to
//! directory, gives up its privileges and forks, none of which other tests should see.

use crate::effect::{self, Io, Seen, effect};
use crate::{TASKS, place, small};
use harness::{Dir, Target, can_run};
use rustix::mount::MountPropagationFlags;
use rustix::process::WaitOptions;
use rustix::thread::UnshareFlags;
use std::os::unix::fs::{PermissionsExt, chown};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use vfs_api::{Capability, Cause, Failure, Selected, TaskMode, Workload};
use workloads::Visitor;

/// How long each workload works.
const SLICE: Duration = Duration::from_millis(50);
/// What the started process is told: mode and directory.
const TOLD: &str = "VFSCALE_EFFECTS";
/// Its last line says how many workloads have worked.
const SEEN: &str = "workloads seen: ";
/// Nobody, as everywhere.
const ORDINARY: u32 = 65_534;

/// Runs `f` once for each number, in processes or in threads.
fn each_task(mode: TaskMode, f: impl Fn(usize, &Barrier) + Sync) {
    match mode {
        TaskMode::Thread => {
            let barrier = Barrier::new(TASKS);
            std::thread::scope(|scope| {
                for number in 0..TASKS {
                    let (f, barrier) = (&f, &barrier);
                    // Who fails must not leave the other one waiting.
                    scope.spawn(move || end_on_panic(|| f(number, barrier)));
                }
            });
        }
        TaskMode::Process => {
            let children: Vec<_> =
                (0..TASKS).map(|number| child(|| f(number, &Barrier::new(1)))).collect();
            for pid in children {
                let status = rustix::process::waitpid(Some(pid), WaitOptions::empty());
                let (_, status) = status.expect("wait for a task").expect("it has ended");
                assert_eq!(status.exit_status(), Some(0), "a task failed");
            }
        }
    }
}

/// A process that runs `f`.
fn child(f: impl FnOnce()) -> rustix::process::Pid {
    // SAFETY: the caller has a single thread, so that no lock is held by one that is not there in the child.
    match unsafe { libc::fork() } {
        0 => {
            end_on_panic(f);
            // SAFETY: ends this process only, and nothing of its parent's is flushed twice.
            unsafe { libc::_exit(0) }
        }
        pid => rustix::process::Pid::from_raw(pid).expect("fork a task"),
    }
}

fn end_on_panic(f: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(f)).is_err() {
        // The reason has been printed. SAFETY: ends this process only.
        unsafe { libc::_exit(1) }
    }
}

/// One task's part.
fn work<W: Workload>(dir: &Path, number: usize, workload: &Selected, barrier: &Barrier) {
    let fs = &Dir;
    let place = || place(dir, number, workload);
    let failed = |failure: Failure| -> ! { panic!("{workload}: {failure}") };
    let mut task = W::task(fs, &place()).unwrap_or_else(|e| failed(e));
    W::renew(fs, &mut task).unwrap_or_else(|e| failed(e));
    // By turns, for who looks has a descriptor more.
    let open = || {
        let look = |turn| {
            barrier.wait();
            (turn == number).then(effect::descriptors)
        };
        let mine = (0..TASKS).filter_map(look).last();
        barrier.wait();
        mine
    };
    let before = open();
    let began = Instant::now();
    let mut all = 0;
    // A pass is done in any case, even if a busy machine gives the task no time until the slice is over.
    while began.elapsed() < SLICE || all == 0 {
        let (mut passes, mut ops, mut used_up) = (0, 0, false);
        let io = Io::now();
        while !used_up && (began.elapsed() < SLICE || passes == 0) {
            match W::step(fs, &mut task) {
                Ok(more) => (passes, ops) = (passes + 1, ops + more),
                Err(Failure { cause: Cause::UsedUp, .. }) => used_up = true,
                Err(failure) => failed(failure),
            }
        }
        let seen = Seen { passes, ops, bytes: io.since() };
        if passes > 0 {
            effect(&effect::Place { fs, workload, place: place(), here: true }, &seen);
        }
        all += ops;
        if used_up {
            W::renew(fs, &mut task).unwrap_or_else(|e| failed(e));
        }
    }
    assert_eq!(open(), before, "{workload}: descriptors are left open");
    // Made again, it can go on: nothing that a slice leaves stands in the way of the next.
    W::renew(fs, &mut task).unwrap_or_else(|e| failed(e));
    W::step(fs, &mut task).unwrap_or_else(|e| failed(e));
}

/// The workloads that need the right to mount, or the others.
struct Here {
    top: PathBuf,
    mode: TaskMode,
    mounting: bool,
    seen: usize,
}

impl Visitor for Here {
    fn visit<W: Workload>(&mut self) {
        let workload = small(&W::INFO);
        let target = Target::Dir(self.top.clone());
        if W::INFO.needs.contains(&Capability::Mounts) != self.mounting
            || !W::INFO.modes.contains(&self.mode)
        {
            return;
        }
        if let Err(refusal) = can_run(&workload, &target) {
            println!("SKIPPED: {refusal}");
            return;
        }
        let dir = self.top.join(W::INFO.name);
        std::fs::create_dir(&dir).expect("make a directory");
        std::env::set_current_dir(&dir).expect("go there");
        W::prepare(&Dir, &place(&dir, 0, &workload)).unwrap_or_else(|e| panic!("{workload}: {e}"));
        each_task(self.mode, |number, barrier| work::<W>(&dir, number, &workload, barrier));
        std::env::set_current_dir("/").expect("out of it");
        // What is mounted there goes with the namespace.
        if !self.mounting {
            std::fs::remove_dir_all(&dir).expect("remove the directory");
        }
        self.seen += 1;
    }
}

fn tool(command: &mut Command) {
    let name = command.get_program().to_owned();
    let output = command.output().unwrap_or_else(|error| panic!("no {name:?}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Mounts the file system at `point`, seen by this process only.
fn mount(fs: &str, point: &Path) {
    // SAFETY: concerns mounts, root and working directory of the only thread; no memory and no descriptor.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.expect("a mount namespace");
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change(c"/", private).expect("nobody else sees it");
    if fs == "tmpfs" {
        tool(Command::new("mount").args(["-t", "tmpfs", "-o", "size=64m", "none"]).arg(point));
    } else {
        let image = point.with_extension("image");
        std::fs::File::create(&image).and_then(|file| file.set_len(64 << 20)).expect("an image");
        tool(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image));
        tool(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(point));
    }
}

/// What the started process does.
fn all_of_it(fs: &str, told: &str) {
    let (mode, point) = told.split_once(',').expect("it is told two things");
    let point = PathBuf::from(point);
    let mode = if mode == "thread" { TaskMode::Thread } else { TaskMode::Process };
    let mut here = Here { top: point.clone(), mode, mounting: true, seen: 0 };
    if rustix::process::geteuid().is_root() {
        mount(fs, &point);
        workloads::visit_all(&mut here);
        here.top = point.join("of the user");
        std::fs::create_dir(&here.top).expect("make a directory");
        chown(&here.top, Some(ORDINARY), Some(ORDINARY)).expect("chown");
        // SAFETY: sets ids of this process, which has a single thread.
        unsafe {
            assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
            assert_eq!(libc::setgid(ORDINARY), 0);
            assert_eq!(libc::setuid(ORDINARY), 0);
        }
    }
    here.mounting = false;
    workloads::visit_all(&mut here);
    // On a line of its own: the harness of the test has begun one.
    println!("\n{SEEN}{}", here.seen);
}

/// The test of that file system, and also what it starts.
fn every_workload_has_its_effect(fs: &str) {
    if let Ok(told) = std::env::var(TOLD) {
        return all_of_it(fs, &told);
    }
    let test = format!("here::every_workload_has_its_effect_on_{fs}");
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("SKIPPED: needs root to mount a {fs}: in the temporary directory instead");
    }
    let start = |mode: TaskMode| {
        let top = tempfile::tempdir().expect("a temporary directory");
        let point = top.path().canonicalize().expect("it is there").join("mnt");
        std::fs::create_dir(&point).expect("make a mount point");
        for dir in [top.path(), &point] {
            let open = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(dir, open).expect("chmod 755");
        }
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .args([&test, "--exact", "--nocapture", "--test-threads=1"])
            .env(TOLD, format!("{mode},{}", point.display()));
        let output = command.output().expect("start itself");
        let (said, why) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{fs}, {mode} mode: {said}{why}");
        let skipped = said.lines().filter(|line| line.starts_with("SKIPPED"));
        skipped.for_each(|line| println!("{line}"));
        let seen = said.lines().find_map(|line| line.strip_prefix(SEEN)?.parse::<usize>().ok());
        seen.unwrap_or_else(|| panic!("{fs}, {mode} mode: it does not say what it did: {said}"))
    };
    let modes = [TaskMode::Process, TaskMode::Thread];
    for mode in modes {
        let has_it = workloads::ALL.iter().filter(|info| info.modes.contains(&mode));
        let mounting = |info: &&vfs_api::Info| root || !info.needs.contains(&Capability::Mounts);
        let (seen, all) = (start(mode), has_it.filter(mounting).count());
        if root {
            // tmpfs and ext4 have all there is.
            assert_eq!(seen, all, "{fs}, {mode} mode");
        } else {
            assert!(seen > 80, "only {seen} workloads");
        }
    }
}

#[test]
fn every_workload_has_its_effect_on_tmpfs() {
    every_workload_has_its_effect("tmpfs");
}

#[test]
fn every_workload_has_its_effect_on_ext4() {
    every_workload_has_its_effect("ext4");
}
