//! A file that grows or shrinks page by page, up to a bound: append, and ftruncate.
//!
//! FxMark's DWAL and DWTL. FxMark appends until the disk is full, and its DWTL does so before it begins to cut. Here a file has
//! `pages` at most, 8 MiB where nothing else is said; when they are written or cut off the slice ends, and before the next one
//! the file is as it was, outside of what is measured.
//!
//! Shared: the super block's free blocks and what records them; in `truncate_by_page` the directory, which is only read.
//! Should scale: linearly on tmpfs, as far as the page allocator does; elsewhere as far as the journal and the free space do.
//! Moves: tmpfs: the page allocator's zone lock and the counter of used blocks; ext4: the journal's running transaction, for a
//! cut the orphan list; xfs: the AG's free-space buffer; btrfs: the extent tree's locks.
//! Did not scale: ext4's cut up to 3.15 (orphan list under one mutex); appends on ext4 and btrfs in any kernel up to 6.18.

use crate::common::{BLOCK, Block, INFO, create, fill_blocks};
use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, Fd, FileSystem, Info, Param, Params, Place, Shared,
    Suite, Workload, expect_len,
};

const PAGES: Param = Param::number(
    "pages",
    "pages of 4 KiB that a slice writes or cuts, per task",
    (1, 65_536),
    2048,
);

/// An open file, its length in blocks, and how many it has at most.
pub struct Task {
    path: CString,
    fd: Fd,
    blocks: u64,
    most: u64,
    buf: Box<Block>,
}

fn open<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
    let path = place.own_path();
    let fd = create(fs, &path)?;
    Ok(Task { path, fd, blocks: 0, most: place.params.number(&PAGES), buf: Block::new() })
}

fn demand(params: &Params) -> Demand {
    Demand::one_file(params.number(&PAGES) * BLOCK as u64)
}

/// pwrite at the end of own file.
pub struct AppendOwn;

impl Workload for AppendOwn {
    const INFO: Info = Info {
        name: "append_own",
        aliases: &["fxmark:DWAL"],
        summary: "write 4 KiB at the end of own file",
        origin: "FxMark DWAL",
        calls: Calls::Write,
        shared: Shared::FileSystem,
        suites: &[Suite::Fxmark, Suite::Quick],
        operation: "one write that makes the file 4 KiB longer",
        needs: &[Capability::Create, Capability::Write, Capability::Truncate],
        params: &[PAGES],
        demand,
        ..INFO
    };
    type Task = Task;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
        open(fs, place)
    }

    fn renew<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        task.blocks = 0;
        fs.ftruncate(task.fd, 0)
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
        if task.blocks == task.most {
            return Err(Failure::used_up(Call::Pwrite));
        }
        let written = fs.pwrite(task.fd, &task.buf.0, task.blocks * BLOCK as u64)?;
        expect_len(Call::Pwrite, written, BLOCK)?;
        task.blocks += 1;
        Ok(1)
    }

    fn path(task: &Task) -> &CStr {
        &task.path
    }
}

/// ftruncate of own file by a page.
pub struct TruncateByPage;

impl Workload for TruncateByPage {
    const INFO: Info = Info {
        name: "truncate_by_page",
        aliases: &["fxmark:DWTL"],
        summary: "ftruncate own file down by 4 KiB",
        origin: "FxMark DWTL",
        calls: Calls::Length,
        shared: Shared::FileSystem,
        suites: &[Suite::Fxmark],
        operation: "one ftruncate that makes the file 4 KiB shorter",
        needs: &[Capability::Create, Capability::Write, Capability::Truncate],
        params: &[PAGES],
        demand,
        ..INFO
    };
    type Task = Task;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
        open(fs, place)
    }

    fn renew<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        task.blocks = task.most;
        fill_blocks(fs, task.fd, task.most)
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
        if task.blocks == 0 {
            return Err(Failure::used_up(Call::Ftruncate));
        }
        fs.ftruncate(task.fd, (task.blocks - 1) * BLOCK as u64)?;
        task.blocks -= 1;
        Ok(1)
    }

    fn path(task: &Task) -> &CStr {
        &task.path
    }
}
