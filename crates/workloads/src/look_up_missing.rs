//! stat of a name that is not there, in one directory.
//!
//! In no other tool, though a shell that searches PATH and a compiler that searches for headers do little else.
//!
//! Shared: the directory; each task's name is its own.
//! Should scale: linearly since 2.6.38, where the file system keeps negative dentries: a walk under RCU finds one and answers.
//! Moves: up to 2.6.37 the directory's `d_count` and `dcache_lock` or the parent's d_lock. Since then nothing; on a file system without
//! negative dentries every look-up takes the directory's rwsem to share and asks it. The lab has no negative dentries and
//! answers from the hash chain and rename_lock's count, in which nobody writes.
//! Did not scale: up to 2.6.37.

use crate::common::INFO;
use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Capability, Demand, Errno, Failure, FileSystem, Info, Place, Suite, Workload,
    expect_errno,
};

/// See the module's header.
pub struct LookUpMissing;

impl Workload for LookUpMissing {
    const INFO: Info = Info {
        name: "look_up_missing",
        summary: "stat of a name that is not there",
        origin: "in no other tool",
        calls: Calls::LookUp,
        suites: &[Suite::Own, Suite::Metadata, Suite::Quick],
        operation: "one stat that answers ENOENT",
        needs: &[Capability::Create],
        demand: |_| Demand::NONE,
        ..INFO
    };
    type Task = CString;

    fn task<F: FileSystem>(_fs: &F, place: &Place) -> Result<CString, Failure> {
        Ok(place.path(&format!("missing{}", place.task)))
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, path: &mut CString) -> Result<u64, Failure> {
        expect_errno(Call::Stat, fs.stat(path), Errno::NOENT)?;
        Ok(1)
    }

    fn path(task: &CString) -> &CStr {
        task
    }
}
