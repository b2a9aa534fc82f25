//! rename: within one's own directory, from there into one that all share, or back and forth between two directories.
//!
//! FxMark's MWRL and MWRM; `rename_across` is of no peer. MWRM's files come from a bounded set that is taken back between
//! slices; in FxMark the worker with the fewest files ends the run. FxMark deletes a part of the files meanwhile, which is not
//! done here.
//!
//! Shared: `rename_own`: nothing but the super block. `rename_to_shared`: the directory renamed into. `rename_across`: what the
//! parameter says.
//! Should scale: `rename_own` as far as `rename_lock` lets it; the others not at all.
//! Moves: `rename_lock`, a seqlock of the whole dentry cache, in every rename, also in own directories; across directories
//! `s_vfs_rename_mutex`, one for the super block, and both directories' rwsems.
//! Did not scale: any kernel up to 6.18, across directories from the second task on.

use crate::common::{INFO, PRIVATE_DIR, create_closed, in_dir, make_own_dir};
use crate::set::{FILES, Layout, Set, make_files};
use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, FileSystem, Info, Param, Place, Shared, Suite,
    Workload,
};

/// Names that one file goes through.
const NAMES: usize = 64;

/// Names in a ring; the file has the current one.
pub struct Ring {
    paths: Vec<CString>,
    at: usize,
}

impl Ring {
    #[inline(always)]
    fn rename<F: FileSystem>(&mut self, fs: &F) -> Result<u64, Failure> {
        let next = if self.at + 1 == self.paths.len() { 0 } else { self.at + 1 };
        fs.rename(&self.paths[self.at], &self.paths[next])?;
        self.at = next;
        Ok(1)
    }
}

/// rename of own file to the next name in own directory.
pub struct RenameOwn;

impl Workload for RenameOwn {
    const INFO: Info = Info {
        name: "rename_own",
        aliases: &["fxmark:MWRL"],
        summary: "rename own file to the next name in own directory",
        origin: "FxMark MWRL",
        calls: Calls::Rename,
        shared: Shared::FileSystem,
        suites: &[Suite::Fxmark, Suite::Metadata, Suite::Quick],
        operation: "one rename",
        needs: &[Capability::Create],
        demand: |_| Demand { fds: 1, inodes: 2, ..Demand::NONE },
        ..INFO
    };
    type Task = Ring;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Ring, Failure> {
        let dir = make_own_dir(fs, place)?;
        let paths: Vec<CString> = (0..NAMES).map(|n| in_dir(&dir, &n.to_string())).collect();
        create_closed(fs, &paths[0])?;
        Ok(Ring { paths, at: 0 })
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, ring: &mut Ring) -> Result<u64, Failure> {
        ring.rename(fs)
    }

    fn path(task: &Ring) -> &CStr {
        &task.paths[task.at]
    }
}

const DIRS: Param =
    Param::word("dirs", "whether all tasks use the same two directories", &["own", "shared"]);

/// rename of own file from one directory to another and back.
pub struct RenameAcross;

impl RenameAcross {
    fn dirs(place: &Place, task: usize) -> [CString; 2] {
        ["a", "b"].map(|side| place.path(&format!("{side}{task}")))
    }

    fn make<F: FileSystem>(fs: &F, dirs: &[CString; 2]) -> Result<(), Failure> {
        dirs.iter().try_for_each(|dir| fs.mkdir(dir, PRIVATE_DIR))
    }
}

impl Workload for RenameAcross {
    const INFO: Info = Info {
        name: "rename_across",
        summary: "rename own file from one directory to another and back",
        origin: "in no other tool",
        calls: Calls::Rename,
        shared: Shared::Directory,
        suites: &[Suite::Own, Suite::Metadata],
        params: &[DIRS],
        operation: "one rename",
        needs: &[Capability::Create],
        demand: |_| Demand { fds: 1, inodes: 3, shared_inodes: 2, ..Demand::NONE },
        ..INFO
    };
    type Task = Ring;

    fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
        if place.params.is(&DIRS, "shared") {
            Self::make(fs, &Self::dirs(place, 0))
        } else {
            Ok(())
        }
    }

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Ring, Failure> {
        let dirs = if place.params.is(&DIRS, "shared") {
            Self::dirs(place, 0)
        } else {
            let dirs = Self::dirs(place, place.task);
            Self::make(fs, &dirs)?;
            dirs
        };
        let paths: Vec<CString> = dirs.iter().map(|dir| in_dir(dir, &place.own_name())).collect();
        create_closed(fs, &paths[0])?;
        Ok(Ring { paths, at: 0 })
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, ring: &mut Ring) -> Result<u64, Failure> {
        ring.rename(fs)
    }

    fn path(task: &Ring) -> &CStr {
        &task.paths[task.at]
    }
}

/// Names in own directory, and those they get.
pub struct Moved {
    from: Set,
    to: Vec<CString>,
}

/// rename of the next own file into one directory.
pub struct RenameToShared;

impl Workload for RenameToShared {
    const INFO: Info = Info {
        name: "rename_to_shared",
        aliases: &["fxmark:MWRM"],
        summary: "rename the next file of own directory into one directory",
        origin: "FxMark MWRM",
        calls: Calls::Rename,
        suites: &[Suite::Fxmark, Suite::Metadata],
        params: &[FILES],
        operation: "one rename",
        needs: &[Capability::Create],
        demand: |params| Demand { fds: 1, inodes: params.number(&FILES) + 1, ..Demand::NONE },
        ..INFO
    };
    type Task = Moved;

    fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
        fs.mkdir(&place.shared_path(), PRIVATE_DIR)
    }

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Moved, Failure> {
        let from = Layout::flat(true, &place.params).set(fs, place)?;
        make_files(fs, &from)?;
        let name = |n| in_dir(&place.shared_path(), &format!("{}.{n}", place.task));
        Ok(Moved { to: (0..from.paths().len()).map(name).collect(), from })
    }

    fn renew<F: FileSystem>(fs: &F, task: &mut Moved) -> Result<(), Failure> {
        let mut to = task.to.iter();
        task.from.renew(|from| match to.next() {
            Some(to) => fs.rename(to, from),
            None => Ok(()),
        })
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Moved) -> Result<u64, Failure> {
        let at = task.from.taken();
        let from = task.from.take(Call::Rename)?;
        fs.rename(from, &task.to[at])?;
        Ok(1)
    }

    fn path(task: &Moved) -> &CStr {
        task.from.path()
    }
}
