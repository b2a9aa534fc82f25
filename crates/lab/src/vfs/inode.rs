//! Inodes: made, cut, and gone.

use super::Kernel;
use super::kernel::Numbers;
use crate::object::{FileData, Inode, Kind, Raw};
use crate::orphan_list::{InodeImage, OrphanNode};
use crate::path_walk::Dentry;
use machine::{Cx, POwned, Plain, Platform, Word};
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use vfs_api::Errno;

impl<P: Platform> Kernel<P> {
    /// A new inode with one name to come, recorded on disk.
    ///
    /// # Errors
    /// ENOSPC if the inode table is full.
    pub(super) fn new_inode(&self, cx: Cx<'_, P>, kind: Kind) -> Result<Raw<Inode<P>>, Errno> {
        let ino = self.with_numbers(cx, Numbers::take).ok_or(Errno::NOSPC)?;
        // Links of a directory: its name and its ".".
        let (lock, nlink) = match kind {
            Kind::Directory => ("i_mutex (directory)", 2),
            Kind::Regular => ("i_mutex (file)", 1),
        };
        let inode = POwned::<P, _>::new(Inode {
            ino,
            kind,
            sb: Raw::of(self.sb()),
            lock: self.dir_locks.inode(lock),
            nlink: P::U32::new(nlink),
            count: P::U64::new(1),
            data: FileData::new(self.env.spin),
            orphan: OrphanNode::new(&self.env, ino),
        });
        P::name(&inode.count, "inode.i_count");
        P::name(&inode.nlink, "inode.i_nlink");
        inode.data.name_lines();
        P::name(&inode.orphan, "inode.i_orphan");
        // Relaxed: only this CPU changes its counter.
        let nr = self.nr_inodes.get(cx.cpu);
        nr.store(nr.load(Relaxed).wrapping_add(1), Relaxed);
        let handle = self.sb().orphans.disk().start(cx);
        handle.set_inode(ino, InodeImage { nlink, size: 0, used: true });
        handle.stop();
        let raw = Raw::of(&*inode);
        inode.into_raw();
        Ok(raw)
    }

    fn with_numbers<R>(&self, cx: Cx<'_, P>, f: impl FnOnce(&mut Numbers) -> R) -> R {
        // SAFETY: only the CPU itself touches its share.
        self.numbers.get(cx.cpu).with_mut(|numbers| f(unsafe { &mut *numbers }))
    }

    /// Writes the inode's links and size to disk.
    pub(super) fn record(&self, cx: Cx<'_, P>, inode: &Inode<P>, size: u64) {
        let handle = self.sb().orphans.disk().start(cx);
        let nlink = inode.nlink.load(Relaxed);
        handle.set_inode(inode.ino, InodeImage { nlink, size, used: true });
        handle.stop();
    }

    /// The inode lost its last name: it is an orphan until nobody uses it any more. Under the directory's lock.
    pub(super) fn now_nameless(&self, cx: Cx<'_, P>, inode: &Inode<P>) {
        let sb = self.sb();
        // AcqRel: a remount looks when no writer is left, and this is done as one (`remount_super`).
        sb.remove_count.fetch_add(1, AcqRel);
        let size = inode.data.size();
        let handle = sb.orphans.disk().start(cx);
        handle.set_inode(inode.ino, InodeImage { nlink: 0, size, used: true });
        sb.orphans.add(cx, &handle, &inode.orphan);
        handle.stop();
    }

    /// Cuts or extends a file as ext4 does: cutting makes it an orphan meanwhile, in two transactions; so does setting the
    /// length it has, to cut off preallocated blocks: O_TRUNC of an empty file is an orphan add and delete. Under the inode's lock.
    pub(super) fn truncate(&self, cx: Cx<'_, P>, inode: &Inode<P>, len: u64) {
        let orphans = &self.sb().orphans;
        let nlink = inode.nlink.load(Relaxed);
        let image = InodeImage { nlink, size: len, used: true };
        let before = inode.data.size();
        if len > before {
            inode.data.change(|data| data.resize(len as usize, 0));
            let handle = orphans.disk().start(cx);
            handle.set_inode(inode.ino, image);
            handle.stop();
            return;
        }
        if len < before {
            // ext4_setattr
            let handle = orphans.disk().start(cx);
            orphans.add(cx, &handle, &inode.orphan);
            handle.set_inode(inode.ino, image);
            handle.stop();
        }
        // ext4_truncate
        let handle = orphans.disk().start(cx);
        orphans.add(cx, &handle, &inode.orphan);
        inode.data.change(|data| data.truncate(len as usize));
        if nlink > 0 {
            orphans.del(cx, &handle, &inode.orphan);
        }
        handle.stop();
    }

    /// Drops a reference to a dentry, and what hangs on it.
    pub(super) fn put_dentry(&self, cx: Cx<'_, P>, dentry: Raw<Dentry<P>>) {
        if let Some(inode) = self.walk.put(cx, dentry) {
            self.put_inode(cx, inode);
        }
    }

    /// Releases the files and drops the inodes whose last references went on the way of this call, where nobody could be told.
    #[inline]
    pub(super) fn end_call(&self, cx: Cx<'_, P>) {
        while let Some(file) = self.fds.delayed(cx) {
            self.release(cx, file);
        }
        while let Some(inode) = self.walk.claim(cx) {
            self.put_inode(cx, inode);
        }
    }

    /// Drops a dentry's hold on its inode (iput); the last one evicts it.
    fn put_inode(&self, cx: Cx<'_, P>, inode: Raw<Inode<P>>) {
        // SAFETY: the dentry that is gone held the inode until now.
        let object = unsafe { inode.get() };
        // AcqRel: the last one must see what the others did to the inode.
        if object.count.fetch_sub(1, AcqRel) > 1 {
            return;
        }
        let sb = self.sb();
        let handle = sb.orphans.disk().start(cx);
        sb.orphans.del(cx, &handle, &object.orphan);
        handle.set_inode(object.ino, InodeImage { nlink: 0, size: 0, used: false });
        handle.stop();
        sb.remove_count.fetch_sub(1, Release);
        self.with_numbers(cx, |numbers| numbers.give_back(object.ino));
        let nr = self.nr_inodes.get(cx.cpu);
        nr.store(nr.load(Relaxed).wrapping_sub(1), Relaxed);
        // SAFETY: no dentry points to it any more, so no walker that starts now finds it; older ones read until a grace period.
        unsafe { cx.rcu.call(cx, inode.ptr().cast(), size_of::<Inode<P>>(), free_inode::<P>) };
    }

    /// Frees an inode at the end of the kernel.
    ///
    /// # Safety
    /// The caller is alone with the kernel, and this was the inode's last dentry or will be called once for each.
    pub(super) unsafe fn free_inode(&self, cx: Cx<'_, P>, inode: Raw<Inode<P>>) {
        // SAFETY: the dentry that is being freed held it.
        if unsafe { inode.get() }.count.fetch_sub(1, AcqRel) > 1 {
            return;
        }
        let nr = self.nr_inodes.get(cx.cpu);
        nr.store(nr.load(Relaxed).wrapping_sub(1), Relaxed);
        // SAFETY: that was the last hold, and nobody reads (the caller's promise).
        drop(unsafe { POwned::<P, Inode<P>>::from_raw(inode.ptr()) });
    }
}

/// Frees an inode after a grace period.
///
/// # Safety
/// As an RCU callback of an inode that `put_inode` has evicted.
unsafe fn free_inode<P: Platform>(inode: *mut (), _cx: Cx<'_, P>) {
    // SAFETY: the callback's contract.
    drop(unsafe { POwned::<P, Inode<P>>::from_raw(inode.cast()) });
}
