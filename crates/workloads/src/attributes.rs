//! chmod and utimensat of one's own file: through the mount that all share, or through a bind mount of one's own.
//!
//! In no other tool. Each of these begins a write on the mount and ends it (mnt_want_write, mnt_drop_write), and otherwise
//! touches the own inode alone. The pair with `own_mount` tells the count of the mount apart from the rest: with a count in
//! one word, as mail 000's first patches had it, only the bind mounts scale.
//!
//! Shared: the mount and the directory above the file; with `own_mount` only the super block.
//! Should scale: linearly on tmpfs since 2.6.30; with a journal as far as that lets it.
//! Moves: since 2.6.30 a per-CPU counter of the mount and nothing that is shared; 2.6.26 a per-CPU slot with a spinlock; the
//! proposals of 2006 and 2007 one word or one spinlock. ext4: the journal's running transaction and the inode's block.
//! Did not scale: the proposals up to 2007 on one mount.

use crate::common::{INFO, PRIVATE, PRIVATE_DIR, create_closed, in_dir};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, FileSystem, Info, Mode, Place, Shared, Suite, Workload,
};

/// What chmod changes to and from.
const OTHER: Mode = PRIVATE.union(Mode::RGRP);

/// A file and whether its mode is the other one.
pub struct Task {
    path: CString,
    other: bool,
}

#[inline(always)]
fn chmod<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    task.other = !task.other;
    fs.chmod(&task.path, if task.other { OTHER } else { PRIVATE })
}

#[inline(always)]
fn touch<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    fs.touch(&task.path)
}

fn on_shared_mount<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
    let path = place.own_path();
    create_closed(fs, &path)?;
    Ok(Task { path, other: false })
}

fn on_own_mount<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
    let (dir, mount) = (place.own_dir(), place.path(&format!("m{}", place.task)));
    fs.mkdir(&dir, PRIVATE_DIR)?;
    fs.mkdir(&mount, PRIVATE_DIR)?;
    fs.bind(&dir, &mount)?;
    let path = in_dir(&mount, "file");
    create_closed(fs, &path)?;
    Ok(Task { path, other: false })
}

macro_rules! changes {
    ($($workload:ident = $name:literal: $call:ident, $mount:ident, $shared:ident; $summary:literal, $operation:literal, $needs:expr;)*) => {
        $(
            #[doc = $summary]
            pub struct $workload;

            impl Workload for $workload {
                const INFO: Info = Info {
                    name: $name,
                    summary: $summary,
                    origin: "in no other tool; mail 000 (read-only bind mounts, 2007) is about its mount",
                    calls: Calls::Attributes,
                    shared: Shared::$shared,
                    suites: &[Suite::Own, Suite::Metadata],
                    operation: $operation,
                    needs: &$needs,
                    demand: |_| Demand { fds: 1, inodes: 3, ..Demand::NONE },
                    ..INFO
                };
                type Task = Task;

                fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
                    $mount(fs, place)
                }

                #[inline]
                fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
                    $call(fs, task)?;
                    Ok(1)
                }

                fn path(task: &Task) -> &CStr {
                    &task.path
                }
            }
        )*
    };
}

use Capability::{Attributes, Create, Mounts};

changes! {
    ChmodOwn = "chmod_own": chmod, on_shared_mount, Mount;
        "chmod of own file on one mount", "one chmod", [Create, Attributes];
    ChmodOwnMount = "chmod_own_mount": chmod, on_own_mount, FileSystem;
        "chmod of own file on own bind mount", "one chmod", [Create, Attributes, Mounts];
    UtimensOwn = "utimens_own": touch, on_shared_mount, Mount;
        "utimensat of own file on one mount", "one utimensat", [Create, Attributes];
    UtimensOwnMount = "utimens_own_mount": touch, on_own_mount, FileSystem;
        "utimensat of own file on own bind mount", "one utimensat", [Create, Attributes, Mounts];
}
