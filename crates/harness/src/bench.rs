//! A workload bound to a target: what a task can run, with the types gone.
//!
//! The types are erased around the loop, not in it: [`Runner::run`] is one virtual call per slice, and its body is
//! monomorphised for workload and file system.

use crate::Dir;
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use vfs_api::{Failure, FileSystem, Info, Place, Workload};

/// A failure and the path it happened on.
#[derive(Debug)]
pub struct FailedOn {
    /// Call and cause.
    pub failure: Failure,
    /// As the call was given it.
    pub path: CString,
}

/// One curve's workload on its target.
pub trait Bench: Send + Sync {
    /// The directory it works in, absolute.
    fn dir(&self) -> &CStr;

    /// Makes what all tasks share. Once per run.
    ///
    /// # Errors
    /// The first call that failed.
    fn prepare(&self) -> Result<(), FailedOn>;

    /// Makes one task. Called in the task, pinned.
    ///
    /// # Errors
    /// The first call that failed.
    fn task(&self, task: usize) -> Result<Box<dyn Runner>, FailedOn>;
}

/// What came of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Operations that succeeded.
    pub ops: u64,
    /// The call that ended it early.
    pub failure: Option<Failure>,
}

/// One task of one curve.
pub trait Runner {
    /// Repeats the operation until `stop` is not 0, which is looked at before every `batch` operations.
    fn run(&mut self, stop: &AtomicU32, batch: u32) -> Outcome;

    /// The path for an error message.
    fn path(&self) -> &CStr;
}

struct Bound<W, F> {
    fs: F,
    dir: CString,
    workload: PhantomData<fn() -> W>,
}

impl<W: Workload, F: FileSystem + Copy + Send + Sync + 'static> Bench for Bound<W, F> {
    fn dir(&self) -> &CStr {
        &self.dir
    }

    fn prepare(&self) -> Result<(), FailedOn> {
        let place = Place { dir: self.dir.clone(), task: 0 };
        W::prepare(&self.fs, &place)
            .map_err(|failure| FailedOn { failure, path: place.shared_path() })
    }

    fn task(&self, task: usize) -> Result<Box<dyn Runner>, FailedOn> {
        let place = Place { dir: self.dir.clone(), task };
        let task = W::task(&self.fs, &place)
            .map_err(|failure| FailedOn { failure, path: place.own_path() })?;
        Ok(Box::new(Task::<W, F> { fs: self.fs, task }))
    }
}

struct Task<W: Workload, F> {
    fs: F,
    task: W::Task,
}

impl<W: Workload, F: FileSystem> Runner for Task<W, F> {
    fn run(&mut self, stop: &AtomicU32, batch: u32) -> Outcome {
        let mut ops = 0;
        // Relaxed: the flag carries no data. It may be seen late, which only makes the slice longer; the results go to the
        // conductor through SeqCst operations after the loop.
        while stop.load(Relaxed) == 0 {
            for _ in 0..batch {
                match W::step(&self.fs, &mut self.task) {
                    Ok(done) => ops += done,
                    Err(failure) => return Outcome { ops, failure: Some(failure) },
                }
            }
        }
        Outcome { ops, failure: None }
    }

    fn path(&self) -> &CStr {
        W::path(&self.task)
    }
}

/// Workload `W` on the file system `fs`, in the directory `dir`, which must exist when the bench is prepared.
pub fn bind<W, F>(fs: F, dir: CString) -> Box<dyn Bench>
where
    W: Workload,
    F: FileSystem + Copy + Send + Sync + 'static,
{
    Box::new(Bound::<W, F> { fs, dir, workload: PhantomData })
}

/// `workload` on a directory of this kernel.
pub fn on_dir(workload: &Info, dir: CString) -> Box<dyn Bench> {
    struct Find<'a> {
        name: &'a str,
        dir: CString,
        found: Option<Box<dyn Bench>>,
    }
    impl workloads::Visitor for Find<'_> {
        fn visit<W: Workload>(&mut self) {
            if W::INFO.name == self.name {
                self.found = Some(bind::<W, _>(Dir, self.dir.clone()));
            }
        }
    }
    let mut find = Find { name: workload.name, dir, found: None };
    workloads::visit_all(&mut find);
    find.found.expect("an Info comes from the registry that is searched here")
}
