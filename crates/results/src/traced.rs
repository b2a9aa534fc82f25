//! Who waited for which lock of this kernel, as a tracer saw it in slices of its own.

use serde::{Deserialize, Serialize};

/// What was seen of a point in traced slices. None of them is a sample of the curve, for a tracer slows tasks down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traced {
    /// Who saw it: `bpf`, `tracepoints`, `cycles`, `cpu-clock`, `lock_stat` or `scheduling`.
    pub source: String,
    /// Traced slices.
    pub slices: u32,
    /// Operations in them, of all tasks.
    pub ops: u64,
    /// Time of the tasks in them, summed over tasks.
    pub task_ns: u64,
    /// Median rate of the traced slices / of as many untraced ones right before and after them; none with fewer than
    /// six, or if those did nothing.
    pub rate_ratio: Option<f64>,
    /// Waits that ended in them; none if the source sees no locks.
    pub contentions: Option<u64>,
    /// Where they were, the longest first.
    pub waits: Vec<KernelWait>,
    /// Where the tasks' CPU time went; none if no samples were taken.
    pub samples: Option<CpuSamples>,
    /// Switches and stalls; none if the source sees more.
    pub scheduling: Option<Scheduling>,
    /// What the tracer's own programs cost; none if it cannot be known.
    pub cost: Option<TracerCost>,
    /// What a reader must know to read these figures rightly.
    pub notes: Vec<String>,
    /// Better sources, the best first, and why they were not used; last, why no samples were taken.
    pub refused: Vec<Refused>,
}

/// All waits for one lock in one function on behalf of one caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelWait {
    /// The lock's symbol, where it has one and the kernel tells; else the function that waited.
    pub lock: String,
    /// `spin`, `mutex`, `rwsem read`, `rwsem write`, `percpu read`, ...
    pub kind: String,
    /// On whose behalf, and last, who waited: `lookup_fast`, `lockref_get_not_dead`. Empty if unknown.
    pub path: Vec<String>,
    /// How many waits.
    pub count: u64,
    /// Together.
    pub wait_ns: u64,
    /// The longest; none if the source does not tell.
    pub wait_max_ns: Option<u64>,
    /// The same by whole stacks, the longest wait first; empty unless they were asked for.
    pub stacks: Vec<WaitStack>,
}

/// All waits of one stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitStack {
    /// Functions, the outermost first.
    pub frames: Vec<String>,
    /// How many waits.
    pub count: u64,
    /// Together.
    pub wait_ns: u64,
}

/// Where the tasks were when they were looked at, while they ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSamples {
    /// What was counted: `cycles` or `cpu-clock`.
    pub event: String,
    /// How often a second of a task's CPU time.
    pub hertz: u64,
    /// All of them.
    pub total: u64,
    /// Of these, outside the kernel.
    pub user: u64,
    /// In the kernel, by function, the most first.
    pub functions: Vec<SampledFunction>,
    /// In the kernel, by whole stack; empty unless they were asked for.
    pub stacks: Vec<SampledStack>,
}

/// Samples in one function of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledFunction {
    /// Its name.
    pub name: String,
    /// How many.
    pub count: u64,
}

/// Samples with one stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledStack {
    /// Functions, the outermost first.
    pub frames: Vec<String>,
    /// How many.
    pub count: u64,
}

/// What is left where nobody may look into the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduling {
    /// Times a task gave its CPU up, as it does to sleep for a lock.
    pub voluntary: u64,
    /// Times it was taken away.
    pub involuntary: u64,
    /// Time in which something in the system waited for a CPU; none where the kernel does not tell (PSI).
    pub stalled_cpu_ns: Option<u64>,
    /// The same for memory.
    pub stalled_memory_ns: Option<u64>,
    /// The same for input and output.
    pub stalled_io_ns: Option<u64>,
    /// Time that the hypervisor took, over all CPUs.
    pub steal_ns: u64,
}

/// What tracing cost the tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracerCost {
    /// Times that a program of the tracer ran.
    pub runs: u64,
    /// How long that took, together.
    pub run_ns: u64,
}

/// A source of waits that could not be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Which.
    pub source: String,
    /// The reason.
    pub why: String,
    /// What would change it.
    pub remedy: String,
}
