//! The read-write semaphore: many readers or one writer, and waiters sleep. Directories have one since 4.7 (9902af79c01a).

use crate::accounting::{LockKind, LockTag, count, release};
use crate::platform::{Cx, Futex, Platform, Word};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const WRITER: u32 = 1 << 31;
/// Somebody may sleep.
const AWAITED: u32 = 1 << 30;
const READERS: u32 = AWAITED - 1;

/// Looks before sleeping: waiters of an rwsem spin on its owner as those of a mutex do (3.15 for writers).
const SPINS: u32 = 400;

/// A reader-writer lock whose waiters sleep. Readers do not overtake a waiting writer for ever: a sleeper is woken by whoever
/// frees the lock, and all try again.
pub struct RwSem<P: Platform> {
    word: P::U32,
    tag: P::Tag,
}

/// How it is taken.
#[derive(Clone, Copy)]
enum Mode {
    Read,
    Write,
}

impl Mode {
    fn may_enter(self, word: u32) -> bool {
        match self {
            Mode::Read => word & WRITER == 0,
            Mode::Write => word & (WRITER | READERS) == 0,
        }
    }

    fn enter(self, word: u32) -> u32 {
        match self {
            Mode::Read => word + 1,
            Mode::Write => word | WRITER,
        }
    }
}

// Orderings as for a spinlock.
impl<P: Platform> RwSem<P> {
    /// A free lock; `name` is the kernel's.
    pub fn new(name: &'static str) -> Self {
        RwSem { word: P::U32::new(0), tag: P::Tag::new(LockKind::Rwsem, name) }
    }

    /// Tries as long as the lock is free for us; a lost race against somebody else's change of the word is not contention.
    fn try_with(&self, mode: Mode) -> bool {
        let mut word = self.word.load(Relaxed);
        while mode.may_enter(word) {
            match self.word.compare_exchange(word, mode.enter(word), Acquire, Relaxed) {
                Ok(_) => return true,
                Err(found) => word = found,
            }
        }
        false
    }

    /// Takes it shared, sleeping if it must; not inside an RCU read-side section.
    pub fn read_lock(&self, cx: Cx<'_, P>) {
        count::<P>(&self.tag, || self.try_with(Mode::Read), || self.wait(cx, Mode::Read));
    }

    /// Takes it exclusively, sleeping if it must; not inside an RCU read-side section.
    pub fn write_lock(&self, cx: Cx<'_, P>) {
        count::<P>(&self.tag, || self.try_with(Mode::Write), || self.wait(cx, Mode::Write));
    }

    fn wait(&self, cx: Cx<'_, P>, mode: Mode) {
        for _ in 0..SPINS {
            if self.try_with(mode) {
                return;
            }
            P::relax();
        }
        while !self.try_with(mode) {
            let word = self.word.load(Relaxed);
            if mode.may_enter(word) {
                continue;
            }
            // The value slept on has the bit, so that the wake-up that clears it cannot be missed.
            if word & AWAITED != 0
                || self.word.compare_exchange(word, word | AWAITED, Relaxed, Relaxed).is_ok()
            {
                cx.rcu.offline(cx.cpu);
                self.word.wait(word | AWAITED);
                cx.rcu.online(cx.cpu);
            }
        }
    }

    /// Frees a reader's share.
    pub fn read_unlock(&self) {
        release::<P>(&self.tag);
        let before = self.word.fetch_sub(1, Release);
        if before & AWAITED != 0 {
            self.wake_all();
        }
    }

    /// Frees it from a writer.
    pub fn write_unlock(&self) {
        release::<P>(&self.tag);
        let before = self.word.fetch_and(!WRITER, Release);
        if before & AWAITED != 0 {
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        self.word.fetch_and(!AWAITED, Relaxed);
        self.word.wake(u32::MAX >> 1);
    }
}
