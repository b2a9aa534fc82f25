//! fallocate of 8 KiB after 8 KiB of one's own file, up to 1 MiB; then the file is cut.
//!
//! will-it-scale's `fallocate1` (in /dev/shm) and `fallocate2` (in /tmp): here the target says where. The cut is not counted
//! (one ftruncate in 128 operations); its time is.
//!
//! Shared: the super block's free blocks, and what records them.
//! Should scale: as far as the file system's free-space counters are per CPU.
//! Moves: tmpfs: the page allocator's zone lock, the super block's `used_blocks` (per-CPU counter) and the LRU lists as the
//! pages come and go; ext4: the block group's lock and the journal's running transaction; in the lab only the inode's lock.
//! Did not scale: tmpfs up to 2.6.35, which counted every block under the super block's `stat_lock`.

use crate::common::{INFO, create};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, Fd, FileSystem, Info, Place, Shared, Suite, Workload,
};

/// See the module's header.
pub struct Fallocate;

const PIECE: u64 = 8 << 10;
const MOST: u64 = 1 << 20;

/// An open file and how long it is.
pub struct Task {
    path: CString,
    fd: Fd,
    len: u64,
}

impl Workload for Fallocate {
    const INFO: Info = Info {
        name: "fallocate",
        aliases: &["wis:fallocate1", "wis:fallocate2"],
        summary: "fallocate the next 8 KiB of own file",
        origin: "will-it-scale fallocate1 and fallocate2",
        calls: Calls::Length,
        shared: Shared::FileSystem,
        suites: &[Suite::WillItScale],
        operation: "one fallocate of 8 KiB",
        needs: &[Capability::Create, Capability::Truncate, Capability::Allocate],
        demand: |_| Demand::one_file(MOST),
        ..INFO
    };
    type Task = Task;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
        let path = place.own_path();
        let fd = create(fs, &path)?;
        Ok(Task { path, fd, len: 0 })
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
        if task.len == MOST {
            fs.ftruncate(task.fd, 0)?;
            task.len = 0;
        }
        fs.fallocate(task.fd, task.len, PIECE)?;
        task.len += PIECE;
        Ok(1)
    }

    fn path(task: &Task) -> &CStr {
        &task.path
    }
}
