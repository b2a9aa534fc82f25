//! Mounts: bind, remount read-only and writable, unmount.

use super::names::PATH_MAX;
use super::{Kernel, Task};
use crate::path_walk::Path;
use crate::write_count::{Access, Busy};
use machine::{Cx, Platform, Word};
use std::sync::atomic::Ordering::Acquire;
use vfs_api::Errno;

fn access(readonly: bool, busy: Busy<'_>) -> Access<'_> {
    if readonly { Access::ReadOnly(busy) } else { Access::Writable }
}

impl<P: Platform> Task<P> {
    /// Walks, runs `f` under the namespace semaphore, lets go.
    fn at<R>(
        &self,
        path: &[u8],
        f: impl FnOnce(&Kernel<P>, Cx<'_, P>, Path<P>) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        self.call(|kernel, cx| {
            let found = kernel.walk.walk(cx, self.fs(), kernel, path)?;
            kernel.namespace.lock(cx);
            let result = f(kernel, cx, found);
            kernel.namespace.unlock();
            kernel.put_path(cx, found);
            result
        })
    }

    /// Makes the directory or file `from` visible at `to` too.
    ///
    /// # Errors
    /// As Linux: ENOENT, ENOTDIR, EINVAL.
    pub fn bind(&self, from: &[u8], to: &[u8]) -> Result<(), Errno> {
        self.call(|kernel, cx| {
            // What is mounted is no path to mount(2), but a string; copied first, looked at last.
            if from.len() > PATH_MAX {
                return Err(Errno::INVAL);
            }
            let at = kernel.walk.walk(cx, self.fs(), kernel, to)?;
            if from.is_empty() {
                kernel.put_path(cx, at);
                return Err(Errno::INVAL);
            }
            let from = match kernel.walk.walk(cx, self.fs(), kernel, from) {
                Ok(from) => from,
                Err(errno) => {
                    kernel.put_path(cx, at);
                    return Err(errno);
                }
            };
            kernel.namespace.lock(cx);
            // lock_mount: on top of what is mounted there already.
            let at = kernel.cross(cx, at);
            let result = kernel.bind(cx, from, at);
            kernel.namespace.unlock();
            kernel.put_path(cx, from);
            kernel.put_path(cx, at);
            result
        })
    }

    /// Makes the mount at `path` read-only or writable again.
    ///
    /// # Errors
    /// EINVAL if nothing is mounted there, EBUSY if somebody writes.
    pub fn remount_mount(&self, path: &[u8], readonly: bool) -> Result<(), Errno> {
        self.at(path, |kernel, cx, at| {
            kernel.expect_mount_root(at)?;
            // SAFETY: mounts live as long as the kernel.
            let mount = unsafe { at.mount.get() };
            let has_writer = &|| kernel.has_writer(cx, Some(at));
            mount.writers.set(access(readonly, Busy { has_writer, ..Busy::NOTHING }))?;
            mount.refs.remounted(cx);
            Ok(())
        })
    }

    /// Makes the super block of the mount at `path`, and that mount, read-only or writable again.
    ///
    /// # Errors
    /// EINVAL if nothing is mounted there, EBUSY if somebody writes or an open file has no name any more.
    pub fn remount_super(&self, path: &[u8], readonly: bool) -> Result<(), Errno> {
        self.at(path, |kernel, cx, at| {
            kernel.expect_mount_root(at)?;
            kernel.remount_super(cx, readonly)?;
            // SAFETY: mounts live as long as the kernel.
            let mount = unsafe { at.mount.get() };
            // No writer of the super block is no writer of the mount.
            mount.writers.set(access(readonly, Busy::NOTHING))?;
            mount.refs.remounted(cx);
            Ok(())
        })
    }

    /// umount(2). The root mount is never unmounted: its super block becomes read-only instead.
    ///
    /// # Errors
    /// EINVAL if nothing is mounted there, EBUSY if it is in use.
    pub fn unmount(&self, path: &[u8]) -> Result<(), Errno> {
        self.call(|kernel, cx| {
            let found = kernel.walk.walk(cx, self.fs(), kernel, path)?;
            // LOOKUP_MOUNTPOINT: what is mounted on the place, even on "/" or ".", where a walk stays below it.
            let found = kernel.cross(cx, found);
            kernel.namespace.lock(cx);
            // The walk's own reference to the mount would keep it busy.
            // SAFETY: mounts live as long as the kernel.
            unsafe { found.mount.get() }.refs.put(cx);
            let result = kernel.expect_mount_root(found).and_then(|()| {
                if found.mount == kernel.tree.root() {
                    kernel.remount_super(cx, true)
                } else {
                    kernel.unmount(cx, found)
                }
            });
            kernel.namespace.unlock();
            kernel.put_dentry(cx, found.dentry);
            result
        })
    }
}

impl<P: Platform> Kernel<P> {
    /// Crosses the mounts on top of a place; takes over its references and answers the new ones.
    pub(super) fn cross(&self, cx: Cx<'_, P>, at: Path<P>) -> Path<P> {
        use crate::path_walk::MountTree;
        // SAFETY: the path holds its dentry.
        if !unsafe { at.dentry.get() }.is_mount_point() {
            return at;
        }
        let Some(top) = self.get_mounted_at(cx, at) else { return at };
        // SAFETY: mounts live as long as the kernel.
        let mount = unsafe { top.get() };
        // SAFETY: a mount holds its root.
        self.walk.get(cx, unsafe { mount.root.get() });
        self.put_path(cx, at);
        Path { mount: top, dentry: mount.root }
    }

    fn expect_mount_root(&self, at: Path<P>) -> Result<(), Errno> {
        // SAFETY: mounts live as long as the kernel.
        if unsafe { at.mount.get() }.root == at.dentry { Ok(()) } else { Err(Errno::INVAL) }
    }

    /// Makes the super block read-only or writable (reconfigure_super). Under the namespace semaphore.
    fn remount_super(&self, cx: Cx<'_, P>, readonly: bool) -> Result<(), Errno> {
        let sb = self.sb();
        if readonly && sb.writers.is_readonly() {
            return Ok(());
        }
        let has_writer = &|| self.has_writer(cx, None);
        // Acquire: pairs with whoever removed the last name, and did so as a writer.
        let otherwise = &|| sb.remove_count.load(Acquire) > 0;
        sb.writers.set(access(readonly, Busy { has_writer, otherwise }))
    }

    /// Whether a file is open for writing, on one mount or on any.
    fn has_writer(&self, cx: Cx<'_, P>, on: Option<Path<P>>) -> bool {
        let mut found = false;
        self.sb().files.walk(cx, &mut |file| {
            // SAFETY: files on the list are complete and cannot be freed while they are visited.
            let (writes, mount) = unsafe { (file.writes(), file.body().mount) };
            found = writes && on.is_none_or(|on| on.mount == mount);
            !found
        });
        found
    }

    fn bind(&self, cx: Cx<'_, P>, from: Path<P>, at: Path<P>) -> Result<(), Errno> {
        // SAFETY: the paths hold their dentries, and mounts live as long as the kernel.
        let (root, place, old) = unsafe { (from.dentry.get(), at.dentry.get(), from.mount.get()) };
        // SAFETY: a dentry holds its inode.
        let (what, whereto) = unsafe { (root.inode().get(), place.inode().get()) };
        // Under the place's lock, so that it cannot be removed meanwhile.
        whereto.lock.lock(cx);
        let result = match (place.is_hashed(), what.kind == whereto.kind) {
            (false, _) => Err(Errno::NOENT),
            (true, false) => Err(Errno::NOTDIR),
            (true, true) if !root.is_hashed() => {
                // attach_recursive_mnt: something else must be mountable on what is mounted.
                Err(Errno::NOENT)
            }
            (true, true) => {
                place.set_mount_point(true);
                Ok(())
            }
        };
        whereto.lock.unlock(cx);
        result?;
        // The mount's reference to its root, the tree's to the place.
        self.walk.get(cx, root);
        self.walk.get(cx, place);
        let mount = self.new_mount(from.dentry);
        // SAFETY: mounts live as long as the kernel.
        let object = unsafe { mount.get() };
        if old.writers.is_readonly() {
            // A bind mount begins with the flags of the mount it is made from. Nobody can write on it yet.
            object.writers.set(Access::ReadOnly(Busy::NOTHING))?;
        }
        object.refs.attach(cx);
        self.tree.attach(at, mount);
        Ok(())
    }

    /// Under the namespace semaphore, with no reference to the mount; it is attached, for the caller had one when it got the
    /// semaphore.
    fn unmount(&self, cx: Cx<'_, P>, at: Path<P>) -> Result<(), Errno> {
        // SAFETY: mounts live as long as the kernel.
        let mount = unsafe { at.mount.get() };
        if self.tree.has_children(at.mount) || mount.refs.references() > 0 {
            return Err(Errno::BUSY);
        }
        let mut place = None;
        if !mount.leave(cx, &mut || place = self.tree.detach(cx, at.mount)) {
            return Err(Errno::BUSY);
        }
        let place = place.expect("an attached mount is in the tree");
        if !self.tree.is_mounted_on(place.dentry) {
            // SAFETY: the tree's reference is dropped below.
            unsafe { place.dentry.get() }.set_mount_point(false);
        }
        self.put_dentry(cx, place.dentry);
        self.bury_mount(cx, mount);
        Ok(())
    }
}
