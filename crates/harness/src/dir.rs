//! The `dir:` target: system calls of this kernel.
//!
//! rustix's linux_raw back end compiles each method to the system call instruction itself; that is the whole cost of the
//! interface (17 user instructions for an open/close pair, glibc's wrappers take 51).

mod os_calls;

use rustix::fd::{BorrowedFd, IntoRawFd};
use rustix::fs::{AtFlags, CWD, SeekFrom, StatxFlags, Timestamps, UTIME_NOW};
use rustix::mount::{MountFlags, UnmountFlags};
use std::ffi::CStr;
use vfs_api::{Call, Errno, Failure, Fd, FileSystem, Mode, Mounts, OFlags, Stat};

/// A directory of this kernel. All state is the kernel's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dir;

fn failed(call: Call) -> impl FnOnce(Errno) -> Failure {
    move |errno| Failure::new(call, errno)
}

#[inline(always)]
fn borrow(fd: &Fd) -> BorrowedFd<'_> {
    // SAFETY: workloads use a descriptor only between its open and its close, and never pass -1. If one did not, the kernel
    // would answer EBADF or act on another descriptor of the task; no memory is reached through it.
    unsafe { BorrowedFd::borrow_raw(fd.0) }
}

// st_nlink is narrower on other architectures than on x86-64, where the cast does nothing.
#[allow(clippy::unnecessary_cast)]
fn stat_of(stat: &rustix::fs::Stat) -> Stat {
    Stat { ino: stat.st_ino, size: stat.st_size as u64, nlink: stat.st_nlink as u64 }
}

const NOW: rustix::time::Timespec = rustix::time::Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };

impl FileSystem for Dir {
    #[inline(always)]
    fn open(&self, path: &CStr, flags: OFlags, mode: Mode) -> Result<Fd, Failure> {
        let fd = rustix::fs::open(path, flags, mode).map_err(failed(Call::Open))?;
        Ok(Fd(fd.into_raw_fd()))
    }

    #[inline(always)]
    fn close(&self, fd: Fd) -> Result<(), Failure> {
        // SAFETY: the workload hands back a descriptor it got from `open` and does not use it again.
        match unsafe { rustix::io::try_close(fd.0) } {
            Ok(()) => Ok(()),
            Err(errno) => Err(Failure::new(Call::Close, errno)),
        }
    }

    #[inline(always)]
    fn read(&self, fd: Fd, buf: &mut [u8]) -> Result<usize, Failure> {
        rustix::io::read(borrow(&fd), buf).map_err(failed(Call::Read))
    }

    #[inline(always)]
    fn write(&self, fd: Fd, buf: &[u8]) -> Result<usize, Failure> {
        rustix::io::write(borrow(&fd), buf).map_err(failed(Call::Write))
    }

    #[inline(always)]
    fn pread(&self, fd: Fd, buf: &mut [u8], offset: u64) -> Result<usize, Failure> {
        rustix::io::pread(borrow(&fd), buf, offset).map_err(failed(Call::Pread))
    }

    #[inline(always)]
    fn pwrite(&self, fd: Fd, buf: &[u8], offset: u64) -> Result<usize, Failure> {
        rustix::io::pwrite(borrow(&fd), buf, offset).map_err(failed(Call::Pwrite))
    }

    #[inline(always)]
    fn seek(&self, fd: Fd, offset: u64) -> Result<u64, Failure> {
        rustix::fs::seek(borrow(&fd), SeekFrom::Start(offset)).map_err(failed(Call::Seek))
    }

    #[inline(always)]
    fn ftruncate(&self, fd: Fd, len: u64) -> Result<(), Failure> {
        rustix::fs::ftruncate(borrow(&fd), len).map_err(failed(Call::Ftruncate))
    }

    #[inline(always)]
    fn fallocate(&self, fd: Fd, offset: u64, len: u64) -> Result<(), Failure> {
        rustix::fs::fallocate(borrow(&fd), rustix::fs::FallocateFlags::empty(), offset, len)
            .map_err(failed(Call::Fallocate))
    }

    #[inline(always)]
    fn fstat(&self, fd: Fd) -> Result<Stat, Failure> {
        let stat = rustix::fs::fstat(borrow(&fd)).map_err(failed(Call::Fstat))?;
        Ok(stat_of(&stat))
    }

    #[inline(always)]
    fn stat(&self, path: &CStr) -> Result<Stat, Failure> {
        let stat = rustix::fs::stat(path).map_err(failed(Call::Stat))?;
        Ok(stat_of(&stat))
    }

    #[inline(always)]
    fn statx(&self, path: &CStr) -> Result<Stat, Failure> {
        let stat = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS)
            .map_err(failed(Call::Statx))?;
        Ok(Stat { ino: stat.stx_ino, size: stat.stx_size, nlink: u64::from(stat.stx_nlink) })
    }

    #[inline(always)]
    fn unlink(&self, path: &CStr) -> Result<(), Failure> {
        rustix::fs::unlink(path).map_err(failed(Call::Unlink))
    }

    #[inline(always)]
    fn dup(&self, fd: Fd) -> Result<Fd, Failure> {
        let fd = rustix::io::dup(borrow(&fd)).map_err(failed(Call::Dup))?;
        Ok(Fd(fd.into_raw_fd()))
    }

    #[inline(always)]
    fn dup_from(&self, fd: Fd, least: i32) -> Result<Fd, Failure> {
        // F_DUPFD_CLOEXEC, which differs from F_DUPFD by a bit that is set. rustix has no other.
        let fd =
            rustix::io::fcntl_dupfd_cloexec(borrow(&fd), least).map_err(failed(Call::Fcntl))?;
        Ok(Fd(fd.into_raw_fd()))
    }

    #[inline(always)]
    fn link(&self, old: &CStr, new: &CStr) -> Result<(), Failure> {
        rustix::fs::link(old, new).map_err(failed(Call::Link))
    }

    #[inline(always)]
    fn rename(&self, old: &CStr, new: &CStr) -> Result<(), Failure> {
        rustix::fs::rename(old, new).map_err(failed(Call::Rename))
    }

    #[inline(always)]
    fn mkdir(&self, path: &CStr, mode: Mode) -> Result<(), Failure> {
        rustix::fs::mkdir(path, mode).map_err(failed(Call::Mkdir))
    }

    #[inline(always)]
    fn rmdir(&self, path: &CStr) -> Result<(), Failure> {
        rustix::fs::rmdir(path).map_err(failed(Call::Rmdir))
    }

    #[inline(always)]
    fn chdir(&self, path: &CStr) -> Result<(), Failure> {
        rustix::process::chdir(path).map_err(failed(Call::Chdir))
    }

    #[inline(always)]
    fn chmod(&self, path: &CStr, mode: Mode) -> Result<(), Failure> {
        rustix::fs::chmod(path, mode).map_err(failed(Call::Chmod))
    }

    #[inline(always)]
    fn touch(&self, path: &CStr) -> Result<(), Failure> {
        let times = Timestamps { last_access: NOW, last_modification: NOW };
        rustix::fs::utimensat(CWD, path, &times, AtFlags::empty()).map_err(failed(Call::Utimensat))
    }
}

impl Mounts for Dir {
    fn bind(&self, from: &CStr, to: &CStr) -> Result<(), Failure> {
        rustix::mount::mount_bind(from, to).map_err(failed(Call::Mount))
    }

    fn remount_mount(&self, path: &CStr, readonly: bool) -> Result<(), Failure> {
        let read_only = if readonly { MountFlags::RDONLY } else { MountFlags::empty() };
        rustix::mount::mount_remount(path, MountFlags::BIND | read_only, c"")
            .map_err(failed(Call::Mount))
    }

    fn remount_super(&self, path: &CStr, readonly: bool) -> Result<(), Failure> {
        let read_only = if readonly { MountFlags::RDONLY } else { MountFlags::empty() };
        rustix::mount::mount_remount(path, read_only, c"").map_err(failed(Call::Mount))
    }

    fn unmount(&self, path: &CStr) -> Result<(), Failure> {
        rustix::mount::unmount(path, UnmountFlags::empty()).map_err(failed(Call::Umount))
    }
}
