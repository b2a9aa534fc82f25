//! Counts the memory that a reader takes, in the test of it and in the fuzz target.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts bytes in use and their peak, of all threads of the program.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to `System` unchanged, which keeps the contract; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Ordering::SeqCst) + layout.size();
        PEAK.fetch_max(used, Ordering::SeqCst);
        // SAFETY: the caller keeps the contract of `alloc`, which is that of `System.alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::SeqCst);
        // SAFETY: `pointer` came from `alloc` above, that is from `System`, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes allowed for each byte of the shortest rows that a format can have, which no tool writes: nine bytes make two points of
/// 350 each.
pub(crate) const PER_BYTE: f64 = 128.0;
/// Bytes allowed for any input.
pub(crate) const FOR_ANY: usize = 1 << 20;

/// Bytes allowed for an input of that length, whatever is in it.
#[allow(dead_code)] // the test has a stricter bound for real files
pub(crate) fn allowed(length: usize) -> usize {
    FOR_ANY + (PER_BYTE * length as f64) as usize
}

/// Peak of the bytes that a call needed, its result among them.
pub(crate) fn peak_of<T>(call: impl FnOnce() -> T) -> (usize, T) {
    let before = USED.load(Ordering::SeqCst);
    PEAK.store(before, Ordering::SeqCst);
    let result = call();
    (PEAK.load(Ordering::SeqCst).saturating_sub(before), result)
}
