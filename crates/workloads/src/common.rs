//! What several workloads do the same way while they prepare; nothing here is measured.

use std::ffi::CStr;
use vfs_api::{Call, Failure, Fd, FileSystem, Mode, OFlags, TaskMode, expect_len};

/// Process and thread mode.
pub(crate) const BOTH: &[TaskMode] = &[TaskMode::Process, TaskMode::Thread];

/// Permissions of every file made here: the owner's only, for the directory may be public.
pub(crate) const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

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
