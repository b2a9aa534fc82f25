//! What goes wrong while a run goes on: the file system fills up, turns read-only or loses the run's directory, a task is
//! stopped. The run says what failed, shows no number and leaves nothing.

use crate::procs::{assert_gone, end, start, start_long, wait_until_busy, with_deadline};
use crate::support::{
    Mount, Ran, Running, Unprivileged, dir_is_empty, is_alive, leftovers, on, run, signal_process,
    temp_dir, vfscale, wait_until,
};
use rustix::process::Signal;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs and checks that it is refused before anything is made, for a reason that holds each of `parts`.
#[track_caller]
fn is_refused(command: &mut Command, parts: &[&str]) {
    let ran = run(command).exits(4);
    assert_eq!(ran.stdout, "", "{ran}");
    for part in parts {
        assert!(ran.stderr.contains(part), "{part}: {ran}");
    }
    assert!(!ran.stderr.contains("panicked at"), "{ran}");
    assert!(!ran.stderr.contains("plan:"), "refused before the start: {ran}");
}

/// Appends to `file` until there is no room.
fn fill(file: &mut File) {
    while file.write(&[0; 4096]).is_ok() {}
}

/// Makes files in `dir` from number `next` on until there is no inode for one.
fn use_up_inodes(dir: &Path, next: &mut u32) {
    while File::create(dir.join(next.to_string())).is_ok() {
        *next += 1;
    }
}

/// Checks that a run on `target` has failed as a run fails whose call has: with exit code 3, without a result, and with an
/// error that names call, errno, path, task and CPU and says what to do.
#[track_caller]
fn failed(ran: Ran, target: &Path, call: &str, errno: &str, advice: &str) -> Ran {
    let ran = ran.exits(3);
    assert_eq!(ran.stdout, "", "{ran}");
    let path = format!("({errno}): {}/vfscale-run.", target.display());
    for part in [&format!(": {call}: "), &path, "/c0/f", "task ", "CPU ", advice] {
        assert!(ran.stderr.contains(part), "{part}: {ran}");
    }
    ran
}

/// Repeats `hit` until the run has ended as a run on a full file system does, with nothing but `filler` left on `target`.
#[track_caller]
fn runs_out_of_space(target: &Path, running: Running, call: &str, mut hit: impl FnMut()) {
    let ended = wait_until_spinning(Duration::from_secs(15), || {
        hit();
        !is_alive(running.pid())
    });
    assert!(ended, "it goes on: {}", running.stderr());
    failed(end(running), target, call, "ENOSPC", "free space or inodes");
    assert_gone(target, &["filler"], Instant::now());
}

/// As `wait_until`, without a pause between looks.
fn wait_until_spinning(deadline: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let since = Instant::now();
    while since.elapsed() < deadline {
        if is_so() {
            return true;
        }
    }
    false
}

#[test]
fn a_full_file_system_is_refused() {
    let Some(mount) = Mount::tmpfs("size=256k") else { return };
    fill(&mut File::create(mount.path().join("filler")).unwrap());
    is_refused(
        &mut vfscale(&["run", "fd_read", "--tasks", "2", "--on", &on(mount.path())]),
        &["has 0 KiB free; the run needs about ", "free space, use fewer --tasks", "dir:PATH"],
    );
    assert_eq!(leftovers(mount.path()), ["filler"]);
}

#[test]
fn too_few_inodes_are_refused_with_numbers() {
    // One of them is the root directory's.
    let Some(mount) = Mount::tmpfs("size=1m,nr_inodes=12") else { return };
    let many = ["run", "--tasks", "16", "--on", &on(mount.path())];
    is_refused(&mut vfscale(&many), &["has 11 free inodes; the run needs 20", "use fewer --tasks"]);
    assert!(dir_is_empty(mount.path()));
    let few = ["run", "--tasks", "2", "--rounds", "2", "--slice", "5ms", "--on", &on(mount.path())];
    run(&mut vfscale(&few)).exits(0);
    assert!(dir_is_empty(mount.path()));
}

#[test]
fn space_that_disappears_ends_a_run() {
    for (workload, mode) in [("truncate_by_byte", "process"), ("truncate_by_byte", "thread")] {
        let Some(mount) = Mount::tmpfs("size=1m") else { return };
        let running = start_long(mount.path(), workload, mode);
        let mut filler = File::create(mount.path().join("filler")).unwrap();
        // Each time a file is down to nothing, its page is free until it is written again.
        runs_out_of_space(mount.path(), running, "write", || fill(&mut filler));
    }
}

#[test]
fn a_page_that_is_taken_from_a_file_ends_a_run() {
    let Some(mount) = Mount::tmpfs("size=1m") else { return };
    let running = start_long(mount.path(), "openbench", "process");
    let run_dir = mount.path().join(&leftovers(mount.path())[0]);
    let mut filler = File::create(mount.path().join("filler")).unwrap();
    // openbench writes the same bytes again and again, for which there is room until somebody else makes it free.
    runs_out_of_space(mount.path(), running, "write", || {
        fill(&mut filler);
        if let Ok(file) = File::options().write(true).open(run_dir.join("c0/f0")) {
            // Fails once the run has removed it.
            let _ = file.set_len(0);
        }
    });
}

#[test]
fn inodes_that_disappear_end_a_run() {
    for mode in ["process", "thread"] {
        let Some(mount) = Mount::tmpfs("size=4m,nr_inodes=64") else { return };
        let dir = mount.path().join("filler");
        fs::create_dir(&dir).unwrap();
        let running = start_long(mount.path(), "unlink_open", mode);
        let mut next = 0;
        let hit = || use_up_inodes(&dir, &mut next);
        runs_out_of_space(mount.path(), running, "open", hit);
    }
}

#[test]
fn a_tiny_ext4_refuses_what_does_not_fit_and_says_when_it_is_full() {
    let mut mkfs = Command::new("mkfs.ext4");
    mkfs.args(["-q", "-F", "-N", "32"]);
    let Some(mount) = Mount::image(8, &mut mkfs) else { return };
    is_refused(
        &mut vfscale(&["run", "--tasks", "256", "--on", &on(mount.path())]),
        &["free inodes; the run needs 260"],
    );
    let dir = mount.path().join("filler");
    fs::create_dir(&dir).unwrap();

    let running = start_long(mount.path(), "unlink_open", "process");
    let mut next = 0;
    let hit = || use_up_inodes(&dir, &mut next);
    runs_out_of_space(mount.path(), running, "open", hit);
    fs::remove_dir_all(&dir).unwrap();

    let running = start_long(mount.path(), "truncate_by_byte", "process");
    let mut filler = File::create(mount.path().join("filler")).unwrap();
    runs_out_of_space(mount.path(), running, "write", || fill(&mut filler));
}

#[test]
fn a_directory_without_permission_is_refused_with_advice() {
    let Some(user) = Unprivileged::new() else { return };
    let outer = temp_dir();
    let target = outer.path().join("target");
    fs::create_dir(&target).unwrap();
    let mode = |path: &Path, mode| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(path, permissions).unwrap();
    };
    let advice = "choose a directory that you may write to: dir:PATH";
    let table = [
        // Not to be written, not to be searched, not to be reached.
        (0o777, 0o755, advice),
        (0o777, 0o766, advice),
        (0o700, 0o777, "choose a directory that exists and that you may search: dir:PATH"),
    ];
    for (of_outer, of_target, advice) in table {
        mode(&target, of_target);
        mode(outer.path(), of_outer);
        let on = on(&target);
        is_refused(&mut user.vfscale(&["run", "--on", &on]), &["Permission denied", advice]);
        assert!(dir_is_empty(&target));
    }
    // The same user may, where it may.
    mode(outer.path(), 0o777);
    user.own(&target);
    let args = ["run", "--rounds", "2", "--slice", "5ms", "--on", &on(&target)];
    run(&mut user.vfscale(&args)).exits(0);
    assert!(dir_is_empty(&target));
}

#[test]
fn a_read_only_file_system_is_refused_with_advice() {
    let of = temp_dir();
    let Some(mount) = Mount::bind_read_only(of.path()) else { return };
    is_refused(
        &mut vfscale(&["run", "--on", &on(mount.path())]),
        &["is on a read-only mount", "remount it read-write"],
    );
}

#[test]
fn a_run_whose_directory_is_removed_ends() {
    let workloads = [
        ("open_close", "process", 3),
        ("open_close", "thread", 3),
        ("creat_close", "process", 3),
        // It works on an open file.
        ("truncate_by_byte", "process", 0),
    ];
    for (workload, mode, code) in workloads {
        let target = temp_dir();
        let args = [workload, "--mode", mode, "--tasks", "1,2", "--time", "1500ms"];
        let running = start(target.path(), &args);
        wait_until_busy(&running, target.path(), 1, Duration::from_millis(20));
        let run_dir = target.path().join(&leftovers(target.path())[0]);
        // Until it is gone: tasks make files while it is being removed.
        let removed = wait_until_spinning(Duration::from_secs(5), || {
            let _ = fs::remove_dir_all(&run_dir);
            !run_dir.exists()
        });
        assert!(removed, "{}", run_dir.display());
        let ran = end(running).exits(code);
        if code == 3 {
            failed(ran, target.path(), "open", "ENOENT", "is gone: something else removed it");
        }
        assert_gone(target.path(), &[], Instant::now());
    }
}

#[test]
fn a_run_whose_directory_is_renamed_ends() {
    let target = temp_dir();
    let running = start_long(target.path(), "open_close", "process");
    let run_dir = target.path().join(&leftovers(target.path())[0]);
    let moved = target.path().join("vfscale-run.moved");
    fs::rename(&run_dir, &moved).unwrap();
    failed(end(running), target.path(), "open", "ENOENT", "is gone: something else removed it");
    // The marker went with it.
    let ran = run(vfscale(&["clean"]).arg(target.path())).exits(0);
    assert_eq!(ran.stdout, format!("{}: removed\n", moved.display()));
}

#[test]
fn a_task_that_stays_stopped_ends_the_run() {
    let _quiet = with_deadline();
    for mode in ["process", "thread"] {
        let target = temp_dir();
        let running = start_long(target.path(), "unlink_open", mode);
        let tasks = running.tasks();
        let (number, victim) = tasks.iter().enumerate().next_back().expect("it has tasks");
        let since = Instant::now();
        signal_process(victim.pid, Signal::STOP);
        let ran = end(running).exits(3);
        let took = since.elapsed();
        assert!(took > Duration::from_secs(2), "time to be continued: {took:?}");
        assert!(took < Duration::from_secs(4), "{took:?}");
        assert_eq!(ran.stdout, "", "{ran}");
        let who = format!("task {number} ({mode} {}, CPU ", victim.pid);
        for part in [&who, "was stopped (SIGSTOP) and not continued", "Ctrl-Z"] {
            assert!(ran.stderr.contains(part), "{part}: {ran}");
        }
        assert_gone(target.path(), &[], Instant::now());
    }
}

/// What must hold of every record that a run shows, whatever has disturbed it.
#[track_caller]
fn is_sane(ran: &Ran) -> results::Run {
    let record = ran.record();
    assert!(!record.plan.partial && record.plan.rounds > 0, "{:?}", record.plan);
    for point in record.curves.iter().flat_map(|curve| &curve.points) {
        let whole = record.plan.rounds as usize * point.tasks as usize;
        assert_eq!(point.samples.len(), whole, "every task in every round");
        for sample in &point.samples {
            let elapsed = Duration::from_nanos(sample.elapsed_ns);
            assert!(!elapsed.is_zero() && elapsed < ran.took, "{sample:?}");
            // Both clocks are the kernel's, read one after the other.
            let on_cpu = Duration::from_nanos(sample.user_ns + sample.sys_ns);
            assert!(on_cpu < elapsed + Duration::from_millis(1), "{sample:?}");
        }
        assert!(point.ops_per_s > 0.0 && point.ops_per_s.is_finite(), "{point:?}");
    }
    record
}

#[test]
fn a_task_that_is_stopped_for_a_moment_does_not_count_meanwhile() {
    let _quiet = with_deadline();
    let pause = Duration::from_millis(300);
    for mode in ["process", "thread"] {
        let target = temp_dir();
        let args = ["--mode", mode, "--tasks", "1,2", "--time", "1500ms", "--format", "json"];
        let running = start(target.path(), &args);
        wait_until_busy(&running, target.path(), 1, Duration::from_millis(100));
        let victim = running.tasks().pop().expect("it has tasks").pid;
        signal_process(victim, Signal::STOP);
        std::thread::sleep(pause);
        assert!(is_alive(running.pid()), "it waits: {}", running.stderr());
        signal_process(victim, Signal::CONT);
        let ran = end(running).exits(0);
        does_not_count(pause, &is_sane(&ran));
        assert_gone(target.path(), &[], Instant::now());
    }
}

/// Checks that the slice in which tasks were stopped for so long is none of those that are shown: it was repeated.
#[track_caller]
fn does_not_count(pause: Duration, record: &results::Run) {
    for sample in record.curves[0].points.iter().flat_map(|point| &point.samples) {
        assert!(Duration::from_nanos(sample.elapsed_ns) < pause, "{sample:?}");
    }
}

/// Stopped and continued all at once (`pkill -STOP`, `pkill -CONT`), the main process is the last to see anything again.
#[test]
fn a_pause_of_all_processes_does_not_count() {
    let _quiet = with_deadline();
    let pause = Duration::from_millis(300);
    let target = temp_dir();
    let args = ["--tasks", "2", "--time", "1500ms", "--format", "json"];
    let running = start(target.path(), &args);
    wait_until_busy(&running, target.path(), 2, Duration::from_millis(100));
    let tasks = running.tasks();
    running.signal(Signal::STOP);
    let signal_tasks = |signal| tasks.iter().for_each(|task| signal_process(task.pid, signal));
    signal_tasks(Signal::STOP);
    std::thread::sleep(pause);
    signal_tasks(Signal::CONT);
    std::thread::sleep(Duration::from_millis(20));
    running.signal(Signal::CONT);
    let ran = end(running).exits(0);
    does_not_count(pause, &is_sane(&ran));
    assert_gone(target.path(), &[], Instant::now());
}

#[test]
fn a_run_that_is_paused_goes_on_and_its_numbers_are_sane() {
    for (mode, signal) in [("process", Signal::STOP), ("thread", Signal::TSTP)] {
        let target = temp_dir();
        let args = ["--mode", mode, "--tasks", "1,2", "--time", "2500ms", "--format", "json"];
        let running = start(target.path(), &args);
        wait_until_busy(&running, target.path(), 1, Duration::from_millis(100));
        // As Ctrl-Z does: to the group.
        running.signal_group(signal);
        std::thread::sleep(Duration::from_secs(1));
        running.signal_group(Signal::CONT);
        let ran = end(running).exits(0);
        is_sane(&ran);
        assert_gone(target.path(), &[], Instant::now());
    }
}

/// Makes an ext4 read-only, which it refuses while a file is open for writing: again and again.
#[track_caller]
fn remount(mount: &Mount, option: &str) {
    let tried = || {
        let output = Command::new("mount")
            .args(["-o", &format!("remount,{option}")])
            .arg(mount.path())
            .output();
        output.is_ok_and(|output| output.status.success())
    };
    assert!(wait_until_spinning(Duration::from_secs(10), tried), "remount {option}");
}

#[test]
fn a_file_system_that_turns_read_only_ends_a_run() {
    let Some(mount) = Mount::ext4() else { return };
    let running = start_long(mount.path(), "open_close", "process");
    remount(&mount, "ro");
    // As soon as its tasks are gone it can be written again: what is tested first is the run, then what it cleans up.
    let gone = wait_until(Duration::from_secs(5), || running.tasks().is_empty());
    assert!(gone, "{}", running.stderr());
    remount(&mount, "rw");
    let since = Instant::now();
    failed(end(running), mount.path(), "open", "EROFS", "remount it read-write");
    assert_gone(mount.path(), &[], since);
}

#[test]
fn a_run_that_cannot_clean_up_says_how_to() {
    let Some(mount) = Mount::ext4() else { return };
    let running = start_long(mount.path(), "open_close", "process");
    let run_dir = mount.path().join(&leftovers(mount.path())[0]);
    remount(&mount, "ro");
    let ran = failed(end(running), mount.path(), "open", "EROFS", "remount it read-write");
    remount(&mount, "rw");
    assert!(run_dir.join("c0").exists(), "nobody could remove it");
    for part in [run_dir.to_str().unwrap(), "vfscale clean"] {
        assert!(ran.stderr.contains(part), "{part}: {ran}");
    }
    run(vfscale(&["clean"]).arg(mount.path())).exits(0);
    assert!(dir_is_empty(mount.path()));
}
