//! One cheap call, or a pair that takes itself back, on an open file: lseek, dup and close, record lock and unlock.
//!
//! will-it-scale's `lseek1-2`, `dup1` and `lock1-2`. will-it-scale counts lock and unlock as two; here a pair is one operation.
//! `lseek_shared` and `lock_shared` open the same file, each task for itself.
//!
//! Shared: in thread mode the fd table. `lseek_shared`: the inode, which a seek to a fixed place only reads. `lock_shared`: the
//! inode's list of locks; in process mode the tasks want the same lock and wait for each other, in thread mode the lock is the
//! process's, and they do not.
//! Should scale: lseek and locks of own files linearly; dup in process mode; `lock_shared` not at all.
//! Moves: `dup_close`: in thread mode `files->file_lock`, twice, and f_count of the file. Locks: flc_lock of the
//! inode and a per-CPU list since 4.0 (up to 3.10 the global `file_lock_lock`); `lock_shared` also blocked_lock_lock, which is
//! global, while tasks wait.
//! Did not scale: locks up to 3.10 (one lock for all); threads' dup in any kernel up to 6.18.

use crate::common::{INFO, PRIVATE, create, create_closed};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Failure, Fd, FileSystem, Info, OFlags, Place, Shared, Suite, Workload,
};

/// An open file.
pub struct Task {
    path: CString,
    fd: Fd,
}

#[inline(always)]
fn lseek<F: FileSystem>(fs: &F, task: &Task) -> Result<(), Failure> {
    fs.seek(task.fd, 0).map(|_| ())
}

#[inline(always)]
fn dup<F: FileSystem>(fs: &F, task: &Task) -> Result<(), Failure> {
    let second = fs.dup(task.fd)?;
    fs.close(second)
}

#[inline(always)]
fn lock<F: FileSystem>(fs: &F, task: &Task) -> Result<(), Failure> {
    fs.record_lock(task.fd, true)?;
    fs.record_lock(task.fd, false)
}

const FILE: &[Capability] = &[Capability::Create];
const LOCKS: &[Capability] = &[Capability::Create, Capability::RecordLocks];

macro_rules! calls {
    ($($workload:ident = $name:literal, $alias:literal: $call:ident, $shared:ident, $calls:ident, $needs:ident;
       $summary:literal, $operation:literal;)*) => {
        $(
            #[doc = $summary]
            pub struct $workload;

            impl Workload for $workload {
                const INFO: Info = Info {
                    name: $name,
                    aliases: &[concat!("wis:", $alias)],
                    summary: $summary,
                    origin: concat!("will-it-scale ", $alias),
                    calls: Calls::$calls,
                    shared: Shared::$shared,
                    suites: &[Suite::WillItScale],
                    operation: $operation,
                    needs: $needs,
                    demand: |_| vfs_api::Demand { fds: 2, inodes: 1, ..vfs_api::Demand::NONE },
                    ..INFO
                };
                type Task = Task;

                fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
                    match Shared::$shared {
                        Shared::File => create_closed(fs, &place.shared_path()),
                        _ => Ok(()),
                    }
                }

                fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
                    match Shared::$shared {
                        Shared::File => {
                            let path = place.shared_path();
                            let fd = fs.open(&path, OFlags::RDWR, PRIVATE)?;
                            Ok(Task { path, fd })
                        }
                        _ => {
                            let path = place.own_path();
                            let fd = create(fs, &path)?;
                            Ok(Task { path, fd })
                        }
                    }
                }

                #[inline]
                fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
                    $call(fs, task)?;
                    Ok(1)
                }

                fn path(task: &Task) -> &CStr {
                    &task.path
                }
            }
        )*
    };
}

calls! {
    LseekOwn = "lseek_own", "lseek1": lseek, Descriptors, Descriptors, FILE;
        "lseek of own open file to its start", "one lseek";
    LseekShared = "lseek_shared", "lseek2": lseek, File, Descriptors, FILE;
        "lseek of one file, opened by each task, to its start", "one lseek";
    DupClose = "dup_close", "dup1": dup, Descriptors, Descriptors, FILE;
        "dup of own open file, close", "one dup and one close";
    LockOwn = "lock_own", "lock1": lock, FileSystem, Locks, LOCKS;
        "write lock of own file (fcntl), unlock", "one lock and one unlock";
    LockShared = "lock_shared", "lock2": lock, File, Locks, LOCKS;
        "write lock of one file (fcntl), unlock", "one lock and one unlock";
}
