//! fs_mark's loop: create a file, write it, fsync, close; a bounded set, removed between slices.
//!
//! fs_mark makes a number of files, adds up the rates of its tasks whenever they ended, and then removes the files. Here a
//! file has 16 KiB where fs_mark has 50, so that a set takes little room, and each task has its own time. `sync=fsync` is -S 1
//! and `sync=none` -S 0; with `batch` so many files are written first, then synced one after the other and closed, which is
//! what -S 5 does with all of them.
//!
//! Shared: the directory, or with `dirs=own` nothing but the super block; the journal or log, and the device.
//! Should scale: with sync as the journal lets several tasks wait for one commit; without it as creation does.
//! Moves: the directory's rwsem; inode and block allocation; with sync what `pwrite_fsync` names.
//! Did not scale: creation in one directory: any kernel up to 6.18.

use crate::common::{INFO, create};
use crate::set::{DIRS, Layout, Set};
use std::ffi::CStr;
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, Fd, FileSystem, Info, Param, Params, Place, Suite,
    Workload, expect_len,
};

const FILES: Param =
    Param::number("files", "files that a slice makes at most, per task", (1, 65_536), 256);
const BYTES: Param = Param::number("bytes", "data of each file, bytes", (1, 1 << 20), 16_384);
const BATCH: Param =
    Param::number("batch", "files that are written before they are synced", (1, 64), 1);
const SYNC: Param = Param::word("sync", "whether files are synced", &["fsync", "none"]);

/// Names, data, and the files of a batch.
pub struct Task {
    set: Set,
    data: Vec<u8>,
    batch: usize,
    open: Vec<Fd>,
    sync: bool,
}

/// See the module's header.
pub struct FsMark;

fn layout(params: &Params) -> Layout {
    Layout { own: params.is(&DIRS, "own"), depth: 0, branching: 1, files: params.number(&FILES) }
}

impl Workload for FsMark {
    const INFO: Info = Info {
        name: "fs_mark",
        summary: "create the next file, write it, fsync, close",
        origin: "fs_mark",
        calls: Calls::Sync,
        suites: &[Suite::FsMark],
        params: &[FILES, BYTES, BATCH, SYNC, DIRS],
        operation: "one file: create, write, fsync unless sync=none, close",
        needs: &[Capability::Create, Capability::Write, Capability::Sync],
        demand: |params| Demand {
            fds: params.number(&BATCH),
            inodes: params.number(&FILES) + 1,
            bytes: params.number(&FILES) * params.number(&BYTES).next_multiple_of(4096),
            shared_inodes: 1,
            ..Demand::NONE
        },
        ..INFO
    };
    type Task = Task;

    fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
        layout(&place.params).prepare(fs, place)
    }

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
        let batch = place.params.number(&BATCH) as usize;
        Ok(Task {
            set: layout(&place.params).set(fs, place)?,
            data: vec![b'x'; place.params.number(&BYTES) as usize],
            batch,
            open: Vec::with_capacity(batch),
            sync: place.params.is(&SYNC, "fsync"),
        })
    }

    fn renew<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
        // Those of a batch that the end of the set has cut short.
        task.open.drain(..).try_for_each(|fd| fs.close(fd))?;
        task.set.renew(|path| fs.unlink(path))
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
        for _ in 0..task.batch {
            let fd = create(fs, task.set.take(Call::Open)?)?;
            task.open.push(fd);
            let written = fs.write(fd, &task.data)?;
            expect_len(Call::Write, written, task.data.len())?;
        }
        if task.sync {
            task.open.iter().try_for_each(|fd| fs.fsync(*fd))?;
        }
        while let Some(fd) = task.open.pop() {
            fs.close(fd)?;
        }
        Ok(task.batch as u64)
    }

    fn path(task: &Task) -> &CStr {
        task.set.path()
    }
}
