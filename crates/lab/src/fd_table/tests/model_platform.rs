//! loom's machine, but for plain stores to integers.
//!
//! loom 0.7 lets a read-modify-write operation that runs beside a plain store read the value before the store and yet come after
//! it (its issue 254), which no machine does: a late look-up that counts on a file just when its memory is used again would bring
//! the dead count back. Here a store is an exchange. It orders a little more than a store does: it goes on with a
//! release sequence that a store would end.

use machine::{Futex, Loom, Platform, Word, as_on};
use std::sync::atomic::Ordering;

/// The machine of the models.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Model;

/// An integer of [`Loom`] that is stored to by exchange.
#[derive(Debug)]
pub(super) struct Exchanged<W>(W);

impl<T: Copy, W: Word<T>> Word<T> for Exchanged<W> {
    fn new(value: T) -> Self {
        Exchanged(W::new(value))
    }
    fn load(&self, order: Ordering) -> T {
        self.0.load(order)
    }
    fn store(&self, value: T, order: Ordering) {
        self.0.swap(value, order);
    }
    fn swap(&self, value: T, order: Ordering) -> T {
        self.0.swap(value, order)
    }
    fn fetch_add(&self, value: T, order: Ordering) -> T {
        self.0.fetch_add(value, order)
    }
    fn fetch_sub(&self, value: T, order: Ordering) -> T {
        self.0.fetch_sub(value, order)
    }
    fn fetch_or(&self, value: T, order: Ordering) -> T {
        self.0.fetch_or(value, order)
    }
    fn fetch_and(&self, value: T, order: Ordering) -> T {
        self.0.fetch_and(value, order)
    }
    fn compare_exchange(&self, current: T, new: T, ok: Ordering, err: Ordering) -> Result<T, T> {
        self.0.compare_exchange(current, new, ok, err)
    }
    fn spin_until(&self, order: Ordering, done: impl FnMut(T) -> bool) -> T {
        self.0.spin_until(order, done)
    }
}

impl<W: Futex> Futex for Exchanged<W> {
    fn wait(&self, value: u32) {
        self.0.wait(value);
    }
    fn wake(&self, count: u32) {
        self.0.wake(count);
    }
}

impl Platform for Model {
    type U32 = Exchanged<<Loom as Platform>::U32>;
    type U64 = Exchanged<<Loom as Platform>::U64>;
    as_on!(Loom: Ptr Cell Spin Tag fence rest memory);
}
