//! 2.6.31: one dcache_lock for the tree of dentries, atomic counts, and a reference for each component of a path.
//!
//! A look-up follows the hash chain under RCU, takes the candidate's d_lock to compare, and counts a reference up atomically
//! (__d_lookup). dput is atomic_dec_and_lock: whoever drops the last reference takes dcache_lock, although the dentry stays
//! where it is. Names are made, removed and moved under dcache_lock, and `..` is read under it. A walk begins under fs->lock.
//!
//! Left out: the second of the three times that a create takes dcache_lock (d_instantiate, for a list of an inode's names), and
//! that d_count was on the first line in 2.6.31: here it is where 2.6.38 has it.
//!
//! A walk that needs the root keeps it, with a reference to it and to its mount (nd->root, new in 2.6.31; before: `dcache_lock_fs_root`).
//!
//! Shared: d_lock and d_count of each component, twice; those of the root twice more if the path begins there; fs->lock, twice;
//! dcache_lock at each `..` and each last put; the mount's count at the start (twice, if that is the root) and at each crossing.
//!
//! Ordering: d_count goes up under d_lock or by who holds a reference (Relaxed); it goes down with Release, and to 0 with AcqRel
//! under dcache_lock, so that what was done with the other references is before the dentry's end. Whether it ends is decided
//! under the same hold of dcache_lock, without which no name can go: two who count down to 0, one after the other, cannot both
//! find the dentry without a name. The second look at d_count, under d_lock, is for a look-up that has counted up meanwhile.
//!
//! Source: fs/dcache.c and fs/namei.c of 2.6.31; reconstruction from knowledge of that text.

use super::cache::Cache;
use super::dentry::Dentry;
use super::fs_struct::{FsStruct, Start};
use super::tree::{Discipline, Tree};
use super::{Path, PathWalk, seeded};
use crate::design::{DesignInfo, Env};
use crate::object::Raw;
use machine::sync::Spin;
use machine::{POwned, Platform, Word};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The design.
pub struct DcacheLock;

impl DcacheLock {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "path_walk",
        name: "dcache_lock",
        kernel: "2.6.31",
        source: "fs/dcache.c, fs/namei.c",
        shared: "d_lock and d_count of each component; fs->lock; dcache_lock at a last put",
        reconstruction: true,
    };

    /// A cache for a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn PathWalk<P>> {
        Box::new(Tree::new(env, GlobalLock::<P, true, { seeded::NONE }>::new(env)))
    }
}

/// dcache_lock, alone on its line; with nd->root or without.
pub(super) struct GlobalLock<P: Platform, const ND_ROOT: bool, const SEEDED: u8> {
    dcache_lock: POwned<P, Spin<P>>,
}

impl<P: Platform, const ND_ROOT: bool, const SEEDED: u8> GlobalLock<P, ND_ROOT, SEEDED> {
    pub(super) fn new(env: &Env) -> Self {
        GlobalLock { dcache_lock: POwned::new(Spin::new(env.spin, "dcache_lock")) }
    }

    /// One reference less, unless it is the last (atomic_add_unless).
    fn put_unless_last(&self, dentry: &Dentry<P>) -> bool {
        // Relaxed: a guess at what the exchange will find. Release: see the header.
        let mut count = dentry.count.load(Relaxed);
        while count > 1 {
            match dentry.count.compare_exchange(count, count - 1, Release, Relaxed) {
                Ok(_) => return true,
                Err(found) => count = found,
            }
        }
        false
    }
}

impl<P: Platform, const ND_ROOT: bool, const SEEDED: u8> Discipline<P>
    for GlobalLock<P, ND_ROOT, SEEDED>
{
    const ND_ROOT: bool = ND_ROOT;
    const CHAIN_LOCKS: bool = false;
    const ANNOUNCES: bool = false;

    fn start(&self, fs: &FsStruct<P>, from: Start, get: impl FnOnce(Path<P>)) -> Path<P> {
        fs.by_rwlock(from, get)
    }

    fn get(&self, dentry: &Dentry<P>) {
        dentry.count.fetch_add(1, Relaxed);
    }

    fn claim(&self, dentry: &Dentry<P>, is_it: impl FnOnce() -> bool) -> bool {
        dentry.lock.with(|| {
            let is = is_it();
            if is {
                self.get(dentry);
            }
            is
        })
    }

    fn parent(&self, dentry: &Dentry<P>) -> Raw<Dentry<P>> {
        self.dcache_lock.with(|| {
            let parent = dentry.parent();
            // SAFETY: the dentry has a reference to it, and dcache_lock keeps it there.
            self.get(unsafe { parent.get() });
            parent
        })
    }

    fn adopt(&self, parent: &Dentry<P>) {
        // d_alloc
        self.get(parent);
        self.dcache_lock.with(|| parent.add_child());
    }

    fn change(&self, dentry: &Dentry<P>, change: impl FnOnce()) {
        self.dcache_lock.with(|| dentry.lock.with(change));
    }

    fn put(&self, cache: &Cache<P>, dentry: &Dentry<P>) -> bool {
        if self.put_unless_last(dentry) {
            return false;
        }
        let count_down = || dentry.count.fetch_sub(1, AcqRel);
        let early = (SEEDED == seeded::COUNT_FIRST).then(count_down);
        self.dcache_lock.with(|| {
            if early.unwrap_or_else(count_down) > 1 {
                return false;
            }
            dentry.lock.with(|| {
                // Acquire: as the operation that brought it to 0.
                if dentry.count.load(Acquire) > 0 {
                    return false;
                }
                if dentry.is_hashed() {
                    cache.lru.add_locked(dentry);
                    return false;
                }
                cache.lru.del_locked(dentry);
                true
            })
        })
    }
}
