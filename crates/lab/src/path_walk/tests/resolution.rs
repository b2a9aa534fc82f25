//! Path resolution, errno by errno what Linux answers.

use super::fixture::{ENV, World};
use crate::object::Kind::{Directory, Regular};
use crate::path_walk::{DESIGNS, make};
use machine::testing::Tally;
use std::sync::atomic::Ordering::SeqCst;
use vfs_api::Errno;

/// Runs `test` for each design, on a tree with /d/e/f and /file.
fn for_each_design(test: impl Fn(&World<Tally>)) {
    for design in DESIGNS {
        let before = Tally::bytes();
        {
            let world = World::<Tally>::new(make(design.name, &ENV).unwrap());
            world.create(0, "/", "d", Directory);
            world.create(0, "/d", "e", Directory);
            world.create(0, "/d/e", "f", Regular);
            world.create(0, "/", "file", Regular);
            test(&world);
            assert_eq!(world.mount_references() % 2, 0, "{}", design.name);
            world.end();
        }
        assert_eq!(Tally::bytes(), before, "{}: memory", design.name);
    }
}

const ROOT: u32 = 1;
const D: u32 = 2;
const E: u32 = 3;
const F: u32 = 4;
const FILE: u32 = 5;

#[test]
fn slashes_and_dots() {
    for_each_design(|world| {
        for (path, expected) in [
            ("/", Ok(ROOT)),
            ("//", Ok(ROOT)),
            (".", Ok(ROOT)),
            ("..", Ok(ROOT)),
            ("/../..//../d", Ok(D)),
            ("d", Ok(D)),
            ("d/", Ok(D)),
            ("//d//e/.//f", Ok(F)),
            ("d/e/..", Ok(D)),
            ("d/e/../../file", Ok(FILE)),
            ("d/./e/.", Ok(E)),
            ("", Err(Errno::NOENT)),
            ("file/", Err(Errno::NOTDIR)),
            ("file/.", Err(Errno::NOTDIR)),
            ("file/..", Err(Errno::NOTDIR)),
            ("file/x", Err(Errno::NOTDIR)),
            ("nothing", Err(Errno::NOENT)),
            ("nothing/", Err(Errno::NOENT)),
            ("nothing/x", Err(Errno::NOENT)),
            ("nothing/..", Err(Errno::NOENT)),
            ("d/f", Err(Errno::NOENT)),
            ("...", Err(Errno::NOENT)),
        ] {
            assert_eq!(world.look(0, path), expected, "{path:?}");
        }
        assert_eq!(world.mount_references(), 2, "only the process holds the mount");
    });
}

#[test]
fn the_root_is_kept_since_2_6_31() {
    // References to the mount that a walk takes: from `/`, with `..`, and neither.
    for (design, expected) in [
        ("dcache_lock_fs_root", [1, 1, 1, 1]),
        ("dcache_lock", [2, 2, 2, 1]),
        ("dentry_locks", [2, 2, 2, 1]),
        ("rcu_walk", [1, 1, 1, 1]),
        ("rcu_walk_fast_dput", [1, 1, 1, 1]),
    ] {
        let world = World::<Tally>::new(make(design, &ENV).unwrap());
        world.create(0, "/", "d", Directory);
        let gets = ["/d", "/d/../d", "d/../..", "d"].map(|path| {
            let before = world.mount_gets.load(SeqCst);
            world.look(0, path).unwrap();
            world.mount_gets.load(SeqCst) - before
        });
        assert_eq!(gets, expected, "{design}");
        world.end();
    }
}

#[test]
fn lengths() {
    for_each_design(|world| {
        let long = "x".repeat(255);
        let ino = world.create(0, "/d", &long, Regular);
        assert_eq!(world.look(0, &format!("/d/{long}")), Ok(ino));
        let too_long = "x".repeat(256);
        for (path, expected) in [
            (too_long.clone(), Errno::NAMETOOLONG),
            (format!("d/{too_long}/x"), Errno::NAMETOOLONG),
            (format!("file/{too_long}"), Errno::NOTDIR),
            (format!("nothing/{too_long}"), Errno::NOENT),
            ("/".repeat(4096), Errno::NAMETOOLONG),
            (format!("{}d", "./".repeat(2048)), Errno::NAMETOOLONG),
        ] {
            assert_eq!(world.look(0, &path), Err(expected));
        }
        assert_eq!(world.look(0, &format!("{}d", "/".repeat(4094))), Ok(D));
    });
}

#[test]
fn a_removed_working_directory_has_a_parent_but_no_names() {
    for_each_design(|world| {
        world.remove(0, "/d/e/f");
        world.chdir(0, "/d/e");
        world.remove(0, "/d/e");
        assert_eq!(world.look(0, "."), Ok(E));
        assert_eq!(world.look(0, ".."), Ok(D));
        assert_eq!(world.look(0, "x"), Err(Errno::NOENT));
        assert_eq!(world.look(0, &"x".repeat(256)), Err(Errno::NOENT));
        world.remove(0, "/d");
        assert_eq!(world.look(0, ".."), Ok(D));
        assert_eq!(world.look(0, "../.."), Ok(ROOT));
        assert_eq!(world.take_gone(), [F], "the others are in use");
        world.chdir(0, "/");
        assert_eq!(world.take_gone(), [D, E], "a child holds its parent to its end");
    });
}

#[test]
fn mounts_are_crossed_in_both_directions() {
    for_each_design(|world| {
        world.create(0, "/", "m", Directory);
        world.bind("/d", "/m");
        assert_eq!(world.look(0, "/m"), Ok(D));
        assert_eq!(world.look(0, "/m/e/f"), Ok(F));
        assert_eq!(world.look(0, "/m/.."), Ok(ROOT));
        assert_eq!(world.look(0, "/m/e/../../file"), Ok(FILE));
        // On top of it, another one.
        world.bind("/d/e", "/m");
        assert_eq!(world.look(0, "/m"), Ok(E));
        assert_eq!(world.look(0, "/m/f"), Ok(F));
        assert_eq!(world.look(0, "/m/.."), Ok(ROOT));
        assert_eq!(world.look(0, "/m/f/"), Err(Errno::NOTDIR));
        // Inside of one, seen through it only.
        world.chdir(0, "/m");
        assert_eq!(world.look(0, "../d/e/f"), Ok(F));
        assert_eq!(world.look(0, "./f"), Ok(F));
        world.chdir(0, "/");
    });
}

#[test]
fn renames_keep_references_and_change_names() {
    for_each_design(|world| {
        let held = world.walk(0, b"/d/e/f").unwrap();
        let long = "a name that does not fit into the dentry itself";
        world.rename(0, "/d/e/f", "/", long);
        assert_eq!(world.look(0, long), Ok(F));
        assert_eq!(world.look(0, "/d/e/f"), Err(Errno::NOENT));
        world.rename(0, long, "/", "f");
        world.rename(0, "/d/e", "/", "e");
        assert_eq!(world.look(0, "/e/.."), Ok(ROOT));
        assert_eq!(world.look(0, "f"), Ok(F));
        // SAFETY: references are held.
        unsafe {
            assert!(held.dentry.get().parent() == world.root.dentry);
            assert_eq!(held.dentry.get().references(), 1);
        }
        world.put_path(0, held);
        assert_eq!(world.take_gone(), []);
    });
}
