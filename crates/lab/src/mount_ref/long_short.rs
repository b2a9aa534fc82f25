//! Two kinds of references: long ones in one atomic, short ones in a count per CPU; the sum is only taken when no long one is left.
//!
//! A mount in the tree has a long reference (in the kernel also a process's root and working directory; here those are taken
//! with `get`, and the tree's alone decides). mntget: own CPU's count, no lock. mntput: own CPU's lock; if there are long ones,
//! own CPU's count, and that is all; if not, every CPU's lock, own count, sum of all and the long ones. Look-ups in the mount
//! hash take the own CPU's lock; attach and detach take all. Mount flags do not come into it, so that a remount does nothing.
//!
//! Shared: none as long as the mount is in the tree; else every mntput writes every CPU's lock.
//! Ordering: `mnt_longrefs` is read under one CPU's lock and written under all, as the flag of `percpu` is. So Relaxed will do:
//! a drop that has seen a long reference is over before the last of them goes. Counts: see the module `counter`.
//! Source: Linux 2.6.38, b3e19d924b6e (fs: scale mntget/mntput).

use super::counter::Counter;
use super::{MountRef, MountRefDesign};
use crate::design::{DesignInfo, Env};
use machine::sync::LgLock;
use machine::{Cx, POwned, Platform, Word};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Per-CPU differences and long-term references (2.6.38).
pub struct LongShort;

impl LongShort {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "mount_ref",
        name: "long_short",
        kernel: "2.6.38",
        source: "b3e19d924b6e",
        shared: "none while mounted",
        reconstruction: false,
    };

    /// For a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn MountRefDesign<P>> {
        let vfsmount_lock = Arc::new(LgLock::new(env.cpus, env.spin, "vfsmount_lock"));
        Box::new(Kernel::<P> { cpus: env.cpus, vfsmount_lock })
    }
}

struct Kernel<P: Platform> {
    cpus: usize,
    vfsmount_lock: Arc<LgLock<P>>,
}

struct Count<P: Platform> {
    vfsmount_lock: Arc<LgLock<P>>,
    /// mnt_longrefs: read by every mntput, written when the mount comes and goes.
    long: POwned<P, P::U64>,
    short: Counter<P>,
}

impl<P: Platform> MountRefDesign<P> for Kernel<P> {
    fn mount(&self) -> Box<dyn MountRef<P>> {
        let long = POwned::new(P::U64::new(0));
        P::name(&*long, "vfsmount.mnt_longrefs");
        Box::new(Count::<P> {
            vfsmount_lock: self.vfsmount_lock.clone(),
            long,
            short: Counter::new(self.cpus),
        })
    }

    fn protect_lookup(&self, cx: Cx<'_, P>, f: &mut dyn FnMut()) {
        self.vfsmount_lock.with_local(cx.cpu, f);
    }
}

impl<P: Platform> Count<P> {
    /// It may be the last one.
    #[cold]
    fn put_and_sum(&self, cx: Cx<'_, P>) -> bool {
        self.vfsmount_lock.with_global(|| {
            self.short.dec(cx.cpu);
            self.long.load(Relaxed) == 0 && self.short.sum() == 0
        })
    }
}

// Relaxed throughout: see the header.
impl<P: Platform> MountRef<P> for Count<P> {
    fn get(&self, cx: Cx<'_, P>) {
        self.short.inc(cx.cpu);
    }

    fn put(&self, cx: Cx<'_, P>) -> bool {
        let done = self.vfsmount_lock.with_local(cx.cpu, || {
            let long = self.long.load(Relaxed) != 0;
            if long {
                self.short.dec(cx.cpu);
            }
            long
        });
        !done && self.put_and_sum(cx)
    }

    fn attach(&self, cx: Cx<'_, P>) {
        self.vfsmount_lock.with_global(|| {
            self.long.fetch_add(1, Relaxed);
            self.short.dec(cx.cpu);
        });
    }

    fn detach(&self, cx: Cx<'_, P>, unhash: &mut dyn FnMut()) -> bool {
        self.vfsmount_lock.with_global(|| {
            let alone = self.long.load(Relaxed) == 1 && self.short.sum() == 0;
            if alone {
                unhash();
                self.long.fetch_sub(1, Relaxed);
                self.short.inc(cx.cpu);
            }
            alone
        })
    }

    fn remounted(&self, _cx: Cx<'_, P>) {}

    fn references(&self) -> i64 {
        self.short.sum()
    }
}
