//! Every interleaving of two or three tasks.

use super::super::filevec::Kernel;
use super::super::steps::{AllSteps, Steps};
use super::super::{DESIGNS, FileListDesign, make};
use super::{World, env};
use crate::design::Env;
use crate::write_count::{self, Access, Busy, MountWriters};
use loom::thread;
use machine::Loom;
use machine::testing::model;
use std::sync::Arc;

type Make = fn(&Env) -> Box<dyn FileListDesign<Loom>>;

/// Filevecs of two slots, and with a step left out or not.
fn short<S: Steps>(env: &Env) -> Box<dyn FileListDesign<Loom>> {
    Box::new(Kernel::<Loom, S, 2>::new(env))
}

/// Filevecs of one slot: every open moves its file to the list at once.
fn shortest<S: Steps>(env: &Env) -> Box<dyn FileListDesign<Loom>> {
    Box::new(Kernel::<Loom, S, 1>::new(env))
}

/// Explores `body`, which runs with a fresh world of two CPUs (three for a third task).
fn explore(make: Make, cpus: usize, files: usize, body: fn(Arc<World<Loom>>)) {
    model(if cpus == 2 { 3 } else { 2 }, move || {
        let env = env(cpus);
        body(Arc::new(World::new(&*make(&env), &env, files)));
    });
}

fn spawn<R: 'static>(
    world: &Arc<World<Loom>>,
    f: impl FnOnce(&World<Loom>) -> R + 'static,
) -> thread::JoinHandle<R> {
    let world = world.clone();
    thread::spawn(move || f(&world))
}

/// A walk empties the vector while its CPU closes a file in it and opens it again: same memory, perhaps same slot.
fn drain_against_close(world: Arc<World<Loom>>) {
    world.open(0, 0);
    let walker = spawn(&world, |world| world.walk(1));
    world.close(0, 0);
    world.open(0, 0);
    walker.join().unwrap();
    assert_eq!(world.walk(1), [0]);
}

/// The same, but another CPU closes.
fn drain_against_remote_close(world: Arc<World<Loom>>) {
    world.open(0, 0);
    let closer = spawn(&world, |world| world.close(1, 0));
    let walker = spawn(&world, |world| world.walk(2));
    world.open(0, 1);
    closer.join().unwrap();
    walker.join().unwrap();
    assert_eq!(world.walk(1), [1]);
}

/// A walk empties the vector while its CPU fills and empties it itself.
fn drain_against_add(world: Arc<World<Loom>>) {
    world.open(0, 0);
    let walker = spawn(&world, |world| world.walk(1));
    world.open(0, 1);
    assert!(walker.join().unwrap().contains(&0), "on the list from begin to end");
    assert_eq!(world.walk(1), [1, 0]);
}

/// Two walks empty one vector.
fn drain_against_drain(world: Arc<World<Loom>>) {
    world.open(0, 0);
    let walker = spawn(&world, |world| world.walk(1));
    assert_eq!(world.walk(0), [0]);
    assert_eq!(walker.join().unwrap(), [0]);
}

/// An open for writing against a remount of a mount whose writers nobody counts. `listed_late`: the writer is known to be under
/// way until its file is on the list.
fn open_against_remount(world: Arc<World<Loom>>, listed_late: bool) {
    let writers = write_count::make::<Loom>("none", &env(2)).unwrap().sb();
    let mount: Arc<dyn MountWriters<Loom>> = Arc::from(writers.mount());
    let remount = {
        let mount = mount.clone();
        spawn(&world, move |world| {
            let has_writer = &|| !world.walk(1).is_empty();
            mount.set(Access::ReadOnly(Busy { has_writer, ..Busy::NOTHING }))
        })
    };
    let opened = mount.want(world.cx(0)).is_ok();
    if opened && listed_late {
        world.open(0, 0);
        mount.listed(world.cx(0));
    } else if opened {
        mount.listed(world.cx(0));
        world.open(0, 0);
    }
    let remounted = remount.join().unwrap().is_ok();
    assert!(!(opened && remounted), "a writer on a read-only mount");
    assert!(opened || remounted, "each refused for the other's sake");
}

/// Two neighbours leave the list while a third file comes.
fn del_against_del_and_add(world: Arc<World<Loom>>) {
    world.open(0, 0);
    world.open(0, 1);
    let closer = spawn(&world, |world| world.close(1, 0));
    world.close(0, 1);
    world.open(0, 2);
    closer.join().unwrap();
    assert_eq!(world.walk(0), [2]);
}

/// A file leaves the list before another that a walk must not miss. The walk reads what the closer writes afterwards: loom
/// reports it if a file can be closed while it is visited.
fn walk_against_del(world: Arc<World<Loom>>) {
    world.open(0, 0);
    world.open(0, 1);
    let walker = spawn(&world, |world| world.walk(1));
    world.close(0, 1);
    assert!(walker.join().unwrap().contains(&0), "on the list from begin to end");
    assert_eq!(world.walk(0), [0]);
}

/// Runs a model for every design that has a list.
fn each(make_filevec: Make, cpus: usize, files: usize, body: fn(Arc<World<Loom>>)) {
    for info in DESIGNS {
        let make: Make = match info.name {
            "none" => continue,
            "filevec" => make_filevec,
            "global" => |env| make("global", env).unwrap(),
            "lglock" => |env| make("lglock", env).unwrap(),
            other => panic!("no model of {other}"),
        };
        explore(make, cpus, files, body);
    }
}

#[test]
fn drain_against_close_holds() {
    each(short::<AllSteps>, 2, 1, drain_against_close);
}

#[test]
fn drain_against_remote_close_holds() {
    each(short::<AllSteps>, 3, 2, drain_against_remote_close);
}

#[test]
fn drain_against_add_holds() {
    each(short::<AllSteps>, 2, 2, drain_against_add);
}

#[test]
fn drain_against_drain_holds() {
    each(short::<AllSteps>, 2, 1, drain_against_drain);
}

#[test]
fn open_against_remount_holds() {
    each(short::<AllSteps>, 2, 1, |world| open_against_remount(world, true));
}

#[test]
fn del_against_del_and_add_holds() {
    each(shortest::<AllSteps>, 2, 3, del_against_del_and_add);
}

#[test]
fn walk_against_del_holds() {
    each(shortest::<AllSteps>, 2, 2, walk_against_del);
}

struct NoRecheck;
impl Steps for NoRecheck {
    const RECHECK_PREV: bool = false;
}

#[test]
#[should_panic(expected = "a closed file is visited")]
fn without_the_second_look_at_prev_a_file_is_lost() {
    explore(shortest::<NoRecheck>, 2, 3, del_against_del_and_add);
}

struct UnlockedClose;
impl Steps for UnlockedClose {
    const CLOSE_UNDER_LOCK: bool = false;
}

#[test]
#[should_panic(expected = "Concurrent read and write accesses")]
fn without_the_lock_a_closed_file_gets_onto_the_list() {
    explore(short::<UnlockedClose>, 2, 1, drain_against_close);
}

struct ClearFirst;
impl Steps for ClearFirst {
    const LINK_BEFORE_CLEAR: bool = false;
}

#[test]
#[should_panic(expected = "on the list from begin to end")]
fn with_the_slot_cleared_first_a_walk_misses_a_file() {
    explore(short::<ClearFirst>, 2, 2, drain_against_add);
}

#[test]
#[should_panic(expected = "a writer on a read-only mount")]
fn a_writer_that_is_on_neither_list_nor_counter_for_a_moment_is_missed() {
    explore(short::<AllSteps>, 2, 1, |world| open_against_remount(world, false));
}
