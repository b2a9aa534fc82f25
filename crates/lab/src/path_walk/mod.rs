//! From a path to a mount and a dentry, and the references that go with them (threads: mail 003).
//!
//! The dentry cache here is the directory: a name exists if and only if its dentry is hashed (as in ramfs, but with d_count 0
//! while nobody uses it, as on a disk file system). There are no negative dentries and no symbolic links.

mod cache;
mod components;
mod dentry;
mod fs_struct;
mod lockref;
mod name;
mod ref_walk;
mod seeded;
mod tree;

#[cfg(test)]
mod tests;

pub use dentry::Dentry;
pub use fs_struct::FsStruct;

use crate::design::designs;
use crate::object::{Inode, Mount, Raw};
use machine::{Cx, Platform};
use vfs_api::Errno;

/// struct path: a dentry seen through a mount. Where it says so, the holder has a reference to both.
pub struct Path<P: Platform> {
    /// The mount.
    pub mount: Raw<Mount<P>>,
    /// The dentry.
    pub dentry: Raw<Dentry<P>>,
}

impl<P: Platform> Clone for Path<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Platform> Copy for Path<P> {}

impl<P: Platform> PartialEq for Path<P> {
    fn eq(&self, other: &Self) -> bool {
        self.mount == other.mount && self.dentry == other.dentry
    }
}

impl<P: Platform> Eq for Path<P> {}

/// The tree of mounts, as a path walk sees it. Mounts are not freed while the kernel lives, only taken out of the tree.
pub trait MountTree<P: Platform>: Send + Sync {
    /// The mount on top of this place, if any (the topmost, if several are stacked). `dentry` is marked as a mount point. Without
    /// a reference: for who takes one by [`Mount::legitimize`] in the same call.
    fn mounted_at(&self, cx: Cx<'_, P>, at: Path<P>) -> Option<Raw<Mount<P>>>;
    /// The same with a reference, the caller's (lookup_mnt).
    fn get_mounted_at(&self, cx: Cx<'_, P>, at: Path<P>) -> Option<Raw<Mount<P>>>;
    /// Where a mount is mounted; none for the root mount.
    fn mount_point(&self, cx: Cx<'_, P>, mount: Raw<Mount<P>>) -> Option<Path<P>>;
}

/// A dentry cache with its way of walking. One per kernel.
pub trait PathWalk<P: Platform>: Send + Sync {
    /// The root dentry of a new super block, with one reference, the caller's. It has no name and is its own parent.
    fn root(&self, cx: Cx<'_, P>, inode: Raw<Inode<P>>) -> Raw<Dentry<P>>;

    /// Walks `path` (absolute: from `fs`'s root; else from its working directory) to its end, crossing mount points, and
    /// answers it with a reference to mount and dentry, both the caller's. A last component that is a mount point is crossed.
    ///
    /// # Errors
    /// As Linux: ENOENT (also for an empty path), ENOTDIR (a component that is not last, or has a slash behind it, is no
    /// directory), ENAMETOOLONG (a component of more than 255 bytes).
    fn walk(
        &self,
        cx: Cx<'_, P>,
        fs: &FsStruct<P>,
        mounts: &dyn MountTree<P>,
        path: &[u8],
    ) -> Result<Path<P>, Errno>;

    /// The child of a directory by its name, with a reference; none if there is no such name. Under the directory's lock
    /// (shared will do). Does not cross mount points.
    fn child(&self, cx: Cx<'_, P>, parent: &Dentry<P>, name: &[u8]) -> Option<Raw<Dentry<P>>>;

    /// Gives `inode` a name in `parent`, which has none such; answers the new dentry with a reference. Under the directory's lock.
    fn insert(
        &self,
        cx: Cx<'_, P>,
        parent: &Dentry<P>,
        name: &[u8],
        inode: Raw<Inode<P>>,
    ) -> Raw<Dentry<P>>;

    /// Takes the name away (d_drop). The dentry lives on as long as it has references; the caller has one. Under the lock of
    /// the directory.
    fn unhash(&self, cx: Cx<'_, P>, dentry: &Dentry<P>);

    /// Gives the dentry another parent and name (d_move), at once for every walker. The new name is free (a dentry in its place
    /// was unhashed before). Under the locks of both directories; renames of a kernel exclude each other.
    fn rename(&self, cx: Cx<'_, P>, dentry: &Dentry<P>, parent: &Dentry<P>, name: &[u8]);

    /// Whether a directory has names in it. Under its lock.
    fn is_empty(&self, directory: &Dentry<P>) -> bool;

    /// One more reference (dget), for who holds one.
    fn get(&self, cx: Cx<'_, P>, dentry: &Dentry<P>);

    /// One less (dput). If it was the last and the name is gone, the dentry is freed (after a grace period where the design
    /// reads it under RCU) and its inode answered: the caller drops the dentry's hold on it.
    fn put(&self, cx: Cx<'_, P>, dentry: Raw<Dentry<P>>) -> Option<Raw<Inode<P>>>;

    /// An inode whose dentry this CPU has freed where nobody could be told: on a walk, or as the parent of another one. The caller
    /// drops that dentry's hold on it. To be asked at the end of each call, until there is none.
    fn claim(&self, cx: Cx<'_, P>) -> Option<Raw<Inode<P>>>;

    /// Takes everything apart when the kernel ends: frees every dentry and calls `inode` for each dentry's inode.
    ///
    /// # Safety
    /// The caller is alone with the kernel, holds no reference any more, and has drained RCU.
    unsafe fn tear_down(&self, cx: Cx<'_, P>, inode: &mut dyn FnMut(Raw<Inode<P>>));
}

designs! {
    PathWalk;
    dcache_lock_fs_root::DcacheLockFsRoot,
    dcache_lock::DcacheLock,
    dentry_locks::DentryLocks,
    rcu_walk::RcuWalk,
    rcu_walk_fast_dput::RcuWalkFastDput,
}
