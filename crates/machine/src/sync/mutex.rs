//! The sleeping mutex: 2.6.16's, and with optimistic spinning (2.6.30 and later).

use crate::accounting::{LockKind, LockTag, count, release};
use crate::platform::{Cx, Futex, Platform, Word};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// What a waiter does before it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MutexKind {
    /// It sleeps at once. 2.6.16 to 2.6.29.
    Sleeping,
    /// It spins as long as the owner is likely to be running. 2.6.30 and later (0d66bf6d3514).
    Spinning,
}

/// Looks at a spinning mutex before sleeping. The kernel spins while the owner is on a CPU, which user space cannot see; this
/// is some microseconds, longer than any hold here without a sleep.
const SPINS: u32 = 400;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and somebody may sleep.
const AWAITED: u32 = 2;

/// A mutex whose waiters sleep.
pub struct Mutex<P: Platform> {
    kind: MutexKind,
    word: P::U32,
    tag: P::Tag,
}

// Orderings as for a spinlock.
impl<P: Platform> Mutex<P> {
    /// A free mutex; `name` is the kernel's.
    pub fn new(kind: MutexKind, name: &'static str) -> Self {
        Mutex { kind, word: P::U32::new(FREE), tag: P::Tag::new(LockKind::Mutex, name) }
    }

    fn try_take(&self) -> bool {
        self.word.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_ok()
    }

    /// Takes it, sleeping if it must. Must not be called inside an RCU read-side section: sleeping ends it.
    #[inline]
    pub fn lock(&self, cx: Cx<'_, P>) {
        count::<P>(
            &self.tag,
            || self.try_take(),
            || {
                if !self.try_take() {
                    self.wait(cx);
                }
            },
        );
    }

    #[cold]
    fn wait(&self, cx: Cx<'_, P>) {
        if self.kind == MutexKind::Spinning {
            for _ in 0..SPINS {
                if self.word.load(Relaxed) == FREE && self.try_take() {
                    return;
                }
                P::relax();
            }
        }
        // Whoever has slept takes it as awaited, for others may sleep still; at worst one wake-up too many.
        while self.word.swap(AWAITED, Acquire) != FREE {
            cx.rcu.offline(cx.cpu);
            self.word.wait(AWAITED);
            cx.rcu.online(cx.cpu);
        }
    }

    /// Frees it and wakes one sleeper. The caller must hold it.
    #[inline]
    pub fn unlock(&self) {
        release::<P>(&self.tag);
        if self.word.swap(FREE, Release) == AWAITED {
            self.word.wake(1);
        }
    }
}
