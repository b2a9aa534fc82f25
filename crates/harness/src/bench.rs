//! A workload bound to a target: what a task can run, with the types gone.
//!
//! The types are erased around the loop, not in it: [`Runner::run`] is one virtual call per slice, and its body is
//! monomorphised for workload and file system.

use crate::Dir;
use crate::clock::now_ns;
use crate::latency::Latencies;
use machine::LockTotals;
use machine::sync::Backlog;
use rustix::mount::MountPropagationFlags;
use rustix::thread::UnshareFlags;
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use vfs_api::{
    Call, Capability, Demand, Errno, Failure, FileSystem, Params, Place, Selected, Workload,
};

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

    /// Whether one task more works in the background of each slice.
    fn has_background(&self) -> bool {
        false
    }

    /// Makes that task, as [`Bench::task`] does the others; only where there is one.
    ///
    /// # Errors
    /// The first call that failed.
    fn background(&self, task: usize) -> Result<Box<dyn Runner>, FailedOn> {
        self.task(task)
    }

    /// Whether its tasks time single operations.
    fn is_timed(&self) -> bool {
        false
    }

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
    /// Times the loop's body was run; one pass may be several operations, or none.
    pub passes: u64,
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

/// What a task is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The same again and again, for as long as the slice lasts.
    Slice,
    /// A phase of fixed work.
    Phase {
        /// Which.
        number: usize,
        /// Tasks that take part.
        tasks: usize,
    },
}

/// One task of one curve.
pub trait Runner {
    /// Makes again what the last slice used up. Called before each slice, outside of what is measured.
    ///
    /// # Errors
    /// The first call that failed.
    fn renew(&mut self, _next: Next) -> Result<(), Failure> {
        Ok(())
    }

    /// Repeats the operation until `stop` is not 0, which is looked at before every `batch` operations.
    ///
    /// `until` (CLOCK_MONOTONIC, nanoseconds) only where tasks take turns on a CPU: there the conductor does not get one in
    /// time, so the first task that sees the time pass sets the flag.
    fn run(&mut self, stop: &AtomicU32, batch: u32, until: Option<u64>) -> Outcome;

    /// What else there is to say of the slice. Called after `run`, outside of what is measured.
    fn extra(&self) -> Extra {
        Extra::default()
    }

    /// How long the operations took, where [`Bench::is_timed`] says that they were timed.
    fn latencies(&self) -> Option<&Latencies> {
        None
    }

    /// The path for an error message.
    fn path(&self) -> &CStr;
}

/// A target as the harness drives it: it gives each task its file system.
pub(crate) trait System: Send + Sync + 'static {
    /// One task's file system.
    type Fs: FileSystem;

    /// Makes the system; answers a file system to prepare the workload with. `demand`: what each task will take of it.
    fn prepare(&self, demand: &Demand) -> Result<Self::Fs, FailedOn>;

    /// From now on this process mounts where nobody else sees it, and what it mounted goes with it.
    fn own_mounts(&self) -> Result<(), Errno> {
        Ok(())
    }

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
pub(crate) struct ThisKernel;

impl System for ThisKernel {
    type Fs = Dir;

    fn prepare(&self, _demand: &Demand) -> Result<Dir, FailedOn> {
        Ok(Dir)
    }

    fn own_mounts(&self) -> Result<(), Errno> {
        // SAFETY: the flag concerns mounts, root and working directory of the calling thread, which is the only one of its
        // process here; it takes away no memory and no descriptor.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
        // Or the mounts would appear outside as well.
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        rustix::mount::mount_change(c"/", private)
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
    params: Params,
    workload: PhantomData<fn() -> W>,
}

/// Runs `f` as part of the task's work.
pub(crate) fn at_work<F: FileSystem, R>(fs: &F, f: impl FnOnce(&F) -> R) -> R {
    fs.enter();
    let result = f(fs);
    fs.leave();
    result
}

impl<W: Workload, S: System> Bound<W, S> {
    fn new(system: Arc<S>, dir: CString, params: Params) -> Self {
        Bound { system, dir, params, workload: PhantomData }
    }

    fn place(&self, task: usize) -> Place {
        Place { dir: self.dir.clone(), task, params: self.params.clone() }
    }

    fn make(&self, task: usize) -> Result<Task<W, S>, FailedOn> {
        let fs = self.system.task(task)?;
        let place = self.place(task);
        let task = at_work(&fs, |fs| W::task(fs, &place))
            .map_err(|failure| FailedOn { failure, path: place.own_path() })?;
        Ok(Task { system: Arc::clone(&self.system), fs, task })
    }
}

impl<W: Workload, S: System> Bench for Bound<W, S> {
    fn prepare(&self) -> Result<(), FailedOn> {
        let place = self.place(0);
        if W::INFO.needs.contains(&Capability::Mounts) {
            self.system.own_mounts().map_err(|errno| FailedOn {
                failure: Failure::new(Call::Unshare, errno),
                path: place.dir.clone(),
            })?;
        }
        let fs = self.system.prepare(&(W::INFO.demand)(&self.params))?;
        at_work(&fs, |fs| W::prepare(fs, &place))
            .map_err(|failure| FailedOn { failure, path: place.shared_path() })
    }

    fn task(&self, task: usize) -> Result<Box<dyn Runner>, FailedOn> {
        Ok(Box::new(self.make(task)?))
    }

    fn has_background(&self) -> bool {
        W::INFO.background
    }

    fn background(&self, task: usize) -> Result<Box<dyn Runner>, FailedOn> {
        Ok(Box::new(Background(self.make(task)?)))
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

impl<W: Workload, S: System> Task<W, S> {
    fn work(&mut self, f: impl FnOnce(&S::Fs, &mut W::Task) -> Outcome) -> Outcome {
        self.fs.enter();
        let outcome = f(&self.fs, &mut self.task);
        self.fs.leave();
        outcome
    }
}

impl<W: Workload, S: System> Runner for Task<W, S> {
    fn renew(&mut self, _next: Next) -> Result<(), Failure> {
        at_work(&self.fs, |fs| W::renew(fs, &mut self.task))
    }

    fn run(&mut self, stop: &AtomicU32, batch: u32, until: Option<u64>) -> Outcome {
        self.work(|fs, task| repeat(|| W::step(fs, task), stop, batch, until))
    }

    fn extra(&self) -> Extra {
        self.system.extra(&self.fs)
    }

    fn path(&self) -> &CStr {
        W::path(&self.task)
    }
}

/// The task in the background.
struct Background<W: Workload, S: System>(Task<W, S>);

impl<W: Workload, S: System> Runner for Background<W, S> {
    fn run(&mut self, stop: &AtomicU32, batch: u32, until: Option<u64>) -> Outcome {
        let pass = |fs: &S::Fs, task: &mut W::Task| W::background(fs, task).map(|()| 0);
        self.0.work(|fs, task| repeat(|| pass(fs, task), stop, batch, until))
    }

    fn path(&self) -> &CStr {
        self.0.path()
    }
}

/// The measured loop.
#[inline(always)]
fn repeat(
    mut pass: impl FnMut() -> Result<u64, Failure>,
    stop: &AtomicU32,
    batch: u32,
    until: Option<u64>,
) -> Outcome {
    let mut ops = 0;
    let mut passes = 0;
    // Relaxed: the flag carries no data. It may be seen late, which only makes the slice longer; the results go to the conductor
    // through SeqCst operations after the loop.
    while stop.load(Relaxed) == 0 {
        for done in 0..batch {
            match pass() {
                Ok(more) => ops += more,
                Err(failure) => {
                    // Who has nothing left to do ends the slice for all: the others would be measured without it.
                    stop.store(1, Relaxed);
                    let failure = (!failure.is_used_up()).then_some(failure);
                    return Outcome { ops, passes: passes + u64::from(done), failure };
                }
            }
        }
        passes += u64::from(batch);
        // Where tasks take turns, a look at the clock after each batch (some 50 microseconds).
        if until.is_some_and(|until| now_ns() >= until) {
            stop.store(1, Relaxed);
        }
    }
    Outcome { ops, passes, failure: None }
}

/// Workload `W` on a directory of this kernel, which must exist when the bench is prepared.
pub fn bind<W: Workload>(dir: CString) -> Box<dyn Bench> {
    bind_type::<W, _>(Arc::new(ThisKernel), dir)
}

/// Workload `W` with its parameters as by default on a system.
pub(crate) fn bind_type<W: Workload, S: System>(system: Arc<S>, dir: CString) -> Box<dyn Bench> {
    Box::new(Bound::<W, S>::new(system, dir, Params::new(W::INFO.params)))
}

/// The registered `workload` on a directory of this kernel.
pub fn on_dir(workload: &Selected, dir: CString) -> Box<dyn Bench> {
    bind_to(workload, Arc::new(ThisKernel), dir)
}

/// The registered `workload` on a system.
pub(crate) fn bind_to<S: System>(
    workload: &Selected,
    system: Arc<S>,
    dir: CString,
) -> Box<dyn Bench> {
    struct Find<'a, S> {
        workload: &'a Selected,
        system: Arc<S>,
        dir: CString,
        found: Option<Box<dyn Bench>>,
    }
    impl<S: System> workloads::Visitor for Find<'_, S> {
        fn visit<W: Workload>(&mut self) {
            if W::INFO.name == self.workload.info().name {
                let (system, dir) = (Arc::clone(&self.system), self.dir.clone());
                let params = self.workload.params().clone();
                self.found = Some(Box::new(Bound::<W, S>::new(system, dir, params)));
            }
        }
    }
    let mut find = Find { workload, system, dir, found: None };
    workloads::visit_all(&mut find);
    find.found.expect("an Info comes from the registry that is searched here")
}
