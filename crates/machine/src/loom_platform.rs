//! The machine of a model: loom's types, every interleaving.

use crate::accounting::Uncounted;
use crate::platform::{Futex, Plain, Platform, PtrWord, RawSpin, SpinKind, Word};
use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};
use std::alloc::{Layout, handle_alloc_error};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering;

/// A machine whose every interleaving loom explores. Values may be made only inside `loom::model`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loom;

macro_rules! word {
    ($atomic:ident, $int:ident) => {
        impl Word<$int> for $atomic {
            fn new(value: $int) -> Self {
                $atomic::new(value)
            }
            fn load(&self, order: Ordering) -> $int {
                $atomic::load(self, order)
            }
            fn store(&self, value: $int, order: Ordering) {
                $atomic::store(self, value, order);
            }
            fn swap(&self, value: $int, order: Ordering) -> $int {
                $atomic::swap(self, value, order)
            }
            fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                $atomic::fetch_add(self, value, order)
            }
            fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                $atomic::fetch_sub(self, value, order)
            }
            fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                $atomic::fetch_or(self, value, order)
            }
            fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                $atomic::fetch_and(self, value, order)
            }
            fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                ok: Ordering,
                err: Ordering,
            ) -> Result<$int, $int> {
                $atomic::compare_exchange(self, current, new, ok, err)
            }
            fn spin_until(&self, order: Ordering, mut done: impl FnMut($int) -> bool) -> $int {
                loop {
                    let value = $atomic::load(self, order);
                    if done(value) {
                        return value;
                    }
                    loom::thread::yield_now();
                }
            }
        }
    };
}

word!(AtomicU32, u32);
word!(AtomicU64, u64);

impl<T> PtrWord<T> for AtomicPtr<T> {
    fn new(value: *mut T) -> Self {
        AtomicPtr::new(value)
    }
    fn load(&self, order: Ordering) -> *mut T {
        AtomicPtr::load(self, order)
    }
    fn store(&self, value: *mut T, order: Ordering) {
        AtomicPtr::store(self, value, order);
    }
    fn swap(&self, value: *mut T, order: Ordering) -> *mut T {
        AtomicPtr::swap(self, value, order)
    }
    fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        ok: Ordering,
        err: Ordering,
    ) -> Result<*mut T, *mut T> {
        AtomicPtr::compare_exchange(self, current, new, ok, err)
    }
    fn spin_until(&self, order: Ordering, mut done: impl FnMut(*mut T) -> bool) -> *mut T {
        loop {
            let value = AtomicPtr::load(self, order);
            if done(value) {
                return value;
            }
            loom::thread::yield_now();
        }
    }
}

impl Futex for AtomicU32 {
    /// In a model a sleep is a yield that may end for no reason.
    fn wait(&self, _value: u32) {
        loom::thread::yield_now();
    }
    fn wake(&self, _count: u32) {}
}

/// [`Plain`] memory of which loom sees conflicting accesses.
#[derive(Debug)]
pub struct LoomCell<T>(loom::cell::UnsafeCell<T>);

// SAFETY: as for the real cell; loom reports an access that conflicts.
unsafe impl<T: Send> Sync for LoomCell<T> {}
// SAFETY: it owns a `Send` value.
unsafe impl<T: Send> Send for LoomCell<T> {}

impl<T: Send> Plain<T> for LoomCell<T> {
    fn new(value: T) -> Self {
        LoomCell(loom::cell::UnsafeCell::new(value))
    }
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.0.with(f)
    }
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.0.with_mut(f)
    }
    fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

type Guard = loom::sync::MutexGuard<'static, ()>;

/// loom's mutex in the shape of a spinlock: the guard is kept in the lock until `unlock`.
pub struct LoomSpin {
    mutex: loom::sync::Mutex<()>,
    guard: UnsafeCell<Option<Guard>>,
}

// SAFETY: `guard` is touched only by the holder of `mutex`.
unsafe impl Sync for LoomSpin {}
// SAFETY: loom runs all threads of a model on one; nothing really moves.
unsafe impl Send for LoomSpin {}

impl LoomSpin {
    fn keep(&self, guard: loom::sync::MutexGuard<'_, ()>) {
        // SAFETY: the guard is dropped in `unlock`, before the lock can be: whoever drops a locked lock has a bug that loom
        // reports. The caller holds the mutex, so nobody else touches `guard`.
        unsafe {
            *self.guard.get() =
                Some(std::mem::transmute::<loom::sync::MutexGuard<'_, ()>, Guard>(guard))
        }
    }
}

impl RawSpin for LoomSpin {
    fn new(_kind: SpinKind) -> Self {
        LoomSpin { mutex: loom::sync::Mutex::new(()), guard: UnsafeCell::new(None) }
    }
    fn lock(&self) {
        self.keep(self.mutex.lock().expect("no panic while it is held"));
    }
    fn try_lock(&self) -> bool {
        match self.mutex.try_lock() {
            Ok(guard) => {
                self.keep(guard);
                true
            }
            Err(_) => false,
        }
    }
    fn unlock(&self) {
        // SAFETY: the caller holds the mutex.
        let guard = unsafe { (*self.guard.get()).take() };
        drop(guard.expect("unlock of a lock that is not held"));
    }
}

impl Platform for Loom {
    type U32 = AtomicU32;
    type U64 = AtomicU64;
    type Ptr<T: 'static> = AtomicPtr<T>;
    type Cell<T: Send + 'static> = LoomCell<T>;
    type Spin = LoomSpin;
    type Tag = Uncounted;

    fn fence(order: Ordering) {
        loom::sync::atomic::fence(order);
    }
    fn relax() {
        loom::thread::yield_now();
    }
    fn work(_ns: u32) {}
    fn now_ns() -> u64 {
        0
    }
    fn alloc(layout: Layout) -> *mut u8 {
        // SAFETY: the size is above 0 (the facade's contract).
        let memory = unsafe { std::alloc::alloc(layout) };
        if memory.is_null() { handle_alloc_error(layout) } else { memory }
    }
    unsafe fn dealloc(memory: *mut u8, layout: Layout) {
        // SAFETY: handed on to the caller.
        unsafe { std::alloc::dealloc(memory, layout) }
    }
}
