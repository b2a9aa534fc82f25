//! The spinning reader-writer lock of x86 up to 2012: a count that starts at a bias.
//!
//! Both ends of a reader's section are locked operations on the one word, which is why it helps readers so little (Manfred
//! Spraul in the thread of mail 001: a spinlock's unlock is a plain store).

use crate::accounting::{LockKind, LockTag, count, release};
use crate::platform::{Platform, Word};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Linux has 0x0100_0000, which 128 writers that try at once wrap round; this allows 2047 of them and a million readers.
const BIAS: u32 = 0x0010_0000;

/// Readers take 1 from the bias, a writer all of it.
pub struct RwSpin<P: Platform> {
    word: P::U32,
    tag: P::Tag,
}

// Orderings as for a spinlock: Acquire to take, Release to free; what backs out of a failed try publishes nothing (Relaxed).
impl<P: Platform> RwSpin<P> {
    /// A free lock; `name` is the kernel's.
    pub fn new(name: &'static str) -> Self {
        RwSpin { word: P::U32::new(BIAS), tag: P::Tag::new(LockKind::Rwlock, name) }
    }

    fn try_take(&self, share: u32) -> bool {
        let before = self.word.fetch_sub(share, Acquire);
        // As signed numbers: a writer leaves the word at 0 or, with readers trying, below.
        let taken = if share == BIAS { before == BIAS } else { before.cast_signed() > 0 };
        if !taken {
            self.word.fetch_add(share, Relaxed);
        }
        taken
    }

    fn take(&self, share: u32) {
        while !self.try_take(share) {
            self.word.spin_until(Relaxed, |word| {
                if share == BIAS { word == BIAS } else { word.cast_signed() > 0 }
            });
        }
    }

    /// Takes it shared.
    #[inline]
    pub fn read_lock(&self) {
        count::<P>(&self.tag, || self.try_take(1), || self.take(1));
    }

    /// Frees a reader's share.
    #[inline]
    pub fn read_unlock(&self) {
        release::<P>(&self.tag);
        self.word.fetch_add(1, Release);
    }

    /// Takes it exclusively.
    #[inline]
    pub fn write_lock(&self) {
        count::<P>(&self.tag, || self.try_take(BIAS), || self.take(BIAS));
    }

    /// Frees it from a writer.
    #[inline]
    pub fn write_unlock(&self) {
        release::<P>(&self.tag);
        self.word.fetch_add(BIAS, Release);
    }
}
