//! Spinlocks, as x86 had them over the years.

use crate::accounting::{LockKind, LockTag, count, release};
use crate::platform::{Plain, Platform, PtrWord, RawSpin, SpinKind, Word};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The three spinlocks on one word (and a tail for the queued one).
///
/// Orderings: taking is Acquire and freeing is Release on the word that hands the lock over, so that what the previous holder
/// did happens before what the next one does. Waiting loads may be Relaxed where an acquiring operation on the same word
/// follows.
#[derive(Debug)]
#[repr(C)]
pub struct WordSpin<P: Platform> {
    /// Test-and-set and queued: 1 if taken. Ticket: the next ticket.
    word: P::U32,
    kind: SpinKind,
    /// Queued: the last waiter. Ticket: no pointer, but the number of the ticket being served. Linux has both numbers of a ticket
    /// lock in one word, of which the holder adds to one half without a lock prefix; here two words side by side, of which the
    /// holder stores one: the same accesses.
    tail: P::Ptr<Waiter<P>>,
}

/// A waiter of the queued lock; it lives on the waiter's stack.
#[derive(Debug)]
struct Waiter<P: Platform> {
    next: P::Ptr<Waiter<P>>,
    /// 1 once it is at the head of the queue.
    head: P::U32,
}

/// A ticket's number in the place of a pointer.
fn ticket<T>(number: u32) -> *mut T {
    std::ptr::without_provenance_mut(number as usize)
}

impl<P: Platform> RawSpin for WordSpin<P> {
    fn new(kind: SpinKind) -> Self {
        // For a ticket lock the null pointer is ticket 0.
        WordSpin { word: P::U32::new(0), kind, tail: P::Ptr::new(null_mut()) }
    }

    #[inline]
    fn lock(&self) {
        match self.kind {
            SpinKind::TestAndSet => {
                while self.word.swap(1, Acquire) != 0 {
                    self.word.spin_until(Relaxed, |word| word == 0);
                }
            }
            SpinKind::Ticket => {
                // Relaxed: a number drawn; the lock is handed over by `tail`.
                let mine = self.word.fetch_add(1, Relaxed);
                if self.tail.load(Acquire) != ticket(mine) {
                    self.tail.spin_until(Acquire, |served| served == ticket(mine));
                }
            }
            SpinKind::Queued => {
                if self.word.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                    self.queue();
                }
            }
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        match self.kind {
            SpinKind::TestAndSet => self.word.swap(1, Acquire) == 0,
            SpinKind::Ticket => {
                // If the ticket being served is still to be drawn, the lock is free; drawn by us, nobody else serves another.
                let served = self.tail.load(Acquire).addr() as u32;
                self.word.load(Relaxed) == served
                    && self
                        .word
                        .compare_exchange(served, served.wrapping_add(1), Relaxed, Relaxed)
                        .is_ok()
            }
            SpinKind::Queued => self.word.compare_exchange(0, 1, Acquire, Relaxed).is_ok(),
        }
    }

    #[inline]
    fn unlock(&self) {
        match self.kind {
            SpinKind::TestAndSet | SpinKind::Queued => self.word.store(0, Release),
            SpinKind::Ticket => {
                // Only the holder stores it, so it may be read first (Relaxed).
                let served = self.tail.load(Relaxed).addr() as u32;
                self.tail.store(ticket(served.wrapping_add(1)), Release);
            }
        }
    }
}

impl<P: Platform> WordSpin<P> {
    /// The slow path of the queued lock: one after the other, each watching its own line; only the head watches the word.
    #[cold]
    fn queue(&self) {
        let me = Waiter::<P> { next: P::Ptr::new(null_mut()), head: P::U32::new(0) };
        let me_ptr = std::ptr::from_ref(&me).cast_mut();
        // Release: who comes after us must see our fields initialised. Acquire: we must see those of who is before us.
        let before = self.tail.swap(me_ptr, std::sync::atomic::Ordering::AcqRel);
        if !before.is_null() {
            // SAFETY: the waiter before us stays in `queue` until it has seen its `next` and told us that we are the head.
            unsafe { (*before).next.store(me_ptr, Release) };
            me.head.spin_until(Acquire, |head| head == 1);
        }
        // A newcomer may take the word in the fast path between our look and our try; as a rule once.
        while self.word.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            self.word.spin_until(Relaxed, |word| word == 0);
        }
        // The last one in leaves an empty queue. Release: a newcomer that finds the queue empty is after us.
        if self.tail.compare_exchange(me_ptr, null_mut(), Release, Relaxed).is_err() {
            let next = me.next.spin_until(Acquire, |next| !next.is_null());
            // SAFETY: the next waiter waits in `queue` for this very store. Release hands the queue's head over.
            unsafe { (*next).head.store(1, Release) };
        }
    }
}

/// A spinlock with a name, without data: for critical sections that span several objects.
pub struct Spin<P: Platform> {
    raw: P::Spin,
    tag: P::Tag,
}

impl<P: Platform> Spin<P> {
    /// A free lock; `name` is the kernel's.
    pub fn new(kind: SpinKind, name: &'static str) -> Self {
        Spin { raw: P::Spin::new(kind), tag: P::Tag::new(LockKind::Spin, name) }
    }

    /// Takes it, spinning.
    #[inline]
    pub fn lock(&self) {
        count::<P>(&self.tag, || self.raw.try_lock(), || self.raw.lock());
    }

    /// Takes it if it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        let taken = self.raw.try_lock();
        if P::Tag::ON && taken {
            self.tag.acquired(P::now_ns(), None);
        }
        taken
    }

    /// Frees it. The caller must hold it.
    #[inline]
    pub fn unlock(&self) {
        release::<P>(&self.tag);
        self.raw.unlock();
    }

    /// Runs `f` under the lock.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        self.lock();
        let result = f();
        self.unlock();
        result
    }
}

impl<P: Platform> std::fmt::Debug for Spin<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Spin")
    }
}

/// A spinlock and what it protects.
pub struct SpinLock<P: Platform, T: Send + 'static> {
    lock: Spin<P>,
    data: P::Cell<T>,
}

impl<P: Platform, T: Send + 'static> SpinLock<P, T> {
    /// A free lock around `data`; `name` is the kernel's.
    pub fn new(kind: SpinKind, name: &'static str, data: T) -> Self {
        SpinLock { lock: Spin::new(kind, name), data: P::Cell::new(data) }
    }

    /// Runs `f` on the data under the lock.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.lock.lock();
        // SAFETY: the lock is held: nobody else has access to the data.
        let result = self.data.with_mut(|data| f(unsafe { &mut *data }));
        self.lock.unlock();
        result
    }
}
