//! One mutex round everything: the list of 3.15 and before.
//!
//! The mutex comes first; whether there is anything to do is looked at under it, and so is all work on buffers: access to
//! the super block and the inode, links on disk and in memory, dirtying. A deletion changes the super block if the inode is the
//! head of the list, else the inode block of its predecessor, which is another task's.
//!
//! Shared: per add or del, also one that does nothing, s_orphan_lock (and s_orphan on its line); add: the super block's
//! journal head twice and s_last_orphan, the own inode block's journal head twice, i_orphan of the inode that was first; del: the own
//! inode block's journal head, i_orphan of both neighbours, and the super block, or the predecessor's inode and its block's
//! journal head.
//!
//! Ordering: none of its own; the mutex orders everything.
//!
//! Source: 3.15, fs/ext4/namei.c of 0e9a9a1ad619.

use super::disk::{Disk, Geometry, Handle};
use super::list::{self, OrphanList};
use super::node::OrphanNode;
use super::{OrphanDesign, Orphans};
use crate::design::{DesignInfo, Env};
use machine::{Cx, Platform};

/// The list of 3.15.
pub struct GlobalMutex {
    env: Env,
}

impl GlobalMutex {
    /// What it is.
    pub const INFO: DesignInfo = DesignInfo {
        part: "orphan_list",
        name: "mutex",
        kernel: "3.15",
        source: "0e9a9a1ad619",
        shared: "s_orphan_lock (held over all buffer work), super block, predecessor's inode",
        reconstruction: false,
    };

    /// For a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn OrphanDesign<P>> {
        Box::new(GlobalMutex { env: *env })
    }
}

impl<P: Platform> OrphanDesign<P> for GlobalMutex {
    fn sb(&self, inodes: u32) -> Box<dyn Orphans<P>> {
        let disk = Disk::new(&self.env, Geometry::list_only(inodes));
        Box::new(Locked { disk, list: list::new() })
    }
}

struct Locked<P: Platform> {
    disk: Disk<P>,
    list: OrphanList<P>,
}

impl<P: Platform> Locked<P> {
    fn add_locked(&self, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        if inode.is_listed() {
            return;
        }
        let super_block = handle.super_write_access();
        let own = handle.reserve_inode_write(inode.ino());
        // SAFETY: s_orphan_lock is held.
        unsafe { list::push(&super_block, inode) };
        handle.dirty_super(&super_block);
        handle.mark_next_dirty(&own, inode);
        // SAFETY: s_orphan_lock is held and the inode is on no list.
        unsafe { self.list.add(inode) };
    }

    fn del_locked(&self, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        if !inode.is_listed() {
            return;
        }
        let next_ino = inode.next_orphan();
        // SAFETY: s_orphan_lock is held, here and below as long as the predecessor is used.
        let prev = unsafe { self.list.del(inode) };
        let own = handle.reserve_inode_write(inode.ino());
        match prev {
            None => {
                let super_block = handle.super_write_access();
                // SAFETY: s_orphan_lock is held.
                unsafe { super_block.set_last_orphan(next_ino) };
                handle.dirty_super(&super_block);
            }
            Some(prev) => list::bypass(handle, prev, next_ino),
        }
        inode.set_next_orphan(0);
        handle.mark_next_dirty(&own, inode);
    }
}

impl<P: Platform> Orphans<P> for Locked<P> {
    fn disk(&self) -> &Disk<P> {
        &self.disk
    }

    fn add(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        debug_assert!(handle.is_of(&self.disk));
        self.list.lock.lock(cx);
        self.add_locked(handle, inode);
        self.list.lock.unlock();
    }

    fn del(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        debug_assert!(handle.is_of(&self.disk));
        self.list.lock.lock(cx);
        self.del_locked(handle, inode);
        self.list.lock.unlock();
    }

    fn recorded(&self) -> Vec<u32> {
        // SAFETY: the caller is alone with the super block (the trait's contract).
        unsafe { self.list.inos() }
    }
}
