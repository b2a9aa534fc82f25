//! Walkers against renames, creates, removals and changes of the working directory, on real threads.

use super::fixture::{World, small};
use crate::object::Kind::{Directory, Regular};
use crate::path_walk::DESIGNS;
use machine::{Cpu, Real};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use vfs_api::Errno;

const ROUNDS: usize = 4000;

/// What a walker expects at all times: names that are always there, names that never are, names that come and go.
struct Expected {
    p: u32,
    q: u32,
    keep: u32,
    x: u32,
    /// The files called f in the directories that take turns as the working directory.
    f: [u32; 2],
}

fn walk_about(world: &World<Real>, cpu: usize, expected: &Expected) {
    let look = |path| world.look(cpu, path);
    for path in ["/p/keep", "/q/../p/./keep", "//p//keep", "../../p/keep"] {
        assert_eq!(look(path), Ok(expected.keep), "{path}");
    }
    for path in ["/p/y", "/q/x", "/p/moved", "/q/dir", "/p/y/..", "/q/x/"] {
        assert_eq!(look(path), Err(Errno::NOENT), "{path}");
    }
    for path in ["/p/x", "/q/y"] {
        let found = look(path);
        assert!(found == Ok(expected.x) || found == Err(Errno::NOENT), "{path}: {found:?}");
    }
    let found = look("f").unwrap();
    assert!(expected.f.contains(&found), "f in the working directory: {found}");
    let found = look("..").unwrap();
    assert!(found == expected.p || found == expected.q, "..: {found}");
    let found = look("/p/t/below");
    assert!(found == Err(Errno::NOENT) || found == Err(Errno::NOTDIR), "{found:?}");
    // The last one may be the one who drops the file's dentry.
    if let Ok(held) = world.walk(cpu, b"/p/t") {
        world.put_path(cpu, held);
    }
}

fn move_about(world: &World<Real>, cpu: usize) {
    world.rename(cpu, "/p/x", "/q", "y");
    world.rename(cpu, "/p/dir", "/q", "moved");
    world.rename(cpu, "/q/y", "/p", "x");
    world.rename(cpu, "/q/moved", "/p", "dir");
}

fn come_and_go(world: &World<Real>, cpu: usize, round: usize, changes: &Mutex<()>) {
    {
        let _locked = changes.lock().unwrap();
        world.create(cpu, "/p", "t", Regular);
        world.chdir(cpu, if round.is_multiple_of(2) { "/q/other" } else { "/p/dir" });
    }
    let held = world.walk(cpu, b"/p/t").unwrap();
    {
        let _locked = changes.lock().unwrap();
        world.remove(cpu, "/p/t");
    }
    world.put_path(cpu, held);
}

#[test]
fn walkers_see_what_is_there_and_nothing_else() {
    for design in DESIGNS {
        // Two chains, so that a rename carries walkers over into the other one.
        let world = World::<Real>::new(small(design.name, 1));
        let expected = Expected {
            p: world.create(0, "/", "p", Directory),
            q: world.create(0, "/", "q", Directory),
            keep: world.create(0, "/p", "keep", Regular),
            x: world.create(0, "/p", "x", Regular),
            f: [("/p", "dir"), ("/q", "other")].map(|(parent, name)| {
                world.create(0, parent, name, Directory);
                world.create(0, &format!("{parent}/{name}"), "f", Regular)
            }),
        };
        world.chdir(0, "/p/dir");
        let (changes, done) = (Mutex::new(()), AtomicBool::new(false));
        let thread = |cpu: usize, body: &dyn Fn(usize)| {
            world.rcu.online(Cpu(cpu));
            for round in 0..ROUNDS {
                if cpu < 2 && done.load(Relaxed) {
                    break;
                }
                body(round);
                world.rcu.quiescent(world.cx(cpu));
            }
            // Walkers are of no use without changes.
            done.store(true, Relaxed);
            world.rcu.offline(Cpu(cpu));
        };
        std::thread::scope(|scope| {
            for cpu in 0..2 {
                let (expected, world) = (&expected, &world);
                scope.spawn(move || thread(cpu, &|_| walk_about(world, cpu, expected)));
            }
            scope.spawn(|| {
                thread(2, &|_| {
                    let _locked = changes.lock().unwrap();
                    move_about(&world, 2);
                });
            });
            scope.spawn(|| thread(3, &|round| come_and_go(&world, 3, round, &changes)));
        });
        world.chdir(0, "/");
        assert_eq!(world.mount_references(), 2, "{}", design.name);
        // Each file called t is gone, and nothing else.
        assert_eq!(world.take_gone().len(), ROUNDS, "{}", design.name);
        for (path, names) in [("/p", 3), ("/q", 1), ("/p/dir", 1), ("/p/keep", 0), ("/", 2)] {
            let held = world.walk(0, path.as_bytes()).unwrap();
            // The mount and the process hold the root.
            let others = if path == "/" { 3 } else { 0 };
            // SAFETY: a reference is held.
            let count = unsafe { held.dentry.get() }.references();
            assert_eq!(count, 1 + names + others, "{}: {path}", design.name);
            world.put_path(0, held);
        }
        world.end();
    }
}
