//! What a workload sees of a file system, and what the harness sees of a workload.
//!
//! A workload is a loop body over [`FileSystem`]; a target (`dir:`, later `lab:`, `sim:`) is something that implements it.
//! Both are joined by monomorphisation, so that for a directory of this kernel the body compiles to the bare system calls.
//! Flags, modes and errno are Linux's own (re-exported from rustix), because every target answers as Linux does.

mod call;
mod errno;
mod workload;

pub use call::{Call, Cause, Failure, expect_len};
pub use errno::errno_name;
pub use rustix::fs::{Mode, OFlags};
pub use rustix::io::Errno;
pub use workload::{Capability, Demand, Info, Place, TaskMode, Workload};

use std::ffi::CStr;

/// A file descriptor of the calling task's fd table. Plain number: in the lab it indexes the lab's own table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fd(pub i32);

/// What `stat` and `fstat` answer, as far as the workloads and their checks need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Inode number.
    pub ino: u64,
    /// Length in bytes.
    pub size: u64,
    /// Number of names.
    pub nlink: u64,
}

/// The calls of one task on one target. Paths are NUL-terminated and made before the loop; a relative one starts at the
/// task's working directory.
///
/// Every method answers what Linux answers for the same call; a [`Failure`] says which call failed and with which errno.
/// A method is one system call and nothing else, for it stands in the measured loop.
pub trait FileSystem {
    /// open(2). `mode` counts only where `flags` create.
    fn open(&self, path: &CStr, flags: OFlags, mode: Mode) -> Result<Fd, Failure>;
    /// close(2).
    fn close(&self, fd: Fd) -> Result<(), Failure>;
    /// read(2); 0 at the end of the file.
    fn read(&self, fd: Fd, buf: &mut [u8]) -> Result<usize, Failure>;
    /// write(2); may be short.
    fn write(&self, fd: Fd, buf: &[u8]) -> Result<usize, Failure>;
    /// lseek(2) with SEEK_SET; answers the new offset.
    fn seek(&self, fd: Fd, offset: u64) -> Result<u64, Failure>;
    /// ftruncate(2).
    fn ftruncate(&self, fd: Fd, len: u64) -> Result<(), Failure>;
    /// fstat(2).
    fn fstat(&self, fd: Fd) -> Result<Stat, Failure>;
    /// stat(2).
    fn stat(&self, path: &CStr) -> Result<Stat, Failure>;
    /// unlink(2).
    fn unlink(&self, path: &CStr) -> Result<(), Failure>;
    /// dup(2).
    fn dup(&self, fd: Fd) -> Result<Fd, Failure>;
    /// link(2).
    fn link(&self, old: &CStr, new: &CStr) -> Result<(), Failure>;
    /// rename(2).
    fn rename(&self, old: &CStr, new: &CStr) -> Result<(), Failure>;
    /// mkdir(2).
    fn mkdir(&self, path: &CStr, mode: Mode) -> Result<(), Failure>;
    /// rmdir(2).
    fn rmdir(&self, path: &CStr) -> Result<(), Failure>;
    /// chdir(2).
    fn chdir(&self, path: &CStr) -> Result<(), Failure>;

    /// The task begins to work: called before a slice's loop, outside of what is measured.
    fn enter(&self) {}
    /// The task ends to work: called after a slice's loop.
    fn leave(&self) {}
}

/// What an administrator does to mounts. Not every target has it, and not every user may.
pub trait Mounts {
    /// Makes the directory `from` visible at the directory `to` as well (a bind mount, not recursive).
    fn bind(&self, from: &CStr, to: &CStr) -> Result<(), Failure>;
    /// Makes the mount at `path` alone read-only or writable (remount,bind,ro).
    fn remount_mount(&self, path: &CStr, readonly: bool) -> Result<(), Failure>;
    /// Makes the super block behind the mount at `path`, and that mount, read-only or writable (remount,ro).
    fn remount_super(&self, path: &CStr, readonly: bool) -> Result<(), Failure>;
    /// umount(2).
    fn unmount(&self, path: &CStr) -> Result<(), Failure>;
}
