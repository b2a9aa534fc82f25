//! open(O_WRONLY|O_CREAT), write, close of one's own existing file; all files in one directory.
//!
//! From openbench.c (Dave Hansen, mail 000, read-only bind mounts). The mail's program calls `write(fd, "foo")`: the length
//! is missing, so the third argument is whatever its register held, and the call wrote an unknown number of bytes or failed;
//! its result is not looked at. It also passes O_CREAT without a mode. Here the write is of the four bytes "foo\0" at offset
//! 0, must succeed, and the mode is 0600. The file is there before the loop, as it was in the mail after the first pass.
//!
//! Shared: the directory (its inode lock is taken by O_CREAT even if the file exists, where the kernel's open takes the
//! slow path), the mount's and the super block's count of writers.
//! Should scale: linearly, once O_CREAT finds an existing file without the directory's lock.
//! Moves: the directory's `i_mutex` (a sleeping lock in 2007), `files_lock`; with the first read-only bind-mount patch the
//! spinlock of the write count, twice.
//! Did not scale: 2.6.20 (30.1 s on 32 CPUs for 2.7 s of CPU time each) and worse with that patch (48.4 s, all of it spinning).

use crate::common::{BOTH, PRIVATE, create_closed};
use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, FileSystem, Info, OFlags, Place, Shared, Suite,
    Workload, expect_len,
};

/// See the module's header.
pub struct Openbench;

const DATA: &[u8] = b"foo\0";

impl Workload for Openbench {
    const INFO: Info = Info {
        name: "openbench",
        aliases: &[],
        summary: "open(O_WRONLY|O_CREAT) own file, write 4 bytes, close",
        origin: "mail 000 (read-only bind mounts, 2007): openbench.c",
        calls: Calls::Open,
        shared: Shared::Directory,
        suites: &[Suite::Mails],
        params: &[],
        modes: BOTH,
        operation: "one open, one write and one close",
        needs: &[Capability::Create, Capability::Write],
        background: false,
        demand: |_| Demand::one_file(4096),
    };
    type Task = CString;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<CString, Failure> {
        let path = place.own_path();
        create_closed(fs, &path)?;
        Ok(path)
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, path: &mut CString) -> Result<u64, Failure> {
        let fd = fs.open(path, OFlags::WRONLY | OFlags::CREATE, PRIVATE)?;
        let written = fs.write(fd, DATA)?;
        expect_len(Call::Write, written, DATA.len())?;
        fs.close(fd)?;
        Ok(1)
    }

    fn path(task: &CString) -> &CStr {
        task
    }
}
