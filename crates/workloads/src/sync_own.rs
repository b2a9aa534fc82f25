//! pwrite over one's own file and fsync: after each write, or after several.
//!
//! FxMark's DWSL, which syncs after each. With `writes` the fsync waits for so many blocks at once, as a database's group
//! commit does; `sync=fdatasync` leaves out what is not needed to read the data.
//!
//! Shared: the journal or log, and the device with its queue.
//! Should scale: as the journal lets several tasks wait for one commit; on tmpfs linearly, where fsync does nothing.
//! Moves: ext4: the journal's state lock and its commit thread, for whose transaction all wait; xfs: the CIL's lock and the log's
//! grant heads; btrfs: the log root's mutex. Then the device: flushes follow one another.
//! Did not scale: a device that is slow to flush: then the time is the device's, whatever the locks. The lab has no device.

use crate::common::{BLOCK, Block, INFO, create, fill_blocks};
use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, Fd, FileSystem, Info, Param, Place, Shared, Suite,
    Workload, expect_len,
};

const WRITES: Param = Param::number("writes", "blocks written between two syncs", (1, 256), 1);
const SYNC: Param = Param::word("sync", "the call", &["fsync", "fdatasync"]);

/// An open file and how it is synced.
pub struct Task {
    path: CString,
    fd: Fd,
    writes: u64,
    data_only: bool,
    buf: Box<Block>,
}

/// See the module's header.
pub struct PwriteFsync;

impl Workload for PwriteFsync {
    const INFO: Info = Info {
        name: "pwrite_fsync",
        aliases: &["fxmark:DWSL"],
        summary: "pwrite 4 KiB over own file, fsync",
        origin: "FxMark DWSL",
        calls: Calls::Sync,
        shared: Shared::FileSystem,
        suites: &[Suite::Fxmark],
        params: &[WRITES, SYNC],
        operation: "one pwrite of 4 KiB and its share of an fsync",
        needs: &[Capability::Create, Capability::Write, Capability::Sync],
        demand: |params| Demand::one_file(params.number(&WRITES) * BLOCK as u64),
        ..INFO
    };
    type Task = Task;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
        let path = place.own_path();
        let fd = create(fs, &path)?;
        let writes = place.params.number(&WRITES);
        fill_blocks(fs, fd, writes)?;
        let data_only = place.params.is(&SYNC, "fdatasync");
        Ok(Task { path, fd, writes, data_only, buf: Block::new() })
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
        for block in 0..task.writes {
            let written = fs.pwrite(task.fd, &task.buf.0, block * BLOCK as u64)?;
            expect_len(Call::Pwrite, written, BLOCK)?;
        }
        if task.data_only {
            fs.fdatasync(task.fd)?
        } else {
            fs.fsync(task.fd)?
        }
        Ok(task.writes)
    }

    fn path(task: &Task) -> &CStr {
        &task.path
    }
}
