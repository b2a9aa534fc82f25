//! stat of one file by all tasks.
//!
//! The dentry half of what all five threads fight over: a look-up that ends on a dentry everybody uses.
//!
//! Shared: the file's dentry and inode, and every directory above it.
//! Should scale: the walk does since 2.6.38 (RCU walk); its end cannot, as long as stat holds a reference on the one dentry.
//! Moves: before 2.6.38 the `d_count` of every component; since then the last component's lockref, twice.
//! Did not scale: any kernel up to 6.18; up to 2.6.37 every component.

use crate::common::{BOTH, create_closed};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, FileSystem, Info, Place, Shared, Suite, Workload,
};

/// See the module's header.
pub struct StatShared;

impl Workload for StatShared {
    const INFO: Info = Info {
        name: "stat_shared",
        aliases: &[],
        summary: "stat of one file by all tasks",
        origin: "mail 003 (VFS scalability, 2009): dentry references",
        calls: Calls::LookUp,
        shared: Shared::File,
        suites: &[Suite::Mails, Suite::Metadata],
        params: &[],
        modes: BOTH,
        operation: "one stat",
        needs: &[Capability::Create],
        background: false,
        demand: |_| Demand::NONE,
    };
    type Task = CString;

    fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
        create_closed(fs, &place.shared_path())
    }

    fn task<F: FileSystem>(_fs: &F, place: &Place) -> Result<CString, Failure> {
        Ok(place.shared_path())
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
