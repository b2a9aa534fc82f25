//! Parking a spinning CPU on its line is not a model of its own: the outcome is that of simulating every look.

mod sim_common;

use machine::sim::{Options, Outcome, TaskFn};
use machine::sync::{LgLock, Mutex, MutexKind, Rcu, RwSpin, SeqCount, Spin};
use machine::{Cpu, Cx, POwned, Platform, Sim, SpinKind, Word};
use sim_common::{counters, for_ns, machine, simulate, until_time_is_up};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// What must be equal: all but how it was simulated.
fn essence(outcome: &Outcome) -> Outcome {
    // A look that a parked CPU skips is an access of one that spins.
    let accesses = outcome.accesses + outcome.polls;
    Outcome { accesses, polls: 0, switches: 0, ..outcome.clone() }
}

fn agree(cpus: usize, what: &str, ns: u64, tasks: impl Fn() -> Vec<TaskFn>) {
    let parked = simulate(&machine(cpus), &for_ns(7, ns), tasks());
    let exact = Options { exact_spinning: true, ..for_ns(7, ns) };
    let exact = simulate(&machine(cpus), &exact, tasks());
    let done = parked.tasks.iter().map(|task| task.ops + task.late_ops).sum::<u64>();
    assert!(done > 0, "{what}, {cpus} CPUs: nothing was done");
    assert_eq!(essence(&parked), essence(&exact), "{what}, {cpus} CPUs");
}

#[test]
fn spinlocks() {
    for kind in [SpinKind::Ticket, SpinKind::TestAndSet, SpinKind::Queued] {
        for cpus in [2, 3, 8, 16, 64] {
            for lines in [0, 2] {
                agree(cpus, &format!("{kind:?}"), 60_000, || counters(cpus, kind, 500, lines));
            }
        }
    }
}

/// The neighbours of a node of a list, with its lock, whose links are words on lines of their own.
struct List {
    lock: Spin<Sim>,
    /// next and before of each node; the last is the head.
    nodes: Vec<POwned<Sim, [<Sim as Platform>::U64; 2]>>,
}

impl List {
    fn new(kind: SpinKind, nodes: usize) -> Self {
        let node = |_| POwned::new([nodes, nodes].map(|at| Word::new(at as u64)));
        List { lock: Spin::new(kind, "list_lock"), nodes: (0..=nodes).map(node).collect() }
    }

    fn link(&self, before: u64, next: u64) {
        self.nodes[before as usize][0].store(next, Relaxed);
        self.nodes[next as usize][1].store(before, Relaxed);
    }

    fn add(&self, node: u64) {
        self.lock.with(|| {
            let head = self.nodes.len() as u64 - 1;
            let next = self.nodes[head as usize][0].load(Relaxed);
            self.link(node, next);
            self.link(head, node);
        });
    }

    fn remove(&self, node: u64) {
        self.lock.with(|| {
            let [next, before] = &*self.nodes[node as usize];
            self.link(before.load(Relaxed), next.load(Relaxed));
        });
    }
}

/// Each CPU puts a node of its own on one list and takes it off again, as open and close did with files_lock.
fn list(cpus: usize, kind: SpinKind) -> Vec<TaskFn> {
    let list = Rc::new(POwned::<Sim, _>::new(List::new(kind, cpus)));
    let task = |number: usize| -> TaskFn {
        let list = Rc::clone(&list);
        Box::new(move |cpu| {
            until_time_is_up(cpu, || {
                Sim::work(500);
                list.add(number as u64);
                list.remove(number as u64);
            });
        })
    };
    (0..cpus).map(task).collect()
}

/// What they have begun they end, so that each does something, however short the time.
#[test]
fn a_list_under_a_lock() {
    for kind in [SpinKind::Ticket, SpinKind::TestAndSet, SpinKind::Queued] {
        for (cpus, ns) in [(2, 100_000), (16, 30_000), (64, 2_000)] {
            agree(cpus, &format!("list, {kind:?}"), ns, || list(cpus, kind));
        }
    }
    agree(256, "list, queued", 1_000, || list(256, SpinKind::Queued));
}

#[test]
fn all_cpus_at_once() {
    for kind in [SpinKind::Ticket, SpinKind::TestAndSet, SpinKind::Queued] {
        agree(64, &format!("{kind:?}"), 30_000, || counters(64, kind, 0, 1));
        agree(256, &format!("{kind:?}"), 1_000, || counters(256, kind, 1000, 1));
    }
}

#[test]
fn reader_writer_lock_and_seqcount() {
    agree(16, "rwlock and seqcount", 100_000, || {
        let shared = POwned::<Sim, _>::new((
            RwSpin::<Sim>::new("rwlock"),
            SeqCount::<Sim>::default(),
            <Sim as Platform>::U64::new(0),
        ));
        let shared = Rc::new(shared);
        let task = |number: usize| -> TaskFn {
            let shared = Rc::clone(&shared);
            Box::new(move |cpu| {
                let (lock, seq, word) = &**shared;
                until_time_is_up(cpu, || {
                    Sim::work(700);
                    if number.is_multiple_of(8) {
                        lock.write_lock();
                        seq.write_begin();
                        word.store(word.load(Relaxed) + 1, Relaxed);
                        Sim::work(300);
                        seq.write_end();
                        lock.write_unlock();
                    } else {
                        lock.read_lock();
                        word.load(Relaxed);
                        lock.read_unlock();
                        let begin = seq.read_begin();
                        word.load(Relaxed);
                        seq.retry(begin);
                    }
                });
            })
        };
        (0..16).map(task).collect()
    });
}

#[test]
fn locks_of_all_cpus() {
    agree(8, "lglock", 100_000, || {
        let lock = Rc::new(LgLock::<Sim>::new(8, SpinKind::Ticket, "lglock"));
        let task = |number: usize| -> TaskFn {
            let lock = Rc::clone(&lock);
            Box::new(move |cpu| {
                until_time_is_up(cpu, || {
                    Sim::work(400);
                    if number == 0 {
                        lock.with_global(|| Sim::work(200));
                    } else {
                        lock.with_local(Cpu(cpu.cpu().0), || Sim::work(100));
                    }
                });
            })
        };
        (0..8).map(task).collect()
    });
}

#[test]
fn sleeping_mutex_beside_a_spinlock() {
    agree(4, "mutex", 1_000_000, || {
        let rcu = Rc::new(Rcu::<Sim>::new(8));
        let mutex = Rc::new(POwned::<Sim, _>::new(Mutex::<Sim>::new(MutexKind::Sleeping, "mutex")));
        let mut tasks = counters(4, SpinKind::Ticket, 800, 1);
        tasks.extend((4..8).map(|number| -> TaskFn {
            let (rcu, mutex) = (Rc::clone(&rcu), Rc::clone(&mutex));
            Box::new(move |cpu| {
                let cx = Cx { cpu: Cpu(number), rcu: &rcu };
                rcu.online(cx.cpu);
                until_time_is_up(cpu, || {
                    mutex.lock(cx);
                    Sim::work(3000);
                    mutex.unlock();
                });
                rcu.offline(cx.cpu);
            })
        }));
        tasks
    });
}
