//! What every design of the part must do.

mod models;

use super::{DESIGNS, MountRef, MountRefDesign, make};
use crate::design::Env;
use crate::file_list::tests::env;
use machine::sync::Rcu;
use machine::testing::Tally;
use machine::{Counted, Cpu, Cx, Platform, Real, take_totals};
use proptest::prelude::*;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// A kernel with one mount.
struct World<P: Platform> {
    rcu: Rcu<P>,
    design: Box<dyn MountRefDesign<P>>,
    mount: Box<dyn MountRef<P>>,
}

impl<P: Platform> World<P> {
    fn new(design: Box<dyn MountRefDesign<P>>, env: &Env) -> Self {
        let mount = design.mount();
        World { rcu: Rcu::new(env.cpus), design, mount }
    }

    fn named(name: &str, cpus: usize) -> Self {
        World::new(make(name, &env(cpus)).unwrap(), &env(cpus))
    }

    fn cx(&self, cpu: usize) -> Cx<'_, P> {
        Cx { cpu: Cpu(cpu), rcu: &self.rcu }
    }

    fn get(&self, cpu: usize) {
        self.mount.get(self.cx(cpu));
    }

    fn put(&self, cpu: usize) -> bool {
        self.mount.put(self.cx(cpu))
    }

    fn attach(&self, cpu: usize) {
        self.mount.attach(self.cx(cpu));
    }

    fn detach(&self, cpu: usize) -> bool {
        let mut unhashed = false;
        let detached = self.mount.detach(self.cx(cpu), &mut || unhashed = true);
        assert_eq!(detached, unhashed, "it leaves the tree if it is detached");
        detached
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Get,
    Put,
    Attach,
    Detach,
    Remount,
    Lookup,
}

const CPUS: usize = 3;

fn op() -> impl Strategy<Value = (usize, Op)> {
    let op = prop_oneof![
        6 => Just(Op::Get),
        6 => Just(Op::Put),
        1 => Just(Op::Attach),
        2 => Just(Op::Detach),
        1 => Just(Op::Remount),
        1 => Just(Op::Lookup),
    ];
    (0..CPUS, op)
}

/// Against two numbers. What may not be called is left out.
fn agrees_with_a_count<P: Platform>(name: &str, ops: &[(usize, Op)]) {
    let mut world = World::<P>::named(name, CPUS);
    let (mut references, mut attached) = (1, false);
    for &(cpu, op) in ops {
        match op {
            Op::Get if references > 0 => {
                world.get(cpu);
                references += 1;
            }
            Op::Put if references > 0 => {
                references -= 1;
                let last = references == 0 && !attached;
                assert_eq!(world.put(cpu), last);
                if last {
                    world.mount = world.design.mount();
                    references = 1;
                }
            }
            Op::Attach if references > 0 && !attached => {
                world.attach(cpu);
                (references, attached) = (references - 1, true);
            }
            Op::Detach if attached => {
                let alone = references == 0;
                assert_eq!(world.detach(cpu), alone);
                if alone {
                    (references, attached) = (1, false);
                }
            }
            Op::Remount => world.mount.remounted(world.cx(cpu)),
            Op::Lookup if attached => {
                let find = &mut || world.get(cpu);
                world.design.protect_lookup(world.cx(cpu), find);
                references += 1;
            }
            _ => {}
        }
        assert_eq!(world.mount.references(), references);
    }
}

proptest! {
    #[test]
    fn every_design_is_a_count(ops in proptest::collection::vec(op(), 0..200)) {
        for info in DESIGNS {
            agrees_with_a_count::<Real>(info.name, &ops);
        }
    }
}

/// Tasks take references and drop each other's, while a third tries to take the mount out of the tree and remounts it.
#[test]
fn the_last_one_is_told_once() {
    const OPS: usize = 10_000;
    for info in DESIGNS {
        let world = World::<Real>::named(info.name, 3);
        // One for the tree, one that the tasks take theirs from.
        world.get(0);
        world.attach(2);
        // References on their way from one task to another.
        let handed: Vec<_> = (0..10).map(|_| AtomicBool::new(false)).collect();
        let last = AtomicUsize::new(0);
        let put = |cpu| {
            if world.put(cpu) {
                last.fetch_add(1, Relaxed);
            }
        };
        let task = |cpu: usize| {
            let mut random = 777 + cpu;
            for _ in 0..OPS {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                world.get(cpu);
                // AcqRel: a reference is handed over.
                if handed[(random >> 33) % handed.len()].swap(true, AcqRel) {
                    put(cpu);
                }
            }
        };
        std::thread::scope(|scope| {
            let tasks = [scope.spawn(|| task(0)), scope.spawn(|| task(1))];
            while !tasks.iter().all(|task| task.is_finished()) {
                assert!(!world.detach(2), "{}: others hold references", info.name);
                world.mount.remounted(world.cx(2));
            }
        });
        assert_eq!(last.load(Relaxed), 0, "{}: it is in the tree", info.name);
        let left = handed.iter().filter(|place| place.load(Relaxed)).count();
        assert_eq!(world.mount.references(), left as i64 + 1);
        (0..left).for_each(|at| put(at % 3));
        assert!(!world.detach(2));
        put(1);
        assert_eq!(last.load(Relaxed), 0);
        assert!(world.detach(2));
        put(2);
        assert_eq!(last.load(Relaxed), 1);
    }
}

/// Acquisitions of vfsmount_lock by `f`.
fn locks(f: impl FnOnce()) -> u64 {
    take_totals();
    f();
    let totals = take_totals();
    totals.iter().find(|t| t.name == "vfsmount_lock").map_or(0, |t| t.acquisitions)
}

#[test]
fn only_the_bug_makes_a_remount_dear() {
    // Locks taken by a get and put: while mounted, after a remount, and by the last put.
    let expected = [
        ("shared", [0, 0, 1]),
        ("percpu_remount_bug", [1, 9, 9]),
        ("percpu", [1, 1, 9]),
        ("long_short", [1, 1, 9]),
    ];
    assert_eq!(expected.len(), DESIGNS.len());
    for (name, [mounted, remounted, last]) in expected {
        let world = World::<Counted>::named(name, 8);
        world.attach(0);
        let get_put = || {
            world.get(3);
            assert!(!world.put(5));
        };
        assert_eq!(locks(get_put), mounted, "{name}");
        world.mount.remounted(world.cx(0));
        assert_eq!(locks(get_put), remounted, "{name}");
        assert!(world.detach(0));
        assert_eq!(locks(|| assert!(world.put(5))), last, "{name}");
    }
}

#[test]
fn a_lookup_takes_one_lock() {
    for info in DESIGNS {
        let world = World::<Counted>::named(info.name, 8);
        let lookup = || world.design.protect_lookup(world.cx(3), &mut || world.get(3));
        assert_eq!(locks(lookup), 1, "{}", info.name);
    }
}

#[test]
fn nothing_is_left_over() {
    for info in DESIGNS {
        {
            let world = World::<Tally>::named(info.name, 3);
            assert!(Tally::pieces() > 1);
            assert!(world.put(1));
        }
        assert_eq!(Tally::pieces(), 0, "{}", info.name);
    }
}
