//! Counting writers, so that a mount or a super block can become read-only (threads: mail 000).

mod mounts;
#[cfg(test)]
mod tests;

use crate::design::designs;
use machine::{Cx, Platform};
use std::sync::Arc;
use vfs_api::Errno;

/// What may be in the way of a remount read-only.
#[derive(Clone, Copy)]
pub struct Busy<'a> {
    /// Walks the super block's open files and says whether one is open for writing on what is to become read-only. Only designs
    /// that do not count open files ask.
    pub has_writer: &'a dyn Fn() -> bool,
    /// Whether anything else is in the way (an open inode without a name). Asked last, at a moment when nobody writes and nobody
    /// can begin to: what writers have done before is all there is.
    pub otherwise: &'a dyn Fn() -> bool,
}

impl Busy<'_> {
    /// Nothing, as the caller knows.
    pub const NOTHING: Busy<'static> = Busy { has_writer: &|| false, otherwise: &|| false };
}

/// What a mount or super block is to become.
#[derive(Clone, Copy)]
pub enum Access<'a> {
    /// Writable; never refused.
    Writable,
    /// Read-only, unless somebody writes or something else is in the way. A remount that is refused has refused nobody.
    ReadOnly(Busy<'a>),
}

/// One mount's writers.
pub trait MountWriters<P: Platform>: Send + Sync {
    /// Begins to write (mnt_want_write): open for writing, create, unlink, ...
    ///
    /// # Errors
    /// EROFS if the mount or its super block is read-only.
    fn want(&self, cx: Cx<'_, P>) -> Result<(), Errno>;

    /// The file for which `want` was called, in this call on this CPU, is on the list of open files now. For designs that look
    /// there instead of counting.
    fn listed(&self, _cx: Cx<'_, P>) {}

    /// Ends to write (mnt_drop_write) within the call that began, on the same CPU; not for an open file.
    fn drop(&self, cx: Cx<'_, P>);

    /// A file that was open for writing is closed, and off the list; on whichever CPU.
    fn closed(&self, cx: Cx<'_, P>) {
        self.drop(cx);
    }

    /// Makes this mount read-only or writable again.
    ///
    /// # Errors
    /// EBUSY if somebody writes.
    fn set(&self, to: Access<'_>) -> Result<(), Errno>;

    /// Whether this mount itself is read-only.
    fn is_readonly(&self) -> bool;
}

/// A super block's writers.
pub trait SbWriters<P: Platform>: Send + Sync {
    /// The writers of a new mount of it. It registers itself with the super block and leaves when dropped.
    fn mount(self: Arc<Self>) -> Box<dyn MountWriters<P>>;

    /// Makes the whole super block read-only or writable again.
    ///
    /// # Errors
    /// EBUSY if somebody writes on any mount of it, or something else is in the way.
    fn set(&self, to: Access<'_>) -> Result<(), Errno>;

    /// Whether it is read-only.
    fn is_readonly(&self) -> bool;
}

/// A design.
pub trait WriteCountDesign<P: Platform>: Send + Sync {
    /// The writers of a new super block, which is writable.
    fn sb(&self) -> Arc<dyn SbWriters<P>>;

    /// Whether [`SbWriters::set`] depends on a list of open files.
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
