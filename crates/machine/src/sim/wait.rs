//! Waiting for a word: parked on its line instead of looking again and again.

use super::coherence::Kind;
use super::engine::{Engine, State};
use super::lines::NOBODY;
use super::queue::key;

/// A condition that the scheduler can evaluate while its task does not run: a function and what it is about, on the task's stack.
#[derive(Clone, Copy)]
pub(super) struct Condition {
    pub(super) is_met: unsafe fn(*mut ()) -> bool,
    pub(super) about: *mut (),
}

impl Condition {
    /// For as long as `condition` is borrowed, which the caller sees to.
    pub(super) fn of<F: FnMut() -> bool>(condition: &mut F) -> Self {
        unsafe fn call<F: FnMut() -> bool>(about: *mut ()) -> bool {
            // SAFETY: `about` is the closure that `of` was given; its task waits and does not touch it.
            unsafe { (*about.cast::<F>())() }
        }
        Condition { is_met: call::<F>, about: std::ptr::from_mut(condition).cast() }
    }
}

impl Engine {
    /// The CPU waits on the line, and would look again at `next_look`.
    pub(super) fn park(&mut self, cpu: u16, line: usize, next_look: u64) {
        let state = &mut self.cpus[usize::from(cpu)];
        state.state = State::Parked;
        state.line = line as u32;
        state.next_look = next_look;
        state.next_parked = std::mem::replace(&mut self.memory.lines.all[line].parked, cpu);
    }

    /// A write of `writer` to the line has completed at `now`: whoever is parked there looks at the moment at which its spinning
    /// would have.
    #[inline(never)]
    pub(super) fn wake_parked(&mut self, line: usize, writer: u16, now: u64) {
        let costs = &self.memory.costs;
        let period = costs.hit[Kind::Read as usize] + costs.pause;
        let mut cpu = std::mem::replace(&mut self.memory.lines.all[line].parked, NOBODY);
        while cpu != NOBODY {
            let waiter = &mut self.cpus[usize::from(cpu)];
            let missed = now.saturating_sub(waiter.next_look).div_ceil(period);
            let mut look = waiter.next_look + missed * period;
            let mut polls = missed;
            if look == now && cpu < writer {
                look += period;
                polls += 1;
            }
            self.polls += polls;
            self.accesses += 1;
            waiter.issued = look;
            waiter.state = State::Issue;
            waiter.kind = Kind::Read;
            self.queue.push(key(look, cpu));
            cpu = waiter.next_parked;
        }
    }

    /// Takes a CPU off the line it is parked on.
    pub(super) fn unpark(&mut self, cpu: u16) {
        let state = &self.cpus[usize::from(cpu)];
        let (line, after) = (state.line as usize, state.next_parked);
        let first = &mut self.memory.lines.all[line].parked;
        if *first == cpu {
            *first = after;
            return;
        }
        let mut at = *first;
        while self.cpus[usize::from(at)].next_parked != cpu {
            at = self.cpus[usize::from(at)].next_parked;
        }
        self.cpus[usize::from(at)].next_parked = after;
    }
}
