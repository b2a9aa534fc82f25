//! The calls of one task on one target.

use crate::{Failure, Mode, OFlags, OsCalls};
use std::ffi::CStr;

/// A file descriptor of the calling task's fd table. Plain number: in the lab it indexes the lab's own table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fd(pub i32);

/// What `stat`, `fstat` and `statx` answer, as far as the workloads and their checks need it.
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
/// A method is one system call and nothing else, for it stands in the measured loop. What stands here every target has; mounts
/// are apart because an administrator changes them, and [`OsCalls`] because only a kernel of its own has them.
pub trait FileSystem: Mounts + OsCalls {
    /// open(2). `mode` counts only where `flags` create.
    fn open(&self, path: &CStr, flags: OFlags, mode: Mode) -> Result<Fd, Failure>;
    /// close(2).
    fn close(&self, fd: Fd) -> Result<(), Failure>;
    /// read(2); 0 at the end of the file.
    fn read(&self, fd: Fd, buf: &mut [u8]) -> Result<usize, Failure>;
    /// write(2); may be short.
    fn write(&self, fd: Fd, buf: &[u8]) -> Result<usize, Failure>;
    /// pread(2): at `offset`, and the descriptor's own offset stays where it is.
    fn pread(&self, fd: Fd, buf: &mut [u8], offset: u64) -> Result<usize, Failure>;
    /// pwrite(2), likewise; may be short.
    fn pwrite(&self, fd: Fd, buf: &[u8], offset: u64) -> Result<usize, Failure>;
    /// lseek(2) with SEEK_SET; answers the new offset.
    fn seek(&self, fd: Fd, offset: u64) -> Result<u64, Failure>;
    /// ftruncate(2).
    fn ftruncate(&self, fd: Fd, len: u64) -> Result<(), Failure>;
    /// fallocate(2) with mode 0: makes room for `len` bytes from `offset`, and the file at least that long.
    fn fallocate(&self, fd: Fd, offset: u64, len: u64) -> Result<(), Failure>;
    /// fstat(2).
    fn fstat(&self, fd: Fd) -> Result<Stat, Failure>;
    /// stat(2).
    fn stat(&self, path: &CStr) -> Result<Stat, Failure>;
    /// statx(2) with the basic fields.
    fn statx(&self, path: &CStr) -> Result<Stat, Failure>;
    /// unlink(2).
    fn unlink(&self, path: &CStr) -> Result<(), Failure>;
    /// dup(2).
    fn dup(&self, fd: Fd) -> Result<Fd, Failure>;
    /// fcntl(2) with F_DUPFD: the lowest free descriptor from `least` on.
    fn dup_from(&self, fd: Fd, least: i32) -> Result<Fd, Failure>;
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
    /// chmod(2), which is fchmodat(2) from the working directory.
    fn chmod(&self, path: &CStr, mode: Mode) -> Result<(), Failure>;
    /// utimensat(2): both times become now.
    fn touch(&self, path: &CStr) -> Result<(), Failure>;

    /// Whether there is no kernel behind it but a model of one: it has files, and no devices, processes or sockets.
    fn is_model(&self) -> bool {
        false
    }
    /// On a model: so many nanoseconds of work that has nothing to do with files.
    fn work(&self, _ns: u32) {}

    /// The task begins to work: called before a slice's loop, outside of what is measured.
    fn enter(&self) {}
    /// The task ends to work: called after a slice's loop.
    fn leave(&self) {}
}

/// What an administrator does to mounts. Not every user may.
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
