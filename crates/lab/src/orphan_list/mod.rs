//! Inodes that must be deleted or cut after a crash: unlinked while open, or being truncated (threads: mail 002).
//!
//! Each design has its side in memory and its side on the [`disk`](Disk), which it changes within journal handles, so that a
//! crash at any commit leaves something to recover from.

mod disk;
mod image;
mod journal;
mod list;
mod node;
mod orphan_file;
#[cfg(test)]
mod tests;

pub use disk::{Disk, Handle};
pub use image::{Corruption, DiskImage, InodeImage, Recovered};
pub use node::OrphanNode;

use crate::design::designs;
use machine::{Cx, Platform};

/// One super block's orphans.
pub trait Orphans<P: Platform>: Send + Sync {
    /// The disk they are recorded on; handles come from it.
    fn disk(&self) -> &Disk<P>;

    /// Records that the inode is to be deleted or cut (ext4_orphan_add). Nothing if it is recorded already. The caller holds the
    /// inode's lock, or the inode is new or going.
    fn add(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>);

    /// The inode is safe again, or gone (ext4_orphan_del). Nothing if it is not recorded.
    fn del(&self, cx: Cx<'_, P>, handle: &Handle<'_, P>, inode: &OrphanNode<P>);

    /// Inodes recorded in memory; for tests, alone with the super block.
    fn recorded(&self) -> Vec<u32>;
}

/// A design.
pub trait OrphanDesign<P: Platform>: Send + Sync {
    /// The orphans of a new super block with room for `inodes` inodes (numbers 1 to `inodes`).
    fn sb(&self, inodes: u32) -> Box<dyn Orphans<P>>;
}

designs! { OrphanDesign;
    mutex::GlobalMutex,
    reduced::Reduced,
    hashed::Hashed,
    file_spin::FileSpin,
    file::File,
}
