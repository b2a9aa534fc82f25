//! Written by hand on std's atomics: what `facade.rs` is to compile to.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU64};

/// What a table points to.
pub(crate) struct File {
    /// References.
    pub(crate) count: AtomicU64,
}

/// The slots.
pub(crate) struct Table {
    /// Each null or a file.
    pub(crate) slots: Box<[AtomicPtr<File>]>,
}

/// Where the table is found.
pub(crate) struct Files {
    /// The current one.
    pub(crate) table: AtomicPtr<Table>,
}

/// A counter on lines of its own.
#[repr(align(128))]
pub(crate) struct Counter(pub(crate) AtomicU64);

/// One per CPU: address and number, as a slice.
pub(crate) struct Counters {
    /// Them.
    pub(crate) counters: Box<[Counter]>,
}

/// The file of a descriptor, with a reference.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) fn by_hand_look_up(files: &Files, fd: i32) -> Option<&File> {
    if fd < 0 {
        return None;
    }
    loop {
        // SAFETY: the caller keeps the table and the files alive.
        let table = unsafe { &*files.table.load(Acquire) };
        let slot = table.slots.get(fd as usize)?;
        let file = slot.load(Acquire);
        if file.is_null() {
            return None;
        }
        // SAFETY: as above.
        let found = unsafe { &*file };
        let mut count = found.count.load(Acquire);
        loop {
            if count == 0 {
                break;
            }
            match found.count.compare_exchange(count, count + 1, Acquire, Acquire) {
                Ok(_) => break,
                Err(now) => count = now,
            }
        }
        if count == 0 {
            continue;
        }
        if slot.load(Relaxed) == file && std::ptr::eq(files.table.load(Acquire), table) {
            return Some(found);
        }
        count = found.count.load(Relaxed);
        loop {
            if count == 1 {
                return Some(found);
            }
            match found.count.compare_exchange(count, count - 1, Release, Relaxed) {
                Ok(_) => break,
                Err(now) => count = now,
            }
        }
    }
}

/// Drops it.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) fn by_hand_put(file: &File) -> bool {
    file.count.fetch_sub(1, AcqRel) == 1
}

/// Adds 1 on one CPU, which nobody else writes.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) fn by_hand_increment(counters: &Counters, cpu: usize) {
    let counter = &counters.counters[cpu].0;
    counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
}

/// The same on a counter that others may write.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) fn by_hand_locked_increment(counters: &Counters, cpu: usize) {
    counters.counters[cpu].0.fetch_add(1, Relaxed);
}

/// Not one side of the store-buffering pattern: it has no fence.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) fn by_hand_fence(a: &AtomicU64, b: &AtomicU64) -> u64 {
    a.store(1, Relaxed);
    b.load(Relaxed)
}
