//! ftruncate of one's own file, one byte shorter each time.
//!
//! From Jan Kara's orphan stress test (mail 002): N processes truncate a file each, byte by byte. Every shrinking truncate of
//! ext4 puts the inode on the orphan list and takes it off again. The mail does not give the length of its files; here it is
//! 4096 bytes, and an empty file is extended again by one write, which is not counted (one write in 4096 operations).
//!
//! Shared: on ext4 the super block's orphan list or orphan file and the journal; on tmpfs nothing.
//! Should scale: linearly on tmpfs; on ext4 as far as the orphan list and the journal let it.
//! Moves: ext4's `s_orphan_lock`, the super block's buffer and the inode blocks of neighbours on the list; since 5.15, with the
//! orphan_file feature, a slot of the orphan file.
//! Did not scale: ext4 of 3.15 (everything under one mutex) and 3.16 (shorter hold).

use crate::common::{BOTH, create, fill};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, Fd, FileSystem, Info, Place, Shared, Suite, Workload,
};

/// See the module's header.
pub struct TruncateByByte;

const LEN: usize = 4096;

/// An open file and its length.
pub struct Task {
    path: CString,
    fd: Fd,
    len: u64,
}

impl Workload for TruncateByByte {
    const INFO: Info = Info {
        name: "truncate_by_byte",
        aliases: &[],
        summary: "ftruncate own file down by one byte",
        origin: "mail 002 (ext4 orphan list, 2014): Jan Kara's stress test",
        calls: Calls::Length,
        shared: Shared::FileSystem,
        suites: &[Suite::Mails, Suite::Quick],
        params: &[],
        modes: BOTH,
        operation: "one ftruncate that shortens the file by one byte",
        needs: &[Capability::Create, Capability::Write, Capability::Truncate],
        background: false,
        demand: |_| Demand::one_file(LEN as u64),
    };
    type Task = Task;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
        let path = place.own_path();
        let fd = create(fs, &path)?;
        Ok(Task { path, fd, len: 0 })
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
        if task.len == 0 {
            fill(fs, task.fd, &[b'x'; LEN])?;
            task.len = LEN as u64;
        }
        fs.ftruncate(task.fd, task.len - 1)?;
        task.len -= 1;
        Ok(1)
    }

    fn path(task: &Task) -> &CStr {
        &task.path
    }
}
