//! The read-write semaphore of 4.7; but open(O_CREAT) first looks whether the name is there, and takes the directory's lock only
//! if it is not.
//!
//! Shared: none to open a file that exists; else the semaphore's word in the inode, 2 locked operations per lock and unlock.
//!
//! Ordering: Acquire to take, Release to free, as for a spinlock.
//!
//! Source: e747e15156b7 (6.12, "fs: try an opportunistic lookup for O_CREAT opens too").

use super::DirLockDesign;
use super::rwsems::Rwsems;
use crate::design::{DesignInfo, Env};
use machine::Platform;

/// The read-write semaphore, not taken by an open(O_CREAT) that need not create.
pub struct RwsemLocklessCreate;

impl RwsemLocklessCreate {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "dir_lock",
        name: "rwsem_lockless_create",
        kernel: "6.12",
        source: "e747e15156b7",
        shared: "none if the name exists; else the directory's i_rwsem",
        reconstruction: false,
    };

    /// The design, for a kernel like `env`.
    pub fn make<P: Platform>(_env: &Env) -> Box<dyn DirLockDesign<P>> {
        Box::new(Rwsems { create_locks_always: false })
    }
}
