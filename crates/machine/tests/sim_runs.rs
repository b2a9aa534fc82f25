//! Runs of the simulator: repeatable, sums of their parts, and never a hang.

mod sim_common;

use machine::sim::{
    Handle, Level, Limit, Machine, Options, SimError, TaskFn, in_arena, run, run_with,
};
use machine::sync::{Mutex, MutexKind, PerCpu, Rcu, Spin};
use machine::{Cpu, Cx, POwned, Platform, Sim, SpinKind, Word};
use sim_common::{counters, for_ns, machine, simulate, until_time_is_up};
use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

type U64 = <Sim as Platform>::U64;
type U32 = <Sim as Platform>::U32;

/// What the compiler has for the program: allocations of tasks are repeatable too.
#[global_allocator]
static ALLOCATOR: machine::sim::Allocator = machine::sim::Allocator;

fn word() -> POwned<Sim, U64> {
    POwned::new(U64::new(0))
}

fn task(f: impl FnOnce(&Handle) + 'static) -> TaskFn {
    Box::new(f)
}

#[test]
fn one_seed_gives_one_outcome() {
    let outcome = |seed| {
        let tasks = counters(16, SpinKind::TestAndSet, 600, 2);
        simulate(&machine(16), &for_ns(seed, 200_000), tasks)
    };
    let first = outcome(1);
    // What is allocated meanwhile, in both kinds of memory, changes addresses and nothing else.
    let garbage: Vec<Vec<u8>> = (1..200).map(|size| vec![0; size * 7]).collect();
    let objects: Vec<_> = (0..99).map(|_| word()).collect();
    assert_eq!(outcome(1), first);
    drop(objects);
    drop(garbage);
    assert_eq!(outcome(1), first);
    assert_eq!(std::thread::spawn(move || outcome(1)).join().expect("no panic"), first);
}

#[test]
fn boxes_are_lines_of_their_own_in_the_arena() {
    let outcome = || {
        let tasks = in_arena(|| {
            // Boxes and a vector's elements, and new ones in every operation.
            let words: Rc<[U64]> = (0..4).map(|_| U64::new(0)).collect();
            let one = Rc::new(U64::new(0));
            (0..4)
                .map(|number| {
                    let (words, one) = (Rc::clone(&words), Rc::clone(&one));
                    task(move |cpu| {
                        until_time_is_up(cpu, || {
                            let fresh: Vec<Box<U64>> =
                                (0..3).map(|_| Box::new(U64::new(0))).collect();
                            fresh.iter().for_each(|word| word.store(1, Relaxed));
                            words[number].fetch_add(1, Relaxed);
                            one.fetch_add(1, Relaxed);
                            Sim::work(300);
                        });
                    })
                })
                .collect()
        });
        simulate(&machine(4), &for_ns(1, 100_000), tasks)
    };
    let first = outcome();
    let garbage: Vec<Vec<u8>> = (1..200).map(|size| vec![0; size * 7]).collect();
    assert_eq!(outcome(), first);
    drop(garbage);
    assert_eq!(outcome(), first);
}

#[test]
fn seeds_give_a_spread() {
    let ops: HashSet<u64> = (0..8)
        .map(|seed| {
            let tasks = counters(8, SpinKind::Ticket, 1000, 1);
            simulate(&machine(8), &for_ns(seed, 300_000), tasks).ops()
        })
        .collect();
    assert!(ops.len() > 2, "{ops:?}");
    let (least, most) = (ops.iter().min().expect("8"), ops.iter().max().expect("8"));
    assert!((most - least) * 10 < *most, "{ops:?}");
}

#[test]
fn a_line_of_ones_own_costs_hits() {
    let words = Rc::new(PerCpu::<Sim, _>::new(2, |_| U64::new(0)));
    let tasks = (0..2)
        .map(|_| {
            let words = Rc::clone(&words);
            task(move |cpu| {
                let word = words.get(cpu.cpu());
                word.load(Relaxed);
                let begin = cpu.now_ns();
                for _ in 0..1000 {
                    word.fetch_add(1, Relaxed);
                    word.load(Relaxed);
                    word.store(3, Relaxed);
                }
                let machine = machine(2);
                let expected = 1000.0 * (machine.rmw_ns.value + 2.0 * machine.hit_ns.value);
                assert!((cpu.now_ns() - begin).abs_diff(expected as u64) <= 1);
            })
        })
        .collect();
    let outcome = run(&machine(2), 1, tasks, 1_000_000).expect("nobody waits");
    assert_eq!((outcome.misses, outcome.transfers, outcome.lines), (2, 0, 2));
    assert_eq!(outcome.accesses, 2 * 3001);
}

#[test]
fn one_cpu_costs_the_sum_of_its_parts() {
    let word = word();
    let spin = POwned::<Sim, _>::new(Spin::<Sim>::new(SpinKind::TestAndSet, "lock"));
    let m = machine(1);
    let one_round =
        m.rmw_ns.value + m.hit_ns.value + m.hit_ns.value + m.fence_ns.value + m.pause_ns.value;
    let expected = 100.0 * one_round + 2.0 * m.memory_ns.value;
    let tasks = vec![task(move |cpu| {
        for _ in 0..100 {
            spin.lock();
            word.store(1, Relaxed);
            spin.unlock();
            Sim::fence(std::sync::atomic::Ordering::SeqCst);
            Sim::relax();
            cpu.ops_done(1);
        }
    })];
    let outcome = run(&m, 1, tasks, u64::MAX).expect("nobody waits");
    let took = outcome.tasks[0].ended_ns as f64;
    assert!((took - expected).abs() <= 1.0, "{took} ns, expected {expected}");
    assert_eq!(outcome.ops(), 100);
    assert_eq!(outcome.locks.len(), 1);
    let lock = outcome.locks[0];
    assert_eq!((lock.name, lock.acquisitions, lock.contended), ("lock", 100, 0));
}

#[test]
fn local_work_is_as_long_as_said_on_average() {
    let tasks = vec![task(|_| (0..10_000).for_each(|_| Sim::work(1000)))];
    let outcome = run(&machine(1), 9, tasks, u64::MAX).expect("nobody waits");
    let took = outcome.tasks[0].work_ns();
    assert!(took.abs_diff(10_000_000) < 50_000, "{took}");
}

/// Time of one hand-over of a line between the first CPU and another.
fn hand_over(machine: &Machine, other: usize) -> f64 {
    let word = Rc::new(POwned::<Sim, _>::new(U32::new(0)));
    const ROUNDS: u32 = 1000;
    let mut tasks: Vec<TaskFn> = Vec::new();
    for cpu in 0..=other {
        let word = Rc::clone(&word);
        tasks.push(task(move |_| {
            let me = match cpu {
                0 => 0,
                cpu if cpu == other => 1,
                _ => return,
            };
            for round in 0..ROUNDS {
                word.spin_until(Relaxed, |value| value == 2 * round + me);
                word.store(2 * round + me + 1, Relaxed);
            }
        }));
    }
    let outcome = run(machine, 1, tasks, u64::MAX).expect("nobody waits for ever");
    outcome.elapsed_ns as f64 / f64::from(2 * ROUNDS)
}

#[test]
fn far_cpus_are_farther() {
    let machine = machine(128);
    let times = [1, 7, 8, 63, 64, 127].map(|other| hand_over(&machine, other));
    // The reader fetches the line, then takes it from the writer: two transfers at least.
    assert!((80.0..120.0).contains(&times[0]), "{times:?}");
    // They begin at different moments.
    let equal = |a: f64, b: f64| (a / b - 1.0).abs() < 0.02;
    assert!(equal(times[0], times[1]), "{times:?}");
    assert!(times[2] > times[1] + 80.0 && equal(times[3], times[2]), "{times:?}");
    assert!(times[4] > times[3] + 160.0 && equal(times[5], times[4]), "{times:?}");
}

/// Time of one hand-over between two CPUs of a line that the CPU `home` has touched first.
fn hand_over_from_home(machine: &Machine, ends: [usize; 2], home: usize) -> f64 {
    const ROUNDS: u32 = 1000;
    let word = Rc::new(POwned::<Sim, _>::new(U32::new(0)));
    let tasks = (0..machine.cpus()).map(|cpu| {
        let word = Rc::clone(&word);
        task(move |handle| {
            if cpu == home {
                word.load(Relaxed);
            }
            // All have begun.
            Sim::work(5_000);
            if let Some(me) = ends.iter().position(|end| *end == cpu) {
                for round in 0..ROUNDS {
                    let mine = 2 * round + me as u32;
                    word.spin_until(Relaxed, |value| value == mine);
                    word.store(mine + 1, Relaxed);
                    handle.ops_done(1);
                }
            }
        })
    });
    let outcome = run(machine, 1, tasks.collect(), u64::MAX).expect("nobody waits for ever");
    outcome.elapsed_ns as f64 / f64::from(2 * ROUNDS)
}

#[test]
fn a_line_at_home_in_a_third_node_takes_a_detour() {
    let mut machine = machine(128);
    machine.levels[2].size = 3;
    machine.levels[2].name = "node".to_owned();
    assert_eq!(machine.nodes(), 3);
    let ends = [0, 64];
    let [at_one, at_other, in_third] =
        [1, 65, 128].map(|home| hand_over_from_home(&machine, ends, home));
    assert!((at_one / at_other - 1.0).abs() < 0.02, "{at_one} ns and {at_other} ns");
    // Two transfers of 200 ns, each half as long again.
    assert!((190.0..210.0).contains(&(in_third - at_one)), "{in_third} ns and {at_one} ns");

    // With two nodes it is as if there were none.
    machine.levels[2].size = 2;
    let two_nodes = hand_over_from_home(&machine, ends, 1);
    machine.levels[2].name = "no node".to_owned();
    assert_eq!(machine.nodes(), 1);
    let without_nodes = hand_over_from_home(&machine, ends, 1);
    assert_eq!(two_nodes.to_bits(), without_nodes.to_bits());
}

#[test]
fn neighbours_on_a_line_share_its_fate() {
    let outcome = |together: bool| {
        let pair = Rc::new(POwned::<Sim, _>::new([U64::new(0), U64::new(0)]));
        let apart = Rc::new(word());
        let tasks = (0..2)
            .map(|cpu| {
                let (pair, apart) = (Rc::clone(&pair), Rc::clone(&apart));
                task(move |handle| {
                    let word = if cpu == 0 || together { &pair[cpu] } else { &**apart };
                    until_time_is_up(handle, || {
                        word.fetch_add(1, Relaxed);
                        Sim::work(100);
                    });
                })
            })
            .collect();
        simulate(&machine(2), &for_ns(1, 50_000), tasks)
    };
    let (together, apart) = (outcome(true), outcome(false));
    assert!(together.transfers > together.ops() / 2, "{together:?}");
    assert_eq!(apart.transfers, 0);
    assert!(apart.ops() > together.ops());
}

#[test]
fn lines_and_locks_have_names() {
    let shared =
        Rc::new(POwned::<Sim, _>::new((Spin::<Sim>::new(SpinKind::Ticket, "s_lock"), word())));
    Sim::name(&*shared.1, "file.f_count");
    let tasks = (0..4)
        .map(|_| {
            let shared = Rc::clone(&shared);
            task(move |cpu| {
                until_time_is_up(cpu, || shared.0.with(|| shared.1.store(1, Relaxed)));
            })
        })
        .collect();
    let outcome = simulate(&machine(4), &for_ns(1, 100_000), tasks);
    let names: Vec<_> = outcome.moved.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.contains(&"s_lock") && names.contains(&"file.f_count"), "{names:?}");
    let lock = outcome.locks[0];
    assert!(lock.contended > 0 && lock.wait_ns > 0 && lock.hold_ns > 0, "{lock:?}");
    assert_eq!(
        lock.acquisitions,
        outcome.ops() + outcome.tasks.iter().map(|t| t.late_ops).sum::<u64>()
    );
}

#[test]
fn a_dead_lock_is_an_error() {
    let locks = Rc::new(POwned::<Sim, _>::new((
        POwned::<Sim, _>::new(Spin::<Sim>::new(SpinKind::TestAndSet, "a_lock")),
        POwned::<Sim, _>::new(Spin::<Sim>::new(SpinKind::Queued, "b_lock")),
    )));
    let tasks = (0..2)
        .map(|number| {
            let locks = Rc::clone(&locks);
            task(move |_| {
                let (first, second) =
                    if number == 0 { (&locks.0, &locks.1) } else { (&locks.1, &locks.0) };
                first.lock();
                Sim::work(10_000);
                second.lock();
            })
        })
        .collect();
    let error = run(&machine(2), 1, tasks, 1_000_000).expect_err("a dead-lock");
    let text = error.to_string();
    let SimError::Deadlock { blocked, .. } = error else { panic!("{text}") };
    assert_eq!(blocked.len(), 2);
    assert!(blocked.iter().all(|blocked| !blocked.sleeps));
    assert_eq!((blocked[0].line.as_str(), &blocked[0].holds[..]), ("b_lock", &["a_lock"][..]));
    assert_eq!((blocked[1].line.as_str(), &blocked[1].holds[..]), ("a_lock", &["b_lock"][..]));
    assert!(text.contains("task 0 on CPU 0 spins on b_lock holding a_lock"), "{text}");
}

#[test]
fn a_mutex_that_nobody_frees_is_a_dead_lock_too() {
    let rcu = Rc::new(Rcu::<Sim>::new(2));
    let mutex = Rc::new(POwned::<Sim, _>::new(Mutex::<Sim>::new(MutexKind::Sleeping, "i_mutex")));
    let tasks = (0..2)
        .map(|cpu| {
            let (rcu, mutex) = (Rc::clone(&rcu), Rc::clone(&mutex));
            task(move |_| {
                let cx = Cx { cpu: Cpu(cpu), rcu: &rcu };
                rcu.online(cx.cpu);
                mutex.lock(cx);
            })
        })
        .collect();
    let error = run(&machine(2), 1, tasks, 1_000_000).expect_err("a dead-lock");
    let SimError::Deadlock { blocked, .. } = &error else { panic!("{error}") };
    assert_eq!(blocked.len(), 1);
    assert!(blocked[0].sleeps);
    assert_eq!(blocked[0].line, "i_mutex");
}

#[test]
fn a_loop_without_end_is_an_error() {
    let word = word();
    let tasks = vec![task(move |_| {
        while word.load(Relaxed) == 0 {
            Sim::relax();
        }
    })];
    let options = Options { grace_ns: 50_000, ..for_ns(1, 10_000) };
    let error = run_with(&machine(1), &options, tasks).expect_err("nobody stores");
    assert!(matches!(error, SimError::Overrun { left: 1, .. }), "{error}");
}

/// Tasks that take a sleeping mutex and work with it.
fn sleepers(tasks: usize, inside: u32, held: &Rc<Cell<bool>>) -> Vec<TaskFn> {
    let rcu = Rc::new(Rcu::<Sim>::new(tasks));
    let mutex = Rc::new(POwned::<Sim, _>::new(Mutex::<Sim>::new(MutexKind::Sleeping, "i_mutex")));
    (0..tasks)
        .map(|number| {
            let (rcu, mutex, held) = (Rc::clone(&rcu), Rc::clone(&mutex), Rc::clone(held));
            task(move |cpu| {
                let cx = Cx { cpu: Cpu(number), rcu: &rcu };
                rcu.online(cx.cpu);
                until_time_is_up(cpu, || {
                    mutex.lock(cx);
                    assert!(!held.replace(true), "two hold the mutex");
                    Sim::work(inside);
                    held.set(false);
                    mutex.unlock();
                    Sim::work(inside);
                });
                rcu.offline(cx.cpu);
            })
        })
        .collect()
}

#[test]
fn a_mutex_sleeps_and_wakes() {
    let held = Rc::default();
    let machine = machine(4);
    let outcome = simulate(&machine, &for_ns(1, 5_000_000), sleepers(4, 20_000, &held));
    assert!(outcome.tasks.iter().all(|task| task.ops > 10), "{:?}", outcome.tasks);
    // Three of four wait as a rule, asleep.
    let slept: u64 = outcome.tasks.iter().map(|task| task.sleep_ns).sum();
    assert!(slept > outcome.elapsed_ns, "{outcome:?}");
    let spun: u64 = outcome.tasks.iter().map(|task| task.spin_ns).sum();
    assert_eq!(spun, 0);
    // A hand-over to a sleeper takes its wake-up and its switch.
    let lock = outcome.locks[0];
    assert!(lock.contended > 0 && lock.wait_ns > 0);
    let cost = machine.wake_ns.value + machine.ipi_ns.value + machine.context_switch_ns.value;
    let bound = outcome.elapsed_ns as f64 / 20_000.0;
    assert!(outcome.ops() as f64 <= bound && cost > 0.0);
}

#[test]
fn more_tasks_than_cpus() {
    let held = Rc::default();
    let outcome = simulate(&machine(2), &for_ns(1, 40_000_000), sleepers(10, 5_000, &held));
    assert!(outcome.tasks.iter().all(|task| task.ops > 10), "{:?}", outcome.tasks);

    // Tasks that never sleep share their CPU by time slices.
    let tasks: Vec<_> =
        (0..6).map(|_| task(|cpu| until_time_is_up(cpu, || Sim::work(10_000)))).collect();
    let outcome = simulate(&machine(2), &for_ns(1, 240_000_000), tasks);
    for task in &outcome.tasks {
        let share = task.ops as f64 * 6.0 / outcome.ops() as f64;
        assert!((0.8..1.2).contains(&share), "{:?}", outcome.tasks);
        assert!(task.ready_ns > outcome.elapsed_ns / 2);
    }
    let rate = outcome.ops() as f64 * 10_000.0 / outcome.elapsed_ns as f64;
    assert!((1.9..2.0).contains(&rate), "two CPUs do {rate} times the work of one");
}

#[test]
fn a_task_that_spins_for_one_of_its_own_cpu_gives_way() {
    let word = Rc::new(word());
    let tasks = (0..4)
        .map(|number| {
            let word = Rc::clone(&word);
            task(move |_| {
                word.spin_until(Relaxed, |value| value == 3 - number);
                word.fetch_add(1, Relaxed);
            })
        })
        .collect();
    run(&machine(1), 1, tasks, 1_000_000).expect("each gets its turn");
}

#[test]
fn it_stops_after_so_many_operations() {
    let options = Options::new(1, Limit::ops(100, u64::MAX));
    let outcome = simulate(&machine(8), &options, counters(8, SpinKind::Ticket, 500, 1));
    // CPUs whose clocks are behind may finish one before the moment of the hundredth.
    assert!((100..108).contains(&outcome.ops()), "{}", outcome.ops());
    assert!(outcome.elapsed_ns < 100_000);
}

#[test]
fn a_panic_of_a_task_is_a_panic_of_the_run() {
    let tasks = || {
        let mut tasks = counters(4, SpinKind::Ticket, 500, 1);
        tasks.push(task(|_| {
            Sim::work(20_000);
            panic!("on purpose");
        }));
        tasks
    };
    let run_it = || run(&machine(8), 1, tasks(), 100_000);
    let panic =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(run_it)).expect_err("a panic");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
    // The thread can simulate again.
    run(&machine(8), 1, counters(4, SpinKind::Ticket, 500, 1), 100_000).expect("no panic");
}

#[test]
fn siblings_share_a_core_and_a_bus_is_shared_by_all() {
    let mut smt = machine(8);
    smt.levels.insert(0, Level { name: "smt".to_owned(), size: 2, ..smt.levels[0].clone() });
    smt.smt_slowdown = Some(machine::sim::Value { value: 1.5, ..smt.hit_ns.clone() });
    // Eight cores, then their siblings.
    let ops = |tasks: usize| {
        let tasks = (0..tasks).map(|_| task(|cpu| until_time_is_up(cpu, || Sim::work(1000))));
        simulate(&smt, &for_ns(1, 10_000_000), tasks.collect()).ops() as f64
    };
    let (one, eight, sixteen) = (ops(1), ops(8), ops(16));
    assert!((7.9..8.1).contains(&(eight / one)), "{one} {eight} {sixteen}");
    assert!((1.3..1.4).contains(&(sixteen / eight)), "{one} {eight} {sixteen}");

    // Pairs of CPUs with lines that have nothing to do with each other.
    let transfers = |machine: &Machine| {
        let words: Vec<_> = (0..4).map(|_| Rc::new(word())).collect();
        let tasks = (0..8)
            .map(|cpu| {
                let word = Rc::clone(&words[cpu / 2]);
                task(move |handle| {
                    until_time_is_up(handle, || {
                        word.fetch_add(1, Relaxed);
                    });
                })
            })
            .collect();
        let outcome = simulate(machine, &for_ns(1, 1_000_000), tasks);
        outcome.transfers as f64 / outcome.elapsed_ns as f64
    };
    let mut bus = machine(8);
    let free = transfers(&bus);
    bus.bus = Some(machine::sim::Bus {
        level: bus.levels[0].name.clone(),
        busy_ns: 60.0,
        source: "a test".to_owned(),
    });
    let shared = transfers(&bus);
    assert!(free > 2.0 * shared, "{free} {shared}");
    assert!((0.9..1.05).contains(&(shared * 60.0)), "{shared} a nanosecond");
}
