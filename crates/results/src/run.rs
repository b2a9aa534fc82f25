//! Run, curve, point, sample.

use crate::{Host, Traced};
use serde::{Deserialize, Serialize};

/// One execution of `vfscale run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Always [`Run::SCHEMA`].
    pub schema: String,
    /// Version of the program.
    pub vfscale: String,
    /// argv.
    pub command: Vec<String>,
    /// UTC, RFC 3339, when the measurement started.
    pub started: String,
    /// Seed of the order of slices.
    pub seed: u64,
    /// What was planned and what of it was done.
    pub plan: Plan,
    /// Conditions.
    pub host: Host,
    /// workload × target × mode, in the order asked for.
    pub curves: Vec<Curve>,
    /// What a reader must know before trusting the numbers.
    pub warnings: Vec<Warning>,
    /// The other tool's file that this was read from; none for a run of vfscale's own.
    #[serde(default)]
    pub import: Option<Import>,
}

/// Where a run that another tool took was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// Name of the format: `will-it-scale`, `fio`, ...
    pub tool: String,
    /// The file, as it was given.
    pub file: String,
    /// The file holds only summaries: points without samples, of which no interval can be made.
    pub summary_only: bool,
}

impl Run {
    /// The schema's name and version.
    pub const SCHEMA: &str = "vfscale.run/1";
}

/// The plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Budget of the whole command, seconds.
    pub time_s: f64,
    /// Length of a slice, seconds.
    pub slice_s: f64,
    /// Rounds that were measured; a round is one slice of every point.
    pub rounds: u32,
    /// Rounds before them that were thrown away as warm-up.
    pub warmup_rounds: u32,
    /// Rounds that were planned.
    pub planned_rounds: u32,
    /// How the tasks were put on CPUs: cores, smt, sockets or none.
    pub pin: String,
    /// True if it was interrupted: fewer rounds than planned, though complete ones.
    pub partial: bool,
}

/// A workload on a target, over task counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Name of the workload.
    pub workload: String,
    /// `dir:PATH`.
    pub target: String,
    /// process or thread.
    pub mode: String,
    /// Where its figures come from.
    #[serde(default)]
    pub kind: Kind,
    /// CPUs that tasks can run on: the usable ones of this machine, or those of the simulated one.
    #[serde(default)]
    pub cpus: u32,
    /// What `ops_per_s` of the points is: operations per second unless another tool counted something else.
    #[serde(default)]
    pub metric: Metric,
    /// In ascending order of tasks.
    pub points: Vec<Point>,
}

/// Where figures come from. It is said wherever they are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Taken on this machine, in its time.
    #[default]
    Measured,
    /// Computed by the model of another machine, in virtual time.
    Simulated,
    /// Read from another tool's file.
    Imported,
}

/// What the values of a curve are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// `ops/s`, `MB/s`, `jobs/min`, `s`, ...
    pub unit: String,
    /// A time: less is better.
    pub lower_is_better: bool,
}

impl Default for Metric {
    fn default() -> Metric {
        Metric { unit: "ops/s".into(), lower_is_better: false }
    }
}

/// One task count of a curve: summary and samples.
///
/// What is large and most points have not is boxed, for a file of another tool may hold very many points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Tasks running at the same time.
    pub tasks: u32,
    /// CPU of task 0, 1, ...; empty if not pinned.
    pub cpus: Vec<u32>,
    /// Median over rounds of the round's rate; a round's rate is the sum over tasks of operations / own elapsed time (of fixed
    /// work: see `fixed`), in the unit of the metric.
    pub ops_per_s: f64,
    /// 95 % interval of `ops_per_s`; none if there were fewer than six rounds, or if they drifted so much that they are
    /// worth fewer than six independent ones ([`stats::median_ci95`]).
    pub ci95: Option<[f64; 2]>,
    /// Wall time per operation of all tasks together, as in the 2007 file_list_lock mail: 10⁶ / operations per
    /// second; 0 if that is 0.
    pub usecs_per_op: f64,
    /// Time one task takes for one operation: tasks × usecs_per_op.
    pub usecs_per_op_task: f64,
    /// Measured seconds of this point as time(1) would print for one task (mean over tasks): wall,
    pub real_s: f64,
    /// CPU time in user mode,
    pub user_s: f64,
    /// CPU time in the kernel.
    pub sys_s: f64,
    /// Median over rounds of rate / rate of the point with one task in the same round; none if one task was not measured.
    /// Rounds in which the one task did nothing do not count. 1 for the point with one task.
    pub speedup: Option<f64>,
    /// speedup / tasks.
    pub efficiency: Option<f64>,
    /// Rate of the slowest task / rate of the fastest one, over all rounds; 1 is fair, 0 if a task never ran.
    pub fairness: f64,
    /// Locks of the lab or the simulator taken while this point was measured, those with the longest wait first; empty where they
    /// were not counted.
    #[serde(default)]
    pub locks: Vec<LockUse>,
    /// Waits for locks of this kernel, seen in slices apart from the samples; none where nobody asked, and elsewhere.
    #[serde(default)]
    pub traced: Option<Box<Traced>>,
    /// Cache lines that moved between CPUs, most transfers first; only of a simulated machine.
    #[serde(default)]
    pub lines: Vec<LineUse>,
    /// What tasks spent their time with; only of a simulated machine.
    #[serde(default)]
    pub shares: Option<TimeShares>,
    /// RCU callbacks of the lab; none elsewhere.
    #[serde(default)]
    pub rcu: Option<RcuBacklog>,
    /// Set where each task had so much work to do, not so much time: a round's rate then is all operations by the time until
    /// the last task had ended.
    #[serde(default)]
    pub fixed: Option<Box<FixedWork>>,
    /// Every measured slice of every task, ordered by round, then task.
    pub samples: Vec<Sample>,
}

/// All locks of one name, over all tasks and rounds of a point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockUse {
    /// The kernel's name.
    pub name: String,
    /// `spin`, `rwlock`, `mutex`, `rwsem`, ...; empty where it is not known.
    #[serde(default)]
    pub kind: String,
    /// Times it was taken.
    pub acquisitions: u64,
    /// Times it was not free at the first try.
    pub contended: u64,
    /// Time from the first try until it was taken, contended acquisitions only.
    pub wait_ns: u64,
    /// The longest of them.
    pub wait_max_ns: u64,
    /// Time it was held.
    pub hold_ns: u64,
    /// The longest of them.
    pub hold_max_ns: u64,
}

impl LockUse {
    /// Adds `more` to `sum`, name by name (and kind by kind).
    pub fn merge(sum: &mut Vec<LockUse>, more: Vec<LockUse>) {
        for lock in more {
            let same = |known: &&mut LockUse| known.name == lock.name && known.kind == lock.kind;
            match sum.iter_mut().find(same) {
                Some(known) => {
                    known.acquisitions += lock.acquisitions;
                    known.contended += lock.contended;
                    known.wait_ns += lock.wait_ns;
                    known.wait_max_ns = known.wait_max_ns.max(lock.wait_max_ns);
                    known.hold_ns += lock.hold_ns;
                    known.hold_max_ns = known.hold_max_ns.max(lock.hold_max_ns);
                }
                None => sum.push(lock),
            }
        }
    }
}

/// Cache lines of one name, over all tasks and rounds of a point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineUse {
    /// `structure.field`, or the lock that is there, or the line's number by first touch.
    pub name: String,
    /// Times a CPU had to ask another one for such a line.
    pub transfers: u64,
    /// Time CPUs waited for them.
    pub wait_ns: u64,
}

impl LineUse {
    /// Adds `more` to `sum`, name by name.
    pub fn merge(sum: &mut Vec<LineUse>, more: Vec<LineUse>) {
        for line in more {
            match sum.iter_mut().find(|known| known.name == line.name) {
                Some(known) => {
                    known.transfers += line.transfers;
                    known.wait_ns += line.wait_ns;
                }
                None => sum.push(line),
            }
        }
    }
}

/// Shares of the tasks' time, 0 to 1; they add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeShares {
    /// Working.
    pub work: f64,
    /// Waiting for cache lines.
    pub lines: f64,
    /// Spinning: waiting for a word to change.
    pub spin: f64,
    /// Sleeping.
    pub sleep: f64,
    /// Waiting for the CPU that another task has.
    pub ready: f64,
}

/// How far RCU callbacks lag behind when a loop outruns the grace periods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RcuBacklog {
    /// Callbacks waiting at the end of the last slice.
    pub waiting: u64,
    /// Most that ever waited, summed over CPUs.
    pub peak: u64,
    /// Most bytes that ever waited to be freed, summed over CPUs.
    pub peak_bytes: u64,
}

impl RcuBacklog {
    /// Of two CPUs together.
    pub fn sum(a: Option<RcuBacklog>, b: Option<RcuBacklog>) -> Option<RcuBacklog> {
        match (a, b) {
            (Some(a), Some(b)) => Some(RcuBacklog {
                waiting: a.waiting + b.waiting,
                peak: a.peak + b.peak,
                peak_bytes: a.peak_bytes + b.peak_bytes,
            }),
            (a, b) => a.or(b),
        }
    }
}

/// What else there is to know of tasks with a fixed amount of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FixedWork {
    /// What one operation a second is in the unit of the curve's metric.
    pub per_op: f64,
    /// Bytes that an operation moves; 0 where that is not what is counted.
    pub block_bytes: u64,
    /// Bytes of the files of all tasks together; 0 likewise.
    pub file_bytes: u64,
    /// How long operations took, where each was timed.
    pub latency: Option<Latency>,
}

/// How long operations took, over all tasks and rounds of a point. Times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Operations that were timed.
    pub count: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// The longest.
    pub max_ns: u64,
    /// Half took no longer, to 1 %.
    pub p50_ns: u64,
    /// 90 % likewise,
    pub p90_ns: u64,
    /// 99 %,
    pub p99_ns: u64,
    /// and 99.9 %.
    pub p999_ns: u64,
    /// Operations that took longer than 2 s, ...
    pub over_2s: u64,
    /// ... and than 10 s.
    pub over_10s: u64,
}

/// One task in one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Round, from 0; warm-up rounds are not recorded.
    pub round: u32,
    /// Task, from 0.
    pub task: u32,
    /// Operations done.
    pub ops: u64,
    /// From the opening of the barrier to the first operation of this task.
    pub start_ns: u64,
    /// Time the operations took. With a CPU per task from this task's first operation on, otherwise from the opening of the
    /// barrier on (waiting for a CPU counts, or the sum over tasks would promise more than the machine did).
    pub elapsed_ns: u64,
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub sys_ns: u64,
    /// Voluntary context switches: it slept.
    pub vcsw: u64,
    /// Involuntary ones: it was preempted.
    pub ivcsw: u64,
    /// CPU on which it started and on which it ended; they differ if it migrated.
    pub cpu: [u32; 2],
}

impl Sample {
    /// Operations per second of this task in this slice; 0 if it did not get to run.
    pub fn rate(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.ops as f64 * 1e9 / self.elapsed_ns as f64 }
    }
}

/// Something that makes numbers less true, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable, for scripts: `cfs-quota`, `steal`, `migrations`, ...
    pub code: String,
    /// What was seen.
    pub message: String,
    /// What to do.
    pub advice: String,
}
