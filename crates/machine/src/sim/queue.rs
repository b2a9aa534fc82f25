//! The queue of events: the least key first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Bits of a key that hold the CPU.
const CPU_BITS: u32 = 12;
/// Most CPUs of a machine.
pub(super) const MAX_CPUS: usize = 1 << CPU_BITS;
/// No event.
pub(super) const NEVER: u64 = u64::MAX;

/// When (ticks of 10 ps: 52 bits are 12 hours), and which CPU: the order of events, and of ties.
#[inline(always)]
pub(super) fn key(time: u64, cpu: u16) -> u64 {
    time << CPU_BITS | u64::from(cpu)
}

/// The CPU of a key.
#[inline(always)]
pub(super) fn cpu_of(key: u64) -> u16 {
    (key & (MAX_CPUS as u64 - 1)) as u16
}

/// The time of a key.
#[inline(always)]
pub(super) fn time_of(key: u64) -> u64 {
    key >> CPU_BITS
}

/// At most one event per CPU.
pub(super) struct Queue(BinaryHeap<Reverse<u64>>);

impl Queue {
    pub(super) fn new(cpus: usize) -> Self {
        Queue(BinaryHeap::with_capacity(cpus))
    }

    /// The least key, or `NEVER`.
    #[inline]
    pub(super) fn min(&self) -> u64 {
        self.0.peek().map_or(NEVER, |least| least.0)
    }

    pub(super) fn push(&mut self, key: u64) {
        self.0.push(Reverse(key));
    }

    pub(super) fn pop(&mut self) -> Option<u64> {
        self.0.pop().map(|least| least.0)
    }

    /// Puts `key` in and takes the least out: one sift instead of two.
    #[inline]
    pub(super) fn push_pop(&mut self, key: u64) -> u64 {
        match self.0.peek_mut() {
            Some(mut least) if least.0 < key => {
                let out = least.0;
                *least = Reverse(key);
                // Sifts down.
                drop::<PeekMut<'_, Reverse<u64>>>(least);
                out
            }
            _ => key,
        }
    }
}
