//! Counting writers, so that a mount or a super block can become read-only (threads: mail 000).

mod mounts;
#[cfg(test)]
mod tests;

use crate::design::designs;
use machine::{Cx, Platform};
use std::sync::Arc;
use vfs_api::Errno;

/// One mount's writers.
pub trait MountWriters<P: Platform>: Send + Sync {
    /// Begins to write (mnt_want_write): open for writing, create, unlink, ...
    ///
    /// # Errors
    /// EROFS if the mount or its super block is read-only.
    fn want(&self, cx: Cx<'_, P>) -> Result<(), Errno>;

    /// For designs that look at the list of open files instead of counting: called after a file open for writing has got onto
    /// that list.
    ///
    /// # Errors
    /// EROFS if it became read-only meanwhile; the caller takes the file off again and calls [`MountWriters::drop`].
    fn confirm(&self, _cx: Cx<'_, P>) -> Result<(), Errno> {
        Ok(())
    }

    /// Ends to write (mnt_drop_write); on whichever CPU.
    fn drop(&self, cx: Cx<'_, P>);

    /// Makes this mount read-only or writable again.
    ///
    /// `has_writer` walks the super block's open files and says whether one of this mount is open for writing; only designs
    /// that do not count call it.
    ///
    /// # Errors
    /// EBUSY if somebody writes.
    fn set_readonly(
        &self,
        cx: Cx<'_, P>,
        readonly: bool,
        has_writer: &dyn Fn() -> bool,
    ) -> Result<(), Errno>;

    /// Whether this mount itself is read-only.
    fn is_readonly(&self) -> bool;
}

/// A super block's writers.
pub trait SbWriters<P: Platform>: Send + Sync {
    /// The writers of a new mount of it. It registers itself with the super block and leaves when dropped.
    fn mount(self: Arc<Self>) -> Box<dyn MountWriters<P>>;

    /// Makes the whole super block read-only or writable again. `has_writer`: as above, over all mounts.
    ///
    /// # Errors
    /// EBUSY if somebody writes on any mount of it.
    fn set_readonly(
        &self,
        cx: Cx<'_, P>,
        readonly: bool,
        has_writer: &dyn Fn() -> bool,
    ) -> Result<(), Errno>;

    /// Whether it is read-only.
    fn is_readonly(&self) -> bool;
}

/// A design.
pub trait WriteCountDesign<P: Platform>: Send + Sync {
    /// The writers of a new super block, which is writable.
    fn sb(&self) -> Arc<dyn SbWriters<P>>;

    /// Whether [`SbWriters::set_readonly`] depends on a list of open files.
    fn needs_file_list(&self) -> bool {
        false
    }
}

designs! {
    WriteCountDesign;
    none::NoCount,
    atomic_cached_flag::AtomicCachedFlag,
    spinlock::Spinlock,
    percpu_spin::PercpuSpin,
    percpu_hold::PercpuHold,
}
