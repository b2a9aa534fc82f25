//! open(O_RDWR) and close of one's own file in one directory that somebody watches with inotify.
//!
//! `open_close` with a watch on the directory, in no other tool. The watch is for changes of attributes, which do not happen
//! here: no event is queued, and what is measured is the question whether there is one.
//!
//! Shared: the directory's dentry and inode, and the inode's list of watches.
//! Should scale: as `open_close` does, if the question were free.
//! Moves: the directory's dentry: for each open and each close of a file in a watched directory its reference is taken and
//! dropped (__fsnotify_parent, dget_parent), and the list of watches is walked under SRCU.
//! Did not scale: any kernel up to 6.18: four times the lockref of one dentry per operation, where without a watch there is none.

use crate::common::{INFO, PRIVATE, create_closed};
use std::ffi::{CStr, CString};
use vfs_api::{Capability, Demand, Failure, FileSystem, Info, OFlags, Place, Suite, Workload};

/// See the module's header.
pub struct OpenWatched;

impl Workload for OpenWatched {
    const INFO: Info = Info {
        name: "open_watched",
        summary: "open(O_RDWR) and close own file in one watched directory",
        origin: "in no other tool",
        suites: &[Suite::Own, Suite::Metadata],
        operation: "one open and one close",
        needs: &[Capability::Create, Capability::Watch],
        // The watch as well: it is inherited by all tasks.
        demand: |_| Demand { fds: 2, inodes: 1, ..Demand::NONE },
        ..INFO
    };
    type Task = CString;

    fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
        // Open as long as a process of the run lives.
        fs.watch(&place.dir).map(|_| ())
    }

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<CString, Failure> {
        let path = place.own_path();
        create_closed(fs, &path)?;
        Ok(path)
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, path: &mut CString) -> Result<u64, Failure> {
        let fd = fs.open(path, OFlags::RDWR, PRIVATE)?;
        fs.close(fd)?;
        Ok(1)
    }

    fn path(task: &CString) -> &CStr {
        task
    }
}
