//! getdents64 of a directory, from its start again at its end: one's own directory or one that all read.
//!
//! FxMark's MRDL and MRDM, and their background variants, in which one task more unlinks and makes again names of the directory
//! (of the first task's, where each has its own). FxMark never rewinds: after the first pass over the directory it counts
//! calls that answer nothing. Here the end is followed by one lseek, the call that answers nothing is not counted, and what is
//! counted is the names: `count=calls` counts the calls that answered some instead.
//!
//! Shared: own directory: in thread mode the fd table, else nothing. The one: its inode and the dentries or blocks of its names.
//! Should scale: linearly, since a directory is listed under its rwsem taken to share (4.7).
//! Moves: of one directory the inode's rwsem, taken to share, and i_atime where the mount keeps it; tmpfs: the directory's
//! offset tree (6.6), before that the dentry's lock and a cursor in its list of children. With the background: the rwsem
//! exclusively.
//! Did not scale: one directory: any kernel up to 6.18 (the rwsem's count is one word), up to 4.6 one reader at a time.

use crate::common::{INFO, PRIVATE, PRIVATE_DIR, create_closed, in_dir};
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, Fd, FileSystem, Info, OFlags, Param, Params, Place,
    Shared, Suite, Workload, expect,
};

/// Bytes for the answer of a call, as in glibc.
const BUFFER: usize = 32 * 1024;
/// Names that the background takes away and puts back.
const CHANGED: u64 = 16;

const NAMES: Param = Param::number("names", "files in the directory", (16, 65_536), 256);
const COUNT: Param = Param::word(
    "count",
    "what is counted: names that were answered, or calls",
    &["names", "calls"],
);

/// An open directory and where its names go.
pub struct Task {
    path: CString,
    fd: Fd,
    buf: Box<[MaybeUninit<u8>]>,
    by_calls: bool,
    /// Names that the background changes, and which of them is the next.
    changed: Vec<CString>,
    next: usize,
}

fn make_dir<F: FileSystem>(fs: &F, dir: &CStr, params: &Params) -> Result<(), Failure> {
    fs.mkdir(dir, PRIVATE_DIR)?;
    (0..params.number(&NAMES)).try_for_each(|n| create_closed(fs, &in_dir(dir, &n.to_string())))
}

fn open<F: FileSystem>(
    fs: &F,
    path: CString,
    changed: &CStr,
    params: &Params,
) -> Result<Task, Failure> {
    let fd = fs.open(&path, OFlags::RDONLY | OFlags::DIRECTORY, PRIVATE)?;
    Ok(Task {
        fd,
        buf: vec![MaybeUninit::uninit(); BUFFER].into(),
        by_calls: params.is(&COUNT, "calls"),
        changed: (0..CHANGED).map(|n| in_dir(changed, &n.to_string())).collect(),
        next: 0,
        path,
    })
}

#[inline(always)]
fn list<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
    let mut names = fs.readdir(task.fd, &mut task.buf, |_| ())?;
    if names == 0 {
        fs.seek(task.fd, 0)?;
        names = fs.readdir(task.fd, &mut task.buf, |_| ())?;
        expect(Call::Getdents, names > 0)?;
    }
    Ok(if task.by_calls { 1 } else { names as u64 })
}

fn change<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    let path = &task.changed[task.next];
    task.next = (task.next + 1) % task.changed.len();
    fs.unlink(path)?;
    create_closed(fs, path)
}

fn own<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
    make_dir(fs, &place.own_dir(), &place.params)?;
    let first = Place { task: 0, ..place.clone() };
    open(fs, place.own_dir(), &first.own_dir(), &place.params)
}

fn shared<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
    open(fs, place.path("dir"), &place.path("dir"), &place.params)
}

macro_rules! readdirs {
    ($($workload:ident = $name:literal, $alias:literal: $whose:ident, $shared:ident, $background:literal; $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub struct $workload;

            impl Workload for $workload {
                const INFO: Info = Info {
                    name: $name,
                    aliases: &[concat!("fxmark:", $alias)],
                    summary: $summary,
                    origin: concat!("FxMark ", $alias),
                    calls: Calls::Readdir,
                    shared: Shared::$shared,
                    suites: &[Suite::Fxmark, Suite::Metadata],
                    params: &[NAMES, COUNT],
                    operation: "one name answered by getdents64 (count=calls: one call that answered names)",
                    needs: &[Capability::Create, Capability::List],
                    background: $background,
                    demand: |params| {
                        let inodes = params.number(&NAMES) + 1;
                        match Shared::$shared {
                            Shared::Directory => {
                                Demand { fds: 1, shared_inodes: inodes, ..Demand::NONE }
                            }
                            _ => Demand { fds: 1, inodes, ..Demand::NONE },
                        }
                    },
                    ..INFO
                };
                type Task = Task;

                fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
                    match Shared::$shared {
                        Shared::Directory => make_dir(fs, &place.path("dir"), &place.params),
                        _ => Ok(()),
                    }
                }

                fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
                    $whose(fs, place)
                }

                #[inline]
                fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
                    list(fs, task)
                }

                fn background<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
                    if $background { change(fs, task) } else { Ok(()) }
                }

                fn path(task: &Task) -> &CStr {
                    &task.path
                }
            }
        )*
    };
}

readdirs! {
    ReaddirOwn = "readdir_own", "MRDL": own, Descriptors, false;
        "list own directory";
    ReaddirShared = "readdir_shared", "MRDM": shared, Directory, false;
        "list one directory";
    ReaddirOwnChanging = "readdir_own_changing", "MRDL_bg": own, Descriptors, true;
        "list own directory while another task changes the first one";
    ReaddirSharedChanging = "readdir_shared_changing", "MRDM_bg": shared, Directory, true;
        "list one directory while another task changes it";
}
