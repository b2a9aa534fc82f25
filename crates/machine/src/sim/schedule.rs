//! The scheduler: events in the order of their keys, and tasks on their CPUs.

use super::arena::with_arena;
use super::coherence::Kind;
use super::engine::{CpuState, Engine, State, TaskState};
use super::queue::{cpu_of, key, time_of};
use super::stacks::SlabStack;
use super::wait::Condition;
use corosensei::{Coroutine, CoroutineResult};
use std::mem::ManuallyDrop;

/// A task as a coroutine.
pub(super) type Task = Coroutine<(), (), (), SlabStack>;

/// Why the scheduler gave up.
pub(super) enum Stop {
    Deadlock(u64),
    Overrun(u64),
}

/// What an event leads to.
enum Then {
    /// The CPU's task goes on.
    Resume,
    /// If the condition is met; otherwise the CPU stays on its line.
    ResumeIf(Condition),
    /// Another event, or none.
    Wait,
}

/// Runs all tasks to their ends. The engine is on this host thread (`Running`).
pub(super) fn drive(engine: *mut Engine, tasks: &mut [ManuallyDrop<Task>]) -> Result<(), Stop> {
    let mut last = 0;
    loop {
        // SAFETY: the engine outlives the call, and no task runs; so in every block below. No reference is kept while one does.
        let e = unsafe { &mut *engine };
        let next = match e.posted.take() {
            Some(posted) => e.queue.push_pop(posted),
            None if e.live == 0 => return Ok(()),
            None => match e.queue.pop().or_else(|| e.part_parked()) {
                Some(next) => next,
                None => return Err(Stop::Deadlock(last)),
            },
        };
        let (cpu, now) = (cpu_of(next), time_of(next));
        last = now;
        if now > e.give_up {
            return Err(Stop::Overrun(now));
        }
        let resume = match e.step(cpu, now) {
            Then::Resume => true,
            Then::Wait => false,
            Then::ResumeIf(condition) => {
                e.aside = true;
                // SAFETY: the task waits in `spin_until`, where the closure is.
                let met = unsafe { (condition.is_met)(condition.about) };
                // SAFETY: see above.
                let e = unsafe { &mut *engine };
                e.aside = false;
                if !met {
                    let line = e.cpus[usize::from(cpu)].line as usize;
                    e.park(cpu, line, e.clock + e.memory.costs.pause);
                }
                met
            }
        };
        if resume {
            // SAFETY: see above.
            let task = unsafe { &mut *engine }.switch_to(cpu);
            let result = with_arena(true, || tasks[task].resume(()));
            if let CoroutineResult::Return(()) = result {
                // SAFETY: see above.
                unsafe { &mut *engine }.end_task();
            }
        }
    }
}

impl Engine {
    /// The running task.
    #[inline]
    pub(super) fn task(&mut self) -> &mut TaskState {
        let task = self.cpu_state().task as usize;
        &mut self.tasks[task]
    }

    #[inline]
    fn cpu_state(&mut self) -> &mut CpuState {
        &mut self.cpus[usize::from(self.cpu)]
    }

    /// The next event of the running CPU.
    pub(super) fn post(&mut self, state: State, at: u64) {
        self.cpu_state().state = state;
        self.posted = Some(at);
    }

    /// To be called when the queue has changed.
    #[inline]
    pub(super) fn refresh(&mut self) {
        self.next = self.queue.min();
        let next = time_of(self.next);
        let run_ahead = if next < self.warm_up { 0 } else { self.run_ahead };
        self.ahead = next.saturating_add(run_ahead).min(self.give_up);
    }

    /// The line of an address. Its first touch fetches it from memory.
    #[inline]
    pub(super) fn line(&mut self, address: usize) -> usize {
        match self.memory.lines.find(address) {
            Some(line) => line,
            None => {
                self.cold += 1;
                let memory = self.memory.costs.memory;
                self.clock += memory;
                self.task().lines += memory;
                let place = self.memory.costs.place[usize::from(self.cpu)];
                self.memory.lines.touch(address, self.cpu, place)
            }
        }
    }

    /// An access of the running task. True if it must be suspended until the access is done.
    pub(super) fn begin_access(&mut self, at: usize, kind: Kind) -> bool {
        self.accesses += 1;
        let (cpu, now) = (self.cpu, self.clock);
        let hit = self.memory.costs.hit[kind as usize];
        let mine = key(now, cpu);
        let line = &mut self.memory.lines.all[at];
        if line.sole == cpu && now <= self.ahead {
            line.written = now;
            self.clock += hit;
            return false;
        }
        if mine > self.next || now > self.give_up {
            let state = self.cpu_state();
            (state.line, state.kind, state.issued) = (at as u32, kind, now);
            self.post(State::Issue, mine);
            return true;
        }
        if self.memory.hits(at, cpu, kind, now) {
            self.clock += hit;
            return false;
        }
        let done = self.memory.reserve(at, cpu, kind, now);
        let then = key(done, cpu);
        if then > self.next {
            let state = self.cpu_state();
            (state.line, state.kind, state.issued) = (at as u32, kind, now);
            self.post(State::Complete, then);
            return true;
        }
        if self.memory.complete(at, cpu, kind, done) {
            self.wake_parked(at, cpu, done);
            self.refresh();
        }
        self.clock = done + hit;
        self.task().lines += done - now;
        false
    }

    /// The CPU's event.
    fn step(&mut self, cpu: u16, now: u64) -> Then {
        let state = &mut self.cpus[usize::from(cpu)];
        let (line, kind) = (state.line as usize, state.kind);
        match state.state {
            State::Run => {
                self.clock = now;
                return Then::Resume;
            }
            State::Dispatch => {
                self.switch_in(cpu, now);
                return Then::Resume;
            }
            State::Issue => {
                if !self.memory.hits(line, cpu, kind, now) {
                    let done = self.memory.reserve(line, cpu, kind, now);
                    state.state = State::Complete;
                    self.posted = Some(key(done, cpu));
                    return Then::Wait;
                }
            }
            State::Complete => {
                if self.memory.complete(line, cpu, kind, now) {
                    self.wake_parked(line, cpu, now);
                }
            }
            State::Idle | State::Parked => unreachable!("such a CPU has no event"),
        }
        self.clock = now + self.memory.costs.hit[kind as usize];
        let state = &self.cpus[usize::from(cpu)];
        if let Some(condition) = state.condition {
            return Then::ResumeIf(condition);
        }
        self.tasks[state.task as usize].lines += now - state.issued;
        Then::Resume
    }

    /// The CPU's task is about to go on. Its number.
    fn switch_to(&mut self, cpu: u16) -> usize {
        self.cpu = cpu;
        self.switches += 1;
        self.refresh();
        let state = self.cpu_state();
        state.state = State::Run;
        state.task as usize
    }

    /// The next ready task gets the CPU.
    fn switch_in(&mut self, cpu: u16, now: u64) {
        let costs = &self.memory.costs;
        self.clock = now + costs.switch;
        let state = &mut self.cpus[usize::from(cpu)];
        state.slice_end = self.clock + costs.slice;
        state.task = state.ready.pop_front().expect("a CPU is dispatched for a ready task");
    }

    /// The running task has left its CPU.
    fn leave_cpu(&mut self) {
        let clock = self.clock;
        let cpu = self.cpu;
        let state = &mut self.cpus[usize::from(cpu)];
        match state.ready.front() {
            Some(next) => {
                let at = clock.max(self.tasks[*next as usize].ready_at);
                self.post(State::Dispatch, key(at, cpu));
            }
            None => {
                state.state = State::Idle;
                state.clock = clock;
            }
        }
    }

    fn end_task(&mut self) {
        let clock = self.clock;
        let task = self.task();
        task.ended = clock;
        task.has_ended = true;
        self.live -= 1;
        self.leave_cpu();
    }

    /// The running task sleeps on the word at `address`.
    pub(super) fn sleep(&mut self, address: usize) {
        let (clock, task) = (self.clock, self.cpu_state().task);
        self.sleepers.entry(address).or_default().push_back(task);
        let task = self.task();
        task.sleeps_on = Some(address);
        task.stopped_at = clock;
        self.leave_cpu();
    }

    /// A sleeper may go on, as soon as its CPU has heard of it.
    pub(super) fn make_ready(&mut self, task: u32) {
        let at = self.clock + self.memory.costs.ipi;
        let state = &mut self.tasks[task as usize];
        state.sleeps_on = None;
        state.ready_at = at;
        let cpu = state.cpu;
        let state = &mut self.cpus[usize::from(cpu)];
        state.ready.push_back(task);
        if state.state == State::Idle {
            state.state = State::Dispatch;
            self.queue.push(key(at.max(state.clock), cpu));
        }
    }

    /// The running task lets the next one have the CPU.
    pub(super) fn step_aside(&mut self) {
        let (clock, number) = (self.clock, self.cpu_state().task);
        let task = self.task();
        task.stopped_at = clock;
        task.ready_at = clock;
        self.cpu_state().ready.push_back(number);
        self.leave_cpu();
    }

    /// The running task waits for the word at `address` to change.
    pub(super) fn wait_on_line(&mut self, address: usize, condition: Condition) {
        let line = self.line(address);
        let look = self.clock + self.memory.costs.pause;
        self.cpu_state().condition = Some(condition);
        self.park(self.cpu, line, look);
    }

    /// Whether the running task, which waited on a line, had lost its CPU.
    pub(super) fn was_preempted(&mut self) -> bool {
        std::mem::take(&mut self.task().preempted)
    }

    /// Nothing happens any more, but a CPU waits on a line and has other tasks: they get their turn. The key of that event.
    ///
    /// (Nobody is taken off a CPU before: what spins is a kernel with preemption off.)
    #[cold]
    fn part_parked(&mut self) -> Option<u64> {
        let waits = |state: &CpuState| state.state == State::Parked && !state.ready.is_empty();
        let cpu = self.cpus.iter().position(waits)? as u16;
        self.unpark(cpu);
        let state = &mut self.cpus[usize::from(cpu)];
        let at = state.next_look.max(state.slice_end);
        state.condition = None;
        state.state = State::Dispatch;
        state.ready.push_back(state.task);
        self.tasks[state.task as usize].preempted = true;
        Some(key(at, cpu))
    }
}
