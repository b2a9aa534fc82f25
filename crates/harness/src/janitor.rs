//! The process that removes the run's directories, however the run ends.
//!
//! It is forked before the first directory is made, has its own session (so that neither Ctrl-C nor a SIGKILL to the run's
//! process group reaches it) and waits for the end of a pipe whose other end the conductor and all tasks hold. The end comes
//! when the last of them is gone, by return, crash or SIGKILL; then nobody makes files any more, and it removes what it was
//! told of. The normal end is the same: the conductor lets go of the pipe and waits for the janitor.

use crate::error::Error;
use crate::interrupt::leave_to_conductor;
use crate::rundir;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::process::{Pid, WaitId, WaitIdOptions};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a directory that does not want to go is tried again: a task that was killed may finish its last call meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

/// What removing an inode may take: on a slow disk, or through a file system in user space on a busy machine.
const INODE: Duration = Duration::from_millis(2);

/// The conductor's side.
pub(crate) struct Janitor {
    pid: Pid,
    /// Held by every task too, on purpose: see the module's header.
    told: Option<File>,
    dirs: Vec<PathBuf>,
}

impl Janitor {
    /// Forks it. The calling process must have a single thread.
    ///
    /// # Errors
    /// No pipe or no process.
    pub(crate) fn start() -> Result<Janitor, Error> {
        // Every task inherits it by fork; a command of the user's (--before-cmd) must not hold it beyond exec.
        let (listen, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|e| Error::os("pipe2", e))?;
        let (ready, on_its_own) = rustix::pipe::pipe().map_err(|e| Error::os("pipe", e))?;
        // SAFETY: one thread; the child only runs `janitor` and leaves by _exit.
        match unsafe { libc::fork() } {
            -1 => Err(Error::Fork(std::io::Error::last_os_error())),
            0 => {
                drop(tell);
                leave_to_conductor();
                let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    janitor(listen, on_its_own)
                }));
                // SAFETY: ends the child without the parent's exit handlers.
                unsafe { libc::_exit(i32::from(!matches!(status, Ok(true)))) }
            }
            pid => {
                drop(on_its_own);
                // Before it has a session of its own, a SIGKILL to the process group would take both.
                let _ = File::from(ready).read(&mut [0]);
                Ok(Janitor {
                    pid: Pid::from_raw(pid).expect("fork answers a pid above 0 in the parent"),
                    told: Some(File::from(tell)),
                    dirs: Vec::new(),
                })
            }
        }
    }

    /// Makes a marked directory, after the janitor was told of it.
    ///
    /// # Errors
    /// What mkdir(2) and the writing of the marker say.
    pub(crate) fn make_dir(&mut self, dir: &Path) -> std::io::Result<()> {
        let mut message = dir.as_os_str().as_bytes().to_vec();
        message.push(0);
        if let Some(pipe) = &mut self.told {
            pipe.write_all(&message)?;
        }
        self.dirs.push(dir.to_owned());
        rundir::create(dir)
    }

    /// Lets it clean up and waits until it has. All tasks must be gone. `inodes`: how many there are to remove, at most.
    ///
    /// # Errors
    /// A directory is still there.
    pub(crate) fn finish(mut self, inodes: u64) -> Result<(), Error> {
        self.clean_up(PATIENCE + INODE * inodes.try_into().unwrap_or(u32::MAX))
    }

    fn clean_up(&mut self, patience: Duration) -> Result<(), Error> {
        if self.told.take().is_none() {
            return Ok(());
        }
        // It cannot finish while a task hangs in a call, for such a task still holds the pipe; nor if somebody stopped it. It goes
        // on by itself then.
        let since = Instant::now();
        let ended = || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            !matches!(rustix::process::waitid(WaitId::Pid(self.pid), options), Ok(None))
        };
        while !ended() {
            if since.elapsed() > patience {
                return self.check();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // It does nothing where the janitor has done its work; it does the work if somebody has killed the janitor.
        for dir in &self.dirs {
            let _ = rundir::remove(dir);
        }
        self.check()
    }

    /// Whether all is gone.
    fn check(&self) -> Result<(), Error> {
        match self.dirs.iter().find(|dir| dir.symlink_metadata().is_ok()) {
            None => Ok(()),
            Some(left) => {
                let parent = left.parent().unwrap_or(left).to_owned();
                Err(Error::Left { left: left.clone(), parent })
            }
        }
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        // Only a panic comes here without `finish`.
        let _ = self.clean_up(PATIENCE);
    }
}

/// The janitor's own life. True if nothing is left.
fn janitor(listen: OwnedFd, on_its_own: OwnedFd) -> bool {
    // Failure means that it leads a session already: as good.
    let _ = rustix::process::setsid();
    drop(on_its_own);
    // Out of every directory, lest a file system stay busy, and off the terminal or pipe of the run's output: who reads it to
    // its end shall not wait for us.
    let _ = rustix::process::chdir("/");
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
    close_all_but(&listen);
    let mut told = Vec::new();
    // An error here is an end as well.
    let _ = File::from(listen).read_to_end(&mut told);
    let dirs: Vec<PathBuf> = told
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| PathBuf::from(OsString::from_vec(path.to_vec())))
        .collect();
    let since = Instant::now();
    loop {
        let left = dirs.iter().filter(|dir| rundir::remove(dir).is_err()).count();
        if left == 0 || since.elapsed() > PATIENCE {
            return left == 0;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Closes the descriptors that the caller of the program left open (a lock file, a shell's pipe): they are not ours to keep.
fn close_all_but(keep: &OwnedFd) {
    let open: Vec<i32> = std::fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for fd in open.into_iter().filter(|fd| *fd > 2 && *fd != keep.as_raw_fd()) {
        // SAFETY: this process uses no descriptor but 0 to 2 and `keep`; the one of the listing is closed already (EBADF).
        let _ = unsafe { rustix::io::try_close(fd) };
    }
}
