//! A read-write semaphore: look-ups of names that are not cached share it, changes of the directory have it alone.
//!
//! Shared: the semaphore's word in the inode, 2 locked operations per lock and unlock, of readers too.
//!
//! Ordering: Acquire to take, Release to free, as for a spinlock.
//!
//! Source: 9902af79c01a (4.7, "parallel lookups: actual switch to rwsem").

use super::DirLockDesign;
use super::rwsems::Rwsems;
use crate::design::{DesignInfo, Env};
use machine::Platform;

/// The read-write semaphore.
pub struct Rwsem;

impl Rwsem {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "dir_lock",
        name: "rwsem",
        kernel: "4.7",
        source: "9902af79c01a",
        shared: "the directory's i_rwsem",
        reconstruction: false,
    };

    /// The design, for a kernel like `env`.
    pub fn make<P: Platform>(_env: &Env) -> Box<dyn DirLockDesign<P>> {
        Box::new(Rwsems { create_locks_always: true })
    }
}
