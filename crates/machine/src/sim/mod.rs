//! A simulated machine: the same designs in virtual time, on machines with up to 4096 CPUs that nobody here has.
//!
//! Every task is a coroutine on a simulated CPU. Whatever it does to a word or a cell of this platform is charged by a model of
//! cache coherence, which advances the clock of its CPU; the CPU with the least clock goes on next. Everything
//! runs on one host thread and is a function of machine, tasks and seed, bit for bit.
//!
//! Outside of [`run`] (a kernel is made before it and dropped after it) accesses are plain and cost nothing.
//!
//! What a CPU may see is kept in two views of a line: who has asked for it, in the order of asking (that gives latency and
//! queueing), and who has it now (that gives hits). A request takes effect when it completes, not when it is made. A CPU that
//! waits for a word is parked on its line until somebody has written there; it then asks again at the moment, and at the cost,
//! at which its spinning would have. Lines that only one CPU has touched so far need no order: it runs ahead on them.
//!
//! Memory: [`Sim::alloc`](crate::Platform::alloc) hands out whole cache lines of an arena of the host thread. Other addresses (a
//! box, a stack) are lines too, so that nothing is forgotten; but which boxes share a line is the host allocator's decision, and
//! with it the result, unless the program has [`Allocator`] and makes its kernel [`in_arena`]. A kernel should be made, run and
//! dropped on one host thread.

mod arena;
mod coherence;
mod engine;
mod lines;
mod machine_file;
mod names;
mod outcome;
mod queue;
mod run;
mod schedule;
mod spec;
mod stacks;
mod tag;
mod wait;
mod words;

pub use arena::{Allocator, in_arena};
pub use outcome::{Blocked, LineUse, Outcome, SimError, TaskUse};
pub use run::{Handle, Limit, Options, TaskFn, VirtualNs, run, run_with};
pub use spec::{Bus, Error, Level, MACHINES, Machine, Node, Value};
pub use tag::{SimSpin, SimTag};
pub use words::{SimCell, SimPtr, SimU32, SimU64};

use crate::platform::Platform;
use std::alloc::Layout;
use std::sync::atomic::Ordering;

/// A machine that is simulated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sim;

impl Platform for Sim {
    type U32 = SimU32;
    type U64 = SimU64;
    type Ptr<T: 'static> = SimPtr<T>;
    type Cell<T: Send + 'static> = SimCell<T>;
    type Spin = SimSpin;
    type Tag = SimTag;

    /// Accesses take effect in the order of the program, so that a fence only costs.
    #[inline]
    fn fence(order: Ordering) {
        std::sync::atomic::fence(order);
        engine::charge_fence();
    }
    #[inline]
    fn relax() {
        engine::charge_pause();
    }
    #[inline]
    fn work(ns: u32) {
        engine::charge_work(ns);
    }
    /// Virtual time of the CPU; 0 outside of a simulation.
    fn now_ns() -> u64 {
        engine::now_ns()
    }
    #[inline]
    fn name<T: ?Sized>(object: &T, name: &'static str) {
        names::name(std::ptr::from_ref(object).addr(), size_of_val(object), name);
    }
    fn alloc(layout: Layout) -> *mut u8 {
        arena::alloc(layout)
    }
    unsafe fn dealloc(memory: *mut u8, layout: Layout) {
        // SAFETY: handed on to the caller.
        unsafe { arena::dealloc(memory, layout) }
    }
}
