//! Tasks that make known locks contend, in slices: they run only when told and are out of the kernel otherwise.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a task does over and over.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// Creates a file in the shared directory and removes it.
    CreateUnlink,
    /// Opens one shared file and closes it.
    OpenShared,
    /// Extends a file of its own, truncates it, removes it while it is open, and closes it.
    TruncateUnlink,
}

/// Two tasks a CPU: one that is preempted while it holds a lock makes the others sleep for it. While the owner runs, waiters
/// spin, and the kernel traces no spinning for a semaphore.
const TASKS: usize = 4;

/// Processes that are pinned to two CPUs; killed when dropped.
pub(crate) struct Load {
    pids: Vec<libc::pid_t>,
}

impl Load {
    /// Tasks on two CPUs, stopped. None, and why is printed, where there are not two.
    pub(crate) fn start(work: Work, dir: &Path) -> Option<Load> {
        let cpus = usable_cpus();
        let &[first, second, ..] = cpus.as_slice() else {
            eprintln!(
                "SKIPPED: kernel locks: contention needs 2 CPUs, and this process may use {}",
                cpus.len()
            );
            return None;
        };
        let path = |name: String| CString::new(dir.join(name).as_os_str().as_bytes()).unwrap();
        let shared = path("shared".into());
        fs::write(dir.join("shared"), "x").expect("make the shared file");
        let mut load = Load { pids: Vec::new() };
        for task in 0..TASKS {
            let cpu = if task % 2 == 0 { first } else { second };
            let own = path(format!("own{task}"));
            // SAFETY: the child makes system calls only, on memory that exists already, and never returns.
            let pid = unsafe { libc::fork() };
            assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
            if pid == 0 {
                task_body(work, cpu, &own, &shared);
            }
            load.pids.push(pid);
        }
        load.wait_stopped();
        Some(load)
    }

    /// Their process ids.
    pub(crate) fn ids(&self) -> Vec<u32> {
        self.pids.iter().map(|&pid| pid as u32).collect()
    }

    /// Lets them run so long; none is inside the kernel afterwards.
    pub(crate) fn run(&self, length: Duration) {
        self.signal(libc::SIGCONT);
        std::thread::sleep(length);
        self.signal(libc::SIGSTOP);
        self.wait_stopped();
    }

    fn signal(&self, signal: i32) {
        for &pid in &self.pids {
            // SAFETY: a child that has not been waited for, so the id is its own.
            unsafe { libc::kill(pid, signal) };
        }
    }

    fn wait_stopped(&self) {
        for &pid in &self.pids {
            let mut status = 0;
            // SAFETY: `status` is a place for the result.
            let waited = unsafe { libc::waitpid(pid, &mut status, libc::WUNTRACED) };
            assert!(waited == pid && libc::WIFSTOPPED(status), "a task died: status {status:#x}");
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        for &pid in &self.pids {
            // SAFETY: no result is wanted.
            unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
        }
    }
}

fn task_body(work: Work, cpu: usize, own: &CString, shared: &CString) -> ! {
    // SAFETY: system calls on paths and memory that exist; a failed one ends the task, which the parent notices.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
        libc::raise(libc::SIGSTOP);
        let (own, shared) = (own.as_ptr(), shared.as_ptr());
        let create = libc::O_RDWR | libc::O_CREAT;
        loop {
            let fd = match work {
                Work::OpenShared => libc::open(shared, libc::O_RDONLY),
                _ => libc::open(own, create, 0o600),
            };
            let mut failed = fd < 0;
            if let Work::TruncateUnlink = work {
                failed |= libc::ftruncate(fd, 8192) != 0 || libc::ftruncate(fd, 1) != 0;
            }
            if !matches!(work, Work::OpenShared) {
                failed |= libc::unlink(own) != 0;
            }
            failed |= libc::close(fd) != 0;
            if failed {
                libc::_exit(1);
            }
        }
    }
}

fn usable_cpus() -> Vec<usize> {
    // SAFETY: all bits zero are an empty set, and the kernel writes no more than its size.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        set
    };
    // SAFETY: `cpu` is below the size of the set.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// One test at a time: they look at the descriptors of the whole process and want the CPUs for themselves.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // A failed test spoils nothing for the next.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// False, and why is printed, for an ordinary user.
pub(crate) fn is_root() -> bool {
    // SAFETY: a system call without arguments.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("SKIPPED: kernel locks: needs root");
    }
    root
}

/// A directory in memory.
pub(crate) fn memory_dir() -> Option<tempfile::TempDir> {
    let dir = tempfile::Builder::new().prefix("vfscale-contention-").tempdir_in("/dev/shm");
    dir.inspect_err(|error| eprintln!("SKIPPED: kernel locks: no directory on /dev/shm: {error}"))
        .ok()
}

/// Runs `body` in a thread whose mounts nobody else sees and which go with it.
pub(crate) fn in_private_mounts(body: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(|| {
        // SAFETY: a system call without addresses; it concerns this thread alone.
        let unshared = unsafe { libc::unshare(libc::CLONE_NEWNS) };
        assert_eq!(unshared, 0, "unshare: {}", std::io::Error::last_os_error());
        let private = std::process::Command::new("mount").args(["--make-rprivate", "/"]).status();
        assert!(private.expect("start mount").success());
        body();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
