//! The real side: a tmpfs of its own, and processes in it that do what they are told over sockets.

use crate::op::{FDS, PROCESSES, Step};
use harness::Dir;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::process::{Pid, Resource, Rlimit, WaitOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Descriptor of the socket in a process, out of the way of those that are tested.
const SOCKET: i32 = 100;

/// Gives the calling thread a mount namespace of its own, in which nothing that it does reaches others.
///
/// # Errors
/// One of the calls failed; EPERM without the right to do it.
pub(crate) fn enter_namespace() -> io::Result<()> {
    // SAFETY: the flag concerns mounts, root and working directory of this thread only; it shares no memory or descriptors less.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)?;
    Ok(())
}

/// A fresh tmpfs and the processes in it.
pub(crate) struct Linux<'a> {
    dir: &'a Path,
    processes: Vec<Process>,
}

struct Process {
    pid: Pid,
    socket: UnixStream,
}

impl<'a> Linux<'a> {
    /// Mounts a tmpfs on `dir` and forks the processes: those that operate and one that looks at the end. The calling thread
    /// must be in a namespace of its own.
    ///
    /// # Errors
    /// A call failed.
    pub(crate) fn start(dir: &'a Path, steps: &[Step]) -> io::Result<Self> {
        rustix::mount::mount("lab_against_linux", dir, "tmpfs", MountFlags::empty(), None)?;
        let mut linux = Linux { dir, processes: Vec::new() };
        for _ in 0..=PROCESSES {
            let (socket, other) = UnixStream::pair()?;
            // SAFETY: the child touches no lock that another thread of this process may have held at the fork, the allocator's
            // apart, which glibc makes usable; and it never returns from this branch.
            let pid = match unsafe { libc::fork() } {
                -1 => return Err(io::Error::last_os_error()),
                0 => {
                    let served = catch_unwind(AssertUnwindSafe(|| serve(&other, dir, steps)));
                    let status = if matches!(served, Ok(Ok(()))) { 0 } else { 1 };
                    // SAFETY: ends the child without running what belongs to the parent.
                    unsafe { libc::_exit(status) }
                }
                pid => Pid::from_raw(pid).expect("fork answers a pid above 0 in the parent"),
            };
            linux.processes.push(Process { pid, socket });
        }
        for process in &mut linux.processes {
            // It is in the tmpfs: later, something else might be mounted there.
            process.socket.read_exact(&mut [0])?;
        }
        Ok(linux)
    }

    /// What the `at`th step answers.
    ///
    /// # Errors
    /// The process has died.
    pub(crate) fn run(&mut self, at: usize, step: &Step) -> io::Result<String> {
        let socket = &mut self.processes[step.process].socket;
        socket.write_all(&(at as u32).to_le_bytes())?;
        let mut len = [0; 4];
        socket.read_exact(&mut len)?;
        let mut text = vec![0; u32::from_le_bytes(len) as usize];
        socket.read_exact(&mut text)?;
        String::from_utf8(text).map_err(io::Error::other)
    }
}

impl Drop for Linux<'_> {
    fn drop(&mut self) {
        for Process { pid, socket } in self.processes.drain(..) {
            drop(socket);
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
        }
        let _ = rustix::mount::unmount(self.dir, UnmountFlags::DETACH);
    }
}

/// A process: in the tmpfs as if there were nothing else, with no descriptor open, and few to be had.
fn serve(socket: &UnixStream, dir: &Path, steps: &[Step]) -> io::Result<()> {
    // SAFETY: descriptors by number, in a process that owns them all: the socket moves out of the way of the others, and those are
    // closed. What objects of this process still refer to them is never used again.
    unsafe {
        if libc::dup2(socket.as_raw_fd(), SOCKET) < 0
            || libc::close_range(0, SOCKET as u32 - 1, 0) < 0
            || libc::close_range(SOCKET as u32 + 1, u32::MAX, 0) < 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    rustix::process::chroot(dir)?;
    rustix::process::chdir("/")?;
    let limit = Some(FDS as u64);
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit })?;
    // SAFETY: it was put there above, and nothing else closes it.
    let mut socket = unsafe { <UnixStream as std::os::fd::FromRawFd>::from_raw_fd(SOCKET) };
    socket.write_all(&[0])?;
    let mut at = [0; 4];
    while socket.read_exact(&mut at).is_ok() {
        let text = steps[u32::from_le_bytes(at) as usize].op.run(&Dir);
        socket.write_all(&(text.len() as u32).to_le_bytes())?;
        socket.write_all(text.as_bytes())?;
    }
    Ok(())
}
