//! struct inode: a directory or a regular file.

use super::{FileData, Raw, SuperBlock};
use crate::dir_lock::DirLock;
use crate::orphan_list::OrphanNode;
use machine::Platform;

/// Directory or regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A regular file.
    Regular,
}

/// An inode. Freed after a grace period once its dentries are gone and nobody has it open.
pub struct Inode<P: Platform> {
    /// Number; also its place in the inode table on disk.
    pub ino: u32,
    /// Directory or file.
    pub kind: Kind,
    /// Its file system. Super blocks outlive their inodes.
    pub sb: Raw<SuperBlock<P>>,
    /// i_mutex, since 4.7 i_rwsem. Of a directory: taken to create, remove and rename in it; of a file: to write and truncate it.
    pub lock: Box<dyn DirLock<P>>,
    /// i_nlink. Changed under the directory's lock.
    pub nlink: P::U32,
    /// Dentries that point to it (hard links), plus 1 while it is being used to look (i_count).
    pub count: P::U64,
    /// What is in it. Of a directory: nothing.
    pub data: FileData<P>,
    /// Its place on the orphan list.
    pub orphan: OrphanNode<P>,
}
