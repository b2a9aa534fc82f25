//! A mutex whose waiters sleep at once.
//!
//! open(O_CREAT) takes the directory's even if the name is there; look-ups of names that are not cached take it as well. In mail
//! 000's baseline the processes sleep here: 30 s of real time, 2.7 s of CPU.
//!
//! Shared: the mutex's word in the inode, 2 locked operations per lock and unlock, and under contention the sleepers' queue.
//!
//! Ordering: Acquire to take, Release to free, as for a spinlock.
//!
//! Source: i_mutex of 2.6.16 to 2.6.29 (kernel/mutex.c before 0d66bf6d3514).

use super::DirLockDesign;
use super::mutexes::Mutexes;
use crate::design::{DesignInfo, Env};
use machine::Platform;
use machine::sync::MutexKind;

/// The sleeping mutex.
pub struct SleepingMutex;

impl SleepingMutex {
    /// What is known of it.
    pub const INFO: DesignInfo = DesignInfo {
        part: "dir_lock",
        name: "mutex",
        kernel: "2.6.16",
        source: "i_mutex; kernel/mutex.c of 2.6.16",
        shared: "the directory's i_mutex, slept on",
        reconstruction: false,
    };

    /// The design, for a kernel like `env`.
    pub fn make<P: Platform>(_env: &Env) -> Box<dyn DirLockDesign<P>> {
        Box::new(Mutexes(MutexKind::Sleeping))
    }
}
