//! What the harness sees of a workload.

use crate::{Failure, FileSystem};
use std::ffi::{CStr, CString};
use std::fmt;

/// How the tasks of a curve are made. It decides whether they share an fd table, so it is never implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskMode {
    /// One fork per task; each has its own fd table.
    Process,
    /// Threads of one process; they share its fd table.
    Thread,
}

impl TaskMode {
    /// As on the command line and in the record.
    pub const fn name(self) -> &'static str {
        match self {
            TaskMode::Process => "process",
            TaskMode::Thread => "thread",
        }
    }
}

impl fmt::Display for TaskMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a workload asks of its target. The planner refuses a pair before anything starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// Names can be made and removed.
    Create,
    /// Files can be written.
    Write,
    /// Files can be cut and extended.
    Truncate,
}

impl Capability {
    /// As in `list workloads`.
    pub const fn name(self) -> &'static str {
        match self {
            Capability::Create => "create",
            Capability::Write => "write",
            Capability::Truncate => "truncate",
        }
    }
}

/// What one task takes of the machine; the preflight adds it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Descriptors open at the same time at most.
    pub fds: u64,
    /// Inodes at most, the shared files not counted.
    pub inodes: u64,
    /// Bytes of file data at most.
    pub bytes: u64,
}

/// The description of a workload; `vfscale list workloads` prints it.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// snake_case; the file's name and the name on the command line.
    pub name: &'static str,
    /// Other names it answers to, mostly those of peers (`wis:open1`).
    pub aliases: &'static [&'static str],
    /// One line.
    pub summary: &'static str,
    /// The mail or the peer it comes from.
    pub origin: &'static str,
    /// The modes in which it says something.
    pub modes: &'static [TaskMode],
    /// What is counted as one operation.
    pub operation: &'static str,
    /// What it needs of a target.
    pub needs: &'static [Capability],
    /// What one task takes.
    pub demand: Demand,
}

/// Where a task works: its number and the directory that all tasks of the curve share.
#[derive(Clone, Debug)]
pub struct Place {
    /// Absolute path of the curve's directory; also the working directory during a slice.
    pub dir: CString,
    /// 0-based number of the task.
    pub task: usize,
}

impl Place {
    /// The absolute path of `name` in the curve's directory.
    pub fn path(&self, name: &str) -> CString {
        let mut bytes = self.dir.as_bytes().to_vec();
        bytes.push(b'/');
        bytes.extend_from_slice(name.as_bytes());
        CString::new(bytes).expect("names of workloads hold no NUL")
    }

    /// The name of this task's own file.
    pub fn own_name(&self) -> String {
        format!("f{}", self.task)
    }

    /// The absolute path of this task's own file.
    pub fn own_path(&self) -> CString {
        self.path(&self.own_name())
    }

    /// The absolute path of the one file that all tasks share.
    pub fn shared_path(&self) -> CString {
        self.path("shared")
    }
}

/// A workload: one file in the `workloads` crate.
pub trait Workload: 'static {
    /// Name, origin, needs.
    const INFO: Info;
    /// What a task keeps between steps: prepared paths, open descriptors, buffers.
    type Task: Send + 'static;

    /// Makes what all tasks share. Once per run, before any task.
    ///
    /// # Errors
    /// The first call that failed.
    fn prepare<F: FileSystem>(_fs: &F, _place: &Place) -> Result<(), Failure> {
        Ok(())
    }

    /// Makes what one task needs. Once per run and task, in the task itself, after it was pinned.
    ///
    /// # Errors
    /// The first call that failed.
    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Self::Task, Failure>;

    /// The measured body: one pass. Answers how many operations it did (see [`Info::operation`]); nothing that failed counts.
    ///
    /// # Errors
    /// The first call that failed; the task then stops.
    fn step<F: FileSystem>(fs: &F, task: &mut Self::Task) -> Result<u64, Failure>;

    /// The path to name in an error message.
    fn path(task: &Self::Task) -> &CStr;
}
