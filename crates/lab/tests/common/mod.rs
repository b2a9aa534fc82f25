//! What the tests of the whole VFS share: random calls.

// Each test file is a crate of its own and uses a part of it.
#![allow(dead_code)]

use lab::vfs::Task;
use machine::Real;
use vfs_api::OFlags;

/// Makes the file if it is not there.
pub(crate) const CREATE: OFlags = OFlags::RDWR.union(OFlags::CREATE);

pub(crate) type LabTask = Task<Real>;

/// Runs `f` between a task's beginning and end to make calls.
pub(crate) fn calling<R>(task: &LabTask, f: impl FnOnce(&LabTask) -> R) -> R {
    /// After a panic, too: the others would wait for it for ever.
    struct Leave<'a>(&'a LabTask);
    impl Drop for Leave<'_> {
        fn drop(&mut self) {
            self.0.leave();
        }
    }
    task.enter();
    let _leave = Leave(task);
    f(task)
}

/// A small generator (xorshift64*).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    /// One of few.
    pub(crate) fn path(&mut self) -> &'static [u8] {
        const PATHS: [&[u8]; 12] = [
            b"/d", b"/e", b"/d/e", b"/d/f", b"/e/f", b"f", b"e", b"../f", b"/d/e/f", b"/g", b".",
            b"d/",
        ];
        PATHS[self.below(PATHS.len() as u64) as usize]
    }
}

/// One call; what it answers is nobody's business.
pub(crate) fn anything(task: &LabTask, random: &mut Random) {
    let fd = random.below(12) as i32;
    let (path, other) = (random.path(), random.path());
    let _ = match random.below(24) {
        0..=3 => task.open(path, CREATE).map(drop),
        4 => task.open(path, OFlags::RDONLY).map(drop),
        5 => task.open(path, CREATE | OFlags::TRUNC).map(drop),
        6..=9 => task.close(fd),
        10 => task.read(fd, &mut [0; 100]).map(drop),
        11 | 12 => task.write(fd, &[7; 100]).map(drop),
        13 => task.ftruncate(fd, random.below(100)),
        14 => task.dup(fd).map(drop),
        15 => task.stat(path).map(drop),
        16 | 17 => task.unlink(path),
        18 => task.link(path, other),
        19 | 20 => task.rename(path, other),
        21 => task.mkdir(path),
        22 => task.rmdir(path),
        _ => task.chdir(path),
    };
}
