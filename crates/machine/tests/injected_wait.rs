//! A wait of known length is reported as that long: by the lab's own accounting on a clock that the test turns, where nothing may
//! be lost, and by the simulator's, where taking the lock over costs something.

mod common;

use common::{cx, in_time};
use machine::sim::{MACHINES, Machine, Sim, TaskFn, run};
use machine::sync::{Mutex, MutexKind, Rcu, RwSem, RwSpin, Spin, WordSpin};
use machine::{Counted, Cpu, LockKind, LockTotals, Platform, SpinKind, take_totals};
use std::alloc::Layout;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering, Ordering::SeqCst};

/// The wait that is brought about.
const WAIT_NS: u64 = 123_456_789;

/// Nanoseconds on the clock of [`Turned`].
static CLOCK: AtomicU64 = AtomicU64::new(0);
/// How often it was looked at.
static LOOKS: AtomicU64 = AtomicU64::new(0);

/// This machine, counted, with a clock that stands still until the test turns it.
#[derive(Clone, Copy, Debug, Default)]
struct Turned;

impl Platform for Turned {
    type U32 = <Counted as Platform>::U32;
    type U64 = <Counted as Platform>::U64;
    type Ptr<T: 'static> = <Counted as Platform>::Ptr<T>;
    type Cell<T: Send + 'static> = <Counted as Platform>::Cell<T>;
    type Spin = WordSpin<Turned>;
    type Tag = <Counted as Platform>::Tag;

    fn fence(order: Ordering) {
        Counted::fence(order);
    }
    fn relax() {
        // The other thread may need this CPU.
        std::thread::yield_now();
    }
    fn work(ns: u32) {
        Counted::work(ns);
    }
    fn now_ns() -> u64 {
        let now = CLOCK.load(SeqCst);
        // Only then: who sees the look may turn the clock.
        LOOKS.fetch_add(1, SeqCst);
        now
    }
    fn alloc(layout: Layout) -> *mut u8 {
        Counted::alloc(layout)
    }
    unsafe fn dealloc(memory: *mut u8, layout: Layout) {
        // SAFETY: handed on to the caller.
        unsafe { Counted::dealloc(memory, layout) }
    }
}

/// Holds the lock, lets another thread come, turns the clock on once that one has begun to wait, and lets go. What the waiter counted.
fn wait_on_turned_clock(
    lock: impl Fn(usize) + Send + Sync + 'static,
    unlock: impl Fn() + Send + Sync + 'static,
) -> LockTotals {
    in_time(move || {
        lock(0);
        take_totals();
        let looks = LOOKS.load(SeqCst);
        let waited = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                lock(1);
                unlock();
                take_totals()
            });
            // Its try has failed, and it has looked when it began to wait.
            while LOOKS.load(SeqCst) == looks {
                std::thread::yield_now();
            }
            CLOCK.fetch_add(WAIT_NS, SeqCst);
            unlock();
            waiter.join().expect("the waiter takes the lock")
        });
        take_totals();
        let [totals] = waited[..] else { panic!("one lock: {waited:?}") };
        totals
    })
}

/// One test, for all of it turns the same clock.
#[test]
fn the_lab_s_accounting_reports_a_wait_exactly() {
    let rcu: &Rcu<Turned> = Box::leak(Box::new(Rcu::new(2)));
    (0..2).map(Cpu).for_each(|cpu| rcu.online(cpu));
    let check = |kind: LockKind, totals: LockTotals| {
        assert_eq!((totals.name, totals.kind), ("injected", kind));
        assert_eq!((totals.acquisitions, totals.contended), (1, 1), "{kind:?}");
        assert_eq!((totals.wait_ns, totals.wait_max_ns), (WAIT_NS, WAIT_NS), "{kind:?}");
        assert_eq!(totals.hold_ns, 0, "{kind:?}: the clock stood still while it was held");
    };
    for kind in [SpinKind::TestAndSet, SpinKind::Ticket, SpinKind::Queued] {
        let lock: &Spin<Turned> = Box::leak(Box::new(Spin::new(kind, "injected")));
        check(LockKind::Spin, wait_on_turned_clock(|_| lock.lock(), || lock.unlock()));
    }
    let lock: &RwSpin<Turned> = Box::leak(Box::new(RwSpin::new("injected")));
    check(LockKind::Rwlock, wait_on_turned_clock(|_| lock.write_lock(), || lock.write_unlock()));
    for kind in [MutexKind::Sleeping, MutexKind::Spinning] {
        let lock: &Mutex<Turned> = Box::leak(Box::new(Mutex::new(kind, "injected")));
        check(
            LockKind::Mutex,
            wait_on_turned_clock(|cpu| lock.lock(cx(rcu, cpu)), || lock.unlock()),
        );
    }
    let lock: &RwSem<Turned> = Box::leak(Box::new(RwSem::new("injected")));
    let waited = wait_on_turned_clock(|cpu| lock.write_lock(cx(rcu, cpu)), || lock.write_unlock());
    check(LockKind::Rwsem, waited);
}

/// The holder works for so long with the lock held; ...
const HELD_NS: u32 = 1_000_000;
/// ... the waiter has other work for so long first. Both are longer than the microsecond within which tasks start.
const LATER_NS: u32 = 200_000;

/// What the simulator says of the lock, and how long the second task waited by its own clock and the first one's.
fn simulate(lock: impl Fn(usize) + 'static, unlock: impl Fn() + 'static) -> (LockTotals, u64) {
    let (lock, unlock) = (Rc::new(lock), Rc::new(unlock));
    let [begun, given_up] = [Rc::new(Cell::new(0)), Rc::new(Cell::new(0))];
    let holder: TaskFn = {
        let (lock, unlock, given_up) = (Rc::clone(&lock), Rc::clone(&unlock), Rc::clone(&given_up));
        Box::new(move |_| {
            lock(0);
            Sim::work(HELD_NS);
            given_up.set(Sim::now_ns());
            unlock();
        })
    };
    let waiter: TaskFn = {
        let begun = Rc::clone(&begun);
        Box::new(move |_| {
            Sim::work(LATER_NS);
            begun.set(Sim::now_ns());
            lock(1);
            unlock();
        })
    };
    let machine = Machine::named(MACHINES[0].0).expect("it is there");
    let outcome =
        run(&machine, 1, vec![holder, waiter], 10_000_000).expect("nobody waits for ever");
    let [totals] = outcome.locks[..] else { panic!("one lock: {:?}", outcome.locks) };
    (totals, given_up.get() - begun.get())
}

#[test]
fn the_simulator_reports_a_wait_within_a_twentieth() {
    let rcu: &Rcu<Sim> = Box::leak(Box::new(Rcu::new(2)));
    (0..2).map(Cpu).for_each(|cpu| rcu.online(cpu));
    let check = |kind: LockKind, (totals, injected): (LockTotals, u64)| {
        assert!(injected > u64::from(HELD_NS) / 2, "{kind:?}: the second task came too late");
        assert_eq!((totals.name, totals.kind), ("injected", kind));
        assert_eq!((totals.acquisitions, totals.contended), (2, 1), "{kind:?}");
        let off = totals.wait_ns.abs_diff(injected);
        assert!(off * 20 <= injected, "{kind:?}: {} reported, {injected} injected", totals.wait_ns);
        assert_eq!(totals.wait_ns, totals.wait_max_ns);
    };
    for kind in [SpinKind::TestAndSet, SpinKind::Ticket, SpinKind::Queued] {
        let lock: &Spin<Sim> = Box::leak(Box::new(Spin::new(kind, "injected")));
        check(LockKind::Spin, simulate(|_| lock.lock(), || lock.unlock()));
    }
    let lock: &RwSpin<Sim> = Box::leak(Box::new(RwSpin::new("injected")));
    check(LockKind::Rwlock, simulate(|_| lock.write_lock(), || lock.write_unlock()));
    let lock: &Mutex<Sim> = Box::leak(Box::new(Mutex::new(MutexKind::Sleeping, "injected")));
    check(LockKind::Mutex, simulate(|cpu| lock.lock(cx(rcu, cpu)), || lock.unlock()));
    let lock: &RwSem<Sim> = Box::leak(Box::new(RwSem::new("injected")));
    let waited = simulate(|cpu| lock.write_lock(cx(rcu, cpu)), || lock.write_unlock());
    check(LockKind::Rwsem, waited);
}
