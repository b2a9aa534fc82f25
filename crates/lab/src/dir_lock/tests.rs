//! What every design must do.

use super::*;
use crate::design::Env;
use machine::sync::Rcu;
use machine::testing::{found, model};
use machine::{Counted, Cpu, Loom, Plain, Real, SpinKind};
use proptest::prelude::*;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

const CPUS: usize = 4;

fn design<P: Platform>(name: &str) -> Box<dyn DirLockDesign<P>> {
    make::<P>(name, &Env { cpus: CPUS, spin: SpinKind::Queued }).expect("it is registered")
}

fn names() -> impl Iterator<Item = &'static str> {
    DESIGNS.iter().map(|design| design.name)
}

/// A directory: its lock, and data under it, all of it of an RCU domain of CPUs that are online.
struct Dir<P: Platform> {
    rcu: Rcu<P>,
    lock: Box<dyn DirLock<P>>,
    data: P::Cell<u64>,
}

impl<P: Platform> Dir<P> {
    fn new(name: &str) -> Self {
        Dir { rcu: Rcu::new(CPUS), lock: design::<P>(name).inode("i_mutex"), data: P::Cell::new(0) }
    }

    fn cx(&self, cpu: usize) -> Cx<'_, P> {
        Cx { cpu: Cpu(cpu), rcu: &self.rcu }
    }

    fn on<R>(&self, cpu: usize, f: impl FnOnce(Cx<'_, P>) -> R) -> R {
        self.rcu.online(Cpu(cpu));
        let result = f(self.cx(cpu));
        self.rcu.offline(Cpu(cpu));
        result
    }

    fn change(&self, cx: Cx<'_, P>) {
        self.lock.lock(cx);
        // SAFETY: under the lock, which is what is tested (loom sees a race).
        self.data.with_mut(|data| unsafe { *data += 1 });
        self.lock.unlock(cx);
    }

    fn look(&self, cx: Cx<'_, P>) -> u64 {
        self.lock.lock_shared(cx);
        // SAFETY: as in `change`.
        let data = self.data.with(|data| unsafe { *data });
        self.lock.unlock_shared(cx);
        data
    }
}

/// Runs `f`, which must not hang.
fn in_time<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (give, take) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let result = f();
        // Nobody waits any more if it took too long.
        let _ = give.send(());
        result
    });
    match take.recv_timeout(Duration::from_secs(60)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("somebody sleeps for ever"),
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => {
            thread.join().expect("no assertion failed")
        }
    }
}

#[test]
fn only_the_last_design_opens_without_the_lock() {
    for name in names() {
        assert_eq!(design::<Real>(name).create_locks_always(), name != "rwsem_lockless_create");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]
    /// One thread takes locks of two directories in any order of changes and looks; each is free again afterwards.
    #[test]
    fn a_lock_that_is_freed_is_free(ops in prop::collection::vec((0..2usize, any::<bool>(), 0..CPUS), 1..40)) {
        for name in names() {
            let dirs = [Dir::<Real>::new(name), Dir::<Real>::new(name)];
            let mut changes = [0, 0];
            for &(at, change, cpu) in &ops {
                if change {
                    dirs[at].on(cpu, |cx| dirs[at].change(cx));
                    changes[at] += 1;
                } else {
                    prop_assert_eq!(dirs[at].on(cpu, |cx| dirs[at].look(cx)), changes[at], "{}", name);
                }
            }
        }
    }
}

fn changes_and_looks<P: Platform>(name: &str, threads: usize, operations: u64) {
    let dir = Arc::new(Dir::<P>::new(name));
    let changes: u64 = in_time({
        let dir = Arc::clone(&dir);
        move || {
            std::thread::scope(|scope| {
                let run = |cpu| {
                    let dir = &dir;
                    move || {
                        dir.on(cpu, |cx| {
                            let mut seen = 0;
                            for at in 0..operations {
                                if at % 3 == 0 {
                                    let found = dir.look(cx);
                                    assert!(found >= seen, "never backwards");
                                    seen = found;
                                } else {
                                    dir.change(cx);
                                }
                                dir.rcu.quiescent(cx);
                            }
                        });
                        (0..operations).filter(|at| at % 3 != 0).count() as u64
                    }
                };
                let threads: Vec<_> = (0..threads).map(|cpu| scope.spawn(run(cpu))).collect();
                threads.into_iter().map(|t| t.join().expect("no assertion failed")).sum()
            })
        }
    });
    assert_eq!(dir.on(0, |cx| dir.look(cx)), changes, "{name}");
}

#[test]
fn changes_exclude_each_other_and_everybody_wakes() {
    names().for_each(|name| changes_and_looks::<Real>(name, CPUS, 5000));
}

#[test]
fn a_counted_lock_excludes_as_well() {
    names().for_each(|name| changes_and_looks::<Counted>(name, 2, 1000));
}

#[test]
fn looks_share_a_semaphore_and_only_that() {
    for name in names() {
        let shares = name.starts_with("rwsem");
        let inside = in_time(move || {
            let dir = &Dir::<Real>::new(name);
            let second = &AtomicBool::new(false);
            std::thread::scope(|scope| {
                dir.on(0, |cx| {
                    dir.lock.lock_shared(cx);
                    scope.spawn(move || {
                        dir.on(1, |cx| {
                            dir.lock.lock_shared(cx);
                            second.store(true, SeqCst);
                            dir.lock.unlock_shared(cx);
                        });
                    });
                    let wait =
                        if shares { Duration::from_secs(60) } else { Duration::from_millis(20) };
                    let began = std::time::Instant::now();
                    while !second.load(SeqCst) && began.elapsed() < wait {
                        std::thread::yield_now();
                    }
                    let inside = second.load(SeqCst);
                    dir.lock.unlock_shared(cx);
                    inside
                })
            })
        });
        assert_eq!(inside, shares, "{name}");
    }
}

/// A CPU that sleeps for a lock must not hold up grace periods.
#[test]
fn a_sleeper_is_a_quiescent_state() {
    for name in names() {
        in_time(move || {
            let dir = &Dir::<Real>::new(name);
            let locked = &Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    dir.on(1, |cx| {
                        locked.wait();
                        dir.change(cx);
                    });
                });
                dir.on(0, |cx| {
                    dir.lock.lock(cx);
                    locked.wait();
                    dir.rcu.synchronize(cx);
                    dir.lock.unlock(cx);
                });
            });
        });
    }
}

/// Readers and writers in all orders; who holds it shared sees no change.
#[test]
fn readers_and_writers_never_mix() {
    for name in names() {
        in_time(move || {
            let dir = &Dir::<Real>::new(name);
            let writing = &AtomicBool::new(false);
            let reading = &AtomicU64::new(0);
            std::thread::scope(|scope| {
                for cpu in 0..CPUS {
                    scope.spawn(move || {
                        dir.on(cpu, |cx| {
                            for at in 0..2000 {
                                if (at + cpu) % 4 == 0 {
                                    dir.lock.lock(cx);
                                    assert!(!writing.swap(true, SeqCst));
                                    assert_eq!(reading.load(SeqCst), 0);
                                    writing.store(false, SeqCst);
                                    dir.lock.unlock(cx);
                                } else {
                                    dir.lock.lock_shared(cx);
                                    reading.fetch_add(1, SeqCst);
                                    assert!(!writing.load(SeqCst));
                                    reading.fetch_sub(1, SeqCst);
                                    dir.lock.unlock_shared(cx);
                                }
                            }
                        });
                    });
                }
            });
        });
    }
}

#[test]
fn loom_a_change_against_a_change() {
    for name in names() {
        model(2, move || {
            let dir = Arc::new(Dir::<Loom>::new(name));
            let other = Arc::clone(&dir);
            let other = loom::thread::spawn(move || other.on(1, |cx| other.change(cx)));
            dir.on(0, |cx| dir.change(cx));
            other.join().expect("no assertion failed");
            assert_eq!(dir.on(0, |cx| dir.look(cx)), 2, "{name}");
        });
    }
}

#[test]
fn loom_a_look_against_a_change() {
    for name in names() {
        model(2, move || {
            let dir = Arc::new(Dir::<Loom>::new(name));
            let other = Arc::clone(&dir);
            let other = loom::thread::spawn(move || other.on(1, |cx| other.change(cx)));
            dir.on(0, |cx| {
                let first = dir.look(cx);
                assert!(first <= dir.look(cx), "{name}");
            });
            other.join().expect("no assertion failed");
            assert_eq!(dir.on(0, |cx| dir.look(cx)), 1, "{name}");
        });
    }
}

/// Loom must see that nothing excludes two changes if one of them only shares.
#[test]
fn seeded_bug_a_change_under_the_shared_lock() {
    let found = found(2, || {
        let dir = Arc::new(Dir::<Loom>::new("rwsem"));
        let other = Arc::clone(&dir);
        let other = loom::thread::spawn(move || {
            other.on(1, |cx| {
                other.lock.lock_shared(cx);
                // SAFETY: loom runs one thread at a time and panics at the conflict, before the write.
                other.data.with_mut(|data| unsafe { *data += 1 });
                other.lock.unlock_shared(cx);
            })
        });
        dir.on(0, |cx| dir.look(cx));
        other.join().expect("no assertion failed");
    });
    assert!(found);
}
