//! Running tasks on a simulated machine.

use super::arena::LINE_BITS;
use super::coherence::NS;
use super::engine::{self, Engine, Running, State, TaskState};
use super::outcome::{Blocked, LineUse, Outcome, SimError, TaskUse};
use super::queue::key;
use super::schedule::{Stop, Task, drive};
use super::spec::Machine;
use super::stacks::{self, SlabStack};
use super::{names, tag};
use crate::platform::Cpu;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, take};

/// What is shared of a task's stack: the node with which it stands in a lock's queue.
const WAITERS: &str = "mcs_spinlock (on the waiter's stack)";

/// Virtual time, nanoseconds.
pub type VirtualNs = u64;

/// What a task does: called once, on its CPU. It should end when time is up.
pub type TaskFn = Box<dyn FnOnce(&Handle)>;

/// When time is up: whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Virtual time.
    pub virtual_ns: VirtualNs,
    /// Operations of all tasks.
    pub ops: u64,
}

impl Limit {
    /// That much virtual time.
    pub fn time(virtual_ns: VirtualNs) -> Self {
        Limit { virtual_ns, ops: u64::MAX }
    }

    /// So many operations, and no more than so much time.
    pub fn ops(ops: u64, virtual_ns: VirtualNs) -> Self {
        Limit { virtual_ns, ops }
    }
}

/// How to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Of everything random: the spread of local work, and when tasks begin.
    pub seed: u64,
    /// When time is up.
    pub limit: Limit,
    /// How far a CPU may run ahead on lines that nobody else has touched.
    pub run_ahead_ns: VirtualNs,
    /// Until then nobody runs ahead, so that lines that all CPUs use are known as such.
    pub warm_up_ns: VirtualNs,
    /// Simulate every look of a waiting CPU, instead of parking it until its line is written. The outcome is the same; to check that
    /// it is.
    pub exact_spinning: bool,
    /// How long tasks may go on when time is up, to finish what they have begun.
    pub grace_ns: VirtualNs,
}

impl Options {
    /// As [`run`] does.
    pub fn new(seed: u64, limit: Limit) -> Self {
        /// Thousands of CPUs that take a bad lock one after the other need seconds.
        const GRACE_NS: VirtualNs = 10_000_000_000;
        Options {
            seed,
            limit,
            run_ahead_ns: 10_000,
            warm_up_ns: 20_000,
            exact_spinning: false,
            grace_ns: GRACE_NS,
        }
    }
}

/// A running task's view of the simulation.
#[derive(Debug)]
pub struct Handle {
    task: usize,
    cpu: Cpu,
    /// It is of use on the task's coroutine only.
    not_send: PhantomData<*const ()>,
}

impl Handle {
    /// The CPU that the task is bound to.
    pub fn cpu(&self) -> Cpu {
        self.cpu
    }

    /// The task's number.
    pub fn task(&self) -> usize {
        self.task
    }

    /// Counts `n` operations. Between operations another task may get the CPU, if this one's time slice is over.
    pub fn ops_done(&self, n: u64) {
        engine::ops_done(n);
    }

    /// Whether the task should end.
    pub fn time_is_up(&self) -> bool {
        engine::with(|e| e.clock >= e.end).unwrap_or(true)
    }

    /// Virtual time on the task's CPU.
    pub fn now_ns(&self) -> VirtualNs {
        engine::now_ns()
    }
}

/// Runs `tasks` on `machine` until they have ended, which they should do after `until`. Task i is bound to CPU i, modulo the
/// number of CPUs; the first CPUs are different cores (siblings of a core come last).
///
/// # Errors
/// Somebody waits for ever. What such tasks own is leaked.
///
/// # Panics
/// If a task does, or if a simulation runs on this host thread already.
pub fn run(
    machine: &Machine,
    seed: u64,
    tasks: Vec<TaskFn>,
    until: VirtualNs,
) -> Result<Outcome, SimError> {
    run_with(machine, &Options::new(seed, Limit::time(until)), tasks)
}

/// [`run`] with options.
///
/// # Errors
/// As for [`run`].
///
/// # Panics
/// As for [`run`].
pub fn run_with(
    machine: &Machine,
    options: &Options,
    tasks: Vec<TaskFn>,
) -> Result<Outcome, SimError> {
    let mut engine = Box::new(Engine::new(machine));
    engine.run_ahead = options.run_ahead_ns.saturating_mul(NS);
    engine.warm_up = options.warm_up_ns.saturating_mul(NS);
    engine.exact = options.exact_spinning;
    engine.end = options.limit.virtual_ns.saturating_mul(NS);
    let grace = options.grace_ns.saturating_mul(NS);
    // Keys have no more bits.
    engine.give_up = engine.end.saturating_add(grace).min(u64::MAX >> 13);
    engine.ops_limit = options.limit.ops;
    engine.live = tasks.len();
    let cpus = machine.cpus();
    for number in 0..tasks.len() {
        engine.add_task(number, (number % cpus) as u16, options.seed);
    }
    let engine = Box::into_raw(engine);
    let coroutines = tasks.into_iter().enumerate().map(|(task, body)| {
        let handle = Handle { task, cpu: Cpu(task % cpus), not_send: PhantomData };
        ManuallyDrop::new(Task::with_stack(SlabStack::new(), move |yielder, ()| {
            engine::with(|e| e.task().yielder = yielder);
            body(&handle);
        }))
    });
    // One that has not ended is leaked: it may have anything half done.
    let mut coroutines: Vec<_> = coroutines.collect();
    let running = Running::new(engine);
    let result = drive(engine, &mut coroutines);
    drop(running);
    // SAFETY: it came from `into_raw`, and nothing refers to it any more. (After a panic it is leaked, like the tasks.)
    let mut engine = unsafe { Box::from_raw(engine) };
    match result {
        Ok(()) => {
            for task in &mut coroutines {
                // SAFETY: all tasks have ended, and nobody uses the coroutines again.
                unsafe { ManuallyDrop::drop(task) };
            }
            Ok(engine.outcome())
        }
        Err(Stop::Deadlock(at)) => {
            Err(SimError::Deadlock { at_ns: at / NS, blocked: engine.blocked() })
        }
        Err(Stop::Overrun(at)) => Err(SimError::Overrun { at_ns: at / NS, left: engine.live }),
    }
}

/// splitmix64: never 0 in practice, and unlike for neighbouring inputs.
fn scramble(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (x ^ x >> 31).max(1)
}

impl Engine {
    fn add_task(&mut self, number: usize, cpu: u16, seed: u64) {
        let random = scramble(scramble(seed) ^ number as u64);
        // Not all at once; the first one at 0.
        let start = if number == 0 { 0 } else { random % (1000 * NS) };
        self.tasks.push(TaskState { ready_at: start, ..TaskState::new(cpu, random) });
        let state = &mut self.cpus[usize::from(cpu)];
        if state.state == State::Idle {
            state.state = State::Run;
            state.task = number as u32;
            self.queue.push(key(start, cpu));
        } else {
            state.ready.push_back(number as u32);
        }
    }

    fn outcome(&mut self) -> Outcome {
        let last = self.tasks.iter().map(|task| task.ended).max().unwrap_or(0);
        let tasks = self.tasks.iter().map(|task| TaskUse {
            cpu: usize::from(task.cpu),
            ops: task.ops,
            late_ops: task.late_ops,
            ended_ns: task.ended / NS,
            lines_ns: task.lines / NS,
            spin_ns: task.spin / NS,
            sleep_ns: task.sleep / NS,
            ready_ns: task.ready / NS,
        });
        let mut locks = take(&mut self.locks);
        locks.retain(|lock| lock.acquisitions > 0);
        // The order of names depends on who asked first in this process.
        locks.sort_by_key(|lock| lock.name);
        Outcome {
            elapsed_ns: self.end.min(last) / NS,
            tasks: tasks.collect(),
            accesses: self.accesses,
            polls: self.polls,
            misses: self.cold + self.memory.transfers,
            transfers: self.memory.transfers,
            lines: self.memory.lines.all.len() as u64,
            moved: self.moved(),
            locks,
            inversions: self.memory.inversions,
            switches: self.switches,
        }
    }

    fn moved(&self) -> Vec<LineUse> {
        /// Names in the answer.
        const SHOWN: usize = 64;
        let mut by_name: HashMap<String, (usize, LineUse)> = HashMap::new();
        for (at, count) in self.memory.lines.counts.iter().enumerate() {
            if count.transfers > 0 {
                let name = self.line_name(at);
                let (_, sum) = by_name.entry(name).or_insert_with_key(|name| {
                    (at, LineUse { name: name.clone(), lines: 0, transfers: 0, wait_ns: 0 })
                });
                sum.lines += 1;
                sum.transfers += u64::from(count.transfers);
                sum.wait_ns += count.wait;
            }
        }
        let mut moved: Vec<_> = by_name.into_values().collect();
        moved.sort_by_key(|(first, sum)| (std::cmp::Reverse(sum.transfers), *first));
        moved.truncate(SHOWN);
        let in_ns = |(_, sum): (usize, LineUse)| LineUse { wait_ns: sum.wait_ns / NS, ..sum };
        moved.into_iter().map(in_ns).collect()
    }

    /// A line's name: those of its objects, the lock that is there, or its number by first touch.
    fn line_name(&self, at: usize) -> String {
        let count = &self.memory.lines.counts[at];
        names::name_of(count.address as usize).unwrap_or_else(|| match count.lock {
            0 if stacks::is_on_one((count.address << LINE_BITS) as usize) => WAITERS.to_owned(),
            0 => format!("line {at}"),
            number => tag::lock_name(number - 1).to_owned(),
        })
    }

    /// Who waits for what.
    fn blocked(&self) -> Vec<Blocked> {
        let tasks = self.tasks.iter().enumerate().filter(|(_, task)| !task.has_ended);
        tasks
            .map(|(number, task)| {
                let line = match task.sleeps_on {
                    Some(address) => self.memory.lines.find(address),
                    None => Some(self.cpus[usize::from(task.cpu)].line as usize),
                };
                Blocked {
                    task: number,
                    cpu: usize::from(task.cpu),
                    sleeps: task.sleeps_on.is_some(),
                    line: line.map_or_else(|| "a word".to_owned(), |line| self.line_name(line)),
                    holds: task.held.iter().map(|(_, name, _)| tag::lock_name(*name)).collect(),
                }
            })
            .collect()
    }
}
