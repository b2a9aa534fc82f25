//! tiobench: threads that write and read a file of their own, in order and at random, one phase after the other (mail 001).
//!
//! Shared: in thread mode the fd table; the super block; nothing of a file, for each task has its own.
//! Should scale: reading, with the memory's bandwidth; writing, as far as the allocation of pages and blocks does.
//! Moves: in thread mode the fd table's lock or the file's reference count, once per call that names a descriptor: a sequential
//! operation is one call, a random one with lseek two, with pread or pwrite one.
//! Did not scale: 2.6.7, where every look-up took the spinlock of the fd table (mail 001).
//!
//! Phases and what is timed are those of tiotest 0.3.3: a file is opened, sought to its start, written or read in blocks, synced
//! where it was written, and closed; only the transfer counts for the latency, everything for the rate. Two things differ. The random
//! blocks are drawn from all of the file (tiotest never drew the last one), from a generator that is seeded by the task's number
//! and not by the time of day. And `access=pread` is what tiotest has done since 2003: no lseek.

use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Capability, Demand, Failure, Fd, FileSystem, Info, Meter, Mode, OFlags, Param,
    Params, Phase, Phased, Place, Rate, Shared, Suite, TaskMode, expect_len,
};

/// Bytes of a task's file.
pub const SIZE: Param = Param::bytes("size", "of each task's file", (1 << 10, 1 << 40), 100 << 20);
/// Bytes of a transfer.
pub const BLOCK: Param = Param::bytes("block", "of a transfer", (512, 1 << 20), 4096);
/// Operations of a random phase.
pub const RANDOM_OPS: Param = Param::number(
    "random_ops",
    "operations of each task in a random phase; 0: as many as the file has blocks",
    (0, 1 << 40),
    0,
);
/// How a random block is reached.
pub const ACCESS: Param = Param::word(
    "access",
    "how a random block is reached: lseek and a transfer (tiotest 0.3.3), or one call (later)",
    &["lseek", "pread"],
);

/// Blocks of a file where time is virtual: the caches of a simulated machine are warm after it was read once.
const SIMULATED_BLOCKS: u64 = 16;
/// Operations of a task in each phase there: enough that the first ones, which find the caches cold, do not weigh.
const SIMULATED_STEPS: u64 = 640;

const SEQ_WRITE: usize = 0;
const RAND_WRITE: usize = 1;
const SEQ_READ: usize = 2;
const RAND_READ: usize = 3;

/// See the module's header.
pub struct Tiobench;

/// One's file and where one stands in it.
pub struct Task {
    path: CString,
    /// Open during a phase.
    fd: Fd,
    blocks: u64,
    block: usize,
    random_ops: u64,
    pread: bool,
    random: fastrand::Rng,
    buf: Vec<u8>,
}

impl Task {
    fn fill<F: FileSystem>(&mut self, fs: &F) -> Result<(), Failure> {
        expect_len(Call::Write, fs.write(self.fd, &self.buf)?, self.block)
    }

    /// Where a random block begins.
    fn draw(&mut self) -> u64 {
        self.random.u64(..self.blocks) * self.block as u64
    }
}

/// Blocks of a task's file.
fn blocks(params: &Params) -> u64 {
    params.number(&SIZE) / params.number(&BLOCK)
}

impl Phased for Tiobench {
    const INFO: Info = Info {
        name: "tiobench",
        aliases: &[],
        summary: "write and read a file of one's own, in order and at random; MB/s and latencies",
        origin: "mail 001 (lock-free fd look-up, 2004): tiobench 0.3.3",
        calls: Calls::Read,
        shared: Shared::Descriptors,
        suites: &[Suite::Mails],
        params: &[SIZE, BLOCK, RANDOM_OPS, ACCESS],
        modes: &[TaskMode::Thread, TaskMode::Process],
        operation: "one transfer of a block",
        needs: &[Capability::Create, Capability::Write, Capability::Truncate],
        background: false,
        demand: |params| Demand {
            fds: 1,
            inodes: 1,
            bytes: blocks(params) * params.number(&BLOCK),
            ..Demand::NONE
        },
    };

    const PHASES: &'static [Phase] = &[
        Phase { suffix: "_seq_write", title: "Sequential Writes" },
        Phase { suffix: "_rand_write", title: "Random Writes" },
        Phase { suffix: "_seq_read", title: "Sequential Reads" },
        Phase { suffix: "_rand_read", title: "Random Reads" },
    ];

    type Task = Task;

    fn rate(params: &Params) -> Rate {
        let block_bytes = params.number(&BLOCK);
        Rate {
            unit: "MB/s",
            per_op: block_bytes as f64 / f64::from(1 << 20),
            block_bytes,
            file_bytes: blocks(params) * block_bytes,
        }
    }

    fn check(params: &Params) -> Result<(), String> {
        match blocks(params) {
            0 => Err("a file of less than one block: size is smaller than block".into()),
            _ => Ok(()),
        }
    }

    fn simulated(params: &Params) -> Params {
        let bytes = params.number(&BLOCK) * SIMULATED_BLOCKS.min(blocks(params));
        params.clone().with(&SIZE, &bytes.max(1 << 10).to_string()).unwrap_or(params.clone())
    }

    fn task<F: FileSystem>(_fs: &F, place: &Place) -> Result<Task, Failure> {
        let params = &place.params;
        let block = params.number(&BLOCK) as usize;
        let random_ops = match params.number(&RANDOM_OPS) {
            0 => blocks(params),
            ops => ops,
        };
        let mut random = fastrand::Rng::with_seed(place.task as u64);
        Ok(Task {
            path: place.own_path(),
            fd: Fd(-1),
            blocks: blocks(params),
            block,
            random_ops,
            pread: params.is(&ACCESS, "pread"),
            buf: std::iter::repeat_with(|| random.u8(..)).take(block).collect(),
            random,
        })
    }

    fn catch_up<F: FileSystem>(fs: &F, task: &mut Task, phase: usize) -> Result<(), Failure> {
        if phase == SEQ_WRITE {
            return Ok(());
        }
        Self::begin(fs, task, SEQ_WRITE, 1)?;
        for _ in 0..task.blocks {
            task.fill(fs)?;
        }
        fs.close(task.fd)
    }

    fn begin<F: FileSystem>(
        fs: &F,
        task: &mut Task,
        phase: usize,
        _tasks: usize,
    ) -> Result<(), Failure> {
        let flags = match phase {
            SEQ_WRITE => OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC,
            RAND_WRITE => OFlags::RDWR,
            _ => OFlags::RDONLY,
        };
        task.fd = fs.open(&task.path, flags, Mode::RUSR | Mode::WUSR)?;
        if matches!(phase, SEQ_WRITE | SEQ_READ) {
            fs.seek(task.fd, 0)?;
        }
        Ok(())
    }

    fn steps(task: &Task, phase: usize) -> u64 {
        match phase {
            SEQ_WRITE | SEQ_READ => task.blocks,
            _ => task.random_ops,
        }
    }

    fn simulated_steps(_task: &Task, _phase: usize) -> u64 {
        SIMULATED_STEPS
    }

    #[inline]
    fn step<F: FileSystem>(
        fs: &F,
        task: &mut Task,
        phase: usize,
        step: u64,
        meter: &mut impl Meter,
    ) -> Result<(), Failure> {
        let (fd, block) = (task.fd, task.block);
        match (phase, task.pread) {
            (SEQ_WRITE | SEQ_READ, _) => {
                // Only where time is virtual are there more steps than blocks.
                if step > 0 && step.is_multiple_of(task.blocks) {
                    fs.seek(fd, 0)?;
                }
            }
            (_, false) => {
                let at = task.draw();
                fs.seek(fd, at)?;
            }
            (RAND_READ, true) => {
                let at = task.draw();
                return meter
                    .timed(|| expect_len(Call::Pread, fs.pread(fd, &mut task.buf, at)?, block));
            }
            (_, true) => {
                let at = task.draw();
                return meter
                    .timed(|| expect_len(Call::Pwrite, fs.pwrite(fd, &task.buf, at)?, block));
            }
        }
        match phase {
            SEQ_READ | RAND_READ => {
                meter.timed(|| expect_len(Call::Read, fs.read(fd, &mut task.buf)?, block))
            }
            _ => meter.timed(|| task.fill(fs)),
        }
    }

    fn end<F: FileSystem>(fs: &F, task: &mut Task, phase: usize) -> Result<(), Failure> {
        // A model has no disk that its files could have to be brought to.
        if matches!(phase, SEQ_WRITE | RAND_WRITE) && !fs.is_model() {
            fs.fsync(task.fd)?;
        }
        fs.close(task.fd)
    }

    fn path(task: &Task) -> &CStr {
        &task.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str) -> Params {
        Params::parse(Tiobench::INFO.params, text).unwrap()
    }

    #[test]
    fn a_file_has_whole_blocks_and_the_rate_counts_them() {
        let rate = Tiobench::rate(&params("size=10000,block=4K"));
        assert_eq!((rate.file_bytes, rate.block_bytes), (8192, 4096));
        // 256 blocks of 4 KiB are one MB.
        assert_eq!(rate.per_op * 256.0, 1.0);
        assert_eq!((Tiobench::INFO.demand)(&params("size=10000")).bytes, 8192);
        assert!(Tiobench::check(&params("size=2K,block=4K")).is_err());
        assert!(Tiobench::check(&params("size=4K,block=4K")).is_ok());
    }

    #[test]
    fn a_simulated_file_is_small() {
        let small = Tiobench::simulated(&params("size=100M"));
        assert_eq!(blocks(&small), 16);
        let tiny = params("size=8K,block=4K");
        assert_eq!(Tiobench::simulated(&tiny), tiny);
        assert_eq!(blocks(&Tiobench::simulated(&params("block=512"))), 16);
    }
}
