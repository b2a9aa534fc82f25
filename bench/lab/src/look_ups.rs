//! A descriptor's way to an object and back: get and put, by one thread, of a table that is said to be shared.
//!
//! Beside the lab's designs stands what a Rust program would take for the same purpose: an object that others may take out of
//! the table at any time is found by a number and kept alive while it is used.

use crate::Contender;
use lab::design::Env;
use lab::fd_table::{self, FdTable};
use machine::sync::Rcu;
use machine::{Cpu, Cx, Real, SpinKind};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What the others are compared with: a reference taken and dropped is two atomic read-modify-writes at least.
pub const BASE: &str = "two atomic RMWs";

/// Slots of a table.
const SLOTS: usize = 64;
/// The one that is looked up.
const SLOT: usize = 3;

const CPU: Cpu = Cpu(0);

/// What the tables of the others hold: as large as the part of struct file that a look-up sees.
#[derive(Clone, Copy)]
struct Object([u64; 8]);

/// A table of a lab design with a file in it.
struct LabTable {
    table: Box<dyn FdTable<Real>>,
    rcu: Rcu<Real>,
    fd: i32,
}

impl LabTable {
    fn new(design: &str) -> Self {
        let env = Env { cpus: 1, spin: SpinKind::Queued };
        let design = fd_table::make::<Real>(design, &env).expect("it is in the list of designs");
        let table = design.table(SLOTS, true);
        let rcu = Rcu::new(env.cpus);
        rcu.online(CPU);
        let cx = Cx { cpu: CPU, rcu: &rcu };
        let mut fd = 0;
        for _ in 0..=SLOT {
            fd = table.reserve(cx).expect("the table has so many slots");
            table.install(cx, fd, design.alloc(cx));
        }
        // The files' slab. The files stay in the table until the process ends.
        std::mem::forget(design);
        LabTable { table, rcu, fd }
    }

    #[inline(always)]
    fn get_and_put(&self) {
        let cx = Cx { cpu: CPU, rcu: &self.rcu };
        let got = self.table.get(cx, black_box(self.fd)).expect("it is open");
        let last = self.table.put(cx, black_box(got));
        debug_assert!(!last, "the table has a reference");
    }
}

fn two_rmws() -> Contender {
    let count = Box::new(AtomicU64::new(1));
    Contender::repeating(BASE, move || {
        let count = black_box(&*count);
        black_box(count.fetch_add(1, Ordering::Acquire));
        black_box(count.fetch_sub(1, Ordering::AcqRel));
    })
}

fn crossbeam_epoch() -> Contender {
    use crossbeam_epoch::{Atomic, pin};
    let table: Vec<Atomic<Arc<Object>>> =
        (0..SLOTS as u64).map(|at| Atomic::new(Arc::new(Object([at; 8])))).collect();
    Contender::repeating("crossbeam-epoch + Arc", move || {
        let guard = pin();
        let slot = &table[black_box(SLOT)];
        // Acquire: it publishes the object.
        let found = slot.load(Ordering::Acquire, &guard);
        // SAFETY: nothing is ever taken out of this table; in general the guard keeps what is retired.
        let object = unsafe { found.as_ref() }.map(Arc::clone);
        drop(guard);
        black_box(object.expect("it is there").0[0]);
    })
}

fn arc_swap() -> [Contender; 2] {
    use arc_swap::ArcSwapOption;
    let table = || -> Vec<ArcSwapOption<Object>> {
        (0..SLOTS as u64).map(|at| ArcSwapOption::from_pointee(Object([at; 8]))).collect()
    };
    let (owned, lent) = (table(), table());
    [
        Contender::repeating("arc-swap, load_full", move || {
            black_box(owned[black_box(SLOT)].load_full().expect("it is there").0[0]);
        }),
        Contender::repeating("arc-swap, load (no count while a slot is free)", move || {
            black_box(lent[black_box(SLOT)].load().as_ref().expect("it is there").0[0]);
        }),
    ]
}

fn sharded_slab() -> Contender {
    let slab = sharded_slab::Slab::new();
    let keys: Vec<usize> = (0..SLOTS as u64)
        .map(|at| slab.insert(Object([at; 8])).expect("a slab has room for some objects"))
        .collect();
    Contender::repeating("sharded-slab", move || {
        black_box(slab.get(black_box(keys[SLOT])).expect("it is there").0[0]);
    })
}

fn mutex() -> Contender {
    let objects = (0..SLOTS as u64).map(|at| Some(Arc::new(Object([at; 8])))).collect();
    let table: Mutex<Vec<Option<Arc<Object>>>> = Mutex::new(objects);
    Contender::repeating("Mutex<Vec<Arc>>", move || {
        let found = table.lock().expect("nobody panics with it").get(black_box(SLOT)).cloned();
        black_box(found.flatten().expect("it is there").0[0]);
    })
}

/// All of them, [`BASE`] first.
pub fn contenders() -> Vec<Contender> {
    let mut all = vec![two_rmws()];
    all.extend(fd_table::DESIGNS.iter().map(|design| {
        let lab = LabTable::new(design.name);
        Contender::repeating(design.name, move || lab.get_and_put())
    }));
    let lab = LabTable::new("rcu");
    // What a system call has beside: in crossbeam-epoch it is part of the look-up.
    all.push(Contender::repeating("rcu and a quiescent state", move || {
        lab.get_and_put();
        lab.rcu.quiescent(Cx { cpu: CPU, rcu: &lab.rcu });
    }));
    all.push(crossbeam_epoch());
    all.extend(arc_swap());
    all.push(sharded_slab());
    all.push(mutex());
    all
}
