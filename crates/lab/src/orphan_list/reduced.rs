//! The mutex held less: Jan Kara's patch of 2014, merged in 3.16 ("W/O mutexes" in mail 002).
//!
//! A call that has nothing to do sees so by the inode's own link and takes no lock; write access to buffers is got before the
//! mutex, dirtying is done after it. Only a deletion that changes its predecessor does that buffer's work under the mutex,
//! which keeps the predecessor on the list.
//!
//! Shared: a call that does nothing writes none. Otherwise the lines of the `mutex` design: s_orphan_lock with s_orphan; add:
//! the super block's and the own inode block's journal heads, s_last_orphan, i_orphan of the inode that was first; del: the own inode
//! block's journal head, i_orphan of both neighbours, and the super block, or the predecessor's inode and its block's
//! journal head.
//!
//! Ordering: the early exit is a Relaxed load: only add and del of the same inode make its link null or not null, and they run
//! under the inode's lock, which the caller holds. The rest is ordered by the mutex. An inode is dirtied after the mutex from
//! its in-memory next pointer as it is then, under i_raw_lock: if a successor's deletion changes the pointer meanwhile, it
//! also takes i_raw_lock afterwards, and whoever is last copies the newest value.
//!
//! Source: 3.16; structure as in fs/ext4/orphan.c of 02f310fcf47f.

use super::disk::{Disk, Geometry, Handle};
use super::list::{self, OrphanList};
use super::node::OrphanNode;
use super::{OrphanDesign, Orphans};
use crate::design::{DesignInfo, Env};
use machine::{Cx, Platform};

/// The list of 3.16.
pub struct Reduced {
    env: Env,
}

impl Reduced {
    /// What it is.
    pub const INFO: DesignInfo = DesignInfo {
        part: "orphan_list",
        name: "reduced",
        kernel: "3.16",
        source: "Jan Kara 2014, as in 02f310fcf47f",
        shared: "s_orphan_lock (held over the links), super block, predecessor's inode",
        reconstruction: false,
    };

    /// For a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn OrphanDesign<P>> {
        Box::new(Reduced { env: *env })
    }
}

impl<P: Platform> OrphanDesign<P> for Reduced {
    fn sb(&self, inodes: u32) -> Box<dyn Orphans<P>> {
        Box::new(ReducedList::new(Disk::new(&self.env, Geometry::list_only(inodes))))
    }
}

/// Also what the orphan file falls back to.
pub(super) struct ReducedList<P: Platform> {
    disk: Disk<P>,
    list: OrphanList<P>,
}

impl<P: Platform> ReducedList<P> {
    pub(super) fn new(disk: Disk<P>) -> Self {
        ReducedList { disk, list: list::new() }
    }
}

impl<P: Platform> Orphans<P> for ReducedList<P> {
    fn disk(&self) -> &Disk<P> {
        &self.disk
    }

    fn add(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        debug_assert!(handle.is_of(&self.disk));
        if inode.is_listed() {
            return;
        }
        let super_block = handle.super_write_access();
        let own = handle.reserve_inode_write(inode.ino());

        self.list.lock.lock(cx);
        // SAFETY: s_orphan_lock is held.
        unsafe { list::push(&super_block, inode) };
        // SAFETY: s_orphan_lock is held and the inode is on no list.
        unsafe { self.list.add(inode) };
        self.list.lock.unlock();

        handle.dirty_super(&super_block);
        handle.mark_next_dirty(&own, inode);
    }

    fn del(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        debug_assert!(handle.is_of(&self.disk));
        if !inode.is_listed() {
            return;
        }
        let own = handle.reserve_inode_write(inode.ino());

        self.list.lock.lock(cx);
        // SAFETY: s_orphan_lock is held, here and below as long as the predecessor is used.
        let prev = unsafe { self.list.del(inode) };
        let next_ino = inode.next_orphan();
        match prev {
            None => {
                let super_block = handle.super_write_access();
                // SAFETY: s_orphan_lock is held.
                unsafe { super_block.set_last_orphan(next_ino) };
                self.list.lock.unlock();
                handle.dirty_super(&super_block);
            }
            Some(prev) => {
                list::bypass(handle, prev, next_ino);
                self.list.lock.unlock();
            }
        }
        inode.set_next_orphan(0);
        handle.mark_next_dirty(&own, inode);
    }

    fn recorded(&self) -> Vec<u32> {
        // SAFETY: the caller is alone with the super block (the trait's contract).
        unsafe { self.list.inos() }
    }
}
