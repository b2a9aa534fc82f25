//! Processes and tasks, and how a task makes a call.

use super::Kernel;
use crate::fd_table::{FdTable, Got};
use crate::object::{File, FileBody, Raw};
use crate::path_walk::FsStruct;
use machine::sync::Backlog;
use machine::{Cpu, Cx, Platform};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use vfs_api::Errno;

/// What the tasks of a process share: fd table, root and working directory.
struct Process<P: Platform> {
    fds: Box<dyn FdTable<P>>,
    /// RLIMIT_NOFILE.
    fd_limit: usize,
    fs: FsStruct<P>,
    /// Tasks that have not ended. Not on the path of any call, hence not of the platform.
    tasks: AtomicUsize,
}

/// A task: a thread of a process on a CPU of its own. What it offers are system calls (see `open`, `names`, `mounts`).
///
/// The last task of a process to be dropped ends the process: its files are closed.
pub struct Task<P: Platform> {
    kernel: Arc<Kernel<P>>,
    process: Arc<Process<P>>,
    cpu: Cpu,
}

impl<P: Platform> Task<P> {
    /// A process with one task, on `cpu`, in `/`. `fds`: how many descriptors it may have. `shared`: whether more threads will
    /// come (its fd table is looked up as a shared one from the start).
    pub fn new_process(kernel: &Arc<Kernel<P>>, cpu: Cpu, fds: usize, shared: bool) -> Self {
        let cx = kernel.cx(cpu);
        let root = kernel.root();
        for _ in ["root", "cwd"] {
            // SAFETY: the root mount and its dentry are there as long as the kernel.
            unsafe { root.mount.get() }.refs.get(cx);
            // SAFETY: as above.
            kernel.walk.get(cx, unsafe { root.dentry.get() });
        }
        let process = Process {
            fds: kernel.fds.table(fds, shared),
            fd_limit: fds,
            fs: FsStruct::new(&kernel.env, root, root),
            tasks: AtomicUsize::new(1),
        };
        let process = Arc::new(process);
        process.fs.name_lines();
        Task { kernel: Arc::clone(kernel), process, cpu }
    }

    /// Another thread of the same process, on `cpu`.
    pub fn new_thread(&self, cpu: Cpu) -> Self {
        // Relaxed: this task is one of them, so that the last one has not ended.
        self.process.tasks.fetch_add(1, Relaxed);
        Task { kernel: Arc::clone(&self.kernel), process: Arc::clone(&self.process), cpu }
    }

    /// The kernel it runs in.
    pub fn kernel(&self) -> &Kernel<P> {
        &self.kernel
    }

    pub(super) fn fs(&self) -> &FsStruct<P> {
        &self.process.fs
    }

    pub(super) fn fds(&self) -> &dyn FdTable<P> {
        &*self.process.fds
    }

    pub(super) fn fd_limit(&self) -> usize {
        self.process.fd_limit
    }

    /// Runs a system call; its end is a quiescent state.
    #[inline]
    pub(super) fn call<R>(&self, f: impl FnOnce(&Kernel<P>, Cx<'_, P>) -> R) -> R {
        let cx = self.kernel.cx(self.cpu);
        P::work(self.kernel.call_work_ns);
        let result = f(&self.kernel, cx);
        self.kernel.end_call(cx);
        self.kernel.rcu.quiescent(cx);
        result
    }

    /// Begins to make calls: from now on grace periods wait for this task.
    pub fn enter(&self) {
        self.kernel.rcu.online(self.cpu);
    }

    /// Ends to make calls for now.
    pub fn leave(&self) {
        self.kernel.rcu.offline(self.cpu);
    }

    /// How far the RCU callbacks of this task's CPU lag behind.
    pub fn backlog(&self) -> Backlog {
        self.kernel.rcu.local_backlog(self.cpu)
    }

    /// Runs `f` on an open file.
    #[inline]
    pub(super) fn with_file<R>(
        &self,
        kernel: &Kernel<P>,
        cx: Cx<'_, P>,
        fd: i32,
        f: impl FnOnce(&File<P>, FileBody<P>) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let got: Got<P> = self.process.fds.get(cx, fd).ok_or(Errno::BADF)?;
        // SAFETY: `got` is a reference (or the table's, which nobody else can close), until `put`.
        let file = unsafe { got.file.get() };
        // SAFETY: as above.
        let result = f(file, unsafe { file.body() });
        if self.process.fds.put(cx, got) {
            kernel.release(cx, got.file);
        }
        result
    }

    pub(super) fn close_file(
        &self,
        kernel: &Kernel<P>,
        cx: Cx<'_, P>,
        fd: i32,
    ) -> Result<(), Errno> {
        let file: Raw<File<P>> = self.process.fds.remove(cx, fd).ok_or(Errno::BADF)?;
        // SAFETY: the table's reference is ours now.
        if kernel.fds.drop_ref(unsafe { file.get() }) {
            kernel.release(cx, file);
        }
        Ok(())
    }
}

impl<P: Platform> Drop for Task<P> {
    fn drop(&mut self) {
        // AcqRel: the last one comes after all that the others did.
        if self.process.tasks.fetch_sub(1, AcqRel) > 1 {
            return;
        }
        self.enter();
        self.call(|kernel, cx| {
            for fd in self.process.fds.used() {
                // It is open: `used` has just said so, and we are the last task.
                let _ = self.close_file(kernel, cx, fd);
            }
            for path in [self.process.fs.root(), self.process.fs.cwd()] {
                kernel.put_path(cx, path);
            }
        });
        self.leave();
    }
}
