//! Locks whose waiters spin: the three spinlocks, the reader-writer lock, the lock per CPU.

mod common;

use common::in_time;
use machine::sync::{LgLock, RwSpin, Spin, SpinLock, WordSpin};
use machine::testing::{model, spawn};
use machine::{Counted, Cpu, Loom, Plain, Platform, RawSpin, Real, SpinKind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

const KINDS: [SpinKind; 3] = [SpinKind::TestAndSet, SpinKind::Ticket, SpinKind::Queued];
const THREADS: usize = 4;
const TURNS: usize = 10_000;

/// A number that is changed without care, under some lock.
struct Number<P: Platform>(P::Cell<u64>);

impl<P: Platform> Number<P> {
    fn new() -> Self {
        Number(P::Cell::new(0))
    }

    fn add(&self) {
        // SAFETY: under a lock, which is what is tested (loom sees a race).
        self.0.with_mut(|number| unsafe { *number += 1 });
    }

    fn get(&self) -> u64 {
        // SAFETY: as in `add`.
        self.0.with(|number| unsafe { *number })
    }
}

/// Runs `turn` often, on several threads.
fn many(turn: impl Fn(usize) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let turn = &turn;
            scope.spawn(move || (0..TURNS).for_each(|_| turn(thread)));
        }
    });
}

#[test]
fn every_kind_excludes() {
    for kind in KINDS {
        let number = in_time(move || {
            let (lock, number) = (WordSpin::<Real>::new(kind), Number::<Real>::new());
            many(|_| {
                lock.lock();
                number.add();
                lock.unlock();
            });
            number.get()
        });
        assert_eq!(number, (THREADS * TURNS) as u64, "{kind:?}");
    }
}

#[test]
fn every_kind_excludes_those_who_only_try() {
    for kind in KINDS {
        let (number, taken) = in_time(move || {
            let (lock, number) = (WordSpin::<Real>::new(kind), Number::<Real>::new());
            let taken = AtomicU64::new(0);
            many(|thread| {
                if thread == 0 {
                    lock.lock();
                } else if !lock.try_lock() {
                    return;
                }
                taken.fetch_add(1, Relaxed);
                number.add();
                lock.unlock();
            });
            (number.get(), taken.into_inner())
        });
        assert_eq!(number, taken, "{kind:?}");
    }
}

#[test]
fn a_try_succeeds_exactly_if_it_is_free() {
    for kind in KINDS {
        let lock = WordSpin::<Real>::new(kind);
        assert!(lock.try_lock(), "{kind:?}");
        assert!(!lock.try_lock(), "{kind:?}");
        lock.unlock();
        lock.lock();
        assert!(!lock.try_lock(), "{kind:?}");
        lock.unlock();
        assert!(lock.try_lock(), "{kind:?}");
    }
}

/// Both halves of the ticket lock's word are 16 bits and wrap.
#[test]
fn tickets_wrap() {
    let lock = WordSpin::<Real>::new(SpinKind::Ticket);
    for at in 0..200_000 {
        if at % 2 == 0 {
            lock.lock()
        } else {
            assert!(lock.try_lock())
        }
        assert!(!lock.try_lock());
        lock.unlock();
    }
}

#[test]
fn a_lock_with_data_excludes() {
    fn sum<P: Platform>(kind: SpinKind) -> u64 {
        let lock = SpinLock::<P, u64>::new(kind, "test_lock", 0);
        many(|_| lock.with(|data| *data += 1));
        lock.with(|data| *data)
    }
    for kind in KINDS {
        assert_eq!(in_time(move || sum::<Real>(kind)), (THREADS * TURNS) as u64, "{kind:?}");
        assert_eq!(in_time(move || sum::<Counted>(kind)), (THREADS * TURNS) as u64, "{kind:?}");
    }
}

/// Two threads that take it once each: with a third, two would wait at the same time, and loom takes it for a way to run that they
/// yield to each other for ever. Not the test-and-set lock: there the waiter's swap and the holder's plain store are unordered
/// for loom, which then lets later swaps find the former for ever, and gives up; its try is below.
#[test]
fn loom_fair_kinds_exclude() {
    for kind in [SpinKind::Ticket, SpinKind::Queued] {
        model(3, move || {
            let shared = Arc::new((WordSpin::<Loom>::new(kind), Number::<Loom>::new()));
            let turn = |shared: &(WordSpin<Loom>, Number<Loom>)| {
                shared.0.lock();
                shared.1.add();
                shared.0.unlock();
            };
            let other = Arc::clone(&shared);
            let other = spawn(move || turn(&other));
            turn(&shared);
            other.join().expect("no assertion failed");
            assert_eq!(shared.1.get(), 2);
        });
    }
}

#[test]
fn loom_a_try_excludes() {
    for kind in KINDS {
        model(3, move || {
            let shared = Arc::new((WordSpin::<Loom>::new(kind), Number::<Loom>::new()));
            let turn = |shared: &(WordSpin<Loom>, Number<Loom>)| {
                let taken = shared.0.try_lock();
                if taken {
                    shared.1.add();
                    shared.0.unlock();
                }
                u64::from(taken)
            };
            let other = Arc::clone(&shared);
            let other = spawn(move || turn(&other) + turn(&other));
            let taken = turn(&shared) + other.join().expect("no assertion failed");
            assert_eq!(shared.1.get(), taken);
            assert!(taken > 0, "the first to try gets it");
        });
    }
}

/// The platform's own lock in a model.
#[test]
fn loom_the_models_lock_excludes() {
    model(3, || {
        let lock = Spin::<Loom>::new(SpinKind::Queued, "test_lock");
        let shared = Arc::new((lock, Number::<Loom>::new()));
        let turn = |shared: &(Spin<Loom>, Number<Loom>)| {
            shared.0.with(|| shared.1.add());
            if shared.0.try_lock() {
                shared.1.add();
                shared.0.unlock();
            }
        };
        let others = [(); 2].map(|()| {
            let other = Arc::clone(&shared);
            spawn(move || turn(&other))
        });
        for other in others {
            other.join().expect("no assertion failed");
        }
        assert!((2..=4).contains(&shared.1.get()));
    });
}

#[test]
fn readers_share_and_writers_do_not() {
    let lock = RwSpin::<Real>::new("test_lock");
    let (readers, number) = (AtomicU64::new(0), Number::<Real>::new());
    many(|thread| {
        if thread % 2 == 0 {
            lock.write_lock();
            assert_eq!(readers.load(SeqCst), 0);
            number.add();
            lock.write_unlock();
        } else {
            lock.read_lock();
            readers.fetch_add(1, SeqCst);
            let seen = number.get();
            assert_eq!(number.get(), seen);
            readers.fetch_sub(1, SeqCst);
            lock.read_unlock();
        }
    });
    assert_eq!(number.get(), (THREADS / 2 * TURNS) as u64);
}

#[test]
fn two_readers_are_inside_at_once() {
    in_time(|| {
        let (lock, inside) = (RwSpin::<Real>::new("test_lock"), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    lock.read_lock();
                    inside.wait();
                    lock.read_unlock();
                });
            }
        });
    });
}

#[test]
fn loom_a_reader_against_a_writer() {
    model(3, || {
        let shared = Arc::new((RwSpin::<Loom>::new("test_lock"), Number::<Loom>::new()));
        let other = Arc::clone(&shared);
        let other = spawn(move || {
            other.0.write_lock();
            other.1.add();
            other.0.write_unlock();
        });
        shared.0.read_lock();
        shared.1.get();
        shared.0.read_unlock();
        other.join().expect("no assertion failed");
    });
}

#[test]
fn loom_a_writer_against_a_writer() {
    model(3, || {
        let shared = Arc::new((RwSpin::<Loom>::new("test_lock"), Number::<Loom>::new()));
        let turn = |shared: &(RwSpin<Loom>, Number<Loom>)| {
            shared.0.write_lock();
            shared.1.add();
            shared.0.write_unlock();
        };
        let other = Arc::clone(&shared);
        let other = spawn(move || turn(&other));
        turn(&shared);
        other.join().expect("no assertion failed");
        assert_eq!(shared.1.get(), 2);
    });
}

/// Each CPU's number is changed under its own lock, and all of them under all.
#[test]
fn all_locks_exclude_each_one() {
    let lock = LgLock::<Real>::new(THREADS, SpinKind::Queued, "test_lock");
    let numbers: Vec<_> = (0..THREADS).map(|_| Number::<Real>::new()).collect();
    many(|thread| {
        if thread == 0 {
            lock.with_global(|| numbers.iter().for_each(Number::add));
        } else {
            lock.with_local(Cpu(thread), || numbers[thread].add());
        }
    });
    let sum: u64 = numbers.iter().map(Number::get).sum();
    assert_eq!(sum, ((THREADS + THREADS - 1) * TURNS) as u64);
}

#[test]
fn loom_all_locks_exclude_each_one() {
    model(3, || {
        let lock = LgLock::<Loom>::new(2, SpinKind::Queued, "test_lock");
        let shared = Arc::new((lock, [Number::<Loom>::new(), Number::<Loom>::new()]));
        let others = [0, 1].map(|cpu| {
            let other = Arc::clone(&shared);
            spawn(move || other.0.with_local(Cpu(cpu), || other.1[cpu].add()))
        });
        shared.0.with_global(|| shared.1.iter().for_each(Number::add));
        for other in others {
            other.join().expect("no assertion failed");
        }
        assert_eq!(shared.1.each_ref().map(Number::get), [2, 2]);
    });
}
