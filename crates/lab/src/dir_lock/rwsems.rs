//! The read-write semaphore as a directory's lock.

use super::{DirLock, DirLockDesign};
use machine::sync::RwSem;
use machine::{Cx, POwned, Platform};

/// Directories with semaphores.
pub(super) struct Rwsems {
    pub(super) create_locks_always: bool,
}

impl<P: Platform> DirLockDesign<P> for Rwsems {
    fn inode(&self, name: &'static str) -> Box<dyn DirLock<P>> {
        Box::new(Lock(POwned::<P, _>::new(RwSem::new(name))))
    }

    fn create_locks_always(&self) -> bool {
        self.create_locks_always
    }
}

struct Lock<P: Platform>(POwned<P, RwSem<P>>);

impl<P: Platform> DirLock<P> for Lock<P> {
    fn lock(&self, cx: Cx<'_, P>) {
        self.0.write_lock(cx);
    }

    fn unlock(&self, _cx: Cx<'_, P>) {
        self.0.write_unlock();
    }

    fn lock_shared(&self, cx: Cx<'_, P>) {
        self.0.read_lock(cx);
    }

    fn unlock_shared(&self, _cx: Cx<'_, P>) {
        self.0.read_unlock();
    }
}
