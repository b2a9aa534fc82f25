//! open(O_RDWR) and close of one's own file by a name relative to the working directory.
//!
//! From file-ops-test.c (Ingo Molnár, mail 004): one task per CPU, each opens and closes `silly-<pid>` in one directory.
//! The mail divides the wall time by operations and tasks: the column usecs/op. Unlike the original, tasks are pinned, start
//! at a barrier and are timed one by one; its million iterations became a time budget.
//!
//! Shared: the working directory's dentry, its mount, in old kernels the list of open files. No path above it is walked.
//! Should scale: linearly.
//! Moves: 2.6.20: `files_lock` twice, and the working directory's `d_count` and mount count.
//! Did not scale: 2.6.20 (2.11 usecs/op on a dual-core, 6.30 on eight sockets).

use crate::common::{BOTH, PRIVATE, create_closed};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, FileSystem, Info, OFlags, Place, Shared, Suite, Workload,
};

/// See the module's header.
pub struct FileOps;

impl Workload for FileOps {
    const INFO: Info = Info {
        name: "file_ops",
        aliases: &["file-ops-test"],
        summary: "open_close by a path relative to the working directory",
        origin: "mail 004 (breaking the global file_list_lock, 2007): file-ops-test.c",
        calls: Calls::Open,
        shared: Shared::Directory,
        suites: &[Suite::Mails],
        params: &[],
        modes: BOTH,
        operation: "one open and one close",
        needs: &[Capability::Create],
        background: false,
        demand: |_| Demand::one_file(0),
    };
    type Task = CString;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<CString, Failure> {
        create_closed(fs, &place.own_path())?;
        Ok(CString::new(place.own_name()).expect("own names hold no NUL"))
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, name: &mut CString) -> Result<u64, Failure> {
        let fd = fs.open(name, OFlags::RDWR, PRIVATE)?;
        fs.close(fd)?;
        Ok(1)
    }

    fn path(task: &CString) -> &CStr {
        task
    }
}
