//! Memory for the objects of a simulated kernel: whole cache lines of one mapping per host thread.
//!
//! Blocks of a class are recycled last in, first out, and every block begins on a line of its own. So which objects share lines,
//! and which lines are used again, depends only on the sequence of calls and never on addresses.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::alloc::Layout;
use std::cell::RefCell;
use std::ptr::null_mut;

pub(super) const LINE_BITS: u32 = 6;
const LINE: usize = 1 << LINE_BITS;
/// Address space of an arena; pages come when they are touched.
const SIZE: usize = 16 << 30;
/// Up to here there is a class for every number of lines, above for powers of two.
const FINE: usize = 1024;
const PAGE: usize = 4096;

struct Arena {
    base: *mut u8,
    used: usize,
    /// Blocks handed out and not given back.
    live: usize,
    /// By class.
    free: Vec<Vec<*mut u8>>,
}

thread_local! {
    static ARENA: RefCell<Arena> = RefCell::new(Arena::new());
}

/// Size of a block for `layout`, what it is aligned to, and its class.
fn class(layout: Layout) -> (usize, usize, usize) {
    assert!(layout.align() <= PAGE, "an alignment of at most a page");
    let size = layout.size().max(1).next_multiple_of(LINE);
    if size <= FINE && layout.align() <= LINE {
        return (size, LINE, size / LINE);
    }
    let size = size.max(layout.align()).next_power_of_two();
    // Classes of powers of two come after the fine ones: two of one size differ in alignment.
    (size, size.min(PAGE), FINE / LINE + 1 + size.trailing_zeros() as usize)
}

impl Arena {
    fn new() -> Self {
        // SAFETY: a new mapping, wherever the system puts it.
        let base = unsafe {
            mmap_anonymous(
                null_mut(),
                SIZE,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        };
        let base = base.expect("16 GiB of address space").cast();
        Arena { base, used: 0, live: 0, free: vec![Vec::new(); 128] }
    }

    fn holds(&self, memory: *const u8) -> bool {
        (memory as usize).wrapping_sub(self.base as usize) < SIZE
    }

    fn alloc(&mut self, layout: Layout) -> *mut u8 {
        let (size, align, class) = class(layout);
        self.live += 1;
        if let Some(block) = self.free[class].pop() {
            return block;
        }
        let at = self.used.next_multiple_of(align);
        assert!(size <= SIZE - at, "the simulated objects take more than 16 GiB");
        self.used = at + size;
        // SAFETY: within the mapping, as just checked.
        unsafe { self.base.add(at) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // What is still in use stays.
        if self.live == 0 {
            // SAFETY: the mapping is ours and nothing in it is used any more. That it fails would only leak it.
            let _ = unsafe { munmap(self.base.cast(), SIZE) };
        }
    }
}

/// Address and length of this thread's arena.
pub(super) fn range() -> (usize, usize) {
    ARENA.with_borrow(|arena| (arena.base as usize, SIZE))
}

/// See `Platform::alloc`.
pub(super) fn alloc(layout: Layout) -> *mut u8 {
    ARENA.with_borrow_mut(|arena| arena.alloc(layout))
}

/// See `Platform::dealloc`. Memory of another thread's arena is leaked.
///
/// # Safety
/// As for `Platform::dealloc`.
pub(super) unsafe fn dealloc(memory: *mut u8, layout: Layout) {
    // At the end of a thread its arena may be gone already; then the memory stays.
    let _ = ARENA.try_with(|arena| {
        let mut arena = arena.borrow_mut();
        if arena.holds(memory) {
            arena.live -= 1;
            let (_, _, class) = class(layout);
            arena.free[class].push(memory);
        }
    });
}
