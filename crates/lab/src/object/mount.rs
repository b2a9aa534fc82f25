//! struct vfsmount: a tree seen at a place.

use super::{Raw, SuperBlock};
use crate::mount_ref::MountRef;
use crate::path_walk::Dentry;
use crate::write_count::MountWriters;
use machine::{Cx, Platform};
use vfs_api::Errno;

/// A mount: a tree seen at a place. A bind mount is a second one of the same super block.
pub struct Mount<P: Platform> {
    /// Unique in the kernel.
    pub id: u32,
    /// What is mounted. Super blocks outlive their mounts.
    pub sb: Raw<SuperBlock<P>>,
    /// The dentry seen at the mount's root; the mount holds a reference.
    pub root: Raw<Dentry<P>>,
    /// mnt_count, by design.
    pub refs: Box<dyn MountRef<P>>,
    /// The writers of this mount, by design.
    pub writers: Box<dyn MountWriters<P>>,
}

impl<P: Platform> Mount<P> {
    /// Begins to write on it (mnt_want_write).
    ///
    /// # Errors
    /// EROFS.
    #[inline]
    pub fn want_write(&self, cx: Cx<'_, P>) -> Result<(), Errno> {
        self.writers.want(cx)
    }

    /// Ends to write on it within the call that began (mnt_drop_write).
    #[inline]
    pub fn drop_write(&self, cx: Cx<'_, P>) {
        // By the trait's name: a Box has a destructor of the same name.
        MountWriters::drop(&*self.writers, cx);
    }
}
