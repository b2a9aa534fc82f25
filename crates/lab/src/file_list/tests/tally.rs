//! The real machine with its allocations counted: whether a design gives back what it took.

use machine::{Platform, Real};
use std::alloc::Layout;
use std::cell::Cell;
use std::sync::atomic::Ordering;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
}

/// [`Real`], counting the memory that the calling thread has from it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally;

/// Pieces of memory that are not given back.
pub(crate) fn live() -> usize {
    LIVE.get()
}

impl Platform for Tally {
    type U32 = <Real as Platform>::U32;
    type U64 = <Real as Platform>::U64;
    type Ptr<T: 'static> = <Real as Platform>::Ptr<T>;
    type Cell<T: Send + 'static> = <Real as Platform>::Cell<T>;
    type Spin = <Real as Platform>::Spin;
    type Tag = <Real as Platform>::Tag;

    fn fence(order: Ordering) {
        Real::fence(order);
    }
    fn relax() {
        Real::relax();
    }
    fn work(ns: u32) {
        Real::work(ns);
    }
    fn now_ns() -> u64 {
        Real::now_ns()
    }
    fn alloc(layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get() + 1);
        Real::alloc(layout)
    }
    unsafe fn dealloc(memory: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - 1);
        // SAFETY: handed on to the caller.
        unsafe { Real::dealloc(memory, layout) }
    }
}
