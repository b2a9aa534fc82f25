//! One file that all tasks open and close, in the ways there are: to read only, by openat2, with O_PATH; and stat by statx.
//!
//! In no other tool: will-it-scale's `open3` (`open_shared`) opens it to read and write. Beside each other they tell apart what
//! open costs on one file: O_RDWR counts a writer in inode and mount, O_RDONLY a reader, O_PATH none and makes a file that
//! cannot be read. openat2 and statx are the same walk behind another entry; `resolve=beneath` makes openat2 refuse a path that leaves
//! the working directory, which it then looks at while it walks.
//!
//! Shared: the file's dentry (lockref) and inode; `openat2_shared` also walks from the working directory.
//! Should scale: it cannot, as long as an open file, or a stat while it lasts, holds a reference on its dentry in one word.
//! Moves: the dentry's lockref, twice per operation, in all; `open_readonly` also the inode's `i_readcount` where the kernel has
//! IMA; `open_shared` the inode's `i_writecount`, twice.
//! Did not scale: any kernel up to 6.18; before 3.12 the dentry's spinlock made it worse.

use crate::common::{INFO, PRIVATE, create_closed};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, FileSystem, Info, Mode, OFlags, Param, Params, Place,
    Shared, Suite, Workload,
};

const RESOLVE: Param =
    Param::word("resolve", "whether the path may leave the directory", &["any", "beneath"]);

/// The file's path, and how it is resolved.
pub struct Task {
    path: CString,
    beneath: bool,
}

#[inline(always)]
fn readonly<F: FileSystem>(fs: &F, task: &Task) -> Result<(), Failure> {
    let fd = fs.open(&task.path, OFlags::RDONLY, PRIVATE)?;
    fs.close(fd)
}

#[inline(always)]
fn path_only<F: FileSystem>(fs: &F, task: &Task) -> Result<(), Failure> {
    let fd = fs.open(&task.path, OFlags::PATH, PRIVATE)?;
    fs.close(fd)
}

#[inline(always)]
fn openat2<F: FileSystem>(fs: &F, task: &Task) -> Result<(), Failure> {
    // openat2 refuses a mode where nothing is created.
    let fd = fs.openat2(&task.path, OFlags::RDWR, Mode::empty(), task.beneath)?;
    fs.close(fd)
}

#[inline(always)]
fn statx<F: FileSystem>(fs: &F, task: &Task) -> Result<(), Failure> {
    fs.statx(&task.path).map(|_| ())
}

fn whole(place: &Place) -> Task {
    Task { path: place.shared_path(), beneath: false }
}

/// By its name alone: from the working directory.
fn relative(place: &Place) -> Task {
    Task { path: c"shared".to_owned(), beneath: place.params.is(&RESOLVE, "beneath") }
}

fn opens(_: &Params) -> Demand {
    Demand { fds: 1, ..Demand::NONE }
}

macro_rules! ways {
    ($($workload:ident = $name:literal: $call:ident, $path:ident, $calls:ident;
       $summary:literal, $operation:literal, $params:expr, $needs:expr;)*) => {
        $(
            #[doc = $summary]
            pub struct $workload;

            impl Workload for $workload {
                const INFO: Info = Info {
                    name: $name,
                    summary: $summary,
                    origin: "in no other tool",
                    calls: Calls::$calls,
                    shared: Shared::File,
                    suites: &[Suite::Own],
                    params: &$params,
                    operation: $operation,
                    needs: &$needs,
                    demand: opens,
                    ..INFO
                };
                type Task = Task;

                fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
                    create_closed(fs, &place.shared_path())
                }

                fn task<F: FileSystem>(_fs: &F, place: &Place) -> Result<Task, Failure> {
                    Ok($path(place))
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

use Capability::Create;

ways! {
    OpenReadonly = "open_readonly": readonly, whole, Open;
        "open(O_RDONLY) and close of one file by all tasks", "one open and one close", [], [Create];
    OpenPath = "open_path": path_only, whole, Open;
        "open(O_PATH) and close of one file by all tasks", "one open and one close", [],
        [Create, Capability::PathOnly];
    Openat2Shared = "openat2_shared": openat2, relative, Open;
        "openat2(O_RDWR) and close of one file by all tasks", "one openat2 and one close", [RESOLVE],
        [Create, Capability::Openat2];
    StatxShared = "statx_shared": statx, whole, LookUp;
        "statx of one file by all tasks", "one statx", [], [Create];
}
