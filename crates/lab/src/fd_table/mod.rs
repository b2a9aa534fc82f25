//! From a descriptor to struct file: reserve, install, get, put, remove, and the reference count that goes with it (threads: mail 001).
//!
//! The table is one per process and shared by its threads. The design also decides how `f_count` is encoded and when the
//! memory of a file may be used again: at once where a lock protects the look-up, after a grace period where RCU does, at once
//! again where the memory stays of the type.

mod array;
mod fds;
mod fdtable;
mod file_ref;
mod files;
mod locked;
mod plain;
#[cfg(test)]
mod tests;

use crate::design::designs;
use crate::object::{File, Raw};
use machine::{Cx, Platform};
use vfs_api::Errno;

/// What [`FdTable::get`] answers.
#[derive(Clone, Copy, Debug)]
pub struct Got<P: Platform> {
    /// The file.
    pub file: Raw<File<P>>,
    /// Whether a reference was taken; not for the only user of a table (fget_light), whose table's reference will do.
    pub counted: bool,
}

/// A descriptor table.
///
/// Files are made by [`FdDesign::alloc`] with one reference, which `install` moves into the table and `remove` moves out.
/// Descriptors are given out lowest first (POSIX).
pub trait FdTable<P: Platform>: Send + Sync {
    /// Claims the lowest free descriptor (get_unused_fd). Linux does so before it looks at the path: EMFILE comes before ENOENT,
    /// and before a file is made or cut.
    ///
    /// # Errors
    /// EMFILE if the limit is reached.
    fn reserve(&self, cx: Cx<'_, P>) -> Result<i32, Errno> {
        self.reserve_from(cx, 0)
    }

    /// Claims the lowest free descriptor from `least` on (F_DUPFD), which is below the limit.
    ///
    /// # Errors
    /// EMFILE if there is none.
    fn reserve_from(&self, cx: Cx<'_, P>, least: usize) -> Result<i32, Errno>;

    /// Gives a claimed descriptor back (put_unused_fd).
    fn unreserve(&self, cx: Cx<'_, P>, fd: i32);

    /// Puts the file under a claimed descriptor, with the caller's reference (fd_install).
    fn install(&self, cx: Cx<'_, P>, fd: i32, file: Raw<File<P>>);

    /// Looks a descriptor up (fget).
    fn get(&self, cx: Cx<'_, P>, fd: i32) -> Option<Got<P>>;

    /// Ends the use of what `get` answered. True if that was the last reference: the caller then takes the file apart and
    /// hands it to [`FdDesign::free`].
    fn put(&self, cx: Cx<'_, P>, got: Got<P>) -> bool;

    /// Takes the file out of the table (close); the table's reference is the caller's now.
    fn remove(&self, cx: Cx<'_, P>, fd: i32) -> Option<Raw<File<P>>>;

    /// Every descriptor in use, ascending; to close them all when the process ends. The caller is alone with the table.
    fn used(&self) -> Vec<i32>;
}

/// A design: makes tables and files that belong together.
pub trait FdDesign<P: Platform>: Send + Sync {
    /// A table of at most `limit` descriptors (RLIMIT_NOFILE) that starts small and grows. `shared`: by several threads.
    fn table(&self, limit: usize, shared: bool) -> Box<dyn FdTable<P>>;

    /// A file with one reference, owned by the caller.
    fn alloc(&self, cx: Cx<'_, P>) -> Raw<File<P>>;

    /// One more reference, for who holds one (dup, get_file).
    fn get_again(&self, file: &File<P>);

    /// Drops a reference that is in no table (the one that `remove` answered, or a second one). True if it was the last.
    fn drop_ref(&self, file: &File<P>) -> bool;

    /// Gives back a file whose last reference is gone.
    ///
    /// # Safety
    /// [`FdTable::put`] or [`FdDesign::drop_ref`] has answered true for it, or [`FdDesign::delayed`] has answered it, once; nobody
    /// else will free it.
    unsafe fn free(&self, cx: Cx<'_, P>, file: Raw<File<P>>);

    /// A file whose last reference a look-up on this CPU was left with, where nobody could be told (delayed_fput): the caller takes
    /// it apart and hands it to [`FdDesign::free`]. To be asked at the end of each call that looks descriptors up, until there is none.
    fn delayed(&self, _cx: Cx<'_, P>) -> Option<Raw<File<P>>> {
        None
    }

    /// Files allocated and not given back. RCU callbacks that still hold some must have been drained.
    ///
    /// # Safety
    /// The caller is alone with the kernel.
    unsafe fn in_use(&self) -> u64;
}

designs! {
    FdDesign;
    spinlock::Spinlock,
    rwlock::Rwlock,
    kref::Kref,
    rcu::Rcu,
    typesafe::Typesafe,
}
