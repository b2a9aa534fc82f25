//! Every interleaving of two or three tasks.

use super::super::{DESIGNS, MountRefDesign, make, mounted, shared};
use super::World;
use crate::design::Env;
use crate::file_list::tests::env;
use crate::object::{Mount, Raw};
use crate::write_count;
use loom::sync::atomic::AtomicU32;
use loom::thread::{self, JoinHandle};
use machine::sync::Rcu;
use machine::testing::{found, model};
use machine::{Cpu, Cx, Loom, Plain, Platform, Word};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{self, Relaxed};

/// What loom watches accesses of.
type Memory = <Loom as Platform>::Cell<()>;

/// Explores `body`, which runs with a fresh mount, not attached, on a kernel of two CPUs (three for a third task).
fn explore(
    make: impl Fn(&Env) -> Box<dyn MountRefDesign<Loom>> + Send + Sync + 'static,
    cpus: usize,
    body: fn(Arc<World<Loom>>),
) {
    let preemptions = if cpus == 2 { 3 } else { 2 };
    model(preemptions, move || body(Arc::new(World::new(make(&env(cpus)), &env(cpus)))));
}

fn each(cpus: usize, body: fn(Arc<World<Loom>>)) {
    for info in DESIGNS {
        explore(|env| make(info.name, env).unwrap(), cpus, body);
    }
}

fn spawn<R: 'static>(
    world: &Arc<World<Loom>>,
    f: impl FnOnce(&World<Loom>) -> R + 'static,
) -> JoinHandle<R> {
    let world = world.clone();
    thread::spawn(move || f(&world))
}

/// The last two references go at the same time, on two CPUs.
fn two_puts(world: Arc<World<Loom>>) {
    world.get(0);
    let other = spawn(&world, |world| world.put(1));
    let mine = world.put(0);
    assert!(mine != other.join().unwrap(), "exactly one is the last");
}

/// What each holder does with the mount is before the last one frees it.
fn last_put_frees(world: Arc<World<Loom>>) {
    let mount = Arc::new(Memory::new(()));
    world.get(0);
    let other = {
        let mount = mount.clone();
        spawn(&world, move |world| use_and_put(world, &mount, 1))
    };
    use_and_put(&world, &mount, 0);
    other.join().unwrap();
}

/// Loom reports it if the uses and the freeing are not in order.
fn use_and_put(world: &World<Loom>, mount: &Memory, cpu: usize) {
    mount.with(|_| ());
    if world.put(cpu) {
        mount.with_mut(|_| ());
    }
}

/// A third reference is taken meanwhile, and one dropped on another CPU than it was taken on.
fn three_puts(world: Arc<World<Loom>>) {
    world.get(0);
    let second = spawn(&world, |world| {
        world.get(1);
        // Two references are held here: the new one and the one handed over.
        [world.put(1), world.put(1)]
    });
    let third = world.put(0);
    let [first, second] = second.join().unwrap();
    assert!(!first, "one was left");
    assert!(second != third, "exactly one is the last");
}

/// References go on two CPUs at once while a third takes another first.
fn puts_on_three_cpus(world: Arc<World<Loom>>) {
    world.get(0);
    world.get(0);
    let others = [1, 2].map(|cpu| spawn(&world, move |world| world.put(cpu)));
    world.get(0);
    assert!(!world.put(0), "another is held here");
    let mine = world.put(0);
    let last = others.map(|other| other.join().unwrap()).into_iter().chain([mine]);
    assert_eq!(last.filter(|&last| last).count(), 1, "exactly one is the last");
}

/// A mount leaves the tree while its last user lets it go.
fn detach_against_put(world: Arc<World<Loom>>) {
    world.get(1);
    world.attach(0);
    let user = spawn(&world, |world| {
        world.get(1);
        [world.put(1), world.put(1)]
    });
    let last = world.detach(0) && world.put(0);
    let before = user.join().unwrap();
    assert_eq!(before, [false, false], "it was in the tree, or another reference was left");
    assert!(last || (world.detach(0) && world.put(0)), "the tree had the last one");
}

/// The user's reference comes from another; the mount gets into the tree meanwhile.
fn attach_against_put(world: Arc<World<Loom>>) {
    world.get(0);
    let user = spawn(&world, |world| {
        world.get(1);
        [world.put(1), world.put(1)]
    });
    world.attach(0);
    assert_eq!(user.join().unwrap(), [false, false]);
    assert_eq!(world.mount.references(), 0);
    assert!(world.detach(0) && world.put(0));
}

/// A path walk looks the mount up, and lets go of it if it was there: whether it was, and whether that was the last reference.
fn look_up(world: &Arc<World<Loom>>, hashed: &Arc<AtomicU32>) -> JoinHandle<(bool, bool)> {
    let hashed = hashed.clone();
    spawn(world, move |world| {
        let mut found = false;
        world.design.protect_lookup(world.cx(1), &mut || {
            // Relaxed: the lock orders it.
            found = hashed.load(Relaxed) == 1;
            if found {
                world.get(1);
            }
        });
        (found, found && world.put(1))
    })
}

/// A mount leaves the tree and its last reference goes, while a path walk looks it up. It is there all the time until it is gone.
fn detach_against_lookup(world: Arc<World<Loom>>) {
    let hashed = Arc::new(AtomicU32::new(1));
    world.attach(0);
    let walker = look_up(&world, &hashed);
    let detached = world.mount.detach(world.cx(0), &mut || hashed.store(0, Relaxed));
    let last = detached && world.put(0);
    let (found, walkers) = walker.join().unwrap();
    assert!(!walkers, "it was in the tree");
    assert!(found || detached, "missed, but it stays");
    assert!(last || (world.detach(0) && world.put(0)), "the tree had the last one");
}

/// A mount that can still be looked up when it is in the tree no more; not when its last reference goes.
fn put_against_lookup(world: Arc<World<Loom>>) {
    let hashed = Arc::new(AtomicU32::new(1));
    world.attach(0);
    let walker = look_up(&world, &hashed);
    let detached = world.detach(0);
    let last = detached && {
        hashed.store(0, Relaxed);
        world.put(0)
    };
    let (_, walkers) = walker.join().unwrap();
    assert!(!(last && walkers), "told twice");
    assert!(last || walkers || !detached, "not told");
    assert!(detached || (world.detach(0) && world.put(0)), "the tree had the last one");
}

/// A remount changes the flags while references come and go.
fn remount_against_put(world: Arc<World<Loom>>) {
    world.get(1);
    world.attach(0);
    let user = spawn(&world, |world| world.put(1));
    world.mount.remounted(world.cx(0));
    assert!(!user.join().unwrap(), "it is in the tree");
    assert!(world.detach(0) && world.put(0));
}

/// A mount in a tree of one, and what its users use.
struct Tree {
    rcu: Rcu<Loom>,
    design: Box<dyn MountRefDesign<Loom>>,
    mount: Mount<Loom>,
    hashed: AtomicU32,
    used: Memory,
}

impl Tree {
    fn new(name: &str) -> Self {
        let env = env(2);
        let design = make::<Loom>(name, &env).unwrap();
        let mount = Mount {
            id: 0,
            // Neither is followed here.
            sb: Raw::from(NonNull::dangling()),
            root: Raw::from(NonNull::dangling()),
            refs: design.mount(),
            writers: write_count::make("none", &env).unwrap().sb().mount(),
            leaving: Word::new(0),
        };
        let (hashed, used) = (AtomicU32::new(1), Memory::new(()));
        let tree = Tree { rcu: Rcu::new(2), design, mount, hashed, used };
        tree.mount.refs.attach(tree.cx(0));
        tree
    }

    fn cx(&self, cpu: usize) -> Cx<'_, Loom> {
        Cx { cpu: Cpu(cpu), rcu: &self.rcu }
    }

    /// Uses and lets go.
    fn use_it(&self) {
        self.used.with(|_| ());
        self.mount.refs.put(self.cx(1));
    }

    /// A path walk under RCU that crosses the mount; with references if that fails. Whether it got there.
    fn walk(&self) -> bool {
        self.rcu.online(Cpu(1));
        let mut found = false;
        // Relaxed, here and below: the lock orders it.
        self.design.protect_lookup(self.cx(1), &mut || found = self.hashed.load(Relaxed) == 1);
        let crossed = found && (self.mount.legitimize(self.cx(1)) || self.walk_with_reference());
        if crossed {
            self.use_it();
        }
        self.rcu.offline(Cpu(1));
        crossed
    }

    fn walk_with_reference(&self) -> bool {
        let mut found = false;
        self.design.protect_lookup(self.cx(1), &mut || {
            found = self.hashed.load(Relaxed) == 1;
            if found {
                self.mount.refs.get(self.cx(1));
            }
        });
        found
    }

    /// Unmounts it by `leave`, and then nobody uses it. Whether that was done.
    fn unmount(&self, leave: fn(&Tree) -> bool) -> bool {
        self.rcu.online(Cpu(0));
        let left = leave(self);
        if left {
            self.used.with_mut(|_| ());
        }
        self.rcu.offline(Cpu(0));
        left
    }

    fn leave(&self) -> bool {
        self.mount.leave(self.cx(0), &mut || self.hashed.store(0, Relaxed))
    }

    /// As [`Mount::leave`], without the grace period.
    fn leave_at_once(&self) -> bool {
        self.mount.leaving.store(1, Relaxed);
        self.mount.refs.detach(self.cx(0), &mut || self.hashed.store(0, Relaxed))
    }
}

fn unmount_against_walk(name: &str, leave: fn(&Tree) -> bool) {
    let tree = Arc::new(Tree::new(name));
    let walker = {
        let tree = tree.clone();
        thread::spawn(move || tree.walk())
    };
    let left = tree.unmount(leave);
    let crossed = walker.join().unwrap();
    assert!(left || crossed, "missed, but it stays");
    assert!(left || tree.unmount(leave), "nobody is there any more");
}

#[test]
fn an_unmount_against_a_walk_under_rcu() {
    for info in DESIGNS {
        model(2, || unmount_against_walk(info.name, Tree::leave));
    }
}

#[test]
fn seeded_bug_no_grace_period_in_unmount() {
    for info in DESIGNS {
        let scene = || unmount_against_walk(info.name, Tree::leave_at_once);
        assert!(found(2, scene), "{} without the grace period", info.name);
    }
}

#[test]
fn two_puts_tell_once() {
    each(2, two_puts);
}

#[test]
fn last_put_frees_in_order() {
    each(2, last_put_frees);
}

#[test]
fn three_puts_tell_once() {
    each(2, three_puts);
}

#[test]
fn puts_on_three_cpus_tell_once() {
    each(3, puts_on_three_cpus);
}

#[test]
fn detach_against_put_holds() {
    each(2, detach_against_put);
}

#[test]
fn attach_against_put_holds() {
    each(2, attach_against_put);
}

#[test]
fn detach_against_lookup_holds() {
    each(2, detach_against_lookup);
}

#[test]
fn put_against_lookup_holds() {
    each(2, put_against_lookup);
}

#[test]
fn remount_against_put_holds() {
    each(2, remount_against_put);
}

struct OwnLockOnly;
impl mounted::Rules for OwnLockOnly {
    const REMOUNT_KEEPS_MOUNTED: bool = true;
    const ALL_LOCKS: bool = false;
}

#[test]
#[should_panic(expected = "exactly one is the last")]
fn a_sum_under_one_lock_is_not_exact() {
    explore(|env| Box::new(mounted::Kernel::<Loom, OwnLockOnly>::new(env)), 2, two_puts);
}

struct LastWithoutLock;
impl shared::Rules for LastWithoutLock {
    const LAST_UNDER_LOCK: bool = false;
}

#[test]
#[should_panic(expected = "told twice")]
fn a_last_put_without_the_lock_races_with_a_lookup() {
    let make = |env: &Env| -> Box<dyn MountRefDesign<Loom>> {
        Box::new(shared::Kernel::<Loom, LastWithoutLock>::new(env))
    };
    explore(make, 2, put_against_lookup);
}

struct RelaxedPut;
impl shared::Rules for RelaxedPut {
    const PUT: Ordering = Relaxed;
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_put_that_releases_nothing_lets_the_mount_be_freed_under_a_user() {
    let make = |env: &Env| -> Box<dyn MountRefDesign<Loom>> {
        Box::new(shared::Kernel::<Loom, RelaxedPut>::new(env))
    };
    explore(make, 2, last_put_frees);
}
