//! creat() of one's own existing file, close: O_TRUNC each time.
//!
//! From AIM7's `creat_clo` subtest, the one that explains mail 002: the mixes that contain it gained 42 to 56 %, the others
//! nothing. On ext4, O_TRUNC of an existing file is an orphan add and delete even if the file is empty.
//!
//! Shared: the directory, the mount's count of writers, on ext4 the orphan list and the journal.
//! Should scale: linearly on tmpfs; on ext4 as far as the orphan list and the journal let it.
//! Moves: ext4's `s_orphan_lock` and what it protects; the directory's inode lock where O_CREAT takes it for an existing file.
//! Did not scale: ext4 of 3.15.

use crate::common::{BOTH, PRIVATE, create_closed};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, FileSystem, Info, OFlags, Place, Shared, Suite, Workload,
};

/// See the module's header.
pub struct CreatClose;

impl Workload for CreatClose {
    const INFO: Info = Info {
        name: "creat_close",
        aliases: &["creat_clo"],
        summary: "creat() the same own file, close",
        origin: "mail 002 (ext4 orphan list, 2014): AIM7 creat_clo",
        calls: Calls::Open,
        shared: Shared::Directory,
        suites: &[Suite::Mails],
        params: &[],
        modes: BOTH,
        operation: "one creat and one close",
        needs: &[Capability::Create, Capability::Truncate],
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
        let fd = fs.open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, PRIVATE)?;
        fs.close(fd)?;
        Ok(1)
    }

    fn path(task: &CString) -> &CStr {
        task
    }
}
