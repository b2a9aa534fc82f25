//! The four phases of tiobench as it was in 2004 (mail 001): on one's own open file, in blocks of 4 KiB.
//!
//! A sequential operation is one call and one fd look-up, a random one lseek and the transfer: two. The published runs moved
//! 100 MB a thread; here the file has 16 blocks and a sequential phase starts over with one lseek per 16 operations. The time of
//! the copy is part of the local work of the call, the same for reading and writing and for every order of blocks.

use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Demand, Failure, Fd, FileSystem, Info, Mode, OFlags, Place, Shared, TaskMode,
    Workload, expect_len,
};

/// Bytes of an operation.
pub(crate) const BLOCK: usize = 4096;
const BLOCKS: u64 = 16;

/// An open file, the next block, and where the bytes are.
pub(crate) struct Task {
    path: CString,
    fd: Fd,
    block: u64,
    buf: Box<[u8; BLOCK]>,
}

const INFO: Info = Info {
    name: "tiobench",
    aliases: &[],
    summary: "4 KiB of own open file",
    origin: "mail 001 (lock-free fd look-up, 2004): tiobench 0.3.3",
    calls: Calls::Read,
    shared: Shared::Descriptors,
    suites: &[],
    params: &[],
    modes: &[TaskMode::Thread, TaskMode::Process],
    operation: "one transfer of 4 KiB",
    needs: &[],
    background: false,
    demand: |_| Demand::one_file(BLOCKS * BLOCK as u64),
};

fn open<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
    let path = place.own_path();
    let fd = fs.open(&path, OFlags::RDWR | OFlags::CREATE, Mode::RUSR | Mode::WUSR)?;
    let mut task = Task { path, fd, block: place.task as u64, buf: Box::new([b'x'; BLOCK]) };
    for _ in 0..BLOCKS {
        write(fs, &mut task)?;
    }
    fs.seek(fd, 0)?;
    task.block = 0;
    Ok(task)
}

fn read<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    let got = fs.read(task.fd, &mut task.buf[..])?;
    expect_len(Call::Read, got, BLOCK)
}

fn write<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    let written = fs.write(task.fd, &task.buf[..])?;
    expect_len(Call::Write, written, BLOCK)
}

/// To the start, if the last operation was at the end.
fn next<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    if task.block == BLOCKS {
        task.block = 0;
        fs.seek(task.fd, 0)?;
    }
    task.block += 1;
    Ok(())
}

/// To some block. Which does not matter: no block is nearer than another.
fn jump<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    task.block = (task.block * 5 + 3) % BLOCKS;
    fs.seek(task.fd, task.block * BLOCK as u64)?;
    Ok(())
}

macro_rules! phases {
    ($($(#[$doc:meta])* $phase:ident: $place:ident, $transfer:ident;)*) => {
        $(
            $(#[$doc])*
            pub(crate) struct $phase;

            impl Workload for $phase {
                const INFO: Info = INFO;
                type Task = Task;

                fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
                    open(fs, place)
                }

                fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
                    $place(fs, task)?;
                    $transfer(fs, task)?;
                    Ok(1)
                }

                fn path(task: &Task) -> &CStr {
                    &task.path
                }
            }
        )*
    };
}

phases! {
    /// Sequential read.
    SeqRead: next, read;
    /// Random read.
    RandRead: jump, read;
    /// Sequential write.
    SeqWrite: next, write;
    /// Random write.
    RandWrite: jump, write;
}
