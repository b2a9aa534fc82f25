//! The file-system jobs of AIM7's mixes (mail 002), each cut into passes of a few calls.
//!
//! A mix says how often each subtest runs. Here a task draws passes at random, each as often as the mix runs it: the open and
//! close of `creat_clo` (1000 a job), the unlink and link of `link_test` (63), the stat, creat, close and unlink of `disk_src`
//! (75), and of the `disk_*` subtests the blocks of 1 KiB (20 a job; 10 with O_SYNC) and the file that is made and removed. Jobs
//! that compute, communicate or make processes are left out, and with them the time in which nobody is in the file system.
//! O_SYNC, O_DIRECT and sync are left out too: the journal is in memory.
//!
//! Hits: the workfiles of re-aim 7.

use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, Fd, FileSystem, Info, Mode, OFlags, Place, Shared,
    TaskMode, Workload, expect_len,
};

/// How often the subtests of a mix run.
struct Hits {
    creat_clo: u32,
    link_test: u32,
    disk_src: u32,
    /// All `disk_*` that are none of the others.
    disk: u32,
    /// All `sync_disk_*`.
    sync_disk: u32,
}

macro_rules! mixes {
    ($($mix:ident: $creat_clo:literal $link_test:literal $disk_src:literal $disk:literal $sync_disk:literal;)*) => {
        mixes!(@numbers 0; $($mix)*);
        const MIXES: &[Hits] = &[$(Hits {
            creat_clo: $creat_clo,
            link_test: $link_test,
            disk_src: $disk_src,
            disk: $disk,
            sync_disk: $sync_disk,
        }),*];
    };
    (@numbers $number:expr; $mix:ident $($rest:ident)*) => {
        #[doc = concat!("The mix ", stringify!($mix), ".")]
        pub(crate) const $mix: usize = $number;
        mixes!(@numbers $number + 1; $($rest)*);
    };
    (@numbers $number:expr;) => {};
}

mixes! {
    // creat_clo, link_test, disk_src, disk_*, sync_disk_*
    ALL_TESTS: 10 10 20 200 80;
    CUSTOM: 10 10 20 200 20;
    DBASE: 0 0 0 80 60;
    DISK: 0 0 20 300 80;
    FSERVER: 20 20 30 150 15;
    NEW_DBASE: 0 0 0 140 20;
    NEW_FSERVER: 20 20 30 150 0;
    SHARED: 10 10 20 100 30;
}

/// Passes of a job.
const CREATS: u32 = 1000;
const LINKS: u32 = 63;
const SOURCES: u32 = 75;
const BLOCKS: u32 = 20;
const SYNC_BLOCKS: u32 = 10;

/// Bytes of a block.
const BLOCK: usize = 1024;
/// Blocks of a file.
const FILE_BLOCKS: u64 = 10;

const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// A few calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Creat,
    Link,
    Source,
    Block,
    Temporary,
}

impl Hits {
    /// Each kind of pass, and how many there are in all jobs of the mix.
    fn passes(&self) -> [(Pass, u32); 5] {
        [
            (Pass::Creat, self.creat_clo * CREATS),
            (Pass::Link, self.link_test * LINKS),
            (Pass::Source, self.disk_src * SOURCES),
            (Pass::Block, self.disk * BLOCKS + self.sync_disk * SYNC_BLOCKS),
            (Pass::Temporary, self.disk + self.sync_disk),
        ]
    }

    /// The pass at `at` of all of them in a row.
    fn pass(&self, mut at: u32) -> Pass {
        for (pass, count) in self.passes() {
            if at < count {
                return pass;
            }
            at -= count;
        }
        Pass::Block
    }

    fn all(&self) -> u32 {
        self.passes().iter().map(|(_, count)| count).sum()
    }
}

/// A task's files, and where its draws stand.
pub(crate) struct Task {
    /// Made anew again and again.
    own: CString,
    /// Has blocks.
    data: Fd,
    /// Named again and again.
    linked: [CString; 2],
    /// Comes and goes.
    source: CString,
    block: u64,
    draws: u64,
    buf: Box<[u8; BLOCK]>,
}

/// The jobs of the mix of that number.
pub(crate) struct Mix<const NUMBER: usize>;

impl<const NUMBER: usize> Workload for Mix<NUMBER> {
    const INFO: Info = Info {
        name: "aim7",
        aliases: &[],
        summary: "file-system jobs of a mix of AIM7",
        origin: "mail 002 (ext4 orphan list, 2014): AIM7, re-aim 7",
        calls: Calls::Create,
        shared: Shared::Directory,
        suites: &[],
        params: &[],
        modes: &[TaskMode::Process, TaskMode::Thread],
        operation: "one pass of a subtest",
        needs: &[Capability::Create, Capability::Write, Capability::Truncate],
        background: false,
        demand: |_| Demand { fds: 2, inodes: 5, bytes: FILE_BLOCKS * BLOCK as u64, ..Demand::NONE },
    };
    type Task = Task;

    fn task<F: FileSystem>(fs: &F, place: &Place) -> Result<Task, Failure> {
        let path = |kind: &str| place.path(&format!("{kind}{}", place.task));
        let make = |path: &CStr| fs.open(path, OFlags::RDWR | OFlags::CREATE, PRIVATE);
        let mut task = Task {
            own: path("f"),
            data: make(&path("d"))?,
            linked: [path("l"), path("m")],
            source: path("s"),
            block: 0,
            draws: place.task as u64,
            buf: Box::new([b'x'; BLOCK]),
        };
        fs.close(make(&task.own)?)?;
        fs.close(make(&task.linked[0])?)?;
        fs.link(&task.linked[0], &task.linked[1])?;
        for _ in 0..FILE_BLOCKS {
            expect_len(Call::Write, fs.write(task.data, &task.buf[..])?, BLOCK)?;
        }
        task.draws = task.draws.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Ok(task)
    }

    fn step<F: FileSystem>(fs: &F, task: &mut Task) -> Result<u64, Failure> {
        let mix = &MIXES[NUMBER];
        // Knuth's constants (MMIX); the upper bits are good enough to draw from.
        task.draws = task
            .draws
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let at = ((task.draws >> 33) * u64::from(mix.all())) >> 31;
        pass(fs, task, mix.pass(at as u32))?;
        Ok(1)
    }

    fn path(task: &Task) -> &CStr {
        &task.own
    }
}

fn creat<F: FileSystem>(fs: &F, path: &CStr) -> Result<(), Failure> {
    fs.close(fs.open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, PRIVATE)?)
}

fn pass<F: FileSystem>(fs: &F, task: &mut Task, pass: Pass) -> Result<(), Failure> {
    match pass {
        Pass::Creat => creat(fs, &task.own),
        Pass::Link => {
            fs.unlink(&task.linked[1])?;
            fs.link(&task.linked[0], &task.linked[1])
        }
        Pass::Source => {
            fs.stat(&task.own)?;
            creat(fs, &task.source)?;
            fs.unlink(&task.source)
        }
        Pass::Block => {
            task.block = (task.block + 3) % FILE_BLOCKS;
            fs.seek(task.data, task.block * BLOCK as u64)?;
            if task.block.is_multiple_of(2) {
                expect_len(Call::Read, fs.read(task.data, &mut task.buf[..])?, BLOCK)
            } else {
                expect_len(Call::Write, fs.write(task.data, &task.buf[..])?, BLOCK)
            }
        }
        Pass::Temporary => {
            creat(fs, &task.source)?;
            fs.unlink(&task.source)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_cut_into_its_passes() {
        let mix = &MIXES[ALL_TESTS];
        assert_eq!(mix.all(), 10_000 + 630 + 1500 + 4800 + 280);
        let draws: Vec<Pass> = (0..mix.all()).map(|at| mix.pass(at)).collect();
        for (pass, count) in mix.passes() {
            assert_eq!(draws.iter().filter(|drawn| **drawn == pass).count(), count as usize);
        }
    }

    #[test]
    fn mixes_without_creat_clo_never_cut_an_existing_file() {
        for number in [DBASE, NEW_DBASE, DISK] {
            let mix = &MIXES[number];
            assert!((0..mix.all()).all(|at| mix.pass(at) != Pass::Creat), "{number}");
        }
    }
}
