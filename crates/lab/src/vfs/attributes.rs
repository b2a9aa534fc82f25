//! chmod and utimensat: changes of an inode that are no change of its names or its data.
//!
//! What is studied is the way there: the walk, the mount's count of writers, the inode's lock, the inode's record on disk. Mode
//! and times themselves are not kept, as open(2)'s mode is not: everybody is root here, and stat does not say them.

use super::Task;
use machine::Platform;
use vfs_api::Errno;

impl<P: Platform> Task<P> {
    /// chmod(2).
    ///
    /// # Errors
    /// As Linux.
    pub fn chmod(&self, path: &[u8]) -> Result<(), Errno> {
        self.notify_change(path)
    }

    /// utimensat(2) with both times now.
    ///
    /// # Errors
    /// As Linux.
    pub fn touch(&self, path: &[u8]) -> Result<(), Errno> {
        self.notify_change(path)
    }

    fn notify_change(&self, path: &[u8]) -> Result<(), Errno> {
        self.call(|kernel, cx| {
            let found = kernel.walk.walk(cx, self.fs(), kernel, path)?;
            // SAFETY: `walk` answered references to mount and dentry, and a dentry holds its inode.
            let (mount, inode) = unsafe { (found.mount.get(), found.dentry.get().inode().get()) };
            let result = mount.want_write(cx);
            if result.is_ok() {
                inode.lock.lock(cx);
                kernel.record(cx, inode, inode.data.size());
                inode.lock.unlock(cx);
                mount.drop_write(cx);
            }
            kernel.put_path(cx, found);
            result
        })
    }
}
