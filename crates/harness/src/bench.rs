//! A workload bound to a target: what a task can run, with the types gone.
//!
//! The types are erased around the loop, not in it: [`Runner::run`] is one virtual call per slice, and its body is
//! monomorphised for workload and file system.

use crate::Dir;
use crate::clock::now_ns;
use machine::LockTotals;
use machine::sync::Backlog;
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use vfs_api::{Call, Errno, Failure, FileSystem, Info, Place, Workload};

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
    /// Makes what all tasks share. Once per run, in the process that runs the tasks or forks them.
    ///
    /// # Errors
    /// The first call that failed.
    fn prepare(&self) -> Result<(), FailedOn>;

    /// Makes one task. Called in the task, pinned.
    ///
    /// # Errors
    /// The first call that failed.
    fn task(&self, task: usize) -> Result<Box<dyn Runner>, FailedOn>;

    /// Makes the curve's directory the working directory of the calling task.
    ///
    /// # Errors
    /// chdir failed.
    fn enter(&self) -> Result<(), FailedOn>;
}

/// What came of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Operations that succeeded.
    pub ops: u64,
    /// The call that ended it early.
    pub failure: Option<Failure>,
}

/// What a target knows of a task's slice beyond operations and time.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    /// Locks taken in the slice, by name.
    pub locks: Vec<LockTotals>,
    /// RCU callbacks of the task's CPU.
    pub rcu: Option<Backlog>,
}

/// One task of one curve.
pub trait Runner {
    /// Repeats the operation until `stop` is not 0, which is looked at before every `batch` operations.
    ///
    /// `until` (CLOCK_MONOTONIC, nanoseconds) only where tasks take turns on a CPU: there the conductor does not get one in
    /// time, so the first task that sees the time pass sets the flag.
    fn run(&mut self, stop: &AtomicU32, batch: u32, until: Option<u64>) -> Outcome;

    /// What else there is to say of the slice. Called after `run`, outside of what is measured.
    fn extra(&self) -> Extra {
        Extra::default()
    }

    /// The path for an error message.
    fn path(&self) -> &CStr;
}

/// A target as the harness drives it: it gives each task its file system.
pub(crate) trait System: Send + Sync + 'static {
    /// One task's file system.
    type Fs: FileSystem;

    /// Makes the system; answers a file system to prepare the workload with.
    fn prepare(&self) -> Result<Self::Fs, FailedOn>;

    /// The file system of a task.
    fn task(&self, task: usize) -> Result<Self::Fs, FailedOn>;

    /// Makes `dir` the working directory of the calling task.
    fn enter(&self, dir: &CStr) -> Result<(), Errno>;

    /// See [`Extra`].
    fn extra(&self, _fs: &Self::Fs) -> Extra {
        Extra::default()
    }
}

/// This kernel.
struct ThisKernel;

impl System for ThisKernel {
    type Fs = Dir;

    fn prepare(&self) -> Result<Dir, FailedOn> {
        Ok(Dir)
    }

    fn task(&self, _task: usize) -> Result<Dir, FailedOn> {
        Ok(Dir)
    }

    fn enter(&self, dir: &CStr) -> Result<(), Errno> {
        rustix::process::chdir(dir)
    }
}

struct Bound<W, S> {
    system: Arc<S>,
    dir: CString,
    workload: PhantomData<fn() -> W>,
}

/// Runs `f` as part of the task's work.
pub(crate) fn at_work<F: FileSystem, R>(fs: &F, f: impl FnOnce(&F) -> R) -> R {
    fs.enter();
    let result = f(fs);
    fs.leave();
    result
}

impl<W: Workload, S: System> Bench for Bound<W, S> {
    fn prepare(&self) -> Result<(), FailedOn> {
        let fs = self.system.prepare()?;
        let place = Place { dir: self.dir.clone(), task: 0 };
        at_work(&fs, |fs| W::prepare(fs, &place))
            .map_err(|failure| FailedOn { failure, path: place.shared_path() })
    }

    fn task(&self, task: usize) -> Result<Box<dyn Runner>, FailedOn> {
        let fs = self.system.task(task)?;
        let place = Place { dir: self.dir.clone(), task };
        let task = at_work(&fs, |fs| W::task(fs, &place))
            .map_err(|failure| FailedOn { failure, path: place.own_path() })?;
        Ok(Box::new(Task::<W, S> { system: Arc::clone(&self.system), fs, task }))
    }

    fn enter(&self) -> Result<(), FailedOn> {
        self.system.enter(&self.dir).map_err(|errno| FailedOn {
            failure: Failure::new(Call::Chdir, errno),
            path: self.dir.clone(),
        })
    }
}

struct Task<W: Workload, S: System> {
    system: Arc<S>,
    fs: S::Fs,
    task: W::Task,
}

impl<W: Workload, S: System> Runner for Task<W, S> {
    fn run(&mut self, stop: &AtomicU32, batch: u32, until: Option<u64>) -> Outcome {
        self.fs.enter();
        let outcome = match until {
            None => repeat::<W, S::Fs>(&self.fs, &mut self.task, stop, batch),
            Some(until) => repeat_until::<W, S::Fs>(&self.fs, &mut self.task, stop, batch, until),
        };
        self.fs.leave();
        outcome
    }

    fn extra(&self) -> Extra {
        self.system.extra(&self.fs)
    }

    fn path(&self) -> &CStr {
        W::path(&self.task)
    }
}

/// The measured loop.
fn repeat<W: Workload, F: FileSystem>(
    fs: &F,
    task: &mut W::Task,
    stop: &AtomicU32,
    batch: u32,
) -> Outcome {
    let mut ops = 0;
    // Relaxed: the flag carries no data. It may be seen late, which only makes the slice longer; the results go to the conductor
    // through SeqCst operations after the loop.
    while stop.load(Relaxed) == 0 {
        for _ in 0..batch {
            match W::step(fs, task) {
                Ok(done) => ops += done,
                Err(failure) => return Outcome { ops, failure: Some(failure) },
            }
        }
    }
    Outcome { ops, failure: None }
}

/// The loop where tasks take turns: with a look at the clock after each batch (some 50 microseconds).
fn repeat_until<W: Workload, F: FileSystem>(
    fs: &F,
    task: &mut W::Task,
    stop: &AtomicU32,
    batch: u32,
    until: u64,
) -> Outcome {
    let mut ops = 0;
    // Relaxed as above.
    while stop.load(Relaxed) == 0 {
        for _ in 0..batch {
            match W::step(fs, task) {
                Ok(done) => ops += done,
                Err(failure) => return Outcome { ops, failure: Some(failure) },
            }
        }
        if now_ns() >= until {
            stop.store(1, Relaxed);
        }
    }
    Outcome { ops, failure: None }
}

/// Workload `W` on a directory of this kernel, which must exist when the bench is prepared.
pub fn bind<W: Workload>(dir: CString) -> Box<dyn Bench> {
    bind_type::<W, _>(Arc::new(ThisKernel), dir)
}

/// Workload `W` on a system.
pub(crate) fn bind_type<W: Workload, S: System>(system: Arc<S>, dir: CString) -> Box<dyn Bench> {
    Box::new(Bound::<W, S> { system, dir, workload: PhantomData })
}

/// The registered `workload` on a directory of this kernel.
pub fn on_dir(workload: &Info, dir: CString) -> Box<dyn Bench> {
    bind_to(workload, Arc::new(ThisKernel), dir)
}

/// The registered `workload` on a system.
pub(crate) fn bind_to<S: System>(workload: &Info, system: Arc<S>, dir: CString) -> Box<dyn Bench> {
    struct Find<'a, S> {
        name: &'a str,
        system: Arc<S>,
        dir: CString,
        found: Option<Box<dyn Bench>>,
    }
    impl<S: System> workloads::Visitor for Find<'_, S> {
        fn visit<W: Workload>(&mut self) {
            if W::INFO.name == self.name {
                let (system, dir) = (Arc::clone(&self.system), self.dir.clone());
                self.found = Some(bind_type::<W, S>(system, dir));
            }
        }
    }
    let mut find = Find { name: workload.name, system, dir, found: None };
    workloads::visit_all(&mut find);
    find.found.expect("an Info comes from the registry that is searched here")
}
