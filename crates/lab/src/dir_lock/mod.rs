//! The lock of an inode that sleepers wait for: of a directory to change it, of a file to write it (i_mutex, i_rwsem).

mod mutexes;
mod rwsems;
#[cfg(test)]
mod tests;

use crate::design::designs;
use machine::{Cx, Platform};

/// One inode's lock. May sleep: not inside an RCU read-side section.
pub trait DirLock<P: Platform>: Send + Sync {
    /// Takes it to change the inode.
    fn lock(&self, cx: Cx<'_, P>);
    /// Frees it.
    fn unlock(&self, cx: Cx<'_, P>);
    /// Takes it to look a name up that is not in the dentry cache. Exclusive where the design knows nothing better.
    fn lock_shared(&self, cx: Cx<'_, P>) {
        self.lock(cx);
    }
    /// Frees it from a look-up.
    fn unlock_shared(&self, cx: Cx<'_, P>) {
        self.unlock(cx);
    }
}

/// A design.
pub trait DirLockDesign<P: Platform>: Send + Sync {
    /// The lock of a new inode. `name`: the kernel's, for lock accounting.
    fn inode(&self, name: &'static str) -> Box<dyn DirLock<P>>;
    /// Whether open(O_CREAT) takes the directory's lock even if the name is there. Since 6.12 it first looks without
    /// (e747e15156b7, "opportunistic lookup for O_CREAT opens too").
    fn create_locks_always(&self) -> bool;
}

designs! {
    DirLockDesign;
    mutex::SleepingMutex,
    mutex_spinning::SpinningMutex,
    rwsem::Rwsem,
    rwsem_lockless_create::RwsemLocklessCreate,
}
