//! The sequence counter: readers look, and look again whether a writer was there meanwhile.

use crate::platform::{Platform, Word};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Odd while a writer is at work. Writers exclude each other by a lock of their own.
#[derive(Debug)]
pub struct SeqCount<P: Platform>(P::U32);

impl<P: Platform> Default for SeqCount<P> {
    fn default() -> Self {
        SeqCount(P::U32::new(0))
    }
}

impl<P: Platform> SeqCount<P> {
    /// Waits for a quiet moment; to be handed to [`SeqCount::retry`].
    #[inline]
    pub fn read_begin(&self) -> u32 {
        // Acquire: pairs with the Release of `write_end`; what that writer wrote is seen.
        self.0.spin_until(Acquire, |seq| seq % 2 == 0)
    }

    /// The current number without waiting (the kernel's raw_seqcount_begin). If a writer is at work it is the even number below,
    /// so that `retry` will say yes.
    #[inline]
    pub fn read_begin_now(&self) -> u32 {
        self.0.load(Acquire) & !1
    }

    /// Whether what was read since `begin` may be torn. The data itself must be read by atomics (Relaxed is enough).
    #[inline]
    pub fn retry(&self, begin: u32) -> bool {
        // The fence keeps the data's loads before the look at the counter: it pairs with the one in `write_begin`.
        P::fence(Acquire);
        self.0.load(Relaxed) != begin
    }

    /// The caller is about to write.
    #[inline]
    pub fn write_begin(&self) {
        // Only one writer at a time: a plain increment.
        self.0.store(self.0.load(Relaxed).wrapping_add(1), Relaxed);
        // No store of the data may become visible before the odd number.
        P::fence(Release);
    }

    /// The caller has written.
    #[inline]
    pub fn write_end(&self) {
        self.0.store(self.0.load(Relaxed).wrapping_add(1), Release);
    }
}
