//! open and close, or create, close and unlink, of one's own file; in a directory of one's own or in one that all share.
//!
//! will-it-scale's `open2`, `unlink1` and `unlink2`; its `open1` is `open_close`.
//!
//! Shared: own directories: the path above them and the super block. The shared one: its inode lock, its dentry.
//! Should scale: own directories linearly, as far as the file system makes inodes in parallel; in one directory not at all.
//! Moves: create and unlink in one directory: its inode's rwsem and its dentry's lock; in own directories on 6.18: what makes
//! and evicts inodes (tmpfs: the super block's inode list and, without huge quotas, its percpu counters; ext4: the group
//! descriptor's lock, the orphan list and the journal). `open_own_dir` since 3.12: nothing but its own dentry.
//! Did not scale: any kernel for one directory; own directories up to 2.6.37 (inode_lock, dcache_lock).

use crate::common::{INFO, PRIVATE, create, create_closed, in_dir, make_own_dir};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, FileSystem, Info, OFlags, Place, Shared, Suite, Workload,
};

/// open and close of own file in own directory.
pub struct OpenOwnDir;

impl Workload for OpenOwnDir {
    const INFO: Info = Info {
        name: "open_own_dir",
        aliases: &["wis:open2"],
        summary: "open(O_RDWR) and close own file in own directory",
        origin: "will-it-scale open2",
        shared: Shared::FileSystem,
        suites: &[Suite::WillItScale],
        operation: "one open and one close",
        needs: &[Capability::Create],
        demand: |_| Demand { fds: 1, inodes: 2, ..Demand::NONE },
        ..INFO
    };
    type Task = CString;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<CString, Failure> {
        let path = in_dir(&make_own_dir(fs, place)?, "file");
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

#[inline(always)]
fn create_unlink<F: FileSystem>(fs: &F, path: &CStr) -> Result<u64, Failure> {
    let fd = create(fs, path)?;
    fs.close(fd)?;
    fs.unlink(path)?;
    Ok(1)
}

/// create, close and unlink of own file in one directory.
pub struct CreateUnlink;

impl Workload for CreateUnlink {
    const INFO: Info = Info {
        name: "create_unlink",
        aliases: &["wis:unlink1"],
        summary: "create own file in one shared directory, close, unlink",
        origin: "will-it-scale unlink1",
        calls: Calls::Create,
        suites: &[Suite::WillItScale, Suite::Metadata, Suite::Quick],
        operation: "one create, one close and one unlink",
        needs: &[Capability::Create],
        ..INFO
    };
    type Task = CString;

    fn task<F: FileSystem>(_fs: &F, place: &Place) -> Result<CString, Failure> {
        Ok(place.own_path())
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, path: &mut CString) -> Result<u64, Failure> {
        create_unlink(fs, path)
    }

    fn path(task: &CString) -> &CStr {
        task
    }
}

/// create, close and unlink of own file in own directory.
pub struct CreateUnlinkOwnDir;

impl Workload for CreateUnlinkOwnDir {
    const INFO: Info = Info {
        name: "create_unlink_own_dir",
        aliases: &["wis:unlink2"],
        summary: "create own file in own directory, close, unlink",
        origin: "will-it-scale unlink2",
        calls: Calls::Create,
        shared: Shared::FileSystem,
        suites: &[Suite::WillItScale, Suite::Metadata],
        operation: "one create, one close and one unlink",
        needs: &[Capability::Create],
        demand: |_| Demand { fds: 1, inodes: 2, ..Demand::NONE },
        ..INFO
    };
    type Task = CString;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<CString, Failure> {
        Ok(in_dir(&make_own_dir(fs, place)?, "file"))
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, path: &mut CString) -> Result<u64, Failure> {
        create_unlink(fs, path)
    }

    fn path(task: &CString) -> &CStr {
        task
    }
}
