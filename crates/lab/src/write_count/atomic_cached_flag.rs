//! An atomic counter of writers per mount; the super block counts the mounts that have any, and each mount caches whether its
//! super block is writable, so that a writer looks at its mount alone.
//!
//! want: increment the mount's counter unless it is 0. The first writer of a mount takes the super block's lock, tests the
//! mount's flags, counts itself and the mount. drop: decrement the counter unless it is 1; the last writer takes the lock.
//! Under the lock a counter of 0 stays 0, so that a remount only looks: a mount's at its own counter, the super block's at the
//! number of mounts with writers; the latter then clears the cached flag of every mount.
//!
//! Shared: mnt_writers of the mount, 1 locked operation per want and per drop. With no other writer on the mount also
//! s_mnt_writers_lock and s_mnt_writers of the super block, at both ends.
//!
//! Ordering: the counter leaves and reaches 0 only under s_mnt_writers_lock, which orders those writers with remounts. Between,
//! each decrement is Release and the last one Acquire as well, so that what every writer did is before the remount that finds 0;
//! each increment is Acquire and follows the first writer's, which is Release, so that what a remount did is before it.
//!
//! Source: Dave Hansen, "[RFC][PATCH 05/27] Add vfsmount writer count", 2006-07-12 (mail 000 asks: "Back to caching the superblock
//! flag in the mount?"). The posting leaves the super block's remount to a walk of the open files until a later patch of the
//! series; this is the state after it.

use super::mounts::Mounts;
use crate::design::{DesignInfo, Env};
use crate::write_count::{Access, MountWriters, SbWriters, WriteCountDesign};
use machine::sync::Spin;
use machine::{Cx, POwned, Platform, Word};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use vfs_api::Errno;

/// Atomic counter and cached flag.
pub struct AtomicCachedFlag;

impl AtomicCachedFlag {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "write_count",
        name: "atomic_cached_flag",
        kernel: "proposed 2006",
        source: "Dave Hansen, RFC 05/27 \"Add vfsmount writer count\", 2006-07-12",
        shared: "mnt_writers; s_mnt_writers_lock for the first and last writer of a mount",
        reconstruction: false,
    };

    /// The design, for a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn WriteCountDesign<P>> {
        Box::new(Design { env: *env })
    }
}

struct Design {
    env: Env,
}

impl<P: Platform> WriteCountDesign<P> for Design {
    fn sb(&self) -> Arc<dyn SbWriters<P>> {
        let hot = POwned::new(SbCount {
            lock: Spin::new(self.env.spin, "s_mnt_writers_lock"),
            mounts_writing: P::U64::new(0),
            readonly: P::U32::new(0),
        });
        P::name(&*hot, "super_block.s_mnt_writers");
        Arc::new(Sb::<P> { hot, mounts: Mounts::new(&self.env) })
    }
}

/// MNT_READONLY.
const READONLY: u32 = 1;
/// MNT_SB_WRITABLE: the super block's flag, cached.
const SB_WRITABLE: u32 = 2;

/// A mount's line.
struct Count<P: Platform> {
    flags: P::U32,
    /// mnt_writers.
    writers: P::U32,
}

struct SbCount<P: Platform> {
    lock: Spin<P>,
    /// s_mnt_writers: mounts that have writers. Changed under the lock.
    mounts_writing: P::U64,
    readonly: P::U32,
}

struct Sb<P: Platform> {
    hot: POwned<P, SbCount<P>>,
    mounts: Mounts<P, POwned<P, Count<P>>>,
}

// Relaxed, where nothing else is said: under s_mnt_writers_lock.
impl<P: Platform> SbWriters<P> for Sb<P> {
    fn mount(self: Arc<Self>) -> Box<dyn MountWriters<P>> {
        let me = self.hot.lock.with(|| {
            let flags = if self.hot.readonly.load(Relaxed) == 0 { SB_WRITABLE } else { 0 };
            let count = Count { flags: P::U32::new(flags), writers: P::U32::new(0) };
            let me = self.mounts.add(|| POwned::new(count));
            P::name(&**me, "vfsmount.mnt_writers");
            me
        });
        Box::new(Mount { me, sb: self })
    }

    fn set(&self, to: Access<'_>) -> Result<(), Errno> {
        self.hot.lock.with(|| {
            let writing = || self.hot.mounts_writing.load(Relaxed) > 0;
            let readonly = match to {
                Access::Writable => false,
                Access::ReadOnly(busy) if writing() || (busy.otherwise)() => {
                    return Err(Errno::BUSY);
                }
                Access::ReadOnly(_) => true,
            };
            self.hot.readonly.store(u32::from(readonly), Relaxed);
            self.mounts.with(|mounts| {
                for mount in mounts {
                    if readonly {
                        mount.flags.fetch_and(!SB_WRITABLE, Relaxed);
                    } else {
                        mount.flags.fetch_or(SB_WRITABLE, Relaxed);
                    }
                }
            });
            Ok(())
        })
    }

    fn is_readonly(&self) -> bool {
        // Relaxed: an answer for whoever has synchronised with the remount by other means.
        self.hot.readonly.load(Relaxed) != 0
    }
}

struct Mount<P: Platform> {
    me: Arc<POwned<P, Count<P>>>,
    sb: Arc<Sb<P>>,
}

impl<P: Platform> Mount<P> {
    /// Adds `by` to the counter unless it is `unless` (atomic_add_unless); false if it is.
    fn add_unless(&self, by: u32, unless: u32) -> bool {
        let mut count = self.me.writers.load(Relaxed);
        while count != unless {
            // AcqRel: Release for a decrement, Acquire for an increment (header).
            match self.me.writers.compare_exchange(count, count.wrapping_add(by), AcqRel, Relaxed) {
                Ok(_) => return true,
                Err(found) => count = found,
            }
        }
        false
    }

    #[cold]
    fn first(&self) -> Result<(), Errno> {
        self.sb.hot.lock.with(|| {
            if self.me.flags.load(Relaxed) != SB_WRITABLE {
                return Err(Errno::ROFS);
            }
            // Release for those who increment after us without the lock. Somebody else may have been the first meanwhile (the
            // posting then takes the increment back and begins again).
            if self.me.writers.fetch_add(1, Release) == 0 {
                self.sb.hot.mounts_writing.fetch_add(1, Relaxed);
            }
            Ok(())
        })
    }

    #[cold]
    fn last(&self) {
        self.sb.hot.lock.with(|| {
            // Acquire: what the writers before us did, who did not take the lock. Release: somebody else may be the last.
            if self.me.writers.fetch_sub(1, AcqRel) == 1 {
                self.sb.hot.mounts_writing.fetch_sub(1, Relaxed);
            }
        });
    }
}

impl<P: Platform> MountWriters<P> for Mount<P> {
    fn want(&self, _cx: Cx<'_, P>) -> Result<(), Errno> {
        if self.add_unless(1, 0) { Ok(()) } else { self.first() }
    }

    fn drop(&self, _cx: Cx<'_, P>) {
        if !self.add_unless(u32::MAX, 1) {
            self.last();
        }
    }

    fn set(&self, to: Access<'_>) -> Result<(), Errno> {
        self.sb.hot.lock.with(|| {
            let writing = || self.me.writers.load(Relaxed) > 0;
            match to {
                Access::Writable => self.me.flags.fetch_and(!READONLY, Relaxed),
                Access::ReadOnly(busy) if writing() || (busy.otherwise)() => {
                    return Err(Errno::BUSY);
                }
                Access::ReadOnly(_) => self.me.flags.fetch_or(READONLY, Relaxed),
            };
            Ok(())
        })
    }

    fn is_readonly(&self) -> bool {
        // Relaxed: as for the super block.
        self.me.flags.load(Relaxed) & READONLY != 0
    }
}

impl<P: Platform> Drop for Mount<P> {
    fn drop(&mut self) {
        self.sb.mounts.remove(&self.me);
    }
}
