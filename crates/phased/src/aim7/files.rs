//! The jobs of AIM7 that work on files of the file system under test.

use super::mixes::{Caching, Kind, Pattern};
use std::ffi::{CStr, CString};
use vfs_api::{Call, Demand, Failure, Fd, FileSystem, Mode, OFlags, Place, expect, expect_len};

/// Bytes of a transfer.
const BLOCK: usize = 1024;
/// With O_DIRECT: what every device takes.
const DIRECT_BLOCK: usize = 4096;
/// Bytes of a user's file: so many, ...
const FILE: u64 = 10 << 10;
/// ... and the user's share of this.
const POOL: u64 = 1 << 20;
/// Files in the directory that is searched.
const SOURCES: usize = 345;
/// Searches of a job.
const SEARCHES: usize = 75;
/// Creations of a job.
const CREATIONS: usize = 1000;
/// Names of the file that is linked, and how often each but the first is made anew.
const NAMES: usize = 8;
const LINKINGS: usize = 9;

const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// At most: the file that is written, its names, the one in the shared directory, a fifo; the pool is divided among all users,
/// and a copy is as large as a file.
pub(super) const DEMAND: Demand = Demand {
    fds: 16,
    inodes: 6,
    bytes: 2 * (FILE + BLOCK as u64),
    shared_inodes: SOURCES as u64 + 2,
    shared_bytes: 2 * POOL + (POOL + FILE),
    ..Demand::NONE
};

/// A page that O_DIRECT takes.
#[repr(align(4096))]
struct Page([u8; DIRECT_BLOCK]);

/// Makes the directory that is searched and the file that is copied.
pub(super) fn prepare<F: FileSystem>(fs: &F, place: &Place) -> Result<(), Failure> {
    fs.mkdir(&place.path("fakeh"), Mode::RWXU)?;
    for number in 0..SOURCES {
        fs.close(creat(fs, &source(place, number), OFlags::empty())?)?;
    }
    let common = creat(fs, &place.shared_path(), OFlags::empty())?;
    for _ in 0..(POOL + FILE).div_ceil(DIRECT_BLOCK as u64) {
        let page = [b'c'; DIRECT_BLOCK];
        expect_len(Call::Write, fs.write(common, &page)?, page.len())?;
    }
    fs.close(common)
}

/// A name in the searched directory. Scrambled, so that neighbours in the order of creation are none in the directory.
fn source(place: &Place, number: usize) -> CString {
    let scrambled = (number as u32).wrapping_mul(2_654_435_761);
    place.path(&format!("fakeh/{scrambled:08x}.c"))
}

fn creat<F: FileSystem>(fs: &F, path: &CStr, flags: OFlags) -> Result<Fd, Failure> {
    fs.open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | flags, PRIVATE)
}

/// A user's files.
pub(super) struct Files {
    own: CString,
    common: CString,
    links: [CString; NAMES],
    sources: Vec<CString>,
    new_source: CString,
    bytes: u64,
    random: fastrand::Rng,
    page: Box<Page>,
}

impl Files {
    pub(super) fn new(place: &Place) -> Files {
        let task = place.task;
        Files {
            own: place.own_path(),
            common: place.shared_path(),
            links: std::array::from_fn(|link| place.path(&format!("l{task}.{link}"))),
            sources: (0..SOURCES).map(|number| source(place, number)).collect(),
            new_source: place.path(&format!("fakeh/new{task}")),
            bytes: FILE,
            random: fastrand::Rng::with_seed(task as u64),
            page: Box::new(Page([b'x'; DIRECT_BLOCK])),
        }
    }

    /// The files of so many users share the pool.
    pub(super) fn size_for(&mut self, users: usize) {
        self.bytes = FILE + POOL / users.max(1) as u64;
    }

    pub(super) fn path(&self) -> &CStr {
        &self.own
    }

    pub(super) fn run<F: FileSystem>(&mut self, fs: &F, kind: Kind) -> Result<(), Failure> {
        match kind {
            Kind::CreatClose => self.creat_close(fs),
            Kind::Link => self.link(fs),
            Kind::DiskSource => self.search(fs),
            Kind::Disk(pattern, caching) => self.disk(fs, pattern, caching),
            Kind::Machine(_) => Ok(()),
        }
    }

    fn creat_close<F: FileSystem>(&self, fs: &F) -> Result<(), Failure> {
        for _ in 0..CREATIONS {
            fs.close(creat(fs, &self.own, OFlags::empty())?)?;
        }
        fs.unlink(&self.own)
    }

    fn link<F: FileSystem>(&self, fs: &F) -> Result<(), Failure> {
        let [first, others @ ..] = &self.links;
        fs.close(creat(fs, first, OFlags::empty())?)?;
        for name in others {
            fs.link(first, name)?;
        }
        for _ in 0..LINKINGS {
            for name in others {
                fs.unlink(name)?;
                fs.link(first, name)?;
            }
        }
        expect(Call::Stat, fs.stat(first)?.nlink == NAMES as u64)?;
        self.links.iter().try_for_each(|name| fs.unlink(name))
    }

    fn search<F: FileSystem>(&mut self, fs: &F) -> Result<(), Failure> {
        for _ in 0..SEARCHES {
            fs.stat(&self.sources[self.random.usize(..SOURCES)])?;
            fs.close(creat(fs, &self.new_source, OFlags::empty())?)?;
            fs.unlink(&self.new_source)?;
        }
        Ok(())
    }

    fn disk<F: FileSystem>(
        &mut self,
        fs: &F,
        pattern: Pattern,
        caching: Caching,
    ) -> Result<(), Failure> {
        // A model has neither a page cache nor a disk.
        let (flags, block) = match caching {
            Caching::Direct if fs.is_model() => (OFlags::empty(), DIRECT_BLOCK),
            Caching::Direct => (OFlags::DIRECT, DIRECT_BLOCK),
            Caching::Synchronous if !fs.is_model() => (OFlags::SYNC, BLOCK),
            _ => (OFlags::empty(), BLOCK),
        };
        let halves = if caching == Caching::Synchronous { 2 } else { 1 };
        let job = Job {
            flags,
            block,
            blocks: (self.bytes.div_ceil(block as u64) / halves).max(1),
            synced: caching == Caching::Synced && !fs.is_model(),
        };
        if pattern == Pattern::Duplicate {
            return self.copy(fs, &job);
        }
        let fd = creat(fs, &self.own, flags)?;
        self.write(fs, fd, &job)?;
        if pattern == Pattern::Write {
            fs.unlink(&self.own)?;
            job.sync(fs, fd)?;
            return fs.close(fd);
        }
        job.sync(fs, fd)?;
        fs.close(fd)?;
        let fd = fs.open(&self.own, OFlags::RDWR | flags, PRIVATE)?;
        for _ in 0..job.blocks {
            if pattern != Pattern::Read {
                fs.seek(fd, self.random.u64(..job.blocks) * block as u64)?;
            }
            let buf = &mut self.page.0[..block];
            if pattern != Pattern::RandomWrite {
                expect_len(Call::Read, fs.read(fd, buf)?, block)?;
            }
            if matches!(pattern, Pattern::RandomWrite | Pattern::Update) {
                expect_len(Call::Write, fs.write(fd, buf)?, block)?;
            }
        }
        job.sync(fs, fd)?;
        fs.close(fd)?;
        fs.unlink(&self.own)
    }

    fn write<F: FileSystem>(&self, fs: &F, fd: Fd, job: &Job) -> Result<(), Failure> {
        for _ in 0..job.blocks {
            expect_len(Call::Write, fs.write(fd, &self.page.0[..job.block])?, job.block)?;
        }
        Ok(())
    }

    fn copy<F: FileSystem>(&mut self, fs: &F, job: &Job) -> Result<(), Failure> {
        let from = fs.open(&self.common, OFlags::RDONLY | (job.flags & OFlags::DIRECT), PRIVATE)?;
        let to = creat(fs, &self.own, job.flags)?;
        let buf = &mut self.page.0[..job.block];
        for _ in 0..job.blocks {
            expect_len(Call::Read, fs.read(from, buf)?, job.block)?;
            expect_len(Call::Write, fs.write(to, buf)?, job.block)?;
        }
        job.sync(fs, to)?;
        fs.close(from)?;
        fs.close(to)?;
        fs.unlink(&self.own)
    }
}

/// How a job on a file of one's own does it.
struct Job {
    flags: OFlags,
    block: usize,
    blocks: u64,
    synced: bool,
}

impl Job {
    fn sync<F: FileSystem>(&self, fs: &F, fd: Fd) -> Result<(), Failure> {
        if self.synced { fs.fsync(fd) } else { Ok(()) }
    }
}
