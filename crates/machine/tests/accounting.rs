//! Lock accounting: what is counted, and that it costs nothing where it is off.

mod common;

use common::{cx, in_time};
use machine::sync::{Mutex, MutexKind, Rcu, RwSem, RwSpin, Spin, SpinLock, WordSpin};
use machine::{Counted, Cpu, LockTotals, Real, SpinKind, take_totals};
use std::sync::Barrier;
use std::time::Duration;

fn of(totals: &[LockTotals], name: &str) -> LockTotals {
    *totals.iter().find(|totals| totals.name == name).expect("it was taken")
}

#[test]
fn an_uncounted_lock_has_no_byte_more() {
    assert_eq!(size_of::<Spin<Real>>(), size_of::<WordSpin<Real>>());
    assert_eq!(size_of::<RwSpin<Real>>(), 4);
    assert_eq!(size_of::<RwSem<Real>>(), 4);
    assert_eq!(size_of::<Mutex<Real>>(), 8, "the word and the kind");
    assert_eq!(size_of::<SpinLock<Real, u64>>(), size_of::<WordSpin<Real>>() + 8);
    assert!(size_of::<Spin<Counted>>() > size_of::<WordSpin<Counted>>());
}

#[test]
fn an_uncounted_lock_counts_nothing() {
    Spin::<Real>::new(SpinKind::Queued, "uncounted").with(|| ());
    assert_eq!(take_totals(), []);
}

#[test]
fn acquisitions_are_counted_by_name() {
    let locks = [(); 2].map(|()| Spin::<Counted>::new(SpinKind::Ticket, "d_lock"));
    let other = SpinLock::<Counted, u32>::new(SpinKind::Queued, "dcache_lock", 0);
    for _ in 0..3 {
        locks.iter().for_each(|lock| lock.with(|| ()));
    }
    other.with(|data| *data += 1);
    assert!(locks[0].try_lock());
    assert!(!locks[0].try_lock(), "a try that fails is no acquisition");
    locks[0].unlock();
    let totals = take_totals();
    assert_eq!(totals.len(), 2);
    assert_eq!(of(&totals, "d_lock").acquisitions, 7);
    assert_eq!(of(&totals, "dcache_lock").acquisitions, 1);
    for totals in totals {
        assert_eq!((totals.contended, totals.wait_ns, totals.wait_max_ns), (0, 0, 0));
        assert!(totals.hold_max_ns <= totals.hold_ns);
    }
    assert_eq!(take_totals(), [], "taken is taken");
}

#[test]
fn holds_are_timed() {
    let lock = Spin::<Counted>::new(SpinKind::Queued, "d_lock");
    for ms in [2, 10] {
        lock.with(|| std::thread::sleep(Duration::from_millis(ms)));
    }
    let totals = of(&take_totals(), "d_lock");
    assert_eq!(totals.acquisitions, 2);
    assert!(totals.hold_max_ns >= 10_000_000, "{totals:?}");
    assert!(totals.hold_ns >= totals.hold_max_ns + 2_000_000, "{totals:?}");
}

/// One thread holds it for a while, another comes meanwhile; answers what each has counted.
fn held_and_awaited(
    lock: impl Fn(usize) + Sync + Send + 'static,
    unlock: impl Fn() + Sync + Send + 'static,
) -> [LockTotals; 2] {
    in_time(move || {
        let held = Barrier::new(2);
        std::thread::scope(|scope| {
            let holder = scope.spawn(|| {
                lock(0);
                held.wait();
                std::thread::sleep(Duration::from_millis(20));
                unlock();
                of(&take_totals(), "awaited")
            });
            let waiter = scope.spawn(|| {
                held.wait();
                lock(1);
                unlock();
                of(&take_totals(), "awaited")
            });
            [holder, waiter].map(|thread| thread.join().expect("no assertion failed"))
        })
    })
}

fn check([holder, waiter]: [LockTotals; 2]) {
    assert_eq!((holder.acquisitions, holder.contended, holder.wait_ns), (1, 0, 0));
    assert!(holder.hold_ns >= 20_000_000, "{holder:?}");
    assert_eq!((waiter.acquisitions, waiter.contended), (1, 1));
    // Most of the 20 ms; the waiter may have come late.
    assert!(waiter.wait_ns >= 1_000_000, "{waiter:?}");
    assert_eq!(waiter.wait_ns, waiter.wait_max_ns);
    let mut sum = holder;
    sum.add(&waiter);
    assert_eq!((sum.acquisitions, sum.contended, sum.wait_ns), (2, 1, waiter.wait_ns));
    assert_eq!(sum.wait_max_ns, waiter.wait_max_ns);
    assert_eq!(sum.hold_ns, holder.hold_ns + waiter.hold_ns);
    assert_eq!(sum.hold_max_ns, holder.hold_max_ns.max(waiter.hold_max_ns));
}

#[test]
fn contention_of_every_spinlock_is_seen() {
    for kind in [SpinKind::TestAndSet, SpinKind::Ticket, SpinKind::Queued] {
        let lock: &Spin<Counted> = Box::leak(Box::new(Spin::new(kind, "awaited")));
        check(held_and_awaited(|_| lock.lock(), || lock.unlock()));
    }
}

#[test]
fn contention_of_the_reader_writer_lock_is_seen() {
    let lock: &RwSpin<Counted> = Box::leak(Box::new(RwSpin::new("awaited")));
    check(held_and_awaited(|_| lock.write_lock(), || lock.write_unlock()));
}

#[test]
fn contention_of_sleeping_locks_is_seen() {
    let rcu: &Rcu<Counted> = Box::leak(Box::new(Rcu::new(2)));
    (0..2).map(Cpu).for_each(|cpu| rcu.online(cpu));
    for kind in [MutexKind::Sleeping, MutexKind::Spinning] {
        let lock: &Mutex<Counted> = Box::leak(Box::new(Mutex::new(kind, "awaited")));
        check(held_and_awaited(|cpu| lock.lock(cx(rcu, cpu)), || lock.unlock()));
    }
    let lock: &RwSem<Counted> = Box::leak(Box::new(RwSem::new("awaited")));
    check(held_and_awaited(|cpu| lock.write_lock(cx(rcu, cpu)), || lock.write_unlock()));
}

#[test]
fn shares_are_counted() {
    let (spin, sem) = (RwSpin::<Counted>::new("tree_lock"), RwSem::<Counted>::new("i_rwsem"));
    let rcu = Rcu::new(1);
    for _ in 0..2 {
        spin.read_lock();
        sem.read_lock(cx(&rcu, 0));
    }
    for _ in 0..2 {
        spin.read_unlock();
        sem.read_unlock();
    }
    let totals = take_totals();
    for name in ["tree_lock", "i_rwsem"] {
        assert_eq!((of(&totals, name).acquisitions, of(&totals, name).contended), (2, 0));
    }
}
