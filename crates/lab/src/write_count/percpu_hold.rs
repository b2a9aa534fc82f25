//! A plain counter per mount and CPU. Who makes a mount read-only sets a flag that holds newcomers (MNT_WRITE_HOLD), sums the
//! counters, and lets the newcomers go on.
//!
//! want: increment the own CPU's counter, full barrier, wait while HOLD is set, test the flags; decrement again if read-only.
//! drop: decrement the own CPU's counter. To make a mount read-only, under vfsmount_lock: set HOLD, full barrier, sum;
//! EBUSY if it is above 0, else set READONLY; write barrier, clear HOLD. The whole super block: HOLD on every mount of it, sum
//! all, set the super block's flag, clear HOLD on all. One counter may be negative (opened here, closed there); only the sum
//! counts.
//!
//! Shared: none; the own CPU's counter is written twice per operation, by plain stores. The flags are read.
//!
//! Ordering: store buffering. A writer increments, fences, reads HOLD; the remount sets HOLD, fences, reads the counters. If the
//! writer's fence is first, the remount counts it (EBUSY). If not, the writer sees HOLD and waits; the clearing of HOLD is Release
//! and the end of the wait is Acquire, so that the flag set before is seen too. A writer that waits may be counted: EBUSY, and it goes
//! on; or it sees the flag and takes its count back. The sum is exact, for no writer counted gets on to a drop on another CPU
//! while HOLD is set unless its increment was before HOLD and is seen. Counter stores are Release and the sum's loads Acquire
//! (on x86 the plain moves of the kernel): what the writers did is before the remount that finds 0.
//!
//! A remount does not hold a mount that is read-only already by the other flag, for newcomers there fail anyway, and their
//! passing counts must not be taken for writers. The writer's tests make up for it: mount, super block, mount. If the mount's
//! flag was cleared after the super block's was set without holding, who sees the former (Acquire) sees the latter; and the
//! other way round for the third test.
//!
//! Source: d3ef3d7351cc and 96029c4e09cc (2.6.30); the super block's side from the later s_readonly_remount (before it, the
//! remount walked the open files).

use super::mounts::Mounts;
use crate::design::{DesignInfo, Env};
use crate::write_count::{Access, Busy, MountWriters, SbWriters, WriteCountDesign};
use machine::sync::PerCpu;
use machine::{Cpu, Cx, POwned, Platform, Word};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use vfs_api::Errno;

/// Counters per CPU, lock-free.
pub struct PercpuHold;

impl PercpuHold {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "write_count",
        name: "percpu_hold",
        kernel: "2.6.30",
        source: "d3ef3d7351cc, 96029c4e09cc",
        shared: "none; remount holds newcomers and sums all CPUs",
        reconstruction: false,
    };

    /// The design, for a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn WriteCountDesign<P>> {
        Box::new(Design::<false> { env: *env })
    }
}

/// The design; if `early` with a seeded bug, for tests.
#[cfg(test)]
pub(super) fn ordered<P: Platform>(env: &Env, early: bool) -> Box<dyn WriteCountDesign<P>> {
    if early {
        Box::new(Design::<true> { env: *env })
    } else {
        Box::new(Design::<false> { env: *env })
    }
}

/// `EARLY`: clears HOLD before it sets the flag. A seeded bug, for tests.
struct Design<const EARLY: bool> {
    env: Env,
}

impl<P: Platform, const EARLY: bool> WriteCountDesign<P> for Design<EARLY> {
    fn sb(&self) -> Arc<dyn SbWriters<P>> {
        let readonly = POwned::new(P::U32::new(0));
        P::name(&*readonly, "super_block.s_flags");
        Arc::new(Sb::<P, EARLY> { cpus: self.env.cpus, readonly, mounts: Mounts::new(&self.env) })
    }
}

/// MNT_WRITE_HOLD.
const HOLD: u32 = 1;
/// MNT_READONLY.
const READONLY: u32 = 2;

struct Count<P: Platform> {
    flags: POwned<P, P::U32>,
    /// mnt_writers, signed numbers.
    writers: PerCpu<P, P::U64>,
}

impl<P: Platform> Count<P> {
    fn new(cpus: usize) -> Self {
        let count = Count {
            flags: POwned::new(P::U32::new(0)),
            writers: PerCpu::new(cpus, |_| P::U64::new(0)),
        };
        P::name(&*count.flags, "vfsmount.mnt_flags");
        count.writers.iter().for_each(|cpu| P::name(cpu, "vfsmount.mnt_writers (per CPU)"));
        count
    }

    /// Adds to the own CPU's counter, which nobody else writes.
    #[inline]
    fn add(&self, cpu: Cpu, by: i64) {
        let writers = self.writers.get(cpu);
        // Relaxed: the CPU's own. Release: see the header; of an increment too, for it stands for the drops before it.
        writers.store(writers.load(Relaxed).wrapping_add_signed(by), Release);
    }

    fn is_readonly(&self) -> bool {
        // Acquire: pairs with the Release of who made it writable.
        self.flags.load(Acquire) & READONLY != 0
    }

    fn sum(&self) -> i64 {
        let sum = self.writers.iter().fold(0, |sum: u64, cpu| sum.wrapping_add(cpu.load(Acquire)));
        sum.cast_signed()
    }
}

struct Sb<P: Platform, const EARLY: bool> {
    cpus: usize,
    readonly: POwned<P, P::U32>,
    mounts: Mounts<P, Count<P>>,
}

impl<P: Platform, const EARLY: bool> Sb<P, EARLY> {
    /// Holds newcomers on these mounts, and calls `set` if nobody writes there. Under vfsmount_lock. Mounts that are read-only
    /// are left out: who is counted there is about to fail.
    fn make_readonly(
        mounts: &[Arc<Count<P>>],
        busy: Busy<'_>,
        set: impl FnOnce(),
    ) -> Result<(), Errno> {
        let writable = || mounts.iter().filter(|mount| !mount.is_readonly());
        for mount in writable() {
            // Relaxed: the fence orders it before the sums.
            mount.flags.fetch_or(HOLD, Relaxed);
        }
        P::fence(SeqCst);
        let busy = writable().any(|mount| mount.sum() > 0) || (busy.otherwise)();
        let release = || {
            for mount in mounts {
                // Release: the flag is before.
                mount.flags.fetch_and(!HOLD, Release);
            }
        };
        if EARLY {
            release();
        }
        if !busy {
            set();
        }
        if !EARLY {
            release();
        }
        if busy { Err(Errno::BUSY) } else { Ok(()) }
    }
}

impl<P: Platform, const EARLY: bool> SbWriters<P> for Sb<P, EARLY> {
    fn mount(self: Arc<Self>) -> Box<dyn MountWriters<P>> {
        let me = self.mounts.add(|| Count::new(self.cpus));
        Box::new(Mount { me, sb: self })
    }

    fn set(&self, to: Access<'_>) -> Result<(), Errno> {
        self.mounts.with(|mounts| match to {
            Access::ReadOnly(_) if self.is_readonly() => Ok(()),
            Access::ReadOnly(busy) => {
                // Relaxed: the Release that clears HOLD is after.
                Self::make_readonly(mounts, busy, || self.readonly.store(1, Relaxed))
            }
            Access::Writable => {
                // Release: pairs with the Acquire in `want`.
                self.readonly.store(0, Release);
                Ok(())
            }
        })
    }

    fn is_readonly(&self) -> bool {
        self.readonly.load(Acquire) != 0
    }
}

struct Mount<P: Platform, const EARLY: bool> {
    me: Arc<Count<P>>,
    sb: Arc<Sb<P, EARLY>>,
}

impl<P: Platform, const EARLY: bool> MountWriters<P> for Mount<P, EARLY> {
    fn want(&self, cx: Cx<'_, P>) -> Result<(), Errno> {
        self.me.add(cx.cpu, 1);
        P::fence(SeqCst);
        let flags = self.me.flags.spin_until(Acquire, |flags| flags & HOLD == 0);
        if flags & READONLY != 0 || self.sb.is_readonly() || self.me.is_readonly() {
            self.me.add(cx.cpu, -1);
            return Err(Errno::ROFS);
        }
        Ok(())
    }

    fn drop(&self, cx: Cx<'_, P>) {
        self.me.add(cx.cpu, -1);
    }

    fn set(&self, to: Access<'_>) -> Result<(), Errno> {
        self.sb.mounts.with(|_| {
            // Relaxed: HOLD is in the same word and cleared after; or the super block's flag is, with Release, when it becomes
            // writable.
            let set = || {
                self.me.flags.fetch_or(READONLY, Relaxed);
            };
            match to {
                Access::ReadOnly(_) if self.is_readonly() || self.sb.is_readonly() => {
                    set();
                    Ok(())
                }
                Access::ReadOnly(busy) => {
                    Sb::<P, EARLY>::make_readonly(std::slice::from_ref(&self.me), busy, set)
                }
                Access::Writable => {
                    // Release: as for the super block.
                    self.me.flags.fetch_and(!READONLY, Release);
                    Ok(())
                }
            }
        })
    }

    fn is_readonly(&self) -> bool {
        self.me.is_readonly()
    }
}

impl<P: Platform, const EARLY: bool> Drop for Mount<P, EARLY> {
    fn drop(&mut self) {
        self.sb.mounts.remove(&self.me);
    }
}
