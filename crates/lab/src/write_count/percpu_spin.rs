//! A slot per CPU, shared by all mounts of the kernel: a spinlock, the mount that was written last on that CPU, and how many
//! writers it has got there since. Another mount's turn, and the slot's count goes to the old mount's atomic counter.
//!
//! want: under the own CPU's lock, test the flags, switch the slot to the mount, count there. drop: under the own CPU's lock,
//! switch the slot, count down there; if the slot has none (opened on another CPU), count down the mount's atomic. The atomic
//! can so fall ever further; below -65536 all slots are folded into their mounts. To make a mount read-only: take all CPUs'
//! locks in order, fold, look.
//!
//! Shared: none if a file is closed on the CPU that opened it and the CPU writes one mount: the own CPU's slot only, which is
//! written twice per operation. A close on another CPU or another mount's turn writes __mnt_writers, an atomic of the mount.
//!
//! Ordering: a slot is under its lock; an atomic and the flags change under some CPU's lock and are looked at under all of
//! them, so that Relaxed will do.
//!
//! Source: 3d733633a633 (2.6.26), which has this for mounts. Its super block remount still walked the open files; here it
//! folds and looks at every mount's counter, so that the lab has one rule.

use super::mounts::Mounts;
use crate::design::{DesignInfo, Env};
use crate::object::Raw;
use crate::write_count::{Access, MountWriters, SbWriters, WriteCountDesign};
use machine::sync::{PerCpu, Spin};
use machine::{Cpu, Cx, POwned, Plain, Platform, Word};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use vfs_api::Errno;

/// Slots with spinlocks, per CPU.
pub struct PercpuSpin;

impl PercpuSpin {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "write_count",
        name: "percpu_spin",
        kernel: "2.6.26",
        source: "3d733633a633",
        shared: "none; __mnt_writers on a close elsewhere or another mount's turn",
        reconstruction: false,
    };

    /// The design, for a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn WriteCountDesign<P>> {
        Box::new(Design { env: *env, slots: Arc::new(Slots::<P>::new(env)) })
    }
}

struct Design<P: Platform> {
    env: Env,
    slots: Arc<Slots<P>>,
}

impl<P: Platform> WriteCountDesign<P> for Design<P> {
    fn sb(&self) -> Arc<dyn SbWriters<P>> {
        let readonly = POwned::new(P::U32::new(0));
        P::name(&*readonly, "super_block.s_flags");
        Arc::new(Sb { slots: Arc::clone(&self.slots), readonly, mounts: Mounts::new(&self.env) })
    }
}

/// Fold when a mount's atomic is below (MNT_WRITER_UNDERFLOW_LIMIT).
const UNDERFLOW: i64 = -65536;

/// A mount's line.
struct Count<P: Platform> {
    /// __mnt_writers, a signed number: writers less what the slots hold.
    writers: P::U64,
    readonly: P::U32,
}

impl<P: Platform> Count<P> {
    fn new() -> Self {
        Count { writers: P::U64::new(0), readonly: P::U32::new(0) }
    }

    fn add(&self, by: i64) {
        self.writers.fetch_add(by.cast_unsigned(), Relaxed);
    }

    fn writers(&self) -> i64 {
        self.writers.load(Relaxed).cast_signed()
    }
}

/// What a slot holds.
struct Held<P: Platform> {
    count: i64,
    mount: Option<Raw<Count<P>>>,
}

impl<P: Platform> Held<P> {
    fn fold(&mut self) {
        if let Some(mount) = self.mount {
            // SAFETY: a mount that goes leaves all slots before (`Slots::forget`).
            unsafe { mount.get() }.add(self.count);
            self.count = 0;
        }
    }

    fn switch(&mut self, mount: &Count<P>) {
        let mount = Some(Raw::of(mount));
        if self.mount != mount {
            self.fold();
            self.mount = mount;
        }
    }
}

/// struct mnt_writer.
struct Slot<P: Platform> {
    lock: Spin<P>,
    held: P::Cell<Held<P>>,
}

impl<P: Platform> Slot<P> {
    /// # Safety
    /// The caller has the lock.
    unsafe fn held<R>(&self, f: impl FnOnce(&mut Held<P>) -> R) -> R {
        // SAFETY: the caller's promise.
        self.held.with_mut(|held| f(unsafe { &mut *held }))
    }

    fn with<R>(&self, f: impl FnOnce(&mut Held<P>) -> R) -> R {
        // SAFETY: under the lock.
        self.lock.with(|| unsafe { self.held(f) })
    }
}

/// The kernel's slots.
struct Slots<P: Platform>(PerCpu<P, Slot<P>>);

impl<P: Platform> Slots<P> {
    fn new(env: &Env) -> Self {
        let slots = PerCpu::new(env.cpus, |_| Slot {
            lock: Spin::new(env.spin, "mnt_writer_lock"),
            held: P::Cell::new(Held { count: 0, mount: None }),
        });
        slots.iter().for_each(|cpu| P::name(cpu, "mnt_writer (per CPU)"));
        Slots(slots)
    }

    fn with_own<R>(&self, cpu: Cpu, f: impl FnOnce(&mut Held<P>) -> R) -> R {
        self.0.get(cpu).with(f)
    }

    /// Runs `f` with every CPU's lock held and every slot folded (lock_and_coalesce_cpu_mnt_writer_counts): then a mount's atomic
    /// is the number of its writers.
    fn with_folded<R>(&self, f: impl FnOnce() -> R) -> R {
        for slot in self.0.iter() {
            slot.lock.lock();
            // SAFETY: the lock has just been taken.
            unsafe { slot.held(Held::fold) };
        }
        let result = f();
        self.0.iter().for_each(|slot| slot.lock.unlock());
        result
    }

    /// Takes a mount that goes out of the slots (__mntput).
    fn forget(&self, mount: &Count<P>) {
        for slot in self.0.iter() {
            slot.with(|held| {
                if held.mount == Some(Raw::of(mount)) {
                    held.fold();
                    held.mount = None;
                }
            });
        }
    }
}

struct Sb<P: Platform> {
    slots: Arc<Slots<P>>,
    readonly: POwned<P, P::U32>,
    mounts: Mounts<P, POwned<P, Count<P>>>,
}

impl<P: Platform> Sb<P> {
    /// Sets `flag`, of these mounts or of their super block, or clears it. Under vfsmount_lock.
    fn change(
        &self,
        flag: &P::U32,
        to: Access<'_>,
        mounts: &[Arc<POwned<P, Count<P>>>],
    ) -> Result<(), Errno> {
        let Access::ReadOnly(busy) = to else {
            // Release: pairs with the Acquire in `want`, whose CPU's lock is not taken here; nor is it in the kernel.
            flag.store(0, Release);
            return Ok(());
        };
        self.slots.with_folded(|| {
            if mounts.iter().any(|mount| mount.writers() > 0) || (busy.otherwise)() {
                return Err(Errno::BUSY);
            }
            flag.store(1, Relaxed);
            Ok(())
        })
    }
}

impl<P: Platform> SbWriters<P> for Sb<P> {
    fn mount(self: Arc<Self>) -> Box<dyn MountWriters<P>> {
        let me = self.mounts.add(|| POwned::new(Count::new()));
        P::name(&**me, "vfsmount.__mnt_writers");
        Box::new(Mount { me, sb: self })
    }

    fn set(&self, to: Access<'_>) -> Result<(), Errno> {
        self.mounts.with(|mounts| self.change(&self.readonly, to, mounts))
    }

    fn is_readonly(&self) -> bool {
        self.readonly.load(Acquire) != 0
    }
}

struct Mount<P: Platform> {
    me: Arc<POwned<P, Count<P>>>,
    sb: Arc<Sb<P>>,
}

impl<P: Platform> MountWriters<P> for Mount<P> {
    fn want(&self, cx: Cx<'_, P>) -> Result<(), Errno> {
        self.sb.slots.with_own(cx.cpu, |held| {
            if self.sb.is_readonly() || self.is_readonly() {
                return Err(Errno::ROFS);
            }
            held.switch(&self.me);
            held.count += 1;
            Ok(())
        })
    }

    fn drop(&self, cx: Cx<'_, P>) {
        let elsewhere = self.sb.slots.with_own(cx.cpu, |held| {
            held.switch(&self.me);
            let elsewhere = held.count == 0;
            if elsewhere {
                self.me.add(-1);
            } else {
                held.count -= 1;
            }
            elsewhere
        });
        if elsewhere && self.me.writers() < UNDERFLOW {
            self.sb.slots.with_folded(|| ());
        }
    }

    fn set(&self, to: Access<'_>) -> Result<(), Errno> {
        let me = std::slice::from_ref(&self.me);
        self.sb.mounts.with(|_| self.sb.change(&self.me.readonly, to, me))
    }

    fn is_readonly(&self) -> bool {
        self.me.readonly.load(Acquire) != 0
    }
}

impl<P: Platform> Drop for Mount<P> {
    fn drop(&mut self) {
        self.sb.mounts.remove(&self.me);
        self.sb.slots.forget(&self.me);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::sync::Rcu;
    use machine::{Real, SpinKind};

    #[test]
    fn an_atomic_that_has_fallen_too_far_is_folded() {
        let env = Env { cpus: 2, spin: SpinKind::Queued };
        let design = Design::<Real> { env, slots: Arc::new(Slots::new(&env)) };
        let sb = Arc::new(Sb {
            slots: Arc::clone(&design.slots),
            readonly: POwned::new(Word::new(0)),
            mounts: Mounts::new(&env),
        });
        let me = Arc::new(POwned::new(Count::new()));
        let mount = Mount { me: Arc::clone(&me), sb };
        let rcu = Rcu::new(2);
        let cx = |cpu| Cx { cpu: Cpu(cpu), rcu: &rcu };
        let opens = UNDERFLOW.unsigned_abs() + 10;
        for _ in 0..opens {
            mount.want(cx(0)).expect("it is writable");
        }
        for closed in 1..=opens.cast_signed() {
            mount.drop(cx(1));
            let fallen = if closed <= -UNDERFLOW { -closed } else { opens.cast_signed() - closed };
            assert_eq!(me.writers(), fallen);
        }
    }
}
