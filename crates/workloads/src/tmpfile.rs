//! A file without a name: O_TMPFILE and close, or O_TMPFILE, a name by linkat, close.
//!
//! In no other tool but among stress-ng's flavours of open. `tmpfile_close` makes and evicts an inode without touching a
//! directory: it is create and unlink without the directory's lock. `tmpfile_link` is how a file appears whole or not at all; its
//! names are a bounded set that is removed between slices.
//!
//! Shared: the super block; the directory that is named is only looked up, and in `tmpfile_link` gets the name.
//! Should scale: `tmpfile_close` as far as inodes are made and evicted in parallel; `tmpfile_link` not at all.
//! Moves: what makes and evicts inodes; ext4: an orphan is added at the open and removed at the close or the linkat, so the
//! orphan file's slots or `s_orphan_lock`, and the journal. linkat: the directory's inode rwsem.
//! Did not scale: `tmpfile_close` on ext4 up to 3.15 (one mutex); `tmpfile_link` in one directory: any kernel up to 6.18.

use crate::common::{INFO, PRIVATE};
use crate::set::{FILES, Layout, Set};
use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, FileSystem, Info, OFlags, Place, Shared, Suite,
    Workload,
};

const FLAGS: OFlags = OFlags::TMPFILE.union(OFlags::RDWR);

/// O_TMPFILE and close.
pub struct TmpfileClose;

impl Workload for TmpfileClose {
    const INFO: Info = Info {
        name: "tmpfile_close",
        summary: "open a file without a name (O_TMPFILE), close",
        origin: "in no other tool",
        calls: Calls::Create,
        shared: Shared::FileSystem,
        suites: &[Suite::Own, Suite::Metadata],
        operation: "one open and one close",
        needs: &[Capability::Create, Capability::Unnamed],
        ..INFO
    };
    type Task = CString;

    fn task<F: FileSystem>(_fs: &F, place: &Place) -> Result<CString, Failure> {
        Ok(place.dir.clone())
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, dir: &mut CString) -> Result<u64, Failure> {
        let fd = fs.open(dir, FLAGS, PRIVATE)?;
        fs.close(fd)?;
        Ok(1)
    }

    fn path(task: &CString) -> &CStr {
        task
    }
}

/// A directory, and names for it.
pub struct Task {
    dir: CString,
    set: Set,
}

/// O_TMPFILE, linkat, close.
pub struct TmpfileLink;

impl Workload for TmpfileLink {
    const INFO: Info = Info {
        name: "tmpfile_link",
        summary: "open a file without a name (O_TMPFILE), give it the next name (linkat), close",
        origin: "in no other tool",
        calls: Calls::Create,
        suites: &[Suite::Own, Suite::Metadata],
        params: &[FILES],
        operation: "one open, one linkat and one close",
        needs: &[Capability::Create, Capability::Unnamed, Capability::LinkFd],
        demand: |params| Demand {
            fds: 1,
            inodes: params.number(&FILES) + 1,
            shared_inodes: 1,
            ..Demand::NONE
        },
        ..INFO
    };
    type Task = Task;

    fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
        Layout::flat(false, &place.params).prepare(fs, place)
    }

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
        let set = Layout::flat(false, &place.params).set(fs, place)?;
        Ok(Task { dir: place.dir.clone(), set })
    }

    fn renew<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        task.set.renew(|path| fs.unlink(path))
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
        let name = task.set.take(Call::Linkat)?;
        let fd = fs.open(&task.dir, FLAGS, PRIVATE)?;
        fs.link_fd(fd, name)?;
        fs.close(fd)?;
        Ok(1)
    }

    fn path(task: &Task) -> &CStr {
        task.set.path()
    }
}
