//! pread, pwrite and fallocate: what is done with an open file at an offset of the caller's.

use super::Task;
use super::open::{MAX_BYTES, read_at, reads, verify_area, writes};
use crate::object::Kind;
use machine::Platform;
use vfs_api::Errno;

/// What ksys_pread64 and ksys_pwrite64 refuse before they look at the descriptor.
fn check_offset(offset: u64) -> Result<(), Errno> {
    if offset > i64::MAX as u64 { Err(Errno::INVAL) } else { Ok(()) }
}

impl<P: Platform> Task<P> {
    /// pread(2).
    ///
    /// # Errors
    /// As Linux.
    pub fn pread(&self, fd: i32, buf: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.call(|kernel, cx| {
            check_offset(offset)?;
            self.with_file(kernel, cx, fd, |_, body| {
                if !reads(body.flags) {
                    return Err(Errno::BADF);
                }
                verify_area(offset, buf.len())?;
                // SAFETY: the file holds its dentry, which holds its inode.
                let inode = unsafe { body.inode.get() };
                match inode.kind {
                    Kind::Directory => Err(Errno::ISDIR),
                    Kind::Regular => Ok(read_at(inode, offset, buf)),
                }
            })
        })
    }

    /// pwrite(2). Appends where the file was opened so, as Linux does against POSIX.
    ///
    /// # Errors
    /// As Linux.
    pub fn pwrite(&self, fd: i32, buf: &[u8], offset: u64) -> Result<usize, Errno> {
        self.call(|kernel, cx| {
            check_offset(offset)?;
            self.with_file(kernel, cx, fd, |_, body| {
                if !writes(body.flags) {
                    return Err(Errno::BADF);
                }
                verify_area(offset, buf.len())?;
                // SAFETY: the file holds its dentry, which holds its inode.
                let inode = unsafe { body.inode.get() };
                inode.lock.lock(cx);
                let written = kernel.write_at(cx, offset, body, inode, buf);
                inode.lock.unlock(cx);
                Ok(written?.bytes)
            })
        })
    }

    /// fallocate(2) with mode 0. Room is not counted here; what is left is that the file is at least that long.
    ///
    /// # Errors
    /// As Linux.
    pub fn fallocate(&self, fd: i32, offset: u64, len: u64) -> Result<(), Errno> {
        self.call(|kernel, cx| {
            self.with_file(kernel, cx, fd, |_, body| {
                if offset > i64::MAX as u64 || len == 0 || len > i64::MAX as u64 {
                    return Err(Errno::INVAL);
                }
                if !writes(body.flags) {
                    return Err(Errno::BADF);
                }
                let end = offset + len;
                if end > MAX_BYTES {
                    return Err(Errno::FBIG);
                }
                // SAFETY: the file holds its dentry, which holds its inode.
                let inode = unsafe { body.inode.get() };
                inode.lock.lock(cx);
                if end > inode.data.size() {
                    kernel.truncate(cx, inode, end);
                }
                inode.lock.unlock(cx);
                Ok(())
            })
        })
    }
}
