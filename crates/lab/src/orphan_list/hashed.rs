//! Hashed mutexes: Thavatchai Makphaibulchoke's proposal of 2014 ("W mutexes" in mail 002).
//!
//! Operations on one inode exclude each other by one of 128 mutexes, chosen by a hash of the inode, under which all of a call runs.
//! The list in memory has a spinlock, the list on disk a mutex. Buffers are accessed before the on-disk mutex and dirtied
//! after it, as in the `reduced` design.
//!
//! The text of the patch could not be found: this is built from the mail and from descriptions of the three locks. Choices made
//! here: the hash is of the inode's number, not of its address, so that runs repeat; the in-memory list changes inside the on-disk
//! mutex, for both must have the same order if the predecessor in memory is to be the one on disk.
//!
//! Shared: per add or del, also one that does nothing, the inode's s_orphan_op_mutex, which other inodes hash to and of which two
//! share a line; s_ondisk_orphan_lock; s_orphan_lock with s_orphan on its line; and of the buffers the lines of the `reduced` design.
//!
//! Ordering: none of its own. Whether there is anything to do is looked at under the inode's mutex. Dirtying after the on-disk
//! mutex: as in the `reduced` design.
//!
//! Source: proposed 2014, linux-ext4, the thread of mail 002; reconstruction.

use super::disk::{Disk, Geometry, Handle};
use super::list;
use super::node::{Anchor, OrphanNode};
use super::{OrphanDesign, Orphans};
use crate::design::{DesignInfo, Env};
use machine::sync::{Mutex, MutexKind, Spin};
use machine::{Cx, POwned, Platform};

/// The hashed mutexes of 2014.
pub struct Hashed {
    env: Env,
}

impl Hashed {
    /// What it is.
    pub const INFO: DesignInfo = DesignInfo {
        part: "orphan_list",
        name: "hashed",
        kernel: "proposed 2014",
        source: "Thavatchai Makphaibulchoke, linux-ext4 2014",
        shared: "s_orphan_op_mutex[hash], s_ondisk_orphan_lock, s_orphan_lock, super block, predecessor's inode",
        reconstruction: true,
    };

    /// For a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn OrphanDesign<P>> {
        Box::new(Hashed { env: *env })
    }
}

impl<P: Platform> OrphanDesign<P> for Hashed {
    fn sb(&self, inodes: u32) -> Box<dyn Orphans<P>> {
        Box::new(HashedList::new(&self.env, inodes, OP_MUTEX_BITS))
    }
}

/// 128 mutexes.
const OP_MUTEX_BITS: u32 = 7;

/// A mutex in an array; struct mutex has 40 bytes, so that the kernel's array has one or two on a line.
#[repr(align(32))]
struct OpMutex<P: Platform>(Mutex<P>);

pub(super) struct HashedList<P: Platform> {
    disk: Disk<P>,
    /// s_orphan_op_mutex, two on each line.
    op_mutexes: Vec<POwned<P, [OpMutex<P>; 2]>>,
    op_mutex_bits: u32,
    /// s_ondisk_orphan_lock: the list on disk.
    ondisk: POwned<P, Mutex<P>>,
    /// s_orphan and s_orphan_lock: the list in memory.
    list: POwned<P, Anchor<P, Spin<P>>>,
}

impl<P: Platform> HashedList<P> {
    /// With 2 to the power of `op_mutex_bits` mutexes, at least 2.
    pub(super) fn new(env: &Env, inodes: u32, op_mutex_bits: u32) -> Self {
        let mutex = |name| Mutex::new(MutexKind::Spinning, name);
        let op_mutex = |_| OpMutex(mutex("s_orphan_op_mutex"));
        let list = POwned::new(Anchor::new(Spin::new(env.spin, "s_orphan_lock")));
        list.init();
        HashedList {
            disk: Disk::new(env, Geometry::list_only(inodes)),
            op_mutexes: (0..1 << (op_mutex_bits - 1))
                .map(|_| POwned::new(std::array::from_fn(op_mutex)))
                .collect(),
            op_mutex_bits,
            ondisk: POwned::new(mutex("s_ondisk_orphan_lock")),
            list,
        }
    }

    /// hash_32 of the number.
    fn op_mutex(&self, ino: u32) -> &Mutex<P> {
        const GOLDEN_RATIO: u32 = 0x61C8_8647;
        let at = (ino.wrapping_mul(GOLDEN_RATIO) >> (32 - self.op_mutex_bits)) as usize;
        &self.op_mutexes[at / 2][at % 2].0
    }

    fn add_exclusive(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        if inode.is_listed() {
            return;
        }
        let super_block = handle.super_write_access();
        let own = handle.reserve_inode_write(inode.ino());

        self.ondisk.lock(cx);
        // SAFETY: s_ondisk_orphan_lock is held.
        unsafe { list::push(&super_block, inode) };
        // SAFETY: s_orphan_lock is held and the inode is on no list.
        self.list.lock.with(|| unsafe { self.list.add(inode) });
        self.ondisk.unlock();

        handle.dirty_super(&super_block);
        handle.mark_next_dirty(&own, inode);
    }

    fn del_exclusive(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        if !inode.is_listed() {
            return;
        }
        let own = handle.reserve_inode_write(inode.ino());

        self.ondisk.lock(cx);
        // SAFETY: s_orphan_lock is held. The predecessor stays on the list as long as s_ondisk_orphan_lock is held, inside of
        // which alone inodes are taken off.
        let prev = self.list.lock.with(|| unsafe { self.list.del(inode) });
        let next_ino = inode.next_orphan();
        match prev {
            None => {
                let super_block = handle.super_write_access();
                // SAFETY: s_ondisk_orphan_lock is held.
                unsafe { super_block.set_last_orphan(next_ino) };
                self.ondisk.unlock();
                handle.dirty_super(&super_block);
            }
            Some(prev) => {
                list::bypass(handle, prev, next_ino);
                self.ondisk.unlock();
            }
        }
        inode.set_next_orphan(0);
        handle.mark_next_dirty(&own, inode);
    }
}

impl<P: Platform> Orphans<P> for HashedList<P> {
    fn disk(&self) -> &Disk<P> {
        &self.disk
    }

    fn add(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        debug_assert!(handle.is_of(&self.disk));
        let op_mutex = self.op_mutex(inode.ino());
        op_mutex.lock(cx);
        self.add_exclusive(cx, handle, inode);
        op_mutex.unlock();
    }

    fn del(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>) {
        debug_assert!(handle.is_of(&self.disk));
        let op_mutex = self.op_mutex(inode.ino());
        op_mutex.lock(cx);
        self.del_exclusive(cx, handle, inode);
        op_mutex.unlock();
    }

    fn recorded(&self) -> Vec<u32> {
        // SAFETY: the caller is alone with the super block (the trait's contract).
        unsafe { self.list.inos() }
    }
}
