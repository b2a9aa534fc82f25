//! Workloads on real file systems: each of them does something everywhere, and nothing of it is left.

use crate::support::{
    Mount, Ran, Running, Unprivileged, dir_is_empty, leftovers, on, recorded, run, small, temp_dir,
    vfscale,
};
use results::Point;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use vfs_api::{Capability, Info, TaskMode};

/// How many workloads a run has, and one through a server in user space.
const CHUNK: usize = 8;
const CHUNK_OF_SERVER: usize = 6;

/// Every workload, in groups that a run takes. `user`: those that an ordinary user can run.
fn groups(user: bool, chunk: usize) -> Vec<(Vec<&'static Info>, &'static str)> {
    let may = |info: &&Info| !user || !info.needs.contains(&Capability::Mounts);
    let both = |info: &Info| info.modes.contains(&TaskMode::Process);
    let (both, threads): (Vec<&Info>, Vec<&Info>) =
        workloads::ALL.iter().filter(may).partition(|info| both(info));
    let chunks = both.chunks(chunk).map(|chunk| (chunk.to_vec(), "process,thread"));
    chunks.chain([(threads, "thread")]).collect()
}

/// Short, but a round of every point.
const SHORT: [&str; 8] = ["--rounds", "3", "--slice", "4ms", "--time", "150ms", "--format", "json"];
/// The same with slices of another length.
const UNSLICED: [&str; 6] = ["--rounds", "3", "--time", "150ms", "--format", "json"];

fn args<'a>(first: &[&'a str], target: &'a str) -> Vec<&'a str> {
    [&["run"], first, &["--on", target], &SHORT].concat()
}

/// Every workload in every mode with fewer and more tasks than two CPUs; but those that the file system cannot have are refused
/// before anything starts, with the reason.
pub(crate) fn each_workload_works(dir: &Path, fs_type: &str, refused: &[(&str, &str)]) {
    let target = on(dir);
    let served = fs_type == "fuse";
    // A server in user space answers late where its callers keep the CPUs: fewer of them, longer slices, and once each.
    let (tasks, slice, chunk): (&[u32], _, _) = match served {
        true => (&[2], ["--slice", "20ms"], CHUNK_OF_SERVER),
        false => (&[1, 3], ["--slice", "4ms"], CHUNK),
    };
    let counts = tasks.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let is_refused = |info: &&Info| refused.iter().any(|(name, _)| *name == info.name);
    for (name, why) in refused {
        let ran = run(&mut vfscale(&args(&[name], &target))).exits(4);
        assert!(ran.stderr.contains(&format!("{name} needs")), "{ran}");
        assert!(ran.stderr.contains(why), "the reason is not '{why}': {ran}");
        assert_eq!((&*ran.stdout, leftovers(dir)), ("", vec![]), "{name} on {fs_type}");
    }
    for (mut infos, modes) in groups(false, chunk) {
        let modes = if served { modes.split(',').next().unwrap_or(modes) } else { modes };
        infos.retain(|info| !is_refused(info));
        let names: Vec<String> = infos.iter().map(|info| small(info)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let first = [&names[..], &["--mode", modes, "--tasks", &counts]].concat();
        let args = [&["run"], &first[..], &["--on", &target], &slice, &UNSLICED].concat();
        let ran = run(&mut vfscale(&args)).exits(0);
        did_something(&ran, &infos, modes, tasks, |args| {
            vfscale(&[args, &["--on", &target]].concat())
        });
        assert_eq!(ran.record().host.fs[0].fs_type, fs_type);
        assert_eq!(leftovers(dir), [""; 0], "{names:?} on {fs_type}");
    }
}

/// Checks that the record has exactly these curves and points, and operations at each point. On a busy machine a task may have
/// got no time in all of its short slices: then it gets a long one, from `again`.
fn did_something(
    ran: &Ran,
    infos: &[&Info],
    modes: &str,
    tasks: &[u32],
    again: impl Fn(&[&str]) -> Command,
) {
    let record = ran.record();
    let names: Vec<String> = infos.iter().map(|info| recorded(info)).collect();
    let expected: Vec<(&str, &str)> =
        names.iter().flat_map(|name| modes.split(',').map(move |mode| (&**name, mode))).collect();
    let curves: Vec<(&str, &str)> =
        record.curves.iter().map(|curve| (&*curve.workload, &*curve.mode)).collect();
    assert_eq!(curves, expected);
    let ops = |point: &Point| point.samples.iter().map(|sample| sample.ops).sum::<u64>();
    for curve in &record.curves {
        let counts: Vec<u32> = curve.points.iter().map(|point| point.tasks).collect();
        assert_eq!(counts, tasks, "{} {}", curve.workload, curve.mode);
        for point in &curve.points {
            assert_eq!(point.samples.len(), 3 * point.tasks as usize);
            if ops(point) > 0 {
                continue;
            }
            let tasks = point.tasks.to_string();
            let args = ["run", &curve.workload, "--mode", &curve.mode, "--tasks", &tasks];
            let long = ["--rounds", "2", "--slice", "1s", "--format", "json"];
            let record = run(&mut again(&[&args[..], &long].concat())).exits(0).record();
            let ops = ops(&record.curves[0].points[0]);
            assert!(ops > 0, "{} {} {tasks}: nothing was done", curve.workload, curve.mode);
        }
    }
}

#[test]
fn every_workload_works_on_tmpfs() {
    let Some(mount) = Mount::tmpfs("size=64m") else { return };
    each_workload_works(mount.path(), "tmpfs", &[]);
}

#[test]
fn every_workload_works_on_ext4() {
    let Some(mount) = Mount::ext4() else { return };
    each_workload_works(mount.path(), "ext4", &[]);
}

/// Curves of a run together: they share crews, directories and rounds.
#[test]
fn all_workloads_work_in_runs_of_an_ordinary_user() {
    let Some(user) = Unprivileged::new() else { return };
    let Some(mount) = Mount::tmpfs("size=64m,mode=755") else { return };
    let dir = mount.path().join("of the user");
    fs::create_dir(&dir).expect("make a directory");
    user.own(&dir);
    let target = on(&dir);
    for (infos, modes) in groups(true, CHUNK) {
        let names: Vec<String> = infos.iter().map(|info| small(info)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let first = [&names[..], &["--mode", modes, "--tasks", "1,3"]].concat();
        let ran = run(&mut user.vfscale(&args(&first, &target))).exits(0);
        did_something(&ran, &infos, modes, &[1, 3], |args| {
            user.vfscale(&[args, &["--on", &target]].concat())
        });
        assert_eq!(leftovers(&dir), [""; 0]);
    }
    let ran = run(&mut user.vfscale(&args(&["chmod_own_mount"], &target))).exits(4);
    assert!(ran.stderr.contains("CAP_SYS_ADMIN"), "{ran}");
}

/// A bounded set ends a slice, not the run, and the next slice has all of it again.
#[test]
fn a_set_that_is_used_up_ends_the_slice() {
    let dir = temp_dir();
    let target = on(dir.path());
    let arguments =
        ["create_own:files=8", "unlink_shared:files=8", "--tasks", "1", "--on", &target];
    let slices = ["--rounds", "5", "--slice", "500ms", "--format", "json"];
    let record = run(&mut vfscale(&[&["run"], &arguments[..], &slices].concat())).exits(0).record();
    for curve in &record.curves {
        let ops: Vec<u64> = curve.points[0].samples.iter().map(|sample| sample.ops).collect();
        assert_eq!(ops, [8; 5], "{}", curve.workload);
    }
    assert_eq!(leftovers(dir.path()), [""; 0]);
}

/// A mount that a workload makes is nobody's but the run's.
#[test]
fn mounts_of_a_run_are_not_seen_outside() {
    let Some(mount) = Mount::tmpfs("size=16m") else { return };
    let target = on(mount.path());
    let running = Running::start(&mut vfscale(&[
        "run",
        "chmod_own_mount",
        "--on",
        &target,
        "--tasks",
        "2",
        "--time",
        "2s",
    ]));
    running.wait_until_it_measures(mount.path(), 2);
    let mounts = fs::read_to_string("/proc/thread-self/mounts").expect("mounts");
    let inside = mounts.lines().filter(|line| line.contains("vfscale-run")).count();
    assert_eq!(inside, 0, "{mounts}");
    running.wait(Duration::from_secs(30)).exits(0);
    assert_eq!(leftovers(mount.path()), [""; 0]);
}

#[test]
fn a_directory_of_somebody_else_is_refused() {
    let Some(user) = Unprivileged::new() else { return };
    let dir = temp_dir();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("chmod 755");
    let target = on(dir.path());
    let ran = run(&mut user.vfscale(&args(&[], &target))).exits(4);
    assert!(ran.stderr.contains("Permission denied"), "{ran}");
    assert!(ran.stderr.contains("choose a directory that you may write to"), "{ran}");
    assert_eq!(ran.stdout, "");
    assert_eq!(leftovers(dir.path()), [""; 0]);
}

#[test]
fn a_read_only_mount_is_refused_and_left_alone() {
    let Some(writable) = Mount::tmpfs("size=1m") else { return };
    let Some(mount) = Mount::bind_read_only(writable.path()) else { return };
    fs::write(writable.path().join("a file"), "x").expect("the tmpfs below can be written");
    // What a directory entry of the run would change.
    let changed = || {
        let meta = fs::metadata(writable.path()).expect("stat");
        (meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec())
    };
    let before = changed();
    let target = on(mount.path());
    let ran = run(&mut vfscale(&args(&[], &target))).exits(4);
    assert!(ran.stderr.contains("is on a read-only mount"), "{ran}");
    assert!(ran.stderr.contains("remount it read-write"), "what to do is missing: {ran}");
    assert!(
        ran.stderr.contains(mount.path().to_str().expect("UTF-8")),
        "the path is missing: {ran}"
    );
    assert_eq!(ran.stdout, "");
    assert_eq!(changed(), before, "something was made and removed");
    assert_eq!(leftovers(mount.path()), ["a file"]);
}

#[test]
fn several_targets_in_one_run_each_have_a_curve_and_their_file_system() {
    let Some(tmpfs) = Mount::tmpfs("size=4m") else { return };
    let Some(ext4) = Mount::ext4() else { return };
    let (first, second) = (on(tmpfs.path()), on(ext4.path()));
    let workloads = ["open_close", "creat_close", "--tasks", "1,2", "--on", &second];
    let record = run(&mut vfscale(&args(&workloads, &first))).exits(0).record();
    let curves: Vec<(&str, &str)> =
        record.curves.iter().map(|curve| (&*curve.workload, &*curve.target)).collect();
    let both = |workload| [(workload, &*second), (workload, &*first)];
    assert_eq!(curves, [both("open_close"), both("creat_close")].concat());
    for curve in &record.curves {
        let ops: u64 =
            curve.points.iter().flat_map(|point| &point.samples).map(|sample| sample.ops).sum();
        assert!(ops > 0, "{curve:?}");
    }
    let fs: Vec<(&str, &str, &str)> = record
        .host
        .fs
        .iter()
        .map(|mount| (&*mount.target, &*mount.fs_type, &*mount.mount_point))
        .collect();
    let path = |mount: &Mount| mount.path().to_str().expect("UTF-8").to_owned();
    assert_eq!(fs, [(&*second, "ext4", &*path(&ext4)), (&*first, "tmpfs", &*path(&tmpfs))]);
    assert!(record.host.fs[1].super_options.iter().any(|option| option == "size=4096k"));
    assert!(record.host.fs[0].source.starts_with("/dev/loop"), "{:?}", record.host.fs[0]);
    assert!(dir_is_empty(tmpfs.path()) && dir_is_empty(ext4.path()));
}

/// One run directory has to do where a directory is named twice, by itself or by a link.
#[test]
fn a_directory_may_be_asked_for_twice() {
    let dir = temp_dir();
    let place = dir.path().join("place");
    fs::create_dir(&place).expect("make a directory");
    symlink(&place, dir.path().join("link")).expect("make a link");
    let (direct, link) = (on(&place), on(&dir.path().join("link")));
    let record =
        run(&mut vfscale(&args(&["--on", &link, "--on", &direct], &direct))).exits(0).record();
    let targets: Vec<&str> = record.curves.iter().map(|curve| &*curve.target).collect();
    assert_eq!(targets, [&link, &direct], "each once, in the order asked for");
    assert_eq!(leftovers(&place), [""; 0]);
}

#[test]
fn the_current_directory_is_the_default() {
    let Some(mount) = Mount::tmpfs("size=4m") else { return };
    let mut command = vfscale(&[&["run"], &SHORT[..]].concat());
    let record = run(command.current_dir(mount.path())).exits(0).record();
    assert_eq!(record.curves[0].target, "dir:.");
    assert_eq!(record.curves[0].workload, "open_close");
    assert_eq!(record.host.fs[0].fs_type, "tmpfs");
    assert_eq!(Path::new(&record.host.fs[0].mount_point), mount.path());
    assert_eq!(leftovers(mount.path()), [""; 0]);
}

#[test]
fn odd_paths_are_measured_and_recorded_as_written() {
    let Some(mount) = Mount::tmpfs("size=4m") else { return };
    for name in [
        "plain",
        "two  blanks",
        "-",
        "a\nb",
        "na\u{ef}ve \u{6f22}\u{5b57}",
        "co:lon,comma",
        "back\\slash 100%",
    ] {
        let dir = mount.path().join(name);
        fs::create_dir(&dir).expect(name);
        measured_as(mount.path(), &dir, &on(&dir));
        measured_as(mount.path(), &dir, &format!("dir:{name}"));
        measured_as(mount.path(), &dir, &format!("dir:./{name}/"));
        measured_as(&dir, &dir, &format!("dir:../{name}"));
    }
    fs::create_dir_all(mount.path().join("deep/er")).expect("make directories");
    symlink("deep/er", mount.path().join("link")).expect("make a link");
    symlink("link", mount.path().join("link to link")).expect("make a link");
    let real = mount.path().join("deep/er");
    measured_as(mount.path(), &real, "dir:link");
    measured_as(mount.path(), &real, "dir:link to link");
    measured_as(mount.path(), mount.path(), "dir:link/../..");
}

/// Runs a workload that depends on the current directory and one that does not, from `cwd` on `target`, which is `dir`.
fn measured_as(cwd: &Path, dir: &Path, target: &str) {
    let before = leftovers(dir);
    let mut command =
        vfscale(&args(&["open_close", "file_ops", "--mode", "process,thread"], target));
    let ran = run(command.current_dir(cwd)).exits(0);
    let record = ran.record();
    assert!(record.curves.iter().all(|curve| curve.target == target), "{target:?}: {record:?}");
    assert_eq!(record.host.fs.len(), 1, "{target:?}");
    assert_eq!((&*record.host.fs[0].target, &*record.host.fs[0].fs_type), (target, "tmpfs"));
    assert_eq!(leftovers(dir), before, "{target:?}");
}

#[test]
fn what_is_no_directory_is_refused() {
    let dir = temp_dir();
    let file = dir.path().join("file");
    fs::write(&file, "x").expect("write a file");
    symlink("nowhere", dir.path().join("dangling")).expect("make a link");
    for (name, why) in [
        ("file", "is not a directory"),
        ("file/below", "Not a directory"),
        ("missing", "No such file or directory"),
        ("dangling", "No such file or directory"),
    ] {
        let target = on(&dir.path().join(name));
        let ran = run(&mut vfscale(&args(&[], &target))).exits(4);
        assert!(ran.stderr.contains(why), "{name}: {ran}");
        assert!(ran.stderr.contains("choose a directory that exists"), "{name}: {ran}");
        assert_eq!(ran.stdout, "");
    }
    assert_eq!(fs::read(&file).expect("read the file"), b"x");
    assert_eq!(leftovers(dir.path()), ["dangling", "file"]);
}
