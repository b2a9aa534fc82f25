//! One atomic count in the mount, and one vfsmount_lock of the kernel.
//!
//! mntget: atomic_inc. mntput: atomic_dec_and_lock: an atomic decrement, unless it would reach 0; then under vfsmount_lock,
//! so that nobody finds the mount by look-up while its last reference goes. Look-ups in the mount hash take vfsmount_lock.
//!
//! Shared: the mount's count, by every mntget and mntput; vfsmount_lock, by every crossing of a mount point.
//! Ordering: a decrement is Release and the last one Acquire, too: what any holder did is before the freeing. (Increments
//! and decrements between are read-modify-writes, which carry that on.) An increment orders nothing (Relaxed): its doer holds
//! a reference already, or the lock.
//! Source: Linux 2.6.31, include/linux/mount.h (mntget), fs/namespace.c (mntput_no_expire).

use super::{MountRef, MountRefDesign};
use crate::design::{DesignInfo, Env};
use machine::sync::Spin;
use machine::{Cx, POwned, Platform, Word};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};

/// A shared atomic and vfsmount_lock (2.6.31).
pub struct Shared;

impl Rules for Shared {}

impl Shared {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "mount_ref",
        name: "shared",
        kernel: "2.6.31",
        source: "Linux 2.6.31, fs/namespace.c",
        shared: "mnt_count: by each mntget and mntput; vfsmount_lock: by each crossing",
        reconstruction: false,
    };

    /// For a kernel like `env`.
    pub fn make<P: Platform>(env: &Env) -> Box<dyn MountRefDesign<P>> {
        Box::new(Kernel::<P, Shared>::new(env))
    }
}

/// What a test can leave out or weaken.
pub(super) trait Rules: Send + Sync + 'static {
    /// The count reaches 0 under vfsmount_lock only.
    const LAST_UNDER_LOCK: bool = true;
    /// Of a decrement that is not the last.
    const PUT: Ordering = Release;
}

type VfsmountLock<P> = Arc<POwned<P, Spin<P>>>;

/// The design.
pub(super) struct Kernel<P: Platform, R> {
    vfsmount_lock: VfsmountLock<P>,
    rules: PhantomData<R>,
}

struct State<P: Platform> {
    /// mnt_count, with the tree's reference.
    count: P::U64,
    /// References of the tree: 0 or 1.
    in_tree: P::U32,
}

struct Count<P: Platform, R> {
    vfsmount_lock: VfsmountLock<P>,
    state: POwned<P, State<P>>,
    rules: PhantomData<R>,
}

impl<P: Platform, R: Rules> Kernel<P, R> {
    pub(super) fn new(env: &Env) -> Self {
        let vfsmount_lock = Arc::new(POwned::new(Spin::new(env.spin, "vfsmount_lock")));
        Kernel { vfsmount_lock, rules: PhantomData }
    }
}

impl<P: Platform, R: Rules> MountRefDesign<P> for Kernel<P, R> {
    fn mount(&self) -> Box<dyn MountRef<P>> {
        let state = POwned::new(State { count: P::U64::new(1), in_tree: P::U32::new(0) });
        P::name(&*state, "vfsmount.mnt_count");
        Box::new(Count::<P, R> {
            vfsmount_lock: self.vfsmount_lock.clone(),
            state,
            rules: PhantomData,
        })
    }

    fn protect_lookup(&self, _cx: Cx<'_, P>, f: &mut dyn FnMut()) {
        self.vfsmount_lock.with(f);
    }
}

impl<P: Platform, R: Rules> MountRef<P> for Count<P, R> {
    fn get(&self, _cx: Cx<'_, P>) {
        self.state.count.fetch_add(1, Relaxed);
    }

    fn put(&self, _cx: Cx<'_, P>) -> bool {
        let count = &self.state.count;
        // Relaxed: a guess, which the exchange confirms.
        let mut found = count.load(Relaxed);
        while found != 1 || !R::LAST_UNDER_LOCK {
            match count.compare_exchange(found, found - 1, R::PUT, Relaxed) {
                Ok(_) => return found == 1,
                Err(other) => found = other,
            }
        }
        self.vfsmount_lock.with(|| count.fetch_sub(1, AcqRel) == 1)
    }

    fn attach(&self, _cx: Cx<'_, P>) {
        // Relaxed: under the lock.
        self.vfsmount_lock.with(|| self.state.in_tree.store(1, Relaxed));
    }

    fn detach(&self, _cx: Cx<'_, P>, unhash: &mut dyn FnMut()) -> bool {
        self.vfsmount_lock.with(|| {
            // Acquire: what the others did with their references is before whatever the caller does now.
            let alone = self.state.count.load(Acquire) == 1;
            if alone {
                unhash();
                self.state.in_tree.store(0, Relaxed);
            }
            alone
        })
    }

    fn remounted(&self, _cx: Cx<'_, P>) {}

    fn references(&self) -> i64 {
        let tree = i64::from(self.state.in_tree.load(Relaxed));
        self.state.count.load(Relaxed).cast_signed() - tree
    }
}
