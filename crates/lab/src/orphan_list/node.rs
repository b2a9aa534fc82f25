//! An inode's part of the orphan list: the fields of struct ext4_inode_info that the designs use.

use crate::design::Env;
use machine::{Platform, PtrWord, Word};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;

/// Place of an inode on the orphan list, or in the orphan file.
///
/// A recorded node is linked from its neighbours: it must neither move nor be dropped until [`Orphans::del`](super::Orphans::del)
/// or [`OrphanNode::abandon`]. Dropping it earlier panics, as ext4 complains when such an inode is freed.
///
/// All fields are atomics with Relaxed accesses. The links and `next_orphan` are changed under the list's lock, by
/// neighbours too. What is read without it is only whether the node is on a list at all: that changes under the inode's
/// lock, which the reader holds, while neighbours replace one non-null link by another.
pub struct OrphanNode<P: Platform> {
    /// i_orphan.next; null if on no list.
    next: P::Ptr<OrphanNode<P>>,
    /// i_orphan.prev.
    prev: P::Ptr<OrphanNode<P>>,
    /// NEXT_ORPHAN: i_dtime while the inode is on the list.
    next_orphan: P::U32,
    /// 0, or 1 + the entry in the orphan file (EXT4_STATE_ORPHAN_FILE and i_orphan_idx).
    entry: P::U32,
    ino: u32,
}

impl<P: Platform> OrphanNode<P> {
    /// Of the inode with that number; not recorded.
    pub fn new(_env: &Env, ino: u32) -> Self {
        Self::unlinked(ino)
    }

    fn unlinked(ino: u32) -> Self {
        OrphanNode {
            next: P::Ptr::new(null_mut()),
            prev: P::Ptr::new(null_mut()),
            next_orphan: P::U32::new(0),
            entry: P::U32::new(0),
            ino,
        }
    }

    /// Inode number.
    pub fn ino(&self) -> u32 {
        self.ino
    }

    /// Forgets that the inode is recorded, so that it may be dropped: the kernel ends as if by a crash.
    ///
    /// # Safety
    /// The caller is alone with the super block, and nobody calls its orphans again.
    pub unsafe fn abandon(&self) {
        self.next.store(null_mut(), Relaxed);
        self.prev.store(null_mut(), Relaxed);
        self.entry.store(0, Relaxed);
    }

    /// Whether it is on the list. Under the inode's lock.
    pub(super) fn is_listed(&self) -> bool {
        !self.next.load(Relaxed).is_null()
    }

    /// Number of the next inode on disk; 0 at the end.
    pub(super) fn next_orphan(&self) -> u32 {
        self.next_orphan.load(Relaxed)
    }

    pub(super) fn set_next_orphan(&self, ino: u32) {
        self.next_orphan.store(ino, Relaxed);
    }

    /// Its entry in the orphan file. Under the inode's lock.
    pub(super) fn entry(&self) -> Option<usize> {
        self.entry.load(Relaxed).checked_sub(1).map(|entry| entry as usize)
    }

    pub(super) fn set_entry(&self, entry: Option<usize>) {
        let entry = entry.map_or(0, |entry| entry + 1);
        self.entry.store(u32::try_from(entry).expect("an orphan file has few entries"), Relaxed);
    }
}

impl<P: Platform> Drop for OrphanNode<P> {
    fn drop(&mut self) {
        // The anchor of a list has no number and points to itself.
        if self.ino != 0 && !std::thread::panicking() {
            assert!(!self.is_listed(), "inode {} freed while it is on the orphan list", self.ino);
        }
    }
}

/// The list in memory: s_orphan and the lock beside it, on one line as in struct ext4_sb_info.
#[repr(C)]
pub(super) struct Anchor<P: Platform, L> {
    /// Circular: the first one is `head.next`.
    head: OrphanNode<P>,
    pub(super) lock: L,
}

impl<P: Platform, L> Anchor<P, L> {
    /// To be moved to its final place and then closed by [`Anchor::init`].
    pub(super) fn new(lock: L) -> Self {
        Anchor { head: OrphanNode::unlinked(0), lock }
    }

    /// INIT_LIST_HEAD. The anchor does not move any more.
    pub(super) fn init(&self) {
        self.head.next.store(ptr(&self.head), Relaxed);
        self.head.prev.store(ptr(&self.head), Relaxed);
    }

    /// list_add: at the head.
    ///
    /// # Safety
    /// The caller holds the list's lock; the node is on no list and stays where it is until it is taken off.
    pub(super) unsafe fn add(&self, node: &OrphanNode<P>) {
        let first = self.head.next.load(Relaxed);
        // SAFETY: what is on the list lives (OrphanNode's contract), the anchor too.
        unsafe { (*first).prev.store(ptr(node), Relaxed) };
        node.next.store(first, Relaxed);
        node.prev.store(ptr(&self.head), Relaxed);
        self.head.next.store(ptr(node), Relaxed);
    }

    /// list_del_init; answers the predecessor, none if the node was the first.
    ///
    /// # Safety
    /// The caller holds the list's lock, under which the answer may be used; the node is on this list.
    pub(super) unsafe fn del(&self, node: &OrphanNode<P>) -> Option<&OrphanNode<P>> {
        let (prev, next) = (node.prev.load(Relaxed), node.next.load(Relaxed));
        // SAFETY: neighbours on the list live (OrphanNode's contract).
        let prev = unsafe { &*prev };
        prev.next.store(next, Relaxed);
        // SAFETY: as above.
        unsafe { (*next).prev.store(ptr(prev), Relaxed) };
        node.next.store(null_mut(), Relaxed);
        node.prev.store(null_mut(), Relaxed);
        (prev.ino != 0).then_some(prev)
    }

    /// Numbers of the inodes on the list, last added first.
    ///
    /// # Safety
    /// The caller holds the list's lock or is alone with the super block.
    pub(super) unsafe fn inos(&self) -> Vec<u32> {
        let mut inos = Vec::new();
        let mut at = self.head.next.load(Relaxed);
        while at != ptr(&self.head) {
            // SAFETY: what is on the list lives (OrphanNode's contract).
            let node = unsafe { &*at };
            inos.push(node.ino);
            at = node.next.load(Relaxed);
        }
        inos
    }
}

fn ptr<P: Platform>(node: &OrphanNode<P>) -> *mut OrphanNode<P> {
    std::ptr::from_ref(node).cast_mut()
}
