//! One transfer of 4 KiB at a fixed place: pread, pwrite, or lseek and read or write; of one's own file or of one that all share.
//!
//! will-it-scale's `pread1-3`, `pwrite1-3`, `readseek2-3`, `writeseek1-3` (its `readseek1` is `fd_read`) and FxMark's DRBL, DRBM,
//! DRBH, DWOL and DWOM, with the background variants of those that read, in which one task more writes over what the first one
//! reads (in FxMark's own DRBL_bg nobody writes). The names end in whose place it is: `own` file; the `same` block of one file, through descriptors of
//! their own; `strided`: neighbouring blocks of one file; `region`: blocks of one file 8 MiB apart. Against the peers: FxMark
//! writes all the 8 MiB of each worker first, here the file has holes; will-it-scale's `writeseek2` does not say what it does.
//!
//! Shared: `own`: in thread mode the fd table, else nothing. The others: the inode; `same` also the page, and `strided` the
//! folio where the file system has large ones.
//! Should scale: `own` linearly; reads of one file linearly on tmpfs, ext4, xfs and btrfs; writes of one file not at all.
//! Moves: reads of one page: its folio's reference count, twice (all file systems), on xfs also the inode's rwsem, which a
//! buffered read takes to share. Writes: the inode's rwsem, exclusively, whatever the place; in the lab the inode's lock and
//! the one that stands for its pages, which reads take too.
//! Did not scale: `same` and writes of one file: any kernel up to 6.18; in thread mode every one of them up to 2.6.13 (fd table).

use crate::common::{BLOCK, Block, INFO, create, create_closed};
use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, Fd, FileSystem, Info, OFlags, Place, Shared, Suite,
    Workload, expect_len,
};

/// Bytes between the places of two tasks in a file that each has a region of (FxMark).
const REGION: u64 = 8 << 20;

/// An open file, where to transfer, and the bytes.
pub struct Task {
    path: CString,
    fd: Fd,
    at: u64,
    buf: Box<Block>,
    /// The file that the background writes, and its descriptor once it is open.
    written: CString,
    written_fd: Option<Fd>,
}

/// Whose place it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Own,
    Same,
    Strided,
    Region,
}

impl Whose {
    const fn shared(self) -> Shared {
        match self {
            Whose::Own => Shared::Descriptors,
            _ => Shared::File,
        }
    }

    const fn needs(self) -> &'static [Capability] {
        match self {
            Whose::Region => &[Capability::Create, Capability::Write, Capability::Sparse],
            _ => &[Capability::Create, Capability::Write],
        }
    }

    fn place(self, task: usize) -> u64 {
        match self {
            Whose::Own | Whose::Same => 0,
            Whose::Strided => task as u64 * BLOCK as u64,
            Whose::Region => task as u64 * REGION,
        }
    }

    /// The file, open, with the block that will be transferred.
    fn open<F: FileSystem>(self, fs: &F, place: &Place) -> Result<Task, Failure> {
        let at = self.place(place.task);
        let (path, fd) = match self {
            Whose::Own => {
                let path = place.own_path();
                let fd = create(fs, &path)?;
                (path, fd)
            }
            _ => {
                let path = place.shared_path();
                let fd = fs.open(&path, OFlags::RDWR, crate::common::PRIVATE)?;
                (path, fd)
            }
        };
        let written = match self {
            // Of the first task, which always works.
            Whose::Own => Place { task: 0, ..place.clone() }.own_path(),
            _ => place.shared_path(),
        };
        let task = Task { path, fd, at, buf: Block::new(), written, written_fd: None };
        pwrite(fs, &task)?;
        Ok(task)
    }
}

#[inline(always)]
fn pread<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    let got = fs.pread(task.fd, &mut task.buf.0, task.at)?;
    expect_len(Call::Pread, got, BLOCK)
}

#[inline(always)]
fn pwrite<F: FileSystem>(fs: &F, task: &Task) -> Result<(), Failure> {
    let written = fs.pwrite(task.fd, &task.buf.0, task.at)?;
    expect_len(Call::Pwrite, written, BLOCK)
}

#[inline(always)]
fn readseek<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    fs.seek(task.fd, task.at)?;
    let got = fs.read(task.fd, &mut task.buf.0)?;
    expect_len(Call::Read, got, BLOCK)
}

#[inline(always)]
fn writeseek<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    fs.seek(task.fd, task.at)?;
    let written = fs.write(task.fd, &task.buf.0)?;
    expect_len(Call::Write, written, BLOCK)
}

/// The background: pwrite over the first block of the file that is read.
fn overwrite<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
    let fd = match task.written_fd {
        Some(fd) => fd,
        None => {
            let fd = fs.open(&task.written, OFlags::WRONLY, crate::common::PRIVATE)?;
            *task.written_fd.insert(fd)
        }
    };
    let written = fs.pwrite(fd, &task.buf.0, 0)?;
    expect_len(Call::Pwrite, written, BLOCK)
}

macro_rules! blocks {
    ($($workload:ident = $name:literal: $call:ident, $whose:ident, $calls:ident, $background:literal;
       $summary:literal; $origin:literal; $aliases:expr; $suites:expr;)*) => {
        $(
            #[doc = $summary]
            pub struct $workload;

            impl Workload for $workload {
                const INFO: Info = Info {
                    name: $name,
                    aliases: &$aliases,
                    summary: $summary,
                    origin: $origin,
                    calls: Calls::$calls,
                    shared: Whose::$whose.shared(),
                    suites: &$suites,
                    operation: concat!("one ", stringify!($call), " of 4 KiB"),
                    needs: Whose::$whose.needs(),
                    background: $background,
                    demand: |_| Demand { fds: 2, ..Demand::one_file(BLOCK as u64) },
                    ..INFO
                };
                type Task = Task;

                fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
                    if Whose::$whose == Whose::Own {
                        Ok(())
                    } else {
                        create_closed(fs, &place.shared_path())
                    }
                }

                fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
                    Whose::$whose.open(fs, place)
                }

                #[inline]
                fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
                    $call(fs, task)?;
                    Ok(1)
                }

                fn background<F: FileSystem>(fs: &F, task: &mut Task) -> Result<(), Failure> {
                    if $background { overwrite(fs, task) } else { Ok(()) }
                }

                fn path(task: &Task) -> &CStr {
                    &task.path
                }
            }
        )*
    };
}

use Suite::{Fxmark, WillItScale};

blocks! {
    PreadOwn = "pread_own": pread, Own, Read, false;
        "pread of own file"; "will-it-scale pread1; FxMark DRBL";
        ["wis:pread1", "fxmark:DRBL"]; [WillItScale, Fxmark, Suite::Quick];
    PreadSame = "pread_same": pread, Same, Read, false;
        "pread of the same block of one file"; "will-it-scale pread2; FxMark DRBH";
        ["wis:pread2", "fxmark:DRBH"]; [WillItScale, Fxmark];
    PreadStrided = "pread_strided": pread, Strided, Read, false;
        "pread of neighbouring blocks of one file"; "will-it-scale pread3";
        ["wis:pread3"]; [WillItScale];
    PreadRegion = "pread_region": pread, Region, Read, false;
        "pread of blocks of one file 8 MiB apart"; "FxMark DRBM";
        ["fxmark:DRBM"]; [Fxmark];
    PwriteOwn = "pwrite_own": pwrite, Own, Write, false;
        "pwrite over own file"; "will-it-scale pwrite1; FxMark DWOL";
        ["wis:pwrite1", "fxmark:DWOL"]; [WillItScale, Fxmark];
    PwriteSame = "pwrite_same": pwrite, Same, Write, false;
        "pwrite over the same block of one file"; "will-it-scale pwrite2";
        ["wis:pwrite2"]; [WillItScale];
    PwriteStrided = "pwrite_strided": pwrite, Strided, Write, false;
        "pwrite over neighbouring blocks of one file"; "will-it-scale pwrite3";
        ["wis:pwrite3"]; [WillItScale];
    PwriteRegion = "pwrite_region": pwrite, Region, Write, false;
        "pwrite over blocks of one file 8 MiB apart"; "FxMark DWOM";
        ["fxmark:DWOM"]; [Fxmark];
    ReadseekSame = "readseek_same": readseek, Same, Read, false;
        "lseek and read of the same block of one file"; "will-it-scale readseek2";
        ["wis:readseek2"]; [WillItScale];
    ReadseekStrided = "readseek_strided": readseek, Strided, Read, false;
        "lseek and read of neighbouring blocks of one file"; "will-it-scale readseek3";
        ["wis:readseek3"]; [WillItScale];
    WriteseekOwn = "writeseek_own": writeseek, Own, Write, false;
        "lseek and write over own file"; "will-it-scale writeseek1";
        ["wis:writeseek1"]; [WillItScale];
    WriteseekSame = "writeseek_same": writeseek, Same, Write, false;
        "lseek and write over the same block of one file"; "will-it-scale writeseek2";
        ["wis:writeseek2"]; [WillItScale];
    WriteseekStrided = "writeseek_strided": writeseek, Strided, Write, false;
        "lseek and write over neighbouring blocks of one file"; "will-it-scale writeseek3";
        ["wis:writeseek3"]; [WillItScale];
    PreadOwnWritten = "pread_own_written": pread, Own, Read, true;
        "pread of own file while another task writes the first one's"; "FxMark DRBL_bg";
        ["fxmark:DRBL_bg"]; [Fxmark];
    PreadSameWritten = "pread_same_written": pread, Same, Read, true;
        "pread of the same block of one file while another task writes it"; "FxMark DRBH_bg";
        ["fxmark:DRBH_bg"]; [Fxmark];
    PreadRegionWritten = "pread_region_written": pread, Region, Read, true;
        "pread of blocks of one file 8 MiB apart while another task writes the first"; "FxMark DRBM_bg";
        ["fxmark:DRBM_bg"]; [Fxmark];
}
