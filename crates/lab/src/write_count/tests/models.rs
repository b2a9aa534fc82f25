//! Every interleaving of small scenes, for every design.
//!
//! Writers write a cell of their CPU's, and who has made a mount read-only reads them all: loom reports a writer on a read-only
//! mount, and missing order, as a race.

use super::{World, names};
use crate::design::Env;
use crate::write_count::WriteCountDesign;
use crate::write_count::percpu_hold::{self, EARLY, NO_BUG, UNLOCKED};
use loom::sync::atomic::AtomicU32;
use machine::testing::{self, Unfenced, found, model};
use machine::{Loom, Platform, SpinKind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use vfs_api::Errno;

fn each(
    designs: impl Iterator<Item = &'static str>,
    threads: usize,
    mounts: usize,
    scene: impl Fn(&str, Arc<World<Loom>>) + Send + Sync + Copy + 'static,
) {
    for name in designs {
        let preemptions = if threads > 2 { 2 } else { 3 };
        model(preemptions, move || scene(name, Arc::new(World::named(name, mounts))));
    }
}

/// Designs whose writers do not wait for a word. loom takes it for a way to run that two threads that wait for a word yield to
/// each other for ever, and gives up.
fn without_hold() -> impl Iterator<Item = &'static str> {
    names().filter(|name| *name != "percpu_hold")
}

fn spawn<P: Platform, R: Send + 'static>(
    world: &Arc<World<P>>,
    f: impl FnOnce(&World<P>) -> R + Send + 'static,
) -> loom::thread::JoinHandle<R> {
    let world = Arc::clone(world);
    testing::spawn(move || f(&world))
}

/// Opens, writes, closes. Whether it could.
fn write<P: Platform>(world: &World<P>, cpu: usize, mount: usize) -> bool {
    let wanted = world.want(cpu, mount);
    if wanted.is_ok() {
        world.write(cpu, mount);
        world.drop(cpu, mount);
    }
    wanted.is_ok()
}

/// Makes the super block or its mount 0 read-only or writable.
fn set<P: Platform>(world: &World<P>, whole: bool, readonly: bool) -> Result<(), Errno> {
    if whole { world.sb_readonly(readonly) } else { world.mount_readonly(0, readonly) }
}

/// Makes the super block or its mount 0 read-only, for the time of a look at everything that writers write.
fn freeze<P: Platform>(world: &World<P>, whole: bool) -> bool {
    let set = |readonly| set(world, whole, readonly);
    let frozen = set(true);
    if frozen.is_ok() {
        let mounts = if whole { 0..world.mounts.len() } else { 0..1 };
        mounts.for_each(|mount| {
            world.read_all(mount);
        });
        assert_eq!(set(false), Ok(()));
    } else {
        assert_eq!(frozen, Err(Errno::BUSY));
    }
    frozen.is_ok()
}

fn writer_against_remount<P: Platform>(name: &str, world: &Arc<World<P>>, whole: bool) {
    let writer = spawn(world, |world| write(world, 0, 0));
    let frozen = freeze(world, whole);
    let written = writer.join().expect("no assertion failed");
    assert!(frozen || written, "{name}: one of them must get through");
    assert!(freeze(world, whole), "{name}: nobody writes any more");
    assert!(write(world, 0, 0), "{name}: it is writable again");
}

#[test]
fn a_writer_against_a_remount_of_the_mount() {
    each(names(), 2, 1, |name, world| writer_against_remount(name, &world, false));
}

#[test]
fn a_writer_against_a_remount_of_the_super_block() {
    each(names(), 2, 1, |name, world| writer_against_remount(name, &world, true));
}

#[test]
fn two_writers_against_a_remount_of_the_mount() {
    each(without_hold(), 3, 1, |name, world| {
        let writers = [0, 1].map(|cpu| spawn(&world, move |world| write(world, cpu, 0)));
        freeze(&world, false);
        for writer in writers {
            writer.join().expect("no assertion failed");
        }
        assert!(freeze(&world, false), "{name}: nobody writes any more");
    });
}

#[test]
fn two_writers_on_two_mounts_against_a_remount_of_the_super_block() {
    each(without_hold(), 3, 2, |name, world| {
        let writers = [0, 1].map(|at| spawn(&world, move |world| write(world, at, at)));
        freeze(&world, true);
        for writer in writers {
            writer.join().expect("no assertion failed");
        }
        assert!(freeze(&world, true), "{name}: nobody writes any more");
    });
}

/// On two CPUs, which one thread stands for; closed the other way round.
fn two_cpus_against_remount(name: &str, world: &Arc<World<Loom>>, whole: bool) {
    let writer = spawn(world, |world| {
        if world.want(0, 0).is_ok() {
            write(world, 1, 0);
            world.write(0, 0);
            world.drop(1, 0);
        }
    });
    freeze(world, whole);
    writer.join().expect("no assertion failed");
    assert!(freeze(world, whole), "{name}: nobody writes any more");
}

#[test]
fn writers_on_two_cpus_against_a_remount_of_the_mount() {
    each(names(), 2, 1, |name, world| two_cpus_against_remount(name, &world, false));
}

#[test]
fn writers_on_two_cpus_against_a_remount_of_the_super_block() {
    each(names(), 2, 1, |name, world| two_cpus_against_remount(name, &world, true));
}

/// Opened on CPU 0 before, closed on CPU 1, while another writer comes and goes.
#[test]
fn a_close_on_another_cpu_leaves_nobody() {
    each(names(), 3, 1, |name, world| {
        world.want(0, 0).expect("it is writable");
        world.write(0, 0);
        let closer = spawn(&world, |world| world.drop(1, 0));
        let writer = spawn(&world, |world| write(world, 2, 0));
        freeze(&world, false);
        closer.join().expect("no assertion failed");
        writer.join().expect("no assertion failed");
        assert_eq!(world.mount_readonly(0, true), Ok(()), "{name}");
        assert_eq!(world.sb_readonly(true), Ok(()), "{name}");
        assert_eq!(world.want(0, 0), Err(Errno::ROFS), "{name}");
    });
}

#[test]
fn who_writes_all_the_time_is_never_missed() {
    each(names(), 2, 1, |name, world| {
        world.want(0, 0).expect("it is writable");
        let writer = spawn(&world, |world| write(world, 1, 0));
        assert_eq!(world.mount_readonly(0, true), Err(Errno::BUSY), "{name}");
        assert_eq!(world.sb_readonly(true), Err(Errno::BUSY), "{name}");
        let written = writer.join().expect("no assertion failed");
        assert!(written, "{name}: a remount that fails refuses nobody");
    });
}

/// Two remounts, one of the mount and one of the super block; a writer must respect both.
#[test]
fn remounts_of_mount_and_super_block_at_once() {
    each(names(), 3, 1, |name, world| {
        let other = spawn(&world, |world| freeze(world, true));
        let writer = spawn(&world, |world| write(world, 0, 0));
        freeze(&world, false);
        other.join().expect("no assertion failed");
        writer.join().expect("no assertion failed");
        assert!(freeze(&world, true), "{name}: nobody writes any more");
    });
}

/// Writes without a file, as create does.
fn change<P: Platform>(world: &World<P>, cpu: usize) -> bool {
    world.change(cpu, 0, || world.write(cpu, 0)).is_ok()
}

/// Two calls that need no file, one after the other.
fn changes_against_remount<P: Platform>(name: &str, world: &Arc<World<P>>, whole: bool) {
    let writer = spawn(world, |world| [change(world, 0), change(world, 0)]);
    let frozen = freeze(world, whole);
    let written = writer.join().expect("no assertion failed");
    assert!(frozen || written == [true, true], "{name}: a remount that fails refuses nobody");
    assert!(freeze(world, whole), "{name}: nobody writes any more");
}

#[test]
fn a_writer_without_a_file_against_a_remount() {
    for whole in [false, true] {
        each(names(), 2, 1, move |name, world| changes_against_remount(name, &world, whole));
    }
}

/// The last name of an open file goes while the super block becomes read-only, if nothing is in the way when `look` looks.
fn unlink_against_remount(
    world: &Arc<World<Loom>>,
    look: impl FnOnce(&World<Loom>, &dyn Fn() -> bool) -> Result<(), Errno>,
) {
    let nameless = Arc::new(AtomicU32::new(0));
    let unlinker = {
        let nameless = Arc::clone(&nameless);
        // Relaxed: what orders it with the remount is the design.
        spawn(world, move |world| world.change(0, 0, || nameless.fetch_add(1, Relaxed)))
    };
    let frozen = look(world, &|| nameless.load(Relaxed) > 0);
    if frozen.is_ok() {
        assert_eq!(nameless.load(Relaxed), 0, "read-only with a file without a name");
    }
    let unlinked = unlinker.join().expect("no assertion failed");
    assert!(frozen.is_ok() != unlinked.is_ok(), "one of them gets through");
}

#[test]
fn a_remount_sees_every_file_without_a_name() {
    each(names(), 2, 1, |_, world| {
        unlink_against_remount(&world, |world, nameless| world.sb_readonly_unless(true, nameless));
    });
}

#[test]
fn seeded_bug_no_second_look_for_files_without_a_name() {
    for name in names() {
        assert!(
            found(2, move || {
                let world = Arc::new(World::<Loom>::named(name, 1));
                unlink_against_remount(&world, |world, nameless| {
                    // Before anybody is held, and not again.
                    let before = nameless();
                    world.sb_readonly_unless(true, &|| before)
                });
            }),
            "{name} without the second look"
        );
    }
}

/// At no moment is it writable, but no single flag is set all the time.
fn handing_over<P: Platform>(world: &Arc<World<P>>, mount_first: bool) {
    let set = |whole, readonly| set(world, whole, readonly);
    assert_eq!(set(!mount_first, true), Ok(()));
    let writer = spawn(world, |world| world.want(0, 0));
    assert_eq!(set(mount_first, true), Ok(()), "nobody can write: nobody can be in the way");
    assert_eq!(set(!mount_first, false), Ok(()));
    assert_eq!(writer.join().expect("no assertion failed"), Err(Errno::ROFS));
}

#[test]
fn one_flag_takes_over_from_the_other() {
    each(names(), 2, 1, |_, world| handing_over(&world, true));
    each(names(), 2, 1, |_, world| handing_over(&world, false));
}

/// As above with the writer there before the first of the two flags: it may get in, and then a remount fails.
#[test]
fn one_flag_takes_over_from_the_other_under_a_writer() {
    for mount_first in [true, false] {
        each(names(), 2, 1, move |name, world| {
            let set = |whole, readonly| set(&*world, whole, readonly);
            let writer = spawn(&world, |world| write(world, 0, 0));
            if set(!mount_first, true).is_ok() {
                let second = set(mount_first, true);
                assert!(second.is_ok(), "{name}: nobody can write");
                assert_eq!(set(!mount_first, false), Ok(()));
                if second.is_ok() {
                    world.read_all(0);
                }
            }
            writer.join().expect("no assertion failed");
        });
    }
}

#[test]
fn seeded_bug_no_fence_in_want() {
    for whole in [false, true] {
        for name in ["none", "percpu_hold"] {
            assert!(
                found(2, move || {
                    let world = Arc::new(World::<Unfenced>::named(name, 1));
                    writer_against_remount(name, &world, whole);
                }),
                "{name} without the writer's fence"
            );
        }
    }
}

#[test]
fn seeded_bug_hold_cleared_before_the_flag_is_set() {
    fn found_in<const BUG: u8>(whole: bool) -> bool {
        found(2, move || {
            let world = seeded::<BUG>(1);
            writer_against_remount("percpu_hold", &world, whole);
        })
    }
    for whole in [false, true] {
        assert!(found_in::<EARLY>(whole));
        assert!(!found_in::<NO_BUG>(whole));
    }
}

fn seeded<const BUG: u8>(mounts: usize) -> Arc<World<Loom>> {
    let env = Env { cpus: 2, spin: SpinKind::Queued };
    let design: Box<dyn WriteCountDesign<Loom>> = percpu_hold::seeded::<Loom, BUG>(&env);
    Arc::new(World::new(&*design, mounts))
}

/// A writer comes while the mount is read-only; it becomes writable and read-only again.
fn writable_for_a_moment(name: &str, world: &Arc<World<Loom>>, before: bool, whole: bool) {
    let set = |whole, readonly| set(&**world, whole, readonly);
    assert_eq!(set(before, true), Ok(()));
    let writer = spawn(world, |world| write(world, 0, 0));
    assert_eq!(set(before, false), Ok(()));
    let frozen = set(whole, true);
    let written = writer.join().expect("no assertion failed");
    assert!(frozen.is_ok() || written, "{name}: EBUSY though nobody wrote");
    assert!(freeze(world, whole), "{name}: nobody writes any more");
}

#[test]
fn who_is_refused_is_never_taken_for_a_writer() {
    for (before, after) in [(false, false), (false, true), (true, false), (true, true)] {
        each(names(), 2, 1, move |name, world| {
            writable_for_a_moment(name, &world, before, after);
        });
    }
}

#[test]
fn seeded_bug_a_count_taken_back_without_the_lock() {
    fn found_in<const BUG: u8>(whole: bool) -> bool {
        found(2, move || writable_for_a_moment("percpu_hold", &seeded::<BUG>(1), whole, whole))
    }
    for whole in [false, true] {
        assert!(found_in::<UNLOCKED>(whole));
        assert!(!found_in::<NO_BUG>(whole));
    }
}
