//! Per-CPU counts with a flag that spares the sum: what `percpu` and `percpu_remount_bug` share.
//!
//! A mount in the tree (MNT_MOUNTED) has the tree's reference, so that no other can be the last: mntput subtracts one from the own
//! CPU's count and is done. Without the flag it takes every CPU's vfsmount_lock, subtracts, and sums all counts.
//!
//! Ordering: the flag is read under one CPU's lock and written under all. So a drop that has seen it set is over before the
//! mount leaves the tree. Counts: see [`super::counter`].

use super::counter::Counter;
use super::{MountRef, MountRefDesign};
use crate::design::Env;
use machine::sync::LgLock;
use machine::{Cx, POwned, Platform, Word};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Where the two designs differ, and what a test can leave out.
pub(super) trait Rules: Send + Sync + 'static {
    /// do_remount puts the internal flag back among the user's.
    const REMOUNT_KEEPS_MOUNTED: bool;
    /// The sum is taken under every CPU's lock.
    const ALL_LOCKS: bool = true;
}

const MNT_MOUNTED: u32 = 1;

/// The design.
pub(super) struct Kernel<P: Platform, R> {
    cpus: usize,
    vfsmount_lock: Arc<LgLock<P>>,
    rules: PhantomData<R>,
}

/// The mount's own line: read by every mntput, written when the mount comes and goes.
struct State<P: Platform> {
    /// mnt_flags.
    flags: P::U32,
    /// References of the tree, 0 or 1: whether it is hashed, whatever the flag says.
    in_tree: P::U32,
}

struct Count<P: Platform, R> {
    vfsmount_lock: Arc<LgLock<P>>,
    state: POwned<P, State<P>>,
    count: Counter<P>,
    rules: PhantomData<R>,
}

impl<P: Platform, R: Rules> Kernel<P, R> {
    pub(super) fn new(env: &Env) -> Self {
        let vfsmount_lock = Arc::new(LgLock::new(env.cpus, env.spin, "vfsmount_lock"));
        Kernel { cpus: env.cpus, vfsmount_lock, rules: PhantomData }
    }
}

impl<P: Platform, R: Rules> MountRefDesign<P> for Kernel<P, R> {
    fn mount(&self) -> Box<dyn MountRef<P>> {
        let state = POwned::new(State { flags: P::U32::new(0), in_tree: P::U32::new(0) });
        P::name(&*state, "vfsmount.mnt_flags");
        Box::new(Count::<P, R> {
            vfsmount_lock: self.vfsmount_lock.clone(),
            state,
            count: Counter::new(self.cpus),
            rules: PhantomData,
        })
    }

    fn protect_lookup(&self, cx: Cx<'_, P>, f: &mut dyn FnMut()) {
        self.vfsmount_lock.with_local(cx.cpu, f);
    }
}

impl<P: Platform, R: Rules> Count<P, R> {
    /// It may be the last one.
    #[cold]
    fn put_and_sum(&self, cx: Cx<'_, P>) -> bool {
        let put = || {
            self.count.dec(cx.cpu);
            self.count.sum() == 0
        };
        if R::ALL_LOCKS {
            self.vfsmount_lock.with_global(put)
        } else {
            self.vfsmount_lock.with_local(cx.cpu, put)
        }
    }
}

// Relaxed throughout: see the headers.
impl<P: Platform, R: Rules> MountRef<P> for Count<P, R> {
    fn get(&self, cx: Cx<'_, P>) {
        self.count.inc(cx.cpu);
    }

    fn put(&self, cx: Cx<'_, P>) -> bool {
        let done = self.vfsmount_lock.with_local(cx.cpu, || {
            let mounted = self.state.flags.load(Relaxed) & MNT_MOUNTED != 0;
            if mounted {
                self.count.dec(cx.cpu);
            }
            mounted
        });
        !done && self.put_and_sum(cx)
    }

    fn attach(&self, _cx: Cx<'_, P>) {
        self.vfsmount_lock.with_global(|| {
            self.state.in_tree.store(1, Relaxed);
            self.state.flags.fetch_or(MNT_MOUNTED, Relaxed);
        });
    }

    fn detach(&self, _cx: Cx<'_, P>, unhash: &mut dyn FnMut()) -> bool {
        self.vfsmount_lock.with_global(|| {
            let alone = self.count.sum() == 1;
            if alone {
                unhash();
                self.state.in_tree.store(0, Relaxed);
                self.state.flags.fetch_and(!MNT_MOUNTED, Relaxed);
            }
            alone
        })
    }

    fn remounted(&self, _cx: Cx<'_, P>) {
        self.vfsmount_lock.with_global(|| {
            // The user's flags, none of which matters here, take the place of all that is not kept.
            let kept = if R::REMOUNT_KEEPS_MOUNTED { MNT_MOUNTED } else { 0 };
            self.state.flags.fetch_and(kept, Relaxed);
        });
    }

    fn references(&self) -> i64 {
        self.count.sum() - i64::from(self.state.in_tree.load(Relaxed))
    }
}
