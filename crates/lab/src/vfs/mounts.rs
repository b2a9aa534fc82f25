//! Mounts: bind, remount read-only and writable, unmount.

use super::names::check_length;
use super::{Kernel, Task};
use crate::object::Kind;
use crate::path_walk::Path;
use machine::{Cx, Platform, Word};
use std::sync::atomic::Ordering::Acquire;
use vfs_api::Errno;

impl<P: Platform> Task<P> {
    /// Walks, runs `f` under the namespace semaphore, lets go.
    fn at<R>(
        &self,
        path: &[u8],
        f: impl FnOnce(&Kernel<P>, Cx<'_, P>, Path<P>) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        self.call(|kernel, cx| {
            check_length(path)?;
            let found = kernel.walk.walk(cx, self.fs(), kernel, path)?;
            kernel.namespace.lock(cx);
            let result = f(kernel, cx, found);
            kernel.namespace.unlock();
            kernel.put_path(cx, found);
            result
        })
    }

    /// Makes the directory `from` visible at the directory `to` too.
    ///
    /// # Errors
    /// As Linux: ENOENT, ENOTDIR.
    pub fn bind(&self, from: &[u8], to: &[u8]) -> Result<(), Errno> {
        self.call(|kernel, cx| {
            check_length(from)?;
            check_length(to)?;
            let at = kernel.walk.walk(cx, self.fs(), kernel, to)?;
            let result = kernel.walk.walk(cx, self.fs(), kernel, from).and_then(|from| {
                kernel.namespace.lock(cx);
                let result = kernel.bind(cx, from, at);
                kernel.namespace.unlock();
                kernel.put_path(cx, from);
                result
            });
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
            let has_writer = || kernel.has_writer(cx, Some(at));
            mount.writers.set_readonly(cx, readonly, &has_writer)?;
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
            let sb = kernel.sb();
            // Acquire: pairs with whoever removed the last name (its writer count is still up, or this sees it).
            if readonly && sb.remove_count.load(Acquire) > 0 {
                return Err(Errno::BUSY);
            }
            sb.writers.set_readonly(cx, readonly, &|| kernel.has_writer(cx, None))?;
            if readonly && sb.remove_count.load(Acquire) > 0 {
                sb.writers.set_readonly(cx, false, &|| false)?;
                return Err(Errno::BUSY);
            }
            // SAFETY: mounts live as long as the kernel.
            let mount = unsafe { at.mount.get() };
            // No writer of the super block is no writer of the mount.
            mount.writers.set_readonly(cx, readonly, &|| false)?;
            mount.refs.remounted(cx);
            Ok(())
        })
    }

    /// umount(2).
    ///
    /// # Errors
    /// EINVAL if nothing is mounted there, EBUSY if it is in use.
    pub fn unmount(&self, path: &[u8]) -> Result<(), Errno> {
        self.call(|kernel, cx| {
            check_length(path)?;
            let found = kernel.walk.walk(cx, self.fs(), kernel, path)?;
            kernel.namespace.lock(cx);
            // The walk's own reference to the mount would keep it busy.
            // SAFETY: mounts live as long as the kernel.
            unsafe { found.mount.get() }.refs.put(cx);
            let result = kernel.expect_mount_root(found).and_then(|()| kernel.unmount(cx, found));
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
        let Some(top) = self.mounted_at(cx, at) else { return at };
        // SAFETY: mounts live as long as the kernel.
        let mount = unsafe { top.get() };
        mount.refs.get(cx);
        // SAFETY: a mount holds its root.
        self.walk.get(cx, unsafe { mount.root.get() });
        self.put_path(cx, at);
        Path { mount: top, dentry: mount.root }
    }

    fn expect_mount_root(&self, at: Path<P>) -> Result<(), Errno> {
        // SAFETY: mounts live as long as the kernel.
        if unsafe { at.mount.get() }.root == at.dentry { Ok(()) } else { Err(Errno::INVAL) }
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
        if what.kind != Kind::Directory || whereto.kind != Kind::Directory {
            return Err(Errno::NOTDIR);
        }
        // Under the place's lock, so that it cannot be removed meanwhile.
        whereto.lock.lock(cx);
        let alive = place.is_hashed() || place.parent() == at.dentry;
        if alive {
            place.set_mount_point(true);
        }
        whereto.lock.unlock(cx);
        if !alive {
            return Err(Errno::NOENT);
        }
        // The mount's reference to its root, the tree's to the place.
        self.walk.get(cx, root);
        self.walk.get(cx, place);
        let mount = self.new_mount(from.dentry);
        // SAFETY: mounts live as long as the kernel.
        let object = unsafe { mount.get() };
        if old.writers.is_readonly() {
            // A bind mount begins with the flags of the mount it is made from. Nobody can write on it yet.
            object.writers.set_readonly(cx, true, &|| false)?;
        }
        object.refs.attach(cx);
        self.tree.attach(at, mount);
        Ok(())
    }

    fn unmount(&self, cx: Cx<'_, P>, at: Path<P>) -> Result<(), Errno> {
        // SAFETY: mounts live as long as the kernel.
        let mount = unsafe { at.mount.get() };
        if at.mount == self.tree.root()
            || self.tree.has_children(at.mount)
            || !mount.refs.detach(cx)
        {
            return Err(Errno::BUSY);
        }
        let place = self.tree.detach(cx, at.mount).expect("an attached mount is in the tree");
        if !self.tree.is_mounted_on(place.dentry) {
            // SAFETY: the tree's reference is dropped below.
            unsafe { place.dentry.get() }.set_mount_point(false);
        }
        // A walk that found the mount just before may still be about to take its references. Linux would not have let it find the
        // mount (both happen under one mount_lock section); here such a walk gets a mount that is out of the tree, as after
        // umount -l, and nothing is freed under it.
        cx.rcu.synchronize(cx);
        self.put_dentry(cx, place.dentry);
        self.bury_mount(cx, mount);
        Ok(())
    }
}
