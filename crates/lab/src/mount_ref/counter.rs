//! A counter of differences, one per CPU: a reference that is taken on one CPU and dropped on another leaves +1 here and -1 there.
//! Only the sum means something.
//!
//! Ordering: only the CPU itself writes its number, or somebody who holds every CPU's lock, by a plain load and store. Relaxed:
//! a drop is under a lock, so that who sums under all locks sees all drops so far; and with each drop the taking that came
//! before it, because whatever handed the reference over orders the two. A taking that the sum misses was done by the holder of
//! another reference, of which the same can be said: so long as one is left, the sum is not 0.

use machine::sync::PerCpu;
use machine::{Cpu, Platform, Word};
use std::sync::atomic::Ordering::Relaxed;

/// Differences by CPU; as two's complement.
pub(super) struct Counter<P: Platform>(PerCpu<P, P::U64>);

impl<P: Platform> Counter<P> {
    /// With a sum of 1: the reference of who makes the object, counted on the first CPU.
    pub(super) fn new(cpus: usize) -> Self {
        let counts = PerCpu::new(cpus, |cpu| P::U64::new(u64::from(cpu.0 == 0)));
        counts.iter().for_each(|cpu| P::name(cpu, "vfsmount.mnt_count (per CPU)"));
        Counter(counts)
    }

    #[inline]
    fn change(&self, cpu: Cpu, by: i64) {
        let mine = self.0.get(cpu);
        mine.store(mine.load(Relaxed).wrapping_add_signed(by), Relaxed);
    }

    /// One more, on one's own CPU.
    #[inline]
    pub(super) fn inc(&self, cpu: Cpu) {
        self.change(cpu, 1);
    }

    /// One less, on one's own CPU, under its lock or all.
    #[inline]
    pub(super) fn dec(&self, cpu: Cpu) {
        self.change(cpu, -1);
    }

    /// The sum; exact under the conditions in the header.
    pub(super) fn sum(&self) -> i64 {
        self.0.iter().map(|count| count.load(Relaxed)).fold(0, u64::wrapping_add).cast_signed()
    }
}
