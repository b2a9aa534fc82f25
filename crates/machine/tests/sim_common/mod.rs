//! What the tests of the simulator share: machines and loads.

// Each test file is a crate of its own and uses a part of it.
#![allow(dead_code)]

use machine::sim::{Handle, Level, Limit, Machine, Options, Outcome, TaskFn, run_with};
use machine::sync::SpinLock;
use machine::{POwned, Platform, Sim, SpinKind, Word};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// 40, 100 and 200 ns within 8, 64 and more CPUs; the prototype's numbers for the rest.
pub(crate) fn machine(cpus: usize) -> Machine {
    let mut machine = Machine::named("numa-4096").expect("it is built in");
    let level = |size, transfer_ns| Level {
        name: format!("of {size}"),
        size,
        transfer_ns,
        source: "a test".to_owned(),
    };
    machine.levels = vec![level(cpus.min(8), 40.0)];
    if cpus > 8 {
        machine.levels.push(level((cpus / 8).min(8), 100.0));
    }
    if cpus > 64 {
        machine.levels.push(level(cpus / 64, 200.0));
    }
    assert_eq!(machine.cpus(), cpus);
    machine
}

/// `op` again and again.
pub(crate) fn until_time_is_up(cpu: &Handle, mut op: impl FnMut()) {
    while !cpu.time_is_up() {
        op();
        cpu.ops_done(1);
    }
}

/// Each CPU works `local_ns` and then, under one lock, adds 1 to so many counters on lines of their own. The last counter of the
/// tasks that end says whether the lock worked.
pub(crate) fn counters(cpus: usize, kind: SpinKind, local_ns: u32, lines: usize) -> Vec<TaskFn> {
    let counters: Vec<_> =
        (0..lines).map(|_| POwned::<Sim, _>::new(<Sim as Platform>::U64::new(0))).collect();
    let lock = POwned::<Sim, _>::new(SpinLock::<Sim, _>::new(kind, "lock", counters));
    let lock = Rc::new(lock);
    let task = |_| -> TaskFn {
        let lock = Rc::clone(&lock);
        Box::new(move |cpu| {
            until_time_is_up(cpu, || {
                Sim::work(local_ns);
                lock.with(|counters| {
                    for counter in counters {
                        // Not one operation: only the lock makes it one.
                        counter.store(counter.load(Relaxed) + 1, Relaxed);
                    }
                });
            });
        })
    };
    (0..cpus).map(task).collect()
}

/// What comes out of it.
pub(crate) fn simulate(machine: &Machine, options: &Options, tasks: Vec<TaskFn>) -> Outcome {
    run_with(machine, options, tasks).expect("nobody waits for ever")
}

/// With so much virtual time.
pub(crate) fn for_ns(seed: u64, ns: u64) -> Options {
    Options::new(seed, Limit::time(ns))
}
