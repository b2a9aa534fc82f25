//! What the threads found, seen on the counters of the lab's locks and of its RCU.

use lab::eras::parse;
use lab::vfs::{Kernel, Task};
use machine::{Counted, Cpu, take_totals};
use std::sync::Arc;
use vfs_api::OFlags;

const CPUS: usize = 8;
const CREATE: OFlags = OFlags::RDWR.union(OFlags::CREATE);

type CountedTask = Task<Counted>;

/// A process alone in a kernel of that era, with an empty file `/f`.
fn task(era: &str) -> CountedTask {
    let era = parse(era).expect("an era");
    let kernel = Arc::new(Kernel::new(&era, CPUS));
    let task = Task::new_process(&kernel, Cpu(0), 100, false);
    task.enter();
    open_close(&task, CREATE);
    task
}

fn open_close(task: &CountedTask, flags: OFlags) {
    let fd = task.open(b"/f", flags).expect("open");
    task.close(fd).expect("close");
}

/// How often locks of that name are taken by `f`.
fn acquisitions(name: &str, f: impl FnOnce()) -> u64 {
    take_totals();
    f();
    take_totals()
        .iter()
        .filter(|totals| totals.name == name)
        .map(|totals| totals.acquisitions)
        .sum()
}

/// The same in the course of one open and close.
fn per_open_close(task: &CountedTask, name: &str, flags: OFlags) -> u64 {
    acquisitions(name, || open_close(task, flags))
}

#[test]
fn every_open_and_close_of_2_6_20_takes_files_lock() {
    assert_eq!(per_open_close(&task("linux-2.6.20"), "files_lock", OFlags::RDWR), 2);
    assert_eq!(per_open_close(&task("linux-2.6.20+s_files"), "files_lock", OFlags::RDWR), 0);
    assert_eq!(per_open_close(&task("linux-2.6.36"), "files_lglock", OFlags::RDWR), 2);
    assert_eq!(per_open_close(&task("linux-6.18"), "files_lglock", OFlags::RDWR), 0);
}

#[test]
fn files_that_are_closed_soon_never_reach_the_list_behind_the_filevec() {
    let task = task("linux-2.6.20+s_files");
    // The file's own lock, at both ends, and nothing else: not the list's head, and no neighbour. One slot is used already.
    for n in 2..15 {
        assert_eq!(per_open_close(&task, "llist_lock", OFlags::RDWR), 2, "in slot {n}");
    }
    // The last slot: the CPU moves what is in its slots to the list, and that is this file.
    assert!(per_open_close(&task, "llist_lock", OFlags::RDWR) > 2);
    assert_eq!(per_open_close(&task, "llist_lock", OFlags::RDWR), 2, "in the first slot again");
    // A walk finds what is open, wherever it is, and nothing else.
    let fd = task.open(b"/f", OFlags::RDWR).expect("open");
    assert_eq!(task.kernel().listed_files(Cpu(1)), Some(1));
    task.close(fd).expect("close");
    assert_eq!(task.kernel().listed_files(Cpu(1)), Some(0));
}

#[test]
fn cutting_an_empty_file_makes_it_an_orphan_for_a_moment() {
    let task_ = task("linux-3.15");
    assert_eq!(per_open_close(&task_, "s_orphan_lock", OFlags::RDWR), 0);
    assert_eq!(per_open_close(&task_, "s_orphan_lock", OFlags::RDWR | OFlags::TRUNC), 2);
    // The orphan file of 5.15 has no lock.
    let task_ = task("linux-5.15");
    assert_eq!(per_open_close(&task_, "s_orphan_lock", OFlags::RDWR | OFlags::TRUNC), 0);
}

#[test]
fn a_file_that_is_there_is_created_under_the_mutex_of_its_directory_until_6_12() {
    const DIRECTORY: &str = "i_mutex (directory)";
    for era in ["linux-2.6.20", "linux-5.15"] {
        let task = task(era);
        assert_eq!(per_open_close(&task, DIRECTORY, CREATE), 1, "{era}");
        assert_eq!(per_open_close(&task, DIRECTORY, OFlags::RDWR), 0, "{era}");
    }
    let task = task("linux-6.18");
    assert_eq!(per_open_close(&task, DIRECTORY, CREATE), 0);
    let exclusive = || assert!(task.open(b"/f", CREATE | OFlags::EXCL).is_err());
    assert_eq!(acquisitions(DIRECTORY, exclusive), 1);
}

#[test]
fn a_remount_makes_every_mntput_take_the_locks_of_all_cpus() {
    let taken = |era: &str| {
        let task = task(era);
        let before = per_open_close(&task, "vfsmount_lock", OFlags::RDWR);
        task.remount_mount(b"/", false).expect("remount");
        (before, per_open_close(&task, "vfsmount_lock", OFlags::RDWR))
    };
    let (before, after) = taken("linux-2.6.32+vfs-scale+remount-bug");
    assert!(before > 0);
    // The own CPU's lock, under which the flag is missing, and then all.
    assert_eq!(after, before * (1 + CPUS as u64));
    let (before, after) = taken("linux-2.6.32+vfs-scale");
    assert_eq!(after, before);
}

#[test]
fn an_open_close_loop_outruns_rcu_until_files_are_reused_at_once() {
    let backlog = |era: &str| {
        let task = task(era);
        let before = task.backlog();
        (0..5000).for_each(|_| open_close(&task, OFlags::RDWR));
        let after = task.backlog();
        (after.waiting - before.waiting, after.done - before.done)
    };
    let (waiting, done) = backlog("linux-2.6.14");
    assert!(waiting > 1000, "{waiting}");
    // Grace periods do end: it is the number of callbacks run at a time that lags behind.
    assert!(done > 100, "{done}");
    assert_eq!(backlog("linux-2.6.7"), (0, 0));
    assert_eq!(backlog("linux-6.18"), (0, 0));
}
