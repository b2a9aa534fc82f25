//! The mutex as a directory's lock.

use super::{DirLock, DirLockDesign};
use machine::sync::{Mutex, MutexKind};
use machine::{Cx, POwned, Platform};

/// Directories with mutexes of a kind.
pub(super) struct Mutexes(pub(super) MutexKind);

impl<P: Platform> DirLockDesign<P> for Mutexes {
    fn inode(&self, name: &'static str) -> Box<dyn DirLock<P>> {
        Box::new(Lock(POwned::<P, _>::new(Mutex::new(self.0, name))))
    }

    fn create_locks_always(&self) -> bool {
        true
    }
}

struct Lock<P: Platform>(POwned<P, Mutex<P>>);

impl<P: Platform> DirLock<P> for Lock<P> {
    fn lock(&self, cx: Cx<'_, P>) {
        self.0.lock(cx);
    }

    fn unlock(&self, _cx: Cx<'_, P>) {
        self.0.unlock();
    }
}
