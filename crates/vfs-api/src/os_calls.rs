//! Calls that only the kernel of this machine has.
//!
//! The lab has what the threads are about; it has no pages, no pipes, no disk that takes time. A workload that needs a call of
//! these names its [`Capability`](crate::Capability), and the planner refuses it on a target without. So the methods answer
//! ENOSYS where a target does not say otherwise: no run gets there, and a target that has none of them is one empty `impl`.

use crate::{Call, Errno, Failure, Fd, Mode, OFlags};
use rustix::event::PollFd;
use std::ffi::CStr;
use std::mem::MaybeUninit;

/// Descriptors to poll for input, made once before the loop.
pub type PollSet = Vec<PollFd<'static>>;

/// Bytes of a page, in mappings and as the unit of transfers. A machine with larger pages faults once for several of these.
pub const PAGE: usize = 4096;

/// How a file is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// MAP_PRIVATE: a written page becomes the task's own copy.
    Private,
    /// MAP_SHARED: a written page is the file's.
    Shared,
}

fn missing<T>(call: Call) -> Result<T, Failure> {
    Err(Failure::new(call, Errno::NOSYS))
}

/// See the module's header. Every method is one system call but where it says otherwise.
pub trait OsCalls {
    /// getdents64(2): calls `each` with every name it answered and says how many that were; 0 at the end of the directory.
    fn readdir(
        &self,
        _fd: Fd,
        _buf: &mut [MaybeUninit<u8>],
        _each: impl FnMut(&CStr),
    ) -> Result<usize, Failure> {
        missing(Call::Getdents)
    }
    /// openat2(2) from the working directory, and not out of it where `beneath` (RESOLVE_BENEATH).
    fn openat2(&self, _: &CStr, _: OFlags, _: Mode, _beneath: bool) -> Result<Fd, Failure> {
        missing(Call::Openat2)
    }
    /// linkat(2) with AT_EMPTY_PATH: gives an open file a name.
    fn link_fd(&self, _fd: Fd, _new: &CStr) -> Result<(), Failure> {
        missing(Call::Linkat)
    }
    /// fcntl(2) with F_SETLKW and F_WRLCK on the whole file; with F_UNLCK where `lock` is false.
    fn record_lock(&self, _fd: Fd, _lock: bool) -> Result<(), Failure> {
        missing(Call::Fcntl)
    }
    /// No call: what [`OsCalls::poll`] wants for these descriptors.
    fn poll_set(&self, _fds: &[Fd]) -> Result<PollSet, Failure> {
        missing(Call::Poll)
    }
    /// poll(2) without waiting: how many descriptors have input.
    fn poll(&self, _set: &mut PollSet) -> Result<usize, Failure> {
        missing(Call::Poll)
    }
    /// eventfd2(2), from 0.
    fn eventfd(&self) -> Result<Fd, Failure> {
        missing(Call::Eventfd)
    }
    /// pipe2(2): the end to read and the end to write.
    fn pipe(&self) -> Result<(Fd, Fd), Failure> {
        missing(Call::Pipe)
    }
    /// mmap(2) of the file's first `len` bytes to read and write, where `write` a byte into each page, munmap(2). All in one,
    /// so that no safe code can reach a mapping that is gone.
    fn map_once(
        &self,
        _fd: Fd,
        _len: usize,
        _sharing: Sharing,
        _write: bool,
    ) -> Result<(), Failure> {
        missing(Call::Mmap)
    }
    /// fsync(2).
    fn fsync(&self, _fd: Fd) -> Result<(), Failure> {
        missing(Call::Fsync)
    }
    /// fdatasync(2).
    fn fdatasync(&self, _fd: Fd) -> Result<(), Failure> {
        missing(Call::Fdatasync)
    }
    /// close_range(2): every descriptor from `first` to `last`, both included.
    fn close_range(&self, _first: Fd, _last: Fd) -> Result<(), Failure> {
        missing(Call::CloseRange)
    }
    /// inotify_init1(2) and inotify_add_watch(2): the directory is watched for changes of attributes as long as the descriptor
    /// is open. Two calls, to prepare with.
    fn watch(&self, _dir: &CStr) -> Result<Fd, Failure> {
        missing(Call::Inotify)
    }
    /// unshare(2) with CLONE_FILES: the calling thread's fd table is its own from now on.
    fn unshare_files(&self) -> Result<(), Failure> {
        missing(Call::Unshare)
    }
    /// A child of the calling task with a copy of its fd table (clone(2) with CLONE_VM and CLONE_VFORK) makes `copies` more
    /// descriptors of `fd`, and ends; three calls and the child's.
    fn child_with_descriptors(&self, _fd: Fd, _copies: u32) -> Result<(), Failure> {
        missing(Call::Clone)
    }
}
