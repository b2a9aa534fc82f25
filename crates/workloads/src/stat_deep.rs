//! stat of a path of many components: to one's own file, to one that all look up, or to some file of a tree.
//!
//! FxMark's MRPL, MRPH and MRPM, five components below the directory as the paper says, and MRPM's background variant, in which
//! one task more makes and removes files in directories of the tree. FxMark builds its random paths in the timed loop; here
//! each task has drawn some thousands before. Its tree has 8 directories in each; the parameter takes fewer where 37449 inodes
//! are too many. `path_depth` is of no peer: the components are directories that all walk, the last is one's own file.
//!
//! Shared: the directories above; `stat_deep_own` only the first; `stat_deep_same` all components, `stat_tree` by chance.
//! Should scale: linearly since 3.12 (RCU walk and lockref), whatever the depth.
//! Moves: up to 2.6.37 the d_count of each component, twice. Since then a walk under RCU writes nothing but the last dentry's
//! lockref, where it must hold it: stat of 6.18 does, for the time of the call, so `stat_deep_same` moves that word.
//! Did not scale: up to 2.6.37; `stat_deep_same` in any kernel up to 6.18.

use crate::common::{INFO, PRIVATE_DIR, create_closed, in_dir};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, FileSystem, Info, Param, Params, Place, Shared, Suite,
    Workload,
};

/// Components of FxMark's paths.
const DEPTH: u64 = 5;
/// Paths that a task draws of the tree.
const DRAWN: usize = 4096;
/// Files that the background makes and removes.
const CHANGED: usize = 64;

const COMPONENTS: Param = Param::number("depth", "components of the path", (1, 32), 8);
const BRANCHING: Param =
    Param::number("branching", "entries of each directory of the tree", (2, 8), 8);

/// Makes directories, each in the one before, named 0, and answers the last.
fn chain<F: FileSystem>(fs: &F, mut dir: CString, count: u64) -> Result<CString, Failure> {
    for _ in 0..count {
        dir = in_dir(&dir, "0");
        fs.mkdir(&dir, PRIVATE_DIR)?;
    }
    Ok(dir)
}

fn nested(mut dir: CString, count: u64) -> CString {
    for _ in 0..count {
        dir = in_dir(&dir, "0");
    }
    dir
}

macro_rules! paths {
    ($($workload:ident = $name:literal: $shared:ident; $summary:literal, $origin:literal, $aliases:expr, $suites:expr, $params:expr, $demand:expr;
       prepare $prepare:expr; task $task:expr;)*) => {
        $(
            #[doc = $summary]
            pub struct $workload;

            impl Workload for $workload {
                const INFO: Info = Info {
                    name: $name,
                    aliases: &$aliases,
                    summary: $summary,
                    origin: $origin,
                    calls: Calls::LookUp,
                    shared: Shared::$shared,
                    suites: &$suites,
                    params: &$params,
                    operation: "one stat",
                    needs: &[Capability::Create],
                    demand: $demand,
                    ..INFO
                };
                type Task = CString;

                fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
                    $prepare(fs, place)
                }

                fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<CString, Failure> {
                    $task(fs, place)
                }

                #[inline]
                fn step<F: FileSystem>(fs: &F, path: &mut CString) -> Result<u64, Failure> {
                    fs.stat(path)?;
                    Ok(1)
                }

                fn path(task: &CString) -> &CStr {
                    task
                }
            }
        )*
    };
}

fn nothing<F: FileSystem>(_fs: &F, _place: &Place) -> Result<(), Failure> {
    Ok(())
}

fn own_path<F: FileSystem>(fs: &F, place: &Place) -> Result<CString, Failure> {
    let top = place.own_dir();
    fs.mkdir(&top, PRIVATE_DIR)?;
    let file = in_dir(&chain(fs, top, DEPTH - 2)?, "0");
    create_closed(fs, &file)?;
    Ok(file)
}

fn one_path<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
    let dir = chain(fs, place.dir.clone(), DEPTH - 1)?;
    create_closed(fs, &in_dir(&dir, "0"))
}

fn that_path<F: FileSystem>(_fs: &F, place: &Place) -> Result<CString, Failure> {
    Ok(nested(place.dir.clone(), DEPTH))
}

fn common_dirs<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
    chain(fs, place.dir.clone(), place.params.number(&COMPONENTS) - 1).map(|_| ())
}

fn file_below<F: FileSystem>(fs: &F, place: &Place) -> Result<CString, Failure> {
    let dir = nested(place.dir.clone(), place.params.number(&COMPONENTS) - 1);
    let file = in_dir(&dir, &place.own_name());
    create_closed(fs, &file)?;
    Ok(file)
}

paths! {
    StatDeepOwn = "stat_deep_own": FileSystem;
        "stat of own file, five components deep, in own directories", "FxMark MRPL", ["fxmark:MRPL"],
        [Suite::Fxmark, Suite::Metadata, Suite::Quick], [], |_| Demand { inodes: DEPTH, ..Demand::NONE };
        prepare nothing; task own_path;
    StatDeepSame = "stat_deep_same": File;
        "stat of one file, five components deep", "FxMark MRPH", ["fxmark:MRPH"],
        [Suite::Fxmark, Suite::Metadata], [], |_| Demand { shared_inodes: DEPTH, ..Demand::NONE };
        prepare one_path; task that_path;
    PathDepth = "path_depth": Tree;
        "stat of own file at the end of a path of common directories", "in no other tool", [],
        [Suite::Own, Suite::Metadata], [COMPONENTS], |params| {
            Demand { inodes: 1, shared_inodes: params.number(&COMPONENTS), ..Demand::NONE }
        };
        prepare common_dirs; task file_below;
}

/// Paths drawn of a tree, and the next.
pub struct Drawn {
    paths: Vec<CString>,
    next: usize,
    /// Files that are not there, in directories of the tree at any depth.
    changed: Vec<CString>,
    next_changed: usize,
}

/// Makes a tree of directories with files at the end: `branching` to the power of [`DEPTH`] files.
fn make_tree<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
    let branching = place.params.number(&BRANCHING);
    let mut level = vec![place.dir.clone()];
    for depth in 1..=DEPTH {
        let mut below = Vec::new();
        for dir in &level {
            for n in 0..branching {
                let path = in_dir(dir, &n.to_string());
                if depth == DEPTH {
                    create_closed(fs, &path)?;
                } else {
                    fs.mkdir(&path, PRIVATE_DIR)?;
                    below.push(path);
                }
            }
        }
        level = below;
    }
    Ok(())
}

fn tree_inodes(params: &Params) -> u64 {
    (1..=DEPTH).map(|depth| params.number(&BRANCHING).pow(depth as u32)).sum()
}

/// A sequence that looks random and is the same each time (SplitMix64).
fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

fn draw(place: &Place) -> Drawn {
    let branching = place.params.number(&BRANCHING);
    let mut random = random(place.task as u64);
    let mut walk = |components: u64| {
        let mut path = place.dir.clone();
        for _ in 0..components {
            path = in_dir(&path, &random(branching).to_string());
        }
        path
    };
    let paths = (0..DRAWN).map(|_| walk(DEPTH)).collect();
    let dirs: Vec<CString> = (0..CHANGED).map(|n| walk(n as u64 % DEPTH)).collect();
    let changed = dirs.iter().map(|dir| in_dir(dir, "background")).collect();
    Drawn { paths, next: 0, changed, next_changed: 0 }
}

macro_rules! trees {
    ($($workload:ident = $name:literal, $alias:literal: $background:literal; $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub struct $workload;

            impl Workload for $workload {
                const INFO: Info = Info {
                    name: $name,
                    aliases: &[concat!("fxmark:", $alias)],
                    summary: $summary,
                    origin: concat!("FxMark ", $alias),
                    calls: Calls::LookUp,
                    shared: Shared::Tree,
                    suites: &[Suite::Fxmark, Suite::Metadata],
                    params: &[BRANCHING],
                    operation: "one stat",
                    needs: &[Capability::Create],
                    background: $background,
                    demand: |params| Demand {
                        inodes: 1,
                        shared_inodes: tree_inodes(params),
                        ..Demand::NONE
                    },
                    ..INFO
                };
                type Task = Drawn;

                fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
                    make_tree(fs, place)
                }

                fn task<F: FileSystem>(_fs: &F, place: &Place) -> Result<Drawn, Failure> {
                    Ok(draw(place))
                }

                #[inline]
                fn step<F: FileSystem>(fs: &F, task: &mut Drawn) -> Result<u64, Failure> {
                    task.next = (task.next + 1) % DRAWN;
                    fs.stat(&task.paths[task.next])?;
                    Ok(1)
                }

                fn background<F: FileSystem>(fs: &F, task: &mut Drawn) -> Result<(), Failure> {
                    if $background {
                        let path = &task.changed[task.next_changed];
                        task.next_changed = (task.next_changed + 1) % CHANGED;
                        create_closed(fs, path)?;
                        fs.unlink(path)?;
                    }
                    Ok(())
                }

                fn path(task: &Drawn) -> &CStr {
                    &task.paths[task.next]
                }
            }
        )*
    };
}

trees! {
    StatTree = "stat_tree", "MRPM": false;
        "stat of some file of a tree, five components deep";
    StatTreeChanging = "stat_tree_changing", "MRPM_bg": true;
        "stat of some file of a tree while another task makes and removes files in it";
}
