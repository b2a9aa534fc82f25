//! The engine: whose turn it is, and what an access of the running task leads to.

use super::coherence::{Coherence, Kind, NS};
use super::lines::NOBODY;
use super::queue::{NEVER, Queue, key};
use super::spec::Machine;
use super::wait::Condition;
use crate::accounting::LockTotals;
use corosensei::Yielder;
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::ptr::null_mut;

thread_local! {
    /// The simulation whose task runs on this host thread; null outside of one.
    static ENGINE: Cell<*mut Engine> = const { Cell::new(null_mut()) };
}

/// What happens at a CPU's next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing: no task is there that could run.
    Idle,
    /// Its task goes on.
    Run,
    /// The next of its ready tasks goes on.
    Dispatch,
    /// The request is made.
    Issue,
    /// The request completes.
    Complete,
    /// None comes: it waits on a line.
    Parked,
}

/// A CPU.
pub(super) struct CpuState {
    pub(super) state: State,
    pub(super) kind: Kind,
    pub(super) next_parked: u16,
    pub(super) line: u32,
    pub(super) task: u32,
    /// When its request was made.
    pub(super) issued: u64,
    pub(super) next_look: u64,
    /// Line of its last locked operation: that of the lock when one has been taken.
    pub(super) modified: u32,
    pub(super) condition: Option<Condition>,
    /// While idle: since when.
    pub(super) clock: u64,
    pub(super) slice_end: u64,
    pub(super) ready: VecDeque<u32>,
}

/// A task.
pub(super) struct TaskState {
    pub(super) yielder: *const Yielder<(), ()>,
    pub(super) cpu: u16,
    pub(super) random: u64,
    /// Not to go on before; and since when it does not run.
    pub(super) ready_at: u64,
    pub(super) stopped_at: u64,
    pub(super) lines: u64,
    pub(super) spin: u64,
    pub(super) sleep: u64,
    pub(super) ready: u64,
    pub(super) ended: u64,
    pub(super) ops: u64,
    pub(super) late_ops: u64,
    /// Locks it holds: address of the tag, name, since when.
    pub(super) held: Vec<(usize, u32, u64)>,
    /// Word it sleeps on.
    pub(super) sleeps_on: Option<usize>,
    /// It was taken off its CPU while it waited on a line.
    pub(super) preempted: bool,
    pub(super) has_ended: bool,
}

impl TaskState {
    /// A task that has not begun.
    pub(super) fn new(cpu: u16, random: u64) -> Self {
        TaskState {
            yielder: std::ptr::null(),
            cpu,
            random,
            ready_at: 0,
            stopped_at: 0,
            lines: 0,
            spin: 0,
            sleep: 0,
            ready: 0,
            ended: 0,
            ops: 0,
            late_ops: 0,
            held: Vec::new(),
            sleeps_on: None,
            preempted: false,
            has_ended: false,
        }
    }
}

/// A simulation.
pub(super) struct Engine {
    /// Clock of the running task's CPU.
    pub(super) clock: u64,
    /// Up to when it may run ahead on lines of its own.
    pub(super) ahead: u64,
    /// Key of the next event of another CPU.
    pub(super) next: u64,
    pub(super) cpu: u16,
    /// The next look at a lock costs nothing unless it takes it; see `SimSpin`.
    pub(super) probe: bool,
    /// A condition is evaluated outside of its task: accesses cost nothing.
    pub(super) aside: bool,
    pub(super) accesses: u64,
    pub(super) memory: Coherence,
    pub(super) cpus: Vec<CpuState>,
    pub(super) tasks: Vec<TaskState>,
    pub(super) queue: Queue,
    /// Event of the running CPU once its task has stopped.
    pub(super) posted: Option<u64>,
    pub(super) polls: u64,
    pub(super) cold: u64,
    pub(super) switches: u64,
    pub(super) sleepers: HashMap<usize, VecDeque<u32>>,
    pub(super) locks: Vec<LockTotals>,
    /// Time is up.
    pub(super) end: u64,
    pub(super) ops: u64,
    pub(super) ops_limit: u64,
    pub(super) live: usize,
    pub(super) run_ahead: u64,
    /// Before that nobody runs ahead: it is not known yet which lines are shared.
    pub(super) warm_up: u64,
    /// When the run is given up.
    pub(super) give_up: u64,
    pub(super) exact: bool,
}

/// Takes the engine off the host thread when the run is over, however it ends.
pub(super) struct Running;

impl Running {
    /// # Panics
    /// If a simulation runs on this thread already.
    pub(super) fn new(engine: *mut Engine) -> Self {
        assert!(ENGINE.get().is_null(), "one simulation at a time on a host thread");
        ENGINE.set(engine);
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        ENGINE.set(null_mut());
    }
}

/// The engine, inside of a simulation. All code of a simulation runs on one host thread, one coroutine at a time; a reference is
/// never kept across a suspension.
#[inline(always)]
pub(super) fn with<R>(f: impl FnOnce(&mut Engine) -> R) -> Option<R> {
    let engine = ENGINE.get();
    // SAFETY: not null, it is the engine of the run that is on this thread's stack; `f` does not suspend and does not come
    // back in here (it is code of this module's neighbours only).
    (!engine.is_null()).then(|| f(unsafe { &mut *engine }))
}

/// Whether a lock is only probed; see `SimSpin`.
#[inline(always)]
pub(super) fn probing() -> bool {
    with(|engine| engine.probe).unwrap_or(false)
}

/// Charges an access. It has taken effect in the model when this returns: the caller does it. False outside of a simulation.
#[inline(always)]
pub(super) fn charge(address: usize, kind: Kind) -> bool {
    let engine = ENGINE.get();
    if engine.is_null() {
        return false;
    }
    // SAFETY: as in `with`; the reference ends before anything suspends.
    let e = unsafe { &mut *engine };
    if let Some(at) = e.memory.lines.find(address) {
        // SAFETY: `find` answers places of `all`.
        let line = unsafe { e.memory.lines.all.get_unchecked_mut(at) };
        if line.sole == e.cpu && e.clock <= e.ahead && !e.aside && !e.probe {
            line.written = e.clock;
            e.clock += e.memory.costs.hit[kind as usize];
            e.accesses += 1;
            if kind == Kind::Modify {
                e.cpus[usize::from(e.cpu)].modified = at as u32;
            }
            return true;
        }
    }
    charge_slowly(engine, address, kind);
    true
}

#[inline(never)]
fn charge_slowly(engine: *mut Engine, address: usize, kind: Kind) {
    // SAFETY: as in `charge`.
    let e = unsafe { &mut *engine };
    if e.aside {
        return;
    }
    if e.probe {
        if kind == Kind::Read {
            return;
        }
        e.probe = false;
    }
    let at = e.line(address);
    if kind == Kind::Modify {
        e.cpus[usize::from(e.cpu)].modified = at as u32;
    }
    if e.begin_access(at, kind) {
        suspend(engine);
    }
}

/// Lets the others go on until the posted event of the running task's CPU is the next.
#[inline(always)]
fn suspend(engine: *mut Engine) {
    // SAFETY: as in `charge`; the yielder is on the stack of the running coroutine.
    let yielder = unsafe {
        let e = &*engine;
        let task = e.cpus[usize::from(e.cpu)].task;
        &*e.tasks[task as usize].yielder
    };
    yielder.suspend(());
}

/// Charges the lines of `size` bytes.
#[inline(always)]
pub(super) fn charge_range(address: usize, size: usize, kind: Kind) {
    if size == 0 {
        return;
    }
    let mut at = address;
    while at < address + size && charge(at, kind) {
        at = (at | 63) + 1;
    }
}

/// See `Platform::fence`.
pub(super) fn charge_fence() {
    with(|e| e.clock += e.memory.costs.fence);
}

/// See `Platform::relax`.
pub(super) fn charge_pause() {
    with(|e| e.clock += e.memory.costs.pause);
}

/// See `Platform::work`.
pub(super) fn charge_work(ns: u32) {
    let too_far = with(|e| {
        e.work(ns);
        e.clock > e.ahead
    });
    if too_far == Some(true) {
        in_turn(ENGINE.get());
    }
}

impl Engine {
    fn work(&mut self, ns: u32) {
        let e = self;
        let cpu = usize::from(e.cpu);
        let task = &mut e.tasks[e.cpus[cpu].task as usize];
        // 90 to 110 % of it: CPUs in step would meet in patterns that no real machine shows.
        let share = 921 + (next_random(&mut task.random) >> 32) % 207;
        let mut ticks = (u64::from(ns) * NS * share) >> 10;
        if let Some((slowdown, per_core)) = e.memory.costs.smt {
            let place = e.memory.costs.place[cpu];
            let core = place & !(per_core - 1);
            let works = |place: &u16| {
                let other = e.memory.costs.cpu_at[usize::from(*place)];
                other != NOBODY
                    && usize::from(other) != cpu
                    && !matches!(e.cpus[usize::from(other)].state, State::Idle | State::Parked)
            };
            if (core..core + per_core).any(|place| works(&place)) {
                ticks = (ticks * slowdown) >> 10;
            }
        }
        e.clock += ticks;
    }
}

/// See `Platform::now_ns`.
pub(super) fn now_ns() -> u64 {
    with(|e| e.clock / NS).unwrap_or(0)
}

/// xorshift64*.
fn next_random(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_F491_4F6C_DD1D)
}

/// Waits until `is_met`, which looks at the word at `address`. False outside of a simulation.
pub(super) fn spin_until(address: usize, mut is_met: impl FnMut() -> bool) -> bool {
    if !charge(address, Kind::Read) {
        return false;
    }
    if is_met() {
        return true;
    }
    let engine = ENGINE.get();
    // SAFETY: as in `charge`; so in every block below.
    let e = unsafe { &mut *engine };
    let (began, exact, lines) = (e.clock, e.exact, e.task().lines);
    if exact {
        loop {
            // SAFETY: see above.
            unsafe { (*engine).clock += (*engine).memory.costs.pause };
            in_turn(engine);
            charge(address, Kind::Read);
            if is_met() {
                break;
            }
        }
    } else {
        let condition = Condition::of(&mut is_met);
        loop {
            // SAFETY: see above.
            let e = unsafe { &mut *engine };
            e.wait_on_line(address, condition);
            suspend(engine);
            // SAFETY: see above.
            let e = unsafe { &mut *engine };
            e.cpus[usize::from(e.cpu)].condition = None;
            if !e.was_preempted() {
                break;
            }
            charge(address, Kind::Read);
            // SAFETY: it is about `is_met`, which is still there.
            if unsafe { (condition.is_met)(condition.about) } {
                break;
            }
        }
    }
    with(|e| {
        let spun = e.clock - began;
        let task = e.task();
        task.spin += spun;
        // What the looks waited for the line is part of it.
        task.lines = lines;
    });
    true
}

/// Returns when no other CPU has an event before the running one's clock.
fn in_turn(engine: *mut Engine) {
    // SAFETY: as in `charge`.
    let e = unsafe { &mut *engine };
    let mine = key(e.clock, e.cpu);
    if mine > e.next {
        e.post(State::Run, mine);
        suspend(engine);
    }
}

/// Sleeps if `still` says so of the word at `address`.
pub(super) fn sleep_on(address: usize, still: impl FnOnce() -> bool) -> bool {
    if !charge(address, Kind::Read) {
        return false;
    }
    let engine = ENGINE.get();
    in_turn(engine);
    if still() {
        // SAFETY: as in `charge`.
        unsafe { &mut *engine }.sleep(address);
        suspend(engine);
        // SAFETY: as in `charge`.
        let e = unsafe { &mut *engine };
        let clock = e.clock;
        let task = e.task();
        task.sleep += clock - task.stopped_at;
    }
    true
}

/// Wakes up to `count` tasks that sleep on the word at `address`.
pub(super) fn wake(address: usize, count: u32) {
    let engine = ENGINE.get();
    if engine.is_null() {
        return;
    }
    in_turn(engine);
    // SAFETY: as in `charge`.
    let e = unsafe { &mut *engine };
    for _ in 0..count {
        let Some(task) = e.sleepers.get_mut(&address).and_then(VecDeque::pop_front) else { break };
        e.clock += e.memory.costs.wake;
        e.make_ready(task);
    }
    e.refresh();
}

/// Notes `n` operations of the running task. Between operations another task may have the CPU.
pub(super) fn ops_done(n: u64) {
    let engine = ENGINE.get();
    assert!(!engine.is_null(), "a handle is of use in its task only");
    // SAFETY: as in `charge`.
    let e = unsafe { &mut *engine };
    if e.clock <= e.end {
        e.ops += n;
        e.task().ops += n;
        if e.ops >= e.ops_limit {
            e.end = e.clock;
        }
    } else {
        e.task().late_ops += n;
    }
    let cpu = &e.cpus[usize::from(e.cpu)];
    if e.clock >= cpu.slice_end && !cpu.ready.is_empty() {
        e.step_aside();
        suspend(engine);
        // SAFETY: as in `charge`.
        let e = unsafe { &mut *engine };
        let clock = e.clock;
        let task = e.task();
        task.ready += clock - task.stopped_at;
    }
}

impl Engine {
    pub(super) fn new(machine: &Machine) -> Self {
        let memory = Coherence::new(machine);
        let cpu = || CpuState {
            state: State::Idle,
            kind: Kind::Read,
            next_parked: NOBODY,
            line: 0,
            task: 0,
            issued: 0,
            next_look: 0,
            modified: 0,
            condition: None,
            clock: 0,
            slice_end: memory.costs.slice,
            ready: VecDeque::new(),
        };
        Engine {
            cpus: (0..machine.cpus()).map(|_| cpu()).collect(),
            memory,
            clock: 0,
            ahead: 0,
            next: NEVER,
            cpu: 0,
            probe: false,
            aside: false,
            accesses: 0,
            tasks: Vec::new(),
            queue: Queue::new(machine.cpus()),
            posted: None,
            polls: 0,
            cold: 0,
            switches: 0,
            sleepers: HashMap::new(),
            locks: Vec::new(),
            end: u64::MAX,
            ops: 0,
            ops_limit: u64::MAX,
            live: 0,
            run_ahead: 0,
            warm_up: 0,
            give_up: u64::MAX,
            exact: false,
        }
    }
}
