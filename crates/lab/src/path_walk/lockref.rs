//! A spinlock and a reference count in one word (struct lockref, 0f8f2aaaab0b; bc08b449ee14, 3.12): while the lock is free, the count is
//! changed by one compare-and-exchange of the whole word.
//!
//! The lock is the ticket lock of 3.12: tickets in the upper half of the word, the count in the lower. A dead count is negative.

use machine::{LockKind, LockTag, Platform, Word};
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release};

const COUNT: u64 = 0xffff_ffff;
/// The sign of the count.
const DEAD: u64 = 1 << 31;
/// One in the number that is being served.
const SERVED: u64 = 1 << 32;
/// One in the number of the next ticket. Its carry falls off the word.
const TICKET: u64 = 1 << 48;

fn ticket(word: u64) -> u64 {
    word >> 48
}

fn served(word: u64) -> u64 {
    word >> 32 & 0xffff
}

fn count(word: u64) -> u32 {
    (word & COUNT) as u32
}

fn is_dead(count: u32) -> bool {
    count.cast_signed() < 0
}

/// The lock and the count.
pub(super) struct Lockref<P: Platform> {
    word: P::U64,
    tag: P::Tag,
}

/// What became of a change without the lock.
enum Fast {
    /// To this count.
    Done(u32),
    Refused,
    Locked,
}

// Orderings: as for any spinlock, taking is Acquire and freeing is Release. Without the lock: a reference is got with Acquire,
// so that what the last holder of the lock did (unhash the dentry, and move d_seq) is seen by who got it afterwards; it is
// put with Release, so that what was done with it comes before what the one who puts the last does, who takes the lock. All
// changes are read-modify-write operations, hence continue the release sequences of the ones before them.
impl<P: Platform> Lockref<P> {
    /// A free lock and one reference; `name` is the lock's.
    pub(super) fn new(name: &'static str) -> Self {
        Lockref { word: P::U64::new(1), tag: P::Tag::new(LockKind::Lockref, name) }
    }

    /// CMPXCHG_LOOP: changes the count as long as the lock is free.
    #[inline]
    fn change(&self, order: Ordering, new: impl Fn(u32) -> Option<u32>) -> Fast {
        // Relaxed: only a guess at what the exchange will find.
        let mut word = self.word.load(Relaxed);
        while ticket(word) == served(word) {
            let Some(new) = new(count(word)) else { return Fast::Refused };
            let next = word & !COUNT | u64::from(new);
            match self.word.compare_exchange(word, next, order, Relaxed) {
                Ok(_) => return Fast::Done(new),
                Err(found) => word = found,
            }
        }
        Fast::Locked
    }

    /// One more reference, for who holds one.
    #[inline]
    pub(super) fn get(&self) {
        if !matches!(self.change(Acquire, |count| Some(count + 1)), Fast::Done(_)) {
            self.lock();
            self.add();
            self.unlock();
        }
    }

    /// One more reference, unless it is dead.
    #[inline]
    pub(super) fn get_not_dead(&self) -> bool {
        match self.change(Acquire, |count| (!is_dead(count)).then(|| count + 1)) {
            Fast::Done(_) => true,
            Fast::Refused => false,
            Fast::Locked => {
                self.lock();
                let alive = !is_dead(self.count());
                if alive {
                    self.add();
                }
                self.unlock();
                alive
            }
        }
    }

    /// One reference less and true, unless it is the last: then the lock is taken, and the reference still there.
    #[inline]
    pub(super) fn put_or_lock(&self) -> bool {
        if matches!(self.change(Release, |count| (count > 1).then(|| count - 1)), Fast::Done(_)) {
            return true;
        }
        self.lock();
        let others = self.count() > 1;
        if others {
            self.sub();
            self.unlock();
        }
        others
    }

    /// One reference less, the last one too, and how many are left; none if the lock is not free, and nothing done
    /// (lockref_put_return).
    #[inline]
    pub(super) fn put_return(&self) -> Option<u32> {
        // AcqRel: who puts the last one looks at what those did that put theirs before.
        match self.change(AcqRel, |count| Some(count - 1)) {
            Fast::Done(left) => Some(left),
            Fast::Refused | Fast::Locked => None,
        }
    }

    /// The count; stable under the lock.
    pub(super) fn count(&self) -> u32 {
        // Relaxed: the lock orders.
        count(self.word.load(Relaxed))
    }

    /// One more, under the lock.
    pub(super) fn add(&self) {
        self.word.fetch_add(1, Relaxed);
    }

    /// One less, under the lock.
    pub(super) fn sub(&self) {
        self.word.fetch_sub(1, Relaxed);
    }

    /// No reference can be got from now on. Under the lock, by who has the last or had it.
    pub(super) fn mark_dead(&self) {
        self.word.fetch_or(DEAD, Relaxed);
    }

    /// Takes the lock, spinning.
    #[inline]
    pub(super) fn lock(&self) {
        if !P::Tag::ON {
            self.take();
        } else if self.try_take() {
            self.tag.acquired(P::now_ns(), None);
        } else {
            let began = P::now_ns();
            self.take();
            let now = P::now_ns();
            self.tag.acquired(now, Some(now - began));
        }
    }

    fn try_take(&self) -> bool {
        let word = self.word.load(Relaxed);
        let taken = word.wrapping_add(TICKET);
        ticket(word) == served(word)
            && self.word.compare_exchange(word, taken, Acquire, Relaxed).is_ok()
    }

    fn take(&self) {
        let word = self.word.fetch_add(TICKET, Acquire);
        let mine = ticket(word);
        if mine != served(word) {
            self.word.spin_until(Acquire, |word| served(word) == mine);
        }
    }

    /// Frees the lock. The caller must hold it.
    #[inline]
    pub(super) fn unlock(&self) {
        if P::Tag::ON {
            self.tag.released(P::now_ns());
        }
        // Only the holder changes the number served, so that it may be looked at first; a carry must not reach the tickets.
        if served(self.word.load(Relaxed)) == 0xffff {
            self.word.fetch_sub(0xffff * SERVED, Release);
        } else {
            self.word.fetch_add(SERVED, Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Real;

    #[test]
    fn the_count_survives_the_tickets_wrapping() {
        let lockref = Lockref::<Real>::new("d_lock");
        for _ in 0..0x2_0001 {
            lockref.lock();
            lockref.unlock();
        }
        assert_eq!(lockref.count(), 1);
        assert!(lockref.get_not_dead());
        assert!(lockref.put_or_lock());
        assert!(!lockref.put_or_lock(), "the last one is left to the caller, with the lock");
        lockref.mark_dead();
        lockref.unlock();
        assert!(!lockref.get_not_dead());
    }
}
