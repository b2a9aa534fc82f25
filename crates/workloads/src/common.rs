//! What several workloads do the same way while they prepare, and how they describe themselves; nothing here is measured.

use std::ffi::{CStr, CString};
use vfs_api::{
    Call, Calls, Demand, Failure, Fd, FileSystem, Info, Mode, OFlags, Place, Shared, TaskMode,
    expect_len,
};

/// Process and thread mode.
pub(crate) const BOTH: &[TaskMode] = &[TaskMode::Process, TaskMode::Thread];

/// Permissions of every file made here: the owner's only, for the directory may be public.
pub(crate) const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Permissions of every directory made here.
pub(crate) const PRIVATE_DIR: Mode = Mode::RWXU;

/// Bytes of a transfer where nothing else is said.
pub(crate) const BLOCK: usize = 4096;

/// What most workloads have in common; each says at least its name, summary, origin, suites and operation.
pub(crate) const INFO: Info = Info {
    name: "",
    aliases: &[],
    summary: "",
    origin: "",
    calls: Calls::Open,
    shared: Shared::Directory,
    suites: &[],
    params: &[],
    modes: BOTH,
    operation: "",
    needs: &[],
    background: false,
    demand: |_| Demand::one_file(0),
};

/// A buffer of a block, at the start of a page as direct I/O wants it.
#[repr(align(4096))]
pub(crate) struct Block(pub(crate) [u8; BLOCK]);

impl Block {
    /// Full of x.
    pub(crate) fn new() -> Box<Block> {
        Box::new(Block([b'x'; BLOCK]))
    }
}

/// Makes an empty file and leaves it open for reading and writing.
pub(crate) fn create<F: FileSystem>(fs: &F, path: &CStr) -> Result<Fd, Failure> {
    fs.open(path, OFlags::RDWR | OFlags::CREATE, PRIVATE)
}

/// Makes an empty file.
pub(crate) fn create_closed<F: FileSystem>(fs: &F, path: &CStr) -> Result<(), Failure> {
    let fd = create(fs, path)?;
    fs.close(fd)
}

/// Makes the file as long as `data` by one write from its start.
pub(crate) fn fill<F: FileSystem>(fs: &F, fd: Fd, data: &[u8]) -> Result<(), Failure> {
    fs.seek(fd, 0)?;
    let written = fs.write(fd, data)?;
    expect_len(Call::Write, written, data.len())
}

/// Writes so many blocks from the start of a file.
pub(crate) fn fill_blocks<F: FileSystem>(fs: &F, fd: Fd, blocks: u64) -> Result<(), Failure> {
    let block = Block::new();
    for at in 0..blocks {
        let written = fs.pwrite(fd, &block.0, at * BLOCK as u64)?;
        expect_len(Call::Pwrite, written, BLOCK)?;
    }
    Ok(())
}

/// Makes the task's own directory and answers its path.
pub(crate) fn make_own_dir<F: FileSystem>(fs: &F, place: &Place) -> Result<CString, Failure> {
    let dir = place.own_dir();
    fs.mkdir(&dir, PRIVATE_DIR)?;
    Ok(dir)
}

/// The path of `name` in `dir`.
pub(crate) fn in_dir(dir: &CStr, name: &str) -> CString {
    let mut path = dir.to_bytes().to_vec();
    path.push(b'/');
    path.extend_from_slice(name.as_bytes());
    CString::new(path).expect("names of workloads hold no NUL")
}
