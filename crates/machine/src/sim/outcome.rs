//! What came out of a run.

use super::VirtualNs;
use crate::accounting::LockTotals;

/// What one task did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskUse {
    /// CPU it ran on.
    pub cpu: usize,
    /// Operations that were done before time was up.
    pub ops: u64,
    /// Operations that were done after it, while the run came to its end.
    pub late_ops: u64,
    /// Virtual time from the start of the run to the end of the task.
    pub ended_ns: VirtualNs,
    /// Time it waited for cache lines.
    pub lines_ns: VirtualNs,
    /// Time it waited for a word to change.
    pub spin_ns: VirtualNs,
    /// Time it slept, including the switches and the wait for a CPU afterwards.
    pub sleep_ns: VirtualNs,
    /// Time it was ready and another task had its CPU.
    pub ready_ns: VirtualNs,
}

impl TaskUse {
    /// Time it worked: the rest.
    pub fn work_ns(&self) -> VirtualNs {
        let waited = self.lines_ns + self.spin_ns + self.sleep_ns + self.ready_ns;
        self.ended_ns.saturating_sub(waited)
    }
}

/// What happened to the lines of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineUse {
    /// `structure.field` if the place was named; else the lock that is there; else its number by first touch.
    pub name: String,
    /// Lines of that name.
    pub lines: u64,
    /// Accesses that had to ask others for a line.
    pub transfers: u64,
    /// Time CPUs waited for them.
    pub wait_ns: VirtualNs,
}

/// What came out of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Virtual time in which `ops` were done: until the limit, or until the last task had ended.
    pub elapsed_ns: VirtualNs,
    /// By task.
    pub tasks: Vec<TaskUse>,
    /// Shared accesses that were simulated.
    pub accesses: u64,
    /// Looks of parked CPUs that cost nothing to simulate: hits on an old copy.
    pub polls: u64,
    /// Accesses that were no hits.
    pub misses: u64,
    /// Of them, those that had to ask another CPU for the line (the others fetched it from memory).
    pub transfers: u64,
    /// Lines touched.
    pub lines: u64,
    /// The lines that moved, by name, most transfers first.
    pub moved: Vec<LineUse>,
    /// Locks by name.
    pub locks: Vec<LockTotals>,
    /// Accesses that came before one that a CPU which ran ahead had made already.
    pub inversions: u64,
    /// Switches of coroutines.
    pub switches: u64,
}

impl Outcome {
    /// Operations done before time was up.
    pub fn ops(&self) -> u64 {
        self.tasks.iter().map(|task| task.ops).sum()
    }

    /// Operations per second of virtual time.
    pub fn ops_per_second(&self) -> f64 {
        self.ops() as f64 * 1e9 / self.elapsed_ns.max(1) as f64
    }
}

/// A task that waits for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The task.
    pub task: usize,
    /// Its CPU.
    pub cpu: usize,
    /// Whether it sleeps; otherwise it spins.
    pub sleeps: bool,
    /// Name of the line with the word it waits for.
    pub line: String,
    /// Locks it holds.
    pub holds: Vec<&'static str>,
}

/// Why a run has no outcome.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum SimError {
    /// Nobody can go on.
    #[error("dead-lock after {} ns: {}", at_ns, list(blocked))]
    Deadlock {
        /// When.
        at_ns: VirtualNs,
        /// Who waits for what.
        blocked: Vec<Blocked>,
    },
    /// Time was up long ago and a task still goes on.
    #[error(
        "{left} tasks go on at {at_ns} ns, long after time was up: does one wait without `spin_until`?"
    )]
    Overrun {
        /// When it was given up.
        at_ns: VirtualNs,
        /// Tasks that had not ended.
        left: usize,
    },
}

fn list(blocked: &[Blocked]) -> String {
    /// More say nothing new.
    const SHOWN: usize = 8;
    let mut lines: Vec<_> = blocked
        .iter()
        .take(SHOWN)
        .map(|b| {
            let verb = if b.sleeps { "sleeps on" } else { "spins on" };
            let holds = match &b.holds[..] {
                [] => String::new(),
                names => format!(" holding {}", names.join(", ")),
            };
            format!("task {} on CPU {} {verb} {}{holds}", b.task, b.cpu, b.line)
        })
        .collect();
    if blocked.len() > SHOWN {
        lines.push(format!("and {} more", blocked.len() - SHOWN));
    }
    lines.join("; ")
}
