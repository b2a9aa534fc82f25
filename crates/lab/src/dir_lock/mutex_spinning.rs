//! A mutex whose waiters spin for a while before they sleep: as long as its owner runs, in the kernel; here for a number of
//! looks, for user space cannot see whether the owner runs.
//!
//! Shared: the mutex's word in the inode, 2 locked operations per lock and unlock; spinners read it.
//!
//! Ordering: Acquire to take, Release to free, as for a spinlock.
//!
//! Source: 0d66bf6d3514 (2.6.30, "mutex: implement adaptive spinning").

use super::DirLockDesign;
use super::mutexes::Mutexes;
use crate::design::{DesignInfo, Env};
use machine::Platform;
use machine::sync::MutexKind;

/// The mutex with optimistic spinning.
pub struct SpinningMutex;

impl SpinningMutex {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "dir_lock",
        name: "mutex_spinning",
        kernel: "2.6.30",
        source: "0d66bf6d3514",
        shared: "the directory's i_mutex, spun on, then slept on",
        reconstruction: false,
    };

    /// The design, for a kernel like `env`.
    pub fn make<P: Platform>(_env: &Env) -> Box<dyn DirLockDesign<P>> {
        Box::new(Mutexes(MutexKind::Spinning))
    }
}
