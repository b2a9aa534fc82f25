//! open(O_RDWR) and close of one file by all tasks.
//!
//! will-it-scale's `open3`. Each open takes a reference on the one dentry and drops it on close.
//!
//! Shared: the file's dentry (lockref), its inode (count of writers), every directory above it.
//! Should scale: it cannot, as long as an open file holds a reference on its dentry in one word.
//! Moves: the dentry's lockref, twice per operation; the inode's `i_writecount`, twice.
//! Did not scale: any kernel up to 6.18; before 3.12 the dentry's spinlock made it worse.

use crate::common::{BOTH, PRIVATE, create_closed};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, FileSystem, Info, OFlags, Place, Shared, Suite, Workload,
};

/// See the module's header.
pub struct OpenShared;

impl Workload for OpenShared {
    const INFO: Info = Info {
        name: "open_shared",
        aliases: &["wis:open3"],
        summary: "open(O_RDWR) and close of one file by all tasks",
        origin: "mail 003 (VFS scalability, 2009); will-it-scale open3",
        calls: Calls::Open,
        shared: Shared::File,
        suites: &[Suite::Mails, Suite::WillItScale, Suite::Quick],
        params: &[],
        modes: BOTH,
        operation: "one open and one close",
        needs: &[Capability::Create],
        background: false,
        demand: |_| Demand { fds: 1, ..Demand::NONE },
    };
    type Task = CString;

    fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
        create_closed(fs, &place.shared_path())
    }

    fn task<F: FileSystem>(_fs: &F, place: &Place) -> Result<CString, Failure> {
        Ok(place.shared_path())
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, path: &mut CString) -> Result<u64, Failure> {
        let fd = fs.open(path, OFlags::RDWR, PRIVATE)?;
        fs.close(fd)?;
        Ok(1)
    }

    fn path(task: &CString) -> &CStr {
        task
    }
}
