//! The calls that only a kernel has, for [`Dir`].

use super::{Dir, borrow, failed};
use rustix::event::{EventfdFlags, PollFd, PollFlags};
use rustix::fd::{BorrowedFd, IntoRawFd};
use rustix::fs::{AtFlags, CWD, FlockOperation, RawDir, ResolveFlags, inotify};
use rustix::mm::{MapFlags, ProtFlags};
use rustix::thread::UnshareFlags;
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use vfs_api::{Call, Errno, Failure, Fd, Mode, OFlags, OsCalls, PAGE, PollSet, Sharing};

/// Do not wait.
const AT_ONCE: rustix::time::Timespec = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
/// Stack of the child of [`OsCalls::child_with_descriptors`]: a loop around one system call.
const CHILD_STACK: usize = 16 * 1024;

impl OsCalls for Dir {
    #[inline(always)]
    fn readdir(
        &self,
        fd: Fd,
        buf: &mut [MaybeUninit<u8>],
        mut each: impl FnMut(&CStr),
    ) -> Result<usize, Failure> {
        let mut entries = RawDir::new(borrow(&fd), buf);
        let mut count = 0;
        // `next` makes the system call where the buffer is empty, so one and no more.
        while let Some(entry) = entries.next() {
            each(entry.map_err(failed(Call::Getdents))?.file_name());
            count += 1;
            if entries.is_buffer_empty() {
                break;
            }
        }
        Ok(count)
    }

    #[inline(always)]
    fn openat2(
        &self,
        path: &CStr,
        flags: OFlags,
        mode: Mode,
        beneath: bool,
    ) -> Result<Fd, Failure> {
        let resolve = if beneath { ResolveFlags::BENEATH } else { ResolveFlags::empty() };
        let fd =
            rustix::fs::openat2(CWD, path, flags, mode, resolve).map_err(failed(Call::Openat2))?;
        Ok(Fd(fd.into_raw_fd()))
    }

    #[inline(always)]
    fn link_fd(&self, fd: Fd, new: &CStr) -> Result<(), Failure> {
        rustix::fs::linkat(borrow(&fd), c"", CWD, new, AtFlags::EMPTY_PATH)
            .map_err(failed(Call::Linkat))
    }

    #[inline(always)]
    fn record_lock(&self, fd: Fd, lock: bool) -> Result<(), Failure> {
        let operation = if lock { FlockOperation::LockExclusive } else { FlockOperation::Unlock };
        rustix::fs::fcntl_lock(borrow(&fd), operation).map_err(failed(Call::Fcntl))
    }

    fn poll_set(&self, fds: &[Fd]) -> Result<PollSet, Failure> {
        let one = |fd: &Fd| {
            // SAFETY: as in `borrow`; the workload keeps the descriptors open as long as it polls them.
            let fd: BorrowedFd<'static> = unsafe { BorrowedFd::borrow_raw(fd.0) };
            PollFd::from_borrowed_fd(fd, PollFlags::IN)
        };
        Ok(fds.iter().map(one).collect())
    }

    #[inline(always)]
    fn poll(&self, set: &mut PollSet) -> Result<usize, Failure> {
        rustix::event::poll(set, Some(&AT_ONCE)).map_err(failed(Call::Poll))
    }

    fn eventfd(&self) -> Result<Fd, Failure> {
        let fd = rustix::event::eventfd(0, EventfdFlags::empty()).map_err(failed(Call::Eventfd))?;
        Ok(Fd(fd.into_raw_fd()))
    }

    fn pipe(&self) -> Result<(Fd, Fd), Failure> {
        let (read, write) = rustix::pipe::pipe().map_err(failed(Call::Pipe))?;
        Ok((Fd(read.into_raw_fd()), Fd(write.into_raw_fd())))
    }

    #[inline(always)]
    fn map_once(&self, fd: Fd, len: usize, sharing: Sharing, write: bool) -> Result<(), Failure> {
        let flags = match sharing {
            Sharing::Private => MapFlags::PRIVATE,
            Sharing::Shared => MapFlags::SHARED,
        };
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice aliases no memory of the program.
        let mapped =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), len, access, flags, borrow(&fd), 0) };
        let start = mapped.map_err(failed(Call::Mmap))?.cast::<u8>();
        let mut offset = if write { 0 } else { len };
        while offset < len {
            // SAFETY: below `len`, in the mapping that this call made and nobody else knows. A file that is shorter than the
            // mapping gives SIGBUS, which ends the task and the run; no other memory is touched.
            unsafe { start.add(offset).write_volatile(1) };
            offset += PAGE;
        }
        // SAFETY: the mapping made above, to which no reference was made.
        unsafe { rustix::mm::munmap(start.cast(), len) }.map_err(failed(Call::Munmap))
    }

    #[inline(always)]
    fn fsync(&self, fd: Fd) -> Result<(), Failure> {
        rustix::fs::fsync(borrow(&fd)).map_err(failed(Call::Fsync))
    }

    #[inline(always)]
    fn fdatasync(&self, fd: Fd) -> Result<(), Failure> {
        rustix::fs::fdatasync(borrow(&fd)).map_err(failed(Call::Fdatasync))
    }

    #[inline(always)]
    fn close_range(&self, first: Fd, last: Fd) -> Result<(), Failure> {
        // rustix has no close_range.
        // SAFETY: three integers. The workload closes descriptors that it made, as in `close`.
        match unsafe { libc::syscall(libc::SYS_close_range, first.0, last.0, 0) } {
            0 => Ok(()),
            _ => Err(Failure::new(Call::CloseRange, last_errno())),
        }
    }

    fn watch(&self, dir: &CStr) -> Result<Fd, Failure> {
        let watcher =
            inotify::init(inotify::CreateFlags::NONBLOCK).map_err(failed(Call::Inotify))?;
        inotify::add_watch(&watcher, dir, inotify::WatchFlags::ATTRIB)
            .map_err(failed(Call::Inotify))?;
        Ok(Fd(watcher.into_raw_fd()))
    }

    fn unshare_files(&self) -> Result<(), Failure> {
        // SAFETY: workloads that do this have a crew to themselves, whose threads share nothing but the memory; each uses the
        // descriptors that it opened after this call.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FILES) }
            .map_err(failed(Call::Unshare))
    }

    fn child_with_descriptors(&self, fd: Fd, copies: u32) -> Result<(), Failure> {
        let mut stack = [MaybeUninit::<u8>::uninit(); CHILD_STACK];
        let orders = Orders { fd: fd.0, copies };
        // The stack grows down; the top has to be aligned as a call wants it.
        let top = stack.as_mut_ptr_range().end.cast::<c_void>();
        let top = top.wrapping_byte_sub(top.addr() % 64);
        // SAFETY: CLONE_VFORK keeps this thread here until the child has ended, so that stack and orders outlive it. The child
        // shares the memory, but runs nothing but `make_copies`: system calls, with errno in the place of this thread, which waits.
        let child = unsafe {
            libc::clone(
                make_copies,
                top,
                libc::CLONE_VM | libc::CLONE_VFORK,
                (&raw const orders).cast_mut().cast(),
            )
        };
        if child < 0 {
            return Err(Failure::new(Call::Clone, last_errno()));
        }
        let mut status = 0;
        // SAFETY: `status` is a place for the answer. __WALL, for the child sends no signal when it ends.
        if unsafe { libc::waitpid(child, &raw mut status, libc::__WALL) } != child {
            return Err(Failure::new(Call::Clone, last_errno()));
        }
        match libc::WEXITSTATUS(status) {
            0 if libc::WIFEXITED(status) => Ok(()),
            errno => Err(Failure::new(Call::Fcntl, Errno::from_raw_os_error(errno.max(1)))),
        }
    }
}

/// What the child is to do.
struct Orders {
    fd: c_int,
    copies: u32,
}

/// The child. Exits with 0 or the errno of the call that failed; every errno of fcntl(2) fits into the byte.
extern "C" fn make_copies(orders: *mut c_void) -> c_int {
    // SAFETY: the parent waits for the end of this and keeps its orders meanwhile.
    let orders = unsafe { &*orders.cast::<Orders>() };
    for _ in 0..orders.copies {
        // SAFETY: integers only. The copies end with the child.
        if unsafe { libc::fcntl(orders.fd, libc::F_DUPFD, 0) } < 0 {
            return last_errno().raw_os_error();
        }
    }
    0
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
