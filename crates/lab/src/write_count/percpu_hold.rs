//! A plain counter per mount and CPU. Who makes a mount read-only sets a flag that holds newcomers (MNT_WRITE_HOLD), sums the
//! counters, and lets the newcomers go on.
//!
//! want: increment the own CPU's counter, full barrier, wait while HOLD is set, test the flags; if read-only, decrement again
//! under vfsmount_lock, where they are tested once more.
//! drop: decrement the own CPU's counter. To make a mount read-only, under vfsmount_lock: set HOLD, full barrier, sum;
//! EBUSY if it is above 0, else set READONLY; write barrier, clear HOLD. The whole super block: HOLD on every mount of it, sum
//! all, set the super block's flag, clear HOLD on all. One counter may be negative (opened here, closed there); only the sum
//! counts.
//!
//! Shared: none; the own CPU's counter is written twice per operation, by plain stores. The flags are read. Who is refused
//! takes vfsmount_lock, which nobody else takes but remounts.
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
//! That lock is not in the kernel, which takes the count back without it. There a newcomer who has seen the mount read-only, and
//! has not yet taken its count back, is taken for a writer by who makes it writable and read-only again meanwhile: EBUSY, and
//! nobody had written. Here no remount comes between the last look at the flags and the decrement; and who finds the mount
//! writable under the lock goes on as the writer that a remount may have counted. So a remount gets EBUSY exactly when somebody
//! writes, as with every other design. What gets in pays nothing for it.
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
        Box::new(Design::<NO_BUG> { env: *env })
    }
}

/// The design with a seeded bug, for tests.
#[cfg(test)]
pub(super) fn seeded<P: Platform, const BUG: u8>(env: &Env) -> Box<dyn WriteCountDesign<P>> {
    Box::new(Design::<BUG> { env: *env })
}

/// The design as it is.
pub(super) const NO_BUG: u8 = 0;
/// A seeded bug: HOLD is cleared before the flag is set.
pub(super) const EARLY: u8 = 1;
/// A seeded bug (which the kernel has): who is refused takes its count back without the lock.
pub(super) const UNLOCKED: u8 = 2;

struct Design<const BUG: u8> {
    env: Env,
}

impl<P: Platform, const BUG: u8> WriteCountDesign<P> for Design<BUG> {
    fn sb(&self) -> Arc<dyn SbWriters<P>> {
        let readonly = POwned::new(P::U32::new(0));
        P::name(&*readonly, "super_block.s_flags");
        Arc::new(Sb::<P, BUG> { cpus: self.env.cpus, readonly, mounts: Mounts::new(&self.env) })
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

struct Sb<P: Platform, const BUG: u8> {
    cpus: usize,
    readonly: POwned<P, P::U32>,
    mounts: Mounts<P, Count<P>>,
}

impl<P: Platform, const BUG: u8> Sb<P, BUG> {
    /// Holds newcomers on these mounts, and calls `set` if nobody writes there. Under vfsmount_lock. Mounts that are read-only
    /// are left out: who is counted there is about to be refused.
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
        if BUG == EARLY {
            release();
        }
        if !busy {
            set();
        }
        if BUG != EARLY {
            release();
        }
        if busy { Err(Errno::BUSY) } else { Ok(()) }
    }
}

impl<P: Platform, const BUG: u8> SbWriters<P> for Sb<P, BUG> {
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

struct Mount<P: Platform, const BUG: u8> {
    me: Arc<Count<P>>,
    sb: Arc<Sb<P, BUG>>,
}

impl<P: Platform, const BUG: u8> Mount<P, BUG> {
    /// Takes the own CPU's count back, unless the mount has become writable meanwhile.
    #[cold]
    fn refused(&self, cpu: Cpu) -> Result<(), Errno> {
        let refuse = || {
            self.me.add(cpu, -1);
            Err(Errno::ROFS)
        };
        if BUG == UNLOCKED {
            return refuse();
        }
        self.sb.mounts.with(|_| {
            if self.me.is_readonly() || self.sb.is_readonly() { refuse() } else { Ok(()) }
        })
    }
}

impl<P: Platform, const BUG: u8> MountWriters<P> for Mount<P, BUG> {
    fn want(&self, cx: Cx<'_, P>) -> Result<(), Errno> {
        self.me.add(cx.cpu, 1);
        P::fence(SeqCst);
        let flags = self.me.flags.spin_until(Acquire, |flags| flags & HOLD == 0);
        if flags & READONLY != 0 || self.sb.is_readonly() || self.me.is_readonly() {
            return self.refused(cx.cpu);
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
                    Sb::<P, BUG>::make_readonly(std::slice::from_ref(&self.me), busy, set)
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

impl<P: Platform, const BUG: u8> Drop for Mount<P, BUG> {
    fn drop(&mut self) {
        self.sb.mounts.remove(&self.me);
    }
}
