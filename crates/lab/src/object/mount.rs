//! struct vfsmount: a tree seen at a place.

use super::{Raw, SuperBlock};
use crate::mount_ref::MountRef;
use crate::path_walk::Dentry;
use crate::write_count::MountWriters;
use machine::{Cx, Platform, Word};
use std::sync::atomic::Ordering::Relaxed;
use vfs_api::Errno;

/// A mount: a tree seen at a place. A bind mount is a second one of the same super block.
pub struct Mount<P: Platform> {
    /// Unique in the kernel.
    pub id: u32,
    /// What is mounted. Super blocks outlive their mounts.
    pub sb: Raw<SuperBlock<P>>,
    /// The dentry seen at the mount's root; the mount holds a reference.
    pub root: Raw<Dentry<P>>,
    /// mnt_count, by design.
    pub refs: Box<dyn MountRef<P>>,
    /// The writers of this mount, by design.
    pub writers: Box<dyn MountWriters<P>>,
    /// 1 while somebody tries to take it out of the tree, and for ever after he has: who has found it under RCU alone must look again.
    pub leaving: P::U32,
}

impl<P: Platform> Mount<P> {
    /// Begins to write on it (mnt_want_write).
    ///
    /// # Errors
    /// EROFS.
    #[inline]
    pub fn want_write(&self, cx: Cx<'_, P>) -> Result<(), Errno> {
        self.writers.want(cx)
    }

    /// Takes a reference, for who has found it in this call under RCU alone (legitimize_mnt). False if it was too late, or may
    /// have been: look it up under the lock that unmounting takes.
    ///
    /// The kernel looks at mount_lock's sequence, after a full barrier (119e1ef80ecf); here the grace period of
    /// [`Mount::leave`] is the barrier, and nothing is shared but what unmounting writes.
    #[inline]
    pub fn legitimize(&self, cx: Cx<'_, P>) -> bool {
        self.refs.get(cx);
        // Relaxed: see `leave`.
        let there = self.leaving.load(Relaxed) == 0;
        if !there {
            self.refs.put(cx);
        }
        there
    }

    /// Takes it out of the tree by `unhash`, if nobody holds a reference; else nobody has missed it. Under the namespace
    /// semaphore, with no reference and nothing under RCU held.
    ///
    /// Who finds it under the lock takes his reference there, and is seen or too late. Who finds it under RCU alone and does not
    /// see the mark has begun his call before the grace period, at the end of which his reference is seen; who sees it comes
    /// back under the lock.
    pub fn leave(&self, cx: Cx<'_, P>, unhash: &mut dyn FnMut()) -> bool {
        // Relaxed, here and below: the grace period orders the mark with the references; that it is gone need not be seen soon.
        self.leaving.store(1, Relaxed);
        cx.rcu.synchronize(cx);
        let left = self.refs.detach(cx, unhash);
        if !left {
            self.leaving.store(0, Relaxed);
        }
        left
    }

    /// Ends to write on it within the call that began (mnt_drop_write).
    #[inline]
    pub fn drop_write(&self, cx: Cx<'_, P>) {
        // By the trait's name: a Box has a destructor of the same name.
        MountWriters::drop(&*self.writers, cx);
    }
}
