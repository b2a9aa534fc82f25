//! open(O_RDWR) and close of one's own file; all files in one directory. The default workload.
//!
//! From the 2009 VFS scalability rollup (Anton Blanchard's loop, mail 003), which became `open1` of will-it-scale.
//!
//! Shared: the path's directories (dentry reference counts), the mount's count, in old kernels the list of open files.
//! Should scale: linearly; no task touches another's file, and the directory is only read.
//! Moves: 2.6.32: `files_lock` twice, the mount's `mnt_count` and every path component's `d_count`; since 3.12 (RCU walk
//! and lockref) nothing on the way, only the own dentry's lockref at its end.
//! Did not scale: up to 2.6.38; the remount that cleared MNT_MOUNTED made it ten times slower still.

use crate::common::{BOTH, PRIVATE, create_closed};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, FileSystem, Info, OFlags, Place, Shared, Suite, Workload,
};

/// See the module's header.
pub struct OpenClose;

impl Workload for OpenClose {
    const INFO: Info = Info {
        name: "open_close",
        aliases: &["wis:open1"],
        summary: "open(O_RDWR) and close own file in one shared directory",
        origin: "mail 003 (VFS scalability, 2009); will-it-scale open1",
        calls: Calls::Open,
        shared: Shared::Directory,
        suites: &[Suite::Mails, Suite::WillItScale, Suite::Quick],
        params: &[],
        modes: BOTH,
        operation: "one open and one close",
        needs: &[Capability::Create],
        background: false,
        demand: |_| Demand::one_file(0),
    };
    type Task = CString;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<CString, Failure> {
        let path = place.own_path();
        create_closed(fs, &path)?;
        Ok(path)
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
