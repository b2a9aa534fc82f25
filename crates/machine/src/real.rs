//! This machine: std's atomics.

use crate::accounting::{Name, Uncounted};
use crate::platform::{Futex, Plain, Platform, PtrWord, Word};
use crate::sync::spin::WordSpin;
use std::alloc::{Layout, handle_alloc_error};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// This machine, nothing counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Real;

/// This machine, with every lock counted and timed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted;

macro_rules! word {
    ($atomic:ident, $int:ident) => {
        impl Word<$int> for $atomic {
            #[inline(always)]
            fn new(value: $int) -> Self {
                $atomic::new(value)
            }
            #[inline(always)]
            fn load(&self, order: Ordering) -> $int {
                $atomic::load(self, order)
            }
            #[inline(always)]
            fn store(&self, value: $int, order: Ordering) {
                $atomic::store(self, value, order);
            }
            #[inline(always)]
            fn swap(&self, value: $int, order: Ordering) -> $int {
                $atomic::swap(self, value, order)
            }
            #[inline(always)]
            fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                $atomic::fetch_add(self, value, order)
            }
            #[inline(always)]
            fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                $atomic::fetch_sub(self, value, order)
            }
            #[inline(always)]
            fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                $atomic::fetch_or(self, value, order)
            }
            #[inline(always)]
            fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                $atomic::fetch_and(self, value, order)
            }
            #[inline(always)]
            fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                ok: Ordering,
                err: Ordering,
            ) -> Result<$int, $int> {
                $atomic::compare_exchange(self, current, new, ok, err)
            }
            #[inline(always)]
            fn spin_until(&self, order: Ordering, mut done: impl FnMut($int) -> bool) -> $int {
                let mut spins = Spins::default();
                loop {
                    let value = $atomic::load(self, order);
                    if done(value) {
                        return value;
                    }
                    spins.wait();
                }
            }
        }
    };
}

word!(AtomicU32, u32);
word!(AtomicU64, u64);

/// Spins politely. A kernel spins with preemption off, so that the holder runs; a user-space task can be preempted while it
/// holds a lock, and then everybody else would burn their time slices: after a while it yields the CPU.
#[derive(Default)]
struct Spins(u32);

impl Spins {
    /// Before the first yield: some tens of microseconds.
    const BEFORE_YIELD: u32 = 1000;

    #[inline]
    fn wait(&mut self) {
        if self.0 < Self::BEFORE_YIELD {
            self.0 += 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

impl<T> PtrWord<T> for AtomicPtr<T> {
    #[inline(always)]
    fn new(value: *mut T) -> Self {
        AtomicPtr::new(value)
    }
    #[inline(always)]
    fn load(&self, order: Ordering) -> *mut T {
        AtomicPtr::load(self, order)
    }
    #[inline(always)]
    fn store(&self, value: *mut T, order: Ordering) {
        AtomicPtr::store(self, value, order);
    }
    #[inline(always)]
    fn swap(&self, value: *mut T, order: Ordering) -> *mut T {
        AtomicPtr::swap(self, value, order)
    }
    #[inline(always)]
    fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        ok: Ordering,
        err: Ordering,
    ) -> Result<*mut T, *mut T> {
        AtomicPtr::compare_exchange(self, current, new, ok, err)
    }
    #[inline(always)]
    fn spin_until(&self, order: Ordering, mut done: impl FnMut(*mut T) -> bool) -> *mut T {
        let mut spins = Spins::default();
        loop {
            let value = AtomicPtr::load(self, order);
            if done(value) {
                return value;
            }
            spins.wait();
        }
    }
}

impl Futex for AtomicU32 {
    fn wait(&self, value: u32) {
        // Woken, changed already or interrupted: the caller looks again in any case.
        let _ =
            rustix::thread::futex::wait(self, rustix::thread::futex::Flags::PRIVATE, value, None);
    }

    fn wake(&self, count: u32) {
        // It fails only for an address that is not mapped.
        let _ = rustix::thread::futex::wake(self, rustix::thread::futex::Flags::PRIVATE, count);
    }
}

/// [`Plain`] memory of this machine.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct RealCell<T>(UnsafeCell<T>);

// SAFETY: a cell gives out pointers only; whoever uses one must know that no other access conflicts (see `Plain`), which
// makes it a place for a `Send` value, as a mutex is.
unsafe impl<T: Send> Sync for RealCell<T> {}

impl<T: Send> Plain<T> for RealCell<T> {
    #[inline(always)]
    fn new(value: T) -> Self {
        RealCell(UnsafeCell::new(value))
    }
    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }
    #[inline(always)]
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
    #[inline(always)]
    fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

macro_rules! real_platform {
    ($platform:ident, $tag:ty) => {
        impl Platform for $platform {
            type U32 = AtomicU32;
            type U64 = AtomicU64;
            type Ptr<T: 'static> = AtomicPtr<T>;
            type Cell<T: Send + 'static> = RealCell<T>;
            type Spin = WordSpin<$platform>;
            type Tag = $tag;

            #[inline(always)]
            fn fence(order: Ordering) {
                std::sync::atomic::fence(order);
            }
            #[inline(always)]
            fn relax() {
                std::hint::spin_loop();
            }
            #[inline(always)]
            fn work(_ns: u32) {}
            fn now_ns() -> u64 {
                let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
                t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
            }
            fn alloc(layout: Layout) -> *mut u8 {
                debug_assert!(layout.size() > 0);
                // SAFETY: the size is above 0 (the facade's contract).
                let memory = unsafe { std::alloc::alloc(layout) };
                if memory.is_null() { handle_alloc_error(layout) } else { memory }
            }
            unsafe fn dealloc(memory: *mut u8, layout: Layout) {
                // SAFETY: handed on to the caller.
                unsafe { std::alloc::dealloc(memory, layout) }
            }
        }
    };
}

real_platform!(Real, Uncounted);
real_platform!(Counted, Name);
