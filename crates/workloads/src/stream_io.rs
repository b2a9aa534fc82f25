//! read or write of 4 KiB after 4 KiB, from the start again after 1 MiB; of one's own file or of one that all read.
//!
//! will-it-scale's `read1-4` (3 and 4 with O_DIRECT) and `write1`. will-it-scale notices the end of the file by a read of
//! nothing, which it counts; here the end is known, and one lseek per 256 transfers takes its place and is not counted.
//!
//! Shared: the own file: in thread mode the fd table, else nothing. The shared one: its inode and its pages, which all tasks
//! read in step or not, as it happens.
//! Should scale: linearly; reads of one file as well, as long as tasks do not read the same page at the same time.
//! Moves: of pages read at the same time the folio's reference count; on xfs the inode's rwsem, which reads take to share. A
//! direct read of ext4 takes the inode's rwsem to share too, and then the time of the device is what is measured. tmpfs takes
//! O_DIRECT since 6.6 and reads by way of the page cache all the same.
//! Did not scale: in thread mode up to 2.6.13 (fd table).

use crate::common::{BLOCK, Block, INFO, PRIVATE, create, fill_blocks};
use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, Fd, FileSystem, Info, OFlags, Place, Shared, Suite,
    Workload, expect_len,
};

/// Blocks of a file: 1 MiB.
const BLOCKS: u64 = 256;
const BYTES: u64 = BLOCKS * BLOCK as u64;

/// An open file, the number of the next block, and the bytes.
pub struct Task {
    path: CString,
    fd: Fd,
    block: u64,
    buf: Box<Block>,
}

/// A full file, open as it will be used.
fn open<F: FileSystem>(fs: &F, path: CString, fill: bool, flags: OFlags) -> Result<Task, Failure> {
    if fill {
        make(fs, &path)?;
    }
    let fd = fs.open(&path, OFlags::RDWR | flags, PRIVATE)?;
    Ok(Task { path, fd, block: 0, buf: Block::new() })
}

fn make<F: FileSystem>(fs: &F, path: &CStr) -> Result<(), Failure> {
    let fd = create(fs, path)?;
    fill_blocks(fs, fd, BLOCKS)?;
    fs.close(fd)
}

/// Back to the start, if the last block was the last of the file.
#[inline(always)]
fn next<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    if task.block == BLOCKS {
        task.block = 0;
        fs.seek(task.fd, 0)?;
    }
    task.block += 1;
    Ok(())
}

#[inline(always)]
fn read<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    let got = fs.read(task.fd, &mut task.buf.0)?;
    expect_len(Call::Read, got, BLOCK)
}

#[inline(always)]
fn write<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    let written = fs.write(task.fd, &task.buf.0)?;
    expect_len(Call::Write, written, BLOCK)
}

const BUFFERED: &[Capability] = &[Capability::Create, Capability::Write];
const DIRECT: &[Capability] = &[Capability::Create, Capability::Write, Capability::Direct];

macro_rules! streams {
    ($($workload:ident = $name:literal, $alias:literal: $call:ident, $shared:ident, $flags:expr, $calls:ident, $needs:ident;
       $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub struct $workload;

            impl Workload for $workload {
                const INFO: Info = Info {
                    name: $name,
                    aliases: &[concat!("wis:", $alias)],
                    summary: $summary,
                    origin: concat!("will-it-scale ", $alias),
                    calls: Calls::$calls,
                    shared: Shared::$shared,
                    suites: &[Suite::WillItScale],
                    operation: concat!("one ", stringify!($call), " of 4 KiB"),
                    needs: $needs,
                    demand: |_| match Shared::$shared {
                        Shared::File => Demand { fds: 1, shared_bytes: BYTES, ..Demand::NONE },
                        _ => Demand::one_file(BYTES),
                    },
                    ..INFO
                };
                type Task = Task;

                fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
                    match Shared::$shared {
                        Shared::File => make(fs, &place.shared_path()),
                        _ => Ok(()),
                    }
                }

                fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
                    match Shared::$shared {
                        Shared::File => open(fs, place.shared_path(), false, $flags),
                        _ => open(fs, place.own_path(), true, $flags),
                    }
                }

                #[inline]
                fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
                    next(fs, task)?;
                    $call(fs, task)?;
                    Ok(1)
                }

                fn path(task: &Task) -> &CStr {
                    &task.path
                }
            }
        )*
    };
}

streams! {
    ReadOwn = "read_own", "read1": read, Descriptors, OFlags::empty(), Read, BUFFERED;
        "read own file of 1 MiB, block after block";
    ReadShared = "read_shared", "read2": read, File, OFlags::empty(), Read, BUFFERED;
        "read one file of 1 MiB, block after block";
    ReadOwnDirect = "read_own_direct", "read3": read, Descriptors, OFlags::DIRECT, Read, DIRECT;
        "read own file of 1 MiB, block after block, O_DIRECT";
    ReadSharedDirect = "read_shared_direct", "read4": read, File, OFlags::DIRECT, Read, DIRECT;
        "read one file of 1 MiB, block after block, O_DIRECT";
    WriteOwn = "write_own", "write1": write, Descriptors, OFlags::empty(), Write, BUFFERED;
        "write over own file of 1 MiB, block after block";
}
