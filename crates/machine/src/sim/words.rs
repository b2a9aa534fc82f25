//! Words and memory whose accesses are charged.
//!
//! Inside of a simulation only one coroutine of one host thread runs at a time, and an access is charged (which may switch to
//! others) before it is made: a load and a store are then one operation. Outside, the host's atomics do it.

use super::coherence::Kind::{Modify, Read, Write};
use super::engine::{charge, charge_range, probing, sleep_on, spin_until, wake};
use crate::platform::{Futex, Plain, PtrWord, Word};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The host's own way to wait, outside of a simulation.
fn spin_outside<T>(mut load: impl FnMut() -> T, mut done: impl FnMut(&T) -> bool) -> T {
    loop {
        let value = load();
        if done(&value) {
            return value;
        }
        std::thread::yield_now();
    }
}

// Relaxed inside of a simulation: there is one host thread.
macro_rules! word {
    ($(#[$doc:meta])* $sim:ident, $atomic:ident, $int:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $sim($atomic);

        impl $sim {
            #[inline(always)]
            fn address(&self) -> usize {
                self as *const Self as usize
            }

            #[inline(always)]
            fn modify(
                &self,
                inside: impl FnOnce($int) -> $int,
                outside: impl FnOnce(&$atomic) -> $int,
            ) -> $int {
                if charge(self.address(), Modify) {
                    let old = self.0.load(Relaxed);
                    self.0.store(inside(old), Relaxed);
                    old
                } else {
                    outside(&self.0)
                }
            }
        }

        impl Word<$int> for $sim {
            #[inline(always)]
            fn new(value: $int) -> Self {
                $sim($atomic::new(value))
            }
            #[inline(always)]
            fn load(&self, order: Ordering) -> $int {
                charge(self.address(), Read);
                self.0.load(order)
            }
            #[inline(always)]
            fn store(&self, value: $int, order: Ordering) {
                charge(self.address(), Write);
                self.0.store(value, if order == Ordering::SeqCst { Ordering::Release } else { order });
            }
            #[inline(always)]
            fn swap(&self, value: $int, order: Ordering) -> $int {
                if probing() && self.0.load(Relaxed) == value {
                    return value;
                }
                self.modify(|_| value, |word| word.swap(value, order))
            }
            #[inline(always)]
            fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                self.modify(|old| old.wrapping_add(value), |word| word.fetch_add(value, order))
            }
            #[inline(always)]
            fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                self.modify(|old| old.wrapping_sub(value), |word| word.fetch_sub(value, order))
            }
            #[inline(always)]
            fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                self.modify(|old| old | value, |word| word.fetch_or(value, order))
            }
            #[inline(always)]
            fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                self.modify(|old| old & value, |word| word.fetch_and(value, order))
            }
            #[inline(always)]
            fn compare_exchange(
                &self,
                current: $int,
                new: $int,
                ok: Ordering,
                err: Ordering,
            ) -> Result<$int, $int> {
                if probing() && self.0.load(Relaxed) != current {
                    return Err(self.0.load(Relaxed));
                }
                if !charge(self.address(), Modify) {
                    return self.0.compare_exchange(current, new, ok, err);
                }
                let old = self.0.load(Relaxed);
                if old != current {
                    return Err(old);
                }
                self.0.store(new, Relaxed);
                Ok(old)
            }
            fn spin_until(&self, order: Ordering, mut done: impl FnMut($int) -> bool) -> $int {
                let mut value = 0;
                let look = || {
                    value = self.0.load(order);
                    done(value)
                };
                if spin_until(self.address(), look) {
                    return value;
                }
                spin_outside(|| self.0.load(order), |value| done(*value))
            }
        }
    };
}

word! {
    /// 32 bits of a simulated machine.
    SimU32, AtomicU32, u32
}
word! {
    /// 64 bits of a simulated machine.
    SimU64, AtomicU64, u64
}

impl Futex for SimU32 {
    fn wait(&self, value: u32) {
        if !sleep_on(self.address(), || self.0.load(Relaxed) == value) {
            // Outside of a simulation nobody else is there to wake us up but another host thread.
            std::thread::yield_now();
        }
    }
    fn wake(&self, count: u32) {
        wake(self.address(), count);
    }
}

/// A pointer of a simulated machine.
#[repr(transparent)]
pub struct SimPtr<T>(AtomicPtr<T>);

impl<T> std::fmt::Debug for SimPtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> SimPtr<T> {
    #[inline(always)]
    fn address(&self) -> usize {
        self as *const Self as usize
    }
}

impl<T> PtrWord<T> for SimPtr<T> {
    #[inline(always)]
    fn new(value: *mut T) -> Self {
        SimPtr(AtomicPtr::new(value))
    }
    #[inline(always)]
    fn load(&self, order: Ordering) -> *mut T {
        charge(self.address(), Read);
        self.0.load(order)
    }
    #[inline(always)]
    fn store(&self, value: *mut T, order: Ordering) {
        charge(self.address(), Write);
        self.0.store(value, order);
    }
    #[inline(always)]
    fn swap(&self, value: *mut T, order: Ordering) -> *mut T {
        if !charge(self.address(), Modify) {
            return self.0.swap(value, order);
        }
        let old = self.0.load(Relaxed);
        self.0.store(value, Relaxed);
        old
    }
    #[inline(always)]
    fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        ok: Ordering,
        err: Ordering,
    ) -> Result<*mut T, *mut T> {
        if !charge(self.address(), Modify) {
            return self.0.compare_exchange(current, new, ok, err);
        }
        let old = self.0.load(Relaxed);
        if old != current {
            return Err(old);
        }
        self.0.store(new, Relaxed);
        Ok(old)
    }
    fn spin_until(&self, order: Ordering, mut done: impl FnMut(*mut T) -> bool) -> *mut T {
        let mut value = std::ptr::null_mut();
        let look = || {
            value = self.0.load(order);
            done(value)
        };
        if spin_until(self.address(), look) {
            return value;
        }
        spin_outside(|| self.0.load(order), |value| done(*value))
    }
}

/// [`Plain`] memory of a simulated machine: every line of it is charged.
#[derive(Debug)]
#[repr(transparent)]
pub struct SimCell<T>(UnsafeCell<T>);

// SAFETY: as for the real cell: it gives out pointers only, and whoever uses one must know that no other access conflicts.
unsafe impl<T: Send> Sync for SimCell<T> {}

impl<T: Send> Plain<T> for SimCell<T> {
    fn new(value: T) -> Self {
        SimCell(UnsafeCell::new(value))
    }
    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        charge_range(self.0.get() as usize, size_of::<T>(), Read);
        f(self.0.get())
    }
    #[inline(always)]
    fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        charge_range(self.0.get() as usize, size_of::<T>(), Write);
        f(self.0.get())
    }
    fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
