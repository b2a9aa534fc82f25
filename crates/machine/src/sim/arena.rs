//! Memory for the objects of a simulated kernel: whole cache lines of an arena of the host thread.
//!
//! Every block begins on a line of its own, and blocks of a class are recycled last in, first out. So which objects share lines,
//! and which lines are used again, depends only on the sequence of calls and never on addresses.

use super::names;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

pub(super) const LINE_BITS: u32 = 6;
const LINE: usize = 1 << LINE_BITS;
/// Address space of an arena; pages come when they are touched.
const SIZE: usize = 8 << 30;
/// Address space of all arenas of the process.
const REGION: usize = SIZE << 10;
/// Up to here there is a class for every number of lines, above for powers of two.
const FINE: usize = 1024;
/// First class of powers of two.
const COARSE: usize = FINE / LINE + 1;
const PAGE: usize = 4096;

/// Begin of the region; 0 as long as nobody has simulated. Written once, before any address in it is known to anybody.
static REGION_AT: AtomicUsize = AtomicUsize::new(0);
/// Arenas that no thread has any more, and the number of those that were ever made.
static UNUSED: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));

struct Arena {
    base: *mut u8,
    used: usize,
    /// Blocks handed out and not given back.
    live: usize,
    /// By class: the first free block; each holds the address of the next.
    free: [*mut u8; COARSE + usize::BITS as usize],
}

thread_local! {
    static ARENA: RefCell<Arena> = RefCell::new(Arena::new());
    /// [`Allocator`] takes memory from the arena.
    static IN_ARENA: Cell<bool> = const { Cell::new(false) };
}

/// Size of a block for `layout`, what it is aligned to, and its class.
fn class(layout: Layout) -> (usize, usize, usize) {
    let size = layout.size().max(1).next_multiple_of(LINE);
    if size <= FINE && layout.align() <= LINE {
        return (size, LINE, size / LINE);
    }
    let size = size.max(layout.align()).next_power_of_two();
    (size, size.min(PAGE), COARSE + size.trailing_zeros() as usize)
}

impl Arena {
    fn new() -> Self {
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        let (free, made) = &mut *unused;
        if REGION_AT.load(Relaxed) == 0 {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: a new mapping, wherever the system puts it.
            let at = unsafe { mmap_anonymous(null_mut(), REGION, ProtFlags::empty(), flags) };
            REGION_AT.store(at.expect("address space for simulations") as usize, Relaxed);
        }
        let base = free.pop().unwrap_or_else(|| {
            assert!(*made < REGION / SIZE, "no more than {} arenas", REGION / SIZE);
            *made += 1;
            REGION_AT.load(Relaxed) + (*made - 1) * SIZE
        }) as *mut u8;
        // SAFETY: a part of the region that no other arena has.
        unsafe { mprotect(base.cast(), SIZE, MprotectFlags::READ | MprotectFlags::WRITE) }
            .expect("memory for simulations");
        Arena { base, used: 0, live: 0, free: [null_mut(); _] }
    }

    fn alloc(&mut self, layout: Layout) -> *mut u8 {
        assert!(layout.align() <= PAGE, "an alignment of at most a page");
        let (size, align, class) = class(layout);
        self.live += 1;
        let block = self.free[class];
        if !block.is_null() {
            // SAFETY: a free block holds the address of the next.
            self.free[class] = unsafe { *block.cast::<*mut u8>() };
            return block;
        }
        let at = self.used.next_multiple_of(align);
        assert!(size <= SIZE - at, "the simulated objects take more than 8 GiB");
        self.used = at + size;
        // SAFETY: within the arena, as just checked.
        unsafe { self.base.add(at) }
    }

    /// # Safety
    /// `memory` is a block of this arena for that layout, not used any more.
    unsafe fn dealloc(&mut self, memory: *mut u8, layout: Layout) {
        let (_, _, class) = class(layout);
        self.live -= 1;
        // SAFETY: a block has room for a pointer, and is ours now.
        unsafe { *memory.cast::<*mut u8>() = self.free[class] };
        self.free[class] = memory;
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // What is still in use stays where it is.
        if self.live == 0 {
            // SAFETY: nothing in the arena is used any more.
            let given_back =
                unsafe { madvise(self.base.cast(), SIZE, Advice::LinuxDontNeed) }.is_ok();
            if given_back {
                let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
                unused.0.push(self.base as usize);
            }
        }
    }
}

/// Address and length of this thread's arena.
pub(super) fn range() -> (usize, usize) {
    ARENA.with_borrow(|arena| (arena.base as usize, SIZE))
}

/// See `Platform::alloc`.
pub(super) fn alloc(layout: Layout) -> *mut u8 {
    let (block, offset) = ARENA.with_borrow_mut(|arena| {
        let block = arena.alloc(layout);
        (block, block as usize - arena.base as usize)
    });
    // What was there before had its own names.
    names::forget(offset, class(layout).0);
    block
}

/// See `Platform::dealloc`. Memory of another thread's arena is leaked.
///
/// # Safety
/// As for `Platform::dealloc`.
pub(super) unsafe fn dealloc(memory: *mut u8, layout: Layout) {
    // At the end of a thread its arena may be gone already; then the memory stays.
    let _ = ARENA.try_with(|arena| {
        let mut arena = arena.borrow_mut();
        if (memory as usize).wrapping_sub(arena.base as usize) < SIZE {
            // SAFETY: the caller's promise, and it is this arena's.
            unsafe { arena.dealloc(memory, layout) };
        }
    });
}

/// Runs `f` with [`Allocator`] taking memory from this thread's arena, or not.
pub(super) fn with_arena<R>(on: bool, f: impl FnOnce() -> R) -> R {
    /// Goes back to what was, also after a panic.
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            IN_ARENA.set(self.0);
        }
    }
    let _back = Back(IN_ARENA.replace(on));
    f()
}

/// Runs `f`, which makes or drops objects of a simulated kernel, with all its allocations in the arena (if the program has
/// [`Allocator`]). Tasks run like that anyway.
pub fn in_arena<R>(f: impl FnOnce() -> R) -> R {
    // Not for the first time while an allocation is under way.
    range();
    with_arena(true, f)
}

/// A global allocator that puts what a simulated kernel allocates (boxes, vectors, ...) into the arena, on cache lines of its own.
///
/// Without it, which of the kernel's boxes share a line is up to the host's allocator and to all that the process did before, so
/// that two runs with one seed may differ. Outside of [`in_arena`] and of tasks it is the system's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

// SAFETY: either the arena, whose blocks are as large and as aligned as asked and distinct, or the system's allocator; an address
// tells which of the two it came from.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IN_ARENA.get() && layout.align() <= PAGE {
            alloc(layout)
        } else {
            // SAFETY: the caller's promise.
            unsafe { System.alloc(layout) }
        }
    }
    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if in_region(memory) {
            // SAFETY: the caller's promise.
            unsafe { dealloc(memory, layout) }
        } else {
            // SAFETY: the caller's promise.
            unsafe { System.dealloc(memory, layout) }
        }
    }
    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !in_region(memory) && !IN_ARENA.get() {
            // SAFETY: the caller's promise.
            return unsafe { System.realloc(memory, layout, size) };
        }
        // SAFETY: the caller's promise: the size does not overflow when rounded up.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the size is above 0 (the caller's promise); the two blocks are distinct and as large as copied.
        unsafe {
            let to = self.alloc(new);
            if !to.is_null() {
                to.copy_from_nonoverlapping(memory, size.min(layout.size()));
                self.dealloc(memory, layout);
            }
            to
        }
    }
}

#[inline]
fn in_region(memory: *mut u8) -> bool {
    let region = REGION_AT.load(Relaxed);
    region != 0 && (memory as usize).wrapping_sub(region) < REGION
}
