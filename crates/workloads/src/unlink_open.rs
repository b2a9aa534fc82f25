//! Create one's own file, unlink it while it is open, close it.
//!
//! The other way onto ext4's orphan list (mail 002): unlink of an open file adds its inode, the last close removes it.
//!
//! Shared: the directory (its inode lock, twice), the super block's inode allocation, on ext4 the orphan list and the journal.
//! Should scale: it cannot within one directory: create and unlink change it under its lock.
//! Moves: the directory's inode lock; ext4's `s_orphan_lock` and what it protects, twice.
//! Did not scale: any kernel up to 6.18; ext4 of 3.15 even with a directory per task.

use crate::common::{BOTH, create};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, FileSystem, Info, Place, Shared, Suite, Workload,
};

/// See the module's header.
pub struct UnlinkOpen;

impl Workload for UnlinkOpen {
    const INFO: Info = Info {
        name: "unlink_open",
        aliases: &[],
        summary: "create own file, unlink it while open, close",
        origin: "mail 002 (ext4 orphan list, 2014)",
        calls: Calls::Create,
        shared: Shared::Directory,
        suites: &[Suite::Mails, Suite::Metadata],
        params: &[],
        modes: BOTH,
        operation: "one create, one unlink and one close: one orphan added and removed",
        needs: &[Capability::Create],
        background: false,
        demand: |_| Demand::one_file(0),
    };
    type Task = CString;

    fn task<F: FileSystem>(_fs: &F, place: &Place) -> Result<CString, Failure> {
        Ok(place.own_path())
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, path: &mut CString) -> Result<u64, Failure> {
        let fd = create(fs, path)?;
        fs.unlink(path)?;
        fs.close(fd)?;
        Ok(1)
    }

    fn path(task: &CString) -> &CStr {
        task
    }
}
