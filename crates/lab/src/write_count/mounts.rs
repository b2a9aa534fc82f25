//! The mounts of a super block (s_vfsmounts), for remounts of all of it.

use crate::design::Env;
use machine::Platform;
use machine::sync::SpinLock;
use std::sync::Arc;

/// What the design keeps of each mount of a super block, under vfsmount_lock. The kernel has one such lock for all super
/// blocks; no operation but mount, unmount and remount takes it, so that one per super block makes no difference here.
pub(super) struct Mounts<P: Platform, M: Send + Sync + 'static> {
    list: SpinLock<P, Vec<Arc<M>>>,
}

impl<P: Platform, M: Send + Sync + 'static> Mounts<P, M> {
    pub(super) fn new(env: &Env) -> Self {
        Mounts { list: SpinLock::new(env.spin, "vfsmount_lock", Vec::new()) }
    }

    /// Adds a mount, which `make` makes under the lock: no remount of the super block comes in between.
    pub(super) fn add(&self, make: impl FnOnce() -> M) -> Arc<M> {
        self.list.with(|list| {
            let mount = Arc::new(make());
            list.push(Arc::clone(&mount));
            mount
        })
    }

    pub(super) fn remove(&self, mount: &Arc<M>) {
        self.list.with(|list| list.retain(|other| !Arc::ptr_eq(other, mount)));
    }

    /// Runs `f` on all of them under the lock; so remounts exclude each other.
    pub(super) fn with<R>(&self, f: impl FnOnce(&[Arc<M>]) -> R) -> R {
        self.list.with(|list| f(list))
    }
}
