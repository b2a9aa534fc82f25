//! 2.6.7: a look-up takes the table's spinlock, and counts the file under it.
//!
//! fget is lock, bounds check, load, increment, unlock; the only user of a table needs neither lock nor count (fget_light). open takes
//! the lock to claim a descriptor and again to fill its slot, close once. As no look-up is outside the lock, a file is free
//! as soon as its last reference is gone.
//!
//! Shared: file_lock, once a look-up (the locked entry; the exit is a plain store), and f_count twice, which is another
//! thread's only if both use one file.
//!
//! Ordering: everything in the table is protected by the lock. f_count's last decrement is AcqRel, so that all uses of a file
//! are before its end.
//!
//! Source: Linux 2.6.7, fs/file_table.c and fs/open.c, by the context of the patches of mail 001.

use super::FdDesign;
use super::fds::NR_OPEN_DEFAULT_32;
use super::locked::{FileLock, LockedTable};
use super::plain::Plain;
use crate::design::{DesignInfo, Env};
use machine::sync::Spin;
use machine::{Platform, SpinKind};

/// The design.
pub struct Spinlock;

impl Spinlock {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "fd_table",
        name: "spinlock",
        kernel: "2.6.7",
        source: "context of the patches of mail 001",
        shared: "file_lock once a look-up; f_count",
        reconstruction: false,
    };

    /// Makes it.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn FdDesign<P>> {
        Self::with_slots(env, NR_OPEN_DEFAULT_32)
    }

    /// With tables that start with `first` slots.
    pub(super) fn with_slots<P: Platform>(env: &Env, first: usize) -> Box<dyn FdDesign<P>> {
        Box::new(Plain::<P, LockedTable<P, Spin<P>>>::new(env, first))
    }
}

impl<P: Platform> FileLock<P> for Spin<P> {
    fn new(kind: SpinKind) -> Self {
        Spin::new(kind, "file_lock")
    }

    fn read<R>(&self, f: impl FnOnce() -> R) -> R {
        self.with(f)
    }

    fn write<R>(&self, f: impl FnOnce() -> R) -> R {
        self.with(f)
    }
}
