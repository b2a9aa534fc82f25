//! Stacks for the coroutines: slabs with a guard page below each stack, kept for the next run.

use corosensei::stack::{Stack, StackPointer};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
use std::cell::RefCell;
use std::ptr::null_mut;

/// Address space of a stack; pages come when they are touched. Room for a panic with a backtrace in a debug build.
const SIZE: usize = 256 << 10;
const GUARD: usize = 4096;
/// Tops that were all page-aligned would fight for the same sets of the host's caches. Not more of them, or most tasks would need a
/// second page.
const COLOURS: usize = 16;
/// Stacks of a slab.
const SLAB: usize = 64;

thread_local! {
    /// Where the slabs are.
    static SLABS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    /// Free stacks, as (lowest usable address, top). The mappings stay as long as the process: a stack may outlive its thread.
    static FREE: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
}

/// A stack of this thread's slabs.
pub(super) struct SlabStack {
    limit: usize,
    top: usize,
}

impl SlabStack {
    pub(super) fn new() -> Self {
        FREE.with_borrow_mut(|free| {
            if free.is_empty() {
                grow(free);
            }
            let (limit, top) = free.pop().expect("a slab was just made");
            SlabStack { limit, top }
        })
    }
}

fn grow(free: &mut Vec<(usize, usize)>) {
    // SAFETY: a new mapping, wherever the system puts it.
    let base = unsafe {
        mmap_anonymous(
            null_mut(),
            SIZE * SLAB,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )
    };
    let base = base.expect("address space for stacks") as usize;
    SLABS.with_borrow_mut(|slabs| slabs.push(base));
    for at in (0..SLAB).rev() {
        let bottom = base + at * SIZE;
        // SAFETY: the lowest page of the stack just mapped, which nobody uses.
        unsafe { mprotect(bottom as *mut _, GUARD, MprotectFlags::empty()) }.expect("a guard page");
        let colour = at % COLOURS * 64;
        free.push((bottom + GUARD, bottom + SIZE - colour));
    }
}

/// Whether the address is on a stack of this thread's slabs.
pub(super) fn is_on_one(address: usize) -> bool {
    SLABS.with_borrow(|slabs| slabs.iter().any(|slab| address.wrapping_sub(*slab) < SIZE * SLAB))
}

impl Drop for SlabStack {
    fn drop(&mut self) {
        // At the end of the thread it is only forgotten.
        let _ = FREE.try_with(|free| free.borrow_mut().push((self.limit, self.top)));
    }
}

// SAFETY: top and limit are aligned to 64 bytes at least and enclose some hundred KiB of mapped memory that nobody else uses as
// long as the value exists; below it is a guard page.
unsafe impl Stack for SlabStack {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.top).expect("not null")
    }
    fn limit(&self) -> StackPointer {
        StackPointer::new(self.limit).expect("not null")
    }
}
