//! Every interleaving of small tests, and proof that the tests would find a bug.

use super::fixture::{ENV, World, ino, small, tree};
use crate::object::Kind::{Directory, Regular};
use crate::path_walk::cache::Cache;
use crate::path_walk::dcache_lock::GlobalLock;
use crate::path_walk::dentry::Dentry;
use crate::path_walk::dentry_locks::OwnLocks;
use crate::path_walk::lockref::Lockref;
use crate::path_walk::name::Name;
use crate::path_walk::rcu_walk::Lockrefs;
use crate::path_walk::{DESIGNS, Path, PathWalk, seeded};
use loom::thread::spawn;
use machine::testing::{failure, model};
use machine::{Cpu, Loom, Plain, Platform};
use std::sync::Arc;
use vfs_api::Errno;

/// Eight chains, as a power of two: the names of a model should not meet but where that is its subject.
const CHAINS: u32 = 3;

/// Explores a test that must fail with that message.
fn must_fail(preemptions: usize, message: &str, test: impl Fn() + Sync + Send + 'static) {
    let failure = failure(preemptions, test).expect("the seeded bug was not found");
    assert!(failure.contains(message), "it failed for another reason: {failure}");
}

type Walk = Box<dyn PathWalk<Loom>>;

/// Runs `other` beside `this`, each on its CPU, and ends the kernel.
fn beside(
    world: World<Loom>,
    this: impl FnOnce(&World<Loom>) + 'static,
    other: impl FnOnce(&World<Loom>) + 'static,
) -> Arc<World<Loom>> {
    fn on(world: &World<Loom>, cpu: usize, f: impl FnOnce(&World<Loom>)) {
        world.rcu.online(Cpu(cpu));
        f(world);
        world.rcu.offline(Cpu(cpu));
    }
    let world = Arc::new(world);
    let shared = world.clone();
    let thread = spawn(move || on(&shared, 1, other));
    on(&world, 0, this);
    thread.join().unwrap();
    world
}

fn end(world: Arc<World<Loom>>) {
    Arc::into_inner(world).expect("the other thread has ended").end();
}

fn in_all_designs(preemptions: usize, test: fn(Walk)) {
    for design in DESIGNS {
        model(preemptions, move || test(small(design.name, CHAINS)));
    }
}

// lockref

/// The last reference is put beside a look-up: who gets a reference has a live object until he puts it.
fn get_beside_the_last_put(get: fn(&Lockref<Loom>) -> bool) {
    struct Object {
        lockref: Lockref<Loom>,
        alive: <Loom as Platform>::Cell<bool>,
    }
    fn put(object: &Object) {
        if !object.lockref.put_or_lock() {
            object.lockref.mark_dead();
            object.lockref.unlock();
            // SAFETY: this was the last reference, and there will be no other.
            object.alive.with_mut(|alive| unsafe { *alive = false });
        }
    }
    let object = Arc::new(Object { lockref: Lockref::new("d_lock"), alive: Plain::new(true) });
    let shared = object.clone();
    let thread = spawn(move || put(&shared));
    if get(&object.lockref) {
        // SAFETY: a reference is held.
        assert!(object.alive.with(|alive| unsafe { *alive }));
        put(&object);
    }
    thread.join().unwrap();
    // SAFETY: this thread is alone again.
    assert!(!object.alive.with(|alive| unsafe { *alive }));
}

#[test]
fn a_dead_lockref_is_not_got() {
    model(3, || get_beside_the_last_put(Lockref::get_not_dead));
}

#[test]
fn getting_a_dead_lockref_is_found() {
    must_fail(3, "Causality violation", || {
        get_beside_the_last_put(|lockref| {
            lockref.get();
            true
        });
    });
}

#[test]
fn the_lock_of_a_lockref_excludes_and_its_count_is_exact() {
    model(3, || {
        let lockref = Arc::new((Lockref::<Loom>::new("d_lock"), <Loom as Platform>::Cell::new(0)));
        let work = |(lockref, cell): &(Lockref<Loom>, <Loom as Platform>::Cell<u32>)| {
            lockref.get();
            lockref.lock();
            // SAFETY: the lock is held.
            cell.with_mut(|cell| unsafe { *cell += 1 });
            lockref.unlock();
        };
        let shared = lockref.clone();
        let thread = spawn(move || work(&shared));
        work(&lockref);
        thread.join().unwrap();
        assert_eq!(lockref.0.count(), 3);
        // SAFETY: this thread is alone again.
        assert_eq!(lockref.1.with(|cell| unsafe { *cell }), 2);
    });
}

// Look-ups beside what ends a dentry

fn look_up_beside_unlink(walk: Walk) {
    let world = World::new(walk);
    let file = world.create(0, "/", "f", Regular);
    let held = world.walk(0, b"/f").unwrap();
    let world = beside(
        world,
        move |world| {
            // SAFETY: a reference is held.
            world.walk.unhash(world.cx(0), unsafe { held.dentry.get() });
            world.put(0, held.dentry);
        },
        move |world| {
            let found = world.look(1, "/f");
            assert!(found == Ok(file) || found == Err(Errno::NOENT));
        },
    );
    assert_eq!(world.take_gone(), [file]);
    end(world);
}

#[test]
fn a_look_up_beside_an_unlink() {
    in_all_designs(2, look_up_beside_unlink);
}

#[test]
fn freeing_without_a_grace_period_is_found() {
    must_fail(2, "Causality violation", || {
        look_up_beside_unlink(tree(CHAINS, Lockrefs::<false, { seeded::FREE_AT_ONCE }>));
    });
}

fn last_put_beside_unlink(walk: Walk) {
    let world = World::new(walk);
    let held = world.make(0, world.root.dentry, b"f", Regular);
    let file = ino(held);
    let world = beside(
        world,
        move |world| world.put(0, held),
        |world| {
            // SAFETY: the process holds the root.
            let root = unsafe { world.root.dentry.get() };
            let found = world.walk.child(world.cx(1), root, b"f").unwrap();
            // SAFETY: a reference was got.
            world.walk.unhash(world.cx(1), unsafe { found.get() });
            world.put(1, found);
        },
    );
    assert_eq!(world.take_gone(), [file], "it ends once");
    end(world);
}

#[test]
fn the_last_put_beside_an_unlink() {
    in_all_designs(3, last_put_beside_unlink);
}

#[test]
fn counting_down_before_the_lock_is_found() {
    const BUG: u8 = seeded::COUNT_FIRST;
    must_fail(3, "it ends once", || {
        last_put_beside_unlink(tree(CHAINS, GlobalLock::<_, true, BUG>::new(&ENV)))
    });
    must_fail(3, "it ends once", || last_put_beside_unlink(tree(CHAINS, OwnLocks::<BUG>)));
    must_fail(3, "it ends once", || last_put_beside_unlink(tree(CHAINS, Lockrefs::<true, BUG>)));
}

// Look-ups beside renames

fn rename(world: &World<Loom>, cpu: usize, what: Path<Loom>, parent: Path<Loom>, name: &[u8]) {
    // SAFETY: references are held.
    let (dentry, parent) = unsafe { (what.dentry.get(), parent.dentry.get()) };
    world.walk.rename(world.cx(cpu), dentry, parent, name);
}

/// /p/x becomes /q/t: there is never a /p/t. (Both names fall into the same one of the eight chains, alone.)
fn look_up_beside_rename(walk: Walk) {
    let world = World::new(walk);
    // Both directories get the same number to begin hashes with, so that nothing but d_seq tells their names apart.
    world.create(0, "/", "p", Directory);
    world.rename(0, "/p", "/", "q");
    world.create(0, "/", "p", Directory);
    world.create(0, "/p", "x", Regular);
    let (x, q) = (world.walk(0, b"/p/x").unwrap(), world.walk(0, b"/q").unwrap());
    // The walk begins in /p: each step more multiplies the interleavings.
    world.chdir(0, "/p");
    let world = beside(
        world,
        |world| assert_eq!(world.look(0, "t"), Err(Errno::NOENT), "a name that never was"),
        move |world| rename(world, 1, x, q, b"t"),
    );
    for held in [x, q] {
        world.put_path(0, held);
    }
    assert!(world.look(0, "/q/t").is_ok());
    end(world);
}

#[test]
fn a_look_up_beside_a_rename() {
    in_all_designs(1, look_up_beside_rename);
}

#[test]
fn a_lazy_look_up_beside_a_rename_with_one_more_preemption() {
    model(2, || look_up_beside_rename(small("rcu_walk", CHAINS)));
}

#[test]
fn not_looking_at_d_seq_again_is_found() {
    must_fail(1, "a name that never was", || {
        look_up_beside_rename(tree(CHAINS, Lockrefs::<false, { seeded::NO_RECHECK }>));
    });
}

fn dotdot_beside_rename(walk: Walk) {
    let world = World::new(walk);
    let parents = [world.create(0, "/", "p", Directory), world.create(0, "/", "q", Directory)];
    world.create(0, "/p", "d", Directory);
    world.chdir(0, "/p/d");
    let (d, q) = (world.walk(0, b".").unwrap(), world.walk(0, b"/q").unwrap());
    let world = beside(
        world,
        move |world| rename(world, 0, d, q, b"d"),
        move |world| assert!(parents.contains(&world.look(1, "..").unwrap())),
    );
    for held in [d, q] {
        world.put_path(0, held);
    }
    let parent = world.walk(0, b"..").unwrap();
    assert_eq!(ino(parent.dentry), parents[1]);
    // SAFETY: a reference is held.
    assert_eq!(unsafe { parent.dentry.get() }.references(), 2, "its child's and ours");
    world.put_path(0, parent);
    end(world);
}

#[test]
fn dotdot_beside_a_rename() {
    in_all_designs(2, dotdot_beside_rename);
}

/// The working directory was removed, and its last reference goes.
fn start_beside_chdir(walk: Walk) {
    let world = World::new(walk);
    let removed = world.create(0, "/", "d", Directory);
    world.chdir(0, "/d");
    world.remove(0, "/d");
    let world = beside(
        world,
        |world| world.chdir(0, "/"),
        move |world| assert!([1, removed].contains(&world.look(1, ".").unwrap())),
    );
    assert_eq!(world.take_gone(), [removed]);
    end(world);
}

#[test]
fn a_start_beside_a_chdir() {
    in_all_designs(2, start_beside_chdir);
}

/// Searches a chain for a name that is there, while a rename takes another dentry from that chain into another.
fn search_beside_move(search: fn(&Cache<Loom>, u32, &Dentry<Loom>) -> bool) {
    let world = World::<Loom>::new(small("dcache_lock", 0));
    let root = world.root.dentry;
    // SAFETY: the process holds the root.
    let parent = unsafe { root.get() };
    let cache = Arc::new(Cache::<Loom>::with_buckets(&ENV, 1));
    let name = |bytes| Name::new(parent, bytes);
    // Three names: two in one chain, the third in the other.
    let here = |hash| cache.is_in_first_chain(hash);
    let names: [&[u8]; 6] = [b"a", b"b", b"c", b"d", b"e", b"f"];
    let (first, other): (Vec<&[u8]>, Vec<&[u8]>) = names.iter().partition(|n| here(name(n).hash));
    let ([stays, moves, ..], [to, ..]) = (&first[..], &other[..]) else {
        panic!("six names fall into both chains")
    };
    let inode = parent.inode();
    let [stays, moves] = [*stays, *moves].map(|bytes| {
        let dentry = Dentry::alloc(&ENV, inode, parent, &name(bytes));
        // SAFETY: just made, and freed at the end.
        cache.hash(unsafe { dentry.get() }, true);
        dentry
    });
    let (shared, to) = (cache.clone(), name(to));
    let thread = spawn(move || {
        // SAFETY: freed after this thread was joined.
        let (dentry, parent) = unsafe { (moves.get(), root.get()) };
        shared.renaming(|| {
            shared.unhash(dentry, true);
            let long = crate::path_walk::name::LongName::new(&to);
            assert!(dentry.move_to(parent, &to, long).is_none());
            shared.hash(dentry, true);
        });
    });
    // SAFETY: freed below.
    let wanted = unsafe { stays.get() };
    assert!(search(&cache, wanted.hash(), wanted), "a name that is there was missed");
    thread.join().unwrap();
    for dentry in [stays, moves] {
        // SAFETY: nobody else is left.
        unsafe { Dentry::free(dentry) };
    }
    world.end();
}

#[test]
fn a_search_is_repeated_after_a_rename() {
    model(3, || {
        search_beside_move(|cache, hash, wanted| {
            cache.search(hash, |dentry| std::ptr::eq(dentry, wanted).then_some(())).is_some()
        });
    });
}

#[test]
fn not_repeating_a_search_is_found() {
    must_fail(3, "a name that is there was missed", || {
        search_beside_move(|cache, hash, wanted| {
            cache.scan(hash, |dentry| std::ptr::eq(dentry, wanted).then_some(())).is_some()
        });
    });
}
