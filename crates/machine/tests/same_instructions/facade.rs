//! Written over the facade. `by_hand.rs` has the same on std's atomics, name by name.

use machine::sync::PerCpu;
use machine::{Cpu, Platform, PtrWord, Real, Word};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

/// What a table points to.
pub(crate) struct File<P: Platform> {
    /// References.
    pub(crate) count: P::U64,
}

/// The slots.
pub(crate) struct Table<P: Platform> {
    /// Each null or a file.
    pub(crate) slots: Box<[P::Ptr<File<P>>]>,
}

/// Where the table is found.
pub(crate) struct Files<P: Platform> {
    /// The current one.
    pub(crate) table: P::Ptr<Table<P>>,
}

#[inline]
fn inc_not_zero<P: Platform>(count: &P::U64) -> bool {
    let mut found = count.load(Acquire);
    while found != 0 {
        match count.compare_exchange(found, found + 1, Acquire, Acquire) {
            Ok(_) => return true,
            Err(now) => found = now,
        }
    }
    false
}

#[inline]
fn dec_unless_last<P: Platform>(count: &P::U64) -> bool {
    let mut found = count.load(Relaxed);
    while found != 1 {
        match count.compare_exchange(found, found - 1, Release, Relaxed) {
            Ok(_) => return true,
            Err(now) => found = now,
        }
    }
    false
}

#[inline]
fn look_up<P: Platform>(files: &Files<P>, fd: i32) -> Option<&File<P>> {
    let at = usize::try_from(fd).ok()?;
    loop {
        // SAFETY: the caller keeps the table and the files alive.
        let table = unsafe { &*files.table.load(Acquire) };
        let slot = table.slots.get(at)?;
        let file = slot.load(Acquire);
        // SAFETY: as above.
        let count = &unsafe { file.as_ref() }?.count;
        if !inc_not_zero::<P>(count) {
            continue;
        }
        let same = slot.load(Relaxed) == file && std::ptr::eq(files.table.load(Acquire), table);
        if same || !dec_unless_last::<P>(count) {
            // SAFETY: as above.
            return unsafe { file.as_ref() };
        }
    }
}

#[inline]
fn put<P: Platform>(file: &File<P>) -> bool {
    file.count.fetch_sub(1, AcqRel) == 1
}

#[inline]
fn increment<P: Platform>(counters: &PerCpu<P, P::U64>, cpu: Cpu) {
    let counter = counters.get(cpu);
    counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
}

#[inline]
fn locked_increment<P: Platform>(counters: &PerCpu<P, P::U64>, cpu: Cpu) {
    counters.get(cpu).fetch_add(1, Relaxed);
}

#[inline]
fn fence<P: Platform>(a: &P::U64, b: &P::U64) -> u64 {
    a.store(1, Relaxed);
    P::fence(SeqCst);
    b.load(Relaxed)
}

/// The file of a descriptor, with a reference.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) fn facade_look_up(files: &Files<Real>, fd: i32) -> Option<&File<Real>> {
    look_up(files, fd)
}

/// Drops it.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) fn facade_put(file: &File<Real>) -> bool {
    put(file)
}

/// Adds 1 on one CPU, which nobody else writes.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) fn facade_increment(counters: &PerCpu<Real, <Real as Platform>::U64>, cpu: usize) {
    increment(counters, Cpu(cpu));
}

/// The same on a counter that others may write.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) fn facade_locked_increment(
    counters: &PerCpu<Real, <Real as Platform>::U64>,
    cpu: usize,
) {
    locked_increment(counters, Cpu(cpu));
}

/// One side of the store-buffering pattern. The one by hand has no fence: these differ.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) fn facade_fence(a: &<Real as Platform>::U64, b: &<Real as Platform>::U64) -> u64 {
    fence::<Real>(a, b)
}
