//! What the simulated CPUs do: small kernels of their own, so that this measures the simulator and not a design of the lab.

use machine::sim::{Handle, TaskFn};
use machine::sync::{PerCpu, Spin, SpinLock};
use machine::{Cpu, POwned, Plain, Platform, Sim, SpinKind, Word};
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// Local work between two operations, in which a CPU is on its own.
const LOCAL_NS: u32 = 1000;

/// The neighbours of a node.
#[derive(Clone, Copy)]
struct Links {
    next: *mut Node,
    before: *mut Node,
}

// SAFETY: the nodes are linked and followed under the list's lock.
unsafe impl Send for Links {}

/// A list node that fills a line, as a struct file's link.
struct Node {
    links: <Sim as Platform>::Cell<Links>,
}

/// A circular list with its lock.
struct List {
    lock: Spin<Sim>,
    head: POwned<Sim, Node>,
}

impl Node {
    fn new() -> POwned<Sim, Node> {
        POwned::new(Node { links: Plain::new(Links { next: null_mut(), before: null_mut() }) })
    }

    /// Changes one of the two links; the node's line is written.
    fn set(&self, change: impl FnOnce(&mut Links)) {
        // SAFETY: under the list's lock, or alone.
        self.links.with_mut(|links| change(unsafe { &mut *links }));
    }
}

impl List {
    fn new(kind: SpinKind) -> Self {
        let head = Node::new();
        let at = std::ptr::from_ref(&*head).cast_mut();
        head.set(|links| *links = Links { next: at, before: at });
        List { lock: Spin::new(kind, "list_lock"), head }
    }

    fn add(&self, node: &Node) {
        let node_at = std::ptr::from_ref(node).cast_mut();
        let head_at = std::ptr::from_ref(&*self.head).cast_mut();
        self.lock.with(|| {
            // SAFETY: under the lock; nodes stay as long as they are linked.
            let next = self.head.links.with(|links| unsafe { (*links).next });
            node.set(|links| *links = Links { next, before: head_at });
            // SAFETY: as above.
            unsafe { &*next }.set(|links| links.before = node_at);
            self.head.set(|links| links.next = node_at);
        });
    }

    fn remove(&self, node: &Node) {
        self.lock.with(|| {
            // SAFETY: under the lock; nodes stay as long as they are linked.
            let Links { next, before } = node.links.with(|links| unsafe { *links });
            // SAFETY: as above.
            unsafe { &*next }.set(|links| links.before = before);
            // SAFETY: as above.
            unsafe { &*before }.set(|links| links.next = next);
        });
    }
}

fn until_time_is_up(cpu: &Handle, mut op: impl FnMut()) {
    while !cpu.time_is_up() {
        op();
        cpu.ops_done(1);
    }
}

/// A load: a name, and tasks for so many CPUs.
pub(crate) struct Load {
    pub(crate) name: &'static str,
    /// Whether CPUs want the same lines.
    pub(crate) contended: bool,
    pub(crate) tasks: fn(cpus: usize) -> Vec<TaskFn>,
}

fn each(cpus: usize, task: impl Fn() -> TaskFn) -> Vec<TaskFn> {
    (0..cpus).map(|_| task()).collect()
}

/// Each CPU changes a word of its own.
fn private(cpus: usize) -> Vec<TaskFn> {
    let words = Rc::new(PerCpu::<Sim, _>::new(cpus, |_| <Sim as Platform>::U64::new(0)));
    each(cpus, || {
        let words = Rc::clone(&words);
        Box::new(move |cpu| {
            let word = words.get(cpu.cpu());
            until_time_is_up(cpu, || {
                for _ in 0..16 {
                    word.fetch_add(1, Relaxed);
                    word.load(Relaxed);
                }
            });
        })
    })
}

/// Two counters on lines of their own under one lock.
fn counters(cpus: usize, kind: SpinKind) -> Vec<TaskFn> {
    let counters = [(); 2].map(|()| POwned::<Sim, _>::new(<Sim as Platform>::U64::new(0)));
    let lock = POwned::<Sim, _>::new(SpinLock::<Sim, _>::new(kind, "lock", counters));
    let lock = Rc::new(lock);
    each(cpus, || {
        let lock = Rc::clone(&lock);
        Box::new(move |cpu| {
            until_time_is_up(cpu, || {
                Sim::work(LOCAL_NS);
                lock.with(|counters| {
                    for counter in counters {
                        counter.store(counter.load(Relaxed) + 1, Relaxed);
                    }
                });
            });
        })
    })
}

/// A node is put on a list and taken off again: one list, or one for each CPU.
fn lists(cpus: usize, kind: SpinKind, of_each_cpu: bool) -> Vec<TaskFn> {
    let lists = if of_each_cpu { cpus } else { 1 };
    let lists = Rc::new(PerCpu::<Sim, _>::new(lists, |_| List::new(kind)));
    each(cpus, || {
        let lists = Rc::clone(&lists);
        let node = Node::new();
        Box::new(move |cpu| {
            let list = lists.get(if of_each_cpu { cpu.cpu() } else { Cpu(0) });
            until_time_is_up(cpu, || {
                Sim::work(LOCAL_NS);
                list.add(&node);
                list.remove(&node);
            });
        })
    })
}

/// All loads.
pub(crate) const LOADS: &[Load] = &[
    Load { name: "private lines", contended: false, tasks: private },
    Load { name: "ticket lock", contended: true, tasks: |cpus| counters(cpus, SpinKind::Ticket) },
    Load { name: "queued lock", contended: true, tasks: |cpus| counters(cpus, SpinKind::Queued) },
    Load {
        name: "list, TTAS",
        contended: true,
        tasks: |cpus| lists(cpus, SpinKind::TestAndSet, false),
    },
    Load {
        name: "list per CPU",
        contended: false,
        tasks: |cpus| lists(cpus, SpinKind::TestAndSet, true),
    },
];
