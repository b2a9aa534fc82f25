//! poll of one's own descriptors without waiting, and a write and a read of one's own eventfd or pipe.
//!
//! will-it-scale's `poll1`, `poll2`, `eventfd1` and `pipe1`. Nothing here touches the file system under test but the file whose
//! descriptors are polled; they are here because their fd look-ups are what is compared. will-it-scale polls the descriptors of
//! files, which are always readable; so do we.
//!
//! Shared: in thread mode the fd table, else nothing.
//! Should scale: linearly in process mode and in thread mode.
//! Moves: nothing of others; poll looks up each descriptor and takes a reference in thread mode, on files of the task's own.
//! Did not scale: in thread mode up to 2.6.13 (fd table).

use crate::common::{INFO, create};
use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, Fd, FileSystem, Info, Place, PollSet, Shared, Suite,
    Workload, expect_len,
};

/// Descriptors of `poll_many`.
const MANY: usize = 128;

/// What is polled.
pub struct Polled {
    path: CString,
    set: PollSet,
}

macro_rules! polls {
    ($($workload:ident = $name:literal, $alias:literal, $summary:literal, $number:expr;)*) => {
        $(
            #[doc = $summary]
            pub struct $workload;

            impl Workload for $workload {
                const INFO: Info = Info {
                    name: $name,
                    aliases: &[concat!("wis:", $alias)],
                    summary: $summary,
                    origin: concat!("will-it-scale ", $alias),
                    calls: Calls::Events,
                    shared: Shared::Descriptors,
                    suites: &[Suite::WillItScale],
                    operation: "one poll",
                    needs: &[Capability::Create, Capability::Events],
                    demand: |_| Demand { fds: $number as u64, inodes: 1, ..Demand::NONE },
                    ..INFO
                };
                type Task = Polled;

                fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Polled, Failure> {
                    let path = place.own_path();
                    let fds = (0..$number).map(|_| create(fs, &path));
                    let set = fs.poll_set(&fds.collect::<Result<Vec<Fd>, Failure>>()?)?;
                    Ok(Polled { path, set })
                }

                #[inline]
                fn step<F: FileSystem>(fs: &F, task: &mut Polled) -> Result<u64, Failure> {
                    let ready = fs.poll(&mut task.set)?;
                    // Files are always readable: fewer would mean that poll looked at something else.
                    expect_len(Call::Poll, ready, task.set.len())?;
                    Ok(1)
                }

                fn path(task: &Polled) -> &CStr {
                    &task.path
                }
            }
        )*
    };
}

polls! {
    PollOne = "poll_one", "poll1", "poll of one descriptor", 1;
    PollMany = "poll_many", "poll2", "poll of 128 descriptors", MANY;
}

/// What a task tells itself, and through which descriptors.
pub struct Told {
    read: Fd,
    write: Fd,
}

#[inline(always)]
fn tell<F: FileSystem>(fs: &F, task: &Told, buf: &mut [u8]) -> Result<u64, Failure> {
    let written = fs.write(task.write, buf)?;
    expect_len(Call::Write, written, buf.len())?;
    let got = fs.read(task.read, buf)?;
    expect_len(Call::Read, got, buf.len())?;
    Ok(1)
}

/// write and read of own eventfd.
pub struct EventfdOwn;

impl Workload for EventfdOwn {
    const INFO: Info = Info {
        name: "eventfd_own",
        aliases: &["wis:eventfd1"],
        summary: "write 8 bytes to own eventfd, read them",
        origin: "will-it-scale eventfd1",
        calls: Calls::Events,
        shared: Shared::Descriptors,
        suites: &[Suite::WillItScale],
        operation: "one write and one read",
        needs: &[Capability::Events],
        demand: |_| Demand { fds: 1, ..Demand::NONE },
        ..INFO
    };
    type Task = Told;

    fn task<F: FileSystem>(fs: &F, _place: &Place) -> Result<Told, Failure> {
        let fd = fs.eventfd()?;
        Ok(Told { read: fd, write: fd })
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Told) -> Result<u64, Failure> {
        tell(fs, task, &mut 1_u64.to_ne_bytes())
    }

    fn path(_task: &Told) -> &CStr {
        c"an eventfd"
    }
}

/// write and read of own pipe.
pub struct PipeOwn;

impl Workload for PipeOwn {
    const INFO: Info = Info {
        name: "pipe_own",
        aliases: &["wis:pipe1"],
        summary: "write 1 byte to own pipe, read it",
        origin: "will-it-scale pipe1",
        calls: Calls::Events,
        shared: Shared::Descriptors,
        suites: &[Suite::WillItScale],
        operation: "one write and one read",
        needs: &[Capability::Events],
        demand: |_| Demand { fds: 2, ..Demand::NONE },
        ..INFO
    };
    type Task = Told;

    fn task<F: FileSystem>(fs: &F, _place: &Place) -> Result<Told, Failure> {
        let (read, write) = fs.pipe()?;
        Ok(Told { read, write })
    }

    #[inline]
    fn step<F: FileSystem>(fs: &F, task: &mut Told) -> Result<u64, Failure> {
        tell(fs, task, &mut [b'x'])
    }

    fn path(_task: &Told) -> &CStr {
        c"a pipe"
    }
}
