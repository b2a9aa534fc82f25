//! mmap and munmap of one's own file; without touching it, or with a write to each of its pages.
//!
//! will-it-scale's `mmap2`, `page_fault2` and `page_fault3`. There the mapping has 128 MiB per task; here it has as much as the
//! parameter says, by default 1 MiB, so that nothing is filled: the cost of a fault does not depend on it. `map_unmap` counts
//! mappings, the others the pages written; their mmap and munmap are in the time.
//!
//! Shared: in thread mode the address space (mm_struct); the file's pages are the task's own.
//! Should scale: linearly in process mode; in thread mode faults since 6.7 (per-VMA locks for files), mmap not at all.
//! Moves: thread mode: `mmap_lock` of the process, for mmap and munmap exclusively, and before 6.7 for each fault to share; the
//! TLB flushes of munmap reach every CPU that runs a thread. Process mode: the page allocator's zone lock as copies come and
//! go (`fault_private`), the folio's map count (`fault_shared`).
//! Did not scale: thread mode up to 6.6 (mmap_lock); mmap in thread mode in any kernel up to 6.18.

use crate::common::{BLOCK, INFO, create, fill_blocks};
use std::ffi::{CStr, CString};
use vfs_api::{
    Calls, Capability, Demand, Failure, Fd, FileSystem, Info, PAGE, Param, Place, Shared, Sharing,
    Suite, Workload,
};

const KIB: Param = Param::number("kib", "size of the mapping, KiB", (4, 1 << 20), 1024);

/// An open file and how much of it is mapped.
pub struct Task {
    path: CString,
    fd: Fd,
    len: usize,
}

macro_rules! mappings {
    ($($workload:ident = $name:literal, $alias:literal: $sharing:ident, $write:literal;
       $summary:literal, $operation:literal;)*) => {
        $(
            #[doc = $summary]
            pub struct $workload;

            impl Workload for $workload {
                const INFO: Info = Info {
                    name: $name,
                    aliases: &[concat!("wis:", $alias)],
                    summary: $summary,
                    origin: concat!("will-it-scale ", $alias),
                    calls: Calls::Memory,
                    shared: Shared::FileSystem,
                    suites: &[Suite::WillItScale],
                    params: &[KIB],
                    operation: $operation,
                    needs: &[Capability::Create, Capability::Write, Capability::Map],
                    demand: |params| Demand::one_file(params.number(&KIB) * 1024),
                    ..INFO
                };
                type Task = Task;

                fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
                    let path = place.own_path();
                    let fd = create(fs, &path)?;
                    let pages = place.params.number(&KIB) / 4;
                    // Filled: a hole on a full disk would kill the task (SIGBUS).
                    fill_blocks(fs, fd, pages)?;
                    Ok(Task { path, fd, len: pages as usize * BLOCK })
                }

                #[inline]
                fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
                    fs.map_once(task.fd, task.len, Sharing::$sharing, $write)?;
                    Ok(if $write { (task.len / PAGE) as u64 } else { 1 })
                }

                fn path(task: &Task) -> &CStr {
                    &task.path
                }
            }
        )*
    };
}

mappings! {
    MapUnmap = "map_unmap", "mmap2": Shared, false;
        "mmap and munmap own file", "one mmap and one munmap";
    FaultPrivate = "fault_private", "page_fault2": Private, true;
        "write to each page of a private mapping of own file", "one page written for the first time";
    FaultShared = "fault_shared", "page_fault3": Shared, true;
        "write to each page of a shared mapping of own file", "one page written for the first time";
}
