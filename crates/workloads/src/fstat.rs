//! fstat of one's own open file: one fd look-up and nothing else that could be shared.
//!
//! For the fd table of mail 001, with as little beside the look-up as a system call can have.
//!
//! Shared: in thread mode the fd table, else nothing.
//! Should scale: linearly in both modes.
//! Moves: thread mode of 2.6.7: `files->file_lock`; since 2.6.14 (RCU) no shared line is written.
//! Did not scale: thread mode up to 2.6.13.

use crate::common::{BOTH, create};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, Fd, FileSystem, Info, Place, Shared, Suite, Workload,
};

/// See the module's header.
pub struct Fstat;

/// An open file.
pub struct Task {
    path: CString,
    fd: Fd,
}

impl Workload for Fstat {
    const INFO: Info = Info {
        name: "fstat",
        aliases: &[],
        summary: "fstat of own open file: one fd look-up, nothing else",
        origin: "mail 001 (lock-free fd look-up, 2004)",
        calls: Calls::Descriptors,
        shared: Shared::Descriptors,
        suites: &[Suite::Mails, Suite::Quick],
        params: &[],
        modes: BOTH,
        operation: "one fstat",
        needs: &[Capability::Create],
        background: false,
        demand: |_| Demand::one_file(0),
    };
    type Task = Task;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
        let path = place.own_path();
        let fd = create(fs, &path)?;
        Ok(Task { path, fd })
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
        fs.fstat(task.fd)?;
        Ok(1)
    }

    fn path(task: &Task) -> &CStr {
        &task.path
    }
}
