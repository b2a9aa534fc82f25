//! 2.6.14 and on: the table is one object under RCU, replaced as a whole as it grows; look-ups look twice.
//!
//! fget loads the table and the slot, raises f_count unless it is zero (rcuref_inc_lf, later atomic_long_inc_not_zero), and looks
//! again whether the slot still has the file; if not, it drops the reference and starts over. Files and old tables
//! are freed by RCU: a tight loop of open and close retires a file per turn and builds up a backlog.
//!
//! A look-up whose second look fails may hold the last reference, because the file was closed between the looks. It cannot take
//! a file apart, so it answers the file after all: it was under the descriptor at the first look, within this call, and its
//! memory has not been used again.
//!
//! The second look itself is of 5.16 (054aa8d439b9), where file passing needs it; what makes 2.6.14's look-up safe is RCU and
//! not-zero.
//!
//! Shared: no line in a look-up, but f_count twice if threads use one file. open writes the line of file_lock and next_fd
//! twice, close once; look-ups do not read that line.
//!
//! Ordering: table and slot are stored with Release and loaded with Acquire (rcu_assign_pointer, rcu_dereference). The count goes
//! up with Acquire and down with AcqRel; who finds zero acquires the clearing of the slot with it, so that starting over
//! does not find the same file for ever.
//!
//! Source: Linux 2.6.14, fs/file_table.c and fs/file.c, ab2af1f50050; the second look: 054aa8d439b9.

use super::array::index;
use super::fds::NR_OPEN_DEFAULT_64;
use super::fdtable::{Fdtable, FilesStruct};
use super::files;
use super::plain::{Plain, Table};
use super::{FdDesign, FdTable, Got};
use crate::design::{DesignInfo, Env};
use crate::object::{File, Raw};
use machine::{Cx, Platform, PtrWord};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use vfs_api::Errno;

/// The design.
pub struct Rcu;

impl Rcu {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "fd_table",
        name: "rcu",
        kernel: "2.6.14",
        source: "ab2af1f50050; second look 054aa8d439b9",
        shared: "none a look-up; f_count",
        reconstruction: false,
    };

    /// Makes it.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn FdDesign<P>> {
        Self::with_slots(env, NR_OPEN_DEFAULT_64)
    }

    /// With tables that start with `first` slots.
    pub(super) fn with_slots<P: Platform>(env: &Env, first: usize) -> Box<dyn FdDesign<P>> {
        Box::new(Plain::<P, RcuTable<P>>::new(env, first))
    }
}

struct RcuTable<P: Platform>(FilesStruct<P>);

/// Fills a larger table. Under file_lock.
fn copy<P: Platform>(from: &Fdtable<P>, to: &Fdtable<P>) {
    for (from, to) in from.iter().zip(&**to) {
        // Relaxed: slots change under the lock only, and the new table is nobody else's yet.
        to.store(from.load(Relaxed), Relaxed);
    }
}

impl<P: Platform> Table<P> for RcuTable<P> {
    const READERS_UNDER_RCU: bool = true;

    fn new(env: &Env, first: usize, limit: usize, shared: bool) -> Self {
        RcuTable(FilesStruct::new(env, first, limit, shared, false))
    }
}

impl<P: Platform> FdTable<P> for RcuTable<P> {
    fn reserve_from(&self, cx: Cx<'_, P>, least: usize) -> Result<i32, Errno> {
        self.0.reserve(cx, least, copy::<P>)
    }

    fn unreserve(&self, _cx: Cx<'_, P>, fd: i32) {
        self.0.unreserve(fd);
    }

    fn install(&self, _cx: Cx<'_, P>, fd: i32, file: Raw<File<P>>) {
        // Release: look-ups do not take the lock, and must see the file complete.
        self.0.with_lock(|table, _| table[fd as usize].store(file.ptr(), Release));
    }

    fn get(&self, _cx: Cx<'_, P>, fd: i32) -> Option<Got<P>> {
        let at = index(fd)?;
        loop {
            let table = self.0.table();
            let slot = table.get(at)?;
            let file = Raw::new(slot.load(Acquire))?;
            if !self.0.shared {
                return Some(Got { file, counted: false });
            }
            // SAFETY: the file is freed by RCU, not inside this read-side section.
            let count = &unsafe { file.get() }.count;
            if !files::inc_not_zero::<P>(count) {
                continue;
            }
            // Relaxed: only compared, and what was found at the first look is what will be used.
            let same = slot.load(Relaxed) == file.ptr() && std::ptr::eq(self.0.table(), table);
            if same || !files::dec_unless_last::<P>(count) {
                return Some(Got { file, counted: true });
            }
        }
    }

    fn put(&self, _cx: Cx<'_, P>, got: Got<P>) -> bool {
        // SAFETY: the caller holds a reference.
        got.counted && files::dec_and_test::<P>(&unsafe { got.file.get() }.count)
    }

    fn remove(&self, _cx: Cx<'_, P>, fd: i32) -> Option<Raw<File<P>>> {
        self.0.remove(fd)
    }

    fn used(&self) -> Vec<i32> {
        self.0.used()
    }
}
