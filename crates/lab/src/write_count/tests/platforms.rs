//! Platforms for tests: one that counts what it allocates, and one with a seeded bug.

use machine::{Loom, Platform, Real};
use std::alloc::Layout;
use std::cell::Cell;
use std::sync::atomic::Ordering;

thread_local! {
    static BALANCE: Cell<usize> = const { Cell::new(0) };
}

/// Bytes that the calling thread has allocated from [`Balanced`] and not given back.
pub(super) fn balance() -> usize {
    BALANCE.get()
}

/// This machine, with an account of its memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Balanced;

/// Loom, but a thread called [`UNFENCED`] has no fences.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unfenced;

/// Name of a thread whose fences do nothing.
pub(super) const UNFENCED: &str = "unfenced";

macro_rules! as_on {
    ($base:ty) => {
        type U32 = <$base as Platform>::U32;
        type U64 = <$base as Platform>::U64;
        type Ptr<T: 'static> = <$base as Platform>::Ptr<T>;
        type Cell<T: Send + 'static> = <$base as Platform>::Cell<T>;
        type Spin = <$base as Platform>::Spin;
        type Tag = <$base as Platform>::Tag;
        fn relax() {
            <$base>::relax();
        }
        fn work(ns: u32) {
            <$base>::work(ns);
        }
        fn now_ns() -> u64 {
            <$base>::now_ns()
        }
    };
}

impl Platform for Balanced {
    as_on!(Real);
    fn fence(order: Ordering) {
        Real::fence(order);
    }
    fn alloc(layout: Layout) -> *mut u8 {
        BALANCE.set(BALANCE.get() + layout.size());
        Real::alloc(layout)
    }
    unsafe fn dealloc(memory: *mut u8, layout: Layout) {
        BALANCE.set(BALANCE.get() - layout.size());
        // SAFETY: handed on to the caller.
        unsafe { Real::dealloc(memory, layout) }
    }
}

impl Platform for Unfenced {
    as_on!(Loom);
    fn fence(order: Ordering) {
        if loom::thread::current().name() != Some(UNFENCED) {
            Loom::fence(order);
        }
    }
    fn alloc(layout: Layout) -> *mut u8 {
        Loom::alloc(layout)
    }
    unsafe fn dealloc(memory: *mut u8, layout: Layout) {
        // SAFETY: handed on to the caller.
        unsafe { Loom::dealloc(memory, layout) }
    }
}
