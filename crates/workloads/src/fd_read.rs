//! lseek to the start and read 4 KiB of one's own open file: two fd look-ups.
//!
//! From tiobench's random read as it was in 2004 (mail 001, lock-free fd look-up): lseek, then read. The gains in that mail
//! follow the number of fd look-ups per operation.
//!
//! Shared: in thread mode the fd table, else nothing.
//! Should scale: linearly in both modes.
//! Moves: thread mode of 2.6.7: `files->file_lock`, twice; since 2.6.14 (RCU) no shared line is written.
//! Did not scale: thread mode up to 2.6.13.

use crate::common::{BOTH, create, fill};
use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, Fd, FileSystem, Info, Place, Shared, Suite, Workload,
    expect_len,
};

/// See the module's header.
pub struct FdRead;

const BLOCK: usize = 4096;

/// An open file of one block, and where to read it to.
pub struct Task {
    path: CString,
    fd: Fd,
    buf: Box<[u8; BLOCK]>,
}

impl Workload for FdRead {
    const INFO: Info = Info {
        name: "fd_read",
        aliases: &["wis:readseek1"],
        summary: "lseek(0) and read 4 KiB of own open file: two fd look-ups",
        origin: "mail 001 (lock-free fd look-up, 2004): tiobench's random read; will-it-scale readseek1",
        calls: Calls::Read,
        shared: Shared::Descriptors,
        suites: &[Suite::Mails, Suite::WillItScale, Suite::Quick],
        params: &[],
        modes: BOTH,
        operation: "one lseek and one read of 4 KiB",
        needs: &[Capability::Create, Capability::Write],
        background: false,
        demand: |_| Demand::one_file(BLOCK as u64),
    };
    type Task = Task;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
        let path = place.own_path();
        let fd = create(fs, &path)?;
        let buf = Box::new([b'x'; BLOCK]);
        fill(fs, fd, &buf[..])?;
        Ok(Task { path, fd, buf })
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
        fs.seek(task.fd, 0)?;
        let got = fs.read(task.fd, &mut task.buf[..])?;
        expect_len(Call::Read, got, BLOCK)?;
        Ok(1)
    }

    fn path(task: &Task) -> &CStr {
        &task.path
    }
}
