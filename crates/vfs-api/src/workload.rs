//! What the harness sees of a workload.

use crate::{Failure, FileSystem, Info, Params};
use std::ffi::{CStr, CString};

/// Where a task works: its number and the directory that all tasks of the curve share.
#[derive(Clone, Debug)]
pub struct Place {
    /// Absolute path of the curve's directory; also the working directory during a slice.
    pub dir: CString,
    /// 0-based number of the task.
    pub task: usize,
    /// The values of the workload's parameters.
    pub params: Params,
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

    /// The absolute path of a directory for this task alone.
    pub fn own_dir(&self) -> CString {
        self.path(&format!("d{}", self.task))
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

    /// Makes again what a slice uses up: called in the task before each of its slices, outside of what is measured. So a
    /// workload that only creates has an empty directory each time, and one that only removes has something to remove.
    ///
    /// # Errors
    /// The first call that failed.
    fn renew<F: FileSystem>(_fs: &F, _task: &mut Self::Task) -> Result<(), Failure> {
        Ok(())
    }

    /// The measured body: one pass. Answers how many operations it did (see [`Info::operation`]); nothing that failed counts.
    ///
    /// # Errors
    /// The first call that failed; the task then stops. [`Failure::used_up`] ends the slice and nothing else.
    fn step<F: FileSystem>(fs: &F, task: &mut Self::Task) -> Result<u64, Failure>;

    /// One pass of what goes on in the background where [`Info::background`] says so: in one task more than are measured, which
    /// was made like the others. Nothing of it is counted.
    ///
    /// # Errors
    /// The first call that failed; the run then fails, for without its background it measures something else.
    fn background<F: FileSystem>(_fs: &F, _task: &mut Self::Task) -> Result<(), Failure> {
        Ok(())
    }

    /// The path to name in an error message.
    fn path(task: &Self::Task) -> &CStr;
}
