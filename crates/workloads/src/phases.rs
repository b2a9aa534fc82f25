//! One phase of a file's or a directory's life by itself: made, looked at, opened, removed. In a tree that all share, or each in its own.
//!
//! Three peers have it. FxMark's MWCL, MWCM, MWUL and MWUM: here a bounded set of names, made again between slices, where FxMark
//! goes on until the disk is full; MWCM makes empty files, as the paper has it (its code writes 4 KiB); a worker that has used
//! up its names ends the slice, not the run. fio's engines `filecreate`, `filestat`, `filedelete`, `dircreate`, `dirstat` and
//! `dirdelete`. mdtest's phases for files and directories, with its tree: `depth` is -z, `branching` -b, `dirs=own` -u,
//! `files` -I times the number of directories, over which they are spread evenly; `bytes` is -w and -e. mdtest counts the rate
//! of the slowest rank times the ranks; here each task has its own time.
//!
//! Shared: `dirs=shared` and the names with `shared`: the directories. `dirs=own` and `own`: nothing but the super block.
//! Should scale: stat and open of what is not changed, in any tree; create and remove in own directories as far as inodes are
//! made in parallel; in one directory not at all.
//! Moves: create, mkdir, unlink, rmdir: the directory's inode rwsem and its dentry's lock; inode allocation and eviction (ext4:
//! group descriptor, orphan list, journal; xfs: the AGI buffer; btrfs: the root's tree locks). stat: nothing since 3.12. open
//! for reading: the file's own dentry.
//! Did not scale: create and remove in one directory: any kernel up to 6.18. The lab's newest era holds the directory's lock for
//! the change alone and has no journal in memory to fight for, so it scales in own directories where ext4 and xfs do not.

use crate::common::{INFO, PRIVATE, PRIVATE_DIR, create, create_closed};
use crate::set::{BRANCHING, DEPTH, DIRS, FILES, Layout, Set, make_dirs, make_files};
use std::ffi::CStr;
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, FileSystem, Info, OFlags, Param, Params, Place,
    Shared, Suite, Workload, expect_len,
};

const BYTES: Param = Param::number("bytes", "data of each file, bytes", (0, 1 << 20), 0);

/// Names and the data of a file.
pub struct Task {
    set: Set,
    data: Vec<u8>,
}

/// What a phase does. Each is a function of its own in the loop.
trait Phase {
    /// Before the first slice.
    fn first<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure>;
    /// Before each slice.
    fn renew<F: FileSystem>(_fs: &F, _task: &mut Task) -> Result<(), Failure> {
        Ok(())
    }
    /// The operation.
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure>;
}

struct Create;

impl Phase for Create {
    fn first<F: FileSystem>(_fs: &F, _task: &mut Task) -> Result<(), Failure> {
        Ok(())
    }
    fn renew<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        task.set.renew(|path| fs.unlink(path))
    }
    #[inline(always)]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        let fd = create(fs, task.set.take(Call::Open)?)?;
        if !task.data.is_empty() {
            let written = fs.write(fd, &task.data)?;
            expect_len(Call::Write, written, task.data.len())?;
        }
        fs.close(fd)
    }
}

struct Stat;

impl Phase for Stat {
    fn first<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        make_files(fs, &task.set)
    }
    #[inline(always)]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        fs.stat(task.set.turn()).map(|_| ())
    }
}

struct Read;

impl Phase for Read {
    fn first<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        for path in task.set.paths() {
            let fd = create(fs, path)?;
            let written = fs.write(fd, &task.data)?;
            expect_len(Call::Write, written, task.data.len())?;
            fs.close(fd)?;
        }
        Ok(())
    }
    #[inline(always)]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        let fd = fs.open(task.set.turn(), OFlags::RDONLY, PRIVATE)?;
        if !task.data.is_empty() {
            let got = fs.read(fd, &mut task.data)?;
            expect_len(Call::Read, got, task.data.len())?;
        }
        fs.close(fd)
    }
}

struct Remove;

impl Phase for Remove {
    fn first<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        make_files(fs, &task.set)
    }
    fn renew<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        task.set.renew(|path| create_closed(fs, path))
    }
    #[inline(always)]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        fs.unlink(task.set.take(Call::Unlink)?)
    }
}

struct Mkdir;

impl Phase for Mkdir {
    fn first<F: FileSystem>(_fs: &F, _task: &mut Task) -> Result<(), Failure> {
        Ok(())
    }
    fn renew<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        task.set.renew(|path| fs.rmdir(path))
    }
    #[inline(always)]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        fs.mkdir(task.set.take(Call::Mkdir)?, PRIVATE_DIR)
    }
}

struct StatDir;

impl Phase for StatDir {
    fn first<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        make_dirs(fs, &task.set)
    }
    #[inline(always)]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        fs.stat(task.set.turn()).map(|_| ())
    }
}

struct Rmdir;

impl Phase for Rmdir {
    fn first<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        make_dirs(fs, &task.set)
    }
    fn renew<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        task.set.renew(|path| fs.mkdir(path, PRIVATE_DIR))
    }
    #[inline(always)]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        fs.rmdir(task.set.take(Call::Rmdir)?)
    }
}

fn own(params: &Params) -> Layout {
    Layout::flat(true, params)
}

fn shared(params: &Params) -> Layout {
    Layout::flat(false, params)
}

fn demand(layout: Layout, bytes: u64) -> Demand {
    let (own, shared) = if layout.own { (layout.dirs(), 0) } else { (0, layout.dirs()) };
    Demand {
        fds: 1,
        inodes: layout.files + own,
        bytes: layout.files * bytes.next_multiple_of(4096),
        shared_inodes: shared,
        ..Demand::NONE
    }
}

macro_rules! phases {
    ($($workload:ident = $name:literal: $phase:ident, $layout:expr, $bytes:expr, $calls:ident, $shared:ident;
       $summary:literal, $operation:literal; $origin:literal, $aliases:expr, $suites:expr, $params:expr, $needs:expr;)*) => {
        $(
            #[doc = $summary]
            pub struct $workload;

            impl Workload for $workload {
                const INFO: Info = Info {
                    name: $name,
                    aliases: &$aliases,
                    summary: $summary,
                    origin: $origin,
                    calls: Calls::$calls,
                    shared: Shared::$shared,
                    suites: &$suites,
                    params: &$params,
                    operation: $operation,
                    needs: &$needs,
                    demand: |params| demand($layout(params), $bytes(params)),
                    ..INFO
                };
                type Task = Task;

                fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
                    $layout(&place.params).prepare(fs, place)
                }

                fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
                    let data = vec![b'x'; $bytes(&place.params) as usize];
                    let mut task = Task { set: $layout(&place.params).set(fs, place)?, data };
                    $phase::first(fs, &mut task)?;
                    Ok(task)
                }

                fn renew<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
                    $phase::renew(fs, task)
                }

                #[inline]
                fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
                    $phase::step(fs, task)?;
                    Ok(1)
                }

                fn path(task: &Task) -> &CStr {
                    task.set.path()
                }
            }
        )*
    };
}

use Capability::{Create as Names, Write};
use Suite::{Fio, Fxmark, Mdtest, Metadata};

fn empty(_: &Params) -> u64 {
    0
}

fn bytes(params: &Params) -> u64 {
    params.number(&BYTES)
}

phases! {
    CreateOwn = "create_own": Create, own, empty, Create, FileSystem;
        "create the next file in own directory, close", "one create and one close";
        "FxMark MWCL", ["fxmark:MWCL"], [Fxmark, Metadata], [FILES], [Names];
    CreateShared = "create_shared": Create, shared, empty, Create, Directory;
        "create the next file in one directory, close", "one create and one close";
        "FxMark MWCM; fio filecreate", ["fxmark:MWCM", "fio:filecreate"], [Fxmark, Fio, Metadata], [FILES], [Names];
    UnlinkOwn = "unlink_own": Remove, own, empty, Create, FileSystem;
        "unlink the next file in own directory", "one unlink";
        "FxMark MWUL", ["fxmark:MWUL"], [Fxmark, Metadata], [FILES], [Names];
    UnlinkShared = "unlink_shared": Remove, shared, empty, Create, Directory;
        "unlink the next own file in one directory", "one unlink";
        "FxMark MWUM; fio filedelete", ["fxmark:MWUM", "fio:filedelete"], [Fxmark, Fio, Metadata], [FILES], [Names];
    StatFiles = "stat_files": Stat, shared, empty, LookUp, Directory;
        "stat own files in one directory, one after the other", "one stat";
        "fio filestat", ["fio:filestat"], [Fio, Metadata], [FILES], [Names];
    MkdirShared = "mkdir_shared": Mkdir, shared, empty, Mkdir, Directory;
        "mkdir of the next name in one directory", "one mkdir";
        "fio dircreate", ["fio:dircreate"], [Fio, Metadata], [FILES], [Names];
    StatDirs = "stat_dirs": StatDir, shared, empty, LookUp, Directory;
        "stat own directories in one directory, one after the other", "one stat";
        "fio dirstat", ["fio:dirstat"], [Fio, Metadata], [FILES], [Names];
    RmdirShared = "rmdir_shared": Rmdir, shared, empty, Mkdir, Directory;
        "rmdir of the next own directory in one directory", "one rmdir";
        "fio dirdelete", ["fio:dirdelete"], [Fio, Metadata], [FILES], [Names];

    MdtestFileCreate = "mdtest_file_create": Create, Layout::tree, bytes, Create, Tree;
        "create the next file of a tree, write, close", "one create, one write if bytes, and one close";
        "mdtest", ["mdtest:file-create"], [Mdtest], [DIRS, DEPTH, BRANCHING, FILES, BYTES], [Names, Write];
    MdtestFileStat = "mdtest_file_stat": Stat, Layout::tree, empty, LookUp, Tree;
        "stat own files of a tree, one after the other", "one stat";
        "mdtest", ["mdtest:file-stat"], [Mdtest], [DIRS, DEPTH, BRANCHING, FILES], [Names];
    MdtestFileRead = "mdtest_file_read": Read, Layout::tree, bytes, Read, Tree;
        "open own files of a tree, read, close, one after the other", "one open, one read if bytes, and one close";
        "mdtest", ["mdtest:file-read"], [Mdtest], [DIRS, DEPTH, BRANCHING, FILES, BYTES], [Names, Write];
    MdtestFileRemove = "mdtest_file_remove": Remove, Layout::tree, empty, Create, Tree;
        "unlink the next own file of a tree", "one unlink";
        "mdtest", ["mdtest:file-remove"], [Mdtest], [DIRS, DEPTH, BRANCHING, FILES], [Names];
    MdtestDirCreate = "mdtest_dir_create": Mkdir, Layout::tree, empty, Mkdir, Tree;
        "mkdir of the next name of a tree", "one mkdir";
        "mdtest", ["mdtest:dir-create"], [Mdtest], [DIRS, DEPTH, BRANCHING, FILES], [Names];
    MdtestDirStat = "mdtest_dir_stat": StatDir, Layout::tree, empty, LookUp, Tree;
        "stat own directories of a tree, one after the other", "one stat";
        "mdtest", ["mdtest:dir-stat"], [Mdtest], [DIRS, DEPTH, BRANCHING, FILES], [Names];
    MdtestDirRemove = "mdtest_dir_remove": Rmdir, Layout::tree, empty, Mkdir, Tree;
        "rmdir of the next own directory of a tree", "one rmdir";
        "mdtest", ["mdtest:dir-remove"], [Mdtest], [DIRS, DEPTH, BRANCHING, FILES], [Names];
}
