//! open, close, and what is done with an open file.

use super::{Kernel, Task};
use crate::object::{File, FileBody, Inode, Kind, Raw};
use crate::path_walk::Path;
use machine::{Cx, Plain, Platform, Word};
use std::sync::atomic::Ordering::Relaxed;
use vfs_api::{Errno, OFlags, Stat};

/// Longest file of this file system. Its data is kept in memory; s_maxbytes says EFBIG beyond.
pub(super) const MAX_BYTES: u64 = 1 << 32;

/// Whether the flags ask for writing.
pub(super) fn writes(flags: OFlags) -> bool {
    let access = flags & OFlags::RWMODE;
    access == OFlags::WRONLY || access == OFlags::RDWR
}

pub(super) fn reads(flags: OFlags) -> bool {
    let access = flags & OFlags::RWMODE;
    access == OFlags::RDONLY || access == OFlags::RDWR
}

/// What rw_verify_area refuses: offsets must not reach beyond the largest number.
pub(super) fn verify_area(at: u64, len: usize) -> Result<(), Errno> {
    at.checked_add(len as u64).filter(|end| *end <= i64::MAX as u64).map(|_| ()).ok_or(Errno::INVAL)
}

/// What a write came to.
pub(super) struct Written {
    /// Bytes written.
    pub(super) bytes: usize,
    /// Where the offset of the descriptor goes, if it moves.
    pub(super) end: Option<u64>,
}

/// The next descriptor position of a file that only its reader or writer moves at a time (f_pos; two threads that use one
/// descriptor at once race for it as they did in Linux before 3.14).
fn position<P: Platform>(file: &File<P>) -> u64 {
    file.pos.load(Relaxed)
}

impl<P: Platform> Task<P> {
    /// open(2). The mode of a new file is not kept: everybody is root here.
    ///
    /// # Errors
    /// As Linux.
    pub fn open(&self, path: &[u8], flags: OFlags) -> Result<i32, Errno> {
        self.call(|kernel, cx| {
            // build_open_flags, before getname
            if flags.contains(OFlags::CREATE | OFlags::DIRECTORY) {
                return Err(Errno::INVAL);
            }
            super::names::check_length(path)?;
            let fd = self.fds().reserve(cx)?;
            match self.open_file(kernel, cx, path, flags) {
                Ok(file) => {
                    self.fds().install(cx, fd, file);
                    Ok(fd)
                }
                Err(errno) => {
                    self.fds().unreserve(cx, fd);
                    Err(errno)
                }
            }
        })
    }

    fn open_file(
        &self,
        kernel: &Kernel<P>,
        cx: Cx<'_, P>,
        path: &[u8],
        flags: OFlags,
    ) -> Result<Raw<File<P>>, Errno> {
        let (path, created) = if flags.contains(OFlags::CREATE) {
            self.find_or_create(kernel, cx, path, flags)?
        } else {
            (kernel.walk.walk(cx, self.fs(), kernel, path)?, false)
        };
        let opened = kernel.open_path(cx, path, flags, created);
        if opened.is_err() {
            kernel.put_path(cx, path);
        }
        opened
    }

    /// The O_CREAT half of open: answers the file's path, with references, and whether it was made.
    fn find_or_create(
        &self,
        kernel: &Kernel<P>,
        cx: Cx<'_, P>,
        path: &[u8],
        flags: OFlags,
    ) -> Result<(Path<P>, bool), Errno> {
        if !kernel.dir_locks.create_locks_always() && !flags.contains(OFlags::EXCL) {
            // Since 6.12: a name that is there is found without the directory's lock.
            match kernel.walk.walk(cx, self.fs(), kernel, path) {
                Ok(found) if !super::names::has_trailing_slash(path) => return Ok((found, false)),
                Ok(found) => kernel.put_path(cx, found),
                Err(_) => {}
            }
        }
        let (parent, last) = match self.walk_parent(kernel, cx, path)? {
            (parent, super::names::Last::Name(name)) => (parent, name),
            (parent, _) => {
                // ".", ".." or "/": a directory that exists.
                kernel.put_path(cx, parent);
                let found = kernel.walk.walk(cx, self.fs(), kernel, path)?;
                return Ok((found, false));
            }
        };
        let result = if super::names::has_trailing_slash(path) {
            Err(Errno::ISDIR)
        } else {
            self.create_in(kernel, cx, parent, last)
        };
        kernel.put_path(cx, parent);
        result
    }

    fn create_in(
        &self,
        kernel: &Kernel<P>,
        cx: Cx<'_, P>,
        parent: Path<P>,
        name: &[u8],
    ) -> Result<(Path<P>, bool), Errno> {
        // SAFETY: the path holds references to both.
        let (mount, directory) = unsafe { (parent.mount.get(), parent.dentry.get()) };
        // SAFETY: the dentry holds its inode.
        let lock = &unsafe { directory.inode().get() }.lock;
        lock.lock(cx);
        let result = match kernel.look_up(cx, directory, name) {
            Err(errno) => Err(errno),
            Ok(Some(dentry)) => Ok((dentry, false)),
            Ok(None) => kernel.create(cx, parent, name).map(|dentry| (dentry, true)),
        };
        lock.unlock(cx);
        let (dentry, created) = result?;
        mount.refs.get(cx);
        Ok((kernel.cross(cx, Path { mount: parent.mount, dentry }), created))
    }

    /// close(2).
    ///
    /// # Errors
    /// EBADF.
    pub fn close(&self, fd: i32) -> Result<(), Errno> {
        self.call(|kernel, cx| self.close_file(kernel, cx, fd))
    }

    /// dup(2).
    ///
    /// # Errors
    /// EBADF, EMFILE.
    pub fn dup(&self, fd: i32) -> Result<i32, Errno> {
        self.dup_to(fd, |cx| self.fds().reserve(cx))
    }

    /// fcntl(2) with F_DUPFD: the lowest free descriptor from `least` on.
    ///
    /// # Errors
    /// EBADF, EMFILE; EINVAL if no descriptor can be that high.
    pub fn dup_from(&self, fd: i32, least: i32) -> Result<i32, Errno> {
        self.dup_to(fd, |cx| {
            let least = usize::try_from(least).map_err(|_| Errno::INVAL)?;
            if least >= self.fd_limit() {
                return Err(Errno::INVAL);
            }
            self.fds().reserve_from(cx, least)
        })
    }

    fn dup_to(
        &self,
        fd: i32,
        reserve: impl FnOnce(Cx<'_, P>) -> Result<i32, Errno>,
    ) -> Result<i32, Errno> {
        self.call(|kernel, cx| {
            let file = self.with_file(kernel, cx, fd, |file, _| {
                kernel.fds.get_again(file);
                Ok(Raw::of(file))
            })?;
            match reserve(cx) {
                Ok(new) => {
                    self.fds().install(cx, new, file);
                    Ok(new)
                }
                Err(errno) => {
                    // SAFETY: the second reference that was just taken.
                    if kernel.fds.drop_ref(unsafe { file.get() }) {
                        kernel.release(cx, file);
                    }
                    Err(errno)
                }
            }
        })
    }

    /// read(2).
    ///
    /// # Errors
    /// As Linux.
    pub fn read(&self, fd: i32, buf: &mut [u8]) -> Result<usize, Errno> {
        self.call(|kernel, cx| {
            self.with_file(kernel, cx, fd, |file, body| {
                if !reads(body.flags) {
                    return Err(Errno::BADF);
                }
                let at = position(file);
                verify_area(at, buf.len())?;
                // SAFETY: the file holds its dentry, which holds its inode.
                let inode = unsafe { body.inode.get() };
                if inode.kind == Kind::Directory {
                    return Err(Errno::ISDIR);
                }
                let got = read_at(inode, at, buf);
                file.pos.store(at + got as u64, Relaxed);
                Ok(got)
            })
        })
    }

    /// write(2).
    ///
    /// # Errors
    /// As Linux.
    pub fn write(&self, fd: i32, buf: &[u8]) -> Result<usize, Errno> {
        self.call(|kernel, cx| {
            self.with_file(kernel, cx, fd, |file, body| {
                if !writes(body.flags) {
                    return Err(Errno::BADF);
                }
                verify_area(position(file), buf.len())?;
                // SAFETY: the file holds its dentry, which holds its inode.
                let inode = unsafe { body.inode.get() };
                inode.lock.lock(cx);
                let result = kernel.write_at(cx, position(file), body, inode, buf);
                inode.lock.unlock(cx);
                let written = result?;
                if let Some(end) = written.end {
                    file.pos.store(end, Relaxed);
                }
                Ok(written.bytes)
            })
        })
    }

    /// lseek(2), SEEK_SET.
    ///
    /// # Errors
    /// As Linux.
    pub fn seek(&self, fd: i32, offset: u64) -> Result<u64, Errno> {
        self.call(|kernel, cx| {
            self.with_file(kernel, cx, fd, |file, _| {
                if offset > i64::MAX as u64 {
                    return Err(Errno::INVAL);
                }
                file.pos.store(offset, Relaxed);
                Ok(offset)
            })
        })
    }

    /// ftruncate(2).
    ///
    /// # Errors
    /// As Linux.
    pub fn ftruncate(&self, fd: i32, len: u64) -> Result<(), Errno> {
        self.call(|kernel, cx| {
            if len > i64::MAX as u64 {
                return Err(Errno::INVAL);
            }
            self.with_file(kernel, cx, fd, |_, body| {
                // SAFETY: the file holds its dentry, which holds its inode.
                let inode = unsafe { body.inode.get() };
                if inode.kind == Kind::Directory || !writes(body.flags) {
                    return Err(Errno::INVAL);
                }
                if len > MAX_BYTES {
                    return Err(Errno::FBIG);
                }
                inode.lock.lock(cx);
                kernel.truncate(cx, inode, len);
                inode.lock.unlock(cx);
                Ok(())
            })
        })
    }

    /// fstat(2).
    ///
    /// # Errors
    /// EBADF.
    pub fn fstat(&self, fd: i32) -> Result<Stat, Errno> {
        self.call(|kernel, cx| {
            // SAFETY: the file holds its dentry, which holds its inode.
            self.with_file(kernel, cx, fd, |_, body| Ok(stat_of(unsafe { body.inode.get() })))
        })
    }
}

/// Copies what is there from an offset on.
pub(super) fn read_at<P: Platform>(inode: &Inode<P>, at: u64, buf: &mut [u8]) -> usize {
    inode.data.read(|data| {
        let rest = data.get(at as usize..).unwrap_or_default();
        let got = rest.len().min(buf.len());
        buf[..got].copy_from_slice(&rest[..got]);
        got
    })
}

/// What stat answers of an inode.
pub(super) fn stat_of<P: Platform>(inode: &Inode<P>) -> Stat {
    // Relaxed: each number for itself, as in Linux.
    let nlink = u64::from(inode.nlink.load(Relaxed));
    let size = match inode.kind {
        Kind::Directory => 0,
        Kind::Regular => inode.data.size(),
    };
    Stat { ino: u64::from(inode.ino), size, nlink }
}

impl<P: Platform> Kernel<P> {
    /// Opens what `path` is; on success the file has taken over its references.
    fn open_path(
        &self,
        cx: Cx<'_, P>,
        path: Path<P>,
        flags: OFlags,
        created: bool,
    ) -> Result<Raw<File<P>>, Errno> {
        // SAFETY: the caller's path holds references to both.
        let (mount, dentry) = unsafe { (path.mount.get(), path.dentry.get()) };
        // SAFETY: the dentry holds its inode.
        let inode = unsafe { dentry.inode().get() };
        if flags.contains(OFlags::CREATE) {
            if flags.contains(OFlags::EXCL) && !created {
                return Err(Errno::EXIST);
            }
            if inode.kind == Kind::Directory {
                return Err(Errno::ISDIR);
            }
        }
        if flags.contains(OFlags::DIRECTORY) && inode.kind != Kind::Directory {
            return Err(Errno::NOTDIR);
        }
        let cuts = flags.contains(OFlags::TRUNC) && !created && inode.kind == Kind::Regular;
        if cuts {
            mount.want_write(cx)?;
        }
        let opened = self.open_inode(cx, path, flags);
        if let (true, Ok(_)) = (cuts, &opened) {
            inode.lock.lock(cx);
            self.truncate(cx, inode, 0);
            inode.lock.unlock(cx);
        }
        if cuts {
            mount.drop_write(cx);
        }
        opened
    }

    fn open_inode(
        &self,
        cx: Cx<'_, P>,
        path: Path<P>,
        flags: OFlags,
    ) -> Result<Raw<File<P>>, Errno> {
        // SAFETY: as in `open_path`.
        let (mount, dentry) = unsafe { (path.mount.get(), path.dentry.get()) };
        // SAFETY: the dentry holds its inode.
        let inode = unsafe { dentry.inode().get() };
        let for_writing = writes(flags);
        // O_TRUNC asks for permission to write even with O_RDONLY.
        let changes = for_writing || flags.contains(OFlags::TRUNC);
        if changes && inode.kind == Kind::Directory {
            return Err(Errno::ISDIR);
        }
        if for_writing {
            mount.want_write(cx)?;
        }
        let file = self.fds.alloc(cx);
        // SAFETY: the file is ours alone until it is published.
        let object = unsafe { file.get() };
        let body =
            FileBody { mount: path.mount, dentry: path.dentry, inode: dentry.inode(), flags };
        // SAFETY: as above.
        object.body.with_mut(|slot| unsafe { *slot = Some(body) });
        object.pos.store(0, Relaxed);
        self.sb().files.add(cx, object);
        if for_writing {
            mount.writers.listed(cx);
        }
        Ok(file)
    }

    /// Takes a file apart whose last reference is gone (__fput).
    pub(super) fn release(&self, cx: Cx<'_, P>, file: Raw<File<P>>) {
        // SAFETY: the last reference was ours; until `free` the memory is ours too.
        let object = unsafe { file.get() };
        // SAFETY: as above.
        let body = unsafe { object.body() };
        self.sb().files.del(cx, object);
        // SAFETY: the file held the mount.
        let mount = unsafe { body.mount.get() };
        if writes(body.flags) {
            mount.writers.closed(cx);
        }
        // SAFETY: as above; nobody else looks into a file without references.
        object.body.with_mut(|slot| unsafe { *slot = None });
        // SAFETY: whoever called us was told that it dropped the last reference.
        unsafe { self.fds.free(cx, file) };
        self.put_path(cx, Path { mount: body.mount, dentry: body.dentry });
    }

    /// Drops both references of a path.
    pub(super) fn put_path(&self, cx: Cx<'_, P>, path: Path<P>) {
        self.put_dentry(cx, path.dentry);
        // SAFETY: mounts live as long as the kernel. It is not freed here, for the same reason.
        unsafe { path.mount.get() }.refs.put(cx);
    }

    /// Writes at an offset, or at the end where the file was opened so. Under the inode's lock.
    pub(super) fn write_at(
        &self,
        cx: Cx<'_, P>,
        at: u64,
        body: FileBody<P>,
        inode: &Inode<P>,
        buf: &[u8],
    ) -> Result<Written, Errno> {
        if buf.is_empty() {
            // Not even O_APPEND moves the offset.
            return Ok(Written { bytes: 0, end: None });
        }
        let len = inode.data.size();
        let append = body.flags.contains(OFlags::APPEND);
        let at = if append { len } else { at };
        if at >= MAX_BYTES {
            return Err(Errno::FBIG);
        }
        let room = (MAX_BYTES - at).min(buf.len() as u64) as usize;
        let end = at + room as u64;
        let grown = end > len;
        inode.data.change(|data| {
            if grown {
                data.resize(end as usize, 0);
            }
            data[at as usize..end as usize].copy_from_slice(&buf[..room]);
        });
        if grown {
            self.record(cx, inode, end);
        }
        Ok(Written { bytes: room, end: Some(end) })
    }
}
