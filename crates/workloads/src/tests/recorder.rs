//! A file system that writes down what is asked of it and answers as if it had been done.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::fmt::Display;
use std::mem::MaybeUninit;
use vfs_api::{
    Call, Errno, Failure, Fd, FileSystem, Mode, Mounts, OFlags, OsCalls, PollSet, Sharing, Stat,
};

/// Names in each of its directories; `.` and `..` come on top.
pub(super) const NAMES: usize = 3;
/// What makes a name one that is not there.
const MISSING: &str = "missing";

/// Writes down every call with its object, and can fail the n-th one.
#[derive(Default)]
pub(super) struct Recorder {
    calls: RefCell<Vec<String>>,
    fail_at: Cell<Option<usize>>,
    /// Whether the directory was read to its end.
    listed: Cell<bool>,
}

impl Recorder {
    fn call(&self, call: Call, what: impl Display) -> Result<(), Failure> {
        let mut calls = self.calls.borrow_mut();
        if self.fail_at.get() == Some(calls.len()) {
            return Err(Failure::new(call, Errno::IO));
        }
        calls.push(format!("{} {what}", call.name()).trim_end().to_owned());
        Ok(())
    }

    fn look_up(&self, call: Call, path: &CStr, what: impl Display) -> Result<(), Failure> {
        let path = path.to_string_lossy();
        self.call(call, format!("{path} {what}"))?;
        if path.contains(MISSING) { Err(Failure::new(call, Errno::NOENT)) } else { Ok(()) }
    }

    /// The calls since the last time.
    pub(super) fn take(&self) -> Vec<String> {
        self.calls.take()
    }

    /// Lets the n-th call from now on fail, or none.
    pub(super) fn fail_at(&self, n: Option<usize>) {
        self.fail_at.set(n);
    }
}

fn flags(flags: OFlags) -> String {
    let names = [
        (OFlags::WRONLY, "WRONLY"),
        (OFlags::RDWR, "RDWR"),
        (OFlags::CREATE, "CREAT"),
        (OFlags::TRUNC, "TRUNC"),
        (OFlags::DIRECTORY, "DIRECTORY"),
        (OFlags::DIRECT, "DIRECT"),
        (OFlags::PATH, "PATH"),
        (OFlags::TMPFILE, "TMPFILE"),
    ];
    let named = names.iter().filter(|(f, _)| flags.contains(*f));
    // O_TMPFILE has the bit of O_DIRECTORY.
    let named = named.filter(|(_, n)| *n != "DIRECTORY" || !flags.contains(OFlags::TMPFILE));
    named.map(|(_, n)| *n).collect::<Vec<_>>().join("|")
}

fn text(path: &CStr) -> String {
    path.to_string_lossy().into_owned()
}

const STAT: Stat = Stat { ino: 1, size: 0, nlink: 1 };

impl FileSystem for Recorder {
    fn open(&self, path: &CStr, f: OFlags, _: Mode) -> Result<Fd, Failure> {
        self.look_up(Call::Open, path, flags(f)).map(|()| Fd(3))
    }
    fn close(&self, _: Fd) -> Result<(), Failure> {
        self.call(Call::Close, "")
    }
    fn read(&self, _: Fd, buf: &mut [u8]) -> Result<usize, Failure> {
        self.call(Call::Read, buf.len()).map(|()| buf.len())
    }
    fn write(&self, _: Fd, buf: &[u8]) -> Result<usize, Failure> {
        self.call(Call::Write, buf.len()).map(|()| buf.len())
    }
    fn pread(&self, _: Fd, buf: &mut [u8], offset: u64) -> Result<usize, Failure> {
        self.call(Call::Pread, format!("{} at {offset}", buf.len())).map(|()| buf.len())
    }
    fn pwrite(&self, _: Fd, buf: &[u8], offset: u64) -> Result<usize, Failure> {
        self.call(Call::Pwrite, format!("{} at {offset}", buf.len())).map(|()| buf.len())
    }
    fn seek(&self, _: Fd, offset: u64) -> Result<u64, Failure> {
        self.listed.set(false);
        self.call(Call::Seek, offset).map(|()| offset)
    }
    fn ftruncate(&self, _: Fd, len: u64) -> Result<(), Failure> {
        self.call(Call::Ftruncate, len)
    }
    fn fallocate(&self, _: Fd, offset: u64, len: u64) -> Result<(), Failure> {
        self.call(Call::Fallocate, format!("{len} at {offset}"))
    }
    fn fstat(&self, _: Fd) -> Result<Stat, Failure> {
        self.call(Call::Fstat, "").map(|()| STAT)
    }
    fn stat(&self, path: &CStr) -> Result<Stat, Failure> {
        self.look_up(Call::Stat, path, "").map(|()| STAT)
    }
    fn statx(&self, path: &CStr) -> Result<Stat, Failure> {
        self.look_up(Call::Statx, path, "").map(|()| STAT)
    }
    fn unlink(&self, path: &CStr) -> Result<(), Failure> {
        self.call(Call::Unlink, text(path))
    }
    fn dup(&self, fd: Fd) -> Result<Fd, Failure> {
        self.call(Call::Dup, "").map(|()| Fd(fd.0 + 1))
    }
    fn dup_from(&self, _: Fd, least: i32) -> Result<Fd, Failure> {
        self.call(Call::Fcntl, format!("DUPFD {least}")).map(|()| Fd(least))
    }
    fn link(&self, old: &CStr, new: &CStr) -> Result<(), Failure> {
        self.call(Call::Link, format!("{} {}", text(old), text(new)))
    }
    fn rename(&self, old: &CStr, new: &CStr) -> Result<(), Failure> {
        self.call(Call::Rename, format!("{} {}", text(old), text(new)))
    }
    fn mkdir(&self, path: &CStr, _: Mode) -> Result<(), Failure> {
        self.call(Call::Mkdir, text(path))
    }
    fn rmdir(&self, path: &CStr) -> Result<(), Failure> {
        self.call(Call::Rmdir, text(path))
    }
    fn chdir(&self, path: &CStr) -> Result<(), Failure> {
        self.call(Call::Chdir, text(path))
    }
    fn chmod(&self, path: &CStr, mode: Mode) -> Result<(), Failure> {
        self.call(Call::Chmod, format!("{} {:o}", text(path), mode.bits()))
    }
    fn touch(&self, path: &CStr) -> Result<(), Failure> {
        self.call(Call::Utimensat, text(path))
    }
}

impl Mounts for Recorder {
    fn bind(&self, from: &CStr, to: &CStr) -> Result<(), Failure> {
        self.call(Call::Mount, format!("{} {}", text(from), text(to)))
    }
    fn remount_mount(&self, path: &CStr, readonly: bool) -> Result<(), Failure> {
        self.call(Call::Mount, format!("{} {}", text(path), if readonly { "ro" } else { "rw" }))
    }
    fn remount_super(&self, path: &CStr, readonly: bool) -> Result<(), Failure> {
        self.remount_mount(path, readonly)
    }
    fn unmount(&self, path: &CStr) -> Result<(), Failure> {
        self.call(Call::Umount, text(path))
    }
}

impl OsCalls for Recorder {
    fn readdir(
        &self,
        _: Fd,
        _: &mut [MaybeUninit<u8>],
        _: impl FnMut(&CStr),
    ) -> Result<usize, Failure> {
        self.call(Call::Getdents, "")?;
        Ok(if self.listed.replace(true) { 0 } else { NAMES + 2 })
    }
    fn openat2(&self, path: &CStr, f: OFlags, _: Mode, beneath: bool) -> Result<Fd, Failure> {
        let beneath = if beneath { " BENEATH" } else { "" };
        self.call(Call::Openat2, format!("{} {}{beneath}", text(path), flags(f))).map(|()| Fd(3))
    }
    fn link_fd(&self, _: Fd, new: &CStr) -> Result<(), Failure> {
        self.call(Call::Linkat, text(new))
    }
    fn record_lock(&self, _: Fd, lock: bool) -> Result<(), Failure> {
        self.call(Call::Fcntl, if lock { "WRLCK" } else { "UNLCK" })
    }
    fn poll_set(&self, _: &[Fd]) -> Result<PollSet, Failure> {
        Ok(PollSet::new())
    }
    fn poll(&self, _: &mut PollSet) -> Result<usize, Failure> {
        self.call(Call::Poll, "").map(|()| 0)
    }
    fn eventfd(&self) -> Result<Fd, Failure> {
        self.call(Call::Eventfd, "").map(|()| Fd(3))
    }
    fn pipe(&self) -> Result<(Fd, Fd), Failure> {
        self.call(Call::Pipe, "").map(|()| (Fd(3), Fd(4)))
    }
    fn map_once(&self, _: Fd, len: usize, sharing: Sharing, write: bool) -> Result<(), Failure> {
        let write = if write { " written" } else { "" };
        self.call(Call::Mmap, format!("{len} {sharing:?}{write}"))
    }
    fn fsync(&self, _: Fd) -> Result<(), Failure> {
        self.call(Call::Fsync, "")
    }
    fn fdatasync(&self, _: Fd) -> Result<(), Failure> {
        self.call(Call::Fdatasync, "")
    }
    fn close_range(&self, first: Fd, last: Fd) -> Result<(), Failure> {
        self.call(Call::CloseRange, format!("{} {}", first.0, last.0))
    }
    fn watch(&self, dir: &CStr) -> Result<Fd, Failure> {
        self.call(Call::Inotify, text(dir)).map(|()| Fd(9))
    }
    fn unshare_files(&self) -> Result<(), Failure> {
        self.call(Call::Unshare, "")
    }
    fn child_with_descriptors(&self, _: Fd, copies: u32) -> Result<(), Failure> {
        self.call(Call::Clone, copies)
    }
}
