//! Sets of names that a workload makes or removes one by one: bounded, and made again between slices.
//!
//! The peers go on until the disk is full (FxMark) or until the files are used up, and that is the run (mdtest, fio). Here a set
//! has a fixed number of names; when a slice has used it up, the slice ends, and before the next one [`Set::renew`] puts
//! things back, outside of what is measured. So create is measured alone, and so is unlink.

use crate::common::{PRIVATE_DIR, create_closed, in_dir};
use std::ffi::{CStr, CString};
use vfs_api::{Call, Failure, FileSystem, Param, Params, Place};

/// Names of a set where nothing else is said: a slice of 10 ms creates about so many on one CPU.
const NAMES: u64 = 2048;

/// How many names.
pub(crate) const FILES: Param =
    Param::number("files", "names that a slice works on, per task", (1, 65_536), NAMES);
/// The depth of the tree that they are in.
pub(crate) const DEPTH: Param =
    Param::number("depth", "levels of directories below the top one", (0, 5), 0);
/// Its branching.
pub(crate) const BRANCHING: Param =
    Param::number("branching", "directories in each directory but the lowest", (1, 8), 1);
/// Whose the tree is.
pub(crate) const DIRS: Param = Param::word(
    "dirs",
    "whether all tasks work in one tree or each in its own",
    &["shared", "own"],
);

/// Where a set is and how large.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Each task has a tree of its own.
    pub(crate) own: bool,
    pub(crate) depth: u64,
    pub(crate) branching: u64,
    pub(crate) files: u64,
}

impl Layout {
    /// One directory without others in it.
    pub(crate) fn flat(own: bool, params: &Params) -> Layout {
        Layout { own, depth: 0, branching: 1, files: params.number(&FILES) }
    }

    /// As mdtest's parameters say.
    pub(crate) fn tree(params: &Params) -> Layout {
        Layout {
            own: params.is(&DIRS, "own"),
            depth: params.number(&DEPTH),
            branching: params.number(&BRANCHING),
            files: params.number(&FILES),
        }
    }

    /// Number of its directories.
    pub(crate) fn dirs(&self) -> u64 {
        (0..=self.depth).map(|level| self.branching.pow(level as u32)).sum()
    }

    fn top(&self, place: &Place) -> CString {
        if self.own { place.own_dir() } else { place.path("tree") }
    }

    /// The directories, each after the one that it is in.
    fn paths(&self, place: &Place) -> Vec<CString> {
        let mut all = vec![self.top(place)];
        let mut level = all.clone();
        for _ in 0..self.depth {
            let below =
                |dir: &CString| (0..self.branching).map(|n| in_dir(dir, &n.to_string())).collect();
            level = level.iter().flat_map(|dir| -> Vec<CString> { below(dir) }).collect();
            all.extend_from_slice(&level);
        }
        all
    }

    fn make<F: FileSystem>(&self, fs: &F, place: &Place) -> Result<(), Failure> {
        self.paths(place).iter().try_for_each(|dir| fs.mkdir(dir, PRIVATE_DIR))
    }

    /// What all tasks share of it.
    pub(crate) fn prepare<F: FileSystem>(&self, fs: &F, place: &Place) -> Result<(), Failure> {
        if self.own { Ok(()) } else { self.make(fs, place) }
    }

    /// A task's set: its directories are there, its names are not yet.
    pub(crate) fn set<F: FileSystem>(&self, fs: &F, place: &Place) -> Result<Set, Failure> {
        if self.own {
            self.make(fs, place)?;
        }
        let dirs = self.paths(place);
        let name = |n: u64| {
            let dir = &dirs[n as usize % dirs.len()];
            in_dir(dir, &format!("{}.{n}", place.task))
        };
        Ok(Set { paths: (0..self.files).map(name).collect(), next: 0 })
    }
}

/// The names of a task, and the next one to work on.
#[derive(Debug)]
pub(crate) struct Set {
    paths: Vec<CString>,
    next: usize,
}

impl Set {
    /// All names.
    pub(crate) fn paths(&self) -> &[CString] {
        &self.paths
    }

    /// The next name.
    ///
    /// # Errors
    /// There is none left in this slice; `call` is the one that would have been made.
    #[inline(always)]
    pub(crate) fn take(&mut self, call: Call) -> Result<&CStr, Failure> {
        match self.paths.get(self.next) {
            Some(path) => {
                self.next += 1;
                Ok(path)
            }
            None => Err(Failure::used_up(call)),
        }
    }

    /// How many have been taken.
    #[inline(always)]
    pub(crate) fn taken(&self) -> usize {
        self.next
    }

    /// The next name, round and round.
    #[inline(always)]
    pub(crate) fn turn(&mut self) -> &CStr {
        if self.next == self.paths.len() {
            self.next = 0;
        }
        self.next += 1;
        &self.paths[self.next - 1]
    }

    /// Puts back, with `f`, what was done to each name that was taken; then all can be taken again.
    ///
    /// # Errors
    /// `f` failed.
    pub(crate) fn renew(
        &mut self,
        f: impl FnMut(&CString) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.paths[..self.next].iter().try_for_each(f)?;
        self.next = 0;
        Ok(())
    }

    /// The name that is being worked on, for an error message.
    pub(crate) fn path(&self) -> &CStr {
        &self.paths[self.next.saturating_sub(1)]
    }
}

/// Makes an empty file of each name.
pub(crate) fn make_files<F: FileSystem>(fs: &F, set: &Set) -> Result<(), Failure> {
    set.paths().iter().try_for_each(|path| create_closed(fs, path))
}

/// Makes a directory of each name.
pub(crate) fn make_dirs<F: FileSystem>(fs: &F, set: &Set) -> Result<(), Failure> {
    set.paths().iter().try_for_each(|path| fs.mkdir(path, PRIVATE_DIR))
}
