//! The `sim:` target: the lab's code on a simulated machine, in virtual time.
//!
//! Nothing here measures: a point is a function of machine, era, workload, task count and seed. So there are no crews and no
//! slices; a round is a run of every point with one seed, and its samples are in virtual nanoseconds. Points are independent and
//! run on all CPUs of this machine, each on one thread.

use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::lab_target::{Before, Lab};
use crate::plan::CurveRequest;
use lab::eras::Era;
use machine::sim::{Handle, Limit, Machine, Options, Outcome, TaskFn, TaskUse, in_arena, run_with};
use machine::{LockTotals, Sim};
use results::{Curve, FixedWork, Kind, LineUse, LockUse, Point, Sample, TimeShares};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use vfs_api::{Failure, Params, Place, Selected, TaskMode, Workload};

/// Operations per task of one run, at least.
const OPS_PER_TASK: u64 = 40;
/// Operations of one run, at least.
const OPS: u64 = 4000;
/// Virtual time after which a run of up to 64 tasks ends, however little was done; of more tasks, after less: a lock that 4096 CPUs
/// fight over completes almost nothing, and each attempt of each of them is simulated.
const VIRTUAL_NS: u64 = 20_000_000;

/// A simulated machine with a kernel.
#[derive(Clone, Debug)]
pub struct SimTarget {
    /// The machine.
    pub machine: Machine,
    /// The kernel's designs.
    pub era: Era,
    /// Work of a call that touches nothing shared, nanoseconds.
    pub call_work_ns: u32,
}

/// The machines that come with the program.
pub fn machines() -> impl Iterator<Item = Machine> {
    let built_in = |(name, _): &(&str, &str)| Machine::named(name).expect("a test reads every one");
    machine::sim::MACHINES.iter().map(built_in)
}

/// What one run with one seed gave.
pub(crate) struct Simulated {
    samples: Vec<Sample>,
    locks: Vec<LockUse>,
    lines: Vec<LineUse>,
    /// Sums of the tasks' time in nanoseconds: work, lines, spin, sleep, ready.
    time: [u64; 5],
}

/// One run of a workload on a simulated machine, for who needs more of it than a curve's point.
#[derive(Clone, Copy, Debug)]
pub struct SimRun<'a> {
    /// Machine and kernel.
    pub target: &'a SimTarget,
    /// Whether tasks share an fd table.
    pub mode: TaskMode,
    /// How many.
    pub tasks: usize,
    /// CPUs that the kernel counts, at least one per task: what walks all CPUs walks so many.
    pub kernel_cpus: usize,
    /// Of everything random. Two runs that differ in their limit only are alike as far as the shorter one goes.
    pub seed: u64,
    /// When time is up.
    pub limit: Limit,
    /// What happens in the kernel first.
    pub before: Before,
}

impl SimRun<'_> {
    /// Makes a kernel, runs the tasks in it, and takes it down; all on this thread, which the simulator asks for.
    ///
    /// # Errors
    /// A call failed, or the simulated kernel dead-locked; in words.
    pub fn run<W: Workload>(&self) -> Result<Outcome, String> {
        self.run_with::<W>(&Params::new(W::INFO.params))
    }

    /// As [`SimRun::run`], with these values of the workload's parameters.
    ///
    /// # Errors
    /// As [`SimRun::run`].
    pub fn run_with<W: Workload>(&self, params: &Params) -> Result<Outcome, String> {
        let failure: Rc<RefCell<Option<Failure>>> = Rc::default();
        // In the arena malloc does not decide which objects share a line, and a run repeats bit for bit.
        let (lab, tasks) = in_arena(|| {
            let working = self.tasks + usize::from(W::INFO.background);
            let (cpus, work) = (self.kernel_cpus.max(working), self.target.call_work_ns);
            let lab = Lab::<Sim>::new(self.target.era, self.mode, cpus, work).after(self.before);
            let tasks = self.tasks::<W>(&lab, params, &failure)?;
            Ok::<_, String>((lab, tasks))
        })?;
        let options = Options::new(self.seed, self.limit);
        let mut outcome =
            run_with(&self.target.machine, &options, tasks).map_err(|e| e.to_string())?;
        outcome.tasks.truncate(self.tasks);
        drop(lab);
        match failure.take() {
            Some(failure) => Err(failure.to_string()),
            None => Ok(outcome),
        }
    }

    fn tasks<W: Workload>(
        &self,
        lab: &Lab<Sim>,
        params: &Params,
        failure: &Rc<RefCell<Option<Failure>>>,
    ) -> Result<Vec<TaskFn>, String> {
        let place = |task| Place { dir: lab.dir().to_owned(), task, params: params.clone() };
        lab.prepare_with(&(W::INFO.demand)(params), |fs| W::prepare(fs, &place(0)))?;
        let mut tasks: Vec<TaskFn> = Vec::new();
        for number in 0..self.tasks + usize::from(W::INFO.background) {
            let make = |fs: &_| {
                let mut state = W::task(fs, &place(number))?;
                W::renew(fs, &mut state)?;
                Ok(state)
            };
            let (fs, mut state) = lab.task_with(number, make)?;
            let background = number == self.tasks;
            let failure = Rc::clone(failure);
            tasks.push(Box::new(move |handle: &Handle| {
                use vfs_api::FileSystem;
                fs.enter();
                while !handle.time_is_up() {
                    let pass = if background {
                        W::background(&fs, &mut state).map(|()| 0)
                    } else {
                        W::step(&fs, &mut state)
                    };
                    match pass {
                        Ok(ops) => handle.ops_done(ops),
                        // Made again within the run, in virtual time: there are no slices here.
                        Err(failed) if failed.is_used_up() => {
                            if let Err(failed) = W::renew(&fs, &mut state) {
                                failure.borrow_mut().get_or_insert(failed);
                                break;
                            }
                        }
                        Err(failed) => {
                            failure.borrow_mut().get_or_insert(failed);
                            break;
                        }
                    }
                }
                fs.leave();
            }));
        }
        Ok(tasks)
    }
}

/// Which workload runs in the simulation: what [`workloads::visit_all`] calls with its type.
struct Runner<'a> {
    workload: &'a Selected,
    run: SimRun<'a>,
    outcome: Option<Result<Outcome, String>>,
}

impl workloads::Visitor for Runner<'_> {
    fn visit<W: Workload>(&mut self) {
        if W::INFO.name == self.workload.info().name {
            self.outcome = Some(self.run.run_with::<W>(self.workload.params()));
        }
    }
}

fn lock_use(lock: &LockTotals) -> LockUse {
    LockUse {
        name: lock.name.to_owned(),
        kind: lock.kind.name().to_owned(),
        acquisitions: lock.acquisitions,
        contended: lock.contended,
        wait_ns: lock.wait_ns,
        wait_max_ns: lock.wait_max_ns,
        hold_ns: lock.hold_ns,
        hold_max_ns: lock.hold_max_ns,
    }
}

/// What a task did in a run that lasted so long.
pub(crate) fn sample(round: u32, task: usize, used: &TaskUse, elapsed_ns: u64) -> Sample {
    // Asleep or waiting for the CPU it does not run; the kernel would charge all the rest to the system: there is no user time.
    let idle = used.sleep_ns + used.ready_ns;
    let share = 1.0 - (idle as f64 / used.ended_ns.max(1) as f64).min(1.0);
    Sample {
        round,
        task: task as u32,
        ops: used.ops,
        start_ns: 0,
        elapsed_ns,
        user_ns: 0,
        sys_ns: (elapsed_ns as f64 * share) as u64,
        vcsw: 0,
        ivcsw: 0,
        cpu: [used.cpu as u32; 2],
    }
}

fn simulate(
    curve: &CurveRequest,
    target: &SimTarget,
    tasks: usize,
    round: u32,
    seed: u64,
) -> Result<Simulated, Error> {
    let failed = |what: String| Error::Simulation { curve: curve.name(), tasks, what };
    // Enough operations for each task that the misses of its first ones do not weigh.
    let ops = OPS.max(tasks as u64 * OPS_PER_TASK);
    let virtual_ns = VIRTUAL_NS * 64 / (tasks as u64).max(64);
    let run = SimRun {
        target,
        mode: curve.mode,
        tasks,
        kernel_cpus: tasks,
        seed: seed ^ u64::from(round),
        limit: Limit::ops(ops, virtual_ns),
        before: Before::Nothing,
    };
    let mut runner = Runner { workload: &curve.workload, run, outcome: None };
    workloads::visit_all(&mut runner);
    let outcome = runner.outcome.expect("an Info comes from the registry").map_err(failed)?;
    let elapsed = outcome.elapsed_ns;
    let used = outcome.tasks.iter().enumerate();
    let samples = used.map(|(task, used)| sample(round, task, used, elapsed)).collect();
    Ok(simulated(&outcome, samples))
}

/// All that is kept of an outcome.
pub(crate) fn simulated(outcome: &Outcome, samples: Vec<Sample>) -> Simulated {
    let time = outcome.tasks.iter().fold([0; 5], |sum: [u64; 5], task| {
        let parts = [task.work_ns(), task.lines_ns, task.spin_ns, task.sleep_ns, task.ready_ns];
        std::array::from_fn(|at| sum[at] + parts[at])
    });
    let line = |line: &machine::sim::LineUse| LineUse {
        name: line.name.clone(),
        transfers: line.transfers,
        wait_ns: line.wait_ns,
    };
    Simulated {
        samples,
        locks: outcome.locks.iter().map(lock_use).collect(),
        lines: outcome.moved.iter().map(line).collect(),
        time,
    }
}

impl Simulated {
    /// One for each task.
    pub(crate) fn samples(&self) -> &[Sample] {
        &self.samples
    }
}

/// Cache lines shown of a point.
const LINES: usize = 32;

/// The point that rounds make. `fixed`: of fixed work.
pub(crate) fn point(
    tasks: usize,
    target: &SimTarget,
    rounds: Vec<Simulated>,
    one: Option<&[Sample]>,
    fixed: Option<FixedWork>,
) -> Point {
    let (mut samples, mut locks, mut lines, mut time) =
        (Vec::new(), Vec::new(), Vec::new(), [0; 5]);
    for round in rounds {
        samples.extend(round.samples);
        LockUse::merge(&mut locks, round.locks);
        LineUse::merge(&mut lines, round.lines);
        time = std::array::from_fn(|at| time[at] + round.time[at]);
    }
    locks.sort_by_key(|lock| std::cmp::Reverse((lock.wait_ns, lock.acquisitions)));
    lines.sort_by_key(|line| std::cmp::Reverse((line.transfers, line.wait_ns)));
    lines.truncate(LINES);
    let all = time.iter().sum::<u64>().max(1) as f64;
    let [work, in_lines, spin, sleep, ready] = time.map(|part| part as f64 / all);
    let cpus = target.machine.cpus();
    let cpus = (0..tasks).map(|task| (task % cpus) as u32).collect();
    let computed = match fixed {
        None => Point::from_samples(tasks as u32, cpus, samples, one),
        Some(work) => Point::of_fixed_work(tasks as u32, cpus, samples, one, work),
    };
    let shares = Some(TimeShares { work, lines: in_lines, spin, sleep, ready });
    Point { locks, lines, shares, ..computed }
}

/// The simulated curves among `curves`, by their number; rounds until `enough` says so, at least one.
///
/// # Errors
/// A call failed, or the simulated kernel dead-locked.
pub(crate) fn curves(
    requests: &[CurveRequest],
    tasks: &[usize],
    seed: u64,
    interrupt: &Interrupt,
    mut enough: impl FnMut(u32) -> bool,
) -> Result<(BTreeMap<usize, Curve>, u32), Error> {
    let simulated = |(at, curve): (usize, &CurveRequest)| Some((at, curve.sim()?.clone()));
    let targets: Vec<(usize, SimTarget)> =
        requests.iter().enumerate().filter_map(simulated).collect();
    let points: Vec<(usize, usize)> = (0..targets.len())
        .flat_map(|target| tasks.iter().map(move |tasks| (target, *tasks)))
        .collect();
    let mut done: BTreeMap<(usize, usize), Vec<Simulated>> = BTreeMap::new();
    let mut round = 0;
    while !points.is_empty() && !interrupt.asked() && (round == 0 || !enough(round)) {
        let results = in_parallel(&points, |&(target, tasks)| {
            let (curve, target) = &targets[target];
            simulate(&requests[*curve], target, tasks, round, seed)
        });
        for (at, result) in points.iter().zip(results) {
            done.entry(*at).or_default().push(result?);
        }
        round += 1;
    }
    let mut curves = BTreeMap::new();
    for (at, (number, target)) in targets.iter().enumerate() {
        let request = &requests[*number];
        let one = done.get(&(at, 1)).map(|rounds| {
            rounds.iter().flat_map(|round| round.samples.clone()).collect::<Vec<_>>()
        });
        let points = tasks.iter().filter_map(|tasks| {
            Some(point(*tasks, target, done.remove(&(at, *tasks))?, one.as_deref(), None))
        });
        let curve = Curve {
            workload: request.workload.to_string(),
            target: request.target.to_string(),
            mode: request.mode.name().into(),
            kind: Kind::Simulated,
            metric: results::Metric::default(),
            cpus: target.machine.cpus() as u32,
            points: points.collect(),
        };
        curves.insert(*number, curve);
    }
    Ok((curves, round))
}

/// Maps on as many threads as this machine has CPUs; results in the order of `items`.
pub fn in_parallel<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((at, item)) = {
                    let at = next.fetch_add(1, SeqCst);
                    items.get(at).map(|item| (at, item))
                } {
                    let result = f(item);
                    results.lock().expect("no panic while it is held")[at] = Some(result);
                }
            });
        }
    });
    let results = results.into_inner().expect("no panic while it was held");
    results.into_iter().map(|result| result.expect("every item was mapped")).collect()
}
