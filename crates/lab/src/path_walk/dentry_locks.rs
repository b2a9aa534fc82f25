//! The rollup of 2009: no dcache_lock any more. Each dentry's d_lock protects its count, each hash chain has a lock, the LRU list
//! has one. The walk takes references as before.
//!
//! A look-up follows the hash chain under RCU, takes the candidate's d_lock to compare, and counts up under it. dput takes d_lock
//! and counts down; the last one puts the dentry on the LRU list if it was never there, and is done: nothing global. `..` takes
//! the parent's d_lock and looks whether it still is the parent (dget_parent). fs->lock is a spinlock (2a4419b5b2a7).
//!
//! Shared: d_lock and d_count of each component, twice; those of the root twice more if the path begins there; fs->lock; the
//! mount's count at the start and at each crossing.
//!
//! Ordering: everything is under a lock, except for the hash chains, which are read under RCU; see the cache. Orders: rename_lock,
//! d_lock, then the lock of a chain or of the LRU list.
//!
//! Source: reconstruction of Nick Piggin's rollup of October 2009 from what was merged of it in 2.6.38 (b7ab39f631f5 and around),
//! without the walk under RCU.

use super::cache::Cache;
use super::dentry::Dentry;
use super::fs_struct::{FsStruct, Start};
use super::tree::{Discipline, Tree};
use super::{Path, PathWalk, seeded};
use crate::design::{DesignInfo, Env};
use machine::{Platform, Word};
use std::sync::atomic::Ordering::Relaxed;

/// The design.
pub struct DentryLocks;

impl DentryLocks {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "path_walk",
        name: "dentry_locks",
        kernel: "2.6.32+vfs-scale (2009)",
        source: "b7ab39f631f5 and around, without the walk under RCU",
        shared: "d_lock and d_count of each component; fs->lock",
        reconstruction: true,
    };

    /// A cache for a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn PathWalk<P>> {
        Box::new(Tree::new(env, OwnLocks::<{ seeded::NONE }>))
    }
}

/// d_count under d_lock. Relaxed throughout: the lock orders.
pub(super) struct OwnLocks<const SEEDED: u8>;

fn add<P: Platform>(dentry: &Dentry<P>) {
    dentry.count.store(dentry.count.load(Relaxed) + 1, Relaxed);
}

impl<P: Platform, const SEEDED: u8> Discipline<P> for OwnLocks<SEEDED> {
    const CHAIN_LOCKS: bool = true;
    const ANNOUNCES: bool = false;

    fn start(&self, fs: &FsStruct<P>, from: Start, get: impl FnOnce(Path<P>)) -> Path<P> {
        fs.by_spinlock(from, get)
    }

    fn get(&self, dentry: &Dentry<P>) {
        dentry.lock.with(|| add(dentry));
    }

    fn claim(&self, dentry: &Dentry<P>, is_it: impl FnOnce() -> bool) -> bool {
        dentry.lock.with(|| {
            let is = is_it();
            if is {
                add(dentry);
            }
            is
        })
    }

    fn adopt(&self, parent: &Dentry<P>) {
        parent.lock.with(|| {
            add(parent);
            parent.add_child();
        });
    }

    fn change(&self, dentry: &Dentry<P>, change: impl FnOnce()) {
        dentry.lock.with(change);
    }

    fn put(&self, cache: &Cache<P>, dentry: &Dentry<P>) -> bool {
        let count_down = || {
            let left = dentry.count.load(Relaxed) - 1;
            dentry.count.store(left, Relaxed);
            left
        };
        let early = (SEEDED == seeded::COUNT_FIRST).then(|| dentry.lock.with(count_down));
        dentry.lock.with(|| {
            if early.unwrap_or_else(count_down) > 0 {
                return false;
            }
            if dentry.is_hashed() {
                cache.lru.add(dentry);
                return false;
            }
            cache.lru.del(dentry);
            true
        })
    }
}
