//! Steps on the orphan list that its designs have in common: on disk a chain of inode numbers, in memory the same as a doubly
//! linked list. The predecessor on disk is found in memory, so both have the same order at any time.

use super::disk::{Handle, SuperAccess};
use super::node::{Anchor, OrphanNode};
use machine::sync::{Mutex, MutexKind};
use machine::{POwned, Platform};

/// Puts the inode at the head of the on-disk list, in the buffers; both are then to be dirtied.
///
/// # Safety
/// The caller holds the lock of the on-disk list and has write access to the inode's buffer.
pub(super) unsafe fn push<P: Platform>(access: &SuperAccess<'_, P>, inode: &OrphanNode<P>) {
    // SAFETY: the caller's promise, for both.
    unsafe {
        inode.set_next_orphan(access.last_orphan());
        access.set_last_orphan(inode.ino());
    }
}

/// Takes an inode that is not the head off the on-disk list: its predecessor points past it.
///
/// The caller holds the lock of the on-disk list, under which `prev` is the predecessor.
pub(super) fn bypass<P: Platform>(handle: &Handle<'_, P>, prev: &OrphanNode<P>, next_ino: u32) {
    let access = handle.reserve_inode_write(prev.ino());
    prev.set_next_orphan(next_ino);
    handle.mark_next_dirty(&access, prev);
}

/// The list of 3.15 and later: s_orphan beside its mutex, s_orphan_lock, which also is the lock of the on-disk list.
pub(super) type OrphanList<P> = POwned<P, Anchor<P, Mutex<P>>>;

/// An empty one.
pub(super) fn new<P: Platform>() -> OrphanList<P> {
    // Mutexes spin since 2.6.30; every design here is later.
    let list = POwned::new(Anchor::new(Mutex::new(MutexKind::Spinning, "s_orphan_lock")));
    list.init();
    list
}
