//! stat, unlink, link, rename, mkdir, rmdir, chdir: what is done with names.

use super::open::stat_of;
use super::{Kernel, Task};
use crate::object::{Inode, Kind, Raw};
use crate::path_walk::{Dentry, Path};
use machine::{Cx, Platform, Word};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use vfs_api::{Errno, Stat};

/// PATH_MAX without its NUL.
pub(super) const PATH_MAX: usize = 4095;
/// Longest name.
const NAME_MAX: usize = 255;

/// The last component of a path.
pub(super) enum Last<'a> {
    /// A name; slashes behind it are cut off.
    Name(&'a [u8]),
    /// ".".
    Dot,
    /// "..".
    DotDot,
    /// The path is "/" or several of them.
    Root,
}

/// What getname(9) refuses.
pub(super) fn check_length(path: &[u8]) -> Result<(), Errno> {
    match path.len() {
        0 => Err(Errno::NOENT),
        len if len > PATH_MAX => Err(Errno::NAMETOOLONG),
        _ => Ok(()),
    }
}

pub(super) fn has_trailing_slash(path: &[u8]) -> bool {
    path.last() == Some(&b'/')
}

/// The path of the directory and the last component. The directory's path may be empty: the working directory.
fn split(path: &[u8]) -> (&[u8], Last<'_>) {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    if end == 0 {
        return (path, Last::Root);
    }
    let start = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let last = match &path[start..end] {
        b"." => Last::Dot,
        b".." => Last::DotDot,
        name => Last::Name(name),
    };
    (&path[..start], last)
}

/// The inode of a dentry that the caller holds.
fn inode_of<P: Platform>(dentry: &Dentry<P>) -> &Inode<P> {
    // SAFETY: a dentry holds its inode as long as it lives.
    unsafe { dentry.inode().get() }
}

impl<P: Platform> Task<P> {
    /// Walks to the directory of the last component; the answered path is the caller's.
    pub(super) fn walk_parent<'a>(
        &self,
        kernel: &Kernel<P>,
        cx: Cx<'_, P>,
        path: &'a [u8],
    ) -> Result<(Path<P>, Last<'a>), Errno> {
        check_length(path)?;
        let (directory, last) = split(path);
        let directory = if directory.is_empty() { b"." } else { directory };
        let found = kernel.walk.walk(cx, self.fs(), kernel, directory)?;
        // SAFETY: `walk` answered references.
        let inode = inode_of(unsafe { found.dentry.get() });
        if inode.kind == Kind::Directory {
            Ok((found, last))
        } else {
            kernel.put_path(cx, found);
            Err(Errno::NOTDIR)
        }
    }

    /// Runs `f` on the directory of the last component, which must be a name; `otherwise` says the errno for the others.
    fn in_parent<R>(
        &self,
        kernel: &Kernel<P>,
        cx: Cx<'_, P>,
        path: &[u8],
        otherwise: impl FnOnce(&Last<'_>) -> Errno,
        f: impl FnOnce(Path<P>, &[u8]) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let (parent, last) = self.walk_parent(kernel, cx, path)?;
        let result = match last {
            Last::Name(name) => f(parent, name),
            other => Err(otherwise(&other)),
        };
        kernel.put_path(cx, parent);
        result
    }

    /// stat(2).
    ///
    /// # Errors
    /// As Linux.
    pub fn stat(&self, path: &[u8]) -> Result<Stat, Errno> {
        self.call(|kernel, cx| {
            let found = kernel.walk.walk(cx, self.fs(), kernel, path)?;
            // SAFETY: `walk` answered references.
            let stat = stat_of(inode_of(unsafe { found.dentry.get() }));
            kernel.put_path(cx, found);
            Ok(stat)
        })
    }

    /// chdir(2).
    ///
    /// # Errors
    /// As Linux.
    pub fn chdir(&self, path: &[u8]) -> Result<(), Errno> {
        self.call(|kernel, cx| {
            let found = kernel.walk.walk(cx, self.fs(), kernel, path)?;
            // SAFETY: `walk` answered references.
            if inode_of(unsafe { found.dentry.get() }).kind != Kind::Directory {
                kernel.put_path(cx, found);
                return Err(Errno::NOTDIR);
            }
            let before = self.fs().set_cwd(cx, &*kernel.walk, found);
            kernel.put_path(cx, before);
            Ok(())
        })
    }

    /// unlink(2).
    ///
    /// # Errors
    /// As Linux.
    pub fn unlink(&self, path: &[u8]) -> Result<(), Errno> {
        let slash = has_trailing_slash(path);
        self.call(|kernel, cx| {
            self.in_parent(
                kernel,
                cx,
                path,
                |_| Errno::ISDIR,
                |parent, name| {
                    kernel.change(cx, parent, |directory| {
                        let dentry = kernel.look_up(cx, directory, name)?.ok_or(Errno::NOENT)?;
                        // SAFETY: `child` answered a reference.
                        let object = unsafe { dentry.get() };
                        let directory = inode_of(object).kind == Kind::Directory;
                        let result = match (directory, slash) {
                            (true, _) => Err(Errno::ISDIR),
                            (false, true) => Err(Errno::NOTDIR),
                            (false, false) => kernel.remove_name(cx, object),
                        };
                        Ok((result, Some(dentry)))
                    })
                },
            )
        })
    }

    /// rmdir(2).
    ///
    /// # Errors
    /// As Linux.
    pub fn rmdir(&self, path: &[u8]) -> Result<(), Errno> {
        let otherwise = |last: &Last<'_>| match last {
            Last::DotDot => Errno::NOTEMPTY,
            Last::Dot => Errno::INVAL,
            _ => Errno::BUSY,
        };
        self.call(|kernel, cx| {
            self.in_parent(kernel, cx, path, otherwise, |parent, name| {
                kernel.change(cx, parent, |directory| {
                    let dentry = kernel.look_up(cx, directory, name)?.ok_or(Errno::NOENT)?;
                    // SAFETY: `child` answered a reference.
                    let result = kernel.remove_directory(cx, directory, unsafe { dentry.get() });
                    Ok((result, Some(dentry)))
                })
            })
        })
    }

    /// mkdir(2).
    ///
    /// # Errors
    /// As Linux.
    pub fn mkdir(&self, path: &[u8]) -> Result<(), Errno> {
        self.call(|kernel, cx| {
            self.in_parent(
                kernel,
                cx,
                path,
                |_| Errno::EXIST,
                |parent, name| {
                    kernel.make_name(cx, parent, name, true, |directory| {
                        let inode = kernel.new_inode(cx, Kind::Directory)?;
                        // Relaxed: under the directory's lock. The child's "..".
                        inode_of(directory).nlink.fetch_add(1, Relaxed);
                        Ok(kernel.walk.insert(cx, directory, name, inode))
                    })
                },
            )
        })
    }

    /// link(2).
    ///
    /// # Errors
    /// As Linux.
    pub fn link(&self, old: &[u8], new: &[u8]) -> Result<(), Errno> {
        self.call(|kernel, cx| {
            let from = kernel.walk.walk(cx, self.fs(), kernel, old)?;
            let result = self.in_parent(
                kernel,
                cx,
                new,
                |_| Errno::EXIST,
                |parent, name| {
                    kernel.make_name(cx, parent, name, !has_trailing_slash(new), |directory| {
                        if from.mount != parent.mount {
                            return Err(Errno::XDEV);
                        }
                        // SAFETY: the path holds its dentry, which holds its inode.
                        let inode = unsafe { from.dentry.get() }.inode();
                        kernel.link_inode(cx, directory, name, inode)
                    })
                },
            );
            kernel.put_path(cx, from);
            result
        })
    }

    /// rename(2).
    ///
    /// # Errors
    /// As Linux.
    pub fn rename(&self, old: &[u8], new: &[u8]) -> Result<(), Errno> {
        let slashes = has_trailing_slash(old) || has_trailing_slash(new);
        self.call(|kernel, cx| {
            let (from, from_last) = self.walk_parent(kernel, cx, old)?;
            let to = self.walk_parent(kernel, cx, new);
            let result = match &to {
                Err(errno) => Err(*errno),
                Ok((to, _)) if to.mount != from.mount => Err(Errno::XDEV),
                Ok((to, to_last)) => match (&from_last, to_last) {
                    (Last::Name(old), Last::Name(new)) => {
                        kernel.rename_in(cx, from, old, *to, new, slashes)
                    }
                    _ => Err(Errno::BUSY),
                },
            };
            if let Ok((to, _)) = to {
                kernel.put_path(cx, to);
            }
            kernel.put_path(cx, from);
            result
        })
    }
}

impl<P: Platform> Kernel<P> {
    /// Changes a directory: as a writer of the mount, under the directory's lock. `f` answers the outcome and a dentry to let go
    /// of afterwards.
    fn change(
        &self,
        cx: Cx<'_, P>,
        parent: Path<P>,
        f: impl FnOnce(&Dentry<P>) -> Result<(Result<(), Errno>, Option<Raw<Dentry<P>>>), Errno>,
    ) -> Result<(), Errno> {
        // SAFETY: the path holds references to both.
        let (mount, directory) = unsafe { (parent.mount.get(), parent.dentry.get()) };
        mount.want_write(cx)?;
        let lock = &inode_of(directory).lock;
        lock.lock(cx);
        let outcome = f(directory);
        lock.unlock(cx);
        let result = match outcome {
            Ok((result, Some(dentry))) => {
                // Outside of the directory's lock: it may be the last reference, and evicting an inode takes a while.
                self.put_dentry(cx, dentry);
                result
            }
            Ok((result, None)) => result,
            Err(errno) => Err(errno),
        };
        mount.drop_write(cx);
        result
    }

    /// Gives something a new name in a directory (filename_create): EEXIST before EROFS, as Linux has it. `plain`: no slash
    /// stands behind the name, or what is made is a directory.
    fn make_name(
        &self,
        cx: Cx<'_, P>,
        parent: Path<P>,
        name: &[u8],
        plain: bool,
        make: impl FnOnce(&Dentry<P>) -> Result<Raw<Dentry<P>>, Errno>,
    ) -> Result<(), Errno> {
        // SAFETY: the path holds references to both.
        let (mount, directory) = unsafe { (parent.mount.get(), parent.dentry.get()) };
        let wanted = mount.want_write(cx);
        let lock = &inode_of(directory).lock;
        lock.lock(cx);
        let made = match self.look_up(cx, directory, name) {
            Err(errno) => Err(errno),
            Ok(Some(there)) => Ok((Err(Errno::EXIST), there)),
            Ok(None) if !plain => Err(Errno::NOENT),
            Ok(None) => wanted.and_then(|()| make(directory)).map(|dentry| (Ok(()), dentry)),
        };
        lock.unlock(cx);
        let result = match made {
            Ok((result, dentry)) => {
                self.put_dentry(cx, dentry);
                result
            }
            Err(errno) => Err(errno),
        };
        if wanted.is_ok() {
            mount.drop_write(cx);
        }
        result
    }

    /// A name in a directory, with a reference (lookup_one_qstr_excl). ENOENT if the directory was removed, so that nothing is
    /// made in it. Under its lock.
    pub(super) fn look_up(
        &self,
        cx: Cx<'_, P>,
        directory: &Dentry<P>,
        name: &[u8],
    ) -> Result<Option<Raw<Dentry<P>>>, Errno> {
        if inode_of(directory).nlink.load(Relaxed) == 0 {
            return Err(Errno::NOENT);
        }
        if name.len() > NAME_MAX {
            return Err(Errno::NAMETOOLONG);
        }
        Ok(self.walk.child(cx, directory, name))
    }

    /// Makes an empty file for open(O_CREAT), in a directory that has no such name; answers its dentry with a reference. Under
    /// the directory's lock.
    pub(super) fn create(
        &self,
        cx: Cx<'_, P>,
        parent: Path<P>,
        name: &[u8],
    ) -> Result<Raw<Dentry<P>>, Errno> {
        // SAFETY: the path holds references to both.
        let (mount, directory) = unsafe { (parent.mount.get(), parent.dentry.get()) };
        mount.want_write(cx)?;
        let made = self
            .new_inode(cx, Kind::Regular)
            .map(|inode| self.walk.insert(cx, directory, name, inode));
        mount.drop_write(cx);
        made
    }

    /// A second name for an inode. Under the directory's lock.
    fn link_inode(
        &self,
        cx: Cx<'_, P>,
        directory: &Dentry<P>,
        name: &[u8],
        inode: Raw<Inode<P>>,
    ) -> Result<Raw<Dentry<P>>, Errno> {
        // SAFETY: the caller holds a dentry of it.
        let object = unsafe { inode.get() };
        if object.kind == Kind::Directory {
            return Err(Errno::PERM);
        }
        object.lock.lock(cx);
        let alive = object.nlink.load(Relaxed) > 0;
        if alive {
            // Relaxed: under the inode's lock.
            object.nlink.fetch_add(1, Relaxed);
            // AcqRel as in `put_inode`: the new dentry's hold.
            object.count.fetch_add(1, AcqRel);
            self.record(cx, object, object.data.size());
        }
        object.lock.unlock(cx);
        // An unlinked inode cannot be brought back by its descriptor's path.
        if alive { Ok(self.walk.insert(cx, directory, name, inode)) } else { Err(Errno::NOENT) }
    }

    /// Takes a file's name away. Under the directory's lock.
    fn remove_name(&self, cx: Cx<'_, P>, dentry: &Dentry<P>) -> Result<(), Errno> {
        let inode = inode_of(dentry);
        inode.lock.lock(cx);
        if dentry.is_mount_point() {
            inode.lock.unlock(cx);
            return Err(Errno::BUSY);
        }
        // Relaxed: under the inode's lock.
        if inode.nlink.fetch_sub(1, Relaxed) == 1 {
            self.now_nameless(cx, inode);
        } else {
            self.record(cx, inode, inode.data.size());
        }
        self.walk.unhash(cx, dentry);
        inode.lock.unlock(cx);
        Ok(())
    }

    /// rmdir's second half. Under the parent's lock.
    fn remove_directory(
        &self,
        cx: Cx<'_, P>,
        parent: &Dentry<P>,
        dentry: &Dentry<P>,
    ) -> Result<(), Errno> {
        let inode = inode_of(dentry);
        if inode.kind != Kind::Directory {
            return Err(Errno::NOTDIR);
        }
        inode.lock.lock(cx);
        let result = if dentry.is_mount_point() {
            Err(Errno::BUSY)
        } else if !self.walk.is_empty(dentry) {
            Err(Errno::NOTEMPTY)
        } else {
            self.kill_directory(cx, parent, dentry);
            Ok(())
        };
        inode.lock.unlock(cx);
        result
    }

    /// An empty directory loses its name. Under its own and its parent's lock.
    fn kill_directory(&self, cx: Cx<'_, P>, parent: &Dentry<P>, dentry: &Dentry<P>) {
        let inode = inode_of(dentry);
        // Relaxed: under the locks.
        inode.nlink.store(0, Relaxed);
        inode_of(parent).nlink.fetch_sub(1, Relaxed);
        self.now_nameless(cx, inode);
        self.walk.unhash(cx, dentry);
    }

    /// Whether `dentry` is `below` or above it.
    fn is_above(&self, dentry: &Dentry<P>, below: &Dentry<P>) -> bool {
        let mut at = Raw::of(below);
        loop {
            if at == Raw::of(dentry) {
                return true;
            }
            // SAFETY: parents are held by their children, and nobody renames meanwhile (the rename mutex).
            let parent = unsafe { at.get() }.parent();
            if parent == at {
                return false;
            }
            at = parent;
        }
    }

    fn rename_in(
        &self,
        cx: Cx<'_, P>,
        from: Path<P>,
        old: &[u8],
        to: Path<P>,
        new: &[u8],
        slashes: bool,
    ) -> Result<(), Errno> {
        // SAFETY: the paths hold references to all.
        let (mount, from, to) = unsafe { (from.mount.get(), from.dentry.get(), to.dentry.get()) };
        mount.want_write(cx)?;
        self.rename.lock(cx);
        let (a, b) = (inode_of(from), inode_of(to));
        // An ancestor first (the rename mutex keeps them in place), else the lower number: nobody locks them the other way round.
        let locks = if std::ptr::eq(a, b) {
            vec![a]
        } else if self.is_above(from, to) || (!self.is_above(to, from) && a.ino < b.ino) {
            vec![a, b]
        } else {
            vec![b, a]
        };
        locks.iter().for_each(|inode| inode.lock.lock(cx));
        let mut held = Vec::new();
        let result = self.rename_locked(cx, (from, old), (to, new), slashes, &mut held);
        locks.iter().rev().for_each(|inode| inode.lock.unlock(cx));
        self.rename.unlock();
        held.into_iter().for_each(|dentry| self.put_dentry(cx, dentry));
        mount.drop_write(cx);
        result
    }

    /// Under the rename mutex and the locks of both directories. `held`: dentries to let go of afterwards.
    fn rename_locked(
        &self,
        cx: Cx<'_, P>,
        (from, old): (&Dentry<P>, &[u8]),
        (to, new): (&Dentry<P>, &[u8]),
        slashes: bool,
        held: &mut Vec<Raw<Dentry<P>>>,
    ) -> Result<(), Errno> {
        let source = self.look_up(cx, from, old)?.ok_or(Errno::NOENT)?;
        held.push(source);
        // SAFETY: `child` answered a reference, which `held` keeps.
        let source = unsafe { source.get() };
        let target = self.look_up(cx, to, new)?;
        held.extend(target);
        // SAFETY: as above.
        let target = target.map(|target| unsafe { target.get() });
        let inode = inode_of(source);
        let directory = inode.kind == Kind::Directory;
        if !directory && slashes {
            return Err(Errno::NOTDIR);
        }
        if directory && self.is_above(source, to) {
            return Err(Errno::INVAL);
        }
        if target.is_some_and(|target| self.is_above(target, from)) {
            return Err(Errno::NOTEMPTY);
        }
        if let Some(target) = target {
            let there = inode_of(target);
            if std::ptr::eq(there, inode) {
                return Ok(());
            }
            match (directory, there.kind == Kind::Directory) {
                (true, false) => return Err(Errno::NOTDIR),
                (false, true) => return Err(Errno::ISDIR),
                _ => {}
            }
        }
        if source.is_mount_point() || target.is_some_and(Dentry::is_mount_point) {
            return Err(Errno::BUSY);
        }
        match target {
            Some(target) if directory => self.remove_directory(cx, to, target)?,
            Some(target) => self.remove_name(cx, target)?,
            None => {}
        }
        if directory && !std::ptr::eq(from, to) {
            // Relaxed: under both locks. ".." moves along.
            inode_of(from).nlink.fetch_sub(1, Relaxed);
            inode_of(to).nlink.fetch_add(1, Relaxed);
        }
        self.walk.rename(cx, source, to, new);
        Ok(())
    }
}
