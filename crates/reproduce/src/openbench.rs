//! The loop of openbench (mail 000) where it ran: on a ramfs, and later on two mounts by turns.
//!
//! A name of a ramfs keeps a reference to its dentry for good, so that the last put of an open file is never the last of the
//! dentry and takes no dcache_lock. Here a second descriptor, open all the time, holds that reference; on a directory of this
//! kernel it costs nothing either.

use harness::SECOND_MOUNT;
use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Demand, Failure, Fd, FileSystem, Info, Mode, OFlags, Place, Workload, expect_len,
};
use workloads::Openbench;

const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// A path, and the descriptor that pins what it names.
pub(crate) struct Pinned {
    path: CString,
    _pin: Fd,
}

fn pinned<F: FileSystem>(fs: &F, place: &Place) -> Result<Pinned, Failure> {
    let path = place.own_path();
    let pin = fs.open(&path, OFlags::RDONLY | OFlags::CREATE, PRIVATE)?;
    Ok(Pinned { path, _pin: pin })
}

/// One task's file on a ramfs.
pub(crate) struct OnRamfs;

impl Workload for OnRamfs {
    const INFO: Info = Info {
        demand: |_| Demand { fds: 2, ..Demand::one_file(4096) },
        ..<Openbench as Workload>::INFO
    };
    type Task = Pinned;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Pinned, Failure> {
        pinned(fs, place)
    }

    fn step<F: FileSystem>(fs: &F, task: &mut Pinned) -> Result<u64, Failure> {
        Openbench::step(fs, &mut task.path)
    }

    fn path(task: &Pinned) -> &CStr {
        &task.path
    }
}

/// The same file by way of two mounts in turn: the worst case of the per-CPU count of writers of 2.6.26, whose slot belongs to
/// one mount at a time. For the lab and the simulator, after [`harness::Before::SecondMount`].
pub(crate) struct OnTwoMounts;

/// Two paths and whose turn it is.
pub(crate) struct Two {
    paths: [Pinned; 2],
    turn: usize,
}

impl Workload for OnTwoMounts {
    const INFO: Info = Info {
        demand: |_| Demand { fds: 3, ..Demand::one_file(4096) },
        ..<Openbench as Workload>::INFO
    };
    type Task = Two;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Two, Failure> {
        let other = Place { dir: SECOND_MOUNT.to_owned(), ..place.clone() };
        Ok(Two { paths: [pinned(fs, place)?, pinned(fs, &other)?], turn: 0 })
    }

    fn step<F: FileSystem>(fs: &F, task: &mut Two) -> Result<u64, Failure> {
        task.turn ^= 1;
        let path = &task.paths[task.turn].path;
        let fd = fs.open(path, OFlags::WRONLY | OFlags::CREATE, PRIVATE)?;
        expect_len(Call::Write, fs.write(fd, b"foo\0")?, 4)?;
        fs.close(fd)?;
        Ok(1)
    }

    fn path(task: &Two) -> &CStr {
        &task.paths[task.turn].path
    }
}
