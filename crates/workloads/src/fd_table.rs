//! The fd table by itself: full, with descriptors far up, growing, emptied by the range, shared by threads or not.
//!
//! In no other tool. `dup_full` finds the lowest free descriptor above many that are open; `dup_far` asks for one that leaves a
//! gap below; `fd_growth` makes descriptors in a child with a table of its own, which grows from 64 on as often as it must (a
//! table that has grown never shrinks, so that growth can be had again in a new one only; the child's birth and end are in the
//! time); `close_range` closes 16 at once. `fstat_own_table` and `dup_own_table` are `fstat` and `dup_close` by threads of
//! which each has given up the common table (unshare CLONE_FILES).
//!
//! Shared: in thread mode the fd table, but for `own_table`; in process mode nothing. `fd_growth`: pids and the list of tasks.
//! Should scale: process mode linearly; thread mode only what looks up (fstat), or has its own table.
//! Moves: thread mode: `files->file_lock`, next_fd and the bitmaps, for each descriptor made or closed; the growth of a shared
//! table waits for a grace period. A bitmap of full words (4.5) finds a free one among 4096 in two steps. With an own table no
//! reference is taken on a file (fdget's light path): a descriptor costs no shared word.
//! Did not scale: threads' descriptors in any kernel up to 6.18; look-ups of threads up to 2.6.13.

use crate::common::{BOTH, INFO, create};
use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, Fd, FileSystem, Info, Param, Params, Place, Shared,
    Suite, TaskMode, Workload, expect,
};

const OPEN: Param = Param::number("open", "descriptors open already, per task", (1, 65_536), 1024);
const AT: Param = Param::number("at", "the least descriptor to be had", (64, 1 << 20), 1000);
const TO: Param = Param::number("to", "descriptors that the child makes", (65, 65_536), 1024);
/// Descriptors that close_range closes.
const RANGE: i32 = 16;
/// Descriptors from here on are for `close_range`, a range for each task.
const RANGES: i32 = 256;

const THREADS: &[TaskMode] = &[TaskMode::Thread];

/// An open file and a number of descriptors.
pub struct Task {
    path: CString,
    fd: Fd,
    number: u64,
}

#[inline(always)]
fn dup<F: FileSystem>(fs: &F, task: &Task) -> Result<(), Failure> {
    let second = fs.dup(task.fd)?;
    fs.close(second)
}

#[inline(always)]
fn fstat<F: FileSystem>(fs: &F, task: &Task) -> Result<(), Failure> {
    fs.fstat(task.fd).map(|_| ())
}

#[inline(always)]
fn dup_far<F: FileSystem>(fs: &F, task: &Task) -> Result<(), Failure> {
    let second = fs.dup_from(task.fd, task.number as i32)?;
    fs.close(second)
}

#[inline(always)]
fn grow<F: FileSystem>(fs: &F, task: &Task) -> Result<(), Failure> {
    fs.child_with_descriptors(task.fd, task.number as u32)
}

/// Closes the range and makes it again. Between two passes it is the task's, so that no other gets a number of it.
#[inline(always)]
fn close_range<F: FileSystem>(fs: &F, task: &Task) -> Result<(), Failure> {
    let first = task.number as i32;
    fs.close_range(Fd(first), Fd(first + RANGE - 1))?;
    for wanted in first..first + RANGE {
        let got = fs.dup_from(task.fd, wanted)?;
        expect(Call::Fcntl, got == Fd(wanted))?;
    }
    Ok(())
}

fn open<F: FileSystem>(fs: &F, place: &Place, number: u64) -> Result<Task, Failure> {
    let path = place.own_path();
    let fd = create(fs, &path)?;
    Ok(Task { path, fd, number })
}

fn own_table<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
    fs.unshare_files()?;
    open(fs, place, 0)
}

fn full<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
    let task = open(fs, place, 0)?;
    for _ in 0..place.params.number(&OPEN) {
        fs.dup(task.fd)?;
    }
    Ok(task)
}

fn far<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
    open(fs, place, place.params.number(&AT))
}

fn growing<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
    open(fs, place, place.params.number(&TO))
}

fn range<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
    let mut task = open(fs, place, 0)?;
    // Away from the ranges of the process's other threads; what else is open is stepped over.
    let mut next = RANGES + place.task as i32 * RANGE;
    let mut held: Vec<Fd> = Vec::new();
    while held.len() < RANGE as usize {
        let got = fs.dup_from(task.fd, next)?;
        if got.0 != next {
            held.drain(..).try_for_each(|fd| fs.close(fd))?;
        }
        held.push(got);
        next = got.0 + 1;
    }
    task.number = held[0].0 as u64;
    Ok(task)
}

fn two(_: &Params) -> Demand {
    Demand { fds: 2, inodes: 1, ..Demand::NONE }
}

macro_rules! tables {
    ($($workload:ident = $name:literal: $call:ident, $task:ident; $summary:literal, $operation:literal, $modes:expr, $params:expr, $needs:expr, $demand:expr;)*) => {
        $(
            #[doc = $summary]
            pub struct $workload;

            impl Workload for $workload {
                const INFO: Info = Info {
                    name: $name,
                    summary: $summary,
                    origin: "in no other tool; mail 001 (lock-free fd look-up, 2004) is about the table",
                    calls: Calls::Descriptors,
                    shared: Shared::Descriptors,
                    suites: &[Suite::Own],
                    modes: $modes,
                    params: &$params,
                    operation: $operation,
                    needs: &$needs,
                    demand: $demand,
                    ..INFO
                };
                type Task = Task;

                fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
                    $task(fs, place)
                }

                #[inline]
                fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
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

use Capability::{Children, CloseRange, Create, OwnTable};

tables! {
    DupFull = "dup_full": dup, full;
        "dup of own open file with many open, close", "one dup and one close", BOTH, [OPEN], [Create],
        |params| Demand { fds: params.number(&OPEN) + 2, inodes: 1, ..Demand::NONE };
    DupFar = "dup_far": dup_far, far;
        "dup of own open file to a descriptor far up, close", "one fcntl(F_DUPFD) and one close", BOTH, [AT], [Create],
        |params| Demand { fd_limit: params.number(&AT), ..two(params) };
    FdGrowth = "fd_growth": grow, growing;
        "a child makes many descriptors, and ends", "one child with its descriptors", BOTH, [TO], [Create, Children],
        |params| Demand { fd_limit: params.number(&TO), ..two(params) };
    CloseRange16 = "close_range": close_range, range;
        "16 descriptors closed by one close_range, made again (F_DUPFD)", "one close_range of 16 and 16 fcntl(F_DUPFD)", BOTH, [],
        [Create, CloseRange], |params| Demand { fds: 1 + RANGE as u64, fd_limit: RANGES as u64, ..two(params) };
    FstatOwnTable = "fstat_own_table": fstat, own_table;
        "fstat of own open file, by threads with a table each", "one fstat", THREADS, [], [Create, OwnTable], two;
    DupOwnTable = "dup_own_table": dup, own_table;
        "dup of own open file, close, by threads with a table each", "one dup and one close", THREADS, [],
        [Create, OwnTable], two;
}
