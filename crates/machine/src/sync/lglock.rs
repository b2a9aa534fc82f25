//! A spinlock per CPU: local sections take their own CPU's, global ones take all (lglock 6416ccb78999, brlock 99b7db7b8ffd).

use super::{PerCpu, Spin};
use crate::platform::{Cpu, Platform, SpinKind};

/// Cheap for one CPU, dear for all.
pub struct LgLock<P: Platform> {
    locks: PerCpu<P, Spin<P>>,
}

impl<P: Platform> LgLock<P> {
    /// One free lock per CPU; `name` is the kernel's.
    pub fn new(cpus: usize, kind: SpinKind, name: &'static str) -> Self {
        LgLock { locks: PerCpu::new(cpus, |_| Spin::new(kind, name)) }
    }

    /// Runs `f` under one CPU's lock: one's own, or the one that an object was put under.
    #[inline]
    pub fn with_local<R>(&self, cpu: Cpu, f: impl FnOnce() -> R) -> R {
        self.locks.get(cpu).with(f)
    }

    /// Runs `f` under all locks, taken in the order of CPUs (so that two who take all do not dead-lock).
    pub fn with_global<R>(&self, f: impl FnOnce() -> R) -> R {
        self.locks.iter().for_each(Spin::lock);
        let result = f();
        self.locks.iter().for_each(Spin::unlock);
        result
    }
}
