//! What will be done, decided and checked before anything is.

use crate::bench::{Bench, bind, on_dir};
use crate::capabilities;
use crate::error::Error;
use crate::guest_target::{self, GuestPlan, Guests};
use crate::lab_target::{Before, LabSpec, on_lab, on_lab_of};
use crate::lock_trace::{self, Locks, TracePlan};
use crate::machine::topology::Pin;
use crate::machine::{Roots, affinity, host, mounts, warnings};
use crate::phases;
use crate::preflight;
use crate::sim_target::SimTarget;
use crate::target::Target;
use results::{Host, Warning};
use std::ffi::CString;
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use vfs_api::{Selected, TaskMode, Workload};

/// Default length of a slice. Measured on a noisy two-CPU machine: pairs of slices of 5 to 20 ms agree within 0.3 to 0.9 %, of
/// 100 ms within 2.4 %, of 250 ms within 15 %.
const SLICE: Duration = Duration::from_millis(10);
/// Where tasks take turns on a CPU, each should get on it several times: this long per task and CPU at least.
const TURN: Duration = Duration::from_millis(4);
/// Fewer rounds than this give no interval.
pub(crate) const ROUNDS_MIN: u32 = 6;
/// So much more than --time a run may take that cannot be made shorter.
const OVER: Duration = Duration::from_secs(5);
/// Seeds with which a simulated point is run, if there is time: enough for an interval.
pub(crate) const SEEDS: u32 = 7;
/// A plan of more curves than this gives their number only.
const NAMED: usize = 6;
/// What the dispatch of a slice costs, and each task on top.
const DISPATCH: Duration = Duration::from_micros(150);
const DISPATCH_TASK: Duration = Duration::from_micros(15);
/// What making and removing a file costs, in memory and elsewhere.
const INODE: Duration = Duration::from_micros(10);
const INODE_ON_DISK: Duration = Duration::from_micros(50);
/// A share of the time that the plan mentions.
const MENTIONED: f64 = 0.1;
/// What making and removing a task's process costs.
const TASK_SETUP: Duration = Duration::from_micros(300);

/// A curve that was asked for.
#[derive(Clone, Debug)]
pub struct CurveRequest {
    /// Its workload.
    pub workload: Selected,
    /// Its target.
    pub target: Target,
    /// How its tasks are made.
    pub mode: TaskMode,
    /// Binds the workload to a directory.
    pub(crate) bind: fn(&Selected, CString) -> Box<dyn Bench>,
    /// Binds the workload to the lab.
    pub(crate) bind_lab: fn(&Selected, LabSpec) -> Box<dyn Bench>,
    /// What happens in a kernel of the lab first.
    pub(crate) before: Before,
    /// The directory of a `dir:` target, absolute; set by [`Plan::new`].
    pub(crate) dir: Option<PathBuf>,
}

impl CurveRequest {
    /// `workload` on `target` with tasks made as `mode` says.
    pub fn new(workload: impl Into<Selected>, target: Target, mode: TaskMode) -> CurveRequest {
        CurveRequest {
            workload: workload.into(),
            target,
            mode,
            bind: on_dir,
            bind_lab: on_lab,
            before: Before::Nothing,
            dir: None,
        }
    }

    /// Workload `W`, which need not be registered, on a `dir:` or `lab:` target.
    pub fn of<W: Workload>(target: Target, mode: TaskMode) -> CurveRequest {
        CurveRequest {
            bind: |_, dir| bind::<W>(dir),
            bind_lab: |_, spec| on_lab_of::<W>(spec),
            ..CurveRequest::new(&W::INFO, target, mode)
        }
    }

    /// A workload of fixed work (of the `phased` crate) on a `dir:` or `lab:` target.
    pub(crate) fn of_fixed_work(
        workload: Selected,
        target: Target,
        mode: TaskMode,
    ) -> CurveRequest {
        CurveRequest {
            bind: phases::on_dir,
            bind_lab: phases::on_lab,
            ..CurveRequest::new(workload, target, mode)
        }
    }

    /// The same after `before`, if it is a kernel of the lab. A directory of this kernel stays as it is.
    pub fn after(self, before: Before) -> CurveRequest {
        CurveRequest { before, ..self }
    }

    /// How its tasks are made on this machine. Those of the lab are threads, even if they are processes in there.
    pub(crate) fn hosting(&self) -> TaskMode {
        match self.target {
            Target::Dir(_) | Target::Guest(_) => self.mode,
            Target::Lab { .. } | Target::Sim { .. } => TaskMode::Thread,
        }
    }

    /// The simulated machine, if the target is one.
    pub(crate) fn sim(&self) -> Option<&SimTarget> {
        match &self.target {
            Target::Sim { target, .. } => Some(target),
            Target::Dir(_) | Target::Lab { .. } | Target::Guest(_) => None,
        }
    }

    /// How the guest is made, if the target is one.
    pub(crate) fn guest(&self) -> Option<&guest::Spec> {
        match &self.target {
            Target::Guest(spec) => Some(spec),
            Target::Dir(_) | Target::Lab { .. } | Target::Sim { .. } => None,
        }
    }

    /// The same with another loop than the registered workload's: a benchmark's, to be measured beside it.
    pub fn with_loop(self, bind: fn(&Selected, CString) -> Box<dyn Bench>) -> CurveRequest {
        CurveRequest { bind, ..self }
    }

    /// "workload on target", for error messages.
    pub(crate) fn name(&self) -> String {
        format!("{} on {}", self.workload, self.target)
    }
}

/// What the curves of a request are to each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sides {
    /// Each stands for itself; the slices of a round come in random order.
    #[default]
    One,
    /// The first half of the curves is one side and the second half the other, in the same order. The two slices of a pair
    /// follow each other at once, in an order that is random in one round and turned round in the next, so that neither drift
    /// nor the place in the round favours a side.
    Two {
        /// Commands that bring about the state that a side is measured in, if a state is what is compared.
        switch: Option<Switch>,
    },
}

/// Shell commands that switch the machine between two states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Brings about the state of the first side; carried out at the end as well.
    pub before: String,
    /// Brings about the state of the second side.
    pub after: String,
}

/// Everything that decides a run.
#[derive(Clone, Debug)]
pub struct Request {
    /// Curves.
    pub curves: Vec<CurveRequest>,
    /// Task counts, ascending, each at least 1.
    pub tasks: Vec<usize>,
    /// How tasks are put on CPUs.
    pub pin: Pin,
    /// Budget of the whole command.
    pub time: Duration,
    /// Length of a slice, if it was asked for.
    pub slice: Option<Duration>,
    /// Stop as soon as every interval is at most this share of its value to either side.
    pub precision: Option<f64>,
    /// Measure exactly so many rounds, whatever the time.
    pub rounds: Option<u32>,
    /// Whether the curves are two sides that are compared.
    pub sides: Sides,
    /// See who waits for which lock: the lab counts and times every one of its own, and tasks in a directory or a guest get traced
    /// slices beside the measured ones.
    pub locks: Option<Locks>,
    /// Seed of the order of slices.
    pub seed: u64,
    /// What concerns guests only.
    pub guests: Guests,
    /// When the command began; the budget counts from here.
    pub began: Instant,
}

/// One point's slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedPoint {
    /// Number of the curve in the request.
    pub(crate) curve: usize,
    /// Tasks that take part.
    pub(crate) tasks: usize,
    /// How long, if it is a slice of time.
    pub(crate) length: Duration,
    /// The phase, if it is one of fixed work.
    pub(crate) phase: Option<usize>,
    /// Whether the target tells more than samples.
    pub(crate) tells: bool,
}

/// What will be done, and how long it takes.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) request: Request,
    /// The machine.
    pub host: Host,
    /// What is known to make numbers less true before any is taken.
    pub warnings: Vec<Warning>,
    pub(crate) roots: Roots,
    pub(crate) points: Vec<PlannedPoint>,
    pub(crate) rounds: u32,
    /// How waits for locks are traced, if they are.
    pub(crate) trace: Option<TracePlan>,
    pub(crate) guests: Vec<GuestPlan>,
}

impl Plan {
    /// Looks at the machine and the targets and decides. Nothing is changed but the soft limit of open files.
    ///
    /// # Errors
    /// [`Error::Refused`] if it cannot work.
    pub fn new(mut request: Request) -> Result<Plan, Error> {
        let roots = Roots::default();
        let usable =
            affinity::usable().map_err(|error| Error::Os { call: "sched_getaffinity", error })?;
        for curve in &mut request.curves {
            curve.dir = curve.target.dir().map(preflight::resolve).transpose()?;
            capabilities::check(&curve.workload, &curve.target, curve.dir.as_deref())?;
        }
        let most = request.tasks.iter().copied().max().unwrap_or(1);
        let measured = request.curves.iter().any(|curve| curve.sim().is_none());
        let elsewhere = |curve: &&CurveRequest| curve.sim().is_some() || curve.guest().is_some();
        let here: Vec<CurveRequest> =
            request.curves.iter().filter(|curve| !elsewhere(curve)).cloned().collect();
        preflight::check(&roots, &here, most)?;
        let mut host = host::describe(&roots, &usable);
        for curve in &request.curves {
            let target = curve.target.to_string();
            let new = host.fs.iter().all(|mount| mount.target != target);
            if let (true, Some(dir)) = (new, &curve.dir) {
                let mount = mounts::mount_of(&roots, dir, &target).or_else(|error| {
                    // Without /proc, in a chroot, the run is as good; only the record does not say on what.
                    if error.kind() == std::io::ErrorKind::NotFound {
                        Ok(unknown(&target))
                    } else {
                        Err(error)
                    }
                });
                host.fs.push(
                    mount.map_err(|error| Error::Os {
                        call: "reading /proc/self/mountinfo",
                        error,
                    })?,
                );
            }
        }
        let guests = guest_target::prepare(&request, usable.len())?;
        let mut warnings = if !measured {
            // This machine's conditions do not matter to another one's virtual time.
            Vec::new()
        } else {
            warnings::run_warnings(&host, most as u32, request.pin != Pin::None)
        };
        warnings.extend(guest_target::warnings(&request, &guests));
        let points = points(&request, usable.len());
        let shortest = setup(&request) + round(&points);
        assert!(
            request.sides == Sides::One || request.curves.len().is_multiple_of(2),
            "a curve has no other side"
        );
        if request.rounds.is_none() && shortest > (request.time * 2).max(request.time + OVER) {
            return Err(Error::Refused {
                what: format!(
                    "a single round of {} slices takes about {:.0} s, far more than --time",
                    points.len(),
                    shortest.as_secs_f64()
                ),
                advice: "give it more --time, or ask for fewer workloads, targets or task counts"
                    .into(),
            });
        }
        let rounds = request.rounds.unwrap_or_else(|| match points.is_empty() {
            true => SEEDS,
            false => rounds_in(&request, &points),
        });
        let trace = TracePlan::new(&request, &points);
        Ok(Plan { request, host, warnings, roots, points, rounds, trace, guests })
    }

    /// Rounds planned, warm-up not counted.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// How long the command will take in all.
    pub fn length(&self) -> Duration {
        let traced = self.trace.map_or(Duration::ZERO, |trace| trace.length);
        if self.request.rounds.is_some() {
            setup(&self.request) + round(&self.points) * (self.rounds + 2) + traced
        } else {
            self.request.time.max(setup(&self.request) + round(&self.points) * 3 + traced)
        }
    }

    /// Time the budget leaves for samples, from now.
    pub(crate) fn left(&self) -> Duration {
        self.left_after(Duration::ZERO)
    }

    /// The same if so much of the time passed does not count against the budget.
    pub(crate) fn left_after(&self, free: Duration) -> Duration {
        let curves = &self.request.curves;
        let measured = curves.iter().filter(|curve| curve.sim().is_none()).count();
        // What is simulated comes after what is measured, and gets its share.
        let time = lock_trace::time_to_measure(&self.request)
            .mul_f64(measured as f64 / curves.len().max(1) as f64);
        (time + free).saturating_sub(self.request.began.elapsed())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Request { curves, tasks, pin, .. } = &self.request;
        let mut names: Vec<String> =
            curves.iter().map(|c| format!("{}, {} mode", c.name(), c.mode)).collect();
        if names.len() > NAMED {
            names = vec![format!("{} curves", names.len())];
        }
        let tasks: Vec<String> = tasks.iter().map(ToString::to_string).collect();
        let (shortest, longest) = self
            .points
            .iter()
            .fold((Duration::MAX, Duration::ZERO), |(s, l), p| (s.min(p.length), l.max(p.length)));
        let slices = if shortest == longest {
            format!("{shortest:?}")
        } else {
            format!("{shortest:?} to {longest:?}")
        };
        let (seconds, names, tasks) =
            (self.length().as_secs_f64(), names.join("; "), tasks.join(","));
        if self.points.is_empty() {
            let rounds = self.rounds;
            return write!(
                f,
                "plan: {names}; tasks {tasks}; {rounds} seeds, if {seconds:.1} s suffice"
            );
        }
        let pinned = match pin {
            Pin::None => "not pinned".to_owned(),
            pin => format!("pinned by {pin}"),
        };
        if !self.guests.is_empty() {
            write!(
                f,
                "plan: {names}; tasks {tasks}, {pinned}; {}",
                guest_target::plan_in_words(self)
            )?;
        } else {
            write!(
                f,
                "plan: {names}; tasks {tasks} on {} CPUs, {pinned}; about {} rounds of {} slices of {slices}: \
                 {seconds:.1} s in all",
                self.host.cpus.len(),
                self.rounds,
                self.points.len(),
            )?;
            let files = files(&self.request);
            if files.as_secs_f64() > MENTIONED * seconds {
                let (count, files) = (inodes(&self.request), files.as_secs_f64());
                write!(f, ", of these about {files:.0} s to make and remove {count} files")?;
            }
        }
        match self.trace {
            Some(trace) => write!(
                f,
                ", of these {:.1} s for the locks, {} traced slices a point that are no samples",
                trace.length.as_secs_f64(),
                trace.slices,
            ),
            None => Ok(()),
        }
    }
}

fn unknown(target: &str) -> results::Mount {
    results::Mount {
        target: target.to_owned(),
        fs_type: "unknown".into(),
        source: "unknown".into(),
        mount_point: "unknown".into(),
        mount_options: Vec::new(),
        super_options: Vec::new(),
    }
}

fn points(request: &Request, usable: usize) -> Vec<PlannedPoint> {
    let count = (request.curves.len() * request.tasks.len()).max(1) as u32;
    // Turns of crowded points grow with the tasks, but leave room for warm-up and enough rounds.
    let time = lock_trace::time_to_measure(request).saturating_sub(setup(request));
    let budget = time / (count * (ROUNDS_MIN + 3));
    let some_guest = request.curves.iter().any(|curve| curve.guest().is_some());
    let short = if some_guest { guest_target::SLICE } else { SLICE };
    let length = |curve: usize, tasks: usize| match request.slice {
        Some(slice) => slice,
        None => {
            let usable = request.curves[curve].target.cpus(usable);
            let turns = TURN * tasks.div_ceil(usable.max(1)) as u32;
            let crowded = if tasks > usable { turns } else { Duration::ZERO };
            crowded.min(budget).max(short.min(budget.max(Duration::from_millis(1))))
        }
    };
    let tasks = |curve| request.tasks.iter().map(move |&tasks| (curve, tasks));
    (0..request.curves.len())
        .filter(|curve| request.curves[*curve].sim().is_none())
        .flat_map(tasks)
        .map(|(curve, tasks)| {
            let tells = matches!(request.curves[curve].target, Target::Lab { .. });
            PlannedPoint { curve, tasks, length: length(curve, tasks), phase: None, tells }
        })
        .collect()
}

/// Estimated time for making and removing the tasks and their files.
pub(crate) fn setup(request: &Request) -> Duration {
    let most = request.tasks.iter().copied().max().unwrap_or(1);
    let tasks = TASK_SETUP * (most * request.curves.len()) as u32;
    Duration::from_millis(20) + tasks + files(request)
}

/// Estimated time for making and removing the files.
fn files(request: &Request) -> Duration {
    let most = request.tasks.iter().copied().max().unwrap_or(1) as u64;
    let measured = request.curves.iter().filter(|curve| curve.sim().is_none());
    let cost = |curve: &CurveRequest| {
        let inodes = preflight::inodes(curve, most).try_into().unwrap_or(u32::MAX);
        inode(curve).saturating_mul(inodes)
    };
    measured.map(cost).fold(Duration::ZERO, Duration::saturating_add)
}

/// What a file costs there. What cannot be asked is taken for a disk.
fn inode(curve: &CurveRequest) -> Duration {
    let Some(dir) = &curve.dir else { return INODE };
    // As in linux/magic.h.
    const TMPFS: u64 = 0x0102_1994;
    const RAMFS: u64 = 0x8584_58f6;
    match rustix::fs::statfs(dir) {
        Ok(fs) if matches!(fs.f_type as u64, TMPFS | RAMFS) => INODE,
        Ok(_) | Err(_) => INODE_ON_DISK,
    }
}

/// Inodes that a run makes at most.
pub(crate) fn inodes(request: &Request) -> u64 {
    let most = request.tasks.iter().copied().max().unwrap_or(1) as u64;
    let measured = request.curves.iter().filter(|curve| curve.sim().is_none());
    measured.map(|curve| preflight::inodes(curve, most)).sum()
}

/// Estimated time of one round.
pub(crate) fn round(points: &[PlannedPoint]) -> Duration {
    points.iter().map(|p| p.length + DISPATCH + DISPATCH_TASK * p.tasks as u32).sum()
}

fn rounds_in(request: &Request, points: &[PlannedPoint]) -> u32 {
    let left = lock_trace::time_to_measure(request).saturating_sub(setup(request));
    // Two rounds of warm-up, as a rule.
    let fit = left.as_secs_f64() / round(points).as_secs_f64() - 2.0;
    (fit as u32).max(1)
}
