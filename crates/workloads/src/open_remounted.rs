//! open(O_RDWR) and close of one's own file on a bind mount that one task more makes read-only and writable again all the time.
//!
//! In no other tool; what the count of writers of mail 000 is for. An open that finds the mount read-only (EROFS) is not counted,
//! and a remount that finds a writer (EBUSY) is no failure.
//!
//! Shared: the mount, its count of writers and its flags.
//! Should scale: opens linearly while nobody remounts; while somebody does they wait for it.
//! Moves: the mount's flags, which every open for writing reads (MNT_WRITE_HOLD, MNT_READONLY), written by each remount; the
//! remounting task sums up the per-CPU counts of all CPUs. Up to 2.6.19 the list of open files is walked instead.
//! Did not scale: the designs before 2.6.30, in which a remount stops the writers' slots one by one.

use crate::common::{INFO, PRIVATE, PRIVATE_DIR, create_closed, in_dir};
use std::ffi::{CStr, CString};
use vfs_api::{
    Capability, Cause, Demand, Errno, Failure, FileSystem, Info, OFlags, Place, Shared, Suite,
    Workload,
};

/// See the module's header.
pub struct OpenRemounted;

/// A file, and the mount that it is on.
pub struct Task {
    path: CString,
    mount: CString,
}

fn is(failure: &Failure, errno: Errno) -> bool {
    failure.cause == Cause::Errno(errno)
}

impl Workload for OpenRemounted {
    const INFO: Info = Info {
        name: "open_remounted",
        summary: "open(O_RDWR) and close own file on one mount that another task remounts",
        origin: "in no other tool; mail 000 (read-only bind mounts, 2007)",
        shared: Shared::Mount,
        suites: &[Suite::Own],
        operation: "one open that did not answer EROFS, and one close",
        needs: &[Capability::Create, Capability::Mounts],
        background: true,
        demand: |_| Demand { fds: 1, inodes: 1, shared_inodes: 2, ..Demand::NONE },
        ..INFO
    };
    type Task = Task;

    fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
        let (dir, mount) = (place.path("dir"), place.path("mount"));
        fs.mkdir(&dir, PRIVATE_DIR)?;
        fs.mkdir(&mount, PRIVATE_DIR)?;
        fs.bind(&dir, &mount)
    }

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
        // Through the directory, so that it does not matter what the mount is at the moment.
        create_closed(fs, &in_dir(&place.path("dir"), &place.own_name()))?;
        let mount = place.path("mount");
        Ok(Task { path: in_dir(&mount, &place.own_name()), mount })
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
        match fs.open(&task.path, OFlags::RDWR, PRIVATE) {
            Ok(fd) => {
                fs.close(fd)?;
                Ok(1)
            }
            Err(failure) if is(&failure, Errno::ROFS) => Ok(0),
            Err(failure) => Err(failure),
        }
    }

    fn background<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        match fs.remount_mount(&task.mount, true) {
            Err(failure) if is(&failure, Errno::BUSY) => Ok(()),
            Err(failure) => Err(failure),
            // At once, for a task that has to share its CPU with this one finds it so as a rule.
            Ok(()) => fs.remount_mount(&task.mount, false),
        }
    }

    fn path(task: &Task) -> &CStr {
        &task.path
    }
}
