//! Viro's counter-proposal in the thread of mail 001: file_lock becomes a reader-writer lock, and look-ups only read.
//!
//! Readers run beside each other, but the lock's word moves to each of them all the same, and twice: entering and leaving are
//! both locked operations, where a spinlock is left by a plain store. It measured no better than the spinlock.
//!
//! Shared: file_lock, twice a look-up (locked add on entry and on exit), and f_count twice, which is another thread's only if
//! both use one file.
//!
//! Ordering: as with the spinlock. Look-ups that run beside each other count on f_count by an atomic addition.
//!
//! Source: the thread of mail 001 (2004-08-02), "a dumb convert to rwlock patch"; never merged.

use super::FdDesign;
use super::fds::NR_OPEN_DEFAULT_32;
use super::locked::{FileLock, LockedTable};
use super::plain::Plain;
use crate::design::{DesignInfo, Env};
use machine::sync::RwSpin;
use machine::{Platform, SpinKind};

/// The design.
pub struct Rwlock;

impl Rwlock {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "fd_table",
        name: "rwlock",
        kernel: "proposed 2004",
        source: "thread of mail 001, 2004-08-02",
        shared: "file_lock twice a look-up; f_count",
        reconstruction: false,
    };

    /// Makes it.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn FdDesign<P>> {
        Self::with_slots(env, NR_OPEN_DEFAULT_32)
    }

    /// With tables that start with `first` slots.
    pub(super) fn with_slots<P: Platform>(env: &Env, first: usize) -> Box<dyn FdDesign<P>> {
        Box::new(Plain::<P, LockedTable<P, RwSpin<P>>>::new(env, first))
    }
}

impl<P: Platform> FileLock<P> for RwSpin<P> {
    fn new(_kind: SpinKind) -> Self {
        RwSpin::new("file_lock")
    }

    fn read<R>(&self, f: impl FnOnce() -> R) -> R {
        self.read_lock();
        let result = f();
        self.read_unlock();
        result
    }

    fn write<R>(&self, f: impl FnOnce() -> R) -> R {
        self.write_lock();
        let result = f();
        self.write_unlock();
        result
    }
}
