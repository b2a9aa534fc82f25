//! Locks whose waiters sleep: the mutex, with and without spinning, and the read-write semaphore.

mod common;

use common::{cx, in_time};
use machine::sync::{Mutex, MutexKind, Rcu, RwSem};
use machine::testing::{model, spawn};
use machine::{Counted, Cpu, Cx, Loom, Plain, Platform, Real};
use std::sync::Arc;

const KINDS: [MutexKind; 2] = [MutexKind::Sleeping, MutexKind::Spinning];
const THREADS: usize = 4;
const TURNS: u64 = 10_000;

/// A lock with a number under it.
struct Shared<P: Platform, L> {
    rcu: Rcu<P>,
    lock: L,
    number: P::Cell<u64>,
}

impl<P: Platform, L> Shared<P, L> {
    fn new(lock: L) -> Self {
        Shared { rcu: Rcu::new(THREADS), lock, number: P::Cell::new(0) }
    }

    fn on<R>(&self, cpu: usize, f: impl FnOnce(Cx<'_, P>) -> R) -> R {
        self.rcu.online(Cpu(cpu));
        let result = f(cx(&self.rcu, cpu));
        self.rcu.offline(Cpu(cpu));
        result
    }

    fn add(&self) {
        // SAFETY: under the lock, which is what is tested (loom sees a race).
        self.number.with_mut(|number| unsafe { *number += 1 });
    }

    fn get(&self) -> u64 {
        // SAFETY: as in `add`.
        self.number.with(|number| unsafe { *number })
    }
}

impl<P: Platform> Shared<P, Mutex<P>> {
    fn turn(&self, cx: Cx<'_, P>) {
        self.lock.lock(cx);
        self.add();
        self.lock.unlock();
    }
}

impl<P: Platform> Shared<P, RwSem<P>> {
    fn write(&self, cx: Cx<'_, P>) {
        self.lock.write_lock(cx);
        self.add();
        self.lock.write_unlock();
    }

    fn read(&self, cx: Cx<'_, P>) -> u64 {
        self.lock.read_lock(cx);
        let number = self.get();
        self.lock.read_unlock();
        number
    }
}

fn everybody_gets_the_mutex<P: Platform>(kind: MutexKind) {
    let number = in_time(move || {
        let shared = Shared::<P, _>::new(Mutex::new(kind, "test_mutex"));
        std::thread::scope(|scope| {
            for cpu in 0..THREADS {
                let shared = &shared;
                scope.spawn(move || shared.on(cpu, |cx| (0..TURNS).for_each(|_| shared.turn(cx))));
            }
        });
        shared.get()
    });
    assert_eq!(number, THREADS as u64 * TURNS, "{kind:?}");
}

#[test]
fn no_wake_up_of_the_mutex_is_lost() {
    for kind in KINDS {
        everybody_gets_the_mutex::<Real>(kind);
        everybody_gets_the_mutex::<Counted>(kind);
    }
}

/// Every hold is long enough for the others to go to sleep.
#[test]
fn sleepers_are_woken() {
    for kind in KINDS {
        in_time(move || {
            let shared = Shared::<Real, _>::new(Mutex::new(kind, "test_mutex"));
            std::thread::scope(|scope| {
                for cpu in 0..THREADS {
                    let shared = &shared;
                    scope.spawn(move || {
                        shared.on(cpu, |cx| {
                            for _ in 0..20 {
                                shared.lock.lock(cx);
                                std::thread::sleep(std::time::Duration::from_micros(500));
                                shared.add();
                                shared.lock.unlock();
                            }
                        });
                    });
                }
            });
            assert_eq!(shared.get(), THREADS as u64 * 20, "{kind:?}");
        });
    }
}

fn everybody_gets_the_semaphore<P: Platform>() {
    let number = in_time(|| {
        let shared = Shared::<P, _>::new(RwSem::new("test_rwsem"));
        std::thread::scope(|scope| {
            for cpu in 0..THREADS {
                let shared = &shared;
                scope.spawn(move || {
                    shared.on(cpu, |cx| {
                        let mut seen = 0;
                        for at in 0..TURNS {
                            if at % 2 == 0 {
                                shared.write(cx);
                            } else {
                                let number = shared.read(cx);
                                assert!(number > seen, "one's own change at least");
                                seen = number;
                            }
                        }
                    });
                });
            }
        });
        shared.get()
    });
    assert_eq!(number, THREADS as u64 * TURNS / 2);
}

#[test]
fn no_wake_up_of_the_semaphore_is_lost() {
    everybody_gets_the_semaphore::<Real>();
    everybody_gets_the_semaphore::<Counted>();
}

#[test]
fn sleepers_of_the_semaphore_are_woken() {
    in_time(|| {
        let shared = Shared::<Real, _>::new(RwSem::new("test_rwsem"));
        std::thread::scope(|scope| {
            for cpu in 0..THREADS {
                let shared = &shared;
                scope.spawn(move || {
                    shared.on(cpu, |cx| {
                        for at in 0..20 {
                            let nap = || std::thread::sleep(std::time::Duration::from_micros(500));
                            if (at + cpu) % 2 == 0 {
                                shared.lock.write_lock(cx);
                                nap();
                                shared.add();
                                shared.lock.write_unlock();
                            } else {
                                shared.lock.read_lock(cx);
                                nap();
                                shared.lock.read_unlock();
                            }
                        }
                    });
                });
            }
        });
        assert_eq!(shared.get(), THREADS as u64 * 10);
    });
}

#[test]
fn two_readers_are_inside_at_once() {
    in_time(|| {
        let shared = &Shared::<Real, _>::new(RwSem::new("test_rwsem"));
        let inside = &std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for cpu in 0..2 {
                scope.spawn(move || {
                    shared.on(cpu, |cx| {
                        shared.lock.read_lock(cx);
                        inside.wait();
                        shared.lock.read_unlock();
                    });
                });
            }
        });
    });
}

/// In a model a sleep may end for no reason: it shows exclusion and order, the tests above that wake-ups arrive.
#[test]
fn loom_the_mutex_excludes() {
    for kind in KINDS {
        model(2, move || {
            let shared = Arc::new(Shared::<Loom, _>::new(Mutex::new(kind, "test_mutex")));
            let other = Arc::clone(&shared);
            let other = spawn(move || {
                other.on(1, |cx| {
                    other.turn(cx);
                    other.turn(cx);
                });
            });
            shared.on(0, |cx| shared.turn(cx));
            other.join().expect("no assertion failed");
            assert_eq!(shared.get(), 3);
        });
    }
}

#[test]
fn loom_the_semaphore_excludes() {
    model(2, || {
        let shared = Arc::new(Shared::<Loom, _>::new(RwSem::new("test_rwsem")));
        let other = Arc::clone(&shared);
        let other = spawn(move || other.on(1, |cx| other.write(cx)));
        shared.on(0, |cx| {
            shared.read(cx);
            shared.write(cx);
        });
        other.join().expect("no assertion failed");
        assert_eq!(shared.get(), 2);
    });
}
