//! Workloads on file systems that a user may have beside tmpfs and ext4, and what happens there in the background.

use crate::mounts::each_workload_works;
use crate::support::{Mount, Running, leftovers, on, temp_dir, vfscale, wait_until};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

#[test]
fn every_workload_works_on_xfs() {
    let Some(mount) = Mount::xfs() else { return };
    each_workload_works(mount.path(), "xfs", &[]);
}

#[test]
fn every_workload_works_on_btrfs() {
    let Some(mount) = Mount::btrfs() else { return };
    each_workload_works(mount.path(), "btrfs", &[]);
}

#[test]
fn every_workload_works_on_overlayfs() {
    let Some(mount) = Mount::overlay() else { return };
    each_workload_works(mount.path(), "overlay", &[]);
}

/// What a file system in user space has not implemented, the kernel answers for it with EOPNOTSUPP.
#[test]
fn every_workload_works_on_fuse_or_is_refused_with_the_reason() {
    let Some(mount) = Mount::fuse() else { return };
    let refused = [
        ("fallocate", "its file system has no fallocate (EOPNOTSUPP)"),
        ("tmpfile_close", "its file system makes no nameless files (EOPNOTSUPP)"),
        ("tmpfile_link", "its file system makes no nameless files (EOPNOTSUPP)"),
    ];
    each_workload_works(mount.path(), "fuse", &refused);
}

/// Modification times, with their nanoseconds, of what is there and of the directories below it.
fn modified(path: &Path) -> Vec<(i64, i64)> {
    let Ok(meta) = fs::metadata(path) else { return Vec::new() };
    let below = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    let dirs = below.map(|entry| entry.path()).filter(|path| path.is_dir());
    let times = dirs.flat_map(|dir| modified(&dir)).collect::<Vec<_>>();
    [times, vec![(meta.mtime(), meta.mtime_nsec())]].concat()
}

fn changes(path: &Path) -> bool {
    let first = modified(path);
    wait_until(Duration::from_secs(5), || modified(path) != first)
}

/// FxMark's own DRBL_bg writes nothing. Here what is only read by the tasks that are measured changes all the time.
#[test]
fn background_tasks_really_work() {
    // With one task its own file, the shared one, its own directory, the shared one, and the top of the tree.
    let table = [
        ("fxmark:DRBL_bg", "f0"),
        ("fxmark:DRBM_bg", "shared"),
        ("fxmark:DRBH_bg", "shared"),
        ("fxmark:MRDL_bg:names=32", "d0"),
        ("fxmark:MRDM_bg:names=32", "dir"),
        ("fxmark:MRPM_bg:branching=2", "0"),
    ];
    for (workload, what) in table {
        for mode in ["process", "thread"] {
            let dir = temp_dir();
            let arguments = [workload, "--mode", mode, "--tasks", "1", "--time", "30s"];
            let running = Running::start(&mut vfscale(
                &[&["run", "--on", &on(dir.path())], &arguments[..]].concat(),
            ));
            running.wait_until_it_measures(dir.path(), 1);
            let place = dir.path().join(&leftovers(dir.path())[0]).join("c0");
            let there = wait_until(Duration::from_secs(5), || place.join(what).exists());
            assert!(there, "{workload}: no {what}: {:?}", leftovers(&place));
            assert!(
                changes(&place.join(what)),
                "{workload}, {mode}: nobody writes: {}",
                running.stderr()
            );
            running.signal(rustix::process::Signal::INT);
            running.wait(Duration::from_secs(30)).exits(130);
            assert_eq!(leftovers(dir.path()), [""; 0]);
        }
    }
}
